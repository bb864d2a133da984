#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files of strangers, with every command: test_untrusted.py MERCER [WORD...] [-jN] [--quick]"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import time
import zipfile

import numpy as np

from support import (MERCER, Skip, cloud, mercer, png, random_images, refused, run_tests, slow_test, table, test,
                     write)

LINK = "is a symbolic link, not a plain file, which is refused where files are not trusted"


def data(name="x.csv", rows=40, columns=3):
    return table(name, cloud(rows, columns), "abcdefghij"[:columns], label=["u", "v"] * (rows // 2))


def model(name="my.model"):
    data("train.csv")
    mercer("fit", "train.csv", "-m", "kpca", "-n", 2, "--head", "ls", "-o", name, "--quiet")
    return name


def reading_commands():
    """Every command that reads files, by its own help."""
    commands = json.loads(mercer("help", "--json").out)["commands"]
    return {command["name"]: {option["name"] for option in command["options"]} for command in commands}


@test
def test_every_command_that_reads_has_it():
    have = {name for name, options in reading_commands().items() if "untrusted" in options}
    assert have == {"fit", "transform", "predict", "evaluate", "compare", "advise", "plot", "report",
                    "inverse", "update", "info", "truncate", "scale"}, have


@test
def test_results_are_the_same():
    data()
    model()
    for name, words in (("a", ()), ("b", ("--untrusted",))):
        mercer("fit", "x.csv", "-m", "kpca", "-n", 2, "--quiet", "-o", f"{name}.model", *words)
        mercer("transform", "my.model", "x.csv", "--quiet", "-o", f"{name}.csv", *words)
    assert pathlib.Path("a.csv").read_bytes() == pathlib.Path("b.csv").read_bytes()
    assert mercer("info", "a.model", "--untrusted").out


@test
def test_links_pipes_devices():
    data()
    model()
    os.symlink("x.csv", "link.csv")
    os.symlink("my.model", "link.model")
    os.mkfifo("pipe.csv")
    mercer("scale", "link.csv", "--quiet")  # as ever
    refused("scale", "link.csv", "--untrusted", "-o", "out.csv", says=["link.csv: " + LINK, "(--untrusted)"])
    refused("scale", "pipe.csv", "--untrusted", "-o", "out.csv", says="pipe.csv: is a pipe, not a plain file")
    refused("scale", "/dev/zero", "--untrusted", "-o", "out.csv", says="/dev/zero: is a device, not a plain file")
    refused("fit", "link.csv", "-m", "pca", "--untrusted", "-o", "out.model", says=LINK)
    refused("transform", "link.model", "x.csv", "--untrusted", "-o", "out.csv", says="link.model: " + LINK)
    refused("transform", "my.model", "link.csv", "--untrusted", "-o", "out.csv", says="link.csv: " + LINK)
    refused("predict", "/dev/zero", "x.csv", "--untrusted", says="/dev/zero: is a device")
    for command in ("info", "truncate"):
        refused(command, "link.model", *(["-n", 1, "-o", "out.model"] if command == "truncate" else []),
                "--untrusted", says=LINK)
    write("classes.txt", "u\nv\n" * 20)
    os.symlink("classes.txt", "link.txt")
    refused("fit", "x.csv", "--no-label", "-m", "pca", "--labels", "link.txt", "--untrusted", "-o", "out.model",
            says="link.txt: " + LINK)
    for name in ("link.csv", "pipe.csv"):
        refused("evaluate", "x.csv", "-m", "pca", "--head", "ls", "--split", name, "--untrusted",
                says=[name, "not a plain file, which is refused with --untrusted"])
    pathlib.Path("report.json").write_text(mercer("evaluate", "x.csv", "-m", "pca", "-n", 2, "--head", "ls", "--cv", 3,
                                                  "--importance", "--json").out)
    mercer("plot", "report.json", "--untrusted", "-o", "a.svg")
    os.symlink("report.json", "link.json")
    refused("plot", "link.json", "--untrusted", says="link.json: is a symbolic link")
    refused("plot", "report.json", "--limit", "bytes=9", says="report.json: has ")
    assert not list(pathlib.Path().glob("out.*"))


@test
def test_standard_input_is_the_callers():
    data()
    one = mercer("scale", "-", "--untrusted", "--quiet", stdin=pathlib.Path("x.csv").read_bytes())
    assert one.out == mercer("scale", "x.csv", "--quiet").out


@test
def test_limits_by_name():
    data()
    size = pathlib.Path("x.csv").stat().st_size
    for fits, fails, found in ((("rows", 40), ("rows", 39), "more than 39 rows, which is the limit"),
                               (("columns", 4), ("columns", 3), "more than 3 columns, which is the limit"),
                               (("bytes", size), ("bytes", size - 1), f"{size} bytes, the limit is {size - 1}"),
                               (("names", 5), ("names", 4), "has 5 bytes, the limit is 4")):
        for more in ((), ("--untrusted",)):
            mercer("scale", "x.csv", "--limit", "%s=%d" % fits, *more, "--quiet")
            refused("scale", "x.csv", "--limit", "%s=%d" % fails, *more, "-o", "out.csv",
                    says=["x.csv: ", found, f"(--limit {fails[0]}="], status=1)
    mercer("scale", "x.csv", "--untrusted", "--limit", "rows=39", "--limit", "rows=none", "--quiet")
    assert not pathlib.Path("out.csv").exists()


@test
def test_wrong_limits():
    data()
    for text in ("rows", "rows=", "rows=0", "rows=-1", "lines=3", "=3", "rows=1.5", "bytes=x", "time=x", "none"):
        refused("scale", "x.csv", "--limit", text, says="--limit", status=2)


@test
def test_bombs():
    with gzip.open("bomb.csv.gz", "wb") as out:
        for _ in range(64):
            out.write(b"1,2,3\n" * 400000)  # 150 MB
    start = time.monotonic()
    refused("scale", "bomb.csv.gz", "--untrusted", says="bomb.csv.gz: has more than 1000000 rows", status=1)
    refused("scale", "bomb.csv.gz", "--limit", "bytes=1M", says="bomb.csv.gz: has more than 1048576 bytes")
    with gzip.open("wide.csv.gz", "wb") as out:
        out.write(b"1," * 60000000)
    refused("scale", "wide.csv.gz", "--untrusted", says="wide.csv.gz: has more than 100000 columns")
    with gzip.open("long.csv.gz", "wb") as out:
        out.write(b"a" * 5000 + b",b\n1,2\n")
    refused("scale", "long.csv.gz", "--untrusted", says="the name of a column has 5000 bytes, the limit is 255")
    np.savez_compressed("bomb.npz", x=np.zeros((3000, 1000)))
    refused("scale", "bomb.npz", "--limit", "bytes=1M", says=["bomb.npz:x: has 24000128 bytes", "--limit bytes=24000128"])
    # A shape that is a lie: nothing of it is there.
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (900000, 90000), }"
    head = head.ljust(117) + b"\n"
    with zipfile.ZipFile("lie.npz", "w") as out:
        out.writestr("x.npy", b"\x93NUMPY\x01\0" + len(head).to_bytes(2, "little") + head)
    refused("scale", "lie.npz", "--untrusted", says="lie.npz:x: ")
    assert time.monotonic() - start < 60


def need_h5py():
    try:
        import h5py
    except ImportError:
        raise Skip("h5py is not there") from None
    return h5py


@test
def test_hdf5():
    h5py = need_h5py()
    x = cloud(40, 3)
    with h5py.File("x.h5", "w") as out:
        out["x"] = x
    plain = mercer("scale", "x.h5", "--quiet")
    confined = mercer("scale", "x.h5", "--untrusted", "--quiet")
    assert plain.out == confined.out and not confined.err, confined.err
    with h5py.File("deep.h5", "w") as out:
        group = out
        for _ in range(400):
            group = group.create_group("g")
        group["x"] = x
    refused("scale", "deep.h5", "--untrusted", says="deep.h5: the name of an array has 802 bytes, the limit is 255")
    mercer("scale", "deep.h5", "--untrusted", "--limit", "names=1000", "--quiet")
    with h5py.File("bomb.h5", "w") as out:
        out.create_dataset("x", shape=(900000, 90000), chunks=(1000, 1000), compression="gzip", dtype="f8")
    refused("scale", "bomb.h5", "--untrusted", says=["bomb.h5:/x: has 648000000000 bytes, the limit is 1073741824"])
    with h5py.File("rows.h5", "w") as out:
        out.create_dataset("x", shape=(2000000, 2), chunks=(1000, 2), compression="gzip", dtype="u1")
    refused("scale", "rows.h5", "--untrusted", says="has 2000000 rows, the limit is 1000000")
    with h5py.File("away.h5", "w") as out:
        out["x"] = h5py.ExternalLink("x.h5", "/x")
    refused("scale", "away.h5", "--untrusted", says="away.h5")
    os.symlink("x.h5", "link.h5")
    refused("scale", "link.h5", "--untrusted", says="link.h5: " + LINK)
    os.mkfifo("pipe.h5")
    refused("scale", "pipe.h5", "--untrusted", says="pipe.h5: is a pipe")


@test
def test_images():
    os.makedirs("faces/a")
    os.makedirs("faces/b")
    for i, image in enumerate(random_images(6, 4, 5)):
        pathlib.Path(f"faces/{'ab'[i % 2]}/{i}.png").write_bytes(png(image[:, :, None], 8))
    plain = mercer("scale", "faces", "--quiet")
    confined = mercer("scale", "faces", "--untrusted", "--quiet")
    assert plain.out == confined.out and not confined.err, confined.err
    plain = refused("scale", "faces", "--limit", "rows=5", says="faces: has more than 5 rows")
    os.symlink("0.png", "faces/a/z.png")
    refused("scale", "faces", "--untrusted", says="faces/a/z.png: " + LINK)
    os.remove("faces/a/z.png")
    write("faces/a/z.png", "this is no image")
    assert refused("scale", "faces", "--untrusted").err == refused("scale", "faces").err
    os.symlink("faces", "link")
    refused("scale", "link", "--untrusted", says="link: is a symbolic link, not a plain folder")


@test
def test_slow_pipe():
    start = time.monotonic()
    with subprocess.Popen([MERCER, "scale", "-", "--untrusted", "--limit", "time=1s", "-o", "out.csv"],
                          stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a,b\n1,2\n")
        process.stdin.flush()
        err = process.stderr.read().decode()
        assert process.wait() == 1
    assert 1 <= time.monotonic() - start < 30
    assert err.count("\n") == 1 and "standard input: reading it takes more than 1 seconds" in err and "--limit" in err, err
    assert not pathlib.Path("out.csv").exists()


@slow_test
def test_long_fit():
    np.save("x.npy", cloud(6000, 30))
    start = time.monotonic()
    refused("fit", "x.npy", "-m", "akfa", "-n", 2000, "-k", "rbf:sigma=0.3", "--store", "stream", "-o", "out.model",
            "--quiet", "--limit", "time=2s", says=["this takes more than 2 seconds, which is the limit", "(--limit)"], status=1)
    assert time.monotonic() - start < 60
    assert not list(pathlib.Path().glob("out*")) and not list(pathlib.Path().glob(".*out*"))


if __name__ == "__main__":
    sys.exit(run_tests())
