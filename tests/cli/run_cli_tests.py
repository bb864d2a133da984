#!/usr/bin/python3
"""The command line as a user meets it: run_cli_tests.py MERCER [WORD] [-jN] [--quick]

Runs every test whose name contains WORD (all without it) in a folder of its own, N at a time (as
many as there are processors), prints a line for each, in the order of this file, and closes with
"N passed, N failed". The status is 1 when one failed or none ran. --quick leaves out those in SLOW.
"""
import concurrent.futures
import contextlib
import glob
import gzip
import json
import multiprocessing
import os
import pathlib
import pty
import random
import re
import resource
import select
import shlex
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unicodedata
import zipfile
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MERCER = ""
TESTS = []
LIMIT = 300  # seconds; a hang is a failure
COMMANDS = ["fit", "transform", "predict", "evaluate", "compare", "inverse", "update", "info", "truncate",
            "scale", "generate", "methods", "kernels", "heads", "demo"]
SLOW = {"test_demo", "test_colours_on_a_terminal_only", "test_progress_bar_on_a_terminal_only",
        "test_kill_and_resume_gives_the_same_model", "test_kill_during_writes_leaves_old_or_none",
        "test_every_method_with_every_centring", "test_interrupted_inside_lapack",
        "test_fit_of_a_stream_reads_by_blocks", "test_transform_in_blocks_equals_whole",
        "test_all_rows_as_candidates_are_all_rows", "test_floats_and_bytes",
        "test_text_is_read_within_the_budget", "test_arrays_are_read_within_the_budget"}
FIT_KEYS = ["method", "kernel", "rows", "columns", "components", "selected", "spectrum", "share",
            "reconstruction_error", "projection_variance", "expansion_points", "head", "head_rows", "store",
            "store_reason", "seconds", "seconds_read", "seconds_write", "peak_memory_bytes",
            "notices"]


class Skip(Exception):
    pass


def test(function):
    TESTS.append(function)
    return function


# --------------------------------------------------------------------------------------- helpers

def mercer(*words, status=0, stdin=b"", env=None, **more):
    """Run mercer in the current folder; fail unless it ends with the status given."""
    surroundings = dict(os.environ, **(env or {}))
    if not env or "COLUMNS" not in env:
        surroundings.pop("COLUMNS", None)
    more.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run([MERCER, *map(str, words)], input=stdin, stderr=subprocess.PIPE,
                          env=surroundings, timeout=LIMIT, **more)
    done.err = done.stderr.decode()
    done.out = done.stdout.decode(errors="replace") if done.stdout is not None else ""
    shown = " ".join(map(str, words))
    allowed = status if isinstance(status, tuple) else (status,)
    assert done.returncode in allowed, \
        f"mercer {shown}: status {done.returncode}, expected {status}; {done.err or done.out[:300]}"
    return done


def refused(*words, says=(), status=(1, 2), **more):
    """The call must fail with exactly one line that holds every word of `says`."""
    done = mercer(*words, status=status, **more)
    assert done.err.startswith("mercer: ") and done.err.count("\n") == 1 and done.err[-1] == "\n", \
        f"mercer {' '.join(map(str, words))}: not one line: {done.err!r}"
    for word in [says] if isinstance(says, str) else says:
        assert word in done.err, f"{word!r} is not in {done.err!r}"
    assert len(done.err) > 20, f"says too little: {done.err!r}"
    return done


def report(*words, **more):
    """The JSON report of a call."""
    return json.loads(mercer(*words, "--json", **more).out)


def write(name, text):
    pathlib.Path(name).write_text(text)
    return name


def table(name, x, names=None, label=None):
    """Write a CSV; repr() keeps every bit."""
    lines = []
    if names:
        lines.append(",".join((["label"] if label is not None else []) + list(names)))
    for i, row in enumerate(x):
        cells = [repr(float(value)) for value in row]
        lines.append(",".join(([label[i]] if label is not None else []) + cells))
    return write(name, "\n".join(lines) + "\n")


def numbers(text):
    """Header and numbers of CSV text."""
    lines = text.splitlines()
    return lines[0].split(","), np.array([[float(c) for c in line.split(",")] for line in lines[1:]])


def ring(rows=200, seed=3, name="ring.csv"):
    mercer("generate", "circle", "--rows", rows, "--seed", seed, "-o", name, "--quiet")
    return name


def ring_model(**more):
    """ring.csv and ring.model in the current folder."""
    ring(**more)
    mercer("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 5, "-o", "ring.model",
           "--quiet")
    return "ring.model"


def cloud(rows=60, columns=4, seed=1):
    return np.random.default_rng(seed).normal(size=(rows, columns))


def files():
    return sorted(os.listdir("."))


def plain_memory():
    """Surroundings in which the address sanitizer does not hoard what was freed."""
    return {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"}


def columns_of(line):
    return sum(not unicodedata.combining(c) for c in line)


# ------------------------------------------------------------------------- help and wrong calls

@test
def test_help_of_every_command():
    overview = mercer("--help").out
    assert mercer("help").out == overview and mercer("-h").out == overview
    for command in COMMANDS:
        assert re.search(rf"^  {command}  ", overview, re.M), f"{command} is not in --help"
        done = mercer(command, "--help")
        assert done.err == "" and f"usage: mercer {command}" in done.out
        assert mercer("help", command).out == done.out
        assert mercer(command, "--nonsense", "-h").out == done.out
    assert all(columns_of(line) <= 80 for line in overview.splitlines())


@test
def test_help_names_every_option():
    for command, options in {
            "fit": "method kernel components output center scale store precision memory threads "
                   "seed label target labels no-label format json quiet",
            "transform": "output errors keep-label self label format json quiet memory threads",
            "inverse": "output errors format json", "info": "json", "scale": "scale output label",
            "generate": "rows noise seed output", "methods": "json", "kernels": "json", "heads": "json",
            "demo": "rows seed"}.items():
        text = mercer(command, "--help").out
        for option in options.split():
            assert re.search(rf"--{option}\b", text), f"{command} --help lacks --{option}"


VERSION = (r"mercer \d+\.\d+\.\d+\nBLAS: (OpenBLAS, (private|openmp|pthread) build, (\w+) kernels"
           r"( \((SSE[234.]+|AVX|AVX2|AVX-512)\))?|other)\n"
           r"processor: (SSE[234.]+|AVX|AVX2|AVX-512|unknown), \d+ threads?\n")


@test
def test_version():
    assert re.fullmatch(VERSION, mercer("--version").out)


def old_openblas():
    """A library that, loaded first, makes OpenBLAS say it does not know the processor unless it was
    told the kernels; it counts how often it was asked to in the file `asked`."""
    write("old.c", """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
char *openblas_get_corename(void)
{
    char *(*real)(void) = (char *(*)(void))dlsym(RTLD_NEXT, "openblas_get_corename");
    FILE *asked = fopen("asked", "a");
    fprintf(asked, "%d %s\\n", (int)getpid(), getenv("OPENBLAS_CORETYPE") ? "told" : "untold");
    fclose(asked);
    return getenv("OPENBLAS_CORETYPE") && !getenv("DEAF") ? real() : "Prescott";
}
""".replace("#include <stdlib.h>", "#include <stdlib.h>\n#include <unistd.h>"))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "old.so", "old.c", "-ldl"], check=True)
    env = {name: value for name, value in os.environ.items()
           if name not in ("OPENBLAS_CORETYPE", "MERCER_STARTED_AGAIN")}
    options = env.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return dict(env, LD_PRELOAD=os.path.abspath("old.so"), ASAN_OPTIONS=options)


def asked():
    """(process ids, told or untold) of the questions since the last call."""
    lines = [line.split() for line in pathlib.Path("asked").read_text().splitlines()]
    os.remove("asked")
    return {line[0] for line in lines}, [line[1] for line in lines]


def run_as(env, *words, **more):
    """mercer in exactly these surroundings."""
    return subprocess.run([MERCER, *map(str, words)], env=env, capture_output=True, timeout=LIMIT,
                          check=True, **more)


@test
def test_wider_kernels_of_blas():
    known = re.fullmatch(VERSION, mercer("--version", env={"OPENBLAS_CORETYPE": ""}).out)
    if known[2] not in ("openmp", "pthread") or known[6] not in ("AVX", "AVX2", "AVX-512"):
        raise Skip("no shared OpenBLAS, or a processor without wider kernels")
    best = {"AVX": "Sandybridge", "AVX2": "Haswell", "AVX-512": "SkylakeX"}[known[6]]
    old = old_openblas()
    # Started again, once, as the same process, with pipes as they were.
    shown = run_as(old, "--version").stdout.decode()
    assert f"{best} kernels ({known[6]})" in shown, shown
    ids, told = asked()
    assert len(ids) == 1 and told[0] == "untold" and set(told[1:]) == {"told"}, (ids, told)
    ring()
    text = pathlib.Path("ring.csv").read_bytes()
    piped = run_as(old, "fit", "-", "-m", "kpca", "-n", 3, "-o", "a.model", "--json", input=text)
    assert json.loads(piped.stdout)["notices"] == [] and piped.stderr == b""
    plain = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    run_as(dict(plain, OPENBLAS_CORETYPE=best), "fit", "-", "-m", "kpca", "-n", 3, "-o", "b.model",
           "--quiet", input=text)
    features = [run_as(dict(plain, OPENBLAS_CORETYPE=best), "transform", name, "ring.csv").stdout
                for name in ("a.model", "b.model")]
    assert features[0] == features[1]
    # Not where the user has named kernels, be they narrow; then nobody complains either.
    os.remove("asked")
    named = run_as(dict(old, OPENBLAS_CORETYPE="Nehalem"), "fit", "ring.csv", "-m", "kpca", "--json")
    assert json.loads(named.stdout)["notices"] == []
    assert set(asked()[1]) == {"told"}
    # Kernels that stay narrow are named, and there is no third start.
    deaf = run_as(dict(old, DEAF="1"), "fit", "ring.csv", "-m", "kpca", "--json")
    assert [best in note and "Prescott" in note for note in json.loads(deaf.stdout)["notices"]] == [True]
    ids, told = asked()
    assert len(ids) == 1 and told.count("untold") == 1, (ids, told)


@test
def test_kernels_that_fit_are_left_alone():
    if "OPENBLAS_CORETYPE" in os.environ:
        raise Skip("OPENBLAS_CORETYPE is set")
    shown = re.fullmatch(VERSION, mercer("--version").out)
    if shown[5] != shown[6]:
        raise Skip("BLAS knows less than the processor has")
    write("spy.c", "#include <stdlib.h>\n#include <stdio.h>\n__attribute__((constructor)) static void spy(void)"
          '{ FILE *f = fopen("starts", "a"); fprintf(f, "%s\\n", getenv("OPENBLAS_CORETYPE") ? "again" : "plain");'
          " fclose(f); }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "spy.so", "spy.c"], check=True)
    options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    mercer("--version", env={"LD_PRELOAD": os.path.abspath("spy.so"), "ASAN_OPTIONS": options})
    assert pathlib.Path("starts").read_text() == "plain\n"


@test
def test_no_command():
    refused(status=2, says="--help")


@test
def test_unknown_command():
    refused("fti", status=2, says=["'fti'", "fit", "transform", "demo"])
    refused("report", status=2, says=["'report'", "transform"])
    refused("help", "nothing", status=2, says="nothing")
    refused("--memory", "4G", "fit", status=2, says="--memory")


@test
def test_unknown_option_suggests_the_nearest():
    refused("fit", "x.csv", "-m", "kpca", "--memroy", "4G", status=2, says="did you mean --memory?")
    refused("fit", "x.csv", "--thread=2", status=2, says="did you mean --threads?")
    refused("fit", "x.csv", "-z", status=2, says=["-z", "--help"])
    refused("info", "x", "--quzzz", status=2, says="--quzzz")


@test
def test_words_in_the_wrong_place():
    ring_model()
    refused("--hlep", status=2, says="did you mean --help?")
    refused("--verison", status=2, says="did you mean --version?")
    refused("-m", "kpca", "fit", "ring.csv", status=2, says="options follow it")
    refused("ring.csv", status=2, says="mercer fit ring.csv -m kpca")
    refused("transform", "ring.model", "ring.csv", "-n", 3, status=2, says="belongs to fit, predict, evaluate, compare, truncate")
    refused("fit", "ring.csv", "-m", "kpca", "--errors", status=2,
            says="belongs to transform, inverse")


@test
def test_help_as_data():
    everything = json.loads(mercer("help", "--json").out)
    assert [command["name"] for command in everything["commands"]] == COMMANDS
    for command in everything["commands"]:
        text = mercer(command["name"], "--help").out
        for option in command["options"]:
            assert f"--{option['name']}" in text
    assert everything["version"] in mercer("--version").out


def completed(*words):
    """What bash offers for the last of the words; "=" stands alone, as bash splits it."""
    script = (f"source {ROOT}/completions/mercer.bash; COMP_WORDS=(mercer \"$@\"); "
              "COMP_CWORD=$#; _mercer; printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", *words], text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT)
    assert not done.stderr, done.stderr
    return done.stdout.split()


@test
def test_bash_completion():
    write("data.csv", "1,2\n")
    write("my.model", "")
    assert completed("") == COMMANDS + ["help", "--help", "--version"]
    assert completed("tr") == ["transform", "truncate"]
    assert sorted(completed("fit", "")) == ["data.csv", "my.model"]
    assert completed("fit", "data.csv", "-m", "")[:2] == ["pca", "kpca"]
    assert completed("fit", "data.csv", "-k", "r") == ["rbf", "rq"]
    assert completed("fit", "data.csv", "--sc") == ["--scale", "--scale-target"]
    assert completed("fit", "data.csv", "--scale", "m") == ["minmax"]
    assert completed("fit", "--scale", "=", "u") == ["unit"]
    assert completed("fit", "--scale", "=") == ["none", "standard", "minmax", "norm", "unit",
                                                "rowstandard"]
    assert completed("fit", "data.csv", "-n", "") == []
    assert completed("fit", "data.csv", "-o", "my") == ["my.model"]
    assert completed("generate", "swiss") == ["swiss-cross", "swiss-roll"]
    assert completed("kernels", "co") == ["cosine"]
    assert completed("heads", "c") == completed("fit", "data.csv", "--head", "c") == ["centre"]
    assert completed("help", "inv") == ["inverse"]
    assert completed("demo", "") == [] and completed("nonsense", "") == []
    everything = json.loads(mercer("help", "--json").out)
    for command in everything["commands"]:
        assert completed(command["name"], "--") == [f"--{o['name']}" for o in command["options"]]


@test
def test_zsh_completion():
    if not shutil.which("zsh"):
        raise Skip("zsh is not installed")
    # ^T writes the line as it stands to a file, so that nobody has to look at the screen.
    setup = (f"PS1=; fpath=({ROOT}/completions $fpath); autoload -Uz compinit; compinit -D -u; "
             "zle-line-init() { print > ready }; zle -N zle-line-init; "
             "tell() { print -r -- $BUFFER > line.part; mv line.part line; BUFFER= }; zle -N tell; "
             "bindkey '^T' tell; bindkey '^I' complete-word; unsetopt beep\n")
    write("data.csv", "1,2\n")
    write("my.model", "")
    here, there = pty.openpty()
    shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=there, stdout=there, stderr=there,
                             env=dict(os.environ, TERM="xterm"), start_new_session=True)
    os.close(there)

    def typed(text, answer):
        """What stands in the answer file after this was typed."""
        os.write(here, text.encode())
        end = time.monotonic() + 30
        while not os.path.exists(answer):
            assert time.monotonic() < end and shell.poll() is None, f"no answer to {text!r}"
            if select.select([here], [], [], 0.01)[0]:
                os.read(here, 1 << 16)
        line = pathlib.Path(answer).read_text()
        os.remove(answer)
        return line

    try:
        typed(setup, "ready")
        for words, expected in (("inv", "inverse "), ("tr", "tr"), ("fit da", "fit data.csv "),
                                ("fit -m kpc", "fit -m kpca "), ("fit -k cos", "fit -k cosine "),
                                ("fit data.csv --landm", "fit data.csv --landmarks="),
                                ("fit --scale=u", "fit --scale=unit "),
                                ("fit --image-features h", "fit --image-features haar "),
                                ("transform my.model d", "transform my.model data.csv "),
                                ("generate swiss-r", "generate swiss-roll "),
                                ("kernels coss", "kernels coss"), ("help dem", "help demo "),
                                ("nonsense da", "nonsense da")):
            found = typed(f"mercer {words}\t\x14", "line")
            assert found == f"mercer {expected}\n", (words, found)
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
        os.close(here)


@test
def test_man_page():
    if not shutil.which("groff"):
        raise Skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-cbou", ROOT / "man" / "mercer.1"],
                          text=True, capture_output=True, check=True, timeout=LIMIT)
    assert not done.stderr, done.stderr
    words = " ".join(done.stdout.split())
    for command in json.loads(mercer("help", "--json").out)["commands"]:
        assert f"mercer {command['name']}" in words, command["name"]
        for option in command["options"]:
            assert f"--{option['name']}" in words.replace("‐", "-").replace("−", "-"), option["name"]


@test
def test_option_without_value():
    refused("fit", "x.csv", "-m", status=2, says=["-m", "needs a value"])
    refused("fit", "x.csv", "-m", "-n", "3", status=2, says=["-m", "needs a value"])
    refused("fit", "x.csv", "--memory", status=2, says=["--memory", "needs a value"])
    refused("fit", "x.csv", "-m", "kpca", "--json=yes", status=2, says="--json")


@test
def test_option_given_twice():
    refused("fit", "x.csv", "-m", "kpca", "--method=pca", status=2, says=["--method", "twice"])


@test
def test_option_values():
    for option, value in [("-n", "0"), ("-n", "-3"), ("-n", "nan"), ("-n", "1.5"), ("-n", "many"),
                          ("-n", ""), ("-n", "0x10"), ("--threads", "0"), ("--threads", "two"),
                          ("--threads", "100000"), ("--memory", "4X"), ("--memory", "-1G"),
                          ("--memory", "12"), ("--seed", "-1"), ("--seed", "1.5"),
                          ("--store", "desne"), ("--center", "all"), ("--scale", "std"),
                          ("--precision", "half"), ("--format", "xls")]:
        ring(20)
        refused("fit", "ring.csv", "-m", "kpca", option, value, status=2,
                says=[option if option == "-n" else option.lstrip("-")] + ([value] if value else []))
    refused("fit", "ring.csv", "-m", "kpca", "--store", "desne", says="did you mean dense?")


@test
def test_operands():
    refused("fit", "-m", "kpca", status=2, says="DATA")
    refused("transform", "a.model", status=2, says="DATA")
    refused("transform", status=2, says="MODEL")
    refused("fit", "a.csv", "b.csv", "-m", "kpca", status=2, says="b.csv")
    refused("demo", "ring", status=2, says="ring")


@test
def test_option_forms_are_equal():
    ring(50)
    forms = [["-m", "kpca", "-n", "3"], ["-mkpca", "-n3"], ["--method", "kpca", "--components=3"],
             ["--method=kpca", "--components", "3"]]
    spectra = [report("fit", "ring.csv", *form)["spectrum"] for form in forms]
    assert len(spectra[0]) == 3 and all(s == spectra[0] for s in spectra)
    os.rename("ring.csv", "-ring.csv")
    done = mercer("fit", "-m", "kpca", "-n", 3, "--json", "--", "-ring.csv")
    assert json.loads(done.out)["spectrum"] == spectra[0]


@test
def test_size_units():
    ring(50)
    for size in ["100M", "100MiB", "104857600", "0.1G", "100m"]:
        mercer("fit", "ring.csv", "-m", "kpca", "-n", 2, "--memory", size)


@test
def test_missing_method_is_explained():
    ring(20)
    refused("fit", "ring.csv", status=2, says=["-m", "kpca"])


# ------------------------------------------------------------------------------------- bad input

@test
def test_cell_that_is_no_number():
    write("bad.csv", "age,size\n1,2\n3,4\nabc,5\n")
    refused("fit", "bad.csv", "-m", "kpca", status=1, says=["bad.csv:4", "age", "abc"])


@test
def test_text_column_that_may_be_a_label():
    write("x.csv", "a,species\n1,red\n2,blue\n3,red\n")
    refused("fit", "x.csv", "-m", "kpca", status=1, says=["x.csv:2", "red", "add --label species"])
    write("bare.csv", "1,red\n2,blue\n3,red\n")
    refused("fit", "bare.csv", "-m", "kpca", status=1, says=["bare.csv"])
    write("bad.csv", "a,b\n1,2\n2,x\n3,4\n")
    assert "--label" not in refused("fit", "bad.csv", "-m", "kpca", says="bad.csv:3").err
    # Neither a missing value nor a column that the model needs holds classes.
    write("missing.csv", "a,b\n1,NA\n2,3\n")
    assert "--label" not in refused("fit", "missing.csv", "-m", "kpca", says="missing.csv:2").err
    ring_model()
    write("new.csv", "x,y\n1,red\n")
    assert "--label" not in refused("transform", "ring.model", "new.csv", says="new.csv:2").err
    write("f.csv", "f1,f2,f3,f4,f5\n1,2,3,4,red\n")
    assert "--label" not in refused("inverse", "ring.model", "f.csv", says="f.csv:2").err


@test
def test_ragged_row():
    write("bad.csv", "a,b\n1,2\n3\n4,5\n")
    refused("fit", "bad.csv", "-m", "kpca", status=1, says=["bad.csv:3"])
    write("bad.csv", "a,b\n1,2\n3,4,5\n")
    refused("fit", "bad.csv", "-m", "kpca", status=1, says=["bad.csv:3"])


@test
def test_nan_and_infinity():
    for value in ["nan", "NaN", "inf", "-inf", "1e999", ""]:
        write("bad.csv", f"a,b\n1,2\n3,{value}\n4,5\n")
        refused("fit", "bad.csv", "-m", "kpca", status=1, says=["bad.csv:3", "b"])
    x = cloud()
    x[7, 2] = np.nan
    np.save("bad.npy", x)
    refused("fit", "bad.npy", "-m", "kpca", status=1, says=["bad.npy"])


@test
def test_empty_file():
    write("empty.csv", "")
    refused("fit", "empty.csv", "-m", "kpca", status=1, says="empty.csv")
    refused("fit", "-", "-m", "kpca", status=1)
    write("empty.npy", "")
    refused("fit", "empty.npy", "-m", "kpca", status=1, says="empty.npy")
    write("empty.h5", "")
    refused("fit", "empty.h5", "-m", "kpca", status=1, says="empty.h5: is empty")


