#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the seed files of the readers' fuzzers to fuzz/corpus: one option byte, then the file."""
import gzip
import io
import pathlib
import struct
import zipfile

import h5py
import numpy as np
import scipy.io
import scipy.sparse

root = pathlib.Path(__file__).parent / "corpus"
for name in ("api", "fit", "hdf5", "libsvm", "mat", "mtx"):
    (root / name).mkdir(exist_ok=True)

texts = {
    "plain": b"x,y\n1,2\n3.5,-4e2\n",
    "noheader": b"1,2\n3,4",
    "crlf": b"a,b\r\n1,2\r\n3,4\r\n\r\n",
    "cr": b"a,b\r1,2\r",
    "bom": b"\xef\xbb\xbfa,b\n1,2\n",
    "quotes": b'"a ""b""","x,\ny",label\n1,2,"c ""d""\n"\n3,4, e \n',
    "quoted_numbers": b'"1","2"\n1,2\n',
    "tsv": b"a\tb\n1\t2\n",
    "ragged": b"1,2\n3,4,\n",
    "blank": b"a\n1\n\n2\n",
    "numbers": b"1e22,9007199254740993,.5\n5.,-0,+1e-320\n1e999,nan,inf\n",
    "long_number": b"1." + b"0" * 1100 + b"1\n2\n",
    "open_quote": b'a,"b\n1,2\n',
    "empty": b"",
    "header_only": b"a,b\n",
    "zero": b"1,\x002\n",
}
options = {"quotes": 0, "tsv": 1, "noheader": 2, "crlf": 0x10, "plain": 0x28}
for name, text in texts.items():
    (root / "csv" / name).write_bytes(bytes([options.get(name, 0)]) + text)
(root / "csv" / "gzip").write_bytes(b"\0" + gzip.compress(texts["plain"], mtime=0))
cut = gzip.compress(texts["plain"], mtime=0)[:-9]
(root / "csv" / "gzip_cut").write_bytes(b"\0" + cut)


def npy(descr, order, shape, data, version=1):
    header = ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n" % (descr, order, shape)).encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


f8 = struct.pack("<6d", 1, 2, 3, 4, 5, 6)
arrays = {
    "f8": npy("<f8", "False", "(2, 3)", f8),
    "f8_fortran": npy("<f8", "True", "(2, 3)", f8),
    "f8_stack": npy("<f8", "True", "(1, 2, 3)", f8),
    "f4_big": npy(">f4", "False", "(1, 3)", struct.pack(">3f", 1, 2, 3)),
    "f2": npy("<f2", "False", "(3,)", struct.pack("<3e", 1, 2, 3)),
    "i2": npy("<i2", "False", "(2, 2)", struct.pack("<4h", 1, -2, 3, 4)),
    "u1": npy("|u1", "False", "(2, 2)", bytes(4), 2),
    "b1": npy("|b1", "False", "(2, 2)", bytes([0, 1, 2, 1]), 3),
    "nan": npy("<f8", "False", "(1, 1)", struct.pack("<d", float("nan"))),
    "short": npy("<f8", "False", "(2, 3)", f8[:-1]),
    "huge": npy("<f8", "False", "(4611686018427387904, 4)", f8),
    "scalar": npy("<f8", "False", "()", f8),
    "fields": npy("<f8", "False", "(2,)", f8).replace(b"'<f8'", b"[('a', '<f8')]"),
}
for i, (name, array) in enumerate(arrays.items()):
    (root / "npy" / name).write_bytes(bytes([i % 4]) + array)
(root / "npy" / "gzip").write_bytes(b"\1" + gzip.compress(arrays["f8"], mtime=0))


def npz(members, method=zipfile.ZIP_STORED, zip64=False, comment=b""):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.comment = comment
        for name, data in members.items():
            info = zipfile.ZipInfo(name)  # of a fixed date, so that the file is always the same
            info.compress_type = method
            with archive.open(info, "w", force_zip64=zip64) as member:
                member.write(data)
    return out.getvalue()


def zip64_tail(archive):
    """The same archive with its table found through the ZIP64 records."""
    tail = archive.rindex(b"PK\5\6")
    count, size, offset = struct.unpack("<HII", archive[tail + 10:tail + 20])
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, offset)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, tail, 1)
    end = b"PK\5\6" + bytes(4) + b"\xff" * 12 + bytes(2)
    return archive[:tail] + record + locator + end


