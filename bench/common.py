# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts run_*.py share: running programs, data sets, tables, the page in docs/."""
import argparse
import functools
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import load_digits

BENCH = pathlib.Path(__file__).resolve().parent
PYTHON = sys.executable
DOCS_MARK = "<!-- what follows is written by `make bench DOCS=1` -->"
MILLION_MEMORY = 4 << 30

RING_GAMMA, DIGITS_GAMMA = 1 / 32, 1 / 64  # the ring's sigma is 4


class Bench:
    """Runs measurements, each in a process of its own."""

    def __init__(self, build, quick):
        self.build, self.quick = build, quick
        self.folder = build / "bench"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.failures = 0
        self.raw = {}  # NPY file: the same rows as R reads them
        # What the program takes, our other programs are to take too: it starts itself again where
        # OpenBLAS does not know the processor, they do not.
        named = re.search(r", (\w+) kernels", " ".join(blas(build)))
        self.kernels = named[1] if named else ""

    def data(self, name, rows):
        """Write rows as NPY, and raw for R; return the NPY's path."""
        path = self.folder / f"{name}.npy"
        np.save(path, rows)
        self.raw[path] = path.with_suffix(f".{rows.shape[0]}x{rows.shape[1]}")
        rows.tofile(self.raw[path])
        return path

    def run(self, command, threads, cap):
        """(JSON answer or error text, wall seconds) of a program, ended after cap seconds."""
        environment = dict(os.environ)
        if str(command[0]).startswith(str(self.build)) and self.kernels:
            environment.setdefault("OPENBLAS_CORETYPE", self.kernels)
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            environment[name] = str(threads)
        start = time.perf_counter()
        try:
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                                  env=environment, timeout=cap, check=False)
        except subprocess.TimeoutExpired:
            return f"more than {cap} s", cap
        wall = time.perf_counter() - start
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or ["no message"])[-1], wall
        return (json.loads(done.stdout) if done.stdout.startswith("{") else {}), wall

    def program(self, name):
        """Path of one of our own programs."""
        return self.build / "bench" / name

    def fit(self, data, method, kernel, components, threads, repeats, center="-", store="auto",
            memory=0, new=None, options=()):
        """Answer of bench_mercer: fit, and transform of the new rows, alone. options: words KEY=VALUE."""
        return self.run([self.program("bench_mercer"), data, method, kernel, components, center, store,
                         threads, repeats, memory, *([new] if new else []), *options], threads, 300)[0]

    def sklearn_fit(self, data, method, gamma, components, threads, repeats, new=None, cap=120, python=PYTHON):
        """(answer, wall seconds) of peer_sklearn.py."""
        return self.run([python, BENCH / "peer_sklearn.py", method, data, gamma, components, threads,
                         repeats, *([new] if new else [])], threads, cap)


class Judge(Bench):
    """Measurements with aims: what was left out, and which aims were met."""

    def __init__(self, build, quick, methods):
        super().__init__(build, quick)
        self.left_out, self.aims = [], []
        self.methods = {name for name in methods if self.has(name)}

    def has(self, method):
        there = isinstance(self.run([self.build / "mercer", "methods", method], 1, 60)[0], dict)
        if not there:
            self.leave_out(f"method {method}: not in this build")
        return there

    def leave_out(self, what):
        self.left_out.append(what)
        print(f"  left out: {what}", file=sys.stderr, flush=True)

    def checked(self, what, answer):
        """The answer, or None with a line when the program failed."""
        good = isinstance(answer, dict)
        self.failures += not good
        print(f"  {what}{'' if good else ': ' + answer}", file=sys.stderr, flush=True)
        return answer if good else None

    def fastest_fit(self, what, data, *words, threads=2, repeats=1, cap=600):
        """The report of the fastest of some fits by the tool."""
        best = None
        for _ in range(repeats):
            answer, _ = self.run([self.build / "mercer", "fit", data, "--threads", threads, "--json", "--quiet", *words],
                                 threads, cap)
            answer = self.checked(what, answer)
            if not answer:
                return None
            best = answer if best is None or answer["seconds"] < best["seconds"] else best
        return best

    def expect(self, good, what):
        if not good:
            self.failures += 1
            print(f"  WRONG: {what}", file=sys.stderr, flush=True)

    def judge(self, what, figures, limit, most=True):
        """Keep the worst of the figures beside its aim: at most the limit, or at least."""
        figures = [figure for figure in figures if figure is not None]
        if figures:
            worst = max(figures) if most else min(figures)
            met = sum(figure <= limit if most else figure >= limit for figure in figures)
            self.aims.append([what, f"{'at most' if most else 'at least'} {limit}", f"{worst:.3g}",
                              f"{met} of {len(figures)}"])


@functools.cache
def has_kernlab():
    """Whether R is there, and this package of it."""
    ask = ["Rscript", "-e", "quit(status = !requireNamespace('kernlab', quietly = TRUE))"]
    return bool(shutil.which("Rscript")) and subprocess.run(ask, capture_output=True, check=False).returncode == 0


def yes(value):
    return "yes" if value else "no"


def exponent(points):
    """Slope of the line through the logarithms of (x, y) by least squares; None for fewer than two."""
    if len({x for x, _ in points}) < 2:
        return None
    return float(np.polyfit(*np.log(np.array(points)).T, 1)[0])


