#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mercer plot: test_plot.py MERCER [WORD...] [-jN] [--quick]

Pictures are parsed as XML. Where marks stand is computed here anew, from what `transform` writes and from
the ticks of the axes, which say what a pixel is.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zlib

import numpy as np

from support import (MERCER, Skip, cloud, columns_of, csv_rows, files, let_allocations_fail, mercer,
                     numbers, put_images, random_images, refused, report, ring_model, run_tests, slow_test, species, table, test, write)

SVG = "{http://www.w3.org/2000/svg}"
MOST_BYTES = 300_000
NASTY = "</script><img onerror=alert(1)>&\"'"
ESCAPE = "red\x1b[31m\u202egreen\x07"


def parse(name):
    data = pathlib.Path(name).read_bytes()
    assert len(data) < MOST_BYTES, len(data)
    root = ElementTree.fromstring(data)
    assert root.tag == SVG + "svg" and root.get("role") == "img"
    assert root.find(SVG + "title").text and root.find(SVG + "desc").text
    tags = re.sub(r">[^<]*<", "><", data.decode())
    assert not re.search(r"\bnan\b|\binf\b", re.sub("base64,[^\"]*", "", tags))
    assert not re.search(r"<(script|foreignObject|a)\b|\son\w+=|javascript:", tags)
    return root


def draw(*words, name="p.svg", **more):
    """Draw a picture into a file and parse it."""
    mercer("plot", *words, "-o", name, **more)
    return parse(name)


def texts(element):
    return [text.text or "" for text in element.iter(SVG + "text")]


def number(text):
    return float(text.replace("\u2212", "-").replace(" %", "e-2"))


def scale(panel, which):
    """From pixels to values along an axis of a panel, by its ticks."""
    at, value = [], []
    for text in panel.findall(SVG + "text"):
        if text.get("text-anchor") == ("middle" if which == "x" else "end") and not text.get("transform"):
            try:
                value.append(number(text.text))
            except ValueError:
                continue
            at.append(float(text.get(which)) - (0 if which == "x" else 4))
    assert len(at) >= 2, (which, texts(panel))
    slope, offset = np.polyfit(at, value, 1)
    assert np.allclose(np.polyval([slope, offset], at), value, atol=abs(slope) * 0.2)
    return lambda pixels: slope * np.asarray(pixels) + offset


def panels(root):
    return [child for child in root.findall(SVG + "g") if child.get("class") != "mc-key"]


SHAPES = {  # what follows the first position of a mark, in tenths of a pixel: shape, shift to the middle
    "h0": ("dot", 0, 0), "h40v40h-40z": ("square", 20, 20), "l26 44h-52z": ("triangle", 0, 28),
    "l29 29l-29 29l-29 -29z": ("diamond", 0, 29), "l26 -44h-52z": ("triangle down", 0, -28),
    "h60m-30 -30v60": ("plus", 30, 0), "l52 52m0 -52l-52 52": ("cross", 26, 26),
    "a60 60 0 1 0 120 0a60 60 0 1 0 -120 0": ("ring", 60, 0)}


def marks(panel):
    """{(colour, shape): positions in pixels} of the points of a panel."""
    found = {}
    for group in panel.findall(SVG + "g"):
        for path in group.iter(SVG + "path"):
            colour = group.get("stroke") if group.get("stroke") else group.get("fill")
            for x, y, rest in re.findall(r"M(-?\d+) (-?\d+)([^M]*)", path.get("d")):
                shape, right, down = SHAPES[rest]
                unit = float(re.fullmatch(r"scale\((.*)\)", group.get("transform"))[1])
                found.setdefault((colour, shape), []).append(((int(x) + right) * unit, (int(y) + down) * unit))
    return {key: np.array(value) for key, value in found.items()}


def legend(root):
    """{name: (colour, shape)} of the legend's points."""
    found = {}
    for key in root.findall(SVG + "g"):
        if key.get("class") == "mc-key" and key.find(SVG + "g") is not None:
            (style,) = marks(key)
            found[texts(key)[0]] = style
    return found


def same_points(found, expected, room):
    """Two sets of points, as many in each, each of them within `room` of one of the other set."""
    assert found.shape == expected.shape, (found.shape, expected.shape)
    distances = np.abs(found[:, None] - expected[None]).max(2)
    assert distances.min(1).max() <= room and distances.min(0).max() <= room, distances.min(1).max()


@test
def test_spectrum():
    ring_model()
    spectrum = report("info", "ring.model")
    root = draw("ring.model")
    first = pathlib.Path("p.svg").read_bytes()
    bars = [bar for bar in panels(root)[0].iter(SVG + "rect")]
    assert len(bars) == 5
    values = scale(panels(root)[0], "y")
    tops = values([float(bar.get("y")) for bar in bars])
    shares = np.array(spectrum["share"])
    assert np.allclose(tops, shares, atol=abs(values(0) - values(0.2)))
    course = [element for element in panels(root)[1].findall(SVG + "path") if element.get("class").startswith("mc-s")]
    points = np.array(re.findall(r"[ML](\d+) (\d+)", course[0].get("d")), float) / 10
    heights = scale(panels(root)[1], "y")
    assert np.allclose(heights(points[:, 1]), np.cumsum(shares), atol=abs(heights(0) - heights(0.2)))
    assert np.allclose(scale(panels(root)[1], "x")(points[:, 0]), [1, 2, 3, 4, 5], atol=0.01)
    assert any("kpca" in text for text in texts(root))
    # The same bytes whenever and wherever it is drawn.
    for words, env in ([], {}), (["--kind", "spectrum"], {"LC_ALL": "comma"}), (["--threads", 2], {"COLUMNS": "40"}):
        mercer("plot", "ring.model", *words, "-o", "q.svg", env=env)
        assert pathlib.Path("q.svg").read_bytes() == first
    assert pathlib.Path("q.svg").read_bytes() == subprocess.run(
        [MERCER, "plot", "ring.model", "-o", "-"], stdout=subprocess.PIPE, check=True).stdout


