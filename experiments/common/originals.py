# SPDX-License-Identifier: BSD-3-Clause
"""Originals of public data sets, turned into the forms the experiments read. Standard library only.

Tables become CSV with columns f0, f1, ... and label; face sets folders of PGM files; arrays of images NPY.
Every function takes the folder of the originals and returns the files it makes: {name: bytes}, with what
there is of each: {name: "569 rows"}.
"""
import array
import re
import struct
import sys
import zipfile
import zlib


class Unfit(Exception):
    """An original is not what it should be; the text says how."""


# ---- tables ----

def plain(text):
    """A number as it is written in the CSV files: the shortest text that gives it back."""
    short = repr(float(text))
    return short[:-2] if short.endswith(".0") else short


def rows_of(path):
    """Cells of each line of a table without header."""
    return [line.split(",") for line in path.read_text(encoding="latin-1").split("\n") if line.strip()]


def table(rows, label, drop=(), classes=None):
    """CSV of rows of cells: the cell at label (an index) is the class, numbered by its place in classes;
    those at drop are left out."""
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise Unfit("its lines differ in their number of cells")
    label %= width
    kept = [j for j in range(width) if j != label and j not in drop]
    lines = [",".join([f"f{j}" for j in range(len(kept))] + ["label"])]
    for number, row in enumerate(rows, 1):
        name = row[label].strip()
        try:
            values = [plain(row[j]) for j in kept] + [str(classes.index(name)) if classes else plain(name)]
        except ValueError as error:
            raise Unfit(f"line {number}: {error}") from None
        lines.append(",".join(values))
    return "\n".join(lines + [""]).encode("ascii")


def one_table(file, output, label, drop=(), classes=None):
    """The converter of a set that is a single table."""
    def convert(folder):
        rows = rows_of(folder / file)
        return {output: table(rows, label, drop, classes)}, {output: f"{len(rows)} rows"}
    return convert


def optdigits(folder):
    files, counts = {}, {}
    for part, ending in (("train", "tra"), ("test", "tes")):
        made = one_table(f"optdigits.{ending}", f"optdigits.{part}.csv", -1)(folder)
        files.update(made[0])
        counts.update(made[1])
    return files, counts


def spectf(folder):
    """The test file that circulates repeats training rows; they are left out of it."""
    train, test = rows_of(folder / "SPECTF.train"), rows_of(folder / "SPECTF.test")
    known = {tuple(map(plain, row)) for row in train}
    if len(test) > 187:
        test = [row for row in test if tuple(map(plain, row)) not in known]
    return ({"spectf.train.csv": table(train, 0), "spectf.test.csv": table(test, 0)},
            {"spectf.train.csv": f"{len(train)} rows", "spectf.test.csv": f"{len(test)} rows"})


# ---- images in files ----

def gif_pixels(data):
    """(width, height, grey values row by row) of the first image of a GIF file."""
    if data[:3] != b"GIF":
        raise Unfit("is not a GIF file")
    flags, place = data[10], 13
    palette = data[place:place + 3 * (2 << (flags & 7))] if flags & 0x80 else b""
    place += len(palette)
    while data[place] == 0x21:  # an extension: label, then blocks
        place = _blocks(data, place + 2)[1]
    if data[place] != 0x2C:
        raise Unfit("has no image")
    width, height, flags = struct.unpack_from("<HHB", data, place + 5)
    place += 10
    if flags & 0x80:
        palette = data[place:place + 3 * (2 << (flags & 7))]
        place += len(palette)
    if flags & 0x40 or palette[0::3] != palette[1::3] or palette[0::3] != palette[2::3]:
        raise Unfit("is interlaced or has colours")
    pixels = _unpack(_blocks(data, place + 1)[0], data[place])
    if len(pixels) < width * height:
        raise Unfit("is cut off")
    return width, height, bytes(pixels[:width * height]).translate(palette[0::3].ljust(256, b"\0"))


def _blocks(data, place):
    """The joined blocks of a GIF from a place on, and where they end."""
    joined = bytearray()
    while data[place]:
        joined += data[place + 1:place + 1 + data[place]]
        place += 1 + data[place]
    return joined, place + 1


def _unpack(packed, bits):
    """LZW with codes that start with bits + 1 bits, lowest bits first."""
    clear, pixels = 1 << bits, bytearray()
    words, size, last = [], bits + 1, None
    store = held = 0
    for byte in packed:
        store |= byte << held
        held += 8
        while held >= size:
            code, store, held = store & ((1 << size) - 1), store >> size, held - size
            if code == clear:
                words, size, last = [bytes([i]) for i in range(clear)] + [b"", b""], bits + 1, None
                continue
            if code == clear + 1:
                return pixels
            if code > len(words) or (last is None and code >= clear):
                raise Unfit("is damaged")
            word = words[code] if code < len(words) else last + last[:1]
            if last is not None and len(words) < 4096:
                words.append(last + word[:1])
                if len(words) == 1 << size and size < 12:
                    size += 1
            pixels += word
            last = word
    return pixels


