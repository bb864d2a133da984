#!/usr/bin/python3
"""Paper 001, Table 1: recognition of 20 subjects of the ORL faces."""
import orl
from lab import Lab, cell

POWERS = "poly:degree={},coef0=0,gamma=1e-7"
PAPER = [("rbf", "Gaussian", 2, 48, 91), ("rbf", "Gaussian", 4, 82, 99), ("rbf", "Gaussian", 6, 83, 100),
         (POWERS.format(2), "(x, y)^2", 4, 82, 96), (POWERS.format(3), "(x, y)^3", 4, 80, 97),
         (POWERS.format(4), "(x, y)^4", 4, 82, 95)]
WIDTH = "the width, the split and the centring are not in the paper; here the median distance, even and odd images, none"

lab = Lab(__file__, "Table 1: nearest neighbours of 20 faces, kernel PCA and KOCA")
even, odd = (orl.Part(lab, name, 4 if lab.quick else 20) for name in ("even", "odd"))


def rate(method, kernel, components, *words):
    _, model = lab.fit("table.model", even.folder, "-m", method, "-k", kernel, "-n", components, "--head", "none", *words)
    away = orl.distances(lab.features(model, even.folder), lab.features(model, odd.folder))
    return orl.strict_rate(away, even.classes, odd.classes, 1)


lab.note("""The even images of each subject train, the odd ones judge the search and are recognised, as the paper
does. KOCA with its defaults, which begin at the kernel PCA subspace. KOCA must reach at least the paper's rate.""")
table = lab.table("Percent of images whose nearest neighbour is of their class", "kernel", "r", "KPCA", "KOCA")
for kernel, name, components, kpca, koca in PAPER:
    table.row(name, components,
              cell(rate("kpca", kernel, components, "--center", "none"), kpca, digits=0, why=WIDTH),
              cell(rate("koca", kernel, components, "--validation", odd.folder), koca, low=koca, digits=0))
lab.finish()
