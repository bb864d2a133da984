#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The methods that choose rows, against passes, deflation and peers: run_greedy.py [--build BUILD] [--quick]

Writes RESULTS-greedy.md and results-greedy.json to BUILD/bench and prints the former. Measured are
the time of a feature in passes over the kernel matrix and against plain deflation, how both grow with
rows and features, kernlab's kfa, dlib's subset finder, very many rows, and the transform of new rows.
Times are the smallest of some repetitions; each aim stands beside its figure.

--quick makes it a smoke test on small data. Methods and peers that are not there are left out, with a
line. The status is 1 when a measurement failed or selected rows are not those of plain deflation.
"""
import sys
import time

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from common import (BENCH, DIGITS_GAMMA, MILLION_MEMORY, RING_GAMMA, Judge, digits, exponent, has_kernlab, limits_table, machine,
                    markdown, measure_limits, parse_options, publish, rbf, ring, seconds, times, yes)

THREADS = 2
STORES = ("dense", "stream", "lowrank")
METHODS = {"akfa": "akfa", "skfa": "skfa", "rkpca": "rkpca:points={}"}  # {}: as many as features
NORMAL_GAMMA = 1 / 64  # laplacian on 64 normal columns: exp(-1.1) for the mean pair, full rank

AIM_PASSES, AIM_DEFLATION = 1.5, 3
AIM_EXPONENT = {"dense": 2.05, "stream": 2.05, "lowrank": 1.1}
AIM_FEATURE_EXPONENT = {"akfa": 1.1, "skfa": 1.1}  # rkpca ends in a small eigenproblem
AIM_KFA, AIM_DLIB = 5, 1
AIM_MEGABYTES = 500
CANDIDATES = 59  # kfa's own
JUDGED = 1e-6  # our error and that computed from the selected rows may differ by so much


class Greedy(Judge):
    """Measurements of the greedy methods."""

    def __init__(self, build, quick):
        super().__init__(build, quick, ("kpca", "akfa", "skfa", "rkpca", "greedy", "nystroem"))

    def specs(self, features):
        """{name: what to give as method} for so many features."""
        return {name: spec.format(features) for name, spec in METHODS.items() if name in self.methods}


def span_error(rows, gamma, selected):
    """Mean squared distance of the images, not centred, from the span of the selected ones."""
    chosen = rows[selected]
    values, vectors = eigh(np.exp(-gamma * cdist(chosen, chosen, "sqeuclidean")))
    kept = values > 1e-12 * values[-1]
    coordinates = np.exp(-gamma * cdist(rows, chosen, "sqeuclidean")) @ (vectors[:, kept] / np.sqrt(values[kept]))
    return float(np.mean(1 - (coordinates ** 2).sum(1)))


# ---- time of a feature ----

def measure_parts(bench, work, data, kernel, store, fits, repeat_for):
    """A row for each fit, (name, method, features): its time per feature beside build and pass."""
    pairs = [part for _, method, features in fits for part in (method, features)]
    answer, _ = bench.run([bench.program("bench_gram"), data, kernel, store, THREADS, repeat_for, *pairs],
                          THREADS, 300)
    answer = bench.checked(f"{work}, {store}", answer)
    if not answer:
        return []
    rows = []
    for (name, _, asked), fit in zip(fits, answer["fits"]):
        found = len(fit["selected"])
        spent = fit["spent_s"]
        rows.append({"work": work, "store": store, "method": name, "asked": asked, "found": found,
                     "spent_s": spent, "feature_s": spent / found,
                     "passes": spent / found / answer["pass_s"], "selected": fit["selected"],
                     **{key: answer[key] for key in ("rows", "rank", "build_s", "pass_s")}})
    return rows


def add_deflation(bench, work, data, kernel, gamma, rows):
    """Put the time of plain deflation beside the rows of this work, and compare the rows taken."""
    ours = [row for row in rows if row["work"] == work]
    if not ours:
        return
    n, features = ours[0]["rows"], 5 if bench.quick else 10
    answer, _ = bench.run([bench.program("bench_deflation"), data, kernel, repr(gamma), features, THREADS,
                           3 if n <= 8000 else 1], THREADS, 300)
    answer = bench.checked(f"{work}, plain deflation", answer)
    if not answer:
        return
    for row in ours:
        row["deflation_s"] = answer["feature_s"]
        row["faster"] = answer["feature_s"] / row["feature_s"]
        if row["method"] == "akfa":
            bench.expect(row["selected"][:features] == answer["selected"],
                         f"{work}, {row['store']}: akfa takes other rows than plain deflation")


def measure_features(bench):
    """Time of a feature on every work and store."""
    counts = (5, 10) if bench.quick else (10, 50)
    sizes = (300, 600) if bench.quick else (1000, 2000, 4000, 8000, 16000, 20000)
    repeat_for = 0.05 if bench.quick else 2
    images, _ = digits(bench.quick)
    normal = np.random.default_rng(1).normal(size=(300 if bench.quick else 20000, 64))
    works = [(f"ring {n}", ring(n), "rbf", RING_GAMMA, STORES) for n in sizes]
    works += [("digits", images, "rbf", DIGITS_GAMMA, ("dense", "stream")),
              (f"normal {len(normal)}", normal, "laplacian", NORMAL_GAMMA, ("dense",))]
    rows = []
    for work, points, kernel, gamma, stores in works:
        data = bench.data(work.replace(" ", ""), points)
        for store in stores:
            # 50 passes that compute 2e8 kernel values each would take a minute for little news.
            few = store == "stream" and len(points) > 16000
            fits = [(name, spec, count) for count in (counts[:1] if few else counts)
                    for name, spec in bench.specs(count).items()]
            rows += measure_parts(bench, work, data, f"{kernel}:gamma={gamma!r}", store, fits, repeat_for)
        add_deflation(bench, work, data, kernel, gamma, rows)
    for store in STORES:
        of_store = [row for row in rows if row["store"] == store]
        bench.judge(f"passes a feature, {store}", [row["passes"] for row in of_store], AIM_PASSES)
        bench.judge(f"times faster than deflation, {store}", [row.get("faster") for row in of_store],
                    AIM_DEFLATION, most=False)
    return rows


def feature_table(rows):
    lines = []
    for row in rows:
        rank = f", rank {row['rank']}" if row["rank"] else ""
        faster = row.get("faster")
        lines.append([row["work"], row["store"] + rank, row["method"], row["found"], seconds(row["build_s"]),
                      seconds(row["pass_s"]), seconds(row["feature_s"]), f"{row['passes']:.2f}",
                      yes(row["passes"] <= AIM_PASSES), seconds(row.get("deflation_s")), times(faster),
                      "" if faster is None else yes(faster >= AIM_DEFLATION)])
    return markdown(["work", "store", "method", "features", "store built", "one pass", "a feature",
                     "passes a feature", f"at most {AIM_PASSES}", "deflation, a feature", "faster by",
                     f"at least {AIM_DEFLATION}x"], lines)


# ---- exponents ----

def least_rows(bench):
    """Where exponents begin: below, the matrix is in the cache."""
    return 300 if bench.quick else 4000


def size_exponents(bench, rows):
    """[store, method, features, exponent in n, aim, met] from the rows of measure_features."""
    lines = []
    keys = dict.fromkeys((row["store"], row["method"], row["asked"]) for row in rows)
    for store, method, asked in keys:
        slope = exponent([(row["rows"], row["feature_s"]) for row in rows
                          if row["work"].startswith("ring") and row["rows"] >= least_rows(bench)
                          and (row["store"], row["method"], row["asked"]) == (store, method, asked)])
        if slope is not None:
            lines.append([store, method, asked, slope, AIM_EXPONENT[store], yes(slope <= AIM_EXPONENT[store])])
    for store, aim in AIM_EXPONENT.items():
        bench.judge(f"exponent in rows, {store}", [line[3] for line in lines if line[0] == store], aim)
    return lines


def measure_feature_exponents(bench):
    """[work, store, method, seconds by features, exponent in l, aim, met]"""
    counts = (5, 10) if bench.quick else (10, 20, 50, 100, 200)
    n, lines = 300 if bench.quick else 2000, []
    works = [(f"ring {n}", ring(n), rbf(RING_GAMMA), ("dense", "lowrank")),
             (f"normal {n}", np.random.default_rng(2).normal(size=(n, 64)),
              f"laplacian:gamma={NORMAL_GAMMA!r}", ("dense",))]
    for work, points, kernel, stores in works:
        data = bench.data("l" + work.replace(" ", ""), points)
        for store in stores:
            fits = [(name, spec, count) for count in counts for name, spec in bench.specs(count).items()]
            rows = measure_parts(bench, f"{work}, features", data, kernel, store, fits,
                                 0.05 if bench.quick else 1)
            for method in bench.specs(1):
                found = [(row["found"], row["spent_s"]) for row in rows if row["method"] == method]
                slope, aim = exponent(found), AIM_FEATURE_EXPONENT.get(method)
                if slope is not None:
                    lines.append([work, store, method, ", ".join(f"{l}: {seconds(s)}" for l, s in found), slope,
                                  aim or "", yes(slope <= aim) if aim else ""])
    bench.judge("exponent in features, akfa and skfa", [line[4] for line in lines if line[5]], 1.1)
    return lines


def measure_crossover(bench):
    """[method, fit] at n = 300, l = 50, where published SKFA took 8 times as long as KPCA."""
    data, lines = bench.data("crossover", ring(300)), []
    for method in ("kpca", "akfa", "skfa"):
        answer = bench.checked(f"crossover, {method}", bench.fit(
            data, method, rbf(RING_GAMMA), 50, THREADS, 2 if bench.quick else 20, store="dense"))
        if answer:
            lines.append([method, answer["fit_s"]])
    return lines


def crossover_table(lines):
    fits = dict(lines)
    skfa = fits.get("skfa")
    return markdown(["method", "fit", "skfa takes, of this", "published"],
                    [[method, seconds(fit), times(skfa / fit) if skfa else "",
                      {"kpca": "8x (measured)", "akfa": "50x (l^2 n^2 against l n^2)"}.get(method, "")]
                     for method, fit in lines])


# ---- peers ----

def measure_kfa(bench):
    """Rows of tool and method against kernlab's kfa: time, and error not centred."""
    if not has_kernlab():
        bench.leave_out("kernlab's kfa: no R, or no kernlab in it")
        return []
    repeats = 2 if bench.quick else 5
    works = [(f"ring {n}", ring(n), RING_GAMMA, 10)
             for n in ((400,) if bench.quick else (1000, 3500, 10000, 20000))]
    if not bench.quick:
        works.append(("digits", digits(False)[0], DIGITS_GAMMA, 50))
    rows = []
    for work, points, gamma, features in works:
        data = bench.data("kfa", points)
        answer, _ = bench.run(["Rscript", BENCH / "peer_kfa.R", bench.raw[data], gamma, features, repeats],
                              THREADS, 120)
        peer = bench.checked(f"{work}, kfa", answer)
        if not peer:
            continue
        error = float(np.mean([span_error(points, gamma, selected) for selected in peer["selected"]]))
        rows.append({"work": work, "tool": "kernlab", "method": "kfa", "threads": "", "fit_s": peer["fit_s"],
                     "error": error})
        ours = [(spec, "auto") for spec in (f"akfa:candidates={CANDIDATES}",
                                            f"skfa:criterion=variance,candidates={CANDIDATES}")]
        ours += [(spec, "lowrank") for spec in ("akfa", "skfa:criterion=variance")]
        for spec, store in ours:
            for threads in (1, THREADS):
                fit = bench.checked(f"{work}, {spec}, {threads} threads", bench.fit(
                    data, spec, rbf(gamma), features, threads, repeats, center="none", store=store))
                if not fit:
                    continue
                if store == "lowrank":  # the other has another choice in every repetition
                    bench.expect(abs(fit["error"] - span_error(points, gamma, fit["selected"])) < JUDGED,
                                 f"{work}, {spec}: the error told is not that of the selected rows")
                rows.append({"work": work, "tool": "mercer", "method": spec, "threads": threads,
                             "fit_s": fit["fit_s"], "error": fit["error"], "faster": peer["fit_s"] / fit["fit_s"],
                             "over": fit["error"] / error, "aimed": store == "auto"})
    aimed = [row for row in rows if row.get("aimed") and row["threads"] == THREADS]
    bench.judge(f"times faster than kfa, {CANDIDATES} candidates", [row["faster"] for row in aimed], AIM_KFA,
                most=False)
    bench.judge(f"error over kfa's, {CANDIDATES} candidates", [row["over"] for row in aimed], 1)
    return rows


