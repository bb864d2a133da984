#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""koca against finite differences, and on faces and digits: run_koca.py [--build BUILD] [--quick]

Writes RESULTS-koca.md and results-koca.json to BUILD/bench and prints the former. Measured are the time
of a gradient against forward differences of the same performance function, how a step grows with rows
and components, and whole fits: the ORL faces and optdigits of ../shared/data, and 20,000 generated rows
in the span of 300 points. Times of pieces are the smallest of some repetitions; each aim stands beside
its figure.

--quick makes it a smoke test on small data. Data that are not there are left out, with a line. The
status is 1 when a measurement failed or differences are not those of the gradient.
"""
import shutil
import sys

import numpy as np

from common import BENCH, exponent, judge_parts, markdown, seconds, times

THREADS = 2
DATA = BENCH.parent.parent / "shared" / "data"
AIM_DIFFERENCES, AIM_ROWS, AIM_COMPONENTS, AIM_DIGITS, AIM_FACES, AIM_MANY = 500, 2.1, 1.1, 120, 10, 300


def pieces(bench, what, rows, dimensions, components, neighbours=1, threads=THREADS):
    """One evaluation of F and one gradient; the seconds spent on each kind grow with the work."""
    answer, _ = bench.run([bench.program("bench_koca"), rows, dimensions, components, neighbours, threads,
                           0.05 if bench.quick else 1], threads, 300)
    return bench.checked(f"{what}, {rows} rows, {dimensions} dimensions, {components} components", answer)


def measure_differences(bench):
    """Rows of M = m, r, K: a gradient against r (m - r) evaluations, on one thread."""
    lines = []
    for rows in (60,) if bench.quick else (200, 300):
        for components in (5, 10):
            for neighbours in (1, 4):
                found = pieces(bench, "differences", rows, rows, components, neighbours, threads=1)
                if not found:
                    continue
                bench.expect(found["apart"] < 1e-4 * max(1, found["largest"]),
                             f"{rows} rows, {components} components: differences are {found['apart']} off")
                lines.append({"rows": rows, "components": components, "neighbours": neighbours,
                              "gradient_s": found["value_s"] + found["gradient_s"],
                              "differences": components * (rows - components),
                              "differences_s": components * (rows - components) * found["difference_s"],
                              "apart": found["apart"], "largest": found["largest"]})
    bench.judge("times faster than differences", [line["differences_s"] / line["gradient_s"] for line in lines],
                AIM_DIFFERENCES, most=False)
    return lines


def differences_table(lines):
    return markdown(["M = m", "r", "neighbours", "F and gradient", "evaluations", "differences", "faster by",
                     "largest error", "largest entry"],
                    [[line["rows"], line["components"], line["neighbours"], seconds(line["gradient_s"]),
                      line["differences"], seconds(line["differences_s"]),
                      times(line["differences_s"] / line["gradient_s"]), f"{line['apart']:.0e}",
                      f"{line['largest']:.2g}"] for line in lines])


def measure_growth(bench):
    """[grows, other sizes, times by size, exponent, aim, met] of one step: F and gradient."""
    quick, lines = bench.quick, []
    sizes = (100, 200) if quick else (500, 1000, 2000, 4000, 8000)
    few = 40 if quick else 200
    kinds = [("rows", f"m = {few}, r = 10", [(n, n, few, 10) for n in sizes], AIM_ROWS),
             ("rows and dimensions", "m = M, r = 10", [(n, n, n, 10) for n in sizes[:4]], AIM_ROWS),
             ("components", f"M = {sizes[-1] // 4}, m = {few}",
              [(r, sizes[-1] // 4, few, r) for r in ((4, 8) if quick else (4, 8, 16, 32))], AIM_COMPONENTS)]
    for what, rest, points, aim in kinds:
        found = []
        for size, rows, dimensions, components in points:
            answer = pieces(bench, f"growth in {what}", rows, dimensions, components)
            if answer:
                found.append((size, answer["value_s"] + answer["gradient_s"]))
        slope = exponent(found)
        if slope is not None:
            lines.append([what, rest, ", ".join(f"{size}: {seconds(took)}" for size, took in found), slope, aim,
                          "yes" if slope <= aim else "no"])
            bench.judge(f"exponent, {what}", [slope], aim)
    return lines


# ---- whole fits ----

def fit(bench, what, data, method, components, *more):
    answer, _ = bench.run([bench.build / "mercer", "fit", data, "-m", method, "-k", "rbf", "-n", components,
                           "--head", "none", "--threads", THREADS, "--json", "--quiet", *more], THREADS, 900)
    answer = bench.checked(f"{what}, {method}", answer)
    if not answer:
        return []
    last = answer["trace"][-1]
    return [[what, method, answer["rows"], len(answer["trace"]), last["performance"], 100 * last["rate"],
             answer["seconds"], answer["peak_memory_bytes"] / (1 << 20)]]


def faces(bench):
    """The split of the paper: image i of every subject trains (i mod 3 = 0) or judges (2)."""
    if not (DATA / "orl").is_dir():
        bench.leave_out("ORL faces: not in ../shared/data")
        return []
    folders = {0: bench.folder / "orl-train", 2: bench.folder / "orl-judge"}
    for part, folder in folders.items():
        shutil.rmtree(folder, ignore_errors=True)
        for subject in range(1, 6 if bench.quick else 41):
            (folder / f"s{subject:02d}").mkdir(parents=True)
            for i in range(part, 10, 3):
                name = f"{i + 1:02d}.pgm"
                (folder / f"s{subject:02d}" / name).symlink_to(DATA / "orl" / f"s{subject}" / f"{i + 1}.pgm")
    lines = fit(bench, "ORL faces", folders[0], "koca", 10, "--validation", folders[2])
    bench.judge("seconds, ORL faces", [line[6] for line in lines], AIM_FACES)
    return lines


def digits(bench):
    path = DATA / "optdigits.train.csv"
    if not path.exists():
        bench.leave_out("optdigits: not in ../shared/data")
        return []
    if bench.quick:
        rows = path.read_text().splitlines()[:201]
        path = bench.folder / "optdigits.csv"
        path.write_text("\n".join(rows) + "\n")
    lines = fit(bench, "optdigits", path, "koca", 10)
    lines += fit(bench, "optdigits", path, "koca:neighbours=11,aggregate=kth", 10)
    lines += fit(bench, "optdigits", path, f"koca:points={50 if bench.quick else 300}", 10)
    bench.judge("seconds, optdigits", [line[6] for line in lines], AIM_DIGITS)
    return lines


def many_rows(bench):
    """Ten classes at two places each in ten columns, beside thirty wider ones of noise."""
    random, rows = np.random.default_rng(1), 500 if bench.quick else 20000
    place = random.integers(0, 20, rows)
    x = random.normal(size=(rows, 40)) * ([0.4] * 10 + [2] * 30)
    x[:, :10] += random.normal(size=(20, 10))[place]
    data = bench.data("clusters", np.c_[x, place // 2])
    spec = "koca:points=50,iterations=30" if bench.quick else "koca:points=300"
    lines = fit(bench, "clusters", data, spec, 10, "--label", 41)
    bench.judge("seconds, 20,000 rows", [line[6] for line in lines], AIM_MANY)
    return lines


def fits_table(lines):
    return markdown(["data", "method", "rows", "steps", "F", "rate, %", "fit", "peak memory, MB"],
                    [[what, f"`{method}`", rows, steps, f"{value:.4f}", f"{rate:.1f}", seconds(took), f"{peak:.0f}"]
                     for what, method, rows, steps, value, rate, took, peak in lines])


def report(found):
    """The tables; found has what measure() gave."""
    return ["## A gradient against finite differences\n",
            "Each row judged by all others; one thread. Differences are r (m - r) evaluations of the same F.\n",
            differences_table(found["differences"]),
            "## Growth of a step\n", "F and its gradient, one neighbour, each row judged by all others.\n",
            markdown(["grows", "the rest", "size: time", "exponent", "at most", "met"],
                     [line[:3] + [f"{line[3]:.2f}"] + line[4:] for line in found["growth"]]),
            "## Whole fits\n", "`-n 10`, `rbf`; F and the rate are those of the rows that are judged.\n",
            fits_table(found["fits"])]


def measure(bench):
    return {"differences": measure_differences(bench), "growth": measure_growth(bench),
            "fits": faces(bench) + digits(bench) + many_rows(bench)}


if __name__ == "__main__":
    sys.exit(judge_parts(__doc__, "koca", THREADS, ("koca",), measure, report, "-koca"))
