#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mercer and its peers side by side: run_kpca.py [--build BUILD] [--quick] [--rings N...]

Writes RESULTS.md and results.json to BUILD/bench and prints the former. Every measurement runs in a
process of its own; the time is the smallest of up to three repetitions of fit or transform alone,
with the data in memory. Whole-command time (start and reading included) has a column of its own.
Ratios are against the fastest exact peer of the same run. The machine's own limits are measured in
the same run too, and the floors computed from them stand beside our figures.

--quick makes it a smoke test: small data, few peers. The status is 1 when a measurement failed or
an exact method's eigenvalues disagree with the exact peer's.
"""
import importlib.util
import sys
import time

import numpy as np
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

from common import (BENCH, DIGITS_GAMMA, MILLION_MEMORY, PYTHON, RING_GAMMA, Bench, digits, has_kernlab, limits_table,
                    machine, markdown, measure_limits, newest_python, parse_options, publish, rbf, ring, rough_images,
                    seconds, times)

DIGITS_OF_EXACT = 6  # eigenvalues must agree with the exact peer to so many digits
DIGITS_OF_SINGLE = 3  # those of peers that work in single precision

RING_COMPONENTS, DIGITS_COMPONENTS, IMAGE_COMPONENTS = 10, 50, 50
TEXT_GAMMA, TEXT_COMPONENTS = 1 / 200, 10  # sigma 10

# Aims of the project: (work, our store, fit or transform) -> times faster than the fastest exact peer, with kernels
# of BLAS that know the processor, and with others
AIM_JUMP = 1.2  # between n and n + 1 rows
AIMS = {("ring 3500", "lowrank", "fit"): (10, 10), ("ring 10000", "lowrank", "fit"): (30, 30),
        ("ring 20000", "lowrank", "fit"): (30, 30), ("ring 10000", "dense", "fit"): (4, 4),
        ("ring 10000", "stream", "fit"): (4, 4), ("ring 20000", "dense", "fit"): (4, 4),
        ("ring 20000", "stream", "fit"): (4, 4), ("digits", "auto", "fit"): (3, 2),
        ("digits", "auto", "transform"): (5, 3), ("text linear", "auto", "fit"): (1, 1),
        ("text rbf", "auto", "fit"): (10, 10), ("text rbf", "stream", "fit"): (5, 5),
        ("images 10000", "auto", "fit"): (2.5, 2.5), ("images 10000", "auto single 0.0001", "fit"): (5, 5)}
AIM_NYSTROEM = 1.5  # times faster than scikit-learn's
AIM_IMAGES_FLOOR, AIM_MILLION_FLOOR, AIM_MILLION_FLOOR_OTHERS, AIM_TOLERANCE = 1.4, 3, 2, .35
AIM_MEMORY = {"digits": .45, "text rbf": .06}  # of KernelPCA's
NEWEST_TOO = ("arpack", "svds", "nystroem1000")  # methods that are measured with the newest scikit-learn, too


class Peers(Bench):
    """Kernel PCA by Mercer and by its peers."""

    def __init__(self, build, quick):
        super().__init__(build, quick)
        self.rows = []
        self.newest = None if quick else newest_python(build)

    def add(self, work, tool, method, threads, exact, answer, whole):
        row = {"work": work, "tool": tool, "method": method, "threads": threads, "exact": exact,
               "whole_s": whole}
        if isinstance(answer, dict):
            row.update(answer)
        else:
            row["fault"] = answer
            self.failures += not answer.startswith("more than")
        self.rows.append(row)
        print(f"  {work:<12} {tool:<8} {method:<12} {threads} thread(s): "
              f"{row.get('fault') or seconds(row['fit_s'])}", file=sys.stderr, flush=True)

    def mercer(self, work, data, gamma, components, store, threads, repeats, new=None, memory=0,
               kernel=None, method="kpca", **settings):
        kernel = kernel or rbf(gamma)
        answer = self.fit(data, method, kernel, components, threads, repeats, store=store, memory=memory,
                          new=new, options=[f"{key}={value}" for key, value in settings.items()])
        command = [self.build / "mercer", "fit", data, "-m", method, "-k", kernel, "-n", components,
                   "--store", store, "--threads", threads, "--quiet", "-o",
                   self.folder / "model.safetensors", *(["--memory", str(memory)] if memory else []),
                   *[word for key, value in settings.items() for word in ("--" + key, value)]]
        failed, whole = self.run(command, threads, 300)
        exact = method == "kpca" and not settings
        name = " ".join([store if method == "kpca" else method, *map(str, settings.values())])
        self.add(work, "mercer", name, threads, exact, failed if failed else answer, whole)

    def sklearn(self, work, data, gamma, components, method, threads, repeats, new=None, cap=120):
        pythons = {"sklearn": PYTHON, **({"newest sklearn": self.newest} if self.newest and method in NEWEST_TOO else {})}
        for tool, python in pythons.items():
            answer, wall = self.sklearn_fit(data, method, gamma, components, threads, repeats, new, cap, python)
            self.add(work, tool, method, threads, "nystroem" not in method, answer, whole_of(answer, wall))

    def kernlab(self, work, data, gamma, components, threads, repeats, new=None):
        answer, wall = self.run(["Rscript", BENCH / "peer_kernlab.R", self.raw[data], gamma, components,
                                 repeats, *([self.raw[new]] if new else [])], threads, 120)
        self.add(work, "kernlab", "kpca", threads, True, answer, whole_of(answer, wall))


def whole_of(answer, wall):
    """Start, reading and one fit: the process's wall time with all but one timed call taken away."""
    return wall - answer["timed_s"] + answer["fit_s"] if isinstance(answer, dict) else None


