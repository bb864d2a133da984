# SPDX-License-Identifier: BSD-3-Clause
"""Dhanjal et al. 2009, Table 6: text retrieval with few kernel values, on Reuters-21578."""
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import average_precision_score
from sklearn.svm import LinearSVC

from lab import Lab, cell

NUMBERS = (100, 200, 300, 400)
# Average precision by an independent implementation. All columns:
KNOWN = {"SMC, labels +-1": ("smc:labels=raw,norm=direction", (.9594, .9680, .9706, .9705)),
         "SMC": ("smc:norm=direction", (.9549, .9641, .9643, .9663)),
         "SMA": ("sma:norm=direction", (.9571, .9641, .9656, .9664)),
         "SMA, labels +-1": ("sma:labels=raw,norm=direction", (.9563, .9608, .9633, .9640))}
DRAWN = {"SMC, 500 columns": "smc:candidates=500,norm=direction",
         "SMA, 500 columns": "sma:candidates=500,norm=direction"}
SPARSE = {"Sp. KPLS, MI, cache 300": ("skpls:nu=0.2,heuristic=mi,cache=300", (.9626, .9596, None, .9533), .005),
          "Sp. KPLS, MR, nu .2": ("skpls:nu=0.2,heuristic=mr", (.9333, .9331, None, .9330), .001),
          "Sp. KPLS, MR, nu .4": ("skpls:nu=0.4,heuristic=mr", (.9002, .8912, None, .8902), .001),
          "Sp. KPLS, MR, nu .8": ("skpls:nu=0.8,heuristic=mr", (.8390, .7839, None, .7393), .001)}
# Average precision, its spread, features, documents, support vectors.
PAPER = {"SVM, all terms": (.847, .0096, "-", "-", 8864), "SMA": (.848, .0068, 366, 366, 9964),
         "SMC": (.823, .009, 400, 400, 9953), "Sp. KPLS": (.776, .032, 400, 13334, 6690)}
CLOSE, ALL_CLOSE = .005, .007  # to the machine on all terms: the best method at any number, all columns at 400

lab = Lab(__file__, "Table 6: text retrieval (Reuters-21578 stands in for RCV1)", "in part",
          "300 to 400 kernel values match a machine on all terms, which is the message. Reuters-21578 stands in for "
          "RCV1; that SMA is ahead of SMC is not seen.")
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
(LIBLINEAR, C = 1, classes weighted by the share of the other) on the features. A new document costs a kernel value for
each document in the features. Limits, from an independent implementation: .001 where nothing is drawn; .005 for sparse
KPLS by MI, which draws its cache; at least .945 and .960 at 100 and 400 features for 500 columns drawn. Chance: the
standard error of one number is .004, of a difference to the machine on all terms .002.""")
table = lab.table("Average precision by the number of features", "features", *map(str, NUMBERS),
                  "documents in the features")
last, best = {}, {}


def row(name, method, limits, documents=None):
    """A row of the table, limits as (low, high) for each number of features."""
    found, points = precisions(method)
    points = documents or points
    last[name], best[name] = (found[-1], points), max(found)
    table.row(name, *(cell(ours, low=low, high=high, digits=4) for ours, (low, high) in zip(found, limits)),
              points if documents else cell(points, high=400, digits=0))


def around(known, near):
    return [(None, None) if value is None else (value - near, value + near) for value in known]


for name, (method, known) in KNOWN.items():
    row(name, method, around(known, .001))
for name, method in DRAWN.items():
    row(name, method, ((.945, None), (None, None), (None, None), (.960, None)))
for name, (method, known, near) in SPARSE.items():
    row(name, method, around(known, near), documents_used(method))
weighted, plain = all_terms()
table.row("all terms, weighted / C = .3 without", "", "", "", f"{weighted:.4f} / {plain:.4f}", "-")
name = max(KNOWN, key=best.get)
lab.check(f"at most 400 kernel values a document come within {CLOSE} of a linear machine on all terms ({name}: "
          f"{best[name]:.4f}, all terms {plain:.4f})", best[name] >= plain - CLOSE)
worst = min(last[name][0] for name in KNOWN)
lab.check(f"with all columns, 400 features are within {ALL_CLOSE} of it (the lowest: {worst:.4f})",
          worst >= plain - ALL_CLOSE)

table = lab.table("Table 6 itself, ours on Reuters-21578 at 400 features (the paper's on RCV1)", "method",
                  "average precision", "features", "documents in the features", "support vectors")
sparse = max(SPARSE, key=lambda name: last[name][0])
ours = {"SVM, all terms": (weighted, "-"), "SMA": last["SMA, 500 columns"], "SMC": last["SMC, 500 columns"],
        "Sp. KPLS": last[sparse]}
for name, (precision, spread, features, documents, vectors) in PAPER.items():
    found, points = ours[name]
    table.row(name, cell(found, precision, digits=3, paper_spread=spread, paper_digits=4),
              f"{numbers[-1] if features != '-' else '-'} ({features})", f"{points} ({documents})", f"- ({vectors})")
lab.note(f"""The paper's 20,000 documents of RCV1 are not to be had, so levels differ; the order can be compared. SMA
and SMC are those with 500 columns, as in the paper; sparse KPLS is the best of its four rows at 400 features
({sparse}). The paper's spread is over three folds, ours is one split. Our machine keeps weights of the features
instead of support vectors.""")
lab.note("""What holds of the paper's message: 300 to 400 kernel values match the machine on all terms, and sparse KPLS
needs most documents or all and is worse at 400 features. By MR it is worse at every number, the more so the larger nu
is: its directions are the residual of the labels, whose noise is soon fitted. By MI it is ahead of SMA and SMC at 100
features and falls from there, behind all of them at 300 and 400. The paper's order SMA before SMC is not seen: they
are level with centred labels, SMC is ahead with labels +-1. Looking at all columns is level with the one draw of 500
for SMC and slightly better for SMA.""")
lab.finish()
