#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time scikit-learn's KernelRidge, or judge its trees, in a process of its own.

    peer_ridge.py kernel DATA GAMMA ALPHA REPEATS PREDICTIONS
    peer_ridge.py forest|booster LEARN TEST

kernel: KernelRidge with exp(-GAMMA |x - y|^2); its predictions of the first 200 rows go to a file. forest and
booster: RandomForestRegressor and HistGradientBoostingRegressor, their keys chosen by three folds of the rows to learn
from. Tables are NPY, the last column being the target. Prints one JSON object: the smallest time of the
repetitions, or the mean squared error of the test rows over the variance of their targets.
"""
import json
import sys
import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

GRIDS = {"forest": (RandomForestRegressor(300, random_state=0),
                    {"max_features": [.2, .33, .6, 1.0], "min_samples_leaf": [1, 3, 8]}),
         "booster": (HistGradientBoostingRegressor(max_iter=1000, early_stopping=True, random_state=0),
                     {"learning_rate": [.02, .05, .1], "max_leaf_nodes": [4, 8, 16, 31], "l2_regularization": [0, 1]})}


def halves(path):
    table = np.load(path)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1]


def main():
    if sys.argv[1] == "kernel":
        data, gamma, alpha, repeats, predictions = sys.argv[2:]
        x, y = halves(data)
        took = []
        for _ in range(int(repeats)):
            start = time.perf_counter()
            fitted = KernelRidge(alpha=float(alpha), kernel="rbf", gamma=float(gamma)).fit(x, y)
            took.append(time.perf_counter() - start)
        np.save(predictions, fitted.predict(x[:200]))
        print(json.dumps({"fit_s": min(took)}))
        return
    estimator, grid = GRIDS[sys.argv[1]]
    (x, y), (new, truth) = halves(sys.argv[2]), halves(sys.argv[3])
    start = time.perf_counter()
    search = GridSearchCV(estimator, grid, cv=3).fit(x, y)
    print(json.dumps({"error": float(np.mean((search.predict(new) - truth)**2) / truth.var()),
                      "chosen": str(search.best_params_), "fit_s": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