def measure_ring(bench, n):
    work, data = f"ring {n}", bench.data(f"ring{n}", ring(n))
    problem = (work, data, RING_GAMMA, RING_COMPONENTS)
    repeats = 3 if n <= 10000 else 2
    for threads in (1, 2):
        for method in ("arpack", "randomized", "dense", "nystroem100", "nystroem500"):
            if method == "dense" and n > 3500 or method == "randomized" and n > 10000:
                continue
            if bench.quick and (method in ("randomized", "nystroem500") or threads == 2):
                continue
            slow = method == "randomized" and n > 3500 or n > 10000
            bench.sklearn(*problem, method, threads, 1 if slow else repeats)
        if n <= 3500 and not bench.quick and has_kernlab():
            bench.kernlab(*problem, threads, 3 if n <= 1000 else 1)
        for store in ("auto", "lowrank", "dense", "stream"):
            bench.mercer(*problem, store, threads, repeats)


def measure_digits(bench):
    images, between = digits(bench.quick)
    data, new = bench.data("digits", images), bench.data("new", between)
    problem = ("digits", data, DIGITS_GAMMA, DIGITS_COMPONENTS)
    for threads in (1, 2):
        for method in ("arpack", "randomized", "dense", "nystroem500"):
            if not bench.quick or (method == "arpack" and threads == 1):
                bench.sklearn(*problem, method, threads, 3, new)
        if threads == 1 and not bench.quick and has_kernlab():
            bench.kernlab(*problem, threads, 1, new)
        for store in ("auto", "dense", "stream"):
            bench.mercer(*problem, store, threads, 5, new)


def measure_images(bench):
    """Rough rows, which have no factor: the exact solvers, and what gives up digits for time."""
    images = rough_images(bench.quick)
    sample = images[:200].astype(float)
    squares = ((sample[:, None] - sample[None]) ** 2).sum(2)
    gamma = float(1 / (2 * np.median(squares[np.triu_indices(len(sample), 1)])))
    work, points = f"images {len(images)}", 50 if bench.quick else 1000
    problem = (work, bench.data("images", images), gamma, 10 if bench.quick else IMAGE_COMPONENTS)
    for threads in (1, 2):
        if bench.quick and threads == 2:
            continue
        # The first one has the digits to compare with; theirs work in the precision of the rows.
        for method in ("arpack-double", "arpack") if bench.quick else ("arpack-double", "arpack", "randomized"):
            bench.sklearn(*problem, method, threads, 1, cap=300)
        bench.sklearn(*problem, f"nystroem{points}", threads, 1)
        bench.mercer(*problem, "auto", threads, 1)
        bench.mercer(*problem, "auto", threads, 1, precision="single", tolerance=1e-4)
        bench.mercer(*problem, "auto", threads, 1, method=f"nystroem:points={points}")


def measure_million(bench):
    rows = 20000 if bench.quick else 1000000
    data = bench.data("million", ring(rows))
    for threads in (1, 2):
        for settings in ({}, {"tolerance": 1e-6}):
            bench.mercer(f"ring {rows}", data, RING_GAMMA, RING_COMPONENTS, "auto", threads, 1,
                         memory=MILLION_MEMORY, **settings)


