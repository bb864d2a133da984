#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The files of a release agree: versions, sections of the changelog, commands that RELEASING.md names."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, run_unittest  # noqa: E402

SECTIONS = ["Added", "Changed", "Fixed"]


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def found(pattern, path):
    """The one group of the first match in a file."""
    match = re.search(pattern, text(path), re.M)
    return match[1] if match else f"nothing in {path}"


def newest():
    """The newest section of the changelog."""
    return re.split(r"^## ", text("CHANGELOG.md"), flags=re.M)[1]


class Release(unittest.TestCase):
    def test_one_version(self):
        version = found(r"^  version: '([^']+)'", "meson.build")
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        self.assertEqual(found(r'^#define MERCER_VERSION "([^"]+)"', "include/mercer/api.h"), version)
        self.assertEqual(found(r"^version: (\S+)$", "CITATION.cff"), version)
        self.assertEqual(found(r"^mercer \((\S+)\) \S+; urgency=medium$", "debian/changelog"), version)
        self.assertEqual(found(r"^## (\S+) \((?:unreleased|\d{4}-\d{2}-\d{2})\)$", "CHANGELOG.md"), version)

    def test_released_or_not(self):
        """The changelogs and the citation agree on whether this version is released, and when."""
        date = found(r"^## \S+ \((unreleased|\d{4}-\d{2}-\d{2})\)$", "CHANGELOG.md")
        released = date != "unreleased"
        self.assertEqual(found(r"^date-released: (\S+)$", "CITATION.cff"), date if released else "nothing in CITATION.cff")
        self.assertEqual(found(r"^mercer \(\S+\) (\S+);", "debian/changelog") != "UNRELEASED", released)

    def test_packages_to_build_packages(self):
        """make packages installs all that debian/control asks for."""
        listed = {line.split()[1] for line in text("tools/packages.txt").splitlines()
                  if line.split()[:1] in (["build"], ["test"], ["python"], ["packages"])}
        wanted = re.search(r"^Build-Depends:\n((?: .*\n)+)", text("debian/control"), re.M)[1]
        names = {re.match(r"[\w.+-]+", line.strip())[0].removesuffix("-compat") for line in wanted.splitlines()}
        self.assertGreater(len(names), 10)
        self.assertEqual(names - listed, set())

    def test_licence(self):
        self.assertEqual(found(r"^license: (\S+)$", "CITATION.cff"), found(r"^  license: '([^']+)'", "meson.build"))

    def test_sections_of_the_changelog(self):
        sections = re.findall(r"^### (.*)$", newest(), re.M)
        self.assertEqual(sections, [name for name in SECTIONS if name in sections])
        for part in re.split(r"^### .*\n", newest(), flags=re.M)[1:]:
            for line in part.splitlines():  # one list, no prose between its items
                self.assertRegex(line, r"^(?:\* |  |\*\*[A-Z][^*]*\*\*$|$)")

    def test_commands_of_releasing(self):
        page = text("RELEASING.md")
        targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.M))
        named = {word for options in re.findall(r"\bmake ((?:-C \S+ )?[a-z-]+)", page) for word in options.split()[-1:]}
        self.assertLessEqual({"test", "fuzz", "experiments"}, named)
        self.assertEqual(named - targets, set())
        for path in re.findall(r"(?<![\w/.-])((?:\.ci|tools|tests|experiments|include)/[\w/.-]*\w)", page):
            if "format_N" not in path and path != "tests/compat/compat_models":
                self.assertTrue((ROOT / path).exists(), path)
        self.assertTrue((ROOT / "tests/compat/compat_models.c").exists())

    def test_the_workflow_runs_what_we_run_by_hand(self):
        self.assertIn("run: .ci/run\n", text(".github/workflows/ci.yml"))
        self.assertTrue((ROOT / ".ci/run").stat().st_mode & 0o100)


if __name__ == "__main__":
    run_unittest()