@test
def test_header_only():
    write("header.csv", "a,b,c\n")
    refused("fit", "header.csv", "-m", "kpca", status=1, says="header.csv")
    refused("scale", "header.csv", status=1, says="header.csv")
    ring_model()
    write("none.csv", "x,y\n")
    refused("transform", "ring.model", "none.csv", status=1, says="none.csv")
    np.save("none.npy", np.zeros((0, 2)))
    refused("transform", "ring.model", "none.npy", status=1, says="none.npy")


@test
def test_one_row():
    write("one.csv", "a,b\n1,2\n")
    refused("fit", "one.csv", "-m", "kpca", status=1, says="one.csv")


@test
def test_one_row_to_transform():
    ring_model()
    write("one.csv", "x,y\n8,0\n")
    names, x = numbers(mercer("transform", "ring.model", "one.csv").out)
    assert names == ["f1", "f2", "f3", "f4", "f5"] and x.shape == (1, 5)


@test
def test_one_column():
    table("one.csv", cloud(30, 1), ["a"])
    assert report("fit", "one.csv", "-m", "kpca", "-n", 3)["columns"] == 1
    assert report("fit", "one.csv", "-m", "pca")["components"] == 1
    write("label.csv", "label\na\nb\n")
    refused("fit", "label.csv", "-m", "kpca", says="label")


@test
def test_constant_column():
    x = cloud()
    x[:, 1] = 7
    table("x.csv", x, "abcd")
    for kind in ["standard", "minmax", "norm"]:
        result = report("fit", "x.csv", "-m", "kpca", "-n", 3, "--scale", kind)
        assert result["components"] == 3 and np.isfinite(result["reconstruction_error"])
    table("same.csv", np.ones((10, 3)), "abc")
    refused("fit", "same.csv", "-m", "kpca", "-k", "rbf:sigma=1", status=1,
            says=["same.csv", "do not differ"])
    refused("fit", "same.csv", "-m", "kpca", "-k", "linear", "--center", "none", "--scale",
            "standard", status=1, says=["same.csv", "every row for zero"])


@test
def test_duplicate_rows():
    x = np.vstack([cloud(5, 3)] * 6)
    table("x.csv", x, "abc")
    result = report("fit", "x.csv", "-m", "kpca", "-n", 10, "-k", "rbf:sigma=1", "-o", "x.model")
    assert result["components"] == 4 and result["notices"], result
    _, f = numbers(mercer("transform", "x.model", "x.csv").out)
    assert np.array_equal(f[:5], f[5:10]) and np.isfinite(f).all()


@test
def test_missing_label_column():
    ring(20)
    refused("fit", "ring.csv", "-m", "kpca", "--label", "species", says="species")
    refused("fit", "ring.csv", "-m", "kpca", "--label", "9", says="9")
    refused("fit", "ring.csv", "-m", "kpca", "--target", "height", says="height")
    refused("fit", "ring.csv", "-m", "kpca", "--labels", "none.txt", says="none.txt")
    write("few.txt", "a\nb\n")
    refused("fit", "ring.csv", "-m", "kpca", "--labels", "few.txt", says="few.txt: has 2 labels")


@test
def test_more_components_than_rank():
    table("x.csv", cloud(50, 3), "abc")
    result = report("fit", "x.csv", "-m", "kpca", "-k", "linear", "-n", 10)
    assert result["components"] == 3 and any("10" in n and "3" in n for n in result["notices"])
    text = mercer("fit", "x.csv", "-m", "kpca", "-k", "linear", "-n", 10).out
    assert result["notices"][0].split()[0] in text
    assert mercer("fit", "x.csv", "-m", "kpca", "-k", "linear", "-n", 10, "--quiet").out == ""


@test
def test_unknown_method_kernel_and_key():
    refused("fit", "no.csv", "-m", "kcpa", status=2, says=["kcpa", "did you mean 'kpca'?"])
    refused("fit", "no.csv", "-m", "kpca", "-k", "gauss", status=2, says=["gauss", "rbf"])
    refused("fit", "no.csv", "-m", "kpca", "-k", "rbf:width=3", status=2, says=["width", "sigma"])
    refused("fit", "no.csv", "-m", "kpca:depth=3", status=2, says="depth")
    refused("methods", "nope", status=2, says=["nope", "kpca"])
    refused("kernels", "nope", status=2, says=["nope", "rbf"])
    refused("generate", "circel", status=2, says=["circel", "circle"])


@test
def test_value_out_of_range():
    ring(20)
    for spec in ["rbf:sigma=nan", "rbf:sigma=-1", "rbf:sigma=0", "rbf:sigma=", "rbf:sigma",
                 "rbf:sigma=abc", "rbf:sigma=inf", "poly:degree=0", "rbf:sigma=1,sigma=2",
                 "poly:degree=2.5"]:
        key = "degree" if "degree" in spec else "sigma"
        refused("fit", "ring.csv", "-m", "kpca", "-k", spec, status=2, says=key)
    refused("generate", "circle", "--rows", 10**17, status=2, says=["--rows", "2^53"])
    # A width out of range that the rows gave is the fault of the data.
    write("huge.csv", "a,b\n1,1e200\n2,-1e200\n3,0\n")
    refused("fit", "huge.csv", "-m", "kpca", status=1, says=["huge.csv", "median", "scale"])


@test
def test_unreadable_path():
    refused("fit", "no.csv", "-m", "kpca", status=1, says="no.csv")
    os.mkdir("folder.csv")
    refused("fit", "folder.csv", "-m", "kpca", status=1, says="folder.csv")
    refused("info", "no.model", status=1, says="no.model: cannot open")
    ring(20)
    refused("transform", "no.model", "ring.csv", status=1, says="no.model")
    refused("info", "ring.csv", status=1, says="ring.csv")


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


@test
def test_wrong_columns_at_transform():
    x = cloud()
    table("x.csv", x, "abcd")
    mercer("fit", "x.csv", "-m", "kpca", "-n", 3, "-o", "x.model", "--quiet")
    table("names.csv", x, "abce")
    refused("transform", "x.model", "names.csv", "-o", "out.csv", status=1, says=["names.csv", "'d'"])
    table("few.csv", x[:, :3])
    refused("transform", "x.model", "few.csv", "-o", "out.csv", status=1, says=["few.csv", "3", "4"])
    np.save("many.npy", np.hstack([x, x]))
    refused("transform", "x.model", "many.npy", "-o", "out.csv", status=1,
            says=["many.npy", "8", "4"])
    table("one.csv", x[:, :1])
    refused("transform", "x.model", "one.csv", "-o", "out.csv", status=1,
            says="one.csv: 1 column where 4 were expected")
    refused("inverse", "x.model", "x.csv", "-o", "out.csv", status=1,
            says=["x.csv", "'f1'", "columns: a, b, c, d"])
    assert "out.csv" not in files()


@test
def test_damaged_models():
    ring_model()
    whole = pathlib.Path("ring.model").read_bytes()
    draw = random.Random(5)
    for kind in ["short", "flip", "foreign", "empty"]:
        for _ in range(4):
            data = bytearray(whole)
            if kind == "short":
                data = data[:draw.randrange(1, len(data))]
            elif kind == "flip":
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            elif kind == "foreign":
                data = bytearray(draw.randbytes(500))
            else:
                data = bytearray()
            pathlib.Path("bad.model").write_bytes(data)
            refused("transform", "bad.model", "ring.csv", status=1, says="bad.model")


# ----------------------------------------------------------------------------------------- output

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
def test_kill_during_writes_leaves_old_or_none():
    """20 times: half at a random moment, half as soon as a temporary file is there."""
    np.save("x.npy", cloud(1500, 300))
    words = [MERCER, "fit", "x.npy", "-m", "kpca", "-n", "2", "-o", "x.model", "--quiet"]
    start = time.monotonic()
    subprocess.run(words, check=True, timeout=LIMIT)
    usual = time.monotonic() - start
    old = pathlib.Path("x.model").read_bytes()
    draw = random.Random(1)
    caught = 0
    for turn in range(20):
        if turn % 4 < 2:
            pathlib.Path("x.model").unlink(missing_ok=True)
        present = os.path.exists("x.model")
        names = set(files())
        run = subprocess.Popen(words)
        if turn % 2:
            time.sleep(draw.uniform(0, 1.1 * usual))
        else:
            until = time.monotonic() + 10 * usual + 5
            while run.poll() is None and set(files()) == names and time.monotonic() < until:
                time.sleep(0.0002)
        run.kill()
        run.wait()
        for name in set(files()) - names - {"x.model"}:
            caught += 1
            os.unlink(name)
        if os.path.exists("x.model"):
            assert pathlib.Path("x.model").read_bytes() == old, "a model that is not whole"
        else:
            assert not present, "the old file is gone"
            pathlib.Path("x.model").write_bytes(old)
    assert caught > 0, "no kill hit a write; the test shows nothing"


def interrupt(number, words, after, names):
    """Send the signal `after` seconds; the program must end within a second and leave nothing."""
    run = subprocess.Popen([MERCER, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(after)
    assert run.poll() is None, f"was over in {after} s: {run.communicate()}"
    start = time.monotonic()
    run.send_signal(number)
    status = run.wait(60)
    spent = time.monotonic() - start
    assert status == 128 + number, f"status {status}"
    assert spent < 1, f"took {spent:.2f} s"
    assert files() == names, files()


@test
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


# -------------------------------------------------------------------------------------------- fit

@test
def test_fit_advises_to_scale_columns():
    x = cloud(40, 5)
    x[:, 2] *= 1000
    spreads = np.ptp(x, axis=0)
    said = f"spreads {spreads[2] / np.median(spreads):.4g} times as wide as the median column"
    fit = ["fit", "x.csv", "-m", "pca", "-n", 2]
    table("x.csv", x)
    assert report(*fit)["notices"][0].startswith("column 3 " + said)
    table("x.csv", x, "abcde")
    assert report(*fit)["notices"][0].startswith("column 'c' " + said)
    assert report(*fit, "--scale", "standard")["notices"] == []
    table("x.csv", cloud(40, 5) - 1000)
    assert report(*fit)["notices"] == []


@test
def test_fit_report_keys():
    ring(300)
    result = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 6, "-o", "r.model")
    missing = [key for key in FIT_KEYS if key not in result]
    assert not missing, f"missing: {missing}"
    assert (result["rows"], result["columns"], result["components"]) == (300, 2, 6)
    assert result["method"].split(":")[0] == "kpca" and result["kernel"] == "rbf:sigma=4"
    assert result["selected"] == [] and result["head_rows"] == 0
    assert len(result["spectrum"]) == 6 == len(result["share"])
    assert result["spectrum"] == sorted(result["spectrum"], reverse=True)
    assert 0 < sum(result["share"]) < 1
    assert result["store"] in ("dense", "stream", "lowrank") and result["store_reason"]
    assert result["expansion_points"] == 300 and result["peak_memory_bytes"] > 1e6
    assert result["seconds"] > 0 and result["seconds_read"] > 0 and result["seconds_write"] > 0


@test
def test_fit_measures_agree():
    """share, error, projection variance and the features themselves tell one story."""
    ring(300)
    result = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 6, "-o", "r.model")
    names, f = numbers(mercer("transform", "r.model", "ring.csv", "--errors").out)
    assert names[-1] == "error"
    total = result["total_variance"]
    assert np.allclose((f[:, :-1] ** 2).sum(0), result["spectrum"], rtol=1e-8)
    assert np.isclose((f[:, :-1] ** 2).sum(1).mean(), result["projection_variance"], rtol=1e-8)
    assert np.isclose(f[:, -1].mean(), result["reconstruction_error"], rtol=1e-6)
    assert np.isclose(sum(result["share"]), result["projection_variance"] / total, rtol=1e-8)
    assert np.isclose(total, result["projection_variance"] + result["reconstruction_error"])


@test
def test_fit_against_numpy():
    x = cloud(80, 3)
    table("x.csv", x, "abc")
    mercer("fit", "x.csv", "-m", "kpca", "-k", "rbf:sigma=2", "-n", 4, "-o", "x.model", "--quiet")
    _, f = numbers(mercer("transform", "x.model", "x.csv").out)
    k = np.exp(-((x[:, None] - x[None]) ** 2).sum(2) / 8)
    h = np.eye(80) - 1 / 80
    values, vectors = np.linalg.eigh(h @ k @ h)
    expected = vectors[:, ::-1][:, :4] * np.sqrt(values[::-1][:4])
    assert np.allclose(np.abs(f), np.abs(expected), atol=1e-9)


@test
def test_fit_summary():
    x = cloud(30, 2)
    table("x.csv", x, "ab", label=["red", "blue", "green"] * 10)
    text = mercer("fit", "x.csv", "-m", "kpca", "-k", "rbf:sigma=2", "-n", 3, "-o", "x.model").out
    for word in ["kpca", "rbf:sigma=2", "30 rows x 2 columns", "label", "3 classes", "does not use",
                 "f1", "f3", "share", "reconstruction error", "projection variance", "read", "write",
                 "peak memory", "mercer transform x.model x.csv"]:
        assert word in re.sub(r"\s+", " ", text), f"{word!r} is not in the summary:\n{text}"
    narrow = mercer("fit", "x.csv", "-m", "kpca", "-n", 3, env={"COLUMNS": "60"}).out
    assert max(map(columns_of, narrow.splitlines()[:-2])) <= 60, narrow
    assert "-o" in narrow.splitlines()[-1]  # says how to keep the model
    assert mercer("fit", "x.csv", "-m", "kpca", "--quiet").out == ""


@test
def test_fit_share_of_variance():
    ring(300)
    words = ["fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", "0.95"]
    result = report(*words)
    assert "capture 0.95" in mercer(*words).out
    assert sum(result["share"]) >= 0.95 > sum(result["share"][:-1]), result["share"]


@test
def test_fit_stores_agree():
    ring(300)
    features = {}
    for store in ["dense", "stream", "lowrank"]:
        result = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 5, "--store",
                        store, "-o", "r.model")
        assert result["store"] == store, result["store"]
        features[store] = np.abs(numbers(mercer("transform", "r.model", "ring.csv").out)[1])
    assert np.allclose(features["dense"], features["stream"], atol=1e-6)
    assert np.allclose(features["dense"], features["lowrank"], atol=1e-6)


@test
def test_fit_single_precision_and_centring():
    ring(200)
    exact = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 3)
    single = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 3, "--precision",
                    "single", "--store", "dense")
    plain = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 3, "--center", "none")
    assert np.allclose(exact["spectrum"], single["spectrum"], rtol=1e-3)
    assert plain["total_variance"] == 1 and exact["total_variance"] < 1


@test
def test_pca_is_the_collapsed_form():
    table("x.csv", cloud(), "abcd")
    result = report("fit", "x.csv", "-m", "pca", "-n", 2, "-o", "x.model")
    assert result["expansion_points"] == 0 and result["components"] == 2
    refused("fit", "x.csv", "-m", "pca", "-k", "rbf:sigma=1", says="linear")


@test
def test_kernel_combinations():
    x = np.abs(cloud(60, 3))
    table("x.csv", x)
    words = ["-m", "kpca", "-n", 3, "--quiet"]
    spec = "0.5 * chi2 + rbf:sigma=2 * laplacian:gamma=0.25"
    mercer("fit", "x.csv", *words, "-k", spec, "-o", "sum.model")
    report = json.loads(mercer("info", "sum.model", "--json").out)
    assert report["kernel"] == "0.5*chi2:gamma=1 + rbf:sigma=2*laplacian:gamma=0.25"
    differences = x[:, None] - x[None]
    k = 0.5 * np.exp(-(differences ** 2 / (x[:, None] + x[None])).sum(2)) + np.exp(
        -(differences ** 2).sum(2) / 8 - np.abs(differences).sum(2) / 4)
    np.save("k.npy", k)
    mercer("fit", "k.npy", *words, "-k", "precomputed", "-o", "k.model")
    _, direct = numbers(mercer("transform", "sum.model", "x.csv").out)
    _, given = numbers(mercer("transform", "k.model", "k.npy").out)
    assert np.allclose(direct, given, atol=1e-9)
    (pathlib.Path("f.csv")).write_text(mercer("transform", "sum.model", "x.csv").out)
    refused("inverse", "sum.model", "f.csv", says="pre-images: not for kernel 'combined'")
    refused("fit", "x.csv", *words, "-k", "rbf + -1*linear", status=2, says="negative weight")
    refused("fit", "x.csv", *words, "-k", "rbf +", status=2, says="nothing where a kernel")
    refused("fit", "x.csv", *words, "-k", "matern:nu=2", status=2, says="0.5, 1.5, 2.5, inf")
    x[4, 1] = -0.5
    table("bad.csv", x)
    for kernel in ("chi2", "intersection", spec):
        refused("fit", "bad.csv", *words, "-k", kernel, says="row 5 column 2 is -0.5")
    refused("transform", "sum.model", "bad.csv", says="row 5 column 2 is -0.5")
    many = np.tile(np.abs(x), (700, 1))  # more rows than a block holds
    many[-1, 2] = -2
    np.save("many.npy", many)
    refused("transform", "sum.model", "many.npy", says=["column 3 is -2", "after the first"])


@test
def test_floats_and_bytes():
    """Small types give the features, errors and hash of doubles, in a smaller model."""
    x = np.clip(np.round(100 + 30 * cloud(300, 12)), 0, 255)
    for scale in ["none", "standard"]:
        reports, sizes = [], []
        for kind in ["f8", "f4", "u1"]:
            np.save(f"{kind}.npy", x.astype(kind))
            mercer("fit", f"{kind}.npy", "-m", "kpca", "-n", 3, "--scale", scale, "-o", "x.model",
                   "--quiet")
            info = json.loads(mercer("info", "x.model", "--json").out)
            reports.append((mercer("transform", "x.model", f"{kind}.npy", "--errors").out,
                            info["data_hash"]))
            sizes.append(os.path.getsize("x.model"))
        assert reports[0] == reports[1] == reports[2]
        saved = 0 if scale == "standard" else x.size
        assert [sizes[0] - size for size in sizes] == [0, 4 * saved, 7 * saved], sizes


@test
def test_precomputed_kernel():
    x = cloud(40, 3)
    k = np.exp(-((x[:, None] - x[None]) ** 2).sum(2) / 8)
    np.save("k.npy", k)
    table("x.csv", x)
    words = ["-m", "kpca", "-n", 3, "--quiet"]
    mercer("fit", "k.npy", *words, "-k", "precomputed", "-o", "k.model")
    mercer("fit", "x.csv", *words, "-k", "rbf:sigma=2", "-o", "x.model")
    _, direct = numbers(mercer("transform", "x.model", "x.csv", "--errors").out)
    table("self.csv", np.ones((40, 1)))
    _, given = numbers(mercer("transform", "k.model", "k.npy", "--errors", "--self", "self.csv").out)
    assert np.allclose(direct, given, atol=1e-9)
    many = np.tile(k, (700, 1))  # more rows than a block holds
    shift = np.arange(28000.0)
    np.save("many.npy", many)
    np.save("shift.npy", 1 + shift[:, None])
    _, given = numbers(mercer("transform", "k.model", "many.npy", "--errors", "--self",
                              "shift.npy").out)
    assert np.allclose(given[:, -1] - shift, np.tile(direct[:, -1], 700), atol=1e-8)
    refused("transform", "k.model", "k.npy", "--errors", status=2, says="--self")
    table("few.csv", np.ones((39, 1)))
    refused("transform", "k.model", "k.npy", "--errors", "--self", "few.csv", says="few.csv")
    table("many.csv", np.ones((41, 1)))
    refused("transform", "k.model", "k.npy", "--errors", "--self", "many.csv", says="many.csv")
    refused("transform", "k.model", "k.npy", "--self", "self.csv", status=2, says="--errors")
    table("wide.csv", np.ones((40, 2)))
    refused("transform", "k.model", "k.npy", "--errors", "--self", "wide.csv", status=1,
            says="mercer: wide.csv: has 2 columns")
    np.save("oblong.npy", k[:, :30])
    refused("fit", "oblong.npy", *words, "-k", "precomputed", says=["oblong.npy", "40", "30"])


@test
def test_budget_is_refused_before_the_work():
    np.save("x.npy", cloud(4000, 10))
    start = time.monotonic()
    refused("fit", "x.npy", "-m", "kpca", "--store", "dense", "--memory", "8M", status=1,
            says=["dense", "stream"])
    assert time.monotonic() - start < 5


@test
def test_lowrank_that_cannot_be():
    np.save("x.npy", cloud(600, 30))
    refused("fit", "x.npy", "-m", "kpca", "-k", "rbf:sigma=0.5", "--store", "lowrank", "--memory",
            "4M", status=1, says=["lowrank", "rank", "stream"])


# ---------------------------------------------------------------------------------- reproducible

@test
def test_same_seed_same_bytes():
    for name in ["circle", "swiss-cross", "swiss-roll", "parabola", "sparse-linear"]:
        one = mercer("generate", name, "--seed", 5, "--rows", 20).out
        assert one == mercer("generate", name, "--seed", 5, "--rows", 20).out
        assert one != mercer("generate", name, "--seed", 6, "--rows", 20).out
        assert one.count("\n") == 21
    ring(400)
    fits = [report("fit", "ring.csv", "-m", "kpca", "--seed", 9)["kernel"] for _ in range(2)]
    assert fits[0] == fits[1] and re.fullmatch(r"rbf:sigma=\d.*", fits[0]), fits


@test
def test_thread_count_changes_no_bit():
    np.save("x.npy", cloud(900, 12))
    for store in ["dense", "stream"]:
        texts = []
        for threads in (1, 2):
            mercer("fit", "x.npy", "-m", "kpca", "-n", 8, "--store", store, "--threads", threads,
                   "-o", "x.model", "--quiet")
            texts.append(mercer("transform", "x.model", "x.npy", "--errors", "--threads",
                                threads).out)
        assert texts[0] == texts[1], f"{store} differs"
    ring(2000)
    texts = []
    for threads in (1, 2):
        mercer("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "--store", "lowrank",
               "--threads", threads, "-o", "r.model", "--quiet")
        texts.append(mercer("transform", "r.model", "ring.csv", "--threads", threads).out)
    assert texts[0] == texts[1], "lowrank differs"


# -------------------------------------------------------------------------------------- transform

@test
def test_transform_in_blocks_equals_whole():
    """More rows than one block holds, against the same rows cut at another place."""
    ring_model(rows=40)
    mercer("generate", "circle", "--rows", 100000, "--seed", 8, "-o", "many.csv", "--quiet")
    lines = pathlib.Path("many.csv").read_text().splitlines(keepends=True)
    write("one.csv", "".join(lines[:30001]))
    write("two.csv", lines[0] + "".join(lines[30001:]))
    whole = mercer("transform", "ring.model", "many.csv").out
    one = mercer("transform", "ring.model", "one.csv").out
    two = mercer("transform", "ring.model", "two.csv").out
    assert whole.count("\n") == 100001
    assert whole == one + two[two.index("\n") + 1:]


