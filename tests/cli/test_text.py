#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messy tables: separators, decimal marks, encodings, comments, numbers that are not plain, missing values, dates.

test_text.py MERCER [WORD...] [-jN] [--quick]
"""
import datetime
import pathlib
import random
import subprocess
import sys

import numpy as np

from support import MERCER, csv_rows, mercer, refused, report, run_tests, test, write


def read(text, *words, name="t.csv"):
    """The numbers that scale --scale none makes of a text (or bytes), and what it notes."""
    pathlib.Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    done = mercer("scale", name, "--scale", "none", *words)
    rows = csv_rows(done.out)
    header = None
    try:
        [float(cell) for cell in rows[0]]
    except ValueError:
        header = rows.pop(0)
    return header, [[float(cell) for cell in row] for row in rows], done.err


def says_no(text, says, *words, status=1, name="t.csv"):
    pathlib.Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return refused("scale", name, "--scale", "none", *words, says=says, status=status)


@test
def test_separators_are_found():
    wanted = [[1.5, 2, 3], [4.25, 5, 6]]
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "pipes"), (" ", "blanks"), ("   ", "blanks")):
        for header in ("a%sb%sc\n", ""):
            text = (header % (mark, mark) if header else "") + \
                "".join(mark.join(map(str, row)) + "\n" for row in wanted)
            got = read(text)
            assert got[:2] == (["a", "b", "c"] if header else None, wanted), (mark, header, got)
            assert f"read as separated by {name} (--delimiter)" in got[2], got
    assert read("a,b\n1,2\n3,4\n")[2] == ""
    assert read("a:b\n1:2\n3:4\n", "--delimiter", ":")[1] == [[1, 2], [3, 4]]
    assert read("a;b\n1;2\n3;4\n", "--delimiter", "semicolon")[2] == ""
    assert read("a b\n 1\t2 \n3  4\n", "--delimiter", "space")[1] == [[1, 2], [3, 4]]
    # Texts that have separators, too.
    rows = 'name;x;y\n"Smith, J.";1;2\n"Doe, A.";3;4\n'
    assert read(rows, "--drop", "name")[1] == [[1, 2], [3, 4]]
    assert read("tags,x\na;b,1\nc;d,2\n", "--drop", "tags")[1] == [[1], [2]]
    says_no("a;b\n1;2\n3;4;5\n", ["t.csv:3", "3 cells where 2"])
    says_no("full name\nJane Doe\nJohn Roe\n", "is not a number")
    for wrong in ("ab", ".", "5", '"', "é"):
        says_no("a,b\n1,2\n", ["delimiter", "--delimiter"], "--delimiter", wrong, status=2)
    # TSV has tabs, whatever its first lines look like.
    assert read("a;b\tc\n1\t2\n", name="t.tsv")[0] == ["a;b", "c"]


@test
def test_decimal_commas_are_found():
    got = read("a;b\n1,5;2\n-0,25;3e2\n")
    assert got[1] == [[1.5, 2], [-0.25, 300]] and "separated by semicolons, with decimal commas" in got[2], got
    assert read("1,5;2,5\n3,5;4,5\n")[:2] == (None, [[1.5, 2.5], [3.5, 4.5]])
    assert read('a,b\n"1,5","2,25"\n"3,5",4\n')[1] == [[1.5, 2.25], [3.5, 4]]
    assert read("a\tb\n1,5\t2\n", "--decimal", "comma", name="t.tsv")[1] == [[1.5, 2]]
    # 1,065 beside 3,14: the comma is settled. Once it is, a point is no decimal mark.
    assert read("a;b\n1,065;3,14\n2,000;2,7\n")[1] == [[1.065, 3.14], [2, 2.7]]
    says_no("a;b\n1,5;2.5\n3,5;4.5\n", ["t.csv:2", "'1,5' is not a number", "--decimal comma"])
    says_no("a;b\n" + "1;2\n" * 30 + "1,5;2\n", ["t.csv:32", "--decimal comma"])


@test
def test_thousands_are_never_guessed_wrong():
    got = read('a,b\n"1,065",2\n950,3\n"12,345,678",4\n')
    assert got[1] == [[1065, 2], [950, 3], [12345678, 4]] and "thousands separators in 2 cells" in got[2], got
    both = ["may be more than a thousand or have a decimal mark", "--decimal", "--thousands"]
    says_no("a;b\n1,065;2\n2,000;3\n", both)
    assert read("a;b\n1,065;2\n2,000;3\n", "--decimal", "comma")[1] == [[1.065, 2], [2, 3]]
    assert read("a;b\n1,065;2\n2,000;3\n", "--thousands", "comma")[1] == [[1065, 2], [2000, 3]]
    says_no("a;b\n1.065;2,5\n2.000;3,5\n", both)
    assert read("a;b\n1.065;2,5\n2.000;3,5\n", "--thousands", "point")[1] == [[1065, 2.5], [2000, 3.5]]
    says_no("a;b\n1.065;2.000\n2.500;3.125\n", ["'1.065' may be more", "--decimal", "--thousands"])
    # Who says what separates thousands says which mark is left for decimals.
    assert read("a;b\n1.065;2.000\n2.500;3.125\n", "--thousands", "point")[1] == [[1065, 2000], [2500, 3125]]
    assert read("a;b\n1.500.000;2\n2.500;3\n", "--thousands", "point")[1] == [[1500000, 2], [2500, 3]]
    says_no("a;b\n1.065;2.5\n2.000;3.5\n", "'2.5'", "--thousands", "point")
    assert read("a;b\n1.065;2.000\n2.500;3.125\n", "--decimal", "point")[1] == [[1.065, 2], [2.5, 3.125]]
    assert read("a;b\n1.065;0.125\n2.500;3.125\n")[1] == [[1.065, 0.125], [2.5, 3.125]]
    assert read("a,b\n1.065,2.000\n2.500,3.125\n")[1] == [[1.065, 2], [2.5, 3.125]]
    # A number that can be nothing else settles its column.
    assert read("a;b\n1.065,5;2\n2.000;3\n")[1] == [[1065.5, 2], [2000, 3]]
    assert read("a;b\n1,065;2\n2,000,000;3\n")[1] == [[1065, 2], [2000000, 3]]
    for mark in ("'", "\u2019", "\u00a0", "\u202f", "\u2009"):
        assert read(f"a,b\n1{mark}065.5,2\n12{mark}000,3\n")[1] == [[1065.5, 2], [12000, 3]], repr(mark)
    assert read("a,b\n1 065,2\n", "--thousands", "space")[1] == [[1065, 2]]
    # A column that does not agree is refused, also when texts are encoded.
    for words in ([], ["--encode", "onehot"]):
        for cells in ('"1,065"|1234', '"1,065"|"1\'065"', '"1,065"|5%'):
            says_no("a,b\n" + "".join(f"{cell},1\n" for cell in cells.split("|")), "t.csv:2", *words)
        # These commas are decimal ones.
        for cells, wanted in (('"1,065"|"1,06"', [1.065, 1.06]), ('"0,065"|2', [0.065, 2])):
            got = read("a,b\n" + "".join(f"{cell},1\n" for cell in cells.split("|")), *words)
            assert [row[0] for row in got[1]] == wanted and "decimal commas" in got[2], got
        says_no("a;b\n1,065;2\n2,000;3\n", both, *words)
    says_no('a,b\n"1,065",2\n', "is not a number", "--thousands", "none")
    says_no("a,b\n1,2\n", "--thousands", "--decimal", "comma", "--thousands", "comma", status=2)


@test
def test_booleans_and_percent():
    got = read("f,g,p\nTrue,YES,5%\nfalse,no,-7.5 %\nTRUE,no,1e1%\n")
    assert got[1] == [[1, 1, 5], [0, 0, -7.5], [1, 0, 10]], got
    assert "true and yes are read as 1" in got[2] and "percent signs are left out" in got[2]
    says_no("p,q\n5%,1\n7,2\n", ["t.csv:2", "'5%' has a percent sign"])
    says_no("p,q\ntrue,1\n7,2\n", ["t.csv:2", "'true' is not a number"])
    says_no("p,q\ntrue,1\nno,2\n", ["t.csv:2", "'true' is not a number"])
    # Without a header, too; one-hot makes no columns of them.
    assert read("true,5%\nfalse,6%\n")[:2] == (None, [[1, 5], [0, 6]])
    assert read("f,c\ntrue,u\nfalse,v\n", "--encode", "onehot")[:2] == (["f", "c=u", "c=v"], [[1, 1, 0], [0, 0, 1]])
    assert read("f\nyes\nno\nperhaps\n", "--encode", "onehot")[0] == ["f=no", "f=perhaps", "f=yes"]
    # Targets as data; classes are texts.
    rows = scale_rows('x,y\n1,"1,065"\n2,"2,000"\n', "--target", "y")
    assert rows == [["y", "x"], ["1065", "1"], ["2000", "2"]]
    assert scale_rows("x,y\n1,yes\n2,no\n", "--label", "y")[1] == ["yes", "1"]


def scale_rows(text, *words):
    write("t.csv", text)
    return csv_rows(mercer("scale", "t.csv", "--scale", "none", *words).out)


@test
def test_new_rows_are_read_like_the_first():
    rows = [f'"{1000 + 37 * i:,}",{i % 7}%,{"yes" if i % 3 else "no"},2024-01-{i + 1:02d},{i * i % 11}' for i in range(30)]
    write("train.csv", "big,share,flag,day,x\n" + "\n".join(rows) + "\n")
    mercer("fit", "train.csv", "-m", "pca", "-n", 2, "--encode", "dates", "-o", "m.model")
    mercer("truncate", "m.model", "-n", 2, "-o", "c.model")
    _, wanted, _ = read("big,share,flag,day,x\n" + "\n".join(rows) + "\n", "--encode", "dates")
    write("plain.csv", "big,share,flag,day,x\n" + "\n".join(",".join(map(repr, row)) for row in wanted) + "\n")
    mercer("fit", "plain.csv", "-m", "pca", "-n", 2, "-o", "p.model")
    features = np.array(csv_rows(mercer("transform", "p.model", "plain.csv").out)[1:], float)
    for model in ("m.model", "c.model"):
        got = np.array(csv_rows(mercer("transform", model, "train.csv").out)[1:], float)
        assert np.allclose(got, features, atol=1e-9), model
        german = "big;share;flag;day;x\n" + "\n".join(
            f"{str(1000 + 37 * i)[:-3]}.{str(1000 + 37 * i)[-3:]};{i % 7},0%;{'Yes' if i % 3 else 'No'};2024-01-{i + 1:02d};{i * i % 11}"
            for i in range(30)) + "\n"
        write("german.csv", german)
        got = np.array(csv_rows(mercer("transform", model, "german.csv").out)[1:], float)
        assert np.allclose(got, features, atol=1e-9), model
    for row, says in (("5,5%,yes,2024-01-01,x1", "'x1' is not a number"), ("5,5,yes,2024-01-01,1", "'5' is not a percentage"),
                      ("5,5%,1,2024-01-01,1", "'1' is not a boolean"), ("5,5%,no,7,1", "'7' is not a date"),
                      ('5,5%,no,2024-01-01,"1,065"', "is not a number"), ("5,5%,no,2024-02-30,1", "is not a date")):
        write("new.csv", "big,share,flag,day,x\n" + row + "\n")
        refused("transform", "m.model", "new.csv", status=1, says=["new.csv:2", says])
    # A target keeps its dress, too.
    mercer("fit", "train.csv", "-m", "pls", "-n", 1, "--target", "big", "--columns", "x,share", "-o", "t.model")
    assert report("predict", "t.model", "train.csv", "-o", "o.csv")["rmse"] > 0
    assert csv_rows(mercer("transform", "t.model", "train.csv", "--keep-label").out)[1][0] == "1000"


@test
def test_encodings():
    text = "Größe;Ort\n1,5;Łódź\n2,5;Köln\n"
    latin = "Größe;Preis €\n1,5;2\n2,5;3\n"
    assert read(latin.encode("cp1252"), "--encoding", "latin1")[0] == ["Größe", "Preis €"]
    says_no(latin.encode("cp1252"), ["t.csv:1", "byte 0xf6 is not UTF-8", "--encoding latin1"])
    for code in ("utf-16", "utf-16-le", "utf-16-be"):
        for words in ([], ["--encoding", "utf16"]):
            if code != "utf-16" and not words:
                says_no(text.encode(code), ["zero bytes", "--encoding utf16"])
                continue
            pathlib.Path("u.csv").write_bytes(text.encode(code))
            rows = csv_rows(mercer("scale", "u.csv", "--scale", "none", "--label", "Ort", *words).out)
            assert rows == [["Ort", "Größe"], ["Łódź", "1.5"], ["Köln", "2.5"]], (code, words, rows)
    long = "x;y;" + "ö" * 50 + "\n" + "".join(f"{i},5;{i};é{'𝄞' * (i % 40)}\n" for i in range(20000))
    for code, words in (("utf-16", []), ("utf-16-be", ["--encoding", "utf16"])):
        pathlib.Path("long.csv").write_bytes(long.encode(code))
        rows = csv_rows(mercer("scale", "long.csv", "--scale", "none", "--id", "3", *words).out)
        assert rows[1:] == [["é" + "𝄞" * (i % 40), f"{i}.5", str(i)] for i in range(20000)], code
    # Invalid bytes in classes, ids and texts, with their line; what is left out may be anything.
    for words in (["--label", "b"], ["--id", "b"], ["--encode", "onehot"]):
        says_no(b"a,b\n1,x\n2,y\xff\n", ["t.csv:3", "byte 0xff"], *words)
    assert read(b"a,b\n1,x\n2,y\xff\n", "--drop", "b")[1] == [[1], [2]]
    for bad in (b"\xc3(", b"\xe2\x82", b"\xf0\x28\x8c\xbc", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80"):
        says_no(b"a,b\n1,x" + bad + b"\n", "is not UTF-8", "--label", "b")
    says_no("a,b\n1,2\n".encode("utf-16-le")[:-1], "UTF-16", "--encoding", "utf16")
    says_no(b"\xff\xfe" + "a\ud800b,c\n".encode("utf-16-le", "surrogatepass"), "half a character")
    for text, words in (("1,2\n", ["--encoding", "latin1"]), ("1,2\n", ["--decimal", "comma"]), ("1,2\n", ["--comment", "#"])):
        np.save("n.npy", np.ones((2, 2)))
        refused("scale", "n.npy", *words, status=2, says=["n.npy: is neither CSV nor TSV", words[0]])


@test
def test_comments_and_blank_lines():
    assert read("# made by hand\n\na,b\n# more\n1,2\n\n \n3,4\n#\n", "--comment", "#")[1] == [[1, 2], [3, 4]]
    assert read("\n\na,b\n1,2\n\n3,4\n\n")[1] == [[1, 2], [3, 4]]
    assert read("%a\na;b\n%;\n1,5;2\n", "--comment", "%")[1] == [[1.5, 2]]
    says_no("a\n1\n\n2\n", ["t.csv:3", "a blank line inside a table of one column"])
    says_no("a,b\n1,2\n# note\n3,4\n", ["t.csv:3"])
    for wrong in ("##", "a", "1", '"'):
        says_no("a,b\n1,2\n", ["comment", "--comment"], "--comment", wrong, status=2)


@test
def test_missing_values():
    text = "a,b\n1,2\n-,4\n-999,.\n5,9\n9,-999.0\n"
    assert read(text, "--na=-,.,-999", "--missing", "mean")[1] == [[1, 2], [5, 4], [5, 5], [5, 9], [9, 5]]
    assert read(text, "--na=-,.,-999", "--missing", "median")[1] == [[1, 2], [5, 4], [5, 4], [5, 9], [9, 4]]
    assert read(text, "--na=-,.,-999", "--missing", "drop")[1] == [[1, 2], [5, 9]]
    says_no(text, ["t.csv:3", "--missing mean"], "--na=-,.,-999")
    # The model keeps the words and the medians.
    rows = np.random.default_rng(3).normal(size=(40, 3)).round(3)
    lines = [["-" if (i + j) % 9 == 0 else repr(float(v)) for j, v in enumerate(row)] for i, row in enumerate(rows)]
    write("g.csv", "a,b,c\n" + "\n".join(",".join(line) for line in lines) + "\n")
    there = np.array([[np.nan if cell == "-" else float(cell) for cell in line] for line in lines])
    filled = np.where(np.isnan(there), np.nanmedian(there, axis=0), there)
    _, got, _ = read("a,b,c\n" + "\n".join(",".join(line) for line in lines) + "\n", "--na", "-", "--missing", "median")
    assert np.array_equal(got, filled)
    mercer("fit", "g.csv", "-m", "pca", "-n", 2, "--na", "-", "--missing", "median", "-o", "m.model")
    assert report("info", "m.model")["missing"] == "median"
    write("f.csv", "a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in filled.tolist()) + "\n")
    assert mercer("transform", "m.model", "g.csv").out == mercer("transform", "m.model", "f.csv").out


@test
def test_fill_values_are_learnt_in_each_training_part():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 2)) + 3
    gone = rng.random(x.shape) < 0.2
    y = x @ [1.0, 2.0] + rng.normal(size=30) * 0.1
    lines = ["a,b,target"] + [",".join(["" if gone[i, j] else repr(float(x[i, j])) for j in range(2)] + [repr(float(y[i]))])
                              for i in range(30)]
    write("holes.csv", "\n".join(lines) + "\n")
    for how, stat in (("mean", np.nanmean), ("median", np.nanmedian)):
        words = ["-m", "pls", "-n", 2, "--missing", how, "--cv", 5, "--save-predictions", "p.csv", "--quiet"]
        mercer("evaluate", "holes.csv", *words)
        rows = csv_rows(pathlib.Path("p.csv").read_text())
        place = {name: j for j, name in enumerate(rows[0])}
        fold = {int(r[place["row"]]): int(r[place["fold"]]) for r in rows[1:]}
        told = {int(r[place["row"]]): float(r[place["prediction"]]) for r in rows[1:]}
        data = np.where(gone, np.nan, x)
        for f in set(fold.values()):
            learn = np.array([i for i in range(30) if fold[i] != f])
            held = np.array([i for i in range(30) if fold[i] == f])
            fill = stat(data[learn], axis=0)
            train, test_ = (np.where(np.isnan(data[k]), fill, data[k]) for k in (learn, held))
            # Two components of two columns: least squares.
            a = np.column_stack([train, np.ones(len(learn))])
            beta = np.linalg.lstsq(a, y[learn], rcond=None)[0]
            wanted = np.column_stack([test_, np.ones(len(held))]) @ beta
            assert np.allclose([told[i] for i in held], wanted, atol=1e-6), (how, f)
        # In the inner folds likewise: whatever stands in a held-out row does not matter for its fold's choice.
        mercer("evaluate", "holes.csv", *words, "--tune", "components=1,2")
        mercer("compare", "holes.csv", "-m", "pls", "-m", "kpls", "--missing", how, "--cv", 5, "--quiet")


@test
def test_robust_scaling():
    x = np.random.default_rng(2).standard_cauchy(size=(37, 3))
    x[:, 2] = 5
    write("r.csv", "\n".join(",".join(map(repr, row)) for row in x.tolist()) + "\n")
    got = np.array([[float(c) for c in row] for row in csv_rows(mercer("scale", "r.csv", "--scale", "robust").out)])
    low, middle, high = np.percentile(x, [25, 50, 75], axis=0)
    wanted = (x - middle) / np.where(high > low, high - low, 1)
    assert np.allclose(got, wanted, rtol=1e-12, atol=1e-12)
    mercer("fit", "r.csv", "-m", "kpca", "-n", 2, "--scale", "robust", "-o", "m.model")
    assert report("info", "m.model")["scale"] == "robust"
    assert csv_rows(mercer("inverse", "m.model", "-", stdin=mercer("transform", "m.model", "r.csv").out.encode()).out)


@test
def test_dates():
    days = lambda *when: (datetime.datetime(*when) - datetime.datetime(1970, 1, 1)).total_seconds() / 86400
    says_no("d,x\n2024-01-31,1\n", ["'2024-01-31' is a date", "--drop", "--id", "--encode dates"])
    cells = [("2024-01-31", (2024, 1, 31)), ("1969-12-31T06:00", (1969, 12, 31, 6)), ("2000-02-29 23:59:30", (2000, 2, 29, 23, 59, 30)),
             ("1900-03-01T00:00:00Z", (1900, 3, 1)), ("2024-06-01T02:00:00+02:00", (2024, 6, 1))]
    _, got, note = read("d,x\n" + "".join(f"{text},1\n" for text, _ in cells), "--encode", "dates")
    assert np.allclose([row[0] for row in got], [days(*when) for _, when in cells], rtol=0, atol=1e-9)
    assert "dates are read as days since 1970-01-01" in note
    for text, form in (("31.1.2024", "%d.%m.%Y"), ("01/31/24", "%m/%d/%y"), ("Jan 31, 2024", "%b %d, %Y"),
                       ("31 january 2024 00:00:00", "%d %b %Y %H:%M:%S")):
        _, got, _ = read(f'd,x\n"{text}",1\n', "--encode", f"dates:format={form}")
        assert got == [[19753, 1]], (text, got)
        _, got, _ = read(f'd,x,c\n"{text}",1,u\n"{text}",2,v\n', "--encode", f"dates:format={form},onehot")
        assert got == [[19753, 1, 1, 0], [19753, 2, 0, 1]], (text, got)
    for wrong in ("2023-02-29", "2024-13-01", "2024-00-10", "24-01-01", "2024-1-1", "2024-01-01T25:00"):
        says_no(f"d,x\n2024-01-31,1\n{wrong},2\n", "t.csv", "--encode", "dates")
    says_no("d,x\n2024-01-31,1\n7,2\n", ["is a date, but other cells"], "--encode", "dates")
    for wrong in ("dates:format=%Y%m%d", "dates:format=%m.%d", "dates:format=%Q-%Y", "dates:", "date", "onehot:max=0", "onehot:min=3", ""):
        says_no("d,x\n2024-01-31,1\n", "encode", "--encode", wrong, status=2)


@test
def test_one_hot_reports_and_refuses():
    rows = "".join(f"{i},{'ABC'[i % 3]},s{i % 12}\n" for i in range(40))
    says_no("x,c,s\n" + rows, ["column 's' has 12 values in 40 rows", "--drop", "--encode onehot:max=12"], "--encode", "onehot")
    header, _, note = read("x,c,s\n" + rows, "--encode", "onehot:max=12", "--drop", "x")
    assert len(header) == 15 and "column 'c': 3 values become columns of 0 and 1 (A 14, B 13, C 13)" in note, note
    assert "column 's': 12 values" in note
    says_no("x,c,s\n" + rows, "has 12 values", "--encode", "onehot:max=11")
    many = "".join(f"{i},s{i % 51}\n" for i in range(1000))
    says_no("x,s\n" + many, "has 51 values in 1000 rows", "--encode", "onehot")
    assert len(read("x,s\n" + many.replace("s50", "s49"), "--encode", "onehot")[0]) == 51
    # FRICTION.md: 121 texts like 1,065 were 121 columns.
    text = "p,x\n" + "".join(f'"{1000 + 8 * i:,}",{i}\n' for i in range(121))
    assert read(text, "--encode", "onehot")[0] == ["p", "x"]


@test
def test_texts_without_encode_are_refused_with_the_ways_out():
    text = "x,the city,kind\n" + "".join(f"{i}.5,{'Ulm Bonn'.split()[i % 2]},{'ab'[i % 2]}\n" for i in range(8))
    write("t.csv", text)
    refused("fit", "t.csv", "-m", "kpca", status=1, says=["t.csv:2", "'the city'", "--label 'the city'", "--encode onehot"])
    for command in (["fit", "t.csv", "-m", "kpls"], ["evaluate", "t.csv", "-m", "kpls"], ["scale", "t.csv"]):
        said = refused(*command, "--label", "kind", status=1,
                       says=["t.csv:2", "'the city'", "--drop 'the city'", "--encode onehot"])
        assert "--label" not in said.err, said.err  # the classes are known
        assert "--encode" not in refused(*command, "--label", "kind", "--encode", "dates", status=1, says="'the city'").err
    # Both ways out work; of a model everything about columns is fixed.
    mercer("fit", "t.csv", "-m", "kpls", "--label", "kind", "--encode", "onehot", "-n", 1)
    mercer("fit", "t.csv", "-m", "kpls", "--label", "kind", "--drop", "the city", "-n", 1, "-o", "m.model")
    write("new.csv", "x\nUlm\n")
    assert "--encode" not in refused("transform", "m.model", "new.csv", "--no-label", status=1, says="new.csv:2").err


# ---- Files as other programs write them ----

EXPORTS = {
    "pandas": (",a,b,when\n0,1.5,True,2024-01-01\n1,,False,2024-01-02\n2,2.5,True,2024-01-03\n", ["--drop", "when", "--missing", "mean"]),
    "r_csv2": ('"";"a";"b";"when"\n"1";1,5;TRUE;"x"\n"2";NA;FALSE;"y"\n"3";2,5;TRUE;"z"\n', ["--drop", "when", "--missing", "mean"]),
    "german": ("a;b;when\r\n1,5;1;01.01.2024\r\n;0;02.01.2024\r\n2,5;1;03.01.2024\r\n", ["--drop", "when", "--missing", "mean"]),
    "french": ("\ufeffa;b;when\r\n1,5;1;x\r\n;0;y\r\n2,5;1;z\r\n", ["--drop", "when", "--missing", "mean"]),
    "sqlite_list": ("a|b|when\n1.5|1|x\n|0|y\n2.5|1|z\n", ["--drop", "when", "--missing", "mean"]),
    "sqlite_csv": ("a,b,when\r\n1.5,1,x\r\n,0,y\r\n2.5,1,\"z, z\"\r\n", ["--drop", "when", "--missing", "mean"]),
    "excel": ("\ufeffa;b;when\r\n1,5;WAHR;x\r\n;FALSCH;y\r\n2,5;WAHR;z\r\n", None),
    "excel_text": ("a\tb\twhen\r\n1.5\t1\tx\r\n\t0\ty\r\n2.5\t1\tz\r\n", ["--drop", "when", "--missing", "mean"]),
    "spaces": ("a    b    c\n1.5  1    9\nNA   0    9\n2.5  1    9\n", ["--drop", "c", "--missing", "mean"]),
}


@test
def test_exports_of_other_programs():
    for name, (text, words) in EXPORTS.items():
        data = text.encode("utf-16" if name == "excel_text" else "utf-8")
        if words is None:  # words of another language are texts
            says_no(data, "'WAHR' is not a number", "--drop", "when", "--missing", "mean")
            continue
        pathlib.Path("e.csv").write_bytes(data)
        rows = csv_rows(mercer("scale", "e.csv", "--scale", "none", *words).out)
        got = [[float(cell) for cell in row[-2:]] for row in rows[1:]]
        assert got == [[1.5, 1], [2, 0], [2.5, 1]], (name, rows)


@test
def test_a_hundred_odd_files():
    """Files whose values are known: read right, or refused; never read as something else."""
    rng = random.Random(17)
    right = wrong = 0
    for k in range(160):
        n, d = rng.randint(1, 40), rng.randint(1, 6)
        mark = rng.choice([",", ";", "\t", "|"])
        decimal = rng.choice([".", ","])
        group = rng.choice(["", "", "", "'", "\u00a0", "." if decimal == "," else ","])
        if group == "." and mark != ";":
            group = ""  # whole numbers with points for thousands are plain numbers elsewhere
        end = rng.choice(["\n", "\r\n", "\r"])
        code = rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"])
        big = rng.random() < 0.4
        places = rng.choice([0, 1, 2, 3, 6])
        values = [[round(rng.gauss(0, 1) * (5000 if big else 3), places) for _ in range(d)] for _ in range(n)]

        def cell(v):
            text = f"{abs(v):,.{places}f}".replace(",", "\x01").replace(".", decimal).replace("\x01", group)
            text = ("-" if v < 0 else "") + text
            return f'"{text}"' if mark in text or rng.random() < 0.1 else text
        lines = [[cell(v) for v in row] for row in values]
        header = rng.random() < 0.7
        if header:
            lines.insert(0, [rng.choice(["x", "größe", "a b", '"q;,|"']) + str(j) for j in range(d)])
            lines[0] = [f'"q;,|{j}"' if c.startswith('"') else c for j, c in enumerate(lines[0])]
        damage = rng.choice([None] * 6 + ["ragged", "nul", "quote", "blank", "bad", "comment", "text"])
        if damage == "ragged" and n > 1:
            lines[-1] = lines[-1] + ["1"]
        if damage == "text":
            lines[-1][rng.randrange(d)] = "n/k"
        text = end.join(mark.join(line) for line in lines) + end
        if damage == "quote":
            text += '"1'
        if damage == "blank":
            text = end * 2 + text + end
        if damage == "comment":
            text = "# note" + end + text
        data = text.encode(code, "replace" if code == "cp1252" else "strict")
        if damage == "nul":
            data += b"1\x002"
        if damage == "bad" and header:
            data = b"\xff\xfe\xfd" + data
        pathlib.Path("odd.csv").write_bytes(data)
        words = ["--encoding", "latin1"] if code == "cp1252" else []
        if damage == "comment":
            words += ["--comment", "#"]
        words += ["--header", "yes" if header else "no"] if rng.random() < 0.3 else []
        done = mercer("scale", "odd.csv", "--scale", "none", "--id", "none", *words, status=(0, 1))
        shown = (k, mark, decimal, group, end, code, damage, header, data[:200], done.err)
        if done.returncode:
            assert done.err.startswith("mercer: ") and done.err.count("\n") == 1, shown
            wrong += 1
            continue
        assert damage in (None, "blank", "comment") or (damage == "ragged" and n == 1) or (damage == "bad" and not header), shown
        rows = csv_rows(done.out)
        rows = rows[1:] if header else rows
        got = [[float(c) for c in row] for row in rows]
        assert got == values, (shown, got[:3], values[:3])
        right += 1
    assert right >= 60, (right, wrong)


@test
def test_pipes():
    rows = "a;b\n" + "".join(f"{i},5;{2 * i},25\n" for i in range(50))
    write("t.csv", rows)
    mercer("fit", "t.csv", "-m", "pca", "-n", 1, "-o", "m.model")
    wanted = mercer("transform", "m.model", "t.csv").out
    assert mercer("transform", "m.model", "-", stdin=rows.encode()).out == wanted
    assert mercer("scale", "-", "--scale", "none", stdin=rows.encode()).out.splitlines()[1] == "0.5,0.25"
    with subprocess.Popen([MERCER, "transform", "m.model", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as p:
        p.stdin.write(b"a;b\n0,5;0,25\n")
        p.stdin.flush()
        assert p.stdout.readline() == b"f1\n"
        assert p.stdout.readline().decode() == wanted.splitlines()[1] + "\n"
        p.stdin.write(b"1,5;2,25\n")
        p.stdin.flush()
        assert p.stdout.readline().decode() == wanted.splitlines()[2] + "\n"
        p.stdin.close()
        assert p.wait(60) == 0


@test
def test_headers_of_r_have_one_name_fewer():
    """write.table() with its defaults, with other separators, and of rows that have names."""
    rows = [[5.1, 3.5, 1], [4.9, 3, 2], [4.7, 3.2, 5]]
    def r(sep, names, decimal=".", quote='"'):
        text = sep.join(f"{quote}{c}{quote}" for c in ("a b", "c", "d")) + "\n"
        for name, row in zip(names, rows):
            text += sep.join([f"{quote}{name}{quote}"] + [str(v).replace(".", decimal) for v in row]) + "\n"
        return text
    for sep in (" ", ",", ";", "\t"):
        for names in ("123", "xyz", ("7", "3", "12"), ("Mazda RX4", "Fiat 128", "Honda")):
            for decimal in (".", ",") if sep in " ;\t" else ".":
                write("r.csv", r(sep, names, decimal))
                head, *lines = csv_rows(mercer("scale", "r.csv", "--scale", "none").out)
                assert head == ["id", "a b", "c", "d"], (sep, names, decimal)
                assert [line[0] for line in lines] == list(names)
                assert [[float(c) for c in line[1:]] for line in lines] == rows
    # What does not name the rows is a ragged table.
    for text, says in (("a,b\n1.5,2,3\n2.5,3,4\n", "t.csv:2: 3 cells where 2"),
                       ("a,b\n1,2,3\n1,3,4\n", "t.csv:2: 3 cells where 2"),
                       ("a,b\n1,2,3\n2,3\n", "t.csv:2: 3 cells where 2"),
                       ("a,b\n7,2,3\n3,3,4\n", "t.csv:2: 3 cells where 2"),
                       # numbers with decimal commas, and with thousands separators
                       ("a\n1,5\n2,5\n3,25\n", "t.csv:2: 2 cells where 1"),
                       ("a\n1 234\n2 345\n3 456\n", "t.csv:2:"),
                       ("a\n1,234\n2,345\n5,456\n", "t.csv:2: 2 cells where 1"),
                       ("a,b\n1,2,3\n", "t.csv:2: 3 cells where 2")):
        refused("scale", write("t.csv", text), "--scale", "none", status=1, says=says)
    assert report("scale", write("end.csv", r(" ", "123") + "\n"), "--scale", "none", "-o", "o.csv")["rows"] == 3


@test
def test_rows_without_a_label():
    """A gap where a class or a value is expected is refused with its line; --unlabelled drop leaves such rows out."""
    for gap in ("", "NA", "NaN", "nan", "?", "#N/A", '""', '"NA"'):
        says_no(f"x,label\n1,a\n2,{gap}\n3,b\n", ["t.csv:3", "'label'", "a class is expected", "--unlabelled drop"])
        assert scale_rows(f"x,label\n1,a\n2,{gap}\n3,b\n", "--unlabelled", "drop") == [["label", "x"], ["a", "1"], ["b", "3"]]
        says_no(f"x,y\n1,5\n2,{gap}\n3,6\n", ["t.csv:3", "'y'", "a value is expected", "--unlabelled drop"], "--target", "y")
        assert scale_rows(f"x,y\n1,5\n2,{gap}\n3,6\n", "--target", "y", "--unlabelled", "drop") == \
            [["y", "x"], ["5", "1"], ["6", "3"]]
    # Words that can be classes are classes, unless the caller says otherwise.
    assert scale_rows("x,label\n1,a\n2,None\n")[2] == ["None", "2"]
    assert scale_rows("x,label\n1,a\n2,None\n", "--na", "None", "--unlabelled", "drop")[1:] == [["a", "1"]]
    assert scale_rows("x,y\n1,5\n2,-999\n", "--target", "y", "--na=-999", "--unlabelled", "drop")[1:] == [["5", "1"]]
    # With gaps in data, ids and groups: each is its own matter.
    rows = scale_rows("n,x,z,label\np,1,7,a\nq,,8,\nr,,9,b\ns,4,,a\n", "--unlabelled", "drop", "--missing", "mean", "--id", "n")
    assert rows == [["n", "label", "x", "z"], ["p", "a", "1", "7"], ["r", "b", "2.5", "9"], ["s", "a", "4", "8"]], rows
    write("t.csv", "x,label\n1,a\n,b\n3,\n4,a\n")
    done = mercer("scale", "t.csv", "--scale", "none", "--unlabelled", "drop", "--missing", "drop")
    assert csv_rows(done.out)[1:] == [["a", "1"], ["a", "4"]]
    assert "1 of 4 rows have no label" in done.err and "1 of 3 rows have missing values" in done.err, done.err
    says_no("x,label\n1,\n2,NA\n", "no row has a label", "--unlabelled", "drop")
    # A list of labels, and numbers that are no text.
    write("l.txt", "a\nNA\nb\n")
    write("u.csv", "x\n1\n2\n3\n")
    refused("scale", "u.csv", "--labels", "l.txt", says=["l.txt:2", "'NA'", "--unlabelled drop"])
    done = mercer("scale", "u.csv", "--labels", "l.txt", "--unlabelled", "drop", "--scale", "none")
    assert csv_rows(done.out)[1:] == [["a", "1"], ["b", "3"]]
    np.save("x.npy", np.array([[1, 0, 2.5], [2, np.nan, 3.5], [3, 1, np.nan]]))
    refused("scale", "x.npy", "--label", "2", says=["row 2", "--unlabelled drop"])
    done = mercer("scale", "x.npy", "--label", "2", "--unlabelled", "drop", "--missing", "mean", "--scale", "none")
    assert csv_rows(done.out)[1:] == [["0", "1", "2.5"], ["1", "3", "2.5"]], done.out
    # What learns from the rows sees those with labels alone; new rows need none.
    rng = np.random.default_rng(5)
    lines = [f"{a:.4f},{b:.4f},{'' if i % 4 == 0 else 'uv'[int(a > 0)]}" for i, (a, b) in enumerate(rng.normal(size=(60, 2)))]
    write("g.csv", "a,b,kind\n" + "\n".join(lines) + "\n")
    write("h.csv", "a,b,kind\n" + "\n".join(line for line in lines if not line.endswith(",")) + "\n")
    words = ["--label", "kind", "-m", "kpls", "-n", "2"]
    got, wanted = report("evaluate", "g.csv", *words, "--unlabelled", "drop"), report("evaluate", "h.csv", *words)
    assert got["mean"] == wanted["mean"] and got["rows"] == 45
    mercer("fit", "g.csv", *words, "--unlabelled", "drop", "-o", "g.model", "--quiet")
    mercer("fit", "h.csv", *words, "-o", "h.model", "--quiet")
    refused("predict", "g.model", "g.csv", says=["g.csv:2", "--no-label"])
    assert mercer("predict", "g.model", "g.csv", "--no-label").out == mercer("predict", "h.model", "g.csv", "--no-label").out
    refused("evaluate", "g.csv", *words, "--unlabelled", "drop", "--split", "l.txt", says="--unlabelled", status=2)


@test
def test_columns_of_one_name():
    says_no("a,a,b\n1,2,3\n4,5,6\n", ["two columns are called 'a', 1 and 2", "--drop position:2"])
    assert read("a,a,b\n1,2,3\n4,5,6\n", "--drop", "position:2")[:2] == (["a", "b"], [[1, 3], [4, 6]])
    assert read("a,a,b\n1,2,3\n4,5,6\n", "--drop", "a")[:2] == (["b"], [[3], [6]])
    assert read("a,a,b\n1,2,3\n4,5,6\n", "--columns", "b")[:2] == (["b"], [[3], [6]])
    says_no("a,a,b\n1,2,3\n4,5,6\n", "two columns are called 'a'", "--columns", "a")
    for option in ("--label", "--id", "--target"):
        says_no("a,a,b\n1,2,3\n4,5,6\n", "two columns are called 'a'", option, "a")
    assert scale_rows("a,a,b\nu,2,3\nv,5,6\n", "--label", "position:1", "--drop", "position:2")[1:] == [["u", "3"], ["v", "6"]]
    says_no("label,x,label\n1,2,3\n4,5,6\n", ["two columns are called 'label'", "--label"])
    # A model takes a table where one that it does not need is there twice, not one that it needs.
    write("t.csv", "x,y\n1,2\n3,5\n4,4\n")
    mercer("fit", "t.csv", "-m", "pca", "-n", 1, "-o", "m", "--quiet")
    plain = mercer("transform", "m", "t.csv").out
    write("u.csv", "x,z,y,z\n1,0,2,0\n3,0,5,0\n4,0,4,0\n")
    assert mercer("transform", "m", "u.csv", "--quiet").out == plain
    write("v.csv", "x,y,x\n1,2,0\n3,5,0\n4,4,0\n")
    refused("transform", "m", "v.csv", says="two columns are called 'x'")
    # A model of a table of which one was left out by its position finds it there again, not elsewhere.
    write("w.csv", "x,x,y,c\n9,1,2,a\n8,3,5,b\n9,4,4,a\n")
    for words in ([], ["--encode", "onehot"]):
        mercer("fit", "w.csv", "-m", "pca", "-n", 1, "--drop", "position:1" if words else "position:1,c", "-o", "w", "--quiet", *words)
        out = mercer("transform", "w", "w.csv", "--quiet").out
        assert words or out == plain
        write("less.csv", "x,y,c\n1,2,a\n3,5,b\n4,4,a\n")
        assert mercer("transform", "w", "less.csv", "--quiet").out == out
        for header in ("x,y,x,c", "x,x,z,c", "x,x,y,c,d"):
            write("other.csv", header + "\n" + ",".join("1234"[:header.count(",")] + "a") + "\n")
            refused("transform", "w", "other.csv", says=["other.csv: ", "column"])
    # A name that is asked for cannot be told by leaving the other one out: its position can.
    assert "--drop" not in says_no("a,a,b\n1,2,3\n4,5,6\n", ["two columns are called 'a'", "position"], "--target", "a").err
    says_no("label,x,label\n1,2,3\n4,5,6\n", ["--label, --drop"])
    assert scale_rows("label,x,label\n1,2,3\n4,5,6\n", "--label", "position:1", "--drop", "position:3")[1:] == [["1", "2"], ["4", "5"]]


@test
def test_office_tables():
    """What offices put around and into their numbers: right, or one line with the way out."""
    for quote in ("", '"'):
        for end in ("\n", "\r\n"):
            assert read(f"{quote}sep=;{quote}{end}a;b{end}1;2{end}3;4{end}")[:2] == (["a", "b"], [[1, 2], [3, 4]])
    # Separators at the ends of lines, and columns without anything.
    says_no("a,b,\n1,2,\n3,4,\n", ["t.csv:2", "has no name", "--drop 3"])
    assert read("a,b,\n1,2,\n3,4,\n", "--drop", "3")[:2] == (["a", "b"], [[1, 2], [3, 4]])
    says_no("a;b;;;\n1;2;;;\n3;4;;;\n", "--drop 3-")
    assert read("a;b;;;\n1;2;;;\n3;4;;;\n", "--drop", "3-")[1] == [[1, 2], [3, 4]]
    says_no("a,,b\n1,,2\n3,,4\n", "--drop 2")
    says_no("a,b\n1,\n3,\n", ["'b' has no value", "leave it out", "--drop"], "--missing", "mean")
    for rows in ("ann,1,\nbob,2,\n", "1,2,\n3,4,\n"):  # no names of rows
        says_no("name,x\n" + rows, ["t.csv:2: 3 cells where 2", "ends in a separator"], "--id", "name")
    says_no("Report 2024\nx,y\n1,2\n", ["t.csv:2", "title"])
    # A line of units, a sum, a mark for gaps: no categories.
    for rows in ("cm\n1\n2\n3\n4\n", "1\n2\n3\n4\nTotal\n", "1\n-\n2\n-\n3\n4\n5\n"):
        says_no("x,y\n" + rows.replace("\n", ",7\n"), "t.csv:")
        says_no("x,y\n" + rows.replace("\n", ",7\n"), ["t.csv:", "column 'x' has numbers, and '", "--na=-" if "-" in rows else "onehot:max="],
                "--encode", "onehot")
    says_no("x,y\n1,1\n2,2\n3,3\n12 km,4\n5,5\n", ["t.csv:5: column 'x' has numbers, and '12 km' in 1 row"], "--encode", "onehot")
    says_no("x,y\n1,2\n<5,3\n5,4\n", ["t.csv:3", "'<5' is not a number"])
    assert "missing" not in says_no("x,y\n1,2\n<5,3\n5,4\n", "t.csv:3").err
    assert len(read("x\n1\n2\n3\n4\nmore\nmore\n", "--encode", "onehot")[0]) == 5
    for mark in ("-", ".", "--", "#REF!", "<NA>", "#DIV/0!"):
        says_no(f"x,y\n1,2\n{mark},3\n5,4\n", ["t.csv:3", "missing", "--na"])
        assert read(f"x,y\n1,2\n{mark},3\n5,4\n", f"--na={mark}", "--missing", "mean")[1][1] == [3, 3]
    assert read("x,y\n1,2\n#N/A,3\n5,4\n", "--missing", "mean")[1][1] == [3, 3]
    # Numbers that are not read are no categories either; dates of other forms are named.
    for cells in ("$1|$3", "1,50 €|3,20 €", "(1.5)|(3)", "−5|−7", "5-|3-", "EUR 5|EUR 7"):
        rows = "x;y\n" + "".join(f"{cell};{i}\n" for i, cell in enumerate(cells.split("|")))
        says_no(rows, "is not a number", "--delimiter", "semicolon")
        says_no(rows, "is a number with a sign", "--delimiter", "semicolon", "--encode", "onehot")
    for cell, form in (("13/02/2024", "%d/%m/%Y"), ("02/13/2024", "%m/%d/%Y"), ("01.02.2024", "%d.%m.%Y"),
                       ("2024/02/13", "%Y/%m/%d"), ("13.02.24", "%d.%m.%y"), ("13.02.2024 12:00", "%d.%m.%Y %H:%M"),
                       ("02/13/2024 12:00:05", "%m/%d/%Y %H:%M:%S")):
        form = f"'dates:format={form}'" if " " in form else f"dates:format={form}"
        says_no(f"x,y\n{cell},1\n{cell},2\n", ["date", f"--encode {form}"])
        says_no(f"x,y\n{cell},1\n{cell},2\n", ["date", f"--encode {form}"], "--encode", "onehot")
        assert read(f"x,y\n{cell},1\n{cell},2\n", "--encode", form.strip("'"))[1][1][1] == 2
    # The format offered reads the column; where none does, none is offered.
    days = "x,y\n01/02/2024,1\n02/13/2024,2\n03/04/2024,2\n"
    says_no(days, "--encode dates:format=%m/%d/%Y", "--encode", "onehot")
    assert len(read(days, "--encode", "dates:format=%m/%d/%Y")[1]) == 3
    for cells in (["13.02.2024 12 Uhr"] * 2, ["30.02.2024"] * 2, ["13.02.2024 noon", "14.02.2024 noon"]):
        rows = "x,y\n" + "".join(f"{cell},1\n" for cell in cells)
        for words in ([], ["--encode", "onehot"], ["--encode", "dates:format=%d.%m.%Y"]):
            err = says_no(rows, "date", *words).err
            assert "format" not in err and "--drop, --id" in err, err
    for cell in ("1.2.3", "10.0.0.1", "99.99.2024", "1-2-3"):
        assert "date" not in says_no(f"x,y\n{cell},1\n{cell},2\n", "is not a number").err
    # Years as names: any option that names a column tells that the first line has names.
    years = "country,2019,2020\nx,1,2\ny,3,4\n"
    says_no(years, "no column matches '2019'; its columns have no names", "--columns", "2019,2020", status=2)
    assert scale_rows(years, "--columns", "name:2019,name:2020")[1:] == [["1", "2"], ["3", "4"]]
    for words in (["--id", "country"], ["--drop", "country"], ["--label", "country"]):
        assert scale_rows(years, *words)[0][-2:] == ["2019", "2020"], words


if __name__ == "__main__":
    sys.exit(run_tests())
