#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 at random moments: run_kills.py MERCER [CASE...] [--long] [-jN] [--seed N]

Commands of common.py are killed: three times out of four at a moment drawn from the time they usually take, else as soon
as they write. The file that they replace must be a whole version then, and files that they read as before; the next
command comes to the same result, and removes what was left. 1000 kills per command with --long, else 40.
"""
import os
import random
import statistics
import subprocess
import sys
import time

from common import MERCER, Tally, arguments, harness, in_parallel, mercer, prepare, workplace, wrong_files

COMMANDS = ("fit", "update", "report")
KILLS, QUICK_KILLS = 1000, 40


def usual_time(case):
    times = []
    for _ in range(5):
        with workplace(case) as folder:
            start = time.monotonic()
            mercer(*case.words, folder=folder)
            times.append(time.monotonic() - start)
    return statistics.median(times)


def kill_once(case, moment, tally):
    """Kill the command after so many seconds, or, None, when it writes; "" or what is wrong afterwards."""
    with workplace(case) as folder:
        names = set(os.listdir(folder))
        with subprocess.Popen([MERCER, *case.words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as run:
            if moment is not None:
                time.sleep(moment)
            while moment is None and run.poll() is None and not any(name.endswith(".mercer-0") for name in os.listdir(folder)):
                pass
            run.kill()
            status = run.wait()
        left = set(os.listdir(folder)) - names - {case.output}
        tally.add("too late" if status == 0 else "killed")
        tally.add("with a lock", any(name.endswith("-lock") for name in left))
        tally.add("with a temporary file", any(not name.endswith("-lock") for name in left))
        wrong = wrong_files(case, folder, whole_only=True)
        if wrong:
            return f"after {moment}: {wrong}"
        done = mercer(*case.again, folder=folder)
        wrong = done.stderr or wrong_files(case, folder)
        if done.returncode or wrong or (folder / case.output).read_bytes() != case.new:
            return f"after {moment}, with {sorted(left)}: status {done.returncode}, {wrong or 'another result'}"
    return ""


def main():
    given = arguments()
    try:
        module = harness.preloaded(MERCER, "faults")
    except harness.Skip as why:
        harness.skip("kills", why)
        return harness.close()
    print(f"seed {given.seed}")
    draw = random.Random(given.seed)
    for case in prepare(module, given.cases or COMMANDS):
        usual, tally = usual_time(case), Tally()
        moments = [draw.uniform(0, 1.1 * usual) if k % 4 else None for k in range(KILLS if given.long else QUICK_KILLS)]
        wrong = [text for text in in_parallel(given.jobs, lambda moment: kill_once(case, moment, tally), moments) if text]
        harness.check(f"{case.name}: {len(moments)} times: {tally.text()}", not wrong and tally["killed"] > 0,
                      "".join(f"\n     {text}" for text in wrong[:20]))
    return harness.close()


if __name__ == "__main__":
    sys.exit(main())
