#!/usr/bin/python3
"""Paper 004, Table 5: error of support vector machines on features of four UCI sets."""
import uci
from lab import Lab, cell

PAPER = {  # Ionosphere, Sonar, SPECTF, WDBC
    "All features": (.134, .231, .205, .025), "PLS": (.132, .224, .201, .028), "SMA": (.133, .224, .230, .028),
    "SMC": (.123, .231, .213, .034), "Exp BLF": (.138, .234, .224, .040), "Log BLF": (.133, .228, .223, .032),
    "LAD BLF": (.124, .239, .228, .031), "Exp KB": (.131, .205, .200, .033), "Log KB": (.129, .217, .206, .023),
    "Sp. KPLS": (.136, .246, .209, .021), "RBF features": (.056, .145, .200, .031), "RBF PLS": (.069, .122, .219, .027),
    "RBF SMA": (.057, .146, .194, .030), "RBF SMC": (.057, .141, .202, .031), "Sp. RBF PLS": (.056, .137, .291, .027)}
KB = ("Kernel boosting is a reconstruction. An independent implementation of it finds .250 with the logistic loss; the "
      "next table shows that it is not the luck of the folds.")
OTHERS = {("Exp KB", "Sonar"): (.250, KB), ("Log KB", "Sonar"): (.250, KB),
          ("Sp. RBF PLS", "SPECTF"): (.206, "Always answering the larger class is wrong in .206 of the rows; the paper's "
                                            ".291 is above that.")}
NEAR = .03
LINEAR_SVM = "svm", ("head.c=0.125:128:*2",)

lab = Lab(__file__, "Table 5: error of support vector machines on extracted features")
lab.need(*(file for files in uci.SETS.values() for file in files))
sets = {name: uci.prepare(lab, name) for name in uci.SETS}
lab.note("""As Table 4, with a linear machine of LIBSVM on the features; its cost (0.125 to 128) is chosen within each
training part, the number of features from thirteen numbers up to 100 or the rank (boosting
also 100, 200 to 1000 rounds). Limits are .03 from the paper, and for cells with a reason below, where that is left, .02
above what an independent implementation finds. "RBF features" is a machine with the RBF kernel on the columns themselves.""")
table = lab.table("Share of rows in the wrong class", "features", *sets)
for row, papers in PAPER.items():
    cells = []
    for (name, (data, rank)), paper in zip(sets.items(), papers):
        head, tunes = LINEAR_SVM
        if row == "RBF features":  # widths as gamma = 1 / (2 sigma^2)
            head, tunes = "svm:kernel=rbf", [*tunes, "head.gamma=" + ",".join(str(1 / (2 * 4.0**e))
                                                                              for e in range(-3, 5))]
        error, _ = uci.evaluate(lab, data, rank, row, head, tunes, all_numbers=False)
        cells.append(uci.judged(error, paper, NEAR, OTHERS.get((row, name), (None, None))))
    table.row(row, *cells)
again = lab.table("The same of Sonar, the mean over twenty draws of the folds", "features", "error")
for row in ("Exp KB", "Log KB"):
    error, _ = uci.evaluate(lab, *sets["Sonar"], row, *LINEAR_SVM, all_numbers=False, draws=20)
    again.row(row, cell(error))
lab.finish()
