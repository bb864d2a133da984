#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that are known to be bad: test_bad_files.py MERCER COUNT [SEED] [KIND...]

About COUNT files are made by a seed: tables of every format, images and models that are cut off, or have some bits
flipped; files that announce or unfold to far more than they hold (bombs); and models whose numbers were changed by somebody
who put the checksum right. Each is read by a program of its own, with --memory 64M. It must end within its time and memory,
with one line and status 1, or with numbers. Numbers must be those that another reader finds in the file (the module csv,
NumPy, SciPy, scikit-learn, h5py, Pillow), where it finds any; a damaged model must give none. Prints counts. Closes with
"N passed, N failed".
"""
import concurrent.futures
import gzip
import io
import json
import os
import pathlib
import pickle
import re
import struct
import sys
import zipfile
import zlib

import h5py
import numpy as np
import scipy.io
import scipy.sparse
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
from harness import check, close, measured, output, program, scratch  # noqa: E402
import test_readers as readers  # noqa: E402

MERCER = program()
MEMORY = 64 << 20
BASE = 48 << 20  # the program, its libraries and those of a helper
SECONDS = 20
SANITIZED = "ASAN_OPTIONS" in os.environ  # then memory is not what the program asks for, and time not what it takes
CSV_OPTIONS = ("--header", "no", "--id", "none", "--delimiter", "comma", "--decimal", "point", "--thousands", "none")


# ---- good files, by what their names end with ----

def write_mat(draw):
    out = io.BytesIO()
    x = readers.numbers(draw, *draw.integers(2, 7, 2))
    scipy.io.savemat(out, {"x": scipy.sparse.csc_matrix(np.round(x)) if draw.integers(3) == 0 else x},
                     do_compression=bool(draw.integers(2)))
    return out.getvalue()


def write_hdf5(draw):
    out = io.BytesIO()
    x = readers.numbers(draw, *draw.integers(2, 40, 2))
    with h5py.File(out, "w") as file:
        how = [{}, {"chunks": True}, {"compression": "gzip", "fletcher32": True}][draw.integers(3)]
        file.create_dataset("x", data=x, **how)
    return out.getvalue()


def write_image(kind):
    def write(draw):
        out = io.BytesIO()
        shape = (*draw.integers(3, 12, 2), *((3,) if draw.integers(2) else ()))
        Image.fromarray(draw.integers(0, 256, shape, dtype=np.uint8)).save(out, kind)
        return out.getvalue()
    return write


def packed(writer):
    return lambda draw: gzip.compress(writer(draw), mtime=0)


WRITERS = {**{name: writer for name, (writer, _) in readers.FORMATS.items()}, "csv.gz": packed(readers.write_csv),
           "npy.gz": packed(readers.write_npy), "mat": write_mat, "h5": write_hdf5, "png": write_image("PNG"),
           "bmp": write_image("BMP"), "ppm": write_image("PPM")}
IMAGES = ("png", "bmp", "ppm")


# ---- what else could be read from them: an array, or an exception ----

def read_mat(data):
    found = {name: x for name, x in scipy.io.loadmat(io.BytesIO(data)).items() if not name.startswith("__")}
    if len(found) != 1:
        raise readers.Refused("several arrays")
    x = next(iter(found.values()))
    return readers.as_rows(x.toarray() if scipy.sparse.issparse(x) else x)


def read_hdf5(data):
    with h5py.File(io.BytesIO(data), "r") as file:
        names = list(file)
        if len(names) != 1:
            raise readers.Refused("several arrays")
        return readers.as_rows(file[names[0]][()])


def read_image(data):
    with Image.open(io.BytesIO(data)) as image:
        pixels = np.asarray(image.convert("RGB") if image.format == "BMP" else image).astype(float)
        colours = np.asarray(image.getpalette() or [0, 0, 1]).reshape(-1, 3)
        if image.format == "BMP" and (image.mode == "L" or (colours == colours[:, :1]).all()):
            pixels = pixels[..., :1]  # a palette of greys
        return pixels.reshape(1, -1)


READERS = {**{name: reader for name, (_, reader) in readers.FORMATS.items()}, "mat": read_mat, "h5": read_hdf5,
           **{name: read_image for name in IMAGES}}


def apart(reader, data):
    """What a reader finds, in a process of its own, because some crash; None: nothing."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            found = pickle.dumps(reader(data))
            with open(there, "wb") as file:
                file.write(found)
        finally:
            os._exit(0)
    os.close(there)
    with open(here, "rb") as file:
        found = file.read()
    os.waitpid(child, 0)
    return pickle.loads(found) if found else None


