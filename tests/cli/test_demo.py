#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer demo: test_demo.py MERCER [WORD...] [-jN] [--quick]"""
import re
import sys

from support import columns_of, mercer, run_tests, slow_test


@slow_test
def test_demo():
    for columns in ["40", "80", "200"]:
        text = mercer("demo", "--rows", 300, env={"COLUMNS": columns}).out
        assert "\033" not in text and re.search("[\u2801-\u28ff]", text)
        if columns != "40":
            wide = [line for line in text.splitlines() if columns_of(line) > int(columns)]
            assert not wide, wide[0]
        drawn = [line for line in text.splitlines() if re.search("[│┤]", line)]
        assert len(drawn) > 8 and max(map(columns_of, drawn)) <= int(columns)
    for word in ["75 GB", "lowrank", "100,000", "never formed", "mercer fit ring.csv", "f10"]:
        assert word in text, word


if __name__ == "__main__":
    sys.exit(run_tests())
