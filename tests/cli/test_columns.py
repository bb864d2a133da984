#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which columns of a table are used, which one names the rows, and what a model remembers of them.

test_columns.py MERCER [WORD...] [-jN] [--quick]
"""
import subprocess
import sys

import numpy as np

from support import MERCER, cloud, csv_rows, mercer, refused, report, run_tests, test, write

NAMES = ["ash", "mean_a", "mean_b", "Wine class", "Customer ID", "when"]


def wines(name="wine.csv", rows=40, header=True, index=None):
    """A table with data, classes, an id and a text; returns its numbers, classes and ids."""
    x = cloud(rows, 3, 7)
    classes = ["red", "white", "rosé"]
    ids = [f"C-{100 + 3 * i}" for i in range(rows)]
    lines = [",".join(([""] if index is not None else []) + NAMES)] if header else []
    for i, row in enumerate(x):
        cells = [repr(float(v)) for v in row] + [classes[i % 3], ids[i], "soon"]
        lines.append(",".join(([str(index + i)] if index is not None else []) + cells))
    write(name, "\n".join(lines) + "\n")
    return x, [classes[i % 3] for i in range(rows)], ids


def scaled(*words):
    """What scale --scale none makes of a table: its rows as lists of texts."""
    return csv_rows(mercer("scale", *words, "--scale", "none", "--quiet").out)


@test
def test_columns_are_chosen_by_name_position_range_and_pattern():
    x, _, _ = wines()
    for words, wanted in ((["--columns", "ash,mean_b"], [0, 2]), (["--columns", "1-3"], [0, 1, 2]),
                          (["--columns", "mean_*"], [1, 2]), (["--columns", "mean_?"], [1, 2]),
                          (["--columns", "*_b,1"], [0, 2]), (["--drop", "4-"], [0, 1, 2]),
                          (["--drop", "Wine class,Customer ID,when,2"], [0, 2]),
                          (["--columns", "1-3", "--drop", "*a"], [0, 2]),
                          (["--columns", "position:2"], [1]), (["--columns", "name:ash"], [0]),
                          (["--drop", "*[!x],when,4,5,mean_?"], None)):
        if wanted is None:
            refused("scale", "wine.csv", *words, status=2, says=["no column matches", "--drop"])
            continue
        rows = scaled("wine.csv", *words)
        assert rows[0] == [NAMES[j] for j in wanted], (words, rows[0])
        assert np.array_equal(np.array(rows[1:], float), x[:, wanted]), words
    # A column of exactly that name wins over a position, a range and a list.
    write("odd.csv", '2,1-3,"a,b",b,a\n1,2,3,4,5\n6,7,8,9,10\n')
    for asked, wanted in (("2", ["1"]), ("1-3", ["2"]), ("a,b", ["3"]), ("a,2", ["1", "5"]),
                          ("position:2", ["2"])):
        assert scaled("odd.csv", "--header", "yes", "--columns", asked)[1] == wanted, asked


@test
def test_lists_that_match_nothing_are_refused():
    wines()
    refused("fit", "wine.csv", "-m", "kpca", "--drop", "Ash", status=2,
            says=["wine.csv", "no column matches 'Ash'", "did you mean 'ash'?", "--drop"])
    refused("fit", "wine.csv", "-m", "kpca", "--columns", "ash,proline", status=2,
            says=["no column matches 'proline'", "--columns"])
    for wrong in ("0", "7", "3-9", "5-2", "x*", "-3", ",ash", "ash,"):
        refused("fit", "wine.csv", "-m", "kpca", "--columns", wrong, status=2, says="no column matches")
    refused("fit", "wine.csv", "-m", "kpca", "--drop", "1-6", status=1, says="no data columns are left")
    refused("fit", "wine.csv", "-m", "kpca", "--label", "wine class", status=2,
            says=["there is no column 'wine class'", "did you mean 'Wine class'?"])
    refused("fit", "wine.csv", "-m", "kpls", "--label", "4", "--drop", "4-", status=2,
            says=["'Wine class' is dropped, but it is the label", "--drop"])
    refused("fit", "wine.csv", "-m", "kpls", "--label", "4", "--id", "4", status=2,
            says=["'Wine class' is the id, so it cannot be label", "--id"])
    refused("fit", "wine.csv", "-m", "kpca", "--id", "customer id", status=2, says="did you mean 'Customer ID'?")
    write("sparse.svm", "1 1:2 3:4\n0 2:1\n")
    refused("fit", "sparse.svm", "-m", "kpca", "--drop", "1", status=2, says=["sparse.svm", "--drop"])


@test
def test_cells_left_out_are_not_looked_at():
    write("t.csv", "x,junk,y\n1,é%%,2\n3,\"a\nb\",4\n5,,6.5\n")
    assert scaled("t.csv", "--drop", "junk") == [["x", "y"], ["1", "2"], ["3", "4"], ["5", "6.5"]]
    np.save("n.npy", np.array([[1, np.nan, 2], [3, np.inf, 4.0]]))
    assert scaled("n.npy", "--drop", "2") == [["1", "2"], ["3", "4"]]
    refused("scale", "n.npy", status=1, says="nan is not finite")
    # A label of the rule that is dropped is none.
    write("l.csv", "x,label\n1,a\n2,b\n")
    assert scaled("l.csv", "--drop", "label") == [["x"], ["1"], ["2"]]


@test
def test_the_model_knows_its_columns():
    x, classes, ids = wines()
    mercer("fit", "wine.csv", "-m", "pca", "-n", 2, "--columns", "1-3", "--drop", "mean_a", "-o", "m.model")
    wanted = csv_rows(mercer("transform", "m.model", "wine.csv").out)
    write("other.csv", "mean_b,mean_a,ash\n" + "".join(f"{r[2]!r},junk,{r[0]!r}\n" for r in x.tolist()))
    assert csv_rows(mercer("transform", "m.model", "other.csv").out) == wanted
    # Without names by position: the same file, or the columns in use.
    wines("bare.csv", header=False)
    mercer("fit", "bare.csv", "-m", "pca", "-n", 2, "--columns", "1,3", "--id", "5", "-o", "bare.model")
    got = csv_rows(mercer("transform", "bare.model", "bare.csv").out)
    assert [row[0] for row in got] == ["id"] + ids
    assert np.allclose(np.array([row[1:] for row in got[1:]], float), np.array(wanted[1:], float))
    write("two.csv", "".join(f"{r[0]!r},{r[2]!r}\n" for r in x.tolist()))
    assert csv_rows(mercer("transform", "bare.model", "two.csv").out)[1:] == [row[1:] for row in got[1:]]
    write("three.csv", "1,2,3\n")
    refused("transform", "bare.model", "three.csv", status=1, says="three.csv")
    mercer("truncate", "bare.model", "-n", 1, "-o", "short.model")
    assert [row[:2] for row in csv_rows(mercer("transform", "short.model", "bare.csv").out)] == [r[:2] for r in got]


@test
def test_ids_come_first_in_every_output():
    x, classes, ids = wines()
    fit = ["-m", "kpls", "-n", 2, "--label", "Wine class", "--id", "Customer ID", "--drop", "when"]
    mercer("fit", "wine.csv", *fit, "-o", "m.model")
    assert report("info", "m.model")["id_column"] == "Customer ID"
    assert report("info", "m.model")["label_column"] == "Wine class"
    for words, header in ((["transform", "m.model", "wine.csv"], ["Customer ID", "f1", "f2"]),
                          (["transform", "m.model", "wine.csv", "--keep-label"],
                           ["Customer ID", "Wine class", "f1", "f2"]),
                          (["predict", "m.model", "wine.csv"], ["Customer ID", "prediction", "score_red"]),
                          (["scale", "wine.csv", "--id", "5", "--drop", "4,6"], ["Customer ID", "ash"])):
        rows = csv_rows(mercer(*words).out)
        assert rows[0][:len(header)] == header, (words, rows[0])
        assert [row[0] for row in rows[1:]] == ids, words
    rows = csv_rows(mercer("evaluate", "wine.csv", *fit, "--save-predictions", "-", "--quiet").out)
    assert rows[0][0] == "Customer ID" and sorted(row[0] for row in rows[1:]) == sorted(ids)
    assert all(row[0] == ids[int(row[3])] for row in rows[1:]), rows[1]
    # Back from features, whose file has the ids.
    mercer("fit", "wine.csv", "-m", "kpca", "-n", 3, "--columns", "1-3", "--id", "5", "-o", "k.model")
    mercer("transform", "k.model", "wine.csv", "-o", "f.csv")
    rows = csv_rows(mercer("inverse", "k.model", "f.csv").out)
    assert rows[0] == ["Customer ID", "ash", "mean_a", "mean_b"] and [r[0] for r in rows[1:]] == ids
    # Files that cannot hold texts do without; so do new tables that have no such column.
    assert "ids: they are left out" in mercer("transform", "k.model", "wine.csv", "-o", "f.npy").err
    assert np.load("f.npy").shape == (40, 3)
    assert csv_rows(mercer("transform", "k.model", "wine.csv", "--id", "none").out)[0] == ["f1", "f2", "f3"]
    assert csv_rows(mercer("inverse", "k.model", "f.npy").out)[0] == ["ash", "mean_a", "mean_b"]
    assert csv_rows(mercer("transform", "k.model", "wine.csv", "--id", "when").out)[1][0] == "soon"
    # Rows left out take their ids with them.
    write("gaps.csv", "k,x,y\na,1,2\nb,,3\nc,4,5\nd,6,NA\n\"e, f\",7,8\n")
    assert [r[0] for r in scaled("gaps.csv", "--id", "k", "--missing", "drop")] == ["k", "a", "c", "e, f"]
    np.save("n.npy", np.array([[1, 7, 2], [3, 8.5, 4.0]]))
    assert scaled("n.npy", "--id", "2") == [["id", "x1", "x2"], ["7", "1", "2"], ["8.5", "3", "4"]]


@test
def test_ids_of_many_rows_and_of_pipes():
    lines = ["name,x,y"] + [f'"row {i}, {"z" * (i % 50)}",{i * 0.5},{-i}' for i in range(20000)]
    text = "\n".join(lines) + "\n"
    write("many.csv", text)
    ids = [f'row {i}, {"z" * (i % 50)}' for i in range(20000)]
    assert [row[0] for row in scaled("many.csv", "--id", "name")[1:]] == ids
    mercer("fit", "many.csv", "-m", "pca", "-n", 1, "--id", "name", "-o", "m.model")
    piped = csv_rows(mercer("transform", "m.model", "-", stdin=text.encode()).out)
    assert [row[0] for row in piped[1:]] == ids
    # A row is answered as it comes.
    with subprocess.Popen([MERCER, "transform", "m.model", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        for line in ("name,x,y\nfirst,1,2\n", "second,2,3\n"):
            p.stdin.write(line.encode())
            p.stdin.flush()
            got = p.stdout.readline()
            got = p.stdout.readline() if got.startswith(b"name") else got
            assert got.split(b",")[0] in (b"first", b"second"), got
        p.stdin.close()
        assert p.wait(60) == 0


@test
def test_an_index_without_a_name_is_the_id():
    for first in (0, 1):
        x, _, _ = wines("p.csv", index=first)
        done = mercer("scale", "p.csv", "--scale", "none", "--columns", "2-4")
        assert csv_rows(done.out)[0] == NAMES[:3]
        done = mercer("scale", "p.csv", "--scale", "none", "--drop", "5-")
        rows = csv_rows(done.out)
        assert rows[0] == ["id"] + NAMES[:3] and [r[0] for r in rows[1:]] == [str(first + i) for i in range(40)]
        assert "column 1 has no name and counts rows: taken as the id" in done.err and "--id none" in done.err
        rows = scaled("p.csv", "--drop", "5-", "--id", "none")
        assert rows[0] == ["column1"] + NAMES[:3] and rows[3][0] == str(first + 2)
        assert scaled("p.csv", "--drop", "1,5-")[0] == NAMES[:3]
        mercer("fit", "p.csv", "-m", "pca", "-n", 1, "--drop", "5-", "-o", "m.model")
        assert report("info", "m.model")["id_column"] == "id"
        assert [r[0] for r in csv_rows(mercer("transform", "m.model", "p.csv").out)][:3] == \
            ["id", str(first), str(first + 1)]
    # R writes row names: texts.
    write("r.csv", '"","mpg","cyl"\n"Mazda RX4",21,6\n"Datsun 710",22.8,4\n')
    assert scaled("r.csv")[1] == ["Mazda RX4", "21", "6"]
    # What counts only at first is refused; what does not count is data; what has a name is never taken.
    broken = ",x\n" + "".join(f"{i},{i}.5\n" for i in range(30)) + "99,1\n"
    write("b.csv", broken)
    refused("scale", "b.csv", status=1, says=["b.csv:32", "'99'", "--id 1"])
    assert scaled("b.csv", "--id", "1")[31] == ["99", "1"] and scaled("b.csv", "--id", "none")[31] == ["99", "1"]
    write("d.csv", ",x\n5,1\n3,2\n")
    assert scaled("d.csv") == [["column1", "x"], ["5", "1"], ["3", "2"]]
    write("n.csv", "n,x\n0,1\n1,2\n")
    assert scaled("n.csv")[0] == ["n", "x"]
    write("two.csv", ",x\nsame,1\nsame,2\n")
    refused("scale", "two.csv", status=1, says="'same' is not a number")


@test
def test_a_column_that_may_be_an_id_is_noticed():
    rows = [f"{1000 + 7 * i},{i / 7:.4f},{i % 9}" for i in range(30)]
    write("c.csv", "Customer ID,x,n\n" + "\n".join(rows) + "\n")
    for words in (["--scale", "standard"], []):
        notices = report("fit", "c.csv", "-m", "pca", *words)["notices"]
        told = [text for text in notices if "different whole numbers" in text]
        assert len(told) == 1 and "'Customer ID' has 30 different whole numbers in 30 rows" in told[0], notices
        assert told[0].endswith("(--id 'Customer ID')"), told
    assert not any("whole numbers" in text for text in
                   report("fit", "c.csv", "-m", "pca", "--id", "Customer ID")["notices"])


@test
def test_label_and_targets_are_remembered():
    x, classes, ids = wines()
    mercer("fit", "wine.csv", "-m", "kpls", "-n", 2, "--label", "Wine class", "--drop", "5-", "-o", "m.model")
    assert report("predict", "m.model", "wine.csv", "-o", "p.csv")["error_rate"] is not None
    assert csv_rows(mercer("transform", "m.model", "wine.csv", "--keep-label").out)[0][0] == "Wine class"
    # Without the column there is nothing to compare with, or to keep.
    write("new.csv", "ash,mean_a,mean_b\n1,2,3\n")
    assert report("predict", "m.model", "new.csv", "-o", "p.csv")["error_rate"] is None
    refused("transform", "m.model", "new.csv", "--keep-label", status=1,
            says="new.csv: the model's label column 'Wine class' is not in the table")
    assert report("predict", "m.model", "wine.csv", "--no-label", "-o", "p.csv")["error_rate"] is None
    rows = csv_rows(mercer("transform", "m.model", "wine.csv", "--keep-label", "--label", "when").out)
    assert rows[0][0] == "when"
    mercer("fit", "wine.csv", "-m", "pls", "--target", "ash,mean_a", "--columns", "mean_b", "-n", 1, "-o", "t.model")
    rows = csv_rows(mercer("transform", "t.model", "wine.csv", "--keep-label").out)
    assert rows[0] == ["ash", "mean_a", "f1"]
    assert np.array_equal(np.array([r[:2] for r in rows[1:]], float), x[:, :2])
    assert report("predict", "t.model", "wine.csv", "-o", "p.csv")["rmse"] > 0
    # A stream goes on with what it began with.
    mercer("fit", "wine.csv", "-m", "ikpca:first=10,block=10", "-n", 2, "--label", "Wine class", "--id", "5",
           "--drop", "when", "-o", "s.model")
    mercer("update", "s.model", "wine.csv")
    assert report("info", "s.model")["rows"] == 80
    assert csv_rows(mercer("transform", "s.model", "wine.csv").out)[1][0] == ids[0]


if __name__ == "__main__":
    sys.exit(run_tests())
