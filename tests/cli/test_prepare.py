#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How every command prepares what it reads: images, missing values, text columns.

test_prepare.py MERCER [WORD...] [-jN] [--quick]
"""
import os
import pathlib
import re
import shutil
import socket
import sys

import numpy as np

from support import (cloud, mercer, numbers, png, put_images, random_images, refused, report, run_tests, table, test,
                     write)


@test
def test_image_features_are_kept_in_the_model():
    images = random_images(12, 6, 5)
    put_images("small", images)
    put_images("large", images.repeat(2, axis=1).repeat(3, axis=2))
    np.save("stack.npy", images)
    text = mercer("fit", "small", "-m", "kpca", "-n", 3, "--image-features", "haar", "-o",
                  "haar.model").out
    assert re.search(r"images +5x6, greyscale; features: haar", text), text
    about = report("info", "haar.model")
    assert about["image_features"] == "haar" and about["image_size"] == [5, 6, 1], about
    assert re.search(r"images +5x6, greyscale; features: haar", mercer("info", "haar.model").out)
    _, wanted = numbers(mercer("transform", "haar.model", "small").out)
    for same in ("large", "stack.npy"):
        _, got = numbers(mercer("transform", "haar.model", same).out)
        assert np.allclose(got, wanted, atol=1e-12), same
    # By hand: the first kind has cells of 1 x 1 first, right minus left.
    _, pixels = numbers("h\n" + mercer("scale", "small", "--scale", "none").out)
    _, haar = numbers("h\n" + mercer("scale", "small", "--scale", "none", "--image-features",
                                     "haar").out)
    assert np.array_equal(haar[:, :4], pixels[:, 1:5] - pixels[:, :4])
    mercer("fit", "small", "-m", "kpca", "-n", 3, "-o", "pixels.model", "--quiet")
    assert report("info", "pixels.model")["image_features"] == "pixels"
    _, wanted = numbers(mercer("transform", "pixels.model", "small").out)
    assert np.allclose(numbers(mercer("transform", "pixels.model", "large").out)[1], wanted)
    refused("transform", "haar.model", "large", "--resize", "2x2", status=2,
            says=["large", "2x2", "5x6"])
    np.save("other.npy", random_images(3, 5, 6))
    refused("transform", "haar.model", "other.npy", status=1, says=["6x5", "5x6"])
    refused("fit", "other.npy", "-m", "kpca", "--image-features", "hair", status=2,
            says=["pixels, haar"])
    table("t.csv", cloud())
    refused("fit", "t.csv", "-m", "kpca", "--image-features", "haar", status=2,
            says=["t.csv", "not images"])
    np.save("big.npy", random_images(2, 40, 40).astype("u1"))
    refused("fit", "big.npy", "-m", "kpca", "--image-features", "haar", "--memory", "4M", status=1,
            says=["big.npy", "MB", "--memory"])


@test
def test_16_bit_images_are_rounded():
    # Each value of 16 bits once; the nearest of 0 .. 255, as PGM has it.
    values = np.random.default_rng(2).permutation(65536).reshape(256, 256)
    wanted = (255 * values.ravel() + 32767) // 65535
    for channels in (1, 2, 3, 4):
        pixels = np.stack([values, values[::-1], values[:, ::-1], values.T][:channels], axis=2)
        if channels in (2, 4):
            pixels[:, :, -1] = 65535 - pixels[:, :, -1] // 2  # transparency
        colours = pixels[:, :, :1 if channels < 3 else 3]
        shutil.rmtree("one", ignore_errors=True)
        os.mkdir("one")
        pathlib.Path("one/a.png").write_bytes(png(pixels, 16))
        kind = b"P5" if channels < 3 else b"P6"
        pathlib.Path("one/b.p%sm" % ("g" if channels < 3 else "p")).write_bytes(
            kind + b" 256 256 65535\n" + colours.astype(">u2").tobytes())
        mercer("scale", "one", "--scale", "none", "-o", "one.npy", "--quiet")
        got = np.load("one.npy")
        assert np.array_equal(got[0], got[1]), f"{channels} channels: PNG and PNM differ"
        assert np.array_equal(got[0].reshape(65536, -1)[:, 0], wanted), f"{channels} channels"
    pathlib.Path("one/a.png").write_bytes(png(values[:, :, None] // 257, 8))
    os.remove("one/b.ppm")
    mercer("scale", "one", "--scale", "none", "-o", "one.npy", "--quiet")
    assert np.array_equal(np.load("one.npy")[0], values.ravel() // 257), "8 bits stay"


@test
def test_images_are_regular_files():
    images = random_images(3, 4, 4)
    put_images("flat", images)
    whole = mercer("scale", "flat", "--scale", "none").out
    os.mkfifo("flat/4.png")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("flat/5.png")
    os.symlink("nowhere.pgm", "flat/6.pgm")
    os.symlink("7.pgm", "flat/7.pgm")
    os.symlink("/dev/zero", "flat/8.pgm")
    os.symlink(".", "flat/loop")
    done = mercer("scale", "flat", "--scale", "none")
    assert done.out == whole
    assert "5 entries that are not regular files" in done.err, done.err
    # A link to a regular file is that file.
    os.symlink("1.pgm", "flat/9.pgm")
    assert mercer("scale", "flat", "--scale", "none").out == whole + whole.splitlines()[0] + "\n"
    # In sub-folders, too, and a folder that has nothing else is refused.
    os.makedirs("sub/a")
    os.mkfifo("sub/a/1.pgm")
    refused("scale", "sub", status=1, says=["sub", "without images"])
    os.symlink("..", "sub/b")
    refused("scale", "sub", status=1, says=["sub", "without images"])
    for name in ("x.h5", "x.mat"):
        os.mkfifo(name)
        refused("scale", name, says=[name, "plain file"])


@test
def test_missing_values():
    write("h.csv", "a,b,c,label\n1,2,3,x\n4,,9,y\nNA,6,1,x\n2,4,5,y\n3,0,7,x\n")
    refused("fit", "h.csv", "-m", "kpca", status=1, says=["h.csv:3: column 'b'", "--missing"])
    done = mercer("fit", "h.csv", "-m", "pca", "-n", 2, "--missing", "mean", "-o", "m.model")
    assert re.search(r"missing values +mean of the column", done.out), done.out
    assert "2 missing values are replaced" in done.out, done.out
    assert report("info", "m.model")["missing"] == "mean"
    # The training means, also where training had no hole.
    write("new.csv", "c,b,a\n,?,\n5,3,2.5\n")
    done = mercer("transform", "m.model", "new.csv")
    _, f = numbers(done.out)
    assert np.allclose(f[0], f[1], atol=1e-12) and "3 missing values are replaced" in done.err
    result = report("fit", "h.csv", "-m", "pca", "-n", 2, "--missing", "drop", "-o", "d.model")
    assert result["rows"] == 3 and result["missing"] == "drop", result
    assert ["h.csv: 2 of 5 rows have missing values and are left out"] == result["notices"]
    refused("transform", "d.model", "h.csv", status=1, says=["h.csv:3: column 'b'", "left out"])
    write("full.csv", "a,b,c\n1,2,3\n2,4,5\n3,0,7\n")
    mercer("fit", "full.csv", "-m", "pca", "-n", 2, "-o", "f.model", "--quiet")
    _, one = numbers(mercer("transform", "f.model", "full.csv").out)
    _, two = numbers(mercer("transform", "d.model", "full.csv").out)
    assert np.array_equal(one, two)
    refused("transform", "f.model", "h.csv", status=1, says=["h.csv:3", "without missing values"])
    out = mercer("scale", "h.csv", "--scale", "none", "--missing", "mean").out
    assert out.splitlines()[2] == "y,4,3,9", out
    refused("fit", "h.csv", "-m", "kpca", "--missing", "zero", status=2, says="error, mean, median, drop")


@test
def test_sparse_rows_are_not_prepared():
    write("s.svm", "1 1:2 3:1\n0 2:1\n1 1:1 2:4 3:3\n")
    write("s.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 2\n2 2 5\n3 1 1\n")
    for name in ("s.svm", "s.mtx"):
        for option in (("--missing", "mean"), ("--missing", "drop"), ("--encode", "onehot")):
            refused("fit", name, "-m", "kpca", *option, status=2, says=[name, "sparse", option[0]])
        refused("fit", name, "-m", "kpca", "--image-features", "haar", status=2, says="not images")
        for option in (("--missing", "error"), ("--encode", "none")):
            mercer("fit", name, "-m", "kpca", *option, "--quiet")
    # Rows without holes need no means; what is made of text columns or images they cannot give.
    write("m.csv", "1,2,3\n4,,9\n2,6,1\n2,4,5\n")
    mercer("fit", "m.csv", "-m", "pca", "-n", 2, "--missing", "mean", "-o", "m.model", "--quiet")
    write("dense.csv", "2,0,1\n0,1,0\n1,4,3\n")
    _, dense = numbers(mercer("transform", "m.model", "dense.csv").out)
    _, sparse = numbers(mercer("transform", "m.model", "s.svm").out)
    assert np.allclose(dense, sparse, rtol=0, atol=1e-12)
    refused("transform", "m.model", "s.mtx", status=1, says=["s.mtx: 2 columns", "3"])
    write("t.csv", "a,1\nb,2\na,4\n")
    mercer("fit", "t.csv", "-m", "pca", "-n", 2, "--encode", "onehot", "-o", "t.model", "--quiet")
    refused("transform", "t.model", "s.svm", status=1, says=["s.svm", "sparse", "text columns"])
    put_images("in", random_images(4, 3, 3))
    mercer("fit", "in", "-m", "pca", "-n", 2, "--image-features", "haar", "-o", "h.model", "--quiet")
    refused("transform", "h.model", "s.svm", status=1, says=["s.svm", "sparse", "images"])


@test
def test_text_columns():
    rows = ["red,1,3,a", "blue,2,1,b", "red,4,2,a", "green,3,5,b", "blue,1,1,a"]
    write("t.csv", "colour,x,y,label\n" + "\n".join(rows) + "\n")
    refused("fit", "t.csv", "-m", "kpca", status=1,
            says=["t.csv:2: column 'colour': 'red' is not a number", "--label colour",
                  "--encode onehot"])
    done = mercer("fit", "t.csv", "-m", "pca", "-n", 2, "--encode", "onehot", "-o", "t.model")
    assert re.search(r"data +5 rows x 5 columns", done.out), done.out
    assert re.search(r"text columns +onehot", done.out), done.out
    about = report("info", "t.model")
    assert about["encode"] == "onehot", about
    assert about["column_names"] == ["colour=blue", "colour=green", "colour=red", "x", "y"]
    # As if somebody had encoded it by hand.
    colours = ["blue", "green", "red"]
    x = [[float(row.split(",")[0] == c) for c in colours] + [float(v) for v in row.split(",")[1:3]]
         for row in rows]
    table("hand.csv", x, names=about["column_names"])
    mercer("fit", "hand.csv", "-m", "pca", "-n", 2, "-o", "hand.model", "--quiet")
    _, wanted = numbers(mercer("transform", "hand.model", "hand.csv").out)
    _, got = numbers(mercer("transform", "t.model", "t.csv").out)
    assert np.array_equal(got, wanted)
    # Other columns and another order; texts nobody has seen are zeroes, and a note says so.
    write("new.csv", "id,y,colour,x\nn1,3,red,1\nn2,3,pink,1\nn3,3,,1\n")
    refused("transform", "t.model", "new.csv", status=1, says=["new.csv:4", "column 'colour'"])
    write("new.csv", "id,y,colour,x\nn1,3,red,1\nn2,3,pink,1\n")
    done = mercer("transform", "t.model", "new.csv")
    _, f = numbers(done.out)
    assert np.array_equal(f[0], got[0]) and not np.allclose(f[1], f[0])
    assert "1 cell has a text that the training table does not have" in done.err, done.err
    zeroes = table("z.csv", [[0, 0, 0, 1, 3]], names=about["column_names"])
    assert np.array_equal(numbers(mercer("transform", "hand.model", zeroes).out)[1][0], f[1])
    # A column called label is data when it was data.
    mercer("fit", "t.csv", "-m", "pca", "-n", 2, "--encode", "onehot", "--no-label", "-o",
           "l.model", "--quiet")
    assert "label=a" in report("info", "l.model")["column_names"]
    assert mercer("transform", "l.model", "t.csv").out.count("\n") == 6
    out = mercer("scale", "t.csv", "--scale", "none", "--encode", "onehot", "--no-label").out
    assert out.splitlines()[0] == "colour=blue,colour=green,colour=red,x,y,label=a,label=b"
    write("ids.csv", "id,x\n" + "".join(f"n{i},{i}\n" for i in range(2000)))
    refused("fit", "ids.csv", "-m", "kpca", "--encode", "onehot:max=2000", "--memory", "16M", status=1,
            says=["ids.csv", "2001 columns", "--memory"])


@test
def test_what_was_done_to_columns_is_told():
    write("e.csv", 'city,x,ok,price,pct,day\n' + "".join(
        f'{c},{i},{"yes" if i % 2 else "no"},"{i + 1},{i * 7 % 10}00",{i}%,2024-01-0{i}\n' for i, c in
        enumerate(["Rome", "Oslo", "Rome", "Bonn", "Oslo"], 1)))
    told = report("fit", "e.csv", "-m", "pca", "-n", 2, "--encode", "onehot,dates", "-o", "e.model")
    assert told["encoded"] == [{"column": "city", "as": "onehot", "values": ["Bonn", "Oslo", "Rome"]},
                               {"column": "ok", "as": "boolean"}, {"column": "price", "as": "grouped"},
                               {"column": "pct", "as": "percent"}, {"column": "day", "as": "date"}]
    assert report("info", "e.model")["encoded"] == told["encoded"]
    for text in (mercer("info", "e.model").out,
                 mercer("fit", "e.csv", "-m", "pca", "-n", 2, "--encode", "onehot,dates").out):
        text = " ".join(text.split())
        assert "'city': Bonn, Oslo, Rome (3 values)" in text and "'pct': percent signs left out" in text
        assert "'price': thousands separators left out" in text and "'day': days since 1970-01-01" in text
    # Without texts the columns are those of the model; without names they are numbered.
    write("bare.csv", "1,5%\n2,7%\n4,6%\n")
    assert report("fit", "bare.csv", "-m", "pca", "-n", 1)["encoded"] == [{"column": 2, "as": "percent"}]
    assert "encoded" not in report("fit", write("plain.csv", "a,b\n1,2\n2,1\n3,3\n"), "-m", "pca", "-n", 1)


if __name__ == "__main__":
    sys.exit(run_tests())
