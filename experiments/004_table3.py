#!/usr/bin/python3
"""Paper 004, Table 3: least squares on features of three regression problems."""
import numpy as np
from lab import Lab, cell

SETS = {"Ailerons": "ailerons.train.csv", "Baseball": "baseball.csv", "Pole Telecomm": "pol.csv"}
SPARSE = ("method.nu=0.125,0.25,0.5,1", "method.heuristic=mi,mr")
SUBSETS = ("method.subset=50,100,200,400",)
PENCIL = ("The paper's value is that of predicting nothing (1/sqrt(1000) = .0316 on two of the sets): with a linear "
          "kernel the subsets exceed the rank of the columns and the eigenproblem is singular. Solved in its range, "
          "as here, the one feature is the least squares fit.")
FILE = ("The file holds other rows than the paper's first 1000 of 9065 may have been, and features here end at 150; an "
        "independent implementation finds .013 to .015 as well.")

# Row: method, what is tuned besides the number of features, the paper's errors, reasons.
LINEAR = {"All features": ("pca", (), (.0168, .0329, .0232)),
          "PLS": ("pls", (), (.0160, .0321, .0231)),
          "SMA": ("sma:candidates=500", (), (.0158, .0327, .0233)),
          "SMC": ("smc:candidates=500", (), (.0159, .0323, .0231)),
          "Sp. KPLS": ("skpls", SPARSE, (.0160, .0328, .0232)),
          "rKOPLS": ("rkopls", SUBSETS, (.0315, .0453, .0316))}
RBF = {"RBF features": ("kpca", (), (.0156, .0344, .0196)),
       "RBF PLS": ("kpls", (), (.0158, .0330, .0094)),
       "RBF SMA": ("sma:candidates=500", (), (.0157, .0342, .0157)),
       "RBF SMC": ("smc:candidates=500", (), (.0162, .0343, .0124)),
       "Sp. RBF PLS": ("skpls", SPARSE, (.0161, .0353, .0117)),
       "RBF rKOPLS": ("rkopls", SUBSETS, (.0170, .0371, .0114))}
ROWS = {**LINEAR, **RBF}
WHOLE = ("All features", "RBF features", "rKOPLS", "RBF rKOPLS")  # as many features as there are

lab = Lab(__file__, "Table 3: error of least squares on extracted features")
lab.need(*SETS.values())


def prepare(name, file):
    """The first 1000 rows, columns and target of mean 0 and length 1, and the rank of the columns."""
    table = np.loadtxt(lab.data / file, delimiter=",", skiprows=1)[:80 if lab.quick else 1000]
    raw, scaled = lab.write(f"{name}.raw.csv", table[:, :-1], target=table[:, -1]), lab.folder / f"{name}.csv"
    lab.mercer("scale", raw, "--scale", "norm", "--no-label", "-o", scaled, "--quiet")
    return scaled, int(np.linalg.matrix_rank(table[:, :-1] - table[:, :-1].mean(0)))


def error(data, rank, row):
    method, more, _ = ROWS[row]
    command = ["evaluate", data, "-m", method, "--head", "ls", "--json", "--quiet", "--cv", 5]
    tunes = list(more)
    if method != "pca":
        command += ["--center", "none", "-k", "rbf" if row in RBF else "linear"]
    if row in WHOLE:
        command += ["-n", {"pca": rank, "kpca": 1000, "rkopls": 1}[method]]
    else:
        tunes.append(f"components=1:{150 if row in RBF else rank}:+1")
    if row in RBF:
        tunes.append("kernel.sigma=0.125:16:*2")
    if lab.quick:
        tunes = tunes[:1]
    elif row in RBF:
        command += ["--inner", 3]
    else:
        command += ["--repeats", 5]
    return lab.mercer(*command, *(part for tune in tunes for part in ("--tune", tune)))["mean"]


sets = {name: prepare(name, file) for name, file in SETS.items()}
lab.note("""The first 1000 rows of each set, columns and target to mean 0 and length 1 on the whole of them before
splitting, as the paper did. Five folds (linear rows: drawn five times); what is tuned is tuned by five folds within
each training part (RBF: three). Linear rows must be within .001 of the paper, "All features" of Ailerons, which hangs on a few
large coefficients, within .003; the RBF rows are shown.""")
table = lab.table("Root mean squared error", "features", *SETS)
for row, (_, _, papers) in ROWS.items():
    cells = []
    for (name, (data, rank)), paper in zip(sets.items(), papers):
        limit, why = None, None
        if row == "rKOPLS":
            why = PENCIL
        elif row in LINEAR:
            limit = .003 if (row, name) == ("All features", "Ailerons") else .001
        elif name == "Pole Telecomm":
            why = FILE
        cells.append(cell(error(data, rank, row), paper, near=limit, digits=4, why=why))
    table.row(row, *cells)
lab.finish()
