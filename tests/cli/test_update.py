#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer update: test_update.py MERCER [WORD...] [-jN] [--quick]"""
import os
import pathlib
import random
import signal
import stat
import subprocess
import sys
import time

from support import (LIMIT, MERCER, ROOT, STREAM, cloud, files, mercer, refused, report, ring, ring_model, run_tests,
                     slow_test, stream_model, table, test, write)


@test
def test_update_goes_on_where_fit_ended():
    stream_model()
    mercer("fit", "x.csv", "-m", STREAM, "-k", "rbf:sigma=4", "-o", "x.model", "--quiet")
    whole = mercer("transform", "x.model", "x.csv").out
    before = pathlib.Path("head.model").read_bytes()
    done = report("update", "head.model", "tail.csv", "-o", "both.model")
    assert (done["rows"], done["rows_learnt"], done["blocks"]) == (500, 240, 17), done
    assert pathlib.Path("head.model").read_bytes() == before
    assert mercer("transform", "both.model", "x.csv").out == whole
    # From a pipe, row by row, in other columns; the model is replaced.
    lines = [",".join(reversed(line.split(","))) for line in
             pathlib.Path("tail.csv").read_text().split()]
    os.chmod("head.model", 0o640)
    feed = subprocess.Popen([MERCER, "update", "head.model", "-"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, bufsize=0)
    for line in lines:
        feed.stdin.write(f"{line}\n".encode())
    out, _ = feed.communicate(timeout=LIMIT)
    assert feed.returncode == 0 and b"head.model: 240 rows learnt" in out and b"500 in all" in out
    assert mercer("transform", "head.model", "x.csv").out == whole
    assert stat.S_IMODE(os.stat("head.model").st_mode) == 0o640
    assert files() == ["both.model", "head.csv", "head.model", "tail.csv", "x.csv", "x.model"]
    assert report("info", "head.model")["rows"] == 500


@test
def test_update_folds_in_the_last_rows():
    stream_model(rows=267)
    assert report("update", "head.model", "tail.csv")["rows"] == 267
    assert report("info", "head.model")["rows"] == 267


@test
def test_update_refusals():
    stream_model()
    before = pathlib.Path("head.model").read_bytes()
    ring_model()
    refused("update", "ring.model", "ring.csv", status=1, says=("kpca", "no state"))
    refused("update", "head.model", status=2, says="DATA")
    refused("update", "absent.model", "tail.csv", status=1, says="absent.model")
    refused("update", "head.model", "absent.csv", status=1, says="absent.csv")
    refused("update", "-", "tail.csv", status=2, says="-o FILE", stdin=before)
    refused("update", "head.model", "tail.csv", "-o", "-", "--checkpoint", 9, status=2, says="-o FILE")
    refused("update", "head.model", "tail.csv", "-o", "tail.csv", status=2, says="over the data")
    write("short.csv", "x,y\n1,2\n3\n")
    refused("update", "head.model", "short.csv", status=1, says="short.csv:3")
    write("names.csv", "u,v\n1,2\n")
    refused("update", "head.model", "names.csv", status=1, says="names.csv")
    refused("update", "head.model", "/dev/null", status=1, says="/dev/null")
    # A bad row far behind, and nothing of what came before it.
    lines = pathlib.Path("tail.csv").read_text() + "oops,1\n"
    refused("update", "head.model", "-", status=1, says="oops", stdin=lines.encode())
    refused("fit", "x.csv", "-m", "kpca", "--checkpoint", 9, status=2, says="ikpca")
    refused("fit", "x.csv", "-m", "ikpca", "--checkpoint", 9, status=2, says="-o MODEL")
    refused("fit", "x.csv", "-m", "ikpca", "--resume", status=2, says="-o MODEL")
    assert pathlib.Path("head.model").read_bytes() == before
    assert not [name for name in files() if "lock" in name], files()


@test
def test_update_of_streams_that_go_wrong():
    """One line that names the line, or what is missing; the model stays as it was."""
    stream_model()
    before = pathlib.Path("head.model").read_bytes()
    lines = pathlib.Path("tail.csv").read_text().splitlines()
    def broken(line):
        return "\n".join(lines[:150] + [line] + lines[150:]).encode() + b"\n"
    for line, says in (("abc,2", "column 'x': 'abc'"), ("2", "1 cell where 2"), ("2,3,4", "3 cells where 2"),
                       ("nan,2", "'nan' is not finite")):
        refused("update", "head.model", "-", status=1, says=("standard input:151", says), stdin=broken(line))
        assert pathlib.Path("head.model").read_bytes() == before, line
    for text, says in (("", "empty"), ("x,y\n", "header but no rows")):
        refused("update", "head.model", "-", status=1, says=("standard input", says), stdin=text.encode())
    assert pathlib.Path("head.model").read_bytes() == before
    # After checkpoints the rows before the broken line have been learnt from.
    refused("update", "head.model", "-", "--checkpoint", 30, status=1, says="standard input:151",
            stdin=broken("abc,2"))
    rows = report("info", "head.model")["rows"]
    assert 260 < rows <= 260 + 149 and rows % 30 == 260 % 30, rows
    # Labels are passed over, wherever they stand.
    pathlib.Path("head.model").write_bytes(before)
    mercer("update", "head.model", "tail.csv", "-o", "plain.model", "--quiet")
    wanted = mercer("transform", "plain.model", "x.csv").out
    for k, words in ((0, []), (1, []), (2, []), (2, ["--label", 3])):
        cells = [line.split(",") for line in lines]
        for i, row in enumerate(cells):
            row.insert(k, ("label" if i == 0 else f"class {i % 2}"))
        text = "\n".join(",".join(row) for row in cells[1 if words else 0:]) + "\n"
        mercer("update", "head.model", "-", *words, "-o", "labels.model", "--quiet", stdin=text.encode())
        assert mercer("transform", "labels.model", "x.csv").out == wanted, (k, words)
    write("one.csv", lines[0] + "\n" + lines[1] + "\n")
    assert "1 row learnt" in mercer("update", "head.model", "one.csv").out
    # Nobody reads the model, or the report.
    for words in (["-o", "-"], []):
        run = subprocess.Popen([MERCER, "update", "plain.model", "-", *words], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        run.stdout.close()
        run.stdin.write(pathlib.Path("tail.csv").read_bytes())
        run.stdin.close()
        error = run.stderr.read().decode()
        assert run.wait(LIMIT) != 0 and error.count("\n") <= 1 and not [name for name in files() if "lock" in name], error
        run.stderr.close()


@slow_test
def test_kill_and_resume_gives_the_same_model():
    """Killed at any moment, resumed until it is done: not a row lost or counted twice."""
    rows = 3000
    ring(rows=rows, name="x.csv")
    ring(rows=rows, seed=4, name="more.csv")
    fit = ["fit", "x.csv", "-m", STREAM, "-k", "rbf:sigma=4", "-o", "a.model", "--checkpoint", "100"]
    start = time.monotonic()
    mercer(*fit, "--quiet")
    update = ["update", "a.model", "more.csv", "--checkpoint", "100", "--quiet"]
    fitted = pathlib.Path("a.model").read_bytes()
    mercer(*update)
    wanted = pathlib.Path("a.model").read_bytes()
    usual = (time.monotonic() - start) / 2
    rng, kills, begun = random.Random(1), 0, 0
    while kills < 50:
        os.remove("a.model")
        for words, after in ((fit + ["--quiet"], fitted), (update, wanted)):
            resume = []
            while True:
                run = subprocess.Popen([MERCER, *words, *resume], stderr=subprocess.PIPE)
                try:
                    run.wait(rng.uniform(0, usual))
                except subprocess.TimeoutExpired:
                    run.kill()
                    kills += 1
                    if run.wait() == 0:
                        kills -= 1
                error = run.communicate()[1].decode()
                if run.returncode == 0:
                    break
                assert run.returncode == -signal.SIGKILL, (words, error)
                if words is update and os.path.exists("a.model"):
                    begun += pathlib.Path("a.model").read_bytes() not in (fitted, wanted)
                resume = ["--resume"]
            assert pathlib.Path("a.model").read_bytes() == after, words[0]
    assert begun > 0, "no kill hit an update that had begun"
    # Once it is done there is nothing left to do.
    again = report("update", "a.model", "more.csv", "--resume")
    assert (again["rows_learnt"], again["rows_passed_over"]) == (0, rows), again
    assert pathlib.Path("a.model").read_bytes() == wanted


@test
def test_resume_of_what_was_never_begun():
    """Before anything was written, or after all was: --resume is a run like any other."""
    stream_model()
    ring(rows=300, name="tail.csv", seed=5)
    head = pathlib.Path("head.model").read_bytes()
    wanted = report("update", "head.model", "tail.csv", "-o", "both.model")
    both = pathlib.Path("both.model").read_bytes()
    words = ["head.model", "tail.csv", "--checkpoint", 100, "--resume"]
    done = report("update", *words)
    assert pathlib.Path("head.model").read_bytes() == both
    assert done["rows_learnt"] == wanted["rows_learnt"] == 300 and "new input" in done["notices"][0]
    again = report("update", *words)
    assert (again["rows_learnt"], again["rows_passed_over"], again["notices"]) == (0, 300, [])
    assert (again["blocks_learnt"], again["evaluations_learnt"]) == (0, 0)
    # With -o it starts from MODEL, whatever an earlier run has left in MODEL2.
    pathlib.Path("head.model").write_bytes(head)
    for few in (9, 200):
        ring(rows=few, name="few.csv", seed=8)
        mercer("update", "head.model", "few.csv", "-o", "out.model", "--quiet")
        mercer("update", "head.model", "tail.csv", "-o", "out.model", "--resume", "--quiet")
        assert pathlib.Path("out.model").read_bytes() == both, few
    # A pipe that can be read once only says what to do.
    tail = pathlib.Path("tail.csv").read_bytes()
    refused("update", "head.model", "-", "--resume", status=1, says="without --resume", stdin=tail)
    assert pathlib.Path("head.model").read_bytes() == head
    mercer("update", "both.model", "-", "--resume", "--quiet", stdin=tail)
    assert pathlib.Path("both.model").read_bytes() == both
    # A fit that replaces a finished model: of other rows, or by another command.
    fit = ["-m", STREAM, "-k", "rbf:sigma=4", "-o", "f.model", "--quiet"]
    mercer("fit", "head.csv", *fit)
    first = pathlib.Path("f.model").read_bytes()
    mercer("fit", "tail.csv", *fit, "--resume")
    os.remove("f.model")
    os.replace("tail.csv", "head.csv")
    mercer("fit", "head.csv", *fit)
    pathlib.Path("f.model").write_bytes(first)
    mercer("fit", "head.csv", *fit, "--resume")
    assert report("info", "f.model")["rows"] == 300
    ring_model()
    mercer("fit", "x.csv", "-m", STREAM, "-o", "ring.model", "--resume", "--quiet")
    assert report("info", "ring.model")["method"] == "ikpca"


@test
def test_resume_learns_no_row_twice():
    """A finished input, cut or with a bad line behind it: one line, and the model stays as it was."""
    ring(rows=30, name="x.csv")
    lines = pathlib.Path("x.csv").read_text().splitlines(keepends=True)
    write("bad.csv", "".join(lines) + "abc,1\n")
    write("cut.csv", "".join(lines[:1 + 20]))
    write("none.csv", lines[0])
    fit = ["-m", "ikpca:block=10,first=10", "-k", "rbf:sigma=4", "-o", "x.model", "--quiet"]
    mercer("fit", "x.csv", *fit)
    model = pathlib.Path("x.model").read_bytes()
    wrong = (("bad.csv", "abc"), ("cut.csv", "has only 20 rows, but the model learnt last from 30"),
             ("none.csv", "no rows"))
    for name, says in wrong:
        for more in ([], ["--checkpoint", 10], ["-o", "out.model", "--checkpoint", 10]):
            refused("update", "x.model", name, "--resume", *more, status=1, says=(name, says))
            assert pathlib.Path("x.model").read_bytes() == model, (name, more)
            assert not os.path.exists("out.model"), (name, more)
    for name, says in wrong:
        write("x.csv", pathlib.Path(name).read_text())
        refused("fit", "x.csv", *fit, "--resume", status=1, says=("x.csv", says))
        assert pathlib.Path("x.model").read_bytes() == model, name
    # Rows of the same input behind those that were learnt from are new, and only they.
    write("more.csv", "".join(lines + lines[1:1 + 10]))
    assert report("update", "x.model", "more.csv", "--resume")["rows"] == 40
    # Others than were learnt from are told at the place where they end, whatever was read by then.
    write("other.csv", "".join(lines[:1] + lines[2:] + lines[1:1 + 12]))
    done = report("update", "x.model", "other.csv", "--resume", "--checkpoint", 10)
    assert (done["rows"], done["rows_learnt"]) == (81, 41) and "new input" in done["notices"][0]


@test
def test_models_from_before_inputs_had_an_end():
    """Of a finished fit that does not say so nothing is claimed, in info, update and fit."""
    early = (ROOT / "tests/compat/format_1/stream-early.mercer").read_bytes()
    pathlib.Path("early.model").write_bytes(early)
    done = mercer("info", "early.model").out
    assert "3 blocks\n" in done and "kernel values" not in done and "last input" not in done, done
    done = report("info", "early.model")
    assert done["blocks"] == 3 and not done["unfinished"] and "evaluations" not in done
    table("x.csv", cloud(8, 2), ["age", "h\u00f6he"])
    done = report("update", "early.model", "x.csv")
    assert done["notices"] == [] and done["blocks"] == 5 and done["evaluations_learnt"] > 0, done
    # The count of the first blocks stays unknown.
    assert "evaluations" not in done and "5 blocks\n" in mercer("info", "early.model").out
    pathlib.Path("early.model").write_bytes(early)
    mercer("fit", "x.csv", "-m", STREAM, "-o", "early.model", "--resume", "--quiet")
    assert report("info", "early.model")["rows"] == 8


@test
def test_resume_of_an_input_that_is_another():
    """Interrupted in the middle, and then other rows: refused, and nothing is touched."""
    stream_model()
    ring(rows=400, seed=9, name="other.csv")
    ring(rows=50, seed=9, name="few.csv")
    feed = subprocess.Popen([MERCER, "update", "head.model", "-", "--checkpoint", "30"],
                            stdin=subprocess.PIPE)
    lines = pathlib.Path("tail.csv").read_bytes().splitlines(keepends=True)
    feed.stdin.write(b"".join(lines[:151]))
    feed.stdin.flush()
    while report("info", "head.model")["rows"] < 320:
        assert feed.poll() is None
        time.sleep(0.01)
    feed.kill()
    feed.wait()
    feed.stdin.close()
    half = pathlib.Path("head.model").read_bytes()
    assert report("info", "head.model")["unfinished"] and "last input" in mercer("info", "head.model").out
    assert "was not read to its end" in report("update", "head.model", "few.csv", "-o", "o.model")["notices"][0]
    assert not report("info", "o.model")["unfinished"]
    refused("update", "head.model", "other.csv", "--resume", status=1, says=("other.csv", "are not those"))
    refused("update", "head.model", "few.csv", "--resume", status=1, says=("few.csv", "only 50"))
    refused("fit", "x.csv", "-m", "ikpca", "--resume", "-o", "head.model", status=1,
            says="was not begun by this command")
    assert pathlib.Path("head.model").read_bytes() == half
    assert report("update", "head.model", "tail.csv", "--resume")["rows"] == 500


@test
def test_streams_report_kernel_values():
    """The same count whatever the threads, in fit, update and info."""
    stream_model()
    counts = []
    for threads in (1, 2):
        done = report("fit", "x.csv", "-m", STREAM, "-k", "rbf:sigma=4", "-o", "x.model", "--threads", threads)
        counts.append((done["blocks"], done["evaluations"], done["evaluations_newest_block"]))
    # 16 blocks of 30 with at most 30 points and with themselves; 20 rows first.
    assert counts[0] == counts[1] and counts[0][0] == 17, counts
    assert 20 * 20 + 16 * (30 * 20 + 900) < counts[0][1] <= 20 * 20 + 16 * 1800 and counts[0][2] == 1800
    done = report("update", "head.model", "tail.csv")
    assert (done["blocks"], done["blocks_learnt"]) == (17, 8) and done["evaluations"] == counts[0][1]
    assert done["evaluations_learnt"] == 8 * 1800
    kept = report("info", "head.model")
    assert (kept["blocks"], kept["evaluations"]) == (17, counts[0][1])
    assert "17 blocks" in mercer("info", "head.model").out
    assert "kernel values, 1,800 of them" in mercer("fit", "x.csv", "-m", STREAM).out
    ring_model()
    assert "evaluations" not in report("info", "ring.model")


if __name__ == "__main__":
    sys.exit(run_tests())
