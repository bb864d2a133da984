# SPDX-License-Identifier: BSD-3-Clause
"""Liu, Mio 2005, Figure 7: five subjects in the plane, by kernel PCA and by KOCA."""
import numpy as np

import orl
from lab import OTHERS, Lab, cell

MARKS = {"train": "o", "cross validation": "s", "test": "^"}



def draw(lab, drawn):
    figure, axes = lab.plot(columns=2)
    for axis, (title, parts) in zip(axes[0], drawn["points"].items()):
        for name, points in parts.items():
            classes = np.array(drawn["subjects"][name])
            for subject in range(1, 6):
                axis.plot(*np.array(points)[classes == subject].T, MARKS[name], color=OTHERS[subject - 1])
        axis.set(xlabel="f1", ylabel="f2", title=title)
        axis.locator_params(nbins=6)
    keys = [axes[0, 0].plot([], [], "o", color=OTHERS[subject - 1], label=f"subject {subject}")[0] for subject in range(1, 6)]
    keys += [axes[0, 0].plot([], [], mark, color="0.4", fillstyle="none", label=name)[0] for name, mark in MARKS.items()]
    axes[0, 1].legend(handles=keys, loc="center left", bbox_to_anchor=(1, .5))
    return figure


lab = Lab(__file__, "Figure 7: five faces in the plane", "yes",
          "Classes of KOCA are compact and apart, those of kernel PCA overlap.", draw)
parts = {name: orl.Part(lab, name, 5) for name in MARKS}
lab.note("""The images of Table 2 as points of the plane: kernel PCA (not centred) and KOCA with `neighbours=4`. The
classes of KOCA are compact and far from each other, those of kernel PCA overlap. As a number: the mean squared
distance of images of the same class as a share of that of all images, which KOCA must halve at least.""")
table = lab.table("Squared distances inside classes as a share of all", "part", "KPCA", "KOCA")
shares, drawn = {name: [] for name in parts}, {"kernel PCA": {}, "KOCA": {}}
for title, words in {"kernel PCA": ("-m", "kpca", "--center", "none"),
                     "KOCA": ("-m", "koca:neighbours=4", "--validation", parts["cross validation"].folder)}.items():
    _, model = lab.fit("plane.model", parts["train"].folder, *words, "-k", "rbf", "-n", 2, "--head", "none")
    for name, part in parts.items():
        points = lab.features(model, part.folder)
        away, alike = orl.distances(points, points), part.classes[:, None] == part.classes[None]
        shares[name].append(away[alike].mean() / away.mean())
        drawn[title][name] = points
for name, (kpca, koca) in shares.items():
    table.row(name, cell(kpca), cell(koca, high=kpca / 2))
lab.figure("Five subjects in two dimensions: training, cross-validation and test images. The paper prints no numbers.",
           points=drawn, subjects={name: part.classes for name, part in parts.items()})
lab.finish()
