#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A library with BLAS inside keeps it: test_private_blas.py MERCER LIBRARY FOLDER

LIBRARY is libmercer built with -Dprivate_blas=true; FOLDER takes Debian's pthread build of OpenBLAS,
unpacked, not installed. With that one loaded before everything else, every method must give the
features that the program gives by itself. Closes with "N passed, N failed"; status 77 (skipped) when
the package cannot be had.
"""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, call, check, close, scratch  # noqa: E402

PACKAGE = "libopenblas0-pthread"
SKIPPED = 77
mercer, library, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:4])


def foreign_openblas():
    """Path of the other OpenBLAS, or None."""
    def find():
        return next(iter(sorted(folder.glob("usr/lib/*/openblas-pthread/libopenblas.so.0"))), None)

    if not find():
        try:
            subprocess.run(["apt-get", "download", "-q", PACKAGE], cwd=folder, check=True, timeout=120,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            package = next(folder.glob(PACKAGE + "_*.deb"))
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        except (OSError, subprocess.SubprocessError, StopIteration) as error:
            print(f"skipped: {PACKAGE} cannot be had: {error}")
    return find()


def run(words, loaded_first=()):
    """Output of mercer in a process with these libraries loaded before its own."""
    surroundings = dict(os.environ, LD_PRELOAD=" ".join(map(str, loaded_first)))
    done = call(mercer, *words, env=surroundings)
    return done.stdout if done.returncode == 0 else f"status {done.returncode}: {done.stderr}"


def features(method, loaded_first=()):
    told = run(["fit", "data.csv", "-m", method, "-k", "linear" if method in ("pca", "pls") else "rbf",
                *([] if method == "krr" else ["-n", "3"]), "--label", "label", "-o", "fitted.model", "--json"], loaded_first)
    if told.startswith("status"):
        return told
    return run(["transform", "fitted.model", "data.csv", "--label", "label"], loaded_first)


def main():
    other = foreign_openblas()
    if not other:
        return SKIPPED
    host = [other, library]
    random = np.random.default_rng(1)
    x = random.normal(size=(300, 6))
    label = np.where(x[:, 0] + x[:, 1] ** 2 > 1, "high", "low")
    with scratch():
        lines = [",".join([word, *map(repr, map(float, row))]) for word, row in zip(label, x)]
        pathlib.Path("data.csv").write_text("\n".join(["label,a,b,c,d,e,f", *lines]) + "\n")

        check("the library uses its own BLAS", "private build" in run(["--version"], host))
        for entry in json.loads(run(["methods", "--json"]))["methods"]:
            alone, hosted = features(entry["name"]), features(entry["name"], host)
            check(f"{entry['name']}: the same bits", alone == hosted and alone.startswith("f1"),
                  "" if alone == hosted else hosted[:200])

        symbols = call(ROOT / "tools" / "check_symbols", library)
        check("exports mercer_* alone", symbols.returncode == 0, symbols.stdout[:500])
        hardened = call(ROOT / "tools" / "check_hardening", "--no-fortify", library)
        check("hardened", hardened.returncode == 0, hardened.stdout)

        # Without it, the program cannot help it but says so.
        if "openmp build" in run(["--version"]):
            check("another build of OpenBLAS is named", "pthread build" in run(["--version"], [other]))
            told = run(["fit", "data.csv", "-m", "kpca", "-n", "3", "--label", "label", "--json"], [other])
            notices = json.loads(told)["notices"] if told.startswith("{") else []
            check("a fit says so", any("pthread build of OpenBLAS" in note for note in notices))
    return close()


if __name__ == "__main__":
    sys.exit(main())
