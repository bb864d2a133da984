# SPDX-License-Identifier: BSD-3-Clause
"""Jiang et al. 2006, Table 2: reconstruction errors of ten features of a ring."""
import ring
from lab import Lab, cell

PAPER = {
    500: (.0525, .0950, .0702, .1193), 1000: (.0584, .0996, .0789, .1305), 1500: (.0553, .0849, .0773, .1201),
    2000: (.0567, .0866, .0763, .1307), 2500: (.0564, .0837, .0772, .1433), 3000: (.0569, .0853, .0781, .1328),
    3500: (.0553, .0825, .0743, .1309)}
# An independent implementation on other rings, mean of three to ten of them.
KNOWN = {
    500: (.0533, .0910, .0739, .1092), 1000: (.0549, .0881, .0746, .1198), 1500: (.0556, .0838, .0763, .1244),
    2000: (.0563, .0846, .0757, .1333), 2500: (.0553, .0880, .0741, .1241), 3000: (.0564, .0866, .0750, .1352),
    3500: (.0554, .0869, .0754, .1268)}
NEAR = (.003, .010, .005, .015)
SKFA = ("One draw in the paper. Whether its SKFA ran on the centred matrix, and what its l1 norm counts, is not said; "
        "ours is centred and counts weights of images. The readings differ by more than one draw can tell.")
ONE_DRAW = "One draw in the paper, the mean of five here."

lab = Lab(__file__, "Table 2: what ten features leave of a ring", "yes",
          "Errors are within the limits, and the order of the methods holds. The paper has one draw for each size.")
lab.note("""Rings of radius 8 with noise 1, `rbf:sigma=4`, centred; mean squared error in feature space. Judged
against an independent implementation's means on other rings (within 0.003 for KPCA, 0.005 for AKFA, 0.010 for ACKFA with
delta 0.4, 0.015 for SKFA).""")
table = lab.table("Mean reconstruction error of ten features, five rings a cell", "points", *ring.METHODS)
ordered = []
for rows in (200,) if lab.quick else ring.SIZES:
    known, paper = (KNOWN[500], PAPER[500]) if lab.quick else (KNOWN[rows], PAPER[rows])
    errors = [ring.mean(lab, rows, method, "reconstruction_error") for method in ring.METHODS.values()]
    table.row(rows, *(cell(error, published, low=expected - near, high=expected + near, digits=4,
                           why=SKFA if name == "SKFA" else ONE_DRAW)
                      for name, error, published, expected, near in zip(ring.METHODS, errors, paper, known, NEAR)))
    ordered.append(errors[0] < errors[2] < errors[1] < errors[3])
lab.check("KPCA < AKFA < ACKFA < SKFA at every size, as in the paper", all(ordered))
lab.finish()
