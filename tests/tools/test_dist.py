#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/make-archive: the same bytes each time, what is committed and nothing else, and it builds: test_dist.py

A small repository stands for ours, except where ours is asked for: it may be a folder that is not a clone.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, FolderCase, call, output, run_unittest  # noqa: E402

IDENTITY = {f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER")
            for what, text in (("NAME", "A"), ("EMAIL", "a@example.org"), ("DATE", "2026-01-02T03:04:05Z"))}


def missing():
    return next((name for name in ("git", "xz") if not shutil.which(name)), None)


@unittest.skipIf(missing(), f"{missing()} is not installed")
class Dist(FolderCase):
    def setUp(self):
        super().setUp()
        self.tree = self.folder / "tree"
        (self.tree / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "tools/make-archive", self.tree / "tools")
        self.write("tree/meson.build", "project('mercer', 'c',\n  version: '1.2.3',\n  license: 'x')\n")
        self.write("tree/script", "#!/bin/sh\n", 0o755)
        self.environment = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": str(self.folder / "gitconfig"),
                            "GIT_CONFIG_NOSYSTEM": "1"}
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "one")):
            self.git(*words)

    def git(self, *words):
        output("git", "-C", self.tree, *words, env=self.environment)

    def make(self, folder, **environment):
        """The bytes of the archive."""
        said = output(self.tree / "tools/make-archive", self.folder / folder, env={**self.environment, **environment})
        data = (self.folder / folder / "mercer-1.2.3.tar.xz").read_bytes()
        self.assertEqual(said, f"{hashlib.sha256(data).hexdigest()}  mercer-1.2.3.tar.xz\n")
        self.assertEqual(said, (self.folder / folder / "mercer-1.2.3.tar.xz.sha256sum").read_text())
        self.assertEqual(len(list((self.folder / folder).iterdir())), 2)
        return data

    def test_same_bytes_whatever_the_settings(self):
        first = self.make("one")
        self.write("gitconfig", "[tar]\n    umask = 0077\n[core]\n    autocrlf = true\n[safe]\n    directory = *\n")
        mask = os.umask(0o077)
        try:
            self.assertEqual(self.make("two", TZ="Asia/Tokyo", XZ_OPT="-0", XZ_DEFAULTS="--threads=2", LC_ALL="C"), first)
        finally:
            os.umask(mask)
        os.utime(self.tree / "meson.build", (0, 0))
        self.assertEqual(self.make("two"), first)  # once more, over an old one
        self.write("tree/more", "x")
        self.git("add", "-A")
        self.git("commit", "-qm", "two")
        self.assertNotEqual(self.make("two"), first)

    def test_what_is_committed(self):
        self.write("tree/meson.build", "project('mercer', 'c',\n  version: '9.9.9',\n  license: 'x')\n")
        self.write("tree/not-committed", "x")
        done = call(self.tree / "tools/make-archive", self.folder / "one", env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "make-archive: what is not committed is not in the archive\n")
        with tarfile.open(self.folder / "one/mercer-1.2.3.tar.xz") as archive:
            found = {member.name: (member.mode, member.mtime) for member in archive if member.isfile()}
        self.assertEqual({name: mode for name, (mode, _) in found.items()},
                         {"mercer-1.2.3/meson.build": 0o644, "mercer-1.2.3/script": 0o755, "mercer-1.2.3/tools/make-archive": 0o755})
        self.assertEqual({time for _, time in found.values()}, {1767323045})  # that of the commit

    def test_not_a_clone(self):
        shutil.rmtree(self.tree / ".git")
        for where in ("alone", "inside another"):  # the archive of another repository would be worse than none
            done = call(self.tree / "tools/make-archive", self.folder / "one", env=self.environment)
            self.assertEqual(done.returncode, 1, where)
            self.assertEqual(done.stderr, f"make-archive: {self.tree} is not a clone of the repository\n")
            output("git", "-C", self.folder, "init", "-q", env=self.environment)
        self.assertEqual(call(self.tree / "tools/make-archive").returncode, 2)

    def test_ours_is_whole(self):
        """Our own tree: twice the same, every file of it, and Meson accepts it."""
        if subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True, check=False).returncode:
            self.skipTest("this is not a clone of the repository")
        sums = [output(ROOT / "tools/make-archive", self.folder / folder) for folder in ("one", "two")]
        self.assertEqual(sums[0], sums[1])
        name = sums[0].split()[1]
        output("tar", "-xf", self.folder / "one" / name, "-C", self.folder)
        tree = self.folder / name.removesuffix(".tar.xz")
        listed = output("git", "-C", ROOT, "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")[:-1]
        self.assertGreater(len(listed), 1000)
        self.assertEqual(sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*") if not path.is_dir()), sorted(listed))
        output("meson", "setup", self.folder / "build", tree, "-Dtests=disabled")
        version = name.removeprefix("mercer-").removesuffix(".tar.xz")
        self.assertIn(f"Version: {version}\n", (self.folder / "build/meson-private/mercer.pc").read_text())


if __name__ == "__main__":
    run_unittest()
