"""Kernel feature extraction from Python: models of the library, in the process and without copies.

Needs NumPy alone.
"""
from . import _core
from ._core import (BudgetError, DataError, FileError, FormatError, MercerError, NumericError, ParameterError,
                    UnsupportedError)
from ._model import Model, load
from ._runtime import MercerWarning

__version__ = _core.library()["version"]

__all__ = ["BudgetError", "DataError", "FileError", "FormatError", "MercerError", "MercerWarning", "Model", "NumericError",
           "ParameterError", "UnsupportedError", "load"]
