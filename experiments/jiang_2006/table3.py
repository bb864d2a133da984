# SPDX-License-Identifier: BSD-3-Clause
"""Jiang et al. 2006, Table 3: faces by four methods and four widths, and linear PCA."""
import numpy as np

import yale
from lab import Lab, cell

SIGMAS = (14, 20, 24, 34)
PAPER = {"AKFA": (72.12, 75.15, 76.97, 75.76), "ACKFA": (72.12, 76.36, 75.15, 64.24),
         "KPCA": (76.36, 75.76, 76.36, 75.15), "SKFA": (68.48, 74.55, 76.36, 73.33)}
SECONDS = {"AKFA": .135, "ACKFA": .085, "KPCA": .185, "SKFA": 15.705}
# An independent implementation of the same protocol.
KNOWN = {"AKFA": (72.12, 73.33, 74.55, 75.15), "ACKFA": (72.73, 72.12, 75.76, 65.45),
         "KPCA": (75.15, 76.36, 76.36, 75.15), "SKFA": (67.27, 72.12, 72.12, 73.94)}
NEAR = {"AKFA": 1.3, "ACKFA": 1.3, "KPCA": .7, "SKFA": 1.3}
FEATURES = (80, 80, 57, 16)  # of ACKFA, mean over the images left out
PAPER_NEAR = 4.5

lab = Lab(__file__, "Table 3: faces recognised, by method and width", "in part",
          "Kernel methods are within 4.5 points of the paper, by a protocol that was searched for. Linear PCA is as "
          "good as kernel PCA here, which contradicts the paper.")
data, features = yale.write(lab), yale.features(lab)
sigmas = SIGMAS[2:3] if lab.quick else SIGMAS
lab.note("""The 165 faces of the Yale set; each image is left out in turn, features are found from the other 164, and
ten neighbours vote, ties to the lowest number. The paper does not say how images were cut out, sampled and scaled;
the protocol (`experiments/jiang_2006/yale.py`) was searched for, so that agreement with the paper is partly
selection. Judged against an independent implementation of this protocol (one image for KPCA, two for the selections, where
near-ties move picks) and within 4.5 points of the paper: an accuracy of 75 % of 165 images has a standard deviation
of 3.4, so the paper's order of the methods at one sigma means nothing. The seconds of a fit are shown and not judged,
the best of five on one thread. As in Table 1 the paper's SKFA is slow, presumably for a loop in Matlab (its text
gives the square of the number of features as the reason); ours needs one product with the matrix per feature, as AKFA
does.""")
table = lab.table(f"Accuracy in %, {features} features, k = 10; seconds for one fit", "method",
                  *(f"sigma {sigma}" for sigma in sigmas), "seconds")
found = {}
for name, method in yale.METHODS.items():
    reports = [yale.evaluate(lab, data, method, "k=10,ties=lowest", sigma) for sigma in sigmas]
    found[name] = np.array([yale.accuracy(report) for report in reports])
    if name == "ACKFA":
        counts = [np.mean([fold["chosen"]["components"] for fold in report["folds"]]) for report in reports]
    seconds = min(lab.fit("face.model", data, "-m", method, "-k", "rbf:sigma=24", "-n", features,
                          "--scale", "rowstandard", "--threads", 1)[0]["seconds"] for _ in range(1 if lab.quick else 5))
    table.row(name, *(cell(ours, paper, low=max(known - NEAR[name], paper - PAPER_NEAR),
                           high=min(known + NEAR[name], paper + PAPER_NEAR), digits=2)
                      for ours, paper, known in zip(found[name], PAPER[name], KNOWN[name])),
              cell(seconds, SECONDS[name]))
if not lab.quick:
    apart = np.concatenate([found[name] - PAPER[name] for name in found])
    rms = np.sqrt((apart**2).mean())
    lab.check(f"root mean square of the 16 differences from the paper at most 3 points: {rms:.1f}", rms <= 3)
    gap = found["AKFA"][3] - found["ACKFA"][3]
    lab.check(f"ACKFA at sigma 34 at least 5 points below AKFA, as in the paper: {gap:.1f}", gap >= 5)
table = lab.table("Features that ACKFA (delta 0.16) finds, mean over the images left out", *map(str, sigmas))
table.row(*(cell(count, low=known - 1, high=known + 1, digits=1) for count, known in zip(counts, FEATURES)))

lab.note("""**Linear PCA.** The paper's best is 60.61 % (50 features, k = 5), from which it concludes that kernel
features help. That is not reproduced: linear PCA equals kernel PCA within a few points or beats it. With sigma near
the median distance (25.5) and 80 of 164 features both nearly keep distances, so they must be alike. Judged against
an independent implementation (81.8 for 50 features and k = 5, best 84.8), not against the paper.""")
ks, counts = ((1, 5), (8, 12)) if lab.quick else ((1, 5, 10), (30, 40, 50, 60, 80))
table = lab.table("Accuracy of linear PCA in %", "features", *(f"k = {k}" for k in ks))
best = 0
for count in counts:
    row = [yale.accuracy(yale.evaluate(lab, data, "pca", f"k={k},ties=lowest", count=count)) for k in ks]
    best = max(best, *row)
    limits = {(50, 5): {"paper": 60.61, "low": 81.1, "high": 82.5, "why": "Not reproduced, see above."}}
    table.row(count, *(cell(ours, digits=2, **limits.get((count, k), {})) for ours, k in zip(row, ks)))
lab.check(f"the best linear PCA is within 0.7 of 84.8: {best:.1f}", abs(best - 84.8) <= .7)
lab.finish()
