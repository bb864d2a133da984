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


@test
def test_pca_that_is_level_is_noted():
    """Classes that a plane separates: no kernel is needed. On a ring pca is no match."""
    x = np.random.default_rng(1).normal(size=(120, 3))
    np.savetxt("flat.csv", np.c_[x, x[:, 0] + x[:, 1] > 0], delimiter=",", header="a,b,c,label", comments="")
    words = ["flat.csv", "-m", "pca", "-m", "kpca", "-n", 3, "--head", "ls"]
    notes = report("compare", *words)["notices"]
    assert len(notes) == 1 and notes[0].startswith("pca is level with every kernel"), notes
    tune = notes[0].split("try --tune ")[1]
    low, high = (float(v) for v in tune.split("=")[1].split(":")[:2])
    pairs = np.linalg.norm(x[:, None] - x[None], axis=2)[np.triu_indices(120, 1)]
    assert abs(low / np.median(pairs) - 0.5) < 0.05 and abs(high / low - 16) < 1
    assert "level" in mercer("compare", *words).err
    assert report("compare", *words, "--tune", tune)["methods"][1]["choices"] == 5  # and the width was tried:
    assert not any("level" in note for note in report("compare", *words, "--tune", tune)["notices"])
    r = np.where(np.arange(120) % 2, 1.0, 3.0) + 0.1 * x[:, 2]
    np.savetxt("ring.csv", np.c_[r * np.cos(np.arange(120)), r * np.sin(np.arange(120)), np.arange(120) % 2],
               delimiter=",", header="a,b,label", comments="")
    words = ["ring.csv", "-m", "pca", "-m", "kpca", "--head", "ls", "-n", 5]
    assert not any("level" in note for note in report("compare", *words)["notices"])


if __name__ == "__main__":
    sys.exit(run_tests())
