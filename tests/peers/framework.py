# SPDX-License-Identifier: BSD-3-Clause
"""The supervised framework in plain numpy: slow, explicit, written to be read and believed.

Dhanjal, Gunn, Shawe-Taylor 2009. K is deflated as an n x n array (extract), the rows themselves for
the linear kernel (extract_primal); a method is a function that looks at the deflated K_j and at the
features so far and returns a dual direction beta, or None when it has nothing more to say. Labels
are arrays with one column each. Run as a program it checks itself against scikit-learn and against
the limits that are known (OLS, PLS, PCA).
"""
import itertools

import numpy as np
from scipy.linalg import eigh, solve_triangular
from scipy.optimize import brentq, linprog, minimize

STOP = 1e-10      # of the framework: |tau| against the largest column of K times the sum of |beta|
ADMIT = 1e-16     # sparse methods: |P_j k_i|^2 against |k_i|^2
RANGE = 1e-10     # pencils: singular values that count, against the largest
GRID = 150        # continuum regression: points between which a best direction is looked for
SINGULAR = 1e-10  # p-sparse directions: determinant of the correlations of a block


# ---------------------------------------------------------------------------- kernels and labels

def kernel(name, x, z):
    """linear, rbf:sigma=, laplacian:gamma= (l1), between the rows of x and of z."""
    kind, _, value = name.partition(":")
    value = float(value.partition("=")[2] or 0)
    if kind == "linear":
        return x @ z.T
    if kind == "rbf":
        return np.exp(-((x[:, None] - z[None]) ** 2).sum(-1) / (2 * value ** 2))
    if kind == "laplacian":
        return np.exp(-value * np.abs(x[:, None] - z[None]).sum(-1))
    raise ValueError(name)


def centre(k):
    """K and a function for k(x) of new rows, both about the mean in feature space."""
    mean, all_mean = k.mean(0), k.mean()
    return (k - mean - mean[:, None] + all_mean,
            lambda new: new - new.mean(1, keepdims=True) - mean + all_mean)


def indicator(codes):
    """Classes 0, 1, ...: two as one column of +-1, more as one column of 0/1 each."""
    codes = np.asarray(codes)
    if codes.max() == 1:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.eye(codes.max() + 1)[codes]


def discriminant(codes):
    """Y (Y'Y)^-1/2 of the 0/1 indicator matrix, centred."""
    y = np.eye(np.max(codes) + 1)[codes]
    y = y / np.sqrt(y.sum(0))
    return y - y.mean(0)


# ---------------------------------------------------------------------------- the framework

class Features:
    """Dual directions B, features T of the training rows, and A with features(x) = k(x)'A."""

    def __init__(self, k, b, t):
        self.k = k
        self.b = np.array(b, dtype=k.dtype).reshape(len(b), len(k)).T
        self.t = np.array(t, dtype=k.dtype).reshape(len(t), len(k)).T
        self.m = np.array([[u @ k @ v / (u @ u) if i <= j else 0 for j, v in enumerate(self.b.T)]
                           for i, u in enumerate(self.t.T)]).reshape(len(b), len(b))
        self.a = (solve_triangular(self.m, self.b.T.astype(float), trans=1).T if len(b)
                  else self.b.astype(float))

    def project(self, new):
        return new @ self.a

    def condition(self):
        return np.linalg.cond(self.m) if len(self.m) else 1.0


def remove(columns, t):
    """columns minus their projection on the features t, one feature at a time, twice."""
    for _ in range(2):
        for tau in t:
            columns = columns - np.outer(tau, tau @ columns) / (tau @ tau)
    return columns


def extract(k, choose, features):
    """Algorithm 2."""
    left, b, t = k.copy(), [], []
    largest = np.sqrt((k ** 2).sum(0)).max()
    while len(t) < features:
        beta = choose(left, t)
        if beta is None:
            break
        tau = left @ beta
        if not np.linalg.norm(tau.astype(float)) > STOP * largest * np.abs(beta).sum():
            break
        b.append(beta)
        t.append(tau)
        left = remove(left, [tau])
    return Features(k, b, t)


