#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer transform: test_transform.py MERCER [WORD...] [-jN] [--quick]"""
import gzip
import json
import os
import pathlib
import random
import select
import sys
import threading
import time

import numpy as np

from support import (LIMIT, cloud, csv_rows, files, mercer, numbers, plain_memory, refused, report, ring_model, run_tests,
                     running, slow_test, table, test, write)


@test
def test_one_row_to_transform():
    ring_model()
    write("one.csv", "x,y\n8,0\n")
    names, x = numbers(mercer("transform", "ring.model", "one.csv").out)
    assert names == ["f1", "f2", "f3", "f4", "f5"] and x.shape == (1, 5)


@test
def test_wrong_columns_at_transform():
    x = cloud()
    table("x.csv", x, "abcd")
    mercer("fit", "x.csv", "-m", "kpca", "-n", 3, "-o", "x.model", "--quiet")
    table("names.csv", x, "abce")
    refused("transform", "x.model", "names.csv", "-o", "out.csv", status=1, says=["names.csv", "'d'"])
    table("few.csv", x[:, :3])
    refused("transform", "x.model", "few.csv", "-o", "out.csv", status=1, says=["few.csv", "3", "4"])
    np.save("many.npy", np.hstack([x, x]))
    refused("transform", "x.model", "many.npy", "-o", "out.csv", status=1,
            says=["many.npy", "8", "4"])
    table("one.csv", x[:, :1])
    refused("transform", "x.model", "one.csv", "-o", "out.csv", status=1,
            says="one.csv: 1 column where 4 were expected")
    refused("inverse", "x.model", "x.csv", "-o", "out.csv", status=1,
            says=["x.csv", "'f1'", "columns: a, b, c, d"])
    assert "out.csv" not in files()


@slow_test
def test_transform_in_blocks_equals_whole():
    """More rows than one block holds, against the same rows cut at another place."""
    ring_model(rows=40)
    mercer("generate", "circle", "--rows", 100000, "--seed", 8, "-o", "many.csv", "--quiet")
    lines = pathlib.Path("many.csv").read_text().splitlines(keepends=True)
    write("one.csv", "".join(lines[:30001]))
    write("two.csv", lines[0] + "".join(lines[30001:]))
    whole = mercer("transform", "ring.model", "many.csv").out
    one = mercer("transform", "ring.model", "one.csv").out
    two = mercer("transform", "ring.model", "two.csv").out
    assert whole.count("\n") == 100001
    assert whole == one + two[two.index("\n") + 1:]


@test
def test_transform_in_bounded_memory():
    ring_model(rows=40)
    mercer("generate", "circle", "--rows", 600000, "-o", "many.csv", "--quiet")
    result = report("transform", "ring.model", "many.csv", "-o", "out.npy", env=plain_memory())
    small = report("transform", "ring.model", "ring.csv", "-o", "small.npy", env=plain_memory())
    extra = result["peak_memory_bytes"] - small["peak_memory_bytes"]
    assert result["rows"] == 600000 and np.load("out.npy").shape == (600000, 5)
    assert extra < 40e6, f"{extra / 1e6:.0f} MB more for more rows"


@test
def test_wide_file_in_bounded_memory():
    """The width of the file counts, not that of the model."""
    ring_model(rows=40)
    row = "1.5,2.5" + ",0" * 2000 + "\n"
    write("wide.csv", "x,y" + "".join(f",z{j}" for j in range(2000)) + "\n" + row * 6000)
    result = report("transform", "ring.model", "wide.csv", "-o", "out.npy", env=plain_memory())
    small = report("transform", "ring.model", "ring.csv", "-o", "small.npy", env=plain_memory())
    extra = result["peak_memory_bytes"] - small["peak_memory_bytes"]
    assert result["rows"] == 6000 and result["notices"]
    assert extra < 50e6, f"{extra / 1e6:.0f} MB more for wider rows"