def text_like(rows, columns, entries, topics=40):
    """Sparse rows like a bag of words: frequencies by Zipf's law, three words in ten by the topic."""
    random = np.random.default_rng(1)
    share = np.cumsum(1 / np.arange(1, columns + 1))
    share /= share[-1]
    of_topic = [random.permutation(columns) for _ in range(topics)]
    index = np.empty((rows, entries), np.int32)
    for row in index:
        words = np.searchsorted(share, random.random(4 * entries))
        words = np.where(random.random(4 * entries) < 0.3, of_topic[random.integers(topics)][words], words)
        words = random.permutation(np.unique(words))[:entries]
        row[:] = np.sort(words if len(words) == entries else random.permutation(columns)[:entries])
    values = random.random(index.size) + 0.5
    return scipy.sparse.csr_matrix((values, index.ravel(), entries * np.arange(rows + 1)), (rows, columns))


def measure_text(bench):
    """Sparse rows: linear against svds with implicit centring, rbf against KernelPCA."""
    shape = (500, 2000, 20) if bench.quick else (20000, 50000, 75)
    data = bench.folder / "text.npz"
    scipy.sparse.save_npz(data, text_like(*shape), compressed=False)
    for threads in (1, 2):
        problem = (data, TEXT_GAMMA, TEXT_COMPONENTS)
        bench.sklearn("text linear", *problem, "svds", threads, 3)
        bench.mercer("text linear", *problem, "auto", threads, 3, kernel="linear")
        if not bench.quick or threads == 1:
            bench.sklearn("text rbf", *problem, "arpack", threads, 1, cap=300)
        for store in ("auto", "stream") if threads == 2 else ("auto",):
            bench.mercer("text rbf", *problem, store, threads, 1)


def measure_solvers(bench):
    """[[components, rows, solver, CPU seconds, the same of one row more, ratio]] where the solver changes."""
    random, lines = np.random.default_rng(1), []
    table = random.normal(size=(3000, 10)) / np.sqrt(np.arange(1, 11))

    def fit(n, components):
        answer = bench.fit(bench.data(f"small{n}", table[:n]), "kpca", rbf(0.125), components, 1,
                           1 if bench.quick else 9, store="dense")
        if isinstance(answer, dict):
            return answer
        bench.failures += 1
        print(f"  {components} components of {n} rows: {answer}", file=sys.stderr)
        return None

    for components in (2,) if bench.quick else (2, 10, 30, 50, 100):
        low, high = 50, 500 if bench.quick else 3000  # LAPACK, and not
        while high - low > 1:
            middle = (low + high) // 2
            answer = fit(middle, components)
            if not answer:
                return lines
            low, high = (middle, high) if answer["solver"] == "lapack" else (low, middle)
        before, after = fit(low, components), fit(high, components)
        if before and after:
            lines.append([components, low, before["solver"], before["fit_cpu_s"], high, after["solver"],
                          after["fit_cpu_s"], after["fit_cpu_s"] / before["fit_cpu_s"]])
    return lines


def solvers_table(lines):
    return markdown(["components", "rows", "solver", "CPU", "rows", "solver", "CPU", f"within {AIM_JUMP}x"],
                    [[k, n, one, seconds(s), m, other, seconds(t),
                      f"{'yes' if 1 / AIM_JUMP <= ratio <= AIM_JUMP else 'no'}, {ratio:.2f}"]
                     for k, n, one, s, m, other, t, ratio in lines])


