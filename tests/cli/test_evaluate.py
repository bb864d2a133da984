#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer evaluate: test_evaluate.py MERCER [WORD...] [-jN] [--quick]"""
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time
import zlib

import numpy as np

from support import MERCER, cloud, csv_rows, files, mercer, refused, report, run_tests, species, table, test, write


@test
def test_evaluate_classes_and_predictions():
    species(90)
    told = report("evaluate", "species.csv", "-m", "kpls", "--tune", "components=1:4:+1", "--tune",
                  "kernel.sigma=0.5:4:*2", "--cv", 3, "--save-predictions", "held.csv")
    assert told["metric"] == "error" and len(told["folds"]) == 3 and told["choices"] == 16
    assert abs(told["mean"] - np.mean([f["value"] for f in told["folds"]])) < 1e-12
    assert all(f["chosen"]["kernel.sigma"] in (0.5, 1, 2, 4) for f in told["folds"])
    assert sum(map(sum, told["confusion"])) == 90
    lines = csv_rows(pathlib.Path("held.csv").read_text())
    assert lines[0][:3] == ["prediction", "fold", "row"] and len(lines) == 91
    assert sorted(int(line[2]) for line in lines[1:]) == list(range(90))
    again = report("evaluate", "species.csv", "-m", "kpls", "--tune", "components=1:4:+1", "--tune",
                   "kernel.sigma=0.5:4:*2", "--cv", 3, "--threads", 1)
    assert again["mean"] == told["mean"]


