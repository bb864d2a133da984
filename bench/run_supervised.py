#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The supervised methods against their published forms and scikit-learn: run_supervised.py [--build BUILD] [--quick]

Writes RESULTS-supervised.md and results-supervised.json to BUILD/bench and prints the former. Measured
are how sma and smc grow with rows, features and candidates beside the published costs, all columns
against explicit deflation and against candidates as published, kpls and pls against PLSRegression, and
400 features of Reuters-21578 against TruncatedSVD. Times are the smallest of some repetitions; each
aim stands beside its figure.

--quick makes it a smoke test on small data. Methods and data that are not there are left out, with a
line. The status is 1 when a measurement failed or selected rows are not those of explicit deflation.
"""
import sys

import numpy as np

from common import BENCH, PYTHON, exponent, judge_parts, markdown, rbf, seconds, times

THREADS = 2
GAMMA = 1 / 20
REUTERS = BENCH.parent.parent / "shared" / "data" / "reuters21578.train.svm"

AIM_DEFLATION, AIM_PUBLISHED, AIM_SVD = 10, 1, 1
AIM_PLS = {("wide", 10): 1, ("long", 10): 2, ("square", 10): 2}  # times faster than PLSRegression
AIM_FAST_PLS = 5  # with 100 components
AIM_EXPONENT = {"rows, candidates": 1.1, "rows, all": 2.1, "candidates": 1.1, "features": 2.0, "new rows": 2.0}
PUBLISHED = {"rows, candidates": "1", "rows, all": "2 (no candidates)", "candidates": "1", "features": "2",
             "new rows": "1 to 2"}


def regression(rows, columns, seed=1):
    """Normal rows and a target that is not linear in them."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, columns))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + x[:, 3:].sum(1) / np.sqrt(columns) + random.normal(size=rows) / 10
    return np.c_[x, y]


def fit(bench, what, data, method, kernel, components, repeats, *more):
    """The report of the fastest of some fits by the tool, without a head."""
    best = None
    for _ in range(repeats):
        answer, _ = bench.run([bench.build / "mercer", "fit", data, "-m", method, "-k", kernel, "-n", components,
                               "--head", "none", "--threads", THREADS, "--json", "--quiet", *more], THREADS, 600)
        answer = bench.checked(f"{what}, {method}", answer)
        if not answer:
            return None
        best = answer if best is None or answer["seconds"] < best["seconds"] else best
    return best


def peer(bench, what, name, data, components, repeats, *more):
    answer, _ = bench.run([PYTHON, BENCH / "peer_supervised.py", name, data, components, repeats, *more],
                          THREADS, 600)
    return bench.checked(f"{what}, {name}", answer)


# ---- growth ----

def grow(bench, what, method, points):
    """[what, method, times by size, exponent, aim, met, published] of (size, data, spec, features)."""
    found = []
    for size, data, spec, features in points:
        answer = fit(bench, f"{what} {size}", data, spec, rbf(GAMMA), features, 1 if bench.quick else 2,
                     "--target", 21)
        if answer:
            found.append((size, answer["seconds"]))
    return growth_line(what, method, found)


def growth_line(what, method, found):
    slope, aim = exponent(found), AIM_EXPONENT[what]
    if slope is None:
        return []
    return [[what, method, ", ".join(f"{size}: {seconds(took)}" for size, took in found), slope, aim,
             "yes" if slope <= aim else "no", PUBLISHED[what]]]


