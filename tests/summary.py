"""Run the unittest cases of the calling script and close with a line "N passed, N failed"."""
import sys
import unittest


def main():
    result = unittest.main(exit=False, verbosity=2).result
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    passed = max(0, result.testsRun - failed - skipped)  # a failing set-up is no test run
    sys.stderr.flush()
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed or not result.testsRun else 0)
