# SPDX-License-Identifier: BSD-3-Clause
"""Li et al. 2011, Table 2: RKPCA with few points on six IDA sets."""
import ida
from lab import Lab

NOTHING = "Kernel PCA of all rows with the same s and m is not better: the points lose nothing."
FEATURES = "Most of it is lost by fewer features: kernel PCA with the same s and m loses it as well."
WHY = {
    "image": "Half of it is lost by 180 features in place of 400, half by the choice of points, which goes by "
             "variance: random points do better (3.62 in the other implementation).",
    "splice": FEATURES, "splice one-hot": FEATURES}

lab = Lab(__file__, "Table 2: RKPCA with few points on six sets", "in part",
          "Few points lose at most 3 points of accuracy, which is the paper's message. The errors differ as in Table "
          "1.")
lab.note("""As Table 1, but features use the paper's number of points, chosen by what they add to the captured
variance (the paper does not say how), with s and m of their own. Judged against an independent implementation within 0.5
points on all splits (near-ties move picks), within 1 (thyroid 2.7) on the first; and the paper's message: at most 3
points are lost against all rows. The last two columns tell where a loss comes from: kernel PCA of all rows with the s
and m of this table, and points drawn at random. The differences from the paper's errors have the reasons of Table 1;
that our spread on image is larger is not explained.""")
table = lab.table("Error of RKPCA features in %", *ida.HEAD, *ida.MORE)
for name, full in ida.kpca_errors(lab).items():
    found = ida.errors(lab, name, "rkpca")
    table.row(*ida.row(name, "rkpca", found), *ida.more(lab, name, found, full, WHY.get(name, NOTHING)))
lab.finish()
