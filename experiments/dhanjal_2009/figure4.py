# SPDX-License-Identifier: BSD-3-Clause
"""Dhanjal et al. 2009, Figure 4: the bound of Theorem 5.5 beside what features keep on other rows."""
import numpy as np
from lab import Lab

SETS = {"Pumadyn-32nm": "pumadyn32nm.csv", "Bank-32nm": "bank32nm.csv"}
DELTA = .1  # the tool's and the paper's



def draw(lab, drawn):
    figure, axes = lab.plot(columns=2, rows=2, height=2.8)
    for (upper, lower), (name, lines) in zip(axes.T, drawn.items()):
        for label, values in lines.items():
            alone = label == "bound"
            (lower if alone else upper).plot(np.arange(1, len(values) + 1), values, marker=".", label=label,
                                             **({"color": "#009e73"} if alone else {}))
        for axis, title in ((upper, name), (lower, f"{name}, the bound")):
            axis.set(xlabel="features", ylabel="squared covariance minus cost", title=title,
                     xticks=(1, *range(5, len(lines["bound"]) + 1, 5)))
            axis.ticklabel_format(axis="y", scilimits=(-2, 3))
        upper.legend()
    return figure


lab = Lab(__file__, "Figure 4: the bound of Theorem 5.5", "in part",
          "The bound is worse on Bank, as in the paper. It does not come close to the test rows on Pumadyn; how the "
          "paper estimated c is not said.", draw)
lab.need(*SETS.values())
features = 5 if lab.quick else 20
lab.note("""smc with 500 candidates on two thirds of the rows; the squared covariance of the features with the target,
less a cost q a feature (half of what the first one brings), on those rows, on the other third, and as the theorem
promises with delta = 0.1 and c the norm of the directions' matrix. Columns and target have mean 0 and length 1
(`mercer scale --scale norm`, all rows). Pumadyn-32nm stands in for the paper's "fairly linear" set with "high noise"
(Pumadyn-32fh), which was not to be had. The paper does not say how it estimated c. With c as the theorem has it the
confidence term alone is 4 to 15 times what is bounded, so that the bound promises nothing: that it comes close to the
test rows on Pumadyn, as in the paper's figure, is not reproduced. That it is worse on Bank for the large R, as the
paper says, is. The covariance of new rows follows that of the training rows, which the bound is about.""")
table = lab.table(f"Terms at {features} features, without the cost", "set", "on the training rows", "on the others",
                  "complexity", "confidence", "bound", "R squared", "c")
drawn = {}
for name, file in SETS.items():
    scaled = lab.folder / file
    lab.mercer("scale", lab.data / file, "--no-label", "--scale", "norm", "-o", scaled, "--quiet")
    rows = np.loadtxt(scaled, delimiter=",", skiprows=1)[:600 if lab.quick else None]
    part = np.arange(len(rows)) < 2 * len(rows) // 3
    train, test = (lab.write(f"{which}.csv", rows[these][:, :-1], target=rows[these][:, -1])
                   for which, these in (("train", part), ("test", ~part)))
    report, model = lab.fit("bound.model", train, "-m", "smc:candidates=500", "-k", "linear", "-n", features)
    terms = {key: np.array([entry[key] for entry in report["bound"]])
             for key in ("empirical", "complexity", "confidence")}
    found = lab.features(model, test)
    held = np.cumsum((rows[~part][:, -1:] ** 2 * found**2).mean(0))
    count = np.arange(1, len(held) + 1)
    cost = terms["empirical"][0] / 2 * count
    bound = terms["empirical"] - terms["complexity"] - terms["confidence"]
    drawn[name] = {"training rows": terms["empirical"] - cost, "other rows": held - cost, "bound": bound - cost}
    radius = ((rows[part][:, :-1] ** 2).sum(1) * rows[part][:, -1] ** 2).max()  # squared: the largest y^2 k(x, x)
    norm = terms["confidence"][-1] / (3 * radius * np.sqrt(np.log(2 / DELTA) / (2 * part.sum())))
    table.row(name, *(f"{value:.3g}" for value in (terms["empirical"][-1], held[-1], terms["complexity"][-1],
                                                   terms["confidence"][-1], bound[-1], radius, norm)))
    ratio = held[-1] / terms["empirical"][-1]
    lab.check(f"{name}: features bring {ratio:.2f} times as much on the other rows as on those learnt from, and never "
              "less than the bound", 0.7 < ratio < 1.4 and (held >= bound).all())
lab.figure("Squared covariance with the target minus a cost for each feature: on training rows and others (above), and "
           "what the bound promises (below, mind the scale). The paper prints curves and no numbers.", **drawn)
lab.finish()
