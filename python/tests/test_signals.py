#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C ends whatever runs, soon: test_signals.py MERCER [WORD...] [-jN]

A child starts something long and tells when; a moment later it gets SIGINT, and tells how long the
exception took. The promise is half a second on an idle machine; the limit here leaves room for a busy
one, and is far below what the work would take.
"""
import os
import signal
import subprocess
import sys
import time

from support import Fault, need_sklearn, program, run_tests, test

need_sklearn()
program()
LIMIT = 5.0  # seconds; the work takes minutes
HEAD = """
import signal, sys, time, warnings
import numpy as np, mercer
from mercer import _core
warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)
random = np.random.default_rng(0)
X = random.normal(size=(9000, 40))
y = (X[:, 0] > 0).astype(int)
"""
TAIL = """
print("ready", flush=True)
try:
    work()
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
else:
    print("done", flush=True)
print(mercer.KernelPCA(2).fit(X[:50]).n_components_, flush=True)
"""
WORK = {
    "fit_in_lapack": "work = lambda: mercer.KernelPCA(2000, store='dense').fit(X[:4000])",
    "fit_greedy": "work = lambda: mercer.AKFA(4000, center='none').fit(np.vstack([X] * 3))",
    "fit_supervised": "work = lambda: mercer.ContinuumClassifier(200).fit(np.vstack([X] * 3), np.r_[y, y, y])",
    "transform": "est = mercer.KernelPCA(50).fit(X[:6000]); big = np.vstack([X] * 60); work = lambda: est.transform(big)",
    "inverse": "est = mercer.KernelPCA(50).fit(X[:6000]); F = np.vstack([est.transform(X[:6000])] * 20); work = lambda: est.inverse_transform(F)",
    "evaluate": "work = lambda: mercer.evaluate(mercer.KernelPLSClassifier(100), X, y, cv=20, repeats=5)",
    "kernel_function": "work = lambda: mercer.KernelPCA(5, kernel=lambda x, y: float(x @ y)).fit(X)",
    "partial_fit": "work = lambda: mercer.IncrementalKernelPCA(100, block=200, library=2000).partial_fit(np.vstack([X] * 10))",
}


def interrupt(name):
    child = subprocess.Popen([sys.executable, "-c", HEAD + WORK[name] + TAIL], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        if child.stdout.readline().strip() != "ready":
            raise Fault(child.stderr.read())
        time.sleep(1.5)
        if child.poll() is not None:
            raise Fault("the work was over before the signal")
        sent = time.monotonic()
        os.kill(child.pid, signal.SIGINT)
        told = child.stdout.readline().split()
        if not told or told[0] != "interrupted":
            raise Fault(f"{told}: {child.stderr.read()[-2000:] if child.poll() is not None else ''}")
        took = float(told[1]) - sent
        print(f"{name}: {took:.3f} s", flush=True)
        if took > LIMIT:
            raise Fault(f"took {took:.2f} s")
        if child.stdout.readline().strip() != "2":
            raise Fault("nothing can be fitted afterwards: " + child.stderr.read())
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
