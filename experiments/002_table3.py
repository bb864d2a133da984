#!/usr/bin/python3
"""Paper 002, Table 3: WDBC."""
import numpy as np

import ida
from lab import Lab, cell

WHY = ("The classifier is not named. The paper's loss of 1.6 points is not in the method: 110 chosen points lose next to "
       "nothing. Its text exchanges the two figures of its table.")

lab = Lab(__file__, "Table 3: RKPCA and kernel PCA on WDBC")
lab.note("""Twenty splits into 300 and 269 rows, columns standardised by the training rows; otherwise as Tables 1 and
2. Judged against another implementation within 0.3 (KPCA) and 0.5 (RKPCA) points, within 1 on the first split;
against the paper kernel PCA within 1 point.""")
table = lab.table("Error in %", "method", *ida.HEAD[1:], "lost against kernel PCA")
full = ida.errors(lab, "wdbc", "kpca")
table.row("KPCA", *ida.row("wdbc", "kpca", full, WHY)[1:], "")
few = ida.errors(lab, "wdbc", "rkpca")
table.row("RKPCA", *ida.row("wdbc", "rkpca", few, WHY)[1:], cell(np.mean(few) - np.mean(full), 1.6, high=3, digits=2))
lab.finish()
