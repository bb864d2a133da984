# SPDX-License-Identifier: BSD-3-Clause
"""Liu, Mio 2005, Table 4: optical recognition of handwritten digits, and its rates by the number of rows."""
import numpy as np

import orl
from lab import GREY, Lab, cell, paper_style, style

ROWS = {100: None, 250: None, 500: 94.5, 1000: 95, 2000: 96, 3823: 96.1}  # least rates of KOCA on test rows
KTH = "koca:neighbours=11,aggregate=kth"
KOCA = {"koca": "koca", "koca, 11th neighbours": KTH}
BASELINES = ("pixels", "kpca")
PAPER = {"pixels": [(.637, 95.2, 94.4), (.638, 94.7, 93.9)], "KICA": [(.280, 22.9, 28.0), (.288, 24.4, 17.8)],
         "KOCA": [(.919, 98.4, 98.0), (.862, 96.1, 96.1)]}
BETA = ("The paper does not tell beta: .637 leaving one out asks for .15 with all rows, .22 with 750, .26 with 500. "
        "That its F is not lower on test rows is not explained.")
FEW = "500 to 750 rows have about the paper's test rates; leave-one-out stays higher, which is not explained."
LOW = "The paper's figure cannot be, see below."
FAR = ("Independent components are far from classes. An independent implementation has 18 to 29 % (nearest) and 21 to 24 % "
       "(11 nearest) leaving one out, 27 to 34 % and 28 to 36 % on test rows.")
MORE = "More rows than the paper had, to judge by the pixels; the start is kernel PCA."
FITTED = "Our ascent fits the training rows. How far the paper's stochastic search went is not known."
NEAR = "Which rows the paper took, and how many, is not known; 750 come nearest."



def draw(lab, drawn):
    figure, axes = lab.plot(width=8.4)
    axis, styles = axes[0, 0], {"pixels": {"color": GREY, "linestyle": "--"}, "kpca": style("kpca"), "koca": style("koca"),
                                "koca, 11th neighbours": style("koca", linestyle=":")}
    for name, rates in drawn["nearest"].items():
        axis.plot(drawn["rows"], rates, marker="o", label=name, **styles[name])
    axis.axhline(PAPER["KOCA"][1][1], color=style("koca")["color"], linewidth=.6)
    axis.plot(750, PAPER["KOCA"][1][1], **paper_style(style("koca")["color"]), label="the paper's koca, rows not told")
    axis.plot(750, PAPER["pixels"][1][1], **paper_style(GREY), label="the paper's pixels, rows not told")
    axis.set(xscale="log", xlabel="training rows", ylabel="nearest neighbour, % of test rows")
    axis.set_xticks(drawn["rows"], map(str, drawn["rows"]))
    axis.minorticks_off()
    axis.legend()
    return figure


lab = Lab(__file__, "Table 4: digits", "in part",
          "KOCA comes near the paper's test rates with 750 rows; the paper does not give their number. Its F of KICA "
          "is below what F can be.", draw)
train, new = lab.csv("optdigits.train.csv"), lab.csv("optdigits.test.csv")
counts = (60,) if lab.quick else tuple(ROWS)
test = lab.write("test.csv", new[0][:200] if lab.quick else new[0], label=new[1])
truth = new[1][:200] if lab.quick else new[1]


def rates(features, fresh, own, k=11):
    """Measures of the training rows, each left out in turn, and of the test rows."""
    return (orl.measures(orl.distances(features, features, True), own, own, k),
            orl.measures(orl.distances(features, fresh), own, truth, k))


def fitted(count, method):
    own = train[1][:count]
    data = lab.write("train.csv", train[0][:count], label=own)
    _, model = lab.fit("digits.model", data, "-m", method, "-k", "rbf", "-n", 10, "--head", "none")
    return rates(lab.features(model, data), lab.features(model, test), own)


def lines(table, kind, count, found, why, least=None):
    """Both parts of a kind; why: the reasons of the three measures, for each part."""
    for part, measured, figures, reasons in zip(("leave-one-out", "test"), found, PAPER[kind], why):
        low = least if part == "test" else None
        table.row(kind, count, part, *(cell(ours, value, low=low if digits == 1 else None, digits=digits, why=reason)
                                       for ours, value, digits, reason in zip(measured, figures, (3, 1, 1), reasons)))


lab.note("""Ten features, `rbf` with the median distance. F with 11 neighbours and beta .157. The paper does not say
how many of the 3823 training rows it takes: here are 500, 750 and all of them. `koca:neighbours=11,aggregate=kth`
judges by what the table counts. With 500 and 750 rows KOCA begins at the KICA subspace, as in the paper; with all
rows and in the second table at its default, kernel PCA. Nothing is chosen by the test rows. Limits, for one and for
11 neighbours on test rows: 96.1 % with all training rows, the paper's rates; for this setting in the second table
94.5 % with 500, 95 % with 1000, 96 % with 2000.""")
table = lab.table("F, and percent of rows that one and 11 neighbours recognise (strict majority)",
                  "features", "rows", "part", "F", "nearest", "11 nearest")
few = counts if lab.quick else (500, 750)
for count in (*few, counts[-1]):
    own, rows = train[1][:count], train[0][:count]
    lines(table, "pixels", count, rates(rows, np.asarray(new[0])[:len(truth)], own), [[BETA, FEW, FEW]] * 2)
for count in few:
    lines(table, "KICA", count, fitted(count, "kica"), [[LOW, FAR, FAR]] * 2)
for count in few:
    lines(table, "KOCA", count, fitted(count, KTH + ",start=kica"), [[FITTED] * 3, [NEAR] * 3])
results = {(count, name): fitted(count, spec) for count in counts for name, spec in {**KOCA, "kpca": "kpca"}.items()}
results |= {(count, "pixels"): rates(train[0][:count], np.asarray(new[0])[:len(truth)], train[1][:count]) for count in counts}
lines(table, "KOCA", counts[-1], results[counts[-1], "koca, 11th neighbours"], [[MORE] * 3] * 2, ROWS.get(counts[-1]))
lab.note("""With 750 rows and the paper's start, KOCA has the paper's F and rates on the test rows within .02 and half
a point. The paper's F of KICA cannot belong to this F: as no quotient is below 0, F is at least h(-1), which is .42
for beta .157, and .38 for the beta of .26 that gives the pixels of 500 rows their .637.""")

table = lab.table("Percent of test rows recognised, by the number M of training rows (the first ones)", "M",
                  *(f"{name}: {k}" for name in (*KOCA, *BASELINES) for k in ("nearest", "11 nearest")))
for count in counts:
    table.row(count, *(cell(results[count, name][1][j], low=ROWS.get(count) if KOCA.get(name) == KTH else None, digits=1)
                       for name in (*KOCA, *BASELINES) for j in (1, 2)))
lab.figure("Recognition of the test rows by the number of training rows, of the pixels and of ten features; hollow: the "
           "paper's, which does not tell how many rows it took (drawn at 750, where ours come nearest).",
           rows=counts, nearest={name: [results[count, name][1][1] for count in counts] for name in (*BASELINES, *KOCA)})
lab.finish()