@test
def test_kinds_of_a_model():
    table("x.csv", cloud(), "abcd")
    for method in "akfa", "skfa", "rkpca", "greedy", "nystroem:points=7":
        fitted = report("fit", "x.csv", "-m", method, "-n", 4, "-o", "x.model")
        root = draw("x.model", "--kind", "selection")
        titles = [element.text for element in root.iter(SVG + "title")]
        for row in fitted["selected"]:
            assert any(title.endswith(f"row {row}") for title in titles), (method, row)
        if fitted.get("selection"):
            error = [entry["reconstruction_error"] for entry in fitted["selection"]]
            panel = panels(root)[0]
            points = np.concatenate(list(marks(panel).values()))
            assert np.allclose(sorted(scale(panel, "y")(points[:, 1])), sorted(error), atol=0.01 * max(error))
    x, _ = species()
    mercer("fit", "species.csv", "-m", "kpls", "-n", 3, "-o", "p.model", "--quiet")
    errors = report("info", "p.model")["head_errors"]
    root = draw("p.model", "--kind", "head")
    points = np.concatenate(list(marks(panels(root)[0]).values()))
    assert np.allclose(scale(panels(root)[0], "y")(points[:, 1]), errors, atol=0.005)
    fitted = report("fit", "species.csv", "-m", "koca", "-n", 2, "-o", "k.model")
    root = draw("k.model", "--kind", "trace")
    assert len(panels(root)) == 3
    assert "kpls" in mercer("plot", "p.model").out and "koca" in mercer("plot", "k.model").out


@test
def test_features_by_class():
    x, labels = species()
    mercer("fit", "species.csv", "-m", "rkpca", "-n", 3, "--novelty", 0.1, "-o", "s.model", "--quiet")
    header, *rows = csv_rows(mercer("transform", "s.model", "species.csv", "--errors").out)
    values = np.array(rows, float)
    features, novel = values[:, :3], values[:, header.index("novel")] == 1
    fitted = report("info", "s.model")
    for axes in (1, 2), (3, 1):
        root = draw("s.model", "species.csv", "--axes", "%d,%d" % axes)
        panel = panels(root)[0]
        right, up = scale(panel, "x"), scale(panel, "y")
        found, names = marks(panel), legend(root)
        room = 0.3 * max(abs(right(1) - right(0)), abs(up(1) - up(0)))

        def check(style, wanted):
            points = np.c_[right(found[style][:, 0]), up(found[style][:, 1])]
            same_points(points, features[wanted][:, [axes[0] - 1, axes[1] - 1]], room)
        for name in sorted(set(labels)):
            check(names[name], np.array([label == name for label in labels]))
        assert len({style for style in names.values()}) == len(names) == 3 + 1 + bool(novel.any())
        if novel.any():
            check(names[f"novel ({novel.sum()})"], novel)
        selected = fitted["selected"]
        check(names[f"selected ({len(selected)})"], np.array(selected))
    # Other rows than those of the fit have no selected ones among them.
    write("some.csv", "".join(pathlib.Path("species.csv").read_text().splitlines(keepends=True)[:40]))
    assert not any(name.startswith("selected") for name in legend(draw("s.model", "some.csv")))
    titles = [element.text for element in draw("s.model", "some.csv").iter(SVG + "title")]
    assert "row 0: setosa" in titles and "row 38: virginica" in titles


@test
def test_values_and_ids():
    x = cloud(80, 3)
    lines = ["id,a,b,c,target"] + [f"p{i},{r[0]},{r[1]},{r[2]},{r.sum()}" for i, r in enumerate(x)]
    write("v.csv", "\n".join(lines) + "\n")
    mercer("fit", "v.csv", "-m", "kpca", "-n", 2, "--id", "id", "-o", "v.model", "--quiet")
    root = draw("v.model", "v.csv")
    ranges = [name for name in legend(root) if " to " in name]
    assert len(ranges) == 7
    assert sum(len(points) for points in marks(panels(root)[0]).values()) == 80
    assert any(element.text and element.text.startswith("p17:") for element in root.iter(SVG + "title"))
    refused("plot", "v.model", "v.csv", "--kind", "confusion", "-o", "no.svg", says="no head")


@test
def test_numbers_at_the_end_of_their_range():
    x = cloud(60, 3)
    for top in 1.7e308, 5e-324:
        write("t.csv", "a,b,c,target\n" + "".join(
            f"{r[0]},{r[1]},{r[2]},{top if i % 2 else -top}\n" for i, r in enumerate(x)))
        mercer("fit", "t.csv", "-m", "kpca", "-n", 2, "-o", "t.model", "--quiet")
        for kind in "features", "pairs", "errors":
            root = draw("t.model", "t.csv", "--kind", kind)
            assert not any("inf" in name or "nan" in name for name in legend(root)), legend(root)
            mercer("plot", "t.model", "t.csv", "--kind", kind)
        assert sum(len(points) for points in marks(panels(draw("t.model", "t.csv"))[0]).values()) == 60
        mercer("report", "t.model", "t.csv", "-o", "t.html")
    # Squared errors of these rows are numbers, but ranges around them, and between them, are not.
    write("x.csv", "a,b,c\n" + "".join(f"{r[0]},{r[1]},{r[2]}\n" for r in x))
    write("large.csv", "a,b,c\n" + "".join(f"{1.2e154 * (i % 2)},0,1\n" for i in range(60)))
    mercer("fit", "x.csv", "-m", "pca", "-n", 1, "-o", "x.model", "--quiet")
    for kind in "features", "errors":
        draw("x.model", "large.csv", "--kind", kind)
        mercer("plot", "x.model", "large.csv", "--kind", kind)
    mercer("report", "x.model", "large.csv", "-o", "x.html")
    write("wide.csv", "a,b,c\n1,2,3\n1e154,1e154,1e154\n")
    refused("transform", "x.model", "wide.csv", "--errors", says=["row 2", "too large", "overflows"])
    refused("plot", "x.model", "wide.csv", "--kind", "errors", says=["row 2", "too large"])
    write("columns.csv", "a,b,c\n" + "1,2,3\n1.7e308,-1.7e308,0\n-1.7e308,1.7e308,0\n" * 9)
    mercer("fit", "x.csv", "-m", "kpca", "-n", 1, "--scale", "unit", "-o", "u.model", "--quiet")
    mercer("report", "u.model", "columns.csv", "-o", "u.html")


