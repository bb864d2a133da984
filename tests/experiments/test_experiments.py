#!/usr/bin/python3
"""The experiments run, are listed, and judge: test_experiments.py BUILD

Every script makes its smoke run, on the data sets where ../shared/data has them; experiments/README.md
lists each; a number outside its limits is told.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXPERIMENTS = ROOT / "experiments"
DATA = ROOT.parent / "shared" / "data"
COUNTS = {True: 0, False: 0}


def check(name, good, detail=""):
    COUNTS[bool(good)] += 1
    print(f"{'ok  ' if good else 'FAIL'} {name} {detail}", flush=True)


def test_every_script_runs(build, folder):
    if not DATA.is_dir():
        print("skip: ../shared/data is absent, so only experiments on generated data run")
    done = subprocess.run([sys.executable, EXPERIMENTS / "run.py", "--build", build, "--docs", folder, "--quick",
                           *(["--data", DATA] if DATA.is_dir() else [])],
                          capture_output=True, text=True, check=False)
    check("all scripts come to an end", done.returncode == 0, "" if done.returncode == 0 else done.stdout + done.stderr)
    page = (folder / "RESULTS.md").read_text(encoding="utf-8")
    for path in (folder / "results").glob("*.json"):
        check(f"{path.stem} is on the page", f"experiments/{path.stem}.py" in page)
    for path in (folder / "results").glob("*.svg"):
        check(f"{path.name} is on the page", f"](results/{path.name})" in page)


def test_every_script_is_listed():
    readme = (EXPERIMENTS / "README.md").read_text(encoding="utf-8")
    for path in sorted(EXPERIMENTS.glob("[0-9]*.py")):
        check(f"README lists {path.name}", f"`{path.name}`" in readme)


def test_a_number_outside_its_limits_is_told(build, folder):
    script = folder / "099_test.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(EXPERIMENTS)!r})\nfrom lab import Lab, cell\n"
                      "lab = Lab(__file__, 'A test')\ntable = lab.table('Numbers', 'what', 'value')\n"
                      "table.row('a', cell(0.5, 0.4, near=0.05))\ntable.row('b', cell(0.5, 0.4, near=0.11))\n"
                      "table.row('c', cell(0.5, 0.4))\nlab.finish()\n", encoding="ascii")
    done = subprocess.run([sys.executable, script, "--build", build, "--results", folder], capture_output=True,
                          text=True, check=False)
    result = json.loads((folder / "099_test.json").read_text(encoding="utf-8"))
    check("status", done.returncode == 3, done.returncode)
    check("one of two judged numbers", (result["passed"], result["failed"]) == (1, 1))
    check("the message", "FAIL a, value: 0.500 not in" in done.stdout)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        test_every_script_runs(build, pathlib.Path(name))
    with tempfile.TemporaryDirectory() as name:
        test_a_number_outside_its_limits_is_told(build, pathlib.Path(name))
    test_every_script_is_listed()
    print(f"{COUNTS[True]} passed, {COUNTS[False]} failed")
    return 1 if COUNTS[False] else 0


if __name__ == "__main__":
    sys.exit(main())
