#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tuning, and folds of groups and in time: test_tune.py MERCER [WORD...] [-jN] [--quick]"""
import json
import os
import pathlib
import pty
import re
import shlex
import subprocess
import sys

import numpy as np

from support import MERCER, csv_rows, mercer, refused, report, run_tests, slow_test, species, table, test, write


def simplest(told):
    """What --tune-rule 1se takes, from the values of the folds alone."""
    grid = told["grid"]
    sign = -1 if told["larger_is_better"] else 1
    cells = []
    for at, cell in enumerate(grid["cells"]):
        values = [value for value in cell["values"] if value is not None]
        if len(values) == 0:
            continue
        mean = sum(values) / len(values)
        sd = np.std(values, ddof=1) if len(values) > 1 else 0
        cells.append({"at": at, "mean": sign * mean, "se": sd / len(values) ** 0.5,
                      "components": cell.get("components", 0), "width": cell.get("kernel.sigma"),
                      "narrow": cell.get("kernel.gamma"), "kernel": cell.get("kernel"),
                      "ridge": cell.get("method.ridge", 0), "c": cell.get("head.c", 0)})

    def first_best(some):
        best = some[0]
        for cell in some:
            if cell["mean"] < best["mean"] - 1e-12 * abs(best["mean"]):
                best = cell
        return best

    best = first_best(cells)
    left = [cell for cell in cells if cell["mean"] <= best["mean"] + best["se"] + 1e-12 * abs(best["mean"])]
    fewest = min(cell["components"] for cell in left)
    left = [cell for cell in left if cell["components"] == fewest]
    leader = first_best(left)
    if isinstance(leader["width"], float):
        left = [cell for cell in left if isinstance(cell["width"], float)]
        widest = max(cell["width"] for cell in left)
        left = [cell for cell in left if cell["width"] == widest]
    elif isinstance(leader["narrow"], float):
        least = min(cell["narrow"] for cell in left)
        left = [cell for cell in left if cell["narrow"] == least]
    elif leader["kernel"]:
        name, _, sigma = leader["kernel"].partition(":sigma=")
        same = [cell for cell in left if cell["kernel"].partition(":")[0] == name] if sigma else \
            [cell for cell in left if cell["kernel"] == leader["kernel"]]
        widths = [float(cell["kernel"].partition(":sigma=")[2] or 0) for cell in same]
        left = [cell for cell, width in zip(same, widths) if width == max(widths)]
    else:
        left = [cell for cell in left if cell["width"] == leader["width"]]
    most = max(cell["ridge"] for cell in left)
    left = [cell for cell in left if cell["ridge"] == most]
    least = min(cell["c"] for cell in left)
    left = [cell for cell in left if cell["c"] == least]
    return first_best(cells)["at"], first_best(left)["at"]


