#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer fit: test_fit.py MERCER [WORD...] [-jN] [--quick]"""
import json
import os
import pathlib
import re
import shlex
import sys
import time

import numpy as np

from support import (STREAM, cloud, columns_of, mercer, numbers, refused, report, ring, run_tests, slow_test, species,
                     table, test, write)


FIT_KEYS = ["method", "kernel", "rows", "columns", "components", "selected", "spectrum", "share",
            "reconstruction_error", "projection_variance", "expansion_points", "head", "head_rows", "store",
            "store_reason", "seconds", "seconds_read", "seconds_write", "peak_memory_bytes",
            "notices"]


@test
def test_missing_method_is_explained():
    ring(20)
    refused("fit", "ring.csv", status=2, says=["-m", "kpca"])


@test
def test_next_lines_run():
    """Also where rows without a label, or the column of labels, were left out."""
    x = cloud(40, 2)
    write("gap.csv", "a,b,label\n" + "".join(f"{a:.3f},{b:.3f},{'uv'[i % 2] if i % 7 else ''}\n" for i, (a, b) in enumerate(x)))
    for words in (["-m", "kpls", "--head", "svm", "--unlabelled", "drop"], ["-m", "kpca", "--drop", "label"],
                  ["-m", "kpca", "--unlabelled", "drop"]):
        text = mercer("fit", "gap.csv", *words, "-o", "my.model").out
        lines = text[text.index("Next:"):].strip().splitlines()[1:]
        assert len(lines) >= 2 and ("predict" in lines[1]) == ("--head" in words), text
        for line in lines:
            mercer(*shlex.split(line)[1:])
        assert len(pathlib.Path("features.csv").read_text().splitlines()) == 41


@test
def test_coverage_of_groups():
    """What is held out is one row of a group: more rows of these groups would not help."""
    x = cloud(60, 2)
    write("g.csv", "a,b,y,who\n" + "".join(f"{a:.3f},{b:.3f},{a + b:.3f},p{i % 10}\n" for i, (a, b) in enumerate(x)))
    mercer("fit", "g.csv", "-m", "krr", "--target", "y", "--groups", "who", "--intervals", "on", "-o", "m", "--quiet")
    refused("predict", "m", "g.csv", "--coverage", 0.9, status=2, says=["2 rows were held out", "to more groups"])


@test
def test_constant_column():
    x = cloud()
    x[:, 1] = 7
    table("x.csv", x, "abcd")
    for kind in ["standard", "minmax", "norm"]:
        result = report("fit", "x.csv", "-m", "kpca", "-n", 3, "--scale", kind)
        assert result["components"] == 3 and np.isfinite(result["reconstruction_error"])
    table("same.csv", np.ones((10, 3)), "abc")
    refused("fit", "same.csv", "-m", "kpca", "-k", "rbf:sigma=1", status=1,
            says=["same.csv", "do not differ"])
    refused("fit", "same.csv", "-m", "kpca", "-k", "linear", "--center", "none", "--scale",
            "standard", status=1, says=["same.csv", "every row for zero"])


@test
def test_duplicate_rows():
    x = np.vstack([cloud(5, 3)] * 6)
    table("x.csv", x, "abc")
    result = report("fit", "x.csv", "-m", "kpca", "-n", 10, "-k", "rbf:sigma=1", "-o", "x.model")
    assert result["components"] == 4 and result["notices"], result
    _, f = numbers(mercer("transform", "x.model", "x.csv").out)
    assert np.array_equal(f[:5], f[5:10]) and np.isfinite(f).all()


@test
def test_more_components_than_rank():
    table("x.csv", cloud(50, 3), "abc")
    result = report("fit", "x.csv", "-m", "kpca", "-k", "linear", "-n", 10)
    assert result["components"] == 3 and any("10" in n and "3" in n for n in result["notices"])
    text = mercer("fit", "x.csv", "-m", "kpca", "-k", "linear", "-n", 10).out
    assert result["notices"][0].split()[0] in text
    assert mercer("fit", "x.csv", "-m", "kpca", "-k", "linear", "-n", 10, "--quiet").out == ""


@test
def test_unknown_method_kernel_and_key():
    refused("fit", "no.csv", "-m", "kcpa", status=2, says=["kcpa", "did you mean 'kpca'?"])
    refused("fit", "no.csv", "-m", "kpca", "-k", "gausz", status=2, says=["gausz", "rbf"])
    refused("fit", "no.csv", "-m", "kpca", "-k", "rbf:width=3", status=2, says=["width", "sigma"])
    refused("fit", "no.csv", "-m", "kpca:depth=3", status=2, says="depth")
    refused("methods", "nope", status=2, says=["nope", "kpca"])
    refused("kernels", "nope", status=2, says=["nope", "rbf"])
    refused("generate", "circel", status=2, says=["circel", "circle"])


@test
def test_value_out_of_range():
    ring(20)
    for spec in ["rbf:sigma=nan", "rbf:sigma=-1", "rbf:sigma=0", "rbf:sigma=", "rbf:sigma",
                 "rbf:sigma=abc", "rbf:sigma=inf", "poly:degree=0", "rbf:sigma=1,sigma=2",
                 "poly:degree=2.5"]:
        key = "degree" if "degree" in spec else "sigma"
        refused("fit", "ring.csv", "-m", "kpca", "-k", spec, status=2, says=key)
    refused("generate", "circle", "--rows", 10**17, status=2, says=["--rows", "2^53"])
    # A width out of range that the rows gave is the fault of the data.
    write("huge.csv", "a,b\n1,1e200\n2,-1e200\n3,0\n")
    refused("fit", "huge.csv", "-m", "kpca", status=1, says=["huge.csv", "median", "scale"])


