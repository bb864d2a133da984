#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What every command writes: full disks, pipes, links, terminals, memory that runs out.

test_output.py MERCER [WORD...] [-jN] [--quick]
"""
import contextlib
import decimal
import glob
import json
import os
import pathlib
import pty
import random
import re
import resource
import signal
import stat
import struct
import subprocess
import sys
import unicodedata

import numpy as np

from support import (LIMIT, MERCER, Skip, cloud, fault, files, let_allocations_fail, mercer, numbers, preloaded, refused,
                     report, ring, ring_model, run_tests, slow_test, stream_model, test, wait_for, write)


@test
def test_unwritable_path_is_found_before_the_work():
    ring(20)
    os.mkdir("folder")
    refused("fit", "ring.csv", "-m", "kpca", "-o", "/proc/x.model", status=1,
            says="/proc/x.model: cannot")
    for target in ["missing/x.model", "folder", "folder/", "ring.csv/x.model"]:
        refused("fit", "ring.csv", "-m", "kpca", "-o", target, status=1, says=target)
        refused("generate", "circle", "-o", target, status=1, says=target)
    if os.geteuid() != 0:
        os.chmod("folder", 0o500)
        refused("fit", "ring.csv", "-m", "kpca", "-o", "folder/x.model", status=1, says="folder")
    # No data is read first: the missing file is not what the message is about.
    refused("fit", "no.csv", "-m", "kpca", "-o", "missing/x.model", says="missing/x.model")


@contextlib.contextmanager
def tiny_disk(size):
    """A folder on a file system of its own, or Skip."""
    os.mkdir("disk")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", "disk"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if made.returncode != 0:
        raise Skip("no right to mount")
    try:
        yield "disk"
    finally:
        subprocess.run(["umount", "disk"], check=True)


@test
def test_disk_full_keeps_the_old_file():
    ring_model(rows=2000)
    with tiny_disk("64k") as disk:
        write(f"{disk}/x.model", "old")
        refused("fit", "ring.csv", "-m", "kpca", "-n", 10, "-o", f"{disk}/x.model", status=1,
                says=["x.model", "full"])
        refused("transform", "ring.model", "ring.csv", "-o", f"{disk}/x.csv", status=1,
                says=["x.csv", "full"])
        assert os.listdir(disk) == ["x.model"], os.listdir(disk)
        assert pathlib.Path(f"{disk}/x.model").read_text() == "old"


def limited(resource_name, size):
    """What subprocess runs in the child before the program: a limit of the process."""
    return lambda: resource.setrlimit(getattr(resource, resource_name), (size, size))


@test
def test_limit_of_address_space():
    if b"__asan_init" in pathlib.Path(MERCER).read_bytes():
        raise Skip("the address sanitizer needs more address space than a limit leaves")
    ring(rows=900)
    if "OpenBLAS" not in mercer("--version").out:
        raise Skip("only OpenBLAS waits for ever")
    # So many components that LAPACK gets the whole matrix, on a thread of its own.
    fit = ["fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=0.1", "-n", 300]
    for megabytes in (100, 150, 250):
        for name, switch in (("RLIMIT_AS", "-v"), ("RLIMIT_DATA", "-d")):
            refused(*fit, status=1, says=[f"(ulimit {switch})", f" {megabytes} MB", "needed"],
                    preexec_fn=limited(name, megabytes << 20))
    # What it says is needed is enough, with few threads and with many.
    for name, threads in (("RLIMIT_AS", 1), ("RLIMIT_AS", 2), ("RLIMIT_AS", 8), ("RLIMIT_DATA", 2)):
        surroundings = {"OMP_NUM_THREADS": str(threads)}
        done = refused("--version", status=1, says="MB are needed", env=surroundings,
                       preexec_fn=limited(name, 100 << 20))
        needed = int(re.search(r"(\d+) MB are needed", done.err)[1])
        refused("--version", status=1, says=f"{needed} MB are needed", env=surroundings,
                preexec_fn=limited(name, needed - 8 << 20))
        for asked_for in (1, 16):
            done = mercer(*fit, "--threads", asked_for, "-o", "limited.model",
                          env=surroundings, preexec_fn=limited(name, needed + 1 << 20))
            assert ("leaves room for" in done.out) == (asked_for > 1), done.out
    mercer(*fit, "-o", "free.model", "--quiet")
    assert mercer("transform", "limited.model", "ring.csv").out == \
        mercer("transform", "free.model", "ring.csv").out


@test
def test_limit_of_file_size():
    ring_model()
    before = pathlib.Path("ring.model").read_bytes()
    small = limited("RLIMIT_FSIZE", 1000)
    for words in (["fit", "ring.csv", "-m", "kpca", "-o", "ring.model"],
                  ["transform", "ring.model", "ring.csv", "-o", "out.csv"],
                  ["transform", "ring.model", "ring.csv", "-o", "out.npy"],
                  ["generate", "circle", "--rows", 500, "-o", "out.csv.gz"]):
        refused(*words, status=1, says=[words[-1], "larger than the limit", "nothing was written"], preexec_fn=small)
    assert pathlib.Path("ring.model").read_bytes() == before
    with open("shown.csv", "wb") as out:
        refused("transform", "ring.model", "ring.csv", status=1, says=["standard output", "larger than the limit"],
                preexec_fn=small, stdout=out)
    assert files() == ["ring.csv", "ring.model", "shown.csv"]
    stream_model()
    there, before = files(), pathlib.Path("head.model").read_bytes()
    refused("update", "head.model", "tail.csv", status=1, says="larger than the limit", preexec_fn=small)
    assert files() == there and pathlib.Path("head.model").read_bytes() == before


@test
def test_full_device():
    ring_model()
    refused("fit", "ring.csv", "-m", "kpca", "-o", "/dev/full", status=1, says="/dev/full")
    for words in [["generate", "circle"], ["transform", "ring.model", "ring.csv"], ["--help"],
                  ["fit", "ring.csv", "-m", "kpca"], ["info", "ring.model"], ["methods", "--json"],
                  ["fit", "ring.csv", "-m", "kpca", "-o", "-"], ["scale", "ring.csv"]]:
        with open("/dev/full", "wb") as full:
            refused(*words, status=1, says="full", stdout=full)
    assert files() == ["ring.csv", "ring.model"]


@test
def test_closed_standard_output():
    ring_model()
    for words in ["generate circle", "info ring.model", "transform ring.model ring.csv"]:
        done = subprocess.run(["sh", "-c", f'"$0" {words} >&-', MERCER], stderr=subprocess.PIPE,
                              timeout=LIMIT)
        assert done.returncode == 1 and done.stderr.count(b"\n") == 1, (words, done)


@test
def test_reader_that_leaves_early():
    done = subprocess.Popen([MERCER, "generate", "circle", "--rows", "200000"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done.stdout.readline()
    done.stdout.close()
    assert done.stderr.read() == b"" and done.wait(LIMIT) == -signal.SIGPIPE, done.returncode


@test
def test_output_through_a_pipe():
    ring_model()
    plain = pathlib.Path("ring.model").read_bytes()
    for target in ["-", "/dev/stdout"]:
        words = ["fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 5, "-o", target]
        done = mercer(*words)
        pathlib.Path("piped.model").write_bytes(done.stdout)
        assert "rbf:sigma=4" in done.err and len(done.stdout) > len(plain) / 2
        assert mercer(*words, "--quiet").err == ""
        assert json.loads(mercer(*words, "--json").err)["components"] == 5
        whole = mercer("transform", "ring.model", "ring.csv").out
        assert mercer("transform", "piped.model", "ring.csv").out == whole
        assert mercer("transform", "ring.model", "ring.csv", "-o", target).out == whole
        assert mercer("generate", "circle", "--rows", 5, "-o", target).out.count("\n") == 6
    os.mkfifo("fifo")
    reader = subprocess.Popen(["cat", "fifo"], stdout=subprocess.PIPE)
    mercer("transform", "ring.model", "ring.csv", "-o", "fifo")
    assert reader.communicate()[0].decode() == whole
    assert stat.S_ISFIFO(os.stat("fifo").st_mode)


@test
def test_redirected_output_is_not_replaced():
    """-o /dev/stdout with standard output a file writes into it and leaves it in place."""
    ring_model()
    with open("out.csv", "wb") as out:
        before = os.fstat(out.fileno()).st_ino
        mercer("transform", "ring.model", "ring.csv", "-o", "/dev/stdout", stdout=out)
    assert os.stat("out.csv").st_ino == before
    assert pathlib.Path("out.csv").read_text() == mercer("transform", "ring.model", "ring.csv").out


@test
def test_symlink_is_followed_and_mode_kept():
    ring(30)
    os.mkdir("real")
    write("real/x.model", "old")
    os.chmod("real/x.model", 0o640)
    os.symlink("real/x.model", "link.model")
    mercer("fit", "ring.csv", "-m", "kpca", "-o", "link.model", "--quiet")
    assert os.path.islink("link.model") and os.listdir("real") == ["x.model"]
    assert stat.S_IMODE(os.stat("real/x.model").st_mode) == 0o640
    mercer("info", "real/x.model")
    os.symlink("later.model", "dangling.model")
    mercer("fit", "ring.csv", "-m", "kpca", "-o", "dangling.model", "--quiet")
    assert os.path.islink("dangling.model") and os.path.isfile("later.model")


@test
def test_input_may_be_replaced_by_output():
    ring(50)
    before = mercer("scale", "ring.csv").out
    mercer("scale", "ring.csv", "-o", "ring.csv", "--quiet")
    assert pathlib.Path("ring.csv").read_text() == before


@test
def test_input_is_not_overwritten_by_mistake():
    ring_model()
    before = [pathlib.Path(name).read_bytes() for name in files()]
    refused("fit", "ring.csv", "-m", "kpca", "-o", "ring.csv", status=2, says=["ring.csv", "data"])
    os.symlink("ring.model", "link.csv")
    refused("transform", "ring.model", "ring.csv", "-o", "link.csv", status=2, says="model")
    refused("transform", "ring.model", "ring.csv", "-o", "./ring.csv", status=2, says="data")
    refused("inverse", "ring.model", "ring.csv", "-o", "ring.csv", status=2, says="data")
    os.unlink("link.csv")
    assert before == [pathlib.Path(name).read_bytes() for name in files()]


@test
def test_numbers_are_written_shortest():
    """Targets in front of LIBSVM text, against Python's repr."""
    rng = random.Random(4)
    values = [2.0 ** k for k in range(-1074, 1024, 3)] + [2.0 ** -44, 5e-324, 1.7976931348623157e308]
    while len(values) < 4000:
        value = struct.unpack("<d", rng.randbytes(8))[0]
        values += [value] if value - value == 0 else []
    values += [rng.gauss(0, 1) for _ in range(1000)] + [k / 1000 for k in range(1000)]
    write("v.csv", "x,target\n" + "".join(f"1,{value!r}\n" for value in values))
    mercer("scale", "v.csv", "--scale", "none", "-o", "v.svm", "--quiet")
    lines = pathlib.Path("v.svm").read_text().splitlines()
    assert len(lines) == len(values)
    for line, value in zip(lines, values):
        text = line.split(" ")[0]
        assert float(text) == value, (text, value)
        assert decimal.Decimal(text).normalize() == decimal.Decimal(repr(value)).normalize(), (text, value)


