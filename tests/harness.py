# SPDX-License-Identifier: BSD-3-Clause
"""What the test scripts share: running programs, counting what holds, and the line "N passed, N failed"
that each closes with, which tools/test-summary adds up.

A script takes one of three ways. Those that try one thing after the other call check() and leave with
close(). Those with functions marked @test leave with run_tests(), which gives each a folder of its own.
Those with cases of unittest leave with run_unittest().
"""
import concurrent.futures
import contextlib
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"  # public data sets, beside the repository where they are there
LIMIT = 300  # seconds; a hang is a failure
PASSED, FAILED, SKIPPED = "ok  ", "FAIL", "skip"
COUNTS = {PASSED: 0, FAILED: 0, SKIPPED: 0}
TESTS = []  # (function, is it slow?)


class Fault(AssertionError):
    """Why a test failed."""


class Skip(Exception):
    """Why a test cannot run here."""


# ------------------------------------------------------------------------------- running programs

def program():
    """The program to be tested, which is the first word on the command line."""
    path = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        print(f"{path or 'nothing'} is no program to be tested\n0 passed, 1 failed")
        sys.exit(1)
    return path


def call(*words, timeout=LIMIT, **options):
    """Run a program to its end, whatever its status; what it prints is text."""
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=timeout, **options)


def output(*words, **options):
    """What a program prints, which must leave with status 0."""
    done = call(*words, **options)
    if done.returncode != 0:
        raise Fault(f"{' '.join(map(str, words))}: status {done.returncode}: {(done.stderr + done.stdout).strip()}")
    return done.stdout


# The most memory of a process counts that of the one it was forked from, so a small one is between. Meson sets
# MALLOC_PERTURB_, with which malloc writes blocks full that the program may never touch.
MEASURE = """import os, sys
child = os.fork()
if child == 0:
    os.environ.pop("MALLOC_PERTURB_", None)
    os.execv(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
os.write(int(sys.argv[1]), f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss * 1024}".encode())
"""


def measured(*words, **options):
    """call(), and in `peak` the most memory that the program had, in bytes."""
    here, there = os.pipe()
    done = call(sys.executable, "-ISc", MEASURE, there, *words, pass_fds=[there], **options)
    os.close(there)
    with open(here, encoding="ascii") as told:
        done.returncode, done.peak = map(int, told.read().split())
    return done


@contextlib.contextmanager
def scratch():
    """A temporary folder, which is the current one meanwhile."""
    home = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="mercer-test-") as folder:
        os.chdir(folder)
        try:
            yield pathlib.Path(folder)
        finally:
            os.chdir(home)


def preloaded(program, module):
    """A module of tests/faults, which lies beside the program; skips where a sanitizer cannot have it."""
    path = os.path.join(os.path.dirname(program), "tests", "faults", module + ".so")
    if not os.path.exists(path):
        raise Skip(f"{path} was not built")
    probe = call(program, "--version", env={**os.environ, "LD_PRELOAD": path})
    if probe.returncode or probe.stderr:
        raise Skip(f"{module}.so cannot be loaded into this build")
    return path


def fault(module, what="", program="mercer", **more):
    """Surroundings in which a call of a program fails, for example "write 3 ENOSPC" (tests/faults/faults.c)."""
    return {**os.environ, "LD_PRELOAD": module, "MERCER_FAULT": what, "MERCER_FAULT_PROGRAM": program, **more}


# ---------------------------------------------------------------------------------------- counting

def tell(mark, name, detail="", quiet=False):
    COUNTS[mark] += 1
    if mark != PASSED or not quiet or os.environ.get("VERBOSE"):
        print(f"{mark} {name}" + (f": {detail}" if str(detail) else ""), flush=True)


def check(name, good, detail="", quiet=False):
    """Count what must hold, and tell it; quiet: only when it does not hold, or VERBOSE is set."""
    tell(PASSED if good else FAILED, name, detail, quiet)


def skip(name, why):
    tell(SKIPPED, name, why)


def close():
    """Print the closing line; the status of the script, which is 1 when something failed or nothing ran."""
    skipped = f", {COUNTS[SKIPPED]} skipped" if COUNTS[SKIPPED] else ""
    print(f"{COUNTS[PASSED]} passed, {COUNTS[FAILED]} failed{skipped}", flush=True)
    return 1 if COUNTS[FAILED] or not (COUNTS[PASSED] or COUNTS[SKIPPED]) else 0


def run_parts(parts, wanted=(), *arguments):
    """Call the functions whose names contain one of the wanted words, or all where none is wanted."""
    for part in parts:
        if not wanted or any(word in part.__name__ for word in wanted):
            part(*arguments)


# ----------------------------------------------------------------------------------- marked functions

def test(function):
    """Mark a test."""
    TESTS.append((function, False))
    return function


def slow_test(function):
    """Mark a test of some seconds, which --quick leaves out."""
    TESTS.append((function, True))
    return function


def run_test(index):
    """(mark, seconds, what to say) of one marked test, in a folder of its own."""
    start = time.monotonic()
    with scratch():
        try:
            TESTS[index][0]()
            mark, why = PASSED, ""
        except Skip as reason:
            mark, why = SKIPPED, str(reason)
        except Exception:  # one failure does not end the run
            mark, why = FAILED, "\n" + traceback.format_exc(limit=-2)
    return mark, time.monotonic() - start, why


def results(chosen, jobs):
    """What run_test() says of each chosen test, in their order. The tests change folders, so they
    run in processes of their own; one that takes its process down fails with all that follow."""
    with concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        running = [pool.submit(run_test, index) for index in chosen]
        for future in running:
            try:
                yield future.result()
            except concurrent.futures.BrokenExecutor as error:
                yield FAILED, 0, f"\n{error}\n"


def run_tests():
    """Run the marked tests as the command line says: PROGRAM [WORD...] [-jN] [--quick]. Those whose names
    contain a WORD, or all; N at a time, by default as many as there are processors; --quick leaves out the
    slow ones. They are told in the order of the script."""
    words = [word for word in sys.argv[2:] if not word.startswith("-")]
    jobs = [int(word[2:]) for word in sys.argv[2:] if word.startswith("-j")] or [len(os.sched_getaffinity(0))]
    chosen = [index for index, (function, slow) in enumerate(TESTS)
              if (not words or any(word in function.__name__ for word in words)) and not (slow and "--quick" in sys.argv)]
    # A shell that starts us in the background makes us ignore Ctrl-C, and with us every program that we start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for index, (mark, seconds, why) in zip(chosen, results(chosen, jobs[0])):
        tell(mark, f"{TESTS[index][0].__name__} ({seconds:.1f} s)", why)
    return close()


# ------------------------------------------------------------------------------------------- unittest

class FolderCase(unittest.TestCase):
    """A test with a temporary folder to put files in."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mercer-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, path, text, mode=0o644):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        file.chmod(mode)
        return file


def run_unittest():
    """Run the cases of unittest in the calling script, and end it."""
    result = unittest.main(exit=False, verbosity=2).result
    COUNTS[FAILED] = len(result.failures) + len(result.errors)
    COUNTS[SKIPPED] = len(result.skipped)
    COUNTS[PASSED] = max(0, result.testsRun - COUNTS[FAILED] - COUNTS[SKIPPED])  # a failing set-up is no test run
    sys.stderr.flush()
    sys.exit(close())
