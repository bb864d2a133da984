# SPDX-License-Identifier: BSD-3-Clause
"""Jiang et al. 2006, Figure 5: faces recognised by the number of neighbours."""
import numpy as np

import yale
from lab import Lab, cell, style

# An independent implementation, the central window.
KNOWN = {("KPCA", 1): 84.8, ("AKFA", 1): 81.8, ("KPCA", 10): 76.4, ("AKFA", 10): 74.5}
WINDOWS = {"central window, images scaled": {"about": False, "scale": "rowstandard"},
           "about the face, pixels scaled": {"about": True, "scale": "standard"}}

IMAGES = 165


def draw(lab, drawn):
    figure, axes = lab.plot(columns=2)
    for axis, (window, lines) in zip(axes[0], drawn["accuracy"].items()):
        for place, (name, line) in enumerate(lines.items()):
            share = np.array(line) / 100
            bars = 100 * np.sqrt(share * (1 - share) / IMAGES)
            axis.errorbar(np.array(drawn["neighbours"]) + .15 * (place - 1.5), line, bars, label=name, elinewidth=.6,
                          **style(name.lower(), marker="o", markersize=3))
        axis.set(xlabel="neighbours k", ylabel="accuracy in %", title=window, xticks=range(0, 21, 5), ylim=(45, 95))
        axis.legend(loc="lower left")
    return figure


lab = Lab(__file__, "Figure 5: faces recognised by the number of neighbours", "in part",
          "The best accuracy near k = 10 is seen in one of two windows only, and not with SKFA. The paper does not "
          "say how its images were cut.", draw)
ks = (1, 10) if lab.quick else (1, 3, 5, 8, 10, 12, 15, 20)
lab.note("""sigma = 24, otherwise as Table 3. The paper finds the best accuracy when k is close to 10. With the
protocol of Table 3 that is not reproduced: accuracy is best at k = 1 and falls. The fixed window also shows the wall
and the place of the head, and nine pairs of pictures of the set are identical, so that the nearest neighbour may be a
copy. With a window about the face and pixels scaled over the training images it is reproduced in part: KPCA and AKFA
are best at k = 12, ACKFA is level up to there, but SKFA is best at k = 1 here too. One accuracy has a standard
deviation of 3.4 points, so the best k is not well determined, and the paper's images may differ from both windows.
We check, in the first window, an independent implementation's KPCA and AKFA at k = 1 and 10 (84.8 and 76.4 within 0.7, 81.8
and 74.5 within 1.3), and for both windows the loss at the far end: each subject has only ten other images, so that of
twenty neighbours at least half are wrong.""")
lines = {window: {} for window in WINDOWS}
for window, how in WINDOWS.items():
    data = yale.write(lab, about=how["about"])
    table = lab.table(f"Accuracy in %, {window}", "method", *(f"k = {k}" for k in ks), "best k")
    for name, method in yale.METHODS.items():
        line = [yale.accuracy(yale.evaluate(lab, data, method, f"k={k},ties=lowest", 24, scale=how["scale"]))
                for k in ks]
        entries = []
        for k, ours in zip(ks, line):
            known, near = None if how["about"] else KNOWN.get((name, k)), .7 if name == "KPCA" else 1.3
            limits = {} if known is None else {"low": known - near, "high": known + near}
            entries.append(cell(ours, digits=1, **limits))
        table.row(name, *entries, ", ".join(str(k) for k, ours in zip(ks, line) if ours == max(line)))
        lines[window][name] = line
        drop = line[ks.index(10)] - line[-1]
        lab.check(f"{name}, {window}: k = 20 at least 5 points below k = 10: {drop:.1f}", drop >= 5)
lab.figure(f"Faces recognised with {yale.features(lab)} features, sigma = 24, by the number of neighbours that vote; "
           f"bars: one standard deviation of a share of {IMAGES} images. The paper prints a curve and no numbers.",
           neighbours=ks, accuracy=lines)
lab.finish()
