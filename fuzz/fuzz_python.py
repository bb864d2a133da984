#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Damaged models, pickles and Arrow streams for the Python package, as long as the time allows:
    fuzz_python.py SECONDS [SEED]       rounds of inputs, by a seed, which is drawn unless it is given
    fuzz_python.py --round SEED/ROUND   that round alone, again
    fuzz_python.py --fixed              the first rounds of seed 0, the same inputs each time

The package is that of PYTHONPATH; tools/fuzz gives the one that is built with sanitizers. Inputs are made by
python/tests/damage.py. They run in a process of their own, so that one that crashes or hangs is seen; its round is told.
Closes with a line of counts. A reason is the text of a refusal without its names and numbers: how many of them the fixed
inputs meet is what fuzz/coverage keeps, where the C targets have places of the program.
"""
import faulthandler
import os
import pathlib
import re
import resource
import secrets
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXED_ROUNDS = 100
HANG = 120  # seconds that a round may take, of which it needs less than one
MOST_MEMORY = 3 << 30
SHARES = {"try_model": 10, "try_resealed_model": 40, "try_pickle": 20, "try_arrow": 10, "try_spoilt_arrow": 40}


def reason(text):
    """A refusal without what differs from input to input."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|'.*", "Q", text, flags=re.S)
    return re.sub(r"[0-9a-f]*\d[\w.+-]*|\\x..", "N", text)[:45]


def run_round(damage, models, seed, number, counts, reasons):
    """SHARES of inputs of each kind."""
    import numpy as np

    random = np.random.default_rng([seed, number])
    for name, share in SHARES.items():
        attempt = getattr(damage, name)
        for _ in range(share):
            data = models[int(random.integers(len(models)))]
            why = attempt(random) if name.endswith("arrow") else attempt(random, data, models)
            counts[0] += 1
            counts[1 if why is None else 2] += 1
            if why is not None:
                reasons.add(f"{name}: {reason(why)}")


def child(seed, first, last, seconds, told):
    """Rounds from first on, before the last and as long as the time allows. What is under way is in the file `told`."""
    sys.path.insert(0, str(ROOT / "python" / "tests"))
    import damage

    models, counts, reasons, number = damage.model_bytes(), [0, 0, 0], set(), first
    end = time.monotonic() + seconds
    while number < last and time.monotonic() < end:
        os.pwrite(told, f"{seed}/{number}\n".encode(), 0)
        faulthandler.dump_traceback_later(HANG, exit=True)
        run_round(damage, models, seed, number, counts, reasons)
        number += 1
    faulthandler.cancel_dump_traceback_later()
    print(f"{number - first} rounds of seed {seed}: {counts[0]} inputs, {counts[1]} accepted, {counts[2]} refused "
          f"for {len(reasons)} reasons", flush=True)
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > MOST_MEMORY:
        sys.exit("more memory than 3 GB")


def main():
    words = sys.argv[1:]
    if words[0] == "--child":
        return child(*map(int, words[1:4]), float(words[4]), int(words[5]))
    seed, first, last, seconds = 0, 0, FIXED_ROUNDS, 1e9
    if words[0] == "--round":
        seed, first = map(int, words[1].split("/"))
        last = first + 1
    elif words[0] != "--fixed":
        seconds, last = float(words[0]), 1 << 62
        seed = int(words[1]) if len(words) > 1 else secrets.randbits(32)
    with tempfile.TemporaryFile() as told:
        done = subprocess.run([sys.executable, "-X", "faulthandler", __file__, "--child", str(seed), str(first), str(last),
                               str(seconds), str(told.fileno())], pass_fds=[told.fileno()], check=False)
        if done.returncode == 0:
            return 0
        under_way = os.pread(told.fileno(), 100, 0).decode().strip() or "none"
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
    print(f"fuzz_python.py: {how} in round {under_way}; again: fuzz/fuzz_python.py --round {under_way}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
