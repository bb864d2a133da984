# SPDX-License-Identifier: BSD-3-Clause
"""Liu, Mio 2005, Table 1: recognition of 20 subjects of the ORL faces."""
import orl
from lab import Lab, cell

POWERS = "poly:degree={},coef0=0,gamma=1e-7"
PAPER = [("rbf", "Gaussian", 2, 48, 91), ("rbf", "Gaussian", 4, 82, 99), ("rbf", "Gaussian", 6, 83, 100),
         (POWERS.format(2), "(x, y)^2", 4, 82, 96), (POWERS.format(3), "(x, y)^3", 4, 80, 97),
         (POWERS.format(4), "(x, y)^4", 4, 82, 95)]
WIDTH = ("Split, width and centring are not in the paper. No width tried gives all three Gaussian figures: .4 times "
         "the median has 47, 76 and 83 % in an independent implementation.")
SEARCH = "The paper's search is stochastic; ours is an ascent with continuation, which gets further."

lab = Lab(__file__, "Table 1: nearest neighbours of 20 faces, kernel PCA and KOCA", "in part",
          "KOCA reaches the paper's rates or more. Rates of kernel PCA differ: split, width and centring are not in "
          "the paper.")
even, odd = (orl.Part(lab, name, 4 if lab.quick else 20) for name in ("even", "odd"))
lab.note("""The even images of each subject train, the odd ones are recognised; they judge the search as well, so that
its rates are not those of new images. The paper too recognises the 100 images that judge, but does not tell which
they are. KPCA is not centred, the Gaussian has the median distance. KOCA with its defaults begins at the kernel PCA
subspace and must reach at least the paper's rate. The last column is the stochastic search, mean of five runs
(`koca:continuation=off, search=anneal,iterations=1000,beta=1`): with our temperatures, as the paper does not give its
own, it ends below the paper's rates, so that these lie between our two searches.""")
table = lab.table("Percent of images whose nearest neighbour is of their class", "kernel", "r", "KPCA", "KOCA",
                  "KOCA, stochastic")
for kernel, name, components, kpca, koca in PAPER:
    drawn = orl.ends(lab, even, odd, "koca:continuation=off,search=anneal,iterations=1000,beta=1", kernel, components)
    best = orl.nearest_rate(lab, even, odd, "koca", kernel, components, "--validation", odd.folder)
    table.row(name, components,
              cell(orl.nearest_rate(lab, even, odd, "kpca", kernel, components, "--center", "none"), kpca, digits=0,
                   why=WIDTH),
              cell(best, koca, low=koca, digits=0, why=SEARCH if best > koca else None),
              orl.mean_cell(drawn[:, 1], koca, digits=1, paper_digits=0))
lab.finish()