def extract_primal(x, choose, features):
    """Algorithm 1: the features of the rows of x and the map W of new rows, features(x) = x'W."""
    left, u, t, p = x.copy(), [], [], []
    while len(t) < features:
        direction = choose(left, t)
        if direction is None:
            break
        tau = left @ direction
        if not np.linalg.norm(tau) > STOP * np.linalg.norm(x) * np.linalg.norm(direction):
            break
        u.append(direction)
        t.append(tau)
        p.append(left.T @ tau / (tau @ tau))
        left = remove(left, [tau])
    u, t, p = np.array(u).T, np.array(t).T, np.array(p).T
    return t, u @ np.linalg.inv(p.T @ u)


def unit_direction(k, beta):
    """beta scaled so that beta'K beta = 1; None when it is no direction."""
    square = beta @ k @ beta
    return beta / np.sqrt(square) if square > 0 else None


def unit_feature(left, beta):
    length = np.linalg.norm(left @ beta)
    return beta / length if length > 0 else None


def leading(k, y):
    """Y a for the leading eigenvector a of Y'KY: the direction of much covariance."""
    a = eigh(y.T @ k @ y)[1][:, -1]
    return y @ a


# ---------------------------------------------------------------------------- methods

def pca(k):
    def choose(left, t):
        values, vectors = eigh((left + left.T) / 2)
        return vectors[:, -1] / np.sqrt(values[-1]) if values[-1] > 0 else None
    return choose


def kpls(k, y):
    def choose(left, t):
        yj = remove(y, t)
        if np.linalg.norm(yj) <= 1e-13 * np.linalg.norm(y):
            return None
        return unit_direction(k, leading(k, yj))
    return choose


def pls_primal(y):
    def choose(left, t):
        u, values, _ = np.linalg.svd(left.T @ y, full_matrices=False)
        return u[:, 0] if values[0] > 0 else None
    return choose


def pca_primal(y=None):
    return lambda left, t: np.linalg.svd(left, full_matrices=False)[2][0]


def blf_primal(y, loss):
    def choose(left, t):
        w = gradient(loss, y[:, 0], np.array(t).T if t else np.zeros((len(y), 0)))
        return None if w is None else left.T @ w / np.linalg.norm(left @ (left.T @ w))
    return choose


def continuum(k, y, alpha):
    """Direction u of length one with the largest |Y'Xu|^2 (u'X'Xu)^(alpha/(1-alpha) - 1).

    In the eigenbasis of P_j K P_j: a = u'DD'u and s = u'Lu. The pairs (a, s) of all unit u are a
    convex set, the criterion grows with a, so the best u is a leading eigenvector of DD' + m L for
    some m, where m = (gamma - 1) a / s. All such m are found, the best is kept.
    """
    def choose(left, t):
        both = remove(left.T, t)
        values, vectors = eigh((both + both.T) / 2)
        keep = values > 1e-10 * np.linalg.norm(k, 2)
        values, vectors = values[keep], vectors[:, keep]
        if not len(values):
            return None
        d = np.sqrt(values)[:, None] * (vectors.T @ y)
        if alpha == 1:
            u = np.eye(len(values))[-1]
        elif np.linalg.norm(d) <= 1e-12 * np.sqrt(np.linalg.norm(k, 2)) * np.linalg.norm(y):
            return None
        else:
            u = continuum_direction(values, d, alpha / (1 - alpha))
        return vectors @ (u / np.sqrt(values))
    return choose


def continuum_direction(values, d, gamma):
    if gamma == 0:
        u = eigh(d @ d.T, np.diag(values))[1][:, -1]
        return u / np.linalg.norm(u)
    if gamma == 1:
        return np.linalg.svd(d)[0][:, 0]

    def at(size):
        u = eigh(d @ d.T + np.sign(gamma - 1) * np.exp(size) * np.diag(values))[1][:, -1]
        return u, ((u @ d) ** 2).sum(), (u * u) @ values

    def slope(size):
        _, a, s = at(size)
        return size - np.log(abs(gamma - 1)) - np.log(a / s)

    scale = np.log(np.linalg.norm(d) ** 2 / values[-1])
    grid = scale + np.linspace(-25, 25 + np.log(values[-1] / values[0]), GRID)
    good = np.array([slope(g) for g in grid])
    roots = [brentq(slope, g, h, xtol=1e-15, rtol=1e-15)
             for g, h, p, q in zip(grid, grid[1:], good, good[1:]) if p * q <= 0]
    u = max((at(r) for r in roots), key=lambda x: np.log(x[1]) + (gamma - 1) * np.log(x[2]))[0]
    return u / np.linalg.norm(u)


