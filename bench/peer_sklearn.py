#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time one scikit-learn method in a process of its own, fit and transform alone.

    peer_sklearn.py METHOD DATA GAMMA COMPONENTS THREADS REPEATS [NEW-DATA]

METHOD is arpack, randomized, dense (KernelPCA's solvers), nystroemM (Nystroem with M points, then
PCA), incrementalB (IncrementalPCA in batches of B rows) or svds (PCA of sparse rows by SciPy's svds with
implicit centring, written by hand). DATA is NPY,
or a sparse matrix in SciPy's NPZ. The caller sets the BLAS threads in the environment. Prints one JSON object with the fields
of bench_mercer.
"""
import json
import resource
import sys
import time

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.decomposition import PCA, IncrementalPCA, KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline


def status_mb(key):
    """A line of /proc/self/status in MB: VmRSS is what we hold now, VmHWM the peak."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(float(line.split()[1]) for line in status if line.startswith(key)) / 1024


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def smallest(repeats, work):
    """(wall, CPU) seconds of the fastest call, and the sum of the wall times."""
    times = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), cpu_seconds()
        work()
        times.append((time.perf_counter() - wall, cpu_seconds() - cpu))
    return min(times), sum(wall for wall, _ in times)


class CentredSvds:
    """Linear PCA of sparse rows that are never filled: svds of X - 1 mean'."""

    def __init__(self, components):
        self.components = components

    def fit(self, x):
        mean = np.asarray(x.mean(0)).ravel()
        centred = LinearOperator(
            x.shape, dtype=float, matvec=lambda v: x @ v.ravel() - mean @ v.ravel(),
            rmatvec=lambda u: x.T @ u.ravel() - mean * u.sum(),
            matmat=lambda v: x @ v - (mean @ v)[None], rmatmat=lambda u: x.T @ u - np.outer(mean, u.sum(0)))
        _, values, _ = svds(centred, k=self.components, random_state=0)
        self.eigenvalues_ = np.sort(values ** 2)[::-1]


def estimator(method, gamma, components, threads, rows):
    if method == "svds":
        return CentredSvds(components)
    if method.startswith("incremental"):
        return IncrementalPCA(components, batch_size=int(method[len("incremental"):]))
    if method.startswith("nystroem"):
        points = int(method[len("nystroem"):])
        return make_pipeline(Nystroem(kernel="rbf", gamma=gamma, n_components=min(points, rows),
                                      random_state=0), PCA(components, svd_solver="full"))
    # Splitting the kernel matrix over threads pays only when it is large.
    jobs = threads if rows >= 3000 else None
    return KernelPCA(components, kernel="rbf", gamma=gamma, eigen_solver=method, n_jobs=jobs,
                     random_state=0)


def eigenvalues(model, rows):
    if hasattr(model, "eigenvalues_"):
        return model.eigenvalues_
    last = model if hasattr(model, "explained_variance_") else model[-1]
    return last.explained_variance_ * (rows - 1)


def main():
    method, data, gamma, components, threads, repeats = sys.argv[1:7]
    rows = scipy.sparse.load_npz(data) if data.endswith(".npz") else np.load(data)
    if method.endswith("-double"):
        method, rows = method.removesuffix("-double"), rows.astype(float)
    model = estimator(method, float(gamma), int(components), int(threads), rows.shape[0])
    new = np.load(sys.argv[7]) if len(sys.argv) > 7 else None
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as peak:
            peak.write("5")  # a new peak: reading the data does not count
    except OSError:
        pass
    base = status_mb("VmRSS")
    (wall, cpu), total = smallest(int(repeats), lambda: model.fit(rows))
    result = {"fit_s": wall, "fit_cpu_s": cpu, "base_mb": base, "peak_mb": status_mb("VmHWM") - base,
              "eig": [float(value) for value in eigenvalues(model, rows.shape[0])]}
    if new is not None:
        (wall, cpu), more = smallest(int(repeats), lambda: model.transform(new))
        result.update(transform_s=wall, transform_cpu_s=cpu)
        total += more
    result["timed_s"] = total
    print(json.dumps(result))


if __name__ == "__main__":
    main()