@test
def test_pairs_and_errors():
    x, labels = species()
    mercer("fit", "species.csv", "-m", "kpca", "-n", 5, "--novelty", 0.1, "-o", "s.model", "--quiet")
    header, *rows = csv_rows(mercer("transform", "s.model", "species.csv", "--errors").out)
    values = np.array(rows, float)
    root = draw("s.model", "species.csv", "--kind", "pairs")
    grid = panels(root)
    assert len(grid) == 16
    for i in range(4):
        for j in range(4):
            found = marks(grid[4 * i + j])
            bars = list(grid[4 * i + j].iter(SVG + "rect"))
            assert sum(map(len, found.values())) == (90 if j < i else 0)
            assert bool(bars) == (i == j)
    root = draw("s.model", "species.csv", "--kind", "errors")
    each = panels(root)[1]
    right, up = scale(each, "x"), scale(each, "y")
    names = legend(root)
    points = np.concatenate([marks(each)[names[name]] for name in set(labels)])
    order = np.argsort(points[:, 0])
    assert np.allclose(right(points[order, 0]), np.arange(90), atol=abs(right(1) - right(0)) * 0.3)
    assert np.allclose(up(points[order, 1]), values[:, 5], atol=abs(up(1) - up(0)) * 0.3)
    counted = sum(int(re.match(r"\d+", bar.find(SVG + "title").text)[0])
                  for bar in panels(root)[0].iter(SVG + "rect"))
    assert counted == 90
    worst = int(values[:, 5].argmax())
    assert f"row {worst}" in texts(each)


@test
def test_predictions():
    x, labels = species()
    mercer("fit", "species.csv", "-m", "kpls", "-n", 3, "-o", "p.model", "--quiet")
    header, *rows = csv_rows(mercer("predict", "p.model", "species.csv").out)
    names = sorted(set(labels))
    counts = {(a, b): 0 for a in names for b in names}
    for label, row in zip(labels, rows):
        counts[label, row[header.index("prediction")]] += 1
    root = draw("p.model", "species.csv", "--kind", "confusion")
    cells = [text for text in texts(panels(root)[0]) if text.isdigit()]
    assert list(map(int, cells)) == [counts[a, b] for a in names for b in names]
    assert sorted(text for text in texts(panels(root)[0]) if text in names) == sorted(2 * names)
    root = draw("p.model", "species.csv", "--kind", "roc")
    areas = {}
    for name in names:
        score = np.array([float(row[header.index(f"score_{name}")]) for row in rows])
        is_it = np.array([label == name for label in labels])
        above = score[is_it][:, None] - score[~is_it][None]
        areas[name] = (above > 0).mean() + 0.5 * (above == 0).mean()
    shown = [text for key in root.findall(SVG + "g") if key.get("class") == "mc-key" for text in texts(key)]
    for name in names:
        (text,) = [text for text in shown if text.startswith(name + ": area ")]
        assert abs(float(text.split()[-1]) - areas[name]) < 1e-3, (name, text, areas[name])
    # Classes that the model has never seen are not compared.
    write("new.csv", pathlib.Path("species.csv").read_text().replace("virginica", "martian"))
    root = draw("p.model", "new.csv", "--kind", "confusion")
    assert "30 not compared" in root.find(SVG + "title").text
    mercer("fit", "species.csv", "-m", "kpca", "-n", 3, "-o", "k.model", "--quiet")
    refused("plot", "k.model", "species.csv", "--kind", "roc", "-o", "no.svg", says="no head")
    refused("plot", "p.model", "species.csv", "--no-label", "--kind", "roc", "-o", "no.svg", says=["species.csv", "classes"])


