#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time a supervised peer in a process of its own, the fit alone.

    peer_supervised.py deflation|published|pls|svd DATA COMPONENTS REPEATS [METHOD GAMMA CANDIDATES]

deflation: sma or smc (METHOD) as defined, the whole kernel matrix deflated for every feature.
published: CANDIDATES random columns a feature, each deflated by all features before (c k^2 l).
Both in plain numpy, kernel exp(-GAMMA |x - y|^2), the matrix built anew each time. pls: scikit-learn's
PLSRegression; svd: its TruncatedSVD of sparse rows (LIBSVM text). DATA is NPY, the last column being
the target. Prints one JSON object: the smallest time of the repetitions, and the rows selected.
"""
import json
import sys
import time

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_svmlight_file
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics.pairwise import rbf_kernel


def deflation(x, y, components, method, gamma):
    k = rbf_kernel(x, gamma=gamma)
    below, chosen = np.diag(k).copy(), []
    for _ in range(components):
        if method == "sma":
            below = np.einsum("ij,ij->j", k, k)
        score = (y @ k) ** 2 / np.where(below > 0, below, np.inf)
        score[chosen] = -1
        chosen.append(int(score.argmax()))
        q = k[:, chosen[-1]] / np.linalg.norm(k[:, chosen[-1]])
        k -= np.outer(q, q @ k)
    return chosen


def published(x, y, components, method, gamma, candidates):
    k = rbf_kernel(x, gamma=gamma)
    random, q, chosen = np.random.default_rng(0), np.zeros((components, len(x))), []
    for j in range(components):
        drawn = random.choice(len(x), candidates, replace=False)
        columns = k[drawn]
        columns = columns - (columns @ q[:j].T) @ q[:j]
        below = np.einsum("ij,ij->i", columns, columns) if method == "sma" else np.diag(k)[drawn]
        best = ((columns @ y) ** 2 / below).argmax()
        chosen.append(int(drawn[best]))
        q[j] = columns[best] / np.linalg.norm(columns[best])
    return chosen


def main():
    peer, data, components, repeats = sys.argv[1:5]
    components = int(components)
    if peer == "svd":
        rows = load_svmlight_file(data)[0]
        work = lambda: TruncatedSVD(components, random_state=0).fit(rows)
    else:
        table = np.load(data)
        x, y = np.ascontiguousarray(table[:, :-1]), table[:, -1] - table[:, -1].mean()
        method, gamma, candidates = (*sys.argv[5:], "", 0, 0)[:3]
        work = {"pls": lambda: PLSRegression(components, scale=False).fit(x, y),
                "deflation": lambda: deflation(x, y, components, method, float(gamma)),
                "published": lambda: published(x, y, components, method, float(gamma),
                                               int(candidates))}[peer]
    best, answer = np.inf, None
    for _ in range(int(repeats)):
        start = time.perf_counter()
        answer = work()
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"fit_s": best, "selected": answer if isinstance(answer, list) else []}))


if __name__ == "__main__":
    main()
