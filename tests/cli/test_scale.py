#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer scale: test_scale.py MERCER [WORD...] [-jN] [--quick]"""
import sys

import numpy as np

from support import cloud, mercer, run_tests, table, test


@test
def test_scale_kinds():
    x = cloud(20, 3) * 3 + 2
    table("x.csv", x, "abc", label=["u", "v"] * 10)
    def scaled(*words):
        lines = mercer("scale", "x.csv", *words).out.splitlines()
        assert lines[0] == "label,a,b,c" and lines[1].startswith("u,")
        return np.array([[float(c) for c in line.split(",")[1:]] for line in lines[1:]])
    standard = scaled()
    assert np.allclose(standard, (x - x.mean(0)) / x.std(0)) and np.array_equal(
        standard, scaled("--scale", "standard"))
    assert np.allclose(scaled("--scale", "minmax"), (x - x.min(0)) / (x.max(0) - x.min(0)))
    assert np.allclose((scaled("--scale", "norm") ** 2).sum(0), 1)
    assert np.allclose((scaled("--scale", "unit") ** 2).sum(1), 1)
    assert np.allclose(scaled("--scale", "rowstandard").mean(1), 0)
    assert np.array_equal(scaled("--scale", "none"), x)
    table("bare.csv", x)
    mercer("scale", "bare.csv", "-o", "bare.npy", "--quiet")
    assert np.allclose(np.load("bare.npy"), standard)


if __name__ == "__main__":
    sys.exit(run_tests())
