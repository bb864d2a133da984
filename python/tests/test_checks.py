#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's own checks of every estimator, without expected failures: test_checks.py MERCER [WORD...] [-jN]"""
import inspect
import sys
import unittest
import warnings

from support import Fault, Skip, need_sklearn, program, run_tests, slow_test, test

need_sklearn()
import sklearn  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402

import mercer  # noqa: E402

program()
CLASSES = [name for name in mercer.ESTIMATORS if name != "PLSRegression"]
FORBIDDEN = ("_xfail_checks", "_skip_test", "no_validation", "poor_score", "non_deterministic")
PARTS = {"KernelOCAClassifier": 6}  # its checks are slow, and run side by side in so many parts


def checks_of(estimator):
    """Pairs of estimator and check, whatever the version."""
    if hasattr(estimator_checks, "estimator_checks_generator"):
        return list(estimator_checks.estimator_checks_generator(estimator, legacy=True))
    return list(estimator_checks.check_estimator(estimator, generate_only=True))


def run_checks(name, part, parts):
    warnings.simplefilter("ignore")
    estimator = getattr(mercer, name)()
    if name == "ACKFA" and not estimator.relative:
        raise Skip("the library's default of delta, in absolute units, leaves no row of the checks' data")
    pairs = checks_of(estimator)
    assert len(pairs) > 25, len(pairs)
    wrong, skipped = [], 0
    for estimator, check in pairs[part::parts]:
        called = getattr(check, "func", check).__name__
        try:
            check(estimator)
        except (unittest.SkipTest, estimator_checks.SkipTest) as reason:
            if "pandas" not in str(reason) and "array_api" not in str(reason) and "polars" not in str(reason):
                wrong.append(f"{called} was skipped: {reason}")
            skipped += 1
        except Exception as error:  # every check is to be told
            wrong.append(f"{called}: {type(error).__name__}: {error}"[:600])
    if wrong:
        raise Fault("\n".join([f"{name}, scikit-learn {sklearn.__version__}:", *wrong]))


def _make(name, part, parts):
    def check():
        run_checks(name, part, parts)
    check.__name__ = f"check_estimator_{name}" + (f"_{part}" if parts > 1 else "")
    slow_test(check) if parts > 1 else test(check)


for each in sorted(CLASSES, key=lambda name: -PARTS.get(name, 1)):
    for index in range(PARTS.get(each, 1)):
        _make(each, index, PARTS.get(each, 1))


@test
def tags_only_describe():
    for name in CLASSES:
        estimator = getattr(mercer, name)()
        tags = estimator._more_tags()
        assert not any(tags.get(word) for word in FORBIDDEN), (name, tags)
        assert set(tags) <= {"preserves_dtype", "pairwise", "requires_y", "binary_only", "multioutput"}, (name, tags)
        assert tags.get("binary_only", False) == (name == "KernelBoostClassifier"), name
        if hasattr(sklearn.utils, "get_tags"):
            newer = sklearn.utils.get_tags(estimator)
            assert not newer.no_validation and not newer.non_deterministic and not newer._skip_test, name
            assert not (newer.classifier_tags and newer.classifier_tags.poor_score), name
            assert not (newer.regressor_tags and newer.regressor_tags.poor_score), name
            assert newer.target_tags.required == bool(tags.get("requires_y")), name


@test
def signatures_are_real():
    """__init__ has every parameter by name, and only stores it."""
    for name in CLASSES:
        cls = getattr(mercer, name)
        parameters = inspect.signature(cls).parameters
        kinds = [p.kind for p in parameters.values()]
        first = 1 if "n_components" in parameters else 0
        assert first == 0 or list(parameters)[0] == "n_components", name
        assert kinds[:first] == [inspect.Parameter.POSITIONAL_OR_KEYWORD] * first, name
        assert all(kind == inspect.Parameter.KEYWORD_ONLY for kind in kinds[first:]), name
        marks = {key: object() for key in parameters}
        assert cls(**marks).__dict__ == marks, name
        for key in parameters:
            assert f"\n    {key} : " in cls.__doc__, f"{name}: {key} is not in the docstring"


if __name__ == "__main__":
    sys.exit(run_tests())
