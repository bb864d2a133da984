# SPDX-License-Identifier: BSD-3-Clause
"""What differs between versions of scikit-learn, from 1.2 on."""
import inspect
import warnings

import numpy as np
from sklearn.utils import check_array

from ._runtime import NamedTable, outer_level

try:  # from 1.6 on they are functions
    from sklearn.utils.validation import _check_feature_names, _check_n_features
except ImportError:
    _check_feature_names = _check_n_features = None

_FINITE = "ensure_all_finite" if "ensure_all_finite" in inspect.signature(check_array).parameters else "force_all_finite"


def check_rows(X, estimator, dtype):
    """A table or CSR matrix of numbers; NaN and infinity are left for the library to find."""
    return check_array(X, accept_sparse="csr", dtype=dtype, estimator=estimator, input_name="X", **{_FINITE: False})


def check_names(estimator, names, reset):
    """What scikit-learn does with names of columns, for tables that its versions do not all know."""
    if reset:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
        return
    known = getattr(estimator, "feature_names_in_", None)
    if known is None:
        warnings.warn(f"X has feature names, but {type(estimator).__name__} was fitted without feature names",
                      stacklevel=outer_level())
    elif list(known) != list(names):
        unseen, missing = sorted(set(names) - set(known)), sorted(set(known) - set(names))
        text = "The feature names should match those that were passed during fit.\n"
        for what, some in (("Feature names unseen at fit time", unseen), ("Feature names seen at fit time, yet now missing", missing)):
            text += f"{what}:\n" + "".join(f"- {name}\n" for name in some[:5]) if some else ""
        raise ValueError(text if unseen or missing else text + "Feature names must be in the same order as they were in fit.\n")


def check_feature_names(estimator, X, reset):
    if isinstance(X, NamedTable):
        check_names(estimator, X.columns, reset)
    elif _check_feature_names is not None:
        _check_feature_names(estimator, X, reset=reset)
    else:
        estimator._check_feature_names(X, reset=reset)


def check_n_features(estimator, X, reset):
    if _check_n_features is not None:
        _check_n_features(estimator, X, reset=reset)
    else:
        estimator._check_n_features(X, reset=reset)
