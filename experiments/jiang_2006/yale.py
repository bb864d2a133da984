# SPDX-License-Identifier: BSD-3-Clause
"""The faces of Jiang et al. 2006, section 5.5: 165 images, leave-one-out, k nearest neighbours.

The paper says "down-sampled to 26 x 25, centered and normalized" and no more. Here: every 9th row and 8th
column of the central 231 x 195 pixels, which is exactly 26 x 25, every image to mean 0 and variance 1. That
the scaling is by image is seen from ACKFA, whose absolute delta leaves few features at sigma = 34.

For what depends on the window there is another one, `about=True`: 156 x 150 pixels about the face, averaged
6 x 6, the face found by means of the eye-aligned crops of the set.
"""
import functools

import numpy as np

METHODS = {"AKFA": "akfa", "ACKFA": "ackfa:delta=0.16,relative=off", "KPCA": "kpca", "SKFA": "skfa"}
HEIGHT, WIDTH, EXPOSURES = 243, 320, 11
SIDE_LIT = (3, 6)  # exposures, in the order of their names


def averages(count, size):
    """The matrix that averages size pixels to count ones by area."""
    edges = np.linspace(0, size, count + 1)[:, None]
    pixel = np.arange(size)
    covered = np.clip(np.minimum(edges[1:], pixel + 1) - np.maximum(edges[:-1], pixel), 0, None)
    return covered / covered.sum(1, keepdims=True)


def correlations(images, patches):
    """Correlation of each image with its patch, at every place of the patch."""
    size, (high, wide) = images.shape[1:], patches.shape[1:]
    patches = patches - patches.mean((1, 2), keepdims=True)

    def slide(left, right):
        product = np.fft.irfft2(np.fft.rfft2(left) * np.conj(np.fft.rfft2(right, size)), size)
        return product[:, :size[0] - high + 1, :size[1] - wide + 1]

    ones = np.ones((1, high, wide))
    spread = slide(images**2, ones) - slide(images, ones)**2 / (high * wide)
    return slide(images, patches) / np.sqrt(np.maximum(spread, 1e-6) * (patches**2).sum((1, 2))[:, None, None])


def about_faces(lab, pictures):
    """156 x 150 pixels about each face, 10 rows above the centre of the crop, averaged to 26 x 25."""
    crops = np.load(lab.need("yale_64x64.X.npy")[0]).reshape(-1, EXPOSURES, 64, 64)[:len(pictures) // EXPOSURES]
    crops = crops[:, [0, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2]].reshape(-1, 64, 64).astype(float)  # were 1, 10, 11, 2, ...
    best, centres = np.full(len(pictures), -1.), np.zeros((len(pictures), 2))
    for side in (124,) if lab.quick else range(112, 140, 4):  # pixels of the picture that the crop covers
        shape = round(HEIGHT * 64 / side), round(WIDTH * 64 / side)
        found = correlations(averages(shape[0], HEIGHT) @ pictures @ averages(shape[1], WIDTH).T, crops)
        flat = found.reshape(len(found), -1)
        place = np.stack(np.unravel_index(flat.argmax(1), found.shape[1:]), 1)
        better = flat.max(1) > best
        best = np.maximum(best, flat.max(1))
        centres[better] = ((place + 32) * (HEIGHT / shape[0], WIDTH / shape[1]))[better]
    corners = np.clip(np.round(centres - (78 + 10, 75)).astype(int), 0, (HEIGHT - 156, WIDTH - 150))
    return np.array([picture[r:r + 156, c:c + 150].reshape(26, 6, 25, 6).mean((1, 3))
                     for picture, (r, c) in zip(pictures, corners)])


@functools.cache
def images(lab, about):
    """The sampled images: subjects x exposures x pixels."""
    folders = sorted(lab.need("yale")[0].iterdir())[:4 if lab.quick else None]
    pictures = np.array([np.frombuffer(path.read_bytes()[-HEIGHT * WIDTH:], np.uint8).reshape(HEIGHT, WIDTH)
                         for folder in folders for path in sorted(folder.glob("*.pgm"))], float)
    sampled = about_faces(lab, pictures) if about else pictures[:, 6:232:9, 62:255:8]
    return sampled.reshape(len(folders), EXPOSURES, -1)


def write(lab, backwards=False, about=False):
    """The sampled images as a CSV, subject by subject, with the number of the subject as label (counted
    from the last one: backwards). Numbers are in ascending order, so that ties go to the lowest."""
    rows = images(lab, about)[::-1 if backwards else 1]
    return lab.write("yale.csv", rows.reshape(-1, rows.shape[2]), label=np.repeat(np.arange(1, len(rows) + 1), EXPOSURES))


def features(lab):
    """How many there are in the paper, or in a quick run."""
    return 12 if lab.quick else 80


def evaluate(lab, data, method, head, sigma=None, count=None, scale="rowstandard", more=()):
    """The report of leave-one-out: a fit to the others for each image. sigma None: no kernel (linear PCA)."""
    kernel = () if sigma is None else ("-k", f"rbf:sigma={sigma}")
    return lab.mercer("evaluate", data, "-m", method, *kernel, "-n", count or features(lab), "--scale", scale,
                      "--head", f"knn:{head}", "--cv", "loo", "--json", "--quiet", *more)


def accuracy(report):
    """Share of images given to the right subject, in %."""
    return 100 * (1 - report["mean"])
