#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer predict: test_predict.py MERCER [WORD...] [-jN] [--quick]"""
import pathlib
import re
import sys

import numpy as np

from support import cloud, csv_rows, files, mercer, numbers, refused, report, run_tests, species, table, test, write


@test
def test_predict_classes():
    x, truth = species()
    for head in ("ls", "centre"):
        fitted = report("fit", "species.csv", "-m", "kpca", "-n", 4, "--head", head, "-o", "m")
        assert fitted["head"] == head and fitted["head_metric"] == "error_rate"
        assert fitted["head_rows"] == 0 and len(fitted["head_errors"]) == 4
        assert fitted["head_names"] == ["setosa", 'a, "b"', "virginica"]
        answer = csv_rows(mercer("predict", "m", "species.csv").out)
        assert answer[0] == ["prediction", "score_setosa", 'score_a, "b"', "score_virginica"]
        scores = np.array([[float(c) for c in row[1:]] for row in answer[1:]])
        wrong = 0
        for row, line, name in zip(answer[1:], scores, truth):
            assert row[0] == fitted["head_names"][line.argmax()]
            wrong += row[0] != name
        assert 0 < wrong < 30
        told = report("predict", "m", "species.csv", "-o", "out.csv")
        assert told["error_rate"] == wrong / 90 == fitted["head_errors"][-1] and told["rows"] == 90
        fewer = report("predict", "m", "species.csv", "-n", 2, "-o", "two.csv")
        assert fewer["error_rate"] == fitted["head_errors"][1]
        mercer("truncate", "m", "-n", 2, "-o", "short", "--quiet")
        for row, other in zip(csv_rows(pathlib.Path("two.csv").read_text()),
                              csv_rows(mercer("predict", "short", "species.csv").out)):
            assert row[0] == other[0]


@test
def test_predict_intervals():
    """Intervals of split conformal prediction: around the prediction, of one width, holding the share asked for."""
    random = np.random.default_rng(5)
    x = random.normal(size=(1500, 2))
    y = np.column_stack([np.sin(x[:, 0]) + .2 * random.normal(size=1500), 100 * x[:, 1] + random.standard_t(3, size=1500)])
    for name, rows in (("train.csv", slice(0, 500)), ("new.csv", slice(500, 1500))):
        table(name, np.column_stack([x, y])[rows], ["a", "b", "y", "z"])
    fit = ["fit", "train.csv", "-m", "kpca", "-n", 20, "--head", "ls", "-q"]
    for keep in ("refit", "fitted"):
        mercer(*fit, "--target", "y,z", "--intervals", "on", "--keep", keep, "-o", "m")
        told = report("predict", "m", "new.csv", "--target", "y,z", "--coverage", 0.9, "-o", "out.csv")
        assert told["outputs"] == 2 and abs(told["within"] - .9) < .05, told
        names, *rows = csv_rows(pathlib.Path("out.csv").read_text())
        assert names == ["prediction_y", "prediction_z", "lower_y", "upper_y", "lower_z", "upper_z"]
        rows = np.array(rows, float)
        plain = np.array(csv_rows(mercer("predict", "m", "new.csv", "--target", "y,z").out)[1:], float)
        assert (rows[:, :2] == plain).all()
        for k in range(2):
            low, high = rows[:, 2 + 2 * k], rows[:, 3 + 2 * k]
            assert np.ptp(high - low) < 1e-9 * high.max() and abs((low + high) / 2 - rows[:, k]).max() < 1e-9
        wider = csv_rows(mercer("predict", "m", "new.csv", "--target", "y,z", "--coverage", 0.99).out)
        assert float(wider[1][3]) > rows[0, 3]
    assert "within" in mercer("predict", "m", "new.csv", "--target", "y,z", "--coverage", 0.9, "-o", "out.csv").out
    assert report("info", "m")["rows"] == 400
    for name, rows in (("train.csv", slice(0, 500)), ("new.csv", slice(500, 1500))):
        table(name, np.column_stack([x, y[:, 0]])[rows], ["a", "b", "y"])
    mercer(*fit, "--target", "y", "--intervals", "on", "-o", "one")
    assert csv_rows(mercer("predict", "one", "new.csv", "--coverage", .5).out)[0] == ["prediction", "lower", "upper"]
    refused("predict", "one", "new.csv", "--coverage", 0.995, status=2, says="100 rows were held out")
    refused("predict", "one", "new.csv", "--coverage", 1.5, status=2, says="share")
    refused("predict", "one", "new.csv", "--coverage", 0.9, "-n", 3, status=2, says="leave -n out")
    mercer(*fit, "--target", "y", "-o", "without")
    refused("predict", "without", "new.csv", "--coverage", 0.9, status=1, says="--intervals on")
    refused(*fit, "--intervals", "on", "--target", "y", "--keep", "some", status=2, says="some")
    refused("fit", "train.csv", "-m", "kpca", "--keep", "fitted", status=2, says="no rows are held out")
    refused("fit", "train.csv", "-m", "kpca", "--target", "y", "--intervals", "on", status=2, says="a head")


