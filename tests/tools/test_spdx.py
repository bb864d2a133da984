#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/check_spdx on files made here: what it finds, what --write adds and what it leaves alone."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, FolderCase, run_unittest  # noqa: E402

CHECK = ROOT / "tools" / "check_spdx"
TAG = "SPDX-License-" + "Identifier: "
SLASHES, HASH = f"/* {TAG}BSD-3-Clause */", f"# {TAG}BSD-3-Clause"


class Spdx(FolderCase):
    def check(self, *options):
        """(status, output)."""
        done = subprocess.run([CHECK, *options, self.folder], text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def added(self, path, before, after, mode=0o644):
        """The file is refused, gets its line, and is good then; a second --write changes nothing."""
        file = self.write(path, before, mode)
        status, output = self.check()
        self.assertEqual(status, 1, path)
        self.assertIn(f"{path}: line ", output)
        self.assertEqual(file.read_bytes(), before.encode(), "checking must not write")
        self.assertEqual(self.check("--write"), (0, "added to 1 of 1 files\n"))
        self.assertEqual(file.read_bytes(), after.encode())
        self.assertEqual(file.stat().st_mode & 0o777, mode)
        self.assertEqual(self.check(), (0, ""))
        self.assertEqual(self.check("--write"), (0, "added to 0 of 1 files\n"))
        self.assertEqual(file.read_bytes(), after.encode())
        file.unlink()

    def test_first_line(self):
        for path in ("src/a.c", "include/mercer/a.h", "bench/a.cpp", "src/methods/methods.def"):
            self.added(path, "/* a file */\nMRC_METHOD(a)\n", f"{SLASHES}\n/* a file */\nMRC_METHOD(a)\n")
        for path in ("a.py", "bench/a.R", "tools/a.sh", "src/meson.build", "meson_options.txt", "Makefile",
                     ".github/workflows/ci.yml"):
            self.added(path, "# a file\n", f"{HASH}\n# a file\n")
        self.added("empty.c", "", SLASHES + "\n")

    def test_after_the_shebang(self):
        self.added("a.py", '#!/usr/bin/python3\n"""A script."""\n', f'#!/usr/bin/python3\n{HASH}\n"""A script."""\n', 0o755)
        self.added("tools/lint", "#!/usr/bin/python3\npass\n", f"#!/usr/bin/python3\n{HASH}\npass\n", 0o755)
        self.added(".ci/run", "#!/usr/bin/env bash\nset -e\n", f"#!/usr/bin/env bash\n{HASH}\nset -e\n", 0o755)
        self.added("bare", "#!/bin/sh", f"#!/bin/sh\n{HASH}\n", 0o755)  # no end of line

    def test_line_ends_of_the_file(self):
        self.added("a.c", "int a;\r\nint b;\r\n", f"{SLASHES}\r\nint a;\r\nint b;\r\n")

    def test_bytes_stay(self):
        file = self.write("a.py", "")
        file.write_bytes(b"# caf\xe9\nx = 1")
        self.assertEqual(self.check("--write"), (0, "added to 1 of 1 files\n"))
        self.assertEqual(file.read_bytes(), HASH.encode() + b"\n# caf\xe9\nx = 1")

    def test_another_licence_is_left_alone(self):
        text = f"/* {TAG}MIT */\nint a;\n"
        file = self.write("src/a.c", text)
        for options in ((), ("--write",)):
            status, output = self.check(*options)
            self.assertEqual(status, 1)
            self.assertIn("src/a.c: names the licence MIT, not BSD-3-Clause\n", output)
            self.assertEqual(file.read_bytes(), text.encode())

    def test_the_wrong_place_or_form(self):
        for text in (f"/* a file */\n{SLASHES}\n", f"// {TAG}BSD-3-Clause\n"):
            file = self.write("src/a.c", text)
            for options in ((), ("--write",)):  # by hand: two lines would be one too many
                status, output = self.check(*options)
                self.assertEqual(status, 1)
                self.assertIn(f"src/a.c: its licence belongs to line 1, as '{SLASHES}'\n", output)
                self.assertEqual(file.read_bytes(), text.encode())

    def test_what_is_not_a_source(self):
        self.write("src/a.c", SLASHES + "\n")
        for path in ("README.md", "completions/_mercer", "data.csv", "fuzz/corpus/csv/seed", "fuzz/corpus/a.py",
                     "build/b.c", "build-clang/b.c", ".git/b.py", "x/__pycache__/b.py", "LICENSE"):
            self.write(path, "#compdef mercer\n")
        (self.folder / "link.c").symlink_to(self.folder / "README.md")
        self.assertEqual(self.check(), (0, ""))
        self.assertEqual(self.check("--write"), (0, "added to 0 of 1 files\n"))

    def test_no_sources_and_bad_calls(self):
        status, output = self.check()
        self.assertEqual((status, output), (1, f"check_spdx: no sources in {self.folder}\n"))
        self.assertEqual(self.check("--wirte"), (1, "check_spdx: call it as check_spdx [--write] [ROOT]\n"))


if __name__ == "__main__":
    run_unittest()
