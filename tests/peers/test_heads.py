#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Heads against scikit-learn and the programs of LIBSVM and LIBLINEAR, on the same features.

    test_heads.py MERCER [DATA [WORD...]]

Features of training and new rows come from `mercer transform`; the peers see those. kNN: votes,
shares and means. svm: predictions and decision values of SVC, NuSVC and SVR, and predictions of
svm-train and svm-predict; linsvm: those of LinearSVC and of liblinear-train. An SVM on all kernel
principal components is the SVM on the kernel matrix itself; `evaluate` errs as scikit-learn does on
the same folds. With DATA (../shared/data): nearest neighbours on the pixels of the ORL faces, as in
Table 3 of Liu and Mio 2005. Closes with "N passed, N failed".
"""
import csv
import json
import pathlib
import sys

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_wine
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import check, close, output, program, run_parts, scratch, skip  # noqa: E402

MERCER = program()
DATA = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None


def write(name, x, y, column):
    with open(name, "w") as file:
        file.write(",".join([f"x{i}" for i in range(x.shape[1])] + [column]) + "\n")
        for row, t in zip(x, y):
            file.write(",".join(repr(float(v)) for v in row) + f",{t}\n")


class Case:
    """A data set in two parts, fitted with one method; heads see its features alone."""

    def __init__(self, x, y, column, *fit):
        order = np.random.default_rng(0).permutation(len(x))
        if column == "label":  # classes are numbered as they occur; scikit-learn sorts them
            first = [next(i for i in order if y[i] == c) for c in np.unique(y)]
            order = np.r_[first, [i for i in order if i not in first]]
        half = 2 * len(x) // 3
        self.column, self.fit = column, fit
        self.y, self.truth = y[order[:half]], y[order[half:]]
        write("train.csv", x[order[:half]], self.y, column)
        write("new.csv", x[order[half:]], self.truth, column)
        output(MERCER, "fit", "train.csv", *fit, "--head", "none", f"--{column}", column,
               "--quiet", "-o", "plain.model")
        self.f, self.g = self.features("train.csv"), self.features("new.csv")

    def features(self, data):
        output(MERCER, "transform", "plain.model", data, "-o", "f.npy", "--quiet")
        return np.load("f.npy")

    def predict(self, head):
        """The report of the fit, predictions and scores in the order of sorted classes."""
        told = json.loads(output(MERCER, "fit", "train.csv", *self.fit, "--head", head,
                                 f"--{self.column}", self.column, "-o", "head.model", "--json"))
        rows = list(csv.reader(output(MERCER, "predict", "head.model", "new.csv").splitlines()))
        if self.column == "target":
            return told, np.array([float(r[0]) for r in rows[1:]]), None
        names = [int(n[len("score_"):]) for n in rows[0][1:]]
        scores = np.array([[float(c) for c in r[1:]] for r in rows[1:]])
        return told, np.array([int(r[0]) for r in rows[1:]]), scores[:, np.argsort(names)]


def compare(case, name, head, peer, tolerance, scores=None):
    told, got, ours = case.predict(head)
    want = peer.fit(case.f, case.y).predict(case.g)
    if case.column == "target":
        worst = np.abs(got - want).max()
        check(f"{name} {head}", worst < tolerance, f"largest difference {worst:.1e}")
        return told
    differ = int((got != want).sum())
    worst = np.abs(ours - scores(peer, case.g)).max() if scores else 0
    check(f"{name} {head}", differ == 0 and worst < tolerance,
          f"{differ} of {len(want)} predictions differ, scores by {worst:.1e}")
    error = np.mean(peer.predict(case.f) != case.y)
    check(f"{name} {head}: training error", abs(told["head_errors"][-1] - error) < 1e-12,
          f"{told['head_errors'][-1]:.4f}, peer {error:.4f}")
    return told


def votes(peer, g):
    return peer.predict_proba(g)


def decisions(peer, g):
    """As scikit-learn has them: of two classes, for the second one."""
    d = peer.decision_function(g)
    return np.c_[-d, d] if d.ndim == 1 else d


def tools(case, name, head, train, test, options):
    """The library's own programs on the same features, written to the last digit."""
    _, got, _ = case.predict(head)
    for file, x, y in (("a.svm", case.f, case.y), ("b.svm", case.g, case.truth)):
        dump_svmlight_file(x, y, file, zero_based=False)
    output(train, "-q", *options.split(), "a.svm", "a.out")
    output(test, "b.svm", "a.out", "b.out")
    want = np.loadtxt("b.out")
    if case.column == "target":
        worst = np.abs(got - want).max()
        check(f"{name} {head} and {train}", worst < 1e-5, f"largest difference {worst:.1e}")
    else:
        differ = int((got != want).sum())
        check(f"{name} {head} and {train}", differ == 0, f"{differ} predictions differ")


