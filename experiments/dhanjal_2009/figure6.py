# SPDX-License-Identifier: BSD-3-Clause
"""Dhanjal et al. 2009, Figure 6: faces against non-faces, ranked by few kernel values."""
import numpy as np
from sklearn.metrics import roc_curve

import faces
from lab import Lab, cell, style

CHECK_SUMS = (14.2210399254, 9.0840738604)  # of the cubes of all entries
NUMBERS = (100, 200, 300, 500, 700, 1000)
FEW_NUMBERS, DRAWN_NUMBERS, SHOWN = (100, 300, 700, 1000), (100, 300), 300  # rectangles; columns drawn; ROC curves
SIGMA, PAPER_SIGMA = .5, .25
TEST_ROWS = (1214, 2250)  # faces, others
# Area under the ROC curve on pixels by an independent implementation, C = 8.
KNOWN = {"KPCA": ("kpca", "exact", (.9709, .9734, .9739, .9743, .9746, .9752)),
         "SMA": ("sma:norm=direction", "none", (.9687, .9725, .9736, .9738, .9741, .9740)),
         "SMC": ("smc:norm=direction", "none", (.9695, .9720, .9734, .9739, .9741, .9742))}
DRAWN = {"SMA, 500 columns": ("sma:candidates=500,norm=direction", "none", (.9684, .9731)),
         "SMC, 500 columns": ("smc:candidates=500,norm=direction", "none", (.9678, .9727))}
GAUSSIAN, HEAD = "svm:kernel=rbf,gamma={},c=8,weight=opposite", "linsvm:c=8,weight=opposite"
MACHINES = {"RBF SVM, C = 8": (GAUSSIAN.format(1 / (2 * SIGMA**2)), .9768, 2377),
            "linear SVM, C = 1": ("linsvm:c=1,weight=opposite", .9580, None)}
# What the paper's model selection took: features / kernel values a window.
PAPER = {"KPCA": "1000 / all rows", "SMA, 500 columns": "700 / 700", "SMC, 500 columns": "900 / 900",
         "RBF SVM, C = 8": "- / 1022"}



def draw(lab, drawn):
    figure, axes = lab.plot(columns=2, rows=2)
    for (left, right), (rows, found) in zip(axes, drawn.items()):
        for place, (name, areas) in enumerate(found["areas"].items()):
            left.plot(*found["curves"][name], **style(name.lower()))
            right.errorbar(np.array(found["numbers"]) + 8 * (place - 1), areas, standard_error(areas), elinewidth=.6,
                           label=name, **style(name.lower(), marker="o"))
        for name, area in found["machines"].items():
            how = {"color": "black", "linestyle": "--" if "RBF" in name else ":"}
            left.plot(*found["curves"][name], **how)
            right.axhline(area, label=name, **how)
        left.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, .15), ylim=(0, 1.02),
                 xticks=(0, .05, .1, .15), title=f"{rows}, {found['shown']} features")
        right.set(xlabel="features", ylabel="area under the ROC curve", title=rows)
        right.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))  # of both panels
    return figure


def standard_error(area):
    """Of an area under the ROC curve of the test rows (Hanley, McNeil 1982)."""
    area, (faces_seen, others) = np.array(area), TEST_ROWS
    both, neither = area / (2 - area), 2 * area**2 / (1 + area)
    return np.sqrt((area * (1 - area) + (faces_seen - 1) * (both - area**2) + (others - 1) * (neither - area**2))
                   / (faces_seen * others))


lab = Lab(__file__, "Figure 6: face detection (generated non-faces stand in for the missing ones)", "in part",
          "Few kernel values come near the RBF machine, which is the message. Generated non-faces stand in for those "
          "that are not to be had, so levels cannot be compared.", draw)
lab.need(faces.CBCL, faces.TEAPOTS, "orl", "yale")
few_numbers, drawn_numbers, shown = ((5, 10), (5, 10), 10) if lab.quick else (FEW_NUMBERS, DRAWN_NUMBERS, SHOWN)
coordinates = 50 if lab.quick else faces.SIDE**2


