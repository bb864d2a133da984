#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's gallery with the import line changed: test_gallery.py MERCER [WORD...] [-jN]

The examples of KernelPCA (circles; denoising, here on load_digits) and of PLS against PCR, written anew
after theirs: each runs with their class and with ours, which must do as well or better. Figures are
written to the folder of the test.
"""
import pathlib
import sys

import numpy as np

from support import Skip, need_sklearn, program, quiet, run_tests, test

need_sklearn()
import sklearn.cross_decomposition  # noqa: E402
import sklearn.decomposition  # noqa: E402
from sklearn.datasets import load_digits, make_circles  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402
from sklearn.preprocessing import MinMaxScaler  # noqa: E402

import mercer  # noqa: E402

program()


def figure():
    try:
        import matplotlib
    except ImportError as error:
        raise Skip("matplotlib is not installed") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    return plt


def circles(KernelPCA, path):
    """plot_kernel_pca.py, up to the projection and the reconstruction."""
    plt = figure()
    X, y = make_circles(n_samples=1_000, factor=0.3, noise=0.05, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    kernel_pca = KernelPCA(n_components=None, kernel="rbf", gamma=10, fit_inverse_transform=True, alpha=0.1)
    X_test_kernel_pca = kernel_pca.fit(X_train).transform(X_test)
    X_back = kernel_pca.inverse_transform(kernel_pca.transform(X_test))
    fig, axes = plt.subplots(ncols=3, figsize=(12, 4))
    for ax, points in zip(axes, (X_test, X_test_kernel_pca, X_back)):
        ax.scatter(points[:, 0], points[:, 1], c=y_test)
    fig.savefig(path)
    separated = LogisticRegression().fit(kernel_pca.transform(X_train)[:, :2], y_train)
    return separated.score(X_test_kernel_pca[:, :2], y_test), ((X_back - X_test) ** 2).mean()


@test
def kernel_pca_of_circles():
    with quiet():
        theirs = circles(sklearn.decomposition.KernelPCA, "theirs.png")
        ours = circles(mercer.KernelPCA, "ours.png")
    print(f"circles: separated {theirs[0]:.3f} (scikit-learn), {ours[0]:.3f}; reconstruction {theirs[1]:.2e}, {ours[1]:.2e}")
    assert ours[0] >= theirs[0] and ours[1] <= theirs[1], (theirs, ours)
    assert pathlib.Path("ours.png").stat().st_size > 5000


def denoised(KernelPCA, path):
    """plot_digits_denoising.py: noise is what the components of clean digits do not keep."""
    plt = figure()
    X, y = load_digits(return_X_y=True)
    X = MinMaxScaler().fit_transform(X)
    X_train, X_test, _, _ = train_test_split(X, y, stratify=y, random_state=0, train_size=1_000, test_size=100)
    rng = np.random.RandomState(0)
    X_test_noisy = X_test + rng.normal(scale=0.25, size=X_test.shape)
    X_train_noisy = X_train + rng.normal(scale=0.25, size=X_train.shape)
    kernel_pca = KernelPCA(n_components=40, kernel="rbf", gamma=1e-2, fit_inverse_transform=True, alpha=5e-3, random_state=42)
    kernel_pca.fit(X_train_noisy)
    cleaned = kernel_pca.inverse_transform(kernel_pca.transform(X_test_noisy))
    fig, axes = plt.subplots(2, 10, figsize=(10, 2))
    for line, rows in zip(axes, (X_test_noisy, cleaned)):
        for ax, row in zip(line, rows):
            ax.imshow(row.reshape(8, 8), cmap="gray")
            ax.axis("off")
    fig.savefig(path)
    return ((cleaned - X_test) ** 2).mean(), ((X_test_noisy - X_test) ** 2).mean()


@test
def kernel_pca_takes_noise_away():
    theirs, noise = denoised(sklearn.decomposition.KernelPCA, "theirs.png")
    ours, _ = denoised(mercer.KernelPCA, "ours.png")
    print(f"denoising: mean squared error {noise:.4f} before, {theirs:.4f} (scikit-learn), {ours:.4f}")
    assert ours < 0.6 * noise and ours <= 1.05 * theirs, (noise, theirs, ours)


@test
def pls_beats_pcr():
    """plot_pcr_vs_pls.py: a direction of little variance predicts."""
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    rng = np.random.RandomState(0)
    cov = [[3, 3], [3, 4]]
    X = rng.multivariate_normal(mean=[0, 0], cov=cov, size=500)
    pca = sklearn.decomposition.PCA(n_components=2).fit(X)
    y = X.dot(pca.components_[1]) + rng.normal(size=500) / 2
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=rng)
    scores = {}
    for name, PCA, PLSRegression in (("theirs", sklearn.decomposition.PCA, sklearn.cross_decomposition.PLSRegression),
                                     ("ours", mercer.PCA, mercer.PLSRegression)):
        pcr = make_pipeline(StandardScaler(), PCA(n_components=1), LinearRegression()).fit(X_train, y_train)
        pls = PLSRegression(n_components=1, scale=True).fit(X_train, y_train)
        assert pls.transform(X_test).shape == (len(X_test), 1)
        scores[name] = pcr.score(X_test, y_test), pls.score(X_test, y_test)
        plt = figure()
        fig, axes = plt.subplots(1, 2)
        axes[0].scatter(pcr[:-1].transform(X_test), y_test)
        axes[1].scatter(pls.transform(X_test), y_test)
        fig.savefig(f"{name}.png")
    print("r squared of PCR and PLS:", scores)
    np.testing.assert_allclose(scores["ours"], scores["theirs"], atol=1e-6)
    assert scores["ours"][1] > scores["ours"][0]


if __name__ == "__main__":
    sys.exit(run_tests())
