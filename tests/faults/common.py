# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of faults, crashes and kills share: commands that write files, and runs of them in a folder of
their own, after which every file is the old one or the new one, whole."""
import argparse
import concurrent.futures
import gzip
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

MERCER = harness.program()
KINDS = ("open", "descriptor", "read", "write", "fsync", "rename", "close", "mmap", "malloc", "thread")
PAGE = struct.Struct("16q q q 512s 256s")  # struct page of faults.c
FIT = ("-m", "kpca", "-k", "rbf:sigma=3", "-n", "3")
STREAM = "ikpca:components=4,first=20,block=30,library=30"
EVALUATE = ("evaluate", "kinds.csv", "-m", "kpca", "-k", "rbf", "-n", "3", "--head", "knn:k=3", "--cv", "3",
            "--tune", "kernel.sigma=1,3", "--inner", "2", "--seed", "1", "--journal", "trials")


def arguments():
    """What the command line says: which cases, or all; the long run or the quick one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="FAULT", help="one fault, for example 'write 3 ENOSPC'")
    parser.add_argument("-j", dest="jobs", type=int, default=2)
    return parser.parse_args()


class Case:
    """A command, the files it reads, and the one it replaces; beside that one nothing may appear."""

    def __init__(self, name, words, inputs, output, leaves=(), old=True, again=(), untold=(), kinds=KINDS):
        self.name, self.inputs, self.output, self.leaves = name, inputs, output, set(leaves)
        self.kinds = kinds  # of calls that fail
        self.untold = untold  # faults of calls that bring bytes to the disk, and that need not be told
        self.words = [*words, "--quiet", "--threads", "2"]
        self.has_old = old  # whether there is a file to be replaced
        self.again = [*self.words, *again]  # what goes on after a crash; leaves: what may stay for it
        self.old = self.new = None  # bytes of the output before and after
        self.versions = []  # and all that it is meanwhile, in order: checkpoints
        self.before = {}  # all files before it runs


CASES = [
    Case("fit", ["fit", "kinds.csv", *FIT, "--head", "knn:k=3", "-o", "out.model"], ["kinds.csv"], "out.model"),
    Case("fit-svm", ["fit", "kinds.csv.gz", *FIT, "--head", "svm", "-o", "new.model"], ["kinds.csv.gz"],
         "new.model", old=False),
    Case("fit-threads", ["fit", "many.csv", "-m", "kpca", "-k", "rbf:sigma=3", "-n", "200", "-o", "many.model"],
         ["many.csv"], "many.model", old=False, kinds=("mmap", "malloc", "thread")),
    Case("transform", ["transform", "ring.model", "rows.npz", "-o", "out.npy"], ["ring.model", "rows.npz"],
         "out.npy"),
    Case("update", ["update", "stream.model", "tail.csv", "--checkpoint", "60"], ["tail.csv"], "stream.model",
         again=["--resume"]),
    Case("evaluate", [*EVALUATE, "--save-predictions", "out.csv"], ["kinds.csv"], "out.csv", leaves=["trials.0"],
         untold=["fsync 3"]),  # of the journal: lines that are lost are computed again
    Case("report", ["report", "ring.model", "kinds.csv", "-o", "out.html"], ["ring.model", "kinds.csv"], "out.html"),
]


def mercer(*words, folder, env=None, timeout=60):
    return subprocess.run([MERCER, *words], cwd=folder, env=env, timeout=timeout, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")


def must(*words, folder):
    done = mercer(*words, "--quiet", folder=folder)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"


def make_files(folder):
    """What the commands read, and older versions of what they write."""
    rng = np.random.default_rng(1)
    kind = np.arange(60) % 3
    x = rng.normal(size=(60, 3)) + 2 * kind[:, None]
    text = "p,q,r,label\n" + "".join(",".join(map(repr, row)) + f",k{k}\n" for row, k in zip(x.tolist(), kind))
    (folder / "kinds.csv").write_text(text)
    (folder / "kinds.csv.gz").write_bytes(gzip.compress(text.encode()))
    np.savez_compressed(folder / "rows.npz", x=np.tile(x, (100, 1)))
    np.savetxt(folder / "many.csv", rng.normal(size=(450, 2)), delimiter=",", fmt="%.6g")
    must("fit", "kinds.csv", *FIT, "-o", "ring.model", folder=folder)
    lines = "".join(",".join(map(repr, row)) + "\n" for row in rng.normal(size=(260, 3)).tolist())
    (folder / "tail.csv").write_text("a,b,c\n" + lines)
    lines = "".join(",".join(map(repr, row)) + "\n" for row in rng.normal(size=(80, 3)).tolist())
    (folder / "head.csv").write_text("a,b,c\n" + lines)  # other rows, or --resume would pass them over
    must("fit", "head.csv", "-m", STREAM, "-k", "rbf:sigma=2", "-o", "stream.model", folder=folder)
    must("fit", "kinds.csv", *FIT[:-1], "2", "-o", "out.model", folder=folder)
    must("transform", "ring.model", "kinds.csv", "-o", "out.npy", folder=folder)
    must("report", "ring.model", "-o", "out.html", folder=folder)
    (folder / "out.csv").write_text("an older file\n")


def files_of(folder):
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}


