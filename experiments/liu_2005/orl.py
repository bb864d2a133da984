# SPDX-License-Identifier: BSD-3-Clause
"""The ORL faces as Liu, Mio 2005 uses them, its evaluation, and its curves of a search.

Image i of every subject (0 to 9) trains when i mod 3 = 0, is for cross validation when it is 2 and for
testing when it is 1; where the paper has two parts, images are split into even and odd ones. K
neighbours are right when the own class has strictly more votes than any other. On raw pixels this
gives the paper's figures.
"""
import shutil

import numpy as np

from images import read_pgm
from lab import OTHERS, cell, paper_style

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


def nearest_rate(lab, train, judged, method, kernel, components, *words):
    """Percent of the images of a part whose nearest training image in the features is of their class."""
    _, model = lab.fit("rate.model", train.folder, "-m", method, "-k", kernel, "-n", components, "--head", "none",
                       *words)
    away = distances(lab.features(model, train.folder), lab.features(model, judged.folder))
    return strict_rate(away, train.classes, judged.classes, 1)


def median_width(lab, part):
    """The width that `rbf` has for a part by default."""
    report, _ = lab.fit("median.model", part.folder, "-m", "kpca", "-k", "rbf", "-n", 1, "--center", "none")
    return float(report["kernel"].split("=")[1])


def searched(lab, train, judged, method, kernel, components, *words):
    """The report of a search that the images of a part judge."""
    return lab.fit("search.model", train.folder, "-m", method, "-k", kernel, "-n", components, "--validation",
                   judged.folder, "--head", "none", *words)[0]


def ends(lab, train, judged, *fit):
    """(F, rate in %) of the best subspace of searches from random starts, one line a seed."""
    best = [max(searched(lab, train, judged, *fit, "--seed", seed)["trace"], key=lambda step: step["performance"])
            for seed in range(1, 2 if lab.quick else 6)]
    return np.array([(step["performance"], 100 * step["rate"]) for step in best])


def mean_cell(found, paper=None, **words):
    """A cell of a mean and its spread."""
    return cell(np.mean(found), paper, spread=np.std(found, ddof=min(1, len(found) - 1)), **words)


def mean_cells(found):
    """Cells of what `ends` found."""
    return [mean_cell(found[:, 0]), mean_cell(found[:, 1], digits=1)]


def draw_curves(lab, drawn):
    """The three curves of Figures 2, 3, 4 and 6, all searches in one panel each; paper: its rate at the start."""
    figure, axes = lab.plot(columns=3, width=3.4, height=2.8)
    for axis, place, label in zip(axes[0], range(3), ("performance F", "recognition rate, %", "distance from start")):
        for name, steps, curves in zip(drawn["names"], drawn["steps"], drawn["curves"]):
            axis.plot(steps, np.array(curves)[:, place], label=name)
        axis.set(xlabel="step", ylabel=label)
        if max(map(max, drawn["steps"])) > 100:  # an annealing beside ascents
            axis.set_xscale("symlog", linthresh=1)
            axis.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
        else:
            axis.locator_params(axis="x", integer=True)
    axes[0, 1].set_ylim(None, 101)
    if drawn["paper"]:
        axes[0, 1].plot(0, drawn["paper"], **paper_style(OTHERS[2]), label="the paper's kernel PCA")
    axes[0, 2].legend(*axes[0, 1].get_legend_handles_labels(), loc="center left", bbox_to_anchor=(1, .5))
    return figure


def search_curves(lab, even, odd, runs, caption, first=None):
    """The three curves of Figures 2, 3, 4 and 6 for {name: (method, kernel, components, least rate, words)}; first:
    of some the paper's rate at the start and the reason of a difference."""
    table = lab.table("Where the searches begin and end", "search", "F at first", "F in the end",
                      "rate at first, %", "rate in the end, %", "steps")
    steps, curves = [], []
    for name, (method, kernel, components, least, words) in runs.items():
        trace = searched(lab, even, odd, method, kernel, components, *words)["trace"]
        steps.append([step["iteration"] for step in trace])
        curves.append(np.array([(step["performance"], 100 * step["rate"], step["distance"]) for step in trace]))
        paper, why = (first or {}).get(name, (None, None))
        table.row(name, cell(curves[-1][0, 0]), cell(curves[-1][-1, 0]),
                  cell(curves[-1][0, 1], paper, digits=1, paper_digits=0, why=why),
                  cell(curves[-1][-1, 1], low=least, digits=1), len(trace))
    lab.figure(caption, names=list(runs), steps=steps, curves=curves,
               paper=next(iter(first.values()))[0] if first else None)
