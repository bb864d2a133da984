#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tests of the package with the newest libraries, where they can be had: test_newest.py MERCER FOLDER

FOLDER gets a venv (tools/newest-python); it stays for the next time. Status 77 (skipped) when it cannot be made.
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
mercer, folder = sys.argv[1:]
venv = subprocess.run([sys.executable, HERE.parent.parent / "tools" / "newest-python", folder], stdout=subprocess.PIPE,
                      text=True, check=False)
if venv.returncode != 0:
    print(f"skipped: {venv.stdout.strip()}")
    sys.exit(venv.returncode)
failed = passed = 0
for name in ("core", "checks", "estimators", "evaluate", "docs"):
    done = subprocess.run([venv.stdout.strip(), "-W", "ignore", str(HERE / f"test_{name}.py"), mercer], capture_output=True,
                          text=True, check=False, timeout=1200)
    print("\n".join(line for line in done.stdout.splitlines() if not line.startswith("ok ")), done.stderr[-3000:])
    failed += done.returncode != 0
    passed += done.returncode == 0
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
