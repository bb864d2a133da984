#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C ends whatever runs, within half a second: test_signals.py MERCER [WORD...] [-jN]

A child starts something long, on one thread; after some of it SIGINT comes, and the child tells when it
had its exception. Then it starts again and is interrupted elsewhere. What is judged is the processor
time that the child took from the signal to the exception: on an idle machine that is the time one
waits. On a busy one it grows where a thread inside LAPACK goes on while the one that waits for it gets no
processor; so a bad moment is tried four times more, and fails when all five are bad: what the library
itself does for too long without looking up, it does every time.
"""
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np

from support import Fault, Skip, need_plain_memory, need_sklearn, program, run_tests, test

need_sklearn()
program()
LIMIT = 0.5  # seconds of the processor, as promised
LOST = 60.0  # seconds of the clock after which the signal is taken for lost; the work takes minutes
PATIENCE = 5.0  # seconds of the clock to wait for such a moment while the child's time stands still: a helper program's is not its
MOMENTS = ((0.05, 0.3), (0.3, 1.0), (1.0, 2.5))  # seconds of the processor into the work
HEAD = """
import signal, sys, time, warnings
import numpy as np, mercer
warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)
random = np.random.default_rng(0)
X = random.normal(size=(9000, 40))
y = (X[:, 0] > 0).astype(int)
mercer.KernelPCA(2).fit(X[:50])  # loads scikit-learn, which an interrupt would leave in pieces
"""
TAIL = """
for line in sys.stdin:
    try:
        print("begins", time.process_time(), flush=True)
        work()
    except KeyboardInterrupt:
        print("interrupted", time.process_time(), flush=True)
    else:
        print("done", flush=True)
print(mercer.KernelPCA(2).fit(X[:50]).n_components_, flush=True)
"""
# A store of 2.3 GB is given back in 20 ms where the system has huge pages, and in 270 ms where it has not; so
# this work is interrupted when it holds so much, and needs more to be free.
HELD, NEEDED = (1 << 30, 2 << 30), 5 << 30
WORK = {
    "fit_in_lapack": "work = lambda: mercer.KernelPCA(3000, store='dense').fit(X[:6000])",
    "fit_of_gigabytes": "rows = np.vstack([X] * 3)[:24000]; "
                        "work = lambda: mercer.KernelPCA(800, kernel='poly', degree=2, store='dense').fit(rows)",
    "fit_greedy": "work = lambda: mercer.AKFA(4000, center='none', store='stream').fit(np.vstack([X] * 3))",
    "fit_supervised": "work = lambda: mercer.ContinuumClassifier(200, store='stream').fit(np.vstack([X] * 3), np.r_[y, y, y])",
    "transform": "est = mercer.KernelPCA(50).fit(X[:2000]); big = np.vstack([X] * 60); work = lambda: est.transform(big)",
    "inverse": "est = mercer.KernelPCA(50).fit(X[:2000]); F = np.vstack([est.transform(X)] * 20); work = lambda: est.inverse_transform(F)",
    "evaluate": "work = lambda: mercer.evaluate(mercer.KernelPLSClassifier(100), X, y, cv=20, repeats=5)",
    "kernel_function": "work = lambda: mercer.KernelPCA(5, kernel=lambda x, y: float(x @ y)).fit(X)",
    "fit_pca": "wide = random.normal(size=(6000, 3000)); work = lambda: mercer.PCA(1000).fit(wide)",
    "fit_in_helper": "work = lambda: mercer.PLSClassifier(20, head='svm:c=1000').fit(X, random.integers(0, 2, 9000))",
    "predict": "est = mercer.KernelPLSClassifier(10).fit(X[:1500], y[:1500]); big = np.vstack([X] * 60); work = lambda: est.predict(big)",
    "errors": "est = mercer.KernelPCA(50).fit(X[:2000]); big = np.vstack([X] * 60); work = lambda: est.reconstruction_errors(big)",
    "partial_fit": "work = lambda: mercer.IncrementalKernelPCA(100, block=200, library=2000).partial_fit(np.vstack([X] * 10))",
}


def cpu_seconds(pid):
    """Processor time of another process, all threads: its clock as Linux numbers it."""
    return time.clock_gettime(~pid << 3 | 2)


def answer(child, wanted):
    """The number that the child tells after a word."""
    told = child.stdout.readline().split()
    if not told or told[0] != wanted:
        raise Fault(f"{told} instead of {wanted}: {child.stderr.read()[-2000:] if child.poll() is not None else ''}")
    return float(told[1])


def resident(pid):
    """Bytes of another process in memory."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def interrupt_once(child, moment, held=0):
    """Seconds of the processor from the signal to the exception. It comes so many after the start of the work, or
    when it holds so many bytes."""
    child.stdin.write("again\n")
    child.stdin.flush()
    until = answer(child, "begins") + moment
    moved, last = time.monotonic(), 0.0

    def is_early():
        return resident(child.pid) < held if held else cpu_seconds(child.pid) < until

    while is_early() and child.poll() is None and time.monotonic() - moved < PATIENCE:
        if cpu_seconds(child.pid) > last + 0.01:
            moved, last = time.monotonic(), cpu_seconds(child.pid)
        time.sleep(0.002)
    sent, clock = cpu_seconds(child.pid), time.monotonic()
    os.kill(child.pid, signal.SIGINT)
    took = answer(child, "interrupted") - sent
    if time.monotonic() - clock > LOST:
        raise Fault(f"{time.monotonic() - clock:.0f} s until the exception")
    return took