two = {"X.npy": arrays["f8"], "y.npy": arrays["f2"], "note.txt": b"x"}
stored, deflated = npz({"X.npy": arrays["f8"]}), npz({"X.npy": arrays["f8"]}, zipfile.ZIP_DEFLATED)
archives = {
    "stored": stored,
    "deflated": deflated,
    "fortran": npz({"X.npy": arrays["f8_stack"]}, zipfile.ZIP_DEFLATED),
    "two": npz(two, zipfile.ZIP_DEFLATED),
    "two_tables": npz({"A.npy": arrays["f8"], "B.npy": arrays["i2"]}),
    "other_types": npz({"A.npy": arrays["fields"], "B.npy": arrays["short"], "C.npy": b""}),
    "comment": npz(two, comment=b"a comment"),
    "zip64": npz(two, zipfile.ZIP_DEFLATED, zip64=True),
    "zip64_tail": zip64_tail(stored),
    "bzip2": npz({"X.npy": arrays["f8"]}, zipfile.ZIP_BZIP2),
    "no_arrays": npz({"note.txt": b"x"}),
    "empty_archive": npz({}),
    "cut": stored[:-30],
    "cut_data": deflated[:60] + deflated[70:],
    "wrong_sum": stored.replace(f8[:8], bytes(8)),
    "not_zip": b"1,2\n",
    "empty": b"",
}


def ints(*values):
    return npy("<i4", "False", "(%d,)" % len(values), struct.pack("<%di" % len(values), *values))


def sparse(kind, **arrays):
    text = npy("|S3", "False", "()", kind)
    return npz({"format.npy": text, "shape.npy": ints(2, 3), "data.npy": ints(1, 2, 3, 4, 5, 6),
                **{name + ".npy": array for name, array in arrays.items()}}, zipfile.ZIP_DEFLATED)


three = ints(0, 1, 2, 0, 1, 2)
archives |= {
    "sparse_csr": sparse(b"csr", indices=three, indptr=ints(0, 3, 6)),
    "sparse_csc": sparse(b"csc", data=ints(1, 4, 2, 5, 3, 6), indices=ints(0, 1, 0, 1, 0, 1),
                         indptr=ints(0, 2, 4, 6)),
    "sparse_coo": sparse(b"coo", row=ints(0, 0, 0, 1, 1, 1), col=three),
    "sparse_bsr": sparse(b"bsr", indices=three, indptr=ints(0, 3, 6)),
    "sparse_short": sparse(b"csr", indices=three, indptr=ints(0, 3, 9)),
    "sparse_missing": sparse(b"csr", indices=three),
}
for i, (name, archive) in enumerate(archives.items()):
    (root / "npz" / name).write_bytes(bytes([4 if i < 4 else i % 4]) + archive)

lines = {
    "plain": b"+1 1:0.5 3:-2e3\n-1 2:1\n",
    "values": b"1 1:1\n2.5 2:1\n",
    "sets": b"1,2 1:1\n3 2:1\n",
    "several": b"1,2.5 1:1\n3,4 2:1\n",
    "nolabel": b"1:1\n2:3\n",
    "words": b"spam 1:1\neggs 2:1\n",
    "query": b"1 qid:3 1:1\n1 qid:4\n",
    "comments": b"# first\n\n1 1:1 # 2:2\r\n  \n2",
    "mixed": b"1 1:1\n2:2\n",
    "order": b"1 2:1 1:1\n",
    "zero_index": b"1 0:1\n",
    "large_index": b"1 2147483647:1 2147483648:1\n",
    "no_value": b"1 1:\n",
    "not_finite": b"1 1:nan 2:1e999\n",
    "no_pair": b"1 1 2\n",
    "zero_byte": b"a\x00b 1:1\na\x00c 1:1\n",
    "empty": b"",
}
choices = {"words": 1, "zero_byte": 1, "values": 0x20, "several": 0x12, "plain": 0x28}
for name, text in lines.items():
    (root / "libsvm" / name).write_bytes(bytes([choices.get(name, 0)]) + text)
(root / "libsvm" / "gzip").write_bytes(b"\x10" + gzip.compress(lines["plain"], mtime=0))


def market(kind, rest):
    return b"%%MatrixMarket matrix " + kind + b"\n" + rest


