#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer compare: test_compare.py MERCER [WORD...] [-jN] [--quick]"""
import sys

import numpy as np

from support import mercer, refused, report, run_tests, species, test


@test
def test_compare_methods_on_the_same_folds():
    species(90)
    told = report("compare", "species.csv", "-m", "pls", "-m", "kpls:components=3", "-m", "sma", "-n", 3)
    assert [m["method"] for m in told["methods"]] == ["pls", "kpls:components=3", "sma"]
    alone = report("evaluate", "species.csv", "-m", "sma", "-n", 3)
    assert told["methods"][2]["mean"] == alone["mean"]
    values = [[f["value"] for f in m["folds"]] for m in told["methods"]]
    assert abs(told["methods"][2]["difference"] - np.mean(np.subtract(values[2], values[0]))) < 1e-12
    assert told["methods"][2]["expansion_points"] == 3
    out = mercer("compare", "species.csv", "-m", "pls", "-m", "sma", "-n", 3).out
    assert "SD of difference" in out and out.count("\n") > 5
    refused("compare", "species.csv", status=2, says="-m")
    refused("compare", "species.csv", "-m", "pls", "-m", "kplss", status=2, says="kpls")
    # What one of them can be tuned by does not keep the other out.
    words = ["species.csv", "--head", "ls", "--tune", "kernel.sigma=1,4", "--tune", "components=1,3"]
    told = report("compare", "-m", "pca", "-m", "kpca", *words)
    assert [m["choices"] for m in told["methods"]] == [2, 4]
    assert told["methods"][1]["mean"] == report("evaluate", "-m", "kpca", *words)["mean"]
    assert told["notices"] == ["pca: has no kernel.sigma to tune"]
    refused("compare", "-m", "pca", "-m", "kpca", *words, "--tune", "kernel.sgma=1", status=2, says="sgma")
    refused("evaluate", "-m", "pca", *words, status=2, says="sigma")


if __name__ == "__main__":
    sys.exit(run_tests())
