# SPDX-License-Identifier: BSD-3-Clause
"""Features that have to do with classes, chosen by rows held out."""
# %% kernel PLS of the digits
from sklearn.datasets import load_digits

import mercer

X, y = load_digits(return_X_y=True)
X, y = X[:600] / 16, y[:600]
result = mercer.evaluate(mercer.KernelPLSClassifier(), X, y, cv=3,
                         tune={"sigma": [1.0, 2.0, 4.0], "n_components": [5, 10, 20]}, inner_cv=3)
print(result)
print(result.chosen)
assert result.mean < 0.1

# %% several methods by the same folds, the best first
table = mercer.compare([mercer.PLSClassifier(10), mercer.KernelPLSClassifier(20, sigma=2.0)], X, y, cv=3)
for name, one in table.items():
    print(f"{name:25} {one.metric} {one.mean:.3f}")
