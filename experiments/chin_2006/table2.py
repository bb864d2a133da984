# SPDX-License-Identifier: BSD-3-Clause
"""Chin, Suter 2006, Table 2: recognition of faces by batch and incremental kernel eigenfaces."""
import numpy as np

import streams
from lab import Lab, cell

COMPONENTS = 36
KERNELS = {**{name: known[:2] for name, known in streams.YALE_WRONG.items()}, "rbf 1, pixels": ("rbf:sigma=1", False)}
# Random partitions: the paper's errors in % and of 760, and an independent implementation's means of five, sphered.
POLY, RBF = ((49.61, 377), (50.26, 382), (26.97, 205)), ((65.92, 501), (66.84, 508), (46.58, 354))
RANDOM = {"poly 2, pixels": (POLY, (53.2, 53.8, 30.0)), "rbf 1, unit images": (RBF, (46.9, 47.0, 20.7)),
          "rbf 1, pixels": (RBF, (88.6, 88.0, 81.9))}

lab = Lab(__file__, "Table 2: kernel eigenfaces, batch and incremental (Extended Yale B)", "in part",
          "Both messages hold, on Extended Yale B: the paper's images are not at hand, and how it scaled them is not "
          "known. Numbers cannot be compared.")
pixels, people = streams.yale(*lab.need(*streams.YALE))
train = streams.YALE_TRAIN
FITS = ((streams.BATCH, 600), (streams.STREAM, 600), (streams.STREAM, train))
WHY = "Other images, people and numbers of rows."
if lab.quick:
    pixels, people, train = pixels[::6], people[::6], 300
kernels, partitions = (["poly 2, pixels"], 1) if lab.quick else (list(streams.YALE_WRONG), 5)


def wrong(order, kernel_name, method, rows, reference):
    """Errors of ten neighbours among the reference rows, with the features plain and sphered."""
    rows, reference = min(rows, train), min(reference, train)
    kernel, normed = KERNELS[kernel_name]
    x, labels = (streams.unit(pixels) if normed else pixels)[order], people[order]
    known, every = lab.folder / "train.npy", lab.folder / "all.npy"
    np.save(known, x[:rows])
    np.save(every, x)
    _, model = lab.fit("table.model", known, "-m", method, "-k", kernel)
    features = lab.features(model, every)[:, :COMPONENTS]
    return [streams.neighbours(f[:reference], labels[:reference], f[train:], labels[train:])
            for f in (features, streams.sphered(features, rows))]


lab.note("""2414 images of 38 people stand in for the paper's 5760 of ten: 20 x 20 pixels, 2000 rows to learn from and
414 to recognise by ten neighbours with 36 components, plain and sphered (each of unit deviation). The paper's subset
of 1000 rows is one of 500 or 600 here, its whole set of 5000 one of 2000. Position i of the partition below holds
image 1009 i mod 2414, so it has no random numbers. Limits: an independent implementation's counts, within 3 for KPCA and 15
for streams.""")
errors, columns = {}, list(streams.YALE_COLUMNS)[:2 if lab.quick else None]
for which, caption in enumerate(("plain", "sphered")):
    table = lab.table(f"Wrong of 414, {caption} features", "kernel", *columns)
    for name in kernels:
        entries = []
        for column, known in zip(columns, streams.YALE_WRONG[name][2]):
            if (name, column) not in errors:
                errors[name, column] = wrong(streams.spread(len(people)), name, *streams.YALE_COLUMNS[column])
            entries.append(cell(errors[name, column][which], digits=0, **streams.yale_limits(column, known[which])))
        table.row(name, *entries)
for name in kernels if not lab.quick else ():
    few, many = errors[name, "batch 600"][1], errors[name, "stream 2000"][1]
    lab.check(f"{name}: the stream of all rows has at least 50 fewer errors than KPCA of 600 ({many}, {few})",
              many <= few - 50)
    apart = max(abs(a - b) for rows in ("500", "600", "2000")
                for a, b in zip(errors[name, f"batch {rows}"], errors[name, f"stream {rows}"]))
    lab.check(f"{name}: streams are within 15 errors of KPCA of the same rows ({apart})", apart <= 15)

table = lab.table("The paper's errors: 5760 images of ten people, 760 of them to recognise", "kernel", "KPCA of 1000",
                  "IKPCA of 1000", "IKPCA of 5000")
for name, paper in (("poly 2", POLY), ("rbf 1", RBF)):
    table.row(name, *(f"{percent} % ({count} of 760)" for percent, count in paper))
table = lab.table(f"Errors in %, sphered, mean and standard deviation of {partitions} random partitions (the paper's, "
                  "on its own images)", "kernel", "batch 600", "stream 600", "stream 2000")
random = np.random.default_rng(1)
orders = [random.permutation(len(people)) for _ in range(partitions)]
for name, (paper, known) in RANDOM.items():
    if lab.quick and name not in kernels:
        continue
    entries = []
    for (method, rows), (theirs, _), other in zip(FITS, paper, known):
        found = 100 / (len(people) - train) * np.array([wrong(order, name, method, rows, rows)[1] for order in orders])
        entries.append(cell(found.mean(), theirs, low=other - 3, high=other + 3, digits=1, paper_digits=2,
                            spread=found.std(ddof=1) if partitions > 1 else None, why=WHY))
    table.row(name, *entries)
lab.note("""Both messages of the paper hold: the stream is as good as KPCA of the same rows, and learning from all rows
beats KPCA of a part. Most of that gain is the larger set of neighbours, which the paper does not separate: components
of 500 rows with all 2000 as neighbours come close to those of 2000 (last column). Limits of the random partitions: 3
points from an independent implementation's draws. **The Gaussian kernel.** The paper has sigma = 1 and does not say how its
images were scaled. On pixels between 0 and 1 their median distance is 6, where the kernel is exp(-18), and the matrix
is close to the identity: errors are far above the paper's (last line). On images of unit length, with a median
distance of 0.86, they are far below them. Neither is the paper's setting, which is not known: its messages can be
compared, its numbers cannot.""")
lab.finish()
