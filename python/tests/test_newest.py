#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tests of the package with the newest libraries, where they can be had: test_newest.py MERCER FOLDER

FOLDER gets a venv with what newest.txt names; it stays for the next time. Status 77 (skipped) when a
venv cannot be made or the packages cannot be reached.
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
mercer, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
wanted = (HERE / "newest.txt").read_text()
mark, python = folder / "newest.txt", folder / "bin" / "python"


def install():
    """Why the venv cannot be made; None: it is there."""
    if mark.exists() and mark.read_text() == wanted:
        return None
    for words in ([sys.executable, "-m", "venv", folder],
                  [python, "-m", "pip", "install", "-q", "--retries", "1", "--timeout", "20", "-r", HERE / "newest.txt"]):
        try:
            done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=900)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode != 0:
            return (done.stderr + done.stdout).strip().splitlines()[-1] if done.stderr + done.stdout else "no reason told"
    mark.write_text(wanted)
    return None


reason = install()
if reason:
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)
failed = passed = 0
for name in ("core", "checks", "estimators", "evaluate", "docs"):
    done = subprocess.run([str(python), "-W", "ignore", str(HERE / f"test_{name}.py"), mercer], capture_output=True, text=True,
                          check=False, timeout=1200)
    print("\n".join(line for line in done.stdout.splitlines() if not line.startswith("ok ")), done.stderr[-3000:])
    failed += done.returncode != 0
    passed += done.returncode == 0
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
