#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cases that once gave wrong numbers, against numpy's eigenvalues.

Usage: test_numerics.py MERCER [WORD...]. Prints a line per case and closes with "N passed, N failed".
"""
import itertools
import json
import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import call, check, close, output, program, run_parts, scratch  # noqa: E402

MERCER = program()


def fit(folder, x, *args):
    path = os.path.join(folder, "x.npy")
    np.save(path, x)
    done = call(MERCER, "fit", path, "-m", *args, "--json")
    return json.loads(done.stdout) if done.stdout else None, done.stderr.strip()


def gram(x, kernel, sigma):
    if kernel == "precomputed":
        return x
    if kernel == "linear":
        x = x - x.mean(0)
        return x @ x.T
    return np.exp(-((x[:, None] - x[None]) ** 2).sum(-1) / (2 * sigma ** 2))


def compare(folder, name, x, kernel, count, *args, sigma=None, centred=True, share=None, most=100,
            tolerance=1e-10):
    """Fit, and compare count eigenvalues with numpy's; at most `most` passes."""
    spec = kernel + (f":sigma={sigma}" if sigma else "")
    method = ["pca"] if kernel == "linear" else ["kpca", "-k", spec]
    center = [] if centred else ["--center", "none"]
    report, error = fit(folder, x, *method, "-n", str(share or count), *center, *args)
    if report is None:
        return check(name, False, error)
    k = gram(x, kernel, sigma)
    k = (k + k.T) / 2
    if centred:
        k = k - k.mean(0) - k.mean(1)[:, None] + k.mean()
    right = np.linalg.eigvalsh(k)[::-1][:count]
    found = np.array(report["spectrum"])
    worst = np.abs(found - right).max() / right[0] if len(found) == len(right) else np.inf
    check(name, worst < tolerance and report["passes"] <= most,
          f"{len(found)} of {count} components, within {worst:.0e}, {report['passes']} passes")


def multiple_eigenvalues(folder):
    blocks = np.kron(np.eye(20), np.ones((25, 25)))
    compare(folder, "multiplicity 20", blocks, "precomputed", 20, centred=False)
    compare(folder, "multiplicity 20, by share", blocks, "precomputed", 18, centred=False, share=0.9)
    for columns, count, store in ((10, 10, "auto"), (9, 12, "dense"), (9, 30, "stream")):
        cube = np.array(list(itertools.product([0.0, 1.0], repeat=columns)))
        compare(folder, f"corners of a cube, {columns} columns", cube, "rbf", count, "--store", store,
                sigma=1)
    repeated = np.r_[np.repeat(np.arange(12) * 10.0, 30),
                     np.repeat(1000 + np.arange(100) * 10.0, 10)][:, None]
    compare(folder, "repeated rows", repeated, "rbf", 10, sigma=0.1, centred=False)
    compare(folder, "repeated rows, by share", repeated, "rbf", 17, sigma=0.1, centred=False, share=0.3)
    rng = np.random.default_rng(1)
    levels = np.c_[rng.integers(0, 12, 1000), rng.integers(0, 20, 1000)].astype(float)
    compare(folder, "two categorical columns", levels, "rbf", 30, sigma=0.1, most=40)


