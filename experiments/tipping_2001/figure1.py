# SPDX-License-Identifier: BSD-3-Clause
"""Tipping 2001 beside two other choices of rows: what ten features leave, by the number of rows they use."""
from lab import Lab, cell, style

TOLERANCES = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
NAMES = {"span": "`tipping`", "model": "`directions=model`", "rkpca": "`rkpca`", "akfa": "`akfa`'s rows"}

STYLES = {"span": style("tipping"), "model": style("tipping", linestyle=":"), "rkpca": style("rkpca"), "akfa": style("akfa")}


def draw(lab, drawn):
    figure, axes = lab.plot(columns=len(drawn))
    for axis, (name, found) in zip(axes[0], drawn.items()):
        for way, text in NAMES.items():
            axis.plot(found["rows"], found["left"][way], label=text.replace("`", ""), marker="o", markersize=3, **STYLES[way])
        axis.axhline(found["least"], linewidth=.8, label="kpca on all rows", color=style("kpca")["color"])
        axis.set(xlabel="rows", ylabel="share of the variance left", title=name)
    axes[0][0].legend()
    return figure


lab = Lab(__file__, "Figure 1: the error of ten features by the rows they use", "yes",
          "The paper prints no such figure: its likelihood is compared with greedy choices of as many rows.", draw)
features = 5 if lab.quick else 10


def sets():
    ring = lab.folder / "ring.csv"
    lab.mercer("generate", "circle", "--rows", 200 if lab.quick else 1000, "--seed", 1, "-o", ring, "--quiet")
    yield "ring", ring, "rbf:sigma=4"
    if not lab.quick:
        columns, _ = lab.csv("optdigits.train.csv")
        yield "digits", lab.write("digits.csv", columns[:1500]), "rbf:sigma=30"


def share(report):
    return report["reconstruction_error"] / report["total_variance"]


lab.note(f"""{features} features of a ring (1000 rows, `rbf:sigma=4`) and of 1500 handwritten digits (optdigits,
`rbf:sigma=30`). The tolerance of `tipping` sets how many rows its likelihood keeps. In each line `rkpca` and `akfa` choose as
many: `akfa` by `nystroem:sampling=greedy`, so that all four are kernel PCA in the span of some rows or, with
`directions=model`, directions in it. Shown is the share of the variance that {features} features leave; kernel PCA on all
rows leaves the least. Products count passes over the kernel matrix: `rkpca` takes one per row.""")
drawn = {}
for name, data, kernel in sets():
    common = ("-k", kernel, "-n", features, "--threads", 1)
    least = share(lab.fit("kpca.model", data, "-m", "kpca", *common)[0])
    table = lab.table(f"The {name}: share of the variance left; kernel PCA on all rows leaves {least:.4f}", "tolerance", "rows",
                      *NAMES.values(), "products")
    lines, counts = {way: [] for way in NAMES}, []
    for tolerance in TOLERANCES[:3] if lab.quick else TOLERANCES:
        own, _ = lab.fit("span.model", data, "-m", f"tipping:tolerance={tolerance}", *common)
        rows = len(own["selected"])
        if counts and rows == counts[-1]:
            continue
        others = {"model": f"tipping:tolerance={tolerance},directions=model", "rkpca": f"rkpca:points={rows}",
                  "akfa": f"nystroem:sampling=greedy,points={rows}"}
        found = {"span": share(own), **{way: share(lab.fit("other.model", data, "-m", method, *common)[0])
                                        for way, method in others.items()}}
        counts.append(rows)
        for way, value in found.items():
            lines[way].append(value)
        # With as many rows rkpca chooses for the variance itself, so likelihood should not be far ahead or behind.
        table.row(tolerance, rows, *(cell(found[way], digits=4, low=least - 1e-9) for way in NAMES), own["passes"])
    drawn[name] = {"rows": counts, "left": lines, "least": least}
    if counts:
        lab.check(f"on the {name} the last choice of `tipping` leaves at most 5 % more than `rkpca`'s",
                  lines["span"][-1] <= 1.05 * lines["rkpca"][-1])
lab.figure(f"What {features} features leave of the variance, by the number of rows they use; the level line is kernel PCA on all "
           "rows.", **drawn)
lab.finish()