@slow_test
def test_memory_that_runs_out_anywhere():
    """One line and status 1 at whichever allocation it happens, or the whole result; nothing is left behind."""
    stream_model(rows=300)
    write("words.csv", "a,a long name of a column,b,kind\n" + "".join(f"{i},{i * i % 7},w{i % 3},k{i % 2}\n" for i in range(20)))
    fit = ("fit", "words.csv", "-m", "kpca", "-n", 2, "-k", "rbf:sigma=3", "--encode", "onehot", "--label", "kind",
           "--head", "knn:k=1", "--quiet", "--threads", 1)
    mercer(*fit, "-o", "words.model")
    for words in ((*fit, "-o", "-"), ("info", "words.model", "--json"), ("transform", "words.model", "words.csv", "--threads", 1),
                  ("update", "head.model", "tail.csv", "-o", "-", "--quiet", "--threads", 1)):
        failed = let_allocations_fail(words, (80, 5), 20)
        assert failed > 50, (words, failed)
    assert sorted(os.listdir()) == ["head.csv", "head.model", "tail.csv", "words.csv", "words.model", "x.csv"], os.listdir()


@test
def test_interrupted_calls_change_nothing():
    """open() and fsync() can be interrupted on network file systems, reads and writes everywhere."""
    module = preloaded(MERCER, "faults")
    stream_model(rows=300)
    old = pathlib.Path("head.model").read_bytes()
    words = ("update", "head.model", "tail.csv", "--quiet", "--threads", 1)
    mercer(*words)
    new = pathlib.Path("head.model").read_bytes()
    for kind, calls in (("open", 30), ("read", 8), ("write", 12), ("fsync", 2), ("close", 10)):
        for k in range(1, calls + 1):
            pathlib.Path("head.model").write_bytes(old)
            mercer(*words, env=fault(module, f"{kind} {k} EINTR"))
            assert pathlib.Path("head.model").read_bytes() == new, (kind, k)


