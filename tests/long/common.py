# SPDX-License-Identifier: BSD-3-Clause
"""What the long tests share: a run of the tool that tells how much memory it took."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import measured, program  # noqa: E402

MERCER = program()


def run(*words):
    """Run the tool; return status, parsed JSON from stdout and peak memory in bytes."""
    done = measured(MERCER, *words, timeout=None)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.peak
