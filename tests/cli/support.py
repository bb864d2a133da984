# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the command line share: calls of the program, small data sets, models of them.

Each test_NAME.py is called as test_NAME.py MERCER [WORD...] [-jN] [--quick]: see run_tests() of
tests/harness.py. --quick leaves out what is marked @slow_test.
"""
import contextlib
import csv
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import time
import unicodedata
import zlib

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import (LIMIT, ROOT, Skip, fault, measured, preloaded, program, run_tests,  # noqa: E402,F401  for the tests, too
                     slow_test, test)

MERCER = program()


def mercer(*words, status=0, stdin=b"", env=None, **more):
    """Run mercer in the current folder; fail unless it ends with the status given."""
    surroundings = dict(os.environ, **(env or {}))
    if not env or "COLUMNS" not in env:
        surroundings.pop("COLUMNS", None)
    more.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run([MERCER, *map(str, words)], input=stdin, stderr=subprocess.PIPE,
                          env=surroundings, timeout=LIMIT, **more)
    done.err = done.stderr.decode()
    done.out = done.stdout.decode(errors="replace") if done.stdout is not None else ""
    shown = " ".join(map(str, words))
    allowed = status if isinstance(status, tuple) else (status,)
    assert done.returncode in allowed, \
        f"mercer {shown}: status {done.returncode}, expected {status}; {done.err or done.out[:300]}"
    return done


def refused(*words, says=(), status=(1, 2), **more):
    """The call must fail with exactly one line that holds every word of `says`."""
    done = mercer(*words, status=status, **more)
    assert done.err.startswith("mercer: ") and done.err.count("\n") == 1 and done.err[-1] == "\n", \
        f"mercer {' '.join(map(str, words))}: not one line: {done.err!r}"
    for word in [says] if isinstance(says, str) else says:
        assert word in done.err, f"{word!r} is not in {done.err!r}"
    assert len(done.err) > 20, f"says too little: {done.err!r}"
    return done


def report(*words, **more):
    """The JSON report of a call."""
    return json.loads(mercer(*words, "--json", **more).out)


def write(name, text):
    pathlib.Path(name).write_text(text)
    return name


def table(name, x, names=None, label=None):
    """Write a CSV; repr() keeps every bit."""
    lines = []
    if names:
        lines.append(",".join((["label"] if label is not None else []) + list(names)))
    for i, row in enumerate(x):
        cells = [repr(float(value)) for value in row]
        lines.append(",".join(([label[i]] if label is not None else []) + cells))
    return write(name, "\n".join(lines) + "\n")


def numbers(text):
    """Header and numbers of CSV text."""
    lines = text.splitlines()
    return lines[0].split(","), np.array([[float(c) for c in line.split(",")] for line in lines[1:]])


def ring(rows=200, seed=3, name="ring.csv"):
    mercer("generate", "circle", "--rows", rows, "--seed", seed, "-o", name, "--quiet")
    return name


def ring_model(**more):
    """ring.csv and ring.model in the current folder."""
    ring(**more)
    mercer("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 5, "-o", "ring.model",
           "--quiet")
    return "ring.model"


def let_allocations_fail(words, steps, room, says="[Oo]ut of memory"):
    """How often a call failed, with one line, when one of its allocations did; else its result is whole.

    steps: how many are tried one by one, and each how many-th after that. room: so many tries that change nothing end it.
    """
    module = preloaded(MERCER, "faults")
    expected = mercer(*words).stdout
    k = failed = whole = 0
    while whole < room:
        k += 1 if k < steps[0] else steps[1]
        done = mercer(*words, status=(0, 1), env=fault(module, f"malloc {k} ENOMEM"))
        if done.returncode == 0:
            assert done.stdout == expected, f"{words}: allocation {k}: another result"
            whole += 1
        else:
            assert re.fullmatch(rf"\s*(mercer|libgomp): [^\n]*({says})[^\n]*\n", done.err), (words, k, done.err)
            failed, whole = failed + 1, 0
    return failed


def cloud(rows=60, columns=4, seed=1):
    return np.random.default_rng(seed).normal(size=(rows, columns))


def files():
    return sorted(os.listdir("."))


def plain_memory():
    """Surroundings in which the address sanitizer does not hoard what was freed."""
    return {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"}


def columns_of(line):
    return sum(not unicodedata.combining(c) for c in line)


@contextlib.contextmanager
def running(*words):
    """A mercer that waits for rows on its standard input."""
    with subprocess.Popen([MERCER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def species(rows=90, seed=5, name="species.csv"):
    """Rows of three kinds, one of them with a name that CSV must quote."""
    names = ["setosa", 'a, "b"', "virginica"]
    x = cloud(rows, 3, seed) + 2 * (np.arange(rows) % 3)[:, None]
    lines = [",".join([repr(float(v)) for v in row] + ['"%s"' % names[i % 3].replace('"', '""')])
             for i, row in enumerate(x)]
    write(name, "\n".join(["p,q,r,label"] + lines) + "\n")
    return x, [names[i % 3] for i in range(rows)]


def csv_rows(text):
    return list(csv.reader(text.splitlines()))


def stream_model(rows=500, words=()):
    """x.csv, of which the first rows are head.csv and the others tail.csv, and head.model."""
    ring(rows=rows, name="x.csv")
    lines = pathlib.Path("x.csv").read_text().splitlines(keepends=True)
    write("head.csv", "".join(lines[:1 + 260]))
    write("tail.csv", lines[0] + "".join(lines[1 + 260:]))
    mercer("fit", "head.csv", "-m", STREAM, "-k", "rbf:sigma=4", *words, "-o", "head.model", "--quiet")


STREAM = "ikpca:components=4,first=20,block=30,library=30"


def wait_for(run, happens):
    """Wait until something has happened that a running command is to do, and a little longer."""
    end = time.monotonic() + LIMIT
    while not happens():
        assert run.poll() is None and time.monotonic() < end
        time.sleep(0.01)
    time.sleep(0.1)


def put_images(folder, images):
    """Images as binary PGM, 1.pgm, 2.pgm, ..."""
    os.makedirs(folder)
    for i, image in enumerate(images):
        height, width = image.shape
        data = b"P5 %d %d 255\n" % (width, height) + image.astype("u1").tobytes()
        pathlib.Path(folder, f"{i + 1}.pgm").write_bytes(data)
    return folder


def random_images(count, height, width, seed=1):
    return np.random.default_rng(seed).integers(0, 256, size=(count, height, width))


def png(pixels, depth):
    """A PNG file of an array height x width x channels (1 grey, 2 with alpha, 3 colour, 4 alpha)."""
    height, width, channels = pixels.shape
    lines = pixels.astype(">u2" if depth == 16 else "u1").reshape(height, -1)
    raw = b"".join(b"\0" + line.tobytes() for line in lines)

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    head = struct.pack(">IIBBBBB", width, height, depth, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 9)) + \
        chunk(b"IEND", b"")