@test
def test_a_folder_that_cannot_be_synced_is_told():
    """Without a descriptor for it the new name might be lost in a crash."""
    module = preloaded(MERCER, "faults")
    ring()
    lines = [mercer("fit", "ring.csv", "-m", "pca", "-n", 1, "-o", "x.model", "--quiet", status=(0, 1),
                    env=fault(module, f"open {k} EMFILE")).err for k in range(1, 40)]
    assert lines[-1] == "" and any("in place: Too many open files" in line for line in lines), lines


@test
def test_what_is_left_at_the_rename_is_removed():
    """A writer that is killed when its file is whole and has not got its name yet."""
    module = preloaded(MERCER, "faults")
    ring()
    words = ("fit", "ring.csv", "-m", "pca", "-n", 1, "-o", "x.model", "--quiet")
    mercer(*words, status=-signal.SIGSEGV, env=fault(module, "rename 1 segv"))
    assert ".x.model.mercer-0" in files()
    mercer(*words)
    assert files() == ["ring.csv", "x.model"], files()
    assert os.stat("x.model").st_mode & 0o7000 == 0


@test
def test_a_library_that_ends_the_program_leaves_nothing():
    """libgomp calls exit() when it gets no memory."""
    module = preloaded(MERCER, "faults")
    stream_model(rows=300)
    before = files()
    for k in range(100, 2100, 100):
        done = mercer("update", "head.model", "tail.csv", "--checkpoint", 20, "--quiet", "--threads", 1, status=(0, 1),
                      env=fault(module, f"malloc {k} quit"))
        assert files() == before, (k, done.returncode, files())
    mercer("info", "head.model")


