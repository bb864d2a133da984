#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every table and figure of the papers: run.py [--data DATA] [--build BUILD] [--only PREFIX] [--page] [--draw]
    [--quick]

Runs the experiments one after the other: all, those of a paper (--only jiang_2006), or one
(--only jiang_2006/table1). Then writes the pages from what they left in docs/results: the summary
docs/RESULTS.md and docs/results/PAPER/README.md. Closes with "N passed, N failed". Experiments whose data
are missing are left out, and the pages keep what they had of them. --page runs nothing and writes the
pages again; --draw draws the figures again, too, from the numbers that the last runs kept.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "common"))
from lab import LEFT_LIMITS, ROOT, VERDICTS, holds  # noqa: E402

# Folder: authors and year, title, where it appeared, and what of its tables and figures has no experiment.
PAPERS = {
    "jiang_2006": ("Jiang, Snapp, Motai, Zhu 2006", "Accelerated kernel feature analysis", "CVPR",
                   "Figure 6 (photographs)"),
    "liu_2005": ("Liu, Mio 2005", "Kernel methods for nonlinear discriminative data analysis", "EMMCVPR",
                 "Figure 1 (photographs)"),
    "li_2011": ("Li, Yu, Sun 2011", "Refined kernel principal component analysis based feature extraction",
                "Chinese Journal of Electronics", None),
    "chin_2006": ("Chin, Suter 2006", "Incremental kernel PCA for efficient non-linear feature extraction", "BMVC",
                  "Figure 1 (a scheme of matrices) and Figure 5 (photographs)"),
    "dhanjal_2009": ("Dhanjal, Gunn, Shawe-Taylor 2009",
                     "Efficient sparse kernel feature extraction based on partial least squares", "IEEE TPAMI",
                     "Figures 1 and 5 (illustrations), Table 2 (the list of data sets)"),
    "mika_1999": ("Mika, Rätsch, Weston, Schölkopf, Müller 1999", "Fisher discriminant analysis with kernels",
                  "IEEE Workshop on Neural Networks for Signal Processing IX", "its figures and its table (sets of two classes)"),
    "tipping_2001": ("Tipping 2001", "Sparse kernel principal component analysis", "NIPS 13",
                     "its figures (three clusters in the plane)"),
}
SUMMARY = """# Results: the tables and figures of seven papers

Written by `make experiments DATA=...`; [experiments/README.md](../experiments/README.md) lists the scripts and where
the data come from. Each paper has a page with all numbers, ours beside the paper's.

*Reproduced* says whether what the paper prints or says of a table or figure is seen here: `yes`, `in part` or `no`;
the last column says what is not, and why. *Within limits* counts the numbers that are judged, by limits that stand in
the scripts: the paper's own numbers where its setting is known, otherwise those of an independent implementation. So a
number can be within its limits where the paper's is not reproduced.
"""
PAGE = """
In the tables our number comes first and the paper's follows in brackets. A number in bold left the limits set for it
in the script; one without limits is shown and not judged. [Summary of all papers](../../RESULTS.md).
"""


def render_number(value, spread, digits):
    return f"{value:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")


def render_cell(entry, reasons):
    if not isinstance(entry, dict):
        return entry
    text = render_number(entry["ours"], entry.get("spread"), entry["digits"])
    if holds(entry) is False:
        text = f"**{text}**"
    if entry["paper"] is not None:
        digits = entry.get("paper_digits", entry["digits"])
        text += f" ({render_number(entry['paper'], entry.get('paper_spread'), digits)})"
    if entry["why"]:
        if entry["why"] not in reasons:
            reasons.append(entry["why"])
        text += f" [{reasons.index(entry['why']) + 1}]"
    return text


def render_table(block):
    reasons = []
    head = block["head"]
    lines = [f"*{block['caption']}*", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(render_cell(entry, reasons) for entry in row) + " |" for row in block["rows"]]
    lines += [""] + [f"[{i}] {reason}  " for i, reason in enumerate(reasons, 1)]
    return lines + [""] if reasons else lines


def render(result):
    """The section of one experiment."""
    lines = [f"## {result['title']}", "", f"`experiments/{result['name']}.py`", "",
             f"Reproduced: **{result['reproduced']}**. {result['why']}", ""]
    for block in result["blocks"]:
        if block["kind"] == "table":
            lines += render_table(block)
        elif block["kind"] == "figure":
            lines += [f"![{block['caption']}]({block['file']})", "", f"*{block['caption']}*", ""]
        elif block["kind"] == "check":
            lines += [f"* {'holds' if block['good'] else '**does not hold**'}: {block['text']}", ""]
        else:
            lines += [block["text"], ""]
    return lines


