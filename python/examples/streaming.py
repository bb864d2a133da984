# SPDX-License-Identifier: BSD-3-Clause
"""Rows as they come, and which of them are unlike the others."""
# %% learn from blocks, in memory that does not grow
import numpy as np

from mercer import IncrementalKernelPCA, KernelPCA

random = np.random.default_rng(0)
stream = IncrementalKernelPCA(5, scale="standard")
for day in range(5):
    stream.partial_fit(random.normal(size=(400, 6)))
print(stream.model_.info["rows"], "rows,", stream.model_.info["expansion_points"], "kept")
assert stream.model_.info["rows"] == 2000

# %% novelty
usual = KernelPCA(5, novelty=0.05).fit(random.normal(size=(500, 6)))
strange = np.full((3, 6), 8.0)
print("novel:", usual.is_novel(strange))
assert usual.is_novel(strange).all()

# %% a kernel of one's own
import mercer


@mercer.matrix_kernel(semidefinite=True)
def cauchy(A, B):
    return 1 / (1 + ((A[:, None] - B) ** 2).sum(axis=2))


print(KernelPCA(2, kernel=cauchy).fit_transform(random.normal(size=(50, 3))).shape)