def png(data):
    """Pixels of a PNG without prediction."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    wide, high, bits, kind = struct.unpack(">IIBB", data[16:26])
    at, body = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            body += data[at + 8:at + 8 + length]
        at += 12 + length
    of = {0: 1, 2: 3, 6: 4}[kind]
    lines = np.frombuffer(zlib.decompress(body), "u1").reshape(high, 1 + wide * of)
    assert bits == 8 and not lines[:, 0].any()
    return lines[:, 1:].reshape(high, wide, of)


def images_of(root):
    return [png(base64.b64decode(element.get("href").split(",")[1])) for element in root.iter(SVG + "image")]


@test
def test_preimages():
    images = random_images(9, 4, 5)
    put_images("in", images)
    mercer("fit", "in", "-m", "pca", "-n", 8, "-o", "p.model", "--quiet")
    root = draw("p.model", "in", "--kind", "preimages")
    (sheet,) = images_of(root)
    grow = sheet.shape[1] // (9 * 7 - 2)  # few pixels are repeated, to twice the size drawn
    assert grow > 8 and np.array_equal(sheet, sheet[::grow, ::grow].repeat(grow, 0).repeat(grow, 1))
    sheet = sheet[::grow, ::grow]
    assert sheet.shape == (4 + 2 + 4, 9 * 7 - 2, 1)
    for i in range(9):  # eight components give back all of nine images
        assert np.array_equal(sheet[:4, 7 * i:7 * i + 5, 0], images[i])
        assert np.array_equal(sheet[6:, 7 * i:7 * i + 5, 0], images[i])
    ring_model()
    root = draw("ring.model", "ring.csv", "--kind", "preimages")
    names = legend(root)
    header, back = numbers(subprocess.run([MERCER, "inverse", "ring.model", "-"], check=True, stdout=subprocess.PIPE,
                                          input=mercer("transform", "ring.model", "ring.csv").stdout).stdout.decode())
    panel = panels(root)[0]
    found = marks(panel)[names["pre-images"]]
    right, up = scale(panel, "x"), scale(panel, "y")
    same_points(np.c_[right(found[:, 0]), up(found[:, 1])], back, 0.3 * abs(right(1) - right(0)))
    assert np.isclose(abs(right(1) - right(0)), abs(up(1) - up(0)), rtol=0.01)  # a ring is round
    table("x.csv", cloud(), "abcd")
    mercer("fit", "x.csv", "-m", "kpca", "-k", "laplacian", "-n", 3, "-o", "l.model", "--quiet")
    refused("plot", "l.model", "x.csv", "--kind", "preimages", "-o", "no.svg", says=["laplacian"])


@test
def test_many_points_become_a_density():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(20001, 2))
    np.save("x.npy", x)
    np.save("fewer.npy", x[:-1])
    mercer("fit", "x.npy", "-m", "pca", "-n", 2, "-o", "p.model", "--quiet")
    root = draw("p.model", "fewer.npy")
    assert not images_of(root) and sum(map(len, marks(panels(root)[0]).values())) == 20000
    root = draw("p.model", "x.npy")
    (raster,) = images_of(root)
    assert raster.shape[2] == 4 and not marks(panels(root)[0])
    assert any("20,001 points drawn as density" in text for text in texts(root))
    _, features = numbers(mercer("transform", "p.model", "x.npy").out)
    panel = panels(root)[0]
    where = next(panel.iter(SVG + "image"))
    left, over, wide, high = (float(where.get(name)) for name in ("x", "y", "width", "height"))
    right, up = scale(panel, "x"), scale(panel, "y")
    counts, _, _ = np.histogram2d(features[:, 1], features[:, 0], bins=raster.shape[:2], range=[
        sorted([up(over), up(over + high)]), [right(left), right(left + wide)]])
    counts = counts[::-1]
    assert abs((counts > 0).sum() - (raster[:, :, 3] > 0).sum()) < 0.02 * (counts > 0).sum()
    assert np.corrcoef(np.log1p(counts).ravel(), raster[:, :, 3].ravel())[0, 1] > 0.9
    assert "shaded" in mercer("plot", "p.model", "x.npy").out
    mercer("fit", "x.npy", "-m", "nystroem", "-n", 3, "-o", "n.model", "--quiet")
    root = draw("n.model", "x.npy", "--kind", "pairs")
    assert any("20,001 points per panel drawn as density" in text for text in texts(root))


@test
def test_another_program_draws_them():
    """librsvg: every mark is there, where this test expects it, in the colour of its class."""
    if not shutil.which("rsvg-convert"):
        raise Skip("no rsvg-convert (librsvg2-bin)")
    from PIL import Image
    species()
    mercer("fit", "species.csv", "-m", "kpls", "-n", 3, "-o", "p.model", "--quiet")
    root = draw("p.model", "species.csv")
    subprocess.run(["rsvg-convert", "p.svg", "-o", "p.png"], check=True)
    pixels = np.array(Image.open("p.png").convert("RGB"), float)
    assert pixels.shape[1] == round(float(root.get("width"))) and (pixels[2, 2] == 255).all()
    seen = 0
    for (colour, _), points in marks(panels(root)[0]).items():
        wanted = np.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)], float)
        for x, y in points:
            here = pixels[int(y), int(x)]
            assert here.sum() < 720, (x, y, here)  # something is drawn there
            seen += np.abs(here - (0.75 * wanted + 0.25 * 255)).max() < 60
    assert seen > 0.8 * 90, seen  # others are below the marks of other classes
    for words in (["p.model"], ["p.model", "--kind", "head"], ["p.model", "species.csv", "--kind", "confusion"]):
        draw(*words)
        subprocess.run(["rsvg-convert", "p.svg", "-o", "p.png"], check=True)
        assert (np.array(Image.open("p.png").convert("L")) < 128).sum() > 500


@slow_test
def test_the_largest_pictures_stay_small():
    """Just as many points as are drawn one by one, of many classes, all of them novel or selected; large images."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(20000, 5))
    lines = ["a,b,c,d,e,label"] + [",".join(map(repr, row)) + f",class number {i % 23}" for i, row in enumerate(x.tolist())]
    write("x.csv", "\n".join(lines) + "\n")
    write("few.csv", "\n".join(lines[:1201]) + "\n")
    mercer("fit", "x.csv", "-m", "pca", "-n", 4, "--novelty", 0.9, "-o", "x.model", "--quiet")
    for kind in "features", "pairs", "errors":
        draw("x.model", "x.csv", "--kind", kind)
    mercer("fit", "few.csv", "-m", "nystroem:points=1100", "-n", 4, "--novelty", 0.9, "-o", "few.model", "--quiet")
    for kind in "features", "errors":
        draw("few.model", "few.csv", "--kind", kind)
    draw("few.model", "--kind", "selection")
    mercer("fit", "few.csv", "-m", "kpca", "-n", 1100, "-o", "k.model", "--quiet")
    assert len(list(panels(draw("k.model"))[0].iter(SVG + "rect"))) == 1000
    for shape in (61, 47), (110, 90, 3):
        np.save("in.npy", rng.integers(0, 256, size=(40, *shape), dtype="u1"))
        mercer("fit", "in.npy", "-m", "pca", "-n", 5, "-o", "i.model", "--quiet")
        draw("i.model", "in.npy", "--kind", "preimages")


