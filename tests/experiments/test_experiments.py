#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The experiments run, are listed, and judge: test_experiments.py BUILD

Every script makes its smoke run, on the data sets where ../shared/data has them; the pages have each of
them; experiments/README.md lists each; a number outside its limits is told; --only chooses; the pages and
figures in docs/ are those that the results beside them give; methods have the colours of report/.
"""
import json
import os
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import DATA, ROOT, call, check, close, scratch  # noqa: E402

EXPERIMENTS = ROOT / "experiments"
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "common")]
import lab  # noqa: E402
import run  # noqa: E402


def start(*arguments):
    return call(sys.executable, EXPERIMENTS / "run.py", *arguments, timeout=None)


def results(docs):
    """{PAPER/NAME: result} of a folder of documents."""
    found = {}
    for path in sorted((docs / "results").glob("*/*.json")):
        found[f"{path.parent.name}/{path.stem}"] = json.loads(path.read_text(encoding="utf-8"))
    return found


def check_pages(docs):
    """Every result is on the page of its paper and in the summary."""
    summary = (docs / "RESULTS.md").read_text(encoding="utf-8")
    for name, result in results(docs).items():
        paper = name.split("/")[0]
        page = (docs / "results" / paper / "README.md").read_text(encoding="utf-8")
        check(f"{name} is on its page", f"`experiments/{name}.py`" in page and result["why"] in page)
        link = f"](results/{paper}/README.md#{run.anchor(result['title'])})"
        check(f"{name} is in the summary", link in summary and result["why"] in summary)
    for path in (docs / "results").glob("*/*.svg"):
        page = (path.parent / "README.md").read_text(encoding="utf-8")
        check(f"{path.parent.name}/{path.name} is on its page", f"]({path.name})" in page)


def test_every_script_runs(build, folder):
    if not DATA.is_dir():
        print("skip: ../shared/data is absent, so only experiments on generated data run")
    done = start("--build", build, "--docs", folder, "--quick", *(["--data", DATA] if DATA.is_dir() else []))
    check("all scripts come to an end", done.returncode == 0, "" if done.returncode == 0 else done.stdout + done.stderr)
    check_pages(folder)
    with scratch() as again:
        check_drawn_again(folder, again)
    kept = results(ROOT / "docs")
    for name, result in results(folder).items():  # changed in a script, the page has to be written again
        same = name in kept and all(kept[name][key] == result[key] for key in ("name", "title", "reproduced", "why"))
        check(f"{name}: title and verdict are those of docs/", same)


def test_the_pages_are_up_to_date(folder):
    shutil.copytree(ROOT / "docs" / "results", folder / "results", ignore=shutil.ignore_patterns("*.md"))
    done = start("--docs", folder, "--page")
    check("--page runs", done.returncode in (0, 1) and not done.stderr, done.stderr)
    for path in [folder / "RESULTS.md", *sorted((folder / "results").glob("*/README.md"))]:
        page = ROOT / "docs" / path.relative_to(folder)
        check(f"docs/{path.relative_to(folder)} is what the results give",
              page.exists() and page.read_bytes() == path.read_bytes())


def drawn(path):
    """A figure without the names that Matplotlib hashes from the last bits of its layout, which depend on the processor:
    they are numbered."""
    numbers = {}
    return re.sub(r"(?<=id=\")\w+(?=\")|(?<=#)\w+(?=[\")])", lambda name: f"n{numbers.setdefault(name[0], len(numbers))}",
                  path.read_text(encoding="utf-8"))


def check_drawn_again(docs, folder):
    """The figures are what --draw makes of the results beside them."""
    shutil.copytree(docs / "results", folder / "results", ignore=shutil.ignore_patterns("*.md", "*.svg"))
    done = start("--docs", folder, "--draw")
    check("--draw runs", done.returncode in (0, 1) and not done.stderr, done.stderr)
    for path in sorted((docs / "results").glob("*/*.svg")):
        name, again = path.relative_to(docs / "results"), folder / path.relative_to(docs)
        writers = [re.search("Matplotlib v[0-9.]+", text.read_text(encoding="utf-8"))[0] for text in (path, again)
                   if text.exists()]
        check(f"{name} is drawn again", len(writers) == 2)
        check(f"{name} is below 300 kB", path.stat().st_size < 300_000, path.stat().st_size)
        if len(set(writers)) == 1:
            check(f"{name} has the same lines", drawn(again) == drawn(path))
        else:
            print(f"skip: {name} was drawn by {writers[0]}, here is {writers[-1]}")


def test_methods_have_the_colours_of_pictures():
    text = (ROOT / "report" / "chart.c").read_text(encoding="utf-8")
    palette = dict(re.findall(r'X\((\d+), "(#\w+)"', text))
    methods = {name: (palette[colour], dashed == "true")
               for name, colour, dashed in re.findall(r'\{"(\w+)", (\d+), (true|false)\}', text)}
    check("the palette is found", len(palette) > 20 and len(methods) > 20, (len(palette), len(methods)))
    for method, colour in lab.COLOURS.items():
        check(f"{method}'s line in figures and pictures", (colour, method in lab.DASHED) == methods.get(method))


def test_only_chooses(build, folder):
    names = list(run.experiments(""))
    check("there are experiments of every paper", {name.split("/")[0] for name in names} == set(run.PAPERS), len(names))
    folders = {path.name for path in EXPERIMENTS.iterdir() if path.is_dir()} - {"common", "__pycache__"}
    check("every folder is a paper that is known", folders == set(run.PAPERS), folders)
    for only in ("jiang_2006", "chin"):
        chosen = run.experiments(only)
        check(f"--only {only}", chosen and list(chosen) == [name for name in names if name.startswith(only)])
    check("--only jiang_2006/table1", list(run.experiments("jiang_2006/table1")) == ["jiang_2006/table1"])
    done = start("--build", build, "--docs", folder, "--quick", "--only", "jiang_2006/table2")
    good = (done.returncode == 0 and list(results(folder)) == ["jiang_2006/table2"]
            and done.stdout.endswith("1 passed, 0 failed\n"))
    check("one experiment runs", good, "" if good else done.stdout + done.stderr)
    done = start("--only", "000")
    check("an unknown name is refused with those there are", done.returncode == 1 and done.stderr ==
          "run.py: no experiment starts with '000'; there are jiang_2006, liu_2005, li_2011, chin_2006, dhanjal_2009, "
          "mika_1999, tipping_2001, and PAPER/table1 and the like\n", done.stderr.strip())


def test_every_script_is_listed():
    readme = (EXPERIMENTS / "README.md").read_text(encoding="utf-8")
    for name in run.experiments(""):
        check(f"README lists {name}", f"| `{name}.py` |" in readme)


def test_a_number_outside_its_limits_is_told(build, folder):
    script = folder / "nobody_1999" / "table1.py"
    script.parent.mkdir()
    script.write_text("from lab import Lab, cell\n"
                      "lab = Lab(__file__, 'A test', 'no', 'It is a test.')\n"
                      "table = lab.table('Numbers', 'what', 'value')\n"
                      "table.row('a', cell(0.5, 0.4, near=0.05))\ntable.row('b', cell(0.5, 0.4, near=0.11))\n"
                      "table.row('c', cell(0.5, 0.4))\nlab.finish()\n", encoding="ascii")
    search = {**os.environ, "PYTHONPATH": str(EXPERIMENTS / "common")}
    done = call(sys.executable, script, "--build", build, "--results", folder / "results", env=search)
    result = results(folder)["nobody_1999/table1"]
    check("status", done.returncode == 3, done.returncode)
    check("one of two judged numbers", (result["passed"], result["failed"]) == (1, 1))
    check("the message", "FAIL a, value: 0.500 not in" in done.stdout)
    check("the summary marks it", run.within(result) == "**1 of 2**", run.within(result))
    shutil.rmtree(build / "experiments" / "nobody_1999")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    for test in (test_every_script_runs, test_only_chooses, test_a_number_outside_its_limits_is_told):
        with scratch() as folder:
            test(build, folder)
    with scratch() as folder:
        test_the_pages_are_up_to_date(folder)
    with scratch() as folder:
        check_drawn_again(ROOT / "docs", folder)
    test_methods_have_the_colours_of_pictures()
    test_every_script_is_listed()
    return close()


if __name__ == "__main__":
    sys.exit(main())