def rectangles(parts):
    """Rows as the rectangle features of Viola and Jones, to length one, in coordinates that keep all distances."""
    paths = [lab.folder / f"pictures-{i}.npy" for i in range(2)]
    for path, (rows, _) in zip(paths, parts):
        np.save(path, rows.reshape(-1, faces.SIDE, faces.SIDE))
    _, model = lab.fit("rectangles.model", paths[0], "--no-label", "-m", "pca", "-n", coordinates, "--image-features",
                       "haar", "--scale", "unit")
    return [(lab.features(model, path, "--no-label"), labels) for path, (_, labels) in zip(paths, parts)]


def seen(curve):
    """The part of an ROC curve that is drawn."""
    false, true = curve
    count = np.searchsorted(false, .16) + 1
    return false[:count], true[:count]


class Ranking:
    """Machines on features of one kind of rows: a table, and two panels of the figure."""

    def __init__(self, name, parts, numbers, judged):
        self.name, self.numbers, self.judged = name, few_numbers if lab.quick else numbers, judged
        self.drawn = {"numbers": self.numbers, "shown": shown, "areas": {}, "machines": {}, "curves": {}}
        self.truth, self.level = parts[1][1] > 0, {}
        self.paths = [lab.write(f"{name}-{which}.csv", rows, label=labels)
                      for which, (rows, labels) in zip(("train", "test"), parts)]
        more = () if judged else ("the paper's features / kernel values",)
        self.table = lab.table(f"Area under the ROC curve on {name}, RBF kernel of sigma {SIGMA}, linear machine with "
                               "C = 8 on the features", "features", *map(str, numbers), "kernel values a window",
                               f"false alarms at 90 % of the faces, {SHOWN} features", *more)

    def area(self, method, head, number, *more):
        """(area, training rows a new window is compared with, false and true positive rates)."""
        predictions = lab.folder / "predictions.csv"
        report = lab.mercer("evaluate", self.paths[0], "--test", self.paths[1], "-m", method, "-n", number, "--head",
                            head, "--metric", "auc", "--json", "--quiet", "--save-predictions", predictions, *more)
        table = np.genfromtxt(predictions, delimiter=",", names=True)
        curve = roc_curve(self.truth[table["row"].astype(int)], table["score_1"])[:2]
        return report["mean"], report["folds"][0]["expansion_points"], curve

    def cell(self, found, known, near, digits=4):
        limits = {"low": known - near, "high": known + near} if self.judged and known else {}
        return cell(found, digits=digits, **limits)

    def row(self, name, cells, points, curve):
        more = () if self.judged else (PAPER.get(name, "-"),)
        self.table.row(name, *(cells.get(number, "") for number in self.numbers), points,
                       f"{np.interp(.9, *curve[::-1]):.3f}", *more)

    def features(self, name, method, center, known, wanted, near):
        """A row of a method; its curves are drawn where all numbers of features are wanted."""
        cells = {}
        for number in wanted:
            found, points, curve = self.area(method, HEAD, number, "--center", center, "-k", f"rbf:sigma={SIGMA}")
            cells[number], self.level[name, number] = self.cell(found, known.get(number), near), found
            if number == shown:
                at_shown = curve
        if name in KNOWN:
            self.drawn["curves"][name] = seen(at_shown)
            self.drawn["areas"][name] = [cells[number]["ours"] for number in wanted]
        self.row(name, cells, points, at_shown)

    def machine(self, name, head, known, vectors, drawn=True):
        """A row of a machine on the rows themselves; of a Gaussian one the support vectors are counted."""
        found, _, curve = self.area("pca", head, coordinates)
        self.level[name], points = found, "-"
        if "rbf" in head:
            report, _ = lab.fit("machine.model", self.paths[0], "-m", "pca", "-n", coordinates, "--head", head)
            points = self.cell(report["head_rows"], vectors, 20, digits=0)
        if drawn:
            self.drawn["curves"][name], self.drawn["machines"][name] = seen(curve), found
        self.row(name, {self.numbers[-1]: self.cell(found, known, .002)}, points, curve)

    def behind(self):
        """How far SMA and SMC are below the Gaussian machine at worst, from the features shown on."""
        return max(self.level["RBF SVM, C = 8"] - self.level[name, number] for name in ("SMA", "SMC")
                   for number in self.numbers if number >= shown)

    def ahead(self):
        """At how many numbers of features KPCA is ahead of SMA."""
        count = sum(self.level["KPCA", number] > self.level["SMA", number] for number in self.numbers)
        return f"{count} of {len(self.numbers)}"

    def run(self):
        for name, (method, center, known) in KNOWN.items():
            self.features(name, method, center, dict(zip(NUMBERS, known)), self.numbers, .002)
        for name, (method, center, known) in DRAWN.items():
            self.features(name, method, center, dict(zip(DRAWN_NUMBERS, known)), drawn_numbers, .004)
        for name, (head, known, vectors) in MACHINES.items():
            self.machine(name, head, known, vectors)