@test
def test_texts_of_others_do_not_reach_the_terminal_raw():
    """Escape sequences in names, classes, commands and file names: shown as '?' wherever people read; data and JSON keep
    them."""
    bad = "\x1b[31m\x07\x7f\u009b32m\u202e\u2028"
    raw = b"\x9b33m"  # a control character of terminals that do not read UTF-8
    folder = pathlib.Path(f"folder{bad}")
    folder.mkdir()
    data, model = folder / "x.csv", folder / "m.model"
    rows = "".join(f"{i % 5},{i * i % 7},w{bad}{i % 3},k{bad}{i % 2}\n" for i in range(30))
    head = f'a{bad},b{bad},"c{bad}\n",label\n'
    data.write_bytes(head.encode() + rows.encode())
    mute = folder / "raw.csv"
    mute.write_bytes(head.encode() + rows.encode() + b"1,2,w" + raw + b",k" + raw + b"\n")

    def check(done):
        for text in (done.stdout, done.stderr):
            shown = text.decode("utf-8", errors="surrogateescape")
            wrong = [c for c in shown if c != "\n" and (unicodedata.category(c) in ("Cc", "Zl")
                     or "\u202a" <= c <= "\u202e" or "\udc80" <= c < "\udca0")]
            assert not wrong, (wrong, shown)
        return done

    fit = ("fit", data, "-m", "kpca", "-n", 2, "--encode", "onehot", "--head", "knn:k=1")
    assert "?[31m" in check(mercer(*fit, "-o", model)).out
    check(mercer(*fit))
    assert "not UTF-8" in check(mercer("fit", mute, *fit[2:], status=1)).err
    check(mercer("fit", mute, *fit[2:], "--encoding", "latin1"))
    assert "?[31m" in check(mercer("info", model)).out
    check(mercer("evaluate", data, "-m", "kpca", "-n", 2, "--encode", "onehot", "--head", "knn:k=1", "--cv", 2))
    check(mercer("compare", data, "-m", "kpca", "-m", "pca", "-n", 2, "--encode", "onehot", "--head", "knn:k=1", "--cv", 2))
    out = folder / "out.csv"
    for words in (("transform", model, data), ("predict", model, data), ("truncate", model, "-n", 1),
                  ("generate", "circle"), ("scale", data, "--scale", "standard", "--encode", "onehot")):
        check(mercer(*words, "-o", out, status=(0, 1)))
    check(refused("fit", folder / "none.csv", "-m", "kpca", status=1))
    check(refused("fit", data, "-m", "kpca", status=1))
    check(refused("info", data, status=1))
    stream = folder / "s.model"
    data.write_text(f"a{bad},b\n" + "".join(f"{i % 5},{i * i % 7}\n" for i in range(30)))
    check(mercer("fit", data, "-m", "ikpca", "-n", 2, "-o", stream))
    check(mercer("update", stream, data))
    check(mercer("update", stream, data, "--checkpoint", 10))
    # JSON has the texts themselves, with nothing that a terminal would take for a command.
    assert check(mercer("info", model, "--json")).out
    names = report("info", model)["column_names"]
    assert names[0] == f"a{bad}" and f"k{bad}0" in report("info", model)["head_names"]
    assert bad in report("info", model)["command"]
    # A long command is shown to its end.
    deep = "d" * 200
    for _ in range(6):
        folder = folder / deep
        folder.mkdir()
    mercer("fit", data, "-m", "kpca", "-n", 2, "-o", folder / "end.model", "--quiet")
    assert "end.model" in "".join(mercer("info", folder / "end.model").out.split("command")[1].split())


