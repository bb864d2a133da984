#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Helper programs that run out of memory, crash or hang: test_helpers.py MERCER

Whatever happens in mercer-read and mercer-train, `mercer` ends with success or with one line, never
by a signal, and leaves nothing behind.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import scipy.io

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

MERCER = harness.program()
del sys.argv[1]  # which unittest would read


def helpers(session):
    """Helper programs of a session, as long as they run; each run of mercer is one."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            state, _, _, of_session = rest.split()[:4]
            if name.startswith("mercer-") and of_session == str(session) and state not in "XZ":
                found.append(name)
        except (OSError, IndexError):
            pass
    return found


class Helpers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.module = harness.preloaded(MERCER, "faults")
        except harness.Skip as why:
            raise unittest.SkipTest(str(why)) from why
        folder = tempfile.TemporaryDirectory(prefix="mercer-helpers-")
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(os.chdir, "/")
        os.chdir(folder.name)
        rng = np.random.default_rng(1)
        x = rng.normal(size=(60, 4))
        label = rng.integers(0, 3, 60)
        np.savetxt("c.csv", np.c_[x + label[:, None], label], delimiter=",", comments="",
                   header="a,b,c,d,label", fmt=["%.5g"] * 4 + ["%d"])
        np.savetxt("v.csv", np.c_[x, x[:, 0] ** 2], delimiter=",", comments="",
                   header="a,b,c,d,target", fmt="%.5g")
        scipy.io.savemat("a.mat", {"x": x}, do_compression=True)
        scipy.io.savemat("s.mat", {"x": scipy.sparse.csc_matrix(x)})
        import h5py
        with h5py.File("a.h5", "w") as f:
            f.create_dataset("g/x", data=x, compression="gzip")
        cls.x = x

    def start(self, program, at, event, *words):
        return subprocess.Popen([MERCER, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, text=True, start_new_session=True,
                                env=harness.fault(self.module, f"malloc {at} {event}", program))

    def meets(self, program, at, event, *words):
        """The status and the line, after looking that the end was a clean one."""
        done = self.start(program, at, event, *words)
        out, line = done.communicate(timeout=120)
        what = f"{event} at {at}, {' '.join(words)}: status {done.returncode}: {line!r}"
        self.assertIn(done.returncode, (0, 1), what)
        self.assertEqual(line.count("\n"), done.returncode, what)
        if done.returncode:
            self.assertRegex(line, r"^mercer: .{10,}\n$", what)
            self.assertEqual(out, "", what)
        self.assertEqual([n for n in os.listdir() if n.startswith(".") or ".lock" in n], [], what)
        self.assertEqual(helpers(done.pid), [], what)
        return done.returncode, line

    def sweep(self, program, *words):
        """Every allocation fails in turn, until the run does not notice any more."""
        failures = missed = runs = 0
        at = 1
        while missed < 40:
            status, _ = self.meets(program, at, "ENOMEM", *words)
            failures += status
            runs += 1
            missed = 0 if status else missed + 1
            at += 1 if at < 150 else at // 50  # all of the first ones, then fewer and fewer
        print(f"{program} {words[1]} {words[-4]}: {runs} runs, {failures} errors", flush=True)
        return failures

    def test_reading_without_memory(self):
        for name in ("a.h5", "a.mat", "s.mat"):
            with self.subTest(name):
                self.assertGreater(self.sweep("mercer-read", "scale", name, "--scale", "none",
                                              "-o", "out.npy", "--quiet"), 5)
                os.path.exists("out.npy") and os.remove("out.npy")

    def test_training_without_memory(self):
        for data, head in (("c.csv", "svm"), ("c.csv", "svm:kernel=rbf"), ("v.csv", "svm"),
                           ("c.csv", "linsvm"), ("c.csv", "linsvm:loss=hinge")):
            with self.subTest(head):
                self.assertGreater(self.sweep("mercer-train", "fit", data, "-m", "kpca", "-n", "3",
                                              "--head", head, "-o", "m.model", "--quiet"), 5)
                os.path.exists("m.model") and os.remove("m.model")

    def test_reading_dies(self):
        for name, library in (("a.h5", "HDF5"), ("a.mat", "MAT")):
            for event in ("segv", "abort"):
                status, line = self.meets("mercer-read", 60, event, "scale", name)
                self.assertEqual(status, 1)
                self.assertEqual(line, f"mercer: {name}: the {library} library crashed while it read "
                                 "this file; the file is damaged\n")
            status, line = self.meets("mercer-read", 60, "exit", "scale", name)
            self.assertRegex(line, rf"^mercer: {name}: cannot be read: .*mercer-read does not run\n$")

    def test_training_dies(self):
        for event in ("segv", "abort"):
            for head, library in (("svm", "LIBSVM"), ("linsvm", "LIBLINEAR")):
                status, line = self.meets("mercer-train", 25, event, "fit", "c.csv", "-m", "kpca",
                                          "--head", head)
                self.assertEqual(status, 1)
                self.assertIn(f"head {head}: {library} ended before it was done; out of memory?", line)
        # The next training gets another helper: all folds but the first one's would fail otherwise.
        status, line = self.meets("mercer-train", 10 ** 9, "ENOMEM", "evaluate", "c.csv", "-m", "kpca",
                                  "--head", "svm", "--cv", "5", "--json")
        self.assertEqual((status, line), (0, ""))

    def test_host_ends(self):
        """A helper that hangs, or computes, ends with its host."""
        for event in ("hang", "spin"):
            for program, words in (("mercer-read", ("scale", "a.h5")),
                                   ("mercer-train", ("fit", "c.csv", "-m", "kpca", "--head", "svm"))):
                for number, wanted in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
                    done = self.start(program, 25, event, *words)
                    while program not in helpers(done.pid):
                        self.assertIsNone(done.poll())
                        time.sleep(0.01)
                    time.sleep(0.2)
                    done.send_signal(number)
                    _, line = done.communicate(timeout=60)
                    self.assertEqual(done.returncode, wanted, line)
                    for _ in range(1000):
                        if not helpers(done.pid):
                            break
                        time.sleep(0.01)
                    self.assertEqual(helpers(done.pid), [])


if __name__ == "__main__":
    harness.run_unittest()
