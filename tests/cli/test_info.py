#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer info: test_info.py MERCER [WORD...] [-jN] [--quick]"""
import sys

from support import cloud, mercer, report, run_tests, table, test


@test
def test_info():
    table("x.csv", cloud(), "abcd")
    words = ["fit", "x.csv", "-m", "kpca", "-k", "rbf:sigma=2", "-n", 3, "--seed", 4, "-o", "x.model"]
    fitted = report(*words)
    result = report("info", "x.model")
    for key in ["method", "kernel", "rows", "columns", "components", "spectrum", "share",
                "reconstruction_error", "expansion_points", "selected"]:
        assert result[key] == fitted[key], key
    assert result["column_names"] == list("abcd") and result["seed"] == 4
    assert result["command"].startswith("mercer fit x.csv -m kpca")
    text = mercer("info", "x.model").out
    for word in ["kpca", "rbf:sigma=2", "a, b, c, d", "mercer fit x.csv", "f3"]:
        assert word in text, word


if __name__ == "__main__":
    sys.exit(run_tests())
