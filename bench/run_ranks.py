#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fits and evaluations on several ranks, and what they would be on many nodes: run_ranks.py [--build BUILD] [--quick]

Writes RESULTS-ranks.md and results-ranks.json to BUILD/bench and prints the former. Measured are memory, bytes sent and
processor time of kernel PCA of a ring on 1, 2 and 4 ranks of Open MPI on this machine, the time of one rank with and
without a launcher, and of an evaluation on one and two ranks, one thread each. From these a model tells time and memory
of many more rows on many nodes that are like 32 of these processors, in three networks. Each aim stands beside its
figure.

--quick makes it a smoke test on small data. Without the mpirun of Open MPI, or without a module for it in the build,
everything is left out with a line. The status is 1 when a measurement failed, or models of different numbers of ranks
differ.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import time

import numpy as np

from common import RING_GAMMA, judge_parts, markdown, rbf, ring, seconds

THREADS = 1
COMPONENTS, POOL = 10, 128
AIM_MEMORY, AIM_EVALUATE, AIM_ALONE = .55, 1.8, 1.02
REPEATS = 120  # an evaluation of half a minute, beside which the start of a launcher is little
CORES = 32  # of a node of the model
NETWORKS = {"100 Gb/s, 2 us": (12.5e9, 2e-6), "10 Gb/s, 30 us": (1.25e9, 3e-5), "1 Gb/s, 100 us": (1.25e8, 1e-4)}
ROWS, NODES = 10**9, (100, 300, 1000)
MESSAGES = 6  # of a step: three exchanges and their agreements


def command(bench, words):
    """A call of the tool on one thread, and its environment."""
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    if bench.kernels:
        environment.setdefault("OPENBLAS_CORETYPE", bench.kernels)
    return [str(word) for word in (bench.build / "mercer", *words, "--threads", THREADS)], environment


