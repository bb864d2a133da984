#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer inverse: test_inverse.py MERCER [WORD...] [-jN] [--quick]"""
import os
import pathlib
import re
import sys

import numpy as np

from support import (cloud, files, mercer, numbers, put_images, random_images, refused, report, ring_model,
                     run_tests, table, test, write)


@test
def test_inverse_of_a_linear_model_is_exact():
    x = cloud(30, 3)
    table("x.csv", x, "abc")
    mercer("fit", "x.csv", "-m", "pca", "-n", 3, "-o", "x.model", "--quiet")
    mercer("transform", "x.model", "x.csv", "--errors", "-o", "f.csv", "--quiet")
    names, back = numbers(mercer("inverse", "x.model", "f.csv").out)
    assert names == ["a", "b", "c"] and np.allclose(back, x, atol=1e-9)


@test
def test_inverse_takes_noise_off():
    ring_model(rows=400)
    features = mercer("transform", "ring.model", "ring.csv").out
    _, x = numbers(pathlib.Path("ring.csv").read_text())
    names, back = numbers(mercer("inverse", "ring.model", "-", "--errors",
                                 stdin=features.encode()).out)
    assert names[-1] == "error" and np.isfinite(back).all() and (back[:, -1] >= 0).all()
    off = [np.sqrt(np.mean((np.hypot(*z[:, :2].T) - 8) ** 2)) for z in (x, back)]
    assert off[1] < 0.7 * off[0], off


@test
def test_inverse_of_sparse_points():
    # All components of a model of sparse points lead back to its rows, in every form of output.
    x = cloud(30, 5)
    x[np.random.default_rng(2).random(x.shape) < 0.6] = 0
    write("x.svm", "".join("0 " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist()) if v) +
                           "\n" for row in x))
    for kernel, count in (("rbf:sigma=2", 30), ("poly:degree=2,gamma=1", 20)):
        mercer("fit", "x.svm", "-m", "kpca", "-k", kernel, "-n", count, "-o", "x.model", "--quiet")
        mercer("transform", "x.model", "x.svm", "-o", "f.csv", "--quiet")
        names, back = numbers(mercer("inverse", "x.model", "f.csv").out)
        assert names == [f"x{j}" for j in range(1, 6)]
        assert np.allclose(back, x, atol=1e-6), (kernel, np.abs(back - x).max())
        mercer("inverse", "x.model", "f.csv", "-o", "b.npy", "--quiet")
        assert np.array_equal(np.load("b.npy"), back)
        mercer("inverse", "x.model", "f.csv", "-o", "b.svm", "--quiet")
        for line, row in zip(pathlib.Path("b.svm").read_text().splitlines(), back):
            pairs = [p.split(":") for p in line.split()[1:]]
            assert [(int(j), float(v)) for j, v in pairs] == [(j + 1, v) for j, v in enumerate(row) if v]


@test
def test_inverse_matches_feature_names():
    ring_model()
    header, f = numbers(mercer("transform", "ring.model", "ring.csv").out)
    straight = mercer("inverse", "ring.model", "-",
                      stdin=mercer("transform", "ring.model", "ring.csv").stdout).out
    table("mixed.csv", np.hstack([f[:, ::-1], f[:, :1]]), header[::-1] + ["error"])
    assert mercer("inverse", "ring.model", "mixed.csv").out == straight
    table("bare.csv", f)
    assert mercer("inverse", "ring.model", "bare.csv").out == straight
    table("few.csv", f[:, :3], header[:3])
    refused("inverse", "ring.model", "few.csv", status=1, says=["few.csv", "f4"])
    table("other.csv", f[:, :3])
    refused("inverse", "ring.model", "other.csv", status=1, says=["other.csv", "3", "5"])


@test
def test_inverse_refused_where_there_is_none():
    table("x.csv", cloud(), "abcd")
    mercer("fit", "x.csv", "-m", "kpca", "-k", "cosine", "-n", 2, "-o", "x.model", "--quiet")
    mercer("transform", "x.model", "x.csv", "-o", "f.csv", "--quiet")
    refused("inverse", "x.model", "f.csv", status=1, says="cosine")


def read_pgm(path):
    head, data = re.fullmatch(rb"(P5\n\d+ \d+\n255\n)(.*)", pathlib.Path(path).read_bytes(),
                              re.S).groups()
    width, height = map(int, head.split()[1:3])
    return np.frombuffer(data, "u1").reshape(height, width)