def test_neighbours(case, name):
    """scikit-learn gives ties to the lowest class; a single neighbour leaves none."""
    for head, k in (("knn:k=1", 1), ("knn:k=4,ties=lowest", 4), ("knn:k=5,ties=lowest", 5),
                    ("knn:ties=lowest", 10)):
        compare(case, name, head, KNeighborsClassifier(k, algorithm="brute"), 1e-12, votes)


def test_machines(case, name):
    for head, peer in (
            ("svm:c=2,tolerance=1e-8", SVC(C=2, kernel="linear", tol=1e-8)),
            ("svm:kernel=rbf,tolerance=1e-8", SVC(tol=1e-8)),
            ("svm:kernel=rbf,gamma=auto,tolerance=1e-8", SVC(gamma="auto", tol=1e-8)),
            ("svm:kernel=rbf,gamma=0.3,c=5,weight=balanced,tolerance=1e-8",
             SVC(C=5, gamma=0.3, class_weight="balanced", tol=1e-8)),
            ("svm:type=nu,nu=0.2,kernel=rbf,gamma=0.3,tolerance=1e-8",
             NuSVC(nu=0.2, gamma=0.3, tol=1e-8))):
        compare(case, name, head, peer, 1e-4, decisions)
    share = {c: np.mean(case.y != c) for c in np.unique(case.y)}
    compare(case, name, "linsvm:weight=opposite,tolerance=1e-9",
            LinearSVC(dual=False, class_weight=share, tol=1e-9, max_iter=10000), 1e-5, decisions)
    compare(case, name, "linsvm:c=0.5,tolerance=1e-9",
            LinearSVC(C=0.5, dual=False, tol=1e-9, max_iter=10000), 1e-5, decisions)
    compare(case, name, "linsvm:loss=hinge,tolerance=1e-6",
            LinearSVC(loss="hinge", dual=True, tol=1e-6, max_iter=100000), 1e-3, decisions)
    tools(case, name, "svm", "svm-train", "svm-predict", "-t 0")
    tools(case, name, "svm:kernel=rbf,gamma=0.7,c=3", "svm-train", "svm-predict", "-t 2 -g 0.7 -c 3")
    tools(case, name, "svm:type=nu,nu=0.1,kernel=rbf,gamma=0.7", "svm-train", "svm-predict",
          "-s 1 -n 0.1 -g 0.7")
    tools(case, name, "linsvm", "liblinear-train", "liblinear-predict", "-s 2 -B 1 -e 0.0001")
    tools(case, name, "linsvm:loss=hinge,c=2,bias=0", "liblinear-train", "liblinear-predict",
          "-s 3 -c 2 -e 0.0001")


def test_classes():
    for name, load in (("wine", load_wine), ("cancer", load_breast_cancer)):
        data = load()
        fit = ("-m", "kpca", "-k", "rbf:sigma=3", "-n", 8, "--scale", "standard")
        case = Case(data.data, data.target, "label", *fit)
        test_neighbours(case, name)
        test_machines(case, name)


def test_values():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 4))
    y = 5 + np.sin(2 * x[:, 0]) + x[:, 1] ** 2 + 0.1 * rng.normal(size=300)
    case = Case(x, y, "target", "-m", "kpca", "-k", "rbf:sigma=2", "-n", 12)
    compare(case, "curve", "knn:k=6", KNeighborsRegressor(6, algorithm="brute"), 1e-12)
    compare(case, "curve", "svm:c=3,epsilon=0.05,tolerance=1e-8",
            SVR(kernel="linear", C=3, epsilon=0.05, tol=1e-8), 1e-5)
    told = compare(case, "curve", "svm:type=svr,kernel=rbf,tolerance=1e-8", SVR(tol=1e-8), 1e-5)
    vectors = len(SVR(tol=1e-8).fit(case.f, case.y).support_)
    check("curve: head_rows are the support vectors", told["head_rows"] == vectors, vectors)
    tools(case, "curve", "svm:kernel=rbf,gamma=0.5", "svm-train", "svm-predict", "-s 3 -g 0.5")