@test
def test_tune_rules_are_those_of_plain_python():
    rng = np.random.default_rng(5)
    differ = 0
    for seed in range(48):
        n, d = int(rng.integers(24, 50)), int(rng.integers(2, 5))
        x = rng.normal(size=(n, d))
        y = x[:, 0] + rng.uniform(0.3, 3) * rng.normal(size=n)
        classes = seed % 2 == 0
        sigmas = ",".join(f"{s:.3g}" for s in sorted(rng.uniform(0.3, 20, 4), key=lambda _: rng.random()))
        if classes:
            table("t.csv", x, [f"x{j}" for j in range(d)], np.where(y > 0, "a", "b"))
        else:
            table("t.csv", np.c_[x, y], [f"x{j}" for j in range(d)] + ["target"])
        tunes = [["-m", "kpls", "--tune", "components=1:4:+1", "--tune", "kernel.sigma=" + sigmas],
                 ["-m", "krr", "--tune", "kernel.sigma=" + sigmas + ",median", "--tune", "method.ridge=1e-3:10:*10"],
                 ["-m", "kpls", "--tune", "kernel.gamma=" + sigmas, "--tune", "components=3,1,2"],
                 ["-m", "kpls", "--tune", "kernel=linear,rbf:sigma=1,rbf:sigma=4,exponential:sigma=2"],
                 ["-m", "pca", "-n", 2, "--head", "linsvm" if classes else "svm", "--tune", "head.c=0.01,1,100"],
                 ][seed % 5]
        words = ["fit", "t.csv", *tunes, "--seed", seed, "--cv", int(rng.integers(2, 7))]
        if classes and seed % 3 == 0:
            words += ["--metric", "auc"]
        picks = {}
        for rule in ("best", "1se"):
            told = json.loads(mercer(*words, "--tune-rule", rule, "--json").out)
            told["larger_is_better"] = told["metric"] == "auc"
            best, simple = simplest(told)
            assert told["grid"]["best"] == best and told["grid"]["rule"] == rule
            assert told["grid"]["chosen"] == (best if rule == "best" else simple), (seed, words)
            cell = told["grid"]["cells"][told["grid"]["chosen"]]
            assert all(cell[key] == value for key, value in told["chosen"].items())
            picks[rule] = told["grid"]["chosen"]
        differ += picks["best"] != picks["1se"]
    assert differ > 10, differ  # else the rule was hardly asked


@test
def test_tune_in_inner_folds_has_the_same_rule():
    species(80)
    words = ["species.csv", "-m", "kpls", "--tune", "components=1:4:+1", "--tune", "kernel.sigma=0.5:8:*2"]
    for rule in ("best", "1se"):
        # With test rows the training part of the only fold is all rows.
        told = report("evaluate", *words, "--test", "species.csv", "--tune-rule", rule)
        fit = report("fit", *words, "--tune-rule", rule)
        assert told["grid"] == fit["grid"] and told["chosen"] == fit["chosen"] == told["folds"][0]["chosen"]
        assert told["folds"][0]["inner"] == told["grid"]["cells"][told["grid"]["chosen"]]["mean"]
        # The choice on all rows does not depend on what is estimated around it, nor on threads.
        nested = report("evaluate", *words, "--cv", 2, "--tune-rule", rule, "--threads", 1)
        assert nested["grid"] == fit["grid"] and nested["chosen"] == fit["chosen"]
    refused("evaluate", *words[:3], "--tune-rule", "1se", status=2, says="requires --tune")
    refused("fit", *words, "--tune-rule", "2se", status=2, says=["best", "1se"])


def pasted(told):
    """Run the command that a report gives; the model's path."""
    words = shlex.split(told["command"])
    assert words[:2] == ["mercer", "fit"]
    subprocess.run([MERCER, *words[1:], "--quiet"], check=True)
    return words[words.index("-o") + 1]


