# SPDX-License-Identifier: BSD-3-Clause
"""Jiang et al. 2006, Figure 2: the cut of ACKFA."""
import itertools

import numpy as np

import ring
from lab import COLOURS, Lab, cell, paper_style, style

# An independent implementation, other rings, with a standard deviation of 0.0008 from ring to ring (no cut).
KNOWN = {0: .0139, .05: .0151, .07: .0155, .10: .0168, .13: .0178, .15: .0206}
NEAR = .0025  # about three of them
PAPER_ERROR, PAPER_SECONDS = .025, 1.8326  # without a cut



def draw(lab, drawn):
    figure, axes = lab.plot(columns=2)
    deltas = drawn["delta"]
    for axis, key, unit in zip(axes[0], ("error", "milliseconds"), ("mean reconstruction error", "time in milliseconds")):
        axis.plot(deltas, drawn[key]["mean"], **style("ackfa", marker="o"), label="mean of five rings")
        axis.fill_between(deltas, drawn[key]["least"], drawn[key]["most"], alpha=.2, linewidth=0, color=COLOURS["ackfa"],
                          label="range")
        axis.set(xlabel="delta (0: no cut)", ylabel=unit, xticks=np.arange(0, .2, .05), ylim=(0, None))
    axes[0, 0].plot(0, PAPER_ERROR, **paper_style(COLOURS["ackfa"]), label="the paper, no cut")
    axes[0, 0].legend(loc="lower right")
    axes[0, 1].text(.5, .1, f"the paper, no cut: {1000 * PAPER_SECONDS:.0f} ms\n(1.5 GHz, Matlab)", ha="center",
                    transform=axes[0, 1].transAxes)
    return figure


lab = Lab(__file__, "Figure 2: time and error of ACKFA by delta", "in part",
          "The error rises with delta. The paper's 0.025 without a cut contradicts its own Table 2. Its time falls "
          "with delta, ours does not: cutting rows costs more than it saves.", draw)
rows, features = (200, 10) if lab.quick else (1000, 20)
seeds = (1,) if lab.quick else range(1, 6)
deltas = np.array((0, .05, .1) if lab.quick else (0, .01, .03, .05, .07, .09, .10, .11, .13, .15, .18))
errors, found = (np.zeros((len(deltas), len(seeds))) for _ in range(2))
seconds = np.full(errors.shape, np.inf)
for _ in range(1 if lab.quick else 5):  # in turn: what disturbs the machine does not meet all runs of a number
    for (i, delta), (j, seed) in itertools.product(enumerate(deltas), enumerate(seeds)):
        method = f"ackfa:delta={delta:.2f},relative=off" if delta else "akfa"
        report = ring.fit(lab, rows, seed, method, features, "--store", "dense")
        errors[i, j], found[i, j] = report["reconstruction_error"], report["components"]
        seconds[i, j] = min(seconds[i, j], report["seconds"])
fewer = ring.mean(lab, rows, "akfa", "reconstruction_error", 8 if lab.quick else 17)
lab.note(f"""1000 points, 20 features wanted, five rings. The error is judged: it is within {NEAR} of an independent
implementation's mean of other rings: about three of its standard deviations from ring to ring (0.0008 without a cut).
The paper has an error of {PAPER_ERROR} without a cut. That contradicts its own Table 2 and is not reproduced: 17
features instead of 20 leave {fewer:.4f} here. The paper's error is steady between 0.05 and 0.07 and flat from 0.11 on;
ours rises all the way. That rows run out before 20 features is seen at 0.18, in the paper beyond 0.15. Times, the best
of five runs for each ring, are shown and not judged. The paper's fall almost linearly with delta. Ours do not: beside
one product with the matrix per feature, cutting rows costs more than it saves.""")
table = lab.table("20 features by delta, mean of five rings", "delta", "error", "features found", "seconds")
for delta, error, count, time in zip(deltas, errors.mean(1), found.mean(1), seconds.mean(1)):
    known = KNOWN.get(round(float(delta), 2))
    limits = {} if known is None else {"low": known - NEAR, "high": known + NEAR}
    paper_error, paper_seconds = (None, None) if delta else (PAPER_ERROR, PAPER_SECONDS)
    table.row(f"{delta:.2f}" if delta else "no cut", cell(error, paper_error, digits=4, paper_digits=3, **limits),
              cell(count, digits=1), cell(time, paper_seconds, digits=4))
lab.check("a delta of 0.13 leaves 20 features in every ring, one of 0.18 does not",
          lab.quick or (found[-3].min() == features and found[-1].min() < features))
lab.figure("ACKFA with 20 features on rings of 1000 points by delta: reconstruction error and time, mean (line) and "
           "range (shade) of five rings; hollow: the paper's error without a cut.",
           delta=deltas, **{key: {"mean": values.mean(1), "least": values.min(1), "most": values.max(1)}
                            for key, values in (("error", errors), ("milliseconds", 1000 * seconds))})
lab.finish()
