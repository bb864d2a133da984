#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Signals: whatever a command is doing, it ends soon and leaves nothing behind.

test_signals.py MERCER [WORD...] [-jN] [--quick]
"""
import contextlib
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import time

import numpy as np

from support import LIMIT, MERCER, Skip, cloud, files, mercer, ring_model, run_tests, slow_test, table, test, wait_for


# Whoever started the tests may have chosen to ignore it (nohup); programs that they start would, too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def interrupt(number, words, after, names):
    """Send the signal `after` seconds; the program must end within a second and leave nothing."""
    run = subprocess.Popen([MERCER, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        time.sleep(after)
        assert run.poll() is None, f"was over in {after} s: {run.communicate()}"
        start = time.monotonic()
        run.send_signal(number)
        status = run.wait(60)
        spent = time.monotonic() - start
    finally:
        run.kill()  # it would go on for minutes
    assert status == 128 + number, f"status {status}"
    assert spent < 1, f"took {spent:.2f} s"
    assert files() == names, files()


@slow_test
def test_interrupted_inside_lapack():
    np.save("x.npy", cloud(4000, 40))
    words = ["fit", "x.npy", "-m", "kpca", "-k", "rbf:sigma=1", "--store", "dense", "-n", "0.999",
             "-o", "x.model"]
    for after in (1.0, 2.5):
        interrupt(signal.SIGINT, words, after, ["x.npy"])
    interrupt(signal.SIGTERM, words, 1.5, ["x.npy"])
    interrupt(signal.SIGHUP, words, 1.5, ["x.npy"])


@test
def test_interrupted_inside_libsvm():
    """Pure chance, which a high cost makes it learn by heart: this takes minutes."""
    x = cloud(4000, 4)
    labels = np.random.default_rng(1).integers(0, 2, len(x))
    np.save("x.npy", x)
    np.savetxt("y.txt", labels, fmt="%d")
    words = ["fit", "x.npy", "-m", "pca", "-n", "2", "--labels", "y.txt", "--head", "svm:c=1e6",
             "-o", "x.model"]
    interrupt(signal.SIGINT, words, 2.0, ["x.npy", "y.txt"])


@test
def test_interrupted_while_writing():
    """Ctrl-C with a temporary file open removes it."""
    ring_model()
    run = subprocess.Popen([MERCER, "transform", "ring.model", "-", "-o", "out.csv"],
                           stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    line = b"1.5,2.5\n"
    with contextlib.suppress(BrokenPipeError):
        for _ in range(400):
            run.stdin.write(line * 1000)
            if len(files()) > 2:
                break
        run.stdin.flush()
    until = time.monotonic() + 20
    while len(files()) == 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert len(files()) == 3, "no temporary file was seen"
    run.send_signal(signal.SIGINT)
    assert run.wait(20) == 130
    assert files() == ["ring.csv", "ring.model"], files()


@test
def test_ignored_hangup_stays_ignored():
    """As under nohup: what the parent has us ignore does not end us."""
    ring_model()
    run = subprocess.Popen([MERCER, "transform", "ring.model", "-"], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE,
                           preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    run.stdin.write(b"1,2\n")
    run.stdin.flush()
    time.sleep(0.5)
    run.send_signal(signal.SIGHUP)
    out, _ = run.communicate(b"3,4\n", timeout=LIMIT)
    assert run.returncode == 0 and out.count(b"\n") == 3, (run.returncode, out)


def state_of(process):
    """As in ps: R, S, T..."""
    return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]


@test
def test_a_terminal_stops_the_helper_too():
    try:
        import h5py
    except ImportError:
        raise Skip("h5py is not installed")
    x = cloud(400, 30)
    table("x.csv", x)
    mercer("fit", "x.csv", "-m", "pca", "-n", 3, "-o", "x.model", "--quiet")
    with h5py.File("x.h5", "w") as file:
        file["x"] = np.tile(x, (200, 1))
    # Nobody reads what it writes, so it waits, and its helper with it.
    run = subprocess.Popen([MERCER, "transform", "x.model", "x.h5", "--memory", "1M", "--threads", "1"],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0)
    children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children")
    wait_for(run, lambda: children.read_text().split())
    both = [run.pid, int(children.read_text().split()[0])]
    os.killpg(run.pid, signal.SIGTSTP)
    try:
        wait_for(run, lambda: all(state_of(process) == "T" for process in both))
        os.killpg(run.pid, signal.SIGCONT)
        wait_for(run, lambda: all(state_of(process) != "T" for process in both))
    finally:
        run.kill()
    run.stdout.close()
    run.wait(LIMIT)


@test
def test_an_interruption_tells_what_was_written():
    np.save("x.npy", cloud(4000, 40))
    run = subprocess.Popen([MERCER, "fit", "x.npy", "-m", "kpca", "-k", "rbf:sigma=1", "--store", "dense", "-n", "0.999",
                            "-o", "x.model"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.0)
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=LIMIT)
    told = told.decode()
    assert run.returncode == 130 and told.count("\n") == 1, (run.returncode, told)
    assert told.startswith("mercer: interrupted after ") and told.endswith("; nothing was written\n"), told
    # A stream with checkpoints has left a model, and goes on from it.
    run = subprocess.Popen([MERCER, "fit", "-", "-m", "ikpca", "-n", "2", "--checkpoint", "300", "-o", "s.model"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    rows = "".join(f"{a:.4f},{b:.4f}\n" for a, b in cloud(2000, 2)).encode()
    run.stdin.write(rows)
    run.stdin.flush()
    wait_for(run, lambda: os.path.exists("s.model"))
    time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    run.stdin.close()
    told = run.stderr.read().decode()
    run.stdout.close()
    run.stderr.close()
    assert run.wait(LIMIT) == 130 and "; s.model holds the first " in told and told.endswith("go on with --resume\n"), told
    assert mercer("info", "s.model").out


@test
def test_progress_ticks_in_a_silent_phase():
    """On a terminal: a line is drawn about each second, though LAPACK says nothing meanwhile."""
    np.save("x.npy", cloud(3000, 40))
    here, there = pty.openpty()
    run = subprocess.Popen([MERCER, "fit", "x.npy", "-m", "kpca", "-k", "rbf:sigma=1", "--store", "dense", "-n", "2900"],
                           stdout=subprocess.DEVNULL, stderr=there, env=dict(os.environ, TERM="xterm", COLUMNS="100"))
    os.close(there)
    seen, until = b"", time.monotonic() + 60
    while seen.count(b"eigenvalues") < 3 and time.monotonic() < until and run.poll() is None:
        if select.select([here], [], [], 0.1)[0]:
            with contextlib.suppress(OSError):
                seen += os.read(here, 1 << 16)
    run.kill()
    run.wait(LIMIT)
    os.close(here)
    assert seen.count(b"eigenvalues") >= 3, seen


if __name__ == "__main__":
    sys.exit(run_tests())
