#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `make install` installs can be used: test_install.py BUILD

Installs to a temporary folder, compiles the example with the flags pkg-config gives and runs it, with the shared
library and with the archive, likewise by CMake; compiles the public header as C++, and runs the installed program.
"""
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, call, output, run_unittest  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop()).resolve()
CMAKE_PROJECT = """cmake_minimum_required(VERSION 3.10)
project(user C)
find_package(mercer {wanted} REQUIRED CONFIG)
find_package(mercer REQUIRED CONFIG) # twice does no harm
add_executable(ring ring.c)
target_link_libraries(ring PRIVATE mercer::mercer)
"""


def libraries_of(program, **options):
    """Names of the libraries that the system loads for a program."""
    return {line.split()[0] for line in output("ldd", program, **options).splitlines()}


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="mercer-install-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        output("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet",
               "--destdir", cls.folder / "root")
        cls.library = next((cls.folder / "root").rglob("libmercer.so")).parent
        cls.prefix = next((cls.folder / "root").rglob("include/mercer")).parent.parent
        cls.environment = {**os.environ, "PKG_CONFIG_PATH": str(cls.library / "pkgconfig"),
                           "LD_LIBRARY_PATH": str(cls.library)}

    def flags(self, *wanted):
        """What pkg-config says, for the folder in which the tree is."""
        return output("pkg-config", f"--define-variable=prefix={self.prefix}", *wanted, "mercer", env=self.environment).split()

    def runs(self, program):
        """The example, however it was linked; what it told the system to load."""
        printed = output(program, self.folder / "ring.safetensors", env=self.environment)
        self.assertIn("the loaded model gives the same features", printed)
        return libraries_of(program, env=self.environment)

    def compile_example(self, *flags):
        output("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", ROOT / "examples/ring.c", "-o", self.folder / "ring", *flags)
        return self.runs(self.folder / "ring")

    def test_example_compiles_and_runs(self):
        self.assertIn("libmercer.so.0", self.compile_example(*self.flags("--cflags", "--libs")))

    def test_archive_links(self):
        """-lmercer takes the shared library where both are; the flags for the archive work with it, too."""
        flags = self.flags("--static", "--cflags", "--libs")
        self.assertIn("-lmercer", flags)
        self.assertIn("libmercer.so.0", self.compile_example(*flags))
        loaded = self.compile_example(*("-l:libmercer.a" if flag == "-lmercer" else flag for flag in flags))
        self.assertNotIn("libmercer.so.0", loaded)
        self.assertTrue(any(name.startswith("libjansson") for name in loaded), loaded)
        if any(flag.endswith("libopenblas.a") for flag in flags):  # then BLAS is in the program, too
            self.assertEqual([name for name in loaded if "blas" in name or "lapack" in name], [])
        self.assertNotEqual([flag for flag in flags if flag not in self.flags("--cflags", "--libs")], [])

    def test_archive_defines_our_names_only(self):
        names = re.findall(r"^(\S+) [A-TV-Z] ", output("nm", "-gP", self.library / "libmercer.a"), re.M)
        self.assertGreater(len(names), 500)
        self.assertIn("mercer_fit", names)
        self.assertEqual([name for name in names if not name.startswith(("mercer_", "mrc_"))], [])

    def cmake(self, wanted, library):
        """Configure a project that wants a version: what cmake said, and the folder."""
        project = self.folder / "cmake"
        shutil.rmtree(project, ignore_errors=True)
        project.mkdir()
        shutil.copy(ROOT / "examples/ring.c", project)
        (project / "CMakeLists.txt").write_text(CMAKE_PROJECT.format(wanted=wanted))
        return call("cmake", "-S", project, "-B", project / "build", f"-Dmercer_DIR={library / 'cmake/mercer'}",
                    env=self.environment), project / "build"

    def need_cmake(self):
        if not shutil.which("cmake"):
            self.skipTest("cmake is not installed")

    def test_cmake(self):
        self.need_cmake()
        done, build = self.cmake("0.1", self.library)
        self.assertEqual(done.returncode, 0, done.stderr)
        output("cmake", "--build", build)
        self.assertIn("libmercer.so.0", self.runs(build / "ring"))

    def test_cmake_versions(self):
        self.need_cmake()
        version = output("pkg-config", "--modversion", "mercer", env=self.environment).strip()
        major, minor, patch = map(int, version.split("."))
        for wanted, good in (("", True), (str(major), True), (version, True), (f"{version} EXACT", True),
                             (f"{major}.0...<{major}.{minor + 1}", True), (f"{major}.{minor}.{patch}...{version}", True),
                             (f"{major}.0...<{version}", False), (f"{major}.{minor + 1}...{major + 1}", False),
                             (f"{major}.{minor}.{patch + 1}", False), (f"{major}.{minor + 1}", False),
                             (str(major + 1), False), (f"{major}.0.0 EXACT", minor == patch == 0)):
            done, _ = self.cmake(wanted, self.library)
            self.assertEqual(done.returncode == 0, good, (wanted, done.stderr))
            if not good:
                self.assertRegex(" ".join(done.stderr.split()), "(compatible with|exactly matches) requested version")

    def test_cmake_says_what_is_missing(self):
        self.need_cmake()
        header = next((self.folder / "root").rglob("include/mercer/mercer.h"))
        header.rename(header.with_name("away"))
        done, _ = self.cmake("0.1", self.library)
        header.with_name("away").rename(header)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(" ".join(done.stderr.split()), r"mercer/mercer\.h is missing")

    def test_cmake_through_a_link(self):
        """Debian has a link from /lib to /usr/lib, and cmake may come that way."""
        self.need_cmake()
        (self.folder / "link").symlink_to(self.library)
        done, build = self.cmake("0.1", self.folder / "link")
        self.assertEqual(done.returncode, 0, done.stderr)
        output("cmake", "--build", build)

    def test_header_compiles_as_cpp(self):
        source = self.folder / "header.cpp"
        source.write_text("#include <mercer/mercer.h>\n"
                          "int main() { return mercer_version()[0] ? 0 : 1; }\n")
        output("g++", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, "-o", self.folder / "header",
               *self.flags("--cflags", "--libs"))
        output(self.folder / "header", env=self.environment)

    def test_each_header_stands_alone(self):
        for header in sorted((ROOT / "include" / "mercer").glob("*.h")):
            source = self.folder / "alone.c"
            source.write_text(f"#include <mercer/{header.name}>\n")
            output("cc", "-std=c11", "-Wall", "-Wpedantic", "-Werror", "-fsyntax-only", source,
                   *self.flags("--cflags"))

    def test_program_finds_its_library(self):
        program = next((self.folder / "root").rglob("bin/mercer"))
        self.assertIn("kpca", output(program, "methods"))

    def test_helper_is_found(self):
        """Also when the tree lies elsewhere than it was configured for, and is moved once more."""
        table = self.folder / "table.mat"
        output("/usr/bin/python3", "-c", "import sys, scipy.io; scipy.io.savemat(sys.argv[1], {'x': "
               "[[1.0, 2.0], [3.0, 5.0]]})", table)
        program = next((self.folder / "root").rglob("bin/mercer"))
        self.assertEqual(output(program, "scale", table, "--scale", "none"), "1,2\n3,5\n")
        moved = self.folder / "moved"
        (self.folder / "root").rename(moved)
        try:
            program = next(moved.rglob("bin/mercer"))
            self.assertEqual(output(program, "scale", table, "--scale", "none"), "1,2\n3,5\n")
            helper = next(moved.rglob("libexec/mercer/mercer-read"))
            helper.rename(helper.with_name("away"))
            done = call(program, "scale", table)
            helper.with_name("away").rename(helper)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"^mercer: [^\n]*table.mat: cannot start the helper program "
                             r"mercer-read: it is neither in [^\n]* nor in [^\n]*\n$")
        finally:
            moved.rename(self.folder / "root")

    def test_man_page_and_completions(self):
        for part in ("man/man1/mercer.1", "bash-completion/completions/mercer",
                     "zsh/site-functions/_mercer"):
            self.assertTrue(list((self.folder / "root").rglob(f"share/{part}")), part)

    def test_version(self):
        self.assertRegex(output("pkg-config", "--modversion", "mercer", env=self.environment).strip(),
                         r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    run_unittest()
