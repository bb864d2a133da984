# SPDX-License-Identifier: BSD-3-Clause
"""Compile and run the C programs in the documents: test_snippets.py BUILD MERCER PAGE...

A ```c block with a main function is a complete program. It is compiled with warnings as errors
against the headers and the library in BUILD and run in a folder with ring.csv (300 rows) and
ring.model. It must leave with 0 and, when a ```text block follows at once, print that. Closes with
"N passed, N failed".
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror"]


def programs(text):
    """(source, expected output or None, line) of every complete program."""
    found = list(FENCE.finditer(text))
    for this, following in zip(found, found[1:] + [None]):
        if this[1] != "c" or not re.search(r"^int main\(", this[2], re.M):
            continue
        expected = None
        if following and following[1] == "text" and not text[this.end():following.start()].strip():
            expected = following[2]
        yield this[2], expected, text.count("\n", 0, this.start()) + 1


def run(command, folder):
    return subprocess.run(command, cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)


def fault_of(build, source, expected, folder):
    """What is wrong with a program, or None."""
    pathlib.Path(folder, "program.c").write_text(source)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    done = run([*compiler, *WARNINGS, "-D_GNU_SOURCE", f"-I{harness.ROOT / 'include'}", "program.c", "-o",
                "program", f"-L{build}", "-lmercer", "-pthread", f"-Wl,-rpath,{build}"], folder)
    if done.returncode:
        return f"does not compile:\n{done.stdout}"
    done = run(["./program"], folder)
    if done.returncode:
        return f"left with {done.returncode}:\n{done.stdout}"
    if expected is not None and done.stdout != expected:
        return f"printed\n{done.stdout}instead of\n{expected}"
    return None


def main():
    build, mercer = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    for name in sys.argv[3:]:
        for source, expected, line in programs(pathlib.Path(name).read_text(encoding="utf-8")):
            with harness.scratch() as folder:
                for command in (["generate", "circle", "--rows", "300", "-o", "ring.csv"],
                                ["fit", "ring.csv", "-m", "kpca", "-o", "ring.model"]):
                    harness.output(mercer, *command, "--quiet")
                fault = fault_of(build, source, expected, folder)
            harness.check(f"{name}:{line}", not fault, fault, quiet=True)
    return harness.close()


if __name__ == "__main__":
    sys.exit(main())