def kfa_table(rows):
    lines = []
    for row in rows:
        faster = row.get("faster")
        lines.append([row["work"], row["tool"], row["method"], row["threads"], seconds(row["fit_s"]), times(faster),
                      yes(faster >= AIM_KFA) if row.get("aimed") else "", f"{row['error']:.4f}",
                      yes(row["over"] <= 1) if "over" in row else ""])
    return markdown(["work", "tool", "method", "threads", "fit", "faster than kfa", f"at least {AIM_KFA}x",
                     "mean error", "at most kfa's"], lines)


def build_dlib(bench):
    """Path of peer_dlib, compiled when it is out of date; None when it cannot be."""
    program, source = bench.program("peer_dlib"), BENCH / "peer_dlib.cpp"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    if bench.quick:
        bench.leave_out("dlib's subset finder: a smoke test does not compile it")
        return None
    answer, _ = bench.run(["c++", "-std=c++17", "-O3", "-o", program, source, "-ldlib", "-lopenblas"], THREADS,
                          300)
    if not isinstance(answer, dict):
        bench.leave_out(f"dlib's subset finder: {answer}")
        return None
    return program


def measure_dlib(bench):
    """Rows of tool and method against dlib's finder, all with as many points as it keeps."""
    program = build_dlib(bench)
    if not program:
        return []
    repeats = 2 if bench.quick else 5
    works = [(f"ring {n}", ring(n), RING_GAMMA) for n in ((400,) if bench.quick else (3500, 20000))]
    works.append(("digits", digits(bench.quick)[0], DIGITS_GAMMA))
    rows = []
    for work, points, gamma in works:
        data = bench.data("dlib", points)
        answer, _ = bench.run([program, bench.raw[data], *points.shape, gamma, 20 if bench.quick else 100,
                               repeats], 1, 120)
        peer = bench.checked(f"{work}, dlib", answer)
        if not peer:
            continue
        kept = len(peer["selected"])
        error = span_error(points, gamma, peer["selected"])
        rows.append({"work": work, "tool": "dlib", "method": "subset finder", "threads": 1, "points": kept,
                     "fit_s": peer["fit_s"], "error": error})
        ours = {"greedy": (f"greedy:points={kept},depth=1", "-", 10), "akfa": ("akfa", "none", kept),
                "nystroem": (f"nystroem:points={kept}", "-", 10)}
        for name, (spec, center, features) in ours.items():
            for threads in (1, THREADS) if name in bench.methods else ():
                fit = bench.checked(f"{work}, {spec}, {threads} threads", bench.fit(
                    data, spec, rbf(gamma), features, threads, repeats, center=center))
                if fit and fit["selected"]:
                    own = span_error(points, gamma, fit["selected"])
                    rows.append({"work": work, "tool": "mercer", "method": spec, "threads": threads,
                                 "points": len(fit["selected"]), "fit_s": fit["fit_s"], "error": own,
                                 "faster": peer["fit_s"] / fit["fit_s"], "over": own / error,
                                 "for": name})
    ours = [row for row in rows if row["tool"] == "mercer" and row["threads"] == THREADS]
    bench.judge("times faster than dlib, greedy:depth=1",
                [row["faster"] for row in ours if row["for"] == "greedy"], AIM_DLIB, most=False)
    bench.judge("error over dlib's, akfa", [row["over"] for row in ours if row["for"] == "akfa"], 1)
    return rows


