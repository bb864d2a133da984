# SPDX-License-Identifier: BSD-3-Clause
"""Dhanjal et al. 2009, Figure 3: candidates out of 2000 kernel columns."""
import numpy as np

import sparse_linear
from lab import Lab, cell

# Share of what all columns reach with 100 features, by an independent implementation on other draws.
SHARES = {"smc": {500: .990, 100: .926, 50: .878, 25: .815}, "sma": {500: .979, 100: .926, 50: .878, 25: .825}}
MEASURES = {"smc": "covariance", "sma": "alignment"}



def draw(lab, drawn):
    figure, axes = lab.plot(columns=2)
    for axis, (method, curves) in zip(axes[0], drawn.items()):
        for name, curve in curves.items():
            axis.plot(np.arange(1, len(curve) + 1), curve, label=name, **({"color": "black"} if "all" in name else {}))
        axis.set(xlabel="features", ylabel=f"cumulative {'squared ' if method == 'smc' else ''}{MEASURES[method]}",
                 title=method)
        axis.legend(title="columns")
    return figure


lab = Lab(__file__, "Figure 3: how few kernel columns a feature may be chosen from", "yes",
          "500 columns lose little and 100 some. The paper prints curves without numbers.", draw)
rows, features, seeds = (300, 20, (1,)) if lab.quick else (2000, 100, (1, 2, 3))
data = sparse_linear.write(lab, rows, 2)


def measure(method, *more):
    report, _ = lab.fit("figure.model", data, "-m", method, "-k", "linear", "-n", features, "--target", 1001,
                        "--store", "dense", *more)
    return np.array(report[MEASURES[method[:3]]])


lab.note("""2000 rows of 1000 columns of unit length, the target a combination of 50 of them. Each feature is the best
of so many columns of the kernel matrix, drawn anew for it. The paper prints curves and no numbers: its "500 nearly
indistinguishable" is 1 to 2 % less here, its "100 close to optimal" 6 to 7 % less. Limits: .02 from an independent
implementation on other draws.""")
table = lab.table("Share of what all columns reach with 100 features, mean of three draws", "method",
                  *(f"{c} columns" for c in SHARES["smc"]))
drawn = {}
for method, known in SHARES.items():
    best, shares = measure(method), []
    drawn[method] = {f"all {rows}": best}
    for candidates, share in known.items():
        curves = np.mean([measure(f"{method}:candidates={candidates}", "--seed", seed) for seed in seeds], 0)
        drawn[method][candidates] = curves
        shares.append(cell(curves[-1] / best[-1], low=share - .02, high=share + .02))
    table.row(method, *shares)
lab.figure("Cumulative squared covariance of smc and alignment of sma with the labels, by the number of kernel columns "
           "looked at for each feature. The paper prints curves and no numbers.", **drawn)
lab.finish()