def free_memory():
    with open("/proc/meminfo", encoding="ascii") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def touch(size):
    """Seconds of the processor that new memory takes per GB."""
    start = time.process_time()
    np.ones(size // 8)
    return (time.process_time() - start) / (size / (1 << 30))


def need_quick_memory():
    """A virtual machine may get its memory from its host only when it is touched first, 10 s per GB, which no program can
    shorten. Memory that was touched once is quick."""
    touch(3 << 30)
    slow = touch(256 << 20)
    if slow > 1:
        raise Skip(f"memory takes {slow:.0f} s of the processor per GB here")


def interrupt(name):
    moments = [(moment, 0) for moment in MOMENTS]
    if name == "fit_of_gigabytes":
        moments = [((0, 0), held) for held in HELD]
        need_plain_memory()
        if free_memory() < NEEDED:
            raise Skip("there are no 5 GB of free memory")
        need_quick_memory()
    # MALLOC_PERTURB_, which meson sets, writes to all memory at once when it is taken and when it is given back: seconds
    # for a gigabyte, and not the library's.
    environment = {key: value for key, value in os.environ.items() if key != "MALLOC_PERTURB_"}
    child = subprocess.Popen([sys.executable, "-c", HEAD + WORK[name] + TAIL], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=dict(environment, OMP_NUM_THREADS="1"))
    draw, took = random.Random(name), []
    try:
        for moment, held in moments:
            moment = draw.uniform(*moment)
            took.append(interrupt_once(child, moment, held))
            for _ in range(4):
                if took[-1] > LIMIT:
                    took[-1] = min(took[-1], interrupt_once(child, moment, held))
        print(f"{name}: {', '.join(f'{seconds:.3f}' for seconds in took)} s of the processor", flush=True)
        if max(took) > LIMIT:
            raise Fault(f"took {max(took):.2f} s of the processor")
        told, error = child.communicate(timeout=LOST)
        if told.strip() != "2":
            raise Fault(f"nothing can be fitted afterwards: {error}")
    finally:
        child.kill()
        child.wait()


def _make(name):
    def interrupted():
        interrupt(name)
    interrupted.__name__ = f"interrupt_{name}"
    test(interrupted)


for each in WORK:
    _make(each)

if __name__ == "__main__":
    sys.exit(run_tests())