@test
def test_predict_by_rows_and_machines():
    """Heads that keep training rows or decision functions, through files and in blocks."""
    x, truth = species()
    for head, rows in (("knn:k=5", 90), ("svm:kernel=rbf", None), ("svm:c=3", 0), ("linsvm", 0)):
        fitted = report("fit", "species.csv", "-m", "kpca", "-n", 4, "--head", head, "-o", "m")
        assert fitted["head"].startswith(head)
        assert fitted["head_rows"] == rows or rows is None and 3 < fitted["head_rows"] <= 90
        assert fitted["head_errors"][:3] == [None] * 3
        told = report("predict", "m", "species.csv", "-o", "out.csv")
        assert told["error_rate"] == fitted["head_errors"][3]
        answer = csv_rows(pathlib.Path("out.csv").read_text())
        assert told["error_rate"] == np.mean([r[0] != t for r, t in zip(answer[1:], truth)])
        table("many.csv", np.tile(x, (40, 1)), ["p", "q", "r"])
        many = csv_rows(mercer("predict", "m", "many.csv", "--threads", 1).out)
        assert many[1:] == answer[1:] * 40
        if head.startswith("knn"):
            mercer("fit", "species.csv", "-m", "kpca", "-n", 2, "--head", head, "-o", "two", "--quiet")
            few = [row[0] for row in csv_rows(mercer("predict", "m", "species.csv", "-n", 2).out)]
            assert few == [row[0] for row in csv_rows(mercer("predict", "two", "species.csv").out)]
            mercer("truncate", "m", "-n", 2, "-o", "short", "--quiet")
            assert "knn:k=5, predicts 3 classes" in mercer("info", "short").out
            continue
        refused("predict", "m", "species.csv", "-n", 2, status=2, says=["all 4 features", "fit with 2 components"])
        assert "is left out" in mercer("truncate", "m", "-n", 2, "-o", "short").err
        assert report("info", "short")["head"] is None


@test
def test_predict_nobody():
    """Two neighbours of two classes: with ties=strict an empty cell, which counts as wrong."""
    write("t.csv", "x,label\n0,1\n1,2\n10,2\n11,2\n")
    mercer("fit", "t.csv", "-m", "pca", "-n", 1, "--head", "knn:k=2,ties=strict", "-o", "m", "--quiet")
    out = mercer("predict", "m", "-", stdin=b"x,label\n0.4,1\n10.4,2\n").out
    assert out.splitlines() == ["prediction,score_1,score_2", '"",0.5,0.5', "2,0,1"], out
    write("new.csv", "x,label\n0.4,1\n10.4,2\n")
    assert report("predict", "m", "new.csv", "-o", "out.csv")["error_rate"] == 0.5
    refused("predict", "m", "new.csv", "-o", "out.svm", status=1, says="not a number")
    write("t.csv", "x,label\n0,1\n1,2\n10,2\n11,1\n")
    mercer("evaluate", "t.csv", "-m", "pca", "-n", 1, "--cv", "loo", "--head", "knn:k=2,ties=strict",
           "--save-predictions", "held.csv", "--quiet")
    held = csv_rows(pathlib.Path("held.csv").read_text())
    told = {row[2]: row[0] for row in held[1:]}
    assert told == {"0": "2", "1": "", "2": "", "3": "2"}, held


