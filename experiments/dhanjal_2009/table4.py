# SPDX-License-Identifier: BSD-3-Clause
"""Dhanjal et al. 2009, Table 4: error of nearest neighbours on features of four UCI sets."""
import uci
from lab import Lab

PAPER = {  # Ionosphere, Sonar, SPECTF, WDBC: error, standard deviation
    "All features": ((.140, .02), (.150, .05), (.244, .04), (.034, .01)),
    "PLS": ((.110, .02), (.179, .07), (.230, .05), (.032, .01)),
    "SMA": ((.106, .04), (.215, .07), (.253, .05), (.047, .02)),
    "SMC": ((.105, .03), (.203, .05), (.235, .04), (.045, .02)),
    "Exp BLF": ((.096, .03), (.218, .07), (.206, .04), (.049, .01)),
    "Log BLF": ((.087, .03), (.215, .06), (.206, .06), (.044, .02)),
    "LAD BLF": ((.099, .04), (.241, .07), (.219, .04), (.043, .01)),
    "Exp KB": ((.134, .04), (.237, .05), (.238, .05), (.046, .01)),
    "Log KB": ((.110, .03), (.241, .07), (.223, .04), (.027, .02)),
    "Sp. KPLS": ((.084, .03), (.180, .06), (.236, .04), (.044, .02)),
    "RBF features": ((.141, .04), (.133, .06), (.235, .03), (.033, .01)),
    "RBF PLS": ((.050, .02), (.107, .03), (.223, .04), (.029, .01)),
    "RBF SMA": ((.053, .02), (.168, .05), (.215, .07), (.036, .02)),
    "RBF SMC": ((.057, .03), (.173, .06), (.243, .03), (.052, .02)),
    "Sp. RBF PLS": ((.073, .04), (.195, .07), (.260, .04), (.044, .02))}
KB = ("Kernel boosting is a reconstruction. An independent implementation of it, with rounds up to the rank only, "
      "finds .296 (exponential loss) and .285 (logistic). More rounds, as here, do not reach the paper; why "
      "is not known.")
OTHERS = {  # cells where an independent implementation differs from the paper, and what it finds
    ("RBF SMA", "Ionosphere"): (.100, "An independent implementation finds .09 to .10 as well, however the features "
                                      "are scaled: the paper's .053 is not reached."),
    ("Sp. RBF PLS", "Ionosphere"): (.128, "Sparse kernel PLS is a reconstruction: the paper's reference does not fix "
                                          "how its directions are kept sparse."),
    ("Sp. RBF PLS", "Sonar"): (.134, "Sparse kernel PLS is a reconstruction; an independent implementation of it "
                                     "finds .134."),
    ("Exp BLF", "Sonar"): (.173, "An independent implementation finds .173: the refit of all coefficients is a reading "
                                 "of the method."),
    ("Exp KB", "SPECTF"): (.296, KB), ("Log KB", "SPECTF"): (.285, KB)}
NEAR = .04

lab = Lab(__file__, "Table 4: error of nearest neighbours on extracted features", "in part",
          "Most cells are within .04 of the paper. Not reached: boosting on SPECTF, whose details are not known, and "
          "RBF SMA on Ionosphere.")
lab.need(*(file for files in uci.SETS.values() for file in files))
sets = {name: uci.prepare(lab, name) for name in uci.SETS}
lab.note(uci.PROTOCOL + """ the number of features (1 to the rank of the columns; boosting also 100, 200 to 1000 rounds;
RBF rows 1 to 100), the number of neighbours (1, 3, 5, 7, 9) and the width of the RBF kernel (0.125 to 16). Neighbours
by the RBF kernel are those by distance, so "RBF features" is the row "All features" with two draws instead of
three.""")
lab.note("The paper's RBF features go up to the rank, here they end at 100. " + uci.limits(NEAR))
table = lab.table("Fraction misclassified", "features", *sets)
for row, papers in PAPER.items():
    cells = []
    for (name, (data, rank)), paper in zip(sets.items(), papers):
        found = uci.evaluate(lab, data, rank, row, "knn", ["head.k=1,3,5,7,9"])
        cells.append(uci.judged(found, paper, NEAR, OTHERS.get((row, name), (None, None))))
    table.row(row, *cells)
lab.finish()
