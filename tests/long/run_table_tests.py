#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random messy tables by the hundred: `mercer advise` refuses each in one line, or prints commands that work.

Usage: run_table_tests.py MERCER [FIRST [COUNT]], seeds of tests/messy.py. Prints what fails, then "N passed, N failed".
"""
import sys

from common import MERCER
from harness import call, check, close, scratch
from messy import advice_that_fails

FIRST = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 600

with scratch():
    for seed in range(FIRST, FIRST + COUNT):
        wrong = advice_that_fails(lambda *words: call(MERCER, *words), seed)
        check(f"table {seed}", not wrong, "\n".join(wrong), quiet=True)
sys.exit(close())
