# SPDX-License-Identifier: BSD-3-Clause
"""Read model files with plain Python, by the very lines that docs/format.md shows.

read_model.py PROGRAM: PROGRAM is compat_models.
"""
import json
import pathlib
import re
import sys
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

PROGRAM = harness.program()
del sys.argv[1:]  # which unittest would read
LINES = {}
for snippet in re.findall(r"```python\n(.*?)```", (harness.ROOT / "docs/format.md").read_text(), re.S):
    exec(snippet, LINES)


def kernel(spec, a, b):
    name, _, keys = spec.partition(":")
    p = {key: float(value) for key, value in (pair.split("=") for pair in keys.split(",") if pair)}
    dots = a @ b.T
    if name == "rbf":
        gamma = p["gamma"] if "gamma" in p else 0.5 / p["sigma"] ** 2
        return np.exp(-gamma * ((a[:, None] - b[None]) ** 2).sum(-1))
    if name == "poly":
        return (p["gamma"] * dots + p["coef0"]) ** p["degree"]
    if name == "sigmoid":
        return np.tanh(p["gamma"] * dots + p["coef0"])
    if name == "cosine":
        return dots / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)
    return dots


def features(about, arrays, x):
    if "scale_shift" in arrays:
        x = (x - arrays["scale_shift"]) * arrays["scale_factor"]
    if "weights" in arrays:
        return (x - arrays["input_center"]) @ arrays["weights"] + arrays["offsets"]
    basis = arrays["z"][:len(arrays["coefficients"])]
    return kernel(about["kernel"], x, basis) @ arrays["coefficients"] + arrays["offsets"]


class ReadModels(unittest.TestCase):
    def check(self, folder, count):
        models = sorted(pathlib.Path(folder).glob("*.mercer"))
        self.assertEqual(len(models), count)
        for path in models:
            with self.subTest(path.name):
                about, arrays = LINES["read_model"](path)
                self.assertTrue(LINES["is_intact"](path))
                self.assertEqual(about["format"], "mercer-model")
                d, l = int(about["columns"]), int(about["components"])
                names = json.loads(about["column_names"])
                self.assertEqual(names, ["age", "höhe", "latin \uefe9", "x"][:d])
                x = np.fromfile(path.with_suffix(".rows")).reshape(-1, d)
                wanted = np.fromfile(path.with_suffix(".features")).reshape(-1, l)
                np.testing.assert_allclose(features(about, arrays, x), wanted, rtol=1e-10,
                                           atol=1e-12)

    def test_files_of_this_build(self):
        with harness.scratch() as folder:
            harness.output(PROGRAM, "write", folder)
            self.check(folder, 9)

    def test_files_of_format_1(self):
        self.check(harness.ROOT / "tests/compat/format_1", 9)

    def test_files_of_format_2(self):
        self.check(harness.ROOT / "tests/compat/format_2", 1)


if __name__ == "__main__":
    harness.run_unittest()