markets = {
    "general": market(b"coordinate real general", b"% c\n2 3 3\n2 3 1.5\n1 1 -2\n2 3 1\n"),
    "integer": market(b"coordinate integer general", b"2 2 1\n2 1 7\n"),
    "pattern": market(b"coordinate pattern symmetric", b"2 2 2\n2 1\n2 2\n"),
    "symmetric": market(b"coordinate real symmetric", b"2 2 2\n2 1 1\n1 1 3\n"),
    "skew": market(b"coordinate real skew-symmetric", b"2 2 1\n2 1 1\n"),
    "array": market(b"array real general", b"2 2\n1\n2\n\n3\n4\n"),
    "array_symmetric": market(b"array real symmetric", b"2 2\n1\n2\n3\n"),
    "array_skew": market(b"array real skew-symmetric", b"2 2\n1\n"),
    "complex": market(b"coordinate complex hermitian", b"1 1 1\n1 1 1 0\n"),
    "outside": market(b"coordinate real general", b"2 2 1\n3 1 1\n"),
    "short": market(b"coordinate real general", b"2 2 2\n1 1 1\n"),
    "long": market(b"array real general", b"1 1\n1\n2\n"),
    "huge": market(b"coordinate real general", b"4611686018427387904 2147483647 1\n1 1 1\n"),
    "empty_rows": market(b"coordinate real general", b"999999999 2 0\n"),
    "banner": b"%%MatrixMarket matrix\n",
    "empty": b"",
}
for i, (name, text) in enumerate(markets.items()):
    (root / "mtx" / name).write_bytes(bytes([i % 4]) + text)

# MAT and HDF5 files, small ones; those of version 7.3 are HDF5 behind a header. Files of these
# libraries hold times and addresses, so they are only written when they are not there yet.


def mat(name, variables, **options):
    out = io.BytesIO()
    scipy.io.savemat(out, variables, **options)
    return name, b"\0" + out.getvalue()


def hdf5(name, fill, **options):
    out = io.BytesIO()
    with h5py.File(out, "w", libver="earliest", **options) as f:
        fill(f)
    return name, b"\0" + out.getvalue()


def set_class(place, kind):
    text = h5py.h5t.C_S1.copy()  # as MATLAB does, without a zero at the end
    text.set_size(len(kind))
    label = h5py.h5a.create(place.id, b"MATLAB_class", text, h5py.h5s.create(h5py.h5s.SCALAR))
    label.write(np.array(kind), mtype=text)


def fill_sparse(f):
    group = f.create_group("x")
    set_class(group, b"double")
    group.attrs["MATLAB_sparse"] = np.uint64(2)
    for name, values in (("data", [1.0, 2.0]), ("ir", [0, 1]), ("jc", [0, 1, 2])):
        group.create_dataset(name, data=np.array(values, "f8" if name == "data" else "u8"))


def fill_full(f):
    set_class(f.create_dataset("x", data=np.arange(6.0).reshape(2, 3)), b"double")


def fill_virtual(f):
    layout = h5py.VirtualLayout((2, 3), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "x", (2, 3))
    f.create_virtual_dataset("x", layout)


def fill_link(f):
    f["x"] = h5py.ExternalLink("other.h5", "/x")


def version_73(named):
    name, data = named
    return name, data[:1] + b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + data[129:]


x = np.arange(6.0).reshape(2, 3)
mats = [mat("full", {"x": x}), mat("packed", {"x": x}, do_compression=True),
        mat("int16", {"x": x.astype("i2")}), mat("uint8", {"x": x.astype("u1")}),
        mat("ints", {"x": x.astype("i2"), "y": x.astype("u1")}),
        mat("sparse", {"x": scipy.sparse.csc_matrix(x)}),
        mat("sparse_packed", {"x": scipy.sparse.csc_matrix(x > 2)}, do_compression=True),
        mat("complex", {"x": x * 1j}), mat("text", {"x": "abc"}), mat("struct", {"x": {"a": x}}),
        mat("cell", {"x": np.array([1, "a"], object)}), mat("stack", {"x": x.reshape(3, 1, 2)}),
        mat("colour", {"x": x.reshape(1, 1, 3, 2)}, do_compression=True),
        version_73(hdf5("v73", fill_full, userblock_size=512)),
        version_73(hdf5("v73_sparse", fill_sparse, userblock_size=512)),
        ("empty", b"\0"), ("cut", mat("", {"x": x})[1][:-9])]
