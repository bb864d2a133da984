#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Large data: memory stays within what was promised, and results stay right.

Usage: run_long_tests.py MERCER [TEST...]. Prints a line per test and closes with "N passed, N failed".
"""
import os
import subprocess
import sys

import numpy as np

from common import MERCER, run
from harness import check, close, run_parts, scratch


def memory_of_a_stream(folder):
    """50,000 x 16: the kernel matrix would take 20 GB; 512 MB are allowed, 700 MB in all."""
    data = os.path.join(folder, "wide.npy")
    np.save(data, np.random.RandomState(1).randn(50000, 16))
    model = os.path.join(folder, "wide.model")
    status, report, peak = run("fit", data, "-m", "kpca", "-n", "10", "--memory", "512M",
                               "--json", "-o", model)
    check("50,000 x 16 rows in 512 MB", status == 0 and peak < 700e6,
          f"status {status}, store {report and report['store']}, peak {peak / 1e6:.0f} MB")
    if status != 0:
        return
    # The eigenvalues are right: the scores of a sample of rows have the variance they claim.
    scores = os.path.join(folder, "wide.scores.npy")
    status, _, peak = run("transform", model, data, "-o", scores, "--memory", "512M", "--quiet")
    y = np.load(scores)
    worst = np.abs(np.linalg.norm(y, axis=0) ** 2 / np.array(report["spectrum"]) - 1).max()
    check("its scores have the lengths of the spectrum", status == 0 and worst < 1e-9, f"{worst:.1e}")
    check("transform stays in 512 MB too", peak < 700e6, f"peak {peak / 1e6:.0f} MB")


def a_million_rows(folder):
    """A ring of 1,000,000 rows in 4 GB, and the spectrum of a smaller ring."""
    spectra = []
    for rows in (20000, 1000000):
        data = os.path.join(folder, "ring.npy")
        run("generate", "circle", "--rows", str(rows), "--seed", "3", "-o", data, "--quiet")
        status, report, peak = run("fit", data, "-m", "kpca", "-k", "rbf:sigma=4", "-n", "10",
                                   "--memory", "4G", "--json")
        check(f"ring of {rows} rows in 4 GB", status == 0 and peak < 4.4e9,
              f"status {status}, store {report and report['store']}, peak {peak / 1e6:.0f} MB, "
              f"{report and report['seconds']:.1f} s")
        spectra.append(np.array(report["spectrum"]) / rows if report else np.zeros(10))
    drift = np.abs(spectra[0] / spectra[1] - 1).max()
    check("both rings have the same spectrum per row", drift < 0.05, f"within {drift:.3f}")


def a_huge_csv(folder):
    """5 GB of CSV through transform, from a pipe, so that no disk has to hold them."""
    data, model = os.path.join(folder, "t.csv"), os.path.join(folder, "t.mercer")
    rows = np.random.default_rng(4).normal(size=(20000, 20))
    header = ",".join(f"c{i}" for i in range(20)) + "\n"
    body = "".join(",".join(f"{x:.12g}" for x in row) + "\n" for row in rows).encode()
    with open(data, "wb") as file:
        file.write(header.encode() + body[:body.index(b"\n", len(body) // 20) + 1])
    run("fit", data, "-m", "kpca", "-n", "3", "-o", model, "--quiet")
    repeats = -(-5_000_000_000 // len(body))
    child = subprocess.Popen([MERCER, "transform", model, "-", "-o", os.devnull, "--quiet"],
                             stdin=subprocess.PIPE)
    child.stdin.write(header.encode())
    for _ in range(repeats):
        child.stdin.write(body)
    child.stdin.close()
    _, status, usage = os.wait4(child.pid, 0)
    peak = usage.ru_maxrss * 1024
    check(f"{repeats * len(body) / 1e9:.1f} GB of CSV through transform", status == 0 and peak < 300e6,
          f"status {status}, peak {peak / 1e6:.0f} MB")


def refusals(folder):
    """What cannot fit is refused before it starts, with advice."""
    data = os.path.join(folder, "wide.npy")  # that of memory_of_a_stream
    status, _, peak = run("fit", data, "-m", "kpca", "--store", "dense", "--memory", "512M", "--json")
    check("a dense store that cannot fit is refused", status == 1 and peak < 200e6,
          f"status {status}, peak {peak / 1e6:.0f} MB")


def koca_on_many_rows(folder):
    """20,000 rows in the span of 300, which are arrays of 48 MB where the kernel matrix takes 3.2 GB."""
    random, rows = np.random.default_rng(1), 22000
    place = random.integers(0, 20, rows)  # two of each class, beside 30 wider columns of noise
    x = random.normal(size=(rows, 40)) * ([0.4] * 10 + [2] * 30)
    x[:, :10] += random.normal(size=(20, 10))[place]
    data, new, model, out = (os.path.join(folder, name) for name in ("many.npy", "new.npy", "koca.model", "out.csv"))
    np.save(data, np.c_[x, place // 2][:20000])
    np.save(new, x[20000:])
    status, report, peak = run("fit", data, "--label", "41", "-m", "koca:points=300", "-n", "10", "-o", model, "--json",
                               "--quiet")
    first, last = (report["trace"][i]["rate"] if report else 0 for i in (0, -1))
    check("koca of 20,000 rows and 300 points", status == 0 and peak < 250e6 and last > first + 0.2,
          f"status {status}, peak {peak / 1e6:.0f} MB, rate {first:.3f} to {last:.3f}, {report and report['seconds']:.0f} s")
    run("predict", model, new, "-o", out, "--quiet")
    right = (np.loadtxt(out, delimiter=",", skiprows=1)[:, 0] == place[20000:] // 2).mean()
    check("its predictions of new rows", right > last - 0.05, f"{right:.3f} are right")


def arrays_of_a_fit(folder):
    """1500 x 6000 doubles: the table, prepared rows or the model's points, a scaled copy, the matrix; each once."""
    data, tiny = (os.path.join(folder, name) for name in ("table.npy", "tiny.npy"))
    np.save(data, np.random.default_rng(5).normal(3, 1, (1500, 6000)))
    np.save(tiny, np.random.default_rng(6).normal(size=(30, 5)))
    options = ("-m", "kpca", "--store", "dense", "--threads", "1", "--memory", "1G", "--quiet", "-o",
               os.path.join(folder, "table.model"))
    _, _, least = run("fit", tiny, *options)
    for scale, most in (("none", 2.2), ("standard", 3.2)):
        status, _, peak = run("fit", data, "--scale", scale, *options)
        tables = (peak - least) / (8 * 1500 * 6000)
        check(f"kpca of 1500 x 6000, scale {scale}", status == 0 and 1 < tables <= most,
              f"status {status}, {tables:.3f} times the table, {most} allowed")


with scratch() as here:
    run_parts([arrays_of_a_fit, memory_of_a_stream, refusals, a_huge_csv, a_million_rows, koca_on_many_rows], sys.argv[2:], here)
sys.exit(close())