# Losses of boosted latent features: f = mu + Tc that fits best, and minus the slope there.

def fit_loss(loss, y, t):
    """The f of least loss in the span of 1 and t, and that loss; None when there is no finite one."""
    design = np.c_[np.ones(len(y)), t]
    if loss == "ls":
        f = design @ np.linalg.lstsq(design, y, rcond=None)[0]
        return f, ((y - f) ** 2).sum()
    if loss == "lad":
        size = np.abs(y).max() or 1
        n, p = design.shape
        c = linprog(np.r_[np.zeros(p), np.ones(2 * n)], A_eq=np.c_[design, np.eye(n), -np.eye(n)],
                    b_eq=y / size, bounds=[(None, None)] * p + [(0, None)] * (2 * n),
                    method="highs").x[:p]
        # The optimum is a vertex: solve again on the rows it goes through, to full accuracy.
        through = np.argsort(np.abs(design @ c - y / size))[:p]
        if np.linalg.cond(design[through]) < 1e8:
            c = np.linalg.solve(design[through], y[through] / size)
        f = size * (design @ c)
        return f, np.abs(y - f).sum()
    if separable(y, t):
        return None
    basis = np.linalg.qr(design)[0] * np.sqrt(len(y))

    def value(c):
        margin = y * (basis @ c)
        if loss == "exp":
            return np.exp(-margin).sum()
        return np.logaddexp(0, -margin).sum()

    def slope(c):
        return -basis.T @ descent(loss, y, basis @ c)

    def curve(c):
        margin = y * (basis @ c)
        h = np.exp(-margin) if loss == "exp" else 0.25 / np.cosh(margin / 2) ** 2
        return basis.T @ (h[:, None] * basis)

    c = minimize(value, np.zeros(basis.shape[1]), jac=slope, hess=curve, method="trust-exact",
                 options={"gtol": 1e-9, "maxiter": 10000}).x
    for _ in range(3):  # to rounding
        c = c - np.linalg.solve(curve(c), slope(c))
    return basis @ c, value(c)


def unit_design(t):
    return np.c_[np.ones(len(t)), t / np.abs(t).max(0)] if t.shape[1] else np.ones((len(t), 1))


def nearly_separable(y, t):
    """Whether some plane has no row on the wrong side: exp and log then have no finite minimum.

    Rows on the plane itself, as copies with different labels, keep their loss.
    """
    design, n = unit_design(t), len(y)
    p = design.shape[1]
    found = linprog(np.r_[np.zeros(p), -np.ones(n)], A_ub=np.c_[-y[:, None] * design, np.eye(n)],
                    b_ub=np.zeros(n), bounds=[(-1e6, 1e6)] * p + [(0, 1)] * n, method="highs")
    return -found.fun > 1e-3


def separable(y, t):
    """Whether a plane through the features t has every y = +1 on one side and every -1 on the other."""
    design = unit_design(t)
    p = design.shape[1]
    found = linprog(np.r_[np.zeros(p), -1], A_ub=np.c_[-y[:, None] * design, np.ones(len(y))],
                    b_ub=np.zeros(len(y)), bounds=[(-1, 1)] * p + [(None, 1)], method="highs")
    return -found.fun > 1e-9


def descent(loss, y, f):
    if loss == "ls":
        return y - f
    if loss == "lad":
        return np.where(np.abs(y - f) <= 1e-9 * np.abs(y).max(), 0, np.sign(y - f))
    if loss == "exp":
        return y * np.exp(-y * f)
    return y / (1 + np.exp(y * f))


def gradient(loss, y, t):
    fitted = fit_loss(loss, y, t)
    return None if fitted is None else descent(loss, y, fitted[0])


def blf(k, y, loss, keep=None):
    """keep: a function that makes a dual vector sparse, for the sparse form."""
    def choose(left, t):
        so_far = np.array(t).T if t else np.zeros((len(y), 0))
        w = [gradient(loss, column, so_far) for column in y.T]
        if any(column is None for column in w):
            return None
        w = remove(np.array(w).T, t)
        if np.linalg.norm(w) <= 1e-12 * (np.linalg.norm(y) if loss == "ls" else np.sqrt(len(y))):
            return None
        w = leading(k, w)
        return unit_feature(left, w if keep is None else keep(left, t, w))
    return choose


