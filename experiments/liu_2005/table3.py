# SPDX-License-Identifier: BSD-3-Clause
"""Liu, Mio 2005, Table 3: all 40 subjects of the ORL faces in ten dimensions."""
import koca_tables
from lab import Lab

WHY = {
    "pixels": "The paper does not tell beta; ours is fitted to F in cross validation.",
    "KPCA": "The width is not known: .6 times the median has the paper's test rates, no width tried its row of cross "
            "validation.",
    ("KPCA", "cross validation", 2): "The paper's figure is no multiple of 1/120 and repeats the digits of its F, "
                                     ".529: most likely a copying error.",
    "KOCA": "Not explained: no width, beta or start tried reaches the paper's F. An independent implementation has .988 and "
            ".857 with this width, and the same rates."}

lab = Lab(__file__, "Table 3: 40 faces in ten dimensions", "in part",
          "Rates of pixels are the paper's, those of KOCA within a few images. F of KOCA and rates of kernel PCA are "
          "not; the width is not known.")
lab.note("""As Table 2, with all subjects. The limits of KOCA are 100 / 100 % in cross validation, which the search
sees, and 98 / 98 % on the test images; with 120 of these one image is 0.8 %.""")
koca_tables.faces(lab, subjects=5 if lab.quick else 40, components=10,
                  paper={"pixels": [("0.521", "96.7", "71.7"), ("0.524", "94.2", "73.3")],
                         "KPCA": [("0.529", "83.3", "52.9"), ("0.526", "92.5", "63.3")],
                         "KOCA": [("0.995", "100.0", "100.0"), ("0.937", "100.0", "99.17")]},
                  least={"cross validation": 100, "test": 98}, why=WHY)
lab.finish()