def measure_growth(bench):
    """Candidates linear in rows and candidates, at most quadratic in features; all rows quadratic."""
    quick, lines = bench.quick, []
    rows = (300, 600) if quick else (2000, 4000, 8000, 16000, 32000, 50000)
    fixed = 600 if quick else 8000
    table = regression(max(rows), 20)
    data = {n: bench.data(f"supervised{n}", table[:n]) for n in rows}
    scanned = rows if quick else rows[:4]
    candidates = (10, 20) if quick else (50, 100, 200, 400)
    features = (5, 10) if quick else (10, 20, 40, 80)
    k, c = (5, 20) if quick else (20, 100)
    for method in sorted({"sma", "smc"} & bench.methods):
        lines += grow(bench, "rows, candidates", method,
                      [(n, data[n], f"{method}:candidates={c}", k) for n in rows])
        lines += grow(bench, "rows, all", method, [(n, data[n], method, k) for n in scanned])
        lines += grow(bench, "candidates", method,
                      [(each, data[fixed], f"{method}:candidates={each}", k) for each in candidates])
        lines += grow(bench, "features", method,
                      [(each, data[fixed], f"{method}:candidates={c}", each) for each in features])
        lines += new_rows(bench, method, data[fixed], features)
    for what, aim in AIM_EXPONENT.items():
        bench.judge(f"exponent, {what}", [line[3] for line in lines if line[0] == what], aim)
    return lines


def new_rows(bench, method, data, features):
    """Time of new rows by the number of features."""
    new = bench.data("fresh", regression(1000 if bench.quick else 50000, 20, 2)[:, :20])
    model, out, found = bench.folder / "s.model", bench.folder / "out.npy", []
    for k in features:
        if not fit(bench, f"new rows {k}", data, method, rbf(GAMMA), k, 1, "--target", 21, "-o", model):
            return []
        took = []
        for _ in range(1 if bench.quick else 3):
            answer, _ = bench.run([bench.build / "mercer", "transform", model, new, "-o", out, "--threads", THREADS,
                                   "--json", "--quiet"], THREADS, 300)
            answer = bench.checked(f"new rows {k}, {method}", answer)
            if not answer:
                return []
            took.append(answer["seconds"])
        found.append((k, min(took)))
    return growth_line("new rows", method, found)


# ---- other ways to the same rows ----

def measure_forms(bench):
    """Rows of l, k, method: all columns against explicit deflation and candidates as published."""
    works = [(300, 5, 20)] if bench.quick else [(2000, 50, 500), (4000, 100, 500), (4000, 200, 500), (8000, 50, 500)]
    rows = []
    for n, k, c in works:
        data = bench.data(f"forms{n}", regression(n, 20))
        for method in sorted({"sma", "smc"} & bench.methods):
            ours = fit(bench, f"forms {n}", data, method, rbf(GAMMA), k, 1 if bench.quick else 3, "--target", 21)
            drawn = fit(bench, f"forms {n}", data, f"{method}:candidates={c}", rbf(GAMMA), k, 1, "--target", 21)
            plain = peer(bench, f"forms {n}", "deflation", data, k, 1, method, GAMMA)
            published = peer(bench, f"forms {n}", "published", data, k, 1, method, GAMMA, c)
            if not (ours and drawn and plain and published):
                continue
            bench.expect(ours["selected"] == plain["selected"],
                         f"{n} rows, {method}: other rows than explicit deflation")
            rows.append({"rows": n, "features": k, "candidates": c, "method": method, "fit_s": ours["seconds"],
                         "drawn_s": drawn["seconds"], "deflation_s": plain["fit_s"],
                         "published_s": published["fit_s"]})
    bench.judge("times faster than explicit deflation", [row["deflation_s"] / row["fit_s"] for row in rows],
                AIM_DEFLATION, most=False)
    bench.judge("times faster than candidates as published", [row["published_s"] / row["fit_s"] for row in rows],
                AIM_PUBLISHED, most=False)
    return rows


def forms_table(rows):
    return markdown(["rows", "features", "method", "all columns", "explicit deflation", "faster by",
                     f"at least {AIM_DEFLATION}x", "candidates as published", "faster by", "our candidates"],
                    [[row["rows"], row["features"], row["method"], seconds(row["fit_s"]), seconds(row["deflation_s"]),
                      times(row["deflation_s"] / row["fit_s"]),
                      "yes" if row["deflation_s"] >= AIM_DEFLATION * row["fit_s"] else "no",
                      f"{seconds(row['published_s'])} ({row['candidates']})",
                      times(row["published_s"] / row["fit_s"]), seconds(row["drawn_s"])] for row in rows])


# ---- scikit-learn ----

