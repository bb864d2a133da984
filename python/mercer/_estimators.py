# SPDX-License-Identifier: BSD-3-Clause
"""Estimators, one or two per method. Written by tools/generate-python from the schema of the library."""
from ._base import _Classifier, _Kernel, _Regressor, _Streaming


class PCA(_Kernel):
    """Linear principal component analysis.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Features to extract; below 1: as many as capture that share of the variance. None:
        all that are not zero.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    tolerance : float, default=None
        Kpca, pca: let eigenvalues be off by up to this share of the total variance, from
        1e-12 to 0.01, in less time; the report tells what was reached. Default: as exact as
        rounding allows.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the kernel matrix, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space along each component.
    components_ : ndarray of shape (n_components_, n_features_in_)
        Directions, one per row.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: n d min(n, d) operations, without a kernel matrix. The method is `pca` of the command
    line; docs/methods/pca.md describes it.

    References
    ----------
    Pearson 1901.

    Examples
    --------
    >>> from mercer import PCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> PCA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "pca"
    _keys = {}
    _is_linear = True
    _takes_all = True

    def __init__(self, n_components=None, *, center=None, scale=None, novelty=None, keep=None,
                 store="auto", precision="double", tolerance=None, memory=None, random_state=None,
                 n_jobs=None, verbose=False):
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.tolerance = tolerance
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelPCA(_Kernel):
    """Kernel principal component analysis.

    A drop-in for `sklearn.decomposition.KernelPCA`, whose parameters it takes. What differs by default:

    - `kernel` is "rbf", there "linear".
    - `gamma=None` is the median width of the data, there 1 / n_features, which `gamma="auto"` gives.
    - `inverse_transform` needs no preparation: pre-images are found when they are asked for.
      `fit_inverse_transform`, `alpha`, `eigen_solver`, `tol`, `max_iter`, `iterated_power`,
      `remove_zero_eig` and `copy_X` are taken and not used: the solver is chosen by the library, and
      components whose eigenvalue is zero to rounding are always left out.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Features to extract; below 1: as many as capture that share of the variance. None:
        all that are not zero.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    groups : int, default=1
        Split the rows into this many groups and merge their components, which is
        approximate; 1: exact. Allowed: >= 1 and <= 1e+06.
    points : {"auto", "all"}, default="auto"
        Rows that the model stores; auto: with a low-rank store, those few that span the
        others to rounding.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    tolerance : float, default=None
        Kpca, pca: let eigenvalues be off by up to this share of the total variance, from
        1e-12 to 0.01, in less time; the report tells what was reached. Default: as exact as
        rounding allows.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.
    alpha : default=1.0
        Of scikit-learn; not used.
    fit_inverse_transform : default=False
        Of scikit-learn; not used.
    eigen_solver : default="auto"
        Of scikit-learn; not used.
    tol : default=0
        Of scikit-learn; not used.
    max_iter : default=None
        Of scikit-learn; not used.
    iterated_power : default="auto"
        Of scikit-learn; not used.
    remove_zero_eig : default=False
        Of scikit-learn; not used.
    copy_X : default=True
        Of scikit-learn; not used.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the kernel matrix, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space along each component.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: n^2 kernel values, and eigenpairs in l passes over them; in memory as far as `memory`
    allows. The method is `kpca` of the command line; docs/methods/kpca.md describes it.

    References
    ----------
    Schoelkopf, Smola, Mueller 1998.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelPCA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "kpca"
    _keys = {"groups": 1, "points": "auto"}
    _takes_all = True

    def __init__(self, n_components=None, *, kernel="rbf", kernel_params=None, gamma=None,
                 sigma=None, degree=None, coef0=None, groups=1, points="auto", center=None,
                 scale=None, novelty=None, keep=None, store="auto", precision="double",
                 tolerance=None, memory=None, random_state=None, n_jobs=None, verbose=False,
                 alpha=1.0, fit_inverse_transform=False, eigen_solver="auto", tol=0, max_iter=None,
                 iterated_power="auto", remove_zero_eig=False, copy_X=True):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.groups = groups
        self.points = points
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.tolerance = tolerance
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.copy_X = copy_X


class AKFA(_Kernel):
    """Accelerated kernel feature analysis.

    Parameters
    ----------
    n_components : int, float, default=10
        Features to extract; below 1: as many as capture that share of the variance.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    captured : float, default=1.0
        Stop once this share of the variance is captured; 1: no such stop. Allowed: > 0 and
        <= 1.
    candidates : int, default=0
        Rows looked at in each step, drawn at random; 0: all. Allowed: >= 0.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the kernel matrix, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space along each component.
    selected_ : ndarray of int
        Training rows that were chosen, in that order.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component; a model keeps l rows. The method is
    `akfa` of the command line; docs/methods/akfa.md describes it.

    References
    ----------
    Jiang, Snapp, Motai, Zhu 2006.

    Examples
    --------
    >>> from mercer import AKFA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> AKFA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "akfa"
    _keys = {"captured": 1.0, "candidates": 0}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, captured=1.0, candidates=0, center=None, scale=None,
                 novelty=None, keep=None, store="auto", precision="double", memory=None,
                 random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.captured = captured
        self.candidates = candidates
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class ACKFA(_Kernel):
    """Akfa with a cut, which ends the search.

    Parameters
    ----------
    n_components : int, float, default=10
        Features to extract; below 1: as many as capture that share of the variance.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    delta : float, default=0.5
        Rows whose squared distance from the span of the selected ones is below leave.
        Allowed: >= 0.
    relative : bool, default=True
        Delta is in units of the mean squared norm of the (centred) mapped rows.
    candidates : int, default=0
        Rows looked at in each step, drawn at random; 0: all. Allowed: >= 0.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the kernel matrix, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space along each component.
    selected_ : ndarray of int
        Training rows that were chosen, in that order.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component; a model keeps l rows. The method is
    `ackfa` of the command line; docs/methods/ackfa.md describes it.

    References
    ----------
    Jiang, Snapp, Motai, Zhu 2006.

    Examples
    --------
    >>> from mercer import ACKFA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ACKFA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "ackfa"
    _keys = {"delta": 0.5, "relative": True, "candidates": 0}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, delta=0.5, relative=True, candidates=0, center=None,
                 scale=None, novelty=None, keep=None, store="auto", precision="double", memory=None,
                 random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.delta = delta
        self.relative = relative
        self.candidates = candidates
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SKFA(_Kernel):
    """Sparse kernel feature analysis.

    Parameters
    ----------
    n_components : int, float, default=10
        Features to extract; below 1: as many as capture that share of the variance.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    criterion : {"moment", "variance"}, default="moment"
        What a direction is to have much of over the rows.
    l1 : {"images", "features"}, default="images"
        Which weights the l1 norm of a direction counts: those of mapped rows or of
        features.
    candidates : int, default=0
        Rows looked at in each step, drawn at random; 0: all. Allowed: >= 0.
    terms : int, default=0
        Rows the criterion sums over, drawn at random once; 0: all. Allowed: >= 0.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the kernel matrix, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space along each component.
    selected_ : ndarray of int
        Training rows that were chosen, in that order.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component; a model keeps l rows. The method is
    `skfa` of the command line; docs/methods/skfa.md describes it.

    References
    ----------
    Smola, Mangasarian, Schoelkopf 1999.

    Examples
    --------
    >>> from mercer import SKFA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> SKFA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "skfa"
    _keys = {"criterion": "moment", "l1": "images", "candidates": 0, "terms": 0}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, criterion="moment", l1="images", candidates=0, terms=0,
                 center=None, scale=None, novelty=None, keep=None, store="auto", precision="double",
                 memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.criterion = criterion
        self.l1 = l1
        self.candidates = candidates
        self.terms = terms
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class RKPCA(_Kernel):
    """Refined kernel PCA: centred, on few rows.

    Parameters
    ----------
    n_components : int, float, default=10
        Features to extract; below 1: as many as capture that share of the variance.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    points : int, default=0
        Rows the features use; 0: three times the components, or what a share or another
        stop takes. Allowed: >= 0.
    captured : float, default=1.0
        Stop once their span captures this share of the variance; 1: no such stop. Allowed:
        > 0 and <= 1.
    criterion : {"trace", "top"}, default="trace"
        What a new row is to add to: all of the variance captured, or that of the wanted
        components.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "span".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the kernel matrix, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space along each component.
    selected_ : ndarray of int
        Training rows that were chosen, in that order.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per row that is chosen; a model keeps those rows. The
    method is `rkpca` of the command line; docs/methods/rkpca.md describes it.

    References
    ----------
    Li, Yu, Sun 2011.

    Examples
    --------
    >>> from mercer import RKPCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> RKPCA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "rkpca"
    _keys = {"points": 0, "captured": 1.0, "criterion": "trace"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, points=0, captured=1.0, criterion="trace", center=None,
                 scale=None, novelty=None, keep=None, store="auto", precision="double", memory=None,
                 random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.points = points
        self.captured = captured
        self.criterion = criterion
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y=None, *, landmarks=None):
        """Learn features from rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        landmarks : array-like or sparse matrix, optional
            Points that features use instead of chosen rows, like X in everything.

        Returns
        -------
        self
        """
        return self._fit_with(X, None, landmarks=landmarks)