@test
def test_losses_of_two_classes():
    x = cloud(80, 3)
    noisy = x[:, 0] + 0.8 * np.random.default_rng(5).normal(size=80)
    table("two.csv", x, "abc", label=["no" if v < 0 else "yes" for v in noisy])
    for method, head in (("blf", "log"), ("blf:loss=ls", "ls"), ("blf:loss=lad", "lad"),
                         ("blf:loss=exp", "exp"), ("blf:loss=log", "log"), ("kboost", "ls")):
        told = report("fit", "two.csv", "-m", method, "-k", "linear", "-n", 2, "-o", "m")
        assert told["head"] == head and told["head_errors"][-1] < 0.35 and not told["notices"]
        mercer("truncate", "m", "-n", 1, "-o", "short", "--quiet")
        answer = csv_rows(mercer("predict", "m", "two.csv", "-n", 1).out)
        other = csv_rows(mercer("predict", "short", "two.csv").out)
        assert np.allclose([[float(c) for c in row[1:]] for row in answer[1:]],
                           [[float(c) for c in row[1:]] for row in other[1:]], rtol=1e-9)
    table("apart.csv", x, "abc", label=["no" if v < 0 else "yes" for v in x[:, 0]])
    told = report("fit", "apart.csv", "-m", "blf:loss=log", "-k", "rbf:sigma=1", "-n", 9)
    assert told["components"] < 9 and "separate the classes" in told["notices"][0]
    table("few.csv", x, "abc", label=["yes" if i % 20 == 0 else "no" for i in range(80)])
    told = report("fit", "few.csv", "-m", "blf:loss=lad", "-k", "linear", "-n", 3)
    assert told["components"] == 3 and "the median fits" in told["notices"][0]
    told = report("fit", "two.csv", "-m", "kboost:rounds=5", "-k", "linear", "-n", 2)
    assert told["components"] == 5 and "2 of the 5 rounds" in told["notices"][0]
    species()
    refused("fit", "species.csv", "-m", "blf:loss=exp", status=1, says=("loss exp", "3 classes"))
    refused("fit", "species.csv", "-m", "kboost", status=1, says=("boosting", "3 classes"))
    refused("fit", "species.csv", "-m", "blf", "--head", "log", status=1, says=("loss log", "3 classes"))


@test
def test_predict_without_labels_and_in_blocks():
    x, _ = species()
    mercer("fit", "species.csv", "-m", "akfa", "-n", 3, "--head", "ls", "-o", "m", "--quiet")
    table("plain.csv", x, ["p", "q", "r"])
    whole = mercer("predict", "m", "plain.csv").out
    assert whole == mercer("predict", "m", "species.csv").out
    assert report("predict", "m", "plain.csv", "-o", "out.csv")["error_rate"] is None
    table("many.csv", np.tile(x, (40, 1)), ["p", "q", "r"])  # more rows than the first block has
    lines = mercer("predict", "m", "many.csv").out.splitlines()
    assert lines[1:] == whole.splitlines()[1:] * 40
    assert mercer("predict", "m", "-", stdin=pathlib.Path("plain.csv").read_bytes()).out == whole


@test
def test_predict_values():
    x = cloud(80, 3)
    y = np.column_stack([100 + x[:, 0] ** 2, x[:, 1] - x[:, 2]])
    table("t.csv", np.hstack([x, y]), ["a", "b", "c", "first", "second"])
    fitted = report("fit", "t.csv", "-m", "kpca", "-n", 6, "--head", "ls", "--target",
                    "first,second", "--scale-target", "standard", "-o", "m")
    assert fitted["head_metric"] == "rmse" and fitted["scale_target"] == "standard"
    assert fitted["head_errors"] == sorted(fitted["head_errors"], reverse=True)
    names, got = numbers(mercer("predict", "m", "t.csv").out)
    assert names == ["prediction_first", "prediction_second"]
    told = report("predict", "m", "t.csv", "--target", "first,second", "-o", "out.npy")
    assert abs(told["rmse"] - np.sqrt(np.mean((got - y) ** 2))) < 1e-12
    assert abs(told["rmse"] - fitted["head_errors"][-1]) < 1e-12
    assert np.array_equal(np.load("out.npy"), got)
    mercer("fit", "t.csv", "-m", "pca", "-n", 3, "--head", "ls", "--target", "second", "-o", "one",
           "--quiet")
    names, got = numbers(mercer("predict", "one", "t.csv").out)
    assert names == ["prediction"]
    done = mercer("predict", "one", "t.csv", "--target", "second", "-o", "out.csv")
    assert "out.csv: 80 rows x 1 predictions" in done.out and "; RMSE " in done.out


