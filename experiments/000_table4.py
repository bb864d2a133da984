#!/usr/bin/python3
"""Paper 000, Table 4: whom AKFA takes for whom."""
import numpy as np

import yale
from lab import Lab, cell

PAPER = ("10 1 0 0 0 0 0 0 0 0 0 0 0 0 0", "2 9 0 0 0 0 0 0 0 0 0 0 0 0 0", "2 0 7 0 0 0 0 0 0 0 0 0 0 1 1",
         "2 0 0 9 0 0 0 0 0 0 0 0 0 0 0", "2 0 0 0 9 0 0 0 0 0 0 0 0 0 0", "2 0 0 0 0 9 0 0 0 0 0 0 0 0 0",
         "1 1 0 0 0 0 9 0 0 0 0 0 0 0 0", "2 0 0 0 1 0 0 6 0 0 0 0 0 0 2", "2 1 0 0 0 0 0 0 8 0 0 0 0 0 0",
         "2 0 0 0 0 0 1 0 0 8 0 0 0 0 0", "0 0 0 1 0 0 0 0 0 0 10 0 0 0 0", "2 1 0 1 0 0 0 0 0 0 0 7 0 0 0",
         "1 0 0 0 0 0 0 0 1 0 0 0 9 0 0", "2 0 0 0 0 0 0 0 0 0 0 0 0 9 0", "2 1 0 0 0 0 0 0 0 0 0 0 0 0 8")
PAPER = np.array([row.split() for row in PAPER], int)

lab = Lab(__file__, "Table 4: whom AKFA takes for whom")
data, features = yale.setting(lab)


def confusion(ties, images):
    return np.array(yale.evaluate(lab, images, "akfa", f"knn:k=10,ties={ties}", features, 24)["confusion"])


def given_to(matrix, subject):
    """Images of others that are taken for this subject."""
    return matrix[:, subject].sum() - matrix[subject, subject]


lowest, nearest = confusion("lowest", data), confusion("nearest", data)
table = lab.table("Rows: subject; columns: taken for, AKFA, sigma 24, k = 10; in brackets the paper's where it differs", "",
                  *map(str, range(1, len(lowest) + 1)))
for subject, (row, paper) in enumerate(zip(lowest, PAPER), 1):
    table.row(subject, *(str(ours) if ours == theirs else f"{ours} ({theirs})" for ours, theirs in zip(row, paper)))
backwards = confusion("lowest", yale.write(lab, 4 if lab.quick else None, backwards=True))
table = lab.table("Images taken for the wrong subject", "what", "images")
known = {} if lab.quick else {"low": 40, "high": 44}
table.row("errors of 165", cell(lowest.sum() - np.trace(lowest), 38, digits=0, **known))
table.row("taken for Subject 1", cell(given_to(lowest, 0), 24, digits=0))
table.row("taken for Subject 1, ties to the nearest image", cell(given_to(nearest, 0), digits=0))
table.row("taken for Subject 1, subjects numbered backwards", cell(given_to(backwards, -1), digits=0))
table.row("taken for Subject 15, subjects numbered backwards", cell(given_to(backwards, 0), digits=0))
right = np.diag(lowest)
if not lab.quick:
    table.row("right of 11, Subject 8", cell(right[7], 6, low=1, high=5, digits=0))
    table.row("right of 11, Subject 12", cell(right[11], 7, low=2, high=6, digits=0))
    lab.check("Subjects 8 and 12 are among the four hardest, as in the paper",
              all(right[subject] <= np.sort(right)[3] for subject in (7, 11)))
lab.note("""The paper sees a fault in Subject 1's right-light picture, which attracts 24 of its 38 errors. What attracts is
the rule for ties, at least here: neighbours of a side-lit picture are side-lit pictures of other subjects, one vote
each, and the tie goes to number 1. With ties to the nearest image, or with subjects numbered backwards, fewer images go to
Subject 1. With this window of the images (`experiments/yale.py`) the effect is weak from the start; the paper's 24 are not
reproduced.""")
lab.finish()
