#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The harness of the test scripts can fail, and no test lies about that nobody runs."""
import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import ROOT, FolderCase, call, run_unittest  # noqa: E402

HEAD = f"import os, signal, sys\nsys.path.insert(0, {str(ROOT / 'tests')!r})\nimport harness\n"


class Harness(FolderCase):
    def script(self, text, *words):
        """(status, lines) of a script that uses the harness."""
        done = call(sys.executable, self.write("script.py", HEAD + text), *words)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def test_checks(self):
        text = "harness.check('a', {}, 7)\nharness.check('b', True, quiet=True)\nsys.exit(harness.close())\n"
        self.assertEqual(self.script(text.format(True)), (0, ["ok   a: 7", "2 passed, 0 failed"]))
        self.assertEqual(self.script(text.format(False)), (1, ["FAIL a: 7", "1 passed, 1 failed"]))
        self.assertEqual(self.script("sys.exit(harness.close())\n"), (1, ["0 passed, 0 failed"]))
        self.assertEqual(self.script("harness.skip('a', 'why')\nsys.exit(harness.close())\n"),
                         (0, ["skip a: why", "0 passed, 0 failed, 1 skipped"]))

    def test_parts(self):
        text = "def one(x): harness.check('one', x)\ndef two(x): harness.check('two', x)\n" \
               "harness.run_parts([one, two], sys.argv[1:], 1)\nsys.exit(harness.close())\n"
        self.assertEqual(self.script(text)[1][-1], "2 passed, 0 failed")
        self.assertEqual(self.script(text, "tw"), (0, ["ok   two", "1 passed, 0 failed"]))
        self.assertEqual(self.script(text, "three"), (1, ["0 passed, 0 failed"]))

    MARKED = "@harness.test\ndef test_good():\n    open('file', 'w').close()\n    assert os.listdir() == ['file']\n" \
             "@harness.slow_test\ndef test_slow():\n    assert os.listdir() == []\n" \
             "@harness.test\ndef test_bad():\n    {}\nsys.exit(harness.run_tests())\n"

    def marked(self, last, *words):
        """Status, closing line and marks of three tests of which the last does this."""
        status, lines = self.script(self.MARKED.format(last), "program", *words)
        return status, lines[-1], [line[:4] for line in lines if re.match(r"(ok  |FAIL|skip) test_", line)]

    def test_marked_functions(self):
        self.assertEqual(self.marked("pass"), (0, "3 passed, 0 failed", ["ok  "] * 3))
        self.assertEqual(self.marked("assert 0"), (1, "2 passed, 1 failed", ["ok  ", "ok  ", "FAIL"]))
        self.assertEqual(self.marked("raise harness.Skip('why')", "-j1"),
                         (0, "2 passed, 0 failed, 1 skipped", ["ok  ", "ok  ", "skip"]))
        self.assertEqual(self.marked("os.kill(os.getpid(), signal.SIGKILL)", "-j1"),
                         (1, "2 passed, 1 failed", ["ok  ", "ok  ", "FAIL"]))
        self.assertEqual(self.marked("pass", "--quick")[1], "2 passed, 0 failed")
        self.assertEqual(self.marked("assert 0", "slow", "good")[1], "2 passed, 0 failed")
        self.assertEqual(self.marked("pass", "slow", "--quick")[:2], (1, "0 passed, 0 failed"))

    def test_ignored_interrupts_are_not_handed_on(self):
        text = "@harness.test\ndef test_a():\n    assert harness.call('sh', '-c', 'kill -INT $$; sleep 9').returncode == -2\n" \
               "sys.exit(harness.run_tests())\n"
        done = call(sys.executable, self.write("script.py", HEAD + text), "program",
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_unittest(self):
        text = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        {}\nharness.run_unittest()\n"
        for line, status, closing in (("pass", 0, "1 passed, 0 failed"), ("assert 0", 1, "0 passed, 1 failed"),
                                      ("self.skipTest('why')", 0, "0 passed, 0 failed, 1 skipped")):
            done = call(sys.executable, self.write("script.py", HEAD + text.format(line)))
            self.assertEqual((done.returncode, done.stdout), (status, closing + "\n"))

    def test_programs(self):
        status, lines = self.script("done = harness.measured(sys.executable, '-c', 'x = [0] * 10**7; exit(3)')\n"
                                    "print(done.returncode, done.peak)\n")
        told = list(map(int, lines[0].split()))
        self.assertEqual((status, told[0], told[1] > 8 * 10**7), (0, 3, True))
        self.assertEqual(self.script("try: harness.output('false')\nexcept harness.Fault as why: print(why)\n"),
                         (0, ["false: status 1: "]))
        self.assertEqual(self.script("harness.program()\n", "nowhere")[0], 1)

    def test_every_test_is_listed(self):
        """A script or a program that no meson.build names is run by nobody."""
        for path in (ROOT / "tests").rglob("test_*.*"):
            if path.suffix not in (".c", ".py"):
                continue
            near = [folder / "meson.build" for folder in path.parents if (folder / "meson.build").is_file()][0]
            name = path.stem.removeprefix("test_")
            self.assertRegex(near.read_text(encoding="utf-8"), rf"'{name}'|test_{name}{re.escape(path.suffix)}'", path)


if __name__ == "__main__":
    run_unittest()
