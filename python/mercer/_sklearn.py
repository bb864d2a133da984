"""What differs between versions of scikit-learn, from 1.2 on."""
import inspect

from sklearn.utils import check_array

try:  # from 1.6 on they are functions
    from sklearn.utils.validation import _check_feature_names, _check_n_features
except ImportError:
    _check_feature_names = _check_n_features = None

_FINITE = "ensure_all_finite" if "ensure_all_finite" in inspect.signature(check_array).parameters else "force_all_finite"


def check_rows(X, estimator, dtype):
    """A table or CSR matrix of numbers; NaN and infinity are left for the library to find."""
    return check_array(X, accept_sparse="csr", dtype=dtype, estimator=estimator, input_name="X", **{_FINITE: False})


def check_feature_names(estimator, X, reset):
    if _check_feature_names is not None:
        _check_feature_names(estimator, X, reset=reset)
    else:
        estimator._check_feature_names(X, reset=reset)


def check_n_features(estimator, X, reset):
    if _check_n_features is not None:
        _check_n_features(estimator, X, reset=reset)
    else:
        estimator._check_n_features(X, reset=reset)