@test
def test_transform_formats():
    ring_model()
    _, f = numbers(mercer("transform", "ring.model", "ring.csv").out)
    mercer("transform", "ring.model", "ring.csv", "-o", "f.npy")
    mercer("transform", "ring.model", "ring.csv", "-o", "f.tsv")
    mercer("transform", "ring.model", "ring.csv", "-o", "f.csv.gz")
    assert np.array_equal(np.load("f.npy"), f)
    tsv = pathlib.Path("f.tsv").read_text()
    assert "," not in tsv and np.array_equal(numbers(tsv.replace("\t", ","))[1], f)
    assert np.array_equal(numbers(gzip.open("f.csv.gz", "rt").read())[1], f)
    _, x = numbers(pathlib.Path("ring.csv").read_text())
    np.save("x.npy", x)
    np.save("x4.npy", x.astype("f4"))
    np.save("xf.npy", np.asfortranarray(x))
    write("x.tsv", pathlib.Path("ring.csv").read_text().replace(",", "\t"))
    with gzip.open("x.csv.gz", "wb") as out:
        out.write(pathlib.Path("ring.csv").read_bytes())
    with open("renamed.dat", "w") as out:
        out.write(pathlib.Path("x.tsv").read_text())
    write("crlf.csv", "\ufeff" + pathlib.Path("ring.csv").read_text().replace("\n", "\r\n"))
    for name in ["x.npy", "xf.npy", "x.tsv", "x.csv.gz", "crlf.csv"]:
        assert np.array_equal(numbers(mercer("transform", "ring.model", name).out)[1], f), name
    done = mercer("transform", "ring.model", "renamed.dat", "--format", "tsv")
    assert np.array_equal(numbers(done.out)[1], f)
    assert np.allclose(numbers(mercer("transform", "ring.model", "x4.npy").out)[1], f, atol=1e-5)
    pipe = mercer("transform", "ring.model", "-", stdin=pathlib.Path("ring.csv").read_bytes())
    assert np.array_equal(numbers(pipe.out)[1], f)
    pipe = mercer("transform", "ring.model", "-", stdin=pathlib.Path("x.csv.gz").read_bytes())
    assert np.array_equal(numbers(pipe.out)[1], f)


@test
def test_columns_matched_by_name():
    x = cloud()
    table("x.csv", x, "abcd")
    mercer("fit", "x.csv", "-m", "kpca", "-n", 3, "-o", "x.model", "--quiet")
    straight = mercer("transform", "x.model", "x.csv")
    table("mixed.csv", np.hstack([x[:, [2, 0]], x[:, :1] * 9, x[:, [3, 1]]]), ["c", "a", "z", "d", "b"])
    mixed = mercer("transform", "x.model", "mixed.csv")
    assert mixed.out == straight.out and straight.err == ""
    assert "'z'" in mixed.err and mixed.err.count("\n") == 1
    assert mercer("transform", "x.model", "mixed.csv", "--quiet").err == ""
    table("bare.csv", x)
    assert mercer("transform", "x.model", "bare.csv").out == straight.out


@test
def test_keep_label():
    x = cloud(6, 2)
    labels = ["b", "a", '"c, d"', "a", "b", "b"]
    table("x.csv", x, "pq", label=labels)
    mercer("fit", "x.csv", "-m", "kpca", "-n", 2, "-o", "x.model", "--quiet")
    plain = mercer("transform", "x.model", "x.csv").out.splitlines()
    kept = mercer("transform", "x.model", "x.csv", "--keep-label").out.splitlines()
    assert plain[0] == "f1,f2" and kept[0] == "label,f1,f2"
    assert kept[1:] == [f"{a},{b}" for a, b in zip(labels, plain[1:])]
    table("bare.csv", x, "pq")
    refused("transform", "x.model", "bare.csv", "--keep-label", says="bare.csv")
    refused("transform", "x.model", "x.csv", "--keep-label", "-o", "x.npy", says="npy")
    assert "x.npy" not in files()


@test
def test_keep_targets():
    x = cloud(20, 3)
    table("x.csv", x, ["a", "target", "b"])
    result = report("fit", "x.csv", "-m", "kpca", "-n", 2, "-o", "x.model")
    assert result["columns"] == 2 and "target" in result["labels"]
    names, kept = numbers(mercer("transform", "x.model", "x.csv", "--keep-label", "--errors").out)
    assert names == ["target", "f1", "f2", "error"] and np.array_equal(kept[:, 0], x[:, 1])
    assert report("fit", "x.csv", "-m", "kpca", "--target", "a,b")["columns"] == 1
    assert report("fit", "x.csv", "-m", "kpca", "--no-label")["columns"] == 3


