#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer truncate: test_truncate.py MERCER [WORD...] [-jN] [--quick]"""
import os
import pathlib
import stat
import sys

import numpy as np

from support import files, mercer, numbers, refused, report, ring_model, run_tests, species, test


@test
def test_truncate_keeps_the_first_features():
    ring_model()
    whole = pathlib.Path("ring.model").read_bytes()
    features = numbers(mercer("transform", "ring.model", "ring.csv").out)[1]
    before = report("info", "ring.model")
    done = report("truncate", "ring.model", "-n", 3, "-o", "small.model")
    assert (done["components"], done["components_before"]) == (3, 5), done
    assert pathlib.Path("ring.model").read_bytes() == whole
    names, first = numbers(mercer("transform", "small.model", "ring.csv").out)
    assert names == ["f1", "f2", "f3"] and np.allclose(first, features[:, :3], rtol=0, atol=1e-12)
    after = report("info", "small.model")
    assert after["spectrum"] == before["spectrum"][:3]
    lost = sum(before["spectrum"][3:]) / before["rows"]
    assert abs(after["reconstruction_error"] - before["reconstruction_error"] - lost) < 1e-14
    errors = numbers(mercer("transform", "small.model", "ring.csv", "--errors").out)[1][:, -1]
    assert abs(errors.mean() - after["reconstruction_error"]) < 1e-12
    mercer("inverse", "small.model", "-", stdin=mercer("transform", "small.model", "ring.csv").stdout)


@test
def test_first_features_of_methods_that_are_not_nested():
    """Truncate and predict -n say so when a fit with fewer components has other features."""
    species(60)
    cases = {"greedy": False, "greedy:points=12": True, "kha": False, "kpca": True,
             "ikpca": False, "ikpca:rank=9": True, "rkpca:captured=0.9": True, "koca": False}
    for method, nested in cases.items():
        mercer("fit", "species.csv", "-m", method, "-n", 4, "--head", "ls", "-o", "m", "--quiet")
        notes = mercer("truncate", "m", "-n", 2, "-o", "short").err
        assert ("not those of a fit with 2" in notes) == (not nested), (method, notes)
        notes = mercer("predict", "m", "species.csv", "-n", 2, "-o", "p.csv").err
        assert notes.count("not those of a fit with 2") == (not nested), (method, notes)
        for quiet in (mercer("truncate", "m", "-n", 4, "-o", "short").err,
                      mercer("predict", "m", "species.csv", "-o", "p.csv").err,
                      mercer("predict", "m", "species.csv", "-n", 4, "-o", "p.csv").err):
            assert "not those of a fit" not in quiet, (method, quiet)


@test
def test_truncate_replaces_the_model():
    ring_model()
    os.chmod("ring.model", 0o640)
    done = mercer("truncate", "ring.model", "-n", 2)
    assert "ring.model: 2 of 5 components kept" in done.out, done.out
    assert report("info", "ring.model")["components"] == 2
    assert stat.S_IMODE(os.stat("ring.model").st_mode) == 0o640
    assert files() == ["ring.csv", "ring.model"]
    piped = mercer("truncate", "ring.model", "-n", 1, "-o", "-", "--quiet").stdout
    assert mercer("truncate", "-", "-n", 1, "-o", "one.model", stdin=piped, status=0)
    assert pathlib.Path("one.model").read_bytes() == piped


@test
def test_truncate_refusals():
    ring_model()
    before = pathlib.Path("ring.model").read_bytes()
    refused("truncate", "ring.model", status=2, says="add -n")
    refused("truncate", "ring.model", "-n", 6, status=2, says=("6 components", "1 to 5"))
    for wrong in ("0", "-1", "2.5", "many"):
        refused("truncate", "ring.model", "-n", wrong, status=2, says=wrong)
    refused("truncate", "ring.csv", "-n", 1, status=1, says="ring.csv")
    refused("truncate", "-", "-n", 1, status=2, says="-o FILE", stdin=before)
    refused("truncate", "ring.model", "-n", 1, "-o", "absent/x", status=1, says="absent")
    assert pathlib.Path("ring.model").read_bytes() == before


if __name__ == "__main__":
    sys.exit(run_tests())