def test_kernel_matrix():
    """All components of kernel PCA carry the kernel itself; a constant in it moves no SVM."""
    data = load_wine()
    x = (data.data - data.data.mean(0)) / data.data.std(0)
    gram = np.exp(-((x[:, None] - x[None]) ** 2).sum(-1) / 18)
    rows = len(x)
    np.save("gram.npy", gram)
    np.savetxt("names.txt", data.target, fmt="%d")
    output(MERCER, "fit", "gram.npy", "-m", "kpca", "-k", "precomputed", "-n", rows - 1, "--labels",
           "names.txt", "--head", "svm:c=10,tolerance=1e-8", "-o", "gram.model", "--quiet")
    lines = list(csv.reader(output(MERCER, "predict", "gram.model", "gram.npy").splitlines()))
    scores = np.array([[float(c) for c in r[1:]] for r in lines[1:]])
    peer = SVC(C=10, kernel="precomputed", tol=1e-8).fit(gram, data.target)
    worst = np.abs(scores - peer.decision_function(gram)).max()
    check("SVM on a kernel matrix", worst < 1e-5, f"scores differ by {worst:.1e}")


def test_folds():
    """`mercer evaluate` and scikit-learn on the same folds, scaled within each: all components of
    PCA are the rows themselves, turned."""
    data = load_breast_cancer()
    write("all.csv", data.data, data.target, "label")
    for head, peer in (("knn:k=5", KNeighborsClassifier(5, algorithm="brute")),
                       ("svm:kernel=rbf,gamma=0.02,c=4,tolerance=1e-6", SVC(gamma=0.02, C=4, tol=1e-6)),
                       ("linsvm:c=0.1,tolerance=1e-9", LinearSVC(C=0.1, dual=False, tol=1e-9))):
        told = json.loads(output(MERCER, "evaluate", "all.csv", "-m", "pca", "-n", 30, "--scale",
                                 "standard", "--head", head, "--save-predictions", "held.csv", "--json"))
        with open("held.csv") as file:
            held = list(csv.DictReader(file))
        fold, row, got = (np.array([int(r[name]) for r in held])
                          for name in ("fold", "row", "prediction"))
        wrong, errors = 0, []
        for f in np.unique(fold):
            out = row[fold == f]
            rest = np.setdiff1d(np.arange(len(data.data)), out)
            scale = StandardScaler().fit(data.data[rest])
            peer.fit(scale.transform(data.data[rest]), data.target[rest])
            want = peer.predict(scale.transform(data.data[out]))
            wrong += int((want != got[fold == f]).sum())
            errors.append(np.mean(want != data.target[out]))
        check(f"evaluate {head}", wrong == 0 and abs(told["mean"] - np.mean(errors)) < 1e-12,
              f"{wrong} predictions differ; error {told['mean']:.4f}, peer {np.mean(errors):.4f}")


def test_faces():
    """All principal components keep distances. Four neighbours: a tie is an error."""
    if not (DATA and (DATA / "orl").is_dir()):
        return skip("ORL faces", "not in the data folder")
    for number in range(400):
        person, image = number // 10 + 1, number % 10 + 1
        part = pathlib.Path(("train", "test", "cv")[(image - 1) % 3], f"s{person}")
        part.mkdir(parents=True, exist_ok=True)
        (part / f"{image}.pgm").symlink_to(DATA / "orl" / f"s{person}" / f"{image}.pgm")
    for head, table in (("knn:k=1", [96.7, 94.2]), ("knn:k=4,ties=strict", [71.7, 73.3])):
        output(MERCER, "fit", "train", "-m", "pca", "-n", 159, "--head", head, "-o", "f.model", "--quiet")
        told = [json.loads(output(MERCER, "predict", "f.model", part, "-o", "f.csv", "--json"))
                for part in ("cv", "test")]
        right = [round(100 * (1 - one["error_rate"]), 1) for one in told]
        check(f"ORL {head}", right == table, f"{right} % right, the paper {table}")


with scratch():
    run_parts([test_classes, test_values, test_kernel_matrix, test_folds, test_faces], sys.argv[3:])
sys.exit(close())
