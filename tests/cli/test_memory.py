#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reading stays within the budget of memory, whatever the format.

test_memory.py MERCER [WORD...] [-jN] [--quick]
"""
import contextlib
import gzip
import os
import pathlib
import re
import struct
import sys
import zipfile
import zlib

import numpy as np

from support import (MERCER, Skip, cloud, measured, mercer, numbers, plain_memory, png, refused, report, run_tests,
                     slow_test, table, test, write)


BUDGET = 40 << 20
BESIDES = 96 << 20  # the program itself, and the copies that a sanitizer makes of growing arrays


def peak_of(*words):
    """Run mercer with the budget; status, standard error and the most memory it had."""
    done = measured(MERCER, *words, "--memory", "40M", "--quiet", env=dict(os.environ, **plain_memory()))
    return done.returncode, done.stderr, done.peak


def too_large(*words, says=()):
    """The call must be refused by one line, with no more memory than the budget and a constant."""
    status, err, peak = peak_of(*words)
    shown = " ".join(map(str, words))
    assert status == 1 and err.count("\n") == 1, f"mercer {shown}: status {status}, {err!r}"
    assert "40 MB" in err or f"{BUDGET} bytes" in err, f"mercer {shown}: {err!r}"
    for word in ("--memory", *([says] if isinstance(says, str) else says)):
        assert word in err, f"mercer {shown}: {word!r} is not in {err!r}"
    assert peak < BUDGET + BESIDES, f"mercer {shown}: took {peak / 1e6:.0f} MB; {err}"


def unpacked(name, *pieces):
    """A gzip file of pieces, each bytes or (bytes, how often)."""
    with gzip.open(name, "wb", compresslevel=1) as file:
        for piece, count in ((p, 1) if isinstance(p, bytes) else p for p in pieces):
            at_once = max(1, (1 << 20) // len(piece))
            for _ in range(count // at_once):
                file.write(piece * at_once)
            file.write(piece * (count % at_once))
    return name


def npy_head(dtype, shape, fortran=False):
    head = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


@test
def test_a_message_tells_what_is_needed():
    # 152,000 bytes compressed, 76 MB of numbers: compressed bytes that wait are not done.
    unpacked("told.csv.gz", (b",".join([b"1.5"] * 50) + b"\n", 200000))
    for budget in (20, 40, 70):
        err = mercer("scale", "told.csv.gz", "--memory", f"{budget}M", "-o", "o.npy", status=1).err
        told = float(re.search(r"\(about ([\d.]+) MB in all\)", err)[1])
        assert 70 < told < 84, err


@slow_test
def test_text_is_read_within_the_budget():
    fit = ("-m", "pca", "-n", 1)
    unpacked("rows.csv.gz", (b"1,2,3,4,5,6,7,8\n", 5000000))
    too_large("fit", "rows.csv.gz", *fit, says=["rows.csv.gz", "its rows", "in all"])
    too_large("scale", "rows.csv.gz", says="rows.csv.gz")
    for name, piece in (("line.csv.gz", b"1,"), ("names.csv.gz", b"a,"), ("empty.csv.gz", b","),
                        ("quoted.csv.gz", b'"",'), ("blank.csv.gz", b" "), ("word.csv.gz", b"a")):
        too_large("fit", unpacked(name, (piece, 90000000 // len(piece))), *fit, says=name)
    too_large("fit", unpacked("open.csv.gz", b'x,y\n1,"', (b"a\n", 45000000)), *fit, says="open.csv")
    rows = "".join(f"{i % 7},w{i}\n" for i in range(300000)).encode()
    unpacked("classes.csv.gz", b"x,label\n", rows)
    too_large("fit", "classes.csv.gz", *fit, says=["classes.csv.gz", "classes"])
    unpacked("texts.csv.gz", b"x,text\n", rows)
    too_large("fit", "texts.csv.gz", *fit, "--encode", "onehot", says="texts.csv.gz")
    unpacked("few.csv.gz", (b"1,2\n3,1\n", 150000))
    unpacked("labels.gz", rows)
    too_large("fit", "few.csv.gz", "--labels", "labels.gz", *fit, says="few.csv.gz")
    unpacked("long.gz", (b"a", 200000000))
    too_large("fit", "few.csv.gz", "--labels", "long.gz", *fit, says="long.gz:1")
    unpacked("rows.svm.gz", (b"1 1:1 2:1 3:1\n", 5000000))
    too_large("fit", "rows.svm.gz", *fit, says=["rows.svm.gz", "its rows"])
    unpacked("entries.svm.gz", b"1", "".join(f" {i}:1" for i in range(1, 9000000)).encode(), b"\n")
    too_large("fit", "entries.svm.gz", *fit, says="entries.svm.gz")
    unpacked("labels.svm.gz", b"1", (b",1", 20000000), b" 1:1\n")
    too_large("fit", "labels.svm.gz", *fit, says="labels.svm.gz")
    table("small.csv", cloud())
    unpacked("split.gz", b"0", (b",1", 100000000))
    too_large("evaluate", "small.csv", "-m", "pca", "--metric", "columns", "--split", "split.gz",
              says="split.gz")
    unpacked("splits.gz", (b"0\n", 3000000))
    too_large("evaluate", "small.csv", "-m", "pca", "--metric", "columns", "--split", "splits.gz",
              says="splits.gz")
    for option in ("--landmarks", "--validation"):
        method = "nystroem" if option == "--landmarks" else "koca"
        table("named.csv", cloud(), label=["a", "b"] * 30, names="pqrs")
        unpacked("more.csv.gz", b"label,p,q,r,s\n", (b"a,1,2,3,4\n", 5000000))
        too_large("fit", "named.csv", "-m", method, option, "more.csv.gz", says="more.csv.gz")


@slow_test
def test_arrays_are_read_within_the_budget():
    fit = ("-m", "pca", "-n", 1)
    unpacked("c.npy.gz", npy_head("<f8", (10000000, 8)), (b"\0", 1 << 20))
    too_large("fit", "c.npy.gz", *fit, says=["c.npy.gz", "10000000 rows of 8 columns"])
    unpacked("f.npy.gz", npy_head("<f8", (10000000, 8), True), (b"\0", 1 << 20))
    too_large("fit", "f.npy.gz", *fit, says=["f.npy.gz", "Fortran"])
    unpacked("axes.npy.gz", npy_head("<f8", (2, 100000000, 2), True), (b"\0", 1 << 20))
    too_large("fit", "axes.npy.gz", *fit, says="axes.npy.gz")
    for rows in (1, 2):
        unpacked("wide.npy.gz", npy_head("|u1", (rows, 300000000)), (b"\0", 1 << 20))
        too_large("fit", "wide.npy.gz", *fit, says="wide.npy.gz")
    with zipfile.ZipFile("z.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("a.npy", "w", force_zip64=True) as file:
            file.write(npy_head("<f8", (100000, 1000)))
            for _ in range(100):
                file.write(bytes(8000000))
    too_large("fit", "z.npz", *fit, says=["z.npz:a", "100000 rows of 1000 columns"])
    entries = 4000000
    for form, arrays in (("csr", (("indices", entries), ("indptr", 1001))),
                         ("coo", (("row", entries), ("col", entries)))):
        with zipfile.ZipFile("s.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("format.npy", npy_head("|S3", ()) + form.encode())
            archive.writestr("shape.npy", npy_head("<i8", (2,)) + struct.pack("<qq", 1000, 9))
            for name, count in (("data", entries), *arrays):
                last = struct.pack("<q", entries if name == "indptr" else 0)
                archive.writestr(name + ".npy", npy_head("<i8", (count,)) + bytes(8 * count - 8) + last)
        too_large("fit", "s.npz", *fit, says="s.npz")
    unpacked("c.mtx.gz", b"%%MatrixMarket matrix coordinate real general\n9 9 20000000\n",
             (b"1 1 1\n", 20000000))
    too_large("fit", "c.mtx.gz", *fit, says="c.mtx.gz")
    unpacked("a.mtx.gz", b"%%MatrixMarket matrix array real general\n10000 10000\n")
    too_large("fit", "a.mtx.gz", *fit, says="a.mtx.gz")
    unpacked("e.mtx.gz", b"%%MatrixMarket matrix coordinate pattern general\n900000000 9 1000000\n",
             (b"1 1\n", 1000000))
    too_large("fit", "e.mtx.gz", *fit, says="e.mtx.gz")
    write_mat("m.mat", 100000, 1000)
    too_large("fit", "m.mat", *fit, says=["m.mat", "100000 rows of 1000 columns"])


def write_mat(name, rows, columns):
    """A compressed MAT file of version 5 with a matrix of zeroes."""
    def element(kind, data):
        return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)
    parts = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", rows, columns)) + \
        element(1, b"x")
    size = 8 * rows * columns
    packer = zlib.compressobj(1)
    packed = packer.compress(struct.pack("<II", 14, len(parts) + 8 + size) + parts +
                             struct.pack("<II", 9, size))
    for _ in range(rows):
        packed += packer.compress(bytes(8 * columns))
    packed += packer.flush()
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x100) + b"IM"
    pathlib.Path(name).write_bytes(head + struct.pack("<II", 15, len(packed)) + packed)


@test
def test_hdf5_is_read_within_the_budget():
    try:
        import h5py
    except ImportError:
        raise Skip("h5py is not installed")
    with h5py.File("fill.h5", "w") as file:  # no values are stored at all
        file.create_dataset("x", shape=(1000000, 800), dtype="f8", chunks=(1000, 800))
    with h5py.File("block.h5", "w") as file:
        data = file.create_dataset("x", shape=(10, 10), maxshape=(None, None), dtype="f8",
                                   chunks=(20000, 20000), compression="gzip")
        assert data.shape == (10, 10)
    too_large("fit", "fill.h5", "-m", "pca", says=["fill.h5", "1000000 rows of 800 columns"])
    too_large("fit", "block.h5", "-m", "pca", says="block.h5")
    # Long blocks across all columns would be unpacked again for every few rows.
    with h5py.File("long.h5", "w") as file:
        file.create_dataset("x", shape=(1000000, 30), dtype="f8", chunks=(1000000, 1), compression="gzip")
    too_large("fit", "long.h5", "-m", "pca", says=["long.h5", "blocks as large as those"])
    # So many blocks that what the library notes of each is more than all values.
    x = np.random.default_rng(1).integers(0, 9, (200, 20000)).astype("u1")
    with h5py.File("thin.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(200, 1), compression="gzip", compression_opts=1)
    status, err, peak = peak_of("scale", "thin.h5", "--scale", "none", "-o", "thin.npy")
    assert status == 0 and np.array_equal(np.load("thin.npy"), x), err
    assert peak < BUDGET + BESIDES, f"took {peak / 1e6:.0f} MB"


@test
def test_columns_by_the_million_are_refused_at_once():
    """A small file announces what no budget holds: nothing is made per column first."""
    try:
        import h5py
    except ImportError:
        raise Skip("h5py is not installed")
    columns = 285000000
    with h5py.File("wide.h5", "w") as file:
        file.create_dataset("x", shape=(40, columns), dtype="f8", chunks=(1, 1000000))
    pathlib.Path("wide.npy").write_bytes(npy_head("<f8", (40, columns)))
    os.truncate("wide.npy", 40 * columns * 8 + 256)
    for name in ("wide.h5", "wide.npy"):
        done = measured(MERCER, "fit", name, "-m", "pca", "-n", 2, "--memory", "12G",
                        env=dict(os.environ, **plain_memory()))
        assert done.returncode == 1 and f"40 rows of {columns} columns" in done.stderr, done.stderr
        assert done.peak < BESIDES, f"{name}: took {done.peak / 1e6:.0f} MB"


@test
def test_scale_holds_the_table_once():
    big = np.ones((40000, 100))
    big[1] = 3
    np.save("big.npy", big)
    np.save("few.npy", big[:10])
    peaks = []
    for name in ("few", "big"):
        done = measured(MERCER, "scale", f"{name}.npy", "-o", f"{name}.out.npy", "--quiet",
                        env=dict(os.environ, **plain_memory()))
        assert done.returncode == 0, done.stderr
        peaks.append(done.peak)
    share = (peaks[1] - peaks[0]) / big.nbytes
    assert share < 1.5, f"{share:.2f} times the table"
    assert np.allclose(np.load("big.out.npy"), (big - big.mean(0)) / big.std(0))


@test
def test_images_are_read_within_the_budget():
    os.makedirs("one")
    pathlib.Path("one/a.png").write_bytes(png(np.zeros((8000, 8000, 3), "u1"), 8))
    too_large("fit", "one", "-m", "pca", says=["one/a.png", "image"])
    too_large("fit", "one", "-m", "pca", "--resize", "8x8", says="one/a.png")
    pathlib.Path("one/a.png").write_bytes(png(np.zeros((1000000, 1, 1), "u1"), 8))
    too_large("fit", "one", "-m", "pca", "--resize", "100x10", says="one/a.png")
    with open("one/a.png", "wb") as file:
        file.truncate(900000000)
    too_large("fit", "one", "-m", "pca", says="one/a.png")
    os.makedirs("many")
    image = png(np.zeros((1000, 1000, 1), "u1"), 8)
    for i in range(100):
        pathlib.Path(f"many/{i}.png").write_bytes(image)
    too_large("fit", "many", "-m", "pca", says=["many", "100 rows of 1000000 columns"])
    too_large("fit", "many", "-m", "pca", "--resize", "600x600",
              says=["many", "100 rows of 360000 columns"])


def sparse_classes(name, columns, classes=20, rows=60):
    """LIBSVM text: a column of its own tells each class, 30 others are noise."""
    rng = np.random.default_rng(3)
    lines = []
    for i in range(rows):
        own = i % classes + 1
        others = sorted(set(rng.integers(classes + 1, columns, 30).tolist()) | {columns})
        lines.append(f"{own} {own}:3 " + " ".join(f"{k}:{rng.normal():.3f}" for k in others) + "\n")
    return write(name, "".join(lines))


@test
def test_a_map_is_learnt_within_the_budget():
    """The gradients of all classes along all columns are never there at once."""
    fit = ("-m", "kpca", "-n", "2", "--map", "agop:steps=1,choose=none", "--threads", "2", "-o", "map.model")
    status, err, peak = peak_of("fit", sparse_classes("wide.svm", 100000), *fit)
    assert status == 0, err
    assert peak < BUDGET + BESIDES, f"took {peak / 1e6:.0f} MB"
    too_large("fit", sparse_classes("wider.svm", 1000000), *fit, says="map agop")


@test
def test_blocks_end_where_the_budget_does():
    """transform reads files that are larger than the budget; the result does not depend on it."""
    x = cloud(400, 30)
    table("x.csv", x, names=[f"c{j}" for j in range(30)])
    mercer("fit", "x.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 3, "-o", "x.model", "--quiet")
    mercer("fit", "x.csv", "-m", "ikpca", "-k", "rbf:sigma=4", "-n", 3, "-o", "i.model", "--quiet")
    big = np.tile(x, (24, 1))
    table("big.csv", big, names=[f"c{j}" for j in range(30)])
    np.save("big.npy", big)
    np.savez_compressed("big.npz", x=big)
    np.save("small.npy", big.astype("f4"))
    names = ["big.csv", "big.npy", "big.npz", "small.npy", "big.svm"]
    with contextlib.suppress(ImportError):
        import h5py
        with h5py.File("small.h5", "w") as file:
            file["x"] = big.astype("f4")
        names.append("small.h5")
    text = "".join(" ".join(["1"] + [f"{j + 1}:{v!r}" for j, v in enumerate(row)]) + "\n"
                   for row in big.tolist())
    write("big.svm", text)
    _, wanted = numbers(mercer("transform", "x.model", "big.csv").out)
    for name in names:
        assert os.path.getsize(name) > 1 << 20, name
        done = mercer("transform", "x.model", name, "--memory", "1M")
        got = numbers(done.out)[1]
        assert np.allclose(got, wanted, atol=1e-4 if "small" in name else 1e-12), name
    for name in ("big.csv", "big.npy"):
        mercer("update", "i.model", name, "-o", "more.model", "--memory", "64M")
        mercer("update", "i.model", name, "-o", "less.model", "--memory", "2M")
        assert report("info", "more.model")["spectrum"] == report("info", "less.model")["spectrum"]
    # A single row that does not fit is refused.
    unpacked("wide.csv.gz", ",".join(f"c{j}" for j in range(30)).encode() + b",rest\n",
             b"1," * 30, (b"1", 3000000), b"\n")
    refused("transform", "x.model", "wide.csv.gz", "--memory", "1M", status=1,
            says=["wide.csv.gz", "1.0 MB", "--memory"])


if __name__ == "__main__":
    sys.exit(run_tests())