# Sparse directions.

def matching_scores(left, k, y, alignment, taken):
    """Score of every column, -1 where it cannot be taken."""
    square = (left ** 2).sum(0)
    below = square if alignment else np.diag(k)
    good = (square > ADMIT * (k ** 2).sum(0)) & (below > 0)
    good[taken] = False
    return np.where(good, ((y.T @ left) ** 2).sum(0) / np.where(good, below, 1), -1)


def matching(k, y, alignment, scale=None, chosen=None, follow=None):
    """sma (alignment) or smc; rows go to chosen; follow: take these rows instead of the best.

    scale: 'feature' or 'direction' has length one; the method's own when not given.
    """
    chosen = [] if chosen is None else chosen
    scale = scale or ("feature" if alignment else "direction")

    def choose(left, t):
        score = matching_scores(left, k, y, alignment, chosen)
        if score.max() < 0 or (follow is not None and len(chosen) >= len(follow)):
            return None
        # Equal to rounding: the first wins.
        best = int(np.flatnonzero(score >= score.max() * (1 - 1e-10))[0])
        best = best if follow is None else follow[len(chosen)]
        chosen.append(best)
        e = np.zeros(len(k), dtype=k.dtype)
        e[best] = 1 / np.sqrt(k[best, best] if scale == "direction" else (left[:, best] ** 2).sum())
        return e
    return choose


TIE = 1e-8


def subset_matching(k, y, alignment, p, chosen=None, tied=None):
    """The best direction on at most p rows, by looking at every set of them. tied: of each feature, whether another set of
    rows is as good up to TIE, as all are that span what is left of the kernel's range: which one is taken is then open,
    and with it how long the direction is."""
    chosen = [] if chosen is None else chosen
    tied = [] if tied is None else tied

    def choose(left, t):
        g = left.T @ y
        gram = left.T @ left if alignment else k
        diag = np.sqrt(np.diag(gram))
        good = np.flatnonzero((left ** 2).sum(0) > ADMIT * (k ** 2).sum(0)) if alignment \
            else np.flatnonzero(diag > 0)
        # Labels that are explained leave scores of rounding: nothing is found then.
        best, found = 1e-20 * (y ** 2).sum() * (1 if alignment else np.diag(k).max()), None
        scores = []
        for size in range(1, p + 1):
            for rows in itertools.combinations(good, size):
                block = gram[np.ix_(rows, rows)]
                if size > 1 and np.linalg.det(block / np.outer(diag[list(rows)],
                                                               diag[list(rows)])) <= SINGULAR:
                    continue
                gs = g[list(rows)]
                values, vectors = eigh(gs.T @ np.linalg.solve(block, gs))
                scores.append(values[-1])
                if values[-1] > best * (1 + 1e-10):
                    best, found = values[-1], (rows, np.linalg.solve(block, gs @ vectors[:, -1]))
        if found is None:
            return None
        chosen.append(found[0])
        tied.append(int((np.array(scores) > best * (1 - TIE)).sum()) > 1)
        beta = np.zeros(len(k))
        beta[list(found[0])] = found[1] / np.sqrt(best)
        return beta
    return choose


def kept(share, n):
    return max(1, int(np.ceil(share * n - 1e-9)))


def largest(score, w, k, count):
    """w where score is largest, 0 elsewhere; rows whose kernel column is zero are never chosen."""
    score = np.where((k != 0).any(0), score, -np.inf)
    rows = np.argsort(-score, kind="stable")[:count]
    b = np.zeros(len(w))
    b[rows] = w[rows]
    return b


def keep_residual(nu, k):
    """MR: the largest entries."""
    return lambda left, t, w: largest(np.abs(w), w, k, kept(nu, len(w)))


def keep_information(nu, k):
    """MI with every column in the cache: the largest w_i (K_j'w)_i."""
    return lambda left, t, w: largest(w * (left.T @ w), w, k, kept(nu, len(w)))