# ---- damage ----

def cut(draw, data):
    return data[:int(draw.integers(len(data)))]


def flip(draw, data):
    data = bytearray(data)
    for _ in range(draw.integers(1, 9)):
        data[int(draw.integers(len(data)))] ^= 1 << int(draw.integers(8))
    return bytes(data)


def zeros(data, most=1 << 28):
    """gzip of data again and again, up to that many bytes."""
    packer, out = zlib.compressobj(9, zlib.DEFLATED, 31), io.BytesIO()
    block = data * ((1 << 20) // len(data))
    for _ in range(most // len(block)):
        out.write(packer.compress(block))
    out.write(packer.flush())
    return out.getvalue()


def npy_header(shape, kind="<f8"):
    text = str({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text


def archive(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name + ".npy", data)
    return out.getvalue()


def hdf5_of(shape, **how):
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        file.create_dataset("x", shape=shape, dtype="f8", **how)
    return out.getvalue()


def png_of(width, height):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(bytes(1 << 20))) + chunk(b"IEND", b""))


def mat_of(rows, columns):
    """A compressed MAT 5 array of that many zeros."""
    body = struct.pack("<2I2I", 6, 8, 6, 0) + struct.pack("<2I2i", 5, 8, rows, columns) + struct.pack("<2I", 0x10001, 0x78)
    size = rows * columns * 8
    head = struct.pack("<2I", 14, len(body) + 8 + size) + body + struct.pack("<2I", 9, size)
    packer = zlib.compressobj(9)
    packed_bytes = packer.compress(head)
    for _ in range(size // (1 << 20)):
        packed_bytes += packer.compress(bytes(1 << 20))
    packed_bytes += packer.flush()
    return b"MATLAB 5.0 MAT-file".ljust(116) + bytes(8) + b"\0\1IM" + struct.pack("<2I", 15, len(packed_bytes)) + packed_bytes


def bombs():
    """(name's end, bytes) of files that would take far more than 64 MB or very long."""
    yield "csv.gz", zeros(b"0,0\n")
    yield "csv.gz", zeros(b"0")
    yield "csv.gz", zeros(b"0,")
    yield "csv.gz", zeros(b"\n")
    yield "csv.gz", zeros(b'"')
    yield "csv.gz", gzip.compress(zeros(b"1,2\n"))
    yield "libsvm", b"1 2147483647:1\n2 1:1\n" * 3
    yield "libsvm", b"1 99999999999:1\n"
    yield "libsvm", b"1 " + b" ".join(b"%d:1" % i for i in range(1, 1 << 20)) + b"\n"
    for shape in ((1 << 30, 4), (1 << 62, 4), (1 << 40, 1 << 40), (4, 1 << 31), (1 << 33,), (1 << 63, 0)):
        yield "npy", npy_header(shape) + bytes(64)
        yield "npz", archive(x=npy_header(shape) + bytes(64))
    yield "npy.gz", gzip.compress(npy_header((1 << 25, 1))[:-1] + b"\n") + zeros(b"\0" * 8)
    yield "npz", archive(x=npy_header((1 << 24, 1)) + bytes(1 << 27))
    yield "npz", archive(data=npy_header((1,)) + bytes(8), indices=npy_header((1,), "<i4") + bytes(4),
                         indptr=npy_header((2,), "<i4") + struct.pack("<2i", 0, 1),
                         shape=npy_header((2,), "<i8") + struct.pack("<2q", 1, 1 << 40),
                         format=npy_header((), "|S3") + b"csr")
    for size in (b"1000000000 1000000000 1", b"99999999999999999999 2 1", b"2000000000 2 4000000000", b"3 3 -1"):
        yield "mtx", b"%%MatrixMarket matrix coordinate real general\n" + size + b"\n1 1 1\n"
    yield "mtx", b"%%MatrixMarket matrix array real general\n1000000000 1000\n1\n"
    yield "h5", hdf5_of((1 << 30, 100), chunks=(1 << 10, 100))
    yield "h5", hdf5_of((1 << 20, 1 << 20), chunks=(1 << 10, 1 << 10), compression="gzip")
    yield "h5", hdf5_of((1 << 14, 1 << 14), chunks=(1 << 14, 1 << 10), compression="gzip", fillvalue=1)
    yield "mat", mat_of(1 << 12, 1 << 12)
    for size in ((60000, 60000), (1 << 30, 1), (0, 5), (1 << 15, 1 << 15)):
        yield "png", png_of(*size)
        yield "ppm", b"P6 %d %d 255\n" % size + bytes(300)
    yield "bmp", b"BM" + struct.pack("<3I", 70, 0, 54) + struct.pack("<I2i2H6I", 40, 1 << 30, 1 << 30, 1, 24, 0, 0, 0, 0, 0, 0)


# ---- models ----

def good_models(folder):
    """Bytes of some models, and the rows that they are given."""
    draw = np.random.default_rng(5)
    x = draw.normal(size=(60, 3))
    np.savetxt("rows.csv", np.column_stack([x, x[:, 0] > 0]), delimiter=",", header="a,b,c,label", comments="")
    np.savetxt("new.csv", draw.normal(size=(7, 3)), delimiter=",", header="a,b,c", comments="")
    found = []
    for words in (("-m", "kpca", "-n", "3"), ("-m", "kpls", "-n", "2", "--scale", "standard"), ("-m", "ikpca", "-n", "3"),
                  ("-m", "akfa", "-n", "3", "-k", "poly:degree=2", "--head", "knn"), ("-m", "pca", "-n", "2"),
                  ("-m", "kfd",), ("-m", "kpca", "-n", "2", "--novelty", "0.1", "--head", "svm")):
        output(MERCER, "fit", "rows.csv", "--label", "label", *words, "-o", "x.model", "--quiet")
        found.append((folder / "x.model").read_bytes())
    return found


def sealed(header, data):
    """A model file of a header (a text) and data, with the checksum put right."""
    header = header.encode()
    whole = struct.pack("<Q", len(header)) + header + data
    found = re.search(rb'"checksum":"crc32:([0-9a-f]{8})"', whole)
    if not found:
        return whole
    blank = whole[:found.start(1)] + b"0" * 8 + whole[found.end(1):]
    return whole[:found.start(1)] + b"%08x" % zlib.crc32(blank) + whole[found.end(1):]


def forge(draw, model):
    """Change a number, a text or the data of a model, and put the checksum right."""
    size = struct.unpack("<Q", model[:8])[0]
    header, data = model[8:8 + size].decode(), bytearray(model[8 + size:])
    how = draw.integers(6)
    if how == 0:  # a number of the header
        places = list(re.finditer(r"\d+", re.sub(r"crc32:\w+", lambda m: "x" * len(m[0]), header)))
        place = places[draw.integers(len(places))]
        new = ["0", "-1", "1", "4294967296", "9223372036854775807", "99999999999999999999", "1e308", "7"][draw.integers(8)]
        header = header[:place.start()] + new + header[place.end():]
    elif how == 1:  # values that are not finite, or huge
        at = int(draw.integers(len(data) // 8)) * 8
        data[at:at + 8] = struct.pack("<d", [np.nan, np.inf, -1e300, 5e-324, -1.0][draw.integers(5)])
    elif how == 2:
        data = data[:int(draw.integers(len(data)))]
    elif how == 3:
        parts = json.loads(header)
        parts.pop(list(parts)[draw.integers(len(parts))])
        header = json.dumps(parts, separators=(",", ":"))
    elif how == 4:  # a text
        parts = json.loads(header)
        texts = parts["__metadata__"]
        name = list(texts)[draw.integers(len(texts))]
        if name != "checksum":
            texts[name] = ["", "\x1b[2J", "x" * 100000, "kpca:components=99999999", "rbf:sigma=0", "[" * 5000, "1e9"][draw.integers(7)]
        header = json.dumps(parts, separators=(",", ":"))
    else:
        header = header[:int(draw.integers(len(header)))] + ["{", "}", "[", '"', ",", "\\u0000"][draw.integers(6)] * 3
    return sealed(header, bytes(data))


# ---- running ----

def read(number, ending, data, *more):
    """(status, lines on standard error, peak, seconds, numbers or None) of our program; status -1: it took too long."""
    here = pathlib.Path(f"{number}")
    here.mkdir()
    target, out = here / f"x.{ending}", here / "out.npy"
    if ending in IMAGES:
        (here / "x").mkdir()
        target = here / "x" / f"x.{ending}"
    target.write_bytes(data)
    words = ("transform", target, "new.csv") if ending == "model" else \
        ("scale", here / "x" if ending in IMAGES else target, "--scale", "none",
         *(("--no-label",) if ending == "libsvm" else CSV_OPTIONS if ending.startswith("csv") else ()))
    begin = os.times().elapsed
    try:
        done = measured(MERCER, *words, "-o", out, "--memory", "64M", "--quiet", *more, timeout=SECONDS * (10 if SANITIZED else 1))
        status, lines, peak = done.returncode, done.stderr.splitlines(), done.peak
    except Exception as error:  # no end, or no answer
        status, lines, peak = -1, [str(error)], 0
    numbers = np.load(out) if status == 0 and out.exists() else None
    left = [path.name for path in here.iterdir() if path.name not in (f"x.{ending}", "x", "out.npy")]
    if left:
        lines.append(f"left behind: {left}")
    for path in sorted(here.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    here.rmdir()
    return status, lines, peak, os.times().elapsed - begin, numbers


def differs(numbers, ending, data):
    """What is different from what another reader finds, as a text; None: nothing is, or it finds nothing."""
    reader = READERS[ending.removesuffix(".gz")]
    if ending in (*IMAGES, "mat", "h5"):
        theirs = apart(reader, data)
        if theirs is None:
            return None
        reader, data = lambda _: theirs, b""
    wrong = readers.differs(numbers, reader, data)
    return None if wrong and wrong.startswith(readers.REFUSED) else wrong


def cases(count, seed, models):
    """(kind, name's end, bytes), each kind a share of count."""
    draw = np.random.default_rng(seed)
    for ending, data in bombs():
        yield "bombs", ending, data
    each = count // (2 * len(WRITERS) + 6)
    for ending, writer in WRITERS.items():
        for kind, damage in (("cut", cut), ("flipped", flip)):
            for _ in range(each):
                yield f"{ending} {kind}", ending, damage(draw, writer(draw))
    for _ in range(2 * each):
        yield "model cut", "model", cut(draw, models[draw.integers(len(models))])
        yield "model flipped", "model", flip(draw, models[draw.integers(len(models))])
        yield "model forged", "model", forge(draw, models[draw.integers(len(models))])


def judge(case):
    """(kind, was it read?, what is wrong or None, peak, seconds)"""
    number, (kind, ending, data) = case
    # What is small as sparse rows can be too long to be written; --untrusted limits columns, too.
    status, lines, peak, seconds, numbers = read(number, ending, data, *(["--untrusted"] if kind == "bombs" and ending == "libsvm" else []))
    wrong = None
    if status not in (0, 1) or len(lines) != (0 if status == 0 else 1):
        wrong = f"status {status}: {lines}"
    elif peak > MEMORY + BASE and not SANITIZED:
        wrong = f"{peak >> 20} MB"
    elif seconds > SECONDS and not SANITIZED:
        wrong = f"{seconds:.1f} s"
    elif status == 0 and kind == "bombs":
        wrong = f"was read to {numbers.shape}"
    elif status == 0 and kind in ("model cut", "model flipped"):
        wrong = "was loaded"
    elif status == 0 and kind == "model forged":
        wrong = None if np.isfinite(numbers).all() else "gives numbers that are not finite"
    elif status == 0:
        wrong = differs(numbers, ending, data)
    return kind, status == 0, wrong and f"{wrong}, {data[:300]!r}", peak, seconds


def main():
    count, seed = int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with scratch() as folder:
        models, sums, total = good_models(folder), {}, 0
        chosen = [case for case in enumerate(cases(count, seed, models)) if not sys.argv[4:] or case[1][0] in sys.argv[4:]]
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for kind, was_read, wrong, peak, seconds in pool.map(judge, chosen):
                files, done, bad, most, longest = sums.get(kind, (0, 0, [], 0, 0))
                sums[kind] = files + 1, done + was_read, bad + [wrong] * bool(wrong), max(most, peak), max(longest, seconds)
                total += 1
        for kind, (files, done, bad, most, longest) in sums.items():
            check(f"{kind}: {files} files, {done} are read, at most {most >> 20} MB and {longest:.1f} s", not bad,
                  f"{len(bad)} wrong: " + "; ".join(bad[:3]) if bad else "")
        check(f"{total} files of {count}", total >= count * .9 or sys.argv[4:], total, quiet=True)
    sys.exit(close())


main()