h5s = [hdf5("plain", lambda f: f.create_dataset("x", data=x)),
       hdf5("float", lambda f: f.create_dataset("x", data=x, dtype=">f4")),
       hdf5("packed", lambda f: f.create_dataset("x", data=x, compression="gzip", fletcher32=True)),
       hdf5("chunks", lambda f: f.create_dataset("g/x", data=x, chunks=(1, 2), shuffle=True)),
       hdf5("two", lambda f: [f.create_dataset(n, data=x) for n in "ab"]),
       hdf5("vector", lambda f: f.create_dataset("x", data=x[0])),
       hdf5("stack", lambda f: f.create_dataset("x", data=x.reshape(1, 2, 3))),
       hdf5("scalar", lambda f: f.create_dataset("x", data=1.0)),
       hdf5("text", lambda f: f.create_dataset("x", data=[b"a", b"b"])),
       hdf5("external", lambda f: f.create_dataset("x", (2, 3), external=[("other.bin", 0, 24)])),
       hdf5("virtual", fill_virtual), hdf5("link", fill_link),
       hdf5("nothing", lambda f: f.create_group("g")),
       ("empty", b"\0"), ("cut", hdf5("", lambda f: f.create_dataset("x", data=x))[1][:-99])]
for folder, files in (("mat", mats), ("hdf5", h5s)):
    for name, data in files:
        path = root / folder / name
        if not path.exists():
            path.write_bytes(data)

# Images: PNG, BMP and JPEG in corpus/image were written by Pillow; jpeg_codes is what a fuzzer found.
pixels = {
    "pgm": b"P5\n2 2\n255\n\0\1\2\3",
    "pgm_wide": b"P5 2 1 65535\n\0\1\xff\xff",
    "ppm": b"P6 # comment\n1 2 255\n" + bytes(6),
    "pgm_text": b"P2 2 2 15\n0 1\n# more\n2 15\n",
    "ppm_text": b"P3 1 1 255 1 2 3",
    "pgm_cut": b"P5\n2 2\n255\n\0\1\2",
    "pgm_huge": b"P5 99999999 99999999 255\n",
    "pgm_text_bad": b"P2 2 1 15\n0 16\n",
    "bmp_cut": b"BM" + bytes(60),
}
for name, image in pixels.items():
    (root / "image" / name).write_bytes(image)

# Model files: the kept ones of format 1, and what is wrong with others.
models = root.parents[1] / "tests" / "compat" / "format_1"
for path in sorted(models.glob("*.mercer")):
    (root / "model" / path.stem).write_bytes(path.read_bytes())
whole = (models / "rbf-exact.mercer").read_bytes()


def safetensors(header, data=b""):
    return struct.pack("<Q", len(header)) + header + data


spoilt = {
    "empty": b"",
    "cut": whole[:-9],
    "cut_header": whole[:100],
    "longer": whole + b"\0",
    "newer": whole.replace(b'readable_version":"1"', b'readable_version":"9"'),
    "foreign": safetensors(b'{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}', bytes(8)),
    "deep": safetensors(b'{"a":' + b"[" * 3000),
    "precomputed": whole.replace(b'"kernel":"rbf:sigma=1.7"', b'"kernel":"precomputed"  '),
}
for name, data in spoilt.items():
    (root / "model" / name).write_bytes(data)

# The options of fits: every method by its name and defaults, then what options can hold.
SUPERVISED = {"cr": "values", "kpls": "classes", "pls": "values", "blf": "classes", "sma": "classes", "smc": "values",
              "skpls": "classes", "kboost": "two", "rkopls": "classes", "kfd": "classes", "krr": "values", "koca": "classes"}
OTHERS = ("kpca", "pca", "akfa", "ackfa", "skfa", "rkpca", "greedy", "nystroem", "ikpca", "kha", "kica", "tipping")
fits = {name: [f"method={name}"] for name in OTHERS}
fits |= {name: [f"method={name}", f"targets={kind}"] for name, kind in SUPERVISED.items() }
kernels = {"sum": "rbf:sigma=1 + 0.5*linear", "poly": "poly:degree=3,coef0=1", "matern": "matern:nu=2.5,sigma=2", "cosine": "cosine",
           "laplacian": "laplacian:gamma=0.5", "learnt": "rbf:sigma=median*2", "wrong": "rbf:sigma=-1"}