@test
def test_transform_in_bounded_memory():
    ring_model(rows=40)
    mercer("generate", "circle", "--rows", 600000, "-o", "many.csv", "--quiet")
    result = report("transform", "ring.model", "many.csv", "-o", "out.npy", env=plain_memory())
    small = report("transform", "ring.model", "ring.csv", "-o", "small.npy", env=plain_memory())
    extra = result["peak_memory_bytes"] - small["peak_memory_bytes"]
    assert result["rows"] == 600000 and np.load("out.npy").shape == (600000, 5)
    assert extra < 40e6, f"{extra / 1e6:.0f} MB more for more rows"


@test
def test_wide_file_in_bounded_memory():
    """The width of the file counts, not that of the model."""
    ring_model(rows=40)
    row = "1.5,2.5" + ",0" * 2000 + "\n"
    write("wide.csv", "x,y" + "".join(f",z{j}" for j in range(2000)) + "\n" + row * 6000)
    result = report("transform", "ring.model", "wide.csv", "-o", "out.npy", env=plain_memory())
    small = report("transform", "ring.model", "ring.csv", "-o", "small.npy", env=plain_memory())
    extra = result["peak_memory_bytes"] - small["peak_memory_bytes"]
    assert result["rows"] == 6000 and result["notices"]
    assert extra < 50e6, f"{extra / 1e6:.0f} MB more for wider rows"


@test
def test_transform_formats():
    ring_model()
    _, f = numbers(mercer("transform", "ring.model", "ring.csv").out)
    mercer("transform", "ring.model", "ring.csv", "-o", "f.npy")
    mercer("transform", "ring.model", "ring.csv", "-o", "f.tsv")
    mercer("transform", "ring.model", "ring.csv", "-o", "f.csv.gz")
    assert np.array_equal(np.load("f.npy"), f)
    tsv = pathlib.Path("f.tsv").read_text()
    assert "," not in tsv and np.array_equal(numbers(tsv.replace("\t", ","))[1], f)
    assert np.array_equal(numbers(gzip.open("f.csv.gz", "rt").read())[1], f)
    _, x = numbers(pathlib.Path("ring.csv").read_text())
    np.save("x.npy", x)
    np.save("x4.npy", x.astype("f4"))
    np.save("xf.npy", np.asfortranarray(x))
    write("x.tsv", pathlib.Path("ring.csv").read_text().replace(",", "\t"))
    with gzip.open("x.csv.gz", "wb") as out:
        out.write(pathlib.Path("ring.csv").read_bytes())
    with open("renamed.dat", "w") as out:
        out.write(pathlib.Path("x.tsv").read_text())
    write("crlf.csv", "\ufeff" + pathlib.Path("ring.csv").read_text().replace("\n", "\r\n"))
    for name in ["x.npy", "xf.npy", "x.tsv", "x.csv.gz", "crlf.csv"]:
        assert np.array_equal(numbers(mercer("transform", "ring.model", name).out)[1], f), name
    done = mercer("transform", "ring.model", "renamed.dat", "--format", "tsv")
    assert np.array_equal(numbers(done.out)[1], f)
    assert np.allclose(numbers(mercer("transform", "ring.model", "x4.npy").out)[1], f, atol=1e-5)
    pipe = mercer("transform", "ring.model", "-", stdin=pathlib.Path("ring.csv").read_bytes())
    assert np.array_equal(numbers(pipe.out)[1], f)
    pipe = mercer("transform", "ring.model", "-", stdin=pathlib.Path("x.csv.gz").read_bytes())
    assert np.array_equal(numbers(pipe.out)[1], f)


@test
def test_libsvm_text():
    def pairs(text):
        return [line.split() for line in text.splitlines()]
    ring_model()
    _, f = numbers(mercer("transform", "ring.model", "ring.csv").out)
    mercer("transform", "ring.model", "ring.csv", "-o", "f.svm")
    lines = pairs(pathlib.Path("f.svm").read_text())
    assert all(line[0] == "0" for line in lines)
    assert np.array_equal([[float(p.split(":")[1]) for p in line[1:]] for line in lines], f)
    # Features come back from it, also through a pipe, where the model knows their number.
    straight = mercer("inverse", "ring.model", "f.svm").out
    pipe = mercer("inverse", "ring.model", "-", "--format", "libsvm",
                  stdin=pathlib.Path("f.svm").read_bytes())
    assert pipe.out == straight and len(straight.splitlines()) == len(f) + 1
    write("wide.svm", "0 1:1 99:1\n")
    refused("inverse", "ring.model", "wide.svm", status=1, says="wide.svm:1: index 99")
    # Labels: numbers stay, words are refused and leave no file; targets are numbers in front.
    write("l.csv", "a,b,label\n1,0,7\n0,2,-1\n")
    assert mercer("scale", "l.csv", "--scale", "none", "--output-format", "libsvm").out == "7 1:1\n-1 2:2\n"
    write("w.csv", "a,b,label\n1,0,yes\n0,2,no\n")
    refused("scale", "w.csv", "-o", "w.svm", status=1, says="'yes' is not a number")
    assert not os.path.exists("w.svm")
    write("t.csv", "a,target,b\n1,0.1,0\n0,3,2\n")
    mercer("scale", "t.csv", "--scale", "none", "-o", "t.svm.gz", "--quiet")
    assert gzip.open("t.svm.gz", "rt").read() == "0.1 1:1\n3 2:2\n"
    result = json.loads(mercer("scale", "t.svm.gz", "--scale", "unit", "-o", "u.csv", "--json").out)
    assert result["labels"] == "values from the labels in front" and result["columns"] == 2
    assert pathlib.Path("u.csv").read_text() == "target1,x1,x2\n0.1,1,0\n3,0,1\n"
    assert len(pairs(mercer("generate", "circle", "--rows", 5, "--format", "libsvm").out)) == 5
    write("q.svm", "1 qid:1 1:2\n")
    done = mercer("scale", "q.svm", "--scale", "none")
    assert "qid" in done.err and done.out == "label,x1\n1,2\n"


@test
def test_columns_matched_by_name():
    x = cloud()
    table("x.csv", x, "abcd")
    mercer("fit", "x.csv", "-m", "kpca", "-n", 3, "-o", "x.model", "--quiet")
    straight = mercer("transform", "x.model", "x.csv")
    table("mixed.csv", np.hstack([x[:, [2, 0]], x[:, :1] * 9, x[:, [3, 1]]]), ["c", "a", "z", "d", "b"])
    mixed = mercer("transform", "x.model", "mixed.csv")
    assert mixed.out == straight.out and straight.err == ""
    assert "'z'" in mixed.err and mixed.err.count("\n") == 1
    assert mercer("transform", "x.model", "mixed.csv", "--quiet").err == ""
    table("bare.csv", x)
    assert mercer("transform", "x.model", "bare.csv").out == straight.out


@test
def test_keep_label():
    x = cloud(6, 2)
    labels = ["b", "a", '"c, d"', "a", "b", "b"]
    table("x.csv", x, "pq", label=labels)
    mercer("fit", "x.csv", "-m", "kpca", "-n", 2, "-o", "x.model", "--quiet")
    plain = mercer("transform", "x.model", "x.csv").out.splitlines()
    kept = mercer("transform", "x.model", "x.csv", "--keep-label").out.splitlines()
    assert plain[0] == "f1,f2" and kept[0] == "label,f1,f2"
    assert kept[1:] == [f"{a},{b}" for a, b in zip(labels, plain[1:])]
    table("bare.csv", x, "pq")
    refused("transform", "x.model", "bare.csv", "--keep-label", says="bare.csv")
    refused("transform", "x.model", "x.csv", "--keep-label", "-o", "x.npy", says="npy")
    assert "x.npy" not in files()


@test
def test_keep_targets():
    x = cloud(20, 3)
    table("x.csv", x, ["a", "target", "b"])
    result = report("fit", "x.csv", "-m", "kpca", "-n", 2, "-o", "x.model")
    assert result["columns"] == 2 and "target" in result["labels"]
    names, kept = numbers(mercer("transform", "x.model", "x.csv", "--keep-label", "--errors").out)
    assert names == ["target", "f1", "f2", "error"] and np.array_equal(kept[:, 0], x[:, 1])
    assert report("fit", "x.csv", "-m", "kpca", "--target", "a,b")["columns"] == 1
    assert report("fit", "x.csv", "-m", "kpca", "--no-label")["columns"] == 3


@test
def test_labels_by_position_and_from_a_file():
    x = cloud(4, 3)
    write("x.csv", "".join(f"{a!r},red{i},{b!r}\n" for i, (a, b, _) in enumerate(x.tolist())))
    result = report("fit", "x.csv", "-m", "kpca", "--label", "2", "-n", 2)
    assert result["columns"] == 2 and "4" not in str(result["columns"])
    table("y.csv", x, "abc")
    write("labels.txt", "u\nv\nu\nv\n")
    result = report("fit", "y.csv", "-m", "kpca", "--labels", "labels.txt", "-n", 2, "-o", "y.model")
    assert "labels.txt" in result["labels"]
    kept = mercer("transform", "y.model", "y.csv", "--labels", "labels.txt", "--keep-label").out
    assert [line.split(",")[0] for line in kept.splitlines()[1:]] == ["u", "v", "u", "v"]


# First line, lines below, options; what the first line is, and a word of the notice if there is one.
HEADERS = [
    ("2019,2020,kind", "1.5,2.5,a|2,3,b", "--label kind", "names", None),
    ("2019,2020,kind", "1.5,2.5,a|2,3,b", "--label 3", "row", "no other row is of class 'kind'"),
    ("2019,2020,kind", "1.5,2.5,a|2,3,kind", "--label 3", "row", None),
    ("2019.5,2020,kind", "1.5,2.5,a|2,3,b", "--label 3", "row", None),
    ("7,7,kind", "1.5,2.5,a|2,3,b", "--label 3", "row", None),
    ("2019,2020,kind", "1.5,2.5,a|2,3,b", "--label 3 --header yes", "names", None),
    ("2019,2020,kind", "1.5,2.5,a|2,3,b", "--label 3 --header no", "row", None),
    ("kind,2019,2020", "a,1.5,2.5|b,2,3", "--label kind", "names", None),
    ("2019,2020,kind", "1.5,2.5,7|2,3,8", "--target kind", "names", None),
    ("2019,2020,2021,2022", "1,2,3,4|5,6,7,8", "--target 2022,2021", "names", None),
    ("2019,2020,2021", "1,2,3|4,5,6", "--label 2021", "names", None),
    ("2019,2020,label", "1.5,2.5,a|2,3,b", "", "names", "2 of its 3 cells are numbers"),
    ("2019,2020,target", "1.5,2.5,3|2,3,4", "", "names", "2 of its 3 cells are numbers"),
    ("2019,2020,label", "1.5,2.5,a|2,3,b", "--header no --label 3", "row", None),
    ("1,2,3", "1,2,4|4,5,6", "--label 3", "row", "counts up by one"),  # 3 is a position
    ("0,1,2,3", "5,1,7,2|6,0,8,1|9,1,3,4", "--label 2", "row", "counts up by one"),
    ("0,1,2", "1,2,4|4,5,6", "", "row", "counts up by one"),
    ("0,1,2", "1,2,4|4,5,6", "--header yes", "names", None),
    ("0,1,2", "1,2,4|4,5,6", "--header no", "row", None),
    ("0,1", "1,2|4,5", "", "row", "counts up by one"),
    ("1,2", "1,2|4,5", "", "row", "counts up by one"),
    ("2,3", "1,2|4,5", "", "row", None),
    ("2019,2020,2021", "1,2,3|4,5,6", "", "row", "counts up by one"),
    ("2,1,0", "1,2,3|4,5,6", "", "row", None),
    ("0,1,2,a", "1,2,3,b|4,5,6,a", "--label 4", "row", "counts up by one"),
    ("0", "1|2", "", "row", None),
    ("0", "1|2", "--header yes", "names", None),
    ("5.1,3.5,setosa", "4.9,3,virginica|1,2,virginica", "--label 3", "row", None),
    ("x,y,2010", "1,2,3|4,5,6", "", "names", "1 of its 3 cells are numbers"),
    ("x,y", "1,2|3,4", "", "names", None),
    ('"2019","2020"', "1,2|3,4", "", "names", "2 of its 2 cells are numbers"),
    ('"0","1"', '"1","2"|"3","4"', "", "row", "counts up by one"),
    ('"2019","2020","kind, sort"', '1,2,a|3,4,b', "--label 'kind, sort'", "names", None),
    ('"20""19",2020,kind', "1,2,a|3,4,b", "--label kind", "names", None),
    ('2019 , 2020 , kind', "1,2,a|3,4,b", "--label kind", "names", None),
]


@test
def test_header_of_numbers():
    """Every first line in some dresses: line ends, a byte order mark, tabs, gzip, a pipe."""
    dresses = ("crlf", "cr", "bom", "gz", "pipe", "tsv", "unfinished")
    for i, (first, below, words, kind, notice) in enumerate(HEADERS):
        words = shlex.split(words)
        text = "\n".join([first, *below.split("|")]) + "\n"
        for dress in ("plain", dresses[i % 7], dresses[(i + 3) % 7]):
            if dress == "tsv" and '"' in first:
                continue
            data, name, stdin = text, "t.csv", b""
            if dress in ("crlf", "cr"):
                data = text.replace("\n", "\r\n" if dress == "crlf" else "\r")
            if dress == "tsv":
                data, name = text.replace(",", "\t"), "t.tsv"
            data = data.encode("utf-8-sig" if dress == "bom" else "utf-8")
            if dress == "gz":
                data, name = gzip.compress(data), "t.csv.gz"
            if dress == "unfinished":
                data = data[:-1]
            if dress == "pipe":
                stdin, name = data, "-"
            else:
                pathlib.Path(name).write_bytes(data)
            result = report("fit", name, "-m", "pca", *words, stdin=stdin)
            said = " ".join(result["notices"])
            about = f"{dress}: {first!r} {words}: {result['rows']} rows; {said}"
            assert result["rows"] == len(below.split("|")) + (kind == "row"), about
            assert notice in said if notice else "header" not in said, about


@test
def test_header_equal_to_the_names_of_the_model():
    x = cloud(50, 3)
    names = ["2019", "2020", "2021"]
    table("x.csv", x, names=[*names[:2], "z"])
    mercer("fit", "x.csv", "-m", "pca", "-n", 2, "-o", "z.model", "--quiet")
    table("y.csv", x, names=names)
    mercer("fit", "y.csv", "-m", "pca", "-n", 2, "--header", "yes", "-o", "y.model", "--quiet")
    assert report("info", "y.model")["column_names"] == names
    wanted = mercer("transform", "y.model", "y.csv")
    assert len(wanted.out.splitlines()) == 51 and not wanted.err, wanted.err
    # In another order and among other columns they are the names, too.
    turned = np.column_stack([x[:, 2], x[:, 0], x[:, 1]])
    table("turned.csv", turned, names=[names[2], *names[:2]])
    assert mercer("transform", "y.model", "turned.csv").out == wanted.out
    lines = pathlib.Path("y.csv").read_text().splitlines()
    write("kind.csv", "\n".join([lines[0] + ",kind", *(line + ",a" for line in lines[1:])]) + "\n")
    assert mercer("transform", "y.model", "kind.csv").out == wanted.out
    piped = mercer("transform", "y.model", "-", stdin=pathlib.Path("y.csv").read_bytes())
    assert piped.out == wanted.out
    # Rows without names are rows, and --header no makes a row of any line.
    table("rows.csv", x)
    assert mercer("transform", "y.model", "rows.csv").out == wanted.out
    assert len(mercer("transform", "y.model", "y.csv", "--header", "no").out.splitlines()) == 52
    # Names that count: in their order they decide, in another a row may have them as well.
    table("c.csv", x, names=["0", "1", "2"])
    mercer("fit", "c.csv", "-m", "pca", "-n", 2, "--header", "yes", "-o", "c.model", "--quiet")
    assert len(mercer("transform", "c.model", "c.csv").out.splitlines()) == 51
    write("row.csv", "2,1,0\n" + "\n".join(lines[1:]) + "\n")
    assert len(mercer("transform", "c.model", "row.csv").out.splitlines()) == 52
    for command in ("predict", "update"):
        words = ["-m", "ikpca", "-n", 2] if command == "update" else ["-m", "pls", "--target", "2021"]
        mercer("fit", "y.csv", *words, "--header", "yes", "-o", "o.model", "--quiet")
        result = report(command, "o.model", "y.csv", *(["-o", "new.model"] if command == "update" else
                                                      ["-o", "new.csv", "--target", "2021"]))
        assert result["rows"] in (50, 100), (command, result["rows"])


@test
def test_header_of_every_file_of_a_call():
    x = cloud(40, 2)
    names = ["1", "2"]
    label = ["a", "b"] * 20
    table("x.csv", x, names=names)
    write("labels.csv", "kind\n" + "\n".join(label) + "\n")
    write("plain.csv", "\n".join(label) + "\n")
    write("usual.csv", "label\n" + "\n".join(label) + "\n")
    words = ("evaluate", "x.csv", "-m", "kpca", "-n", 2, "--head", "knn", "--cv", 4, "--labels")
    wanted = report(*words, "labels.csv", "--header", "yes")
    assert wanted["rows"] == 40, wanted
    refused(*words, "plain.csv", "--header", "yes", says=["plain.csv", "39 labels", "first line"])
    table("data.csv", x, names=["p", "q"])
    assert report("evaluate", "data.csv", *words[2:], "plain.csv")["mean"] == wanted["mean"]
    assert report("evaluate", "data.csv", *words[2:], "usual.csv")["mean"] == wanted["mean"]
    refused("evaluate", "data.csv", *words[2:], "labels.csv", says=["labels.csv", "--header yes"])
    # Tables of other options, and splits.
    mercer("evaluate", "x.csv", *words[2:8], "--header", "yes", "--labels", "labels.csv", "--test", "x.csv",
           "--test-labels", "labels.csv")
    write("split.csv", "0,1\n" + ",".join(map(str, range(20))) + "\n")
    fit = ("-m", "kpca", "-n", 2, "--metric", "columns")
    assert len(report("evaluate", "x.csv", *fit, "--split", "split.csv")["folds"]) == 2
    split = report("evaluate", "x.csv", *fit, "--split", "split.csv", "--header", "yes")
    assert len(split["folds"]) == 1
    write("names.csv", "one,two\n0,1\n")
    refused("evaluate", "x.csv", *fit, "--split", "names.csv", "--header", "no",
            says=["names.csv:1", "'one'"])
    write("few.csv", "1,2\n0.5,0.25\n1,1\n-1,0.5\n")
    for header, points in (("yes", 3), ("no", 4)):
        result = report("fit", "x.csv", "-m", "nystroem", "--landmarks", "few.csv", "--header", header)
        assert result["expansion_points"] == points, result["expansion_points"]
    np.save("few.npy", x[:3])
    assert report("fit", "x.csv", "-m", "nystroem", "--landmarks", "few.npy", "--header",
                  "yes")["expansion_points"] == 3
    refused("fit", "few.npy", "-m", "pca", "--header", "yes", status=2, says=["few.npy", "CSV"])
    refused("fit", "x.csv", "-m", "pca", "--header", "maybe", status=2, says=["yes, no"])
    write("one.csv", "1,2\n")
    refused("fit", "one.csv", "-m", "pca", "--header", "yes", says=["one.csv", "no rows"])
    write("words.csv", "p,q\n1,2\n")
    refused("fit", "words.csv", "-m", "pca", "--header", "no", says=["words.csv:1", "'p'"])
    mercer("fit", "x.csv", "-m", "pca", "-n", 2, "--header", "yes", "-o", "x.model", "--quiet")
    mercer("transform", "x.model", "x.csv", "-o", "f.csv", "--quiet")
    text = pathlib.Path("f.csv").read_text().split("\n", 1)[1]
    write("f.csv", "1,2\n" + text)
    refused("inverse", "x.model", "f.csv", "--header", "yes", says=["f.csv", "'f1'"])
    assert len(mercer("inverse", "x.model", "f.csv", "--header", "no").out.splitlines()) == 42


@test
def test_numbers_that_are_no_classes():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 2))
    y = rng.normal(size=200)
    fit = ("-m", "kpls", "-n", 2)
    table("x.csv", x)
    table("xy.csv", np.column_stack([x, y]), names=["p", "q", "y"])
    table("label.csv", np.column_stack([x, y]), names=["p", "q", "label"])
    write("y.txt", "\n".join(map(repr, y.tolist())) + "\n")
    np.save("xy.npy", np.column_stack([x, y]))
    write("xy.svm", "".join(f"{v!r} 1:{a!r} 2:{b!r}\n" for v, (a, b) in zip(y.tolist(), x.tolist())))
    for command in ("fit", "evaluate", "compare"):
        words = (*fit, "-m", "kpca") if command == "compare" else fit
        for data, options in (("x.csv", ("--labels", "y.txt")), ("xy.csv", ("--label", "y")),
                              ("xy.csv", ("--label", 3)), ("label.csv", ()), ("xy.npy", ("--label", 3)),
                              ("xy.svm", ("--label", "label"))):
            refused(command, data, *words, *options, status=1, says=[data, "not all are whole", "--target"])
    assert report("fit", "xy.svm", *fit)["rows"] == 200  # without a word they are values
    assert report("fit", "xy.csv", *fit, "--target", "y")["rows"] == 200
    # A single number that is not whole is enough; among words numbers are classes; but a word for
    # what is missing is none.
    for labels, good in ((["1", "2", "1.5"], False), (["1", "2", "3"], True), (["1", "2.0", "3"], True),
                         (["1.5", "2.5", "x"], True), (["1.5", "NA", "2"], False), (["1", "nan", "2"], True),
                         (["1e3", "-7", "+2"], True), (["v1.5", "v2"], True), (["inf", "1.5"], True)):
        write("l.txt", "\n".join((labels * 200)[:200]) + "\n")
        words = ("fit", "x.csv", *fit, "--labels", "l.txt")
        if good:
            assert "notices" in report(*words)
        else:
            refused(*words, status=1, says=["l.txt", "--target"])


