# SPDX-License-Identifier: BSD-3-Clause
"""The noisy ring of Jiang et al. 2006, sections 5.1 to 5.3.

Radius 8, normal noise of deviation 1. The paper's "theta = 4" is sigma = 4 of its (5), and the kernel
matrix is centred: every other reading misses its Table 2 by a factor of two.
"""
METHODS = {"KPCA": "kpca", "ACKFA": "ackfa:delta=0.4,relative=off", "AKFA": "akfa", "SKFA": "skfa"}
SIZES = (500, 1000, 1500, 2000, 2500, 3000, 3500)


def fit(lab, rows, seed, method, features=10, *more):
    """The report of a fit to a ring of so many points, on one thread: for so few it is the quickest."""
    data = lab.folder / "ring.npy"
    lab.mercer("generate", "circle", "--rows", rows, "--seed", seed, "-o", data, "--quiet")
    return lab.fit("ring.model", data, "-m", method, "-k", "rbf:sigma=4", "-n", features, "--center", "exact",
                   "--threads", 1, *more)[0]


def mean(lab, rows, method, key, features=10):
    """The mean of a number of the reports over five rings, others for every size."""
    seeds = (rows + 1,) if lab.quick else range(rows + 1, rows + 6)
    return sum(fit(lab, rows, seed, method, features)[key] for seed in seeds) / len(seeds)
