# SPDX-License-Identifier: BSD-3-Clause
"""Dhanjal et al. 2009, Figure 2: directions of one, two and three rows."""
import numpy as np

import sparse_linear
from lab import Lab

# Name in the report, name on the page.
MEASURES = {"smc": ("covariance", "squared covariance"), "sma": ("alignment", "alignment")}
LEVEL = .035  # how far two or three rows may be from one for the same kernel values, mean of the draws



def draw(lab, drawn):
    figure, axes = lab.plot(columns=2, rows=2)
    for line, (method, (_, measure)) in zip(axes, MEASURES.items()):
        for p, (values, whole) in drawn[method].items():
            line[0].plot(np.arange(1, len(values) + 1), np.array(whole) / values, label=p)
            line[1].plot(values, whole, label=p)
        line[0].set(xlabel="features", ylabel=f"{measure} / kernel values r",
                    title=f"{method}, by features, as in the paper")
        line[1].set(xlabel="kernel values r", ylabel=f"cumulative {measure}", title=f"{method}, by kernel values")
        for axis, place in zip(line, ("upper right", "lower right")):
            axis.legend(loc=place, title="rows per direction p")
            axis.ticklabel_format(axis="y", scilimits=(-2, 3))
    return figure


lab = Lab(__file__, "Figure 2: directions made of one, two or three rows", "in part",
          "One row brings most for each feature, as in the paper. For each kernel value one, two and three rows are "
          "level.", draw)
rows, features, seeds = (30, 6, (1,)) if lab.quick else (100, 95, range(1, 6))


def curve(method, data, p):
    """(kernel values a new row costs, sum of the measure) by the number of features, up to all there are."""
    report, _ = lab.fit("figure.model", data, "-m", f"{method}:sparsity={p}", "-k", "linear", "-n", rows,
                        "--target", 1001)
    return np.array([report["kernel_evaluations"], report[MEASURES[method][0]]])


lab.note("""100 rows of 1000 columns; features whose directions stand on p = 1, 2 or 3 rows. The paper's abscissa is
the number of features, and drawn so what a kernel value brings is most with p = 1 (left). Drawn for the same number of
kernel values r, of distinct rows a new row has to be compared with, the three are level (right): that one row is
optimal is an effect of plotting against the number of features. Limits are ours, for the mean of five draws of the
problem: at least 8 % less up to 75 features and at most 6 % at 95 against features, as the paper's text has it; within
3.5 % against kernel values, where an independent implementation found 2 to 3 %. That one found smc with two and three
rows slightly ahead from six kernel values on; here, in the mean, three rows are level or ahead and two rows first
behind, then ahead, and single draws differ by more than that.""")
drawn = {method: {} for method in MEASURES}
for method in MEASURES:
    gaps, ratios = {2: [], 3: []}, {2: [], 3: []}
    for seed in seeds:
        data = sparse_linear.write(lab, rows, seed)
        curves = {p: curve(method, data, p) for p in (1, 2, 3)}
        for p, found in curves.items():
            values, whole = found[:, :features]
            if seed == seeds[0]:
                drawn[method][p] = (values, whole)
            if p > 1:
                gaps[p].append(1 - whole / values / (curves[1][1] / curves[1][0])[:features])
                ratios[p].append(whole / np.interp(values, *curves[1]))
    for p in (2, 3):
        gap, ratio, single = np.mean(gaps[p], 0), np.mean(ratios[p], 0), np.array(ratios[p])
        lab.check(f"{method}, p = {p}: for the number of features a kernel value brings {gap[:75].min():.0%} to "
                  f"{gap[:75].max():.0%} less than with p = 1 up to 75 features, {abs(gap[-1]):.0%} at {features}",
                  (gap[:75] > .08).all() and abs(gap[-1]) < .06)
        lab.check(f"{method}, p = {p}: for the number of kernel values {ratio.min():.3f} to {ratio.max():.3f} of p = 1 "
                  f"in the mean, {single.min():.3f} to {single.max():.3f} in single draws",
                  np.abs(ratio - 1).max() < LEVEL)
lab.figure("What a kernel value brings, against the number of features (left, as in the paper) and the whole against the "
           "number of kernel values (right), first draw. The paper prints curves and no numbers.", **drawn)
lab.finish()
