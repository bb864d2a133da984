#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A wheel that tools/complete-wheel has been over needs nothing of the system but the C library, and tools/tag-wheel
says of which version: test_wheel.py MERCER [WORD...]

The wheel is packed from the build folder, since making one from the sources takes minutes.
"""
import os
import pathlib
import re
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
        archive.writestr("mercer-0.dist-info/METADATA", "Metadata-Version: 2.1\nName: mercer\nVersion: 0\n")
        archive.writestr("mercer-0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-abi3-linux_x86_64\n")
        archive.writestr("mercer-0.dist-info/RECORD", "".join(f"{file},,\n" for file in archive.namelist()))


def tag(name):
    """What tools/tag-wheel said of a wheel; its venv stays in the build folder, as that of `make wheel` does."""
    done = subprocess.run([ROOT / "tools" / "tag-wheel", name, PACKAGE.parent.parent / "wheel-venv"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if "keeps its tag" in done.stdout:
        assert done.returncode == 0 and pathlib.Path(name).exists()
        raise Skip(done.stdout.strip())
    return done.returncode, done.stdout


@test
def the_tag_is_true():
    if not shutil.which("patchelf"):
        raise Skip("patchelf is not installed")
    if os.uname().machine != "x86_64":
        raise Skip("the wheel is packed for x86-64")
    name = "mercer-0-cp311-abi3-linux_x86_64.whl"
    pack(name)
    status, said = tag(name)
    assert status == 1 and "needs libraries of this machine" in said, (status, said)
    done = subprocess.run([ROOT / "tools" / "complete-wheel", name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(name) as archive:
        before = {file: archive.read(file) for file in archive.namelist()}
    status, said = tag(name)
    assert status == 0, said
    (tagged,) = pathlib.Path().glob("*.whl")
    minor = int(re.fullmatch(r"mercer-0-cp311-abi3-manylinux_2_(\d+)_x86_64\.whl", tagged.name)[1])
    versions = {0}  # of the C library that the files ask for, without auditwheel
    with zipfile.ZipFile(tagged) as archive:
        assert f"Tag: cp311-abi3-manylinux_2_{minor}_x86_64" in archive.read("mercer-0.dist-info/WHEEL").decode()
        for info in archive.infolist():
            data = archive.read(info)
            if ".dist-info/" not in info.filename:
                assert data == before[info.filename], info.filename
            if data[:4] == b"\x7fELF":
                archive.extract(info, "files")
                told = subprocess.run(["readelf", "-W", "--version-info", f"files/{info.filename}"], capture_output=True, text=True,
                                      check=True).stdout
                versions |= set(map(int, re.findall(r"Name: GLIBC_2\.(\d+)", told)))
    assert max(versions) == minor <= int(os.confstr("CS_GNU_LIBC_VERSION").split(".")[1]), (versions, minor)
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", "site", tagged],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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
    if shutil.which("dpkg-query"):
        licences = {path.stem: path.read_text() for path in pathlib.Path("site/mercer-0.dist-info/licenses").iterdir()}
        wanted = {"libopenblas-openmp-dev", "liblapacke-dev", "libsleef3", "zlib1g", "libjansson4", "libgomp1"}
        assert wanted <= set(licences), licences.keys()
        assert "The OpenBLAS Project" in licences["libopenblas-openmp-dev"]
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