@test
def test_many_whole_numbers_as_classes_give_a_notice():
    def notices(rows, classes, word=""):
        table("x.csv", cloud(rows, 2))
        write("l.txt", "".join(f"{word}{i % classes}\n" for i in range(rows)))
        return " ".join(report("fit", "x.csv", "-m", "pca", "--labels", "l.txt")["notices"])
    for rows, most in ((60, 20), (100, 20), (150, 30), (500, 100), (600, 100)):
        assert "--target" not in notices(rows, most), (rows, most)
        said = notices(rows, most + 1)
        assert "--target" in said and f"{most + 1} different numbers" in said, (rows, said)
    assert "--target" not in notices(200, 200, "w")
    write("x.svm", "".join(f"{i} 1:{i}\n" for i in range(100)))
    assert "--target" in " ".join(report("fit", "x.svm", "-m", "pca")["notices"])


@test
def test_model_with_a_column_called_label():
    table("x.csv", cloud(20, 2), ["label", "b"])
    mercer("fit", "x.csv", "-m", "kpca", "-n", 2, "--no-label", "-o", "x.model", "--quiet")
    assert numbers(mercer("transform", "x.model", "x.csv").out)[1].shape == (20, 2)


@test
def test_scaling_is_kept_in_the_model():
    x = cloud() * [1, 10, 100, 1000] + 5
    table("x.csv", x, "abcd")
    mercer("scale", "x.csv", "-o", "s.csv", "--quiet")
    words = ["-m", "kpca", "-k", "rbf:sigma=2", "-n", 3, "--quiet"]
    mercer("fit", "x.csv", *words, "--scale", "standard", "-o", "a.model")
    mercer("fit", "s.csv", *words, "-o", "b.model")
    _, a = numbers(mercer("transform", "a.model", "x.csv").out)
    _, b = numbers(mercer("transform", "b.model", "s.csv").out)
    assert np.allclose(a, b, atol=1e-9)


@test
def test_transform_report():
    ring_model()
    result = report("transform", "ring.model", "ring.csv", "--errors", "-o", "f.csv")
    assert result["rows"] == 200 and result["components"] == 5 and result["notices"] == []
    assert 0 < result["reconstruction_error"] < 1
    done = mercer("transform", "ring.model", "ring.csv", "--json")
    assert json.loads(done.err)["reconstruction_error"] is None
    assert numbers(done.out)[1].shape == (200, 5)


