#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer generate: test_generate.py MERCER [WORD...] [-jN] [--quick]"""
import re
import sys

import numpy as np

from support import mercer, numbers, refused, run_tests, test


@test
def test_generate_sets():
    text = mercer("generate", "--help").out
    for name in ["circle", "swiss-cross", "swiss-roll", "parabola", "sparse-linear"]:
        assert re.search(rf"^  {name}  ", text, re.M), name
        assert mercer("generate", name, "--rows", 10).out.count("\n") == 11
    _, x = numbers(mercer("generate", "circle", "--rows", 1e4).out)
    radius = np.hypot(*x.T)
    assert len(x) == 10000 and abs(np.sqrt((radius ** 2).mean()) - 8) < 0.3
    _, x = numbers(mercer("generate", "circle", "--rows", 100, "--noise", 0).out)
    assert np.allclose(np.hypot(*x.T), 8)
    refused("generate", "circle", "--rows", 0, status=2, says="--rows")
    refused("generate", "circle", "--noise", -1, status=2, says="--noise")


@test
def test_generate_labels():
    lines = mercer("generate", "sparse-linear", "--rows", 30).out.splitlines()
    head = lines[0].split(",")
    assert head[0] in ("label", "target") and len(head) == 1001
    assert len(lines[1].split(",")) == 1001


if __name__ == "__main__":
    sys.exit(run_tests())
