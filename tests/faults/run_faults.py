#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls that fail: run_faults.py MERCER [CASE...] [--long] [-jN] [--only "KIND K EFFECT"]

Each command of common.py runs again and again while its k-th open, pipe or dup, read, write, fsync, rename, close, mmap, malloc or
pthread_create fails or comes short, k = 1, 2, ... as long as there is such a call. Interrupted calls (EINTR) and short
counts must change nothing. Any other fault ends in the result, or in one line and status 1; then the file is the old one
or the new one, whole, nothing else is in the folder, all descriptors are closed, and the same command works afterwards.
Faults of calls that bring bytes to the disk must be told. What a library of others ends, or makes of it, is counted by
its name. Without --long only some of the k are tried.
"""
import sys

from common import MERCER, Tally, arguments, harness, in_parallel, is_one_line, mercer, prepare, run_with, workplace, wrong_files

EFFECTS = {
    "open": ("EINTR", "EMFILE", "EACCES"),
    "descriptor": ("EMFILE",),
    "read": ("EINTR", "short", "EIO"),
    "write": ("EINTR", "short", "ENOSPC", "EIO"),
    "fsync": ("EINTR", "EIO", "ENOSPC"),
    "rename": ("EACCES", "EIO", "ENOSPC"),
    "close": ("EINTR", "EIO"),
    "mmap": ("ENOMEM",),
    "malloc": ("ENOMEM",),
    "thread": ("EAGAIN",),
}
HARMLESS = ("EINTR", "short")
TOLD = ("write", "fsync", "rename")  # the kinds whose faults are never passed over
FOREIGN = ("libopenblas", "libgomp", "liblapack", "libgfortran", "libsvm", "liblinear")
ALL_THAT_FOLLOW = ["read 1+ short", "write 1+ short", "write 2+ ENOSPC", "fsync 1+ EIO", "close 1+ EIO", "open 8+ EMFILE",
                   "mmap 1+ ENOMEM", "thread 1+ EAGAIN"]
QUICK = {"open": 40, "read": 8, "write": 8, "malloc": 40}  # values of k that are tried without --long
LONG = {"malloc": 1500}


def foreign(page):
    """The library of others that was innermost when a call failed, or ""."""
    for module in page.modules:
        if module.startswith("libc.so"):
            continue
        return next((name for name in FOREIGN if module.startswith(name)), "")
    return ""


class Sweep:
    """Faults in one command."""

    def __init__(self, case, module):
        self.case, self.module = case, module
        self.tally, self.endings = Tally(), Tally()

    def try_one(self, what):
        """"" or what is wrong with a run in which this fault happens."""
        with workplace(self.case) as folder:
            status, error, page = run_with(self.case, self.module, what, folder)
            self.tally.add("runs")
            if not page.fired:
                self.tally.add("not reached")
            wrong = self.judge(what, status, error, page, folder)
            if wrong:
                return f"{what}: {wrong} (status {status}, {error!r}, {' '.join(page.modules)})"
            if status != 0:
                again = mercer(*self.case.again, folder=folder)
                wrong = again.stderr or wrong_files(self.case, folder)
                if again.returncode != 0 or wrong or (folder / self.case.output).read_bytes() != self.case.new:
                    return f"{what}: the next run: status {again.returncode}, {wrong or 'another result'}"
        return ""

    def judge(self, what, status, error, page, folder):
        case, (kind, k, effect) = self.case, what.split()
        library = foreign(page)
        wrong = wrong_files(case, folder, whole_only=status not in (0, 1))
        if wrong:
            return wrong
        if status not in (0, 1) or status == 1 and not is_one_line(error):
            if not library:
                return "not one line"
            end = {"hang": "waits for ever"}.get(status, f"signal {-status}" if status < 0 else "ends it")
            self.endings.add(f"{library} {kind} ({end})")
            return ""
        if page.leaked > 0:
            return f"{page.leaked} descriptors left open, one on {page.leak}"
        if status == 1:
            self.tally.add("errors")
            return "a failure" if page.fired and effect in HARMLESS else ""
        self.tally.add("survived")
        if error:
            return "a line on standard error of a run that succeeded"
        if (folder / case.output).read_bytes() != case.new:
            return "another result"
        if kind in TOLD and effect not in HARMLESS and page.fired and f"{kind} {k}" not in case.untold:
            return "a fault that nobody is told of"
        return ""


def some_of(count, most):
    """At most so many of 1, ..., count, spread over them: the first half of them one by one."""
    if count <= most:
        return list(range(1, count + 1))
    near = most // 2
    step = -(-(count - near) // (most - near))
    return list(range(1, near + 1)) + list(range(near + step, count + 1, step))


def faults_of(case, calls, limits):
    """All faults to be tried in a command that makes so many calls of each kind."""
    for kind in case.kinds:
        for effect in EFFECTS[kind]:
            for k in some_of(calls[kind] + (kind == "malloc"), limits.get(kind, 10 ** 6)):
                yield f"{kind} {k} {effect}"
    for what in ALL_THAT_FOLLOW:
        if calls[what.split()[0]] and what.split()[0] in case.kinds:
            yield what


def main():
    given = arguments()
    limits = LONG if given.long else QUICK
    try:
        module = harness.preloaded(MERCER, "faults")
    except harness.Skip as why:
        harness.skip("faults", why)
        return harness.close()
    for case in prepare(module, given.cases):
        with workplace(case) as folder:
            calls = run_with(case, module, "", folder)[2].calls
        sweep = Sweep(case, module)
        failures = []
        for wrong in in_parallel(given.jobs, sweep.try_one, [given.only] if given.only else list(faults_of(case, calls, limits))):
            if wrong:
                failures.append(wrong)
        print(f"{case.name}: calls: " + ", ".join(f"{count} {kind}" for kind, count in calls.items()))
        harness.check(f"{case.name}: {sweep.tally.text()}", not failures,
                      "".join(f"\n     {wrong}" for wrong in failures[:40]))
        if sweep.endings.counts:
            print(f"     ended by libraries of others: {sweep.endings.text()}")
    return harness.close()


if __name__ == "__main__":
    sys.exit(main())