@test
def test_fit_advises_to_scale_columns():
    x = cloud(40, 5)
    x[:, 2] *= 1000
    spreads = np.ptp(x, axis=0)
    said = f"has {spreads[2] / np.median(spreads):.4g} times the spread of the median column"
    fit = ["fit", "x.csv", "-m", "pca", "-n", 2]
    table("x.csv", x)
    assert report(*fit)["notices"][0].startswith("column 3 " + said)
    table("x.csv", x, "abcde")
    assert report(*fit)["notices"][0].startswith("column 'c' " + said)
    assert report(*fit, "--scale", "standard")["notices"] == []
    table("x.csv", cloud(40, 5) - 1000)
    assert report(*fit)["notices"] == []


@test
def test_fit_report_keys():
    ring(300)
    result = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 6, "-o", "r.model")
    missing = [key for key in FIT_KEYS if key not in result]
    assert not missing, f"missing: {missing}"
    assert (result["rows"], result["columns"], result["components"]) == (300, 2, 6)
    assert result["method"].split(":")[0] == "kpca" and result["kernel"] == "rbf:sigma=4"
    assert result["selected"] == [] and result["head_rows"] == 0
    assert len(result["spectrum"]) == 6 == len(result["share"])
    assert result["spectrum"] == sorted(result["spectrum"], reverse=True)
    assert 0 < sum(result["share"]) < 1
    assert result["store"] in ("dense", "stream", "lowrank") and result["store_reason"]
    assert result["expansion_points"] == 300 and result["peak_memory_bytes"] > 1e6
    assert result["seconds"] > 0 and result["seconds_read"] > 0 and result["seconds_write"] > 0


@test
def test_fit_measures_agree():
    """share, error, projection variance and the features themselves tell one story."""
    ring(300)
    result = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 6, "-o", "r.model")
    names, f = numbers(mercer("transform", "r.model", "ring.csv", "--errors").out)
    assert names[-1] == "error"
    total = result["total_variance"]
    assert np.allclose((f[:, :-1] ** 2).sum(0), result["spectrum"], rtol=1e-8)
    assert np.isclose((f[:, :-1] ** 2).sum(1).mean(), result["projection_variance"], rtol=1e-8)
    assert np.isclose(f[:, -1].mean(), result["reconstruction_error"], rtol=1e-6)
    assert np.isclose(sum(result["share"]), result["projection_variance"] / total, rtol=1e-8)
    assert np.isclose(total, result["projection_variance"] + result["reconstruction_error"])


@test
def test_fit_against_numpy():
    x = cloud(80, 3)
    table("x.csv", x, "abc")
    mercer("fit", "x.csv", "-m", "kpca", "-k", "rbf:sigma=2", "-n", 4, "-o", "x.model", "--quiet")
    _, f = numbers(mercer("transform", "x.model", "x.csv").out)
    k = np.exp(-((x[:, None] - x[None]) ** 2).sum(2) / 8)
    h = np.eye(80) - 1 / 80
    values, vectors = np.linalg.eigh(h @ k @ h)
    expected = vectors[:, ::-1][:, :4] * np.sqrt(values[::-1][:4])
    assert np.allclose(np.abs(f), np.abs(expected), atol=1e-9)


@test
def test_fit_summary():
    x = cloud(30, 2)
    table("x.csv", x, "ab", label=["red", "blue", "green"] * 10)
    text = mercer("fit", "x.csv", "-m", "kpca", "-k", "rbf:sigma=2", "-n", 3, "-o", "x.model").out
    for word in ["kpca", "rbf:sigma=2", "30 rows x 2 columns", "label", "3 classes", "does not use",
                 "f1", "f3", "share", "reconstruction error", "projection variance", "read", "write",
                 "peak memory", "mercer transform x.model x.csv"]:
        assert word in re.sub(r"\s+", " ", text), f"{word!r} is not in the summary:\n{text}"
    narrow = mercer("fit", "x.csv", "-m", "kpca", "-n", 3, env={"COLUMNS": "60"}).out
    assert max(map(columns_of, narrow.splitlines()[:-2])) <= 60, narrow
    assert "-o" in narrow.splitlines()[-1]  # says how to keep the model
    assert mercer("fit", "x.csv", "-m", "kpca", "--quiet").out == ""


@test
def test_fit_share_of_variance():
    ring(300)
    words = ["fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", "0.95"]
    result = report(*words)
    assert "capture 0.95" in mercer(*words).out
    assert sum(result["share"]) >= 0.95 > sum(result["share"][:-1]), result["share"]


@test
def test_fit_stores_agree():
    ring(300)
    features = {}
    for store in ["dense", "stream", "lowrank"]:
        result = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 5, "--store",
                        store, "-o", "r.model")
        assert result["store"] == store, result["store"]
        features[store] = np.abs(numbers(mercer("transform", "r.model", "ring.csv").out)[1])
    assert np.allclose(features["dense"], features["stream"], atol=1e-6)
    assert np.allclose(features["dense"], features["lowrank"], atol=1e-6)


