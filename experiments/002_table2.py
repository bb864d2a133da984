#!/usr/bin/python3
"""Paper 002, Table 2: RKPCA with few points on six IDA sets."""
import numpy as np

import ida
from lab import Lab, cell

lab = Lab(__file__, "Table 2: RKPCA with few points on six sets")
lab.note("""As Table 1, but features stand on the paper's number of points, chosen by what they add to the captured
variance (the paper does not say how). Judged against another implementation within 0.5 points on all splits
(near-ties move picks), within 1 (thyroid 2.7) on the first; and the paper's message: at most 3 points are lost
against all rows. Where kernel PCA wants fewer features than there are points nothing is lost; on image and splice it
wants more, and the loss is real. The reasons of the differences from the paper are those of Table 1.""")
table = lab.table("Error of RKPCA features in %", *ida.HEAD, "lost against kernel PCA")
for name, full in ida.kpca_errors(lab).items():
    found, figures = ida.errors(lab, name, "rkpca"), ida.SETS[name]
    table.row(*ida.row(name, "rkpca", found), cell(np.mean(found) - np.mean(full),
                                                   figures["rkpca"].paper - figures["kpca"].paper, high=3, digits=2))
lab.finish()
