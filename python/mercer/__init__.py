# SPDX-License-Identifier: BSD-3-Clause
"""Kernel feature extraction, as scikit-learn has it: kernel PCA and its relatives, sparse, supervised
and streaming, on more rows and in less memory.

>>> from mercer import KernelPCA
>>> from sklearn.datasets import load_iris
>>> KernelPCA(n_components=2).fit_transform(load_iris().data).shape
(150, 2)

Estimators need scikit-learn; `Model` and `load` need NumPy alone.
"""
from . import _core
from ._core import (BudgetError, DataError, FileError, FormatError, LimitError, MercerError, NumericError,
                    ParameterError, PeerError, UnsupportedError)
from ._evaluate import Evaluation, Tuning, compare, evaluate, forecast, tune
from ._model import Model, kernel_matrix, load
from ._names import ESTIMATORS
from ._plot import plot_errors, plot_evaluation, plot_features, plot_preimages, plot_spectrum
from ._runtime import MercerWarning, matrix_kernel

__version__ = _core.library()["version"]

__all__ = ["BudgetError", "DataError", "Evaluation", "FileError", "FormatError", "LimitError", "MercerError", "MercerWarning",
           "Model", "NumericError", "ParameterError", "PeerError", "Tuning", "UnsupportedError", "compare", "evaluate", "forecast",
           "kernel_matrix", "load",
           "matrix_kernel", "plot_errors", "plot_evaluation", "plot_features", "plot_preimages", "plot_spectrum", "tune",
           *ESTIMATORS]


def __getattr__(name):
    if name in ESTIMATORS:  # loaded when they are asked for: they need scikit-learn
        from . import _estimators
        return getattr(_estimators, name)
    raise AttributeError(f"module 'mercer' has no attribute '{name}'")


def __dir__():
    return sorted(set(globals()) | set(__all__))
