# SPDX-License-Identifier: BSD-3-Clause
"""Dhanjal et al. 2009, Table 5: error of support vector machines on features of four UCI sets."""
import uci
from lab import Lab, cell

PAPER = {  # Ionosphere, Sonar, SPECTF, WDBC: error, standard deviation
    "All features": ((.134, .03), (.231, .08), (.205, .03), (.025, .01)),
    "PLS": ((.132, .03), (.224, .07), (.201, .04), (.028, .01)),
    "SMA": ((.133, .04), (.224, .08), (.230, .05), (.028, .01)),
    "SMC": ((.123, .03), (.231, .07), (.213, .03), (.034, .02)),
    "Exp BLF": ((.138, .03), (.234, .06), (.224, .06), (.040, .01)),
    "Log BLF": ((.133, .03), (.228, .06), (.223, .05), (.032, .01)),
    "LAD BLF": ((.124, .04), (.239, .05), (.228, .04), (.031, .01)),
    "Exp KB": ((.131, .03), (.205, .03), (.200, .04), (.033, .01)),
    "Log KB": ((.129, .03), (.217, .05), (.206, .03), (.023, .01)),
    "Sp. KPLS": ((.136, .04), (.246, .06), (.209, .04), (.021, .01)),
    "RBF features": ((.056, .03), (.145, .07), (.200, .03), (.031, .01)),
    "RBF PLS": ((.069, .02), (.122, .03), (.219, .03), (.027, .01)),
    "RBF SMA": ((.057, .03), (.146, .06), (.194, .03), (.030, .02)),
    "RBF SMC": ((.057, .03), (.141, .04), (.202, .03), (.031, .01)),
    "Sp. RBF PLS": ((.056, .03), (.137, .09), (.291, .10), (.027, .01))}
KB = ("Kernel boosting is a reconstruction. An independent implementation of it finds .250 with the logistic loss. No "
      "figure of it is known for the exponential loss, which takes the same limit. The next table has more draws.")
OTHERS = {("Exp KB", "Sonar"): (.250, KB), ("Log KB", "Sonar"): (.250, KB),
          ("Sp. RBF PLS", "SPECTF"): (.206, "Always answering the larger class is wrong in .206 of the rows, from "
                                            "which the limit is taken; the paper's .291 is above that.")}
NEAR = .03
LINEAR_SVM = "svm", ("head.c=0.125:128:*2",)

lab = Lab(__file__, "Table 5: error of support vector machines on extracted features", "in part",
          "Most cells are within .03 of the paper. Not reached: boosting on Sonar, whose details are not known.")
lab.need(*(file for files in uci.SETS.values() for file in files))
sets = {name: uci.prepare(lab, name) for name in uci.SETS}
lab.note(uci.PROTOCOL + """ the cost (0.125 to 128) of a linear machine of LIBSVM on the features, their number and the
width of the RBF kernel (0.125 to 16). "RBF features" is a machine with the RBF kernel on the columns themselves.""")
lab.note("""The paper tries every number of features up to the rank. Here it is one of thirteen, up to the rank of the
columns (boosting also 100, 200 to 1000 rounds) or, in RBF rows, up to 100. """ + uci.limits(NEAR))
table = lab.table("Fraction misclassified", "features", *sets)
for row, papers in PAPER.items():
    cells = []
    for (name, (data, rank)), paper in zip(sets.items(), papers):
        head, tunes = LINEAR_SVM
        if row == "RBF features":  # widths as gamma = 1 / (2 sigma^2)
            head, tunes = "svm:kernel=rbf", [*tunes, "head.gamma=" + ",".join(str(1 / (2 * 4.0**e))
                                                                              for e in range(-3, 5))]
        found = uci.evaluate(lab, data, rank, row, head, tunes, all_numbers=False)
        cells.append(uci.judged(found, paper, NEAR, OTHERS.get((row, name), (None, None))))
    table.row(row, *cells)
again = lab.table("The same of Sonar, the mean over twenty draws of the folds", "features", "error")
for row in ("Exp KB", "Log KB"):
    error, spread = uci.evaluate(lab, *sets["Sonar"], row, *LINEAR_SVM, all_numbers=False, draws=20)
    again.row(row, cell(error, spread=spread))
lab.finish()