@test
def test_a_killed_writer_leaves_nothing_for_long():
    stream_model()
    run = subprocess.Popen([MERCER, "transform", "head.model", "-", "-o", "out.csv"], stdin=subprocess.PIPE)
    run.stdin.write(pathlib.Path("tail.csv").read_bytes())
    run.stdin.flush()
    wait_for(run, lambda: glob.glob(".out.csv.mercer-*"))
    mercer("transform", "head.model", "tail.csv", "-o", "out.csv", "--quiet")
    assert len(glob.glob(".out.csv.mercer-*")) == 1  # its writer lives
    run.kill()
    run.wait(LIMIT)
    assert len(glob.glob(".out.csv.mercer-*")) == 1
    mercer("transform", "head.model", "tail.csv", "-o", "other.csv", "--quiet")
    assert len(glob.glob(".out.csv.mercer-*")) == 1  # another file's
    mercer("transform", "head.model", "tail.csv", "-o", "out.csv", "--quiet")
    assert not glob.glob(".out.csv.mercer-*")


@test
def test_pipes():
    made = mercer("generate", "circle", "--rows", 100).stdout
    fitted = mercer("fit", "-", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 3, "-o", "-", stdin=made)
    pathlib.Path("m").write_bytes(fitted.stdout)
    features = mercer("transform", "m", "-", stdin=made).stdout
    back = mercer("inverse", "m", "-", stdin=features)
    assert numbers(back.out)[1].shape == (100, 2)
    assert "standard input" in mercer("fit", "-", "-m", "kpca", stdin=made).out
    refused("fit", "-", "-m", "kpca", stdin=b"a,b\n1,2\nx,3\n", status=1, says=["3", "'x'"])


def on_terminal(*words, env=None):
    """Output of mercer with standard output and error on a terminal."""
    mine, theirs = pty.openpty()
    surroundings = dict(os.environ, TERM="xterm", **(env or {}))
    run = subprocess.Popen([MERCER, *map(str, words)], stdout=theirs, stderr=theirs, env=surroundings)
    os.close(theirs)
    text = b""
    with contextlib.suppress(OSError):
        while True:
            piece = os.read(mine, 65536)
            if not piece:
                break
            text += piece
    os.close(mine)
    assert run.wait(LIMIT) == 0, text.decode()
    return text.decode()


@slow_test
def test_colours_on_a_terminal_only():
    assert "\033[0;38;5;" in on_terminal("demo", "--rows", 200, "--quiet")
    assert "\033[" not in on_terminal("demo", "--rows", 200, "--quiet", env={"NO_COLOR": "1"})


@slow_test
def test_progress_bar_on_a_terminal_only():
    np.save("x.npy", cloud(6000, 40))
    words = ["fit", "x.npy", "-m", "kpca", "-k", "rbf:sigma=3", "-n", 30, "--store", "stream",
             "--threads", 1]
    shown = on_terminal(*words)
    drawings = shown.split("\r\033[K")
    assert len(drawings) > 2, "no bar was drawn"
    assert drawings[-1].startswith("Fitted"), "the bar was not erased before the summary"
    assert "\033[K" not in on_terminal(*words, "--quiet")
    assert mercer(*words).err == ""


@test
def test_model_is_not_printed_on_a_terminal():
    ring(20)
    mine, theirs = pty.openpty()
    done = subprocess.run([MERCER, "fit", "ring.csv", "-m", "kpca", "-o", "-"], stdout=theirs,
                          stderr=subprocess.PIPE, timeout=LIMIT)
    os.close(theirs)
    os.close(mine)
    assert done.returncode == 2 and b"terminal" in done.stderr


if __name__ == "__main__":
    sys.exit(run_tests())