@test
def test_preimages_as_images():
    images = random_images(9, 4, 5)
    put_images("in", images)
    mercer("fit", "in", "-m", "pca", "-n", 8, "-o", "p.model", "--quiet")
    assert "-o images/" in mercer("fit", "in", "-m", "pca", "-n", 8, "-o", "p.model").out
    mercer("transform", "p.model", "in", "-o", "f.csv", "--quiet")
    done = mercer("inverse", "p.model", "f.csv", "-o", "out/")
    assert re.match(r"out/: 9 images of 5x4 pixels in", done.out), done.out
    assert sorted(os.listdir("out")) == [f"row{i:05d}.pgm" for i in range(1, 10)]
    for i in range(9):  # eight components give back all of nine images
        assert np.array_equal(read_pgm(f"out/row{i + 1:05d}.pgm"), images[i])
    mercer("inverse", "p.model", "f.csv", "-o", "out", "--output-format", "png", "--quiet")
    assert len(os.listdir("out")) == 18
    _, back = numbers("h\n" + mercer("scale", "out", "--scale", "none", "--format", "images").out)
    assert np.array_equal(back[0], back[1]) and np.array_equal(back[::2], images.reshape(9, 20))
    lines = pathlib.Path("f.csv").read_text().splitlines()
    write("one.csv", "\n".join(lines[:2]) + "\n")
    for name in ("one.pgm", "ONE.PNG"):
        assert "1 image of 5x4" in mercer("inverse", "p.model", "one.csv", "-o", name).out
    assert np.array_equal(read_pgm("one.pgm"), images[0])
    write("far.csv", "f1\n" + "1e9\n")
    mercer("fit", "in", "-m", "pca", "-n", 1, "-o", "1.model", "--quiet")
    done = mercer("inverse", "1.model", "far.csv", "-o", "far.pgm")
    assert re.search(r"note: 20 values lay outside 0 to 255 and were clipped", done.err), done.err
    # Several rows in one file are a contact sheet: white lines of two pixels between the images.
    assert "9 images of 5x4" in mercer("inverse", "p.model", "f.csv", "-o", "all.pgm").out
    row = np.full((4, 9 * 7 - 2), 255, "u1")
    for i in range(9):
        row[:, 7 * i:7 * i + 5] = images[i]
    assert np.array_equal(read_pgm("all.pgm"), row)
    mercer("inverse", "p.model", "-", "-o", "sheet.pgm", "--sheet", "4x3", stdin=("\n".join(lines) + "\n").encode())
    sheet = np.full((3 * 6 - 2, 4 * 7 - 2), 255, "u1")
    for i in range(9):
        sheet[6 * (i // 4):6 * (i // 4) + 4, 7 * (i % 4):7 * (i % 4) + 5] = images[i]
    assert np.array_equal(read_pgm("sheet.pgm"), sheet)
    refused("inverse", "p.model", "f.csv", "-o", "few.pgm", "--sheet", "4x2", status=1,
            says=["f.csv", "8 images", "images/"])
    refused("inverse", "p.model", "f.csv", "-o", "out/", "--sheet", "4x2", status=2, says=["--sheet"])
    refused("inverse", "p.model", "f.csv", "-o", "x.csv", "--sheet", "4x2", status=2, says=["--sheet"])
    refused("inverse", "p.model", "f.csv", "--sheet", "4x2", status=2, says=["-o"])
    refused("inverse", "p.model", "f.csv", "-o", "x.pgm", "--sheet", "4by2", status=2, says=["4by2", "32x24"])
    # What is left of a shorter model is still a model of images.
    mercer("truncate", "p.model", "-n", 3, "-o", "3.model", "--quiet")
    assert report("info", "3.model")["image_size"] == [5, 4, 1]
    write("three.csv", "\n".join(",".join(line.split(",")[:3]) for line in lines) + "\n")
    assert "9 images" in mercer("inverse", "3.model", "three.csv", "-o", "short/").out
    refused("inverse", "p.model", "one.csv", "-o", "x.ppm", status=2, says=[".pgm"])
    refused("inverse", "p.model", "f.csv", "-o", "none/out/", status=1, says=["none"])
    refused("inverse", "p.model", "f.csv", "-o", "out/", "--errors", status=2, says=["--errors"])
    refused("inverse", "p.model", "f.csv", "-o", "out/", "--output-format", "csv", status=2,
            says=["out/", "csv"])
    refused("inverse", "p.model", "f.csv", "--output-format", "png", status=2, says=["-o"])
    mercer("fit", "in", "-m", "pca", "-n", 2, "--image-features", "haar", "-o", "h.model", "--quiet")
    ring_model()
    for model, word in (("h.model", "features of images"), ("ring.model", "columns")):
        refused("inverse", model, "f.csv", "-o", "no/", status=1, says=[model, word])
    assert not {"few.pgm", "x.csv", "x.pgm", "x.ppm", "no", "none"} & set(files())


if __name__ == "__main__":
    sys.exit(run_tests())
