#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Large models on ranks: those of one rank, byte for byte, under both MPIs.

Usage: run_rank_tests.py MERCER [WORD...]: the cases whose names have one of the words. Each is fitted on 1, 2, 3, 4 and 7
ranks: one number with one MPI and 1 thread, the next with the other MPI or 2 threads, and the next case the other way
round, so that every number meets every MPI and both numbers of threads. Prints each case, then "N passed, N failed".
"""
import pathlib
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mpi"))
from common import MERCER  # noqa: E402
from harness import check, close, scratch, skip  # noqa: E402
from ranks import LAUNCHER_OPTIONS, SURROUNDINGS, launcher  # noqa: E402

RANKS = (1, 2, 3, 4, 7)
HANG = 300  # seconds
ONLY = sys.argv[2:]


def make_ring(rng, rows):
    angle = rng.random(rows) * 2 * np.pi
    return np.stack([4 * np.cos(angle), 4 * np.sin(angle)], axis=1) + rng.normal(scale=0.3, size=(rows, 2))


def make_data():
    """Doubles with a column to be learnt, floats likewise, landmarks of both, and sparse rows of two classes."""
    rng = np.random.default_rng(1)
    x = make_ring(rng, 40000)
    np.save("double.npy", np.column_stack([x, np.sin(x[:, 0]) + 0.1 * rng.normal(size=len(x))]))
    np.save("double-points.npy", np.column_stack([make_ring(rng, 80), np.zeros(80)]))
    x = np.column_stack([make_ring(rng, 20000), 0.02 * rng.normal(size=(20000, 6))])
    np.save("float.npy", np.column_stack([x, np.cos(x[:, 1]) + 0.1 * rng.normal(size=len(x))]).astype(np.float32))
    np.save("float-points.npy", np.column_stack([x[::400], np.zeros(50)]).astype(np.float32))
    for name, columns in (("sparse", 2000), ("narrow", 30)):
        make_sparse(rng, f"{name}.svm", 20000, columns)
        make_sparse(rng, f"{name}-points.svm", 60, columns)


def make_sparse(rng, name, rows, columns):
    """Texts, so to say, of words of which some are in most rows and others in few."""
    with open(name, "w", encoding="ascii") as out:
        for words, values in zip((columns * rng.random((rows, 30)) ** 3).astype(int), rng.random((rows, 30))):
            kept, at = np.unique(words, return_index=True)
            label = "yes" if values[0] + 0.2 * rng.normal() > 0.5 else "no"
            print(label, *(f"{word + 1}:{value:.3f}" for word, value in zip(kept, values[at])), file=out)


LEARNT = {"double": ["double.npy", "--target", "3"], "float": ["float.npy", "--target", "9"],
          "sparse": ["sparse.svm", "--label", "label"], "narrow": ["narrow.svm", "--label", "label"],
          "classes": ["classes.npy", "--label", "3"]}
LOW_RANK = {"double": "rbf:sigma=4", "float": "rbf:sigma=12", "sparse": "linear", "narrow": "poly:degree=1,coef0=1",
            "classes": "rbf:sigma=4"}


def cases():
    """(name, words of the command) of every method that can be spread, and kinds of rows."""
    for kind in ("double", "float", "narrow", "sparse"):
        file = LEARNT[kind]
        own = [*file, "-k", LOW_RANK[kind]]
        rough = [*file, "-k", "rbf:sigma=2"]
        points = file[0].replace(".", "-points.")
        pairs = "20" if kind == "sparse" else "2"
        yield f"{kind} kpca", [*own, "-m", "kpca", "-n", "10"]
        yield f"{kind} pca", [*file, "-m", "pca", "-n", pairs, "--scale", "unit"]
        yield f"{kind} kpls", [*own, "-m", "kpls", "-n", "6"]
        yield f"{kind} nystroem", [*rough, "-m", "nystroem:points=150", "-n", "10"]
        yield f"{kind} landmarks", [*rough, "-m", "rkpca", "--landmarks", points, "-n", "8"]
        yield f"{kind} drawn points", [*rough, "-m", "nystroem:points=150,sampling=rpcholesky", "-n", "10"]
        yield f"{kind} candidates", [*rough, "-m", "sma:candidates=59", "-n", "8"]
        yield f"{kind} pls", [*file, "-m", "pls", "-n", "2"]
        yield f"{kind} rkpca", [*own, "-m", "rkpca:points=25", "-n", "6"]
        yield f"{kind} krr", [*own, "-m", "krr"]
        yield f"{kind} smc", [*own, "-m", "smc", "-n", "6"]
        yield f"{kind} sma", [*own, "-m", "sma", "-n", "6"]
    for kind in ("classes", "narrow", "sparse"):
        yield f"{kind} kfd", [*LEARNT[kind], "-k", LOW_RANK[kind], "-m", "kfd"]


def fit(words, threads, before=()):
    """The model, or what went wrong."""
    path = pathlib.Path("my.model")
    path.unlink(missing_ok=True)
    done = subprocess.run([*before, MERCER, "fit", *words, "--threads", str(threads), "-q", "-o", path], capture_output=True,
                          text=True, check=False, stdin=subprocess.DEVNULL, timeout=HANG, env=SURROUNDINGS)
    return (path.read_bytes(), "") if done.returncode == 0 and path.exists() else (None, done.stderr.strip())


def try_case(number, name, words, mpirun):
    started = time.monotonic()
    expected = {}
    for threads in (1, 2):  # the number stands in the model, as a word of the command
        expected[threads], why = fit(words, threads)
        check(f"{name}, one rank", expected[threads] is not None, why, quiet=True)
        if not expected[threads]:
            return
    for turn, count in enumerate(RANKS, number):
        kind, path = list(mpirun.items())[turn % len(mpirun)]
        threads = 1 + turn // 2 % 2
        model, why = fit(words, threads, [path, *LAUNCHER_OPTIONS[kind], "-n", str(count)])
        check(f"{name}, {count} ranks of {kind}, {threads} threads", model == expected[threads], why or "another model", quiet=True)
    print(f"{name}: {len(expected[1])} bytes, {time.monotonic() - started:.1f} s", flush=True)


with scratch():
    mpirun = {}
    for mpi in LAUNCHER_OPTIONS:
        found, why_not = launcher(mpi, MERCER)
        if found:
            mpirun[mpi] = found
        else:
            skip(f"ranks of {mpi}", why_not)
    if mpirun:
        make_data()
        rows = np.load("double.npy")
        np.save("classes.npy", np.column_stack([rows[:, :2], (rows[:, 2] > 0) + 2 * (rows[:, 0] > 0)]))
        for index, (case, command) in enumerate(cases()):
            if not ONLY or any(word in case for word in ONLY):
                try_case(index, case, command, mpirun)
sys.exit(close())
