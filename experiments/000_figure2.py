#!/usr/bin/python3
"""Paper 000, Figure 2: the cut of ACKFA."""
import numpy as np

import ring
from lab import Lab, cell

# Another implementation, other rings, of which one differs from another by 0.0008 (no cut) and more.
KNOWN = {0: .0139, .05: .0151, .07: .0155, .10: .0168, .13: .0178, .15: .0206}
NEAR = .0025

lab = Lab(__file__, "Figure 2: time and error of ACKFA by delta")
rows, features = (200, 10) if lab.quick else (1000, 20)
seeds = (1,) if lab.quick else range(1, 6)
deltas = np.array((0, .05, .1) if lab.quick else (0, .01, .03, .05, .07, .09, .10, .11, .13, .15, .18))
errors, seconds, found = (np.zeros((len(deltas), len(seeds))) for _ in range(3))
for i, delta in enumerate(deltas):
    for j, seed in enumerate(seeds):
        method = f"ackfa:delta={delta:.2f}" if delta else "akfa"
        report = ring.fit(lab, rows, seed, method, features, "--store", "dense")
        errors[i, j], seconds[i, j], found[i, j] = (report["reconstruction_error"], report["seconds"],
                                                    report["components"])
lab.note("""1000 points, 20 features wanted, five rings. The paper has an error of 0.025 without a cut; that does not
go with its own Table 2, and no setting gives it at 20 features (17 features do). Its plateaus between 0.05 and 0.07
and from 0.11 on do not show: the error rises smoothly. That rows run out before 20 features once delta exceeds about
0.15 is as in the paper. It is quickest without a cut, where the paper's program saved time: beside one product with
the matrix a feature, cutting rows costs more than it spares.""")
table = lab.table("Error of 20 features by delta, mean of five rings", "delta", "error", "features found, mean")
for delta, error, count in zip(deltas, errors.mean(1), found.mean(1)):
    known = KNOWN.get(round(float(delta), 2))
    limits = {} if known is None else {"low": known - NEAR, "high": known + NEAR}
    paper = .025 if delta == 0 else None
    table.row(f"{delta:.2f}", cell(error, paper, digits=4, **limits), cell(count, digits=1))
lab.check("a delta of 0.13 leaves 20 features in every ring, one of 0.18 does not",
          lab.quick or (found[-3].min() == features and found[-1].min() < features))
figure, axes = lab.plot()
axis = axes[0, 0]
axis.plot(deltas, errors.mean(1), "o-", label="error")
axis.fill_between(deltas, errors.min(1), errors.max(1), alpha=.2, linewidth=0)
axis.set(xlabel="delta", ylabel="mean reconstruction error", xticks=np.arange(0, .2, .05))
other = axis.twinx()
other.plot(deltas, 1000 * np.median(seconds, 1), "s--", color="#d55e00")
other.set(ylabel="milliseconds", ylim=(0, None))
other.spines["right"].set_visible(True)
other.grid(False)
axis.plot([], [], "s--", color="#d55e00", label="time")
axis.legend(loc="upper center")
lab.figure(figure, "ACKFA with 20 features on rings of 1000 points by delta: reconstruction error (mean and range of five "
                   "rings) and median time.")
lab.finish()
