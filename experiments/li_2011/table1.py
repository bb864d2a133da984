# SPDX-License-Identifier: BSD-3-Clause
"""Li et al. 2011, Table 1: kernel PCA on six IDA sets."""
import ida
from lab import Lab

WHY = {
    "banana": "Ours is lower. The paper's classifier is not named; with one neighbour the other implementation has "
              "13.8. The paper's spread is not explained: one neighbour has .65 over these splits.",
    "image": "Ours is lower; of the other implementation's classifiers only the nearest mean (10.4) is worse than the "
             "paper's.",
    "flare_solar": "Within the paper's spread, with other splits. Of the other implementation's classifiers a linear "
                   "SVM comes nearest (32.7).",
    "splice": "Symbols 1 to 4 as numbers. The other implementation does not reach the paper's figure even by "
              "parameters chosen on the test rows.",
    "splice one-hot": "Ours is lower. With one neighbour the other implementation has 8.5.",
    "thyroid": "The other implementation reaches the paper's figure only by parameters chosen on the test rows, split "
               "by split. One of the 75 test rows is 1.3 %.",
    "titanic": "More than half of our spread is one split, the first; with s = 1 and m = 5 it spreads as the paper's "
               "(Table 2)."}

lab = Lab(__file__, "Table 1: kernel PCA on six sets", "in part",
          "Flare-solar and titanic agree. The paper names no classifier, and none that was tried reproduces the other "
          "four sets.")
lab.note("""Error in % over the splits, mean and standard deviation. The paper has 100 partitions, 20 of image and
splice; here are those that could be had: ten original ones of banana, image and titanic, and twenty of flare-solar,
splice and thyroid, the first inferred from the order of the rows and the others drawn. The paper names no classifier,
no width and no number of features. Ours is least squares on m features, sigma = s times the median distance, both
chosen by cross-validation inside training parts and frozen (`experiments/li_2011/ida.py`). None of the six
classifiers that an independent implementation tried reproduces this table: banana and one-hot splice look like one nearest
neighbour, flare-solar and titanic like least squares or a linear SVM, image and thyroid like none. So ours are judged
against that implementation of the same protocol: within 0.3 points on all splits and within 1 (thyroid 2.7, two rows)
on the first; against the paper only flare-solar (2.1 points) and titanic (1 point).""")
table = lab.table("Error of kernel PCA features in %", *ida.HEAD)
for name, found in ida.kpca_errors(lab).items():
    table.row(*ida.row(name, "kpca", found, WHY[name]))
lab.finish()
