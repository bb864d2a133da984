#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ridge regression and Fisher discriminants against scikit-learn and against formulas in numpy.

    test_ridge.py MERCER [DATA [WORD...]]

krr: KernelRidge without centring, at 5000 rows too; the variance of GaussianProcessRegressor and,
with the free intercept, of universal kriging; the ridge that leave-one-out refits choose.
kfd: LinearDiscriminantAnalysis (eigen; with shrinkage the span of lsqr's coefficients), the
generalised eigenproblem in kernel PCA coordinates, krr for two classes. With DATA (../shared/data): errors
on rows held out, near those of the best ridge of a grid. Closes with "N passed, N failed".
"""
import json
import pathlib
import sys

import numpy as np
from scipy.linalg import eigh, subspace_angles
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import check, close, output, program, run_parts, scratch, skip  # noqa: E402

MERCER = program()
DATA = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None


def rbf(a, b, sigma):
    squares = (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T
    return np.exp(-np.maximum(squares, 0) / (2 * sigma**2))


def write(name, x, labels, column):
    with open(name, "w") as file:
        file.write(",".join(f"x{i}" for i in range(x.shape[1])) + f",{column}\n")
        for row, label in zip(x, labels):
            file.write(",".join(repr(float(v)) for v in row) + f",{label}\n")


def fit(name, method, kernel, *more):
    return json.loads(output(MERCER, "fit", name, "-m", method, "-k", kernel, "-o", "a.model", "--json", *more))


def features(name, *more):
    output(MERCER, "transform", "a.model", name, "-o", "a.npy", "--quiet", *more)
    return np.load("a.npy")


def regression(n, seed, d=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + .1 * rng.normal(size=n) + 5
    return x, y, rng.normal(size=(60, d))


def kernel_ridge():
    sigma = 1.5
    for n, store, ridge in ((200, "dense", 1e-2), (200, "lowrank", 1e-4), (201, "stream", 1e-6), (5000, "auto", 1e-4)):
        x, y, z = regression(n, n)
        write("x.csv", x, y, "target")
        write("z.csv", z, np.zeros(len(z)), "target")
        fit("x.csv", f"krr:ridge={ridge}", f"rbf:sigma={sigma}", "--center", "none", "--store", store)
        peer = KernelRidge(alpha=ridge * n, kernel="rbf", gamma=1 / (2 * sigma**2)).fit(x, y).predict(z)
        worst = np.abs(features("z.csv")[:, 0] - peer).max()
        check(f"krr {n} rows, {store}, ridge {ridge:g} = KernelRidge", worst < 1e-8, f"{worst:.1e}")


def variance():
    sigma, ridge, n = 1.5, 1e-3, 250
    x, y, z = regression(n, 1)
    write("x.csv", x, y, "target")
    write("z.csv", z, np.zeros(len(z)), "target")
    k, kz, eye, one = rbf(x, x, sigma), rbf(z, x, sigma), np.eye(n), np.ones(n)
    fit("x.csv", f"krr:ridge={ridge}", f"rbf:sigma={sigma}", "--center", "none", "--store", "lowrank")
    mu = ridge * n
    scale = y @ np.linalg.solve(k + mu * eye, y) / n
    peer = GaussianProcessRegressor(RBF(sigma), alpha=mu, optimizer=None).fit(x, y).predict(z, return_std=True)[1]**2
    worst = np.abs(features("z.csv", "--errors")[:, -1] / scale - peer).max()
    check("variance = GaussianProcessRegressor", worst < 1e-9, f"{worst:.1e}")
    fit("x.csv", f"krr:ridge={ridge}", f"rbf:sigma={sigma}", "--store", "lowrank")
    center = eye - 1 / n
    centred = center @ k @ center
    mu = ridge * np.trace(centred)
    inverse = np.linalg.inv(k + mu * eye)
    peer = (1 - np.sum(kz @ inverse * kz, 1)) + (1 - kz @ inverse @ one)**2 / (one @ inverse @ one)
    scale = y @ center @ np.linalg.solve(centred + mu * eye, center @ y) / (n - 1)
    worst = np.abs(features("z.csv", "--errors")[:, -1] / scale - peer).max()
    check("variance with an intercept = universal kriging", worst < 1e-9, f"{worst:.1e}")


def leave_one_out():
    sigma, n = 1.0, 60
    x, y, _ = regression(n, 3)
    write("x.csv", x, y, "target")
    k, center = rbf(x, x, sigma), np.eye(n) - 1 / n
    trace, sums = np.trace(center @ k @ center), {}
    for ridge in 10 ** np.arange(-7, .1, .5):
        sums[ridge] = 0
        for i in range(n):
            o = np.arange(n) != i
            h, part = np.eye(n - 1) - 1 / (n - 1), k[np.ix_(o, o)]
            a = np.linalg.solve(h @ part @ h + ridge * trace * np.eye(n - 1), h @ y[o])
            sums[ridge] += (y[i] - y[o].mean() - (k[i, o] - part.mean(0)) @ (a - a.mean()))**2
    best = min(sums, key=sums.get)
    for store in ("dense", "lowrank"):
        told = fit("x.csv", "krr", f"rbf:sigma={sigma}", "--store", store)["method_spec"]
        found = float(told.split("ridge=")[1])
        check(f"ridge=auto, {store} = refits", abs(found / best - 1) < 1e-12, f"{found:g}, refits {best:g}")


def standardised(loader):
    x, y = loader(return_X_y=True)
    return (x - x.mean(0)) / x.std(0), y


def same(a, b):
    """Largest difference of columns up to sign and length."""
    a, b = a - a.mean(0), b - b.mean(0)
    a, b = a / np.linalg.norm(a, axis=0), b / np.linalg.norm(b, axis=0)
    return max(min(np.abs(p - q).max(), np.abs(p + q).max()) for p, q in zip(a.T, b.T))


def discriminants():
    for loader in (load_iris, load_wine):
        x, y = standardised(loader)
        n, c, name = len(y), len(set(y)), loader.__name__[5:]
        write("x.csv", x, [f"c{v}" for v in y], "label")
        fit("x.csv", "kfd:ridge=0", "linear", "--store", "lowrank")
        peer = LinearDiscriminantAnalysis(solver="eigen").fit(x, y).transform(x)[:, :c - 1]
        worst = same(features("x.csv"), peer)
        check(f"{name}: kfd without ridge = LinearDiscriminantAnalysis", worst < 1e-8, f"{worst:.1e}")
        within = sum(np.sum((x[y == k] - x[y == k].mean(0))**2) for k in set(y))
        mu = .3 / .7 * within / x.shape[1]
        for store in ("dense", "lowrank"):
            fit("x.csv", f"kfd:ridge={mu / np.sum(x**2)!r}", "linear", "--store", store)
            t = features("x.csv")
            w = np.linalg.lstsq(x, t, rcond=None)[0]
            lsqr = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=.3).fit(x, y).coef_
            angle = subspace_angles(w, (lsqr - lsqr.mean(0)).T)[0]
            check(f"{name}, {store}: shrinkage spans lsqr's coefficients", angle < 1e-8, f"{angle:.1e}")
        k, h = rbf(x, x, 2.0), np.eye(n) - 1 / n
        values, u = np.linalg.eigh(h @ k @ h)
        coordinates = (u * np.sqrt(np.maximum(values, 0)))[:, values > 1e-12 * values[-1]]
        means = np.array([coordinates[y == v].mean(0) for v in range(c)])
        between = (means.T * np.bincount(y)) @ means
        inside = coordinates.T @ coordinates - between
        for ridge, limit in ((1e-3, 1e-8), (1e-6, 1e-6)):
            penalty = ridge * values.sum() * np.eye(len(inside))
            rho, w = eigh(between, inside + penalty)
            peer = coordinates @ w[:, ::-1][:, :c - 1] * np.sqrt(n - c)
            for store in ("dense", "stream", "lowrank"):
                fit("x.csv", f"kfd:ridge={ridge}", "rbf:sigma=2", "--store", store)
                t = features("x.csv")
                worst = np.abs(np.abs(t) - np.abs(peer)).max() / np.abs(peer).max()
                check(f"{name}, {store}, ridge {ridge:g} = generalised eigenproblem, scale included",
                      worst < limit, f"{worst:.1e}")


def two_classes():
    x, y = standardised(load_wine)
    x, y = x[y < 2], y[y < 2]
    write("x.csv", x, [f"c{v}" for v in y], "label")
    write("y.csv", x, 2. * y - 1, "target")
    fit("x.csv", "kfd:ridge=0.001", "rbf:sigma=3")
    t = features("x.csv")
    fit("y.csv", "krr:ridge=0.001", "rbf:sigma=3")
    worst = same(t, features("y.csv"))
    check("two classes: the direction of krr on +-1", t.shape[1] == 1 and worst < 1e-8, f"{worst:.1e}")


def tables():
    if not DATA or not DATA.exists():
        skip("tables", "no data")
        return
    for name in ("ida_image", "optdigits.train"):
        found = sorted(DATA.rglob(name + ".csv"))
        if not found:
            skip(name, "not there")
            continue
        lines = found[0].read_text().splitlines()
        order = np.random.default_rng(1).permutation(len(lines) - 1)[:1500]
        pathlib.Path("x.csv").write_text("\n".join([lines[0]] + [lines[1 + i] for i in order]) + "\n")
        at = lines[0].split(",")
        label = next((h for h in at if h.lower() in ("label", "class", "y")), at[-1])
        errors = {}
        for ridge in ("auto", "1e-6", "1e-5", "1e-4", "3e-4", "1e-3", "3e-3", "1e-2", "1e-1"):
            told = json.loads(output(MERCER, "evaluate", "x.csv", "-m", f"kfd:ridge={ridge}", "--label", label, "--scale",
                                     "standard", "--cv", "5", "--seed", "1", "--json", "--quiet"))
            errors[ridge] = told["mean"]
        best = min(v for k, v in errors.items() if k != "auto")
        check(f"{name}: ridge=auto near the best of the grid", errors["auto"] <= best + .005,
              f"{errors['auto']:.4f}, best {best:.4f}")


with scratch():
    run_parts([kernel_ridge, variance, leave_one_out, discriminants, two_classes, tables], sys.argv[3:])
sys.exit(close())