@contextlib.contextmanager
def running(*words):
    """A mercer that waits for rows on its standard input."""
    with subprocess.Popen([MERCER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def answer(process, text, lines=1):
    """Write text and wait for so many lines."""
    process.stdin.write(text)
    process.stdin.flush()
    found = b""
    while found.count(b"\n") < lines:
        ready, _, _ = select.select([process.stdout], [], [], 20)
        assert ready, f"no answer to {text!r} within 20 seconds; so far {found!r}"
        part = os.read(process.stdout.fileno(), 1 << 16)
        assert part, f"the output ended after {found!r}"
        found += part
    return found.decode().splitlines()


@test
def test_rows_from_a_pipe_are_answered_at_once():
    ring_model()
    lines = pathlib.Path("ring.csv").read_text().splitlines()
    expected = mercer("transform", "ring.model", "ring.csv", "--errors").out.splitlines()
    with running("transform", "ring.model", "-", "--errors") as process:
        header = (lines[0] + "\n").encode()
        assert answer(process, header + lines[1].encode() + b"\n", 2) == expected[:2]
        assert answer(process, lines[2].encode() + b"\r\n") == [expected[2]]
        process.stdin.write(lines[3][:4].encode())
        process.stdin.flush()
        time.sleep(0.05)
        assert answer(process, (lines[3][4:] + "\n").encode()) == [expected[3]]
        rest = ("\n".join(lines[4:]) + "\n").encode()
        assert answer(process, rest, len(lines) - 4) == expected[4:]
        process.stdin.close()
        assert process.wait(LIMIT) == 0


@test
def test_rows_without_names_are_answered_at_once():
    table("x.csv", cloud(40, 3))
    mercer("fit", "x.csv", "-m", "pca", "-n", 2, "-o", "x.model", "--quiet")
    lines = pathlib.Path("x.csv").read_text().splitlines()
    expected = mercer("transform", "x.model", "x.csv").out.splitlines()
    with running("transform", "x.model", "-") as process:
        assert answer(process, (lines[0] + "\n").encode(), 2) == expected[:2]
        assert answer(process, (lines[1] + "\n").encode()) == [expected[2]]
        features = expected[1].encode()
    with running("inverse", "x.model", "-") as process:
        back = answer(process, b"f1,f2\n" + features + b"\n", 2)
        assert len(back[1].split(",")) == 3


@test
def test_reports_say_how_full_sparse_rows_are():
    write("x.svm", "".join(f"0 {i % 7 + 1}:1 {i % 13 + 8}:2\n" for i in range(50)))
    fit = ["fit", "x.svm", "-m", "kpca", "-n", 2, "-k"]
    fitted = report(*fit, "rbf:sigma=1", "-o", "x.model")
    assert (fitted["entries"], fitted["density"]) == (100, 0.1)
    kept = report("info", "x.model")
    assert (kept["entries"], kept["density"]) == (100, 0.1)
    said = ", sparse: 100 entries (10 %)"
    assert "50 rows x 20 columns" + said in mercer(*fit, "rbf").out
    assert "50" + said in mercer("info", "x.model").out
    # A linear map keeps no points, dense rows have no zeroes to leave out.
    assert report(*fit, "linear", "-o", "x.model")["entries"] == 100
    table("d.csv", cloud())
    dense = report("fit", "d.csv", "-m", "kpca", "-o", "d.model")
    for other in (report("info", "x.model"), dense, report("info", "d.model")):
        assert other["entries"] is None and other["density"] is None
    assert "sparse" not in mercer("info", "d.model").out


@test
def test_libsvm_rows_are_answered_at_once():
    write("x.svm", "".join(f"{i / 2} {i % 3 + 1}:{i + 1} {i % 4 + 4}:0.5\n" for i in range(40)))
    lines = pathlib.Path("x.svm").read_bytes().splitlines(keepends=True)
    mercer("fit", "x.svm", "-m", "kpca", "-k", "rbf:sigma=9", "-n", 2, "-o", "x.model", "--quiet")
    expected = mercer("transform", "x.model", "x.svm").out.splitlines()
    with running("transform", "x.model", "-", "--format", "libsvm") as process:
        assert answer(process, lines[0], 2) == expected[:2]
        assert answer(process, b"# nothing\n\n" + lines[1]) == [expected[2]]
        process.stdin.write(lines[2][:6])
        process.stdin.flush()
        time.sleep(0.05)
        assert answer(process, lines[2][6:]) == [expected[3]]
        assert answer(process, b"".join(lines[3:]), 37) == expected[4:]
        process.stdin.close()
        assert process.wait(LIMIT) == 0
    # With labels to keep it takes a word on what they are.
    kept = ["transform", "x.model", "-", "--format", "libsvm", "--keep-label"]
    expected = mercer("transform", "x.model", "x.svm", "--keep-label").out.splitlines()
    with running(*kept, "--target", "target") as process:
        assert answer(process, lines[0], 2) == expected[:2]
        assert answer(process, lines[1]) == [expected[2]]
    assert mercer(*kept, stdin=b"".join(lines)).out.splitlines() == expected
    with running("inverse", "x.model", "-", "--format", "libsvm") as process:
        assert len(answer(process, b"0 1:0.1 2:0.2\n", 2)) == 2
        assert len(answer(process, b"7.5 1:0.2\n")) == 1


@test
def test_pieces_of_a_pipe_change_nothing():
    ring_model(rows=3000)
    text = pathlib.Path("ring.csv").read_bytes()
    expected = mercer("transform", "ring.model", "ring.csv").out
    chooser = random.Random(5)
    for name, data in (("plain", text), ("gzip", gzip.compress(text))):
        with running("transform", "ring.model", "-") as process:
            found = []
            reader = threading.Thread(target=lambda: found.append(process.stdout.read()))
            reader.start()
            at = 0
            while at < len(data):
                step = chooser.choice([1, 7, 300, 5000, 70000])
                process.stdin.write(data[at:at + step])
                process.stdin.flush()
                at += step
            process.stdin.close()
            reader.join(LIMIT)
            assert process.wait(LIMIT) == 0 and found[0].decode() == expected, name
    assert mercer("fit", "-", "-m", "pca", "--json", stdin=text).out.count('"rows": 3000') == 1


@test
def test_novelty_marks_outliers():
    ring(500)
    fit = ["fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 8]
    fitted = report(*fit, "--novelty", 0.05, "-o", "ring.model")
    plain = report(*fit, "-o", "plain.model")
    assert plain["novelty_threshold"] is None and plain["novelty_share"] is None
    assert fitted["novelty_threshold"] > 0 and fitted["novelty_share"] == 0.05
    assert fitted["spectrum"] == plain["spectrum"]
    shown = report("info", "ring.model")
    assert shown["novelty_threshold"] == fitted["novelty_threshold"]
    assert "novelty threshold" in mercer("info", "ring.model").out
    assert "novelty" not in mercer("info", "plain.model").out

    ring(2000, seed=9, name="new.csv")
    names, rows = numbers(mercer("transform", "ring.model", "new.csv", "--errors").out)
    assert names[-2:] == ["error", "novel"]
    assert ((rows[:, -2] > fitted["novelty_threshold"]) == rows[:, -1]).all()
    assert 0.01 < rows[:, -1].mean() < 0.1, rows[:, -1].mean()
    write("far.csv", "x,y\n0,0\n30,0\n0,-40\n")
    assert numbers(mercer("transform", "ring.model", "far.csv", "--errors").out)[1][:, -1].min() == 1
    assert report("transform", "ring.model", "far.csv", "--errors", "-o", "f.csv")["novel"] == 3
    assert "3 novel" in mercer("transform", "ring.model", "far.csv", "--errors", "-o", "f.csv").out

    assert "novel" not in mercer("transform", "ring.model", "far.csv").out
    assert "novel" not in mercer("transform", "plain.model", "far.csv", "--errors").out
    done = mercer("truncate", "ring.model", "-n", 4)
    assert "novelty threshold" in done.err and report("info", "ring.model")["novelty_share"] is None


@test
def test_novelty_refusals():
    ring(60)
    for wrong in ("0", "1", "-0.1", "5%", "nan"):
        refused("fit", "ring.csv", "-m", "kpca", "--novelty", wrong, status=2, says=wrong)
    refused("fit", "ring.csv", "-m", "kpca", "--novelty", 0.05, status=1,
            says=("ring.csv", "at least 95 rows", "there are 60"))


@test
def test_every_method_with_every_centring():
    x = cloud(40, 3)
    table("x.csv", x, "abc", label=["uv"[i % 2] for i in range(40)])
    for method in ("kpca", "kpca:groups=2", "akfa", "ackfa:delta=0.01", "skfa", "rkpca", "greedy",
                   "nystroem", "kica", "kpls", "sma", "smc", "sma:sparsity=3", "smc:sparsity=2,labels=raw",
                   "skpls", "cr:alpha=0.3", "blf", "blf:loss=lad,nu=0.3", "kboost", "koca"):
        for center in ("none", "exact", "span"):
            words = ["fit", "x.csv", "-m", method, "-k", "rbf:sigma=2", "-n", 3, "--center", center]
            if method[:3] in ("sma", "smc", "skp", "blf", "kbo", "koc") and center == "span":
                refused(*words, status=2, says="center is none or exact")
                continue
            told = report(*words, "-o", "m")
            assert told["components"] == 3
            features = numbers(mercer("transform", "m", "x.csv").out)[1]
            assert np.isfinite(features).all()
            mercer("truncate", "m", "-n", 2, "-o", "two", "--quiet")
            assert np.allclose(numbers(mercer("transform", "two", "x.csv").out)[1], features[:, :2],
                               rtol=1e-9, atol=1e-12)
            info = json.loads(mercer("info", "two", "--json").out)
            if center == "none" and told["selected"]:
                assert len(info["selected"]) == info["expansion_points"]
                assert info["selected"] == told["selected"][:info["expansion_points"]]


@test
def test_features_no_more_than_the_labels_have_dimensions():
    table("x.csv", cloud(40, 3), "abc", label=["uvw"[i % 3] for i in range(40)])
    for method in ("rkopls:subset=12", "cr:alpha=0"):
        words = ["fit", "x.csv", "-m", method, "-k", "rbf:sigma=2", "-o", "m"]
        told = report(*words)
        assert told["components"] == 2
        assert any("no more than the labels have" in notice for notice in told["notices"])
        assert len(numbers(mercer("transform", "m", "x.csv").out)[1][0]) == 2
        mercer("predict", "m", "x.csv", "-o", "p.csv")
    assert report(*words[:3], "rkopls:subset=12", "-o", "m")["expansion_points"] == 12
    for wrong in ("skpls:nu=0", "skpls:nu=1.1", "skpls:heuristic=max", "skpls:cache=0", "rkopls:subset=0",
                  "cr:alpha=-0.1", "cr:alpha=1.01", "cr:alpha=nan"):
        refused("fit", "x.csv", "-m", wrong, status=2, says=wrong.split(":")[0])


@test
def test_rows_that_directions_are_made_of():
    table("x.csv", cloud(40, 3), "abc", label=["uv"[i % 3 == 0] for i in range(40)])
    words = ["fit", "x.csv", "-k", "rbf:sigma=2", "-n", 3, "-m"]
    found = {p: report(*words, f"smc:sparsity={p}") for p in (1, 2, 3)}
    used = [len(found[p]["selected"]) for p in (1, 2, 3)]
    assert used[0] == 3 < used[1] <= 6 and used[1] < used[2] <= 9  # a row may serve twice
    assert found[1]["covariance"][0] < found[2]["covariance"][0] < found[3]["covariance"][0]
    assert found[1]["selected"] == report(*words, "smc")["selected"]
    assert report(*words, "smc:labels=raw")["alignment"] != found[1]["alignment"]
    refused(*words, "sma:sparsity=4", status=2, says="sparsity=4 is out of range (1 .. 3)")
    refused(*words, "sma:labels=both", status=2, says=("labels", "both"))
    told = report(*words, "sma:candidates=60")
    assert any("leave candidates out" in notice for notice in told["notices"])
    assert not report(*words, "sma:candidates=10")["notices"]


@test
def test_all_rows_as_candidates_are_all_rows():
    ring(60)
    for method in ("akfa", "skfa", "skfa:criterion=variance", "ackfa:delta=0.2"):
        for center in ("none", "exact"):
            for store in ("dense", "stream", "lowrank"):
                words = ["fit", "ring.csv", "-k", "rbf:sigma=3", "-n", 6, "--center", center,
                         "--store", store]
                comma = "," if ":" in method else ":"
                assert (report(*words, "-m", method)["selected"] ==
                        report(*words, "-m", f"{method}{comma}candidates=60")["selected"])


@test
def test_span_that_leaves_nothing():
    np.savetxt("k.csv", 1 + np.outer(range(4), range(4)), delimiter=",")
    words = ["fit", "k.csv", "-m", "akfa", "-k", "precomputed", "-n", 1, "--center"]
    refused(*words, "span", status=1, says="--center exact")
    assert "nan" not in mercer(*words, "exact").out
    write("zero.csv", "0,1,2\n1,0,1\n2,1,0\n")
    refused("fit", "zero.csv", "-m", "akfa", "-k", "precomputed", "--center", "none", status=1,
            says="no k(x,x)")


@test
def test_landmarks():
    x = cloud(80, 3)
    table("x.csv", x, "abc", label=["uv"[i % 2] for i in range(80)])
    words = ["fit", "x.csv", "-k", "rbf:sigma=2", "-n", 3, "--scale", "standard"]
    chosen = report(*words, "-m", "rkpca:points=9", "-o", "chosen.model")
    assert len(chosen["selected"]) == chosen["expansion_points"] == len(chosen["selection"]) == 9
    points = x[chosen["selected"]]
    table("z.csv", points[:, [2, 0, 1]], "cab", label=["w"] * 9)  # matched by name, labels skipped
    expected = numbers(mercer("transform", "chosen.model", "x.csv").out)[1]
    for method in ("rkpca", "greedy", "nystroem"):
        given = report(*words, "-m", method, "--landmarks", "z.csv", "-o", "given.model")
        assert given["expansion_points"] == 9 and given["selected"] == []
        features = numbers(mercer("transform", "given.model", "x.csv").out)[1]
        assert np.allclose(features, expected, atol=1e-9)
    k = np.exp(-((x[:, None] - x[None]) ** 2).sum(2) / 8)
    np.save("k.npy", k)
    table("rows.csv", np.array(chosen["selected"])[:, None])
    words = ["fit", "k.npy", "-k", "precomputed", "-m", "nystroem", "-n", 3, "--landmarks", "rows.csv"]
    assert sorted(report(*words)["selected"]) == sorted(chosen["selected"])


@test
def test_landmarks_refusals():
    ring(60)
    words = ["fit", "ring.csv", "-n", 2, "--landmarks"]
    missing = [*words, "missing.csv", "-m"]  # nothing is read before the call is right
    refused(*missing, "kpca", status=2, says=("method kpca", "rkpca"))
    refused(*missing, "rkpca:points=5", status=2, says="points does not go with landmarks")
    refused(*missing, "rkpca", "--center", "exact", status=2, says="span gives the same features")
    refused(*missing, "rkpca", status=1, says="missing.csv")
    write("z.csv", "a,b\n1,2\n")
    done = refused(*words, "z.csv", "-m", "rkpca", status=1, says=("z.csv", "'x'"))
    assert "ring.csv" not in done.err
    write("z.csv", "1,2,3\n")
    refused(*words, "z.csv", "-m", "rkpca", status=1, says="landmarks: 3 columns where 2")
    np.save("k.npy", np.eye(5))
    for text, says in (("1\n1\n", "row 1 is given twice"), ("5\n", "5 is not the number of a row"),
                       ("1,2\n", "2 columns where one")):
        write("rows.csv", text)
        refused("fit", "k.npy", "-k", "precomputed", "-m", "nystroem", "--landmarks", "rows.csv",
                status=1, says=says)


@test
def test_koca():
    x = cloud(90, 5) * [1, 1, 9, 9, 9]
    kinds = np.arange(90) % 3
    x[:, 0] += 6 * kinds
    table("x.csv", x, "abcde", label=["xyz"[k] for k in kinds])
    words = ["fit", "x.csv", "-m", "koca", "-n", 2]
    told = report(*words, "-k", "linear", "-o", "one.model", "--threads", 1)
    report(*words, "-k", "linear", "-o", "two.model", "--threads", 2)
    one, two = (pathlib.Path(name).read_bytes() for name in ("one.model", "two.model"))
    assert one.replace(b"one.model --threads 1", b"two.model --threads 2")[1000:] == two[1000:]
    trace = told["trace"]
    assert [step["iteration"] for step in trace] == list(range(len(trace)))
    assert trace[0]["distance"] < 1e-7 and trace[0]["rate"] < 0.8 and trace[-1]["rate"] > 0.95
    assert all(a["seconds"] <= b["seconds"] for a, b in zip(trace, trace[1:]))
    assert any("optimal component analysis" in text for text in told["notices"])
    kept = json.loads(mercer("info", "one.model", "--json").out)["trace"]
    assert [dict(step, seconds=0) for step in kept] == [dict(step, seconds=0) for step in trace]
    assert "seconds" not in kept[0]
    assert "steps: performance" in mercer("info", "one.model").out
    features = numbers(mercer("transform", "one.model", "x.csv").out)[1]
    apart = ((features[:, None] - features[None]) ** 2).sum(2) + np.diag(np.full(90, np.inf))
    assert (kinds[apart.argmin(1)] == kinds).mean() > 0.95
    assert told["head"] == "knn:k=1"  # what the search looks at
    assert mercer("predict", "one.model", "x.csv").out.splitlines()[1:4] == ["x,1,0,0", "y,0,1,0", "z,0,0,1"]
    refused(*words[:-1], 9, "-k", "linear", status=1, says=("9 components", "5 dimensions"))
    refused("fit", "x.csv", "-m", "koca", "--no-label", status=1, says="--label")


@test
def test_koca_on_few_points():
    x = cloud(150, 4) * [1, 3, 3, 3]
    kinds = np.arange(150) % 3
    x[:, 0] += 7 * kinds
    table("x.csv", x[:90], "abcd", label=["xyz"[k] for k in kinds[:90]])
    table("v.csv", x[90:], "abcd", label=["xyz"[k] for k in kinds[90:]])
    words = ["fit", "x.csv", "-k", "rbf:sigma=6", "-n", 2, "-o", "m"]
    whole = report(*words, "-m", "koca:energy=1")
    every = report(*words, "-m", "koca:energy=1,points=90")  # all rows span what all rows span
    assert abs(whole["trace"][0]["performance"] - every["trace"][0]["performance"]) < 1e-7
    for more in ([], ["--validation", "v.csv"]):
        told = report(*words, "-m", "koca:points=25", *more)
        assert told["expansion_points"] == len(told["selected"]) == 25
        assert told["trace"][-1]["rate"] > 0.95
        features = numbers(mercer("transform", "m", "x.csv").out)[1]
        if more:
            new = numbers(mercer("transform", "m", "v.csv").out)[1]
            away = ((new[:, None] - features[None]) ** 2).sum(2)
            rate = (kinds[:90][away.argmin(1)] == kinds[90:]).mean()
            assert abs(rate - told["trace"][-1]["rate"]) < 1e-9  # classes are of equal size
        table("z.csv", x[told["selected"]], "abcd", label=["w"] * 25)
        given = report(*words, "-m", "koca", "--landmarks", "z.csv", *more)
        assert given["expansion_points"] == 25 and given["selected"] == []
        assert np.allclose([step["performance"] for step in given["trace"]][:5],
                           [step["performance"] for step in told["trace"]][:5], atol=1e-6)
    k = np.exp(-((x[:90, None] - x[None, :90]) ** 2).sum(2) / 72)
    np.save("k.npy", k)
    write("labels.txt", "\n".join("xyz"[c] for c in kinds[:90]) + "\n")
    table("rows.csv", np.array(told["selected"])[:, None])
    words = ["fit", "k.npy", "-k", "precomputed", "-n", 2, "--labels", "labels.txt", "-m", "koca",
             "--landmarks", "rows.csv"]
    assert sorted(report(*words)["selected"]) == sorted(told["selected"])
    words = ["fit", "x.csv", "-n", 2, "-m", "koca:points=20"]
    refused(*words, "--landmarks", "z.csv", status=2, says="points does not go with landmarks")
    refused(*words, "--center", "exact", status=2, says="center none")


@test
def test_koca_validation():
    x = cloud(120, 4) * [1, 5, 5, 5]
    kinds = np.arange(120) % 2
    x[:, 0] += 8 * kinds
    names = ["one", "two"]
    table("x.csv", x[:60], "abcd", label=[names[k] for k in kinds[:60]])
    # Columns are matched by name, classes too: the first one here is the second one there.
    table("v.csv", x[61:, [3, 0, 1, 2]], "dabc", label=[names[k] for k in kinds[61:]])
    words = ["fit", "x.csv", "-m", "koca", "-k", "linear", "-n", 1, "--scale", "standard"]
    told = report(*words, "--validation", "v.csv", "-o", "m")
    a, b = (numbers(mercer("transform", "m", name).out)[1] for name in ("x.csv", "v.csv"))
    near = kinds[:60][np.abs(b - a.T).argmin(1)]
    assert told["trace"][-1]["rate"] > 0.95
    rates = [(near == k)[kinds[61:] == k].mean() for k in (0, 1)]
    assert abs(np.mean(rates) - told["trace"][-1]["rate"]) < 1e-9  # averaged over classes
    assert report(*words)["trace"] != told["trace"]
    words[3] = "koca:validation=rows"
    report(*words, "--validation", "v.csv")
    refused(*words, status=2, says="--validation FILE")
    words[3] = "koca:validation=loo"
    refused(*words, "--validation", "v.csv", status=2, says="validation=loo does not go with")
    words[3] = "kpca"
    refused(*words, "--validation", "missing.csv", status=2, says=("method kpca", "koca"))
    words[3] = "koca"
    refused(*words, "--validation", "missing.csv", status=1, says="missing.csv")
    table("w.csv", x[:4], "abcd", label=["one", "two", "three", "one"])
    refused(*words, "--validation", "w.csv", status=1, says=("row 3", "'three'"))
    table("w.csv", x[:4], "abcd")
    refused(*words, "--validation", "w.csv", status=1, says="every row needs a class")
    np.save("k.npy", np.eye(5))
    refused("fit", "k.npy", "-m", "koca", "-k", "precomputed", "--validation", "w.csv", status=2,
            says="precomputed")


# ---------------------------------------------------------------------------- heads and predictions

def species(rows=90, seed=5, name="species.csv"):
    """Rows of three kinds, one of them with a name that CSV must quote."""
    names = ["setosa", 'a, "b"', "virginica"]
    x = cloud(rows, 3, seed) + 2 * (np.arange(rows) % 3)[:, None]
    lines = [",".join([repr(float(v)) for v in row] + ['"%s"' % names[i % 3].replace('"', '""')])
             for i, row in enumerate(x)]
    write(name, "\n".join(["p,q,r,label"] + lines) + "\n")
    return x, [names[i % 3] for i in range(rows)]


def csv_rows(text):
    import csv
    return list(csv.reader(text.splitlines()))


@test
def test_predict_classes():
    x, truth = species()
    for head in ("ls", "centre"):
        fitted = report("fit", "species.csv", "-m", "kpca", "-n", 4, "--head", head, "-o", "m")
        assert fitted["head"] == head and fitted["head_metric"] == "error_rate"
        assert fitted["head_rows"] == 0 and len(fitted["head_errors"]) == 4
        assert fitted["head_names"] == ["setosa", 'a, "b"', "virginica"]
        answer = csv_rows(mercer("predict", "m", "species.csv").out)
        assert answer[0] == ["prediction", "score_setosa", 'score_a, "b"', "score_virginica"]
        scores = np.array([[float(c) for c in row[1:]] for row in answer[1:]])
        wrong = 0
        for row, line, name in zip(answer[1:], scores, truth):
            assert row[0] == fitted["head_names"][line.argmax()]
            wrong += row[0] != name
        assert 0 < wrong < 30
        told = report("predict", "m", "species.csv", "-o", "out.csv")
        assert told["error_rate"] == wrong / 90 == fitted["head_errors"][-1] and told["rows"] == 90
        fewer = report("predict", "m", "species.csv", "-n", 2, "-o", "two.csv")
        assert fewer["error_rate"] == fitted["head_errors"][1]
        mercer("truncate", "m", "-n", 2, "-o", "short", "--quiet")
        for row, other in zip(csv_rows(pathlib.Path("two.csv").read_text()),
                              csv_rows(mercer("predict", "short", "species.csv").out)):
            assert row[0] == other[0]


@test
def test_predict_by_rows_and_machines():
    """Heads that keep training rows or decision functions, through files and in blocks."""
    x, truth = species()
    for head, rows in (("knn:k=5", 90), ("svm:kernel=rbf", None), ("svm:c=3", 0), ("linsvm", 0)):
        fitted = report("fit", "species.csv", "-m", "kpca", "-n", 4, "--head", head, "-o", "m")
        assert fitted["head"].startswith(head)
        assert fitted["head_rows"] == rows or rows is None and 3 < fitted["head_rows"] <= 90
        assert fitted["head_errors"][:3] == [None] * 3
        told = report("predict", "m", "species.csv", "-o", "out.csv")
        assert told["error_rate"] == fitted["head_errors"][3]
        answer = csv_rows(pathlib.Path("out.csv").read_text())
        assert told["error_rate"] == np.mean([r[0] != t for r, t in zip(answer[1:], truth)])
        table("many.csv", np.tile(x, (40, 1)), ["p", "q", "r"])
        many = csv_rows(mercer("predict", "m", "many.csv", "--threads", 1).out)
        assert many[1:] == answer[1:] * 40
        if head.startswith("knn"):
            mercer("fit", "species.csv", "-m", "kpca", "-n", 2, "--head", head, "-o", "two", "--quiet")
            few = [row[0] for row in csv_rows(mercer("predict", "m", "species.csv", "-n", 2).out)]
            assert few == [row[0] for row in csv_rows(mercer("predict", "two", "species.csv").out)]
            mercer("truncate", "m", "-n", 2, "-o", "short", "--quiet")
            assert "knn:k=5, predicts 3 classes" in mercer("info", "short").out
            continue
        refused("predict", "m", "species.csv", "-n", 2, status=2, says=["all 4 features", "-n 2"])
        assert "is left out" in mercer("truncate", "m", "-n", 2, "-o", "short").err
        assert report("info", "short")["head"] is None


@test
def test_predict_nobody():
    """Two neighbours of two classes: with ties=strict an empty cell, which counts as wrong."""
    write("t.csv", "x,label\n0,1\n1,2\n10,2\n11,2\n")
    mercer("fit", "t.csv", "-m", "pca", "-n", 1, "--head", "knn:k=2,ties=strict", "-o", "m", "--quiet")
    out = mercer("predict", "m", "-", stdin=b"x,label\n0.4,1\n10.4,2\n").out
    assert out.splitlines() == ["prediction,score_1,score_2", '"",0.5,0.5', "2,0,1"], out
    write("new.csv", "x,label\n0.4,1\n10.4,2\n")
    assert report("predict", "m", "new.csv", "-o", "out.csv")["error_rate"] == 0.5
    refused("predict", "m", "new.csv", "-o", "out.svm", status=1, says="not a number")
    write("t.csv", "x,label\n0,1\n1,2\n10,2\n11,1\n")
    mercer("evaluate", "t.csv", "-m", "pca", "-n", 1, "--cv", "loo", "--head", "knn:k=2,ties=strict",
           "--save-predictions", "held.csv", "--quiet")
    held = csv_rows(pathlib.Path("held.csv").read_text())
    told = {row[2]: row[0] for row in held[1:]}
    assert told == {"0": "2", "1": "", "2": "", "3": "2"}, held


@test
def test_losses_of_two_classes():
    x = cloud(80, 3)
    noisy = x[:, 0] + 0.8 * np.random.default_rng(5).normal(size=80)
    table("two.csv", x, "abc", label=["no" if v < 0 else "yes" for v in noisy])
    for method, head in (("blf", "ls"), ("blf:loss=lad", "lad"), ("blf:loss=exp", "exp"),
                         ("blf:loss=log", "log"), ("kboost", "ls")):
        told = report("fit", "two.csv", "-m", method, "-k", "linear", "-n", 2, "-o", "m")
        assert told["head"] == head and told["head_errors"][-1] < 0.35 and not told["notices"]
        mercer("truncate", "m", "-n", 1, "-o", "short", "--quiet")
        answer = csv_rows(mercer("predict", "m", "two.csv", "-n", 1).out)
        other = csv_rows(mercer("predict", "short", "two.csv").out)
        assert np.allclose([[float(c) for c in row[1:]] for row in answer[1:]],
                           [[float(c) for c in row[1:]] for row in other[1:]], rtol=1e-9)
    table("apart.csv", x, "abc", label=["no" if v < 0 else "yes" for v in x[:, 0]])
    told = report("fit", "apart.csv", "-m", "blf:loss=log", "-k", "rbf:sigma=1", "-n", 9)
    assert told["components"] < 9 and "separate the classes" in told["notices"][0]
    table("few.csv", x, "abc", label=["yes" if i % 20 == 0 else "no" for i in range(80)])
    told = report("fit", "few.csv", "-m", "blf:loss=lad", "-k", "linear", "-n", 3)
    assert told["components"] == 3 and "the median alone" in told["notices"][0]
    told = report("fit", "two.csv", "-m", "kboost:rounds=5", "-k", "linear", "-n", 2)
    assert told["components"] == 5 and "2 of the 5 rounds" in told["notices"][0]
    species()
    refused("fit", "species.csv", "-m", "blf:loss=exp", status=1, says=("loss exp", "3 classes"))
    refused("fit", "species.csv", "-m", "kboost", status=1, says=("boosting", "3 classes"))
    refused("fit", "species.csv", "-m", "blf", "--head", "log", status=1, says=("loss log", "3 classes"))


@test
def test_predict_without_labels_and_in_blocks():
    x, _ = species()
    mercer("fit", "species.csv", "-m", "akfa", "-n", 3, "--head", "ls", "-o", "m", "--quiet")
    table("plain.csv", x, ["p", "q", "r"])
    whole = mercer("predict", "m", "plain.csv").out
    assert whole == mercer("predict", "m", "species.csv").out
    assert report("predict", "m", "plain.csv", "-o", "out.csv")["error_rate"] is None
    table("many.csv", np.tile(x, (40, 1)), ["p", "q", "r"])  # more rows than the first block has
    lines = mercer("predict", "m", "many.csv").out.splitlines()
    assert lines[1:] == whole.splitlines()[1:] * 40
    assert mercer("predict", "m", "-", stdin=pathlib.Path("plain.csv").read_bytes()).out == whole


@test
def test_predict_values():
    x = cloud(80, 3)
    y = np.column_stack([100 + x[:, 0] ** 2, x[:, 1] - x[:, 2]])
    table("t.csv", np.hstack([x, y]), ["a", "b", "c", "first", "second"])
    fitted = report("fit", "t.csv", "-m", "kpca", "-n", 6, "--head", "ls", "--target",
                    "first,second", "--scale-target", "standard", "-o", "m")
    assert fitted["head_metric"] == "rmse" and fitted["scale_target"] == "standard"
    assert fitted["head_errors"] == sorted(fitted["head_errors"], reverse=True)
    names, got = numbers(mercer("predict", "m", "t.csv").out)
    assert names == ["prediction_first", "prediction_second"]
    told = report("predict", "m", "t.csv", "--target", "first,second", "-o", "out.npy")
    assert abs(told["rmse"] - np.sqrt(np.mean((got - y) ** 2))) < 1e-12
    assert abs(told["rmse"] - fitted["head_errors"][-1]) < 1e-12
    assert np.array_equal(np.load("out.npy"), got)
    mercer("fit", "t.csv", "-m", "pca", "-n", 3, "--head", "ls", "--target", "second", "-o", "one",
           "--quiet")
    names, got = numbers(mercer("predict", "one", "t.csv").out)
    assert names == ["prediction"]
    done = mercer("predict", "one", "t.csv", "--target", "second", "-o", "out.csv")
    assert "out.csv: 80 rows x 1 predictions" in done.out and "; RMSE " in done.out


@test
def test_head_in_the_summaries():
    species()
    out = mercer("fit", "species.csv", "-m", "kpca", "--head", "centre", "-o", "m").out
    assert re.search(r"head +centre, predicts 3 classes; error rate [0-9.]+ %", out), out
    assert "does not use them" not in " ".join(out.split()) and "mercer predict m species.csv" in out
    assert re.search(r"head +centre, predicts 3 classes", mercer("info", "m").out)
    assert report("info", "m")["head_names"][1] == 'a, "b"'
    plain = " ".join(mercer("fit", "species.csv", "-m", "kpca").out.split())
    assert "does not use them" in plain
    assert report("fit", "species.csv", "-m", "kpca")["head"] is None


@test
def test_head_refusals():
    x, _ = species()
    table("plain.csv", x, ["p", "q", "r"])
    mercer("fit", "plain.csv", "-m", "kpca", "-o", "plain.model", "--quiet")
    mercer("fit", "species.csv", "-m", "kpca", "-n", 3, "--head", "ls", "-o", "m", "--quiet")
    refused("fit", "plain.csv", "-m", "kpca", "--head", "ls", status=1,
            says=["plain.csv", "--label", "--target"])
    refused("fit", "species.csv", "-m", "kpca", "--head", "centr", status=2, says="'centre'")
    refused("fit", "species.csv", "-m", "kpca", "--head", "ls:k=3", status=2, says=["ls", "k"])
    refused("fit", "species.csv", "-m", "kpca", "--head", "knn:k=0", status=2, says=["knn", "k=0"])
    refused("fit", "species.csv", "-m", "kpca", "--head", "svm:type=svr", status=2, says="classes")
    refused("fit", "plain.csv", "-m", "kpca", "--head", "linsvm", "--target", "r", status=1,
            says=["linsvm", "classes"])
    refused("fit", "plain.csv", "-m", "kpca", "--head", "centre", "--target", "r", status=1,
            says=["centre", "classes"])
    refused("fit", "plain.csv", "-m", "kpca", "--scale-target", "norm", status=2,
            says=["scale_target", "kpca"])
    refused("predict", "plain.model", "plain.csv", status=1, says=["plain.model", "--head"])
    refused("predict", "m", "plain.csv", "-n", 4, status=2, says=["4", "3"])
    refused("predict", "m", "plain.csv", "-o", "out.npy", status=2, says="prediction")
    refused("predict", "m", "plain.csv", "-o", "out.svm", status=1, says="not a number")
    write("one.csv", "x,label\n1,a\n2,a\n3,a\n")
    refused("fit", "one.csv", "-m", "kpca", "--head", "ls", status=1, says=["one.csv", "'a'"])
    write("nan.csv", "x,target\n1,2\n2,nan\n3,1\n")
    refused("fit", "nan.csv", "-m", "kpca", "--head", "ls", status=1, says=["nan.csv:3", "target"])
    assert files() == ["m", "nan.csv", "one.csv", "plain.csv", "plain.model", "species.csv"]


@test
def test_head_of_a_constant_target():
    write("t.csv", "x,target\n" + "".join(f"{i * i},7\n" for i in range(9)))
    mercer("fit", "t.csv", "-m", "kpca", "-n", 2, "--head", "ls", "-o", "m", "--quiet")
    _, got = numbers(mercer("predict", "m", "t.csv").out)
    assert np.abs(got - 7).max() < 1e-12


# ------------------------------------------------------------------------ the rest of the commands

@test
def test_inverse_of_a_linear_model_is_exact():
    x = cloud(30, 3)
    table("x.csv", x, "abc")
    mercer("fit", "x.csv", "-m", "pca", "-n", 3, "-o", "x.model", "--quiet")
    mercer("transform", "x.model", "x.csv", "--errors", "-o", "f.csv", "--quiet")
    names, back = numbers(mercer("inverse", "x.model", "f.csv").out)
    assert names == ["a", "b", "c"] and np.allclose(back, x, atol=1e-9)


@test
def test_inverse_takes_noise_off():
    ring_model(rows=400)
    features = mercer("transform", "ring.model", "ring.csv").out
    _, x = numbers(pathlib.Path("ring.csv").read_text())
    names, back = numbers(mercer("inverse", "ring.model", "-", "--errors",
                                 stdin=features.encode()).out)
    assert names[-1] == "error" and np.isfinite(back).all() and (back[:, -1] >= 0).all()
    off = [np.sqrt(np.mean((np.hypot(*z[:, :2].T) - 8) ** 2)) for z in (x, back)]
    assert off[1] < 0.7 * off[0], off


@test
def test_inverse_of_sparse_points():
    # All components of a model of sparse points lead back to its rows, in every form of output.
    x = cloud(30, 5)
    x[np.random.default_rng(2).random(x.shape) < 0.6] = 0
    write("x.svm", "".join("0 " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist()) if v) +
                           "\n" for row in x))
    for kernel, count in (("rbf:sigma=2", 30), ("poly:degree=2,gamma=1", 20)):
        mercer("fit", "x.svm", "-m", "kpca", "-k", kernel, "-n", count, "-o", "x.model", "--quiet")
        mercer("transform", "x.model", "x.svm", "-o", "f.csv", "--quiet")
        names, back = numbers(mercer("inverse", "x.model", "f.csv").out)
        assert names == [f"x{j}" for j in range(1, 6)]
        assert np.allclose(back, x, atol=1e-6), (kernel, np.abs(back - x).max())
        mercer("inverse", "x.model", "f.csv", "-o", "b.npy", "--quiet")
        assert np.array_equal(np.load("b.npy"), back)
        mercer("inverse", "x.model", "f.csv", "-o", "b.svm", "--quiet")
        for line, row in zip(pathlib.Path("b.svm").read_text().splitlines(), back):
            pairs = [p.split(":") for p in line.split()[1:]]
            assert [(int(j), float(v)) for j, v in pairs] == [(j + 1, v) for j, v in enumerate(row) if v]


@test
def test_inverse_matches_feature_names():
    ring_model()
    header, f = numbers(mercer("transform", "ring.model", "ring.csv").out)
    straight = mercer("inverse", "ring.model", "-",
                      stdin=mercer("transform", "ring.model", "ring.csv").stdout).out
    table("mixed.csv", np.hstack([f[:, ::-1], f[:, :1]]), header[::-1] + ["error"])
    assert mercer("inverse", "ring.model", "mixed.csv").out == straight
    table("bare.csv", f)
    assert mercer("inverse", "ring.model", "bare.csv").out == straight
    table("few.csv", f[:, :3], header[:3])
    refused("inverse", "ring.model", "few.csv", status=1, says=["few.csv", "f4"])
    table("other.csv", f[:, :3])
    refused("inverse", "ring.model", "other.csv", status=1, says=["other.csv", "3", "5"])


@test
def test_inverse_refused_where_there_is_none():
    table("x.csv", cloud(), "abcd")
    mercer("fit", "x.csv", "-m", "kpca", "-k", "cosine", "-n", 2, "-o", "x.model", "--quiet")
    mercer("transform", "x.model", "x.csv", "-o", "f.csv", "--quiet")
    refused("inverse", "x.model", "f.csv", status=1, says="cosine")


@test
def test_info():
    table("x.csv", cloud(), "abcd")
    words = ["fit", "x.csv", "-m", "kpca", "-k", "rbf:sigma=2", "-n", 3, "--seed", 4, "-o", "x.model"]
    fitted = report(*words)
    result = report("info", "x.model")
    for key in ["method", "kernel", "rows", "columns", "components", "spectrum", "share",
                "reconstruction_error", "expansion_points", "selected"]:
        assert result[key] == fitted[key], key
    assert result["column_names"] == list("abcd") and result["seed"] == 4
    assert result["command"].startswith("mercer fit x.csv -m kpca")
    text = mercer("info", "x.model").out
    for word in ["kpca", "rbf:sigma=2", "a, b, c, d", "mercer fit x.csv", "f3"]:
        assert word in text, word


@test
def test_truncate_keeps_the_first_features():
    ring_model()
    whole = pathlib.Path("ring.model").read_bytes()
    features = numbers(mercer("transform", "ring.model", "ring.csv").out)[1]
    before = report("info", "ring.model")
    done = report("truncate", "ring.model", "-n", 3, "-o", "small.model")
    assert (done["components"], done["components_before"]) == (3, 5), done
    assert pathlib.Path("ring.model").read_bytes() == whole
    names, first = numbers(mercer("transform", "small.model", "ring.csv").out)
    assert names == ["f1", "f2", "f3"] and np.allclose(first, features[:, :3], rtol=0, atol=1e-12)
    after = report("info", "small.model")
    assert after["spectrum"] == before["spectrum"][:3]
    lost = sum(before["spectrum"][3:]) / before["rows"]
    assert abs(after["reconstruction_error"] - before["reconstruction_error"] - lost) < 1e-14
    errors = numbers(mercer("transform", "small.model", "ring.csv", "--errors").out)[1][:, -1]
    assert abs(errors.mean() - after["reconstruction_error"]) < 1e-12
    mercer("inverse", "small.model", "-", stdin=mercer("transform", "small.model", "ring.csv").stdout)


@test
def test_first_features_of_methods_that_are_not_nested():
    """Truncate and predict -n say so when a fit with fewer components has other features."""
    species(60)
    cases = {"greedy": False, "greedy:points=12": True, "kha": False, "kpca": True,
             "ikpca": False, "ikpca:rank=9": True, "rkpca:captured=0.9": True, "koca": False}
    for method, nested in cases.items():
        mercer("fit", "species.csv", "-m", method, "-n", 4, "--head", "ls", "-o", "m", "--quiet")
        notes = mercer("truncate", "m", "-n", 2, "-o", "short").err
        assert ("not those of a fit with 2" in notes) == (not nested), (method, notes)
        notes = mercer("predict", "m", "species.csv", "-n", 2, "-o", "p.csv").err
        assert notes.count("not those of a fit with 2") == (not nested), (method, notes)
        for quiet in (mercer("truncate", "m", "-n", 4, "-o", "short").err,
                      mercer("predict", "m", "species.csv", "-o", "p.csv").err,
                      mercer("predict", "m", "species.csv", "-n", 4, "-o", "p.csv").err):
            assert "not those of a fit" not in quiet, (method, quiet)


@test
def test_truncate_replaces_the_model():
    ring_model()
    os.chmod("ring.model", 0o640)
    done = mercer("truncate", "ring.model", "-n", 2)
    assert "ring.model: 2 of 5 components kept" in done.out, done.out
    assert report("info", "ring.model")["components"] == 2
    assert stat.S_IMODE(os.stat("ring.model").st_mode) == 0o640
    assert files() == ["ring.csv", "ring.model"]
    piped = mercer("truncate", "ring.model", "-n", 1, "-o", "-", "--quiet").stdout
    assert mercer("truncate", "-", "-n", 1, "-o", "one.model", stdin=piped, status=0)
    assert pathlib.Path("one.model").read_bytes() == piped


@test
def test_truncate_refusals():
    ring_model()
    before = pathlib.Path("ring.model").read_bytes()
    refused("truncate", "ring.model", status=2, says="add -n")
    refused("truncate", "ring.model", "-n", 6, status=2, says=("6 components", "1 to 5"))
    for wrong in ("0", "-1", "2.5", "many"):
        refused("truncate", "ring.model", "-n", wrong, status=2, says=wrong)
    refused("truncate", "ring.csv", "-n", 1, status=1, says="ring.csv")
    refused("truncate", "-", "-n", 1, status=2, says="-o FILE", stdin=before)
    refused("truncate", "ring.model", "-n", 1, "-o", "absent/x", status=1, says="absent")
    assert pathlib.Path("ring.model").read_bytes() == before


def stream_model(rows=500, words=()):
    """x.csv, of which the first rows are head.csv and the others tail.csv, and head.model."""
    ring(rows=rows, name="x.csv")
    lines = pathlib.Path("x.csv").read_text().splitlines(keepends=True)
    write("head.csv", "".join(lines[:1 + 260]))
    write("tail.csv", lines[0] + "".join(lines[1 + 260:]))
    mercer("fit", "head.csv", "-m", STREAM, "-k", "rbf:sigma=4", *words, "-o", "head.model", "--quiet")


STREAM = "ikpca:components=4,first=20,block=30,library=30"


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


LOCK = ".head.model.mercer-lock"


def wait_for(run, happens):
    """Wait until something has happened that a running command is to do, and a little longer."""
    end = time.monotonic() + LIMIT
    while not happens():
        assert run.poll() is None and time.monotonic() < end
        time.sleep(0.01)
    time.sleep(0.1)


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


@test
def test_memory_that_runs_out_anywhere():
    """One line and status 1 at whichever allocation it happens, or the whole result; nothing is left behind."""
    module = os.path.join(os.path.dirname(MERCER), "tests", "cli", "failing_malloc.so")
    surroundings = {"LD_PRELOAD": module, "MERCER_FAIL_ALLOCATION": "0"}
    probe = subprocess.run([MERCER, "--version"], env=dict(os.environ, **surroundings), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    if not os.path.exists(module) or probe.returncode or probe.stderr:
        raise Skip("no allocator of our own in this build")
    stream_model(rows=300)
    write("words.csv", "a,a long name of a column,b,kind\n" + "".join(f"{i},{i * i % 7},w{i % 3},k{i % 2}\n" for i in range(20)))
    fit = ("fit", "words.csv", "-m", "kpca", "-n", 2, "-k", "rbf:sigma=3", "--encode", "onehot", "--label", "kind",
           "--head", "knn:k=1", "--quiet", "--threads", 1)
    mercer(*fit, "-o", "words.model")
    for words in ((*fit, "-o", "-"), ("info", "words.model", "--json"), ("transform", "words.model", "words.csv", "--threads", 1),
                  ("update", "head.model", "tail.csv", "-o", "-", "--quiet", "--threads", 1)):
        expected = mercer(*words).stdout
        k = failed = whole = 0
        while whole < 20:  # as many more allocations as that fail without a loss are not made
            k += 1 if k < 80 else 5
            done = mercer(*words, status=(0, 1), env=dict(surroundings, MERCER_FAIL_ALLOCATION=str(k)))
            if done.returncode == 0:
                assert done.stdout == expected, f"{words}: allocation {k}: another result"
                whole += 1
            else:
                assert re.fullmatch(r"\s*(mercer|libgomp): [^\n]*[Oo]ut of memory[^\n]*\n", done.err), (words, k, done.err)
                failed, whole = failed + 1, 0
        assert failed > 50, (words, failed)
    assert sorted(os.listdir()) == ["head.csv", "head.model", "tail.csv", "words.csv", "words.model", "x.csv"], os.listdir()


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
    data.write_bytes(head.encode() + rows.encode() + b"1,2,w" + raw + b",k" + raw + b"\n")

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
def test_fit_of_a_stream_reads_by_blocks():
    """The same model from a pipe and a file; memory does not grow with the table."""
    ring(rows=3000, name="x.csv")
    words = ["-m", STREAM, "-k", "rbf:sigma=4", "-o"]
    done = report("fit", "x.csv", *words, "a.model")
    assert done["store"] == "stream" and done["rows"] == 3000 and done["solver"] == "incremental"
    text = pathlib.Path("x.csv").read_bytes()
    mercer("fit", "-", *words, "b.model", "--quiet", stdin=text)
    rows = mercer("transform", "a.model", "x.csv").out
    assert mercer("transform", "b.model", "x.csv").out == rows
    # Heads see all rows; the features are the same.
    labels = ["u" if i % 2 else "v" for i in range(3000)]
    table("l.csv", numbers(text.decode())[1], names=["x", "y"], label=labels)
    mercer("fit", "l.csv", *words, "c.model", "--head", "centre", "--quiet")
    assert mercer("transform", "c.model", "x.csv").out == rows
    assert "labels" in mercer("fit", "l.csv", "-m", STREAM).out
    done = mercer("update", "c.model", "x.csv")
    assert "head" in done.err and report("info", "c.model")["head"] is None
    # Preparation is learnt from the first rows, and goes on.
    lines = text.decode().splitlines()
    lines[2000] = "NA," + lines[2000].split(",")[1]
    write("holes.csv", "\n".join(lines) + "\n")
    mercer("fit", "holes.csv", *words, "d.model", "--missing", "mean", "--quiet")
    mercer("update", "d.model", "holes.csv", "--quiet")
    assert report("info", "d.model")["rows"] == 6000


@test
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
    assert "had not come to its end" in report("update", "head.model", "few.csv", "-o", "o.model")["notices"][0]
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


@test
def test_scale_kinds():
    x = cloud(20, 3) * 3 + 2
    table("x.csv", x, "abc", label=["u", "v"] * 10)
    def scaled(*words):
        lines = mercer("scale", "x.csv", *words).out.splitlines()
        assert lines[0] == "label,a,b,c" and lines[1].startswith("u,")
        return np.array([[float(c) for c in line.split(",")[1:]] for line in lines[1:]])
    standard = scaled()
    assert np.allclose(standard, (x - x.mean(0)) / x.std(0)) and np.array_equal(
        standard, scaled("--scale", "standard"))
    assert np.allclose(scaled("--scale", "minmax"), (x - x.min(0)) / (x.max(0) - x.min(0)))
    assert np.allclose((scaled("--scale", "norm") ** 2).sum(0), 1)
    assert np.allclose((scaled("--scale", "unit") ** 2).sum(1), 1)
    assert np.allclose(scaled("--scale", "rowstandard").mean(1), 0)
    assert np.array_equal(scaled("--scale", "none"), x)
    table("bare.csv", x)
    mercer("scale", "bare.csv", "-o", "bare.npy", "--quiet")
    assert np.allclose(np.load("bare.npy"), standard)


@test
def test_generate_sets():
    text = mercer("generate", "--help").out
    for name in ["circle", "swiss-cross", "swiss-roll", "parabola", "sparse-linear"]:
        assert re.search(rf"^  {name}  ", text, re.M), name
        assert mercer("generate", name, "--rows", 10).out.count("\n") == 11
    _, x = numbers(mercer("generate", "circle", "--rows", 1e4).out)
    radius = np.hypot(*x.T)
    assert len(x) == 10000 and abs(np.sqrt((radius ** 2).mean()) - 8) < 0.3
    _, x = numbers(mercer("generate", "circle", "--rows", 100, "--noise", 0).out)
    assert np.allclose(np.hypot(*x.T), 8)
    refused("generate", "circle", "--rows", 0, status=2, says="--rows")
    refused("generate", "circle", "--noise", -1, status=2, says="--noise")


@test
def test_generate_labels():
    lines = mercer("generate", "sparse-linear", "--rows", 30).out.splitlines()
    head = lines[0].split(",")
    assert head[0] in ("label", "target") and len(head) == 1001
    assert len(lines[1].split(",")) == 1001


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


@test
def test_lists():
    for what, some in [("methods", "kpca"), ("kernels", "rbf"), ("heads", "knn")]:
        entries = json.loads(mercer(what, "--json").out)[what]
        text = mercer(what).out
        assert some in [entry["name"] for entry in entries]
        for entry in entries:
            assert entry["summary"] in re.sub(r"\s+", " ", text), entry["summary"]
            one = mercer(what, entry["name"]).out
            assert all(parameter["key"] in one for parameter in entry["parameters"])
            assert json.loads(mercer(what, entry["name"], "--json").out) == entry
    assert "median" in mercer("kernels", "rbf").out


@test
def test_demo():
    for columns in ["40", "80", "200"]:
        text = mercer("demo", "--rows", 300, env={"COLUMNS": columns}).out
        assert "\033" not in text and re.search("[\u2801-\u28ff]", text)
        if columns != "40":
            wide = [line for line in text.splitlines() if columns_of(line) > int(columns)]
            assert not wide, wide[0]
        drawn = [line for line in text.splitlines() if "│" in line]
        assert len({columns_of(line) for line in drawn}) == 1, "ragged drawing"
        assert max(map(columns_of, drawn)) <= int(columns)
    for word in ["75 GB", "lowrank", "100,000", "never formed", "mercer fit ring.csv", "f10"]:
        assert word in text, word


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


@test
def test_colours_on_a_terminal_only():
    assert "\033[0;36m" in on_terminal("demo", "--rows", 200, "--quiet")
    assert "\033[0;36m" not in on_terminal("demo", "--rows", 200, "--quiet", env={"NO_COLOR": "1"})


@test
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


@test
def test_comma_locale_changes_nothing():
    ring(50)
    plain = mercer("scale", "ring.csv").out
    assert mercer("scale", "ring.csv", env={"LC_ALL": "de_DE.UTF-8"}).out == plain


@test
def test_odd_file_names():
    name = "a b'\n\u00e9.csv"
    ring(30, name=name)
    text = mercer("fit", name, "-m", "kpca", "-n", 2, "-o", "m x.model").out
    assert "'m x.model'" in text
    assert report("fit", name, "-m", "kpca", "-n", 2)["data"] == name
    refused("fit", "no\nsuch.csv", "-m", "kpca", status=1)
    latin = b"caf\xe9.csv"
    os.rename(name.encode(), latin)
    done = subprocess.run([MERCER, "fit", latin, "-m", "kpca", "-n", "2", "--json", "-o", "y.model"],
                          stdout=subprocess.PIPE, timeout=LIMIT)
    assert done.returncode == 0 and json.loads(done.stdout)["components"] == 2
    report("info", "y.model")


# ---------------------------------------------------------------------------- input preparation

def put_images(folder, images):
    """Images as binary PGM, 1.pgm, 2.pgm, ..."""
    os.makedirs(folder)
    for i, image in enumerate(images):
        height, width = image.shape
        data = b"P5 %d %d 255\n" % (width, height) + image.astype("u1").tobytes()
        pathlib.Path(folder, f"{i + 1}.pgm").write_bytes(data)
    return folder


def random_images(count, height, width, seed=1):
    return np.random.default_rng(seed).integers(0, 256, size=(count, height, width))


@test
def test_image_features_are_kept_in_the_model():
    images = random_images(12, 6, 5)
    put_images("small", images)
    put_images("large", images.repeat(2, axis=1).repeat(3, axis=2))
    np.save("stack.npy", images)
    text = mercer("fit", "small", "-m", "kpca", "-n", 3, "--image-features", "haar", "-o",
                  "haar.model").out
    assert re.search(r"images +5x6 pixels, grey; haar", text), text
    about = report("info", "haar.model")
    assert about["image_features"] == "haar" and about["image_size"] == [5, 6, 1], about
    assert re.search(r"images +5x6 pixels, grey; haar", mercer("info", "haar.model").out)
    _, wanted = numbers(mercer("transform", "haar.model", "small").out)
    for same in ("large", "stack.npy"):
        _, got = numbers(mercer("transform", "haar.model", same).out)
        assert np.allclose(got, wanted, atol=1e-12), same
    # By hand: the first kind has cells of 1 x 1 first, right minus left.
    _, pixels = numbers("h\n" + mercer("scale", "small", "--scale", "none").out)
    _, haar = numbers("h\n" + mercer("scale", "small", "--scale", "none", "--image-features",
                                     "haar").out)
    assert np.array_equal(haar[:, :4], pixels[:, 1:5] - pixels[:, :4])
    mercer("fit", "small", "-m", "kpca", "-n", 3, "-o", "pixels.model", "--quiet")
    assert report("info", "pixels.model")["image_features"] == "pixels"
    _, wanted = numbers(mercer("transform", "pixels.model", "small").out)
    assert np.allclose(numbers(mercer("transform", "pixels.model", "large").out)[1], wanted)
    refused("transform", "haar.model", "large", "--resize", "2x2", status=2,
            says=["large", "2x2", "5x6"])
    np.save("other.npy", random_images(3, 5, 6))
    refused("transform", "haar.model", "other.npy", status=1, says=["6x5", "5x6"])
    refused("fit", "other.npy", "-m", "kpca", "--image-features", "hair", status=2,
            says=["pixels, haar"])
    table("t.csv", cloud())
    refused("fit", "t.csv", "-m", "kpca", "--image-features", "haar", status=2,
            says=["t.csv", "no images"])
    np.save("big.npy", random_images(2, 40, 40).astype("u1"))
    refused("fit", "big.npy", "-m", "kpca", "--image-features", "haar", "--memory", "4M", status=1,
            says=["big.npy", "MB", "--memory"])


def png(pixels, depth):
    """A PNG file of an array height x width x channels (1 grey, 2 with alpha, 3 colour, 4 alpha)."""
    height, width, channels = pixels.shape
    lines = pixels.astype(">u2" if depth == 16 else "u1").reshape(height, -1)
    raw = b"".join(b"\0" + line.tobytes() for line in lines)

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    head = struct.pack(">IIBBBBB", width, height, depth, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 9)) + \
        chunk(b"IEND", b"")


@test
def test_16_bit_images_are_rounded():
    # Each value of 16 bits once; the nearest of 0 .. 255, as PGM has it.
    values = np.random.default_rng(2).permutation(65536).reshape(256, 256)
    wanted = (255 * values.ravel() + 32767) // 65535
    for channels in (1, 2, 3, 4):
        pixels = np.stack([values, values[::-1], values[:, ::-1], values.T][:channels], axis=2)
        if channels in (2, 4):
            pixels[:, :, -1] = 65535 - pixels[:, :, -1] // 2  # transparency
        colours = pixels[:, :, :1 if channels < 3 else 3]
        shutil.rmtree("one", ignore_errors=True)
        os.mkdir("one")
        pathlib.Path("one/a.png").write_bytes(png(pixels, 16))
        kind = b"P5" if channels < 3 else b"P6"
        pathlib.Path("one/b.p%sm" % ("g" if channels < 3 else "p")).write_bytes(
            kind + b" 256 256 65535\n" + colours.astype(">u2").tobytes())
        mercer("scale", "one", "--scale", "none", "-o", "one.npy", "--quiet")
        got = np.load("one.npy")
        assert np.array_equal(got[0], got[1]), f"{channels} channels: PNG and PNM differ"
        assert np.array_equal(got[0].reshape(65536, -1)[:, 0], wanted), f"{channels} channels"
    pathlib.Path("one/a.png").write_bytes(png(values[:, :, None] // 257, 8))
    os.remove("one/b.ppm")
    mercer("scale", "one", "--scale", "none", "-o", "one.npy", "--quiet")
    assert np.array_equal(np.load("one.npy")[0], values.ravel() // 257), "8 bits stay"


@test
def test_images_are_regular_files():
    images = random_images(3, 4, 4)
    put_images("flat", images)
    whole = mercer("scale", "flat", "--scale", "none").out
    os.mkfifo("flat/4.png")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("flat/5.png")
    os.symlink("nowhere.pgm", "flat/6.pgm")
    os.symlink("7.pgm", "flat/7.pgm")
    os.symlink("/dev/zero", "flat/8.pgm")
    os.symlink(".", "flat/loop")
    done = mercer("scale", "flat", "--scale", "none")
    assert done.out == whole
    assert "5 entries that are no regular files" in done.err, done.err
    # A link to a regular file is that file.
    os.symlink("1.pgm", "flat/9.pgm")
    assert mercer("scale", "flat", "--scale", "none").out == whole + whole.splitlines()[0] + "\n"
    # In sub-folders, too, and a folder that has nothing else is refused.
    os.makedirs("sub/a")
    os.mkfifo("sub/a/1.pgm")
    refused("scale", "sub", status=1, says=["sub", "without images"])
    os.symlink("..", "sub/b")
    refused("scale", "sub", status=1, says=["sub", "without images"])
    for name in ("x.h5", "x.mat"):
        os.mkfifo(name)
        refused("scale", name, says=[name, "plain file"])


def read_pgm(path):
    head, data = re.fullmatch(rb"(P5\n\d+ \d+\n255\n)(.*)", pathlib.Path(path).read_bytes(),
                              re.S).groups()
    width, height = map(int, head.split()[1:3])
    return np.frombuffer(data, "u1").reshape(height, width)


@test
def test_preimages_as_images():
    images = random_images(9, 4, 5)
    put_images("in", images)
    mercer("fit", "in", "-m", "pca", "-n", 8, "-o", "p.model", "--quiet")
    assert "-o images/" in mercer("fit", "in", "-m", "pca", "-n", 8, "-o", "p.model").out
    mercer("transform", "p.model", "in", "-o", "f.csv", "--quiet")
    done = mercer("inverse", "p.model", "f.csv", "-o", "out/")
    assert re.match(r"out/: 9 images of 5x4 pixels in", done.out), done.out
    assert sorted(os.listdir("out")) == [f"row{i:05d}.pgm" for i in range(1, 10)]
    for i in range(9):  # eight components give back all of nine images
        assert np.array_equal(read_pgm(f"out/row{i + 1:05d}.pgm"), images[i])
    mercer("inverse", "p.model", "f.csv", "-o", "out", "--output-format", "png", "--quiet")
    assert len(os.listdir("out")) == 18
    _, back = numbers("h\n" + mercer("scale", "out", "--scale", "none", "--format", "images").out)
    assert np.array_equal(back[0], back[1]) and np.array_equal(back[::2], images.reshape(9, 20))
    lines = pathlib.Path("f.csv").read_text().splitlines()
    write("one.csv", "\n".join(lines[:2]) + "\n")
    for name in ("one.pgm", "ONE.PNG"):
        assert "1 image of 5x4" in mercer("inverse", "p.model", "one.csv", "-o", name).out
    assert np.array_equal(read_pgm("one.pgm"), images[0])
    write("far.csv", "f1\n" + "1e9\n")
    mercer("fit", "in", "-m", "pca", "-n", 1, "-o", "1.model", "--quiet")
    done = mercer("inverse", "1.model", "far.csv", "-o", "far.pgm")
    assert re.search(r"note: 20 values lay outside 0 to 255 and were clipped", done.err), done.err
    refused("inverse", "p.model", "f.csv", "-o", "all.pgm", status=1, says=["f.csv", "images/"])
    # From a pipe rows come one by one: the first is not written before it is the only one.
    refused("inverse", "p.model", "-", "-o", "all.pgm", status=1, says=["one image", "images/"],
            stdin=("\n".join(lines) + "\n").encode())
    assert not os.path.exists("all.pgm")
    with running("inverse", "p.model", "-", "-o", "all.pgm") as process:
        for piece in ("\n".join(lines[:2]) + "\n", lines[2] + "\n"):
            process.stdin.write(piece.encode())
            process.stdin.flush()
            time.sleep(0.1)
        process.stdin.close()
        assert process.wait(LIMIT) == 1 and not os.path.exists("all.pgm")
    # What is left of a shorter model is still a model of images.
    mercer("truncate", "p.model", "-n", 3, "-o", "3.model", "--quiet")
    assert report("info", "3.model")["image_size"] == [5, 4, 1]
    write("three.csv", "\n".join(",".join(line.split(",")[:3]) for line in lines) + "\n")
    assert "9 images" in mercer("inverse", "3.model", "three.csv", "-o", "short/").out
    refused("inverse", "p.model", "one.csv", "-o", "x.ppm", status=2, says=[".pgm"])
    refused("inverse", "p.model", "f.csv", "-o", "none/out/", status=1, says=["none"])
    refused("inverse", "p.model", "f.csv", "-o", "out/", "--errors", status=2, says=["--errors"])
    refused("inverse", "p.model", "f.csv", "-o", "out/", "--output-format", "csv", status=2,
            says=["out/", "csv"])
    refused("inverse", "p.model", "f.csv", "--output-format", "png", status=2, says=["-o"])
    mercer("fit", "in", "-m", "pca", "-n", 2, "--image-features", "haar", "-o", "h.model", "--quiet")
    ring_model()
    for model, word in (("h.model", "features of images"), ("ring.model", "columns")):
        refused("inverse", model, "f.csv", "-o", "no/", status=1, says=[model, word])
    assert not {"all.pgm", "x.ppm", "no", "none"} & set(files())


@test
def test_missing_values():
    write("h.csv", "a,b,c,label\n1,2,3,x\n4,,9,y\nNA,6,1,x\n2,4,5,y\n3,0,7,x\n")
    refused("fit", "h.csv", "-m", "kpca", status=1, says=["h.csv:3: column 'b'", "--missing"])
    done = mercer("fit", "h.csv", "-m", "pca", "-n", 2, "--missing", "mean", "-o", "m.model")
    assert re.search(r"missing values +mean of the column", done.out), done.out
    assert "2 missing values are replaced" in done.out, done.out
    assert report("info", "m.model")["missing"] == "mean"
    # The training means, also where training had no hole.
    write("new.csv", "c,b,a\n,?,\n5,3,2.5\n")
    done = mercer("transform", "m.model", "new.csv")
    _, f = numbers(done.out)
    assert np.allclose(f[0], f[1], atol=1e-12) and "3 missing values are replaced" in done.err
    result = report("fit", "h.csv", "-m", "pca", "-n", 2, "--missing", "drop", "-o", "d.model")
    assert result["rows"] == 3 and result["missing"] == "drop", result
    assert ["h.csv: 2 of 5 rows have missing values and are left out"] == result["notices"]
    refused("transform", "d.model", "h.csv", status=1, says=["h.csv:3: column 'b'", "left out"])
    write("full.csv", "a,b,c\n1,2,3\n2,4,5\n3,0,7\n")
    mercer("fit", "full.csv", "-m", "pca", "-n", 2, "-o", "f.model", "--quiet")
    _, one = numbers(mercer("transform", "f.model", "full.csv").out)
    _, two = numbers(mercer("transform", "d.model", "full.csv").out)
    assert np.array_equal(one, two)
    refused("transform", "f.model", "h.csv", status=1, says=["h.csv:3", "without missing values"])
    out = mercer("scale", "h.csv", "--scale", "none", "--missing", "mean").out
    assert out.splitlines()[2] == "y,4,3,9", out
    refused("fit", "h.csv", "-m", "kpca", "--missing", "zero", status=2, says="error, mean, drop")


@test
def test_sparse_rows_are_not_prepared():
    write("s.svm", "1 1:2 3:1\n0 2:1\n1 1:1 2:4 3:3\n")
    write("s.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 2\n2 2 5\n3 1 1\n")
    for name in ("s.svm", "s.mtx"):
        for option in (("--missing", "mean"), ("--missing", "drop"), ("--encode", "onehot")):
            refused("fit", name, "-m", "kpca", *option, status=2, says=[name, "sparse", option[0]])
        refused("fit", name, "-m", "kpca", "--image-features", "haar", status=2, says="no images")
        for option in (("--missing", "error"), ("--encode", "none")):
            mercer("fit", name, "-m", "kpca", *option, "--quiet")
    # Rows without holes need no means; what is made of text columns or images they cannot give.
    write("m.csv", "1,2,3\n4,,9\n2,6,1\n2,4,5\n")
    mercer("fit", "m.csv", "-m", "pca", "-n", 2, "--missing", "mean", "-o", "m.model", "--quiet")
    write("dense.csv", "2,0,1\n0,1,0\n1,4,3\n")
    _, dense = numbers(mercer("transform", "m.model", "dense.csv").out)
    _, sparse = numbers(mercer("transform", "m.model", "s.svm").out)
    assert np.allclose(dense, sparse, rtol=0, atol=1e-12)
    refused("transform", "m.model", "s.mtx", status=1, says=["s.mtx: 2 columns", "3"])
    write("t.csv", "a,1\nb,2\na,4\n")
    mercer("fit", "t.csv", "-m", "pca", "-n", 2, "--encode", "onehot", "-o", "t.model", "--quiet")
    refused("transform", "t.model", "s.svm", status=1, says=["s.svm", "sparse", "text columns"])
    put_images("in", random_images(4, 3, 3))
    mercer("fit", "in", "-m", "pca", "-n", 2, "--image-features", "haar", "-o", "h.model", "--quiet")
    refused("transform", "h.model", "s.svm", status=1, says=["s.svm", "sparse", "images"])


@test
def test_text_columns():
    rows = ["red,1,3,a", "blue,2,1,b", "red,4,2,a", "green,3,5,b", "blue,1,1,a"]
    write("t.csv", "colour,x,y,label\n" + "\n".join(rows) + "\n")
    refused("fit", "t.csv", "-m", "kpca", status=1,
            says=["t.csv:2: column 'colour': 'red' is not a number", "--label colour",
                  "--encode onehot"])
    done = mercer("fit", "t.csv", "-m", "pca", "-n", 2, "--encode", "onehot", "-o", "t.model")
    assert re.search(r"data +5 rows x 5 columns", done.out), done.out
    assert re.search(r"text columns +onehot", done.out), done.out
    about = report("info", "t.model")
    assert about["encode"] == "onehot", about
    assert about["column_names"] == ["colour=blue", "colour=green", "colour=red", "x", "y"]
    # As if somebody had encoded it by hand.
    colours = ["blue", "green", "red"]
    x = [[float(row.split(",")[0] == c) for c in colours] + [float(v) for v in row.split(",")[1:3]]
         for row in rows]
    table("hand.csv", x, names=about["column_names"])
    mercer("fit", "hand.csv", "-m", "pca", "-n", 2, "-o", "hand.model", "--quiet")
    _, wanted = numbers(mercer("transform", "hand.model", "hand.csv").out)
    _, got = numbers(mercer("transform", "t.model", "t.csv").out)
    assert np.array_equal(got, wanted)
    # Other columns and another order; texts nobody has seen are zeroes, and a note says so.
    write("new.csv", "id,y,colour,x\nn1,3,red,1\nn2,3,pink,1\nn3,3,,1\n")
    refused("transform", "t.model", "new.csv", status=1, says=["new.csv:4", "column 'colour'"])
    write("new.csv", "id,y,colour,x\nn1,3,red,1\nn2,3,pink,1\n")
    done = mercer("transform", "t.model", "new.csv")
    _, f = numbers(done.out)
    assert np.array_equal(f[0], got[0]) and not np.allclose(f[1], f[0])
    assert "1 cell has a text that the training table does not have" in done.err, done.err
    zeroes = table("z.csv", [[0, 0, 0, 1, 3]], names=about["column_names"])
    assert np.array_equal(numbers(mercer("transform", "hand.model", zeroes).out)[1][0], f[1])
    # A column called label is data when it was data.
    mercer("fit", "t.csv", "-m", "pca", "-n", 2, "--encode", "onehot", "--no-label", "-o",
           "l.model", "--quiet")
    assert "label=a" in report("info", "l.model")["column_names"]
    assert mercer("transform", "l.model", "t.csv").out.count("\n") == 6
    out = mercer("scale", "t.csv", "--scale", "none", "--encode", "onehot", "--no-label").out
    assert out.splitlines()[0] == "colour=blue,colour=green,colour=red,x,y,label=a,label=b"
    write("ids.csv", "id,x\n" + "".join(f"n{i},{i}\n" for i in range(2000)))
    refused("fit", "ids.csv", "-m", "kpca", "--encode", "onehot", "--memory", "16M", status=1,
            says=["ids.csv", "2001 columns", "--memory"])


# ----------------------------------------------------------------------------- memory of reading

BUDGET = 40 << 20
BESIDES = 96 << 20  # the program itself, and the copies that a sanitizer makes of growing arrays
# The most memory of a process counts that of the one it was forked from, so a small one is between.
MEASURE = """import os, sys
child = os.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024)
"""


def peak_of(*words):
    """Run mercer with the budget; status, standard error and the most memory it had."""
    done = subprocess.run([sys.executable, "-ISc", MEASURE, MERCER, *map(str, words), "--memory", "40M",
                           "--quiet"], capture_output=True, timeout=LIMIT, check=True,
                          env=dict(os.environ, **plain_memory()))
    status, peak = done.stdout.split()[-2:]
    return int(status), done.stderr.decode(), int(peak)


def too_large(*words, says=()):
    """The call must be refused by one line, with no more memory than the budget and a constant."""
    status, err, peak = peak_of(*words)
    shown = " ".join(map(str, words))
    assert status == 1 and err.count("\n") == 1, f"mercer {shown}: status {status}, {err!r}"
    for word in ("40.0 MB", "--memory", *([says] if isinstance(says, str) else says)):
        assert word in err, f"mercer {shown}: {word!r} is not in {err!r}"
    assert peak < BUDGET + BESIDES, f"mercer {shown}: took {peak / 1e6:.0f} MB; {err}"


def unpacked(name, *pieces):
    """A gzip file of pieces, each bytes or (bytes, how often)."""
    with gzip.open(name, "wb", compresslevel=1) as file:
        for piece, count in ((p, 1) if isinstance(p, bytes) else p for p in pieces):
            at_once = max(1, (1 << 20) // len(piece))
            for _ in range(count // at_once):
                file.write(piece * at_once)
            file.write(piece * (count % at_once))
    return name


def npy_head(dtype, shape, fortran=False):
    head = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


@test
def test_text_is_read_within_the_budget():
    fit = ("-m", "pca", "-n", 1)
    unpacked("rows.csv.gz", (b"1,2,3,4,5,6,7,8\n", 5000000))
    too_large("fit", "rows.csv.gz", *fit, says=["rows.csv.gz", "its rows", "in all"])
    too_large("scale", "rows.csv.gz", says="rows.csv.gz")
    for name, piece in (("line.csv.gz", b"1,"), ("names.csv.gz", b"a,"), ("empty.csv.gz", b","),
                        ("quoted.csv.gz", b'"",'), ("blank.csv.gz", b" "), ("word.csv.gz", b"a")):
        too_large("fit", unpacked(name, (piece, 90000000 // len(piece))), *fit, says=name)
    too_large("fit", unpacked("open.csv.gz", b'x,y\n1,"', (b"a\n", 45000000)), *fit, says="open.csv")
    rows = "".join(f"{i % 7},w{i}\n" for i in range(300000)).encode()
    unpacked("classes.csv.gz", b"x,label\n", rows)
    too_large("fit", "classes.csv.gz", *fit, says=["classes.csv.gz", "classes"])
    unpacked("texts.csv.gz", b"x,text\n", rows)
    too_large("fit", "texts.csv.gz", *fit, "--encode", "onehot", says="texts.csv.gz")
    unpacked("few.csv.gz", (b"1,2\n3,1\n", 150000))
    unpacked("labels.gz", rows)
    too_large("fit", "few.csv.gz", "--labels", "labels.gz", *fit, says="few.csv.gz")
    unpacked("long.gz", (b"a", 200000000))
    too_large("fit", "few.csv.gz", "--labels", "long.gz", *fit, says="long.gz:1")
    unpacked("rows.svm.gz", (b"1 1:1 2:1 3:1\n", 5000000))
    too_large("fit", "rows.svm.gz", *fit, says=["rows.svm.gz", "its rows"])
    unpacked("entries.svm.gz", b"1", "".join(f" {i}:1" for i in range(1, 9000000)).encode(), b"\n")
    too_large("fit", "entries.svm.gz", *fit, says="entries.svm.gz")
    unpacked("labels.svm.gz", b"1", (b",1", 20000000), b" 1:1\n")
    too_large("fit", "labels.svm.gz", *fit, says="labels.svm.gz")
    table("small.csv", cloud())
    unpacked("split.gz", b"0", (b",1", 100000000))
    too_large("evaluate", "small.csv", "-m", "pca", "--metric", "columns", "--split", "split.gz",
              says="split.gz")
    unpacked("splits.gz", (b"0\n", 3000000))
    too_large("evaluate", "small.csv", "-m", "pca", "--metric", "columns", "--split", "splits.gz",
              says="splits.gz")
    for option in ("--landmarks", "--validation"):
        method = "nystroem" if option == "--landmarks" else "koca"
        table("named.csv", cloud(), label=["a", "b"] * 30, names="pqrs")
        unpacked("more.csv.gz", b"label,p,q,r,s\n", (b"a,1,2,3,4\n", 5000000))
        too_large("fit", "named.csv", "-m", method, option, "more.csv.gz", says="more.csv.gz")


@test
def test_arrays_are_read_within_the_budget():
    fit = ("-m", "pca", "-n", 1)
    unpacked("c.npy.gz", npy_head("<f8", (10000000, 8)), (b"\0", 1 << 20))
    too_large("fit", "c.npy.gz", *fit, says=["c.npy.gz", "10000000 rows of 8 columns"])
    unpacked("f.npy.gz", npy_head("<f8", (10000000, 8), True), (b"\0", 1 << 20))
    too_large("fit", "f.npy.gz", *fit, says=["f.npy.gz", "Fortran"])
    unpacked("axes.npy.gz", npy_head("<f8", (2, 100000000, 2), True), (b"\0", 1 << 20))
    too_large("fit", "axes.npy.gz", *fit, says="axes.npy.gz")
    for rows in (1, 2):
        unpacked("wide.npy.gz", npy_head("|u1", (rows, 300000000)), (b"\0", 1 << 20))
        too_large("fit", "wide.npy.gz", *fit, says="wide.npy.gz")
    with zipfile.ZipFile("z.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("a.npy", "w", force_zip64=True) as file:
            file.write(npy_head("<f8", (100000, 1000)))
            for _ in range(100):
                file.write(bytes(8000000))
    too_large("fit", "z.npz", *fit, says=["z.npz:a", "100000 rows of 1000 columns"])
    entries = 4000000
    for form, arrays in (("csr", (("indices", entries), ("indptr", 1001))),
                         ("coo", (("row", entries), ("col", entries)))):
        with zipfile.ZipFile("s.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("format.npy", npy_head("|S3", ()) + form.encode())
            archive.writestr("shape.npy", npy_head("<i8", (2,)) + struct.pack("<qq", 1000, 9))
            for name, count in (("data", entries), *arrays):
                archive.writestr(name + ".npy", npy_head("<i8", (count,)) + bytes(8 * count))
        too_large("fit", "s.npz", *fit, says="s.npz")
    unpacked("c.mtx.gz", b"%%MatrixMarket matrix coordinate real general\n9 9 20000000\n",
             (b"1 1 1\n", 20000000))
    too_large("fit", "c.mtx.gz", *fit, says="c.mtx.gz")
    unpacked("a.mtx.gz", b"%%MatrixMarket matrix array real general\n10000 10000\n")
    too_large("fit", "a.mtx.gz", *fit, says="a.mtx.gz")
    unpacked("e.mtx.gz", b"%%MatrixMarket matrix coordinate pattern general\n900000000 9 1000000\n",
             (b"1 1\n", 1000000))
    too_large("fit", "e.mtx.gz", *fit, says="e.mtx.gz")
    write_mat("m.mat", 100000, 1000)
    too_large("fit", "m.mat", *fit, says=["m.mat", "100000 rows of 1000 columns"])


def write_mat(name, rows, columns):
    """A compressed MAT file of version 5 with a matrix of zeroes."""
    def element(kind, data):
        return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)
    parts = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", rows, columns)) + \
        element(1, b"x")
    size = 8 * rows * columns
    packer = zlib.compressobj(1)
    packed = packer.compress(struct.pack("<II", 14, len(parts) + 8 + size) + parts +
                             struct.pack("<II", 9, size))
    for _ in range(rows):
        packed += packer.compress(bytes(8 * columns))
    packed += packer.flush()
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x100) + b"IM"
    pathlib.Path(name).write_bytes(head + struct.pack("<II", 15, len(packed)) + packed)


@test
def test_hdf5_is_read_within_the_budget():
    try:
        import h5py
    except ImportError:
        raise Skip("h5py is not installed")
    with h5py.File("fill.h5", "w") as file:  # no values are stored at all
        file.create_dataset("x", shape=(1000000, 800), dtype="f8", chunks=(1000, 800))
    with h5py.File("block.h5", "w") as file:
        data = file.create_dataset("x", shape=(10, 10), maxshape=(None, None), dtype="f8",
                                   chunks=(20000, 20000), compression="gzip")
        assert data.shape == (10, 10)
    too_large("fit", "fill.h5", "-m", "pca", says=["fill.h5", "1000000 rows of 800 columns"])
    too_large("fit", "block.h5", "-m", "pca", says="block.h5")


@test
def test_images_are_read_within_the_budget():
    os.makedirs("one")
    pathlib.Path("one/a.png").write_bytes(png(np.zeros((8000, 8000, 3), "u1"), 8))
    too_large("fit", "one", "-m", "pca", says=["one/a.png", "image"])
    too_large("fit", "one", "-m", "pca", "--resize", "8x8", says="one/a.png")
    pathlib.Path("one/a.png").write_bytes(png(np.zeros((1000000, 1, 1), "u1"), 8))
    too_large("fit", "one", "-m", "pca", "--resize", "100x10", says="one/a.png")
    with open("one/a.png", "wb") as file:
        file.truncate(900000000)
    too_large("fit", "one", "-m", "pca", says="one/a.png")
    os.makedirs("many")
    image = png(np.zeros((1000, 1000, 1), "u1"), 8)
    for i in range(100):
        pathlib.Path(f"many/{i}.png").write_bytes(image)
    too_large("fit", "many", "-m", "pca", says=["many", "100 rows of 1000000 columns"])
    too_large("fit", "many", "-m", "pca", "--resize", "600x600",
              says=["many", "100 rows of 360000 columns"])


@test
def test_blocks_end_where_the_budget_does():
    """transform reads files that are larger than the budget; the result does not depend on it."""
    x = cloud(400, 30)
    table("x.csv", x, names=[f"c{j}" for j in range(30)])
    mercer("fit", "x.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 3, "-o", "x.model", "--quiet")
    mercer("fit", "x.csv", "-m", "ikpca", "-k", "rbf:sigma=4", "-n", 3, "-o", "i.model", "--quiet")
    big = np.tile(x, (24, 1))
    table("big.csv", big, names=[f"c{j}" for j in range(30)])
    np.save("big.npy", big)
    np.savez_compressed("big.npz", x=big)
    np.save("small.npy", big.astype("f4"))
    names = ["big.csv", "big.npy", "big.npz", "small.npy", "big.svm"]
    with contextlib.suppress(ImportError):
        import h5py
        with h5py.File("small.h5", "w") as file:
            file["x"] = big.astype("f4")
        names.append("small.h5")
    text = "".join(" ".join(["1"] + [f"{j + 1}:{v!r}" for j, v in enumerate(row)]) + "\n"
                   for row in big.tolist())
    write("big.svm", text)
    _, wanted = numbers(mercer("transform", "x.model", "big.csv").out)
    for name in names:
        assert os.path.getsize(name) > 1 << 20, name
        done = mercer("transform", "x.model", name, "--memory", "1M")
        got = numbers(done.out)[1]
        assert np.allclose(got, wanted, atol=1e-4 if "small" in name else 1e-12), name
    for name in ("big.csv", "big.npy"):
        mercer("update", "i.model", name, "-o", "more.model", "--memory", "64M")
        mercer("update", "i.model", name, "-o", "less.model", "--memory", "2M")
        assert report("info", "more.model")["spectrum"] == report("info", "less.model")["spectrum"]
    # A single row that does not fit is refused.
    unpacked("wide.csv.gz", ",".join(f"c{j}" for j in range(30)).encode() + b",rest\n",
             b"1," * 30, (b"1", 3000000), b"\n")
    refused("transform", "x.model", "wide.csv.gz", "--memory", "1M", status=1,
            says=["wide.csv.gz", "1.0 MB", "--memory"])


# ------------------------------------------------------------------------------- evaluate, compare


@test
def test_evaluate_classes_and_predictions():
    species(90)
    told = report("evaluate", "species.csv", "-m", "kpls", "--tune", "components=1:4:+1", "--tune",
                  "kernel.sigma=0.5:4:*2", "--cv", 3, "--save-predictions", "held.csv")
    assert told["metric"] == "error" and len(told["folds"]) == 3 and told["choices"] == 16
    assert abs(told["mean"] - np.mean([f["value"] for f in told["folds"]])) < 1e-12
    assert all(f["chosen"]["kernel.sigma"] in (0.5, 1, 2, 4) for f in told["folds"])
    assert sum(map(sum, told["confusion"])) == 90
    lines = csv_rows(pathlib.Path("held.csv").read_text())
    assert lines[0][:3] == ["prediction", "fold", "row"] and len(lines) == 91
    assert sorted(int(line[2]) for line in lines[1:]) == list(range(90))
    again = report("evaluate", "species.csv", "-m", "kpls", "--tune", "components=1:4:+1", "--tune",
                   "kernel.sigma=0.5:4:*2", "--cv", 3, "--threads", 1)
    assert again["mean"] == told["mean"]


@test
def test_evaluate_splits_and_test_rows():
    species(90)
    pathlib.Path("split.csv").write_text("split,kind,i0,i1\n" + "".join(
        f"{s},mine," + ",".join(str(i) for i in range(90) if i // 3 % 3 != s) + "\n" for s in range(3)))
    told = report("evaluate", "species.csv", "-m", "kpls", "-n", 3, "--split", "split.csv",
                  "--save-predictions", "held.csv")
    assert [f["rows"] for f in told["folds"]] == [30, 30, 30]
    # A split is a fit to its training rows, whatever else the file holds.
    lines = pathlib.Path("species.csv").read_text().splitlines()
    part = [lines[0]] + [line for i, line in enumerate(lines[1:]) if i // 3 % 3 != 0]
    rest = [lines[0]] + [line for i, line in enumerate(lines[1:]) if i // 3 % 3 == 0]
    pathlib.Path("train.csv").write_text("\n".join(part) + "\n")
    pathlib.Path("test.csv").write_text("\n".join(rest) + "\n")
    by_file = report("evaluate", "train.csv", "-m", "kpls", "-k", "rbf:sigma=2", "-n", 3, "--test", "test.csv")
    by_split = report("evaluate", "species.csv", "-m", "kpls", "-k", "rbf:sigma=2", "-n", 3, "--split",
                      "split.csv")
    assert abs(by_file["mean"] - by_split["folds"][0]["value"]) < 1e-12 and by_file["sd"] is None
    refused("evaluate", "species.csv", "-m", "kpls", "--split", "nosuch", status=1, says="nosuch")
    refused("evaluate", "species.csv", "-m", "kpls", "--cv", 3, "--test", "test.csv", status=2, says="only one")
    refused("evaluate", "species.csv", "-m", "kpls", "--cv", "x", status=2, says="loo")
    refused("evaluate", "species.csv", status=2, says="-m")
    refused("evaluate", "species.csv", "-m", "kpca", "--save-predictions", "x.csv", status=2, says="--head")


@test
def test_evaluate_reads_any_split_file():
    species(12)
    words = ["evaluate", "species.csv", "-m", "pca", "-n", 2, "--head", "centre"]
    plain = report(*words, "--split", write("plain.txt", "0,1,2,3,4,5,6,7\n4 5 6 7 8 9 10 11\n"))
    texts = {"quoted": '"split","kind","r"\n"1","train",0,1,2,3,4,5,6,7\n2,,4,5,6,7,8,9,10,11\n',
             "inside": "a,split,b\n0,9,1,2,3,4,5,6,7\n4,9,5,6,7,8,9,10,11\n",
             "padded": "\ufeffkind\n\n,0,1,2,3,4,5,6,7,,,\r\nx, 4,5 ,6,7,8,9,10,11\r\n"}
    for name, text in texts.items():
        assert report(*words, "--split", write(name, text))["folds"] == plain["folds"], name
    data = pathlib.Path("plain.txt").read_bytes()
    with gzip.open("plain.gz", "wb") as out:
        out.write(data)
    assert report(*words, "--split", "plain.gz")["folds"] == plain["folds"]
    assert report(*words, "--split", "-", stdin=data)["folds"] == plain["folds"]
    pathlib.Path("short.gz").write_bytes(pathlib.Path("plain.gz").read_bytes()[:-9])
    refused(*words, "--split", "short.gz", status=1, says="short.gz")
    for text, says in (("0,1,2\n0,1,1\n", ["bad:2", "column 3", "row 1", "twice"]), ("O,1,2\n", ["bad:1", "'O'"]),
                       ("0,1\n2,12\n", ["bad:2", "'12'", "0 to 11"]), ("0,1\n-1\n", ["bad:2", "'-1'"]),
                       ("0,1\n\n2\0,3\n", ["bad:3", "zero byte"]), ("split,kind\n", "no split"),
                       ("0,1,2,3,4,5,6,7,8,9,10,11\n", "none is left"), ("kind,a\nx,\n", "no training row")):
        refused(*words, "--split", write("bad", text), status=1, says=says)
    refused(*words, "--split", "plain.txt", "--missing", "drop", status=2, says=["--missing", "--split"])


@test
def test_evaluate_gives_labels_to_their_own_rows():
    write("x.csv", "x,z\n1,1\n2,2\n3,4\n6,7\n")
    write("new.csv", "x,z\n1,1\n5,6\n3,4\n")
    write("x.labels", "a\nb\na\nb\n")
    words = ["evaluate", "x.csv", "-m", "pca", "-n", 2, "--head", "knn:k=1", "--labels", "x.labels"]
    refused(*words, "--test", "new.csv", status=2, says=["--test-labels", "new.csv"])
    refused(*words, "--test-labels", "x.labels", status=2, says="--test")
    write("new.labels", "a\nb\nb\n")
    assert abs(report(*words, "--test", "new.csv", "--test-labels", "new.labels")["mean"] - 1 / 3) < 1e-12
    write("unlabelled.csv", "x,z\n1,1\n5,6\n")
    write("labelled.csv", "x,z,label\n1,1,a\n2,2,b\n3,4,a\n6,7,b\n")
    refused("evaluate", "labelled.csv", "-m", "pca", "-n", 2, "--head", "knn:k=1", "--test", "unlabelled.csv",
            status=1, says=["unlabelled.csv", "label"])
    # Files that options name are inputs too.
    refused("fit", "x.csv", "-m", "pls", "--labels", "x.labels", "-o", "x.labels", status=2,
            says="written over the labels")
    refused("scale", "x.csv", "--labels", "x.labels", "-o", "x.labels", status=2, says="written over the labels")
    refused(*words, "--cv", 2, "--save-predictions", "x.labels", status=2, says="written over the labels")
    refused(*words, "--cv", 2, "--roc", "x.labels", status=2, says="written over the labels")
    assert pathlib.Path("x.labels").read_text() == "a\nb\na\nb\n"


@test
def test_evaluate_looks_for_the_class_named():
    rng = np.random.default_rng(3)
    y = rng.random(60) < 0.3
    x = rng.normal(size=(60, 2)) + y[:, None]
    table("two.csv", x, ["a", "b"], np.where(y, "yes", "no"))
    words = ["evaluate", "two.csv", "-m", "pca", "-n", 2, "--head", "ls", "--metric", "ap"]
    of = {name: report(*words, "--positive", name) for name in ("yes", "no")}
    assert of["yes"]["positive"] == "yes" and of["yes"]["mean"] != of["no"]["mean"]
    default = report(*words)
    assert default["mean"] == of[default["positive"]]["mean"]
    assert "class 'yes'" in mercer(*words, "--positive", "yes").out
    refused(*words, "--positive", "maybe", status=2, says=["maybe", "'yes'", "'no'"])
    # Nothing is written when a part of what was asked for cannot be had.
    same = [i for i in range(60) if y[i] == y[0]]
    write("one.txt", ",".join(str(i) for i in range(60) if i not in same[:3]) + "\n")
    refused(*words[:-2], "--split", "one.txt", "--save-predictions", "p.csv", "--roc", "r.csv", status=1, says="one class")
    assert not pathlib.Path("p.csv").exists() and not pathlib.Path("r.csv").exists()
    # A fold that cannot tell is left out of the paired differences.
    write("three.txt", "\n".join(",".join(str(i) for i in range(60) if i not in held)
                                 for held in (same[:3], range(20), range(20, 45))) + "\n")
    told = report("compare", "two.csv", "-m", "pca", "-m", "kpca", "-n", 1, "--head", "ls", "--split", "three.txt",
                  "--metric", "auc")["methods"][1]
    assert told["folds"][0]["value"] is None and told["difference_sd"] is not None
    refused("evaluate", write("row.csv", "x,label\n1,a\n"), "-m", "pca", "--head", "centre", "--cv", "loo", status=1,
            says=["row.csv", "1 row"])


@test
def test_compare_methods_on_the_same_folds():
    species(90)
    told = report("compare", "species.csv", "-m", "pls", "-m", "kpls:components=3", "-m", "sma", "-n", 3)
    assert [m["method"] for m in told["methods"]] == ["pls", "kpls:components=3", "sma"]
    alone = report("evaluate", "species.csv", "-m", "sma", "-n", 3)
    assert told["methods"][2]["mean"] == alone["mean"]
    values = [[f["value"] for f in m["folds"]] for m in told["methods"]]
    assert abs(told["methods"][2]["difference"] - np.mean(np.subtract(values[2], values[0]))) < 1e-12
    assert told["methods"][2]["expansion_points"] == 3
    out = mercer("compare", "species.csv", "-m", "pls", "-m", "sma", "-n", 3).out
    assert "less the first" in out and out.count("\n") > 5
    refused("compare", "species.csv", status=2, says="-m")
    refused("compare", "species.csv", "-m", "pls", "-m", "kplss", status=2, says="kpls")
    # What one of them can be tuned by does not keep the other out.
    words = ["species.csv", "--head", "ls", "--tune", "kernel.sigma=1,4", "--tune", "components=1,3"]
    told = report("compare", "-m", "pca", "-m", "kpca", *words)
    assert [m["choices"] for m in told["methods"]] == [2, 4]
    assert told["methods"][1]["mean"] == report("evaluate", "-m", "kpca", *words)["mean"]
    assert told["notices"] == ["pca: has no kernel.sigma to tune"]
    refused("compare", "-m", "pca", "-m", "kpca", *words, "--tune", "kernel.sgma=1", status=2, says="sgma")
    refused("evaluate", "-m", "pca", *words, status=2, says="sigma")


@test
def test_evaluate_is_what_fit_and_predict_do():
    species(60)
    for method in ("kpls:discriminant=on", "kpls"):  # each has a head of its own
        words = ["species.csv", "-m", method, "-k", "rbf:sigma=2", "-n", 3]
        mercer("fit", *words, "-o", "m")
        mercer("evaluate", *words, "--test", "species.csv", "--save-predictions", "held.csv")
        by_model = csv_rows(mercer("predict", "m", "species.csv").out)
        held = csv_rows(pathlib.Path("held.csv").read_text())
        assert [line[0] for line in held] == [line[0] for line in by_model]
        assert [line[3:] for line in held[1:]] == [line[1:] for line in by_model[1:]]


@test
def test_evaluate_tells_what_cannot_be():
    species(60)
    lines = pathlib.Path("species.csv").read_text().splitlines()
    lines[6] = lines[6].rsplit(",", 1)[0] + ",rare"
    write("rare.csv", "\n".join(lines) + "\n")
    told = report("evaluate", "rare.csv", "-m", "kpls", "-n", 3)
    assert any("'rare' is held out as a whole" in notice for notice in told["notices"])
    refused("compare", "species.csv", "-m", "kpca", "-m", "kpls", "-n", 3, status=2, says="--head")
    refused("evaluate", "species.csv", "-m", "kpls", "--missing", "mean", status=2, says="held out")
    refused("evaluate", "species.csv", "-m", "kpls", "--inner", 3, status=2, says="--tune")
    refused("evaluate", "species.csv", "-m", "kpls", "--tune", "method.components=1,2", status=2,
            says="write components")
    alone = report("compare", "species.csv", "-m", "kpls", "-m", "sma", "-n", 3, "--cv", "loo")["methods"]
    assert abs(alone[1]["difference"] - (alone[1]["mean"] - alone[0]["mean"])) < 1e-12
    assert "nan" not in mercer("compare", "species.csv", "-m", "kpls", "-m", "sma", "-n", 3, "--cv", "loo").out
    write("split.txt", " 0,1,2,3,4,5,6,7,8\n\n9,10,11,12,13,14\n")
    assert len(report("evaluate", "species.csv", "-m", "kpls", "-n", 2, "--split", "split.txt")["folds"]) == 2
    table("far.csv", np.c_[cloud(30, 2), 1e160 * np.arange(30)], "abt")
    refused("fit", "far.csv", "-m", "kpls", "--target", "t", status=1, says="--scale-target")


def two_classes():
    """two.csv, of 60 rows; returns their labels."""
    x = cloud(60, 3)
    labels = np.where(x[:, 0] + 0.5 * x[:, 1] > 0, "yes", "no")
    table("two.csv", x, "abc", label=labels)
    return labels


@test
def test_evaluate_ranks_and_undecided_rows():
    labels = two_classes()
    told = report("evaluate", "two.csv", "-m", "kpls", "-n", 3, "--metric", "auc", "--roc", "roc.csv",
                  "--save-predictions", "held.csv")
    roc = np.array(csv_rows(pathlib.Path("roc.csv").read_text())[1:], dtype=float)
    held = csv_rows(pathlib.Path("held.csv").read_text())
    first, second = (held[0].index("score_" + name) for name in told["classes"])
    score = np.array([float(row[second]) - float(row[first]) for row in held[1:]])
    truth = np.array([labels[int(row[2])] == told["classes"][1] for row in held[1:]])
    assert len(roc) == len(set(score)) + 1 and np.isinf(roc[0, 2])
    for fpr, tpr, threshold in roc:
        assert abs(fpr - np.mean(score[~truth] >= threshold)) < 1e-12
        assert abs(tpr - np.mean(score[truth] >= threshold)) < 1e-12
    species(60)
    refused("evaluate", "species.csv", "-m", "kpls", "--roc", "x.csv", status=2, says="two classes")
    refused("evaluate", "two.csv", "-m", "kpca", "--roc", "x.csv", status=2, says="--head")
    assert not pathlib.Path("x.csv").exists()
    # A fold of one class has no ranking; the others have.
    order = np.argsort(labels)
    write("split.txt", "\n".join(",".join(str(i) for i in order if i not in held) for held in
                                 (order[:8], order[10:50], order[5:55])) + "\n")
    told = report("evaluate", "two.csv", "-m", "kpls", "-n", 3, "--metric", "auc", "--split", "split.txt")
    values = [fold["value"] for fold in told["folds"]]
    assert values[0] is None and abs(told["mean"] - np.mean(values[1:])) < 1e-12
    assert any("fold 1" in notice and "one class" in notice for notice in told["notices"])
    assert "nan" not in mercer("evaluate", "two.csv", "-m", "kpls", "-n", 3, "--metric", "auc", "--split", "split.txt").out
    write("split.txt", ",".join(map(str, order[8:])) + "\n")
    refused("evaluate", "two.csv", "-m", "kpls", "-n", 3, "--metric", "auc", "--split", "split.txt", status=1,
            says="one class")
    # Ties that nobody wins are counted apart.
    write("t.csv", "x,label\n0,1\n1,2\n10,2\n11,1\n")
    words = ["t.csv", "-m", "pca", "-n", 1, "--cv", "loo", "--head", "knn:k=2,ties=strict"]
    told = report("evaluate", *words)
    assert told["undecided"] == [0, 2] and sum(map(sum, told["confusion"])) == 2
    assert "(none)" in mercer("evaluate", *words).out
    assert "(none)" not in mercer("evaluate", "species.csv", "-m", "kpls", "-n", 3).out


@test
def test_evaluate_keeps_outputs_apart():
    two_classes()
    words = ["evaluate", "two.csv", "-m", "kpls", "-n", 3]
    plain = mercer(*words).out
    for option in ("--roc", "--save-predictions"):
        mercer(*words, option, "file.csv")
        table_alone = pathlib.Path("file.csv").read_text()
        done = mercer(*words, option, "-")
        assert done.out == table_alone and done.err == plain
        done = mercer(*words, option, "-", "--json")
        assert done.out == table_alone and json.loads(done.err)["metric"] == "error"
        done = mercer(*words, option, "-", "--quiet")
        assert done.out == table_alone and done.err == ""
    os.remove("file.csv")
    os.mkdir("sub")
    refused(*words, "--roc", words[1], status=2, says="written over the data")
    refused(*words, "--save-predictions", words[1], status=2, says="written over the data")
    for roc, held in (("r.csv", "r.csv"), ("r.csv", "sub/../r.csv"), ("-", "-"), ("-", "/dev/stdout")):
        refused(*words, "--roc", roc, "--save-predictions", held, status=2, says=["two files", f"--roc {roc}"])
    assert files() == ["sub", "two.csv"]
    write("r.csv", "kept\n")
    os.link("r.csv", "other.csv")
    refused(*words, "--roc", "r.csv", "--save-predictions", "other.csv", status=2, says="two files")
    assert pathlib.Path("r.csv").read_text() == "kept\n"
    done = mercer(*words, "--roc", "-", "--save-predictions", "sub/r.csv")
    assert done.out.startswith("fpr,") and pathlib.Path("sub/r.csv").read_text().startswith("prediction,")
    mercer(*words, "--roc", "/dev/null", "--save-predictions", "/dev/null")


@test
def test_evaluate_tells_the_only_choice():
    species(60)
    words = ["evaluate", "species.csv", "-m", "kpls", "--test", "species.csv", "--tune", "components=1,2"]
    chosen = report(*words, "--tune", "kernel.sigma=1,2")["folds"][0]["chosen"]
    told = re.findall(r"^  chosen +(\S+)$", mercer(*words, "--tune", "kernel.sigma=1,2").out, re.M)
    assert told == [f"components={chosen['components']},kernel.sigma={chosen['kernel.sigma']:g}"]
    assert "chosen" not in mercer(*words[:6], "-n", 2).out  # there was nothing to choose
    assert "\n  chosen" not in mercer(*words[:4], *words[6:]).out  # folds have a table


@test
def test_evaluate_names_the_file_of_test_rows():
    species(60)
    lines = pathlib.Path("species.csv").read_text().splitlines()
    lines[4] = ",".join(["1e300"] * lines[4].count(",") + [lines[4].rsplit(",", 1)[1]])
    write("big.csv", "\n".join(lines) + "\n")
    words = ["species.csv", "-m", "kpls", "-k", "poly:degree=3", "-n", 2, "--test", "big.csv"]
    refused("evaluate", *words, status=1, says="mercer: big.csv: row 4 is too large")
    refused("evaluate", *words, "--tune", "components=1,2", status=1, says="mercer: big.csv: row 4 is too large")
    refused("compare", *words, status=1, says="mercer: big.csv: kpls: row 4 is too large")
    # What is wrong with the training rows is told of their file.
    refused("evaluate", "big.csv", *words[1:-1], "species.csv", status=1, says="mercer: big.csv: ")


@test
def test_evaluate_edges():
    species(60)
    labels = ("a", "b", "c")
    rows = ["x,y,label"] + [f"{a!r},{b!r},{labels[i % 3]}" for i, (a, b) in enumerate(cloud(60, 2).tolist())]
    cells = [row.rsplit(",", 1) for row in rows]
    write("rows.csv", "\n".join(rows) + "\n")
    write("one.csv", "\n".join([rows[0]] + [cell[0] + ",same" for cell in cells[1:]]) + "\n")
    refused("evaluate", "one.csv", "-m", "kpls", status=1, says=["one.csv", "'same'"])
    refused("evaluate", "one.csv", "-m", "kpca", "--head", "knn", status=1, says=["one.csv", "'same'"])
    table("flat.csv", np.c_[cloud(30, 2), np.ones(30)], "abt")
    refused("evaluate", "flat.csv", "-m", "kpls", "--target", "t", status=1, says=["flat.csv", "the same for every row"])
    refused("evaluate", "species.csv", "-m", "kpls", "--cv", 61, status=1, says="61 folds cannot be made of 60 rows")
    write("few.csv", "\n".join(rows[:7]) + "\n")
    refused("evaluate", "few.csv", "-m", "pca", "--cv", 2, "--tune", "components=1,2", status=1,
            says=["3 training rows", "--inner"])
    for grid, says in (("kernel.sigma=-1,2", "sigma=-1"), ("head.k=0,1", "k=0"), ("components=2,x", "components=x"),
                       ("method.nosuch=1", "nosuch"), ("kernel=rbf,nosuch", "nosuch"), ("kernel=rbf,,linear", "empty")):
        refused("evaluate", "species.csv", "-m", "kpca", "--head", "knn", "--tune", grid, status=2, says=says)
    refused("evaluate", "species.csv", "-m", "kpca", "--head", "knn", "--tune", "kernel=rbf,linear", "--tune",
            "kernel.sigma=1,2", status=2, says="write the keys behind")
    # What turns out to be impossible in a fold is named: a value that is left out, or that there is none left.
    told = mercer("evaluate", "species.csv", "-m", "kpca", "--head", "svm:type=nu", "--tune", "head.nu=0.1,1")
    assert "1 of 2 choices cannot be fitted" in told.err and "head.nu=1: head svm: nu=1" in told.err, told.err
    refused("evaluate", "species.csv", "-m", "kpca", "--head", "svm:type=nu", "--tune", "head.nu=0.99,1", status=1,
            says=["fold 1", "head.nu=0.99"])
    write("strange.csv", "\n".join(rows[:20] + [cells[20][0] + ",nobody"]) + "\n")
    refused("evaluate", "rows.csv", "-m", "kpls", "--test", "strange.csv", status=1,
            says=["mercer: strange.csv: row 20 is of class 'nobody'"])


@test
def test_evaluate_without_labels():
    x = cloud(80, 2)
    table("flat.csv", np.c_[x, x @ [[1.0, 2, -1], [1, -1, 3]] + 0.05 * cloud(80, 3, seed=4)], "abcde")
    told = report("evaluate", "flat.csv", "-m", "pca", "--tune", "components=1:4:+1")
    assert told["metric"] == "structure" and told["larger_is_better"] and told["mean"] > 0.1
    told = report("evaluate", "flat.csv", "-m", "pca", "--tune", "components=1:4:+1", "--metric", "columns")
    assert told["metric"] == "columns" and told["mean"] < 0.05 and told["notices"] == []
    assert all(fold["chosen"]["components"] >= 2 for fold in told["folds"])
    told = report("evaluate", "flat.csv", "-m", "kpca", "-n", 2, "--metric", "columns", "--tune",
                  "kernel=rbf:sigma=0.1,linear,poly:degree=3,coef0=2")
    assert {fold["chosen"]["kernel"] for fold in told["folds"]} == {"linear"}
    keeps = report("evaluate", "flat.csv", "-m", "kpca", "-k", "linear", "-n", 2, "--metric", "reconstruction")
    comes = report("evaluate", "flat.csv", "-m", "kpca", "-k", "linear", "-n", 2, "--metric", "preimage")
    assert 0.5 < keeps["mean"] / comes["mean"] < 2  # over the spread of held-out and of training rows
    refused("evaluate", "flat.csv", "-m", "kpca", "-k", "cosine", "--metric", "preimage", status=1, says="cosine")
    ring = np.random.default_rng(2).uniform(0, 2 * np.pi, 100)
    table("ring.csv", np.c_[np.cos(ring), np.sin(ring)] + 0.05 * cloud(100, 2), "xy")
    words = ["ring.csv", "-m", "kpca", "--metric", "structure", "--tune", "kernel=linear,rbf:sigma=0.3", "--tune",
             "components=1:8:+1"]
    told = report("evaluate", *words)
    assert told["larger_is_better"] and told["mean"] > 0.1
    assert {fold["chosen"]["kernel"] for fold in told["folds"]} == {"rbf:sigma=0.3"}
    assert report("evaluate", *words, "--threads", 1)["mean"] == told["mean"]
    table("noise.csv", cloud(80, 4), "abcd")
    assert abs(report("evaluate", "noise.csv", "-m", "kpca", "-n", 2, "--metric", "structure")["mean"]) < 0.1
    write("one.csv", "x\n" + "\n".join(map(str, range(20))) + "\n")
    refused("evaluate", "one.csv", "-m", "kpca", "--metric", "structure", status=2, says="two columns")
    told = report("evaluate", "noise.csv", "-m", "pca", "-n", 2, "--metric", "columns")
    assert told["mean"] > 0.9 and any("hardly tell each other" in notice for notice in told["notices"])
    # A kernel matrix in folds is what the kernel itself is.
    squares = ((x[:, None] - x[None]) ** 2).sum(2)
    np.save("k.npy", np.exp(-squares / 8))
    table("x.csv", x, "ab")
    words = ["-m", "kpca", "-n", 3, "--metric", "reconstruction"]
    given = report("evaluate", "k.npy", "-k", "precomputed", *words)
    assert abs(given["mean"] - report("evaluate", "x.csv", "-k", "rbf:sigma=2", *words)["mean"]) < 1e-9
    refused("evaluate", "x.csv", "-k", "precomputed", *words, status=1, says="square")


def run(index):
    """(mark, seconds, what to say) of one test, in a folder of its own."""
    case = TESTS[index]
    start = time.monotonic()
    home = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="mercer-cli-") as folder:
        os.chdir(folder)
        try:
            case()
            mark, why = "ok  ", ""
        except Skip as reason:
            mark, why = "skip", f": {reason}"
        except Exception:  # one failure does not end the run
            mark, why = "FAIL", "\n" + traceback.format_exc(limit=-2)
        finally:
            os.chdir(home)
    return mark, time.monotonic() - start, why


def results(chosen, jobs):
    """What run() says of each chosen test, in their order. The tests change folders, so they
    run in processes of their own; one that takes its process down fails with all that follow."""
    with concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        running = [pool.submit(run, index) for index in chosen]
        for future in running:
            try:
                yield future.result()
            except concurrent.futures.BrokenExecutor as error:
                yield "FAIL", 0, f"\n{error}\n"


def main():
    global MERCER
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    jobs = [int(word[2:]) for word in sys.argv[1:] if word.startswith("-j")]
    left_out = SLOW if "--quick" in sys.argv else set()
    if not words:
        print(__doc__)
        return 2
    MERCER = os.path.abspath(words[0])
    if not os.access(MERCER, os.X_OK):
        print(f"{MERCER} is no program\n0 passed, 1 failed")
        return 1
    word = words[1] if len(words) > 1 else ""
    chosen = [index for index, case in enumerate(TESTS)
              if word in case.__name__ and case.__name__ not in left_out]
    count = {"ok  ": 0, "FAIL": 0, "skip": 0}
    jobs = jobs[0] if jobs else len(os.sched_getaffinity(0))
    for index, (mark, seconds, why) in zip(chosen, results(chosen, jobs)):
        count[mark] += 1
        print(f"{mark} {TESTS[index].__name__} ({seconds:.1f} s){why}", flush=True)
    print(f"{count['ok  ']} passed, {count['FAIL']} failed" +
          (f", {count['skip']} skipped" if count["skip"] else ""))
    return 1 if count["FAIL"] or not count["ok  "] else 0


if __name__ == "__main__":
    sys.exit(main())