@test
def test_scaling_is_kept_in_the_model():
    x = cloud() * [1, 10, 100, 1000] + 5
    table("x.csv", x, "abcd")
    mercer("scale", "x.csv", "-o", "s.csv", "--quiet")
    words = ["-m", "kpca", "-k", "rbf:sigma=2", "-n", 3, "--quiet"]
    mercer("fit", "x.csv", *words, "--scale", "standard", "-o", "a.model")
    mercer("fit", "s.csv", *words, "-o", "b.model")
    _, a = numbers(mercer("transform", "a.model", "x.csv").out)
    _, b = numbers(mercer("transform", "b.model", "s.csv").out)
    assert np.allclose(a, b, atol=1e-9)


@test
def test_transform_report():
    ring_model()
    result = report("transform", "ring.model", "ring.csv", "--errors", "-o", "f.csv")
    assert result["rows"] == 200 and result["components"] == 5 and result["notices"] == []
    assert 0 < result["reconstruction_error"] < 1
    done = mercer("transform", "ring.model", "ring.csv", "--json")
    assert json.loads(done.err)["reconstruction_error"] is None
    assert numbers(done.out)[1].shape == (200, 5)


def answer(process, text, lines=1):
    """Write text and wait for so many lines."""
    process.stdin.write(text)
    process.stdin.flush()
    found = b""
    while found.count(b"\n") < lines:
        ready, _, _ = select.select([process.stdout], [], [], 20)
        assert ready, f"no answer to {text!r} within 20 seconds; so far {found!r}"
        part = os.read(process.stdout.fileno(), 1 << 16)
        assert part, f"the output ended after {found!r}"
        found += part
    return found.decode().splitlines()


@test
def test_rows_from_a_pipe_are_answered_at_once():
    ring_model()
    lines = pathlib.Path("ring.csv").read_text().splitlines()
    expected = mercer("transform", "ring.model", "ring.csv", "--errors").out.splitlines()
    with running("transform", "ring.model", "-", "--errors") as process:
        header = (lines[0] + "\n").encode()
        assert answer(process, header + lines[1].encode() + b"\n", 2) == expected[:2]
        assert answer(process, lines[2].encode() + b"\r\n") == [expected[2]]
        process.stdin.write(lines[3][:4].encode())
        process.stdin.flush()
        time.sleep(0.05)
        assert answer(process, (lines[3][4:] + "\n").encode()) == [expected[3]]
        rest = ("\n".join(lines[4:]) + "\n").encode()
        assert answer(process, rest, len(lines) - 4) == expected[4:]
        process.stdin.close()
        assert process.wait(LIMIT) == 0


@test
def test_rows_without_names_are_answered_at_once():
    table("x.csv", cloud(40, 3))
    mercer("fit", "x.csv", "-m", "pca", "-n", 2, "-o", "x.model", "--quiet")
    lines = pathlib.Path("x.csv").read_text().splitlines()
    expected = mercer("transform", "x.model", "x.csv").out.splitlines()
    with running("transform", "x.model", "-") as process:
        assert answer(process, (lines[0] + "\n").encode(), 2) == expected[:2]
        assert answer(process, (lines[1] + "\n").encode()) == [expected[2]]
        features = expected[1].encode()
    with running("inverse", "x.model", "-") as process:
        back = answer(process, b"f1,f2\n" + features + b"\n", 2)
        assert len(back[1].split(",")) == 3


@test
def test_libsvm_rows_are_answered_at_once():
    write("x.svm", "".join(f"{i / 2} {i % 3 + 1}:{i + 1} {i % 4 + 4}:0.5\n" for i in range(40)))
    lines = pathlib.Path("x.svm").read_bytes().splitlines(keepends=True)
    mercer("fit", "x.svm", "-m", "kpca", "-k", "rbf:sigma=9", "-n", 2, "-o", "x.model", "--quiet")
    expected = mercer("transform", "x.model", "x.svm").out.splitlines()
    with running("transform", "x.model", "-", "--format", "libsvm") as process:
        assert answer(process, lines[0], 2) == expected[:2]
        assert answer(process, b"# nothing\n\n" + lines[1]) == [expected[2]]
        process.stdin.write(lines[2][:6])
        process.stdin.flush()
        time.sleep(0.05)
        assert answer(process, lines[2][6:]) == [expected[3]]
        assert answer(process, b"".join(lines[3:]), 37) == expected[4:]
        process.stdin.close()
        assert process.wait(LIMIT) == 0
    # With labels to keep it takes a word on what they are.
    kept = ["transform", "x.model", "-", "--format", "libsvm", "--keep-label"]
    expected = mercer("transform", "x.model", "x.svm", "--keep-label").out.splitlines()
    with running(*kept, "--target", "target") as process:
        assert answer(process, lines[0], 2) == expected[:2]
        assert answer(process, lines[1]) == [expected[2]]
    assert mercer(*kept, stdin=b"".join(lines)).out.splitlines() == expected
    with running("inverse", "x.model", "-", "--format", "libsvm") as process:
        assert len(answer(process, b"0 1:0.1 2:0.2\n", 2)) == 2
        assert len(answer(process, b"7.5 1:0.2\n")) == 1