parts = [faces.make(lab, part)[:2] for part in (0, 1)]
lab.note("""The CBCL non-faces and test set are not at hand. 1215 faces of the collection and 2250 non-faces made of
other pictures (patches, faces with exchanged blocks, windows beside a face) to learn from, 1214 and 2250 others to
rank; noise as large as the signal is added. So levels cannot be compared with the paper's (there 90 % of the faces at
22 to 25 % false alarms), only the message can. First pixels, for which an independent implementation has figures;
limits: .002 from it, .004 where columns are drawn, 20 support vectors. Then the rectangle features of Viola and Jones,
as in the paper: all 63,960 of 19 x 19 pixels (the paper took 30,798 and does not say which), each row to length 1.
They are linear in the pixels, so that 361 coordinates (`pca`) keep all their distances. They are shown and not judged.
Their width is that of the pixels; the paper's .25 depends on how its features were scaled, which it does not say, and
is too narrow here (last row of the second table). C is 8 for all machines but the linear one on the rows themselves,
where it is 1.""")
for name, (rows, _), total in zip(("training", "test"), parts, CHECK_SUMS):
    lab.check(f"check sum of the {name} rows {np.sum(rows**3):.10f}", abs(np.sum(rows**3) - total) < 1e-6)
if lab.quick:
    keep = np.random.default_rng(1).permutation(len(parts[1][0]))[:60]
    parts = [(rows[keep], labels[keep]) for rows, labels in parts]
pixels = Ranking("pixels", parts, NUMBERS, True)
pixels.run()
if not lab.quick:
    best, plain = (pixels.level[name] for name in MACHINES)
    for name in ("SMA", "SMC"):
        found = pixels.level[name, SHOWN]
        lab.check(f"{name}, pixels, {SHOWN} features: {found:.4f}, within .006 of the RBF machine ({best:.4f}) and "
                  f".010 above the linear one ({plain:.4f})", found >= best - .006 and found >= plain + .010)
rectangle = Ranking("rectangle features", rectangles(parts), FEW_NUMBERS, False)
rectangle.run()
name = f"RBF SVM, C = 8, sigma {PAPER_SIGMA}"
rectangle.machine(name, GAUSSIAN.format(1 / (2 * PAPER_SIGMA**2)), None, None, drawn=False)
lab.figure("Faces against generated non-faces, pixels (above) and rectangle features (below): ROC curves of the test rows "
           f"at {SHOWN} features, and the area under them by the number of features; bars: one standard error. The paper's "
           "levels belong to other windows and are not drawn.", **{ranking.name: ranking.drawn for ranking in (pixels, rectangle)})
lab.note(f"""From 300 features on SMA and SMC are at most {pixels.behind():.4f} (pixels) and {rectangle.behind():.4f}
(rectangle features) below the RBF machine, with as many kernel values as features, where the machine needs one for
each support vector and KPCA one for each training row: this is the paper's message. In the paper SMA needs fewer
features than KPCA (700 and 1000). Here KPCA is ahead of SMA at {pixels.ahead()} numbers of features on pixels and at
{rectangle.ahead()} on rectangle features, which the paper used. Differences below .003, the standard error of one
area, mean little. The paper chose the numbers of features and C by validation; here they are fixed.""")
lab.finish()