@test
def test_tune_ends_in_a_line_to_paste():
    rng = np.random.default_rng(2)
    lines = ["no;wine class;a b;'odd';text;mean;junk"]
    for i in range(60):
        kind = i % 2
        gap = "" if i % 10 == 3 else f"{rng.normal():.3f}"
        lines.append(f"r{i};{'red' if kind else 'white'};{rng.normal() + kind:.4f};{gap};{'xy'[i % 3 > 0]};"
                     f"{rng.normal():.4f};{rng.normal():.4f}")
    write("my wine's.csv", "\n".join(lines).replace("mean", "me*an") + "\n")
    words = ["evaluate", "my wine's.csv", "-m", "kpls", "--label", "wine class", "--id", "no", "--drop", "junk",
             "--encode", "onehot", "--missing", "mean", "--scale=standard", "--seed", "7", "--center", "none",
             "--tune", "components=1:3:+1", "--tune", "kernel.sigma=1:8:*2", "--cv", "3", "--inner", "3",
             "--memory", "1G", "--threads", "1", "--metric", "balanced"]
    told = report(*words)
    command = shlex.split(told["command"])
    model = pasted(told)
    text = mercer(*words).out
    assert f"Next:  {told['command']}\n" in text
    info = report("info", model)
    chosen = told["chosen"]
    assert info["components"] == chosen["components"] and f"sigma={chosen['kernel.sigma']:g}" in info["kernel"]
    assert info["scale"] == "standard" and info["missing"] == "mean" and info["encode"] == "onehot"
    assert not {"--tune", "--cv", "--inner", "--metric", "--memory", "--threads", "--json"} & set(command)
    assert command[command.index("--seed") + 1] == "7" and command[2] == "my wine's.csv"
    # What the line fits is what `fit --tune` fits, and that says how it came about.
    fitted = [word if word != "evaluate" else "fit" for word in words]
    del fitted[fitted.index("--inner"):fitted.index("--inner") + 2]
    both = json.loads(mercer(*fitted, "-o", "both.model", "--json").out)
    assert both["chosen"] == chosen and both["grid"] == told["grid"]
    assert both["command"] == told["command"].replace("my.model", "both.model")
    one = mercer("predict", model, "my wine's.csv").out
    assert one == mercer("predict", "both.model", "my wine's.csv").out
    provenance = report("info", "both.model")["command"]
    assert "--tune" in provenance and f"# chose components={chosen['components']}" in provenance
    assert "optimistic" in mercer(*fitted).out
    # A pipe has no name to paste.
    data = pathlib.Path("my wine's.csv").read_bytes()
    assert report("evaluate", "-", *words[2:], stdin=data)["command"].startswith("mercer fit DATA -m kpls")