def put_files(folder, files):
    for name, data in files.items():
        (folder / name).write_bytes(data)


def versions_of(case, module):
    """Each version of the output in turn: what is there when the first, second, ... rename fails."""
    versions = []
    for k in range(1, 1000):
        with workplace(case) as folder:
            page = run_with(case, module, f"rename {k} EIO", folder)[2]
            versions.append(files_of(folder).get(case.output))
        if not page.fired:
            return versions


def prepare(module, wanted=()):
    """The cases whose names are wanted, or all, with their files and what they give."""
    cases = [case for case in CASES if not wanted or case.name in wanted]
    with tempfile.TemporaryDirectory(prefix="mercer-faults-") as place:
        make_files(pathlib.Path(place))
        files = files_of(pathlib.Path(place))
    for case in cases:
        names = case.inputs + ([case.output] if case.has_old else [])
        case.before = {name: files[name] for name in names}
        case.old = files[case.output] if case.has_old else None
        with workplace(case) as folder:
            done = mercer(*case.words, folder=folder)
            assert done.returncode == 0, f"{case.name}: {done.stderr}"
            case.new = (folder / case.output).read_bytes()
        case.versions = versions_of(case, module)
        assert case.versions[0] == case.old and case.versions[-1] == case.new != case.old, case.name
    return cases


class workplace:
    """A folder with the files of a case, or with others; it goes in the end."""

    def __init__(self, case, files=None):
        self.files = case.before if files is None else files

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mercer-faults-"))
        put_files(self.folder, self.files)
        return self.folder

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


class Page:
    """What faults.c noted of a run."""

    def __init__(self, path):
        *numbers, modules, leak = PAGE.unpack(path.read_bytes()[:PAGE.size])
        self.calls, self.fired, self.leaked = dict(zip(KINDS, numbers)), numbers[16], numbers[17]
        self.modules = modules.rstrip(b"\0").decode().split()
        self.leak = leak.rstrip(b"\0").decode()


def run_with(case, module, what, folder, timeout=30):
    """Run a command while a call of it fails; (status or "hang", standard error, page)."""
    with tempfile.NamedTemporaryFile(prefix="mercer-page-") as page:
        page.write(bytes(PAGE.size))
        page.flush()
        env = harness.fault(module, what, MERCER_FAULT_PAGE=page.name, MERCER_FAULT_BLAS="1")
        try:
            done = mercer(*case.words, folder=folder, env=env, timeout=timeout)
            status, error = done.returncode, done.stderr
        except subprocess.TimeoutExpired as why:
            status, error = "hang", (why.stderr or b"").decode(errors="replace")
        return status, error, Page(pathlib.Path(page.name))


def is_one_line(text):
    return re.fullmatch(r"mercer: [^\n]{10,}\n", text) is not None


def wrong_files(case, folder, whole_only=False):
    """What is wrong with the files after a run, or "". whole_only: what a run that was killed may leave is fine."""
    found = files_of(folder)
    if found.get(case.output) not in case.versions:
        return f"{case.output} is neither the old nor the new file"
    if any(found.get(name) != case.before[name] for name in case.inputs):
        return "a file that was only read has changed"
    rest = set(found) - set(case.before) - {case.output} - case.leaves  # none of them: locks, temporaries
    return f"{', '.join(sorted(rest))} left behind" if rest and not whole_only else ""


def in_parallel(jobs, function, arguments):
    """The results of a function for each of the arguments, in their order, a few at a time."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(function, arguments)


class Tally:
    """Counts by name, from several threads."""

    def __init__(self):
        self.counts, self.lock = {}, threading.Lock()

    def add(self, name, count=1):
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + count

    def __getitem__(self, name):
        return self.counts.get(name, 0)

    def text(self):
        return ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
