#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The converters of experiments/get-data, offline.

Originals are made here in their own formats: small ones, and, where ../shared/data has a set, those of the
whole set, which must become the same bytes again.
"""
import csv
import io
import pathlib
import struct
import sys
import tarfile
import zipfile
import zlib

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import DATA, ROOT, call, check, close, scratch  # noqa: E402

GET_DATA = ROOT / "experiments" / "get-data"
sys.path.insert(0, str(GET_DATA.parent / "common"))
import newswire  # noqa: E402
import originals  # noqa: E402


def get(folder, *arguments):
    done = call(GET_DATA, folder / "sets", *arguments)
    return done.returncode, done.stdout + done.stderr


# ---- originals, made ----

def gif(width, height, grey, clear_at=4096):
    """A GIF of grey values; clear_at: how long the list of words may get."""
    codes, words, word = [(256, 9)], {bytes([i]): i for i in range(256)}, b""
    size, following = 9, 258
    for value in grey:
        if word + bytes([value]) in words:
            word += bytes([value])
            continue
        codes.append((words[word], size))
        words[word + bytes([value])] = following
        following += 1
        if following > 1 << size and size < 12:
            size += 1
        if following >= clear_at:
            codes.append((256, size))
            words, size, following = {bytes([i]): i for i in range(256)}, 9, 258
        word = bytes([value])
    codes += [(words[word], size), (257, size)]
    packed, store, held = bytearray(), 0, 0
    for code, bits in codes:
        store |= code << held
        held += bits
        while held >= 8:
            packed.append(store & 255)
            store, held = store >> 8, held - 8
    packed.append(store)
    blocks = b"".join(bytes([len(packed[i:i + 255])]) + packed[i:i + 255] for i in range(0, len(packed), 255))
    palette = bytes(value for grey in range(256) for value in (grey, grey, grey))
    return (b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF7, 0, 0) + palette + b"\x21\xFE\x02hi\x00"
            + b"\x2C" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x08" + blocks + b"\x00;")


def mat(arrays, packed):
    """A MATLAB file of version 5 with these arrays, compressed or not."""
    def element(kind, body):
        return struct.pack("<II", kind, len(body)) + body + b"\0" * (-len(body) % 8)

    data = b"MATLAB 5.0".ljust(124) + b"\x00\x01IM"
    for name, values in arrays.items():
        kind = {"uint8": 2, "float64": 9}[values.dtype.name]
        body = (element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", *values.shape))
                + struct.pack("<HH", 1, len(name)) + name.encode().ljust(4, b"\0")
                + element(kind, values.tobytes(order="F")))
        whole = element(14, body)
        data += struct.pack("<II", 15, len(zlib.compress(whole))) + zlib.compress(whole) if packed else whole
    return data


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


# ---- small originals ----

def test_tables():
    made = originals.table([["17", "M", "1.50", "2e-05"], ["18", "B", "100", "-0.0200"]], 1, (0,), ("M", "B"))
    check("a table", made == b"f0,f1,label\n1.5,2e-05,0\n100,-0.02,1\n", made)
    for rows, text in (([["1", "2"], ["1"]], "differ"), ([["1", "M"], ["x", "B"]], "line 2")):
        try:
            originals.table(rows, -1, (), ("M", "B"))
            check(f"a table is refused: {text}", False)
        except originals.Unfit as error:
            check(f"a table is refused: {text}", text in str(error), error)


def test_spectf(folder):
    (folder / "SPECTF.train").write_text("1,59,52\n0,61,50\n")
    rows = [f"1,{i},7" for i in range(187)]
    (folder / "SPECTF.test").write_text("\n".join(rows + ["1,59,52", "0,61,50"]) + "\n")
    files, counts = originals.spectf(folder)
    check("SPECTF: training rows leave the test file", counts["spectf.test.csv"] == "187 rows"
          and b"59,52,1" not in files["spectf.test.csv"] and files["spectf.test.csv"].count(b"\n") == 188, counts)


def test_gif():
    random = np.random.default_rng(1)
    for name, grey, clear in (("noise", random.integers(0, 256, 9000), 4096), ("stripes", np.arange(9000) // 7 % 5, 4096),
                              ("early clears", random.integers(0, 9, 9000), 300)):
        data = gif(90, 100, bytes(grey.astype(np.uint8)), clear)
        check(f"GIF, {name}", originals.gif_pixels(data) == (90, 100, bytes(grey.astype(np.uint8))))
    try:
        originals.gif_pixels(data[:-500] + b"\x00")
        check("a GIF that is cut off", False)
    except (originals.Unfit, IndexError) as error:
        check("a GIF that is cut off", True, repr(error))


def test_yale_names(folder):
    pixels = bytes(range(6))
    names = ("subject01.gif", "subject01.glasses.gif", "subject02.wink", "Readme.txt", "subject02.unknown")
    (folder / "yalefaces.zip").write_bytes(zipped({f"yalefaces/{name}": gif(3, 2, pixels) for name in names}))
    files, _ = originals.yale(folder)
    check("Yale: names", set(files) == {"yale/subject01/centerlight.pgm", "yale/subject01/glasses.pgm",
                                        "yale/subject02/wink.pgm"}, sorted(files))
    check("Yale: PGM", files["yale/subject02/wink.pgm"] == b"P5\n3 2\n255\n" + pixels)


def test_stems():
    known = ("caresses caress ponies poni agreed agre plastered plaster motoring motor conflated conflat hopping hop "
             "falling fall filing file happy happi sky sky relational relat conditional condit vietnamization vietnam "
             "electriciti electr goodness good allowance allow adjustment adjust adoption adopt probate probat rate rate "
             "cease ceas controll control roll roll possibly possibl apology apolog").split()
    wrong = [(word, newswire.stem(word)) for word, stem in zip(known[::2], known[1::2]) if newswire.stem(word) != stem]
    check("Porter's examples", not wrong, wrong)


def test_newswire(folder):
    def document(number, split, topics, title, body, kind=""):
        marks = "".join(f"<D>{topic}</D>" for topic in topics)
        text = body if kind else f"<TITLE>{title}</TITLE><DATELINE>  PARIS - </DATELINE><BODY>{body}\n Reuter\n&#3;</BODY>"
        return (f'<REUTERS TOPICS="YES" LEWISSPLIT="{split}" OLDID="1" NEWID="{number}">\n<TOPICS>{marks}</TOPICS>\n'
                f"<TEXT{kind}>&#2;\n{text}</TEXT>\n</REUTERS>\n")

    text = (document(4, "TRAIN", ["grain"], "WHEAT &amp; CORN", "Wheat, wheat and the 1980s corn")
            + document(2, "TRAIN", [], "", "Corn profits of the wheat", ' TYPE="UNPROC"')
            + document(3, "TRAIN", ["earn", "acq"], "PROFIT", "Profits: wheat")
            + document(9, "TEST", ["earn"], "Corn profit", "unheard") + document(1, "NOT-USED", [], "x", "wheat wheat")
            + document(5, "TRAIN", [], "Profit", "corn"))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        member = tarfile.TarInfo("reut2-000.sgm")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode("latin-1")))
    (folder / "reuters21578.tar.gz").write_bytes(out.getvalue())
    files, counts = newswire.convert(folder)
    check("Reuters: split", counts == {"reuters21578.train.svm": "4 rows", "reuters21578.test.svm": "1 rows"}, counts)
    check("Reuters: terms", files["reuters21578.vocab.txt"] == b"corn\nprofit\nwheat\n", files["reuters21578.vocab.txt"])
    train = files["reuters21578.train.svm"].decode().splitlines()
    check("Reuters: labels in order of the numbers", [row.split()[0] for row in train] == ["-1", "1", "1", "-1"], train)
    check("Reuters: earn", files["reuters21578.train.earn.txt"] == b"-1\n1\n-1\n-1\n"
          and files["reuters21578.test.earn.txt"] == b"1\n")
    # All three terms are in three of four documents, so weights are 1 + ln tf: corn twice, wheat three times.
    a, b = 1 + np.log(2), 1 + np.log(3)
    expected = f"1 1:{a / np.hypot(a, b):.5g} 3:{b / np.hypot(a, b):.5g}"
    check("Reuters: weights", train[2] == expected, f"{train[2]}, expected {expected}")


def test_messages(folder):
    (folder / "wdbc.data").write_text("842302,M,17.99,10.38\n")
    (folder / "att_faces.zip").write_bytes(b"not a zip")
    status, said = get(folder, "--from", folder, "--only", "wdbc")
    check("another version is refused", status == 1 and "wdbc.csv would have 1 rows, not 569 rows" in said
          and not (folder / "sets").exists(), said)
    status, said = get(folder, "--from", folder)
    check("a damaged original is told", "orl: the original cannot be read" in said and status == 1)
    check("a missing original is told with its address", "sonar.all-data is missing (from https://archive.ics.uci.edu" in said)
    check("one line a set, then what can be had by hand only", said.index("By hand only:\n  ida_*.csv") > 0
          and "Traceback" not in said)


# ---- whole sets, there and back ----

def cells(name):
    with open(DATA / name, encoding="ascii", newline="") as lines:
        return list(csv.reader(lines))[1:]


def lines(rows):
    return "".join(",".join(row) + "\n" for row in rows)


def crop(name):
    images, labels = np.load(DATA / f"{name}.X.npy"), np.load(DATA / f"{name}.y.npy")
    return {"fea": images.transpose(0, 2, 1).reshape(len(images), -1).astype(float), "gnd": labels[:, None]}


def test_there_and_back(folder):
    if not DATA.is_dir():
        print("skip: ../shared/data is absent, so whole sets are not made")
        return
    texts = {
        "wdbc.data": lines([[str(i), "MB"[int(row[-1])], *row[:-1]] for i, row in enumerate(cells("wdbc.csv"))]),
        "ionosphere.data": lines([[*row[:-1], "bg"[int(row[-1])]] for row in cells("ionosphere.csv")]),
        "sonar.all-data": lines([[*(f"{float(v):.4f}" for v in row[:-1]), "RM"[int(row[-1])]] for row in cells("sonar.csv")]),
        **{f"SPECTF.{part}": lines([[row[-1], *row[:-1]] for row in cells(f"spectf.{part}.csv")]) for part in ("train", "test")},
        **{f"optdigits.{end}": lines(cells(f"optdigits.{part}.csv")) for end, part in (("tra", "train"), ("tes", "test"))},
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="ascii")
    faces = sorted((DATA / "orl").glob("s*/*.pgm"))
    (folder / "att_faces.zip").write_bytes(zipped({f"att_faces/{p.parent.name}/{p.name}": p.read_bytes() for p in faces}))
    frames = np.load(DATA / "frey_28x20.X.npy")
    (folder / "frey_rawface.mat").write_bytes(mat({"ff": frames.reshape(len(frames), -1).T}, False))
    for file, name, packed in (("ORL", "orl_32x32", True), ("Yale", "yale_32x32", False), ("Yale", "yale_64x64", True),
                               ("YaleB", "yaleb_32x32", True)):
        (folder / f"{file}_{name.split('_')[1]}.mat").write_bytes(mat(crop(name), packed))
    status, said = get(folder, "--from", folder)
    check("Yale and Reuters alone are missing", status == 1 and said.count("missing") == 2, said)
    made = sorted(path.relative_to(folder / "sets") for path in (folder / "sets").rglob("*") if path.is_file())
    different = [str(name) for name in made if (folder / "sets" / name).read_bytes() != (DATA / name).read_bytes()]
    check("the same bytes, 416 files", len(made) == 416 and not different, f"{len(made)} files, differ: {different[:5]}")
    seen = sorted((DATA / "yale" / "subject01").glob("*.pgm"))[:2]
    header = len(b"P5\n320 243\n255\n")
    (folder / "yalefaces.zip").write_bytes(zipped({f"yalefaces/subject01.{p.stem}": gif(320, 243, p.read_bytes()[header:])
                                                   for p in seen}))
    files, _ = originals.yale(folder)
    check("the same bytes, images of Yale", files == {f"yale/subject01/{p.name}": p.read_bytes() for p in seen})


def main():
    test_tables()
    test_gif()
    test_stems()
    for test in (test_spectf, test_yale_names, test_newswire, test_messages, test_there_and_back):
        with scratch() as folder:
            test(folder)
    return close()


if __name__ == "__main__":
    sys.exit(main())
