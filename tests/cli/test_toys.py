#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The program with the toys of tests/toys: test_toys.py PROGRAM

A method, a kernel, a head, a store, a format and a fit option that are added in the places which
docs/architecture.md names, and nowhere else, must be in help and lists, be checked, and work. (No
command shows a part of a model by its name: tests/unit/model/test_parts.c has the toys of these.)
"""
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
counts = {True: 0, False: 0}


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)


def check(what, good):
    counts[bool(good)] += 1
    if not good:
        print(f"FAILED: {what}")


def features(folder, *words):
    """Features of the rows after a fit with these options; [] when it fails."""
    model = str(folder / "some.model")
    if run("fit", *words, "-n", "2", "-o", model).returncode != 0:
        return []
    return [[float(cell) for cell in line.split(",")]
            for line in run("transform", model, words[0]).stdout.splitlines()[1:]]


def check_kernel(folder, data):
    """1 / (1 + gamma |x-y|_1): held against its own matrix, which is given."""
    rows = [[float(cell) for cell in line.split(",")] for line in data.read_text().splitlines()[1:]]
    given = folder / "kernel.csv"
    given.write_text("".join(",".join(repr(1 / (1 + 0.25 * sum(abs(a - b) for a, b in zip(x, y)))) for y in rows) + "\n"
                             for x in rows))
    ours = features(folder, str(data), "-m", "kpca", "-k", "toy:gamma=0.25")
    wanted = features(folder, str(given), "-m", "kpca", "-k", "precomputed")
    check("a kernel", same(ours, wanted))
    wrong = run("fit", str(data), "-m", "kpca", "-k", "toy:gamma=-1")
    check("its range", wrong.returncode == 2 and "gamma=-1 is out of range" in wrong.stderr)
    check("a sum", run("fit", str(data), "-m", "kpca", "-k", "0.5*toy + linear").returncode == 0)


def same(ours, wanted):
    return len(ours) == len(wanted) > 0 and all(
        abs(a - b) < 1e-9 for x, y in zip(ours, wanted) for a, b in zip(x, y))


def check_store(folder, data):
    for command in ("fit", "evaluate"):
        text = " ".join(run(command, "--help").stdout.split())
        check(f"--store of {command}", "(auto, dense, stream, lowrank, toy)" in text)
    fitted = run("fit", str(data), "-m", "kpca", "--store", "toy", "--json")
    check("a store", fitted.returncode == 0 and json.loads(fitted.stdout)["store"] == "toy")
    check("its values", same(features(folder, str(data), "-m", "kpca", "--store", "toy"),
                             features(folder, str(data), "-m", "kpca", "--store", "dense")))


def check_format(folder, data):
    listed = [entry for entry in json.loads(run("help", "--json").stdout)["formats"] if entry["name"] == "toy"]
    check("a format", len(listed) == 1 and listed[0]["endings"] == [".toy"] and listed[0]["writes"])
    text = " ".join(run("scale", "--help").stdout.split())
    check("--format", text.count("toy)") == 2)  # read and written
    toy = folder / "data.toy"
    check("written", run("scale", str(data), "--scale", "none", "-o", str(toy)).returncode == 0)
    lines = data.read_text().splitlines()[1:]
    check("what is written", toy.exists() and toy.read_text() == "".join(line.replace(",", ";") + "\n" for line in lines))
    read = run("scale", str(toy), "--scale", "none", "--output-format", "csv")
    check("read", read.returncode == 0 and read.stdout.splitlines() == lines)
    unknown = folder / "data.unknown"
    unknown.write_text(toy.read_text() if toy.exists() else "")
    named = run("scale", str(unknown), "--format", "toy", "--scale", "none", "--output-format", "csv")
    check("by its name", named.returncode == 0 and named.stdout.splitlines() == lines)
    wrong = run("scale", str(unknown))
    check("in messages", wrong.returncode != 0 and ".toy" in wrong.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "data.csv"
        data.write_text("a,b,label\n" + "".join(
            f"{i % 7},{i * i % 11},{'left' if i % 2 else 'right'}\n" for i in range(40)))
        for command in ("fit", "evaluate", "compare"):
            text = " ".join(run(command, "--help").stdout.split())
            check(f"{command} --help", "--toy HOW what the toy method is told; default none "
                  "(none, some, all)" in text)
        check("other commands", "--toy" not in run("scale", "--help").stdout)
        for kind in ("methods", "kernels", "heads"):
            names = [entry["name"] for entry in json.loads(run(kind, "--json").stdout)[kind]]
            check(kind, names.count("toy") == 1)
        model = str(pathlib.Path(folder) / "toy.model")
        fitted = run("fit", str(data), "-m", "toy", "--head", "toy", "--toy", "some", "-n", "2",
                     "-o", model, "--json")
        check("fit", fitted.returncode == 0 and json.loads(fitted.stdout)["head"] == "toy")
        check("predict", run("predict", model, str(data)).returncode == 0)
        judged = run("evaluate", str(data), "-m", "toy", "--head", "toy", "--toy", "some", "--json")
        check("evaluate", judged.returncode == 0)
        refused = {"most": "--toy: 'most' is not one of none, some, all",
                   "all": "method toy: toy all is too much"}
        for value, text in refused.items():
            wrong = run("fit", str(data), "-m", "toy", "--toy", value)
            check(f"--toy {value}", wrong.returncode == 2 and text in wrong.stderr)
        wrong = run("fit", str(data), "-m", "ikpca", "--toy", "some")
        check("a stream", wrong.returncode == 2 and "a stream has no use for it" in wrong.stderr)
        check("a stream without it",
              run("fit", str(data), "-m", "ikpca", "--toy", "none").returncode == 0)
        plain = pathlib.Path(folder) / "plain.csv"
        plain.write_text("a,b\n" + "".join(f"{i % 7},{i * i % 11}\n" for i in range(40)))
        check_kernel(pathlib.Path(folder), plain)
        check_store(pathlib.Path(folder), plain)
        check_format(pathlib.Path(folder), plain)
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
