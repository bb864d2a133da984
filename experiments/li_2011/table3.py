# SPDX-License-Identifier: BSD-3-Clause
"""Li et al. 2011, Table 3: WDBC."""
import ida
from lab import Lab

WHY = ("The classifier is not named; k nearest neighbours have 4.0 with kernel PCA in an independent implementation. The "
       "paper's loss of 1.6 points is not in the method: 110 points lose next to nothing, chosen or random. Its text "
       "exchanges the two figures of its table.")

lab = Lab(__file__, "Table 3: RKPCA and kernel PCA on WDBC", "in part",
          "Kernel PCA is within one point of the paper. Its loss of 1.6 points by RKPCA is not seen.")
lab.note("""Twenty splits into 300 and 269 rows, columns standardised by the training rows; otherwise as Tables 1 and
2. The paper does not tell its splits. Its spreads are half of ours, which is not explained: drawing 269 test rows of
569 alone spreads an error of 3.8 % by .85. Judged against an independent implementation within 0.3 (KPCA) and 0.5 (RKPCA)
points, within 1 on the first split; against the paper kernel PCA within 1 point.""")
table = lab.table("Error in %", "method", *ida.HEAD[1:], *ida.MORE)
full, few = (ida.errors(lab, "wdbc", method) for method in ("kpca", "rkpca"))
table.row("KPCA", *ida.row("wdbc", "kpca", full, WHY)[1:], "", "", "")
table.row("RKPCA", *ida.row("wdbc", "rkpca", few, WHY)[1:], *ida.more(lab, "wdbc", few, full))
lab.finish()