def dlib_table(rows):
    lines = []
    for row in rows:
        faster = row.get("faster")
        lines.append([row["work"], row["tool"], row["method"], row["threads"], row["points"], seconds(row["fit_s"]),
                      times(faster), yes(faster >= AIM_DLIB) if row.get("for") == "greedy" else "",
                      f"{row['error']:.3g}", yes(row["over"] < 1) if row.get("for") == "akfa" else ""])
    return markdown(["work", "tool", "method", "threads", "points", "fit", "faster than dlib",
                     f"at least {AIM_DLIB}x", "mean error", "below dlib's"], lines)


# ---- very many rows, new rows ----

def measure_many(bench):
    """[rows, store, seconds of the fit, peak MB, aim, met] of whole commands."""
    cases = [(5000, ("--store", "auto")), (5000, ("--store", "stream"))] if bench.quick else \
        [(100000, ("--store", "auto")), (100000, ("--store", "stream")),
         (1000000, ("--store", "lowrank", "--memory", MILLION_MEMORY))]
    lines = []
    for n, store in cases:
        answer, _ = bench.run([bench.build / "mercer", "fit", bench.data(f"many{n}", ring(n)), "-m", "akfa", "-k",
                               rbf(RING_GAMMA), "-n", 10, "--center", "exact", "--threads", THREADS, "--json",
                               "--quiet", *store], THREADS, 300)
        answer = bench.checked(f"ring {n}, {store[1]}", answer)
        if answer:
            peak = answer["peak_memory_bytes"] / 1e6
            aim = AIM_MEGABYTES if n <= 100000 else MILLION_MEMORY / 1e6
            lines.append([n, answer["store"], answer["seconds"], peak, aim, yes(peak <= aim)])
    for limit in sorted({line[4] for line in lines}):
        bench.judge("MB at the peak", [line[3] for line in lines if line[4] == limit], round(limit))
    return lines


