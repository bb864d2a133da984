#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Help, versions, completions, the man page, and calls that are wrong whatever the command.

test_help.py MERCER [WORD...] [-jN] [--quick]
"""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

from support import (LIMIT, MERCER, ROOT, Skip, columns_of, mercer, refused, report, ring, ring_model, run_tests, test,
                     write)


COMMANDS = ["fit", "transform", "predict", "evaluate", "compare", "advise", "plot", "report", "inverse", "update",
            "info", "truncate", "scale", "generate", "methods", "kernels", "heads", "demo"]


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
    shown = re.fullmatch(VERSION, mercer("--version", env={"MERCER_STARTED_AGAIN": "1"}).out)
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
    refused("polish", status=2, says=["'polish'", "transform"])
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
    known = mercer("fit", "--help").out.split("--format F")[1].split("(")[1].split(")")[0]
    assert [entry["name"] for entry in everything["formats"]] == known.replace(",", "").split()


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
                                                "rowstandard", "robust"]
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


if __name__ == "__main__":
    sys.exit(run_tests())