@test
def test_head_in_the_summaries():
    species()
    out = mercer("fit", "species.csv", "-m", "kpca", "--head", "centre", "-o", "m").out
    assert re.search(r"head +centre, predicts 3 classes; error rate [0-9.]+ %", out), out
    assert "does not use them" not in " ".join(out.split()) and "mercer predict m species.csv" in out
    assert re.search(r"head +centre, predicts 3 classes", mercer("info", "m").out)
    assert report("info", "m")["head_names"][1] == 'a, "b"'
    plain = " ".join(mercer("fit", "species.csv", "-m", "kpca").out.split())
    assert "does not use them" in plain
    assert report("fit", "species.csv", "-m", "kpca")["head"] is None


@test
def test_model_kept_of_some_rows_reads_as_the_table_was_read():
    rng = np.random.default_rng(4)
    kinds = rng.choice(["red", "blue"], 40)
    x = rng.normal(size=(40, 2))
    y = x @ [1, 2] + (kinds == "red")
    lines = [f"{'' if i % 7 == 3 else a},{kind},{'NA' if i % 9 == 4 else b},{c}"
             for i, (a, kind, b, c) in enumerate(zip(x[:, 0], kinds, x[:, 1], y))]
    write("t.csv", "\n".join(["u,kind,v,y", *lines]) + "\n")
    write("turned.csv", "\n".join(",".join(reversed(line.split(","))) for line in ["u,kind,v,y", *lines]) + "\n")
    for keep in ("refit", "fitted"):
        for extra in (["--intervals", "on"], ["--novelty", 0.2]):
            mercer("fit", "t.csv", "-m", "kpca", "-n", 5, "--head", "ls", "--target", "y", "--encode", "onehot",
                   "--missing", "mean", *extra, "--keep", keep, "-o", "m")
            told = report("info", "m")
            assert told["column_names"] == ["u", "kind=blue", "kind=red", "v"], told["column_names"]
            assert mercer("predict", "m", "t.csv").out == mercer("predict", "m", "turned.csv").out
    # What fills missing values is learnt from the rows that the model is of: two of ten have no part in it.
    write("new.csv", "u,v\n,1\n")
    cells = rng.normal(size=(10, 3))
    cells[:, 1] += 5
    found = []
    for i in [None, *range(10)]:
        lines = [f"{'' if j in (0, 9) else a + 1000 * (i == j)},{b},{c}" for j, (a, b, c) in enumerate(cells)]
        write("gaps.csv", "\n".join(["u,v,y", *lines]) + "\n")
        mercer("fit", "gaps.csv", "-m", "krr", "-k", "linear", "--target", "y", "--missing", "mean", "--intervals",
               "on", "--keep", "fitted", "-o", "m")
        found.append(mercer("predict", "m", "new.csv").out)
    assert found[1:].count(found[0]) == 4, found  # nor have two without a value


