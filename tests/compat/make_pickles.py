#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the pickles that every later version loads, once per form of pickle: make_pickles.py FOLDER

PYTHONPATH holds the package. Files that are there stay as they are.
"""
import pathlib
import pickle
import sys

import numpy as np

import mercer

folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
random = np.random.default_rng(0)
X = random.normal(size=(40, 3))
# "b" appears first; python_1 counts classes in their own order, later forms as they appear.
y = np.array(["a", "b"])[(X[:, 0] > 0).astype(int)]
np.save(folder / "rows.npy", X[:8])
things = {
    "model": mercer.KernelPCA(3, sigma=2.0).fit(X).model_,
    "kernel_pca": mercer.KernelPCA(3, sigma=2.0).fit(X),
    "pca": mercer.PCA(2, scale=True).fit(X),
    "stream": mercer.IncrementalKernelPCA(2, sigma=2.0).partial_fit(X),
    "classifier_predict": mercer.KernelPLSClassifier(3, sigma=2.0).fit(X, y),
    "regressor_predict": mercer.KernelPLSRegressor(3, sigma=2.0).fit(X, X[:, 0]),
    "interval_predict": mercer.KernelPLSRegressor(3, sigma=2.0, intervals=True, keep="fitted").fit(X, X[:, 0]),
    "novel": mercer.KernelPCA(3, sigma=2.0, novelty=0.2).fit(X),
    "knn_predict": mercer.KernelPLSClassifier(3, sigma=2.0, head="knn:k=3").fit(X, y),
}
for name, thing in things.items():
    if not (folder / f"{name}.pickle").exists():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(thing, protocol=5))
        np.save(folder / f"{name}.npy", thing.predict(X[:8]) if "predict" in name else thing.transform(X[:8]))
