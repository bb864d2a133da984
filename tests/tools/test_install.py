#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `make install` installs can be used: test_install.py BUILD

Installs to a temporary folder, compiles the example with the flags pkg-config gives and runs it,
compiles the public header as C++, and runs the installed program.
"""
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, call, output, run_unittest  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop()).resolve()


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="mercer-install-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        output("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet",
               "--destdir", cls.folder / "root")
        cls.library = next((cls.folder / "root").rglob("libmercer.so")).parent
        cls.environment = {**os.environ, "PKG_CONFIG_PATH": str(cls.library / "pkgconfig"),
                           "PKG_CONFIG_SYSROOT_DIR": str(cls.folder / "root"),
                           "LD_LIBRARY_PATH": str(cls.library)}

    def flags(self, *wanted):
        return output("pkg-config", *wanted, "mercer", env=self.environment).split()

    def test_example_compiles_and_runs(self):
        output("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", ROOT / "examples/ring.c", "-o",
               self.folder / "ring", *self.flags("--cflags", "--libs"))
        printed = output(self.folder / "ring", self.folder / "ring.safetensors", env=self.environment)
        self.assertIn("the loaded model gives the same features", printed)

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
