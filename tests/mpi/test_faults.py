#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""One of three ranks has a call that fails: all end soon, with one line, and nothing half-written.

Usage: test_faults.py MERCER [CASE...] [--long] [--only FAULT] [-jN]. The ranks are processes without an MPI
(memory_ranks.c), which start in no time, so that thousands of runs can be made. In turn fail exchanges of a rank, and its
calls of malloc and of the system (tests/faults/faults.c): with --long all of them on one rank, which is another one from
case to case, else some. A rank that ends without telling the others has them ended by us, as a launcher does it.
"""
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
from common import KINDS, PAGE, Page, Tally, arguments, files_of, in_parallel, is_one_line, put_files  # noqa: E402
from harness import Skip, check, close, fault, preloaded, scratch, skip  # noqa: E402
from ranks import SOON, SURROUNDINGS  # noqa: E402

RANKS = 3
SHARED = struct.Struct("4q 4q q q q")  # struct shared of memory_ranks.c, without its pieces
SHARED_BYTES = SHARED.size + 4 * (1 << 20) + 4096
EFFECTS = {"open": "EMFILE", "descriptor": "EMFILE", "read": "EIO", "write": "ENOSPC", "fsync": "EIO", "rename": "EIO",
           "close": "EIO", "mmap": "ENOMEM", "malloc": "ENOMEM"}
SOME = 6  # calls of a kind that fail in the short run
CASES = {
    "fit": (["fit", "rows.npy", "-m", "kpca", "-k", "rbf:sigma=9", "-n", "2", "-o", "out.model"], ["rows.npy"]),
    "fit-labels": (["fit", "rows.csv", "-m", "kfd", "-k", "rbf:sigma=9", "-o", "out.model"], ["rows.csv"]),
    "fit-sparse": (["fit", "rows.svm", "-m", "kpls", "-k", "linear", "-n", "2", "-o", "out.model"], ["rows.svm"]),
    "transform": (["transform", "ring.model", "rows.npy", "--errors", "-o", "out.npy"], ["ring.model", "rows.npy"]),
    "predict": (["predict", "kinds.model", "rows.csv", "-o", "out.csv"], ["kinds.model", "rows.csv"]),
    "evaluate": (["evaluate", "few.csv", "-m", "kpls", "-n", "2", "--tune=components=1,2", "--save-predictions", "out.csv"],
                 ["few.csv"]),
}


def make_files():
    """Rows of three parts, and models of some of them."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2600, 2))
    np.save("rows.npy", x)
    for name, rows in (("rows", 2600), ("few", 60)):
        with open(f"{name}.csv", "w", encoding="ascii") as out:
            print("a,b,label", file=out)
            for row in x[:rows]:
                print(*(f"{value:.6f}" for value in row), "up" if row[0] > row[1] else "down", sep=",", file=out)
    with open("rows.svm", "w", encoding="ascii") as out:
        for i, row in enumerate(x):
            print(i % 2, f"1:{row[0]:.5f}" if i % 3 else "", f"7:{row[1]:.5f}", file=out)
    for words in (["few.csv", "-m", "kpca", "-k", "rbf:sigma=2", "-n", "2", "--drop", "label", "-o", "ring.model"],
                  ["few.csv", "-m", "kpls", "-n", "2", "-o", "kinds.model"]):
        subprocess.run([MERCER, "fit", *words, "-q"], check=True, env=SURROUNDINGS)