def many_table(lines):
    return markdown(["rows", "store", "fit", "peak of the process, MB", "at most", "met"],
                    [[n, store, seconds(took), f"{peak:.0f}", f"{aim:.0f}", met]
                     for n, store, took, peak, aim, met in lines])


def measure_transform(bench):
    """Rows of new rows a second, by models of ten features."""
    small, repeats = bench.quick, 2 if bench.quick else 5
    images, between = digits(small)
    n, fresh = (300, 500) if small else (3500, 10000)
    # Five times the digits, each time a little darker, so that a short time can be measured.
    works = [(f"ring {n}", ring(n), ring(n + fresh)[n:], RING_GAMMA),
             ("digits", images, np.vstack([between * (1 - 0.1 * i) for i in range(5)]), DIGITS_GAMMA)]
    models = {"kpca": [("kpca", "-")], "akfa": [("akfa", "span"), ("akfa", "none"), ("akfa", "exact")],
              **{name: [(f"{name}:points=10", "-")] for name in ("rkpca", "greedy", "nystroem")}}
    rows = []
    for work, points, new, gamma in works:
        data, new_data = bench.data("old", points), bench.data("fresh", new)
        answers = [("sklearn", "KernelPCA", "",
                    bench.sklearn_fit(data, "arpack", gamma, 10, THREADS, repeats, new_data)[0])]
        answers += [("mercer", spec, center, bench.fit(data, spec, rbf(gamma), 10, THREADS, repeats, center=center,
                                                       new=new_data))
                    for name, specs in models.items() if name in bench.methods for spec, center in specs]
        for tool, method, center, answer in answers:
            answer = bench.checked(f"{work}, transform by {method} {center}", answer)
            if answer:
                rows.append({"work": work, "tool": tool, "method": method, "center": center,
                             "points": answer.get("points", len(points)), "rate": len(new) / answer["transform_s"]})
    return rows


