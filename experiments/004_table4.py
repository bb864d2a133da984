#!/usr/bin/python3
"""Paper 004, Table 4: error of nearest neighbours on features of four UCI sets."""
import uci
from lab import Lab

PAPER = {  # Ionosphere, Sonar, SPECTF, WDBC
    "All features": (.140, .150, .244, .034), "PLS": (.110, .179, .230, .032), "SMA": (.106, .215, .253, .047),
    "SMC": (.105, .203, .235, .045), "Exp BLF": (.096, .218, .206, .049), "Log BLF": (.087, .215, .206, .044),
    "LAD BLF": (.099, .241, .219, .043), "Exp KB": (.134, .237, .238, .046), "Log KB": (.110, .241, .223, .027),
    "Sp. KPLS": (.084, .180, .236, .044), "RBF features": (.141, .133, .235, .033), "RBF PLS": (.050, .107, .223, .029),
    "RBF SMA": (.053, .168, .215, .036), "RBF SMC": (.057, .173, .243, .052), "Sp. RBF PLS": (.073, .195, .260, .044)}
KB = "An independent implementation of the same reconstruction of kernel boosting finds the same."
OTHERS = {  # cells where an independent implementation differs from the paper, and what it finds
    ("RBF SMA", "Ionosphere"): (.100, "An independent implementation finds .09 to .10 as well, however the features "
                                      "are scaled: the paper's .053 is not reached."),
    ("Sp. RBF PLS", "Ionosphere"): (.128, "Sparse kernel PLS is a reconstruction: the paper's reference does not fix "
                                          "how its directions are kept sparse."),
    ("Sp. RBF PLS", "Sonar"): (.134, "An independent implementation finds .134, with the same reconstruction of sparse kernel "
                                     "PLS."),
    ("Exp BLF", "Sonar"): (.173, "An independent implementation finds .173: the refit of all coefficients is a reading of "
                                 "the method."),
    ("Exp KB", "SPECTF"): (.296, KB), ("Log KB", "SPECTF"): (.285, KB)}
NEAR = .04

lab = Lab(__file__, "Table 4: error of nearest neighbours on extracted features")
lab.need(*(file for files in uci.SETS.values() for file in files))
sets = {name: uci.prepare(lab, name) for name in uci.SETS}
lab.note("""Columns of the whole set to mean 0 and length 1 before splitting, as the paper did. The number of features,
up to the rank (boosting also 100, 200 to 1000 rounds), the number of neighbours (1, 3, 5, 7, 9) and the width of the RBF
kernel (0.125 to 16) are chosen within each training part. The paper's standard deviations over folds are .01 to .07;
limits are .04 from the paper, and for cells with a reason below, where that is left, .02 above what an independent
implementation finds. Neighbours by the RBF kernel are those by distance, so "RBF features" is the row "All features" on other folds.""")
table = lab.table("Share of rows in the wrong class", "features", *sets)
for row, papers in PAPER.items():
    cells = []
    for (name, (data, rank)), paper in zip(sets.items(), papers):
        error, _ = uci.evaluate(lab, data, rank, row, "knn", ["head.k=1,3,5,7,9"])
        cells.append(uci.judged(error, paper, NEAR, OTHERS.get((row, name), (None, None))))
    table.row(row, *cells)
lab.finish()