class GreedyKernelPCA(_Kernel):
    """Greedy kernel PCA: rows that cover the others.

    Parameters
    ----------
    n_components : int, float, default=10
        Features to extract; below 1: as many as capture that share of the variance.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    points : int, default=0
        Rows the features use; 0: three times the components, or what a share or another
        stop takes. Allowed: >= 0.
    depth : int, default=0
        Rows tried in each step, those worst covered so far; 0: as many as points, 1: the
        worst one is taken. Allowed: >= 0.
    maxerr : float, default=0.0
        Stop once no row is farther from the span than this, squared; 0: no such stop.
        Allowed: >= 0.
    mserr : float, default=0.0
        Stop once the mean squared distance is at most this; 0: no such stop. Allowed: >= 0.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "span".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the kernel matrix, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space along each component.
    selected_ : ndarray of int
        Training rows that were chosen, in that order.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: n m kernel values; a model keeps m rows. The method is `greedy` of the command line;
    docs/methods/greedy.md describes it.

    References
    ----------
    Franc, Hlavac 2006.

    Examples
    --------
    >>> from mercer import GreedyKernelPCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> GreedyKernelPCA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "greedy"
    _keys = {"points": 0, "depth": 0, "maxerr": 0.0, "mserr": 0.0}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, points=0, depth=0, maxerr=0.0, mserr=0.0, center=None,
                 scale=None, novelty=None, keep=None, store="auto", precision="double", memory=None,
                 random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.points = points
        self.depth = depth
        self.maxerr = maxerr
        self.mserr = mserr
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y=None, *, landmarks=None):
        """Learn features from rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        landmarks : array-like or sparse matrix, optional
            Points that features use instead of chosen rows, like X in everything.

        Returns
        -------
        self
        """
        return self._fit_with(X, None, landmarks=landmarks)


class NystroemKernelPCA(_Kernel):
    """Nystroem kernel PCA: features on sampled rows.

    Parameters
    ----------
    n_components : int, float, default=10
        Features to extract; below 1: as many as capture that share of the variance.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    points : int, default=0
        Rows the features use; 0: three times the components, or what a share or another
        stop takes. Allowed: >= 0.
    sampling : {"uniform", "kmeans", "greedy", "rpcholesky"}, default="uniform"
        Rows at random, rows in the middle of clusters, rows that cover the others best, or
        rows at random by what is left of them.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "span".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the kernel matrix, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space along each component.
    selected_ : ndarray of int
        Training rows that were chosen, in that order.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: n m kernel values and n m^2 operations; a model keeps m rows. The method is `nystroem`
    of the command line; docs/methods/nystroem.md describes it.

    References
    ----------
    Williams, Seeger 2001.

    Examples
    --------
    >>> from mercer import NystroemKernelPCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NystroemKernelPCA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "nystroem"
    _keys = {"points": 0, "sampling": "uniform"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, points=0, sampling="uniform", center=None, scale=None,
                 novelty=None, keep=None, store="auto", precision="double", memory=None,
                 random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.points = points
        self.sampling = sampling
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y=None, *, landmarks=None):
        """Learn features from rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        landmarks : array-like or sparse matrix, optional
            Points that features use instead of chosen rows, like X in everything.

        Returns
        -------
        self
        """
        return self._fit_with(X, None, landmarks=landmarks)


