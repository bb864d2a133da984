#!/usr/bin/python3
"""Paper 004, Table 6: text retrieval with few kernel values, on Reuters-21578."""
import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import average_precision_score
from sklearn.svm import LinearSVC

from lab import Lab, cell

NUMBERS = (100, 200, 300, 400)
# Average precision by an independent implementation.
KNOWN = {"SMC, labels +-1": ("smc:labels=raw,norm=direction", (.9594, .9680, .9706, .9705)),
         "SMC": ("smc:norm=direction", (.9549, .9641, .9643, .9663)),
         "SMA": ("sma:norm=direction", (.9571, .9641, .9656, .9664)),
         "SMA, labels +-1": ("sma:labels=raw,norm=direction", (.9563, .9608, .9633, .9640))}
DRAWN = {"SMC, 500 columns": "smc:candidates=500,norm=direction", "SMA, 500 columns": "sma:candidates=500,norm=direction"}
SPARSE = {"Sp. KPLS, nu .2": ("skpls:nu=0.2,heuristic=mr", .9330), "Sp. KPLS, nu .8": ("skpls:nu=0.8,heuristic=mr", .7393)}
ALL_TERMS, CLOSE = .9705, .005

lab = Lab(__file__, "Table 6: text retrieval (Reuters-21578 stands in for RCV1)")
train, test = lab.need("reuters21578.train.svm", "reuters21578.test.svm")
numbers = NUMBERS
if lab.quick:
    lines = [path.read_text(encoding="ascii").splitlines()[:200] for path in (train, test)]
    train, test = lab.folder / "train.svm", lab.folder / "test.svm"
    for path, text in zip((train, test), lines):
        path.write_text("\n".join(text) + "\n", encoding="ascii")
    numbers = (5, 10, 15, 20)


def precisions(method):
    """(average precisions for all numbers of features, kernel values a new document costs)."""
    found = []
    for features in numbers:
        report = lab.mercer("evaluate", train, "--test", test, "--label", "label", "-m", method, "-k", "linear",
                            "--center", "none", "-n", features, "--head", "linsvm:weight=opposite", "--metric", "ap",
                            "--json", "--quiet")
        found.append(report["mean"])
    return found, report["folds"][0]["expansion_points"]


def documents_used(method):
    """That the directions of a model combine; a linear one keeps their sums, and no document."""
    report, _ = lab.fit("sparse.mercer", train, "--label", "label", "-m", method, "-k", "linear", "--center", "none",
                        "-n", numbers[-1])
    return len(report["selected"])


def all_terms():
    """Of a linear machine on the terms themselves, with the weights of the features' and without."""
    x, y = load_svmlight_file(str(train))
    new, truth = load_svmlight_file(str(test), n_features=x.shape[1])
    share = (y > 0).mean()
    machines = (LinearSVC(C=1, class_weight={1: 1 - share, -1: share}), LinearSVC(C=.3))
    return [average_precision_score(truth > 0, machine.fit(x, y).decision_function(new)) for machine in machines]


lab.note("""9603 documents to learn from, 3299 to rank, 7952 terms, linear kernel, nothing centred; a linear machine
(LIBLINEAR, C = 1, classes weighted by the share of the other) on the features. The paper's 20,000 documents of RCV1 are not
to be had, so the level differs from its figures (SVM .847, SMA .848 with 366 features, SMC .823 with 400, sparse KPLS .776
with 400 features on 13,334 documents); the order can be compared. Limits: .001 from an independent implementation
(all columns), at least .945 and .960 at 100 and 400 features (500 columns drawn). A new document costs a kernel value for
each document in the features.""")
table = lab.table("Average precision by the number of features", "features", *map(str, NUMBERS),
                  "documents in the features")
best = {}
for name, (method, known) in KNOWN.items():
    found, points = precisions(method)
    best[name] = (max(found), points)
    table.row(name, *(cell(ours, low=value - .001, high=value + .001, digits=4) for ours, value in zip(found, known)),
              cell(points, high=400, digits=0))
for name, method in DRAWN.items():
    found, points = precisions(method)
    limits = (.945, None, None, .960)
    table.row(name, *(cell(ours, low=low, digits=4) for ours, low in zip(found, limits)), cell(points, high=400, digits=0))
for name, (method, known) in SPARSE.items():
    found, _ = precisions(method)
    table.row(name, *(cell(ours, digits=4) for ours in found[:-1]), cell(found[-1], high=known + .02, digits=4),
              documents_used(method))
weighted, plain = all_terms()
table.row("all terms, weighted / C = .3 without", "", "", "", f"{weighted:.4f} / {plain:.4f}", "-")
name = max(best, key=lambda key: best[key][0])
lab.check(f"at most 400 kernel values a document come within {CLOSE} of a linear machine on all terms ({name}: "
          f"{best[name][0]:.4f}, all terms {plain:.4f})", best[name][0] >= plain - CLOSE and best[name][1] <= 400)
lab.note("""The message of the table holds: 300 to 400 kernel values match the machine on all terms, and sparse KPLS
needs most documents and is worse; its residuals are soon the labels' own noise. The paper's order SMA before
SMC is not seen: they are level with centred labels, SMC is ahead with labels +-1. For a linear kernel looking at all
columns is better and quicker than drawing 500.""")
lab.finish()
