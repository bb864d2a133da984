#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Damaged tables through our readers and those of Python: test_readers.py READ_MANY COUNT [SEED] [FORMAT...]

COUNT tables per format are written by Python (csv, NumPy, SciPy) and then damaged in up to four places. Whatever we read,
they must read to the same numbers, bit for bit; what they read, we may refuse, because a refusal is not silent; what they
refuse may be at most one in a hundred of what we read (a 0 before a number, a blank line more). CSV is
judged by the module csv, and numbers in it by float(); NPY and NPZ by NumPy and SciPy; Matrix Market by SciPy; LIBSVM
text by scikit-learn. Prints counts and the first difference of each kind. Closes with "N passed, N failed".
"""
import csv
import gzip
import io
import pathlib
import re
import struct
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import scipy.io
import scipy.sparse
from sklearn.datasets import load_svmlight_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import check, close, scratch  # noqa: E402

MOST = 1 << 20  # numbers of a table that are compared
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
DICTIONARY = [b",", b"\n", b"\r\n", b"\r", b'"', b'""', b" ", b"\t", b".", b"-", b"+", b"e", b"E5", b"1e400", b"0x1p3", b"nan", b"inf", b"1_0",
              b"\xef\xbb\xbf", b"\xff", b"\0", b"#", b"%", b"true", b"1,5", b";", b":", b"99999999999999999999", b"1e-320", b"0.1",
              b"symmetric", b"skew-symmetric", b"pattern", b"integer", b"complex", b"array", b"<f8", b">f4", b"<i8", b"|b1", b"True",
              b"False", b"(2, 2)", b"(0,)", b"(4,)", b"PK\3\4", b"\x93NUMPY"]


REFUSED = "they refuse it"


class Refused(Exception):
    """The other reader has no numbers for it."""


# ---- writers ----

def numbers(draw, rows, columns):
    kind = draw.integers(5)
    if kind == 0:
        return draw.integers(-9, 10, (rows, columns)).astype(float)
    x = draw.normal(size=(rows, columns)) * 10.0 ** draw.integers(-3, 4)
    return np.round(x, int(draw.integers(1, 6))) if kind < 3 else x


def written_number(draw, value):
    how = draw.integers(6)
    return [repr(value), f"{value:.17g}", f"{value:.3e}", f"{value:+.6f}", f" {value} ", f'"{value!r}"'][how]


def write_csv(draw):
    x = numbers(draw, *draw.integers(1, 6, 2))
    end = ["\n", "\r\n", "\n", "\r"][draw.integers(4)]
    text = end.join(",".join(written_number(draw, float(value)) for value in row) for row in x)
    return (text + (end if draw.integers(2) else "")).encode()


def write_npy(draw):
    x = numbers(draw, *draw.integers(1, 6, 2))
    kind = ["<f8", "<f4", ">f8", "<i4", "<i8", "|u1", "|b1", "<f2", ">i2", "<u2"][draw.integers(10)]
    x = (np.abs(x) % 100 if "u" in kind else x).astype(kind)
    x = [x, np.asfortranarray(x), x[0], x[None]][draw.integers(4)]
    out = io.BytesIO()
    np.lib.format.write_array(out, x, version=[None, (1, 0), (2, 0), (3, 0)][draw.integers(4)])
    return out.getvalue()


def write_npz(draw):
    x, out = numbers(draw, *draw.integers(1, 6, 2)), io.BytesIO()
    how = draw.integers(4)
    if how == 0:
        np.savez(out, x)
    elif how == 1:
        np.savez_compressed(out, x=x.astype("<f4"))
    else:
        sparse = scipy.sparse.random(*x.shape, density=.4, random_state=int(draw.integers(1 << 30)))
        scipy.sparse.save_npz(out, [sparse.tocsr, sparse.tocsc][how - 2](), compressed=bool(draw.integers(2)))
    return out.getvalue()


def write_mtx(draw):
    x, out = numbers(draw, *draw.integers(1, 6, 2)), io.BytesIO()
    if draw.integers(3) == 0:
        x = x[:min(x.shape), :min(x.shape)]
        x = x + x.T if draw.integers(2) else x - x.T
    x[draw.uniform(size=x.shape) < .4] = 0
    scipy.io.mmwrite(out, x if draw.integers(2) else scipy.sparse.coo_matrix(x), precision=int(draw.integers(3, 18)))
    return out.getvalue()


def write_libsvm(draw):
    lines = []
    for _ in range(draw.integers(1, 6)):
        at = np.sort(draw.choice(9, draw.integers(0, 6), replace=False)) + 1
        lines.append(" ".join([["+1", "-1", "0.5", "3"][draw.integers(4)], *(f"{i}:{written_number(draw, v).strip(' ').strip(chr(34))}"
                                                                             for i, v in zip(at, draw.normal(size=len(at))))]))
    return ("\n".join(lines) + "\n").encode()


# ---- the other readers: an array, or Refused ----

def cell(text):
    text = text.strip(" \t")
    if text.endswith("%") and NUMBER.fullmatch(text[:-1]):
        return float(text[:-1])  # as the notice says
    if not NUMBER.fullmatch(text):
        raise Refused(f"a cell {text!r}")
    return float(text)


def read_csv(data):
    text = data.removeprefix(b"\xef\xbb\xbf").decode()
    text = re.sub(r'("[^"]*")[ \t]+(?=,|\r|\n|$)', r"\1", text)  # csv wants nothing after a quote, not even blanks
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True) if row]
    except csv.Error as error:
        raise Refused(error) from None
    rows = [row for row in rows if len(row) > 1 or row[0].strip(" \t")]  # blank lines
    if not rows or len({len(row) for row in rows}) > 1:
        raise Refused("ragged")
    return np.array([[cell(text) for text in row] for row in rows])


def as_rows(x):
    x = np.asarray(x)
    if x.dtype.kind not in "fiub" or x.ndim == 0:
        raise Refused(f"an array of {x.dtype}")
    return (x[:, None] if x.ndim == 1 else x.reshape(x.shape[0], -1) if x.ndim > 1 else x).astype(float)


def read_npy(data):
    return as_rows(np.lib.format.read_array(io.BytesIO(data), allow_pickle=False))


def read_npz(data):
    # Names stand in an archive twice, and offsets can be found in two ways; numbers have check sums.
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        if "format" in archive.files:
            return scipy.sparse.load_npz(io.BytesIO(data)).toarray().astype(float)
        if len(archive.files) != 1:
            raise Refused("several arrays")
        return as_rows(archive[archive.files[0]])


def read_mtx(data):
    first, line_end, rest = data.partition(b"\n")
    data = first.lower().replace(b"%%matrixmarket", b"%%MatrixMarket") + line_end + rest  # in any case for us
    x = scipy.io.mmread(io.BytesIO(data))
    return as_rows(x.toarray() if scipy.sparse.issparse(x) else x)


def read_libsvm(data):
    # Labels are not looked at here, whatever they are, and need not be there.
    data = re.sub(rb"(?m)^[ \t]*[^ \t\r\n:#]+(?=[ \t\r\n#]|$)", b"1", data)
    data = re.sub(rb"(?m)^(?=[ \t]*[^ \t\r\n:#]+:)", b"1 ", data)
    return load_svmlight_file(io.BytesIO(data))[0].toarray()


FORMATS = {"csv": (write_csv, read_csv), "npy": (write_npy, read_npy), "npz": (write_npz, read_npz), "mtx": (write_mtx, read_mtx),
           "libsvm": (write_libsvm, read_libsvm)}


# ---- damage, and the comparison ----

def damage(draw, data):
    data = bytearray(data)
    for _ in range([0, 1, 1, 2, 4][draw.integers(5)]):
        at, how = int(draw.integers(len(data) + 1)), draw.integers(6)
        if how == 0 and at < len(data):
            data[at] ^= 1 << int(draw.integers(8))
        elif how == 1:
            data[at:at + int(draw.integers(1, 4))] = b""
        elif how == 2:
            data[at:at] = data[at:at + int(draw.integers(1, 12))]
        elif how == 3:
            data[at:] = data[at:] if draw.integers(4) else b""
        else:
            data[at:at] = DICTIONARY[draw.integers(len(DICTIONARY))]
    return bytes(data)


class Ours:
    """Our reader, one process for all tables."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "table"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, name, data):
        """An array, or None where it is refused."""
        self.process.stdin.write(f"{name} {len(data)}\n".encode() + data)
        self.process.stdin.flush()
        head = self.process.stdout.read(24)
        if len(head) < 24:
            raise RuntimeError(f"our reader has ended, status {self.process.wait()}, on {data!r}")
        status, rows, columns = struct.unpack("<3q", head)
        if status:
            return None
        return np.frombuffer(self.process.stdout.read(8 * rows * columns)).reshape(rows, columns)