def keep_tube(nu, k):
    """EPS: lasso 1/2|X_j'(w - b)|^2 + eps|b|_1, eps the least before more than n entries are used."""
    def keep(left, t, w):
        gram, n = remove(left.T, t), kept(nu, len(w))
        if n >= len(w):
            return w
        if np.abs(gram).max() <= 1e-12 * np.abs(k).max():
            return np.zeros(len(w))
        return lasso_path(gram, w, n)[0]
    return keep


def lasso_path(gram, w, count):
    """Homotopy of the lasso: b and eps where entry count + 1 would enter for the first time.

    When gram has no rank for so many the path ends before, at eps = 0.
    """
    gram = (gram + gram.T) / 2
    aim = gram @ w
    first = int(np.argmax(np.abs(aim)))
    active, signs, eps = [first], {first: np.sign(aim[first])}, abs(aim[first])
    nothing, left_at = 1e-12 * eps, None
    while True:
        block = gram[np.ix_(active, active)]
        s = np.array([signs[i] for i in active])
        at_zero = np.linalg.solve(block, aim[active])   # b_A = at_zero - eps slope
        slope = np.linalg.solve(block, s)
        c0 = aim - gram[:, active] @ at_zero            # correlations = c0 + eps c1
        c1 = gram[:, active] @ slope
        # A row that the active ones already span, as a copy of one of them, cannot join.
        new = np.diag(gram) - (gram[:, active] * np.linalg.solve(block, gram[active]).T).sum(1)
        step, event = nothing, None
        for i in range(len(w)):
            if i in active:
                j = active.index(i)
                e = at_zero[j] / slope[j] if slope[j] else -1
                if i != left_at and step < e < eps * (1 - 1e-12):
                    step, event = e, (i, None)
            elif new[i] > 1e-10 * gram[i, i]:
                for sign in (1, -1):
                    e = sign * c0[i] / (1 - sign * c1[i]) if sign * c1[i] != 1 else -1
                    inside = eps * (1 - 1e-12) if i == left_at and signs.get(i) == sign else eps
                    if step < e < inside:
                        step, event = e, (i, sign)
        eps = step if event else 0.0
        b = np.zeros(len(w))
        b[active] = at_zero - eps * slope
        if event is None or (event[1] is not None and len(active) == count):
            return b, eps
        if event[1] is None:
            active.remove(event[0])
            left_at = event[0]
        else:
            active.append(event[0])
            signs[event[0]] = event[1]
            left_at = event[0]


def skpls(k, y, keep):
    def choose(left, t):
        yj = remove(y, t)
        if np.linalg.norm(yj) <= 1e-13 * np.linalg.norm(y):
            return None
        return unit_direction(k, keep(left, t, leading(k, yj)))
    return choose


# Pencils.

def rkopls(k, y, rows, features):
    """Features T and coefficients over rows: K_R K_y K_R' b = m K_R K_R' b in the range of K_R'."""
    q, s, v = np.linalg.svd(k[:, rows], full_matrices=False)
    q, s, v = q[:, s > RANGE * s[0]], s[s > RANGE * s[0]], v[s > RANGE * s[0]]
    values, vectors = eigh(q.T @ y @ y.T @ q)
    order = np.argsort(-values)[:min(features, y.shape[1])]
    order = order[values[order] > 1e-12 * np.linalg.norm(y) ** 2]
    return q @ vectors[:, order], v.T @ (vectors[:, order] / s[:, None])


def kboost(k, y, loss, rounds, follow=None):
    """Features T = K V sqrt(alpha), V sqrt(alpha), and the alphas; y is +-1.

    follow: features whose kernels are boosted instead of the own ones, for a look at each round.
    """
    values, q = eigh(k)
    q, values = q[:, values > RANGE * values[-1]], values[values > RANGE * values[-1]]
    agree, boosted, directions, alphas = np.outer(y, y), np.zeros_like(k), [], []
    while len(alphas) < rounds:
        if loss == "exp":
            d = np.exp(-agree * boosted)
        else:
            d = 1 / (1 + np.exp(agree * boosted))
        mu, vectors = eigh(q.T @ (d * agree) @ q)     # K v = q z
        if mu[-1] <= 0:
            break
        tau = q @ vectors[:, -1]
        scale = np.abs(tau).max()
        base = np.outer(tau, tau) / scale ** 2
        plus = (d * np.abs(base))[agree * base > 0].sum()
        minus = (d * np.abs(base))[agree * base < 0].sum()
        alpha = min(10, np.log(plus / minus) / 2) if minus > 0 else 10
        if alpha <= 0:
            break
        mine = np.sqrt(alpha) * tau / scale
        if follow is not None and len(alphas) < follow.shape[1]:
            mine = follow[:, len(alphas)]
        boosted = boosted + np.outer(mine, mine)
        directions.append(q @ (vectors[:, -1] / values) / scale)
        alphas.append(alpha)
    v = np.array(directions).reshape(len(alphas), len(k)).T * np.sqrt(alphas)
    return k @ v, v, np.array(alphas)