def ring(rows):
    """A circle of radius 8 with unit noise."""
    random = np.random.default_rng(1)
    angle = random.uniform(0, 2 * np.pi, rows)
    return 8 * np.column_stack([np.cos(angle), np.sin(angle)]) + random.normal(size=(rows, 2))


def rbf(gamma):
    """Our name of the kernel exp(-gamma |x - y|^2)."""
    return f"rbf:gamma={gamma!r}"


def digits(quick):
    """The images of digits, and new ones: those between two neighbours, so that they are nobody's
    training rows."""
    images = load_digits().data / 16
    images = images[:300] if quick else images
    return images, (images + np.roll(images, 1, 0)) / 2


def rough_images(quick):
    """Images of 28 x 28 in single precision that no few rows span: digits enlarged, moved and with noise."""
    rows, random = 300 if quick else 10000, np.random.default_rng(1)
    small = load_digits().images / 16
    large = np.zeros((rows, 28, 28), np.float32)
    for image in large:
        down, right = random.integers(0, 5, 2)
        image[down:down + 24, right:right + 24] = np.kron(small[random.integers(len(small))], np.ones((3, 3)))
    return (large + 0.2 * random.normal(size=large.shape)).astype(np.float32).reshape(rows, -1)


def newest_python(build):
    """A Python with the newest scikit-learn; None where it cannot be had."""
    done = subprocess.run([BENCH.parent / "tools" / "newest-python", build / "python" / "tests" / "newest"],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(f"  left out: the newest scikit-learn: {done.stdout.strip()}", file=sys.stderr, flush=True)
        return None
    return done.stdout.strip()


def measure_limits(bench):
    """{threads: rates}"""
    limits = {}
    for threads in (1, 2):
        command = [bench.program("bench_limits"), threads] + ["quick"] * bench.quick
        limits[threads], _ = bench.run(command, threads, 120)
        if not isinstance(limits[threads], dict):
            sys.exit(f"bench_limits: {limits[threads]}")
    return limits


def seconds(value):
    if value is None:
        return ""
    if value < 1e-3:
        return f"{1e6 * value:.0f} us"
    return f"{1e3 * value:.1f} ms" if value < 0.1 else f"{value:.2f} s"


def times(value):
    """A ratio: at least 10 without decimals."""
    return "" if value is None else f"{value:.0f}x" if value >= 10 else f"{value:.2g}x"


def markdown(header, lines):
    table = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(table + ["| " + " | ".join(map(str, line)) + " |" for line in lines]) + "\n"


def blas(build):
    """What `mercer --version` says of BLAS and the processor's vectors, a line each."""
    done = subprocess.run([build / "mercer", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[1:]


def machine(build):
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")),
                     platform.machine())
    import scipy
    import sklearn
    return (f"{model}, {os.cpu_count()} processors; {'; '.join(blas(build))}; Python {platform.python_version()}, numpy "
            f"{np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}; load "
            f"when the run began {os.getloadavg()[0]:.1f}")


def demoted(text):
    """The report as a part of a page: its headings one level down."""
    return "\n".join("#" + line if line.startswith("#") else line for line in text.splitlines()) + "\n"


def limits_table(limits):
    names = {"read_gbs": "read memory, GB/s", "dgemm_gflops": "dgemm, GFLOP/s",
             "dsymv_gflops": "dsymv, GFLOP/s", "exp_mps": "vectorised exp in cache, millions/s"}
    return markdown(["", "1 thread", "2 threads"],
                    [[text, f"{limits[1][key]:.4g}", f"{limits[2][key]:.4g}"]
                     for key, text in names.items()])


def parse_options(about, extend=lambda parser: None):
    """Options of the command line; extend(parser) adds those of one script."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=BENCH.parent / "build")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true", help="put the results into docs/")
    extend(parser)
    options = parser.parse_args()
    options.build = options.build.resolve()
    return options


def publish(bench, options, text, results, suffix=""):
    """Write and print the report, put it into its page, and return the status of the script."""
    (bench.folder / f"RESULTS{suffix}.md").write_text(text)
    (bench.folder / f"results{suffix}.json").write_text(json.dumps(results, indent=1) + "\n")
    if options.docs:
        page = BENCH.parent / "docs" / f"BENCH{suffix}.md"
        page.write_text(page.read_text().split(DOCS_MARK)[0] + DOCS_MARK + "\n\n" + demoted(text))
    print(text)
    if bench.failures:
        print(f"bench: {bench.failures} measurements failed or disagree", file=sys.stderr)
    return 1 if bench.failures else 0


def judge_parts(about, title, threads, methods, measure, report, suffix):
    """A script of one page: options, limits, {part: figures} from measure(bench), and the page around the
    tables that report(figures) gives; its status."""
    options = parse_options(about)
    start, where = time.monotonic(), machine(options.build)
    bench = Judge(options.build, options.quick, methods)
    limits = measure_limits(bench)
    found = measure(bench)
    taken = time.monotonic() - start
    parts = [f"# Benchmark: {title}\n", f"{where}; {taken:.0f} s in all, {threads} threads unless told.\n"]
    if bench.left_out:
        parts += ["Left out: " + "; ".join(bench.left_out) + ".\n"]
    parts += ["## Aims\n", "The worst figure of each kind, and how many of them meet the aim.\n",
              markdown(["figure", "aim", "worst", "met"], bench.aims), *report(found),
              "## The machine's limits\n", limits_table(limits)]
    return publish(bench, options, "\n".join(parts),
                   {"machine": where, "limits": limits, "aims": bench.aims, **found}, suffix)