@test
def test_fit_single_precision_and_centring():
    ring(200)
    exact = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 3)
    single = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 3, "--precision",
                    "single", "--store", "dense")
    plain = report("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 3, "--center", "none")
    assert np.allclose(exact["spectrum"], single["spectrum"], rtol=1e-3)
    assert plain["total_variance"] == 1 and exact["total_variance"] < 1


@test
def test_pca_is_the_collapsed_form():
    table("x.csv", cloud(), "abcd")
    result = report("fit", "x.csv", "-m", "pca", "-n", 2, "-o", "x.model")
    assert result["expansion_points"] == 0 and result["components"] == 2
    refused("fit", "x.csv", "-m", "pca", "-k", "rbf:sigma=1", says="linear")


@test
def test_kernel_combinations():
    x = np.abs(cloud(60, 3))
    table("x.csv", x)
    words = ["-m", "kpca", "-n", 3, "--quiet"]
    spec = "0.5 * chi2 + rbf:sigma=2 * laplacian:gamma=0.25"
    mercer("fit", "x.csv", *words, "-k", spec, "-o", "sum.model")
    report = json.loads(mercer("info", "sum.model", "--json").out)
    assert report["kernel"] == "0.5*chi2:gamma=1 + rbf:sigma=2*laplacian:gamma=0.25"
    differences = x[:, None] - x[None]
    k = 0.5 * np.exp(-(differences ** 2 / (x[:, None] + x[None])).sum(2)) + np.exp(
        -(differences ** 2).sum(2) / 8 - np.abs(differences).sum(2) / 4)
    np.save("k.npy", k)
    mercer("fit", "k.npy", *words, "-k", "precomputed", "-o", "k.model")
    _, direct = numbers(mercer("transform", "sum.model", "x.csv").out)
    _, given = numbers(mercer("transform", "k.model", "k.npy").out)
    assert np.allclose(direct, given, atol=1e-9)
    (pathlib.Path("f.csv")).write_text(mercer("transform", "sum.model", "x.csv").out)
    refused("inverse", "sum.model", "f.csv", says="pre-images: not for kernel 'combined'")
    refused("fit", "x.csv", *words, "-k", "rbf + -1*linear", status=2, says="negative weight")
    refused("fit", "x.csv", *words, "-k", "rbf +", status=2, says="nothing where a kernel")
    refused("fit", "x.csv", *words, "-k", "matern:nu=2", status=2, says="0.5, 1.5, 2.5, inf")
    x[4, 1] = -0.5
    table("bad.csv", x)
    for kernel in ("chi2", "intersection", spec):
        refused("fit", "bad.csv", *words, "-k", kernel, says="row 5 column 2 is -0.5")
    refused("transform", "sum.model", "bad.csv", says="row 5 column 2 is -0.5")
    many = np.tile(np.abs(x), (700, 1))  # more rows than a block holds
    many[-1, 2] = -2
    np.save("many.npy", many)
    refused("transform", "sum.model", "many.npy", says=["column 3 is -2", "after the first"])


@slow_test
def test_floats_and_bytes():
    """Small types give the features, errors and hash of doubles, in a smaller model."""
    x = np.clip(np.round(100 + 30 * cloud(300, 12)), 0, 255)
    for scale in ["none", "standard"]:
        reports, sizes = [], []
        for kind in ["f8", "f4", "u1"]:
            np.save(f"{kind}.npy", x.astype(kind))
            mercer("fit", f"{kind}.npy", "-m", "kpca", "-n", 3, "--scale", scale, "-o", "x.model",
                   "--quiet")
            info = json.loads(mercer("info", "x.model", "--json").out)
            reports.append((mercer("transform", "x.model", f"{kind}.npy", "--errors").out,
                            info["data_hash"]))
            sizes.append(os.path.getsize("x.model"))
        assert reports[0] == reports[1] == reports[2]
        saved = 0 if scale == "standard" else x.size
        assert [sizes[0] - size for size in sizes] == [0, 4 * saved, 7 * saved], sizes


@test
def test_precomputed_kernel():
    x = cloud(40, 3)
    k = np.exp(-((x[:, None] - x[None]) ** 2).sum(2) / 8)
    np.save("k.npy", k)
    table("x.csv", x)
    words = ["-m", "kpca", "-n", 3, "--quiet"]
    mercer("fit", "k.npy", *words, "-k", "precomputed", "-o", "k.model")
    mercer("fit", "x.csv", *words, "-k", "rbf:sigma=2", "-o", "x.model")
    _, direct = numbers(mercer("transform", "x.model", "x.csv", "--errors").out)
    table("self.csv", np.ones((40, 1)))
    _, given = numbers(mercer("transform", "k.model", "k.npy", "--errors", "--self", "self.csv").out)
    assert np.allclose(direct, given, atol=1e-9)
    many = np.tile(k, (700, 1))  # more rows than a block holds
    shift = np.arange(28000.0)
    np.save("many.npy", many)
    np.save("shift.npy", 1 + shift[:, None])
    _, given = numbers(mercer("transform", "k.model", "many.npy", "--errors", "--self",
                              "shift.npy").out)
    assert np.allclose(given[:, -1] - shift, np.tile(direct[:, -1], 700), atol=1e-8)
    refused("transform", "k.model", "k.npy", "--errors", status=2, says="--self")
    table("few.csv", np.ones((39, 1)))
    refused("transform", "k.model", "k.npy", "--errors", "--self", "few.csv", says="few.csv")
    table("many.csv", np.ones((41, 1)))
    refused("transform", "k.model", "k.npy", "--errors", "--self", "many.csv", says="many.csv")
    refused("transform", "k.model", "k.npy", "--self", "self.csv", status=2, says="--errors")
    table("wide.csv", np.ones((40, 2)))
    refused("transform", "k.model", "k.npy", "--errors", "--self", "wide.csv", status=1,
            says="mercer: wide.csv: has 2 columns")
    np.save("oblong.npy", k[:, :30])
    refused("fit", "oblong.npy", *words, "-k", "precomputed", says=["oblong.npy", "40", "30"])


@test
def test_budget_is_refused_before_the_work():
    np.save("x.npy", cloud(4000, 10))
    start = time.monotonic()
    refused("fit", "x.npy", "-m", "kpca", "--store", "dense", "--memory", "8M", status=1,
            says=["dense", "stream"])
    assert time.monotonic() - start < 5


@test
def test_lowrank_that_cannot_be():
    np.save("x.npy", cloud(600, 30))
    refused("fit", "x.npy", "-m", "kpca", "-k", "rbf:sigma=0.5", "--store", "lowrank", "--memory",
            "4M", status=1, says=["lowrank", "rank", "stream"])
    np.save("wide.npy", np.random.default_rng(2).normal(size=(3, 5)))
    done = refused("fit", "wide.npy", "-m", "pca", "--store", "lowrank", status=2,
                   says=["lowrank", "5 are more than the 3 rows"])
    assert "budget" not in done.err


@test
def test_same_seed_same_bytes():
    for name in ["circle", "swiss-cross", "swiss-roll", "parabola", "sparse-linear"]:
        one = mercer("generate", name, "--seed", 5, "--rows", 20).out
        assert one == mercer("generate", name, "--seed", 5, "--rows", 20).out
        assert one != mercer("generate", name, "--seed", 6, "--rows", 20).out
        assert one.count("\n") == 21
    ring(400)
    fits = [report("fit", "ring.csv", "-m", "kpca", "--seed", 9)["kernel"] for _ in range(2)]
    assert fits[0] == fits[1] and re.fullmatch(r"rbf:sigma=\d.*", fits[0]), fits


@test
def test_thread_count_changes_no_bit():
    np.save("x.npy", cloud(900, 12))
    for store in ["dense", "stream"]:
        texts = []
        for threads in (1, 2):
            mercer("fit", "x.npy", "-m", "kpca", "-n", 8, "--store", store, "--threads", threads,
                   "-o", "x.model", "--quiet")
            texts.append(mercer("transform", "x.model", "x.npy", "--errors", "--threads",
                                threads).out)
        assert texts[0] == texts[1], f"{store} differs"
    ring(2000)
    texts = []
    for threads in (1, 2):
        mercer("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "--store", "lowrank",
               "--threads", threads, "-o", "r.model", "--quiet")
        texts.append(mercer("transform", "r.model", "ring.csv", "--threads", threads).out)
    assert texts[0] == texts[1], "lowrank differs"


@test
def test_reports_say_how_full_sparse_rows_are():
    write("x.svm", "".join(f"0 {i % 7 + 1}:1 {i % 13 + 8}:2\n" for i in range(50)))
    fit = ["fit", "x.svm", "-m", "kpca", "-n", 2, "-k"]
    fitted = report(*fit, "rbf:sigma=1", "-o", "x.model")
    assert (fitted["entries"], fitted["density"]) == (100, 0.1)
    kept = report("info", "x.model")
    assert (kept["entries"], kept["density"]) == (100, 0.1)
    said = ", sparse: 100 entries (10 %)"
    assert "50 rows x 20 columns" + said in mercer(*fit, "rbf").out
    assert "50" + said in mercer("info", "x.model").out
    # A linear map keeps no points, dense rows have no zeroes to leave out.
    assert report(*fit, "linear", "-o", "x.model")["entries"] == 100
    table("d.csv", cloud())
    dense = report("fit", "d.csv", "-m", "kpca", "-o", "d.model")
    for other in (report("info", "x.model"), dense, report("info", "d.model")):
        assert other["entries"] is None and other["density"] is None
    assert "sparse" not in mercer("info", "d.model").out


@test
def test_novelty_marks_outliers():
    ring(500)
    fit = ["fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", 8]
    fitted = report(*fit, "--novelty", 0.05, "-o", "ring.model")
    plain = report(*fit, "-o", "plain.model")
    assert plain["novelty_threshold"] is None and plain["novelty_share"] is None
    assert fitted["novelty_threshold"] > 0 and fitted["novelty_share"] == 0.05
    assert fitted["spectrum"] == plain["spectrum"]
    shown = report("info", "ring.model")
    assert shown["novelty_threshold"] == fitted["novelty_threshold"]
    assert "novelty threshold" in mercer("info", "ring.model").out
    assert "novelty" not in mercer("info", "plain.model").out

    ring(2000, seed=9, name="new.csv")
    names, rows = numbers(mercer("transform", "ring.model", "new.csv", "--errors").out)
    assert names[-3:] == ["error", "novel", "p"]
    assert ((rows[:, -3] > fitted["novelty_threshold"]) == rows[:, -2]).all()
    assert ((rows[:, -1] <= 0.05) == rows[:, -2]).all() and rows[:, -1].min() > 0 and rows[:, -1].max() <= 1
    assert 0.01 < rows[:, -2].mean() < 0.1, rows[:, -2].mean()
    write("far.csv", "x,y\n0,0\n30,0\n0,-40\n")
    assert numbers(mercer("transform", "ring.model", "far.csv", "--errors").out)[1][:, -2].min() == 1
    assert report("transform", "ring.model", "far.csv", "--errors", "-o", "f.csv")["novel"] == 3
    assert "3 novel" in mercer("transform", "ring.model", "far.csv", "--errors", "-o", "f.csv").out

    assert "novel" not in mercer("transform", "ring.model", "far.csv").out
    assert "novel" not in mercer("transform", "plain.model", "far.csv", "--errors").out
    done = mercer("truncate", "ring.model", "-n", 4)
    assert "novelty threshold" in done.err and report("info", "ring.model")["novelty_share"] is None


@test
def test_novelty_refusals():
    ring(60)
    for wrong in ("0", "1", "-0.1", "5%", "nan"):
        refused("fit", "ring.csv", "-m", "kpca", "--novelty", wrong, status=2, says=wrong)
    refused("fit", "ring.csv", "-m", "kpca", "--novelty", 0.05, status=1,
            says=("ring.csv", "at least 95 rows", "there are 60"))


@slow_test
def test_every_method_with_every_centring():
    x = cloud(40, 3)
    table("x.csv", x, "abc", label=["uv"[i % 2] for i in range(40)])
    for method in ("kpca", "kpca:groups=2", "akfa", "ackfa:delta=0.01", "skfa", "rkpca", "greedy",
                   "nystroem", "kica", "kpls", "sma", "smc", "sma:sparsity=3", "smc:sparsity=2,labels=raw",
                   "skpls", "cr:alpha=0.3", "blf", "blf:loss=lad,nu=0.3", "kboost", "koca"):
        for center in ("none", "exact", "span"):
            words = ["fit", "x.csv", "-m", method, "-k", "rbf:sigma=2", "-n", 3, "--center", center]
            if method[:3] in ("sma", "smc", "skp", "blf", "kbo", "koc") and center == "span":
                refused(*words, status=2, says="center is none or exact")
                continue
            told = report(*words, "-o", "m")
            assert told["components"] == 3
            features = numbers(mercer("transform", "m", "x.csv").out)[1]
            assert np.isfinite(features).all()
            mercer("truncate", "m", "-n", 2, "-o", "two", "--quiet")
            assert np.allclose(numbers(mercer("transform", "two", "x.csv").out)[1], features[:, :2],
                               rtol=1e-9, atol=1e-12)
            info = json.loads(mercer("info", "two", "--json").out)
            if center == "none" and told["selected"]:
                assert len(info["selected"]) == info["expansion_points"]
                assert info["selected"] == told["selected"][:info["expansion_points"]]


@test
def test_features_no_more_than_the_labels_have_dimensions():
    table("x.csv", cloud(40, 3), "abc", label=["uvw"[i % 3] for i in range(40)])
    for method in ("rkopls:subset=12", "cr:alpha=0"):
        words = ["fit", "x.csv", "-m", method, "-k", "rbf:sigma=2", "-o", "m"]
        told = report(*words)
        assert told["components"] == 2
        assert any("no more than the labels have" in notice for notice in told["notices"])
        assert len(numbers(mercer("transform", "m", "x.csv").out)[1][0]) == 2
        mercer("predict", "m", "x.csv", "-o", "p.csv")
    assert report(*words[:3], "rkopls:subset=12", "-o", "m")["expansion_points"] == 12
    for wrong in ("skpls:nu=0", "skpls:nu=1.1", "skpls:heuristic=max", "skpls:cache=0", "rkopls:subset=0",
                  "cr:alpha=-0.1", "cr:alpha=1.01", "cr:alpha=nan"):
        refused("fit", "x.csv", "-m", wrong, status=2, says=wrong.split(":")[0])


@test
def test_rows_that_directions_are_made_of():
    table("x.csv", cloud(40, 3), "abc", label=["uv"[i % 3 == 0] for i in range(40)])
    words = ["fit", "x.csv", "-k", "rbf:sigma=2", "-n", 3, "-m"]
    found = {p: report(*words, f"smc:sparsity={p}") for p in (1, 2, 3)}
    used = [len(found[p]["selected"]) for p in (1, 2, 3)]
    assert used[0] == 3 < used[1] <= 6 and used[1] < used[2] <= 9  # a row may serve twice
    assert found[1]["covariance"][0] < found[2]["covariance"][0] < found[3]["covariance"][0]
    assert found[1]["selected"] == report(*words, "smc")["selected"]
    assert report(*words, "smc:labels=raw")["alignment"] != found[1]["alignment"]
    refused(*words, "sma:sparsity=4", status=2, says="sparsity=4 is out of range (1 .. 3)")
    refused(*words, "sma:labels=both", status=2, says=("labels", "both"))
    told = report(*words, "sma:candidates=60")
    assert any("leave candidates out" in notice for notice in told["notices"])
    assert not report(*words, "sma:candidates=10")["notices"]


@slow_test
def test_all_rows_as_candidates_are_all_rows():
    ring(60)
    for method in ("akfa", "skfa", "skfa:criterion=variance", "ackfa:delta=0.2,relative=off"):
        for center in ("none", "exact"):
            for store in ("dense", "stream", "lowrank"):
                words = ["fit", "ring.csv", "-k", "rbf:sigma=3", "-n", 6, "--center", center,
                         "--store", store]
                comma = "," if ":" in method else ":"
                assert (report(*words, "-m", method)["selected"] ==
                        report(*words, "-m", f"{method}{comma}candidates=60")["selected"])


@test
def test_span_that_leaves_nothing():
    np.savetxt("k.csv", 1 + np.outer(range(4), range(4)), delimiter=",")
    words = ["fit", "k.csv", "-m", "akfa", "-k", "precomputed", "-n", 1, "--center"]
    refused(*words, "span", status=1, says="--center exact")
    assert "nan" not in mercer(*words, "exact").out
    write("zero.csv", "0,1,2\n1,0,1\n2,1,0\n")
    refused("fit", "zero.csv", "-m", "akfa", "-k", "precomputed", "--center", "none", status=1,
            says="no k(x,x)")


@test
def test_landmarks():
    x = cloud(80, 3)
    table("x.csv", x, "abc", label=["uv"[i % 2] for i in range(80)])
    words = ["fit", "x.csv", "-k", "rbf:sigma=2", "-n", 3, "--scale", "standard"]
    chosen = report(*words, "-m", "rkpca:points=9", "-o", "chosen.model")
    assert len(chosen["selected"]) == chosen["expansion_points"] == len(chosen["selection"]) == 9
    points = x[chosen["selected"]]
    table("z.csv", points[:, [2, 0, 1]], "cab", label=["w"] * 9)  # matched by name, labels skipped
    expected = numbers(mercer("transform", "chosen.model", "x.csv").out)[1]
    for method in ("rkpca", "greedy", "nystroem"):
        given = report(*words, "-m", method, "--landmarks", "z.csv", "-o", "given.model")
        assert given["expansion_points"] == 9 and given["selected"] == []
        features = numbers(mercer("transform", "given.model", "x.csv").out)[1]
        assert np.allclose(features, expected, atol=1e-9)
    k = np.exp(-((x[:, None] - x[None]) ** 2).sum(2) / 8)
    np.save("k.npy", k)
    table("rows.csv", np.array(chosen["selected"])[:, None])
    words = ["fit", "k.npy", "-k", "precomputed", "-m", "nystroem", "-n", 3, "--landmarks", "rows.csv"]
    assert sorted(report(*words)["selected"]) == sorted(chosen["selected"])


@test
def test_landmarks_refusals():
    ring(60)
    words = ["fit", "ring.csv", "-n", 2, "--landmarks"]
    missing = [*words, "missing.csv", "-m"]  # nothing is read before the call is right
    refused(*missing, "kpca", status=2, says=("method kpca", "rkpca"))
    refused(*missing, "rkpca:points=5", status=2, says="points cannot be set with landmarks")
    refused(*missing, "rkpca", "--center", "exact", status=2, says="span gives the same features")
    refused(*missing, "rkpca", status=1, says="missing.csv")
    write("z.csv", "a,b\n1,2\n")
    done = refused(*words, "z.csv", "-m", "rkpca", status=1, says=("z.csv", "'x'"))
    assert "ring.csv" not in done.err
    write("z.csv", "1,2,3\n")
    refused(*words, "z.csv", "-m", "rkpca", status=1, says="landmarks: 3 columns where 2")
    np.save("k.npy", np.eye(5))
    for text, says in (("1\n1\n", "row 1 is given twice"), ("5\n", "5 is not the number of a row"),
                       ("1,2\n", "2 columns where one")):
        write("rows.csv", text)
        refused("fit", "k.npy", "-k", "precomputed", "-m", "nystroem", "--landmarks", "rows.csv",
                status=1, says=says)


@test
def test_koca():
    x = cloud(90, 5) * [1, 1, 9, 9, 9]
    kinds = np.arange(90) % 3
    x[:, 0] += 6 * kinds
    table("x.csv", x, "abcde", label=["xyz"[k] for k in kinds])
    words = ["fit", "x.csv", "-m", "koca", "-n", 2]
    told = report(*words, "-k", "linear", "-o", "one.model", "--threads", 1)
    report(*words, "-k", "linear", "-o", "two.model", "--threads", 2)
    one, two = (pathlib.Path(name).read_bytes() for name in ("one.model", "two.model"))
    assert one.replace(b"one.model --threads 1", b"two.model --threads 2")[1000:] == two[1000:]
    trace = told["trace"]
    assert [step["iteration"] for step in trace] == list(range(len(trace)))
    assert trace[0]["distance"] < 1e-7 and trace[0]["rate"] < 0.8 and trace[-1]["rate"] > 0.95
    assert all(a["seconds"] <= b["seconds"] for a, b in zip(trace, trace[1:]))
    assert any("optimal component analysis" in text for text in told["notices"])
    kept = json.loads(mercer("info", "one.model", "--json").out)["trace"]
    assert [dict(step, seconds=0) for step in kept] == [dict(step, seconds=0) for step in trace]
    assert "seconds" not in kept[0]
    assert "steps: performance" in mercer("info", "one.model").out
    features = numbers(mercer("transform", "one.model", "x.csv").out)[1]
    apart = ((features[:, None] - features[None]) ** 2).sum(2) + np.diag(np.full(90, np.inf))
    assert (kinds[apart.argmin(1)] == kinds).mean() > 0.95
    assert told["head"] == "knn:k=1"  # what the search looks at
    assert mercer("predict", "one.model", "x.csv").out.splitlines()[1:4] == ["x,1,0,0", "y,0,1,0", "z,0,0,1"]
    refused(*words[:-1], 9, "-k", "linear", status=1, says=("9 components", "5 dimensions"))
    refused("fit", "x.csv", "-m", "koca", "--no-label", status=1, says="--label")


@test
def test_koca_on_few_points():
    x = cloud(150, 4) * [1, 3, 3, 3]
    kinds = np.arange(150) % 3
    x[:, 0] += 7 * kinds
    table("x.csv", x[:90], "abcd", label=["xyz"[k] for k in kinds[:90]])
    table("v.csv", x[90:], "abcd", label=["xyz"[k] for k in kinds[90:]])
    words = ["fit", "x.csv", "-k", "rbf:sigma=6", "-n", 2, "-o", "m"]
    whole = report(*words, "-m", "koca:energy=1")
    every = report(*words, "-m", "koca:energy=1,points=90")  # all rows span what all rows span
    assert abs(whole["trace"][0]["performance"] - every["trace"][0]["performance"]) < 1e-7
    for more in ([], ["--validation", "v.csv"]):
        told = report(*words, "-m", "koca:points=25", *more)
        assert told["expansion_points"] == len(told["selected"]) == 25
        assert told["trace"][-1]["rate"] > 0.95
        features = numbers(mercer("transform", "m", "x.csv").out)[1]
        if more:
            new = numbers(mercer("transform", "m", "v.csv").out)[1]
            away = ((new[:, None] - features[None]) ** 2).sum(2)
            rate = (kinds[:90][away.argmin(1)] == kinds[90:]).mean()
            assert abs(rate - told["trace"][-1]["rate"]) < 1e-9  # classes are of equal size
        table("z.csv", x[told["selected"]], "abcd", label=["w"] * 25)
        given = report(*words, "-m", "koca", "--landmarks", "z.csv", *more)
        assert given["expansion_points"] == 25 and given["selected"] == []
        assert np.allclose([step["performance"] for step in given["trace"]][:5],
                           [step["performance"] for step in told["trace"]][:5], atol=1e-6)
    k = np.exp(-((x[:90, None] - x[None, :90]) ** 2).sum(2) / 72)
    np.save("k.npy", k)
    write("labels.txt", "\n".join("xyz"[c] for c in kinds[:90]) + "\n")
    table("rows.csv", np.array(told["selected"])[:, None])
    words = ["fit", "k.npy", "-k", "precomputed", "-n", 2, "--labels", "labels.txt", "-m", "koca",
             "--landmarks", "rows.csv"]
    assert sorted(report(*words)["selected"]) == sorted(told["selected"])
    words = ["fit", "x.csv", "-n", 2, "-m", "koca:points=20"]
    refused(*words, "--landmarks", "z.csv", status=2, says="points cannot be set with landmarks")
    refused(*words, "--center", "exact", status=2, says="center none")


@test
def test_koca_validation():
    x = cloud(120, 4) * [1, 5, 5, 5]
    kinds = np.arange(120) % 2
    x[:, 0] += 8 * kinds
    names = ["one", "two"]
    table("x.csv", x[:60], "abcd", label=[names[k] for k in kinds[:60]])
    # Columns are matched by name, classes too: the first one here is the second one there.
    table("v.csv", x[61:, [3, 0, 1, 2]], "dabc", label=[names[k] for k in kinds[61:]])
    words = ["fit", "x.csv", "-m", "koca", "-k", "linear", "-n", 1, "--scale", "standard"]
    told = report(*words, "--validation", "v.csv", "-o", "m")
    a, b = (numbers(mercer("transform", "m", name).out)[1] for name in ("x.csv", "v.csv"))
    near = kinds[:60][np.abs(b - a.T).argmin(1)]
    assert told["trace"][-1]["rate"] > 0.95
    rates = [(near == k)[kinds[61:] == k].mean() for k in (0, 1)]
    assert abs(np.mean(rates) - told["trace"][-1]["rate"]) < 1e-9  # averaged over classes
    assert report(*words)["trace"] != told["trace"]
    words[3] = "koca:validation=rows"
    report(*words, "--validation", "v.csv")
    refused(*words, status=2, says="(--validation)")
    words[3] = "koca:validation=loo"
    refused(*words, "--validation", "v.csv", status=2, says="validation=loo cannot be set with")
    words[3] = "kpca"
    refused(*words, "--validation", "missing.csv", status=2, says=("method kpca", "koca"))
    words[3] = "koca"
    refused(*words, "--validation", "missing.csv", status=1, says="missing.csv")
    table("w.csv", x[:4], "abcd", label=["one", "two", "three", "one"])
    refused(*words, "--validation", "w.csv", status=1, says=("row 3", "'three'"))
    table("w.csv", x[:4], "abcd")
    refused(*words, "--validation", "w.csv", status=1, says="every row needs a class")
    np.save("k.npy", np.eye(5))
    refused("fit", "k.npy", "-m", "koca", "-k", "precomputed", "--validation", "w.csv", status=2,
            says="precomputed")


@slow_test
def test_fit_of_a_stream_reads_by_blocks():
    """The same model from a pipe and a file; memory does not grow with the table."""
    ring(rows=3000, name="x.csv")
    words = ["-m", STREAM, "-k", "rbf:sigma=4", "-o"]
    done = report("fit", "x.csv", *words, "a.model")
    assert done["store"] == "stream" and done["rows"] == 3000 and done["solver"] == "incremental"
    text = pathlib.Path("x.csv").read_bytes()
    mercer("fit", "-", *words, "b.model", "--quiet", stdin=text)
    rows = mercer("transform", "a.model", "x.csv").out
    assert mercer("transform", "b.model", "x.csv").out == rows
    # Heads see all rows; the features are the same.
    labels = ["u" if i % 2 else "v" for i in range(3000)]
    table("l.csv", numbers(text.decode())[1], names=["x", "y"], label=labels)
    mercer("fit", "l.csv", *words, "c.model", "--head", "centre", "--quiet")
    assert mercer("transform", "c.model", "x.csv").out == rows
    assert "labels" in mercer("fit", "l.csv", "-m", STREAM).out
    done = mercer("update", "c.model", "x.csv")
    assert "head" in done.err and report("info", "c.model")["head"] is None
    # Preparation is learnt from the first rows, and goes on.
    lines = text.decode().splitlines()
    lines[2000] = "NA," + lines[2000].split(",")[1]
    write("holes.csv", "\n".join(lines) + "\n")
    mercer("fit", "holes.csv", *words, "d.model", "--missing", "mean", "--quiet")
    mercer("update", "d.model", "holes.csv", "--quiet")
    assert report("info", "d.model")["rows"] == 6000


@test
def test_names_in_any_case_and_other_names():
    ring()
    words = ["-n", 3, "--quiet"]
    mercer("fit", "ring.csv", "-m", "kpca", "-k", "rbf:sigma=4", *words, "-o", "a.model")
    wanted = mercer("transform", "a.model", "ring.csv").out
    for method, kernel in (("KPCA", "RBF:sigma=4"), ("kernel-pca", "gaussian:sigma=4"), ("KernelPCA", "Gauss:sigma=4")):
        mercer("fit", "ring.csv", "-m", method, "-k", kernel, *words, "-o", "b.model")
        about = report("info", "b.model")
        assert about["method"] == "kpca" and about["kernel"] == "rbf:sigma=4", about
        assert mercer("transform", "b.model", "ring.csv").out == wanted
    mercer("fit", "ring.csv", "-m", "Nystrom", "-k", "polynomial", *words, "-o", "b.model")
    assert report("info", "b.model")["method"] == "nystroem" and report("info", "b.model")["kernel"].startswith("poly")
    species()
    mercer("fit", "species.csv", "-m", "kpca", "--head", "Center", *words, "-o", "b.model")
    assert report("info", "b.model")["head"] == "centre"
    assert mercer("methods", "KPCA").out == mercer("methods", "kpca").out
    refused("fit", "ring.csv", "-m", "umap", status=2, says="no neighbour embeddings")
    assert "did you mean" not in refused("fit", "ring.csv", "-m", "umap", status=2).err
    assert "did you mean 'kpca'" in refused("fit", "ring.csv", "-m", "kpcaa", status=2).err
    # A share in percent, a letter for --quiet, and the version as other programs tell it.
    assert report("fit", "ring.csv", "-m", "kpca", "-n", "95%")["components"] == \
        report("fit", "ring.csv", "-m", "kpca", "-n", 0.95)["components"]
    refused("fit", "ring.csv", "-m", "kpca", "-n", "%", status=2, says="-n")
    assert mercer("fit", "ring.csv", "-m", "kpca", "-q").out == ""
    assert mercer("-V").out == mercer("version").out == mercer("--version").out


@test
def test_one_column_of_a_map_is_singular():
    x = cloud(40, 2)
    table("one.csv", np.c_[x[:, :1], np.sin(2 * x[:, 0])], names=["a", "y"])
    told = mercer("fit", "one.csv", "-m", "krr", "--target", "y", "--map", "agop:choose=none", "-o", "one.model")
    for text in (told.out + told.err, mercer("info", "one.model").out):
        assert "1 column for the" in " ".join(text.split()), text


@test
def test_files_of_other_programs_are_told():
    for name, says in (("t.xlsx", "Excel is not read; save it as CSV"), ("t.DB", "sqlite3 -csv -header"),
                       ("t.parquet", "to_csv"), ("t.pkl", "to_csv"), ("t.jsonl", "JSON is not read")):
        write(name, "x")
        refused("fit", name, "-m", "kpca", status=2, says=[name, says])
    write("c.csv", "Wine class,x\nred,1\nwhite,2\n")
    refused("fit", "c.csv", "-m", "kpca", status=1, says="add --label 'Wine class'")


@test
def test_time_that_is_allowed():
    ring()
    done = refused("fit", "ring.csv", "-m", "kpca", "-o", "x.model", "--time", "0.000001s", status=1,
                   says=["longer than --time", "kpca of ", " rows: "])
    assert not os.path.exists("x.model") and " to " in done.err
    assert report("fit", "ring.csv", "-m", "kpca", "--time", "2h")["forecast_seconds"] is None  # too short to ask
    for wrong in ("10x", "m", "-5m", "0", "1e999h"):
        refused("fit", "ring.csv", "-m", "kpca", "--time=" + wrong, status=2, says=["--time", "10m"])
    # A refusal of the fit itself stays what it is.
    refused("fit", "ring.csv", "-m", "kpca:groups=0", "--time", "1s", status=2, says="groups")


if __name__ == "__main__":
    sys.exit(run_tests())
