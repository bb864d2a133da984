#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files of other programs through `mercer scale --scale none`: test_formats.py MERCER [DATA]

NumPy, SciPy, h5py and Pillow write them; the numbers that come out must be the very same. DATA is
the folder of public data sets; what needs it is left out with a message when it is not there.
"""
import functools
import gzip
import io
import itertools
import os
import pathlib
import random
import shutil
import struct
import sys
import time
import zipfile
import zlib

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

MERCER = harness.program()
DATA = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
rng = np.random.default_rng(1)
DTYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


check = functools.partial(harness.check, quiet=True)  # there are thousands


def run(*words):
    return harness.call(MERCER, *words)


def read(data, *words):
    """The numbers Mercer reads, or the error text."""
    done = run("scale", data, "--scale", "none", "-o", "out.npy", "--quiet", *words)
    if done.returncode:
        return done.stderr
    return np.load("out.npy")


def same(name, data, expected, *words):
    got = read(data, *words)
    expected = np.asarray(expected)
    expected = expected.reshape(len(expected), -1).astype(float)
    ok = isinstance(got, np.ndarray) and got.shape == expected.shape and (got == expected).all()
    check(name, ok, got if isinstance(got, str) else "other numbers or shape")


def refuses(name, data, words, *options, status=1):
    """One line that starts with the file and has these words."""
    done = run("scale", data, "--scale", "none", "-o", "out.npy", *options)
    lines = done.stderr.splitlines()
    ok = (done.returncode == status and len(lines) == 1 and not done.stdout
          and lines[0].startswith("mercer: ") and all(word in lines[0] for word in words))
    check(name, ok, f"status {done.returncode}: {done.stderr!r} lacks {words}")


def sample(dtype, *shape):
    if dtype.startswith("f"):
        return rng.normal(size=shape).astype(dtype)
    limits = np.iinfo(dtype)
    low, high = max(limits.min, -2**53), min(limits.max, 2**53)
    return rng.integers(low, high, size=shape, dtype=dtype, endpoint=True)


def survives(name, data, path, whole, step=1, flips=60):
    """Cut short anywhere it is refused in one line; with bits turned it never crashes."""
    for length in list(range(0, len(whole), step)) + [len(whole) - 1]:
        path.write_bytes(whole[:length])
        done = run("scale", data, "--scale", "none", "-o", "out.npy", "--quiet")
        lines = done.stderr.splitlines()
        ok = done.returncode == 1 and len(lines) == 1 and lines[0].startswith(f"mercer: {path}")
        check(f"{name} cut to {length}", ok, f"status {done.returncode}: {done.stderr!r}")
    chance = random.Random(1)
    for i in range(flips):
        spoilt = bytearray(whole)
        for _ in range(1 + i % 3):
            spoilt[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(spoilt)
        done = run("scale", data, "--scale", "none", "-o", "out.npy", "--quiet")
        ok = done.returncode in (0, 1) and len(done.stderr.splitlines()) == done.returncode
        check(f"{name} spoilt {i}", ok, f"status {done.returncode}: {done.stderr!r}")
    path.write_bytes(whole)


def test_names():
    x = sample("f8", 5, 3)
    np.savez("a.npz", X=x, y=np.arange(5.0))
    same("npz name", "a.npz:X", x)
    same("npz file name", "a.npz:X.npy", x)
    same("npz vector", "a.npz:y", np.arange(5.0))
    same("npz only table", "a.npz", x)
    np.save("c:d.npy", x)
    same("a path that exists wins", "c:d.npy", x)
    np.savez("a.npz:X", X=x + 1)
    os.rename("a.npz:X.npz", "a.npz:X")
    same("also over an array", "a.npz:X", x + 1, "--format", "npz")
    os.remove("a.npz:X")
    refuses("unknown array", "a.npz:Z", ["a.npz:", "no array 'Z'", "X (5x3), y (5)"])
    np.savez("two.npz", A=x, B=x)
    refuses("two tables", "two.npz", ["two.npz:", "FILE:NAME", "A (5x3), B (5x3)"])
    np.savetxt("t.csv", x, delimiter=",")
    refuses("no names in csv", "t.csv:X", ["t.csv", "no arrays by name"], status=2)
    refuses("no such file", "missing.npz:X", ["missing.npz:X", "cannot open"])
    refuses("no such mat", "missing.mat:X", ["missing.mat:X", "cannot open"])
    refuses("no such h5", "missing.h5:X", ["missing.h5:X", "cannot open"])
    done = run("scale", "a.npz", "-o", "out.npz")
    check("npz is not written", done.returncode == 2 and "read but not written" in done.stderr,
          done.stderr)
    before = pathlib.Path("a.npz").read_bytes()
    done = run("fit", "a.npz:X", "-m", "pca", "-o", "a.npz")
    check("data are not written over", done.returncode == 2 and "written over" in done.stderr
          and pathlib.Path("a.npz").read_bytes() == before, done.stderr)
    done = run("fit", "a.npz:X", "-m", "pca", "-n", "2", "-o", "m.model", "--quiet")
    done = run("transform", "m.model", "a.npz:X", "-o", "f.npy", "--quiet")
    centred = x - x.mean(0)
    check("fit and transform", done.returncode == 0 and np.allclose(
        np.sort((np.load("f.npy") ** 2).sum(0))[::-1],
        np.linalg.svd(centred, compute_uv=False)[:2] ** 2), done.stderr)


def test_npz():
    for save in (np.savez, np.savez_compressed):
        for dtype in DTYPES:
            for order in "CF":
                x = np.array(sample(dtype, 7, 4), order=order)
                save("b.npz", x=x, stack=np.array(sample(dtype, 3, 2, 2), order=order))
                same(f"npz {save.__name__} {dtype} {order}", "b.npz:x", x)
                same(f"npz stack {save.__name__} {dtype} {order}", "b.npz:stack",
                     np.load("b.npz")["stack"])
        big = sample("f8", 3000, 50)
        save("c.npz", big)
        same(f"npz large {save.__name__}", "c.npz", big)
        save("c.npz", np.asfortranarray(big).astype(">f4"))
        same(f"npz large big-endian {save.__name__}", "c.npz", big.astype("f4"))
        save("c.npz", big > 0)
        same(f"npz bool {save.__name__}", "c.npz", big > 0)
    np.savez("d.npz", s=np.array(["a", "b"]), c=np.ones((2, 2), complex), e=np.ones((0, 3)))
    refuses("npz text", "d.npz:s", ["d.npz:s", "cannot be read"])
    refuses("npz complex", "d.npz:c", ["d.npz:c", "cannot be read"])
    refuses("npz empty array", "d.npz:e", ["d.npz:e", "no rows"])
    with zipfile.ZipFile("e.npz", "w") as z:
        z.writestr("readme.txt", "no array")
    refuses("npz without arrays", "e.npz", ["e.npz", "no arrays"])
    with zipfile.ZipFile("f.npz", "w", zipfile.ZIP_BZIP2) as z:
        bytes_ = io.BytesIO()
        np.save(bytes_, np.ones((2, 2)))
        z.writestr("x.npy", bytes_.getvalue())
    refuses("npz bzip2", "f.npz", ["f.npz:x", "packed in an unusual way"])
    with zipfile.ZipFile("g.npz", "w") as z, z.open("x.npy", "w", force_zip64=True) as member:
        np.save(member, np.eye(3))
        z.comment = b"a comment"
    same("npz zip64 and comment", "g.npz", np.eye(3))
    pathlib.Path("h.npz").write_text("1,2\n")
    refuses("npz not a zip", "h.npz", ["h.npz", "not an NPZ file"])
    for save in (np.savez, np.savez_compressed):
        path = pathlib.Path("s.npz")
        save(path, x=sample("f8", 6, 5), y=np.arange(6))
        whole = path.read_bytes()
        survives(f"npz {save.__name__}", "s.npz:x", path, whole, step=41, flips=40)
        at = whole.index(b"x.npy") + 200
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        refuses(f"npz spoilt {save.__name__}", "s.npz:x", ["s.npz:x", "damaged"])


def test_npz_sparse():
    try:
        import scipy.sparse
    except ImportError:
        return print("sparse NPZ is left out: SciPy is not there")
    x = scipy.sparse.random(300, 40, 0.1, random_state=1, format="csr")
    for kind in ("csr", "csc", "coo"):
        for packed in (False, True):
            for dtype in ("f8", "f4", "i4", "?"):
                y = (x * 9).astype(dtype)
                scipy.sparse.save_npz("a.npz", y.asformat(kind), compressed=packed)
                same(f"npz {kind} {packed} {dtype}", "a.npz", y.toarray())
    scipy.sparse.save_npz("a.npz", x.tobsr())
    refuses("npz bsr", "a.npz", ["a.npz", "format 'bsr' is not read"])
    scipy.sparse.save_npz("a.npz", scipy.sparse.dia_matrix(np.eye(3)))
    refuses("npz dia", "a.npz", ["a.npz", "format 'dia' is not read"])
    shuffled = scipy.sparse.csr_matrix(([1.0, 2, 4], [2, 0, 2], [0, 3]), shape=(1, 3))
    scipy.sparse.save_npz("a.npz", shuffled)
    same("npz unsorted, twice in one place", "a.npz", [[2, 0, 5]])
    path = pathlib.Path("s.npz")
    scipy.sparse.save_npz(path, x[:5].tocsr())
    survives("npz sparse", "s.npz", path, path.read_bytes(), step=41, flips=60)


def test_mtx():
    try:
        import scipy.io
        import scipy.sparse
    except ImportError:
        return print("Matrix Market is left out: SciPy is not there")

    def as_scipy(name, matrix, **options):
        scipy.io.mmwrite("a.mtx", matrix, **options)
        read_back = scipy.io.mmread("a.mtx")
        expected = read_back.toarray() if scipy.sparse.issparse(read_back) else read_back
        same(name, "a.mtx", expected)
        with gzip.open("b.mtx.gz", "wb") as f:
            f.write(pathlib.Path("a.mtx").read_bytes())
        same(name + " gz", "b.mtx.gz", expected)

    x = scipy.sparse.random(50, 50, 0.1, random_state=1)
    both, skew = x + x.T, x - x.T
    as_scipy("mtx", x.tocsr()[:20])
    as_scipy("mtx short digits", x, precision=3)
    as_scipy("mtx integer", (x * 9).astype(int))
    as_scipy("mtx pattern", x, field="pattern")
    as_scipy("mtx array", x.toarray()[:7])
    for name, matrix, kind in (("symmetric", both, "symmetric"), ("skew", skew, "skew-symmetric")):
        as_scipy(f"mtx {name}", matrix, symmetry=kind)
        as_scipy(f"mtx array {name}", matrix.toarray(), symmetry=kind)
    scipy.io.mmwrite("c.mtx", x * 1j)
    refuses("mtx complex", "c.mtx", ["c.mtx:1", "'complex'"])
    scipy.io.mmwrite("c.mtx", (x * 1j - x.T * 1j), symmetry="hermitian")
    refuses("mtx hermitian", "c.mtx", ["c.mtx:1"])
    path = pathlib.Path("s.mtx")
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 .5\n3 2 7\n1 1 .5\n")
    same("mtx added up", "s.mtx", [[1, 0], [0, 0], [0, 7]])
    check("as SciPy does", (scipy.io.mmread("s.mtx").toarray() == [[1, 0], [0, 0], [0, 7]]).all())
    chance = random.Random(1)
    whole = path.read_bytes()
    for i in range(100):
        spoilt = bytearray(whole)
        spoilt[chance.randrange(len(whole))] = chance.randrange(128)
        path.write_bytes(spoilt)
        done = run("scale", path, "--scale", "none", "-o", "out.npy", "--quiet")
        check(f"mtx spoilt {i}", done.returncode in (0, 1)
              and len(done.stderr.splitlines()) == done.returncode, done.stderr)


def test_libsvm():
    try:
        import scipy.sparse
        from sklearn.datasets import dump_svmlight_file, load_svmlight_file
    except ImportError:
        return print("LIBSVM text is left out: scikit-learn is not there")
    x = scipy.sparse.random(500, 60, 0.1, random_state=1, format="csr")
    x.data = x.data * 10.0 ** rng.integers(-300, 300, len(x.data))
    # What scikit-learn writes, we read; what we write, it reads.
    for name, y in (("classes", rng.integers(-1, 3, 500)), ("values", rng.normal(size=500))):
        for comment in ("", "a comment"):
            # It writes 16 digits, so what it wrote is what it reads again.
            dump_svmlight_file(x, y, "a.svm", zero_based=False, comment=comment)
            x, y = load_svmlight_file("a.svm", n_features=60)
            dense = x.toarray()
            same(f"libsvm {name} {comment}", "a.svm", dense, "--no-label")
            run("scale", "a.svm", "--scale", "none", "-o", "b.svm", "--quiet")
            again, labels = load_svmlight_file("b.svm", n_features=60)
            check(f"libsvm back {name} {comment}", (again != x).nnz == 0 and (labels == y).all())
            done = run("scale", "a.svm", "--scale", "none", "-o", "c.csv", "--quiet")
            got = np.loadtxt("c.csv", delimiter=",", skiprows=1)
            check(f"libsvm to csv {name} {comment}", (got[:, 0] == y).all()
                  and (got[:, 1:] == dense).all(), done.stderr)
            run("scale", "c.csv", "--scale", "none", "-o", "d.svm.gz", "--quiet", *(
                () if name == "classes" else ("--target", "target1")))
            again, labels = load_svmlight_file("d.svm.gz", n_features=60)
            check(f"csv to libsvm {name} {comment}", (again != x).nnz == 0 and (labels == y).all())
    dump_svmlight_file(x, y, "q.svm", zero_based=False, query_id=np.arange(500))
    same("libsvm queries", "q.svm", dense, "--no-label")
    several = np.round(rng.normal(size=(500, 2)), 3)
    np.savetxt("t.csv", np.hstack([several, dense[:, :3]]), delimiter=",", fmt="%.17g")
    run("scale", "t.csv", "--target", "1,2", "--scale", "none", "-o", "t.svm", "--quiet")
    again, labels = load_svmlight_file("t.svm", n_features=3, multilabel=True)
    check("several targets", (again.toarray() == dense[:, :3]).all()
          and (np.array(sorted(map(sorted, labels))) == np.array(sorted(map(sorted, several)))).all())
    # LIBSVM's own program; it prints six digits, so the numbers have fewer.
    few = np.round(rng.integers(0, 2, (50, 9)) * rng.integers(1, 9, (50, 9)))
    few[0], few[1] = 8, 0
    dump_svmlight_file(few, rng.integers(1, 3, 50), "e.svm", zero_based=False)
    run("scale", "e.svm", "--scale", "none", "-o", "f.svm", "--quiet")
    run("scale", "f.svm", "--scale", "minmax", "-o", "g.svm", "--quiet")
    try:
        done = harness.call("svm-scale", "-l", "0", "-u", "1", "f.svm")
    except FileNotFoundError:
        return print("svm-scale is left out: LIBSVM's programs are not there")
    pathlib.Path("h.svm").write_text(done.stdout)
    same("svm-scale reads us, we read svm-scale", "h.svm", few / 8, "--no-label")
    same("the same scaling", "g.svm", few / 8, "--no-label")
    done = run("scale", "e.svm", "--scale", "standard")
    check("no shifting", done.returncode == 1 and "unit keeps" in done.stderr, done.stderr)


def test_mat():
    try:
        import scipy.io
        import scipy.sparse
    except ImportError:
        return print("MAT is left out: SciPy is not there")
    for packed in (False, True):
        for dtype in DTYPES[1:]:
            x = sample(dtype, 7, 4)
            scipy.io.savemat("a.mat", {"x": x, "y": np.arange(7)}, do_compression=packed)
            same(f"mat {dtype} {packed}", "a.mat:x", x)
            same(f"mat only table {dtype} {packed}", "a.mat", x)
        big = sample("f8", 2000, 60)
        scipy.io.savemat("b.mat", {"first": np.eye(2), "big": big}, do_compression=packed)
        same(f"mat large {packed}", "b.mat:big", big)
        whole_numbers = np.round(big * 10) # stored as bytes
        scipy.io.savemat("c.mat", {"w": whole_numbers, "l": big > 0}, do_compression=packed)
        same(f"mat whole numbers {packed}", "c.mat:w", whole_numbers)
        same(f"mat logical {packed}", "c.mat:l", big > 0)
        others = {"z": np.ones((2, 2), complex), "t": "text",
                  "c": np.array([1, "a"], object), "st": {"a": 1}, "r": np.ones((2, 2, 2, 2)),
                  "ok": np.eye(3)}
        scipy.io.savemat("d.mat", others, do_compression=packed)
        same(f"mat among others {packed}", "d.mat", np.eye(3))
        for name, word in (("z", "complex"), ("t", "text"), ("c", "cell"), ("st", "struct"),
                           ("r", "stack of images")):
            refuses(f"mat {word} {packed}", f"d.mat:{name}", [f"d.mat:{name}", word])
        for dtype in ("u1", "f8"): # images as MATLAB stacks them: A(:,:,i), in colour A(:,:,:,i)
            grey, colour = sample(dtype, 5, 3, 4), sample(dtype, 5, 3, 4, 3)
            scipy.io.savemat("i.mat", {"g": grey.transpose(1, 2, 0), "c": colour.transpose(1, 2, 3, 0)},
                             do_compression=packed)
            same(f"mat stack {dtype} {packed}", "i.mat:g", grey.reshape(5, 12))
            same(f"mat stack in colour {dtype} {packed}", "i.mat:c", colour.reshape(5, 36))
            np.save("i.npy", grey)
            same(f"mat haar {dtype} {packed}", "i.mat:g", read("i.npy", "--image-features", "haar"),
                 "--image-features", "haar")
        path = pathlib.Path("s.mat")
        scipy.io.savemat(path, {"x": sample("f8", 6, 5), "y": np.eye(2)}, do_compression=packed)
        survives(f"mat {packed}", "s.mat:x", path, path.read_bytes(), step=41, flips=60)
        for dtype in (float, bool):
            x = scipy.sparse.random(40, 30, 0.1, random_state=1).astype(dtype)
            scipy.io.savemat("e.mat", {"x": x}, do_compression=packed)
            same(f"mat sparse {dtype.__name__} {packed}", "e.mat", x.toarray())
        scipy.io.savemat("e.mat", {"x": x * 1j}, do_compression=packed)
        refuses(f"mat sparse complex {packed}", "e.mat", ["e.mat:x", "complex"])
        scipy.io.savemat(path, {"x": x}, do_compression=packed)
        survives(f"mat sparse {packed}", "s.mat:x", path, path.read_bytes(), step=97, flips=30)
    scipy.io.savemat(path, {"x": np.eye(2)})
    whole = path.read_bytes()
    at = 128 + 8 + 16 + 4 # the length of the dimensions, behind header, tag and flags
    for length, words in ((0x7fffff00, "beyond its end"), (1 << 10, "beyond its end")):
        path.write_bytes(whole[:at] + struct.pack("<I", length) + whole[at + 4:])
        refuses(f"mat dimensions of {length} bytes", "s.mat", ["s.mat", words])
    # What makes matio take memory by a number that nothing in the file bears out, or hand out memory
    # that it never filled: sizes are checked before it reads.
    cells = np.empty((1, 2), object)
    cells[0] = 1.0, 2.0
    tall = scipy.sparse.csc_matrix(np.arange(6.0).reshape(2, 3))
    for value, name, at, number, words in (
            (np.eye(2), "columns", 164, 515, "fewer values"),
            (np.eye(2), "length of the flags", 140, 24, "head of an array"),
            (np.eye(2) / 3, "class of whole numbers", 144, 14, "another type"),
            (np.eye(2) / 3, "class of single precision", 144, 7, "another type"),
            (np.eye(2, dtype="i4"), "class of narrow numbers", 144, 10, "another type"),
            (np.eye(2, dtype="i4"), "class of single precision for whole numbers", 144, 7, "another type"),
            (tall, "columns of a sparse array", 164, 515, "fewer values"),
            (tall, "end of a sparse column", 228, 0x41000005, "fewer values"),
            (tall, "type of row numbers", 176, 1, "not whole numbers"),
            (cells, "rows of a cell array", 160, 0x08000001, "fewer values")):
        scipy.io.savemat(path, {"x": value, "y": np.eye(2)})
        whole = path.read_bytes()
        path.write_bytes(whole[:at] + struct.pack("<I", number) + whole[at + 4:])
        refuses(f"mat {name}", "s.mat:x", ["s.mat", words])
    if shutil.which("octave-cli"): # stacks of MATLAB's own kind
        harness.output("octave-cli", "--norc", "--eval", "for i = 1:2, A(:,:,i) = i * [1 2 3; 4 5 6];"
                       " end; save -v6 o.mat A; A = uint8(A); save -v7 p.mat A")
        for name in ("o.mat", "p.mat"):
            same(f"octave stack {name}", name, np.outer([1, 2], [1, 2, 3, 4, 5, 6]))
    refuses("mat unknown", "d.mat:q", ["d.mat", "no array 'q'", "ok (3x3)", "z (complex)"])
    scipy.io.savemat("four.mat", {"x": np.eye(3)}, format="4")
    refuses("mat 4", "four.mat", ["four.mat", "not a MAT file"])
    pathlib.Path("text.mat").write_text("1 2 3\n" * 40)
    refuses("mat text", "text.mat", ["text.mat", "not a MAT file"])
    refuses("mat from a pipe", "-", ["standard input", "plain file"], "--format", "mat", status=2)


def set_class(place, kind):
    import h5py
    text = h5py.h5t.C_S1.copy() # as MATLAB does, without a zero at the end
    text.set_size(len(kind))
    label = h5py.h5a.create(place.id, b"MATLAB_class", text, h5py.h5s.create(h5py.h5s.SCALAR))
    label.write(np.array(kind), mtype=text)


def test_hdf5():
    try:
        import h5py
    except ImportError:
        return print("HDF5 is left out: h5py is not there")
    for dtype in DTYPES:
        for extra in ({}, {"chunks": (3, 2), "compression": "gzip", "shuffle": True}):
            x = sample(dtype, 7, 4)
            with h5py.File("a.h5", "w") as f:
                f.create_dataset("x", data=x, **extra)
                f.create_dataset("group/deep/y", data=x.astype(">" + dtype))
                f.create_dataset("v", data=x[:, 0])
                f.create_dataset("stack", data=x.reshape(7, 2, 2))
            same(f"h5 {dtype} {bool(extra)}", "a.h5:x", x)
            same(f"h5 big-endian {dtype}", "a.h5:/group/deep/y", x)
            same(f"h5 vector {dtype}", "a.h5:/v", x[:, 0])
            same(f"h5 stack {dtype}", "a.h5:stack", x)
    refuses("h5 two tables", "a.h5", ["a.h5", "FILE:NAME", "group/deep/y (7x4)", "v (7)"])
    refuses("h5 unknown", "a.h5:/group/x", ["a.h5", "no array", "group/deep/y"])
    big = sample("f8", 5000, 40)
    with h5py.File("b.hdf5", "w") as f:
        f.create_dataset("big", data=big, chunks=(700, 7), compression="gzip", fletcher32=True)
        f.create_dataset("text", data=[b"a", b"b"])
        f.create_dataset("pairs", data=np.ones(2, [("a", "f8")]))
        f.create_dataset("scalar", data=1.0)
    same("h5 large in blocks", "b.hdf5", big)
    refuses("h5 text", "b.hdf5:text", ["b.hdf5:/text", "text"])
    refuses("h5 compound", "b.hdf5:pairs", ["b.hdf5:/pairs", "compound"])
    refuses("h5 scalar", "b.hdf5:scalar", ["b.hdf5:/scalar", "single number"])
    with h5py.File("n.h5", "w") as f:
        f.create_dataset("x", data=[[1, 2], [np.nan, 3]])
    refuses("h5 nan", "n.h5", ["n.h5:/x: row 2, column 1", "not finite"])
    path = pathlib.Path("s.h5")
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=sample("f8", 30, 20), compression="gzip", fletcher32=True)
    survives("h5", "s.h5:x", path, path.read_bytes(), step=397, flips=60)
    # MATLAB's version 7.3: HDF5 behind a header, arrays transposed, their class in an attribute.
    x = sample("f8", 6, 4)
    with h5py.File("v.mat", "w", userblock_size=512) as f:
        for name, value, kind in (("x", x, b"double"), ("k", (x > 0).astype("u1"), b"logical"),
                                  ("i", np.round(x * 9).astype("i2"), b"int16"),
                                  ("s", x.reshape(2, 3, 4).transpose(1, 2, 0), b"double")):
            f.create_dataset(name, data=value.T)
            set_class(f[name], kind)
            if kind == b"logical":
                f[name].attrs["MATLAB_int_decode"] = np.int32(1)
    with open("v.mat", "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    same("mat 7.3", "v.mat:x", x)
    same("mat 7.3 stack", "v.mat:s", x.reshape(2, 12))
    with h5py.File("w.mat", "w", userblock_size=512) as f: # sparse ones are groups
        group = f.create_group("x")
        set_class(group, b"double")
        group.attrs["MATLAB_sparse"] = np.uint64(2)
        group.create_dataset("data", data=[1.5, 2, 3])
        group.create_dataset("ir", data=np.array([0, 0, 1], "u8"))
        group.create_dataset("jc", data=np.array([0, 1, 1, 3], "u8"))
    with open("w.mat", "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    same("mat 7.3 sparse", "w.mat", [[1.5, 0, 2], [0, 0, 3]])
    same("mat 7.3 logical", "v.mat:k", x > 0)
    same("mat 7.3 int16", "v.mat:i", np.round(x * 9))
    path = pathlib.Path("v.mat")
    survives("mat 7.3", "v.mat:x", path, path.read_bytes(), step=397, flips=40)


def test_hdf5_alone():
    """A file says nothing but its own bytes, whatever it points at."""
    try:
        import h5py
    except ImportError:
        return print("HDF5 is left out: h5py is not there")
    secret = np.arange(6.0).reshape(2, 3) + 4711
    pathlib.Path("secret.bin").write_bytes(secret.tobytes())
    with h5py.File("other.h5", "w") as f:
        f.create_dataset("s", data=secret)
        f.create_dataset("g/s", data=secret)

    def outside(f):
        f.create_dataset("x", (2, 3), "f8", external=[(os.path.abspath("secret.bin"), 0, 48)])

    def virtual(f):
        layout = h5py.VirtualLayout((2, 3), "f8")
        layout[:] = h5py.VirtualSource(os.path.abspath("other.h5"), "s", (2, 3))
        f.create_virtual_dataset("x", layout)

    def link(f):
        f["x"] = h5py.ExternalLink(os.path.abspath("other.h5"), "/s")

    def soft(f):
        f["away"] = h5py.ExternalLink(os.path.abspath("other.h5"), "/g")
        f["x"] = h5py.SoftLink("/away/s")

    own = "only what the file itself holds is read"
    for fill, words in ((outside, ["stored outside of this file", own]),
                        (virtual, ["a virtual dataset", own]),
                        (link, ["a link to another file", own]), (soft, ["no array 'x'"])):
        with h5py.File("p.h5", "w") as f:
            fill(f)
        refuses(f"h5 {fill.__name__}", "p.h5:x", ["p.h5", *words])
        with h5py.File("p.h5", "a") as f:
            f.create_dataset("own", data=secret + 1)
        same(f"h5 beside {fill.__name__}", "p.h5:own", secret + 1)
        # The same behind MATLAB's header: the whole file is refused, as MATLAB writes none of these.
        with h5py.File("p.mat", "w", userblock_size=512) as f:
            fill(f)
            if fill in (outside, virtual):
                set_class(f["x"], b"double")
            set_class(f.create_dataset("own", data=secret), b"double")
        with open("p.mat", "r+b") as f:
            f.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
        for name in ("x", "own"):
            refuses(f"mat 7.3 {fill.__name__} {name}", f"p.mat:{name}",
                    ["p.mat: '" + ("away" if fill is soft else "x") + "'", own])
    for name in ("pipe.h5", "pipe.mat"):
        os.mkfifo(name)
        refuses(f"{name}, which nobody writes to", name, [name, "plain file"], status=2)
    # A dataset behind a filter that would have to be loaded as a plugin.
    with h5py.File("p.h5", "w") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((2, 3))
        plist.set_filter(32768 + 17, h5py.h5z.FLAG_OPTIONAL, ())
        space = h5py.h5s.create_simple((2, 3))
        data = h5py.h5d.create(f.id, b"x", h5py.h5t.NATIVE_DOUBLE, space, plist)
        data.write_direct_chunk((0, 0), secret.tobytes(), 0)
    refuses("h5 plugin", "p.h5", ["p.h5:/x", "unsupported filter 'unnamed' (HDF5 filter 32785)"])
    with h5py.File("p.h5", "w") as f:
        f.create_dataset("x", data=secret, compression="lzf")
    refuses("h5 lzf", "p.h5", ["p.h5:/x", "unsupported filter 'lzf'"])
    # A block of 29 bytes where 48 belong: libhdf5 gives what lies behind it in memory.
    for name, how in (("plain", {}), ("shuffled", {"shuffle": True})):
        with h5py.File("p.h5", "w") as f:
            data = f.create_dataset("x", (4, 3), "f8", chunks=(2, 3), **how)
            data.id.write_direct_chunk((0, 0), secret.tobytes(), 0)
            data.id.write_direct_chunk((2, 0), secret.tobytes()[:29], 0)
            f.create_dataset("own", data=secret, chunks=(2, 2), fletcher32=True, **how)
            f.create_dataset("part", (10, 3), "f8", chunks=(4, 3), **how)[0:2] = secret
        refuses(f"h5 short block, {name}", "p.h5:x", ["p.h5", "damaged: its values do not fit its shape"])
        same(f"h5 beside a short block, {name}", "p.h5:own", secret)
        same(f"h5 blocks never written, {name}", "p.h5:part", np.vstack([secret, np.zeros((8, 3))]))
    # Every way of storing blocks, in files of both kinds, grown, shrunk and written in part: nothing of it is damage.
    for number, (version, user, how, shape, fate) in enumerate(itertools.product(
            ("earliest", "latest"), (0, 512), ({}, {"compression": "gzip"}, {"fletcher32": True}, {"shuffle": True, "chunks": (64, 64)},
                                               {"chunks": (1, 1)}), ((5, 4), (60, 30)), ("free", "limited", "part"))):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        with h5py.File("p.h5", "w", libver=version, userblock_size=user) as f:
            data = f.create_dataset("x", (shape[0] + 20, shape[1] + 9), "f8", maxshape=(None if fate == "free" else 200, None),
                                    **{"chunks": (7, 3), **how})
            if fate == "part":
                data[2:3, 1:2] = 7
            else:
                data[:] = 1
                data.resize(shape)
                data[:] = x
            x = data[()]
        same(f"h5 blocks {number}: {version}, {user}, {how}, {shape}, {fate}", "p.h5:x", x)
    # A dataset in one piece whose length is not that of its shape: the library reads on behind it, or not to its end.
    with h5py.File("p.h5", "w") as f:
        f.create_dataset("x", data=secret)
        f.create_dataset("empty", (4, 3), "f8")  # never written: zeroes
    whole = pathlib.Path("p.h5").read_bytes()
    same("h5 in one piece", "p.h5:x", secret)
    same("h5 never written", "p.h5:empty", np.zeros((4, 3)))
    at = whole.find(b"\x03\x01" + struct.pack("<Q", whole.find(secret.tobytes())) + struct.pack("<Q", secret.nbytes)) + 10
    check("h5 length", at >= 10, "the length of the dataset is not where it is looked for")
    for length in (8, secret.nbytes - 1, secret.nbytes + 8, 6144, 1 << 40, (1 << 64) - 8):
        pathlib.Path("p.h5").write_bytes(whole[:at] + struct.pack("<Q", length) + whole[at + 8:])
        refuses(f"h5 length {length}", "p.h5:x", ["p.h5"])
    # A block that unpacks to more than a block, and more than the memory there is.
    with h5py.File("p.h5", "w") as f:
        data = f.create_dataset("x", (8192, 4), "f8", chunks=(8192, 4), compression="gzip")
        packer = zlib.compressobj(9)
        bomb = b"".join(packer.compress(bytes(1 << 24)) for _ in range(64)) + packer.flush()
        data.id.write_direct_chunk((0, 0), bomb, 0)
    if "ASAN_OPTIONS" not in os.environ:  # sanitizers reserve addresses, so that no limit of them can be set
        refuses("h5 bomb", "p.h5", ["p.h5:/x", "not enough memory", "--memory"], "--memory", "40M")


def test_hdf5_blocks():
    """Blocks of any form: long and thin, single values, more axes; whatever the budget is."""
    try:
        import h5py
    except ImportError:
        return print("HDF5 is left out: h5py is not there")
    for dtype in ("f8", "f4", "u1", "i2", "i8", ">f4"):
        x = rng.integers(0, 100, (9000, 40)).astype(dtype)
        with h5py.File("t.h5", "w") as f:
            f.create_dataset("thin", data=x, chunks=(4100, 1), compression="gzip")
            f.create_dataset("long", data=x, chunks=(9000, 3), compression="gzip", shuffle=True)
            f.create_dataset("bare", data=x, chunks=(9000, 1))
            f.create_dataset("axes", data=x.reshape(9000, 5, 4, 2), chunks=(7000, 2, 1, 2))
            f.create_dataset("dots", data=x[:60], chunks=(1, 1))
            f.create_dataset("flat", data=x[:, 0], chunks=(100,))
        for name in ("thin", "long", "bare", "axes", "dots", "flat"):
            expected = x[:60] if name == "dots" else x[:, 0] if name == "flat" else x
            for memory in ("4M", "64M"):
                same(f"h5 {name} {dtype} {memory}", f"t.h5:{name}", expected, "--memory", memory)


def test_images():
    try:
        from PIL import Image
    except ImportError:
        return print("images are left out: Pillow is not there")
    # A palette that ends before its last colour would have others black; one of few colours is sound.
    indices = rng.integers(0, 16, (6, 8), dtype="u1")
    colours = rng.integers(0, 256, (16, 3), dtype="u1")
    for bits, where in ((8, "few8"), (4, "few4"), (1, "few1")):
        folder, count = pathlib.Path(where), min(16, 1 << bits)
        folder.mkdir()
        packed = np.packbits(np.unpackbits(indices % count, axis=1).reshape(6, 8, 8)[:, :, 8 - bits:].reshape(6, -1), axis=1)
        lines = b"".join(line.tobytes().ljust(-(-len(line) // 4) * 4, b"\0") for line in packed[::-1])
        palette = b"".join(bytes([*colour[::-1], 0]) for colour in colours[:count])
        head = struct.pack("<I2i2H6I", 40, 8, 6, 1, bits, 0, len(lines), 0, 0, count, 0)
        for entries in (count, count - 1, 0):
            pixels = 54 + 4 * entries
            (folder / "x.bmp").write_bytes(b"BM" + struct.pack("<3I", pixels + len(lines), 0, pixels) + head +
                                           palette[:4 * entries] + lines)
            if entries == count:
                same(f"bmp palette of {count}, {bits} bits", folder, colours[indices % count].reshape(1, -1).astype(float))
            else:
                refuses(f"bmp palette of {entries} of {count}, {bits} bits", folder, ["x.bmp", "palette is cut off"])
    for ending in ("pgm", "png", "bmp", "jpg", "ppm"):
        for colour in (False, True):
            if ending == "ppm" and not colour or ending == "pgm" and colour:
                continue
            folder = pathlib.Path(f"{ending}{colour}")
            rows = []
            for cls in ("b2", "b10", "a"):
                (folder / cls).mkdir(parents=True)
                for i in (10, 9, 1):
                    pixels = rng.integers(0, 256, (6, 5, 3) if colour else (6, 5), dtype="u1")
                    path = folder / cls / f"im{i}.{ending.upper() if i == 9 else ending}"
                    image = Image.fromarray(pixels)
                    image.save(path)
                    loaded = np.asarray(Image.open(path)).astype(float)
                    rows.append((["a", "b2", "b10"].index(cls), i, loaded.ravel()))
            (folder / "a" / "notes.txt").write_text("no image")
            (folder / ".hidden").mkdir()
            rows.sort(key=lambda row: row[:2])
            expected = np.array([row[2] for row in rows])
            got = read(folder, "--no-label")
            close = 3 if ending == "jpg" else 0 # decoders of JPEG differ a little
            check(f"images {ending} {colour}", isinstance(got, np.ndarray) and got.shape ==
                  expected.shape and abs(got - expected).max() <= close, got)
            done = run("scale", folder, "--scale", "none", "-o", "out.csv")
            names = [line.split(",")[0] for line in open("out.csv")][1:]
            check(f"classes {ending} {colour}", names == ["a"] * 3 + ["b2"] * 3 + ["b10"] * 3,
                  f"{names} {done.stderr}")
            one = read(folder / "a", "--resize", "2x3")
            doubled = expected[:3].reshape(3, 6, 5, -1).repeat(2, 2) # 5 columns as 2 of 2.5
            averages = doubled.reshape(3, 3, 2, 2, 5, -1).mean((2, 4)).reshape(3, -1)
            check(f"resize {ending} {colour}", isinstance(one, np.ndarray)
                  and one.shape == averages.shape and abs(one - averages).max() < close + 1e-9, one)
            victim = folder / "b10" / f"im1.{ending}"
            whole = victim.read_bytes()
            for length in range(0, len(whole) - 2, len(whole) // 12):
                victim.write_bytes(whole[:length])
                if ending == "png" and length > len(whole) - 16:
                    continue # all pixels are there; only the mark of the end is not
                refuses(f"{ending} {colour} cut to {length}", folder, [str(victim)], "--no-label",
                        "--quiet")
            chance = random.Random(2)
            for i in range(15):
                spoilt = bytearray(whole)
                spoilt[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
                victim.write_bytes(spoilt)
                done = run("scale", folder, "--scale", "none", "-o", "out.npy", "--quiet",
                           "--no-label")
                check(f"{ending} {colour} spoilt {i}", done.returncode in (0, 1) and len(
                    done.stderr.splitlines()) == done.returncode, done.stderr)
            victim.write_bytes(whole)
    pathlib.Path("flat").mkdir()
    pathlib.Path("flat/1.pgm").write_text("P2 # comment\n3 2\n# more\n10\n0 5 10\n1 2 3\n")
    Image.new("L", (3, 2), 7).save("flat/2.pgm")
    same("flat folder, text pixels", "flat", [[0, 128, 255, 26, 51, 77], [7] * 6])
    Image.new("L", (4, 2), 7).save("flat/10.pgm")
    refuses("other size", "flat", ["flat/10.pgm: has 4x2 pixels", "1.pgm", "3x2"])
    Image.new("RGB", (3, 2), 7).save("flat/10.ppm")
    refuses("other channels", "flat", ["flat/10.ppm: is in colour"], "--resize", "3x2")
    os.mkdir("nothing")
    refuses("no images", "nothing", ["nothing: is a folder without images"])
    refuses("resize of a table", "t.csv", ["t.csv", "not a folder of images"], "--resize", "2x2",
            status=2)
    refuses("bad size", "flat", ["--resize", "'2'", "32x24"], "--resize", "2", status=2)
    refuses("label beside sub-folders", "pgmFalse", ["sub-folders are the classes"], "--label", "1",
            status=2)


def test_orl():
    folder = DATA / "orl" if DATA else None
    if not folder or not folder.is_dir():
        return print("the ORL faces are left out: no folder", folder)
    done = run("scale", folder, "--scale", "none", "-o", "orl.csv", "--quiet")
    check("orl", done.returncode == 0, done.stderr)
    with open("orl.csv") as f:
        columns = len(f.readline().split(","))
        names = [line.split(",", 1)[0] for line in f]
    check("orl shape", len(names) == 400 and columns == 10305, f"{len(names)} x {columns}")
    check("orl order", names == [f"s{1 + i // 10}" for i in range(400)], names[:30])
    pixels = (folder / "s2" / "10.pgm").read_bytes()[-10304:]
    got = read(folder, "--no-label")
    check("orl pixels", isinstance(got, np.ndarray) and bytes(got[19].astype("u1")) == pixels, "")


def main():
    with harness.scratch():
        for test in (test_names, test_npz, test_npz_sparse, test_mtx, test_libsvm, test_mat, test_hdf5,
                     test_hdf5_alone, test_hdf5_blocks, test_images, test_orl):
            start = time.monotonic()
            test()
            print(f"{test.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    return harness.close()


if __name__ == "__main__":
    sys.exit(main())
