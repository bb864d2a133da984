# SPDX-License-Identifier: BSD-3-Clause
"""Run what the documents tell people to type: test_readme.py MERCER [--write] PAGE...

Every ```sh block of a page is run by bash, every ```python block by this Python, in order, in one
empty folder per page that holds only your.csv, with MERCER first on PATH. A block that fails fails
the test. Lines that start with "make" or "sudo" are left out. When a ```text block follows at once,
it is what the block printed: words must be equal, numbers may differ a little (other processors
round otherwise), a line "..." stands for any lines, and of lines about time or memory only the
first word counts. The summary's wrapped lines count as one.

A line "<!-- needs NAME -->" before a block says that it and the blocks after it read NAME, a data set
that is not part of the repository: it is linked into the folder from ../shared/data beside the
repository, and when it is not there these blocks are skipped. Closes with "N passed, N failed".

With --write the text blocks that differ get what was printed (lines of "..." stay): for changes that are
meant. Read the difference before you commit it.
"""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
WRAPPED = re.compile(r"\n {20,}(?=\S)")
NEEDS = re.compile(r"^<!-- needs ([\w.-]+) -->$", re.M)
MEASURED = re.compile(r"\b(time|memory|budget)\b|\d m?s\b")

# A table of the reader's own: three kinds of flowers, text labels, quotes and a blank in a name.
YOUR_CSV = "width,height,\"petal length\",species\n" + "".join(
    f"{(7 * i) % 11 + 3 * (i % 3)}.5,{(5 * i) % 13},{(3 * i) % 7 / 4 + i % 3},kind{i % 3}\n"
    for i in range(90))


def blocks(text):
    """(language, source, expected output or None, line, data set or None) of every block that can be
    run."""
    found = list(FENCE.finditer(text))
    for this, following in zip(found, found[1:] + [None]):
        if this[1] not in ("sh", "python"):
            continue
        expected = None
        if following and following[1] == "text" and not text[this.end():following.start()].strip():
            expected = following[2]
        needed = NEEDS.findall(text, 0, this.start())
        yield (this[1], this[2], expected, text.count("\n", 0, this.start()) + 1,
               needed[-1] if needed else None)


def same_line(expected, actual):
    """Whether a printed line is the one in the page, but for rounding and measured values."""
    if MEASURED.search(expected):
        return expected.split()[:1] == actual.split()[:1]
    if NUMBER.sub("#", expected).split() != NUMBER.sub("#", actual).split():
        return False
    for one, other in zip(NUMBER.findall(expected), NUMBER.findall(actual)):
        a, b = float(one.replace(",", "")), float(other.replace(",", ""))
        last_digit = 10.0 ** -len(one.partition(".")[2]) if "." in one and "e" not in one else 0
        if abs(a - b) > 1.01 * last_digit + 1e-4 * abs(a):
            return False
    return True


def first_difference(expected, actual):
    """The first line of the page that the output does not have, or None."""
    lines, at, anywhere = WRAPPED.sub(" ", actual.rstrip("\n")).split("\n"), 0, False
    for line in WRAPPED.sub(" ", expected.rstrip("\n")).split("\n"):
        if line.strip() == "...":
            anywhere = True
            continue
        while anywhere and at < len(lines) and not same_line(line, lines[at]):
            at += 1
        if at >= len(lines) or not same_line(line, lines[at]):
            return f"page:   {line}\noutput: {lines[at] if at < len(lines) else '(nothing)'}"
        at, anywhere = at + 1, False
    return None if anywhere or at == len(lines) else f"page ends\noutput: {lines[at]}"


def printed_anew(expected, actual):
    """The page's text with the lines that were printed, or None where they cannot be told apart."""
    lines, at, anywhere, text = actual.rstrip("\n").split("\n"), 0, False, []
    shapes = [NUMBER.sub("#", line).split() for line in lines]
    for line in expected.rstrip("\n").split("\n"):
        if line.strip() == "...":
            anywhere = True
            text.append(line)
            continue
        if anywhere and NUMBER.sub("#", line).split() in shapes[at:]:
            at += shapes[at:].index(NUMBER.sub("#", line).split())
        elif anywhere or at >= len(lines):
            return None
        text.append(line if MEASURED.search(line) else lines[at])
        at, anywhere = at + 1, False
    return "\n".join(text + ([] if anywhere else lines[at:])) + "\n"


def run_block(language, source, folder, path):
    if language == "python":
        command = [sys.executable, "-c", source]
    else:
        kept = [line for line in source.split("\n") if not re.match(r"(make|sudo)\b", line)]
        command = ["bash", "-euo", "pipefail", "-c", "\n".join(kept)]
    return subprocess.run(command, cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                          env={**os.environ, "PATH": path, "COLUMNS": "80", "LC_ALL": "C.UTF-8"})


def check_page(mercer, page, write=False):
    """Run the blocks of one page; write: put what they print now into it."""
    changes = []
    search = f"{mercer.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    with harness.scratch() as folder:
        pathlib.Path(folder, "your.csv").write_text(YOUR_CSV)
        for language, source, expected, line, needed in blocks(page.read_text(encoding="utf-8")):
            if needed and not (harness.DATA / needed).exists():
                harness.skip(f"{page}:{line}", f"there is no {needed}")
                continue
            if needed and not pathlib.Path(folder, needed).exists():
                pathlib.Path(folder, needed).symlink_to(harness.DATA / needed)
            done = run_block(language, source, folder, search)
            fault = f"status {done.returncode}" if done.returncode else None
            if not fault and expected is not None:
                fault = first_difference(expected, done.stdout)
                if fault and write and printed_anew(expected, done.stdout):
                    changes.append((source, expected, printed_anew(expected, done.stdout)))
            harness.check(f"{page}:{line}", not fault, f"{fault}\n--- block\n{source}--- printed\n{done.stdout}---",
                          quiet=True)
    text = page.read_text(encoding="utf-8")
    for source, old, new in changes:
        start = text.index("```text\n" + old, text.index(source)) + len("```text\n")
        text = text[:start] + new + text[start + len(old):]
    if changes:
        page.write_text(text, encoding="utf-8")


def main():
    mercer = pathlib.Path(sys.argv[1]).resolve()
    for name in sys.argv[2:]:
        if name != "--write":
            check_page(mercer, pathlib.Path(name).resolve(), "--write" in sys.argv)
    return harness.close()


if __name__ == "__main__":
    sys.exit(main())
