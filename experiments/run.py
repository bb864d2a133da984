#!/usr/bin/python3
"""Every table and figure of the papers: run.py [--data DATA] [--build BUILD] [--only PREFIX] [--page] [--quick]

Runs the experiments one after the other (those whose name starts with PREFIX), then writes
docs/RESULTS.md from what they left in docs/results, and closes with "N passed, N failed". Data that
are not there leave their experiments out, and the page keeps what it had of them. --page runs nothing
and writes the page again.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

from lab import HERE, LEFT_LIMITS, ROOT, holds

PAPERS = {
    "000": "Jiang, Snapp, Motai, Zhu: Accelerated kernel feature analysis",
    "001": "Liu, Mio: Kernel methods for nonlinear discriminative data analysis",
    "002": "Li, Yu, Sun: Refined kernel principal component analysis based feature extraction",
    "003": "Chin, Suter: Incremental kernel PCA for efficient non-linear feature extraction",
    "004": "Dhanjal, Gunn, Shawe-Taylor: Efficient sparse kernel feature extraction based on partial least squares",
}
INTRODUCTION = """# Results: the tables and figures of five papers

Written by `make experiments DATA=...`; `experiments/README.md` lists the scripts and where the data come from. In
the tables our number comes first and the paper's stands behind it in brackets. A number in bold left the limits set
for it in the script; one without limits is shown and not judged.
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
    lines = [f"### {result['title']}", "", f"`experiments/{result['name']}.py`", ""]
    for block in result["blocks"]:
        if block["kind"] == "table":
            lines += render_table(block)
        elif block["kind"] == "figure":
            lines += [f"![{block['caption']}](results/{block['file']})", "", f"*{block['caption']}*", ""]
        elif block["kind"] == "check":
            lines += [f"* {'holds' if block['good'] else '**does not hold**'}: {block['text']}", ""]
        else:
            lines += [block["text"], ""]
    return lines


def write_page(results, page):
    """docs/RESULTS.md of all results there are; (passed, failed) of them."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*.json"))]
    lines = [INTRODUCTION, "| experiment | | judged numbers | within limits |", "|---|---|---|---|"]
    for result in found:
        judged = result["passed"] + result["failed"]
        lines.append(f"| `{result['name']}` | {result['title']} | {judged} | {result['passed']} |")
    lines.append("")
    paper = None
    for result in found:
        if result["name"][:3] != paper:
            paper = result["name"][:3]
            lines += [f"## {paper}: {PAPERS[paper]}", ""]
        lines += render(result)
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return sum(result["passed"] for result in found), sum(result["failed"] for result in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path, default=ROOT / "docs", help="folder of RESULTS.md and results/")
    parser.add_argument("--only", default="", help="run the experiments whose name starts so")
    parser.add_argument("--page", action="store_true", help="write RESULTS.md alone, from the results there are")
    parser.add_argument("--quick", action="store_true", help="a smoke run: small, limits not judged")
    options = parser.parse_args()
    scripts = sorted(HERE.glob(f"{options.only}*.py"))
    scripts = [path for path in scripts if path.name[0].isdigit()]
    if not scripts:
        sys.exit(f"run.py: no experiment starts with '{options.only}'")
    broken = []
    for path in [] if options.page else scripts:
        start = time.monotonic()
        command = [sys.executable, path, "--build", options.build, "--results", options.docs / "results"]
        command += ["--data", options.data] if options.data else []
        command += ["--quick"] if options.quick else []
        status = subprocess.run(command, check=False).returncode
        print(f"{path.stem}: {time.monotonic() - start:.0f} s\n", flush=True)
        if status not in (0, LEFT_LIMITS):
            broken.append(path.stem)
    passed, failed = write_page(options.docs / "results", options.docs / "RESULTS.md")
    for name in broken:
        print(f"FAIL {name} did not come to an end")
    if options.quick:  # nothing is judged: count scripts
        passed, failed = len(scripts) - len(broken), 0
    print(f"{passed} passed, {failed + len(broken)} failed")
    return 1 if failed or broken else 0


if __name__ == "__main__":
    sys.exit(main())
