#!/usr/bin/python3
"""Paper 004, Figure 6: faces against non-faces, ranked by few kernel values."""
import numpy as np
from sklearn.metrics import roc_curve

import faces
from lab import Lab, cell

CHECK_SUMS = (14.2210399254, 9.0840738604)  # of the cubes of all entries
NUMBERS = (100, 200, 300, 500, 700, 1000)
# Area under the ROC curve by an independent implementation, C = 8.
KNOWN = {"KPCA": ("kpca", "exact", (.9709, .9734, .9739, .9743, .9746, .9752)),
         "SMA": ("sma:norm=direction", "none", (.9687, .9725, .9736, .9738, .9741, .9740)),
         "SMC": ("smc:norm=direction", "none", (.9695, .9720, .9734, .9739, .9741, .9742))}
DRAWN = {"SMA, 500 columns": ("sma:candidates=500,norm=direction", "none", (.9684, .9731)),
         "SMC, 500 columns": ("smc:candidates=500,norm=direction", "none", (.9678, .9727))}
MACHINES = {"RBF SVM": ("svm:kernel=rbf,gamma=2,c=8,weight=opposite", .9768),
            "linear SVM": ("linsvm:c=1,weight=opposite", .9580)}

lab = Lab(__file__, "Figure 6: face detection (generated non-faces stand in for the missing ones)")
lab.need(faces.CBCL, faces.TEAPOTS, "orl", "yale")
numbers = (5, 10) if lab.quick else NUMBERS


def write(name, part, pixels):
    """Rows as a table, and as folders of 16-bit pictures for the features of Viola and Jones."""
    rows, labels, _ = part
    if lab.quick:
        keep = np.random.default_rng(1).permutation(len(rows))[:60]
        rows, labels = rows[keep], labels[keep]
    if pixels:
        return lab.write(f"{name}.csv", rows, label=labels)
    folder = lab.folder / name
    grey = np.clip((rows - SHOWN[0]) / (SHOWN[1] - SHOWN[0]) * 65535, 0, 65535).round().astype(">u2")
    for i, (row, label) in enumerate(zip(grey, labels)):
        path = folder / ("face" if label > 0 else "other") / f"{i:04d}.pgm"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"P5 19 19 65535\n" + row.tobytes())
    return folder


def area(method, head, number, center, predictions=None, *more, data=None):
    """(area under the ROC curve of the test rows, training rows a new window is compared with)."""
    train, test = data or tables
    command = ["evaluate", train, "--test", test, "-m", method, "-n", number, "--head", head, "--metric", "auc",
               "--json", "--quiet", *more]
    command += ["--center", center] if center else []
    command += ["--save-predictions", predictions] if predictions else []
    report = lab.mercer(*command)
    return report["mean"], report["folds"][0]["expansion_points"]


def curve(predictions):
    """ROC curve of saved predictions, by the score of the faces."""
    table = np.genfromtxt(predictions, delimiter=",", names=True)
    truth = np.array([label > 0 for label in np.loadtxt(tables[1], delimiter=",", skiprows=1)[:, -1]])
    order = table["row"].astype(int)
    return roc_curve(truth[order], table["score_1"])[:2]


parts = [faces.make(lab, part) for part in (0, 1)]
tables = [write(name, part, True) for name, part in zip(("train", "test"), parts)]
lab.note("""The CBCL non-faces and test set are not at hand. 1215 faces of the collection and 2250 non-faces made of other pictures
(patches, faces with exchanged blocks, windows beside a face) to learn from, 1214 and 2250 others to rank; noise as large as
the signal is added. So the figures cannot be compared with the paper's in level (there 90 % of the faces at 22 to 25 % false
alarms), only the message can: from 300 features on every method is close to the machine with the RBF kernel, sma and smc
with as many kernel values as features. Limits: .002 from an independent implementation, .004 where columns are drawn.""")
for name, part, total in zip(("training", "test"), parts, CHECK_SUMS):
    lab.check(f"check sum of the {name} rows {np.sum(part[0] ** 3):.10f}", abs(np.sum(part[0] ** 3) - total) < 1e-6)
table = lab.table("Area under the ROC curve, RBF kernel of sigma 0.5 on pixels, linear machine with C = 8", "features",
                  *map(str, NUMBERS), "kernel values a window")
figure, axes = lab.plot(columns=2)
head, kernel = "linsvm:c=8,weight=opposite", ("-k", "rbf:sigma=0.5")
level = {}
for name, (method, center, known) in KNOWN.items():
    cells = []
    for number, value in zip(numbers, known):
        shown = lab.folder / "predictions.csv" if number == numbers[2 % len(numbers)] else None
        found, points = area(method, head, number, center, shown, *kernel)
        cells.append(cell(found, low=value - .002, high=value + .002, digits=4))
        level[name, number] = found
        if shown:
            axes[0][0].plot(*curve(shown), label=f"{name}, {number}")
    table.row(name, *cells, points)
    axes[0][1].plot(numbers, [entry["ours"] for entry in cells], marker="o", label=name)
for name, (method, center, known) in DRAWN.items():
    found = [area(method, head, number, center, None, *kernel) for number in (numbers if lab.quick else (100, 300))]
    limits = [cell(entry[0], low=value - .004, high=value + .004, digits=4) for entry, value in zip(found, known)]
    table.row(name, limits[0], "", limits[1], "", "", "", found[-1][1])
for name, (machine, known) in MACHINES.items():
    shown = lab.folder / "predictions.csv"
    found, _ = area("pca", machine, 50 if lab.quick else 361, None, shown)
    level[name] = found
    axes[0][0].plot(*curve(shown), label=name, linestyle="--")
    axes[0][1].axhline(found, color="grey", linestyle=":" if name[0] == "l" else "--", label=name)
    table.row(f"{name} on pixels", "", "", "", "", "", cell(found, low=known - .002, high=known + .002, digits=4), "-")
if not lab.quick:
    for name in ("SMA", "SMC"):
        found = level[name, 300]
        lab.check(f"{name}, 300 features: {found:.4f}, within .006 of the RBF machine ({level['RBF SVM']:.4f}) and .010 above "
                  f"the linear one ({level['linear SVM']:.4f})",
                  found >= level["RBF SVM"] - .006 and found >= level["linear SVM"] + .010)
axes[0][0].set(xlabel="false positive rate", ylabel="true positive rate", xlim=(-.01, .5))
axes[0][1].set(xlabel="features", ylabel="area under the curve")
axes[0][0].legend(fontsize=7)
axes[0][1].legend(fontsize=7)
lab.figure(figure, "ROC curves of the test rows at 300 features, and the area under them by the number of features.")

SHOWN = [float(f(part)) for f, part in ((min, [p[0].min() for p in parts]), (max, [p[0].max() for p in parts]))]
pictures = [write(f"{name}-pictures", part, False) for name, part in zip(("train", "test"), parts)]
table = lab.table("Area under the ROC curve on the rectangle features of Viola and Jones (all 63,960 of 19 x 19 pixels; the paper "
                  "took 30,798), width the median distance, linear machine with C = 8", "features", "300")
for name, (method, center, _) in KNOWN.items():
    found, _ = area(method, head, 5 if lab.quick else 300, center, None, "-k", "rbf:sigma=median", "--image-features",
                    "haar", data=pictures)
    table.row(name, cell(found, digits=4))
lab.finish()
