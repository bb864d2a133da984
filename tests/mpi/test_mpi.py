#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The program as several ranks of an MPI: test_mpi.py MERCER openmpi|mpich [WORD...] [-jN]

Outputs of any number of ranks are those of one, byte for byte; whatever one rank meets with, all of them end, with one
line of ours. A launcher that waits for two minutes is taken for a hang; where a rank is killed, or fails beside others that
have work for hours, ten seconds are (SOON in ranks.py), and the seconds are printed.
"""
import gzip
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import Skip, program, run_tests, test  # noqa: E402
from ranks import LAUNCHER_OPTIONS, SOON, SURROUNDINGS, all_end_soon, launcher, took, without_times  # noqa: E402

MERCER = program()
KIND = sys.argv.pop(2)
HANG = 120  # seconds
RANKS = (1, 2, 3, 4, 7)
OPTIONS = LAUNCHER_OPTIONS[KIND]
RANK_VARIABLE = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}[KIND]
SIZE_VARIABLE = {"openmpi": "OMPI_COMM_WORLD_SIZE", "mpich": "PMI_SIZE"}[KIND]


MPIRUN, WITHOUT = launcher(KIND, MERCER)


def need_mpi():
    if not MPIRUN:
        raise Skip(WITHOUT)


class Done:
    """What a launched program came to."""

    def __init__(self, words, env=None, given=b""):
        start = time.monotonic()
        with open("out.txt", "wb") as out, open("err.txt", "wb") as err:
            done = subprocess.run(list(map(str, words)), stdout=out, stderr=err, input=given, check=False,
                                  timeout=HANG, env=dict(SURROUNDINGS, **(env or {})))
        self.seconds = time.monotonic() - start
        self.status = done.returncode
        self.out = pathlib.Path("out.txt").read_text(encoding="utf-8")
        self.err = pathlib.Path("err.txt").read_text(encoding="utf-8")
        # what the program says; launchers have a lot to add
        self.lines = [line for line in self.err.splitlines() if line.startswith("mercer: ")]


def alone(*words, status=0, env=None, given=b""):
    done = Done([MERCER, *words], env, given)
    assert done.status == status, (words, done.status, done.err)
    return done


def ranks(count, *words, status=0, env=None):
    """Run mercer on so many ranks."""
    need_mpi()
    done = Done([MPIRUN, *OPTIONS, "-n", count, MERCER, *words], env)
    assert done.status == status, (count, words, done.status, done.err, done.out[:500])
    return done


def together(*groups):
    """Run different words on different ranks: (count, words) after (count, words)."""
    need_mpi()
    words = [MPIRUN, *OPTIONS]
    for i, (count, own) in enumerate(groups):
        words += [":"] * (i > 0) + ["-n", count, *own]
    return Done(words)


def piped(given, *groups, env=None):
    """The same, the first rank having these bytes in a pipe."""
    need_mpi()
    words = [MPIRUN, *OPTIONS]
    if KIND == "openmpi":
        for i, (count, own) in enumerate(groups):
            words += [":"] * (i > 0) + ["-n", count, *own]
        return Done(words, env, given)
    # of more than 64 kB the mpirun of MPICH says that we read too slowly
    os.mkfifo("rows.pipe")
    pathlib.Path("given").write_bytes(given)
    with subprocess.Popen(["sh", "-c", "exec cat given >rows.pipe"]) as feeder:
        (count, own), others = groups[0], groups[1:]
        words += ["-n", 1, "sh", "-c", 'exec "$@" <rows.pipe', "sh", *own]
        for more, its in [(count - 1, own)] * (count > 1) + list(others):
            words += [":", "-n", more, *its]
        done = Done(words, env)
        feeder.kill()
    os.unlink("rows.pipe")
    os.unlink("given")
    return done


def one_line(done, *says, status=1):
    """It has failed with one line, which says this."""
    assert done.status == status, (done.status, done.err)
    assert len(done.lines) == 1 and done.out == "", (done.err, done.out)
    for word in says:
        assert word in done.lines[0], (word, done.lines)


def make_data(name="data.csv", rows=61, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4))
    with open(name, "w", encoding="ascii") as out:
        print("a,b,c,d,label", file=out)
        for row in x:
            print(*(f"{value:.6f}" for value in row), "yes" if row[0] + row[1] * row[2] > 0 else "no", sep=",", file=out)


TUNED = ["evaluate", "data.csv", "-m", "kpls", "--tune", "kernel.sigma=0.25:4:*2", "-n", "3"]
LONG = ["evaluate", "data.csv", "-m", "kpls", "--repeats", "100000", "--tune", "kernel.sigma=0.25:4:*1.1"]  # hours
LONG_CHOICE = ["fit", "data.csv", "-m", "kpls", "-k", "rq", "--tune=kernel.sigma=0.01:100:*1.06", "--tune=kernel.alpha=0.01:100:*1.06", "-o", "long.model"]


def compare_with_one(words, files=()):
    """Reports and files of any number of ranks are those of one."""
    need_mpi()
    make_data()
    expected = without_times(alone(*words, "--json").out)
    kept = {name: pathlib.Path(name).read_bytes() for name in files}
    for count in RANKS:
        for name in files:
            os.unlink(name)
        done = ranks(count, *words, "--json")
        assert without_times(done.out) == expected, (count, done.out)
        assert not done.lines, done.err
        for name in files:
            assert pathlib.Path(name).read_bytes() == kept[name], (count, name)
    assert sorted(os.listdir(".")) == sorted({"data.csv", "out.txt", "err.txt", *files}), os.listdir(".")


@test
def evaluate_as_one():
    compare_with_one(["evaluate", "data.csv", "-m", "kpca", "--head", "ls", "-n", "3", "--roc", "roc.csv",
                      "--save-predictions", "p.csv", "--importance"], ["roc.csv", "p.csv"])


@test
def evaluate_tuned_as_one():
    compare_with_one([*TUNED, "--plot", "t.svg"], ["t.svg"])


@test
def compare_as_one():
    compare_with_one(["compare", "data.csv", "-m", "kpls", "-m", "pls", "-m", "sma", "-n", "2", "--cv", "loo"])


@test
def fit_tuned_as_one():
    compare_with_one(["fit", "data.csv", "-m", "kpls", "--tune", "kernel.sigma=0.25:4:*2", "--tune", "components=1:3:+1",
                      "-o", "my.model"], ["my.model"])


@test
def text_as_one():
    make_data()
    expected = alone(*TUNED).out
    done = ranks(3, *TUNED)
    table, rest = done.out[:len(expected)], done.out[len(expected):]
    assert table == expected, done.out
    assert re.fullmatch(r"\n3 ranks x 1 thread, \d[\d.]* k?B sent per rank\n", rest), rest
    assert ranks(3, *TUNED, "--quiet").out == ""
    told = ranks(2, *TUNED, "--threads", "3").out
    assert "2 ranks x 3 threads" in told, told


@test
def a_launcher_has_nothing_to_say_of_our_options():
    """The mpirun of Open MPI looks for a --tune of its own among our words, but not for --tune=..., which documents use."""
    make_data()
    words = ["evaluate", "data.csv", "-m", "kpls", "--tune=kernel.sigma=0.25:4:*2", "-n", "3"]
    done = ranks(3, *words, "--json")
    assert done.err == "", done.err
    assert without_times(done.out) == without_times(alone(*TUNED, "--json").out)


@test
def fewer_trials_than_ranks():
    make_data()
    words = ["evaluate", "data.csv", "-m", "kpls", "--cv", "2", "--json"]
    assert without_times(ranks(7, *words).out) == without_times(alone(*words).out)
    make_data("test.csv", 20, 5)
    words = ["evaluate", "data.csv", "-m", "kpls", "--test", "test.csv", "--json"]
    assert without_times(ranks(4, *words).out) == without_times(alone(*words).out)


@test
def tight_memory_as_one():
    """Trials that do not fit the share of a thread have all of a rank's memory, one after the other."""
    alone("generate", "swiss-roll", "--rows", "700", "-o", "roll.csv", "-q")
    words = ["evaluate", "roll.csv", "-m", "kpca", "-n", "3", "--metric", "reconstruction", "--store", "dense", "--threads", "4",
             "--tune", "kernel.sigma=2,4", "--json"]
    one_line(alone(*words, "--memory", "1M", status=1), "the memory budget is")
    for memory in ("6M", "9M"):
        expected = without_times(alone(*words, "--memory", memory).out)
        assert without_times(ranks(3, *words, "--memory", memory).out) == expected, memory


@test
def version_and_help_are_said_once():
    assert ranks(3, "--version").out == alone("--version").out
    assert ranks(3, "evaluate", "--help").out == alone("evaluate", "--help").out


@test
def wrong_calls_are_one_line():
    make_data()
    one_line(ranks(3, "evaluate", "data.csv", "--frob", status=2), "unknown option --frob", status=2)
    one_line(ranks(3, "evaluate", "data.csv", "-m", "kplx", status=2), "unknown method 'kplx'", status=2)
    one_line(ranks(3, "frob", status=2), "unknown command 'frob'", status=2)


@test
def bad_files_are_one_line():
    pathlib.Path("bad.csv").write_text("a,b,label\n1,2,x\n3,oops,y\n", encoding="ascii")
    words = ["evaluate", "bad.csv", "-m", "kpls"]
    expected = alone(*words, status=1).lines
    done = ranks(3, *words, status=1)
    one_line(done, "bad.csv")
    assert done.lines == expected, (done.lines, expected)
    one_line(ranks(3, "evaluate", "nothing.csv", "-m", "kpls", status=1), "nothing.csv: cannot open")