class SparseKernelPCA(_Kernel):
    """Sparse kernel PCA by maximum likelihood.

    Parameters
    ----------
    n_components : int, float, default=10
        Features to extract; below 1: as many as capture that share of the variance.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    noise : float or "auto", default="auto"
        Variance in every direction beside the model; auto: that of the first component left
        out. Allowed: > 0.
    tolerance : float, default=0.001
        Stop once no weight raises the log-likelihood by this per row. Allowed: >= 1e-08 and
        <= 1.
    points : int, default=0
        Rows the features use at most; 0: as many as the likelihood takes. Allowed: >= 0.
    directions : {"span", "model"}, default="span"
        Kernel PCA in the span of the rows taken, or the directions of the likelihood's own
        covariance.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "span".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the kernel matrix, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space along each component.
    selected_ : ndarray of int
        Training rows that were chosen, in that order.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: Kernel PCA for the noise, then some passes over the kernel matrix per row that is
    kept. The method is `tipping` of the command line; docs/methods/tipping.md describes it.

    References
    ----------
    Tipping 2001.

    Examples
    --------
    >>> from mercer import SparseKernelPCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> SparseKernelPCA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "tipping"
    _keys = {"noise": "auto", "tolerance": 0.001, "points": 0, "directions": "span"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, noise="auto", tolerance=0.001, points=0,
                 directions="span", center=None, scale=None, novelty=None, keep=None, store="auto",
                 precision="double", memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.noise = noise
        self.tolerance = tolerance
        self.points = points
        self.directions = directions
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelICA(_Kernel):
    """Kernel independent component analysis.

    Parameters
    ----------
    n_components : int, float, default=10
        Features to extract; below 1: as many as capture that share of the variance.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    contrast : {"tanh", "cube", "gauss"}, default="tanh"
        Derivative of the function that measures the difference from a normal distribution.
    scheme : {"deflation", "symmetric"}, default="deflation"
        Components one after the other, or all at once.
    iterations : int, default=200
        Steps of each component, or of all at once, at most. Allowed: >= 1 and <= 1e+06.
    energy : float, default=0.99
        Share of the variance that the kernel PCA space keeps; 1: all of it. Allowed: > 0
        and <= 1.
    rank : int, default=0
        Dimensions that the kernel PCA space has at most; 0: no limit. Allowed: >= 0.
    points : {"auto", "all"}, default="auto"
        Rows that the model stores; auto: with a low-rank store, those few that span the
        others to rounding.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: Kernel PCA, then FastICA in its space. The method is `kica` of the command line;
    docs/methods/kica.md describes it.

    References
    ----------
    Hyvarinen 1999; Liu, Mio 2005.

    Examples
    --------
    >>> from mercer import KernelICA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelICA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "kica"
    _keys = {"contrast": "tanh", "scheme": "deflation", "iterations": 200, "energy": 0.99, "rank":
             0, "points": "auto"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, contrast="tanh", scheme="deflation", iterations=200,
                 energy=0.99, rank=0, points="auto", center=None, scale=None, novelty=None,
                 keep=None, store="auto", precision="double", memory=None, random_state=None,
                 n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.contrast = contrast
        self.scheme = scheme
        self.iterations = iterations
        self.energy = energy
        self.rank = rank
        self.points = points
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class PLSClassifier(_Classifier):
    """Partial least squares: features for classes, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    discriminant : bool, default=False
        Classes weigh the same whatever their size, and prediction is the nearest centre.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    components_ : ndarray of shape (n_components_, n_features_in_)
        Directions, one per row.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: n d l operations, without a kernel matrix. The method is `pls` of the command line;
    docs/methods/kpls.md describes it.

    References
    ----------
    Wold 1966.

    Examples
    --------
    >>> from mercer import PLSClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = PLSClassifier(n_components=2).fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((150, 2), (150,))
    """

    _method = "pls"
    _keys = {"discriminant": False}
    _is_linear = True

    def __init__(self, n_components=10, *, discriminant=False, center=None, scale=None, head=None,
                 novelty=None, keep=None, store="auto", precision="double", memory=None,
                 random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.discriminant = discriminant
        self.center = center
        self.scale = scale
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class PLSRegressor(_Regressor):
    """Partial least squares: features for values, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    discriminant : bool, default=False
        Classes weigh the same whatever their size, and prediction is the nearest centre.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    scale_target : {"none", "standard", "norm"} or bool, default=None
        Scaling of y; predictions are in the units of y.
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    intervals : bool, default=False
        Learn how far predictions of held-out rows are off, for `predict_interval`; costs a
        second fit likewise.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    components_ : ndarray of shape (n_components_, n_features_in_)
        Directions, one per row.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: n d l operations, without a kernel matrix. The method is `pls` of the command line;
    docs/methods/kpls.md describes it.

    References
    ----------
    Wold 1966.

    Examples
    --------
    >>> from mercer import PLSRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> estimator = PLSRegressor(n_components=2, scale="standard").fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((442, 2), (442,))
    """

    _method = "pls"
    _keys = {"discriminant": False}
    _is_linear = True

    def __init__(self, n_components=10, *, discriminant=False, center=None, scale=None, head=None,
                 scale_target=None, novelty=None, intervals=False, keep=None, store="auto",
                 precision="double", memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.discriminant = discriminant
        self.center = center
        self.scale = scale
        self.head = head
        self.scale_target = scale_target
        self.novelty = novelty
        self.intervals = intervals
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelPLSClassifier(_Classifier):
    """Kernel partial least squares: features for classes, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    discriminant : bool, default=False
        Classes weigh the same whatever their size, and prediction is the nearest centre.
    points : {"auto", "all"}, default="auto"
        Rows that the model stores; auto: with a low-rank store, those few that span the
        others to rounding.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component. The method is `kpls` of the command
    line; docs/methods/kpls.md describes it.

    References
    ----------
    Rosipal, Trejo 2001.

    Examples
    --------
    >>> from mercer import KernelPLSClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = KernelPLSClassifier(n_components=2).fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((150, 2), (150,))
    """

    _method = "kpls"
    _keys = {"discriminant": False, "points": "auto"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, discriminant=False, points="auto", center=None,
                 scale=None, map=None, head=None, novelty=None, keep=None, store="auto",
                 precision="double", memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.discriminant = discriminant
        self.points = points
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelPLSRegressor(_Regressor):
    """Kernel partial least squares: features for values, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    discriminant : bool, default=False
        Classes weigh the same whatever their size, and prediction is the nearest centre.
    points : {"auto", "all"}, default="auto"
        Rows that the model stores; auto: with a low-rank store, those few that span the
        others to rounding.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    scale_target : {"none", "standard", "norm"} or bool, default=None
        Scaling of y; predictions are in the units of y.
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    intervals : bool, default=False
        Learn how far predictions of held-out rows are off, for `predict_interval`; costs a
        second fit likewise.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component. The method is `kpls` of the command
    line; docs/methods/kpls.md describes it.

    References
    ----------
    Rosipal, Trejo 2001.

    Examples
    --------
    >>> from mercer import KernelPLSRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> estimator = KernelPLSRegressor(n_components=2, scale="standard").fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((442, 2), (442,))
    """

    _method = "kpls"
    _keys = {"discriminant": False, "points": "auto"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, discriminant=False, points="auto", center=None,
                 scale=None, map=None, head=None, scale_target=None, novelty=None, intervals=False,
                 keep=None, store="auto", precision="double", memory=None, random_state=None,
                 n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.discriminant = discriminant
        self.points = points
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.scale_target = scale_target
        self.novelty = novelty
        self.intervals = intervals
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SMAClassifier(_Classifier):
    """Sparse maximal alignment with the labels: features for classes, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    candidates : int, default=0
        Rows looked at for each feature, drawn at random; 0: all. Allowed: >= 0.
    sparsity : int, default=1
        Rows that a direction may be made of; 2 and 3 look at all pairs or triples. Allowed:
        >= 1 and <= 3.
    labels : {"centred", "raw"}, default="centred"
        Labels about their mean, or as they are; two classes are -1 and 1.
    norm : {"direction", "feature"}, default="feature"
        What has length one: the direction in feature space, or the feature of the rows.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "none".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    selected_ : ndarray of int
        Training rows that were chosen, in that order.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component; a model keeps l rows. The method is
    `sma` of the command line; docs/methods/sma.md describes it.

    References
    ----------
    Dhanjal, Gunn, Shawe-Taylor 2009.

    Examples
    --------
    >>> from mercer import SMAClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = SMAClassifier(n_components=2).fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((150, 2), (150,))
    """

    _method = "sma"
    _keys = {"candidates": 0, "sparsity": 1, "labels": "centred", "norm": "feature"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, candidates=0, sparsity=1, labels="centred",
                 norm="feature", center=None, scale=None, map=None, head=None, novelty=None,
                 keep=None, store="auto", precision="double", memory=None, random_state=None,
                 n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.candidates = candidates
        self.sparsity = sparsity
        self.labels = labels
        self.norm = norm
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SMARegressor(_Regressor):
    """Sparse maximal alignment with the labels: features for values, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    candidates : int, default=0
        Rows looked at for each feature, drawn at random; 0: all. Allowed: >= 0.
    sparsity : int, default=1
        Rows that a direction may be made of; 2 and 3 look at all pairs or triples. Allowed:
        >= 1 and <= 3.
    labels : {"centred", "raw"}, default="centred"
        Labels about their mean, or as they are; two classes are -1 and 1.
    norm : {"direction", "feature"}, default="feature"
        What has length one: the direction in feature space, or the feature of the rows.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "none".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    scale_target : {"none", "standard", "norm"} or bool, default=None
        Scaling of y; predictions are in the units of y.
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    intervals : bool, default=False
        Learn how far predictions of held-out rows are off, for `predict_interval`; costs a
        second fit likewise.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    selected_ : ndarray of int
        Training rows that were chosen, in that order.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component; a model keeps l rows. The method is
    `sma` of the command line; docs/methods/sma.md describes it.

    References
    ----------
    Dhanjal, Gunn, Shawe-Taylor 2009.

    Examples
    --------
    >>> from mercer import SMARegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> estimator = SMARegressor(n_components=2, scale="standard").fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((442, 2), (442,))
    """

    _method = "sma"
    _keys = {"candidates": 0, "sparsity": 1, "labels": "centred", "norm": "feature"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, candidates=0, sparsity=1, labels="centred",
                 norm="feature", center=None, scale=None, map=None, head=None, scale_target=None,
                 novelty=None, intervals=False, keep=None, store="auto", precision="double",
                 memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.candidates = candidates
        self.sparsity = sparsity
        self.labels = labels
        self.norm = norm
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.scale_target = scale_target
        self.novelty = novelty
        self.intervals = intervals
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SMCClassifier(_Classifier):
    """Sparse maximal covariance with the labels: features for classes, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    candidates : int, default=0
        Rows looked at for each feature, drawn at random; 0: all. Allowed: >= 0.
    sparsity : int, default=1
        Rows that a direction may be made of; 2 and 3 look at all pairs or triples. Allowed:
        >= 1 and <= 3.
    labels : {"centred", "raw"}, default="centred"
        Labels about their mean, or as they are; two classes are -1 and 1.
    norm : {"direction", "feature"}, default="direction"
        What has length one: the direction in feature space, or the feature of the rows.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "none".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    selected_ : ndarray of int
        Training rows that were chosen, in that order.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component; a model keeps l rows. The method is
    `smc` of the command line; docs/methods/sma.md describes it.

    References
    ----------
    Dhanjal, Gunn, Shawe-Taylor 2009.

    Examples
    --------
    >>> from mercer import SMCClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = SMCClassifier(n_components=2).fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((150, 2), (150,))
    """

    _method = "smc"
    _keys = {"candidates": 0, "sparsity": 1, "labels": "centred", "norm": "direction"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, candidates=0, sparsity=1, labels="centred",
                 norm="direction", center=None, scale=None, map=None, head=None, novelty=None,
                 keep=None, store="auto", precision="double", memory=None, random_state=None,
                 n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.candidates = candidates
        self.sparsity = sparsity
        self.labels = labels
        self.norm = norm
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SMCRegressor(_Regressor):
    """Sparse maximal covariance with the labels: features for values, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    candidates : int, default=0
        Rows looked at for each feature, drawn at random; 0: all. Allowed: >= 0.
    sparsity : int, default=1
        Rows that a direction may be made of; 2 and 3 look at all pairs or triples. Allowed:
        >= 1 and <= 3.
    labels : {"centred", "raw"}, default="centred"
        Labels about their mean, or as they are; two classes are -1 and 1.
    norm : {"direction", "feature"}, default="direction"
        What has length one: the direction in feature space, or the feature of the rows.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "none".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    scale_target : {"none", "standard", "norm"} or bool, default=None
        Scaling of y; predictions are in the units of y.
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    intervals : bool, default=False
        Learn how far predictions of held-out rows are off, for `predict_interval`; costs a
        second fit likewise.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    selected_ : ndarray of int
        Training rows that were chosen, in that order.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component; a model keeps l rows. The method is
    `smc` of the command line; docs/methods/sma.md describes it.

    References
    ----------
    Dhanjal, Gunn, Shawe-Taylor 2009.

    Examples
    --------
    >>> from mercer import SMCRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> estimator = SMCRegressor(n_components=2, scale="standard").fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((442, 2), (442,))
    """

    _method = "smc"
    _keys = {"candidates": 0, "sparsity": 1, "labels": "centred", "norm": "direction"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, candidates=0, sparsity=1, labels="centred",
                 norm="direction", center=None, scale=None, map=None, head=None, scale_target=None,
                 novelty=None, intervals=False, keep=None, store="auto", precision="double",
                 memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.candidates = candidates
        self.sparsity = sparsity
        self.labels = labels
        self.norm = norm
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.scale_target = scale_target
        self.novelty = novelty
        self.intervals = intervals
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SparseKernelPLSClassifier(_Classifier):
    """Sparse kernel partial least squares: features for classes, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    nu : float, default=0.25
        Share of the rows that make a direction; 1: all. Allowed: > 0 and <= 1.
    heuristic : {"mr", "mi", "eps"}, default="mi"
        Which rows: those with the largest residuals, those with the most information among
        rows drawn at random, or those that a tube of width eps leaves.
    cache : int, default=500
        Mi: rows drawn at random for each feature. Allowed: >= 1.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "none".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component; directions of few rows. The method is
    `skpls` of the command line; docs/methods/skpls.md describes it.

    References
    ----------
    Momma, Bennett 2003.

    Examples
    --------
    >>> from mercer import SparseKernelPLSClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = SparseKernelPLSClassifier(n_components=2).fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((150, 2), (150,))
    """

    _method = "skpls"
    _keys = {"nu": 0.25, "heuristic": "mi", "cache": 500}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, nu=0.25, heuristic="mi", cache=500, center=None,
                 scale=None, map=None, head=None, novelty=None, keep=None, store="auto",
                 precision="double", memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.nu = nu
        self.heuristic = heuristic
        self.cache = cache
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SparseKernelPLSRegressor(_Regressor):
    """Sparse kernel partial least squares: features for values, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    nu : float, default=0.25
        Share of the rows that make a direction; 1: all. Allowed: > 0 and <= 1.
    heuristic : {"mr", "mi", "eps"}, default="mi"
        Which rows: those with the largest residuals, those with the most information among
        rows drawn at random, or those that a tube of width eps leaves.
    cache : int, default=500
        Mi: rows drawn at random for each feature. Allowed: >= 1.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "none".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    scale_target : {"none", "standard", "norm"} or bool, default=None
        Scaling of y; predictions are in the units of y.
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    intervals : bool, default=False
        Learn how far predictions of held-out rows are off, for `predict_interval`; costs a
        second fit likewise.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component; directions of few rows. The method is
    `skpls` of the command line; docs/methods/skpls.md describes it.

    References
    ----------
    Momma, Bennett 2003.

    Examples
    --------
    >>> from mercer import SparseKernelPLSRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> estimator = SparseKernelPLSRegressor(n_components=2, scale="standard").fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((442, 2), (442,))
    """

    _method = "skpls"
    _keys = {"nu": 0.25, "heuristic": "mi", "cache": 500}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, nu=0.25, heuristic="mi", cache=500, center=None,
                 scale=None, map=None, head=None, scale_target=None, novelty=None, intervals=False,
                 keep=None, store="auto", precision="double", memory=None, random_state=None,
                 n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.nu = nu
        self.heuristic = heuristic
        self.cache = cache
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.scale_target = scale_target
        self.novelty = novelty
        self.intervals = intervals
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class ReducedKernelOPLSClassifier(_Classifier):
    """Reduced orthonormalised PLS, on rows drawn: features for classes, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    subset : int, default=100
        Rows that the features use, drawn at random; all when there are fewer. Allowed: >=
        1.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "none".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: n subset kernel values; a model keeps `subset` rows. The method is `rkopls` of the
    command line; docs/methods/rkopls.md describes it.

    References
    ----------
    Arenas-Garcia, Petersen, Hansen 2006.

    Examples
    --------
    >>> from mercer import ReducedKernelOPLSClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = ReducedKernelOPLSClassifier(n_components=2).fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((150, 2), (150,))
    """

    _method = "rkopls"
    _keys = {"subset": 100}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, subset=100, center=None, scale=None, map=None, head=None,
                 novelty=None, keep=None, store="auto", precision="double", memory=None,
                 random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.subset = subset
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class ReducedKernelOPLSRegressor(_Regressor):
    """Reduced orthonormalised PLS, on rows drawn: features for values, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    subset : int, default=100
        Rows that the features use, drawn at random; all when there are fewer. Allowed: >=
        1.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "none".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    scale_target : {"none", "standard", "norm"} or bool, default=None
        Scaling of y; predictions are in the units of y.
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    intervals : bool, default=False
        Learn how far predictions of held-out rows are off, for `predict_interval`; costs a
        second fit likewise.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: n subset kernel values; a model keeps `subset` rows. The method is `rkopls` of the
    command line; docs/methods/rkopls.md describes it.

    References
    ----------
    Arenas-Garcia, Petersen, Hansen 2006.

    Examples
    --------
    >>> from mercer import ReducedKernelOPLSRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> estimator = ReducedKernelOPLSRegressor(n_components=1, scale="standard").fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((442, 1), (442,))
    """

    _method = "rkopls"
    _keys = {"subset": 100}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, subset=100, center=None, scale=None, map=None, head=None,
                 scale_target=None, novelty=None, intervals=False, keep=None, store="auto",
                 precision="double", memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.subset = subset
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.scale_target = scale_target
        self.novelty = novelty
        self.intervals = intervals
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class ContinuumClassifier(_Classifier):
    """Continuum regression: features for classes, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    alpha : float, default=0.5
        0: least squares, 0.5: partial least squares, 1: principal components, or between.
        Allowed: >= 0 and <= 1.
    points : {"auto", "all"}, default="auto"
        Rows that the model stores; auto: with a low-rank store, those few that span the
        others to rounding.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: Several passes over the kernel matrix per component. The method is `cr` of the command
    line; docs/methods/cr.md describes it.

    References
    ----------
    Stone, Brooks 1990.

    Examples
    --------
    >>> from mercer import ContinuumClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = ContinuumClassifier(n_components=2).fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((150, 2), (150,))
    """

    _method = "cr"
    _keys = {"alpha": 0.5, "points": "auto"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, alpha=0.5, points="auto", center=None, scale=None,
                 map=None, head=None, novelty=None, keep=None, store="auto", precision="double",
                 memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.points = points
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class ContinuumRegressor(_Regressor):
    """Continuum regression: features for values, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    alpha : float, default=0.5
        0: least squares, 0.5: partial least squares, 1: principal components, or between.
        Allowed: >= 0 and <= 1.
    points : {"auto", "all"}, default="auto"
        Rows that the model stores; auto: with a low-rank store, those few that span the
        others to rounding.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    scale_target : {"none", "standard", "norm"} or bool, default=None
        Scaling of y; predictions are in the units of y.
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    intervals : bool, default=False
        Learn how far predictions of held-out rows are off, for `predict_interval`; costs a
        second fit likewise.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: Several passes over the kernel matrix per component. The method is `cr` of the command
    line; docs/methods/cr.md describes it.

    References
    ----------
    Stone, Brooks 1990.

    Examples
    --------
    >>> from mercer import ContinuumRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> estimator = ContinuumRegressor(n_components=2, scale="standard").fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((442, 2), (442,))
    """

    _method = "cr"
    _keys = {"alpha": 0.5, "points": "auto"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, alpha=0.5, points="auto", center=None, scale=None,
                 map=None, head=None, scale_target=None, novelty=None, intervals=False, keep=None,
                 store="auto", precision="double", memory=None, random_state=None, n_jobs=None,
                 verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.points = points
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.scale_target = scale_target
        self.novelty = novelty
        self.intervals = intervals
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class BoostedLatentFeaturesClassifier(_Classifier):
    """Boosted latent features: features for classes, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    loss : {"auto", "ls", "lad", "exp", "log"}, default="auto"
        What the features reduce: squares, absolute deviations, or for two classes the
        exponential or logistic loss of margins; auto: lad for values, log for two classes,
        ls for more.
    nu : float, default=1.0
        Share of the rows that make a direction; 1: all. Allowed: > 0 and <= 1.
    heuristic : {"mr", "mi", "eps"}, default="mi"
        Which rows: those with the largest residuals, those with the most information among
        rows drawn at random, or those that a tube of width eps leaves.
    cache : int, default=500
        Mi: rows drawn at random for each feature. Allowed: >= 1.
    points : {"auto", "all"}, default="auto"
        Rows that the model stores; auto: with a low-rank store, those few that span the
        others to rounding.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: that of the loss.
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component. The method is `blf` of the command
    line; docs/methods/blf.md describes it.

    References
    ----------
    Momma, Bennett 2005.

    Examples
    --------
    >>> from mercer import BoostedLatentFeaturesClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = BoostedLatentFeaturesClassifier(n_components=2).fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((150, 2), (150,))
    """

    _method = "blf"
    _keys = {"loss": "auto", "nu": 1.0, "heuristic": "mi", "cache": 500, "points": "auto"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, loss="auto", nu=1.0, heuristic="mi", cache=500,
                 points="auto", center=None, scale=None, map=None, head=None, novelty=None,
                 keep=None, store="auto", precision="double", memory=None, random_state=None,
                 n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.nu = nu
        self.heuristic = heuristic
        self.cache = cache
        self.points = points
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class BoostedLatentFeaturesRegressor(_Regressor):
    """Boosted latent features: features for values, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    loss : {"auto", "ls", "lad", "exp", "log"}, default="auto"
        What the features reduce: squares, absolute deviations, or for two classes the
        exponential or logistic loss of margins; auto: lad for values, log for two classes,
        ls for more.
    nu : float, default=1.0
        Share of the rows that make a direction; 1: all. Allowed: > 0 and <= 1.
    heuristic : {"mr", "mi", "eps"}, default="mi"
        Which rows: those with the largest residuals, those with the most information among
        rows drawn at random, or those that a tube of width eps leaves.
    cache : int, default=500
        Mi: rows drawn at random for each feature. Allowed: >= 1.
    points : {"auto", "all"}, default="auto"
        Rows that the model stores; auto: with a low-rank store, those few that span the
        others to rounding.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: that of the loss.
    scale_target : {"none", "standard", "norm"} or bool, default=None
        Scaling of y; predictions are in the units of y.
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    intervals : bool, default=False
        Learn how far predictions of held-out rows are off, for `predict_interval`; costs a
        second fit likewise.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One pass over the kernel matrix per component. The method is `blf` of the command
    line; docs/methods/blf.md describes it.

    References
    ----------
    Momma, Bennett 2005.

    Examples
    --------
    >>> from mercer import BoostedLatentFeaturesRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> estimator = BoostedLatentFeaturesRegressor(n_components=2, scale="standard").fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((442, 2), (442,))
    """

    _method = "blf"
    _keys = {"loss": "auto", "nu": 1.0, "heuristic": "mi", "cache": 500, "points": "auto"}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, loss="auto", nu=1.0, heuristic="mi", cache=500,
                 points="auto", center=None, scale=None, map=None, head=None, scale_target=None,
                 novelty=None, intervals=False, keep=None, store="auto", precision="double",
                 memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.nu = nu
        self.heuristic = heuristic
        self.cache = cache
        self.points = points
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.scale_target = scale_target
        self.novelty = novelty
        self.intervals = intervals
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelBoostClassifier(_Classifier):
    """Kernel boosting of two classes: features for classes, and their prediction.

    Parameters
    ----------
    n_components : int, float or "bound", default=10
        Features to extract; below 1: as many as explain that share of the labels.
    kernel : str or callable, default="linear"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    loss : {"exp", "log"}, default="exp"
        Of the pairs of rows.
    rounds : int, default=0
        Rounds of boosting, each of which makes a feature; 0: as many as components.
        Allowed: >= 0.
    points : {"auto", "all"}, default="auto"
        Rows that the model stores; auto: with a low-rank store, those few that span the
        others to rounding.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "none".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "ls".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: n^2 pairs of rows per round. The method is `kboost` of the command line;
    docs/methods/kboost.md describes it.

    References
    ----------
    Crammer, Keshet, Singer 2002.

    Examples
    --------
    >>> from mercer import KernelBoostClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> estimator = KernelBoostClassifier(n_components=2, scale="standard").fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((569, 2), (569,))
    """

    _method = "kboost"
    _keys = {"loss": "exp", "rounds": 0, "points": "auto"}
    _two_classes = True

    def __init__(self, n_components=10, *, kernel="linear", kernel_params=None, gamma=None,
                 sigma=None, degree=None, coef0=None, loss="exp", rounds=0, points="auto",
                 center=None, scale=None, map=None, head=None, novelty=None, keep=None,
                 store="auto", precision="double", memory=None, random_state=None, n_jobs=None,
                 verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.rounds = rounds
        self.points = points
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelRidgeClassifier(_Classifier):
    """Kernel ridge regression, Gaussian process regression: features for classes, and their prediction.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    ridge : float or "auto", default="auto"
        Penalty, as a share of the trace of the kernel matrix; auto: of 15 values from 1e-7
        to 1 the one with the least leave-one-out error. Allowed: >= 1e-12.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "direct".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: Some 10 to 100 passes over the kernel matrix, or n q^2 operations with a factor of
    rank q. The method is `krr` of the command line; docs/methods/krr.md describes it.

    References
    ----------
    Saunders, Gammerman, Vovk 1998.

    Examples
    --------
    >>> from mercer import KernelRidgeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = KernelRidgeClassifier(ridge=0.01).fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((150, 3), (150,))
    """

    _method = "krr"
    _keys = {"ridge": "auto"}

    def __init__(self, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None, degree=None,
                 coef0=None, ridge="auto", center=None, scale=None, map=None, head=None,
                 novelty=None, keep=None, store="auto", precision="double", memory=None,
                 random_state=None, n_jobs=None, verbose=False):
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.ridge = ridge
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelRidgeRegressor(_Regressor):
    """Kernel ridge regression, Gaussian process regression: features for values, and their prediction.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    ridge : float or "auto", default="auto"
        Penalty, as a share of the trace of the kernel matrix; auto: of 15 values from 1e-7
        to 1 the one with the least leave-one-out error. Allowed: >= 1e-12.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "direct".
    scale_target : {"none", "standard", "norm"} or bool, default=None
        Scaling of y; predictions are in the units of y.
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    intervals : bool, default=False
        Learn how far predictions of held-out rows are off, for `predict_interval`; costs a
        second fit likewise.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: Some 10 to 100 passes over the kernel matrix, or n q^2 operations with a factor of
    rank q. The method is `krr` of the command line; docs/methods/krr.md describes it.

    References
    ----------
    Saunders, Gammerman, Vovk 1998.

    Examples
    --------
    >>> from mercer import KernelRidgeRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> estimator = KernelRidgeRegressor(ridge=0.01, scale="standard").fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((442, 1), (442,))
    """

    _method = "krr"
    _keys = {"ridge": "auto"}

    def __init__(self, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None, degree=None,
                 coef0=None, ridge="auto", center=None, scale=None, map=None, head=None,
                 scale_target=None, novelty=None, intervals=False, keep=None, store="auto",
                 precision="double", memory=None, random_state=None, n_jobs=None, verbose=False):
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.ridge = ridge
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.scale_target = scale_target
        self.novelty = novelty
        self.intervals = intervals
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelFisherClassifier(_Classifier):
    """Kernel Fisher discriminants: features for classes, and their prediction.

    Parameters
    ----------
    n_components : int, float or "all", default="all"
        Features to extract, at most one less than there are classes.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    ridge : float or "auto", default="auto"
        Penalty, as a share of the trace of the kernel matrix; auto: of 15 values from 1e-7
        to 1 the one with the least leave-one-out error. Allowed: >= 0.
    center : {"exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "centre".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: One kernel ridge regression on the indicators of the classes. The method is `kfd` of
    the command line; docs/methods/kfd.md describes it.

    References
    ----------
    Baudat, Anouar 2000.

    Examples
    --------
    >>> from mercer import KernelFisherClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = KernelFisherClassifier(n_components=2).fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((150, 2), (150,))
    """

    _method = "kfd"
    _keys = {"ridge": "auto"}

    def __init__(self, n_components="all", *, kernel="rbf", kernel_params=None, gamma=None,
                 sigma=None, degree=None, coef0=None, ridge="auto", center=None, scale=None,
                 map=None, head=None, novelty=None, keep=None, store="auto", precision="double",
                 memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.ridge = ridge
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelOCAClassifier(_Classifier):
    """Kernel optimal component analysis: features for classes, and their prediction.

    Parameters
    ----------
    n_components : int, float, default=10
        Features to extract; below 1: as many as capture that share of the variance.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    neighbours : int, default=1
        Nearest neighbours of the own and of other classes that are compared. Allowed: >= 1
        and <= 1e+06.
    aggregate : {"mean", "kth"}, default="mean"
        What is compared: the mean of their squared distances, or the largest of them.
    beta : float, default=0.3
        Steepness of the performance: small asks for wide margins, large counts errors.
        Allowed: > 0 and <= 1e+06.
    epsilon : float or "auto", default="auto"
        Added to distances from the own class; auto: 1e-9 of the median squared distance.
        Allowed: > 0.
    energy : float, default=0.9999
        Share of the variance that the kernel PCA space keeps; 1: all of it. Allowed: > 0
        and <= 1.
    rank : int, default=0
        Dimensions that the kernel PCA space has at most; 0: no limit. Allowed: >= 0.
    points : int, default=0
        Rows that span the space searched, chosen to cover the others; 0: all. Allowed: >=
        0.
    start : {"kpca", "random", "kica"}, default="kpca"
        Subspace the search starts from.
    restarts : int, default=0
        Searches from random subspaces after the first one; the best is kept. Allowed: >= 0
        and <= 1e+06.
    search : {"ascent", "anneal"}, default="ascent"
        Steps that gain along geodesics, or random ones under a falling temperature.
    iterations : int, default=300
        Steps for each beta, at most. Allowed: >= 0.
    continuation : bool, default=True
        Warm up with 10 neighbours, then beta = 2, 1, 0.5, as far as these are larger.
    temperature : float, default=0.01
        Of annealing at the start. Allowed: > 0 and <= 1e+06.
    cooling : float, default=1.01
        What the temperature is divided by in each step. Allowed: >= 1 and <= 10.
    validation : {"auto", "loo", "split", "rows"}, default="auto"
        Which rows are judged: each by the others, one half by the other half, or the rows
        given for validation by all; auto: those when there are some, else loo.
    holdout : float, default=0.0
        Share of each class that the search does not see; it ends when they get no better.
        Allowed: >= 0 and <= 0.9.
    center : {"none", "exact"}, default=None
        How the mean in feature space is subtracted; None: "none".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    map : str, default=None
        Linear map of the scaled columns, learnt from y before anything else: "agop", with
        keys ("agop:form=diagonal"); None: no map.
    head : str, default=None
        What predicts from the features: ls, centre, lad, exp, log, knn, svm, linsvm,
        direct, with keys ("knn:k=3"); None: "knn:k=1".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    classes_ : ndarray
        Classes seen in fit, sorted.
    kernel_ : str
        The kernel with the numbers used.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: Kernel PCA, then a search in its space, n^2 distances per step. The method is `koca`
    of the command line; docs/methods/koca.md describes it.

    References
    ----------
    Liu, Mio 2005.

    Examples
    --------
    >>> from mercer import KernelOCAClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> estimator = KernelOCAClassifier(n_components=2).fit(X, y)
    >>> estimator.transform(X).shape, estimator.predict(X).shape
    ((150, 2), (150,))
    """

    _method = "koca"
    _keys = {"neighbours": 1, "aggregate": "mean", "beta": 0.3, "epsilon": "auto", "energy": 0.9999,
             "rank": 0, "points": 0, "start": "kpca", "restarts": 0, "search": "ascent",
             "iterations": 300, "continuation": True, "temperature": 0.01, "cooling": 1.01,
             "validation": "auto", "holdout": 0.0}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, neighbours=1, aggregate="mean", beta=0.3, epsilon="auto",
                 energy=0.9999, rank=0, points=0, start="kpca", restarts=0, search="ascent",
                 iterations=300, continuation=True, temperature=0.01, cooling=1.01,
                 validation="auto", holdout=0.0, center=None, scale=None, map=None, head=None,
                 novelty=None, keep=None, store="auto", precision="double", memory=None,
                 random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.neighbours = neighbours
        self.aggregate = aggregate
        self.beta = beta
        self.epsilon = epsilon
        self.energy = energy
        self.rank = rank
        self.points = points
        self.start = start
        self.restarts = restarts
        self.search = search
        self.iterations = iterations
        self.continuation = continuation
        self.temperature = temperature
        self.cooling = cooling
        self.validation = validation
        self.holdout = holdout
        self.center = center
        self.scale = scale
        self.map = map
        self.head = head
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, *, landmarks=None, validation=None):
        """Learn features that have to do with y from rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        landmarks : array-like or sparse matrix, optional
            Points that features use instead of chosen rows, like X in everything.
        validation : pair of X and y, optional
            Rows with classes that the search is judged by.

        Returns
        -------
        self
        """
        return self._fit_with(X, y, landmarks=landmarks, validation=validation)


class IncrementalKernelPCA(_Streaming):
    """Incremental kernel PCA of a stream of rows.

    Parameters
    ----------
    n_components : int, float, default=10
        Features to extract; below 1: as many as capture that share of the variance.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    captured : float, default=1.0
        No more components than capture this share of the variance; 1: no such limit.
        Allowed: > 0 and <= 1.
    block : int, default=30
        Rows that are folded in at a time. Allowed: >= 1 and <= 1e+06.
    first : int, default=300
        Rows of the first block, from which scaling and sigma=median are learnt. Allowed: >=
        1 and <= 1e+06.
    rank : int, default=0
        Directions kept while learning; 0: twice the components, 100 for a share. Allowed:
        >= 0.
    library : int, default=0
        Rows kept to express them; 0: five times the directions. Allowed: >= 0.
    compress : {"subset", "preimage", "none"}, default="subset"
        How the library stays small: by a choice of its rows, by new points (rbf and poly
        kernels), or not at all.
    tolerance : float, default=1e-07
        What stands out of the library by less, relative to the longest mapped row, is
        dropped. Allowed: >= 1e-07 and <= 0.1.
    forget : float, default=0.0
        Share of its weight that a row loses with each row after it; 0: none. Allowed: >= 0
        and <= 0.5.
    window : int, default=0
        Number of the newest rows that count; 0: all. Allowed: >= 0.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the kernel matrix, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space along each component.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: A block of rows against the library; memory does not grow with the number of rows. The
    method is `ikpca` of the command line; docs/methods/ikpca.md describes it.

    References
    ----------
    Chin, Suter 2006.

    Examples
    --------
    >>> from mercer import IncrementalKernelPCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> IncrementalKernelPCA(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "ikpca"
    _keys = {"captured": 1.0, "block": 30, "first": 300, "rank": 0, "library": 0, "compress":
             "subset", "tolerance": 1e-07, "forget": 0.0, "window": 0}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, captured=1.0, block=30, first=300, rank=0, library=0,
                 compress="subset", tolerance=1e-07, forget=0.0, window=0, center=None, scale=None,
                 novelty=None, keep=None, store="auto", precision="double", memory=None,
                 random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.captured = captured
        self.block = block
        self.first = first
        self.rank = rank
        self.library = library
        self.compress = compress
        self.tolerance = tolerance
        self.forget = forget
        self.window = window
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelHebbian(_Streaming):
    """Kernel Hebbian algorithm on a stream of rows.

    Parameters
    ----------
    n_components : int, float, default=10
        Features to extract; below 1: as many as capture that share of the variance.
    kernel : str or callable, default="rbf"
        Name of a kernel: linear, poly, rbf, laplacian, exponential, matern, rq, chi2,
        intersection, sigmoid, cosine, precomputed; with keys ("rbf:sigma=2"), a sum or
        product ("0.7*rbf + linear"), or a function of two rows.
    kernel_params : dict, default=None
        More keys of the kernel, for example {"nu": 2.5} of matern.
    gamma : float or "auto", default=None
        Width or factor of the kernel. None: the median width for rbf and exponential, 1 /
        n_features for others; "auto": 1 / n_features. Kernels that have no gamma do not
        look at it.
    sigma : float, "median" or "learn", default=None
        Width of rbf, exponential, matern and rq, instead of gamma; gamma of rbf is 1 / (2
        sigma^2).
    degree : int, default=None
        Power of poly; None: 3.
    coef0 : float, default=None
        Constant of poly and sigmoid; None: 1.
    rate : float, default=0.1
        Size of the steps, relative to the longest mapped row; above 1 they diverge.
        Allowed: > 0 and <= 1e+06.
    schedule : {"constant", "decay", "et"}, default="et"
        Rates that are constant, that decay, or that decay and are larger for weak
        directions.
    passes : int, default=20
        Passes over each block. Allowed: >= 1 and <= 1e+06.
    block : int, default=300
        Rows that are processed together. Allowed: >= 1 and <= 1e+06.
    first : int, default=300
        Rows of the first block, from which landmarks, scaling and sigma=median are taken.
        Allowed: >= 1 and <= 1e+06.
    library : int, default=0
        Landmarks, rows of the first block; 0: ten times the components. Allowed: >= 0.
    center : {"none", "exact", "span"}, default=None
        How the mean in feature space is subtracted; None: "exact".
    scale : {"none", "standard", "minmax", "norm", "unit", "rowstandard", "robust"} or bool, default=None
        Scaling of the columns or rows, kept in the model; True: "standard".
    novelty : float, default=None
        Learn the reconstruction error that this share of new rows exceeds, for `is_novel`
        and `novelty_p_values`; costs a second fit, to 80 % of the rows.
    keep : {"refit", "fitted"}, default=None
        With novelty or intervals: the model learns from all rows, or stays the one fitted
        to 80 % of them, for which the promise of the held-out rows holds exactly.
    store : {"auto", "dense", "stream", "lowrank"}, default="auto"
        How the kernel matrix is held.
    precision : {"double", "single"}, default="double"
        Precision of the kernel matrix where it is held.
    memory : int or str, default=None
        What a fit may hold beyond the data, in bytes or as "4G"; None: half of the machine.
    random_state : int, RandomState or Generator, default=None
        Seed of everything that is drawn; None: 1. Results do not depend on the number of
        threads.
    n_jobs : int, default=None
        Threads; None: OMP_NUM_THREADS if it is set, else all processors; -1: all.
    verbose : bool or callable, default=False
        Show progress, by tqdm where it is installed; a callable gets (phase, done), done
        from 0 to 1 or negative.

    Attributes
    ----------
    model_ : Model
        The fitted model, which saves, pickles and shows itself as a card.
    n_components_ : int
        Components found.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of str
        Their names, where they have some.
    kernel_ : str
        The kernel with the numbers used.
    eigenvalues_ : ndarray of shape (n_components_,)
        Of the kernel matrix, decreasing.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance in feature space along each component.
    X_fit_ : ndarray or sparse matrix
        Rows that features are expressed by.
    dual_coef_ : ndarray
        Their coefficients, one column per component.
    reconstruction_error_ : float or None
        Mean over the training rows; None where undefined.
    report_ : dict
        What the fit did: store and why, solver, passes, seconds.

    Notes
    -----
    Cost: A block of rows against the landmarks; memory does not grow with the number of rows.
    The method is `kha` of the command line; docs/methods/kha.md describes it.

    References
    ----------
    Kim, Franz, Schoelkopf 2005.

    Examples
    --------
    >>> from mercer import KernelHebbian
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelHebbian(n_components=2).fit_transform(X).shape
    (150, 2)
    """

    _method = "kha"
    _keys = {"rate": 0.1, "schedule": "et", "passes": 20, "block": 300, "first": 300, "library": 0}

    def __init__(self, n_components=10, *, kernel="rbf", kernel_params=None, gamma=None, sigma=None,
                 degree=None, coef0=None, rate=0.1, schedule="et", passes=20, block=300, first=300,
                 library=0, center=None, scale=None, novelty=None, keep=None, store="auto",
                 precision="double", memory=None, random_state=None, n_jobs=None, verbose=False):
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.rate = rate
        self.schedule = schedule
        self.passes = passes
        self.block = block
        self.first = first
        self.library = library
        self.center = center
        self.scale = scale
        self.novelty = novelty
        self.keep = keep
        self.store = store
        self.precision = precision
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


PLSRegression = PLSRegressor