class Run:
    """A run of a case on several ranks, of which one fails: what it came to."""

    def __init__(self, case, rank, what):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mercer-ranks-"))
        try:
            put_files(self.folder, case.files)
            self.run(case, rank, what)
            self.files = files_of(self.folder)
        finally:
            shutil.rmtree(self.folder)

    def run(self, case, rank, what):
        with (tempfile.NamedTemporaryFile(prefix="mercer-page-") as page,
              tempfile.NamedTemporaryFile(prefix="mercer-shared-") as memory):
            page.write(bytes(PAGE.size))
            page.flush()
            memory.truncate(SHARED_BYTES)
            env = dict(SURROUNDINGS, LD_LIBRARY_PATH=LIBRARIES, RANKS_FILE=memory.name, OMPI_COMM_WORLD_SIZE=str(RANKS))
            ranks = []
            for r in range(RANKS):
                own = dict(env, OMPI_COMM_WORLD_RANK=str(r))
                if r == rank and what.startswith("exchange"):
                    own["RANKS_FAIL"] = what.split()[1]
                elif r == rank:
                    own.update({key: value for key, value in fault(FAULTS, what, MERCER_FAULT_PAGE=page.name).items()
                                if key.startswith(("LD_PRELOAD", "MERCER_"))})
                # pylint: disable-next=consider-using-with
                ranks.append(subprocess.Popen([PROGRAM, *case.words], cwd=self.folder, env=own, stdin=subprocess.DEVNULL,
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            start = time.monotonic()
            self.hangs = not self.wait_for(ranks, memory.name, start)
            self.seconds = time.monotonic() - start
            told = [process.communicate() for process in ranks]
            self.out, self.err = (b"".join(texts).decode(errors="replace") for texts in zip(*told))
            self.status = next((process.returncode for process in ranks if process.returncode), 0)
            self.page = Page(pathlib.Path(page.name))
            shared = self.shared(memory.name)
            self.exchanges, self.silent = shared[rank], not all(shared[4:4 + RANKS])
            self.fired = bool(self.page.fired) or (what.startswith("exchange") and int(what.split()[1]) <= self.exchanges)

    @staticmethod
    def shared(name):
        with open(name, "rb") as file:
            return SHARED.unpack(file.read(SHARED.size))

    def wait_for(self, ranks, name, start):
        """A launcher: when a rank is gone that has not met the others, these are ended; False: some had to be killed."""
        asked = None
        while any(process.poll() is None for process in ranks):
            left = [process.poll() is not None for process in ranks]
            ended = self.shared(name)[4:]  # read after that: who has left has said by now that it met the others
            gone = any(left[r] and not ended[r] for r in range(RANKS))
            if gone and asked is None:
                asked = time.monotonic()
                for process in ranks:
                    process.send_signal(signal.SIGTERM)
            if time.monotonic() > start + 2 * SOON:
                for process in ranks:
                    process.kill()
                return False
            time.sleep(0.002)
        return True


class Case:
    """A command, its files, and what it gives without faults."""

    def __init__(self, name, number):
        self.words, names = CASES[name]
        self.words = [*self.words, "--quiet", "--threads", "1"]
        self.name, self.rank, self.output = name, number % RANKS, CASES[name][0][-1]
        self.files = {file: pathlib.Path(file).read_bytes() for file in names}
        plain = Run(self, self.rank, "malloc 1000000000 ENOMEM")
        assert plain.status == 0 and not plain.err, (name, plain.status, plain.err)
        self.expected = plain.files[self.output]
        self.calls = {kind: plain.page.calls[kind] for kind in EFFECTS} | {"exchange": plain.exchanges}

    def wrong(self, run):
        """What is wrong with a run, or ""."""
        if run.hangs:
            return f"hangs; {run.err}"
        if any(run.files.get(name) != data for name, data in self.files.items()):
            return "a file that was only read has changed"
        if rest := set(run.files) - set(self.files) - {self.output}:
            return f"{', '.join(sorted(rest))} left behind"
        if run.status == 0:
            return "" if run.files.get(self.output) == self.expected and not run.err else f"another output, or a line: {run.err}"
        if not run.fired:
            return f"status {run.status} without a fault: {run.err}"
        if run.files.get(self.output, self.expected) != self.expected:  # what fails after the end finds it written
            return f"a torn output, beside {run.err}"
        # libgomp has lines of its own; a rank that has no memory for a message leaves it to the launcher
        lines = [line for line in run.err.splitlines(True) if line.startswith("mercer: ")]
        return "" if len(lines) == 1 and is_one_line(lines[0]) or (run.silent and not lines) else f"not one line: {run.err!r}"


def faults_of(case, long):
    for kind, count in case.calls.items():
        numbers = range(1, count + 1)
        if not long and count > SOME:
            numbers = sorted({round(1 + (count - 1) * i / (SOME - 1)) for i in range(SOME)})
        for k in numbers:
            yield f"{kind} {k} {EFFECTS.get(kind, '')}".strip()


def try_case(case, asked):
    """Make its calls fail, one run after the other, and tell what that came to."""
    tally, seconds, start = Tally(), [0.0], time.monotonic()
    what = [asked.only] if asked.only else list(faults_of(case, asked.long))
    for which, run in zip(what, in_parallel(asked.jobs, lambda one: Run(case, case.rank, one), what)):
        why = case.wrong(run)
        tally.add("hangs" if run.hangs else "not reached" if not run.fired else "done all the same" if run.status == 0 else
                  "with a line" if not run.silent else "ended by the launcher" if "mercer: " in run.err else
                  "ended by the launcher without a line")
        seconds.append(run.seconds)
        check(f"{case.name}, rank {case.rank}: {which}", not why, why, quiet=True)
    calls = ", ".join(f"{count} {kind}" for kind, count in case.calls.items() if count)
    print(f"{case.name}, rank {case.rank} of {RANKS}: {calls}; {len(what)} runs: {tally.text()}; at most {max(seconds):.2f} s, "
          f"{time.monotonic() - start:.0f} s in all", flush=True)


asked = arguments()
MERCER = os.path.abspath(asked.program)
LIBRARIES = str(pathlib.Path(MERCER).parent)
try:
    FAULTS = preloaded(MERCER, "faults")
except Skip as reason:
    skip("ranks that fail", reason)
    sys.exit(close())
assert set(EFFECTS) <= set(KINDS)
with scratch() as place:
    PROGRAM = str(place / "mercer")  # it looks for modules beside itself
    shutil.copy(MERCER, PROGRAM)
    shutil.copy(pathlib.Path(LIBRARIES) / "tests" / "mpi" / "memory-ranks.so", place / "mpi-openmpi.so")
    make_files()
    for index, case_name in enumerate(CASES):
        if not asked.cases or case_name in asked.cases:
            try_case(Case(case_name, index + 1), asked)
sys.exit(close())