def measure_reading(bench):
    """[[file, tool, seconds, CPU seconds]]: tables of text, read to doubles in memory."""
    rows, random = 2000 if bench.quick else 100000, np.random.default_rng(1)
    numbers = random.normal(size=(rows, 20))
    header = ",".join(f"c{i}" for i in range(20))
    sparse = scipy.sparse.random(rows // 5, 50000, 0.002, random_state=1, format="csr")
    files = {"17 digits.csv": "%.17g", "6 digits.csv": "%.6g", "integers.csv": "%d", "sparse.svm": None}
    lines = []
    for name, digits in files.items():
        path = bench.folder / name
        if digits:
            np.savetxt(path, numbers * (1000 if digits == "%d" else 1), delimiter=",", fmt=digits,
                       header=header, comments="")
        else:
            dump_svmlight_file(sparse, np.zeros(sparse.shape[0]), str(path), zero_based=False)
        tools = {"mercer": [bench.program("bench_read"), path, 3]}
        for peer in ("pandas", "pandas-exact") if digits else ("sklearn",):
            if peer == "sklearn" or importlib.util.find_spec("pandas"):
                tools[peer] = [PYTHON, BENCH / "peer_read.py", peer, path, 3]
        for tool, command in tools.items():
            answer, _ = bench.run(command, 1, 120)
            if isinstance(answer, dict):
                lines.append([name, tool, answer["read_s"], answer["read_cpu_s"]])
            else:
                bench.failures += 1
                print(f"  reading {name} by {tool}: {answer}", file=sys.stderr)
    return lines


def reading_table(lines):
    ours = {name: cpu for name, tool, _, cpu in lines if tool == "mercer"}
    return markdown(["file", "tool", "wall", "CPU", "Mercer is faster by (CPU)"],
                    [[name, tool, seconds(wall), seconds(cpu),
                      "" if tool == "mercer" or name not in ours else times(cpu / ours[name])]
                     for name, tool, wall, cpu in lines])


def finish(bench):
    """Add to every row the digits its eigenvalues share with the exact peer's, and its ratio."""
    for work in {row["work"] for row in bench.rows}:
        rows = [row for row in bench.rows if row["work"] == work and "fault" not in row]
        peers = [row for row in rows if row["exact"] and row["tool"] != "mercer"]
        if not peers:
            continue
        for row in rows:
            row["digits"] = digits_shared(row["eig"], peers[0]["eig"])
            if row["exact"] and row["digits"] < digits_expected(row):
                bench.failures += 1
        peers = [row for row in peers if row["digits"] >= digits_expected(row)]
        fastest = {what: min((row[what] for row in peers if what in row), default=None)
                   for what in ("fit_s", "transform_s", "whole_s")}
        for row in rows:
            for what, best in fastest.items():
                if best and row.get(what):
                    row[what.replace("_s", "_ratio")] = best / row[what]


def digits_expected(row):
    """Of an exact method; scikit-learn's stay in single precision where the rows are."""
    single = row["work"].startswith("images") and row["tool"] != "mercer"
    return DIGITS_OF_SINGLE if single else DIGITS_OF_EXACT


def digits_shared(values, reference):
    """Correct digits of the worst eigenvalue."""
    if len(values) != len(reference):
        return 0
    off = np.max(np.abs(np.array(values) / np.array(reference) - 1))
    return int(min(15, -np.log10(off))) if off > 1e-15 else 15


def floor(row, limits):
    """Seconds by cause that a fit on this store cannot go below, by the rates measured: the
    arithmetic of docs/BENCH.md. Passes and block sizes are those a good solver needs."""
    rate = limits[row["threads"]]
    gemm, exp, read = rate["dgemm_gflops"] * 1e9, rate["exp_mps"] * 1e6, rate["read_gbs"] * 1e9
    n, columns = row["rows"], {"ring": 2, "digits": 64, "images": 784}[row["work"].split()[0]]
    block, passes = (20, 4) if columns == 2 else (70, 5)
    products = passes * 2 * block * n * n
    kernel = n * n / 2  # one triangle
    if row["store"] == "lowrank":
        return {"exp": n * row["rank"] / exp, "gemm": 3 * n * row["rank"] ** 2 / gemm}
    distances = n * n * columns if columns > 2 else 0
    if row["store"] == "stream":
        return {"exp": passes * kernel / exp, "gemm": (products + passes * distances) / gemm}
    return {"exp": kernel / exp, "gemm": (products + distances) / gemm, "store": 8 * kernel / read}


def transform_floor(row, limits):
    rate = limits[row["threads"]]
    n = row["rows"]
    return {"exp": n * n / (rate["exp_mps"] * 1e6),
            "gemm": 2 * n * n * (64 + DIGITS_COMPONENTS) / (rate["dgemm_gflops"] * 1e9)}


def knows_processor(about):
    """Whether the kernels of BLAS are not the plain ones."""
    return "(SSE" not in about


def headline(bench, about):
    """The aims, and what this run reached with two threads."""
    lines = []
    for (work, store, what), (good, poor) in AIMS.items():
        aim = good if knows_processor(about) else poor
        ours = [row for row in bench.rows if row["work"] == work and row["tool"] == "mercer"
                and row["method"] == store and row["threads"] == 2]
        if ours and ours[0].get(f"{what}_ratio"):
            row = ours[0]
            peak = max((other["peak_mb"] for other in bench.rows if other["work"] == work
                        and other["method"] in ("arpack", "svds") and "fault" not in other), default=None)
            lines.append([work, what, store, times(row[f"{what}_ratio"]), f"{aim}x",
                          "yes" if row[f"{what}_ratio"] >= aim else "no",
                          f"{row['peak_mb'] / peak:.2f}" if peak else ""])
    return markdown(["work", "timed", "--store", "faster than the fastest exact peer", "aim", "reached",
                     "peak memory over KernelPCA's"], lines)


def other_aims(bench, limits, about):
    """Aims that are no ratio to the fastest exact peer, and what this run reached with two threads."""
    rows = {(row["work"], row["tool"], row["method"]): row for row in bench.rows if row["threads"] == 2 and "fault" not in row}
    lines = []

    def judge(figure, aim, value, most=True):
        lines.append([figure, f"at {'most' if most else 'least'} {aim}", f"{value:.2f}",
                      "yes" if (value <= aim if most else value >= aim) else "no"])

    def over_floor(row):
        return row["fit_s"] / sum(floor(row, limits).values())

    ours, theirs = (rows.get(("images 10000", *name)) for name in (("mercer", "nystroem:points=1000"), ("sklearn", "nystroem1000")))
    newest = rows.get(("images 10000", "newest sklearn", "nystroem1000"), theirs)
    if ours and theirs:
        judge("images 10000, nystroem:points=1000, faster than scikit-learn's Nystroem and PCA", AIM_NYSTROEM,
              min(theirs["fit_s"], newest["fit_s"]) / ours["fit_s"], most=False)
    loose, peers = rows.get(("images 10000", "mercer", "auto single 0.0001")), [
        row for (work, tool, _), row in rows.items() if work == "images 10000" and tool != "mercer" and row["exact"]]
    if loose and peers:
        fastest = min(peers, key=lambda row: row["fit_s"])
        judge("images 10000, single and 1e-4: digits, over those of the fastest exact peer", 1,
              loose["digits"] / max(fastest["digits"], 1), most=False)
    if ("images 10000", "mercer", "auto") in rows:
        judge("images 10000, fit over its floor", AIM_IMAGES_FLOOR, over_floor(rows["images 10000", "mercer", "auto"]))
    plain, loose = (rows.get(("ring 1000000", "mercer", name)) for name in ("auto", "auto 1e-06"))
    if plain and loose:
        judge("ring 1000000, fit over its floor", AIM_MILLION_FLOOR if knows_processor(about) else AIM_MILLION_FLOOR_OTHERS,
              over_floor(plain))
        judge("ring 1000000, time with a tolerance of 1e-6 over the default's", AIM_TOLERANCE, loose["fit_s"] / plain["fit_s"])
    for work, aim in AIM_MEMORY.items():
        store = "stream" if work.startswith("text") else "auto"
        ours, theirs = rows.get((work, "mercer", store)), rows.get((work, "sklearn", "arpack"))
        if ours and theirs:
            judge(f"{work}, {store}, peak memory over KernelPCA's", aim, ours["peak_mb"] / theirs["peak_mb"])
    return markdown(["figure", "aim", "here", "reached"], lines)


def work_table(rows):
    transforms = any("transform_s" in row for row in rows)
    header = ["tool", "method", "threads", "fit: ratio", "fit"]
    header += ["transform: ratio", "transform"] if transforms else []
    header += ["whole command", "peak MB over base", "digits", "note"]
    lines = []
    for row in rows:
        if "fault" in row:
            lines.append([row["tool"], row["method"], row["threads"]] + [""] * (len(header) - 4)
                         + [row["fault"]])
            continue
        busy = row["threads"] == 1 and row["fit_s"] > 0.01 and row["fit_s"] > 1.3 * row["fit_cpu_s"]
        line = [row["tool"], row["method"], row["threads"], times(row.get("fit_ratio")),
                seconds(row["fit_s"]) + (f" (cpu {seconds(row['fit_cpu_s'])})" if busy else "")]
        if transforms:
            line += [times(row.get("transform_ratio")), seconds(row.get("transform_s"))]
        line += [seconds(row["whole_s"]), f"{row['peak_mb']:.0f}", digits_cell(row), note(row)]
        lines.append(line)
    return markdown(header, lines)


def digits_cell(row):
    if "digits" not in row:
        return "no peer"
    if row["digits"] >= digits_expected(row):
        return row["digits"]
    return f"**{row['digits']}: WRONG**" if row["exact"] else f"{row['digits']} (approximate)"


def note(row):
    if row["tool"] != "mercer":
        return ""
    rank = f", rank {row['rank']}" if row["rank"] else ""
    passes = f", {row['passes']} passes" if row["passes"] else ""
    return f"{row['store']}{rank}, {row['solver']}{passes}"


def floor_table(bench, limits):
    lines = []
    ours = [row for row in bench.rows if row["tool"] == "mercer" and "fault" not in row]
    asked = {(row["work"], row["method"], row["threads"]) for row in ours}
    for row in ours:
        if row["work"].startswith("text"):
            continue  # how much sparse rows share decides, not the machine alone
        if not row["exact"]:
            continue  # floors are those of all digits
        if row["method"] == "auto" and (row["work"], row["store"], row["threads"]) in asked:
            continue  # the same work stands in the table under the store's own name
        parts = [("fit", floor(row, limits), row["fit_s"])]
        if "transform_s" in row:
            parts.append(("transform", transform_floor(row, limits), row["transform_s"]))
        for what, causes, ours in parts:
            total = sum(causes.values())
            bound = max(causes, key=causes.get)
            lines.append([row["work"], what, row["store"], row["threads"], seconds(total), seconds(ours),
                          times(ours / total), f"{bound} ({causes[bound] / total:.0%} of the floor)"])
    return markdown(["work", "timed", "store", "threads", "floor", "Mercer", "Mercer / floor", "bound by"],
                    lines)


def report(bench, limits, solvers, reading, about, taken):
    parts = ["# Benchmark: Mercer and its peers in one run\n", about + f"; {taken:.0f} s in all.\n",
             "Ratios are against the fastest exact peer of this run (more is better); times are the "
             "smallest of up to 3 repetitions of fit or transform alone, one process each, data in "
             "memory. *Whole command* counts start and reading; *digits* are those the eigenvalues share "
             "with scikit-learn's exact solver. The ring: radius 8, noise 1, `rbf:sigma=4`, 10 components. "
             "Digits: 1797 x 64 scaled to [0,1], gamma 1/64, 50 components, as many new rows. Images: digits "
             "enlarged to 28 x 28, moved, with noise, in single precision, sigma the median distance, 50 "
             "components. Text: 20,000 "
             "sparse rows of 75 entries in 50,000 columns, word frequencies by Zipf's law; linear against "
             "SciPy's `svds` with implicit centring, `rbf:sigma=10` against KernelPCA.\n",
             "## Aims (two threads)\n", headline(bench, about), other_aims(bench, limits, about)]
    for work in dict.fromkeys(row["work"] for row in bench.rows):
        parts += [f"## {work}\n", work_table([row for row in bench.rows if row["work"] == work])]
    parts += ["## Where the solver changes\n",
              "CPU time of a fit on one thread, on either side of the number of rows from which on Krylov is less work "
              "than LAPACK; `rbf`, 10 columns.\n", solvers_table(solvers)]
    parts += ["## Reading text\n",
              "Tables of 20 columns, and sparse rows, to doubles in memory; pandas-exact rounds as we do.\n",
              reading_table(reading)]
    parts += ["## The machine's limits\n",
              limits_table(limits),
              "## Floors computed from them\n",
              "Ring, dense: one triangle of exponentials, stored once, and 4 products with 20 columns; "
              "stream: the exponentials again at each product; low rank q: n q exponentials and 3 n q^2 "
              "operations. Digits and images: 5 products with 70 columns. A floor is arithmetic, not a program.\n",
              floor_table(bench, limits)]
    return "\n".join(parts)


def main():
    options = parse_options(__doc__, lambda parser: parser.add_argument(
        "--rings", type=int, nargs="*", help="sizes of the ring"))
    start, about = time.monotonic(), machine(options.build)
    bench = Peers(options.build, options.quick)

    limits = measure_limits(bench)
    if options.rings is None:
        options.rings = [400] if options.quick else [1000, 3500, 10000, 20000]
    for n in options.rings:
        measure_ring(bench, n)
    measure_digits(bench)
    measure_images(bench)
    measure_million(bench)
    measure_text(bench)
    solvers = measure_solvers(bench)
    reading = measure_reading(bench)
    for row in bench.rows:
        row["rows"] = len(np.load(bench.folder / "digits.npy")) if row["work"] == "digits" \
            else 0 if row["work"].startswith("text") else int(row["work"].split()[1])
    finish(bench)

    text = report(bench, limits, solvers, reading, about, time.monotonic() - start)
    results = {"machine": about, "limits": limits, "rows": bench.rows, "solvers": solvers, "reading": reading}
    return publish(bench, options, text, results)


if __name__ == "__main__":
    sys.exit(main())
