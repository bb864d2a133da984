#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mercer's features against scikit-learn's KernelPCA and a plain numpy reference.

    test_sklearn.py MERCER

Features agree up to sign within 1e-6 of each component's scale (its largest training value), on
training and on new rows; eigenvalues to 1e-10 of the largest. Components whose eigenvalues are
closer than 1e-6 relative are compared as a subspace, by the rotation that fits the training rows
best. scikit-learn always centres, so uncentred fits are compared with numpy's eigh. The data come
with scikit-learn. One line per case; closes with "N passed, N failed".
"""
import json
import pathlib
import sys

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import NearestCentroid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import FAILED, PASSED, Fault, close, output, program, scratch, tell  # noqa: E402

COMPONENTS = 10
EIGENVALUES, FEATURES, SINGLE = 1e-10, 1e-6, 1e-3  # what the comparisons must reach
CLOSE, CLOSE_SINGLE = 1e-6, 5e-2  # relative gap below which components are compared together


class Mercer:
    """The command line, with a folder for its files."""

    def __init__(self, path, folder):
        self.program, self.folder = path, folder

    def run(self, *arguments):
        return output(self.program, *arguments)

    def write(self, name, rows, ending):
        path = self.folder / f"{name}.{ending}"
        if ending == "npy":
            np.save(path, rows)
        else:
            header = ",".join(f"c{i}" for i in range(rows.shape[1]))
            np.savetxt(path, rows, fmt="%.17g", delimiter=",", header=header, comments="")
        return path

    def features(self, model, rows, ending):
        out = self.folder / f"features.{ending}"
        self.run("transform", model, self.write("rows", rows, ending), "-o", out)
        return np.load(out) if ending == "npy" else np.loadtxt(out, delimiter=",", skiprows=1, ndmin=2)

    def kpca(self, kernel, train, new, *options, ending="npy"):
        """(eigenvalues, training features, features of new rows, what fit said)."""
        model = self.folder / "model.safetensors"
        report = json.loads(self.run("fit", self.write("train", train, ending), "-m", "kpca", "-k",
                                     kernel, "-n", COMPONENTS, "-o", model, "--json", *options))
        return (np.array(report["spectrum"]), self.features(model, train, ending),
                self.features(model, new, ending), report)


def reference(k_train, k_new, centred):
    """(all eigenvalues, training features, features of new rows) of kernel PCA, in plain numpy."""
    if centred:
        means, grand = k_train.mean(axis=0), k_train.mean()
        k_new = k_new - k_new.mean(axis=1, keepdims=True) - means + grand
        k_train = k_train - means - means[:, None] + grand
    values, vectors = np.linalg.eigh(k_train)
    values, vectors = values[::-1], vectors[:, ::-1][:, :COMPONENTS]
    roots = np.sqrt(values[:COMPONENTS])
    return values, vectors * roots, k_new @ vectors / roots


def groups(values, close):
    """Runs of components whose neighbours' eigenvalues are closer than `close`, as index lists.
    A run that reaches beyond the last component has no comparable subspace and is left out."""
    runs = [[0]]
    for i in range(1, COMPONENTS + 1):
        if values[i - 1] - values[i] <= close * values[i - 1]:
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs[:-1]  # the last run holds the first eigenvalue that was not asked for


def compare(got, want, features=FEATURES, eigenvalues=EIGENVALUES, close=CLOSE):
    """Raise a Fault unless got = (values, train, new) agrees with want; return the worst figures."""
    for name, part in zip(("eigenvalues", "training features", "new features"), got):
        if not np.all(np.isfinite(part)):
            raise Fault(f"{name} are not finite")
    if got[0].shape != (COMPONENTS,) or got[1].shape != want[1].shape or got[2].shape != want[2].shape:
        raise Fault(f"shapes {[part.shape for part in got]}")
    values = np.abs(got[0] - want[0][:COMPONENTS]).max() / want[0][0]
    worst, compared = 0.0, 0
    for run in groups(want[0], close):
        left, _, right = np.linalg.svd(got[1][:, run].T @ want[1][:, run])
        scale = np.abs(want[1][:, run]).max(axis=0)
        for mine, theirs in zip(got[1:3], want[1:3]):
            off = np.abs(mine[:, run] @ (left @ right) - theirs[:, run]).max(axis=0) / scale
            worst = max(worst, off.max())
        compared += len(run)
    if compared < COMPONENTS / 2:
        raise Fault(f"only {compared} components are far enough apart to compare")
    if not values <= eigenvalues:
        raise Fault(f"eigenvalues differ by {values:.1e} of the largest")
    if not worst <= features:
        raise Fault(f"features differ by {worst:.1e} of their scale")
    return f"eigenvalues {values:.0e}, features {worst:.0e}, {compared} of {COMPONENTS} compared"


def polygon(corners, turn):
    """Points on the unit circle at equal angles: eigenvalues come in equal pairs."""
    angles = 2 * np.pi * (np.arange(corners) + turn) / corners
    return np.column_stack([np.cos(angles), np.sin(angles)])


def data_sets():
    """{name: (training rows, new rows)}"""
    digits = load_digits().data / 16
    cancer = load_breast_cancer().data
    cancer = (cancer - cancer.mean(axis=0)) / cancer.std(axis=0)
    return {"digits": (digits[:1300], digits[1300:]), "cancer": (cancer[:450], cancer[450:])}


# What scikit-learn is given, and the same for Mercer.
KERNELS = {
    "linear": ({}, "linear"),
    "poly": ({"gamma": 0.02, "coef0": 1.0, "degree": 3}, "poly:gamma=0.02,coef0=1,degree=3"),
    "rbf": ({"gamma": 0.015625}, "rbf:gamma=0.015625"),
    "cosine": ({}, "cosine"),
    "sigmoid": ({"gamma": 0.01, "coef0": 0.5}, "sigmoid:gamma=0.01,coef0=0.5"),
}


def distances(x, y):
    """Euclidean distances, by differences."""
    return np.stack([np.sqrt(((y - row) ** 2).sum(axis=1)) for row in x])


def matern(order):
    """The closed forms for nu = order + 1/2, and with order None for nu = inf."""
    def kernel(x, y, sigma):
        r = distances(x, y) / sigma
        if order is None:
            return np.exp(-r * r / 2)
        s = np.sqrt(2 * order + 1) * r
        return [1, 1 + s, 1 + s + s * s / 3][order] * np.exp(-s)
    return kernel


def combined(x, y):
    return (0.7 * pairwise_kernels(x, y, metric="rbf", gamma=0.02)
            * pairwise_kernels(x, y, metric="poly", gamma=0.02, coef0=1, degree=2)
            + pairwise_kernels(x, y, metric="cosine") + 0.5)


# By scikit-learn's own functions where it has them, else by the formula in numpy.
FORMULAS = {
    "laplacian:gamma=0.02": lambda x, y: pairwise_kernels(x, y, metric="laplacian", gamma=0.02),
    "laplacian": lambda x, y: pairwise_kernels(x, y, metric="laplacian"),  # 1 / columns for both
    "chi2": lambda x, y: pairwise_kernels(x, y, metric="chi2"),  # gamma = 1 for both
    "chi2:gamma=0.1": lambda x, y: pairwise_kernels(x, y, metric="chi2", gamma=0.1),
    "intersection": lambda x, y: np.stack([np.minimum(y, row).sum(axis=1) for row in x]),
    "exponential:sigma=5": lambda x, y: np.exp(-distances(x, y) / 5),
    "exponential:gamma=0.2": lambda x, y: np.exp(-0.2 * distances(x, y)),
    "matern:sigma=5,nu=0.5": lambda x, y: matern(0)(x, y, 5),
    "matern:sigma=5": lambda x, y: matern(1)(x, y, 5),
    "matern:sigma=5,nu=2.5": lambda x, y: matern(2)(x, y, 5),
    "matern:sigma=5,nu=inf": lambda x, y: matern(None)(x, y, 5),
    "rq:sigma=5,alpha=0.7": lambda x, y: (1 + distances(x, y) ** 2 / (1.4 * 25)) ** -0.7,
    "0.7 * rbf:gamma=0.02 * poly:gamma=0.02,coef0=1,degree=2 + cosine + 0.5": combined,
}
GAUSSIAN_PROCESS = {  # the same kernels from another part of scikit-learn
    "matern:sigma=5,nu=0.5": Matern(5, nu=0.5), "matern:sigma=5": Matern(5, nu=1.5),
    "matern:sigma=5,nu=2.5": Matern(5, nu=2.5), "matern:sigma=5,nu=inf": Matern(5, nu=np.inf),
    "rq:sigma=5,alpha=0.7": RationalQuadratic(5, 0.7),
}


def formula_case(mercer, spec, train, new):
    """A kernel against its matrix, with both sides' eigenpairs; the matrix of a combination also
    goes through Mercer as precomputed."""
    k_train, k_new = FORMULAS[spec](train, train), FORMULAS[spec](new, train)
    if spec in GAUSSIAN_PROCESS:
        off = np.abs(GAUSSIAN_PROCESS[spec](new, train) - k_new).max()
        if not off <= 1e-12:
            raise Fault(f"scikit-learn's kernel differs from the formula by {off:.1e}")
    got = mercer.kpca(spec, train, new)
    if "+" in spec:
        given = mercer.kpca("precomputed", k_train, k_new)
        compare(got, (np.append(given[0], 0), given[1], given[2]))
    return compare(got, reference(k_train, k_new, True))


def sklearn_case(mercer, kernel, train, new, ending="npy"):
    parameters, spec = KERNELS[kernel]
    peer = KernelPCA(COMPONENTS + 1, kernel=kernel, eigen_solver="dense", **parameters).fit(train)
    want = [peer.eigenvalues_] + [peer.transform(rows)[:, :COMPONENTS] for rows in (train, new)]
    # scikit-learn's transform of training rows is its fit_transform up to rounding.
    return compare(mercer.kpca(spec, train, new, ending=ending), want)


def sklearn_precomputed_case(mercer, train, new):
    k_train = pairwise_kernels(train, metric="rbf", gamma=0.015625)
    k_new = pairwise_kernels(new, train, metric="rbf", gamma=0.015625)
    peer = KernelPCA(COMPONENTS + 1, kernel="precomputed", eigen_solver="dense").fit(k_train)
    want = [peer.eigenvalues_] + [peer.transform(k)[:, :COMPONENTS] for k in (k_train, k_new)]
    return compare(mercer.kpca("precomputed", k_train, k_new), want)


def store_case(mercer, metric, gamma, train, new, store, centred, precision="double"):
    """One store against numpy, with one thread and with two."""
    parameters = {"gamma": gamma} if metric == "rbf" else KERNELS[metric][0]
    spec = f"rbf:gamma={gamma!r}" if metric == "rbf" else KERNELS[metric][1]
    k_train = pairwise_kernels(train, metric=metric, **parameters)
    k_new = pairwise_kernels(new, train, metric=metric, **parameters)
    want = reference(k_train, k_new, centred)
    options = ["--center", "exact" if centred else "none", "--precision", precision]
    if store == "precomputed":
        spec, train, new = "precomputed", k_train, k_new
    else:
        options += ["--store", store]
    results = [mercer.kpca(spec, train, new, *options, "--threads", threads) for threads in (1, 2)]
    if results[0][3]["store"] != store:
        raise Fault(f"ran with the store {results[0][3]['store']}")
    if any((a != b).any() for a, b in zip(results[0][:3], results[1][:3])):
        raise Fault("one thread and two threads give different bits")
    if precision == "single":
        return compare(results[0], want, SINGLE, SINGLE, CLOSE_SINGLE)
    return compare(results[0], want)


def head_case(mercer, method, head):
    """Predictions for new rows against scikit-learn's on the same features, for several prefixes:
    classes of digits by the nearest centre, values by least squares (here of two pixels that were
    taken from the rows)."""
    rows, labels = load_digits().data / 16, load_digits().target
    classes = head == "centre"
    y = labels[:, None] if classes else rows[:, [20, 36]]
    rows = rows if classes else np.delete(rows, [20, 36], axis=1)
    table = np.hstack([rows, y])
    columns = ["--label" if classes else "--target",
               ",".join(str(rows.shape[1] + j + 1) for j in range(y.shape[1]))]
    model = mercer.folder / "head.model"
    report = json.loads(mercer.run("fit", mercer.write("train", table[:1000], "npy"), "-m", method,
                                   "-k", "rbf:gamma=0.02", "-n", 20, "--head", head, *columns, "-o",
                                   model, "--json"))
    features = [mercer.features(model, part, "npy") for part in (rows[:1000], rows[1000:])]
    new, worst = mercer.write("new", rows[1000:], "npy"), 0.0
    for k in (1, 7, 20):
        out = mercer.folder / "predictions.csv"
        mercer.run("predict", model, new, "-n", k, "-o", out)
        got = np.loadtxt(out, delimiter=",", skiprows=1, ndmin=2)
        peer = NearestCentroid() if classes else LinearRegression()
        want = peer.fit(features[0][:, :k], y[:1000].ravel() if classes else y[:1000])
        want = want.predict(features[1][:, :k])
        if classes:
            if (got[:, 0] != want).any():
                raise Fault(f"{k} features: {(got[:, 0] != want).sum()} classes differ")
        else:
            worst = max(worst, np.abs(got - want).max())
            left = peer.predict(features[0][:, :k]) - y[:1000]
            worst = max(worst, abs(np.sqrt(np.mean(left ** 2)) - report["head_errors"][k - 1]))
    if not worst <= 1e-10:
        raise Fault(f"predictions differ by {worst:.1e}")
    return f"training error {report['head_errors'][-1]:.3f}, predictions differ by {worst:.0e}"


def rough_lowrank_case(mercer, train):
    """A rough kernel has no small factor: an explicit request for more than the memory holds must
    fail and say the rank it reached."""
    try:
        mercer.kpca("rbf:gamma=2.0", train, train, "--store", "lowrank", "--memory", "2M")
    except Fault as fault:
        if "status 1:" in str(fault) and "reached rank" in str(fault):
            return "refused with the rank it reached"
        raise
    raise Fault("accepted")


def cases(mercer):
    """(name, function that returns a remark or raises Fault)"""
    sets = data_sets()
    for name, (train, new) in sets.items():
        for kernel in KERNELS:
            if kernel != "sigmoid" or name == "cancer":
                yield f"sklearn {name} {kernel}", lambda: sklearn_case(mercer, kernel, train, new)
        yield f"sklearn {name} precomputed", lambda: sklearn_precomputed_case(mercer, train, new)
    train, new = (part[:400] for part in sets["digits"])  # no negative values
    for spec in FORMULAS:
        yield f"formula {spec}", lambda: formula_case(mercer, spec, train, new)
    train, new = sets["cancer"]
    yield "sklearn cancer rbf csv", lambda: sklearn_case(mercer, "rbf", train, new, "csv")

    # Smooth: the spectrum falls to rounding; rough: K is not far from a diagonal matrix.
    shapes = {"smooth": ("rbf", 0.001, train, new), "rough": ("rbf", 0.1, train, new),
              "linear": ("linear", None, train, new),
              "pairs": ("rbf", 0.5, polygon(120, 0), polygon(50, 0.3))}
    for shape, problem in shapes.items():
        for centred in (True, False):
            how = "centred" if centred else "uncentred"
            for store in ("dense", "stream", "precomputed", "lowrank"):
                yield (f"store {store} {shape} {how}",
                       lambda: store_case(mercer, *problem, store, centred))
            for store in ("dense", "stream"):
                yield (f"store {store} {shape} {how} single",
                       lambda: store_case(mercer, *problem, store, centred, "single"))
    for method in ("kpca", "akfa"):
        for head in ("ls", "centre"):
            yield f"head {head} {method}", lambda: head_case(mercer, method, head)
    yield "store lowrank rough, 2 MB", lambda: rough_lowrank_case(mercer, train)


def main():
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    path = program()  # before the folder changes
    with scratch() as folder:
        for name, case in cases(Mercer(path, folder)):
            if only not in name:
                continue
            try:
                tell(PASSED, name, case())
            except Fault as fault:
                tell(FAILED, name, fault)
    return close()


if __name__ == "__main__":
    sys.exit(main())