def low_rank_operators(folder):
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(512, 1))
        x[1] = 0
        for center in ("none", "exact"):
            report, error = fit(folder, x, "kpca", "-k", "cosine", "-n", "60", "--center", center)
            check(f"rank one, seed {seed}, centring {center}",
                  report and report["components"] == 1 and report["passes"] < 20,
                  error or f"{report['components']} components in {report['passes']} passes")
    # LAPACK finds zeroes at up to 30 n eps: all sizes and solvers find the rank.
    for n in (20, 64, 150, 200, 300, 400, 401, 512, 800, 1500):
        rng = np.random.default_rng(n)
        signs = np.sign(rng.normal(size=(n, 1)))
        groups = np.arange(n)[:, None] % 3 * 100.0
        for name, x, kernel, center, rank in (("signs", signs, "cosine", "none", 1), ("signs", signs, "cosine", "exact", 1),
                                              ("three rows", groups, "rbf:sigma=1", "none", 3),
                                              ("three rows", groups, "rbf:sigma=1", "exact", 2)):
            for count in (10, n // 4, n // 2, n):
                for store in ("dense", "stream"):
                    report, error = fit(folder, x, "kpca", "-k", kernel, "-n", str(max(count, 5)), "--center", center, "--store",
                                        store)
                    check(f"{name}, {n} rows, {count} components asked for, centring {center}, {store}",
                          report and report["components"] == rank and not any("negative" in text for text in report["notices"]),
                          error or f"{report['components']} components, {report['solver']}, {report['notices']}")


def low_rank_tables(folder):
    """F'F of a linear kernel, where LAPACK's zeroes are above the floor, too."""
    for n, d in ((401, 400), (500, 300), (1300, 200), (1300, 600), (2000, 900), (3000, 50)):
        rng = np.random.default_rng(n)
        signs = np.sign(rng.normal(size=(n, 1))) * np.ones((1, d))
        three = (rng.integers(0, 3, n)[:, None] == np.arange(3)) @ rng.integers(-3, 4, (3, d)).astype(float)
        for (name, x, rank), center, count in itertools.product((("signs", signs, 1), ("three rows", three, 3)),
                                                                ("exact", "none"), (10, d // 2)):
            for method in (["pca"], ["kpca", "-k", "linear", "--store", "lowrank"]):
                report, error = fit(folder, x, *method, "-n", str(count), "--center", center)
                right = rank - (rank == 3 and center == "exact")
                check(f"{name}, {n} x {d}, {count} components of {method[0]}, centring {center}",
                      report and report["components"] == right,
                      error or f"{report['components']} components, {report['spectrum'][:6]}")


def steep_tables(folder):
    """Variances down to the floor, some of which are solved for again, against the singular values they were made of."""
    for n, d, seed in itertools.product((450, 1300), (200, 400), range(3)):
        rng = np.random.default_rng(seed)
        u, _ = np.linalg.qr(rng.normal(size=(n, d)))
        v, _ = np.linalg.qr(rng.normal(size=(d, d)))
        s = np.r_[10.0 ** -np.arange(0, 7.6, 0.3), np.zeros(d - 26)]
        floor = 8 * n * 2.2e-16 * (s ** 2 * u ** 2).sum(1).max()
        sure = s ** 2 > 1.01 * floor
        for method in (("pca",), ("kpca", "-k", "linear", "--store", "lowrank")):
            features, values, _ = features_of(folder, u * s @ v.T, *method, "-n", "40", "--center", "none")
            least, most = sure.sum(), (s ** 2 > 0.99 * floor).sum()
            off = (np.abs(values - s[:len(values)] ** 2) / (2e-16 + 1e-14 * s[:len(values)] ** 2))[:least].max()
            along = np.abs((features / np.sqrt(values) * u[:, :len(values)]).sum(0))[:least].min()
            check(f"variances of 1 to 1e-15, {n} x {d}, seed {seed}, {method[0]}",
                  least <= len(values) <= most and off < 1 and along > 1 - 1e-4,
                  f"{len(values)} of {least} to {most} components, {off:.1g} of what is allowed, features within {1 - along:.0e}")


def large_means(folder):
    rng = np.random.default_rng(2)
    for n, d in ((450, 300), (100, 300), (300, 20)):
        for mean in (1e3, 1e6, 1e8):
            x = mean + rng.normal(size=(n, d))
            compare(folder, f"pca of {n} x {d} around {mean:.0e}", x, "linear", 5)


def wide_kernels(folder):
    rng = np.random.default_rng(3)
    compare(folder, "nearly constant kernel", rng.normal(size=(450, 2)), "rbf", 5, sigma=1000,
            tolerance=1e-8)
    x = rng.normal(size=(1000, 2))
    for sigma, count in ((30, 10), (100, 5), (300, 3)):
        compare(folder, f"low-rank at sigma {sigma}", x, "rbf", count, "--store", "lowrank", sigma=sigma,
                tolerance=1e-10)


def features_of(folder, x, *args):
    """Features of the training rows, and the eigenvalues."""
    model, out = os.path.join(folder, "m.mercer"), os.path.join(folder, "f.npy")
    report, error = fit(folder, x, *args, "-o", model)
    output(MERCER, "transform", model, os.path.join(folder, "x.npy"), "-o", out, "--quiet")
    return np.load(out), np.array(report["spectrum"]), report


def stores_of_wide_kernels(folder):
    """Dense and low-rank features differ by no more than rounding of the kernel values allows: n eps
    over the eigenvalue."""
    rng = np.random.default_rng(6)
    for columns, sigma in ((2, 30), (2, 100), (5, 100)):
        x = rng.normal(size=(1000, columns))
        args = ("kpca", "-k", f"rbf:sigma={sigma}", "-n", "10", "--store")
        dense, values, _ = features_of(folder, x, *args, "dense")
        lowrank, _, _ = features_of(folder, x, *args, "lowrank")
        both = min(dense.shape[1], lowrank.shape[1])
        off = np.abs(dense[:, :both] - lowrank[:, :both]).max(0) / np.abs(dense[:, :both]).max(0)
        allowed = np.maximum(1e-6, 16 * len(x) * 2.2e-16 / values[:both])
        check(f"stores agree, {columns} columns, sigma {sigma}", both >= 9 and (off < allowed).all(),
              f"{both} features within {off.max():.0e}, at most {(off / allowed).max():.1g} of allowed")


def finite_ranks(folder):
    """A kernel whose feature space is finite gets its factor, however slowly the residual falls."""
    x = np.random.default_rng(7).normal(size=(3000, 12))
    for kernel, rank in (("poly:gamma=0.1,coef0=1,degree=2", 91), ("poly:gamma=1,coef0=0,degree=2", 78),
                         ("cosine + 2*linear*linear", 90)):
        report, error = fit(folder, x, "kpca", "-k", kernel, "-n", "5", "--center", "none")
        check(f"rank of {kernel}", report and report["store"] == "lowrank" and report["store_rank"] <= rank,
              error or f"{report['store']} {report['store_rank']}: {report['store_reason']}")


def far_preimages(folder):
    """Pre-images of rows far from the origin are those of rows near it, moved."""
    x = np.random.default_rng(8).normal(size=(300, 3))
    answers = []
    for offset in (0, 2.0 ** 24):  # moving by a power of two rounds the last bits of x only
        features_of(folder, x + offset, "kpca", "-k", "rbf:sigma=1", "-n", "20")
        out = os.path.join(folder, "back.npy")
        output(MERCER, "inverse", os.path.join(folder, "m.mercer"), os.path.join(folder, "f.npy"), "-o", out, "--quiet")
        answers.append(np.load(out) - offset)
    off = np.abs(answers[0] - answers[1]).max()
    check("pre-images far from the origin", off < 1e-6, f"moved by {off:.0e}")


def given_matrices(folder):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(600, 3))
    k = np.exp(-((x[:, None] - x[None]) ** 2).sum(-1)) + 1e-10 * rng.normal(size=(600, 600))
    compare(folder, "slightly asymmetric", k, "precomputed", 5, tolerance=1e-9)
    d = ((x[:200, None] - x[None, :200]) ** 2).sum(-1)
    report, error = fit(folder, d, "kpca", "-k", "precomputed", "-n", "50")
    check("squared distances have no positive part", report is None and "no positive" in error, error)
    report, error = fit(folder, -np.eye(30), "kpca", "-k", "precomputed", "-n", "0.5")
    check("share of a negative trace", report is None and "not positive" in error, error)


def extremes(folder):
    rng = np.random.default_rng(5)
    for d in (8, 9):
        report, error = fit(folder, 1e160 * rng.normal(size=(5, d)), "kpca", "-k", "rbf:sigma=1e150",
                            "--center", "none")
        check(f"distances that overflow, {d} columns", report and report["spectrum"] == [1.0] * 5, error)
    report, error = fit(folder, 300 + rng.normal(size=(100, 10)), "pca", "--precision", "single")
    check("single precision keeps an exact factor", report and report["components"] == 10, error)
    report, error = fit(folder, rng.normal(size=(300, 2)), "kpca", "-n", "1000000000")
    check("more components than rows", report and 0 < report["components"] <= 300, error)


def default_width(folder):
    """sigma=median is the median for tables of up to 512 rows: the seed plays no part, and evaluate
    sees the kernel that fit sees."""
    for n in (2, 3, 49, 98, 103, 412, 512):
        x = np.random.default_rng(0).normal(size=(n, 2))
        i, j = np.triu_indices(n, 1)
        median = np.median(np.sqrt(((x[i] - x[j]) ** 2).sum(1)))
        widths = {float(fit(folder, x, "kpca", "-n", "1", "--seed", str(seed))[0]["kernel"].split("=")[1])
                  for seed in (1, 2, 3)}
        check(f"sigma=median of {n} rows", len(widths) == 1 and abs(min(widths) / median - 1) < 1e-12,
              f"{sorted(widths)}, the median is {median:.4f}")
    x = np.random.default_rng(1).normal(size=(79, 3))
    table = os.path.join(folder, "rows.csv")
    lines = [",".join(map(repr, map(float, row))) + f",{np.sin(row[0]):.6f}" for row in x]
    open(table, "w").write("a,b,c,y\n" + "\n".join(lines) + "\n")
    model, told, given = (os.path.join(folder, name) for name in ("m.model", "told.csv", "given.csv"))
    method = ["-m", "kpls", "-n", "5", "--target", "y"]
    for command in (["fit", table, *method, "-o", model],
                    ["predict", model, table, "-o", told],
                    ["evaluate", table, *method, "--test", table, "--save-predictions", given]):
        output(MERCER, *command)
    one = np.genfromtxt(told, delimiter=",", names=True)["prediction"]
    other = np.genfromtxt(given, delimiter=",", names=True)
    column = [name for name in other.dtype.names if name.startswith("predict")][0]
    check("fit and evaluate with the default width", np.abs(one - other[column]).max() < 1e-12,
          f"predictions within {np.abs(one - other[column]).max():.0e}")


def small_variances(folder):
    """Components whose variance is far below the largest: features to eps times the ratio of the standard
    deviations, of their own scale; of a stored matrix, whose values are rounded, times its square. It was the cube once."""
    for seed, small in itertools.product(range(5), (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)):
        rng = np.random.default_rng(seed)
        turned = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        x = rng.normal(size=(1000, 3)) * (1, 0.5, small) @ turned
        u, scale, _ = np.linalg.svd(x - x.mean(0), full_matrices=False)
        right = u * scale
        ratio = scale[0] / scale
        for *args, power in (("pca", 1), ("kpca", "-k", "linear", "--store", "lowrank", 1),
                             ("kpca", "-k", "linear", "--store", "dense", 2)):
            found = features_of(folder, x, *args, "-n", "3")[0]
            found *= np.sign((found * right).sum(0))
            off = np.abs(found - right).max(0) / np.abs(right).max(0)
            allowed = 1e-12 + 200 * np.finfo(float).eps * ratio ** power
            check(f"seed {seed}, a standard deviation of {small:g}, {' '.join(args)}", (off < allowed).all(), f"{off}")


def far_units(folder):
    """Kernel values of 1e-280 to 1e280: eigenvalues as those of the same rows in other units. Squares of residuals were
    zero there, and every pair counted as found."""
    rng = np.random.default_rng(4)
    x, small = rng.normal(size=(450, 40)), rng.normal(size=(450, 5))
    k = np.exp(-((small[:, None] - small[None]) ** 2).sum(-1) / 2)
    for name, rows, power, args in (
            ("linear", x, 2, ("pca",)), ("linear, dense", small, 2, ("kpca", "-k", "linear", "--store", "dense")),
            ("linear, stream", small, 2, ("kpca", "-k", "linear", "--store", "stream")),
            ("poly", small, 4, ("kpca", "-k", "poly:gamma=1,coef0=0,degree=2", "--store", "dense")),
            ("given", k, 1, ("kpca", "-k", "precomputed"))):
        right = np.array(fit(folder, rows, *args, "-n", "3")[0]["spectrum"])
        for values in (-270, -200, -180, -160, -150, 150, 180, 270):
            factor = 10.0 ** (values / power)
            report, error = fit(folder, rows * factor, *args, "-n", "3")
            if report is None:
                check(f"{name}, values of 1e{values}", False, error)
                continue
            off = np.abs(np.array(report["spectrum"]) / factor ** power / right - 1).max()
            check(f"{name}, values of 1e{values}", off < 1e-10 and report["passes"] < 100 and report["residual"] > 0,
                  f"off by {off:.0e}, {report['passes']} passes, residual {report['residual']:.0e}")


def rounding_is_not_indefinite(folder):
    """Drawn columns of a wide Gaussian end in rounding, which was once taken for a kernel that is not semidefinite."""
    for seed in (3, 100, 104, 108, 112, 116):
        x = np.random.default_rng(seed).normal(size=(2600, 3))
        path = os.path.join(folder, "x.npy")
        np.save(path, np.c_[x, np.sin(x[:, 0])])
        done = call(MERCER, "fit", path, "-m", "krr:ridge=1e-4", "-k", "rbf:sigma=2", "--target", "4", "--store", "dense", "--json")
        check(f"a wide Gaussian, seed {seed}", done.returncode == 0 and json.loads(done.stdout)["head_errors"][0] < 0.1,
              done.stderr.strip())


def points_beside_an_outlier(folder):
    """An outlier makes the largest kernel value, but does not round those of the points drawn: dense keeps what stream
    keeps. It kept none, and said that the rows do not differ."""
    for seed, (kernel, factor) in itertools.product(range(6), (("poly", 1e4), ("poly:degree=5", 1e4), ("linear", 1e8), ("rbf", 1e4))):
        x = np.random.default_rng(seed).normal(size=(60, 3))
        x[7] *= factor
        found = [fit(folder, x, "nystroem:points=8", "-k", kernel, "-n", "3", "--store", store) for store in ("stream", "dense")]
        kept = [report and set(report["selected"]) for report, _ in found]
        check(f"points of {kernel} beside an outlier of {factor:g}, seed {seed}", kept[0] and kept[0] == kept[1],
              f"{kept}, {found[1][1]}")
    x = np.random.default_rng(0).normal(size=(60, 3))
    x[7] *= 100
    report, error = fit(folder, x, "nystroem:points=8", "-k", "poly", "--store", "dense", "--precision", "single", "--seed", "2")
    check("points beside an outlier in single precision", report and len(report["selected"]) == 8, error or report["notices"])


def points_that_are_enough(folder):
    """Draws that end before there are as many points as were asked for say so; they said nothing."""
    x = np.random.default_rng(1).normal(size=(60, 3))
    for args, told in ((("nystroem:sampling=rpcholesky,points=8", "-n", "2"), True), (("nystroem:sampling=rpcholesky", "-n", "5"), True),
                       (("nystroem:sampling=rpcholesky,points=3", "-n", "2"), False),
                       (("nystroem:sampling=rpcholesky", "-n", "2"), False)):
        report, error = fit(folder, x, *args, "-k", "linear")
        said = report and any("points are enough" in text for text in report["notices"])
        check(f"{' '.join(args)} of rank 3", report and len(report["selected"]) == 3 and said == told, error or f"{report['notices']}")


def rows_equal_to_rounding(folder):
    """Nothing is learnt from kernel values that differ by their rounding alone; kpls, cr and blf did. Values that differ by
    more are learnt from."""
    for seed, columns, kernel in itertools.product(range(2), (3, 12), ("rbf:sigma=0.5", "poly:degree=2", "cosine")):
        rng = np.random.default_rng(seed)
        middle, moves = rng.normal(size=columns), rng.normal(size=(60, columns))
        for size, store, method in itertools.product((1e-10, 1e-5), ("dense", "lowrank"), ("kpls", "cr", "blf")):
            x = middle + size * moves
            report, error = fit(folder, np.c_[x, moves @ rng.normal(size=columns)], method, "-k", kernel, "--store", store, "-n", "2",
                                "--target", str(columns + 1))
            check(f"{method} of rows that differ by {size:g}, seed {seed}, {columns} columns, {kernel}, {store}",
                  report and report["head_errors"][0] < 3 if size > 1e-6 else "no feature" in error, error or report["spectrum"])


def streams_in_other_units(folder):
    """The rows that ikpca and kha keep do not depend on the unit of the columns: the mean was weighed by it."""
    for seed, (name, *args) in itertools.product(range(2), (
            ("ikpca:block=100,first=30,library=9,compress=subset", "-k", "linear", "-n", "2"),
            ("ikpca:block=50,first=50,library=12,window=100", "-k", "linear", "-n", "3"),
            ("ikpca:block=50,first=50,library=9", "-k", "poly:gamma=1,coef0=0,degree=2", "-n", "2"),
            ("kha:first=100,library=6,passes=2", "-k", "linear", "-n", "2"))):
        x = 0.4 + np.random.default_rng(seed).normal(size=(200, 17))
        power = 4 if "poly" in args[1] else 2
        right = np.array(fit(folder, x, name, *args)[0]["spectrum"])
        for exponent in (-320, -130, -40, 1, 40, 130, 320):
            factor = 2.0 ** (exponent // (power // 2))
            report, error = fit(folder, x * factor, name, *args)
            found = np.array(report["spectrum"]) / factor ** power if report else np.zeros(len(right))
            check(f"{name}, {args[1]}, seed {seed}, columns of 2^{exponent // (power // 2)}", (np.abs(found / right - 1) < 1e-9).all(),
                  error or f"{found} beside {right}")


def shares_of_equal_variances(folder):
    """A share of a spectrum that is flat, or nearly so, is reached, and soon: the solver that does not know how many pairs
    it takes stopped below it where equal ones filled its basis, and took up to 2000 passes where others did."""
    for n, share in itertools.product((420,), (0.1, 0.3, 0.5, 0.9)):
        for name, x, store in (("rows far apart", 100 * np.eye(n), "dense"), ("rows far apart", 100 * np.eye(n), "stream"),
                               ("pairs far apart", np.repeat(100 * np.eye(n // 2), 2, axis=0), "dense")):
            report, error = fit(folder, x, "kpca", "-k", "rbf:sigma=1", "-n", str(share), "--store", store)
            rank = n / (1 + name.startswith("pairs")) - 1
            found = report["components"] if report else 0
            check(f"{share:g} of {n} {name}, {store}", found == int(np.ceil(rank * share - 1e-9)), error or f"{found} of {rank:g}")
    for seed in range(1):
        x = np.random.default_rng(seed).normal(size=(900, 5))
        report, error = fit(folder, x, "kpca", "-k", "rbf:sigma=0.3", "-n", "0.5", "--store", "dense")
        values = np.linalg.eigvalsh(gram(x, "rbf", 0.3) - gram(x, "rbf", 0.3).mean(0) - gram(x, "rbf", 0.3).mean(0)[:, None]
                                    + gram(x, "rbf", 0.3).mean())[::-1]
        right = int(np.searchsorted(np.cumsum(values), values.sum() / 2)) + 1
        check(f"half of the variance of narrow kernels, seed {seed}", report and report["components"] == right and report["passes"] < 300,
              error or f"{report['components']} of {right} components, {report['passes']} passes")


def features_that_are_too_long(folder):
    """A column of 1e5 or 1e6 leaves differences of kernel values few digits, and akfa features that hold more than the
    variance, which was not told."""
    told = 0
    for n, big, seed in itertools.product((60, 410), (1, 1e5, 1e6), range(2)):
        x = np.random.default_rng(seed).normal(size=(n, 3))
        x[:, 1] = big
        for method, store in itertools.product(("akfa", "skfa"), ("dense", "stream", "lowrank")):
            report, error = fit(folder, x, method, "-k", "poly:gamma=3,coef0=1,degree=2", "-n", "3", "--store", store)
            over = -report["reconstruction_error"] / report["total_variance"] if report else np.nan
            notices = report and [text for text in report["notices"] if "more of the variance" in text]
            told += bool(notices)
            check(f"{method} of {n} rows beside a column of {big:g}, {store}, seed {seed}", bool(notices) == (over > 1e-4),
                  error or f"{over:.1e}, {notices}")
    check("features that are too long were seen", told > 3, f"{told}")


def memory_of_draws(folder):
    """rpcholesky takes as much memory as uniform: the coordinates of the rows. It held them twice, beyond the budget."""
    x = np.random.default_rng(3).normal(size=(20000, 2))
    peaks = [fit(folder, x, f"nystroem:points=400,sampling={sampling}", "-k", "laplacian:gamma=1", "-n", "3", "--store",
                 "stream")[0]["peak_memory_bytes"] for sampling in ("uniform", "rpcholesky")]
    check("memory of rpcholesky", peaks[1] < 1.2 * peaks[0], f"{peaks[1] >> 20} MB, uniform {peaks[0] >> 20} MB")


def more_targets_than_rows(folder):
    """krr of a linear kernel on few rows, with a target column for each or more: predictions of rows that have a mean."""
    rng = np.random.default_rng(5)
    for n, targets, mean, store in itertools.product((2, 5, 12), (1, 3, 40), (0, 1, 1e4), ("dense", "stream")):
        x, y = mean + rng.normal(size=(n, 17)), 100 + rng.normal(size=(n, targets))
        columns = ",".join(str(18 + j) for j in range(targets))
        model, rows, out = (os.path.join(folder, name) for name in ("m.model", "new.npy", "p.npy"))
        report, error = fit(folder, np.c_[x, y], "krr:ridge=0.01", "-k", "linear", "--target", columns, "--store", store, "-o", model)
        np.save(rows, x)
        output(MERCER, "predict", model, rows, "-o", out, "--quiet")
        k = (x - x.mean(0)) @ (x - x.mean(0)).T
        right = y.mean(0) + k @ np.linalg.solve(k + 0.01 * np.trace(k) * np.eye(n), y - y.mean(0))
        off = np.abs(np.load(out).reshape(n, -1) - right).max()
        check(f"krr of {n} rows, {targets} targets, mean {mean:g}, {store}", off < 1e-6, error or f"off by {off:.1e}")


with scratch() as here:
    run_parts([multiple_eigenvalues, low_rank_operators, low_rank_tables, steep_tables, large_means, wide_kernels,
               stores_of_wide_kernels, finite_ranks, far_preimages, given_matrices, extremes, default_width,
               small_variances, far_units, rounding_is_not_indefinite, points_beside_an_outlier,
               points_that_are_enough, rows_equal_to_rounding, streams_in_other_units, shares_of_equal_variances,
               features_that_are_too_long, memory_of_draws,
               more_targets_than_rows], sys.argv[2:], here)
sys.exit(close())
