#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Streams against kernel PCA of all rows and scikit-learn's IncrementalPCA: run_stream.py [--build BUILD] [--quick]

Writes RESULTS-stream.md and results-stream.json to BUILD/bench and prints the former. Measured are the
time of a fit by the number of rows for ikpca, kha and kpca (the published sizes, 520 to 3100, and more),
with the exponents of their growth; rows a second at 8 and 36 components with libraries of 45 and 400
beside IncrementalPCA of the same rows, components and batches; and kernel values a block, which have to
be those of the library, the block and, every 256th time, the check. Times are the smallest of some
repetitions; each aim stands beside its figure.

--quick makes it a smoke test on small data. The status is 1 when a measurement failed or a count is wrong.
"""
import sys

import numpy as np

from common import exponent, judge_parts, markdown, rbf, seconds, times

THREADS = 2
PUBLISHED = {520: (7.23, 29.05, 93.75), 1000: (44.10, 60.23, 198.73), 1510: (161.23, 93.14, 381.92),
             2020: (413.05, 127.45, 695.31), 2530: (990.29, 141.28, 990.86), 3100: (1394.91, 165.29, 1569.02)}
FIRST, BLOCK, CHECK_EVERY = 10, 30, 256
AIM_EXPONENT, AIM_YARDSTICK, AIM_LARGE = 1.1, 1, 0.15

# Method, its exponent in the published table (column), the most rows it is given, and store.
GROWTH = [("ikpca", 1, 100000, "auto"), ("ikpca, pre-images", 1, 3100, "auto"), ("kha", 2, 100000, "auto"),
          ("kpca", 0, 100000, "auto"), ("kpca, dense", 0, 10000, "dense")]
KERNELS = {"poly, degree 2": ("poly:degree=2", 5, 6), "rbf, sigma 1": ("rbf:sigma=1", 8, 45)}


def parabola(rows):
    """The published problem: x uniform in [-1, 1], y = x^2 with noise of 0.2."""
    random = np.random.default_rng(1)
    x = random.uniform(-1, 1, rows)
    return np.column_stack([x, x * x + 0.2 * random.normal(size=rows)])


def sensors(rows, columns=64):
    """Rows that a few hidden numbers bring about, with a little noise."""
    random = np.random.default_rng(2)
    hidden = random.normal(size=(rows, 8))
    return np.tanh(hidden @ random.normal(size=(8, columns))) + random.normal(size=(rows, columns)) / 20


def specification(method, rank, library):
    name = method.split(",")[0]
    if name == "kpca":
        return f"kpca:components={rank}"
    if name == "kha":
        return f"kha:components={rank},library={library},block={BLOCK}"
    compress = ",compress=preimage" if "pre-images" in method else ""
    return f"ikpca:components={rank},rank={rank},library={library},first={FIRST},block={BLOCK}{compress}"


def fit(bench, what, data, spec, kernel, repeats, store="auto"):
    """The report of the fastest of some fits by the tool."""
    best = None
    for _ in range(repeats):
        answer, _ = bench.run([bench.build / "mercer", "fit", data, "-m", spec, "-k", kernel, "--store", store,
                               "--threads", THREADS, "--json", "--quiet"], THREADS, 600)
        answer = bench.checked(f"{what}, {spec}", answer)
        if not answer:
            return None
        best = answer if best is None or answer["seconds"] < best["seconds"] else best
    return best


# ---- growth ----

def measure_growth(bench):
    """[kernel, method, {rows: seconds}, exponent, published exponent]"""
    sizes = (130, 310) if bench.quick else (*PUBLISHED, 10000, 30000, 100000)
    table, lines = parabola(max(sizes)), []
    data = {n: bench.data(f"stream{n}", table[:n]) for n in sizes}
    for name, (kernel, rank, library) in KERNELS.items():
        for method, column, most, store in GROWTH:
            if method.split(",")[0] not in bench.methods:
                continue
            found = {}
            for n in sizes:
                if n > most:
                    continue
                answer = fit(bench, f"growth {n}", data[n], specification(method, rank, library), kernel,
                             1 if bench.quick or n > 10000 else 3, store)
                if answer:
                    found[n] = answer["seconds"]
            theirs = exponent([(n, row[column]) for n, row in PUBLISHED.items()])
            lines.append([name, method, found, exponent(list(found.items())), theirs])
    bench.judge("exponent of ikpca in rows", [line[3] for line in lines if line[1] == "ikpca"], AIM_EXPONENT)
    return lines


def growth_table(lines):
    sizes = sorted({n for line in lines for n in line[2]})
    rows = [[name, method, *(seconds(found.get(n)) for n in sizes), "" if slope is None else f"{slope:.2f}",
             f"{theirs:.2f}"] for name, method, found, slope, theirs in lines]
    return markdown(["kernel", "method", *map(str, sizes), "exponent", "published"], rows)


# ---- rows a second ----

def measure_rates(bench):
    """[components, library, block, rows a second, IncrementalPCA, ratio, values a block, points]"""
    rows = 600 if bench.quick else 30000
    data, lines = bench.data("sensors", sensors(rows)), []
    block = 60  # IncrementalPCA wants batches of at least as many rows as components
    for rank in (8, 36):
        answer, _ = bench.sklearn_fit(data, f"incremental{block}", 1, rank, THREADS, 1 if bench.quick else 3)
        theirs = bench.checked(f"rates, IncrementalPCA {rank}", answer)
        for library in (45, 400):
            if bench.quick and library > 45:
                continue
            spec = f"ikpca:components={rank},rank={rank},library={library},first={block},block={block}"
            ours = fit(bench, "rates", data, spec, rbf(1 / 128), 1 if bench.quick else 2)
            if not (ours and theirs):
                continue
            bench.expect(ours["evaluations_newest_block"] == (library + block) * block
                         or ours["blocks"] % CHECK_EVERY == 0, f"{spec}: not the kernel values that a block needs")
            lines.append([rank, library, block, rows / ours["seconds"], rows / theirs["fit_s"],
                          theirs["fit_s"] / ours["seconds"], ours["evaluations"] / ours["blocks"],
                          ours["expansion_points"]])
    bench.judge("times as many rows a second as IncrementalPCA, library 45",
                [line[5] for line in lines if line[1] == 45], AIM_YARDSTICK, most=False)
    small = {line[0]: line[3] for line in lines if line[1] == 45}
    bench.judge("rows a second with a library of 400, share of those with 45",
                [line[3] / small[line[0]] for line in lines if line[1] == 400 and line[0] in small], AIM_LARGE,
                most=False)
    return lines


def rates_table(lines):
    return markdown(["components", "library", "block", "rows a second", "IncrementalPCA, rows a second", "ratio",
                     "kernel values a block", "points"],
                    [[rank, library, block, f"{ours:,.0f}", f"{theirs:,.0f}", times(ratio), f"{values:,.0f}", points]
                     for rank, library, block, ours, theirs, ratio, values, points in lines])


# ---- kernel values ----

def measure_counts(bench):
    """[method, blocks, values, values a block, values of the newest block, of an n x n matrix]"""
    rows, lines = (310, []) if bench.quick else (3100, [])
    data = bench.data("counts", parabola(rows))
    kernel, rank, library = KERNELS["rbf, sigma 1"]
    for method in ("ikpca", "ikpca, pre-images", "kha"):
        answer = fit(bench, "kernel values", data, specification(method, rank, library), kernel, 1)
        if answer:
            lines.append([method, answer["blocks"], answer["evaluations"], answer["evaluations"] / answer["blocks"],
                          answer["evaluations_newest_block"], answer["evaluations"] / rows ** 2])
        if answer and method == "ikpca":
            bench.expect(answer["evaluations_newest_block"] == BLOCK * (library + BLOCK),
                         "ikpca: not the kernel values that a block needs")
    return lines


def counts_table(lines):
    return markdown(["method", "blocks", "kernel values", "a block", "newest block", "of the whole matrix"],
                    [[method, blocks, f"{values:,}", f"{each:,.0f}", f"{newest:,}", f"{100 * share:.3g} %"]
                     for method, blocks, values, each, newest, share in lines])


def report(found):
    """The tables; found has what measure() gave."""
    return ["## Growth\n", "Seconds of a fit by rows, without reading them, and the exponent of their growth beside "
            "that of the published table (520 to 3100 rows, degree 2).\n", growth_table(found["growth"]),
            "## Rows a second\n", "64 columns, `rbf`; scikit-learn's IncrementalPCA is linear and takes the same rows "
            "in the same batches.\n", rates_table(found["rates"]),
            "## Kernel values\n", "The published problem, `rbf`, 8 components, library 45.\n",
            counts_table(found["counts"])]


def measure(bench):
    return {"growth": measure_growth(bench), "rates": measure_rates(bench), "counts": measure_counts(bench)}


if __name__ == "__main__":
    sys.exit(judge_parts(__doc__, "streams", THREADS, ("ikpca", "kha", "kpca"), measure, report, "-stream"))
