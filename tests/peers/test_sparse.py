#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sparse rows against SciPy and scikit-learn.

    test_sparse.py MERCER [ROWS COLUMNS ENTRIES]

Linear: eigenvalues of SciPy's svds with implicit centring, to 1e-8 of the largest. Small sets also:
linear, cosine and rbf features equal KernelPCA's on the same rows made dense, up to sign within 1e-6,
on training and new rows, in every store. Word frequencies follow Zipf's law; a twentieth of the rows
is repeated and one row is empty. Closes with "N passed, N failed".
"""
import json
import os
import pathlib
import sys

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.datasets import dump_svmlight_file
from sklearn.decomposition import KernelPCA

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import call, check, close, program, scratch  # noqa: E402

MERCER = program()
COMPONENTS = 8


def mercer(*args):
    done = call(MERCER, *args, timeout=None)
    if done.returncode != 0:
        return {"fault": done.stderr.strip()}
    return json.loads(done.stdout) if done.stdout.startswith("{") else {}


def text_like(rows, columns, entries, seed):
    random = np.random.default_rng(seed)
    share = np.cumsum(1 / np.arange(1, columns + 1))
    words = np.searchsorted(share / share[-1], random.random((rows, 2 * entries)))
    matrix = scipy.sparse.lil_matrix((rows, columns))
    for i in range(1, rows):
        some = random.permutation(np.unique(words[i]))[:entries]
        matrix.rows[i] = sorted(some.tolist())
        matrix.data[i] = (random.random(len(some)) + 0.5).tolist()
    matrix = matrix.tocsr()
    return scipy.sparse.vstack([matrix, matrix[:rows // 20]]).tocsr()


def centred_eigenvalues(x):
    mean = np.asarray(x.mean(0)).ravel()
    centred = LinearOperator(x.shape, dtype=float, matvec=lambda v: x @ v.ravel() - mean @ v.ravel(),
                             rmatvec=lambda u: x.T @ u.ravel() - mean * u.sum())
    return np.sort(svds(centred, k=COMPONENTS, return_singular_vectors=False) ** 2)[::-1]


def linear(folder, data, x):
    report = mercer("fit", data, "-m", "kpca", "-k", "linear", "-n", str(COMPONENTS), "--json")
    if "fault" in report:
        return check("linear", False, report["fault"])
    right = centred_eigenvalues(x)
    off = np.abs(np.array(report["spectrum"]) - right).max() / right[0]
    check("linear equals svds with implicit centring", off < 1e-8 and report["store"] == "implicit",
          f"within {off:.0e}, {report['passes']} passes, peak {report['peak_memory_bytes'] / 1e6:.0f} MB")


def features(folder, kernel, sklearn_kernel, store, formats, x, new):
    files = {}
    for name, rows in (("train", x), ("new", new)):
        files[name] = os.path.join(folder, f"{name}.{formats}")
        if formats == "npz":
            scipy.sparse.save_npz(files[name], rows)
        else:
            dump_svmlight_file(rows, np.zeros(rows.shape[0]), files[name], zero_based=False)
    model = os.path.join(folder, "m.mercer")
    report = mercer("fit", files["train"], "-m", "kpca", "-k", kernel, "-n", str(COMPONENTS), "--store",
                    store, "-o", model, "--json")
    name = f"{kernel} {store} {formats}"
    if "fault" in report:
        return check(name, False, report["fault"])
    peer = KernelPCA(COMPONENTS, eigen_solver="dense", **sklearn_kernel)
    right = [peer.fit_transform(x.toarray()), peer.transform(new.toarray())]
    worst = 0
    for rows, expected in zip((x, new), right):
        out = os.path.join(folder, "f.npy")
        mercer("transform", model, files["train" if rows is x else "new"], "-o", out, "--quiet")
        found = np.load(out)
        signs = np.sign((right[0] * (found if rows is x else first)).sum(0))
        first = found if rows is x else first
        worst = max(worst, (np.abs(found * signs - expected) / np.abs(right[0]).max(0)).max())
    check(name, worst < 1e-6, f"{report['store']}, within {worst:.0e}")


def small(folder):
    x, new = text_like(800, 1500, 30, 1), text_like(100, 1500, 30, 2)
    x = scipy.sparse.csr_matrix(x)
    new.resize(new.shape[0], x.shape[1])
    x = scipy.sparse.vstack([x, scipy.sparse.csr_matrix(([1.0], ([0], [x.shape[1] - 1])),
                                                        (1, x.shape[1]))]).tocsr()  # the last column
    for kernel, peer in (("linear", {"kernel": "linear"}), ("cosine", {"kernel": "cosine"}),
                         ("rbf:gamma=0.02", {"kernel": "rbf", "gamma": 0.02}),
                         ("poly:gamma=0.1,coef0=1,degree=2",
                          {"kernel": "poly", "gamma": 0.1, "coef0": 1, "degree": 2})):
        for store in ("auto", "dense", "stream"):
            features(folder, kernel, peer, store, "npz" if store == "auto" else "svm", x, new)


def main():
    shape = tuple(map(int, sys.argv[2:5])) or (3000, 8000, 40)
    with scratch() as folder:
        x = text_like(*shape, 3)
        data = os.path.join(folder, "text.npz")
        scipy.sparse.save_npz(data, x, compressed=False)
        linear(folder, data, x)
        if shape[0] < 10000:
            small(folder)
    return close()


sys.exit(main())