@test
def test_tune_goes_with_intervals():
    """Held-out rows say nothing that scores are made of, whatever predicts."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(60, 2))
    table("t.csv", np.c_[x, np.sin(x[:, 0])], ["u", "v", "y"])
    for words in (["-m", "kpca", "--head", "ls", "--tune", "components=2,5"],
                  ["-m", "krr", "--tune", "kernel.sigma=1,4"]):
        fit = ["fit", "t.csv", "--target", "y", *words]
        told = report(*fit, "--intervals", "on", "--keep", "fitted", "-o", "m")
        assert told["grid"] == report(*fit)["grid"]
        assert "--intervals on --keep fitted" in told["command"]
        assert report("predict", "m", "t.csv", "--coverage", 0.8, "-o", "out.csv")["within"] > 0.5


@test
def test_tune_prints_the_grid_and_its_edges():
    species(90)
    words = ["evaluate", "species.csv", "-m", "kpls", "--cv", 3]
    told = report(*words, "--tune", "components=1,2", "--tune", "kernel.sigma=0.01,0.02,0.04")
    text = mercer(*words, "--tune", "components=1,2", "--tune", "kernel.sigma=0.01,0.02,0.04").out
    assert "error, mean of 5 folds of all 90 rows" in text and "sigma \\ components" in text
    cells = {(c["kernel.sigma"], c["components"]): c["mean"] for c in told["grid"]["cells"]}
    for sigma in (0.01, 0.02, 0.04):
        line = re.search(rf"^  {sigma} .*$", text, re.M).group().replace("*", "").split()
        assert [float(word) for word in line[1:]] == [round(cells[sigma, k], 4) for k in (1, 2)]
    assert text.count("*0.") == 1 and "\x1b" not in text and not re.search(r" $", text, re.M)
    axes = {axis["key"]: axis for axis in told["grid"]["axes"]}
    assert told["chosen"]["kernel.sigma"] == 0.04 and axes["kernel.sigma"]["further"] == "0.04,0.08,0.16"
    assert "kernel.sigma=0.04,0.08,0.16" in text
    wide = report(*words, "--tune", "kernel.sigma=1e-3:4e-3:*2", "-n", 1)["grid"]["axes"][0]
    assert wide["further"] in (None, "0.004:0.032:*2")
    # A range that was not tried is one that can be: no components below 1, no negative ridge.
    for tune in ("components=1,2,3", "components=2:3:+1", "components=88,89"):
        further = report(*words, "--tune", tune)["grid"]["axes"][0]["further"]
        for value in (further or "1").split(","):
            assert 1 <= float(value.split(":")[0]) < 90, (tune, further)
    # More than fits: the best ones, one per line.
    long = mercer(*words, "--tune", "kernel.sigma=0.1:9:*1.1", "--tune", "components=1:9:+1", "--inner", 2).out
    assert "... and " in long and "--json lists them" in long
    # One axis has a line for each value.
    assert len(re.findall(r"^  [1-4] +\*?0\.\d{4}$", mercer(*words, "--tune", "components=1:4:+1").out, re.M)) == 4


@test
def test_tune_has_colours_only_on_a_terminal():
    species(60)
    words = [MERCER, "evaluate", "species.csv", "-m", "kpls", "--tune", "components=1,2,3", "--tune",
             "kernel.sigma=1,2", "--cv", "3", "--inner", "3"]
    shown = {}
    for name, env in (("colour", {"TERM": "xterm"}), ("none", {"TERM": "xterm", "NO_COLOR": "1"})):
        leader, follower = pty.openpty()
        subprocess.run(words, stdout=follower, stderr=subprocess.DEVNULL, check=True, env={**os.environ, **env})
        os.close(follower)
        text = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.close(leader)
        shown[name] = text.decode().replace("\r", "")
    assert "\x1b[48;5;" in shown["colour"] and "\x1b" not in shown["none"]
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown["colour"]) == shown["none"]


@test
def test_tune_says_what_was_meant():
    species(40)
    words = ["evaluate", "species.csv", "-m", "kpls", "--tune"]
    for text, says in (("sigma=1,2", "did you mean kernel.sigma=1,2?"),
                       ("kernel.sigma=1..16", "did you mean kernel.sigma=1:16:*2?"),
                       ("kernel.sigma=1:16", "did you mean kernel.sigma=1:16:*2?"),
                       ("components=1..6", "did you mean components=1:6:+1?"),
                       ("kernel.sigma=1..1.5", "did you mean kernel.sigma=1:1.5:+0.1?"),
                       ("discriminant=on", "did you mean method.discriminant=on?")):
        refused(*words, text, status=2, says=says)
    assert "did you mean" not in refused(*words, "nosuch=1,2", status=2).err
    for call in (["fit", "species.csv", "-m", "kpls", "--cv", 3], ["fit", "species.csv", "-m", "kpls", "--metric", "auc"]):
        refused(*call, status=2, says="requires --tune")
    refused("fit", "species.csv", "-m", "kpls", "--tune", "components=1,2", "--cv", "loo", status=2, says="loo")
    refused("fit", "species.csv", "-m", "nystroem", "--landmarks", "species.csv", "--tune", "components=1,2",
            status=2, says="landmarks")


# ---- groups and time ----


def grouped(n=90, groups=12, seed=4, name="g.csv"):
    """Rows whose groups differ in size; the label of a group is that of most of its rows."""
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(0, groups, n) ** 2 // groups)
    x = rng.normal(size=(n, 3)) + 3 * rng.normal(size=(groups, 3))[group]
    y = np.where(rng.random(n) < 0.3, "a", np.where(rng.random(n) < 0.6, "b", "c"))
    order = rng.permutation(n)
    lines = ["site,label,x,y,z"] + [f"s{group[i]},{y[i]}," + ",".join(repr(float(v)) for v in x[i]) for i in order]
    write(name, "\n".join(lines) + "\n")
    return group[order], y[order], x[order]


def folds_of(*words):
    """For each row the fold that held it out, from the predictions."""
    mercer(*words, "--save-predictions", "held.csv", "--quiet")
    lines = csv_rows(pathlib.Path("held.csv").read_text())
    fold, row = lines[0].index("fold"), lines[0].index("row")
    return {int(line[row]): int(line[fold]) for line in lines[1:]}


@test
def test_groups_stay_in_one_fold():
    group, y, _ = grouped()
    words = ["evaluate", "g.csv", "-m", "pca", "-n", 2, "--head", "centre", "--groups", "site"]
    sizes = {}
    for seed in range(6):
        held = folds_of(*words, "--cv", 4, "--seed", seed)
        assert sorted(held) == list(range(90))
        of_group = {}
        for row, fold in held.items():
            of_group.setdefault(group[row], set()).add(fold)
        assert all(len(folds) == 1 for folds in of_group.values())
        counts = [list(held.values()).count(fold) for fold in (1, 2, 3, 4)]
        sizes[seed] = tuple(held[row] for row in range(90))
        # Greedy by size: no fold is larger than an even share and the largest group.
        assert min(counts) > 0 and max(counts) <= 90 / 4 + max(np.bincount(group))
    assert len(set(sizes.values())) > 1  # groups are drawn
    # One group per fold.
    held = folds_of(*words, "--cv", "loo")
    assert len(set(held.values())) == len(set(group))
    # The column may be the id, too, and is never data: without it the numbers are the same.
    plain = report(*words, "--cv", 4)
    assert report(*words, "--cv", 4, "--id", "site")["folds"] == plain["folds"]
    assert report("fit", "g.csv", "-m", "pca", "--groups", "site")["columns"] == 3
    # By position in a file without names; the model knows where its columns stand.
    bare = pathlib.Path("g.csv").read_text().splitlines()[1:]
    write("bare.csv", "\n".join(line.replace("s", "1") for line in bare) + "\n")
    mercer("fit", "bare.csv", "-m", "pca", "-n", 2, "--label", 2, "--groups", 1, "--head", "centre", "-o", "m.model")
    assert mercer("transform", "m.model", "bare.csv", "--label", 2).out.count("\n") == 91


@test
def test_groups_and_classes_are_spread_evenly():
    # Many small groups of one class each: shares of the classes differ by a group at most.
    rng = np.random.default_rng(1)
    lines = ["g,label,x,y"]
    kinds = []
    for g in range(60):
        kind = "abc"[g % 3]
        for _ in range(1 + g % 4):
            kinds.append(kind)
            lines.append(f"{g},{kind},{rng.normal()!r},{rng.normal()!r}")
    write("even.csv", "\n".join(lines) + "\n")
    held = folds_of("evaluate", "even.csv", "-m", "pca", "-n", 1, "--head", "centre", "--groups", "g")
    for kind in "abc":
        counts = [sum(kinds[row] == kind for row, fold in held.items() if fold == f) for f in range(1, 6)]
        assert max(counts) - min(counts) <= 4, counts


@test
def test_groups_do_not_leak():
    """Junk in the held-out groups changes nothing that is learnt, not even what is tuned."""
    group, _, _ = grouped(seed=9)
    lines = pathlib.Path("g.csv").read_text().splitlines()
    words = ["-m", "kpls", "--groups", "site", "--scale", "standard", "--tune", "components=1:3:+1", "--tune",
             "kernel.sigma=1:8:*2", "--cv", 3, "--inner", 2]
    held = folds_of("evaluate", "g.csv", *words)
    plain = report("evaluate", "g.csv", *words)
    for fold in (1, 2, 3):
        junk = [lines[0]]
        for row, line in enumerate(lines[1:]):
            cells = line.split(",")
            junk.append(line if held[row] != fold else ",".join(cells[:2] + ["1e6", "-7e5", str(row)]))
        write("junk.csv", "\n".join(junk) + "\n")
        told = report("evaluate", "junk.csv", *words)
        assert folds_of("evaluate", "junk.csv", *words) == held
        same = told["folds"][fold - 1]["chosen"] == plain["folds"][fold - 1]["chosen"]
        inner = told["folds"][fold - 1]["inner"] == plain["folds"][fold - 1]["inner"]
        assert same and inner, fold
    # Rows repeated within a group: with groups, a copy never helps to recognise its original.
    rng = np.random.default_rng(3)
    text = ["who,label,x,y"]
    for g in range(40):
        x = rng.normal(size=2)
        text += 3 * [f"{g},{'ab'[g % 2]},{x[0]!r},{x[1]!r}"]
    write("copies.csv", "\n".join(text) + "\n")
    base = ["evaluate", "copies.csv", "-m", "pca", "-n", 2, "--head", "knn:k=1"]
    assert report(*base, "--drop", "who")["mean"] < 0.1  # the copies give the labels away
    assert report(*base, "--groups", "who")["mean"] > 0.3  # there is nothing to learn


@test
def test_time_learns_from_earlier_rows_only():
    rng = np.random.default_rng(8)
    for n, k in ((60, 5), (61, 4), (23, 2), (12, 5)):
        x = rng.normal(size=(n, 2))
        table("t.csv", np.c_[x, x[:, 0] + 0.1 * rng.normal(size=n)], ["a", "b", "target"])
        words = ["evaluate", "t.csv", "-m", "pls", "-n", 1, "--cv", f"time:{k}"]
        held = folds_of(*words)
        size = n // (k + 1)  # as scikit-learn's TimeSeriesSplit
        expected = {n - (k - f) * size + i: f + 1 for f in range(k) for i in range(size)}
        assert held == expected, (n, k)
        # A fold is a fit to the rows before it.
        told = report(*words)
        lines = pathlib.Path("t.csv").read_text().splitlines()
        for f in (0, k - 1):
            first = n - (k - f) * size
            write("early.csv", "\n".join(lines[:1 + first]) + "\n")
            write("late.csv", "\n".join([lines[0]] + lines[1 + first:1 + first + size]) + "\n")
            alone = report("evaluate", "early.csv", "-m", "pls", "-n", 1, "--test", "late.csv")
            assert abs(alone["mean"] - told["folds"][f]["value"]) < 1e-12
    # Junk in later rows changes no earlier fold, with its choice.
    x = rng.normal(size=(60, 2))
    y = x[:, 0] + 0.3 * rng.normal(size=60)
    table("t.csv", np.c_[x, y], ["a", "b", "target"])
    words = ["-m", "kpls", "--cv", "time:4", "--inner", 3, "--tune", "components=1,2,3", "--tune", "kernel.sigma=1,4"]
    plain = report("evaluate", "t.csv", *words)
    x[36:] = 1e3 * rng.normal(size=(24, 2))
    y[36:] = 1e5
    table("junk.csv", np.c_[x, y], ["a", "b", "target"])
    told = report("evaluate", "junk.csv", *words)
    assert told["folds"][:2] == plain["folds"][:2] and told["folds"][2] != plain["folds"][2]
    # fit --tune has the same folds as the choice on all rows.
    fit = report("fit", "t.csv", *words[:2], "--cv", "time:3", *words[6:])
    assert fit["grid"] == plain["grid"] and fit["grid"]["folds"] == 3


@test
def test_groups_and_time_refuse_nonsense():
    grouped()
    words = ["evaluate", "g.csv", "-m", "pca", "-n", 2, "--head", "centre"]
    refused(*words, "--groups", "sites", status=2, says=["sites", "'site'"])
    refused(*words, "--groups", "label", status=2, says=["label", "groups"])
    refused(*words, "--groups", "site", "--drop", "site", status=2, says=["dropped", "groups"])
    refused(*words, "--groups", "site", "--cv", 50, status=1, says=["50 folds", "groups"])
    refused(*words, "--groups", "site", "--cv", "time:3", status=2, says=["--groups", "time"])
    refused(*words, "--cv", "time:3", "--repeats", 2, status=2, says="--repeats")
    refused(*words, "--cv", "time:1", status=2, says="time:1")
    refused(*words, "--cv", "time", status=2, says="time:5")
    refused(*words, "--drop", "site", "--cv", "time:200", status=1, says=["200 folds", "90 rows"])
    refused(*words, "--groups", "site", "--test", "g.csv", status=2, says="groups")
    refused(*words, "--groups", "site", "--tune", "head.k=1,2", status=2, says="head")
    one = write("one.csv", "g,label,x,y\n" + "".join(f"1,{'ab'[i % 2]},{i},{i * i % 7}\n" for i in range(20)))
    refused(*words[:1], one, *words[2:], "--groups", "g", status=1, says="one group")
    each = write("each.csv", "g,label,x,y\n" + "".join(f"{i % 3},{'abc'[i % 3]},{i},{i * i % 7}\n" for i in range(30)))
    refused(*words[:1], each, *words[2:], "--groups", "g", "--cv", 3, status=1, says=["class", "group"])
    gap = write("gap.csv", "g,label,x,y\n1,a,1,2\n,b,2,1\n2,a,3,3\n2,b,1,1\n")
    refused(*words[:1], gap, *words[2:], "--groups", "g", "--cv", 2, status=1, says=["gap.csv:3", "group"])
    write("split.txt", " ".join(map(str, range(45))) + "\n")
    refused(*words, "--groups", "site", "--split", "split.txt", status=1, says=["split 1", "group"])
    few = ["--groups", "site", "--cv", 2, "--tune", "components=1,2"]
    refused(*words, *few, "--inner", 30, status=1, says=["group", "inner"])
    write("s.svm", "1 1:2 2:1\n-1 1:3\n1 2:4\n-1 1:1\n")
    refused("evaluate", "s.svm", "-m", "pca", "-n", 1, "--head", "centre", "--cv", 2, "--groups", "1", status=2,
            says="chosen")


@slow_test
def test_tune_promises_what_fresh_rows_confirm():
    """The nested estimate and the model of the pasted line agree on rows that neither has seen."""
    misses = []
    for seed, (make, method, tunes) in enumerate((
            ("ring", ["-m", "kpca", "--head", "knn:k=5"], ["kernel.sigma=0.5:4:*2", "components=2,5"]),
            ("line", ["-m", "kpls"], ["kernel.sigma=1:16:*2", "components=1:3:+1"]),
            ("noise", ["-m", "krr"], ["kernel.sigma=1:8:*2", "method.ridge=1e-3:10:*10"]))):
        rng = np.random.default_rng(seed)
        n, m = 150, 600
        x = rng.normal(size=(n + m, 3))
        if make == "ring":
            y = (np.linalg.norm(x[:, :2], axis=1) + 0.3 * rng.normal(size=n + m) > 1.2).astype(int)
        elif make == "line":
            y = (x[:, 0] + 0.7 * rng.normal(size=n + m) > 0).astype(int)
        else:
            y = (rng.random(n + m) < 0.5).astype(int)
        table("train.csv", x[:n], "abc", np.array(["u", "v"])[y[:n]])
        table("fresh.csv", x[n:], "abc", np.array(["u", "v"])[y[n:]])
        told = report("evaluate", "train.csv", *method, *[w for t in tunes for w in ("--tune", t)])
        model = pasted(told)
        lines = csv_rows(mercer("predict", model, "fresh.csv").out)
        wrong = np.mean([line[0] != "uv"[kind] for line, kind in zip(lines[1:], y[n:])])
        se = (told["sd"] ** 2 / len(told["folds"]) + wrong * (1 - wrong) / m) ** 0.5
        misses.append(abs(wrong - told["mean"]) > 2 * se)
    assert sum(misses) <= 1, misses


if __name__ == "__main__":
    sys.exit(run_tests())
