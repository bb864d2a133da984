# SPDX-License-Identifier: BSD-3-Clause
"""Liu, Mio 2005, Figure 7: five subjects in the plane, by kernel PCA and by KOCA."""
import orl
from lab import Lab, cell

MARKS = {"train": "o", "cross validation": "s", "test": "^"}

lab = Lab(__file__, "Figure 7: five faces in the plane", "yes",
          "Classes of KOCA are compact and apart, those of kernel PCA overlap.")
parts = {name: orl.Part(lab, name, 5) for name in MARKS}
lab.note("""The images of Table 2 as points of the plane: kernel PCA (not centred) and KOCA with `neighbours=4`. The
classes of KOCA are compact and far from each other, those of kernel PCA overlap. As a number: the mean squared
distance of images of the same class as a share of that of all images, which KOCA must halve at least.""")
table = lab.table("Squared distances inside classes as a share of all", "part", "KPCA", "KOCA")
figure, axes = lab.plot(columns=2)
shares = {name: [] for name in parts}
for axis, (title, words) in zip(axes[0], {
        "kernel PCA": ("-m", "kpca", "--center", "none"),
        "KOCA": ("-m", "koca:neighbours=4", "--validation", parts["cross validation"].folder)}.items()):
    _, model = lab.fit("plane.model", parts["train"].folder, *words, "-k", "rbf", "-n", 2, "--head", "none")
    for name, part in parts.items():
        points = lab.features(model, part.folder)
        away, alike = orl.distances(points, points), part.classes[:, None] == part.classes[None]
        shares[name].append(away[alike].mean() / away.mean())
        for subject in range(1, 6):
            axis.plot(*points[part.classes == subject].T, MARKS[name], color=f"C{subject - 1}")
    axis.set(xlabel="f1", ylabel="f2", title=title)
    axis.locator_params(nbins=6)
keys = [axes[0, 0].plot([], [], "o", color=f"C{subject - 1}", label=f"subject {subject}")[0] for subject in range(1, 6)]
keys += [axes[0, 0].plot([], [], mark, color="0.4", fillstyle="none", label=name)[0] for name, mark in MARKS.items()]
axes[0, 1].legend(handles=keys, loc="center left", bbox_to_anchor=(1, .5))
for name, (kpca, koca) in shares.items():
    table.row(name, cell(kpca), cell(koca, high=kpca / 2))
lab.figure(figure, "Five subjects in two dimensions: training, cross-validation and test images.")
lab.finish()