@test
def errors_of_folds_are_those_of_one():
    make_data()
    words = ["evaluate", "data.csv", "-m", "kpca:groups=50", "--head", "ls"]
    expected = alone(*words, status=1).lines
    done = ranks(3, *words, status=1)
    assert done.lines == expected, (done.lines, expected)


@test
def a_failing_rank_ends_all():
    make_data()
    make_data("other.csv", seed=2)
    words = [MERCER, *LONG]
    gone = [MERCER, "evaluate", "nothing.csv", *LONG[2:]]
    other = [MERCER, "evaluate", "other.csv", *LONG[2:]]

    def ends(first, last, *says):
        done = together(first, last)
        one_line(done, *says)
        took(done.seconds, f"{says[0]}, with the start of the launcher", 2 * SOON)

    for count in (1, 2):
        for last in (1, 2):
            ends((count, words), (last, gone), f"rank {count}: nothing.csv: cannot open")
    ends((2, words), (1, other), "rank 2: the rows, the options or the seed are not those of rank 0")
    ends((2, words), (1, [*words, "--seed", "7"]), "rank 2: the rows, the options or the seed")
    ends((2, words), (1, [*words, "--frob"]), "rank 2: evaluate: unknown option --frob")
    # the first rank fails: its line is its own
    ends((1, gone), (2, words), "mercer: nothing.csv: cannot open")


@test
def different_processors_get_a_note():
    make_data()
    words = [MERCER, *TUNED, "--json"]
    plain = json.loads(alone(*words[1:]).out)
    kernels = [["env", f"OPENBLAS_CORETYPE={name}", *words] for name in ("Prescott", "Nehalem")]
    if len({alone("--version", env={"OPENBLAS_CORETYPE": name}).out for name in ("Prescott", "Nehalem")}) == 1:
        raise Skip("BLAS here has one set of kernels")
    done = together((1, kernels[0]), (2, kernels[1]))
    assert done.status == 0, done.err
    told = json.loads(done.out)
    assert any("ranks run on processors of different kinds" in text for text in told["notices"]), told["notices"]
    assert abs(told["mean"] - plain["mean"]) < 1e-9
    assert not any("different kinds" in text for text in json.loads(ranks(3, *words[1:]).out)["notices"])


def wait_for(what, condition):
    end = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def start_with_numbers(count, *words, given=subprocess.DEVNULL):
    """A launched program whose ranks leave their process numbers in files pid.RANK."""
    need_mpi()
    script = f'echo $$ > pid.${RANK_VARIABLE}.new && mv pid.${RANK_VARIABLE}.new pid.${RANK_VARIABLE} && exec "$@"'
    with open("out.txt", "wb") as out, open("err.txt", "wb") as err:
        # pylint: disable-next=consider-using-with
        job = subprocess.Popen([MPIRUN, *OPTIONS, "-n", str(count), "sh", "-c", script, "sh", MERCER, *words],
                               stdout=out, stderr=err, stdin=given, env=SURROUNDINGS)
    wait_for("all ranks", lambda: all(os.path.exists(f"pid.{r}") for r in range(count)))
    return job, [int(pathlib.Path(f"pid.{r}").read_text(encoding="ascii")) for r in range(count)]


@test
def a_killed_rank_ends_all():
    make_data()
    for victim in (2, 0):
        for pause in (0, 0.7):
            job, pids = start_with_numbers(3, *LONG, "--save-predictions", "p.csv")
            time.sleep(pause)  # anywhere, from MPI's start on
            os.kill(pids[victim], signal.SIGKILL)
            assert all_end_soon(job, pids, f"rank {victim} killed after {pause} s") != 0
            assert not [name for name in os.listdir(".") if "p.csv" in name], os.listdir(".")
            for r in range(3):
                os.unlink(f"pid.{r}")


def was_interrupted(status):
    """The mpirun of MPICH, ended by a signal, now and then says that all went well, of whatever program it ran."""
    assert status != 0 or KIND == "mpich"


@test
def an_interrupted_launcher_ends_all():
    make_data()
    job, pids = start_with_numbers(3, *LONG)
    time.sleep(0.5)
    job.send_signal(signal.SIGTERM)
    was_interrupted(all_end_soon(job, pids, "launcher interrupted"))


def journal_lines():
    return sum(path.read_bytes().count(b"\n") for path in pathlib.Path(".").glob("j.*"))


def lines_in(name):
    path = pathlib.Path(name)
    return path.read_bytes().count(b"\n") if path.exists() else 0


def start_with_journals(count, words):
    """The same, in the middle of its trials."""
    job, pids = start_with_numbers(count, *words, "--journal", "j")
    wait_for("trials", lambda: job.poll() is not None or all(lines_in(f"j.{r}") > 5 for r in range(count)))
    assert job.poll() is None, pathlib.Path("err.txt").read_text(encoding="utf-8")
    return job, pids


