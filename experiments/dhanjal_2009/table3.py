# SPDX-License-Identifier: BSD-3-Clause
"""Dhanjal et al. 2009, Table 3: least squares on features of three regression problems."""
import numpy as np
from lab import Lab, cell

SETS = {"Ailerons": "ailerons.train.csv", "Baseball": "baseball.csv", "Pole Telecomm": "pol.csv"}
SPARSE = ("method.nu=0.125,0.25,0.5,1", "method.heuristic=mi,mr")
SUBSETS = ("method.subset=50,100,200,400",)
FOLDS, DRAWS = 5, 5
LONE = 671  # the row of Ailerons that holds nearly all of two columns
BEYOND = .003  # what an RBF row may exceed an independent implementation by

# Row: method, what is tuned besides the number of features, the paper's errors and standard deviations.
LINEAR = {"All features": ("pca", (), ((.0168, .0021), (.0329, .0043), (.0232, .0007))),
          "PLS": ("pls", (), ((.0160, .0005), (.0321, .0026), (.0231, .0005))),
          "SMA": ("sma:candidates=500", (), ((.0158, .0008), (.0327, .0038), (.0233, .0004))),
          "SMC": ("smc:candidates=500", (), ((.0159, .0007), (.0323, .0026), (.0231, .0005))),
          "Sp. KPLS": ("skpls", SPARSE, ((.0160, .0015), (.0328, .0050), (.0232, .0006))),
          "rKOPLS": ("rkopls", SUBSETS, ((.0315, .0035), (.0453, .0122), (.0316, .0010)))}
RBF = {"RBF features": ("rkopls:subset=1000", (), ((.0156, .0011), (.0344, .0063), (.0196, .0011))),
       "RBF PLS": ("kpls", (), ((.0158, .0012), (.0330, .0041), (.0094, .0014))),
       "RBF SMA": ("sma:candidates=500", (), ((.0157, .0004), (.0342, .0059), (.0157, .0026))),
       "RBF SMC": ("smc:candidates=500", (), ((.0162, .0019), (.0343, .0059), (.0124, .0014))),
       "Sp. RBF PLS": ("skpls", SPARSE, ((.0161, .0015), (.0353, .0036), (.0117, .0005))),
       "RBF rKOPLS": ("rkopls", SUBSETS, ((.0170, .0020), (.0371, .0057), (.0114, .0020)))}
ROWS = {**LINEAR, **RBF}
OTHERS = {"RBF features": (.0186, .0361, .0212), "RBF PLS": (.0160, .0306, .0132), "RBF SMA": (.0162, .0324, .0136),
          "RBF SMC": (.0162, .0302, .0141), "RBF rKOPLS": (.0158, .0313, .0147)}  # an independent implementation

PENCIL = ("With a linear kernel the subsets (50 to 400 rows) exceed the rank of the columns (27, 16, 26) and both "
          "sides of the eigenproblem are singular. Solved in its range, as here, the one feature is the least squares "
          "fit. A solver for general pencils finds an infinite eigenvalue, whose feature is zero: predicting nothing "
          "is wrong by 1/sqrt(1000) = .0316 on two of the sets, the paper's value. On Baseball it is 1/sqrt(337) = "
          ".0545; the paper's .0453 ± .0122 would be that in three folds and the fit in two (.0455 ± .0123).")
RANGE = ("Least squares on all columns of K is solved in its range: singular values above 1e-10 of the first. The paper "
         "does not tell its cut; an independent implementation with another one finds .0186, .0361 and .0212.")
DRAWN = ("There are 337 rows only; the last table shows how far apart single draws of the folds are. The paper's RBF "
         "SMC and RBF rKOPLS are above all five, but by less than its own standard deviation.")
POLE = "Not explained. An independent implementation finds .0132 (PLS) to .0147 (rKOPLS)."

lab = Lab(__file__, "Table 3: error of least squares on extracted features", "in part",
          "Linear rows are within .001 of the paper (.003 for all features of Ailerons). Linear rKOPLS is not: its "
          "eigenproblem is singular; RBF rows of Pole Telecomm are not explained.")
lab.need(*SETS.values())


def prepare(name, file, left_out=()):
    """The first 1000 rows, columns and target of mean 0 and length 1, and the rank of the columns."""
    table = np.loadtxt(lab.data / file, delimiter=",", skiprows=1)[:1000]
    table = np.delete(table, left_out, 0)[:80 if lab.quick else 1000]
    raw, scaled = lab.write(f"{name}.raw.csv", table[:, :-1], target=table[:, -1]), lab.folder / f"{name}.csv"
    lab.mercer("scale", raw, "--scale", "norm", "--no-label", "-o", scaled, "--quiet")
    return scaled, int(np.linalg.matrix_rank(table[:, :-1] - table[:, :-1].mean(0)))