def yale(folder):
    """yalefaces.zip: GIF files subjectNN.CONDITION, with or without .gif; subject01.gif is its centre light."""
    conditions = ("centerlight glasses happy leftlight noglasses normal rightlight sad sleepy surprised wink").split()
    files = {}
    with zipfile.ZipFile(folder / "yalefaces.zip") as archive:
        for name in archive.namelist():
            match = re.search(r"(?:^|/)(subject\d\d)(?:\.([a-z]+))?(?:\.gif)?$", name)
            condition = match and (match[2] if match[2] and match[2] != "gif" else "centerlight")
            if condition in conditions:
                width, height, pixels = gif_pixels(archive.read(name))
                files[f"yale/{match[1]}/{condition}.pgm"] = b"P5\n%d %d\n255\n" % (width, height) + pixels
    return files, {"yale": f"{len(files)} images"}


def orl(folder):
    """att_faces.zip: sN/M.pgm, as they are."""
    with zipfile.ZipFile(folder / "att_faces.zip") as archive:
        found = {name: re.search(r"(?:^|/)(s\d+/\d+\.pgm)$", name) for name in archive.namelist()}
        files = {f"orl/{match[1]}": archive.read(name) for name, match in found.items() if match}
    return files, {"orl": f"{len(files)} images"}


# ---- arrays of images ----

MAT_TYPES = {1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 7: "f", 9: "d", 12: "q", 13: "Q"}


def mat_arrays(path):
    """{name: (dimensions, values column by column)} of the numeric arrays of a MATLAB file of version 5."""
    data = path.read_bytes()
    if data[126:128] != b"IM":
        raise Unfit("is not a little-endian MATLAB file of version 5")
    found, place = {}, 128
    while place + 8 <= len(data):
        kind, body, place = _element(data, place)
        if kind == 15:
            kind, body, _ = _element(zlib.decompress(body), 0)
        if kind != 14:
            continue
        parts, inside = [], 0
        while inside < len(body):
            kind, part, inside = _element(body, inside)
            parts.append((kind, part))
        dimensions, name = struct.unpack(f"<{len(parts[1][1]) // 4}i", parts[1][1]), parts[2][1].decode("ascii")
        if len(parts) > 3 and parts[3][0] in MAT_TYPES:
            values = array.array(MAT_TYPES[parts[3][0]], bytes(parts[3][1]))
            if sys.byteorder == "big":
                values.byteswap()
            found[name] = dimensions, values
    return found


def _element(data, place):
    """(kind, body, where the next one starts); small ones have their body in the tag."""
    kind, size = struct.unpack_from("<II", data, place)
    if kind >> 16:
        return kind & 0xFFFF, data[place + 4:place + 4 + (kind >> 16)], place + 8
    end = place + 8 + size
    return kind, data[place + 8:end], end if kind == 15 else end + -size % 8


def npy(shape, values):
    """An NPY file of bytes."""
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))}{',' * (len(shape) == 1)}), }}"
    head = head.ljust(-(len(head) + 11) % 64 + len(head)) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode("ascii") + bytes(values)


def whole(values):
    """Grey values as bytes."""
    if any(value != int(value) or not 0 <= value <= 255 for value in values):
        raise Unfit("has values that are not whole numbers from 0 to 255")
    return bytes(map(int, values))


def frey(folder):
    """Columns are frames of 28 x 20, row by row."""
    (pixels, frames), values = mat_arrays(folder / "frey_rawface.mat")["ff"]
    if pixels != 560:
        raise Unfit("has frames that are not 28 x 20")
    return {"frey_28x20.X.npy": npy((frames, 28, 20), whole(values))}, {"frey_28x20.X.npy": f"{frames} images"}


def cropped(file, name, side):
    """The converter of Deng Cai's crops: rows of `fea` are square images column by column, `gnd` their classes."""
    def convert(folder):
        arrays = mat_arrays(folder / file)
        (count, pixels), values = arrays["fea"]
        if pixels != side * side:
            raise Unfit(f"has images that are not {side} x {side}")
        planes = whole(values)  # plane j: pixel j of all images
        images = bytearray(count * pixels)
        for column in range(side):
            for row in range(side):
                j = column * side + row
                images[row * side + column::pixels] = planes[j * count:(j + 1) * count]
        return ({f"{name}.X.npy": npy((count, side, side), images), f"{name}.y.npy": npy((count,), whole(arrays["gnd"][1]))},
                {f"{name}.X.npy": f"{count} images"})
    return convert