# ---------------------------------------------------------------------------- measures

def alignment(t, y):
    """D(S) of the first 1, 2, ... features."""
    return np.cumsum([((y.T @ tau) ** 2).sum() / (tau @ tau) for tau in t.T]) / (y ** 2).sum()


def covariance(t, y, b, k):
    """B(S) of the first 1, 2, ... features: directions of length one."""
    return np.cumsum([((y.T @ tau) ** 2).sum() / (beta @ k @ beta)
                      for tau, beta in zip(t.T, b.T)]) / len(y) ** 2


def target_alignment(k, y):
    ky = y @ y.T
    return (k * ky).sum() / np.sqrt((k * k).sum() * (ky * ky).sum())


def stability(k, a, y, delta):
    """Theorem 5.5 of every prefix: empirical value, complexity and confidence terms, the bound."""
    square, n = (y ** 2).sum(1), len(y)
    weight = square * np.diag(k)
    length = weight.max() * np.linalg.norm(weight / weight.max())  # no squares that overflow
    found = []
    for j in range(1, a.shape[1] + 1):
        t = k @ a[:, :j]
        c = np.linalg.norm(a[:, :j].T @ k @ a[:, :j])
        value = (square * (t ** 2).sum(1)).sum() / n
        rademacher = 2 * c / n * length
        trust = 3 * c * weight.max() * np.sqrt(np.log(2 / delta) / (2 * n))
        found.append((value, rademacher, trust, value - rademacher - trust))
    return np.array(found)


def least_squares(t, y, new):
    """Predictions for features new by least squares with an intercept on t, for every prefix."""
    found = []
    for j in range(t.shape[1] + 1):
        design = np.c_[np.ones(len(t)), t[:, :j]]
        scale = np.linalg.norm(design, axis=0)
        c = np.linalg.lstsq(design / scale, y, rcond=None)[0] / scale[:, None]
        found.append(np.c_[np.ones(len(new)), new[:, :j]] @ c)
    return found


def nearest_centre(t, codes, new):
    centres = np.array([t[codes == c].mean(0) for c in range(codes.max() + 1)])
    return ((new[:, None] - centres[None]) ** 2).sum(-1).argmin(1)


# ---------------------------------------------------------------------------- does it hold?

def along(a, b):
    """Largest distance of columns of a from multiples of those of b, in units of their size."""
    if a.shape != b.shape:
        return np.inf
    worst = 0.0
    for p, q in zip(a.T, b.T):
        worst = max(worst, np.abs(p - q * (p @ q) / (q @ q)).max() / np.abs(p).max())
    return worst


def up_to_sign(a, b):
    """Largest difference of columns, whose signs are free, in units of the size of b's."""
    if a.shape != b.shape:
        return np.inf
    worst = 0.0
    for p, q in zip(a.T, b.T):
        worst = max(worst, min(np.abs(p - q).max(), np.abs(p + q).max()) / np.abs(q).max())
    return worst


