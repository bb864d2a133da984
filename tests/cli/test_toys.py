#!/usr/bin/python3
"""The program with the toys of tests/toys: test_toys.py PROGRAM

A method, a head and a fit option that are added in the places which docs/architecture.md names, and
nowhere else, must be in help, lists and completions, be checked, and work.
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
        for kind in ("methods", "heads"):
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
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
