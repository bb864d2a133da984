# SPDX-License-Identifier: BSD-3-Clause
"""From scikit-learn to Mercer: the import line changes, the rest stays."""
# %% a circle inside another
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from mercer import KernelPCA

X, y = make_circles(400, noise=0.05, factor=0.3, random_state=0)
pipe = make_pipeline(KernelPCA(2, gamma=5), LogisticRegression())
print("accuracy", pipe.fit(X, y).score(X, y))
assert pipe.score(X, y) > 0.99

# %% what was fitted
pca = pipe[0]
print(pca.kernel_, pca.explained_variance_ratio_.round(3))
print(pca.model_)

# %% a file for the command line: mercer transform circles.model new.csv
pca.save("circles.model")