@test
def test_head_refusals():
    x, _ = species()
    table("plain.csv", x, ["p", "q", "r"])
    mercer("fit", "plain.csv", "-m", "kpca", "-o", "plain.model", "--quiet")
    mercer("fit", "species.csv", "-m", "kpca", "-n", 3, "--head", "ls", "-o", "m", "--quiet")
    refused("fit", "plain.csv", "-m", "kpca", "--head", "ls", status=1,
            says=["plain.csv", "--label", "--target"])
    refused("fit", "species.csv", "-m", "kpca", "--head", "centr", status=2, says="'centre'")
    refused("fit", "species.csv", "-m", "kpca", "--head", "ls:k=3", status=2, says=["ls", "k"])
    refused("fit", "species.csv", "-m", "kpca", "--head", "knn:k=0", status=2, says=["knn", "k=0"])
    refused("fit", "species.csv", "-m", "kpca", "--head", "svm:type=svr", status=2, says="classes")
    refused("fit", "plain.csv", "-m", "kpca", "--head", "linsvm", "--target", "r", status=1,
            says=["linsvm", "classes"])
    refused("fit", "plain.csv", "-m", "kpca", "--head", "centre", "--target", "r", status=1,
            says=["centre", "classes"])
    refused("fit", "plain.csv", "-m", "kpca", "--scale-target", "norm", status=2,
            says=["scale_target", "kpca"])
    refused("predict", "plain.model", "plain.csv", status=1, says=["plain.model", "--head"])
    refused("predict", "m", "plain.csv", "-n", 4, status=2, says=["4", "3"])
    refused("predict", "m", "plain.csv", "-o", "out.npy", status=2, says="prediction")
    refused("predict", "m", "plain.csv", "-o", "out.svm", status=1, says="not a number")
    write("one.csv", "x,label\n1,a\n2,a\n3,a\n")
    refused("fit", "one.csv", "-m", "kpca", "--head", "ls", status=1, says=["one.csv", "'a'"])
    write("nan.csv", "x,target\n1,2\n2,nan\n3,1\n")
    refused("fit", "nan.csv", "-m", "kpca", "--head", "ls", status=1, says=["nan.csv:3", "target"])
    assert files() == ["m", "nan.csv", "one.csv", "plain.csv", "plain.model", "species.csv"]


@test
def test_head_of_a_constant_target():
    write("t.csv", "x,target\n" + "".join(f"{i * i},7\n" for i in range(9)))
    mercer("fit", "t.csv", "-m", "kpca", "-n", 2, "--head", "ls", "-o", "m", "--quiet")
    _, got = numbers(mercer("predict", "m", "t.csv").out)
    assert np.abs(got - 7).max() < 1e-12


@test
def test_knn_tells_its_error_with_each_row_left_out():
    rng = np.random.default_rng(12)
    for k, classes in ((1, True), (3, True), (5, True), (4, False), (80, True)):
        x = rng.normal(size=(60, 3))
        y = x[:, 0] + rng.normal(size=60)
        kinds = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
        if classes:
            table("t.csv", x, "uvw", kinds)
        else:
            table("t.csv", np.c_[x, y], ["u", "v", "w", "target"])
        told = report("fit", "t.csv", "-m", "pca", "-n", 2, "--head", f"knn:k={k}", "-o", "t.model")
        f = numbers(mercer("transform", "t.model", "t.csv").out)[1]
        distance = ((f[:, None] - f[None]) ** 2).sum(2)
        np.fill_diagonal(distance, np.inf)
        wrong = []
        for i in range(60):
            near = np.argsort(distance[i], kind="stable")[:min(k, 59)]
            if classes:  # a tie goes to the class of the nearest
                votes = {kind: sum(kinds[near] == kind) for kind in "abc"}
                best = next(kinds[j] for j in near if votes[kinds[j]] == max(votes.values()))
                wrong.append(float(best != kinds[i]))
            else:
                wrong.append((y[near].mean() - y[i]) ** 2)
        left_out = np.mean(wrong) if classes else np.mean(wrong) ** 0.5
        assert abs(told["head_error_left_out"] - left_out) < 1e-12, (k, classes)
        assert report("info", "t.model")["head_error_left_out"] == told["head_error_left_out"]
        assert "with each row left out of its vote" in " ".join(mercer("info", "t.model").out.split())
    # It is of all features, and only of knn.
    mercer("truncate", "t.model", "-n", 1, "-o", "short.model")
    assert "head_error_left_out" not in report("info", "short.model")
    assert "head_error_left_out" not in report("fit", "t.csv", "-m", "pca", "--head", "ls")


if __name__ == "__main__":
    sys.exit(run_tests())
