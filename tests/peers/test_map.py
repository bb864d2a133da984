#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The map of a fit against a plain NumPy form, and what it is worth on tables.

    test_map.py MERCER DATA [all]

One step by the definition, after Radhakrishnan, Beaglehole, Pandit, Belkin (2024). Tables: steps and form are chosen inside
the training rows, and the error on others must be that of a plain NumPy form within .02 or below it, and never above
that without a map by more than 2 % or one standard error of the difference. By default two small tables, with `all` ten. Prints the table
of docs/concepts/map.md and closes with "N passed, N failed".
"""
import json
import pathlib
import struct
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import call, check, close, output, program, run_parts, scratch, skip  # noqa: E402

MERCER = program()
DATA = pathlib.Path(sys.argv[2]).resolve()
# Table: rows to learn from, error without and with a map of the plain form.
VALUES = {"pumadyn32nm": (.821, .061), "bank32nm": (.202, .160), "ailerons.train": (.174, .157), "pol": (.173, .090)}
CLASSES = {"wdbc": (.013, .013), "ionosphere": (.085, .085), "sonar": (None, None), "ida_image": (.038, .034),
           "ida_splice": (.104, .054), "optdigits.train": (.015, .012)}
QUICK = ("sonar", "ionosphere")


def tensors(path):
    """Arrays of float64 in a model file, and its metadata."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    about = header.pop("__metadata__")
    return about, {name: np.frombuffer(data[8 + size:][slice(*entry["data_offsets"])]).reshape(entry["shape"])
                   for name, entry in header.items() if entry["dtype"] == "F64"}


def step(x, y, sigma, ridge, kernel):
    """M of one step from the unit matrix, of trace d."""
    n, d = x.shape
    r = np.sqrt(((x[:, None] - x[None])**2).sum(2))
    k = np.exp(-r / sigma) if kernel == "exponential" else np.exp(-r**2 / (2 * sigma**2))
    slope = np.divide(k, sigma * r, out=np.zeros_like(k), where=r > 0) if kernel == "exponential" else k / sigma**2
    centred = k - k.mean(0) - k.mean(1)[:, None] + k.mean()
    a = np.linalg.solve(centred + ridge * np.trace(centred) * np.eye(n), y - y.mean(0))
    m = np.zeros((d, d))
    for output_ in a.T:
        gradient = np.einsum("ti,tid->td", slope * output_, x[None] - x[:, None])
        m += gradient.T @ gradient
    return m * d / np.trace(m)


def one_step():
    random = np.random.default_rng(3)
    for kernel in ("exponential", "rbf"):
        for outputs in (1, 3):
            x = random.normal(size=(120, 5))
            y = np.column_stack([np.sin(3 * x[:, c % 2]) * (c + 1) + x[:, 0] for c in range(outputs)])
            names = [f"y{c}" for c in range(outputs)]
            np.savetxt("s.csv", np.column_stack([x, y]), delimiter=",", comments="", fmt="%.17g",
                       header=",".join(list("abcde") + names))
            for form in ("full", "diagonal"):
                output(MERCER, "fit", "s.csv", "-m", "krr", "-k", f"{kernel}:sigma=2", "--target", ",".join(names), "--map",
                       f"agop:steps=1,form={form},ridge=1e-3", "-o", "s.model", "--quiet")
                about, arrays = tensors("s.model")
                if "map" not in about:
                    check(f"{kernel}, {outputs} targets, {form}: a map helps", False)
                    continue
                m = step(x, (y - y.mean(0)) / y.std(0), 2, 1e-3, kernel)
                if form == "full":
                    off = np.abs(arrays["map"] @ arrays["map"].T - m).max()
                    check(f"{kernel}, {outputs} targets: M is that of NumPy to 1e-8", off < 1e-8, f"{off:.1e}")
                    off = np.abs(arrays["z"] - x @ arrays["map"]).max()
                    check("points are kept as the kernel sees them", off < 1e-12, f"{off:.1e}")
                off = np.abs(arrays["map_weights"] - np.diag(m)).max()
                check(f"{kernel}, {outputs} targets, {form}: weights are its diagonal", off < 1e-8, f"{off:.1e}")
                told = json.loads(output(MERCER, "info", "s.model", "--json"))
                order = [one["column"] for one in told["map_weights"]]
                check("info ranks the columns", order == [list("abcde")[k] for k in np.argsort(-np.diag(m))], order)


def split(name):
    """Training and test rows of a table, as files; and the truth."""
    lines = (DATA / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    rows, header = lines[1:], lines[0].split(",")
    order = np.random.default_rng(1).permutation(len(rows))
    cut = 1800 if name in VALUES else min(1200, int(.6 * len(rows)))
    end = 3300 if name in VALUES else len(rows)
    header[-1] = "answer"
    for part, which in (("learn.csv", order[:cut]), ("test.csv", order[cut:end])):
        pathlib.Path(part).write_text("\n".join([",".join(header)] + [rows[i] for i in which]) + "\n", encoding="utf-8")
    return [rows[i].split(",")[-1] for i in order[cut:end]]


def errors_of(name, truth, *more):
    """Of each test row: its squared error over the variance, or 1 in a wrong class; and the map, if there is one."""
    call(MERCER, "fit", "learn.csv", "-m", "krr", "--scale", "standard", "--target" if name in VALUES else "--label", "answer",
         "-o", "t.model", "--quiet", *more)
    found = output(MERCER, "predict", "t.model", "test.csv").splitlines()[1:]
    about = tensors("t.model")[0]
    if name in VALUES:
        y = np.array(truth, float)
        return (np.array([line.split(",")[0] for line in found], float) - y)**2 / y.var(), about.get("map")
    return np.array([line.split(",")[0] != true for line, true in zip(found, truth)], float), about.get("map")


def tables():
    names = list(VALUES) + list(CLASSES) if "all" in sys.argv[3:] else QUICK
    print("| table | without | with | map |\n|---|---|---|---|")
    for name in names:
        if not (DATA / f"{name}.csv").exists():
            skip(name, "the data are not there")
            continue
        truth = split(name)
        plain, _ = errors_of(name, truth)
        ours, how = errors_of(name, truth, "--map", "agop")
        print(f"| {name.split('.')[0]} | {plain.mean():.3f} | {ours.mean():.3f} | {how or 'none'} |", flush=True)
        for errors, expected in zip((plain, ours), (VALUES if name in VALUES else CLASSES)[name]):
            if expected is not None:
                check(f"{name}: {errors.mean():.3f}, of the plain form {expected}", errors.mean() < expected + .02)
        worse = np.mean(ours - plain)  # one row more is one standard error exactly
        error = np.std(ours - plain, ddof=1) / np.sqrt(len(plain))
        check(f"{name}: not worse than without", worse <= max(.02 * plain.mean(), error) * (1 + 1e-9), f"{worse:.4f}, error {error:.4f}")


with scratch():
    run_parts([one_step, tables], [word for word in sys.argv[3:] if word != "all"])
sys.exit(close())
