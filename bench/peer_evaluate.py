#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time nested cross-validation by scikit-learn in a process of its own.

    peer_evaluate.py knn|ls DATA SPLITS FOLDS COMPONENTS INNER JOBS SIGMA...

A pipeline of StandardScaler, KernelPCA (rbf) and five neighbours or least squares is tuned by
GridSearchCV over 1 to COMPONENTS components and all SIGMAs, by INNER folds of the training rows of
each of the first FOLDS splits, and judged by the other rows. DATA is CSV with a header, the last
column being the class; SPLITS has the training rows of a split in each line, from 0. One SIGMA and
INNER 0: COMPONENTS components as given, nothing is tuned. Prints one JSON object: the time, and the
error of each split.
"""
import json
import sys
import time

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def main():
    head, data, splits, folds, components, inner, jobs, *sigmas = sys.argv[1:]
    table = np.genfromtxt(data, delimiter=",", skip_header=1, dtype=str)
    x, y = table[:, :-1].astype(float), table[:, -1]
    with open(splits, encoding="utf-8") as lines:
        training = [np.array(line.split(","), dtype=int) for line in lines][:int(folds)]
    gammas = [0.5 / float(sigma) ** 2 for sigma in sigmas]
    predictor = KNeighborsClassifier(5) if head == "knn" else RidgeClassifier(1e-12, solver="svd")
    work = make_pipeline(StandardScaler(), KernelPCA(int(components), kernel="rbf", gamma=gammas[0]), predictor)
    if int(inner):
        work = GridSearchCV(work, {"kernelpca__gamma": gammas, "kernelpca__n_components": range(1, int(components) + 1)},
                            cv=StratifiedKFold(int(inner), shuffle=True, random_state=1), n_jobs=int(jobs))
    start, errors = time.perf_counter(), []
    for train in training:
        held = np.setdiff1d(np.arange(len(x)), train)
        errors.append(float(np.mean(work.fit(x[train], y[train]).predict(x[held]) != y[held])))
    print(json.dumps({"seconds": time.perf_counter() - start, "errors": errors}))


if __name__ == "__main__":
    main()
