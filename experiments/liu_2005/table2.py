# SPDX-License-Identifier: BSD-3-Clause
"""Liu, Mio 2005, Table 2: five subjects of the ORL faces in two dimensions."""
import koca_tables
from lab import Lab

WHY = {
    "pixels": "The paper does not tell beta: the one that fits Table 3 is up to .003 off here.",
    "KPCA": "Not explained. No width tried gives kernel PCA of the first five subjects these rates, centred or not, "
            "although their raw rates are the paper's.",
    "KOCA": "The width is not known. With three times the median distance and beta .157, F in cross validation is the "
            "paper's; that of the test images stays lower, which is not explained."}

lab = Lab(__file__, "Table 2: five faces in two dimensions", "in part",
          "Rates of pixels and KOCA are the paper's. Those of kernel PCA are not, with any width tried; F of KOCA "
          "stays lower on test images.")
lab.note("""Four images of each subject train, three judge the search, three test. F as in the paper's tables, with
four neighbours and beta .157, which its figures for raw pixels lead to: these must be the paper's within .004, raw
rates to the digit. KOCA with `neighbours=4`, KPCA not centred, both with the median distance as width: the paper does
not tell its own. Limits of KOCA: all images in cross validation, and all but one of the 15 test images.""")
koca_tables.faces(lab, subjects=5, components=2,
                  paper={"pixels": [("0.542", "100.0", "86.7"), ("0.545", "100.0", "86.7")],
                         "KPCA": [("0.719", "100.0", "80.0"), ("0.715", "100.0", "80.0")],
                         "KOCA": [("0.994", "100.0", "100.0"), ("0.955", "100.0", "100.0")]},
                  least={"cross validation": 100, "test": 93}, why=WHY)
lab.finish()