def differs(ours, reader, data):
    """What is different, as a text; None: nothing is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = reader(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except zipfile.BadZipFile:
        return None
    except Exception as error:  # whatever it is, they have no numbers
        return f"{REFUSED}: {type(error).__name__}: {error}"
    if theirs.size > MOST:
        return None
    if ours.shape[1] < theirs.shape[1]:
        return f"{ours.shape}, theirs {theirs.shape}"
    wide = np.zeros((len(theirs), ours.shape[1]))  # trailing columns that are empty
    wide[:, :theirs.shape[1]] = theirs
    if ours.shape != wide.shape:
        return f"{ours.shape}, theirs {theirs.shape}"
    if not np.array_equal(ours, wide):
        at = tuple(np.argwhere(ours != wide)[0])
        return f"number {at}: {ours[at]!r}, theirs {wide[at]!r}"
    return None


def main():
    program, count = str(pathlib.Path(sys.argv[1]).resolve()), int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with scratch():
        ours = Ours(program)
        for name in sys.argv[4:] or FORMATS:
            writer, reader = FORMATS[name]
            draw, read, found = np.random.default_rng([seed, *name.encode()]), 0, {}
            for _ in range(count):
                data = damage(draw, writer(draw))
                got = ours.read(name, data)
                if got is None:
                    continue
                read += 1
                wrong = differs(got, reader, data)
                if wrong:
                    found.setdefault(re.sub(r"[0-9.]+", "#", wrong)[:60], []).append((wrong, data))
            lenient = sum(len(cases) for kind, cases in found.items() if kind.startswith(REFUSED))
            differ = sum(map(len, found.values())) - lenient
            for cases in found.values():
                print(f"  {name}, {len(cases)} times: {cases[0][0]}: {cases[0][1]!r}")
            check(f"{name}: {count} tables, {read} are read, all to the numbers of the other reader",
                  differ == 0 and read > count / 4, f"{differ} differ")
            check(f"{name}: at most one in a hundred of these is refused by the other reader", lenient <= read / 100, lenient)
    sys.exit(close())


if __name__ == "__main__":
    main()