fits |= {"kernel_" + name: ["method=kpca:components=3", f"kernel={kernel}"] for name, kernel in kernels.items()}
heads = {"ls": "ls", "knn": "knn:k=3", "lad": "lad", "log": "log", "exp": "exp", "centre": "centre", "svm": "svm:c=2"}
fits |= {"head_" + name: ["method=kpca", "components=2", f"head={head}", f"targets={'two' if name in ('log', 'exp') else 'classes'}"] for name, head in heads.items()}
fits |= {
    "many": ["method=kpca", "components=0.9", "center=none", "scale=standard", "store=dense", "precision=double"],
    "lowrank": ["method=kpca", "kernel=linear", "store=lowrank", "components=2", "tolerance=1e-6"],
    "single": ["method=kpca", "kernel=rbf:sigma=1", "store=stream", "precision=single"],
    "novelty": ["method=kpca", "components=2", "novelty=0.3", "keep=fitted"],
    "intervals": ["method=krr", "targets=values", "intervals=on", "scale_target=standard"],
    "map": ["method=krr", "targets=values", "map=agop:steps=1,choose=none"],
    "tune": ["method=kpca", "head=knn", "targets=classes", "tune=components=1,2,3", "tune=kernel.sigma=0.5:4:*2"],
    "tune_kernels": ["method=kpca", "components=2", "tune=kernel=rbf,linear"],
    "tune_wrong": ["method=kpca", "tune=components=1:9:*1"],
    "bad_key": ["method=kpca:nokey=1"], "bad_line": ["kpca"], "long": ["method=ikpca:library=8,forget=0.1"],
}
for name, lines in fits.items():
    (root / "fit" / name).write_text("\n".join(lines) + "\n")

# Sequences of calls, as fuzz_api.c takes bytes: every method in its order there, then streams and an evaluation.
ROWS, TARGETS, FIT, USE, CHANGE, START, FEED, _, TAKE, EVALUATE, ASK, SET, FREE = range(13)


def some_rows(slot, count=12, columns=3):
    return bytes([ROWS, slot, columns - 1, count - 1, 0, *((i * i * 7 + 11 * i) % 256 for i in range(count * columns)), 0])


def some_targets(slot, kind, count=12):
    return bytes([TARGETS, slot, kind, count - 1]) + b"".join(bytes([3 if i % 4 == 3 else 0, i % 16]) for i in range(count))


def wish(method, kernel=0, head=0, scale=0):
    return bytes([method, kernel, head, scale, 0, 0, 0, 0])


calls = {}
for i in range(28):
    data = some_rows(0) + some_targets(0, 1) + some_targets(1, 0)
    for kind in (0, 1, 3):  # classes, values, none
        data += bytes([FIT, 0, 0, kind]) + wish(i) + bytes([1, USE, 0, 0, 0, ASK, 0, 5, CHANGE, 0, 1, 0, 1, USE, 1, 0, 0])
    calls[f"method_{i:02}"] = data
calls["stream"] = (some_rows(0) + bytes([START, 0, 1]) + wish(11, 1) + bytes([FEED, 0, 1, 0, FEED, 0, 3, 0, FEED, 0, 0, TAKE, 0, 2, USE, 2, 0, 0, START, 1, 0, 2]) +
                   bytes([FEED, 1, 2, 0, FEED, 1, 0, TAKE, 1, 3, ASK, 3, 0]))
calls["evaluate"] = (some_rows(0) + some_targets(0, 1) + bytes([EVALUATE, 0, 0, 0]) + wish(1, 1, 2, 1) + bytes([3, 1]) +
                     bytes([FIT, 0, 0, 0]) + wish(1, 1, 4, 1) + bytes([0, USE, 0, 0, 1]))
calls["settings"] = some_rows(0) + bytes([SET, 0, 2, SET, 1, 200, 15, SET, 2, 9, SET, 4, FIT, 0, 0, 3]) + wish(0) + bytes([0, SET, 5, FIT, 0, 0, 3]) + wish(0) + bytes([0, FREE, 0, 0])
calls["nothing"] = bytes([USE, 0, 0, FIT, 0, 0, 0]) + wish(0) + bytes([0, START, 0, 0, 0, FEED, 0, 1, 0, TAKE, 0, 0, CHANGE, 0, 1, 0, 1, EVALUATE, 0, 0, 0])
for name, data in calls.items():
    (root / "api" / name).write_bytes(data)