def within(result):
    """How many of the judged numbers are within their limits, bold when some are not."""
    judged = result["passed"] + result["failed"]
    text = f"{result['passed']} of {judged}" if judged else "none judged"
    return f"**{text}**" if result["failed"] else text


def anchor(title):
    """What GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def summary_row(paper, result):
    short, _, about = result["title"].partition(": ")
    link = f"[{short}](results/{paper}/README.md#{anchor(result['title'])})"
    return (f"| [{paper}](results/{paper}/README.md) | {link}: {about} | {result['reproduced']} | {within(result)} "
            f"| {result['why']} |")


def write_text(path, lines):
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def write_pages(docs):
    """docs/RESULTS.md and a page for each paper, of all results there are; (passed, failed) of them."""
    papers, rows, everything = [], [], []
    for paper, (authors, title, where, missing) in PAPERS.items():
        folder = docs / "results" / paper
        found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
        if not found:
            continue
        everything += found
        rows += [summary_row(paper, result) for result in found]
        papers.append(f"* [{paper}](results/{paper}/README.md): {authors}, *{title}*, {where}."
                      + (f" Without an experiment: {missing}." if missing else ""))
        page = [f"# {authors}: {title}", "", f"{where}. `make experiments DATA=... ONLY={paper}` writes this page.", PAGE]
        for result in found:
            page += render(result)
        write_text(folder / "README.md", page)
    verdicts = [result["reproduced"] for result in everything]
    passed, failed = (sum(result[key] for result in everything) for key in ("passed", "failed"))
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS)
    write_text(docs / "RESULTS.md", [
        SUMMARY, *papers, "", f"{len(everything)} tables and figures; reproduced: {counted}. {passed + failed} numbers are "
        f"judged; within limits: {passed}.", "",
        "| paper | experiment | reproduced | within limits | what holds, what does not, and why |", "|---|---|---|---|---|",
        *rows])
    return passed, failed


def experiments(only):
    """{PAPER/NAME: script} of those whose name starts so; a whole name stands for itself alone."""
    scripts = {f"{paper}/{path.stem}": path for paper in PAPERS for path in sorted((HERE / paper).glob("*.py"))
               if re.fullmatch(r"(table|figure)[0-9]+", path.stem)}
    return {only: scripts[only]} if only in scripts else {
        name: path for name, path in scripts.items() if name.startswith(only)}


def run(name, script, options):
    """The status of one experiment."""
    start = time.monotonic()
    command = [sys.executable, script, "--build", options.build, "--results", options.docs / "results"]
    command += ["--data", options.data] if options.data else []
    command += ["--quick"] if options.quick else []
    command += ["--draw"] if options.draw else []
    status = subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": str(HERE / "common")}).returncode
    print(f"{name}: {time.monotonic() - start:.0f} s\n", flush=True)
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path, default=ROOT / "docs", help="folder of RESULTS.md and results/")
    parser.add_argument("--only", default="", help="run the experiments whose PAPER/NAME starts so")
    parser.add_argument("--page", action="store_true", help="write the pages only, from the results there are")
    parser.add_argument("--draw", action="store_true", help="draw the figures and write the pages, from the results there are")
    parser.add_argument("--quick", action="store_true", help="a smoke run: small, limits not judged")
    options = parser.parse_args()
    scripts = experiments(options.only)
    if not scripts:
        sys.exit(f"run.py: no experiment starts with '{options.only}'; there are {', '.join(PAPERS)}, and "
                 "PAPER/table1 and the like")
    if options.draw:
        scripts = {name: script for name, script in scripts.items() if (options.docs / "results" / f"{name}.json").exists()
                   and '"drawn"' in (options.docs / "results" / f"{name}.json").read_text(encoding="utf-8")}
    broken = []
    for name, script in {} if options.page else scripts.items():
        if run(name, script, options) not in (0, LEFT_LIMITS):
            broken.append(name)
    passed, failed = write_pages(options.docs)
    for name in broken:
        print(f"FAIL {name} did not come to an end")
    if options.quick:  # nothing is judged: count scripts
        passed, failed = len(scripts) - len(broken), 0
    print(f"{passed} passed, {failed + len(broken)} failed")
    return 1 if failed or broken else 0


if __name__ == "__main__":
    sys.exit(main())