def measure_pls(bench):
    """[work, components, PLSRegression, method, fit, faster, aim, met]"""
    works = [("wide", 60, 400), ("long", 600, 120)] if bench.quick else \
        [("wide", 500, 10000), ("long", 20000, 150), ("square", 2000, 2000)]
    lines = []
    for work, n, d in works:
        data = bench.data(f"pls{work}", regression(n, d))
        for k in (5,) if bench.quick else (10, 100):
            theirs = peer(bench, f"{work} {n} x {d}", "pls", data, k, 1 if bench.quick else 3)
            for method in sorted({"pls", "kpls"} & bench.methods) if theirs else ():
                ours = fit(bench, f"{work} {n} x {d}", data, method, "linear", k, 1 if bench.quick else 3, "--target",
                           d + 1)
                if ours:
                    faster, aim = theirs["fit_s"] / ours["seconds"], AIM_PLS.get((work, k), AIM_FAST_PLS)
                    lines.append([f"{work}, {n} x {d}", k, theirs["fit_s"], method, ours["seconds"], faster, aim,
                                  "yes" if faster >= aim else "no"])
    for components in sorted({line[1] for line in lines}):
        found = [line for line in lines if line[1] == components]
        for aim in sorted({line[6] for line in found}):
            bench.judge(f"times faster than PLSRegression, {components} components",
                        [line[5] for line in found if line[6] == aim], aim, most=False)
    return lines


def pls_table(lines):
    return markdown(["work", "components", "PLSRegression", "method", "fit", "faster by", "aim", "met"],
                    [[work, k, seconds(theirs), method, seconds(ours), times(faster), f"{aim}x", met]
                     for work, k, theirs, method, ours, faster, aim, met in lines])


def measure_reuters(bench):
    """[method, features, fit, TruncatedSVD, faster]"""
    if bench.quick or not REUTERS.exists():
        bench.leave_out("Reuters-21578: " + ("not for a smoke test" if bench.quick else "not beside the repository"))
        return []
    k, lines = 400, []
    theirs = peer(bench, "Reuters", "svd", REUTERS, k, 3)
    for method in sorted({"sma", "smc"} & bench.methods) if theirs else ():
        for spec in (method, method + ":labels=raw"):
            ours = fit(bench, "Reuters", REUTERS, spec, "linear", k, 3, "--label", "label")
            if ours:
                lines.append([spec, k, ours["seconds"], theirs["fit_s"], theirs["fit_s"] / ours["seconds"]])
    bench.judge("times faster than TruncatedSVD, Reuters", [line[4] for line in lines], AIM_SVD, most=False)
    return lines


def reuters_table(lines):
    return markdown(["method", "features", "fit", "TruncatedSVD", "faster by"],
                    [[spec, k, seconds(ours), seconds(theirs), times(faster)]
                     for spec, k, ours, theirs, faster in lines])


def report(found):
    """The tables; found has what measure() gave."""
    return ["## Growth\n", "Exponents of the time of a fit (of the transform for new rows), beside the published "
            "cost c k^2 l of a fit and k to k^2 of a new row. 20 normal columns, `rbf`.\n",
            markdown(["grows", "method", "size: time", "exponent", "at most", "met", "published"],
                     [line[:3] + [f"{line[3]:.2f}"] + line[4:] for line in found["growth"]]),
            "## All columns against explicit deflation\n",
            "Both take the same rows, or the run fails; numpy on as many threads. All times include the kernel "
            "matrix. Candidates as published are deflated by all features before, c k^2 l.\n",
            forms_table(found["forms"]),
            "## PLSRegression\n", "Linear kernel, one target, fits alone.\n", pls_table(found["pls"]),
            "## Reuters-21578\n", "9603 x 7952, sparse, all columns, against TruncatedSVD of as many components.\n",
            reuters_table(found["reuters"])]


def measure(bench):
    return {"growth": measure_growth(bench), "forms": measure_forms(bench), "pls": measure_pls(bench),
            "reuters": measure_reuters(bench)}


if __name__ == "__main__":
    sys.exit(judge_parts(__doc__, "supervised methods", THREADS, ("pls", "kpls", "sma", "smc"), measure, report, "-supervised"))