@test
def test_evaluate_splits_and_test_rows():
    species(90)
    pathlib.Path("split.csv").write_text("split,kind,i0,i1\n" + "".join(
        f"{s},mine," + ",".join(str(i) for i in range(90) if i // 3 % 3 != s) + "\n" for s in range(3)))
    told = report("evaluate", "species.csv", "-m", "kpls", "-n", 3, "--split", "split.csv",
                  "--save-predictions", "held.csv")
    assert [f["rows"] for f in told["folds"]] == [30, 30, 30]
    # A split is a fit to its training rows, whatever else the file holds.
    lines = pathlib.Path("species.csv").read_text().splitlines()
    part = [lines[0]] + [line for i, line in enumerate(lines[1:]) if i // 3 % 3 != 0]
    rest = [lines[0]] + [line for i, line in enumerate(lines[1:]) if i // 3 % 3 == 0]
    pathlib.Path("train.csv").write_text("\n".join(part) + "\n")
    pathlib.Path("test.csv").write_text("\n".join(rest) + "\n")
    by_file = report("evaluate", "train.csv", "-m", "kpls", "-k", "rbf:sigma=2", "-n", 3, "--test", "test.csv")
    by_split = report("evaluate", "species.csv", "-m", "kpls", "-k", "rbf:sigma=2", "-n", 3, "--split",
                      "split.csv")
    assert abs(by_file["mean"] - by_split["folds"][0]["value"]) < 1e-12 and by_file["sd"] is None
    refused("evaluate", "species.csv", "-m", "kpls", "--split", "nosuch", status=1, says="nosuch")
    refused("evaluate", "species.csv", "-m", "kpls", "--cv", 3, "--test", "test.csv", status=2, says="only one")
    refused("evaluate", "species.csv", "-m", "kpls", "--cv", "x", status=2, says="loo")
    refused("evaluate", "species.csv", status=2, says="-m")
    refused("evaluate", "species.csv", "-m", "kpca", "--save-predictions", "x.csv", status=2, says="--head")


@test
def test_evaluate_reads_any_split_file():
    species(12)
    words = ["evaluate", "species.csv", "-m", "pca", "-n", 2, "--head", "centre"]
    plain = report(*words, "--split", write("plain.txt", "0,1,2,3,4,5,6,7\n4 5 6 7 8 9 10 11\n"))
    texts = {"quoted": '"split","kind","r"\n"1","train",0,1,2,3,4,5,6,7\n2,,4,5,6,7,8,9,10,11\n',
             "inside": "a,split,b\n0,9,1,2,3,4,5,6,7\n4,9,5,6,7,8,9,10,11\n",
             "padded": "\ufeffkind\n\n,0,1,2,3,4,5,6,7,,,\r\nx, 4,5 ,6,7,8,9,10,11\r\n"}
    for name, text in texts.items():
        assert report(*words, "--split", write(name, text))["folds"] == plain["folds"], name
    data = pathlib.Path("plain.txt").read_bytes()
    with gzip.open("plain.gz", "wb") as out:
        out.write(data)
    assert report(*words, "--split", "plain.gz")["folds"] == plain["folds"]
    assert report(*words, "--split", "-", stdin=data)["folds"] == plain["folds"]
    pathlib.Path("short.gz").write_bytes(pathlib.Path("plain.gz").read_bytes()[:-9])
    refused(*words, "--split", "short.gz", status=1, says="short.gz")
    for text, says in (("0,1,2\n0,1,1\n", ["bad:2", "column 3", "row 1", "twice"]), ("O,1,2\n", ["bad:1", "'O'"]),
                       ("0,1\n2,12\n", ["bad:2", "'12'", "0 to 11"]), ("0,1\n-1\n", ["bad:2", "'-1'"]),
                       ("0,1\n\n2\0,3\n", ["bad:3", "zero byte"]), ("split,kind\n", "no split"),
                       ("0,1,2,3,4,5,6,7,8,9,10,11\n", "none is left"), ("kind,a\nx,\n", "no training row")):
        refused(*words, "--split", write("bad", text), status=1, says=says)
    refused(*words, "--split", "plain.txt", "--missing", "drop", status=2, says=["--missing", "--split"])


@test
def test_evaluate_gives_labels_to_their_own_rows():
    write("x.csv", "x,z\n1,1\n2,2\n3,4\n6,7\n")
    write("new.csv", "x,z\n1,1\n5,6\n3,4\n")
    write("x.labels", "a\nb\na\nb\n")
    words = ["evaluate", "x.csv", "-m", "pca", "-n", 2, "--head", "knn:k=1", "--labels", "x.labels"]
    refused(*words, "--test", "new.csv", status=2, says=["--test-labels", "new.csv"])
    refused(*words, "--test-labels", "x.labels", status=2, says="--test")
    write("new.labels", "a\nb\nb\n")
    assert abs(report(*words, "--test", "new.csv", "--test-labels", "new.labels")["mean"] - 1 / 3) < 1e-12
    write("unlabelled.csv", "x,z\n1,1\n5,6\n")
    write("labelled.csv", "x,z,label\n1,1,a\n2,2,b\n3,4,a\n6,7,b\n")
    refused("evaluate", "labelled.csv", "-m", "pca", "-n", 2, "--head", "knn:k=1", "--test", "unlabelled.csv",
            status=1, says=["unlabelled.csv", "label"])
    # Files that options name are inputs too.
    refused("fit", "x.csv", "-m", "pls", "--labels", "x.labels", "-o", "x.labels", status=2,
            says="written over the labels")
    refused("scale", "x.csv", "--labels", "x.labels", "-o", "x.labels", status=2, says="written over the labels")
    refused(*words, "--cv", 2, "--save-predictions", "x.labels", status=2, says="written over the labels")
    refused(*words, "--cv", 2, "--roc", "x.labels", status=2, says="written over the labels")
    assert pathlib.Path("x.labels").read_text() == "a\nb\na\nb\n"


@test
def test_evaluate_looks_for_the_class_named():
    rng = np.random.default_rng(3)
    y = rng.random(60) < 0.3
    x = rng.normal(size=(60, 2)) + y[:, None]
    table("two.csv", x, ["a", "b"], np.where(y, "yes", "no"))
    words = ["evaluate", "two.csv", "-m", "pca", "-n", 2, "--head", "ls", "--metric", "ap"]
    of = {name: report(*words, "--positive", name) for name in ("yes", "no")}
    assert of["yes"]["positive"] == "yes" and of["yes"]["mean"] != of["no"]["mean"]
    default = report(*words)
    assert default["mean"] == of[default["positive"]]["mean"]
    assert re.search(r"positive class +'yes'", mercer(*words, "--positive", "yes").out)
    refused(*words, "--positive", "maybe", status=2, says=["maybe", "'yes'", "'no'"])
    # Nothing is written when a part of what was asked for cannot be had.
    same = [i for i in range(60) if y[i] == y[0]]
    write("one.txt", ",".join(str(i) for i in range(60) if i not in same[:3]) + "\n")
    refused(*words[:-2], "--split", "one.txt", "--save-predictions", "p.csv", "--roc", "r.csv", status=1, says="one class")
    assert not pathlib.Path("p.csv").exists() and not pathlib.Path("r.csv").exists()
    # A fold that cannot tell is left out of the paired differences.
    write("three.txt", "\n".join(",".join(str(i) for i in range(60) if i not in held)
                                 for held in (same[:3], range(20), range(20, 45))) + "\n")
    told = report("compare", "two.csv", "-m", "pca", "-m", "kpca", "-n", 1, "--head", "ls", "--split", "three.txt",
                  "--metric", "auc")["methods"][1]
    assert told["folds"][0]["value"] is None and told["difference_sd"] is not None
    refused("evaluate", write("row.csv", "x,label\n1,a\n"), "-m", "pca", "--head", "centre", "--cv", "loo", status=1,
            says=["row.csv", "1 row"])


@test
def test_evaluate_is_what_fit_and_predict_do():
    species(60)
    for method in ("kpls:discriminant=on", "kpls"):  # each has a head of its own
        words = ["species.csv", "-m", method, "-k", "rbf:sigma=2", "-n", 3]
        mercer("fit", *words, "-o", "m")
        mercer("evaluate", *words, "--test", "species.csv", "--save-predictions", "held.csv")
        by_model = csv_rows(mercer("predict", "m", "species.csv").out)
        held = csv_rows(pathlib.Path("held.csv").read_text())
        assert [line[0] for line in held] == [line[0] for line in by_model]
        assert [line[3:] for line in held[1:]] == [line[1:] for line in by_model[1:]]


@test
def test_evaluate_tells_what_cannot_be():
    species(60)
    lines = pathlib.Path("species.csv").read_text().splitlines()
    lines[6] = lines[6].rsplit(",", 1)[0] + ",rare"
    write("rare.csv", "\n".join(lines) + "\n")
    told = report("evaluate", "rare.csv", "-m", "kpls", "-n", 3)
    assert any("'rare' is held out as a whole" in notice for notice in told["notices"])
    refused("compare", "species.csv", "-m", "kpca", "-m", "kpls", "-n", 3, status=2, says="--head")
    refused("evaluate", "species.csv", "-m", "kpls", "--inner", 3, status=2, says="--tune")
    refused("evaluate", "species.csv", "-m", "kpls", "--tune", "method.components=1,2", status=2,
            says="write components")
    alone = report("compare", "species.csv", "-m", "kpls", "-m", "sma", "-n", 3, "--cv", "loo")["methods"]
    assert abs(alone[1]["difference"] - (alone[1]["mean"] - alone[0]["mean"])) < 1e-12
    assert "nan" not in mercer("compare", "species.csv", "-m", "kpls", "-m", "sma", "-n", 3, "--cv", "loo").out
    write("split.txt", " 0,1,2,3,4,5,6,7,8\n\n9,10,11,12,13,14\n")
    assert len(report("evaluate", "species.csv", "-m", "kpls", "-n", 2, "--split", "split.txt")["folds"]) == 2
    table("far.csv", np.c_[cloud(30, 2), 1e160 * np.arange(30)], "abt")
    refused("fit", "far.csv", "-m", "kpls", "--target", "t", status=1, says="--scale-target")


def two_classes():
    """two.csv, of 60 rows; returns their labels."""
    x = cloud(60, 3)
    labels = np.where(x[:, 0] + 0.5 * x[:, 1] > 0, "yes", "no")
    table("two.csv", x, "abc", label=labels)
    return labels


@test
def test_evaluate_ranks_and_undecided_rows():
    labels = two_classes()
    told = report("evaluate", "two.csv", "-m", "kpls", "-n", 3, "--metric", "auc", "--roc", "roc.csv",
                  "--save-predictions", "held.csv")
    roc = np.array(csv_rows(pathlib.Path("roc.csv").read_text())[1:], dtype=float)
    held = csv_rows(pathlib.Path("held.csv").read_text())
    first, second = (held[0].index("score_" + name) for name in told["classes"])
    score = np.array([float(row[second]) - float(row[first]) for row in held[1:]])
    truth = np.array([labels[int(row[2])] == told["classes"][1] for row in held[1:]])
    assert len(roc) == len(set(score)) + 1 and np.isinf(roc[0, 2])
    for fpr, tpr, threshold in roc:
        assert abs(fpr - np.mean(score[~truth] >= threshold)) < 1e-12
        assert abs(tpr - np.mean(score[truth] >= threshold)) < 1e-12
    species(60)
    refused("evaluate", "species.csv", "-m", "kpls", "--roc", "x.csv", status=2, says="two classes")
    refused("evaluate", "two.csv", "-m", "kpca", "--roc", "x.csv", status=2, says="--head")
    assert not pathlib.Path("x.csv").exists()
    # A fold of one class has no ranking; the others have.
    order = np.argsort(labels)
    write("split.txt", "\n".join(",".join(str(i) for i in order if i not in held) for held in
                                 (order[:8], order[10:50], order[5:55])) + "\n")
    told = report("evaluate", "two.csv", "-m", "kpls", "-n", 3, "--metric", "auc", "--split", "split.txt")
    values = [fold["value"] for fold in told["folds"]]
    assert values[0] is None and abs(told["mean"] - np.mean(values[1:])) < 1e-12
    assert any("fold 1" in notice and "one class" in notice for notice in told["notices"])
    assert "nan" not in mercer("evaluate", "two.csv", "-m", "kpls", "-n", 3, "--metric", "auc", "--split", "split.txt").out
    write("split.txt", ",".join(map(str, order[8:])) + "\n")
    refused("evaluate", "two.csv", "-m", "kpls", "-n", 3, "--metric", "auc", "--split", "split.txt", status=1,
            says="one class")
    # Ties that nobody wins are counted apart.
    write("t.csv", "x,label\n0,1\n1,2\n10,2\n11,1\n")
    words = ["t.csv", "-m", "pca", "-n", 1, "--cv", "loo", "--head", "knn:k=2,ties=strict"]
    told = report("evaluate", *words)
    assert told["undecided"] == [0, 2] and sum(map(sum, told["confusion"])) == 2
    assert "(none)" in mercer("evaluate", *words).out
    assert "(none)" not in mercer("evaluate", "species.csv", "-m", "kpls", "-n", 3).out


@test
def test_evaluate_keeps_outputs_apart():
    two_classes()
    words = ["evaluate", "two.csv", "-m", "kpls", "-n", 3]
    plain = mercer(*words).out
    for option in ("--roc", "--save-predictions"):
        mercer(*words, option, "file.csv")
        table_alone = pathlib.Path("file.csv").read_text()
        done = mercer(*words, option, "-")
        assert done.out == table_alone and done.err == plain
        done = mercer(*words, option, "-", "--json")
        assert done.out == table_alone and json.loads(done.err)["metric"] == "error"
        done = mercer(*words, option, "-", "--quiet")
        assert done.out == table_alone and done.err == ""
    os.remove("file.csv")
    os.mkdir("sub")
    refused(*words, "--roc", words[1], status=2, says="written over the data")
    refused(*words, "--save-predictions", words[1], status=2, says="written over the data")
    for roc, held in (("r.csv", "r.csv"), ("r.csv", "sub/../r.csv"), ("-", "-"), ("-", "/dev/stdout")):
        refused(*words, "--roc", roc, "--save-predictions", held, status=2, says=["two files", f"--roc {roc}"])
    assert files() == ["sub", "two.csv"]
    write("r.csv", "kept\n")
    os.link("r.csv", "other.csv")
    refused(*words, "--roc", "r.csv", "--save-predictions", "other.csv", status=2, says="two files")
    assert pathlib.Path("r.csv").read_text() == "kept\n"
    done = mercer(*words, "--roc", "-", "--save-predictions", "sub/r.csv")
    assert done.out.startswith("fpr,") and pathlib.Path("sub/r.csv").read_text().startswith("prediction,")
    mercer(*words, "--roc", "/dev/null", "--save-predictions", "/dev/null")


@test
def test_evaluate_tells_the_only_choice():
    species(60)
    words = ["evaluate", "species.csv", "-m", "kpls", "--test", "species.csv", "--tune", "components=1,2"]
    chosen = report(*words, "--tune", "kernel.sigma=1,2")["folds"][0]["chosen"]
    told = re.findall(r"^  chosen +(.*);", mercer(*words, "--tune", "kernel.sigma=1,2").out, re.M)
    assert told == [f"components={chosen['components']}, kernel.sigma={chosen['kernel.sigma']:g}"]
    assert "chosen" not in mercer(*words[:6], "-n", 2).out  # there was nothing to choose
    split = write("split.txt", " ".join(map(str, range(45))) + "\n")
    only = [*words[:4], "--split", split, *words[6:], "--tune", "kernel.sigma=1,2"]
    chosen = report(*only)["folds"][0]["chosen"]  # of its training part, beside that on all rows
    told = re.findall(r"^  chosen +(\S+)$", mercer(*only).out, re.M)
    assert told == [f"components={chosen['components']},kernel.sigma={chosen['kernel.sigma']:g}"]


@test
def test_evaluate_names_the_file_of_test_rows():
    species(60)
    lines = pathlib.Path("species.csv").read_text().splitlines()
    lines[4] = ",".join(["1e300"] * lines[4].count(",") + [lines[4].rsplit(",", 1)[1]])
    write("big.csv", "\n".join(lines) + "\n")
    words = ["species.csv", "-m", "kpls", "-k", "poly:degree=3", "-n", 2, "--test", "big.csv"]
    refused("evaluate", *words, status=1, says="mercer: big.csv: row 4 is too large")
    refused("evaluate", *words, "--tune", "components=1,2", status=1, says="mercer: big.csv: row 4 is too large")
    refused("compare", *words, status=1, says="mercer: big.csv: kpls: row 4 is too large")
    # What is wrong with the training rows is told of their file.
    refused("evaluate", "big.csv", *words[1:-1], "species.csv", status=1, says="mercer: big.csv: ")


@test
def test_evaluate_edges():
    species(60)
    labels = ("a", "b", "c")
    rows = ["x,y,label"] + [f"{a!r},{b!r},{labels[i % 3]}" for i, (a, b) in enumerate(cloud(60, 2).tolist())]
    cells = [row.rsplit(",", 1) for row in rows]
    write("rows.csv", "\n".join(rows) + "\n")
    write("one.csv", "\n".join([rows[0]] + [cell[0] + ",same" for cell in cells[1:]]) + "\n")
    refused("evaluate", "one.csv", "-m", "kpls", status=1, says=["one.csv", "'same'"])
    refused("evaluate", "one.csv", "-m", "kpca", "--head", "knn", status=1, says=["one.csv", "'same'"])
    table("flat.csv", np.c_[cloud(30, 2), np.ones(30)], "abt")
    refused("evaluate", "flat.csv", "-m", "kpls", "--target", "t", status=1, says=["flat.csv", "the same for every row"])
    refused("evaluate", "species.csv", "-m", "kpls", "--cv", 61, status=1, says="61 folds cannot be made of 60 rows")
    write("few.csv", "\n".join(rows[:7]) + "\n")
    refused("evaluate", "few.csv", "-m", "pca", "--cv", 2, "--tune", "components=1,2", status=1,
            says=["3 training rows", "--inner"])
    for grid, says in (("kernel.sigma=-1,2", "sigma=-1"), ("head.k=0,1", "k=0"), ("components=2,x", "components=x"),
                       ("method.nosuch=1", "nosuch"), ("kernel=rbf,nosuch", "nosuch"), ("kernel=rbf,,linear", "empty")):
        refused("evaluate", "species.csv", "-m", "kpca", "--head", "knn", "--tune", grid, status=2, says=says)
    refused("evaluate", "species.csv", "-m", "kpca", "--head", "knn", "--tune", "kernel=rbf,linear", "--tune",
            "kernel.sigma=1,2", status=2, says="write the keys after")
    # What turns out to be impossible in a fold is named: a value that is left out, or that there is none left.
    told = mercer("evaluate", "species.csv", "-m", "kpca", "--head", "svm:type=nu", "--tune", "head.nu=0.1,1")
    assert "1 of 2 choices cannot be fitted" in told.err and "head.nu=1: head svm: nu=1" in told.err, told.err
    # Numbers of components are choices, too.
    told = report("evaluate", "species.csv", "-m", "kpca", "--head", "svm:type=nu", "--tune", "head.nu=0.1,1",
                  "--tune", "components=1,2,3")
    assert told["choices"] == 6 and "3 of 6 choices cannot be fitted" in " ".join(told["notices"]), told
    refused("evaluate", "species.csv", "-m", "kpca", "--head", "svm:type=nu", "--tune", "head.nu=0.99,1", status=1,
            says=["fold 1", "head.nu=0.99"])
    write("strange.csv", "\n".join(rows[:20] + [cells[20][0] + ",nobody"]) + "\n")
    refused("evaluate", "rows.csv", "-m", "kpls", "--test", "strange.csv", status=1,
            says=["mercer: strange.csv: row 20 is of class 'nobody'"])


@test
def test_evaluate_without_labels():
    x = cloud(80, 2)
    table("flat.csv", np.c_[x, x @ [[1.0, 2, -1], [1, -1, 3]] + 0.05 * cloud(80, 3, seed=4)], "abcde")
    told = report("evaluate", "flat.csv", "-m", "pca", "--tune", "components=1:4:+1")
    assert told["metric"] == "structure" and told["larger_is_better"] and told["mean"] > 0.1
    told = report("evaluate", "flat.csv", "-m", "pca", "--tune", "components=1:4:+1", "--metric", "columns")
    assert told["metric"] == "columns" and told["mean"] < 0.05 and told["notices"] == []
    assert all(fold["chosen"]["components"] >= 2 for fold in told["folds"])
    told = report("evaluate", "flat.csv", "-m", "kpca", "-n", 2, "--metric", "columns", "--tune",
                  "kernel=rbf:sigma=0.1,linear,poly:degree=3,coef0=2")
    assert {fold["chosen"]["kernel"] for fold in told["folds"]} == {"linear"}
    keeps = report("evaluate", "flat.csv", "-m", "kpca", "-k", "linear", "-n", 2, "--metric", "reconstruction")
    comes = report("evaluate", "flat.csv", "-m", "kpca", "-k", "linear", "-n", 2, "--metric", "preimage")
    assert 0.5 < keeps["mean"] / comes["mean"] < 2  # over the spread of held-out and of training rows
    refused("evaluate", "flat.csv", "-m", "kpca", "-k", "cosine", "--metric", "preimage", status=1, says="cosine")
    ring = np.random.default_rng(2).uniform(0, 2 * np.pi, 100)
    table("ring.csv", np.c_[np.cos(ring), np.sin(ring)] + 0.05 * cloud(100, 2), "xy")
    words = ["ring.csv", "-m", "kpca", "--metric", "structure", "--tune", "kernel=linear,rbf:sigma=0.3", "--tune",
             "components=1:8:+1"]
    told = report("evaluate", *words)
    assert told["larger_is_better"] and told["mean"] > 0.1
    assert {fold["chosen"]["kernel"] for fold in told["folds"]} == {"rbf:sigma=0.3"}
    assert report("evaluate", *words, "--threads", 1)["mean"] == told["mean"]
    table("noise.csv", cloud(80, 4), "abcd")
    assert abs(report("evaluate", "noise.csv", "-m", "kpca", "-n", 2, "--metric", "structure")["mean"]) < 0.1
    write("one.csv", "x\n" + "\n".join(map(str, range(20))) + "\n")
    refused("evaluate", "one.csv", "-m", "kpca", "--metric", "structure", status=2, says="two columns")
    told = report("evaluate", "noise.csv", "-m", "pca", "-n", 2, "--metric", "columns")
    assert told["mean"] > 0.9 and any("hardly predict each other" in notice for notice in told["notices"])
    # A kernel matrix in folds is what the kernel itself is.
    squares = ((x[:, None] - x[None]) ** 2).sum(2)
    np.save("k.npy", np.exp(-squares / 8))
    table("x.csv", x, "ab")
    words = ["-m", "kpca", "-n", 3, "--metric", "reconstruction"]
    given = report("evaluate", "k.npy", "-k", "precomputed", *words)
    assert abs(given["mean"] - report("evaluate", "x.csv", "-k", "rbf:sigma=2", *words)["mean"]) < 1e-9
    refused("evaluate", "x.csv", "-k", "precomputed", *words, status=1, says="square")


def without_times(told):
    return {key: value for key, value in told.items() if key != "seconds"}


@test
def test_evaluate_goes_on_by_its_journal():
    species(90)
    words = ["evaluate", "species.csv", "-m", "kpls", "--tune", "kernel.sigma=0.25:8:*2", "-n", 2, "--repeats", 4]
    expected = without_times(report(*words))
    # with any number of threads, from lines that one with another number has left; the last is torn
    with subprocess.Popen([MERCER, *map(str, words), "--journal", "my.journal", "--threads", "2"],
                          stdout=subprocess.DEVNULL) as run:
        journal = pathlib.Path("my.journal.0")
        while run.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") > 60):
            time.sleep(0.005)
        run.kill()
    left = journal.read_bytes()
    assert left.startswith(b"mercer journal 1\n") and left.count(b"\n") > 60
    for threads in (1, 2):
        journal.write_bytes(left[:-7])
        assert without_times(report(*words, "--journal", "my.journal", "--threads", threads)) == expected
        assert files() == ["species.csv"], files()
    # it is the trials of this evaluation alone that are taken from there
    journal.write_bytes(left)
    other = [*words, "--seed", 2]
    assert without_times(report(*other, "--journal", "my.journal")) == without_times(report(*other))


@test
def test_evaluate_keeps_its_journal_until_all_is_written():
    species(60)
    words = ["evaluate", "species.csv", "-m", "kpls", "-n", 2, "--journal", "j"]
    refused(*words, "--save-predictions", "/dev/full", status=1, says="/dev/full")
    assert files() == ["j.0", "species.csv"]
    told = mercer(*words, "--save-predictions", "p.csv").out
    assert files() == ["p.csv", "species.csv"]
    assert told == mercer(*words[:-2]).out
    pathlib.Path("j.0").write_text("mine\n")
    refused(*words, status=1, says="j.0: is there already, and is not a journal")
    pathlib.Path("j.0").unlink()
    pathlib.Path("j.1").write_text("mine\n")
    mercer(*words)
    assert files() == ["j.1", "p.csv", "species.csv"] and pathlib.Path("j.1").read_text() == "mine\n"
    refused("evaluate", "species.csv", "-m", "kpls", "--journal", "no/where", status=1, says="no: cannot be read")
    refused("fit", "species.csv", "-m", "kpls", "--journal", "j", status=2, says="--journal requires --tune")


@test
def test_spreads_are_the_same_in_every_unit_of_the_targets():
    """Squares of 1e180 and 1e-180 are no numbers: SDs were null or 0, and 1se chose the simplest, or the best."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(60, 3))
    y = x[:, 0] + 0.3 * draw.normal(size=60)
    told = []
    for unit in (1.0, 2.0**-600, 2.0**600):
        np.save("z.npy", np.c_[x, unit * y])
        words = ["z.npy", "-m", "kpca", "--target", 4, "--head", "ls"]
        whole = report("evaluate", *words, "-n", 2, "--importance")
        tuned = report("fit", *words, "--tune", "components=1,2,3", "--tune-rule", "1se")
        both = report("compare", *words, "-m", "pca", "-n", 2)["methods"]
        told.append([whole["mean"] / unit, whole["sd"] / unit, *(c["sd"] / unit for c in whole["importance"]),
                     tuned["components"], *(c["se"] / unit for c in tuned["grid"]["cells"]),
                     both[1]["difference"] / unit, both[1]["difference_sd"] / unit])
    assert told[0] == told[1] == told[2], told
    assert told[0][1] > 0 and told[0][5] == 3


@test
def test_forged_journals():
    """Lines of other lengths, classes and choices with a checksum that fits: one line or the result, never a crash."""
    species(60)
    words = ["evaluate", "species.csv", "-m", "kpls", "-n", 2, "--journal", "j"]
    refused(*words, "--save-predictions", "/dev/full", status=1, says="/dev/full")
    first, *lines = pathlib.Path("j.0").read_text().splitlines()
    body, told = lines[0].rsplit(" ", 1)
    crc = next(text for text in (body, body + " ") if f"{zlib.crc32(text.encode()):08x}" == told)[len(body):]
    draw, statuses = random.Random(1), set()
    for number in range(60):
        forged = []
        for line in lines:
            key, kind, index, record, _ = line.split(" ")
            bytes_ = bytearray.fromhex(record)
            if number % 3 == 0:
                del bytes_[draw.randrange(len(bytes_)):]
            at = 8 * draw.randrange(max(1, len(bytes_) // 8))
            bytes_[at:at + 8] = draw.choice([b"\xff" * 8, (1 << 40).to_bytes(8, "little"), draw.randbytes(8), bytes(8)])
            text = f"{key} {kind} {index} {bytes_.hex()}"
            forged.append(f"{text} {zlib.crc32((text + crc).encode()):08x}")
        pathlib.Path("j.0").write_text("\n".join([first, *forged]) + "\n")
        done = subprocess.run([MERCER, *map(str, words), "--save-predictions", "p.csv"], capture_output=True, text=True, check=False)
        statuses.add(done.returncode)
        assert done.returncode in (0, 1), (number, done)
        assert done.returncode == 0 or len(done.stderr.splitlines()) == 1, (number, done.stderr)
    assert statuses == {0, 1}, statuses

@test
def test_as_many_folds_as_rows_are_leave_one_out():
    species(30)
    for more in (["-m", "kpls", "-n", 2], ["-m", "pca", "-n", 2, "--metric", "structure"]):
        loo, folds = (report("evaluate", "species.csv", "-k", "linear", *more, "--cv", cv) for cv in ("loo", 30))
        assert len(folds["folds"]) == 30 and folds["mean"] is not None
        together = "kpls" in more
        for told in (loo, folds):
            assert (told["sd"] is None) == together
            assert all((fold["value"] is None) == together for fold in told["folds"])
        assert abs(loo["mean"] - folds["mean"]) < 1e-12
    twice = report("evaluate", "species.csv", "-m", "kpls", "-n", 2, "--cv", 30, "--repeats", 2)
    assert twice["sd"] is not None and all(fold["value"] is not None for fold in twice["folds"])


if __name__ == "__main__":
    sys.exit(run_tests())