def transform_table(rows):
    def against(row, tool, method):
        base = [other["rate"] for other in rows
                if (other["work"], other["tool"], other["method"]) == (row["work"], tool, method)]
        return times(row["rate"] / base[0]) if base else ""

    return markdown(["work", "tool", "method", "center", "points kept", "new rows a second", "over kpca",
                     "over scikit-learn"],
                    [[row["work"], row["tool"], row["method"], {"-": "its own"}.get(row["center"], row["center"]),
                      row["points"], f"{row['rate']:.3g}", against(row, "mercer", "kpca"),
                      against(row, "sklearn", "KernelPCA")] for row in rows])


def rounded(lines, column):
    return [line[:column] + [f"{line[column]:.2f}"] + line[column + 1:] for line in lines]


def report(bench, limits, found, about, taken):
    """The tables; found has what each measure_... function gave."""
    parts = ["# Benchmark: methods that choose rows\n", about + f"; {taken:.0f} s in all, {THREADS} threads "
             "unless a table says otherwise.\n"]
    if bench.left_out:
        parts += ["Left out: " + "; ".join(bench.left_out) + ".\n"]
    parts += ["## Aims\n", "The worst figure of each kind, and how many of them meet the aim.\n",
              markdown(["figure", "aim", "worst", "met"], bench.aims),
              "## Time of a feature\n",
              "The fit without building the store, divided by the features, beside one product of the store with one "
              "vector, and beside plain deflation: squared row sums and a rank-one update of the whole matrix by BLAS, "
              "which takes the same rows. Normal: 64 standard normal columns, `laplacian`, a matrix of full rank.\n",
              feature_table(found["features"]),
              "## Growth with the rows\n",
              f"Exponents of the time of a feature, ring from {least_rows(bench)} rows up.\n",
              markdown(["store", "method", "features", "exponent", "at most", "met"], rounded(found["sizes"], 3)),
              "## Growth with the features\n",
              "Exponents of the fit without building the store. Fewer features than asked for means that no row had "
              "more than rounding left.\n",
              markdown(["work", "store", "method", "features: time", "exponent", "at most", "met"],
                       rounded(found["growth"], 4)),
              "## 300 rows, 50 features\n",
              "Where published SKFA falls behind KPCA. The published ratio of SKFA to ACKFA, l^2 (1 - n^(-2/l)), is "
              f"{2500 * (1 - 300 ** (-2 / 50)):.0f} here.\n", crossover_table(found["crossover"]),
              "## kernlab's kfa\n",
              "Features are not centred. Errors are those of the span of the selected rows, the best that kfa's "
              "features could reach; mean of the repetitions, each with its own random candidates. Without "
              "`candidates` all rows are looked at, by the low-rank store.\n", kfa_table(found["kfa"]),
              "## dlib's linearly_independent_subset_finder\n",
              "All with as many points as the finder keeps of at most 100. Its time is that of the choice alone, on "
              "its one thread, ours that of the whole fit. Errors are those of the span, not centred.\n",
              dlib_table(found["dlib"]),
              "## Very many rows\n", "`mercer fit -m akfa -n 10 --center exact`: the fit, and the peak of the whole "
              "process, data included.\n", many_table(found["many"]),
              "## Transform of new rows\n", transform_table(found["transform"]),
              "## The machine's limits\n", limits_table(limits)]
    return "\n".join(parts)


def main():
    options = parse_options(__doc__)
    start, about = time.monotonic(), machine(options.build)
    bench = Greedy(options.build, options.quick)
    limits = measure_limits(bench)
    found = {"features": measure_features(bench)}
    found.update(sizes=size_exponents(bench, found["features"]), growth=measure_feature_exponents(bench),
                 crossover=measure_crossover(bench), kfa=measure_kfa(bench), dlib=measure_dlib(bench),
                 many=measure_many(bench), transform=measure_transform(bench))
    text = report(bench, limits, found, about, time.monotonic() - start)
    results = {"machine": about, "limits": limits, "aims": bench.aims, **found}
    return publish(bench, options, text, results, "-greedy")


if __name__ == "__main__":
    sys.exit(main())