@test
def test_terminal():
    species()
    mercer("fit", "species.csv", "-m", "kpls", "-n", 3, "-o", "p.model", "--quiet")
    for columns in 20, 40, 80, 200:
        for words in [["p.model"], ["p.model", "--kind", "head"]] + [
                ["p.model", "species.csv", "--kind", kind] for kind in ("features", "pairs", "confusion", "roc")]:
            out = mercer("plot", *words, env={"COLUMNS": str(columns)}).out
            assert "\x1b" not in out and len(out.splitlines()) > 4, words
            assert max(map(columns_of, out.splitlines())) <= columns, (columns, words, out)
    out = mercer("plot", "p.model", "species.csv").out  # no colours in a pipe: letters tell the classes
    assert "a a, \"b\"" in out and "b setosa" in out and "c virginica" in out
    for env in {"TERM": "xterm"}, {"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}:
        shown = on_terminal(env)
        assert ("\x1b[0;38;5;" in shown) == (env == {"TERM": "xterm"}), env
        if "\x1b[" in shown:
            assert re.search("[\u2801-\u28ff]", shown)


def on_terminal(env):
    """What plot writes to a terminal."""
    master, slave = os.openpty()
    process = subprocess.Popen([MERCER, "plot", "p.model", "species.csv"], stdout=slave, stderr=subprocess.DEVNULL,
                               env={**{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}, **env})
    os.close(slave)
    out = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    process.wait()
    os.close(master)
    return out.decode()


@test
def test_names_stay_text():
    rng = np.random.default_rng(1)
    names = [NASTY, ESCAPE, "a" * 300, "\u540d\u524d"]
    lines = ["\"x<b>\",\"" + NASTY.replace('"', '""') + "\",kind"]
    for i in range(40):
        a, b = rng.normal(size=2).tolist()
        lines.append(f"{a},{b},\"" + names[i % 4].replace('"', '""') + '"')
    write("n.csv", "\n".join(lines) + "\n")
    mercer("fit", "n.csv", "-m", "kpls", "-n", 2, "--label", "kind", "-o", "n.model", "--quiet")
    for kind in "features", "pairs", "confusion", "roc":
        root = draw("n.model", "n.csv", "--kind", kind)
        raw = pathlib.Path("p.svg").read_text()
        assert "<img" not in raw and "\x1b" not in raw and "\u202e" not in raw and "\x07" not in raw
        if kind in ("features", "confusion"):
            shown = " ".join(texts(root)) + " ".join(t.text or "" for t in root.iter(SVG + "title"))
            assert NASTY in shown, shown[:500]
            assert "red?[31m?green?" in shown
        out = mercer("plot", "n.model", "n.csv", "--kind", kind).out
        assert "\x1b" not in out and "\u202e" not in out
    mercer("fit", "n.csv", "-m", "kpca", "-n", 2, "--label", "kind", "-o", "k.model", "--quiet")
    assert NASTY in texts(draw("k.model", "n.csv", "--kind", "preimages"))  # the column's name


@test
def test_odd_inputs():
    rng = np.random.default_rng(4)
    # One class; constant features; one feature; one row; very many classes; no label.
    x = rng.normal(size=(30, 2))
    table("one.csv", x, "ab", ["only"] * 30)
    mercer("fit", "one.csv", "-m", "kpca", "-n", 2, "-o", "one.model", "--quiet")
    assert list(legend(draw("one.model", "one.csv"))) == ["only"]
    mercer("fit", "one.csv", "-m", "kpca", "-n", 1, "-o", "1.model", "--quiet")
    root = draw("1.model", "one.csv")
    assert len(list(panels(root)[0].iter(SVG + "rect"))) > 4 and "rows" in texts(root)
    refused("plot", "1.model", "one.csv", "--kind", "pairs", "-o", "no.svg", says="two")
    refused("plot", "1.model", "one.csv", "--axes", "1,2", "-o", "no.svg", says=["axis 2", "1 feature"])
    refused("plot", "one.model", "one.csv", "--axes", "1;2", "-o", "no.svg", says=["1;2", "1,2"], status=2)
    refused("plot", "one.model", "one.csv", "--axes", "0,1", "-o", "no.svg", says="0,1", status=2)
    table("same.csv", np.ones((5, 2)), "ab")
    root = draw("one.model", "same.csv")
    (found,) = marks(panels(root)[0]).values()
    assert len(found) == 5 and (found == found[0]).all()
    for kind in "pairs", "errors", "features":
        draw("one.model", "same.csv", "--kind", kind)
        mercer("plot", "one.model", "same.csv", "--kind", kind)
    table("row.csv", np.ones((1, 2)), "ab")
    for kind in "pairs", "errors", "features", "preimages":
        draw("one.model", "row.csv", "--kind", kind)
    many = [f"class {i}" for i in range(10000)]
    x = rng.normal(size=(10000, 2))
    table("many.csv", x, "ab", many)
    root = draw("one.model", "many.csv")
    assert "9978 other classes" in " ".join(legend(root)) and sum(map(len, marks(panels(root)[0]).values())) == 10000
    mercer("plot", "one.model", "many.csv")
    write("none.csv", "a,b\n")
    refused("plot", "one.model", "none.csv", "-o", "no.svg", says="none.csv")
    write("hole.csv", "a,b\n1,\n")
    refused("plot", "one.model", "hole.csv", "-o", "no.svg", says="hole.csv")
    write("other.csv", "a,c\n1,2\n")
    refused("plot", "one.model", "other.csv", "-o", "no.svg", says=["other.csv", "'b'"])
    assert "no.svg" not in files()


@test
def test_sixty_classes_in_a_confusion():
    rng = np.random.default_rng(4)
    labels = [f"c{i % 60}" for i in range(600)]
    x = rng.normal(size=(600, 3)) + (np.arange(600) % 60)[:, None] * 0.5
    table("x.csv", x, "abc", labels)
    mercer("fit", "x.csv", "-m", "kpca", "-n", 3, "--head", "knn:k=1", "-o", "x.model", "--quiet")
    root = draw("x.model", "x.csv", "--kind", "confusion")
    assert "all others" in texts(root)
    cells = [int(text) for text in texts(panels(root)[0]) if text.isdigit()]
    assert len(cells) == 900 and sum(cells) == 600
    mercer("plot", "x.model", "x.csv", "--kind", "confusion", env={"COLUMNS": "40"})


def grid_report(name, axes, mean, chosen):
    """A JSON report as `evaluate --tune` writes it."""
    cells = [{"mean": None if np.isnan(value) else value, "se": 0.01} for value in mean]
    write(name, json.dumps({"method": "kpca", "metric": "error", "larger_is_better": False, "grid": {
        "chosen": chosen, "axes": [{"key": key, "values": values} for key, values in axes], "cells": cells}}))
    return name


@test
def test_tuning():
    mean = [0.065, 0.0721, 0.0457, 0.0422, 0.0598, float("nan"), 0.0370, 0.0352]
    sizes, widths = ["components", [2, 5, 10, 20]], ["kernel.sigma", [4, 16.5]]
    grid_report("g.json", [widths, sizes], mean, 7)
    root = draw("g.json")
    shown = texts(panels(root)[0])
    for text in "4", "16.5", "20", "0.065", "0.0721", "*0.0352", "kernel.sigma", "components":
        assert text in shown, (text, shown)
    assert len(list(panels(root)[0].iter(SVG + "rect"))) == 7  # one has no value
    assert "kernel.sigma=16.5, components=20" in " ".join(texts(root))
    grid_report("u.json", [widths, sizes], mean, 5)
    assert texts(draw("u.json"))[-1] == "* chosen: kernel.sigma=16.5, components=5"  # undefined there
    # Of three keys the first is as it was chosen.
    grid_report("t.json", [["head.k", [1, 3]], widths, sizes], mean + [value + 1 for value in mean], 14)
    shown = texts(panels(draw("t.json"))[0])
    assert "*1.04" in shown and "0.0422" not in shown
    grid_report("l.json", [["kernel.sigma", [1, 2, 4, 8]]], mean[:4], 3)
    panel = panels(draw("l.json", "--kind", "tuning"))[0]
    (ring,) = [points for (_, shape), points in marks(panel).items() if shape == "ring"]
    (dots,) = [points for (_, shape), points in marks(panel).items() if shape == "dot"]
    up = scale(panel, "y")
    assert np.allclose(up(dots[:, 1]), mean[:4], atol=abs(up(0) - up(0.3)))
    assert np.allclose(ring[0], dots[3])
    assert "*0.0352" in mercer("plot", "g.json").out
    assert "*0.0352" in mercer("plot", "-", stdin=pathlib.Path("g.json").read_bytes()).out
    ring_model()
    refused("plot", "ring.model", "--kind", "tuning", says="JSON", status=2)
    refused("plot", "g.json", "--kind", "spectrum", says="tuning", status=2)
    refused("plot", "g.json", "ring.csv", says="ring.csv", status=2)
    refused("plot", write("bad.json", "{"), says=["bad.json", "JSON"], status=1)
    refused("plot", "none.json", says="none.json", status=1)
    for wrong in ({}, {"grid": 3}, {"metric": "error", "grid": {"axes": [], "cells": []}}):
        refused("plot", write("bad.json", json.dumps(wrong)), says=["bad.json", "no grid", "--tune"], status=1)
    for chosen, axes in (8, [widths, sizes]), (-1, [widths, sizes]), (1, [sizes]), (1, [["k", []], sizes]):
        grid_report("bad.json", axes, mean, chosen)
        refused("plot", "bad.json", says="bad.json", status=1)


@test
def test_scales_that_say_something():
    """Two ticks at least; nothing below a zero that an axis starts at; warnings side by side."""
    rng = np.random.default_rng(3)
    x = cloud(120, 5, 3)
    x[:, 0], x[:, 2] = 7, 0.25  # constants
    kinds = rng.integers(0, 12, 120)
    table("k.csv", x + np.eye(5)[1] * kinds[:, None] * 20, [f"f{j}" for j in range(5)], [f"k{kind:02d}" for kind in kinds])
    mercer("fit", "k.csv", "-m", "kpca", "-k", "rbf:sigma=6", "-n", 4, "--head", "knn:k=1", "-o", "k.model")
    for panel in panels(draw("k.model", "k.csv", "--kind", "pairs")):
        if texts(panel):
            assert scale(panel, "x") and scale(panel, "y")  # of two ticks or more
    panel = panels(draw("k.model", "--kind", "head"))[0]  # no error at all, for one number of features
    ticks = [text for text in texts(panel) if text.endswith(" %")]
    assert "0 %" in ticks and not any(text.startswith("\u2212") for text in ticks), ticks
    assert {"3", "4", "5"} <= set(texts(panel))
    assert {"f1", "f3"} <= set(texts(panels(draw("k.model", "k.csv", "--kind", "preimages"))[0]))
    assert {"f0", "f2"} <= set(texts(panels(draw("k.model", "k.csv", "--kind", "preimages", "--axes", "1,3"))[0]))
    note = texts(draw("k.model", "k.csv", "--kind", "roc"))[-1]
    assert "learnt from" in note and "the first 8 classes; 4 more" in note, note


@test
def test_terminal_without_colours_tells_all():
    species()
    mercer("fit", "species.csv", "-m", "kpca", "-n", 4, "--head", "ls", "-o", "s.model")
    for columns in 40, 80, 200:  # a panel per pair and feature, each with its titles, and no empty frame
        out = mercer("plot", "s.model", "species.csv", "--kind", "pairs", env={"COLUMNS": str(columns)}).out
        lines = out.splitlines()
        assert max(map(len, lines)) <= columns
        assert out.count("\u2514") == 10, out  # corners of axes
        assert [sum(line.split().count(f"f{k}") for line in lines) for k in (1, 2, 3, 4)] == [4, 4, 4, 4]
    out = mercer("plot", "s.model", "species.csv", "--kind", "roc", env={"COLUMNS": "40"}).out
    for letter in "abc":
        assert re.search(rf"^[^a-z]*%?[\u2524\u2502].*{letter}", out, re.MULTILINE) and f"{letter} " in out, out
    title = [line for line in out.splitlines() if "share of the other" in line]
    assert title[0].endswith("\u2026"), title
    out = mercer("plot", "s.model", "species.csv", "--kind", "errors", env={"COLUMNS": "160"}).out
    worst = np.argmax([float(line.split(",")[-1]) for line in mercer(
        "transform", "s.model", "species.csv", "--errors", "-o", "-").out.splitlines()[1:]])
    assert f"\u2022 row {worst}" in out or f"row {worst} \u2022" in out, (worst, out)
    images = random_images(12, 20, 16)
    put_images("faces", images)
    mercer("fit", "faces", "-m", "kpca", "-n", 3, "-o", "f.model")
    out = mercer("plot", "f.model", "faces", "--kind", "preimages", env={"COLUMNS": "40"}).out
    assert "as many of each line as there is" in out and max(map(len, out.splitlines())) <= 40, out


@test
def test_importance():
    loss = {"width": 0.31, NASTY: 0.02, ESCAPE: -0.01, "weight": 0.12, "none": None, "long name of a column that is cut": 0.2}
    entries = [{"column": name, "loss": value, "sd": None if name == "weight" else 0.05} for name, value in loss.items()]
    write("i.json", json.dumps({"method": "kpls:step=1", "metric": "error", "importance": entries + [
        {"column": None, "loss": 0.07, "sd": 0.0}]}))
    root = draw("i.json")
    panel = panels(root)[0]
    bars = [(float(bar.get("x")), float(bar.get("width")), bar.find(SVG + "title").text) for bar in panel.iter(SVG + "rect")]
    values = scale(panel, "x")
    room = abs(values(0) - values(0.3))
    ends = [values(x + width) if value >= 0 else values(x) for (x, width, _), value in
            zip(bars, (0.31, 0.2, 0.12, 0.07, 0.02, -0.01))]
    assert np.allclose(ends, [0.31, 0.2, 0.12, 0.07, 0.02, -0.01], atol=room), ends  # the longest first
    assert np.allclose([values(x) for x, *_ in bars[:5]], 0, atol=room)
    assert [title.split(":")[0] for *_, title in bars[:4]] == ["width", "long name of a column that is cut", "weight", "7"]
    shown = texts(panel)
    assert NASTY[:23] + "\u2026" in shown and "long name of a column t\u2026" in shown and "loss of error" in shown, shown
    ink = [path for path in panel.findall(SVG + "path") if path.get("stroke") == "#222222"]
    assert len(ink) == 4  # of those with a deviation
    x1, x2 = (values(float(x)) for x in re.findall(r"[ML]([-\d.]+) ", ink[0].get("d")))
    assert np.allclose([x1, x2], [0.26, 0.36], atol=room)
    assert "the first 6 of 7 columns" in texts(root)
    for columns, words in ("80", ["0.31 \u00b1 0.05", "-0.01"]), ("40", ["0.31"]):
        out = mercer("plot", "i.json", "--kind", "importance", env={"COLUMNS": columns}).out
        assert all(word in out for word in words) and "\x1b" not in out and "\u202e" not in out, out
        assert max(map(len, out.splitlines())) <= int(columns)
        assert [line.count("\u2588") for line in out.splitlines() if line.startswith("width")][0] > 10
    # Of an evaluation: the same numbers in JSON, picture and page.
    species()
    found = report("evaluate", "species.csv", "-m", "kpls", "-n", 2, "--importance", "--plot", "e.svg", "--report", "e.html")
    bars = [bar.find(SVG + "title").text for bar in panels(parse("e.svg"))[0].iter(SVG + "rect")]
    wanted = sorted(found["importance"], key=lambda entry: -entry["loss"])
    assert [bar.split(":")[0] for bar in bars] == [entry["column"] for entry in wanted]
    assert np.allclose([float(bar.split(": ")[1]) for bar in bars], [entry["loss"] for entry in wanted], rtol=1e-3, atol=1e-12)
    assert 'id="importance"' in pathlib.Path("e.html").read_text()
    grid_report("b.json", [["kernel.sigma", [1, 2]]], [0.1, 0.2], 0)
    both = json.loads(pathlib.Path("b.json").read_text()) | json.loads(pathlib.Path("i.json").read_text())
    write("b.json", json.dumps(both))  # a report with both: the grid, unless the other is asked for
    assert texts(draw("b.json"))[0] == "error by kernel.sigma"
    assert texts(draw("b.json", "--kind", "importance"))[0] == "Loss of error without each column"
    refused("plot", write("bad.json", '{"metric": "error"}'), says=["bad.json", "no grid", "--importance"], status=1)
    refused("plot", write("bad.json", '{"metric": "error", "importance": []}'), "--kind", "importance",
            says=["bad.json", "no importance", "--importance"], status=1)
    refused("plot", write("bad.json", '{"metric": "error", "importance": [3, {"loss": "x"}]}'), says="no column", status=1)
    refused("plot", "i.json", "--kind", "tuning", says="no grid", status=1)
    ring_model()
    refused("plot", "ring.model", "--kind", "importance", says="JSON", status=2)


@test
def test_wrong_calls():
    ring_model()
    refused("plot", says="MODEL is missing")
    refused("plot", "ring.csv", says=("ring.csv",))
    refused("plot", "ring.model", "-o", "x.png", says=("x.png", "SVG"), status=2)
    refused("plot", "ring.model", "-o", "no/x.svg", says="no")
    refused("plot", "ring.model", "--kind", "spectrums", says=("did you mean spectrum",), status=2)
    refused("plot", "ring.model", "--kind", "selection", "-o", "x.svg", says=("no selected rows", "kpca"))
    refused("plot", "ring.model", "--kind", "head", "-o", "x.svg", says="no head")
    refused("plot", "ring.model", "--kind", "trace", "-o", "x.svg", says="did not search")
    refused("plot", "ring.model", "--kind", "features", "-o", "x.svg", says="MODEL DATA", status=2)
    refused("plot", "ring.model", "ring.csv", "--kind", "spectrum", "-o", "x.svg", says="ring.csv", status=2)
    os.link("ring.model", "same.svg")
    refused("plot", "ring.model", "-o", "same.svg", says="model", status=2)
    os.unlink("same.svg")
    assert not re.search("svg", " ".join(files()))
    # A picture that is not whole never appears.
    pathlib.Path("old.svg").write_text("old")
    refused("plot", "ring.model", "--kind", "head", "-o", "old.svg", says="no head")
    assert pathlib.Path("old.svg").read_text() == "old"


@test
def test_pictures_of_other_commands():
    x, labels = species()
    mercer("fit", "species.csv", "-m", "kpca", "-n", 3, "--plot", "f.svg", "-o", "k.model", "--quiet")
    assert len(panels(parse("f.svg"))) == 2
    mercer("plot", "k.model", "-o", "same.svg")
    assert pathlib.Path("same.svg").read_bytes() == pathlib.Path("f.svg").read_bytes()
    mercer("fit", "species.csv", "-m", "ikpca", "-n", 3, "--no-label", "--columns", "1-3", "--plot", "i.svg", "--quiet")
    parse("i.svg")
    mercer("transform", "k.model", "species.csv", "--plot", "t.svg", "-o", "t.csv", "--quiet")
    mercer("plot", "k.model", "species.csv", "-o", "same.svg")
    assert pathlib.Path("same.svg").read_bytes() == pathlib.Path("t.svg").read_bytes()
    judged = report("evaluate", "species.csv", "-m", "kpls", "-n", 2, "--cv", 3, "--plot", "e.svg")
    cells = [int(text) for text in texts(panels(parse("e.svg"))[0]) if text.isdigit()]
    assert sum(cells) == 90 and sorted(cells) == sorted(sum(judged["confusion"], []))
    words = ["evaluate", "species.csv", "-m", "kpls", "--tune", "kernel.sigma=1,2,4", "--tune", "components=1,2", "--cv", 3]
    tuned = mercer(*words, "--json", "--plot", "t.svg").stdout
    assert "kernel.sigma" in texts(panels(parse("t.svg"))[0])
    mercer("plot", pathlib.Path("t.json").write_bytes(tuned) and "t.json", "-o", "same.svg")
    assert pathlib.Path("same.svg").read_bytes() == pathlib.Path("t.svg").read_bytes()
    compared = report("compare", "species.csv", "-m", "pca", "-m", "kpca", "-n", 2, "--head", "knn:k=3", "--cv", 4,
                      "--plot", "c.svg")
    panel = panels(parse("c.svg"))[0]
    values = [fold["value"] for method in compared["methods"] for fold in method["folds"]]
    up = scale(panel, "y")
    points = np.concatenate(list(marks(panel).values()))
    assert np.allclose(sorted(up(points[:, 1])), sorted(values), atol=abs(up(0) - up(0.3)))
    for words in (["fit", "species.csv", "-m", "kpca"], ["transform", "k.model", "species.csv"],
                  ["evaluate", "species.csv", "-m", "kpls"], ["compare", "species.csv", "-m", "pls", "-m", "kpls"]):
        refused(*words, "--plot", "x.pdf", says=["x.pdf", "SVG"], status=2)
    refused("transform", "k.model", "-", "--plot", "x.svg", says="--plot", status=2)


@slow_test
def test_memory_that_runs_out():
    """One line and status 1 at whichever allocation it happens, or the whole picture."""
    species(rows=15)
    mercer("fit", "species.csv", "-m", "kpca", "-n", 3, "--head", "knn:k=3", "--novelty", 0.3, "-o", "s.model", "--quiet")
    grid_report("g.json", [["kernel.sigma", [1, 2]], ["components", [3, 4]]], [0.1, 0.2, 0.3, 0.4], 0)
    calls = [["s.model", "species.csv", "--kind", kind] for kind in ("features", "errors", "pairs", "preimages", "confusion", "roc")]
    write("i.json", json.dumps({"metric": "error", "importance": [{"column": name, "loss": 0.1, "sd": 0.1} for name in "abc"]}))
    calls = [[*words, "-o", "-"] for words in calls + [["s.model"], ["g.json"], ["i.json"]]] + [calls[0], calls[2], calls[4], ["i.json"]]
    for words in calls:
        words = ["plot", *words, "--threads", 1]
        failed = let_allocations_fail(words, (10, 17), 12, "[Oo]ut of memory|JSON")
        assert failed > 10, (words, failed)


if __name__ == "__main__":
    sys.exit(run_tests())
