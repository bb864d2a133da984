"""The ORL faces as paper 001 uses them, its evaluation, and its curves of a search.

Image i of every subject (0 to 9) trains when i mod 3 = 0, is for cross validation when it is 2 and for
testing when it is 1; where the paper has two parts, images are split into even and odd ones. K
neighbours are right when the own class has strictly more votes than any other. On raw pixels this
gives the paper's figures.
"""
import shutil

import numpy as np

from faces import read_pgm
from lab import cell

BETA = 0.157  # what the paper's F of raw pixels leads to
PARTS = {"train": (0, 3), "cross validation": (2, 3), "test": (1, 3), "even": (0, 2), "odd": (1, 2)}


class Part:
    """A folder of images of the first subjects."""

    def __init__(self, lab, name, subjects):
        source = lab.need("orl")[0]
        first, step = PARTS[name]
        self.folder = lab.folder / name.replace(" ", "-")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.classes, self.paths = [], []
        for subject in range(1, subjects + 1):
            (self.folder / f"s{subject:02d}").mkdir(parents=True)
            for i in range(first, 10, step):
                path = source / f"s{subject}" / f"{i + 1}.pgm"
                (self.folder / f"s{subject:02d}" / f"{i + 1:02d}.pgm").symlink_to(path)
                self.classes.append(subject)
                self.paths.append(path)
        self.classes = np.array(self.classes)

    def pixels(self):
        return np.array([read_pgm(path).ravel() for path in self.paths])


def distances(train, rows, same=False):
    """Squared; same: rows are the training rows, which are no neighbours of themselves."""
    away = (rows ** 2).sum(1)[:, None] + (train ** 2).sum(1)[None] - 2 * rows @ train.T
    if same:
        np.fill_diagonal(away, np.inf)
    return away


def strict_rate(away, classes, own, k):
    """Percent of rows whose own class strictly wins the vote of k neighbours."""
    near = classes[np.argsort(away, axis=1, kind="stable")[:, :k]]
    votes = np.stack([(near == c).sum(1) for c in np.unique(classes)], 1)
    mine = np.unique(classes)[None] == own[:, None]
    return 100 * (np.where(mine, votes, 0).max(1) > np.where(mine, 0, votes).max(1)).mean()


def performance(away, classes, own, k=1, beta=BETA):
    """F of the paper: mean squared distances from the k nearest of the own and of other classes."""
    mine = classes[None] == own[:, None]
    sorted_to = [np.sort(np.where(side, away, np.inf), 1)[:, :k] for side in (mine, ~mine)]
    inside, outside = (np.where(np.isfinite(side), side, np.nan) for side in sorted_to)
    each = 1 / (1 + np.exp(-2 * beta * (np.nanmean(outside, 1) / np.nanmean(inside, 1) - 1)))
    return np.mean([each[own == c].mean() for c in np.unique(own)])


def measures(away, classes, own, k):
    """(F of k neighbours, rates of one and of k) in the order of the paper's tables."""
    return [performance(away, classes, own, k), *(strict_rate(away, classes, own, j) for j in (1, k))]


def search_curves(lab, runs, caption, subjects=10):
    """The three curves of Figures 2, 3, 4 and 6 for {name: (method, kernel, components, words)}."""
    even, odd = Part(lab, "even", subjects), Part(lab, "odd", subjects)
    figure, axes = lab.plot(columns=3, rows=len(runs), width=3, height=2)
    table = lab.table("Where the searches begin and end", "search", "F at first", "F in the end",
                      "rate at first, %", "rate in the end, %", "steps")
    for line, (name, (method, kernel, components, least, words)) in zip(axes, runs.items()):
        report, _ = lab.fit("curve.model", even.folder, "-m", method, "-k", kernel, "-n", components, "--validation",
                            odd.folder, "--head", "none", *words)
        trace = report["trace"]
        steps = [step["iteration"] for step in trace]
        for axis, key, label in zip(line, ("performance", "rate", "distance"), ("F", "rate", "distance")):
            axis.plot(steps, [step[key] for step in trace])
            axis.set(xlabel="step", ylabel=label)
        line[0].set_title(name, loc="left")
        first, last = trace[0], trace[-1]
        table.row(name, cell(first["performance"]), cell(last["performance"]), cell(100 * first["rate"], digits=1),
                  cell(100 * last["rate"], low=least, digits=1), len(trace))
    lab.figure(figure, caption)
