#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer methods, mercer kernels, mercer heads: test_lists.py MERCER [WORD...] [-jN] [--quick]"""
import json
import re
import sys

from support import mercer, run_tests, test


@test
def test_lists():
    for what, some in [("methods", "kpca"), ("kernels", "rbf"), ("heads", "knn")]:
        entries = json.loads(mercer(what, "--json").out)[what]
        text = mercer(what).out
        assert some in [entry["name"] for entry in entries]
        for entry in entries:
            assert entry["summary"] in re.sub(r"\s+", " ", text), entry["summary"]
            one = mercer(what, entry["name"]).out
            assert all(parameter["key"] in one for parameter in entry["parameters"])
            assert json.loads(mercer(what, entry["name"], "--json").out) == entry
    assert "median" in mercer("kernels", "rbf").out


if __name__ == "__main__":
    sys.exit(run_tests())
