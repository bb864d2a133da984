#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two commands that write one model at the same time: test_locks.py MERCER [WORD...] [-jN] [--quick]"""
import json
import os
import pathlib
import signal
import subprocess
import sys

from support import LIMIT, MERCER, files, mercer, refused, report, run_tests, stream_model, test, wait_for, write


LOCK = ".head.model.mercer-lock"


def locked_update(*words, model="head.model"):
    """A command that waits for rows with the lock of head.model in its hands."""
    run = subprocess.Popen([MERCER, *(words or ("update", model, "-"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    wait_for(run, lambda: os.path.exists(LOCK))
    return run


@test
def test_update_locks_the_model():
    stream_model()
    os.symlink("head.model", "link.model")
    os.mkdir("there")
    os.symlink("../link.model", "there/far.model")
    os.symlink("there", "also")
    first = locked_update()
    for name in ("head.model", "link.model", "there/far.model", "also/far.model", "./there/../head.model",
                 os.path.abspath("head.model")):
        refused("update", name, "tail.csv", status=1, says=(name, "at work"))
        refused("fit", "x.csv", "-m", "kpca", "-o", name, status=1, says=(name, "at work"))
        refused("truncate", name, "-n", 1, status=1, says=(name, "at work"))
    mercer("info", "head.model")  # reading needs no lock
    mercer("update", "head.model", "tail.csv", "-o", "other.model", "--quiet")  # another file, another lock
    out, _ = first.communicate(pathlib.Path("tail.csv").read_bytes(), timeout=LIMIT)
    assert first.returncode == 0, out
    assert LOCK not in os.listdir(), files()
    # The other way round: whoever comes by a link has the lock of the file.
    second = locked_update(model="also/far.model")
    refused("update", "head.model", "tail.csv", status=1, says="at work")
    second.communicate(pathlib.Path("tail.csv").read_bytes(), timeout=LIMIT)
    assert second.returncode == 0 and report("info", "head.model")["rows"] == 740
    # A fit that is to make a new file has its lock, too.
    os.remove("head.model")
    third = locked_update("fit", "-", "-m", "ikpca", "-n", "2", "-o", "link.model")
    refused("fit", "x.csv", "-m", "kpca", "-o", "head.model", status=1, says="at work")
    third.communicate(pathlib.Path("x.csv").read_bytes(), timeout=LIMIT)
    assert third.returncode == 0 and os.path.islink("link.model") and os.path.isfile("head.model")


@test
def test_long_names_have_locks_of_their_own():
    stream_model()
    names = ["m" * 251 + ending for ending in ("a.m", "b.m")]
    for name in names:
        os.link("head.model", name)
    run = subprocess.Popen([MERCER, "update", names[0], "-", "--quiet"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(run, lambda: any(name.endswith(".mercer-lock") for name in os.listdir()))
    lock = next(name for name in os.listdir() if name.endswith(".mercer-lock"))
    refused("update", names[0], "tail.csv", status=1, says=("at work", f"(lock file {lock})"))
    mercer("update", names[1], "tail.csv", "--quiet")
    run.communicate(pathlib.Path("tail.csv").read_bytes(), timeout=LIMIT)
    assert run.returncode == 0


@test
def test_locks_that_are_left_and_files_that_are_not_ours():
    stream_model()
    # A lock that nobody holds any more, after kill -9, is none, and goes; a signal removes it.
    run = locked_update()
    run.kill()
    run.wait(LIMIT)
    assert os.path.exists(LOCK)
    assert report("update", "head.model", "tail.csv")["rows"] == 500
    assert not os.path.exists(LOCK)
    run = locked_update()
    run.send_signal(signal.SIGINT)
    assert run.wait(LIMIT) == 130
    assert not os.path.exists(LOCK)
    # Files of the user stay, whatever they are called.
    write("head.model.lock", "")
    write(".head.model.mercer-1x", "mine")
    write(LOCK, "mine")
    for words in (("update", "head.model", "tail.csv"), ("fit", "x.csv", "-m", "ikpca", "-o", "head.model"),
                  ("truncate", "head.model", "-n", 1)):
        mercer(*words, "--quiet")
        assert pathlib.Path(LOCK).read_text() == "mine" and pathlib.Path("head.model.lock").read_text() == ""
        assert pathlib.Path(".head.model.mercer-1x").read_text() == "mine"
    os.remove(LOCK)
    # Nothing to lock.
    mercer("fit", "x.csv", "-m", "ikpca", "-o", "/dev/null", "--quiet")
    assert mercer("fit", "x.csv", "-m", "ikpca", "-o", "-", "--quiet").stdout
    long = "n" * 250
    mercer("fit", "x.csv", "-m", "ikpca", "-o", long, "--quiet")
    assert report("update", long, "tail.csv")["rows"] == 740


@test
def test_many_updates_at_once_lose_no_row():
    """Through two links and by its own name: the rows of the model are those that were reported as learnt."""
    stream_model()
    os.symlink("head.model", "one.model")
    os.mkdir("there")
    os.symlink("../head.model", "there/two.model")
    runs = [subprocess.Popen([MERCER, "update", name, "tail.csv", "--json"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
            for _ in range(6) for name in ("one.model", "there/two.model", "head.model")]
    learnt = 0
    for run in runs:
        out, error = run.communicate(timeout=LIMIT)
        if run.returncode == 0:
            learnt += json.loads(out)["rows_learnt"]
        else:
            assert run.returncode == 1 and b"at work" in error and error.count(b"\n") == 1, error
    assert learnt > 0 and report("info", "head.model")["rows"] == 260 + learnt
    assert not [name for name in os.listdir() + os.listdir("there") if "mercer" in name], os.listdir()


if __name__ == "__main__":
    sys.exit(run_tests())
