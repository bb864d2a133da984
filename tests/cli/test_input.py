#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What every command reads: bad cells and files, headers, columns of labels.

test_input.py MERCER [WORD...] [-jN] [--quick]
"""
import gzip
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys

import numpy as np

from support import (LIMIT, MERCER, cloud, mercer, numbers, refused, report, ring, ring_model, run_tests, table, test,
                     write)


@test
def test_cell_that_is_no_number():
    write("bad.csv", "age,size\n1,2\n3,4\nabc,5\n")
    refused("fit", "bad.csv", "-m", "kpca", status=1, says=["bad.csv:4", "age", "abc"])


@test
def test_text_column_that_may_be_a_label():
    write("x.csv", "a,species\n1,red\n2,blue\n3,red\n")
    refused("fit", "x.csv", "-m", "kpca", status=1, says=["x.csv:2", "red", "add --label species; if it names the rows, --id species"])
    assert "--id" not in refused("fit", "x.csv", "-m", "kpca", "--id", "a", status=1, says="add --label species").err
    write("bare.csv", "1,red\n2,blue\n3,red\n")
    refused("fit", "bare.csv", "-m", "kpca", status=1, says=["bare.csv"])
    write("bad.csv", "a,b\n1,2\n2,x\n3,4\n")
    assert "--label" not in refused("fit", "bad.csv", "-m", "kpca", says="bad.csv:3").err
    # Neither a missing value nor a column that the model needs holds classes.
    write("missing.csv", "a,b\n1,NA\n2,3\n")
    assert "--label" not in refused("fit", "missing.csv", "-m", "kpca", says="missing.csv:2").err
    ring_model()
    write("new.csv", "x,y\n1,red\n")
    assert "--label" not in refused("transform", "ring.model", "new.csv", says="new.csv:2").err
    write("f.csv", "f1,f2,f3,f4,f5\n1,2,3,4,red\n")
    assert "--label" not in refused("inverse", "ring.model", "f.csv", says="f.csv:2").err


@test
def test_library_errors_name_options_as_typed():
    """The library knows keys; how an option is typed comes from the command that runs."""
    write("x.csv", "a,b\n1,2\n2,1\n3,5\n")
    write("holes.csv", "a,b\n1,2\n,1\n3,5\n")
    write("large.csv", "a,b\n1,2\n2,1e250\n3,5\n")
    np.savetxt("rows.csv", np.random.default_rng(1).normal(size=(3000, 2)), delimiter=",")
    fit = ("-m", "kpca", "-k", "rbf:sigma=1")
    refused("fit", "rows.csv", *fit, "--store", "dense", "--memory", "8M", status=1,
            says="or raise it (--store, --memory)\n")
    refused("fit", "holes.csv", *fit, status=1,
            says=["holes.csv:3: column 'a' is empty", "(--missing mean)\n"])
    refused("fit", "x.csv", "-m", "kpls", says="x.csv: there is nothing", status=1)
    refused("fit", "x.csv", *fit, "--head", "ls", status=1, says="(--label, --target)\n")
    refused("fit", "large.csv", "-m", "kpca", "-k", "poly:degree=2", status=1,
            says=["large.csv: ", "row 2", "(--scale standard)\n"])
    # A key that is no option has none to be spelled.
    assert "(--" not in refused("fit", "x.csv", "-m", "kpca", "-k", "rbf:sigma=-1", status=2).err
    # A command without the option says whose it is.
    x = np.random.default_rng(1).normal(size=(200, 2))
    np.savetxt("first.csv", x, delimiter=",")
    mercer("fit", "first.csv", "-m", "ikpca", "-k", "poly:degree=2", "-n", 2, "-o", "x.model")
    x[170, 1] = 1e200
    np.savetxt("next.csv", x, delimiter=",")
    refused("update", "x.model", "next.csv", status=1,
            says=["next.csv: row 21 of the block", "in all it is row 171 (fit --scale standard)\n"])
    # Notices too: the rows stay where they are, and the option comes behind.
    write("wide.csv", "a,b,c\n1,2,1\n2,100000,3\n3,5,2\n4,1,7\n")
    notes = report("fit", "wide.csv", *fit, "-n", 1)["notices"]
    assert any(note.endswith("consider scaling the columns (--scale standard)") for note in notes), notes


@test
def test_ragged_row():
    write("bad.csv", "a,b\n1,2\n3\n4,5\n")
    refused("fit", "bad.csv", "-m", "kpca", status=1, says=["bad.csv:3"])
    write("bad.csv", "a,b\n1,2\n3,4,5\n")
    refused("fit", "bad.csv", "-m", "kpca", status=1, says=["bad.csv:3"])


@test
def test_nan_and_infinity():
    for value in ["nan", "NaN", "inf", "-inf", "1e999", ""]:
        write("bad.csv", f"a,b\n1,2\n3,{value}\n4,5\n")
        refused("fit", "bad.csv", "-m", "kpca", status=1, says=["bad.csv:3", "b"])
    x = cloud()
    x[7, 2] = np.nan
    np.save("bad.npy", x)
    refused("fit", "bad.npy", "-m", "kpca", status=1, says=["bad.npy"])


@test
def test_empty_file():
    write("empty.csv", "")
    refused("fit", "empty.csv", "-m", "kpca", status=1, says="empty.csv")
    refused("fit", "-", "-m", "kpca", status=1)
    write("empty.npy", "")
    refused("fit", "empty.npy", "-m", "kpca", status=1, says="empty.npy")
    write("empty.h5", "")
    refused("fit", "empty.h5", "-m", "kpca", status=1, says="empty.h5: is empty")


@test
def test_header_only():
    write("header.csv", "a,b,c\n")
    refused("fit", "header.csv", "-m", "kpca", status=1, says="header.csv")
    refused("scale", "header.csv", status=1, says="header.csv")
    ring_model()
    write("none.csv", "x,y\n")
    refused("transform", "ring.model", "none.csv", status=1, says="none.csv")
    np.save("none.npy", np.zeros((0, 2)))
    refused("transform", "ring.model", "none.npy", status=1, says="none.npy")


@test
def test_one_row():
    write("one.csv", "a,b\n1,2\n")
    refused("fit", "one.csv", "-m", "kpca", status=1, says="one.csv")


@test
def test_one_column():
    table("one.csv", cloud(30, 1), ["a"])
    assert report("fit", "one.csv", "-m", "kpca", "-n", 3)["columns"] == 1
    assert report("fit", "one.csv", "-m", "pca")["components"] == 1
    write("label.csv", "label\na\nb\n")
    refused("fit", "label.csv", "-m", "kpca", says="label")


@test
def test_missing_label_column():
    ring(20)
    refused("fit", "ring.csv", "-m", "kpca", "--label", "species", says="species")
    refused("fit", "ring.csv", "-m", "kpca", "--label", "9", says="9")
    refused("fit", "ring.csv", "-m", "kpca", "--target", "height", says="height")
    refused("fit", "ring.csv", "-m", "kpca", "--labels", "none.txt", says="none.txt")
    write("few.txt", "a\nb\n")
    refused("fit", "ring.csv", "-m", "kpca", "--labels", "few.txt", says="few.txt: has 2 labels")


@test
def test_unreadable_path():
    refused("fit", "no.csv", "-m", "kpca", status=1, says="no.csv")
    os.mkdir("folder.csv")
    refused("fit", "folder.csv", "-m", "kpca", status=1, says="folder.csv")
    refused("info", "no.model", status=1, says="no.model: cannot open")
    ring(20)
    refused("transform", "no.model", "ring.csv", status=1, says="no.model")
    refused("info", "ring.csv", status=1, says="ring.csv")


@test
def test_damaged_models():
    ring_model()
    whole = pathlib.Path("ring.model").read_bytes()
    draw = random.Random(5)
    for kind in ["short", "flip", "foreign", "empty"]:
        for _ in range(4):
            data = bytearray(whole)
            if kind == "short":
                data = data[:draw.randrange(1, len(data))]
            elif kind == "flip":
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            elif kind == "foreign":
                data = bytearray(draw.randbytes(500))
            else:
                data = bytearray()
            pathlib.Path("bad.model").write_bytes(data)
            refused("transform", "bad.model", "ring.csv", status=1, says="bad.model")


@test
def test_libsvm_text():
    def pairs(text):
        return [line.split() for line in text.splitlines()]
    ring_model()
    _, f = numbers(mercer("transform", "ring.model", "ring.csv").out)
    mercer("transform", "ring.model", "ring.csv", "-o", "f.svm")
    lines = pairs(pathlib.Path("f.svm").read_text())
    assert all(line[0] == "0" for line in lines)
    assert np.array_equal([[float(p.split(":")[1]) for p in line[1:]] for line in lines], f)
    # Features come back from it, also through a pipe, where the model knows their number.
    straight = mercer("inverse", "ring.model", "f.svm").out
    pipe = mercer("inverse", "ring.model", "-", "--format", "libsvm",
                  stdin=pathlib.Path("f.svm").read_bytes())
    assert pipe.out == straight and len(straight.splitlines()) == len(f) + 1
    write("wide.svm", "0 1:1 99:1\n")
    refused("inverse", "ring.model", "wide.svm", status=1, says="wide.svm:1: index 99")
    # Labels: numbers stay, words are refused and leave no file; targets are numbers in front.
    write("l.csv", "a,b,label\n1,0,7\n0,2,-1\n")
    assert mercer("scale", "l.csv", "--scale", "none", "--output-format", "libsvm").out == "7 1:1\n-1 2:2\n"
    write("w.csv", "a,b,label\n1,0,yes\n0,2,no\n")
    refused("scale", "w.csv", "-o", "w.svm", status=1, says="'yes' is not a number")
    assert not os.path.exists("w.svm")
    write("t.csv", "a,target,b\n1,0.1,0\n0,3,2\n")
    mercer("scale", "t.csv", "--scale", "none", "-o", "t.svm.gz", "--quiet")
    assert gzip.open("t.svm.gz", "rt").read() == "0.1 1:1\n3 2:2\n"
    result = json.loads(mercer("scale", "t.svm.gz", "--scale", "unit", "-o", "u.csv", "--json").out)
    assert result["labels"] == "values from the labels in front" and result["columns"] == 2
    assert pathlib.Path("u.csv").read_text() == "target1,x1,x2\n0.1,1,0\n3,0,1\n"
    assert len(pairs(mercer("generate", "circle", "--rows", 5, "--format", "libsvm").out)) == 5
    write("q.svm", "1 qid:1 1:2\n")
    done = mercer("scale", "q.svm", "--scale", "none")
    assert "qid" in done.err and done.out == "label,x1\n1,2\n"


@test
def test_labels_by_position_and_from_a_file():
    x = cloud(4, 3)
    write("x.csv", "".join(f"{a!r},red{i},{b!r}\n" for i, (a, b, _) in enumerate(x.tolist())))
    result = report("fit", "x.csv", "-m", "kpca", "--label", "2", "-n", 2)
    assert result["columns"] == 2 and "4" not in str(result["columns"])
    table("y.csv", x, "abc")
    write("labels.txt", "u\nv\nu\nv\n")
    result = report("fit", "y.csv", "-m", "kpca", "--labels", "labels.txt", "-n", 2, "-o", "y.model")
    assert "labels.txt" in result["labels"]
    kept = mercer("transform", "y.model", "y.csv", "--labels", "labels.txt", "--keep-label").out
    assert [line.split(",")[0] for line in kept.splitlines()[1:]] == ["u", "v", "u", "v"]


# First line, lines below, options; what the first line is, and a word of the notice if there is one.
HEADERS = [
    ("2019,2020,kind", "1.5,2.5,a|2,3,b", "--label kind", "names", None),
    ("2019,2020,kind", "1.5,2.5,a|2,3,b", "--label 3", "row", "no other row is of class 'kind'"),
    ("2019,2020,kind", "1.5,2.5,a|2,3,kind", "--label 3", "row", None),
    ("2019.5,2020,kind", "1.5,2.5,a|2,3,b", "--label 3", "row", None),
    ("7,7,kind", "1.5,2.5,a|2,3,b", "--label 3", "row", None),
    ("2019,2020,kind", "1.5,2.5,a|2,3,b", "--label 3 --header yes", "names", None),
    ("2019,2020,kind", "1.5,2.5,a|2,3,b", "--label 3 --header no", "row", None),
    ("kind,2019,2020", "a,1.5,2.5|b,2,3", "--label kind", "names", None),
    ("2019,2020,kind", "1.5,2.5,7|2,3,8", "--target kind", "names", None),
    ("2019,2020,2021,2022", "1,2,3,4|5,6,7,8", "--target 2022,2021", "names", None),
    ("2019,2020,2021", "1,2,3|4,5,6", "--label 2021", "names", None),
    ("2019,2020,label", "1.5,2.5,a|2,3,b", "", "names", "2 of its 3 cells are numbers"),
    ("2019,2020,target", "1.5,2.5,3|2,3,4", "", "names", "2 of its 3 cells are numbers"),
    ("2019,2020,label", "1.5,2.5,a|2,3,b", "--header no --label 3", "row", None),
    ("1,2,3", "1,2,4|4,5,6", "--label 3", "row", "counts up by one"),  # 3 is a position
    ("0,1,2,3", "5,1,7,2|6,0,8,1|9,1,3,4", "--label 2", "row", "counts up by one"),
    ("0,1,2", "1,2,4|4,5,6", "", "row", "counts up by one"),
    ("0,1,2", "1,2,4|4,5,6", "--header yes", "names", None),
    ("0,1,2", "1,2,4|4,5,6", "--header no", "row", None),
    ("0,1", "1,2|4,5", "", "row", "counts up by one"),
    ("1,2", "1,2|4,5", "", "row", "counts up by one"),
    ("2,3", "1,2|4,5", "", "row", None),
    ("2019,2020,2021", "1,2,3|4,5,6", "", "row", "counts up by one"),
    ("2,1,0", "1,2,3|4,5,6", "", "row", None),
    ("0,1,2,a", "1,2,3,b|4,5,6,a", "--label 4", "row", "counts up by one"),
    ("0", "1|2", "", "row", None),
    ("0", "1|2", "--header yes", "names", None),
    ("5.1,3.5,setosa", "4.9,3,virginica|1,2,virginica", "--label 3", "row", None),
    ("x,y,2010", "1,2,3|4,5,6", "", "names", "1 of its 3 cells is a number"),
    ("x,y", "1,2|3,4", "", "names", None),
    ('"2019","2020"', "1,2|3,4", "", "names", "2 of its 2 cells are numbers"),
    ('"0","1"', '"1","2"|"3","4"', "", "row", "counts up by one"),
    ('"2019","2020","kind, sort"', '1,2,a|3,4,b', "--label 'kind, sort'", "names", None),
    ('"20""19",2020,kind', "1,2,a|3,4,b", "--label kind", "names", None),
    ('2019 , 2020 , kind', "1,2,a|3,4,b", "--label kind", "names", None),
    # name: makes a number a name, position: makes it none.
    ("1,2,3", "1,2,4|4,5,6", "--label name:3", "names", None),
    ("1,2,3", "1,2,4|4,5,6", "--target name:3,name:2", "names", None),
    ("2019,2020,2021", "1,2,3|4,5,7", "--label position:3 --header no", "row", None),
    ("a,2019,2020", "b,1,2|c,3,4", "--columns name:2019,name:2020", "names", None),
    ("a,2019,2020", "b,1,2|c,3,4", "--drop 1,name:2019", "names", None),
    # A word that is not data, or a text, beside whole numbers that differ.
    ("a,2019,2020,2021", "b,1,2,3|c,4,5,6", "--drop 1", "row", "counts up by one"),
    ("a,2019,2020,2021", "b,1,2,3|c,4,5,6", "--drop position:1", "row", "counts up by one"),
    ("a,2019,2020,2021", "b,1,2,3|c,4,5,6", "--columns 2-4", "row", "counts up by one"),
    ("a,2019,2020,2021", "b,1,2,3|c,4,5,6", "--columns 2-", "row", "counts up by one"),
    ("a,2019,2020,2021", "b,1,2,3|c,4,5,6", "--columns 2,3,4", "row", "counts up by one"),
    ("a,2019,2020", "b,1,2|c,3,4", "--drop 1", "row", "whole and differ"),
    ("a,2019,2020", "b,1,2|c,3,4", "--columns 2,3", "row", "whole and differ"),
    ("a,2019,2020", "b,1,2|c,3,4", "--id 1", "row", "whole and differ"),
    ("a,2019,2020", "b,1,2|c,3,4", "--groups 1", "row", "whole and differ"),
    ("a,2019", "b,1|c,3", "--id 1", "row", "whole and differ"),
    (",2019,2020", "b,1,2|c,3,4", "--id 1", "row", "whole and differ"),
    ("a,2019,2020", "b,1,2|c,3,4", "--encode onehot", "row", "whole and differ"),
    ("a,2019,2020,kind", "b,1,2,u|c,3,4,v|d,5,6,v", "--id 1 --label 4", "row", "whole and differ"),
    ("a,2019,2020", "b,1,2|c,3,4", "--drop 1 --header no", "row", None),
    ("a,2019,2020", "b,1,2|c,3,4", "--drop 1 --header yes", "names", None),
    ("a,2019.5,2020", "b,1,2|c,3,4", "--drop 1", "row", None),
    ("a,7,7", "b,1,2|c,3,4", "--drop 1", "row", None),
    ("2024-01-02,7,9", "2024-01-03,1,2|2024-01-04,3,4", "--drop 1", "row", None),
    ("NA,7,9", "1,1,2|3,3,4", "--missing mean", "row", None),
    # Words for missing values are no names, unless a word beside them is one.
    ("NA,1.5,2", "1,2,3|4,5,6", "--missing mean", "row", None),
    ("?,1.5,a", "1,2,b|4,5,a", "--missing mean --label 3", "row", None),
    ("NA,NA", "1,2|4,5", "--missing mean", "row", None),
    ("NA,a", "1.5,b|2,a|3,b", "--missing mean --label 2", "row", "a word for a missing value"),
    ("NA,a", "NA,b|2,a|3,b", "--missing mean --label 2", "row", "a word for a missing value"),
    ("NA,a", "1.5,b|2,a|3,b", "--missing mean --label 2 --header no", "row", None),
    ("NA,EU", "1,2|3,5", "--missing mean", "names", None),
    ("NA,EU", "1,2|3,5", "", "names", None),
    ("NA,kind", "1,a|3,b", "--label kind", "names", None),
    ("NA,kind", "1,a|3,b", "--label 2 --header yes", "names", None),
]


@test
def test_missing_value_in_the_first_line():
    """Without --missing it is an error there as in every other line, and not a name."""
    for first, column in (("NA,1.5,2", 1), ("1.5,?,2", 2), ("1,2,null", 3)):
        write("t.csv", f"{first}\n1,2,3\n4,5,6\n")
        refused("fit", "t.csv", "-m", "pca", status=1, says=[f"t.csv:1: column {column}", "--missing"])
    write("t.csv", "NA,a\n1.5,b\n2,a\n")
    refused("fit", "t.csv", "-m", "pca", "--label", 2, status=1, says=["t.csv:1: column 1", "--missing"])


@test
def test_a_column_that_two_ways_mean():
    x = cloud(20, 3)
    table("t.csv", np.c_[x[:, :2], np.arange(20) % 2], names=["a", "b", "2"])
    for option in ("--label", "--target"):
        fit = ("fit", "t.csv", "-m", "kpls", option)
        refused(*fit, 2, status=2, says=["t.csv: '2'", "column 3", "column 'b'", "name:2", "position:2"])
        assert "'2'" in report(*fit, "name:2")["labels"]
        assert "'2'" in report(*fit, 3)["labels"]
        assert "'2'" in report(*fit, "position:3")["labels"]
        refused(*fit, "name:c", status=2, says=["no column 'name:c'", "a, b, 2"])
        refused(*fit, "position:4", status=2, says=["no column 'position:4'"])
    assert "'b'" in report("fit", "t.csv", "-m", "kpls", "--target", "position:2")["labels"]
    assert "'b'" in report("fit", "t.csv", "-m", "kpls", "--target", "b")["labels"]
    refused("fit", "t.csv", "-m", "kpls", "--target", "a,2", status=2, says=["'2'", "name:2"])
    assert report("fit", "t.csv", "-m", "kpls", "--target", "a,name:2")["columns"] == 1
    # One column in both ways, a name that is no position, and a table without names.
    table("same.csv", x, names=["a", "2", "9"])
    for column in (2, 9):
        assert f"'{column}'" in report("fit", "same.csv", "-m", "kpls", "--target", column)["labels"]
    table("plain.csv", x)
    assert report("fit", "plain.csv", "-m", "kpls", "--target", "position:2")["columns"] == 2
    # Names that are written like the ways to write names, and like lists.
    table("odd.csv", x, names=["name:2", "b", "2"])
    refused("fit", "odd.csv", "-m", "kpls", "--target", "name:2", status=2, says=["column 1", "column '2'"])
    assert "'name:2'" in report("fit", "odd.csv", "-m", "kpls", "--target", "name:name:2")["labels"]
    write("list.csv", '"a,b",a,b,c\n' + "".join(f"{i},{i * i},{i % 7},{i % 3}\n" for i in range(20)))
    refused("fit", "list.csv", "-m", "kpls", "--target", "a,b", status=2, says=["'a,b'", "name:a,b"])
    assert "'a,b'" in report("fit", "list.csv", "-m", "kpls", "--target", "name:a,b")["labels"]
    assert report("fit", "list.csv", "-m", "kpls", "--target", "position:2,position:3")["columns"] == 2
    # New rows are asked in the same way.
    mercer("fit", "t.csv", "-m", "kpls", "--target", "name:2", "-o", "t.model", "--quiet")
    refused("transform", "t.model", "t.csv", "--target", 2, "--keep-label", status=2, says="position:2")
    refused("evaluate", "t.csv", "-m", "kpls", "--label", 2, status=2, says="position:2")


@test
def test_header_of_numbers():
    """Every first line in some dresses: line ends, a byte order mark, tabs, gzip, a pipe."""
    dresses = ("crlf", "cr", "bom", "gz", "pipe", "tsv", "unfinished")
    for i, (first, below, words, kind, notice) in enumerate(HEADERS):
        words = shlex.split(words)
        text = "\n".join([first, *below.split("|")]) + "\n"
        for dress in ("plain", dresses[i % 7], dresses[(i + 3) % 7]):
            if dress == "tsv" and '"' in first:
                continue
            data, name, stdin = text, "t.csv", b""
            if dress in ("crlf", "cr"):
                data = text.replace("\n", "\r\n" if dress == "crlf" else "\r")
            if dress == "tsv":
                data, name = text.replace(",", "\t"), "t.tsv"
            data = data.encode("utf-8-sig" if dress == "bom" else "utf-8")
            if dress == "gz":
                data, name = gzip.compress(data), "t.csv.gz"
            if dress == "unfinished":
                data = data[:-1]
            if dress == "pipe":
                stdin, name = data, "-"
            else:
                pathlib.Path(name).write_bytes(data)
            result = report("fit", name, "-m", "pca", *words, stdin=stdin)
            said = " ".join(result["notices"])
            about = f"{dress}: {first!r} {words}: {result['rows']} rows; {said}"
            assert result["rows"] == len(below.split("|")) + (kind == "row"), about
            assert notice in said if notice else "header" not in said, about


@test
def test_header_equal_to_the_names_of_the_model():
    x = cloud(50, 3)
    names = ["2019", "2020", "2021"]
    table("x.csv", x, names=[*names[:2], "z"])
    mercer("fit", "x.csv", "-m", "pca", "-n", 2, "-o", "z.model", "--quiet")
    table("y.csv", x, names=names)
    mercer("fit", "y.csv", "-m", "pca", "-n", 2, "--header", "yes", "-o", "y.model", "--quiet")
    assert report("info", "y.model")["column_names"] == names
    wanted = mercer("transform", "y.model", "y.csv")
    assert len(wanted.out.splitlines()) == 51 and not wanted.err, wanted.err
    # In another order and among other columns they are the names, too.
    turned = np.column_stack([x[:, 2], x[:, 0], x[:, 1]])
    table("turned.csv", turned, names=[names[2], *names[:2]])
    assert mercer("transform", "y.model", "turned.csv").out == wanted.out
    lines = pathlib.Path("y.csv").read_text().splitlines()
    write("kind.csv", "\n".join([lines[0] + ",kind", *(line + ",a" for line in lines[1:])]) + "\n")
    assert mercer("transform", "y.model", "kind.csv").out == wanted.out
    piped = mercer("transform", "y.model", "-", stdin=pathlib.Path("y.csv").read_bytes())
    assert piped.out == wanted.out
    # Rows without names are rows, and --header no makes a row of any line.
    table("rows.csv", x)
    assert mercer("transform", "y.model", "rows.csv").out == wanted.out
    assert len(mercer("transform", "y.model", "y.csv", "--header", "no").out.splitlines()) == 52
    # Names that count: in their order they decide, in another a row may have them as well.
    table("c.csv", x, names=["0", "1", "2"])
    mercer("fit", "c.csv", "-m", "pca", "-n", 2, "--header", "yes", "-o", "c.model", "--quiet")
    assert len(mercer("transform", "c.model", "c.csv").out.splitlines()) == 51
    write("row.csv", "2,1,0\n" + "\n".join(lines[1:]) + "\n")
    assert len(mercer("transform", "c.model", "row.csv").out.splitlines()) == 52
    for command in ("predict", "update"):
        words = ["-m", "ikpca", "-n", 2] if command == "update" else ["-m", "pls", "--target", "2021"]
        mercer("fit", "y.csv", *words, "--header", "yes", "-o", "o.model", "--quiet")
        result = report(command, "o.model", "y.csv", *(["-o", "new.model"] if command == "update" else
                                                      ["-o", "new.csv", "--target", "2021"]))
        assert result["rows"] in (50, 100), (command, result["rows"])


@test
def test_header_of_every_file_of_a_call():
    x = cloud(40, 2)
    names = ["1", "2"]
    label = ["a", "b"] * 20
    table("x.csv", x, names=names)
    write("labels.csv", "kind\n" + "\n".join(label) + "\n")
    write("plain.csv", "\n".join(label) + "\n")
    write("usual.csv", "label\n" + "\n".join(label) + "\n")
    words = ("evaluate", "x.csv", "-m", "kpca", "-n", 2, "--head", "knn", "--cv", 4, "--labels")
    yes = ("--header", "yes", "--list-header", "yes")
    wanted = report(*words, "labels.csv", *yes)
    assert wanted["rows"] == 40, wanted
    refused(*words, "plain.csv", *yes, says=["plain.csv", "39 labels", "first line"])
    # A list without a name beside a table with names, and the other way round.
    assert report(*words, "plain.csv", "--header", "yes")["mean"] == wanted["mean"]
    assert report(*words, "plain.csv", "--header", "yes", "--list-header", "no")["mean"] == wanted["mean"]
    table("bare.csv", x)
    for list_header in ((), ("--list-header", "yes")):
        bare = report("evaluate", "bare.csv", *words[2:], "usual.csv", "--header", "no", *list_header)
        assert bare["mean"] == wanted["mean"]
    refused(*words, "usual.csv", "--header", "yes", "--list-header", "no", says=["usual.csv:41", "more labels"])
    np.save("bare.npy", x)
    assert report("evaluate", "bare.npy", *words[2:], "labels.csv", "--list-header",
                  "yes")["mean"] == wanted["mean"]
    table("data.csv", x, names=["p", "q"])
    assert report("evaluate", "data.csv", *words[2:], "plain.csv")["mean"] == wanted["mean"]
    assert report("evaluate", "data.csv", *words[2:], "usual.csv")["mean"] == wanted["mean"]
    refused("evaluate", "data.csv", *words[2:], "labels.csv", says=["labels.csv", "--list-header yes"])
    # Tables of other options, and splits.
    mercer("evaluate", "x.csv", *words[2:8], *yes, "--labels", "labels.csv", "--test", "x.csv",
           "--test-labels", "labels.csv")
    write("split.csv", "0,1\n" + ",".join(map(str, range(20))) + "\n")
    fit = ("-m", "kpca", "-n", 2, "--metric", "columns")
    assert len(report("evaluate", "x.csv", *fit, "--split", "split.csv")["folds"]) == 2
    for given, folds in (("--header", 2), ("--list-header", 1)):
        split = report("evaluate", "x.csv", *fit, "--split", "split.csv", given, "yes")
        assert len(split["folds"]) == folds
    write("names.csv", "one,two\n0,1\n")
    refused("evaluate", "x.csv", *fit, "--split", "names.csv", "--list-header", "no",
            says=["names.csv:1", "'one'"])
    write("few.csv", "1,2\n0.5,0.25\n1,1\n-1,0.5\n")
    for header, points in (("yes", 3), ("no", 4)):
        result = report("fit", "x.csv", "-m", "nystroem", "--landmarks", "few.csv", "--header", header)
        assert result["expansion_points"] == points, result["expansion_points"]
    np.save("few.npy", x[:3])
    assert report("fit", "x.csv", "-m", "nystroem", "--landmarks", "few.npy", "--header",
                  "yes")["expansion_points"] == 3
    refused("fit", "few.npy", "-m", "pca", "--header", "yes", status=2, says=["few.npy", "CSV"])
    refused("fit", "x.csv", "-m", "pca", "--header", "maybe", status=2, says=["yes, no"])
    write("one.csv", "1,2\n")
    refused("fit", "one.csv", "-m", "pca", "--header", "yes", says=["one.csv", "no rows"])
    write("words.csv", "p,q\n1,2\n")
    refused("fit", "words.csv", "-m", "pca", "--header", "no", says=["words.csv:1", "'p'"])
    mercer("fit", "x.csv", "-m", "pca", "-n", 2, "--header", "yes", "-o", "x.model", "--quiet")
    mercer("transform", "x.model", "x.csv", "-o", "f.csv", "--quiet")
    text = pathlib.Path("f.csv").read_text().split("\n", 1)[1]
    write("f.csv", "1,2\n" + text)
    refused("inverse", "x.model", "f.csv", "--header", "yes", says=["f.csv", "'f1'"])
    assert len(mercer("inverse", "x.model", "f.csv", "--header", "no").out.splitlines()) == 42


@test
def test_numbers_that_are_no_classes():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 2))
    y = rng.normal(size=200)
    fit = ("-m", "kpls", "-n", 2)
    table("x.csv", x)
    table("xy.csv", np.column_stack([x, y]), names=["p", "q", "y"])
    table("label.csv", np.column_stack([x, y]), names=["p", "q", "label"])
    write("y.txt", "\n".join(map(repr, y.tolist())) + "\n")
    np.save("xy.npy", np.column_stack([x, y]))
    write("xy.svm", "".join(f"{v!r} 1:{a!r} 2:{b!r}\n" for v, (a, b) in zip(y.tolist(), x.tolist())))
    for command in ("fit", "evaluate", "compare"):
        words = (*fit, "-m", "kpca") if command == "compare" else fit
        for data, options in (("x.csv", ("--labels", "y.txt")), ("xy.csv", ("--label", "y")),
                              ("xy.csv", ("--label", 3)), ("label.csv", ()), ("xy.npy", ("--label", 3)),
                              ("xy.svm", ("--label", "label"))):
            told = refused(command, data, *words, *options, status=1, says=[data, "not all are whole", "--target"])
            # There is no option for a file of values: what can be done is said.
            assert ("put them into the table" in told.err) == ("--labels" in options), told.err
    assert report("fit", "xy.svm", *fit)["rows"] == 200  # without a word they are values
    assert report("fit", "xy.csv", *fit, "--target", "y")["rows"] == 200
    # A single number that is not whole is enough; among words numbers are classes; but a word for
    # what is missing is none.
    for labels, good in ((["1", "2", "1.5"], False), (["1", "2", "3"], True), (["1", "2.0", "3"], True),
                         (["1.5", "2.5", "x"], True), (["1.5", "NA", "2"], False), (["1", "nan", "2"], True),
                         (["1e3", "-7", "+2"], True), (["v1.5", "v2"], True), (["inf", "1.5"], True)):
        write("l.txt", "\n".join((labels * 200)[:200]) + "\n")
        words = ("fit", "x.csv", *fit, "--labels", "l.txt")
        if {"NA", "nan"} & set(labels):
            refused(*words, status=1, says=["l.txt:2", "--unlabelled drop"])
        words = (*words, "--unlabelled", "drop")
        if good:
            assert "notices" in report(*words)
        else:
            refused(*words, status=1, says=["l.txt", "--target"])


@test
def test_many_whole_numbers_as_classes_give_a_notice():
    def notices(rows, classes, word=""):
        table("x.csv", cloud(rows, 2))
        write("l.txt", "".join(f"{word}{i % classes}\n" for i in range(rows)))
        return " ".join(report("fit", "x.csv", "-m", "pca", "--labels", "l.txt")["notices"])
    for rows, most in ((60, 20), (100, 20), (150, 30), (500, 100), (600, 100)):
        assert "--target" not in notices(rows, most), (rows, most)
        said = notices(rows, most + 1)
        assert "--target" in said and f"{most + 1} different numbers" in said, (rows, said)
    assert "--target" not in notices(200, 200, "w")
    write("x.svm", "".join(f"{i} 1:{i}\n" for i in range(100)))
    assert "--target" in " ".join(report("fit", "x.svm", "-m", "pca")["notices"])


@test
def test_model_with_a_column_called_label():
    table("x.csv", cloud(20, 2), ["label", "b"])
    mercer("fit", "x.csv", "-m", "kpca", "-n", 2, "--no-label", "-o", "x.model", "--quiet")
    assert numbers(mercer("transform", "x.model", "x.csv").out)[1].shape == (20, 2)


@test
def test_comma_locale_changes_nothing():
    ring(50)
    plain = mercer("scale", "ring.csv").out
    assert mercer("scale", "ring.csv", env={"LC_ALL": "de_DE.UTF-8"}).out == plain


@test
def test_odd_file_names():
    name = "a b'\n\u00e9.csv"
    ring(30, name=name)
    text = mercer("fit", name, "-m", "kpca", "-n", 2, "-o", "m x.model").out
    assert "'m x.model'" in text
    assert report("fit", name, "-m", "kpca", "-n", 2)["data"] == name
    refused("fit", "no\nsuch.csv", "-m", "kpca", status=1)
    latin = b"caf\xe9.csv"
    os.rename(name.encode(), latin)
    done = subprocess.run([MERCER, "fit", latin, "-m", "kpca", "-n", "2", "--json", "-o", "y.model"],
                          stdout=subprocess.PIPE, timeout=LIMIT)
    assert done.returncode == 0 and json.loads(done.stdout)["components"] == 2
    report("info", "y.model")


if __name__ == "__main__":
    sys.exit(run_tests())
