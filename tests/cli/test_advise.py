#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer advise: what it finds in tables that other commands refuse, and that its commands run.

test_advise.py MERCER [WORD...] [-jN] [--quick]
"""
import os
import pathlib
import random
import shlex
import sys

import numpy as np

from support import MERCER, cloud, mercer, refused, report, ring, run_tests, slow_test, test, write
from harness import call
from messy import advice_that_fails

KEYS = ["data", "rows", "rows_estimated", "columns", "entries", "labels", "classes", "label_candidate", "goal", "scale",
        "mend", "looked_at", "constant_columns", "repeated_rows", "spread_ratio", "precomputed", "median_distance",
        "linear_share", "kernel_share", "advice", "notices"]
RANDOM_TABLES = range(40)  # seeds
ADVICE = ["method", "kernel", "why", "command", "then", "seconds", "seconds_low", "seconds_high", "memory_bytes", "store",
          "store_reason"]


def paste(command):
    """Run a command as a shell would split it."""
    words = shlex.split(command)
    assert words[0] == "mercer", command
    return mercer(*words[1:])


def advised(*words, runs=True):
    """The report; its first command runs, and what comes then."""
    got = report("advise", *words)
    assert list(got) == KEYS, list(got)
    for entry in got["advice"]:
        assert list(entry) == ADVICE, list(entry)
        assert entry["memory_bytes"] > 0 and entry["seconds"] > 0
    if runs:
        assert got["advice"], got
        paste(got["advice"][0]["command"])
        if got["advice"][0]["then"]:
            paste(got["advice"][0]["then"])
    text = mercer("advise", *words).out
    if runs:
        shown = text.replace(" \\\n     ", "")
        assert got["advice"][0]["command"] in shown, text
    return got


def options(got):
    return {(m["option"], m["value"]) for m in got["mend"]}


def wine(name="wine.csv", encoding="utf-8", mark=";", rows=90):
    """Everything that stands in a table from an office: ids, dates, texts, gaps, a class in words."""
    draw, lines = random.Random(1), ["Customer ID;date;Wine class;alcohol;city;note;flag;Größe"]
    for i in range(rows):
        kind = i % 3
        alcohol = "" if i == 5 else f"{12 + kind + draw.gauss(0, 0.3):.2f}".replace(".", ",")
        lines.append(f"{1000 + 7 * i};2024-{1 + i % 12:02d}-{1 + i % 28:02d};{'red white rosé'.split()[kind]};{alcohol};"
                     f"{draw.choice(['Köln', 'Bonn', 'Ulm'])};remark {i};{draw.choice(['yes', 'no'])};"
                     f"{draw.gauss(900, 300):.1f}".replace(".", ",").replace("remark,", "remark "))
    pathlib.Path(name).write_bytes(("\n".join(line.replace(";", mark) for line in lines) + "\n").encode(encoding))
    return name


@test
def test_a_messy_table():
    got = advised(wine())
    assert options(got) == {("drop", "date"), ("drop", "note"), ("label", "Wine class"), ("encode", "onehot"),
                            ("missing", "mean"), ("id", "Customer ID")}, got["mend"]
    assert got["goal"] == "predict" and got["classes"] == 3 and got["rows"] == 90 and got["columns"] == 6
    assert "--label 'Wine class'" in got["advice"][0]["command"] and "--id 'Customer ID'" in got["advice"][0]["command"]
    # Columns and roles that the caller names are taken as they are, and stand in the command.
    got = advised("wine.csv", "--drop", "city", "--missing", "median", "--no-label", "--goal", "features")
    assert "--drop city,date,note" in got["advice"][0]["command"].replace("'", ""), got["advice"][0]
    assert "--missing median --" in got["advice"][0]["command"] and "--no-label" in got["advice"][0]["command"]
    got = advised(wine("latin.csv", "latin-1"))
    assert ("encoding", "latin1") in options(got)
    got = advised(wine("odd name's.csv"))
    assert "'odd name'\\''s.csv'" in got["advice"][0]["command"]
    # What no option reads is told as other commands tell it.
    write("ragged.csv", "a,b\n1,2\n3\n")
    refused("advise", "ragged.csv", status=1, says=["ragged.csv:3"])


@test
def test_goals():
    wine()
    wine(rows=210)
    for goal, word in (("features", "-n 10"), ("outliers", "--novelty 0.05"), ("pictures", "-n 2"), ("predict", "evaluate")):
        got = advised("wine.csv", "--goal", goal)
        assert got["goal"] == goal and word in got["advice"][0]["command"], got["advice"][0]
    ring()
    got = advised("ring.csv")
    assert got["goal"] == "features" and got["mend"] == [] and got["advice"][0]["method"] == "kpca"
    refused("advise", "ring.csv", "--goal", "predict", status=1, says=["nothing to predict", "--label"])
    refused("advise", "ring.csv", "--goal", "money", status=2, says="features")
    refused("advise", "-", status=2, says="file")


@test
def test_values_and_candidates():
    x = cloud(80, 3)
    np.savetxt("v.csv", np.c_[x, x[:, 0] ** 2 + x[:, 1]], delimiter=",", header="a,b,c,outcome", comments="")
    got = advised("v.csv")
    assert options(got) == {("target", "outcome")} and got["advice"][0]["method"] == "krr"
    np.savetxt("c.csv", np.c_[x, x[:, 0] > 0], delimiter=",", header="a,b,c,kind", comments="")
    got = advised("c.csv")
    assert got["label_candidate"] == "kind" and got["mend"] == []
    np.savetxt("s.csv", np.c_[x, x[:, 0] > 0], delimiter=",", header="a,b,c,species", comments="")
    got = advised("s.csv")
    assert options(got) == {("label", "species")} and got["classes"] == 2


@test
def test_what_is_counted():
    x = cloud(60, 4)
    x[:, 1] *= 1000
    x[:, 3] = 7
    np.savetxt("x.csv", np.r_[x, x[:6]], delimiter=",", header="a,b,c,d", comments="")
    got = advised("x.csv")
    assert got["repeated_rows"] == 6 and got["constant_columns"] == 1 and got["looked_at"] == 66
    assert got["scale"] == "standard" and got["spread_ratio"] > 100
    assert "--scale standard" in got["advice"][0]["command"]
    np.savetxt("y.csv", cloud(569, 5), delimiter=",")
    assert advised("y.csv")["repeated_rows"] == 0
    # A kernel matrix, rows that are sparse, and images.
    d = ((x[:, None, :] - x[None]) ** 2).sum(-1)
    np.save("k.npy", np.exp(-d / d.mean()))
    got = advised("k.npy")
    assert got["precomputed"] and got["advice"][0]["kernel"] == "precomputed"
    draw = random.Random(2)
    write("t.svm", "".join(f"{i % 2} {1 + i % 2}:1 {draw.randint(3, 40)}:2 {draw.randint(41, 90)}:1\n" for i in range(60)))
    got = advised("t.svm")
    assert got["advice"][0]["kernel"] == "cosine" and got["goal"] == "predict" and got["entries"] == 180
    os.mkdir("faces")
    for folder in "ab":
        os.mkdir("faces/" + folder)
        for i in range(6):
            pixels = bytes((40 * (folder == "b") + 17 * i + 3 * k) % 256 for k in range(64))
            pathlib.Path(f"faces/{folder}/{i}.pgm").write_bytes(b"P5 8 8 255\n" + pixels)
    got = advised("faces")
    assert got["classes"] == 2 and got["scale"] == "none"


@test
def test_odd_tables():
    """Never a crash: advice, or one line."""
    for name, text in (("one.csv", "a,b\n1,2\n"), ("column.csv", "a\n" + "".join(f"{i % 7}.5\n" for i in range(30))),
                       ("same.csv", "a,b\n" + "1,2\n" * 20), ("two.csv", "1,2\n3,4\n")):
        write(name, text)
        got = report("advise", name)
        assert list(got) == KEYS
        mercer("advise", name)
    write("words.csv", "a,b\n" + "".join(f"{'xyz'[i % 3]},{'pq'[i % 2]}\n" for i in range(30)))
    got = advised("words.csv")
    assert options(got) == {("encode", "onehot")}
    write("empty.csv", "")
    refused("advise", "empty.csv", status=1)
    write("head.csv", "a,b\n")
    refused("advise", "head.csv", status=1)
    refused("advise", "missing.csv", status=1)
    np.save("wide.npy", np.random.default_rng(1).normal(size=(12, 10000)))
    assert advised("wide.npy")["columns"] == 10000


@test
def test_commands_survive_odd_names_and_files():
    rng = np.random.default_rng(3)
    head = ["größe des tieres", "it's a b", "c", "my species"]
    lines = [";".join(head), *(f"{a:.3f};{b:.3f};{c:.3f};{'uv'[int(a > 0)]}" for a, b, c in rng.normal(size=(60, 3)))]
    name = "it's a long name for a table.csv"
    pathlib.Path(name).write_bytes("\n".join(["% remark", *lines, ""]).encode("latin-1"))
    for goal in ("features", "outliers", "pictures", "predict"):
        for width in (40, 60, 80, 200):
            os.environ["COLUMNS"] = str(width)
            words = [name, "--goal", goal, "--comment", "%", "--drop", "it's a b"]
            got = advised(*words)
            text = mercer("advise", *words).out
            for entry in got["advice"]:  # as a shell reads the lines
                assert shlex.split(entry["command"]) in [shlex.split(part) for part in text.replace("\\\n", "").split("\n")
                                                         if part.startswith("  mercer")], text
    del os.environ["COLUMNS"]
    # A list of labels whose first line is a name, and a table that looks like an option.
    write("-t.csv", "a,b\n" + "".join(f"{a},{b}\n" for a, b in rng.normal(size=(30, 2))))
    write("l.txt", "p\n" + "p\nq\n" * 15)
    got = advised("./-t.csv", "--labels", "l.txt", "--list-header", "yes")
    assert "--list-header yes" in got["advice"][0]["command"] and got["classes"] == 2
    assert "mercer fit ./-t.csv" in mercer("advise", "--", "-t.csv").out
    assert "mercer transform m ./-t.csv" in mercer("fit", "-m", "kpca", "-o", "m", "--", "-t.csv").out
    assert "Next:  mercer fit ./-t.csv" in mercer("evaluate", "-m", "kpca", "--tune", "components=1,2", "--", "-t.csv").out
    # Columns that options could take for positions or options, and decimal commas that only an option tells.
    for odd, says in (("2", "--id name:2"), ("--json", "--id=--json")):
        write("odd.csv", f"a,b,c,{odd}\n" + "".join(f'"{a:.2f}",{b:.3f},{i % 7},{7 + 3 * i}\n'.replace(".", ",", 1)
                                                 for i, (a, b) in enumerate(rng.normal(size=(30, 2)))))
        command = advised("odd.csv")["advice"][0]["command"]
        assert says in command and "--decimal comma" in command, command
        assert f" {says} --decimal comma --drop b -o my.model\n" in mercer(
            "evaluate", "odd.csv", "-m", "pca", *says.split(), "--decimal", "comma", "--drop", "b", "--tune",
            "components=1,2").out
    # What a fit says comes next reads the same file.
    told = mercer("fit", name, "--comment", "%", "--encoding", "latin1", "--label", "my species", "--head", "ls", "-m",
                  "kpca", "-n", 2, "-o", "m").out
    for line in told[told.index("Next:"):].split("\n")[1:3]:
        paste(line.strip())


@slow_test
def test_commands_of_random_tables_work():
    """More of them: the long test `tables`."""
    wrong = [text for seed in RANDOM_TABLES for text in advice_that_fails(lambda *words: call(MERCER, *words), seed)]
    assert not wrong, "\n".join(wrong)


@test
def test_tables_that_used_to_get_advice_that_fails():
    rng = np.random.default_rng(4)
    # One row, and fewer rows than folds.
    write("one.csv", "a,b\n1,x\n")
    assert report("advise", "one.csv")["advice"] == [] and "there is one row only" in mercer("advise", "one.csv").out
    write("few.csv", "a,b,target\n1,2,3\n2,5,4\n7,1,9\n")
    assert all("--cv loo" in entry["command"] for entry in advised("few.csv")["advice"])
    # Rows that do not differ: why there is no advice is told.
    write("same.csv", "a,b\n" + "1,2\n" * 20)
    assert report("advise", "same.csv")["advice"] == [] and "do not differ" in mercer("advise", "same.csv").out
    write("equal.csv", "a,b,class\n" + "".join(f"1,2,{'uv'[i % 2]}\n" for i in range(500)))
    assert report("advise", "equal.csv")["advice"] == [] and "do not differ" in mercer("advise", "equal.csv").out
    # One class, in more rows than are tried.
    write("alike.csv", "a,b,class\n" + "".join(f"{a:.3f},{b:.3f},u\n" for a, b in rng.normal(size=(500, 2))))
    assert advised("alike.csv")["goal"] == "features" and "one of all rows" in mercer("advise", "alike.csv").out
    refused("advise", "alike.csv", "--goal", "predict", status=1, says=["all rows are of one class"])
    # Labels with gaps, columns without names or anything in them, names that stand twice or cannot be listed.
    rows = [f"{a:.3f},{b:.3f},{'uv'[int(a > 0)] if i % 5 else ''}," for i, (a, b) in enumerate(rng.normal(size=(40, 2)))]
    write("gaps.csv", "a,b,species,\n" + "\n".join(rows) + "\n")
    got = advised("gaps.csv")
    assert {("unlabelled", "drop"), ("label", "species"), ("drop", "column4")} <= options(got), options(got)
    assert got["rows"] == 32 and got["classes"] == 2
    assert "--no-label" in advised("gaps.csv", "--goal", "features")["advice"][0]["then"]
    write("twice.csv", 'a,a,"x,y",*,c,d\n' + "".join(f"1,2,w{i},n{i},{a:.3f},{b:.3f}\n" for i, (a, b) in enumerate(rng.normal(size=(30, 2)))))
    assert {value for option, value in options(advised("twice.csv")) if option == "drop"} == \
        {"position:2", "position:3", "position:4"}
    write("twins.csv", "a,a,b,b,a,label\n" + "".join(f"{a:.3f},{b:.3f},{a * b:.3f},1,{i},{'uv'[i % 2]}\n"
                                                  for i, (a, b) in enumerate(rng.normal(size=(30, 2)))))
    got = advised("twins.csv")
    assert options(got) == {("drop", "position:2"), ("drop", "position:4"), ("drop", "position:5")} and got["columns"] == 2
    advised("twins.csv", "--goal", "features")
    write("bare.csv", "".join(f"{1000 + 3 * i},{a:.3f},2024-01-{1 + i % 28:02d}\n" for i, a in enumerate(rng.normal(size=30))))
    assert options(advised("bare.csv")) == {("id", "1"), ("drop", "3")}
    write("marks.csv", "a,b\n" + "".join(f"{'-' if i == 7 else i % 5 / 4},{a:.3f}\n" for i, a in enumerate(rng.normal(size=30))))
    assert options(advised("marks.csv")) == {("na", "-"), ("missing", "mean")}
    # Two columns to predict, of which the first turns out to be neither classes nor values.
    write("neither.csv", "a,c,target,label\n" + "".join(f"{a:.3f},{'xy'[i % 2]},{b:.3f},{'n/a' if i % 4 else a}\n" for i, (a, b) in enumerate(rng.normal(size=(30, 2)))))
    assert options(advised("neither.csv")) == {("encode", "onehot"), ("drop", "target"), ("drop", "label")}
    # A name that is written like a position.
    write("place.csv", "a,b,position:2\n" + "".join(f"{a:.3f},{b:.3f},w{i}\n" for i, (a, b) in enumerate(rng.normal(size=(30, 2)))))
    assert options(advised("place.csv")) == {("drop", "name:position:2")}
    # Values below the name of classes.
    write("values.csv", "a,label\n" + "".join(f"{a:.3f},{b:.3f}\n" for a, b in rng.normal(size=(30, 2))))
    assert options(advised("values.csv")) == {("target", "label")}


def column(name, cells):
    """A table of this column and one of numbers, with classes."""
    lines = [f"{cell},{i * 7 % 11 / 4},{'uv'[i % 2]}" for i, cell in enumerate(cells)]
    write(name, "a,b,label\n" + "\n".join(lines) + "\n")
    return name


@test
def test_only_marks_mean_missing():
    """A text that says something is never read as the mean: values below a limit, colours, signs as values."""
    for k, mark in enumerate(("<5", "<0.1", "#ff0000", "#1", "+", "<LOD>", "#", "~")):
        got = advised(column(f"says{k}.csv", [mark if i % 3 == 0 else i * 1.5 for i in range(60)]))
        assert not {"na", "missing"} & {option for option, _ in options(got)}, (mark, got["mend"])
    got = advised(column("signs.csv", ["-+"[i % 3 > 0] for i in range(60)]))
    assert options(got) == {("encode", "onehot")} and got["columns"] == 3, got["mend"]
    # Several marks, of one column and of two; after a text column, too.
    for k, marks in enumerate((["#REF!", "#DIV/0!"], ["-", "."], ["<NA>"], ["NaT", "*"], ["#VALUE!", "#NUM!", "--"])):
        cells = [marks[i % 4] if i % 4 < len(marks) else i * 1.5 for i in range(60)]
        got = advised(column(f"marks{k}.csv", cells))
        assert options(got) == {("missing", "mean")} | {("na", mark) for mark in marks}, (marks, got["mend"])
        assert "--na" in got["advice"][0]["command"] and got["columns"] == 2
        write("texts.csv", "t,a,b,label\n" + "".join(f"{'xy'[i % 2]},{cell},{i * 7 % 11 / 4},{'uv'[i // 3 % 2]}\n"
                                                   for i, cell in enumerate(cells)))
        got = advised("texts.csv")
        assert options(got) == {("encode", "onehot"), ("missing", "mean")} | {("na", m) for m in marks}, got["mend"]
        assert got["columns"] == 4, got


@test
def test_options_are_needed_by_the_columns_that_are_left():
    """What was found for a column that is left out later does not stay in the commands."""
    write("many.csv", "t,b,label\n" + "".join(f"w{i},{i * 7 % 11 / 4},{'uv'[i % 2]}\n" for i in range(60)))
    assert options(advised("many.csv")) == {("drop", "t")}
    write("holes.csv", "t,b,label\n" + "".join(f"{'' if i == 0 else f'w{i}'},{i * 7 % 11 / 4},{'uv'[i % 2]}\n" for i in range(60)))
    assert options(advised("holes.csv")) == {("drop", "t")}
    write("both.csv", "t,b,c,label\n" + "".join(f"w{i},{'' if i == 4 else i * 7 % 11 / 4},{'xy'[i % 2]},{'uv'[i // 3 % 2]}\n"
                                               for i in range(60)))
    assert options(advised("both.csv")) == {("drop", "t"), ("encode", "onehot"), ("missing", "mean")}
    # What the caller asks for stays.
    assert "--encode onehot" in advised("many.csv", "--encode", "onehot")["advice"][0]["command"]
    # The column that is named is one that is left.
    write("left.csv", "name,colour,x\n" + "".join(f"N{i:04d},{('red', 'blue')[i % 2]},{i * 7 % 11 / 4}\n" for i in range(200)))
    got = advised("left.csv")
    assert {m["option"]: m["column"] for m in got["mend"]} == {"encode": "colour", "drop": "name"}, got["mend"]
    # Classes behind another text are classes, and nothing is encoded for them alone.
    write("behind.csv", "name,species,x\n" + "".join(f"N{i:04d},{'uvw'[i % 3]},{i * 7 % 11 / 4}\n" for i in range(200)))
    got = advised("behind.csv")
    assert options(got) == {("drop", "name"), ("label", "species")} and got["classes"] == 3 and got["columns"] == 1, got


@test
def test_a_header_of_years():
    """The first line may be names: said in words, with the option that settles it."""
    for rows in (4, 60):
        write("years.csv", "country,2001,2002,2003\n" + "".join(f"x{i},{i},{i * 7 % 11},{i * 5 % 13}\n" for i in range(rows)))
        got = advised("years.csv")
        assert got["rows"] == rows + 1 and any("--header" in text for text in got["notices"]), got["notices"]
        text = " ".join(mercer("advise", "years.csv").out.split())
        assert "it may be column names" in text or "as column names may do" in text, text
        assert "(--header)" in text and "column 1 is a text" in text and "'1'" not in text, text
        got = advised("years.csv", "--header", "yes")
        assert got["rows"] == rows and not any("--header" in text for text in got["notices"])
        assert "--header yes" in got["advice"][0]["command"]


@test
def test_problems_are_named_as_they_are():
    for cell, problem in (("${i}.50", "has signs beside its numbers"), ("{i}.02.2024 noon", "holds dates"),
                          ("", "has nothing that can be read")):
        got = advised(column("t.csv", [cell.format(i=10 + i % 18) for i in range(60)]))
        assert [(m["column"], m["problem"], m["option"]) for m in got["mend"]] == [("a", problem, "drop")], got["mend"]


if __name__ == "__main__":
    sys.exit(run_tests())
