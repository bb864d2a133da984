#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer info: test_info.py MERCER [WORD...] [-jN] [--quick]"""
import pathlib
import sys

import numpy as np

from support import cloud, mercer, refused, report, run_tests, species, table, test, write


@test
def test_info():
    table("x.csv", cloud(), "abcd")
    words = ["fit", "x.csv", "-m", "kpca", "-k", "rbf:sigma=2", "-n", 3, "--seed", 4, "-o", "x.model"]
    fitted = report(*words)
    result = report("info", "x.model")
    for key in ["method", "kernel", "rows", "columns", "components", "spectrum", "share",
                "reconstruction_error", "expansion_points", "selected"]:
        assert result[key] == fitted[key], key
    assert result["column_names"] == list("abcd") and result["seed"] == 4
    assert result["command"].startswith("mercer fit x.csv -m kpca")
    text = mercer("info", "x.model").out
    for word in ["kpca", "rbf:sigma=2", "a, b, c, d", "mercer fit x.csv", "f3"]:
        assert word in text, word


@test
def test_info_and_transform_say_what_was_meant():
    species(40)
    mercer("fit", "species.csv", "-m", "pca", "-n", 2, "--head", "ls", "-o", "my model")
    for command in ("transform", "predict"):
        refused(command, "species.csv", "my model", status=2,
                says=f"species.csv is a table; did you mean: mercer {command} 'my model' species.csv?")
    refused("info", "species.csv", status=1, says="mercer fit species.csv -m kpca")
    refused("transform", "species.csv", "species.csv", status=1, says="not a Mercer model")
    refused("info", "nosuch.csv", status=1, says="nosuch.csv")


@test
def test_columns_of_a_map_come_by_weight():
    """The twenty columns that count most, as --json orders all of them."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 25))
    x[:, 7:12] = 1  # these count for nothing
    table("w.csv", np.c_[x, np.sin(2 * x[:, 3]) + x[:, 20]], names=[f"c{i}" for i in range(25)] + ["y"])
    mercer("fit", "w.csv", "-m", "krr", "--target", "y", "--map", "agop:choose=none", "-o", "w.model")
    weights = report("info", "w.model")["map_weights"]
    assert [w["weight"] for w in weights] == sorted((w["weight"] for w in weights), reverse=True)
    assert {w["column"] for w in weights[-5:]} == {"c7", "c8", "c9", "c10", "c11"}, weights[-5:]
    text = mercer("info", "w.model").out
    lines = text[text.index("column  "):].splitlines()[2:22]
    assert [line.split()[0] for line in lines] == [w["column"] for w in weights[:20]], lines
    assert "and 5 more" in text


@test
def test_summaries_do_not_promise_too_much():
    species(60)
    plain = mercer("fit", "species.csv", "-m", "kpls", "--scale", "standard").out
    assert "vacuous" not in plain and "largest influence" not in plain
    told = report("fit", "species.csv", "-m", "kpls", "--scale", "standard")
    last = told["bound"][-1]
    assert last["empirical"] - last["complexity"] - last["confidence"] <= 0  # else it would be shown
    assert "on new rows" in mercer("fit", "species.csv", "-m", "kpls", "--scale", "standard", "-n", "bound").out
    two = [line for i, line in enumerate(pathlib.Path("species.csv").read_text().splitlines()) if i == 0 or i % 3]
    write("two.csv", "\n".join(two) + "\n")
    for data, words in (("species.csv", ["kpls"]), ("species.csv", ["kpca"]), ("species.csv", ["kica"]),
                        ("species.csv", ["koca"]), ("species.csv", ["smc"]), ("two.csv", ["kboost", "-k", "rbf:sigma=1"])):
        told = report("fit", data, "-m", *words, "--scale", "standard", "-n", 2)
        variance = told["projection_variance"]
        assert variance is None or variance <= told["total_variance"] * (1 + 1e-9), words
    searched = " ".join(mercer("fit", "species.csv", "-m", "koca", "-n", 2).out.split())
    assert "on the rows it searched; for new rows: mercer evaluate" in searched


@test
def test_independent_components_have_no_shares():
    """All have variance 1 after whitening: whatever the kernel is, they are no part of its variance."""
    table("x.csv", 9 * cloud(), "abcd")
    for kernel in ("rbf:sigma=20", "linear"):
        words = ["fit", "x.csv", "-m", "kica", "-k", kernel, "-o", "x.model"]
        for count in (2, 0.5):
            told = report(*words, "-n", count)
            assert told["spectrum"] == told["share"] == [] and told["projection_variance"] is None
            assert told["total_variance"] > 0
            info = report("info", "x.model")
            assert info["spectrum"] == info["share"] == []
            texts = mercer(*words, "-n", count).out, mercer("info", "x.model").out
            for text in texts:
                assert "eigenvalue" not in text and "share" not in text and "%" not in text, text
                assert "of the variance" not in text, text
        refused("plot", "x.model", "--kind", "spectrum", "-o", "x.svg", says=["has no spectrum", "kica"])
        refused("plot", "x.model", "-o", "x.svg", says=["nothing to draw of this model alone", "mercer plot MODEL DATA"])
        mercer(*words, "-n", 2, "--plot", "y.svg", "--report", "y.html")
        assert "feature 2" in pathlib.Path("y.svg").read_text()
        mercer("plot", "x.model", "x.csv", "-o", "x.svg")
        mercer("report", "x.model", "x.csv", "-o", "x.html")
        for path in ("x.svg", "x.html"):
            page = pathlib.Path(path).read_text()
            assert "of the variance" not in page and "variance kept" not in page, path


if __name__ == "__main__":
    sys.exit(run_tests())