def fill(pid, rank):
    """No file of the process can be longer than its journal is."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (os.stat(f"j.{rank}").st_size, resource.RLIM_INFINITY))


def ended_in_time(job, pids, what, status, says):
    """All processes end soon, with one line."""
    assert all_end_soon(job, pids, what) == status, (what, job.returncode)
    text = pathlib.Path("err.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("mercer: ")]
    assert len(lines) == 1 and re.fullmatch(says, lines[0]), text
    assert pathlib.Path("out.txt").read_bytes() == b""
    for path in pathlib.Path(".").glob("pid.*"):
        path.unlink()
    for path in pathlib.Path(".").glob("j.*"):
        path.unlink()


@test
def a_full_journal_of_a_rank_ends_all():
    """Each rank in turn can write no more, while the others have trials for hours."""
    make_data()
    for words in (LONG, LONG_CHOICE):
        for count, victim in ((3, 0), (3, 1), (3, 2), (2, 1)):
            job, pids = start_with_journals(count, words)
            fill(pids[victim], victim)
            rank = f"rank {victim}: " if victim else ""
            ended_in_time(job, pids, f"{words[0]}: journal of rank {victim} of {count} full", 1,
                          rf"mercer: (data\.csv: )?{rank}(data\.csv: )?(fold \d+: )?j\.{victim}: cannot be written: File too large")


@test
def a_full_journal_ends_one_process():
    make_data()
    for words in (LONG, LONG_CHOICE):
        for threads in ("1", "2"):
            with open("out.txt", "wb") as out, open("err.txt", "wb") as err:
                # pylint: disable-next=consider-using-with
                job = subprocess.Popen([MERCER, *words, "--threads", threads, "--journal", "j"], stdout=out, stderr=err,
                                       stdin=subprocess.DEVNULL, env=SURROUNDINGS)
            wait_for("trials", lambda job=job: job.poll() is not None or lines_in("j.0") > 5)
            fill(job.pid, 0)
            ended_in_time(job, [], f"{words[0]}: journal full, {threads} threads", 1,
                          r"mercer: (data\.csv: )?(fold \d+: )?j\.0: cannot be written: File too large")


@test
def a_cancelled_rank_ends_all():
    make_data()
    for victim in range(3):
        job, pids = start_with_journals(3, LONG)
        os.kill(pids[victim], signal.SIGINT)
        assert all_end_soon(job, pids, f"rank {victim} of 3 cancelled") != 0
        for path in list(pathlib.Path(".").glob("pid.*")) + list(pathlib.Path(".").glob("j.*")):
            path.unlink()


@test
def a_killed_run_goes_on_by_its_journal():
    """Killed twice, with another number of ranks each time, and finished by a third."""
    make_data()
    words = [*TUNED, "--repeats", "25", "--json"]
    expected = without_times(alone(*words).out)
    known = 0
    for count, finisher in ((3, 2), (2, 1), (1, 4)):
        job, pids = start_with_numbers(count, *words, "--journal", "j")
        wait_for("trials", lambda: journal_lines() > known + 40 or job.poll() is not None)
        os.kill(pids[-1], signal.SIGKILL)
        assert all_end_soon(job, pids, f"rank {count - 1} of {count} killed") != 0, "it was too fast to be killed"
        known = journal_lines()
        assert known > 40, known
        kept = {path: path.read_bytes() for path in pathlib.Path(".").glob("j.*")}
        done = ranks(finisher, *words, "--journal", "j")
        assert without_times(done.out) == expected, (count, finisher)
        assert not list(pathlib.Path(".").glob("j.*"))  # the files go when the result is printed
        for path, content in kept.items():  # the next one goes on where this one was killed
            path.write_bytes(content)
        for r in range(count):
            os.unlink(f"pid.{r}")


@test
def a_comparison_and_a_fit_have_journals():
    make_data()
    for words, files in ((["compare", "data.csv", "-m", "kpls", "-m", "pls", "--tune", "components=1:3:+1"], []),
                         (["fit", "data.csv", "-m", "kpls", "--tune", "kernel.sigma=1,2", "--journal", "j", "-o", "m"], ["m"])):
        expected = without_times(alone(*words, "--json").out)
        models = [pathlib.Path(name).read_bytes() for name in files]
        done = ranks(3, *words, "--journal", "j", "--json") if not files else ranks(3, *words, "--json")
        assert without_times(done.out) == expected
        assert models == [pathlib.Path(name).read_bytes() for name in files]
        assert not list(pathlib.Path(".").glob("j.*"))


@test
def copies_that_do_not_know_each_other_are_refused():
    make_data()
    words = ["evaluate", "data.csv", "-m", "kpls", "--save-predictions", "p.csv"]
    told = "4 copies were started that do not know each other: use srun --mpi=pmix"
    slurm = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_NTASKS": "4"}
    one_line(alone(*words, status=2, env=dict(slurm, SLURM_PROCID="0")), told, status=2)
    other = alone(*words, status=2, env=dict(slurm, SLURM_PROCID="3"))
    assert not other.out and not other.lines, other.err  # one of them says it
    # a batch script that starts one copy has the number of tasks of the job, too
    alone(*words, env={"SLURM_NTASKS": "4", "SLURM_PROCID": "0"})
    alone(*words, env={"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"})
    os.unlink("p.csv")
    need_mpi()
    one_line(alone(*words, status=2, env={SIZE_VARIABLE: "4", RANK_VARIABLE: "0", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}),
             "4 copies were started that do not know each other: use the mpirun of", status=2)
    assert not os.path.exists("p.csv")


@test
def what_cannot_be_spread_is_refused_before_data_is_read():
    for words in (["inverse", "my.model", "nothing.csv"], ["info", "my.model"], ["generate", "circle"],
                  ["advise", "nothing.csv"], ["demo"]):
        one_line(ranks(2, *words, status=2), f"{words[0]}: cannot be spread over 2 ranks yet; run it on one",
                 "evaluate, compare, fit, transform and predict can be spread", status=2)
    # test_spread.c has the others
    for words in (["-m", "akfa"], ["-m", "kpca:groups=4"], ["-m", "kpca", "--novelty", "0.05"], ["-m", "kpca", "--precision", "single"],
                  ["-m", "kpca", "-k", "precomputed"], ["-m", "kpca", "--report", "r.html"],
                  ["-m", "ikpca", "--checkpoint", "100", "-o", "m"]):
        one_line(ranks(2, "fit", "nothing.npy", *words, status=2), "spread over ranks", "one", status=2)


# ---- fits to rows that are spread ----


def make_rows(count, columns=3, dtype=float, seed=1):
    """Rows of which the second half is the first again, so that duplicates lie on other ranks."""
    x = np.random.default_rng(seed).normal(size=(count, columns))
    x[count // 2:] = x[:count - count // 2]
    np.save("rows.npy", x.astype(dtype))


def models_are_those_of_one(words, counts=(3, 7), threads=(1, 2), env=None):
    """Two numbers of ranks; run_rank_tests.py, one of the long tests, takes every method through all of them."""
    need_mpi()
    for number in threads:  # it stands in the model, as a word of the command
        call = ["fit", *words, "-o", "my.model", "--quiet", "--threads", str(number)]
        alone(*call, env=env)
        expected = pathlib.Path("my.model").read_bytes()
        for count in counts:
            os.unlink("my.model")
            done = ranks(count, *call, env=env)
            assert not done.lines and done.out == "", (done.err, done.out)
            assert pathlib.Path("my.model").read_bytes() == expected, (words, number, count)
    assert not [name for name in os.listdir(".") if name.startswith(".") or "tmp" in name], os.listdir(".")


def kpca(kernel="rbf:sigma=9", components=4):
    return ["rows.npy", "-m", "kpca", "-k", kernel, "-n", str(components)]


KPCA = kpca()


@test
def fit_spread_as_one():
    make_rows(20500, 2)
    models_are_those_of_one(KPCA, RANKS, [1])
    models_are_those_of_one(KPCA, (2, 4), [2])
    make_rows(2500, 3)
    models_are_those_of_one([*KPCA, "--scale", "standard"], threads=[1])
    models_are_those_of_one(["rows.npy", "-m", "pca", "-n", "2", "--scale", "minmax"], threads=[2])
    make_rows(3001, 3, np.float32)
    models_are_those_of_one(kpca("rbf"), (2, 3), [1])


@test
def nystroem_as_one():
    words = ["rows.npy", "-m", "nystroem:points=60", "-k", "rbf:sigma=1", "-n", "4"]
    for count in (1, 257, 2499):  # of which every rank gets all
        make_rows(count)
        models_are_those_of_one(words if count > 1 else [*words[:-1], "1", "--center", "none"], (2, 7), [1])
    make_rows(2500)  # three parts, which are fewer than some of the ranks
    models_are_those_of_one(words)
    models_are_those_of_one(["rows.npy", "-m", "nystroem", "-n", "0.7", "--center", "none", "--scale", "standard"], (3, 4), [2])
    models_are_those_of_one(["rows.npy", "-m", "nystroem:points=2500", "-k", "linear", "-n", "2"], (3,), [1])
    models_are_those_of_one(["rows.npy", "-m", "nystroem:sampling=rpcholesky,points=60", "-n", "4"], (2, 7), [1])
    make_rows(20500, 6, np.float32)
    models_are_those_of_one(["rows.npy", "-m", "nystroem:points=250", "-n", "5"], (2, 7), [1])
    told = json.loads(without_times(alone("fit", *words, "--threads", "1", "--json").out))
    spread = json.loads(without_times(ranks(3, "fit", *words, "--threads", "1", "--json").out))
    for report in (told, spread):
        report.pop("forecast_seconds")
    assert told == spread, (told, spread)


@test
def rkpca_as_one():
    for count in (257, 3001):
        make_rows(count)
        words = ["rows.npy", "-m", "rkpca:points=15", "-k", "rbf:sigma=6", "-n", "4"]
        models_are_those_of_one(words, threads=[1])
        models_are_those_of_one([*words, "--scale", "standard", "--center", "none"], (2, 7), [2])
    words = ["fit", *words, "--threads", "1", "--json"]
    told, spread = (json.loads(without_times(done.out)) for done in (alone(*words), ranks(3, *words)))
    for report in (told, spread):
        report.pop("forecast_seconds")
    assert told == spread, (told, spread)
    for words in (["rkpca:criterion=top"], ["rkpca:captured=0.9"], ["rkpca", "-n", "0.9"]):
        one_line(ranks(2, "fit", "nothing.npy", "-m", *words, status=2), "criterion=trace", "fit on one rank", status=2)


@test
def landmarks_as_one():
    for count in (257, 3001):
        make_rows(count)
        np.save("points.npy", np.load("rows.npy")[:50])
        words = ["rows.npy", "--landmarks", "points.npy", "-k", "rbf:sigma=1", "-n", "4", "-m"]
        models_are_those_of_one([*words, "nystroem"], threads=[1])
        models_are_those_of_one([*words, "rkpca", "--scale", "standard"], (2, 7), [2])
    # a table of text has columns and classes that the landmarks have not
    make_targets(3001)
    lines = pathlib.Path("targets.csv").read_text(encoding="ascii").splitlines()
    pathlib.Path("points.csv").write_text("\n".join(lines[:40]) + "\n", encoding="ascii")
    pathlib.Path("bare.csv").write_text("\n".join(line.rsplit(",", 2)[0] for line in lines[:40]) + "\n", encoding="ascii")
    for name in ("points", "bare"):
        models_are_those_of_one(["targets.csv", "--landmarks", f"{name}.csv", "--label", "label", "--drop", "size", "-m", "greedy", "-n", "3"],
                                (3, 7), [1])
    call = [MERCER, "fit", *words, "nystroem", "-o", "my.model"]
    other = [word.replace("points.npy", "other.npy") for word in call]
    np.save("other.npy", np.load("rows.npy")[1:51])
    os.unlink("my.model")
    one_line(together((2, call), (1, other)), "rank 2: the options, the seed, the landmarks")
    os.unlink("other.npy")
    one_line(together((2, call), (1, other)), "rank 2: other.npy: cannot open")
    one_line(ranks(2, "fit", "nothing.npy", "-m", "greedy", status=2), "give it landmarks", "fit on one rank", status=2)
    x = np.load("rows.npy")
    x[2999, 2] = 1e200
    np.save("large.npy", x)
    one_line(ranks(3, "fit", "large.npy", "--landmarks", "points.npy", "-m", "nystroem", "-k", "poly:degree=3", status=1),
             "the largest value is 1e+200 (column 3)")
    x = np.abs(np.load("rows.npy"))
    np.save("points.npy", x[:50])
    x[2999, 2] = -1
    np.save("negative.npy", x)
    one_line(ranks(3, "fit", "negative.npy", "--landmarks", "points.npy", "-m", "nystroem", "-k", "intersection", status=1), "row 3000")
    assert not os.path.exists("my.model")


def make_targets(count, seed=2):
    """A table of three columns with values and classes, of which the last rows have one of their own."""
    x = np.random.default_rng(seed).normal(size=(count, 3))
    with open("targets.csv", "w", encoding="ascii") as out:
        print("a,b,c,size,label", file=out)
        for i, row in enumerate(x):
            name = "late" if i > count * 0.9 else "up" if row[0] > 0 else "down"
            print(*(f"{value:.6f}" for value in row), f"{row[0] ** 2 + row[1]:.6f}", name, sep=",", file=out)


@test
def krr_as_one():
    for count in (257, 3001):
        make_targets(count)
        words = ["targets.csv", "-m", "krr", "-k", "rbf:sigma=6"]
        models_are_those_of_one([*words, "--target", "size", "--drop", "label"], threads=[1])
        models_are_those_of_one([*words, "--label", "label", "--drop", "size", "--scale", "standard"], (2, 7), [2])
    call = ["fit", *words, "--label", "label", "--drop", "size", "--threads", "1"]
    alone(*call, "-o", "one.model", "-q")
    assert "(3 classes)" in ranks(4, *call, "-o", "my.model").out
    for name in ("one", "my"):
        alone("predict", f"{name}.model", "targets.csv", "-o", f"{name}.csv", "-q")
    assert pathlib.Path("one.csv").read_bytes() == pathlib.Path("my.csv").read_bytes()


@test
def kfd_as_one():
    for count in (257, 3001):
        make_targets(count)
        words = ["targets.csv", "-m", "kfd", "-k", "rbf:sigma=6", "--label", "label", "--drop", "size"]
        models_are_those_of_one(words, threads=[1])
        models_are_those_of_one([*words, "--scale", "standard", "-n", "1"], (2, 7), [2])
    call = ["fit", *words, "--threads", "1"]
    told, spread = (json.loads(without_times(done.out)) for done in (alone(*call, "--json"), ranks(3, *call, "--json")))
    for report in (told, spread):
        report.pop("forecast_seconds")
    assert told == spread, (told, spread)
    one_line(ranks(3, *call[:-2], "--head", "knn", status=2), "head: not possible", status=2)
    one_line(ranks(3, "fit", "targets.csv", "-m", "kfd", "--target", "size", "--drop", "label", status=1), "classes")


def deflation_as_one(method, options):
    """A method of features learnt one after the other: classes and values, in text and in numbers."""
    for count in (257, 3001):
        make_targets(count)
        words = ["targets.csv", "-m", method, *options, "-n", "3"]
        models_are_those_of_one([*words, "--label", "label", "--drop", "size"], threads=[1])
        models_are_those_of_one([*words, "--target", "size,c", "--drop", "label", "--scale", "standard"], (2, 7), [2])
    models_are_those_of_one([*words, "--label", "label", "--drop", "size", "--head", "centre"], (3,), [1],
                            {"OPENBLAS_CORETYPE": "Prescott"})
    call = ["fit", *words, "--label", "label", "--drop", "size", "--threads", "1"]
    told, spread = (json.loads(without_times(done.out)) for done in (alone(*call, "--json"), ranks(3, *call, "--json")))
    for report in (told, spread):
        report.pop("forecast_seconds")
    assert told == spread, (told, spread)


@test
def kpls_as_one():
    deflation_as_one("kpls", ["-k", "rbf:sigma=6"])
    one_line(ranks(3, "fit", "targets.csv", "-m", "kpls", "--drop", "size,label", status=1), "nothing to predict")


@test
def pls_as_one():
    deflation_as_one("pls", [])


@test
def smc_as_one():
    deflation_as_one("smc", ["-k", "rbf:sigma=6"])


@test
def sma_as_one():
    deflation_as_one("sma", ["-k", "rbf:sigma=6"])


@test
def krr_that_cannot_be_spread_is_refused():
    make_targets(3001)
    words = ["fit", "targets.csv", "-m", "krr", "-o", "my.model", "-k", "rbf:sigma=6"]
    one_line(ranks(3, *words, "--target", "size", "--drop", "label", "--head", "knn", status=2), "head: not possible", status=2)
    one_line(ranks(3, *words, "--target", "size", "--drop", "label", "--scale-target", "standard", status=2), "scale_target",
             status=2)
    one_line(ranks(3, *words, "--drop", "size,label", status=1), "nothing to predict")
    one_line(ranks(3, "fit", "targets.csv", "-m", "skpls", "-o", "my.model", status=2), "method skpls cannot learn", status=2)
    lines = pathlib.Path("targets.csv").read_text(encoding="ascii").replace("late", "up").replace("down", "up")
    pathlib.Path("same.csv").write_text(lines, encoding="ascii")
    one_line(ranks(3, "fit", "same.csv", *words[2:], "--label", "label", status=1), "all rows are of class 'up'")
    assert not os.path.exists("my.model")


@test
def nystroem_that_cannot_be_spread_is_refused():
    words = ["nothing.npy", "-o", "my.model", "-m"]
    for sampling in ("kmeans", "greedy"):
        one_line(ranks(2, "fit", *words, f"nystroem:sampling={sampling}", status=2), "sampling=uniform", "fit on one rank", status=2)
    one_line(ranks(2, "fit", *words, "nystroem", "--center", "exact", status=2), "use center span", status=2)
    one_line(ranks(2, "fit", *words, "nystroem", "--store", "lowrank", status=2), "leave it out", status=2)
    make_rows(3000)
    x = np.load("rows.npy")
    x[2999, 2] = 1e200
    np.save("large.npy", x)
    one_line(ranks(3, "fit", "large.npy", "-m", "nystroem", "-k", "poly:degree=3", status=1), "row 3000")
    np.save("same.npy", np.ones((3000, 3)))
    one_line(ranks(3, "fit", "same.npy", "-m", "nystroem", status=1), "zero to rounding")


@test
def fit_of_few_rows_as_one():
    for count in (1, 255, 257):
        make_rows(count)
        words = KPCA if count > 1 else [*kpca(components=1), "--center", "none"]
        models_are_those_of_one(words, (2, 7), [1])
        models_are_those_of_one([*words, "--store", "lowrank"], (3, 4), [1])


@test
def fit_of_text_as_one():
    make_data("data.csv", 3001)
    models_are_those_of_one(["data.csv", "-m", "kpca", "-k", "rbf:sigma=20", "-n", "4", "--scale", "standard"], threads=[1])


def write_containers(x):
    """The same numbers in formats of which a rank cannot read its own rows alone: the files."""
    import h5py  # pylint: disable=import-outside-toplevel
    import scipy.io  # pylint: disable=import-outside-toplevel
    import scipy.sparse  # pylint: disable=import-outside-toplevel
    np.savez("rows.npz", x)
    np.savez_compressed("packed.npz", x)
    np.save("rows.npy", x)
    subprocess.run(["gzip", "rows.npy"], check=True)
    np.savetxt("rows.csv", x, delimiter=",", fmt="%.17g", header="a,b,c", comments="")
    subprocess.run(["gzip", "rows.csv"], check=True)
    with gzip.open("rows.svm.gz", "wt", encoding="ascii") as out:
        for i, row in enumerate(x):
            print(i % 3, *(f"{j + 1}:{float(value)!r}" for j, value in enumerate(row)), file=out)
    scipy.io.savemat("five.mat", {"x": x})
    scipy.io.savemat("packed.mat", {"x": x}, do_compression=True)
    scipy.io.savemat("sparse.mat", {"x": scipy.sparse.csc_matrix(x)})
    scipy.io.mmwrite("array.mtx", x, precision=17)
    with h5py.File("seven.mat", "w", userblock_size=512) as file:  # version 7.3: HDF5 behind a header, arrays transposed
        file["x"] = x.T
        text = h5py.h5t.C_S1.copy()
        text.set_size(6)
        h5py.h5a.create(file["x"].id, b"MATLAB_class", text, h5py.h5s.create(h5py.h5s.SCALAR)).write(np.array(b"double"), mtype=text)
    with open("seven.mat", "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    with h5py.File("rows.h5", "w") as file:
        file["x"] = x
    with h5py.File("packed.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(100, 2), compression="gzip")
    return ("rows.npz", "packed.npz", "rows.npy.gz", "rows.csv.gz", "rows.svm.gz", "five.mat", "packed.mat", "seven.mat", "sparse.mat",
            "array.mtx", "rows.h5", "packed.h5")


@test
def fit_of_every_container_as_one():
    """On 2 and on 3 ranks, of which each file meets one with Open MPI and the other with MPICH."""
    need_mpi()
    try:
        files = write_containers(np.random.default_rng(4).normal(size=(3001, 3)))
    except ImportError as error:
        raise Skip(str(error)) from None
    for i, name in enumerate(files):
        more = ["--label", "label"] if ".svm" in name else [] if name == "sparse.mat" else ["--scale", "standard"]
        words = [name, "-m", "kpca", "-k", "rbf:sigma=9", "-n", "3", *more]
        models_are_those_of_one(words, [2 + (i + (KIND == "mpich")) % 2], [1 + i // 2 % 2])


def make_sparse(name, rows, labels=("yes", "no", "perhaps"), seed=3, columns=30):
    """LIBSVM text: some rows empty, some columns in most rows, others rare, the last ones in the first rows alone."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns)) * (rng.random(size=(rows, columns)) < 1.5 / np.sqrt(1 + np.arange(columns)) - 0.2)
    if rows > 100:
        x[rows // 2:, columns - 4:] = 0
        x[rows // 3:rows // 3 + 5] = 0
    with open(name, "w", encoding="ascii") as out:
        for i, row in enumerate(x):
            pairs = " ".join(f"{j + 1}:{row[j]:.4f}" for j in np.nonzero(row)[0])
            print(labels[i % len(labels) if i > rows - 5 else i % 2] if labels else "", pairs or ("" if labels else "1:0"), file=out)
            if i % 200 == 50:
                print("# a comment 3:4\n", file=out)
    return x


@test
def fit_of_sparse_rows_as_one():
    x = make_sparse("rows.svm", 3001)
    words = ["rows.svm", "--label", "label"]
    models_are_those_of_one([*words, "-m", "kpca", "-k", "poly:degree=2", "-n", "4", "--scale", "unit"], threads=[1])
    models_are_those_of_one([*words, "-m", "kfd", "-k", "poly:degree=2"], (2, 4), [2])
    call = ["fit", *words, "-m", "kfd", "-k", "poly:degree=2", "--json"]
    for key in ("entries", "density"):
        assert json.loads(alone(*call).out)[key] == json.loads(ranks(3, *call).out)[key]
    models_are_those_of_one([*words, "-m", "pca", "-n", "3"], (2, 7), [1])
    models_are_those_of_one([*words, "-m", "nystroem:points=60", "-k", "linear", "-n", "4"], (3,), [2])
    make_sparse("points.svm", 20, seed=4)
    models_are_those_of_one([*words, "-m", "nystroem", "--landmarks", "points.svm", "-k", "rbf", "-n", "4"], (3,), [1])
    make_sparse("few.svm", 5, labels=())
    models_are_those_of_one(["few.svm", "-m", "pca", "-n", "1"], (7,), [1])
    entries = [f"{i + 1} {j + 1} {float(x[i, j])!r}" for j, i in zip(*np.nonzero(x.T))]
    pathlib.Path("rows.mtx").write_text("%%MatrixMarket matrix coordinate real general\n" + f"3001 30 {len(entries)}\n"
                                        + "\n".join(entries) + "\n", encoding="ascii")
    models_are_those_of_one(["rows.mtx", "-m", "krr", "-k", "poly:degree=2", "--target", "2"], (3,), [1])
    rows, columns = np.nonzero(x)
    np.savez("rows.npz", indices=columns[::-1].astype(np.int32), indptr=np.r_[0, np.cumsum(np.bincount(3000 - rows, minlength=3001))],
             format=np.array(b"csr"), shape=np.array([3001, 30]), data=x[rows, columns][::-1])
    models_are_those_of_one(["rows.npz", "-m", "krr", "-k", "poly:degree=2", "--target", "2"], (2, 7), [1])
    entries[-1] = "3001 31 5"
    pathlib.Path("bad.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n3001 30 {len(entries)}\n"
                                       + "\n".join(entries) + "\n", encoding="ascii")
    call = ["fit", "bad.mtx", "-m", "pca"]
    assert ranks(2, *call, status=1).lines == alone(*call, status=1).lines
    make_sparse("values.svm", 3001, labels=("0.5", "1", "2.25"))
    subprocess.run(["gzip", "values.svm"], check=True)
    models_are_those_of_one(["values.svm.gz", "-m", "krr", "-k", "poly:degree=2"], (4,), [1])


@test
def regression_of_sparse_rows_as_one_and_as_numpy():
    """Products with sparse rows of a linear kernel: models of one rank, and predictions from the normal equations."""
    x = np.round(make_sparse("rows.svm", 3001, labels=("yes", "no")), 4)
    words = ["rows.svm", "--label", "label", "-k", "linear"]
    models_are_those_of_one([*words, "-m", "krr"], (2, 7), [1])
    models_are_those_of_one([*words, "-m", "kfd:ridge=1e-3"], (3,), [2])
    ridge, direction = 1e-2, "kfd:ridge=0.01"
    about = x - x.mean(axis=0)
    penalty = ridge * (about ** 2).sum() * np.eye(x.shape[1])
    ranks(3, "fit", *words, "-m", direction, "-o", "kfd.model", "-q")
    alone("transform", "kfd.model", "rows.svm", "-o", "features.npy", "-q")
    is_yes = np.arange(len(x)) % 2 == 0
    within = np.vstack([x[is_yes] - x[is_yes].mean(axis=0), x[~is_yes] - x[~is_yes].mean(axis=0)])
    fisher = np.linalg.solve(within.T @ within + penalty, x[is_yes].mean(axis=0) - x[~is_yes].mean(axis=0))
    features = np.load("features.npy")
    assert features.shape == (len(x), 1)
    assert abs(np.corrcoef(features[:, 0], about @ fisher)[0, 1]) > 1 - 1e-12
    x = np.round(make_sparse("values.svm", 3001, labels=("0.5", "1.25")), 4)
    y = np.where(np.arange(len(x)) % 2 == 0, 0.5, 1.25)
    about = x - x.mean(axis=0)
    for center in ("exact", "none"):
        rows, mean = (about, y.mean()) if center == "exact" else (x, 0)
        ranks(3, "fit", "values.svm", "--target", "target", "-k", "linear", "-m", f"krr:ridge={ridge}", "--center", center, "-o",
              "krr.model", "-q")
        alone("transform", "krr.model", "values.svm", "-o", "fitted.npy", "-q")
        gram = rows.T @ rows + ridge * (rows ** 2).sum() * np.eye(x.shape[1])
        expected = mean + rows @ np.linalg.solve(gram, rows.T @ (y - mean))
        off = np.abs(np.load("fitted.npy")[:, 0] - expected).max()
        assert off < 1e-11, (center, off)


def best_matches(x, y, alignment, count):
    """Rows whose columns of K = XX' match best what those before leave of y: by dense matrices."""
    k, left, taken = x @ x.T, y - y.mean(), []
    columns = k.copy()
    below = np.diag(k).copy()
    for _ in range(count):
        if alignment:
            below = (columns ** 2).sum(axis=0)
        score = np.full(len(x), -1.0)
        usable = below > 1e-9 * below.max()
        score[usable] = (k[:, usable].T @ left) ** 2 / below[usable]
        score[taken] = -1
        taken.append(int(np.argmax(score)))
        q = columns[:, taken[-1]] / np.linalg.norm(columns[:, taken[-1]])
        columns -= np.outer(q, q @ columns)
        left = left - q * (q @ left)
    return taken


@test
def matches_of_sparse_rows_as_one_and_as_numpy():
    x = np.round(make_sparse("values.svm", 3001, labels=("0.5", "1.25", "7")), 4)
    y = np.array([("0.5", "1.25", "7")[i % 3 if i > 2996 else i % 2] for i in range(len(x))]).astype(float)
    for method in ("smc", "sma"):
        words = ["values.svm", "--target", "target", "-k", "linear", "-m", method, "-n", "4"]
        models_are_those_of_one(words, (3, 7), [1])
        told = json.loads(ranks(3, "fit", *words, "--json").out)
        assert told["selected"] == best_matches(x, y, method == "sma", 4), (method, told["selected"])


@test
def refined_pca_of_sparse_rows_as_one_and_as_numpy():
    x = np.round(make_sparse("rows.svm", 3001, labels=()), 4)
    words = ["rows.svm", "-k", "linear", "-m", "rkpca:points=5", "-n", "2"]
    models_are_those_of_one(words, (3, 7), [1])
    left, taken = x.copy(), []  # what is left of the mapped rows, which are the rows themselves
    for _ in range(5):
        norms = (left ** 2).sum(axis=1)
        products = left @ left.T
        gains = ((products - products.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        usable = norms > 1e-9 * norms.max()
        gains[usable] /= norms[usable]
        gains[~usable] = -1
        taken.append(int(np.flatnonzero(gains > gains.max() * (1 - 1e-9))[0]))  # multiples of a row are equal
        direction = left[taken[-1]] / np.sqrt(norms[taken[-1]])
        left = left - np.outer(left @ direction, direction)
    told = json.loads(ranks(3, "fit", *words, "--json").out)
    assert told["selected"] == taken, (told["selected"], taken)
    spanned = (x - x.mean(axis=0)) - (left - left.mean(axis=0))
    values = np.linalg.svd(spanned, compute_uv=False)[:2] ** 2
    assert np.allclose(told["spectrum"], values, rtol=1e-9), (told["spectrum"], values)


@test
def classes_are_judged_by_all_ranks():
    """A label column whose first half looks like classes and whose second half like values, and the other way round."""
    x = np.random.default_rng(1).normal(size=(3001, 2))
    halves = {"words": lambda i: "ab"[i % 2], "fractions": lambda i: f"{i % 30}.5", "digits": lambda i: str(i % 10),
              "low": lambda i: str(i % 60), "high": lambda i: str(60 + i % 60)}
    for first, second in (("words", "fractions"), ("fractions", "words"), ("digits", "fractions"), ("fractions", "digits"),
                          ("low", "high"), ("low", "low")):
        with open("rows.csv", "w", encoding="ascii") as out:
            print("a,b,label", file=out)
            for i, row in enumerate(x):
                print(*(f"{value:.6f}" for value in row), halves[first if i < 1500 else second](i), sep=",", file=out)
        call = ["fit", "rows.csv", "-m", "kpca", "-k", "rbf:sigma=9", "-n", "2", "-o", "my.model", "--threads", "1", "--json"]
        values = "digits" in (first, second)
        one = alone(*call, status=int(values))
        assert bool(one.lines) == values and ("different numbers" in one.out) == (second == "high"), (first, second, one.out, one.err)
        for count in RANKS if first == "digits" or second == "high" else (2,):
            done = ranks(count, *call, status=int(values))
            if values:
                one_line(done, "these are values, not classes")
                assert done.lines == one.lines, (count, done.lines, one.lines)
            else:
                assert json.loads(done.out)["notices"] == json.loads(one.out)["notices"], (count, first, second)


@test
def fit_of_messy_text_as_one():
    rng = np.random.default_rng(5)
    with open("messy.csv", "w", encoding="ascii", newline="") as out:
        out.write('"a\nb",c,"d ""e""",label\r\n')
        for i in range(3001):
            a, b, c = (f"{value:.5f}" for value in rng.normal(size=3))
            label = ("yes", '"n\no"', '"may""be"')[i % 2 if i < 2990 else 2]
            out.write(f'"{a}",{b} , {c},{label}' + ("\r\n" if i % 2 else "\n") + ("\n" if i % 500 == 3 else ""))
            out.write('#"\n' if i % 300 == 4 else "")
    words = ["messy.csv", "--comment", "#", "--label", "label", "-k", "rbf:sigma=20"]
    models_are_those_of_one([*words, "-m", "kfd"], threads=[1])
    models_are_those_of_one([*words, "-m", "kpca", "-n", "3", "--id", "c"], (3,), [1])
    # what is wrong is told by the rank that has it; what comes first is told
    lines = pathlib.Path("messy.csv").read_text(encoding="ascii").splitlines()
    for places in ((2500,), (100, 2500), (3000, 1200)):
        bad = list(lines)
        for place in places:
            at = place if "," in bad[place] else place + 1
            bad[at] = bad[at].replace(",", ",x", 1)
        pathlib.Path("bad.csv").write_text("\n".join(bad) + "\n", encoding="ascii")
        call = ["fit", "bad.csv", *words[1:], "-m", "kpca", "-o", "my.model"]
        told = alone(*call, status=1).err.split(": ", 1)[1]
        for count in (2, 4):
            one_line(ranks(count, *call, status=1), told.strip())
    pathlib.Path("bad.csv").write_text("\n".join(lines) + '\n"1,2,3,yes\n', encoding="ascii")
    call[1] = "bad.csv"
    one_line(ranks(3, *call, status=1), "a quoted cell is never closed", alone(*call, status=1).err.split(": ", 1)[1].strip())


@test
def a_spread_fit_tells_what_one_tells():
    make_rows(5000)
    words = ["fit", *KPCA, "--threads", "1"]
    expected = json.loads(without_times(alone(*words, "--json").out))
    told = json.loads(without_times(ranks(3, *words, "--json").out))
    for report in (expected, told):
        report.pop("forecast_seconds")
    assert told == expected, (told, expected)
    text = ranks(3, *words).out
    assert re.search(r"\n3 ranks x 1 thread, \d[\d.]* [kM]B sent per rank\n$", text), text
    assert "5,000 rows x 3 columns" in text and re.search("peak memory .*, of rank 0", text), text
    sent = re.search(r"([\d.]+) ([kM])B sent", text)
    assert 0.1 < float(sent[1]) * {"k": 1e-3, "M": 1}[sent[2]] < 10, text


@test
def features_of_a_spread_fit():
    make_rows(4000)
    ranks(4, "fit", *KPCA, "-o", "spread.model", "-q")
    alone("fit", *KPCA, "-o", "one.model", "-q")
    for name in ("spread", "one"):
        alone("transform", f"{name}.model", "rows.npy", "-o", f"{name}.csv", "-q")
    assert pathlib.Path("spread.csv").read_bytes() == pathlib.Path("one.csv").read_bytes()


@test
def a_spread_fit_that_fails_is_one_line():
    make_rows(4000)
    call = [MERCER, "fit", *KPCA, "-o", "my.model"]
    # one rank cannot read its part
    gone = [MERCER, "fit", "nothing.npy", *KPCA[1:], "-o", "my.model"]
    one_line(together((2, call), (1, gone)), "rank 2: nothing.npy: cannot open")
    one_line(together((1, gone), (2, call)), "mercer: nothing.npy: cannot open")
    one_line(together((2, call), (1, [*call, "--seed", "3"])), "rank 2: the options, the seed")
    x = np.load("rows.npy")
    np.save("fewer.npy", x[:3999])
    one_line(together((2, call), (1, [MERCER, "fit", "fewer.npy", *KPCA[1:]])), "rank 2: the options, the seed, the landmarks, or the number")
    # a cell of one rank's rows, counted in the file
    x[3998, 1] = np.nan
    np.save("bad.npy", x)
    one_line(ranks(3, "fit", "bad.npy", *KPCA[1:], "-o", "my.model", status=1), "bad.npy: row 3999, column 2: nan is not finite")
    # what turns out on the way
    one_line(ranks(3, "fit", *kpca("rbf:sigma=0.001"), "-o", "my.model", status=1), "need a low-rank kernel matrix")
    one_line(ranks(3, "fit", *KPCA, "-o", "no/folder/my.model", status=1), "no/folder")
    np.save("fortran.npy", np.asfortranarray(np.load("rows.npy")))
    one_line(ranks(3, "fit", "fortran.npy", *KPCA[1:], status=1), "Fortran order")
    pathlib.Path("rows.svm").write_text("1 1:2 3:4\n" * 3000, encoding="ascii")
    one_line(ranks(3, "fit", "rows.svm", "-m", "kpca", "-k", "cosine", status=1), "sparse rows", "kernel linear with scale unit")
    pathlib.Path("bad.svm").write_text("1 1:2 3:4\n" * 2800 + "1 1:x\n" * 200, encoding="ascii")
    one_line(ranks(3, "fit", "bad.svm", "-m", "nystroem", status=1), "bad.svm:2801: '1:x' has a value that is not a number")
    pathlib.Path("odd.csv").write_text("a,b\n" + "5 %,1\n" * 3000, encoding="ascii")
    one_line(ranks(3, "fit", "odd.csv", "-m", "pca", status=1), "not plain numbers")
    pathlib.Path("bad.csv").write_text("a,b\n" + "5,1\n" * 3000 + "x,2\n", encoding="ascii")
    one_line(ranks(3, "fit", "bad.csv", "-m", "pca", status=1), "bad.csv", "3002")
    assert not os.path.exists("my.model")


@test
def pairs_that_may_be_rounding_are_the_same_on_all_ranks():
    """Tables whose last variances are solved for again: of rank one, and steep ones."""
    rng = np.random.default_rng(3)
    signs = np.sign(rng.normal(size=(6000, 1))) * np.ones((1, 200))
    u, _ = np.linalg.qr(rng.normal(size=(6000, 100)))
    v, _ = np.linalg.qr(rng.normal(size=(100, 100)))
    steep = u * np.r_[10.0 ** -np.arange(0, 7.6, 0.2), np.zeros(62)] @ v.T
    for x, least, most in ((signs, 1, 1), (steep, 30, 38)):
        np.save("rows.npy", x)
        words = ["fit", "rows.npy", "-m", "pca", "-n", "80", "-o", "my.model", "--json"]
        told = json.loads(alone(*words).out)
        assert least <= told["components"] <= most, told["components"]
        expected = pathlib.Path("my.model").read_bytes()
        for count in (2, 3, 5):
            ranks(count, *words)
            assert pathlib.Path("my.model").read_bytes() == expected, f"{count} ranks"


@test
def a_killed_rank_ends_a_spread_fit():
    make_rows(400000, 4)
    for victim in (2, 0):
        job, pids = start_with_numbers(3, "fit", *kpca("rbf:sigma=2"), "--tolerance", "1e-9", "--store", "lowrank", "-o", "my.model")
        time.sleep(1.5)
        os.kill(pids[victim], signal.SIGKILL)
        assert all_end_soon(job, pids, f"rank {victim} killed") != 0
        # the lock of a killed writer is the next one's
        left = [name for name in os.listdir(".") if "my.model" in name and not name.endswith("lock")]
        assert not left, left
        for r in range(3):
            os.unlink(f"pid.{r}")


# ---- rows in a pipe, which rank 0 gets ----


def pipes_are_as_one(given, words, output=None, counts=(2,)):
    """Reports and files of ranks that read a pipe are those of one that does."""
    call = [*words, *(["-o", output] if output else []), "--json", "--threads", "1"]
    one = alone(*call, given=given)
    expected = pathlib.Path(output).read_bytes() if output else None
    report = json.loads(without_times(one.out))
    report.pop("forecast_seconds", None)
    os.mkdir("spool")
    for count in counts:
        done = piped(given, (count, [MERCER, *call]), env={"TMPDIR": os.path.abspath("spool")})
        assert done.status == 0 and not done.lines, (count, call, done.err)
        told = json.loads(without_times(done.out))
        told.pop("forecast_seconds", None)
        assert told == report, (count, call, told, report)
        assert not output or pathlib.Path(output).read_bytes() == expected, (count, call)
        assert not [name for name in os.listdir("spool") if "mercer" in name], os.listdir("spool")
    shutil.rmtree("spool")


@test
def pipes_as_one():
    make_data("data.csv", 3001)
    text = pathlib.Path("data.csv").read_bytes()
    pipes_are_as_one(text, ["fit", "-", "-m", "kpca", "-k", "rbf:sigma=20", "-n", "4", "--scale", "standard"], "my.model", RANKS)
    pipes_are_as_one(text, ["transform", "my.model", "-"], "f.csv", (3,))
    pipes_are_as_one(gzip.compress(text), ["fit", "-", "-m", "kfd", "-k", "rbf:sigma=20", "--label", "label"], "my.model", (4,))
    pipes_are_as_one(text, ["predict", "my.model", "-"], "p.csv", (4,))
    # of a pipe that is answered at once no more is looked at than the first line, then
    alone("fit", "data.csv", "-m", "pca", "-n", "2", "--columns", "a,b", "-q", "-o", "two.model")
    pipes_are_as_one(b"a;b\n1.234;2\n5.678;3\n", ["transform", "two.model", "-"], "f.csv", (2,))
    make_rows(20500, 2)
    pipes_are_as_one(pathlib.Path("rows.npy").read_bytes(), ["fit", "-", *KPCA[1:]], "my.model", (1, 3))
    model = pathlib.Path("my.model").read_bytes()
    pipes_are_as_one(model, ["transform", "-", "rows.npy"], "f.npy", (2,))
    make_sparse("rows.svm", 3001, labels=("1", "2", "3"))
    words = ["-m", "kpca", "-k", "poly:degree=2", "-n", "4"]
    pipes_are_as_one(pathlib.Path("rows.svm").read_bytes(), ["fit", "-", "--format", "libsvm", *words], "my.model", (3,))
    market = "%%MatrixMarket matrix coordinate real general\n3000 5 9000\n" + "".join(
        f"{i % 3000 + 1} {i % 5 + 1} {i % 7 - 2.5}\n" for i in range(9000))
    pipes_are_as_one(market.encode(), ["fit", "-", "--format", "mtx", *words], "my.model", (2,))


@test
def evaluations_of_pipes_as_one():
    make_data()
    text = pathlib.Path("data.csv").read_bytes()
    pipes_are_as_one(text, ["evaluate", "-", *TUNED[2:]], None, (1, 3))
    pipes_are_as_one(text, ["compare", "data.csv", "-m", "kpls", "-m", "pls", "--test", "-", "-n", "2"], None, (2,))
    np.save("rows.npy", np.random.default_rng(1).normal(size=(61, 4)))
    pipes_are_as_one(b"yes\nno\n" * 30 + b"no\n", ["evaluate", "rows.npy", "-m", "kpls", "--labels", "-"], None, (2,))
    pipes_are_as_one(text, ["fit", "-", "-m", "kpls", "--tune", "components=1:3:+1"], "my.model", (3,))
    np.save("rows.npy", np.random.default_rng(1).normal(size=(3000, 4)))
    pipes_are_as_one(text[:900].rsplit(b"\n", 1)[0] + b"\n", ["fit", "rows.npy", "-m", "nystroem", "-n", "2", "--landmarks", "-"], None, (2,))
    # what the launcher hands over itself
    done = Done([MPIRUN, *OPTIONS, "-n", 2, MERCER, "evaluate", "-", *TUNED[2:], "--json"], given=text)
    assert without_times(done.out) == without_times(alone("evaluate", "-", *TUNED[2:], "--json", given=text).out)


@test
def pipes_that_fail_are_one_line():
    make_data("data.csv", 3001)
    text = pathlib.Path("data.csv").read_bytes()
    lines = text.splitlines(keepends=True)
    lines[2700] = lines[2700].replace(b".", b"x", 1)
    call = ["fit", "-", "-m", "kpca", "-n", "2", "-o", "my.model"]
    packed = gzip.compress(text)
    for given in (b"", b"".join(lines), packed[:-2000], text.replace(b",no\n", b",\n", 1)):
        words = call if b"x" in given else [*call, "--label", "label"]
        expected = alone(*words, status=1, given=given).lines
        done = piped(given, (3, [MERCER, *words]))
        one_line(done)
        assert re.sub("rank [0-9]: ", "", done.lines[0]) == expected[0], (done.lines, expected)
    own, limits = [MERCER, *call], (["columns=3"], ["bytes=90K", "--untrusted"])
    for limit in limits:
        expected = alone(*call, "--limit", *limit, status=1, given=text).lines
        done = piped(text, (2, [*own, "--limit", *limit]))
        one_line(done, "limit")
        assert done.lines == expected, (done.lines, expected)
    one_line(piped(packed, (2, [*own, "--limit", "bytes=9K"])), "standard input: has more than 9216 bytes, which is the limit")
    # a rank that has no place for it
    for where in (1, 2):
        ends = [(where, own), (3 - where, ["env", "TMPDIR=/proc", *own])]
        one_line(piped(text, *ends), f"rank {where}: temporary file in /proc (TMPDIR): cannot be made")
    if KIND == "openmpi":  # MPICH itself does not start with such a limit
        small = ["sh", "-c", 'ulimit -f 16; exec "$@"', "sh", *own]
        one_line(piped(text, (2, own), (1, small)), "rank 2: temporary file in ", "(TMPDIR): cannot write: File too large")
    one_line(piped(text, (2, own), (1, [MERCER, "fit", "data.csv", *call[2:]])), "rank 2: what is read from standard input")
    one_line(ranks(2, "evaluate", "-", "--test", "-", "-m", "kpls", status=2), "named 2 times", status=2)
    one_line(ranks(2, "evaluate", "/dev/stdin", "-m", "kpls", status=2), "cannot be read by 2 ranks", status=2)
    os.mkfifo("named")
    for words in (["fit", "named", "-m", "pca"], ["evaluate", "data.csv", "-m", "kpls", "--test", "named"]):
        one_line(ranks(2, *words, status=2), "named: cannot be read by 2 ranks", "standard input", status=2)
    one_line(piped(text, (2, [MERCER, "fit", "-", "-m", "akfa"])), "spread over ranks", status=2)  # before it is read
    one_line(piped(text, (2, [MERCER, *call[:4], "--missing", "median"])), "mercer: missing is not possible where rows are", "--missing", status=2)
    assert not os.path.exists("my.model")


@test
def rows_of_an_interrupted_launcher_are_not_all_rows():
    """It closes the pipe before it ends the ranks."""
    make_data(rows=301)
    pathlib.Path("my.model").write_text("old", encoding="ascii")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        job, pids = start_with_numbers(2, "fit", "-", "-m", "kpca", "-k", "rbf:sigma=20", "-n", "2", "-o", "my.model",
                                       given=subprocess.PIPE)
        job.stdin.write(pathlib.Path("data.csv").read_bytes())
        job.stdin.flush()
        time.sleep(1)  # let them read it
        job.send_signal(number)
        was_interrupted(all_end_soon(job, pids, f"launcher ended by {number.name}"))
        job.stdin.close()
        assert pathlib.Path("my.model").read_text(encoding="latin1") == "old", number
        for r in range(2):
            os.unlink(f"pid.{r}")


# ---- models applied to rows that ranks share ----


def make_models(rows=300):
    """Features with novelty, classes, values with intervals; of four columns."""
    make_data("train.csv", rows)
    alone("fit", "train.csv", "-m", "kpca", "-k", "rbf:sigma=2", "-n", "3", "--novelty", "0.05", "--label", "label", "-q", "-o",
          "features.model")
    alone("fit", "train.csv", "-m", "kpls", "-n", "2", "--head", "ls", "--label", "label", "-q", "-o", "classes.model")
    alone("fit", "train.csv", "-m", "kpls", "-n", "2", "--head", "ls", "--target", "d", "--drop", "label", "--intervals", "on", "-q",
          "-o", "values.model")


def make_table(name, rows, seed=3, delimiter=","):
    """The columns of make_data() with ids, labels that no model has seen, and a column that none uses."""
    rng = np.random.default_rng(seed)
    with open(name, "w", encoding="ascii") as out:
        print("id", "a", "b", "c", "d", "other", "label", sep=delimiter, file=out)
        for i, row in enumerate(rng.normal(size=(rows, 4))):
            label = "perhaps" if i % 50 == 7 else "yes" if row[0] > 0 else "no"
            print(f"row{i}", *(f"{value:.6f}" for value in row), i % 3, label, sep=delimiter, file=out)


def outputs_are_those_of_one(words, output=None, counts=RANKS, threads=(1,)):
    """Files, standard output and reports of any number of ranks are those of one."""
    need_mpi()
    call = [*words, *(["-o", output] if output else [])]
    one = Done([MERCER, *call, "--json"])
    assert one.status == 0, one.err
    expected = pathlib.Path(output).read_bytes() if output else pathlib.Path("out.txt").read_bytes()
    report = without_times(one.out if output else one.err)
    for count in counts:
        for number in threads:
            if output:
                os.unlink(output)
            done = ranks(count, *call, "--json", "--threads", str(number))
            got = pathlib.Path(output or "out.txt").read_bytes()
            assert got == expected, (call, count, number, len(got), len(expected))
            assert without_times(done.out if output else done.err) == report, (call, count, done.out, done.err, report)
    left = [name for name in os.listdir(".") if name.startswith(".") or "tmp" in name]
    assert not left, left


@test
def transform_as_one():
    make_models()
    x = np.random.default_rng(5).normal(size=(20500, 4))
    np.save("rows.npy", x)
    words = ["transform", "features.model", "rows.npy"]
    outputs_are_those_of_one(words, "f.npy", threads=(1, 2))
    outputs_are_those_of_one([*words, "--errors"], "f.csv", (2, 7), (2,))
    outputs_are_those_of_one([*words, "--errors"], "f.csv.gz", (3,))
    outputs_are_those_of_one([*words, "--errors"], None, (1, 3))
    np.save("rows.npy", x.astype(np.float32))
    outputs_are_those_of_one(words, "f.tsv", (3,))
    np.save("rows.npy", np.asfortranarray(x[:3000]))
    outputs_are_those_of_one(words, "f.npy", (3,))
    subprocess.run(["gzip", "rows.npy"], check=True)
    outputs_are_those_of_one(["transform", "features.model", "rows.npy.gz"], "f.svm", (2,))


@test
def transform_of_text_as_one():
    make_models()
    make_table("rows.csv", 3001)
    words = ["transform", "features.model", "rows.csv", "--errors", "--keep-label", "--id", "id"]
    outputs_are_those_of_one(words, "f.csv", threads=(1, 2))
    outputs_are_those_of_one(words, None, (4,))
    outputs_are_those_of_one(words[:4], "f.npy", (3,))
    outputs_are_those_of_one([*words[:4], "--id", "id"], "f.npy", (2,))  # a note: no room for ids
    outputs_are_those_of_one([*words, "--plot", "f.svg"], "f.tsv", (3,))
    make_table("rows.tsv", 500, delimiter="\t")
    outputs_are_those_of_one(["transform", "features.model", "rows.tsv", "--keep-label"], "f.tsv.gz", (7,))
    np.save("rows.npy", np.random.default_rng(5).normal(size=(500, 4)))
    words = ["transform", "features.model", "rows.npy", "--keep-label", "--labels", "labels.txt"]
    pathlib.Path("labels.txt").write_text("yes\nno\n" * 250, encoding="ascii")
    outputs_are_those_of_one(words, "f.csv", (3,))
    for count in (249, 251):
        pathlib.Path("labels.txt").write_text("yes\nno\n" * count, encoding="ascii")
        one_line(ranks(3, *words, "-o", "g.csv", status=1), "labels.txt")
    assert not os.path.exists("g.csv")


@test
def predict_as_one():
    make_models()
    make_table("rows.csv", 3001)
    for model, words in (("classes", []), ("classes", ["-n", "1"]), ("values", ["--target", "d"]),
                         ("values", ["--target", "d", "--coverage", "0.9"])):
        call = ["predict", f"{model}.model", "rows.csv", "--id", "id", *words]
        outputs_are_those_of_one(call, "p.csv", (1, 2, 4) if words else RANKS, (1,) if words else (1, 2))
    outputs_are_those_of_one(["predict", "classes.model", "rows.csv"], None, (3,))
    outputs_are_those_of_one(["predict", "values.model", "rows.csv"], "p.npy", (7,))


@test
def few_rows_through_a_model_as_one():
    make_models(100)
    for count in (1, 2, 63, 64, 65, 128, 129, 449):
        make_table("rows.csv", count)
        np.save("rows.npy", np.random.default_rng(count).normal(size=(count, 4)))
        outputs_are_those_of_one(["transform", "features.model", "rows.npy", "--errors"], "f.npy", (2, 7))
        outputs_are_those_of_one(["predict", "classes.model", "rows.csv"], "p.csv", (3,))
    pathlib.Path("none.csv").write_text("a,b,c,d\n", encoding="ascii")
    expected = alone("transform", "features.model", "none.csv", status=1).lines
    done = ranks(3, "transform", "features.model", "none.csv", status=1)
    one_line(done, "no rows")
    assert done.lines == expected, (done.lines, expected)


@test
def cells_that_are_filled_and_encoded_as_one():
    """What the reader does to columns, and what it says of that at the end of the file."""
    rng = np.random.default_rng(1)
    with open("rows.csv", "w", encoding="ascii") as out:
        print("a,b,town", file=out)
        for i, row in enumerate(rng.normal(size=(2000, 2))):
            print("" if i % 7 == 3 else f"{row[0]:.5f}", f"{row[1]:.5f}", ("york", "bath", "ely")[i % 3], sep=",", file=out)
    alone("fit", "rows.csv", "-m", "kpca", "-n", "2", "--encode", "onehot", "--missing", "mean", "-q", "-o", "my.model")
    outputs_are_those_of_one(["transform", "my.model", "rows.csv"], "f.csv", (2, 3, 7))


@test
def sparse_rows_through_a_model_as_one():
    rng = np.random.default_rng(2)
    with open("rows.svm", "w", encoding="ascii") as out:
        for i in range(1500):
            print(i % 2, *(f"{j + 1}:{rng.normal():.4f}" for j in sorted(rng.choice(30, 5, replace=False))), file=out)
    alone("fit", "rows.svm", "-m", "kpca", "-k", "rbf:sigma=2", "-n", "3", "--head", "ls", "-q", "-o", "my.model")
    outputs_are_those_of_one(["transform", "my.model", "rows.svm", "--errors", "--keep-label"], "f.svm", (2, 7))
    outputs_are_those_of_one(["predict", "my.model", "rows.svm"], "p.csv", (3,))
    x = np.random.default_rng(1).normal(size=(900, 4))
    np.savez("rows.npz", x)
    alone("fit", "rows.npz", "-m", "pca", "-n", "2", "-q", "-o", "my.model")
    outputs_are_those_of_one(["transform", "my.model", "rows.npz"], "f.npy", (3,))


@test
def a_kernel_of_ones_own_as_one():
    x = np.random.default_rng(1).normal(size=(400, 3))
    np.save("k.npy", x @ x.T)
    np.savetxt("self.csv", (x * x).sum(1))
    alone("fit", "k.npy", "-m", "kpca", "-k", "precomputed", "-n", "2", "-q", "-o", "my.model")
    words = ["transform", "my.model", "k.npy", "--errors", "--self"]
    outputs_are_those_of_one([*words, "self.csv"], "f.csv", (2, 7))
    for count in (399, 401):
        np.savetxt("other.csv", np.ones(count))
        expected = alone(*words, "other.csv", "-o", "g.csv", status=1).lines
        done = ranks(3, *words, "other.csv", "-o", "g.csv", status=1)
        one_line(done, "other.csv")
        assert re.sub("rank [0-9]: ", "", done.lines[0]) == expected[0], (done.lines, expected)
    assert not os.path.exists("g.csv")


@test
def a_shared_summary_says_so():
    make_models()
    np.save("rows.npy", np.random.default_rng(5).normal(size=(5000, 4)))
    words = ["transform", "features.model", "rows.npy", "-o", "f.npy"]
    text = ranks(3, *words).out
    told = re.fullmatch(r"f.npy: 5,000 rows x 3 features in .*\n\n3 ranks x 1 thread, (\d[\d.]*) kB sent per rank\n", text)
    assert told, text
    # rank 1 sends most: the bytes of 64 + 128 + 256 + 512 + 1024 rows, and a hundred or two per turn; kB are 1024, and rounded
    assert -0.5 <= int(told[1]) - 8 * 3 * 1984 / 1024 <= 0.5 + 5 * 0.2, told[1]
    assert ranks(3, *words, "--quiet").out == ""


@test
def what_models_cannot_be_applied_to_by_ranks():
    make_models(100)
    make_table("rows.csv", 100)
    one_line(ranks(2, "transform", "features.model", "rows.csv", "--errors", "--top", "3", status=2),
             "transform: --top compares all rows, which are spread over ranks: leave it out, or run on one", status=2)
    one_line(ranks(2, "predict", "features.model", "rows.csv", status=1), "the model has no head to predict with")
    one_line(ranks(2, "transform", "features.model", "rows.csv", "-o", "no/folder/f.csv", status=1), "no/folder")
    one_line(ranks(2, "transform", "features.model", "rows.csv", "-o", "f.mat", status=2), "f.mat", status=2)


@test
def a_failing_rank_leaves_no_features():
    make_models(100)
    x = np.random.default_rng(5).normal(size=(4000, 4))
    np.save("rows.npy", x)
    output = pathlib.Path("f.npy")
    output.write_bytes(b"old")
    call = ["transform", "features.model", "rows.npy", "-o", "f.npy"]
    # a bad value among the rows of any rank, early and late
    for row in (0, 64, 130, 500, 3999):
        bad = x.copy()
        bad[row, 1] = np.nan
        np.save("bad.npy", bad)
        one_line(ranks(3, "transform", "features.model", "bad.npy", "-o", "f.npy", status=1),
                 f"bad.npy: row {row + 1}, column 2: nan is not finite")
    make_table("bad.csv", 3000)
    lines = pathlib.Path("bad.csv").read_text(encoding="ascii").splitlines()
    lines[2500] = lines[2500].replace(".", "x", 1)
    pathlib.Path("bad.csv").write_text("\n".join(lines) + "\n", encoding="ascii")
    for count in (2, 4):
        one_line(ranks(count, "transform", "features.model", "bad.csv", "-o", "f.npy", status=1), "bad.csv:2501", "not a number")
    # one rank has another file, model or option
    make_models(101)
    shutil.move("features.model", "other.model")
    make_models(100)
    own = [MERCER, *call]
    one_line(together((2, own), (1, [MERCER, "transform", "features.model", "nothing.npy", "-o", "f.npy"])),
             "rank 2: nothing.npy: cannot open")
    one_line(together((1, [MERCER, "transform", "nothing.model", *call[2:]]), (2, own)), "mercer: nothing.model: cannot open")
    for other in ([MERCER, "transform", "other.model", *call[2:]], [*own, "--errors"]):
        one_line(together((2, own), (1, other)), "rank 2: the model or the options are not those of rank 0", status=1)
    np.save("longer.npy", np.vstack([x, x]))
    one_line(together((2, own), (1, [MERCER, "transform", "features.model", "longer.npy", "-o", "f.npy"])),
             "has more rows on rank 2 than on others; all ranks must read the same file")
    assert output.read_bytes() == b"old"
    left = [name for name in os.listdir(".") if name.startswith(".") or "tmp" in name]
    assert not left, left


@test
def a_full_disk_ends_all():
    """Also a limit of file size, which is an error of the write likewise; MPICH itself does not start with one."""
    need_mpi()
    make_models(100)
    np.save("rows.npy", np.random.default_rng(5).normal(size=(40000, 4)))
    one_line(ranks(3, "transform", "features.model", "rows.npy", "-o", "/dev/full", "--output-format", "csv", status=1),
             "disk is full")
    if KIND == "mpich":
        return
    script = 'ulimit -f 64; exec "$@"'
    words = ["sh", "-c", script, "sh", MERCER, "transform", "features.model", "rows.npy", "-o", "f.csv"]
    done = Done([MPIRUN, *OPTIONS, "-n", "1", *words, ":", "-n", "2", *words[4:]])
    one_line(done, "f.csv: the file would be larger than the limit")
    assert not [name for name in os.listdir(".") if "f.csv" in name], os.listdir(".")


@test
def a_killed_rank_leaves_no_features():
    make_models(2000)
    np.save("rows.npy", np.random.default_rng(5).normal(size=(4000000, 4)).astype(np.float32))
    for victim in (2, 0):
        job, pids = start_with_numbers(3, "transform", "features.model", "rows.npy", "-o", "f.npy")
        wait_for("the first rows", lambda: [name for name in os.listdir(".") if "f.npy" in name] or job.poll() is not None)
        os.kill(pids[victim], signal.SIGKILL)
        assert all_end_soon(job, pids, f"rank {victim} killed") != 0
        assert not os.path.exists("f.npy")  # a launcher that asks nobody to end leaves a hidden file, as kill -9 does
        for r in range(3):
            os.unlink(f"pid.{r}")


@test
def a_build_without_the_module_says_so():
    """A copy of the program in a folder without modules is one."""
    make_data()
    os.mkdir("elsewhere")
    shutil.copy(MERCER, "elsewhere/mercer")
    env = {SIZE_VARIABLE: "2", RANK_VARIABLE: "0", "LD_LIBRARY_PATH": str(pathlib.Path(MERCER).parent)}
    done = Done(["elsewhere/mercer", "evaluate", "data.csv", "-m", "kpls"], env)
    if done.status == 2:
        raise Skip("a module is installed on this machine, too")
    one_line(done, f"(mpi-{KIND}.so): build Mercer where this MPI is installed, or start one copy")


if __name__ == "__main__":
    sys.exit(run_tests())