@test
def test_pieces_of_a_pipe_change_nothing():
    ring_model(rows=3000)
    text = pathlib.Path("ring.csv").read_bytes()
    expected = mercer("transform", "ring.model", "ring.csv").out
    chooser = random.Random(5)
    for name, data in (("plain", text), ("gzip", gzip.compress(text))):
        with running("transform", "ring.model", "-") as process:
            found = []
            reader = threading.Thread(target=lambda: found.append(process.stdout.read()))
            reader.start()
            at = 0
            while at < len(data):
                step = chooser.choice([1, 7, 300, 5000, 70000])
                process.stdin.write(data[at:at + step])
                process.stdin.flush()
                at += step
            process.stdin.close()
            reader.join(LIMIT)
            assert process.wait(LIMIT) == 0 and found[0].decode() == expected, name
    assert mercer("fit", "-", "-m", "pca", "--json", stdin=text).out.count('"rows": 3000') == 1


@test
def test_the_worst_rows():
    x = cloud(500, 3, 8)
    kinds = ["u", "v"]
    write("t.csv", "key,a,b,c,kind\n" + "".join(
        f"k{i},{','.join(repr(float(v)) for v in row)},{kinds[i % 2]}\n" for i, row in enumerate(x)))
    words = ["-m", "kpca", "-n", 2, "--novelty", 0.1, "--label", "kind"]
    mercer("fit", "t.csv", *words, "--id", "key", "-o", "id.model")
    mercer("fit", "t.csv", *words, "--drop", "key", "-o", "no.model")
    rows = csv_rows(mercer("transform", "id.model", "t.csv", "--errors", "--keep-label").out)
    wanted = sorted(rows[1:], key=lambda row: -float(row[-3]))
    for count in (1, 7, 499, 500, 5000):
        got = csv_rows(mercer("transform", "id.model", "t.csv", "--errors", "--top", count, "--keep-label").out)
        assert got[0] == ["key", "kind", "error", "novel", "p"]
        assert got[1:] == [row[:2] + row[-3:] for row in wanted[:count]], count
    got = csv_rows(mercer("transform", "no.model", "t.csv", "--errors", "--top", 3).out)
    assert got[0] == ["row", "error", "novel", "p"]
    plain = csv_rows(mercer("transform", "no.model", "t.csv", "--errors").out)[1:]
    order = sorted(range(500), key=lambda i: -float(plain[i][-3]))[:3]
    assert got[1:] == [[str(i)] + plain[i][-3:] for i in order]
    # Of equal errors the first row comes first, and a file takes the list, too.
    write("same.csv", "a,b,c\n" + "1,2,3\n" * 5)
    got = csv_rows(mercer("transform", "no.model", "same.csv", "--errors", "--top", 3).out)
    assert [row[0] for row in got[1:]] == ["0", "1", "2"]
    told = mercer("transform", "no.model", "t.csv", "--errors", "--top", 3, "-o", "worst.csv").out
    assert "the 3 of 500 rows with the largest errors" in told and "novel" in told, told
    assert report("transform", "no.model", "t.csv", "--errors", "--top", 3, "-o", "worst.csv")["rows"] == 500
    refused("transform", "no.model", "t.csv", "--top", 3, status=2, says="--errors")


@test
def test_short_options_take_no_equals_sign():
    ring_model()
    refused("transform", "ring.model", "ring.csv", "-o=x.csv", status=2,
            says="transform: -o=x.csv: write -o x.csv or --output=x.csv")
    assert "=x.csv" not in files()
    refused("fit", "ring.csv", "-m=kpca", status=2, says="write -m kpca or --method=kpca")


if __name__ == "__main__":
    sys.exit(run_tests())