def self_check():
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.decomposition import PCA
    from sklearn.linear_model import Lasso, LinearRegression
    random = np.random.default_rng(5)
    x = random.normal(size=(61, 6)) @ random.normal(size=(6, 6))
    x -= x.mean(0)
    new = random.normal(size=(20, 6))
    k = x @ x.T
    for outputs in (1, 3):
        y = x @ random.normal(size=(6, outputs)) + random.normal(size=(61, outputs))
        y -= y.mean(0)
        peer = PLSRegression(4, scale=False, max_iter=100000, tol=1e-15).fit(x, y)
        dual = extract(k, kpls(k, y), 4)
        t, w = extract_primal(x, pls_primal(y), 4)
        assert up_to_sign(dual.t, peer.x_scores_) < 1e-7
        assert up_to_sign(t, dual.t) < 1e-9 and up_to_sign(x @ w, t) < 1e-9
        assert up_to_sign(dual.project(new @ x.T), new @ w) < 1e-9
        assert np.abs(least_squares(dual.t, y, dual.project(new @ x.T))[4]
                      - peer.predict(new).reshape(20, -1)).max() < 1e-7
        assert up_to_sign(extract(k, continuum(k, y, 0.5), 4).t, dual.t) < 1e-9
        assert along(extract(k, blf(k, y, "ls"), 4).t, dual.t) < 1e-9
        assert up_to_sign(extract(k, skpls(k, y, keep_residual(1, k)), 4).t, dual.t) < 1e-9
        scores = PCA(4).fit_transform(x)
        assert up_to_sign(extract(k, continuum(k, y, 1), 4).t, scores) < 1e-8
        assert up_to_sign(extract(k, pca(k), 4).t, scores) < 1e-8
        assert up_to_sign(extract_primal(x, pca_primal(), 4)[0], scores) < 1e-8
        ols = LinearRegression().fit(x, y).predict(x)
        first = extract(k, continuum(k, y, 0), 6).t
        assert first.shape[1] == outputs      # nothing is left after rank(Y) of them
        assert np.abs(least_squares(first, y, first)[-1] - ols).max() < 1e-8
        reduced = rkopls(k, y, range(61), 3)[0]
        assert np.abs(least_squares(reduced, y, reduced)[-1] - ols).max() < 1e-8
        # No direction is better.
        for alpha in (0, 0.1, 0.3, 0.7, 0.9):
            gamma = alpha / (1 - alpha)
            u = x.T @ extract(k, continuum(k, y, alpha), 1).b[:, 0]
            assert abs(u @ u - 1) < 1e-12

            def worth(u):
                return (np.log(((u @ x.T @ y) ** 2).sum()) + (gamma - 1) * np.log(u @ x.T @ x @ u)
                        - gamma * np.log(u @ u))
            others = [u + 10.0 ** random.uniform(-6, 2) * np.linalg.norm(u) * random.normal(size=6)
                      for _ in range(2000)]
            assert max(map(worth, others)) <= worth(u) + 1e-12
    y = y[:, :1]
    for aligned in (False, True):
        one, two = (extract(k, subset_matching(k, y, aligned, p), 3) for p in (1, 2))
        assert up_to_sign(one.t, extract(k, matching(k, y, aligned), 3).t) < 1e-9
        if aligned:
            assert alignment(two.t, y)[0] > alignment(one.t, y)[0]
        else:
            assert covariance(two.t, y, two.b, k)[0] > covariance(one.t, y, one.b, k)[0]
    rough = kernel("rbf:sigma=1", x, x)
    b, eps = lasso_path(rough, y[:, 0], 20)
    values, vectors = eigh(rough)
    root = vectors * np.sqrt(values)          # 1/2 |root'(y - b)|^2 in scikit-learn's terms
    peer = Lasso(alpha=eps / 61, fit_intercept=False, tol=1e-14, max_iter=1000000).fit(
        root.T, root.T @ y[:, 0]).coef_
    assert np.count_nonzero(np.abs(b) > 1e-12) == 20 and np.abs(b - peer).max() < 1e-6
    signs = np.sign(y[:, 0] + random.normal(size=61) * 2)
    t = kboost(k, signs, "exp", 1)[0]
    ols = LinearRegression(fit_intercept=False).fit(x, signs).predict(x)[:, None]
    assert along(t, ols) < 1e-9
    for loss in ("exp", "log"):
        f, _ = fit_loss(loss, signs, x[:, :2])
        assert np.abs(np.c_[np.ones(61), x[:, :2]].T @ descent(loss, signs, f)).max() < 1e-9
        found = extract(k, blf(k, signs[:, None], loss), 3)
        assert up_to_sign(extract_primal(x, blf_primal(signs[:, None], loss), 3)[0], found.t) < 1e-8
    bound = stability(k, found.a, signs[:, None], 0.1)
    assert np.allclose(bound[:, 0], np.cumsum((found.t ** 2).sum(0)) / 61)


if __name__ == "__main__":
    self_check()
    print("the reference agrees with scikit-learn and with its own limits")
