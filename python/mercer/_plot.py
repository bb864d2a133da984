# SPDX-License-Identifier: BSD-3-Clause
"""Pictures by matplotlib, which is imported when one is asked for."""
import numpy as np

from . import _core

SHAPES = "os^DvP*X<>"


def _axes(ax):
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("pictures need matplotlib, which is not installed") from None
    return plt.subplots()[1]


def features(estimator, X, y, axes, ax):
    values = np.asarray(estimator.transform(X))
    first, second = axes
    for axis in axes:
        if not 0 <= axis < values.shape[1]:
            raise _core.ParameterError(f"axes={axes!r}: there are {values.shape[1]} features, counted from 0")
    ax = _axes(ax)
    if y is None:
        ax.scatter(values[:, first], values[:, second], s=12)
    else:
        y = np.asarray(y)
        if y.dtype.kind == "f" and len(np.unique(y)) > 20:
            ax.figure.colorbar(ax.scatter(values[:, first], values[:, second], c=y, s=12), ax=ax)
        else:
            for i, name in enumerate(np.unique(y)):  # shapes, too, for those who see no colours
                ax.scatter(values[y == name, first], values[y == name, second], s=16, label=str(name),
                           marker=SHAPES[i % len(SHAPES)])
            ax.legend()
    ax.set_xlabel(f"feature {first + 1}")
    ax.set_ylabel(f"feature {second + 1}")
    ax.set_title(type(estimator).__name__)
    return ax


def spectrum(estimator, ax):
    shares = estimator.explained_variance_ratio_
    ax = _axes(ax)
    numbers = np.arange(1, len(shares) + 1)
    ax.bar(numbers, shares, label="component")
    ax.plot(numbers, np.cumsum(shares), "o-", color="black", markersize=3, label="sum")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("component")
    ax.set_ylabel("share of the variance")
    ax.legend()
    return ax


def errors(estimator, X, ax):
    values = estimator.reconstruction_errors(X)
    ax = _axes(ax)
    ax.hist(values, bins=min(50, max(5, len(values) // 5)))
    threshold = estimator.model_.info["novelty_threshold"]
    if threshold is not None:
        ax.axvline(threshold, color="black", linestyle="--", label="novel beyond")
        ax.legend()
    ax.set_xlabel("reconstruction error")
    ax.set_ylabel("rows")
    return ax


def preimages(estimator, X, shape, count, figure):
    rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, float)[:count]
    found = estimator.inverse_transform(estimator.transform(rows))
    if shape is not None and int(np.prod(shape)) != rows.shape[1]:
        raise _core.ParameterError(f"shape={shape!r} does not hold {rows.shape[1]} columns")
    if figure is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("pictures need matplotlib, which is not installed") from None
        figure = plt.figure(figsize=(1.2 * len(rows), 2.6))
    axes = figure.subplots(2, len(rows), squeeze=False)
    for line, values in zip(axes, (rows, found)):
        for ax, row in zip(line, values):
            if shape is None:
                ax.plot(row)
            else:
                ax.imshow(row.reshape(shape), cmap="gray")
            ax.set_xticks([])
            ax.set_yticks([])
    axes[0, 0].set_ylabel("rows")
    axes[1, 0].set_ylabel("pre-images")
    return figure


def evaluation(result, ax):
    ax = _axes(ax)
    ax.plot(np.arange(1, len(result.values) + 1), result.values, "o")
    ax.axhline(result.mean, color="black", linestyle="--", label=f"mean {result.mean:.4g}")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("fold")
    ax.set_ylabel(result.metric)
    ax.set_title(result.name)
    ax.legend()
    return ax


def plot_evaluation(result, *, ax=None):
    """The metric of every fold of an Evaluation; of the dict that `compare` gives, of every estimator.

    Parameters
    ----------
    result : Evaluation or dict of name to Evaluation
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    if not isinstance(result, dict):
        return evaluation(result, ax)
    ax = _axes(ax)
    for i, one in enumerate(result.values()):
        ax.plot(np.full(len(one.values), i), one.values, "o", color="C0", markersize=4)
        ax.plot([i - 0.2, i + 0.2], [one.mean] * 2, color="black")
    ax.set_xticks(range(len(result)), list(result), rotation=30, ha="right")
    ax.set_ylabel(next(iter(result.values())).metric)
    return ax


def _of_estimator(name):
    def plot(estimator, *arguments, **options):
        return getattr(estimator, name)(*arguments, **options)
    plot.__name__, plot.__doc__ = name, f"The same as estimator.{name}(...)."
    return plot


plot_features, plot_spectrum, plot_errors, plot_preimages = map(
    _of_estimator, ("plot_features", "plot_spectrum", "plot_errors", "plot_preimages"))
