#!/usr/bin/python3
"""Streams: published data sets against kernel PCA, and a million rows in flat memory and time.

Usage: run_stream_tests.py MERCER DATA [WORD]. Runs the parts whose names contain WORD, prints a line
per test and closes with "N passed, N failed". DATA is the folder of the image sets (Frey faces,
teapots, Extended Yale B); what is not there is left out, and said.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

MERCER = os.path.abspath(sys.argv[1])
DATA = sys.argv[2]
PASSED, FAILED = 0, 0


def check(name, good, detail=""):
    global PASSED, FAILED
    PASSED, FAILED = PASSED + bool(good), FAILED + (not good)
    print(f"{'ok  ' if good else 'FAIL'} {name}: {detail}", flush=True)


def run(*words):
    """Run the tool with --json; return the report."""
    done = subprocess.run([MERCER, *map(str, words), "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def fit(folder, x, method, kernel):
    """Report of a fit and the features of its rows."""
    data, model, out = (os.path.join(folder, name) for name in ("x.npy", "x.model", "f.npy"))
    np.save(data, x)
    report = run("fit", data, "-m", method, "-k", kernel, "-o", model)
    run("transform", model, data, "-o", out)
    return report, np.load(out)


def stream(folder, x, rank, library, kernel, first=10, block=30):
    method = f"ikpca:components={rank},rank={rank},library={library},first={first},block={block}"
    return fit(folder, x, method, kernel)


def agreement(a, b, count=10):
    """|correlation| of the first components."""
    return np.array([abs(np.corrcoef(a[:, j], b[:, j])[0, 1]) for j in range(count)])


def subspace(found, features, values):
    """(Components before the widest gap of the spectrum, cosine of the largest principal angle between theirs)."""
    cut = 4 + int(np.argmax(values[3:-1] / values[4:]))
    a, b = (np.linalg.qr(f[:, :cut] - f[:, :cut].mean(0))[0] for f in (found, features))
    return cut, np.linalg.svd(a.T @ b, compute_uv=False).min()


def compare(folder, name, x, kernel, batch, cases, blocks=30):
    """Streams against kernel PCA: smallest correlation of ten components, eigenvalues."""
    report, features = batch
    wanted = np.array(report["spectrum"][:10])
    for rank, library, least, within in cases:
        got, found = stream(folder, x, rank, library, kernel, block=blocks)
        smallest = agreement(found, features).min()
        apart = np.abs(np.array(got["spectrum"][:10]) / wanted - 1).max()
        cut, cosine = subspace(found, features, wanted)
        check(f"{name}, rank {rank}, library {library}, blocks of {blocks}",
              smallest >= least and apart <= within and cosine >= least,
              f"subspace of {cut} within 1 - {1 - cosine:.1e}, smallest correlation {smallest:.5f} (at least {least}), eigenvalues within {apart:.1e}"
              f" (at most {within}), {got['seconds']:.2f} s, kernel PCA {report['seconds']:.2f} s")


# ------------------------------------------------------------------------------------------ sets

def swiss_roll():
    """The perforated roll of 800 points without random numbers, every column standardised."""
    a, points, i = 1 / 1.32471795724474602596, [], 0
    while len(points) < 800:
        i += 1
        t, h = 1.5 * np.pi * (1 + 2 * (i * a % 1)), 21 * (i * a * a % 1)
        if not (9 < t < 12 and 9 < h < 14):
            points.append((t * np.cos(t), h, t * np.sin(t)))
    x = np.array(points)
    return (x - x.mean(0)) / x.std(0)


ROLL = [84.2102, 81.0641, 76.7647, 44.5461, 41.8040, 40.5218, 35.8823, 29.5628, 23.2443, 20.0312]


def roll(folder):
    x = swiss_roll()
    batch = fit(folder, x, "kpca:components=10", "rbf:sigma=1")
    apart = np.abs(np.array(batch[0]["spectrum"]) - ROLL).max()
    check("roll: eigenvalues of kernel PCA", apart < 1e-4, f"within {apart:.1e}")
    compare(folder, "roll", x, "rbf:sigma=1", batch,
            [(20, 60, .995, 2e-2), (30, 90, .999, 5e-3)])


def load(name):
    path = os.path.join(DATA, name)
    if os.path.exists(path):
        return np.load(path)
    print(f"skip {name} is not there", flush=True)
    return None


def teapots(folder):
    x = load("teapots100_38x50.X.npy")
    if x is None:
        return
    x = x.reshape(100, -1).astype(float)
    kernel = "poly:degree=2,gamma=1,coef0=0"
    batch = fit(folder, x, "kpca:components=10", kernel)
    ratios = np.array(batch[0]["spectrum"])[1:] / batch[0]["spectrum"][0]
    known = [.760, .513, .460, .346, .280, .239, .211, .192, .152]
    check("teapots: eigenvalues of kernel PCA", np.abs(ratios - known).max() < 1e-3, str(ratios.round(3)))
    for block in (30, 10):
        compare(folder, "teapots", x, kernel, batch, [(20, 60, .99, 1e-1), (100, 100, 1 - 1e-8, 1e-10)],
                block)


def frey(folder):
    x = load("frey_28x20.X.npy")
    if x is None:
        return
    x = x.reshape(len(x), -1).astype(float) / 255
    kernel = "poly:degree=2,gamma=1,coef0=0"
    batch = fit(folder, x, "kpca:components=10", kernel)
    ratios = np.array(batch[0]["spectrum"])[1:] / batch[0]["spectrum"][0]
    known = [.620, .597, .422, .258, .174, .161, .134, .115, .107]
    check("Frey: eigenvalues of kernel PCA", np.abs(ratios - known).max() < 1e-3, str(ratios.round(3)))
    compare(folder, "Frey", x, kernel, batch, [(36, 180, .99, 1e-1), (60, 300, .999, 2e-2)])
    # With no more directions than components the last ones drift; that must be said, not hidden.
    got, found = stream(folder, x, 10, 120, kernel)
    each = agreement(found, batch[1])
    said = any("drift" in notice for notice in got["notices"])
    check("Frey, rank 10: the drift is reported", each[:4].min() >= .99 and abs(each[9] - .664) < .02 and said,
          f"correlations {each.round(3)}, notices {got['notices']}")
    # The default, rank twice the components, has nothing to report.
    got, found = fit(folder, x, "ikpca:components=10", kernel)
    check("Frey, default keys", agreement(found, batch[1]).min() >= .97,
          f"smallest correlation {agreement(found, batch[1]).min():.4f}, notices {got['notices']}")


def classify(train, train_labels, test, test_labels):
    """Errors of ten nearest neighbours; a tie goes to the class that owns the nearest."""
    errors = 0
    for row, label in zip(test, test_labels):
        near = np.argsort(((train - row) ** 2).sum(1), kind="stable")[:10]
        votes = {}
        for i in near:
            votes[train_labels[i]] = votes.get(train_labels[i], 0) + 1
        most = max(votes.values())
        errors += next(train_labels[i] for i in near if votes[train_labels[i]] == most) != label
    return errors


def shrink(images):
    """32 x 32 to 20 x 20 by area averages."""
    weights = np.zeros((20, 32))
    for i in range(20):
        for j in range(32):
            weights[i, j] = max(0, min(1.6 * (i + 1), j + 1) - max(1.6 * i, j)) / 1.6
    return np.einsum("ai,nij,bj->nab", weights, images, weights)


# Wrong of 414, plain and sphered, by the known figures: kernel PCA of 500, 600 and 2000 rows, streams of as many,
# a stream of 2000 with a small library, and kernel PCA of 500 rows with all 2000 for the neighbours.
SMALL = "ikpca:components=36,rank=36,library=111,first=10"
LARGE = "ikpca:components=60,rank=60,library=300,first=10"
YALE_COLUMNS = [("kpca:components=36", 500, 500), (LARGE, 500, 500), ("kpca:components=36", 600, 600), (LARGE, 600, 600),
                ("kpca:components=36", 2000, 2000), (LARGE, 2000, 2000), (SMALL, 2000, 2000),
                ("kpca:components=36", 500, 2000)]
YALE = [
    ("poly 2, pixels", False, "poly:degree=2,gamma=1,coef0=0",
     [(314, 207), (314, 202), (299, 198), (300, 199), (262, 119), (266, 122), (271, 125), (266, 123)]),
    ("poly 2, unit images", True, "poly:degree=2,gamma=1,coef0=0",
     [(318, 172), (319, 173), (290, 156), (289, 154), (231, 73), (242, 76), (268, 84), (256, 84)]),
    ("rbf sigma 1, unit images", True, "rbf:sigma=1",
     [(310, 163), (310, 169), (283, 142), (284, 150), (227, 60), (227, 66), (250, 65), (243, 75)]),
    ("rbf sigma 6, pixels", False, "rbf:sigma=6",
     [(313, 194), (316, 194), (301, 183), (302, 175), (267, 120), (266, 120), (284, 120), (273, 121)]),
]


def yale_features(folder, x, rows, method, kernel):
    """36 features of all images by a model of the first rows, plain and of unit deviation on those."""
    train, every, model, out = (os.path.join(folder, name) for name in ("t.npy", "all.npy", "y.model", "y.npy"))
    np.save(train, x[:rows])
    np.save(every, x)
    run("fit", train, "-m", method, "-k", kernel, "-o", model)
    run("transform", model, every, "-o", out)
    features = np.load(out)[:, :36]
    return features, features / features[:rows].std(0)


def yale(folder):
    images, labels = load("yaleb_32x32.X.npy"), load("yaleb_32x32.y.npy")
    if images is None or labels is None:
        return
    order = np.arange(2414) * 1009 % 2414
    pixels = shrink(images.reshape(-1, 32, 32).astype(float)).reshape(2414, 400)[order] / 255
    labels = labels.ravel()[order]
    for name, unit, kernel, known in YALE:
        x = pixels / np.linalg.norm(pixels, axis=1, keepdims=True) if unit else pixels
        found = {}
        for (method, rows, reference), expected in zip(YALE_COLUMNS, known):
            wrong = tuple(classify(f[:reference], labels[:reference], f[2000:], labels[2000:])
                          for f in yale_features(folder, x, rows, method, kernel))
            found[method, rows, reference] = wrong
            width = 15 if method.startswith("ikpca") else 3
            batch = found.get(("kpca:components=36", rows, reference), expected)
            close = [max(abs(w - e) for w, e in zip(wrong, other)) for other in (expected, batch)]
            if method == SMALL:  # plain features lose by the small library: 4 to 37 of 414 in the known figures
                close[1] = abs(wrong[1] - batch[1])
            check(f"Yale B, {name}, {method.split(',')[0]} of {rows}, {reference} neighbours",
                  max(close) <= width,
                  f"wrong {wrong} of 414, expected {expected} +- {width}, kernel PCA {batch}")
        whole, part = found[LARGE, 2000, 2000][1], found["kpca:components=36", 600, 600][1]
        check(f"Yale B, {name}: the whole stream beats kernel PCA of a part", whole <= part - 50,
              f"{whole} and {part} wrong")


# ---------------------------------------------------------------------------------- a long stream

def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
    return 0


def a_million_rows(folder):
    """1,000,000 rows through update: memory and time of a tenth do not grow."""
    rng = np.random.default_rng(1)
    head, model = os.path.join(folder, "head.csv"), os.path.join(folder, "s.model")

    def block(rows):
        x = rng.uniform(-1, 1, rows)
        y = x * x + 0.2 * rng.normal(size=rows)
        return "".join(f"{a:.9g},{b:.9g}\n" for a, b in zip(x, y)).encode()
    with open(head, "wb") as file:
        file.write(block(1000))
    run("fit", head, "-m", "ikpca:components=8,library=45,rank=8", "-k", "rbf:sigma=1", "-o", model)
    child = subprocess.Popen([MERCER, "update", model, "-", "--json"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    seconds, memory = [], []
    for _ in range(10):
        start, peak = time.monotonic(), 0
        for _ in range(100):
            child.stdin.write(block(1000))
            peak = max(peak, resident(child.pid))
        seconds.append(time.monotonic() - start)
        memory.append(peak)
    child.stdin.close()
    report = json.loads(child.stdout.read())
    check("a million rows: all learnt", child.wait() == 0 and report["rows"] == 1001000,
          f"{report['rows']} rows in {report['seconds']:.1f} s")
    check("a million rows: memory of the last tenth within 5 % of the first",
          memory[-1] <= 1.05 * memory[0], f"{memory[0] / 1e6:.1f} and {memory[-1] / 1e6:.1f} MB")
    check("a million rows: time of a tenth stays", seconds[-1] <= 1.5 * np.median(seconds),
          f"{seconds[0]:.1f} and {seconds[-1]:.1f} s")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for part in (roll, teapots, frey, yale, a_million_rows):
            if len(sys.argv) < 4 or sys.argv[3] in part.__name__:
                part(folder)
    print(f"{PASSED} passed, {FAILED} failed")
    return 1 if FAILED or not PASSED else 0


sys.exit(main())