def evaluate(data, rank, row, draws):
    """The error of each fold, a row for each draw."""
    draws = 1 if lab.quick else draws
    method, tunes = ROWS[row][0], list(ROWS[row][1])
    command = ["evaluate", data, "-m", method, "--head", "ls", "--json", "--quiet", "--cv", FOLDS]
    if method != "pca":
        command += ["--center", "none", "-k", "rbf" if row in RBF else "linear"]
    if method == "pca" or method.startswith("rkopls"):
        command += ["-n", rank if method == "pca" else 1]
    else:
        tunes.append(f"components=1:{150 if row in RBF else rank}:+1")
    if row in RBF:
        tunes.append("kernel.sigma=0.125:16:*2")
        command += ["--inner", 3]
    if lab.quick:
        tunes = tunes[:1]
    report = lab.mercer(*command, "--repeats", draws, *(part for tune in tunes for part in ("--tune", tune)))
    return np.reshape([fold["value"] for fold in report["folds"]], (draws, FOLDS))


def judged(row, name, column, errors):
    """A cell: linear rows near the paper, RBF rows not beyond the independent implementation."""
    paper, spread = ROWS[row][2][column]
    limits, why = {}, None
    if row == "rKOPLS":
        why = PENCIL
    elif row in LINEAR:
        limits["near"] = .003 if (row, name) == ("All features", "Ailerons") else .001
    elif row in OTHERS:
        limits["high"] = OTHERS[row][column] + BEYOND
    if row == "RBF features":
        why = RANGE
    elif row in RBF:
        why = {"Baseball": DRAWN, "Pole Telecomm": POLE}.get(name)
    return cell(errors.mean(), paper, **limits, digits=4, why=why, spread=errors.std(ddof=1), paper_spread=spread)


sets = {name: prepare(name, file) for name, file in SETS.items()}
lab.note("""The first 1000 rows of each set (Baseball: all 337). `mercer scale` brings columns and target to mean 0 and
length 1 on the whole of them before splitting, as the paper did. Five folds, in linear rows and on Baseball drawn five
times, where the paper draws once; behind ± is the standard deviation over folds. Choices are made by five folds within
each training part (RBF: three): the number of features up to the rank (RBF: 150, the paper: the rank), the width of the
RBF kernel from 0.125 to 16.""")
lab.note(f"""Linear rows must be within .001 of the paper, "All features" of Ailerons, which hangs on a few large
coefficients, within .003. RBF rows must not exceed what an independent implementation finds by more than {BEYOND}, with
no lower limit; there is no figure of it for "Sp. RBF PLS", which is shown. So is rKOPLS.""")
table = lab.table("Root mean squared error", "features", *SETS)
baseball = {}
for row in ROWS:
    cells = []
    for column, (name, (data, rank)) in enumerate(sets.items()):
        found = evaluate(data, rank, row, DRAWS if row in LINEAR or name == "Baseball" else 1)
        cells.append(judged(row, name, column, found))
        if name == "Baseball":
            baseball[row] = found.mean(1)
    table.row(row, *cells)

lab.note("""On Ailerons rKOPLS is worse than "All features", which takes the means of each training part off. Two
columns are constant but for one row, which has .9995 of their length. When it is not among the training rows, the
constant stands for an intercept with a huge coefficient, and the row is missed by far. Without it both are the
same:""")
table = lab.table("Root mean squared error, Ailerons without that row", "features", "error")
data = prepare("lone", SETS["Ailerons"], LONE)
found = {row: evaluate(*data, row, DRAWS) for row in ("All features", "rKOPLS")}
for row, errors in found.items():
    table.row(row, cell(errors.mean(), digits=4, spread=errors.std(ddof=1)))
lab.check("without the row rKOPLS is least squares on all features, within .0002",
          abs(found["All features"].mean() - found["rKOPLS"].mean()) <= .0002)

table = lab.table("Baseball: lowest and highest mean of a single draw of the folds", "features", "lowest", "highest",
                  "paper")
for row in RBF:
    table.row(row, *(cell(value, digits=4) for value in (baseball[row].min(), baseball[row].max())),
              f"{ROWS[row][2][1][0]:.4f} ± {ROWS[row][2][1][1]:.4f}")
lab.finish()
