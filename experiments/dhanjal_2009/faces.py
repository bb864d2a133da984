# SPDX-License-Identifier: BSD-3-Clause
"""CBCL faces against generated non-faces: the stand-in for the sets of Dhanjal et al. 2009, section 6.4.

The non-faces of the MIT CBCL collection are not to be had, so 2 x 2250 are made of other pictures:
patches of ORL, Yale and teapot images, faces with exchanged blocks, and windows beside a face. The
recipe has no random numbers but those of splitmix64, so that check sums tell whether two
implementations made the same rows.
"""
import numpy as np

from images import read_pgm

SIDE = 19
FACES, CBCL, TEAPOTS = 2429, "cbcl_faces_19x19.X.npy", "teapots100_38x50.X.npy"
CUTS = (0, 6, 13, 19)
GROUPS = (((0, 0), (0, 2), (2, 0), (2, 2)), ((0, 1), (2, 1)), ((1, 0), (1, 2)))


class Splitmix:
    def __init__(self, seed):
        self.state = np.uint64(seed)

    def uniforms(self, count):
        step = np.uint64(0x9E3779B97F4A7C15)
        with np.errstate(over="ignore"):  # arithmetic modulo 2^64
            z = self.state + step * np.arange(1, count + 1, dtype=np.uint64)
            self.state = z[-1]
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / float(1 << 53)

    def below(self, n):
        return int(n * self.uniforms(1)[0])


def area_weights(size):
    """(SIDE, size) array of the share each input pixel has in an output pixel."""
    edges = np.arange(SIDE + 1) * size / SIDE
    low, high = edges[:-1, None], edges[1:, None]
    pixel = np.arange(size)
    return np.clip(np.minimum(high, pixel + 1) - np.maximum(low, pixel), 0, None) / (size / SIDE)


def patches(random, images, count, spread):
    """Squares of 19 to 18 + spread pixels, averaged to 19 x 19; flat ones are drawn again."""
    found = []
    while len(found) < count:
        image = images[random.below(len(images))]
        side = SIDE + random.below(spread)
        top = random.below(image.shape[0] - side + 1)
        left = random.below(image.shape[1] - side + 1)
        weights = area_weights(side)
        patch = weights @ image[top:top + side, left:left + side] @ weights.T
        if patch.std() >= 8:
            found.append(patch)
    return found


def exchanged(random, faces):
    """A face whose corner, upper/lower and left/right blocks have changed places."""
    face = faces[random.below(len(faces))]
    out = face.copy()

    def block(place):
        return tuple(slice(CUTS[i], CUTS[i + 1]) for i in place)

    for group in GROUPS:
        step = 1 + random.below(len(group) - 1)
        for a, place in enumerate(group):
            out[block(place)] = face[block(group[(a + step) % len(group)])]
    return out


def beside(random, faces):
    """A window one to four pixels beside a face, with another face at the border."""
    a, b = faces[random.below(len(faces))], faces[random.below(len(faces))]
    shift, way = 1 + random.below(4), random.below(4)
    if way % 2:
        a, b = a.T, b.T
    if way < 2:
        out = np.concatenate([a[:, shift:], b[:, :shift]], axis=1)
    else:
        out = np.concatenate([b[:, -shift:], a[:, :SIDE - shift]], axis=1)
    return out.T if way % 2 else out


def unit(rows):
    rows = rows - rows.mean(1, keepdims=True)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make(lab, part):
    """(rows of 361 pixels, labels 1 and -1, kinds of the non-faces) of part 0, training, or 1, test."""
    random = Splitmix(2009 + part)
    faces = np.load(lab.data / CBCL).astype(float)
    faces = faces[:1215] if part == 0 else faces[1215:]
    people = range(1, 21) if part == 0 else range(21, 41)
    orl = [read_pgm(lab.data / "orl" / f"s{s}" / f"{i}.pgm") for s in people for i in range(1, 11)]
    subjects = range(1, 9) if part == 0 else range(9, 16)
    yale = [read_pgm(path) for s in subjects for path in sorted((lab.data / "yale" / f"subject{s:02d}").glob("*.pgm"))]
    pots = np.load(lab.data / TEAPOTS).astype(float) * 255
    pots = list(pots[:50] if part == 0 else pots[50:])
    others = patches(random, orl, 450, 22) + patches(random, yale, 400, 62) + patches(random, pots, 100, 20)
    others += [exchanged(random, faces) for _ in range(300)]
    others += [beside(random, faces) for _ in range(1000)]
    rows = unit(np.array([*faces, *others]).reshape(-1, SIDE * SIDE))
    noise = random.uniforms(4 * rows.size).reshape(*rows.shape, 4).sum(2) - 2
    rows = unit(rows + np.sqrt(3 / (SIDE * SIDE)) * noise)
    kinds = ["face"] * len(faces) + ["patch"] * 950 + ["exchanged"] * 300 + ["beside"] * 1000
    return rows, np.where(np.array(kinds) == "face", 1, -1), kinds