def launch(bench, ranks, words):
    """(report, error, processor seconds of all ranks, wall seconds); ranks = 0: no launcher."""
    prefix = [bench.mpirun, "-q", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks)] if ranks else []
    call, environment = command(bench, words)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([*prefix, *call], capture_output=True, text=True, check=False, env=environment,
                          stdin=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return bench.checked(f"{ranks} ranks: {' '.join(map(str, words))}",
                         {"text": done.stdout} if done.returncode == 0 else done.stderr.strip()[-300:]), spent, wall


def sent_bytes(text):
    """What the summary says, `..., 5.4 MB sent per rank`, in units of 1024."""
    number, unit = text.rsplit("\n", 2)[-2].split(", ")[-1].split()[:2]
    return float(number) * 1024 ** ("bytes", "kB", "MB", "GB").index(unit)


def per_step(rows, ranks, columns, d=2):
    """Bytes that a rank sends in a step, docs/scale-out.md: rows left, rows of the pool, pivots."""
    return 8 * min(rows / 1024, 1024) + 2072 * ranks + 8 * POOL * (d + columns / 2 + 1) + 2184


def once(rows, columns, d=2):
    """Bytes beside those of the steps: means, F'F, eigenvectors, points of the model."""
    parts = min(rows / 1024, 1024)
    wide = 8 * columns**2 * parts
    return 16 * columns * parts + (wide if wide < 2**23 else 16 * columns**2) + 8 * columns * (COMPONENTS + columns + d)


def by_tables(rows, ranks, columns):
    """The least and the most bytes that a rank sends: of 16 columns per step, and of 4."""
    return [once(rows, columns) + columns / pivots * per_step(rows, ranks, columns) for pivots in (16, 4)]


def measure_fits(bench):
    """[rows, ranks, columns of the factor, memory per rank, bytes sent, processor seconds]"""
    lines = []
    for rows in (3000,) if bench.quick else (250000, 1000000, 4000000):
        data, model, expected = bench.data(f"ranks{rows}", ring(rows)), bench.folder / "ranks.model", None
        for ranks in (1, 2) if rows > 1000000 else (1, 2, 4):
            words = ["fit", data, "-m", "kpca", "-k", rbf(RING_GAMMA), "-n", COMPONENTS, "--memory", "16G"]
            answer, spent, _ = launch(bench, ranks, [*words, "-o", model, "--json", "--quiet"])
            if not answer:
                return lines
            told = json.loads(answer["text"])
            content = model.read_bytes()
            expected = expected or content
            bench.expect(content == expected, f"{rows} rows: the model of {ranks} ranks is another one")
            sent = sent_bytes(launch(bench, ranks, words)[0]["text"]) if ranks > 1 else None
            least, most = by_tables(rows, ranks, told["store_rank"])
            bench.expect(not sent or .9 * least < sent < 1.1 * most,
                         f"{rows} rows, {ranks} ranks: {sent} bytes sent per rank, {least:.0f} to {most:.0f} expected")
            lines.append([rows, ranks, told["store_rank"], told["peak_memory_bytes"], sent, spent])
        (bench.folder / f"ranks{rows}.npy").unlink()
        bench.raw.pop(data).unlink()
    largest = [line for line in lines if line[0] == lines[-1][0]]
    bench.judge(f"memory per rank, 2 ranks over 1, {largest[0][0]:,} rows", [largest[1][3] / largest[0][3]], AIM_MEMORY)
    return lines


def measure_alone(bench):
    """[processor seconds of one rank without the launcher, and under it], each the least of runs in turn: how long the
    system takes to hand out pages differs more from run to run than anything that is looked for here."""
    data = bench.data("alone", ring(2000 if bench.quick else 200000))
    words = ["fit", data, "-m", "kpca", "-k", rbf(RING_GAMMA), "-n", COMPONENTS, "--quiet"]
    rounds = [[launch(bench, ranks, words)[1] for ranks in (0, 1)] for _ in range(1 if bench.quick else 9)]
    without, one = np.min(rounds, axis=0).tolist()
    bench.judge("processor time of one rank over that without a launcher", [one / without], AIM_ALONE)
    return [without, one]


def at_once(bench, words):
    """Wall seconds of two programs that know nothing of each other."""
    call, environment = command(bench, words)
    start = time.monotonic()
    programs = [subprocess.Popen(call, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment) for _ in range(2)]
    bench.expect(all([program.wait() == 0 for program in programs]), "two evaluations at once: one failed")
    return time.monotonic() - start


def measure_evaluate(bench):
    """[wall seconds on one rank, on two, of two programs at once], the medians of rounds in turn"""
    random = np.random.default_rng(1)
    x = random.normal(size=(200 if bench.quick else 900, 20))
    data = bench.data("evaluate", np.c_[x, x[:, 0] * x[:, 1] + x[:, 2] + random.normal(size=len(x)) / 10])
    words = ["evaluate", data, "--target", 21, "-m", "kpls", "-n", 8, "--tune=kernel.sigma=2:16:*1.5", "--repeats",
             1 if bench.quick else REPEATS, "--quiet"]
    rounds = [(launch(bench, 1, words)[2], launch(bench, 2, words)[2], at_once(bench, words))
              for _ in range(1 if bench.quick else 3)]
    one, two, both = np.median(rounds, axis=0).tolist()
    bench.judge("evaluation on two ranks, times faster than on one", [one / two], AIM_EVALUATE, most=False)
    return [one, two, both]


def model(fits):
    """{figures}, and [nodes, columns, memory of F per node, arithmetic, then per network: exchanges, share]"""
    alone = {line[0]: line for line in fits if line[1] == 1}
    rows = sorted(alone)
    if len(rows) < 2:
        return {}, []
    growth = (alone[rows[-1]][2] - alone[rows[0]][2]) / np.log2(rows[-1] / rows[0])
    columns = alone[rows[-1]][2] + growth * np.log2(ROWS / rows[-1])
    rate = alone[rows[-1]][5] / (rows[-1] * alone[rows[-1]][2] ** 2)  # seconds per row and column squared
    sent = next(line for line in reversed(fits) if line[4])
    steps = max(1.0, (sent[4] - once(sent[0], sent[2])) / per_step(sent[0], sent[1], sent[2]))
    pivots = sent[2] / steps
    lines = []
    for nodes in NODES:
        work = rate * ROWS * columns**2 / nodes / CORES
        lines.append([nodes, columns, 8 * columns * ROWS / nodes, work])
        for width, wait in NETWORKS.values():
            hops = 2 * np.ceil(np.log2(nodes))
            taken = columns / pivots * (MESSAGES * hops * wait + 2 * per_step(ROWS, nodes, columns) / width)
            taken += 2 * (16 * columns**2 + 16 * columns * 1024) / width + 4 * hops * wait
            lines[-1] += [taken, taken / (taken + work)]
    return {"growth": growth, "rate": rate, "pivots": pivots}, lines


def measure(bench):
    bench.mpirun = shutil.which("mpirun.openmpi")
    if not bench.mpirun or not (bench.build / "mpi-openmpi.so").exists():
        bench.leave_out("everything: no mpirun of Open MPI, or no module for it")
        return {"fits": [], "alone": [], "evaluate": [], "model": [], "constants": {}}
    found = {"fits": measure_fits(bench), "alone": measure_alone(bench), "evaluate": measure_evaluate(bench)}
    found["constants"], found["model"] = model(found["fits"])
    return found


def report(found):
    parts = ["## Kernel PCA of a ring\n", "`-k rbf:sigma=4 -n 10`, one thread per rank. All ranks write the same model, or the "
             "run fails.\n",
             markdown(["rows", "ranks", "columns of F", "memory per rank", "sent per rank", "by the tables of scale-out.md",
                       "processor time, all ranks"],
                      [[f"{rows:,}", ranks, columns, f"{memory / 1e9:.2f} GB", f"{sent / 1e6:.1f} MB" if sent else "",
                        " to ".join(f"{bytes_ / 1e6:.1f}" for bytes_ in by_tables(rows, ranks, columns)) + " MB" if sent else "",
                        seconds(spent)] for rows, ranks, columns, memory, sent, spent in found["fits"]])]
    if found["evaluate"]:
        one, two, both = found["evaluate"]
        parts += ["## An evaluation\n", f"`evaluate -m kpls --tune`, 900 x 20, {REPEATS} times five folds, one thread per rank.\n",
                  markdown(["", "wall time", "work per time"],
                           [["one rank", seconds(one), "1.00"], ["two ranks", seconds(two), f"{one / two:.2f}"],
                            ["two programs at once, twice the work", seconds(both), f"{2 * one / both:.2f}"]])]
    if found["model"]:
        told = found["constants"]
        parts += [f"## {ROWS:,} rows on many nodes\n",
                  f"A model, not a measurement: {1e9 * told['rate']:.3g} ns of a processor per row and column squared (the largest "
                  f"fit above), {CORES} such processors per node, {told['growth']:.1f} columns more whenever the rows double, "
                  f"{told['pivots']:.1f} pivots per step (from the bytes sent), {MESSAGES} messages per step over a tree.\n",
                  markdown(["nodes", "columns of F", "F per node", "arithmetic"] +
                           [text for name in NETWORKS for text in (name, "share")],
                           [[nodes, f"{columns:.0f}", f"{memory / 1e9:.1f} GB", seconds(work)] +
                            [text for taken, share in zip(rest[::2], rest[1::2]) for text in (seconds(taken), f"{100 * share:.1f} %")]
                            for nodes, columns, memory, work, *rest in found["model"]])]
    return parts


if __name__ == "__main__":
    sys.exit(judge_parts(__doc__, "several ranks", THREADS, ("kpca",), measure, report, "-ranks"))
