#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer report: test_report.py MERCER [WORD...] [-jN] [--quick]

What a page holds, against the numbers of other commands; how it looks and works is tests/report.
"""
import base64
import csv
import html
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import numpy as np

from support import (MERCER, cloud, fault, files, mercer, numbers, preloaded, put_images, random_images, refused, report, ring,
                     ring_model, run_tests, slow_test, species, table, test, write)


def page(*words, name="r.html", **more):
    mercer("report", *words, "-o", name, **more)
    return pathlib.Path(name).read_text(encoding="utf-8")


def data_of(text, name="points"):
    """The JSON of a page."""
    return json.loads(re.search(rf'<script type="application/json" id="{name}">\n(.*?)\n</script>', text, re.S)[1])


def positions(column):
    at = np.frombuffer(base64.b64decode(column["data"]), dtype="<u2") / 65535
    return column["low"] + at * (column["high"] - column["low"])


def codes(group):
    return np.frombuffer(base64.b64decode(group["data"]), dtype="u1")


def table_after(text, title):
    """Cells of the table below a heading."""
    part = text[text.index(f"<h3>{title}"):]
    part = part[:part.index("</table>")]
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S) for row in part.split("<tr>")[1:]]
    return [[html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in rows]


@test
def test_points_are_features():
    x, labels = species()
    mercer("fit", "species.csv", "-m", "kpca", "-k", "rbf:sigma=3", "-n", 4, "--head", "ls", "--novelty", "0.2", "-o", "m", "--quiet")
    points = data_of(page("m", "species.csv"))
    _, wanted = numbers(mercer("transform", "m", "species.csv", "--errors").out)
    assert points["rows"] == points["shown"] == len(x) and points["ids"] is None and points["selected"] == []
    names = [c["name"] for c in points["columns"]]
    assert names == ["f1", "f2", "error", "f3", "f4"], names
    for name, column in zip(names, points["columns"]):
        values = wanted[:, 4 if name == "error" else int(name[1:]) - 1]
        assert column["low"] == values.min() and column["high"] == values.max(), name
        assert np.abs(positions(column) - values).max() <= (values.max() - values.min()) / 65535 * .51, name
    groups = {g["name"]: g for g in points["groups"]}
    assert list(groups) == ["label", "prediction", "novelty", "predicted class"]
    assert [groups["label"]["names"][c] for c in codes(groups["label"])] == labels
    predicted = [row[0] for row in csv.reader(mercer("predict", "m", "species.csv").out.splitlines())][1:]
    assert [groups["predicted class"]["names"][c] for c in codes(groups["predicted class"])] == predicted
    assert [groups["prediction"]["names"][c] for c in codes(groups["prediction"])] == \
        ["right" if a == b else "wrong" for a, b in zip(labels, predicted)]
    assert [groups["novelty"]["names"][c] == "novel" for c in codes(groups["novelty"])] == (wanted[:, 5] == 1).tolist()
    for group in groups.values():
        assert group["counts"] == np.bincount(codes(group), minlength=len(group["names"])).tolist()


@test
def test_tables_are_those_of_other_commands():
    x, labels = species()
    mercer("fit", "species.csv", "-m", "kpca", "-k", "rbf:sigma=3", "-n", 3, "--head", "ls", "-o", "m", "--quiet")
    text = page("m", "species.csv")
    _, values = numbers(mercer("transform", "m", "species.csv", "--errors").out)
    errors = values[:, 3]
    order = np.argsort(-errors, kind="stable")[:12]
    odd = table_after(text, "The largest errors")
    assert odd[0] == ["row", "class", "error"] and [int(r[0]) for r in odd[1:]] == order.tolist()
    assert [r[1] for r in odd[1:]] == [labels[i] for i in order]
    assert np.allclose([float(r[2]) for r in odd[1:]], errors[order], rtol=6e-4)
    lines = list(csv.DictReader(mercer("predict", "m", "species.csv").out.splitlines()))
    wrong = {i: float(row["score_" + row["prediction"]]) - float(row["score_" + labels[i]])
             for i, row in enumerate(lines) if row["prediction"] != labels[i]}
    listed = table_after(text, f"12 of {len(wrong)} rows" if len(wrong) > 12 else "Rows in the wrong class")
    assert [int(r[0]) for r in listed[1:]] == sorted(wrong, key=lambda i: (-wrong[i], i))[:12]
    assert all(r[1] == labels[int(r[0])] and r[2] == lines[int(r[0])]["prediction"] for r in listed[1:])
    spectrum = table_after(text, "Eigenvalues")
    told = report("info", "m")
    assert np.allclose([float(r[1]) for r in spectrum[1:]], told["spectrum"], rtol=6e-4)
    columns = table_after(text, "Columns, and")
    assert columns[0] == ["column", "values", "least", "mean", "most", "SD", "with f1", "with f2", "with f3"]
    for j, row in enumerate(columns[1:]):
        v = x[:, j]
        assert row[0] == "pqr"[j] and np.allclose([float(c) for c in row[2:6]], [v.min(), v.mean(), v.max(), v.std()], rtol=6e-4, atol=1e-12)
        with_features = [float(c.replace("\u2212", "-")) for c in row[6:]]
        assert np.allclose(with_features, [np.corrcoef(v, values[:, k])[0, 1] for k in range(3)], atol=.0051)


@test
def test_selected_rows_and_regression():
    x = cloud(80, 3)
    table("x.csv", np.column_stack([x, x @ [2, 1, 0]]), ["a", "b", "c", "target"])
    mercer("fit", "x.csv", "-m", "akfa", "-k", "rbf:sigma=2", "-n", 6, "--head", "ls", "-o", "m", "--quiet")
    text = page("m", "x.csv")
    told, points = report("info", "m"), data_of(text)
    assert points["selected"] == told["selected"]
    assert [int(r[1]) for r in table_after(text, "In the order of selection")[1:]] == told["selected"]
    _, predicted = numbers(mercer("predict", "m", "x.csv").out)
    column = {c["name"]: c for c in points["columns"]}
    assert np.abs(positions(column["prediction"]) - predicted[:, 0]).max() < 1e-4 * np.ptp(predicted)
    far = table_after(text, "The largest differences")
    off = np.abs(predicted[:, 0] - x @ [2, 1, 0])
    assert [int(r[0]) for r in far[1:]] == np.argsort(-off, kind="stable")[:12].tolist()
    # Rows that the model was not fitted to: selected ones are not among them.
    table("y.csv", x[:40], ["a", "b", "c"])
    assert data_of(page("m", "y.csv"))["selected"] == []


@test
def test_the_same_bytes_in_every_locale_and_number_of_threads():
    ring_model()
    first = page("ring.model", "ring.csv")
    assert page("ring.model", "ring.csv", "--threads", 1, env={"LC_ALL": "de_DE.utf8"}) == first
    assert mercer("report", "ring.model", "ring.csv").stdout.decode() == first
    done = subprocess.run([MERCER, "report", "ring.model", "-", "-q"], input=pathlib.Path("ring.csv").read_bytes(), capture_output=True, check=True)
    assert done.stdout.decode().replace("standard input", "ring.csv") == first and not done.stderr


@test
def test_samples():
    rows = 1000
    ring(rows=rows)
    mercer("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 3, "-o", "m", "--quiet")
    _, features = numbers(mercer("transform", "m", "ring.csv").out)
    for most in (1, 2, 7, 333, 999, 1000, 5000):
        text = page("m", "ring.csv", "--max-points", most)
        points = data_of(text)
        shown = min(rows, most)
        assert points["rows"] == rows and points["shown"] == shown
        starts = [i * rows // shown for i in range(shown + 1)]
        taken = [first + int((end - first) * (i * 0.6180339887498949 % 1))
                 for i, (first, end) in enumerate(zip(starts, starts[1:]))]
        assert len({i % 3 for i in taken}) == min(shown, 3), taken  # whatever the period
        f1 = positions(points["columns"][0])
        assert np.abs(f1 - features[taken, 0]).max() < 1e-4, most
        assert ("rows can be explored here" in text) == (shown < rows)


@test
def test_many_rows_stay_small():
    x = cloud(100000, 3)
    np.save("x.npy", x)
    write("labels", "".join(f"c{i % 3}\n" for i in range(len(x))))
    mercer("fit", "x.npy", "-m", "pca", "-n", 3, "--labels", "labels", "--head", "centre", "-o", "m", "--quiet")
    told = report("report", "m", "x.npy", "--labels", "labels", "-o", "r.html")
    assert told["rows"] == told["points"] == 100000 and told["bytes"] == os.path.getsize("r.html") <= 1500000, told


@test
def test_the_page_says_what_it_leaves_out():
    x = cloud(20000, 6)
    for length, left in (10, False), (60, True):
        lines = [f"{i:0{length}d}," + ",".join(f"{value:.4f}" for value in row) for i, row in enumerate(x)]
        write("x.csv", "\n".join(["id,a,b,c,d,e,f", *lines]) + "\n")
        mercer("fit", "x.csv", "--id", "id", "-m", "pca", "-n", 6, "-o", "m", "--quiet")
        text = page("m", "x.csv")
        points = data_of(text)
        assert (points["ids"] is None) == left == ("no room for ids of 20,000 rows: the map" in text)
        assert len(points["columns"]) == 7 and "more columns" not in text
    text = page("m", "x.csv", "--max-points", 5000)
    assert len(data_of(text)["ids"]["values"]) == 5000 and "no room" not in text
    x = cloud(120000, 4)
    np.save("y.npy", x)
    mercer("fit", "y.npy", "-m", "pca", "-n", 4, "-o", "m", "--quiet")
    text = page("m", "y.npy")
    assert len(data_of(text)["columns"]) == 2 and "no room for 3 more columns" in text and "of 120,000 rows.<" in text  # errors, f3, f4


@test
def test_texts_of_a_model_stay_text():
    """A file may name any method, kernel, head or column; its check sum is no secret."""
    ring_model()
    data = pathlib.Path("ring.model").read_bytes()
    evil, found = b"<img src=x>", []
    for key in b"method", b"kernel", b"command", b"data_hash":
        was = re.search(rb'"%s":"([^"]*)"' % key, data)
        text = was[1]
        if len(text) < len(evil):
            continue  # the header keeps its length
        pathlib.Path("evil.model").write_bytes(data.replace(was[0], b'"%s":"%s"' % (key, evil.ljust(len(text)))))
        says = mercer("info", "evil.model", status=1).err
        sums = re.search(r"checksum (\w+) expected, (\w+) found", says)
        if not sums:
            continue  # it is refused for what it says
        whole = pathlib.Path("evil.model").read_bytes().replace(sums[1].encode(), sums[2].encode())
        pathlib.Path("evil.model").write_bytes(whole)
        done = mercer("report", "evil.model", "-o", "evil.html", status=(0, 1))
        if done.returncode == 0:
            found.append(key)
            assert b"<img" not in pathlib.Path("evil.html").read_bytes(), key
    assert {b"method", b"command"} <= set(found), found


@test
def test_odd_tables():
    """No label, one class, many classes, one feature, constant columns, two rows, no selection."""
    n = 60
    x = cloud(n, 2)
    cases = {"plain": (x, None, "kpca"), "one": (x, ["only"] * n, "kpca"), "many": (cloud(11000, 2), [f"c{i % 10000}" for i in range(11000)], "pca"),
             "constant": (np.column_stack([x, np.ones(n)]), None, "kpca"), "narrow": (x[:, :1], ["ab"[i % 2] for i in range(n)], "pca"),
             "two": (x[:2], None, "kpca")}
    for name, (rows, label, method) in cases.items():
        table(f"{name}.csv", rows, [f"x{j}" for j in range(rows.shape[1])], label)
        mercer("fit", f"{name}.csv", "-m", method, "-n", 1 if name in ("narrow", "two") else 2, "-o", f"{name}.model", "--quiet")
        text = page(f"{name}.model", f"{name}.csv", "--explore")
        points = data_of(text)
        assert len(points["groups"]) == (label is not None) and len(points["columns"]) >= 2, name
        if name == "many":
            group = points["groups"][0]
            assert len(group["names"]) == 255 and group["names"][254] == "one of 9746 other classes" and sum(group["counts"]) == 11000
        if name == "constant":
            assert "constant" in text
        assert "Selected rows" not in text and "nan" not in re.sub(r'"data":"[^"]*"', "", text).lower().split("<script>")[0].split("</style>")[1]


@test
def test_sparse_images_and_precomputed():
    lines = [f"{i % 2} {1 + i % 7}:{1 + i / 10} {9 + i % 3}:2" for i in range(40)]
    write("s.svm", "\n".join(lines) + "\n")
    mercer("fit", "s.svm", "-m", "kpca", "-k", "linear", "-n", 2, "-o", "s.model", "--quiet")
    assert data_of(page("s.model", "s.svm", "--explore"), "explore-data")["columns"] == 11
    put_images("images", random_images(12, 6, 5))
    mercer("fit", "images", "-m", "kpca", "-k", "rbf:sigma=900", "-n", 3, "-o", "i.model", "--quiet")
    assert "5 x 6 pixels" in page("i.model", "images")
    x = cloud(20, 3)
    table("k.csv", x @ x.T)
    mercer("fit", "k.csv", "-m", "kpca", "-k", "precomputed", "-n", 2, "-o", "k.model", "--quiet")
    text = page("k.model", "k.csv", "--explore")
    assert "Columns of the table" not in text and "explore-live" not in text.split("<script>")[0]


@test
def test_explorer_holds_scaled_rows():
    x, _ = species()
    scaled = {"standard": (x - x.mean(0)) / x.std(0), "none": x, "unit": x / np.linalg.norm(x, axis=1)[:, None]}
    for kind, wanted in scaled.items():
        mercer("fit", "species.csv", "-m", "kpca", "-k", "rbf:sigma=2", "-n", 2, "--scale", kind, "-o", "m", "--quiet")
        data = data_of(page("m", "species.csv", "--explore"), "explore-data")
        got = np.frombuffer(base64.b64decode(data["data"]), dtype="<f8").reshape(data["rows"], data["columns"])
        assert np.allclose(got, wanted, rtol=1e-13, atol=1e-13), kind
        assert data["before"] == "mercer fit species.csv -m kpca"
        assert data["after"] == ("" if kind == "none" else f" --scale {kind}") + " -o my.model"
    assert "explore-data" not in page("m", "species.csv").split("<script>")[0]


@test
def test_explorer_ends_in_a_line_that_reads_the_same_table():
    rng = np.random.default_rng(2)
    rows = [f"r{i};{a:.3f};2024-01-{1 + i % 28:02d};{b:.2f};{'-' if i == 4 else f'{c:.3f}'};{'uv'[i % 2]};{i % 3}"
            for i, (a, b, c) in enumerate(rng.normal(size=(60, 3)))]
    write("-t.csv", "\n".join(["name;it's a;day;-b;c;my kind;group", *rows, ""]))
    for words in (["--drop", "day,group", "--id", "name", "--label", "my kind", "--na", "-", "--missing", "median"],
                  ["--columns", "2,-b,group", "--no-label", "--delimiter", "semicolon"],
                  ["--columns=c,group", "--na=-", "--missing", "mean", "--target", "-b", "--decimal", "point"],
                  ["--drop=-b,name", "--encode", "onehot,dates", "--na", "-", "--missing", "mean", "--label", "my kind"]):
        mercer("fit", *words, "-m", "kpca", "-n", 2, "--scale", "standard", "-o", "m", "--quiet", "--", "-t.csv")
        file_words = [w for w in ("--delimiter", "semicolon", "--decimal", "point") if w in words]
        data = data_of(page("m", "./-t.csv", "--explore", *file_words), "explore-data")
        line = f"{data['before']} -k rbf:sigma=2 -n 2{data['after']}"
        assert shlex.split(line)[:3] == ["mercer", "fit", "./-t.csv"], line
        mercer(*shlex.split(line)[1:], "--quiet")
        told, wanted = report("info", "my.model"), report("info", "m")
        for key in ("columns", "rows", "scale", "label_column", "id_column", "missing", "encode", "column_names"):
            assert told.get(key) == wanted.get(key), (key, line, told.get(key), wanted.get(key))
        assert told["columns"] == data["columns"], line


@test
def test_rows_without_labels():
    """A classifier's page of rows read without labels has no picture of hits; its explorer's line runs."""
    rng = np.random.default_rng(5)
    rows = [(f"r{i}", a, b, "uv"[i % 2] if i % 7 else "") for i, (a, b) in enumerate(rng.normal(size=(40, 2)))]
    for name, words in (("label", []), ("kind", ["--label", "kind"])):
        write("gap.csv", f"id,a,b,{name}\n" + "".join(f"{i},{a:.3f},{b:.3f},{c}\n" for i, a, b, c in rows))
        for method in (["-m", "kpls", "--head", "svm"], ["-m", "kpca"]):
            mercer("fit", "gap.csv", *method, *words, "--id", "id", "--unlabelled", "drop", "-o", "m", "--quiet")
            text = page("m", "gap.csv", "--no-label", "--explore")
            assert "Confusion" not in text.split("<script>")[0]
            data = data_of(text, "explore-data")
            line = f"{data['before']} -k rbf:sigma=2 -n 2{data['after']}"
            mercer(*shlex.split(line)[1:], "--quiet")
            told = report("info", "my.model")
            assert told["rows"] == 40 and told["columns"] == 2 and f"--drop {name}" in line, line
    # Values instead of classes, and labels that were never in the table.
    write("t.csv", "a,b,target\n" + "".join(f"{a:.3f},{b:.3f},{i if i % 7 else ''}\n" for i, (_, a, b, _) in enumerate(rows)))
    write("plain.csv", "a,b\n" + "".join(f"{a:.3f},{b:.3f}\n" for _, a, b, _ in rows))
    for words in ([], ["--target", "target"]):
        mercer("fit", "t.csv", "-m", "kpls", "--head", "ls", *words, "--unlabelled", "drop", "-o", "m", "--quiet")
        data = data_of(page("m", "t.csv", "--no-label", "--explore"), "explore-data")
        mercer(*shlex.split(f"{data['before']} -n 2{data['after']}")[1:], "--quiet")
        assert report("info", "my.model")["columns"] == 2
    mercer("fit", "plain.csv", "-m", "kpca", "-o", "m", "--quiet")
    data = data_of(page("m", "plain.csv", "--no-label", "--explore"), "explore-data")
    mercer(*shlex.split(f"{data['before']} -n 2{data['after']}")[1:], "--quiet")


@test
def test_from_fit_evaluate_and_compare():
    species()
    words = ["species.csv", "-k", "rbf:sigma=3", "-n", 3, "--head", "ls"]
    mercer("fit", *words, "-m", "kpca", "-o", "m", "--report", "r.html", "--quiet")
    text = pathlib.Path("r.html").read_text()
    assert text == page("m", "species.csv", name="s.html")
    mercer("evaluate", *words, "-m", "kpca", "--tune", "kernel.sigma=1,2", "--report", "e.html", "--quiet")
    text = pathlib.Path("e.html").read_text()
    told = report("evaluate", *words, "-m", "kpca", "--tune", "kernel.sigma=1,2")
    row = table_after(text, "Values on rows held out")[1]
    assert row[0] == "kpca" and np.isclose(float(row[1]), told["mean"], rtol=6e-4) and 'id="tuning"' in text
    mercer("compare", "species.csv", "-n", 3, "--head", "ls", "-m", "pca", "-m", "kpca", "--report", "c.html", "--quiet")
    rows = table_after(pathlib.Path("c.html").read_text(), "Values on rows held out")
    assert [r[0] for r in rows[1:]] == ["pca", "kpca"]
    for command in ("fit", "evaluate"):
        refused(command, *words, "-m", "kpca", "--report", "r.svg", says=".html", status=2)
    ring()
    mercer("fit", "ring.csv", "-m", "ikpca", "-n", 2, "--report", "i.html", "--quiet")
    assert "<section" in pathlib.Path("i.html").read_text()


@slow_test
def test_memory_that_runs_out():
    """One line and status 1, or the whole page: no part of it is missing."""
    module = preloaded(MERCER, "faults")
    species(rows=30)
    mercer("fit", "species.csv", "-m", "akfa", "-k", "rbf:sigma=2", "-n", 2, "--head", "knn:k=3", "-o", "s.model", "--quiet")
    words = ("report", "s.model", "species.csv", "-o", "-", "--threads", 1)
    page = mercer(*words).stdout
    for k in range(300, 900, 2):
        done = mercer(*words, status=(0, 1), env=fault(module, f"malloc {k} ENOMEM"))
        assert done.stdout == page if done.returncode == 0 else done.err.strip().count("\n") == 0, (k, done.err)


@test
def test_wrong_calls():
    ring_model()
    refused("report", "ring.model", "-o", "x.svg", says=["x.svg", ".html"], status=2)
    refused("report", "ring.model", "nothing.csv", "-o", "r.html", says="nothing.csv")
    refused("report", "ring.csv", "ring.csv", "-o", "r.html", says="ring.csv")
    refused("report", "ring.model", "-o", "no/r.html", says="no folder")
    refused("report", "ring.model", "--explore", "-o", "r.html", says="--explore", status=2)
    refused("report", "ring.model", "ring.csv", "--max-points", "0", "-o", "r.html", says="--max-points", status=2)
    write("short.csv", "x1\n1\n")
    refused("report", "ring.model", "short.csv", "-o", "r.html", says="short.csv")
    os.rename("ring.csv", "ring.html")
    refused("report", "ring.model", "ring.html", "--format", "csv", "-o", "ring.html", says="written over")
    assert files() == ["ring.html", "ring.model", "short.csv"]


if __name__ == "__main__":
    sys.exit(run_tests())
