#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A wheel that tools/complete-wheel has been over needs nothing of the system but the C library: test_wheel.py MERCER [WORD...]

The wheel is packed from the build folder, since making one from the sources takes minutes.
"""
import pathlib
import shutil
import subprocess
import sys
import zipfile

from support import ROOT, Skip, need_sklearn, program, run_tests, test

need_sklearn()
import mercer  # noqa: E402

program()
PACKAGE = pathlib.Path(mercer.__file__).resolve().parent
USE = """
import re, sys
sys.path.insert(0, sys.argv[1])
import mercer, numpy as np
X = np.random.default_rng(0).normal(size=(60, 4))
print(mercer.__path__[0], *np.asarray(mercer.KernelPCA(2).fit_transform(X))[0].tolist())
for head in ("svm", "linsvm"):
    mercer.PLSClassifier(2, head=head).fit(X, X[:, 0] > 0)
with open("/proc/self/maps", encoding="utf-8") as lines:
    print(*sorted({line.split()[-1] for line in lines if re.search(r"(sleef|jansson|gfortran|mercer).*\\.so", line)}))
"""


def pack(path):
    """A wheel of the package as it was built."""
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(PACKAGE.iterdir()):
            if file.is_file() and (file.suffix in (".py", ".so") or file.name == "mercer-train"):
                archive.write(file, f"mercer/{file.name}")
        archive.writestr("mercer-0.dist-info/RECORD", "")


@test
def a_wheel_is_whole():
    if not shutil.which("patchelf"):
        raise Skip("patchelf is not installed")
    pack("mercer-0.whl")
    for _ in range(2):  # once is enough, and twice does no harm
        done = subprocess.run([ROOT / "tools" / "complete-wheel", "mercer-0.whl"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    with zipfile.ZipFile("mercer-0.whl") as archive:
        recorded = {line.split(",")[0] for line in archive.read("mercer-0.dist-info/RECORD").decode().splitlines()}
        assert recorded == set(archive.namelist())
        for info in archive.infolist():
            archive.extract(info, "site")
            pathlib.Path("site", info.filename).chmod(info.external_attr >> 16 & 0o777)
    libraries = {path.name for path in pathlib.Path("site/mercer.libs").iterdir()}
    assert any(name.startswith("libsleef-") for name in libraries)
    files = [path for path in pathlib.Path("site").rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(files) >= len(libraries) + 2
    for path in files:
        told = [subprocess.run(["patchelf", word, path], capture_output=True, text=True, check=True).stdout.split()
                for word in ("--print-rpath", "--print-needed")]
        assert told[0] == ["$ORIGIN" if path.parent.name == "mercer.libs" else "$ORIGIN/../mercer.libs"], (path, told[0])
        for name in told[1]:
            assert name in libraries or name.startswith(("libc.", "libm.", "libdl.", "libpthread.", "ld-linux")), (path, name)
    site = str(pathlib.Path("site").resolve())
    lines = subprocess.run([sys.executable, "-c", USE, site], capture_output=True, text=True, check=False)
    assert lines.returncode == 0, lines.stderr
    told, loaded = lines.stdout.splitlines()
    assert told.split()[0] == f"{site}/mercer"
    assert loaded and all(path.startswith(site) or "numpy" in path or "scipy" in path for path in loaded.split()
                          if "gfortran" not in path), loaded
    plain = subprocess.run([sys.executable, "-c", USE, str(PACKAGE.parent)], capture_output=True, text=True, check=False).stdout
    assert told.split()[1:] == plain.splitlines()[0].split()[1:]  # the same bits


if __name__ == "__main__":
    sys.exit(run_tests())
