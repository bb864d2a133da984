# SPDX-License-Identifier: BSD-3-Clause
"""The synthetic problem of Dhanjal et al. 2009, Figures 2 and 3."""
import numpy as np


def write(lab, rows, seed):
    """1000 columns of mean 0 and length 1; the target is a combination of 50 of them and a little
    uniform noise. The path of the table, whose last column is the target."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 1000))
    y = x[:, :50] @ random.normal(size=50) + random.uniform(-.1, .1, rows)
    x -= x.mean(0)
    x /= np.linalg.norm(x, axis=0)
    y -= y.mean()
    y /= np.linalg.norm(y)
    path = lab.folder / f"linear-{rows}.npy"
    np.save(path, np.c_[x, y])
    return path
