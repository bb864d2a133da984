#!/usr/bin/python3
"""Paper 004, Table 1: how training and projection grow, as fitted exponents."""
import numpy as np
from lab import Lab

# Method, kernel, the paper's orders in rows l, features k (kernel values counted as one).
METHODS = {"PLS": ("pls", "linear", "1", "1"), "KPLS": ("kpls", "rbf:sigma=4", "2", "1"),
           "KPCA": ("kpca", "rbf:sigma=4", "3", "-"), "KB": ("kboost", "rbf:sigma=4", "3", "1"),
           "BLF (log)": ("blf:loss=log", "rbf:sigma=4", "2", "1"),
           "Sp. KPLS": ("skpls:nu=0.25,heuristic=mr", "rbf:sigma=4", "2", "1"),
           "SMA": ("sma:candidates=500", "rbf:sigma=4", "1", "2"), "SMC": ("smc:candidates=500", "rbf:sigma=4", "1", "2")}
QUADRATIC = ("KPCA", "KPLS", "KB", "BLF (log)", "Sp. KPLS")  # methods that look at the whole matrix

lab = Lab(__file__, "Table 1: complexities as fitted exponents")
repeats = 1 if lab.quick else 3


def problem(rows):
    random = np.random.default_rng(1)
    x = random.normal(size=(rows, 20))
    y = np.sign(np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + random.normal(size=rows) / 10)
    path = lab.folder / f"rows-{rows}.npy"
    np.save(path, x)
    labels = lab.folder / f"rows-{rows}.txt"
    labels.write_text("\n".join(str(int(value)) for value in y) + "\n", encoding="ascii")
    return path, labels


def seconds(method, kernel, rows, features):
    data, labels = problem(rows)
    reports = [lab.fit("growth.model", data, "--labels", labels, "-m", method, "-k", kernel, "-n", features, "--head", "none",
                       "--threads", 1)[0] for _ in range(repeats)]
    return min(report["seconds"] for report in reports)


def exponent(sizes, times):
    return np.polyfit(np.log(sizes), np.log(times), 1)[0]


lab.note("""Seconds of a fit on one thread against the number of rows (10 features) and of features, and the slope in
logarithms. Times are of the machine that wrote this page and are not judged; small sizes pull the exponents down. The paper's
orders count a kernel value as one operation.""")
table = lab.table("Fitted exponents of the time to train", "method", "rows", "seconds", "exponent in rows", "paper",
                  "exponent in features", "paper ")
figure, axes = lab.plot()
for name, (method, kernel, rows_order, features_order) in METHODS.items():
    sizes = (1000, 2000, 4000) if name in QUADRATIC else (4000, 8000, 16000, 32000)
    sizes = (100, 200) if lab.quick else sizes
    times = [seconds(method, kernel, size, 10) for size in sizes]
    features = (10, 20) if lab.quick else (25, 50, 100)
    growth = [seconds(method, kernel, sizes[1], count) for count in features]
    axes[0][0].loglog(sizes, times, marker="o", label=name)
    table.row(name, ", ".join(map(str, sizes)), ", ".join(f"{time:.3g}" for time in times), f"{exponent(sizes, times):.2f}",
              rows_order, f"{exponent(features, growth):.2f}", features_order)
axes[0][0].set(xlabel="rows", ylabel="seconds")
axes[0][0].legend(fontsize=7)
lab.figure(figure, "Time to train, 10 features, one thread.")
lab.note("""A new row costs sma and smc one kernel value a feature, the others one a training row (sparse KPLS: of the union of its
supports); see Table 6 for counts.""")
lab.finish()
