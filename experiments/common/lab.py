# SPDX-License-Identifier: BSD-3-Clause
"""What the experiments share: running the tool, cells that are judged, pages and figures.

An experiment is a script PAPER/NAME.py that makes a Lab, adds tables, a figure and notes to it in the
order of the page, and ends by `lab.finish()`. It leaves PAPER/NAME.json (and the figure as SVG) in
docs/results, from which run.py writes the pages. Numbers that have to hold are cells with limits:
outside of them the status is 3. A figure is drawn by a function of the numbers in the JSON file alone, so
that --draw draws it again without a run. run.py starts the scripts, with this folder on their search path.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VERDICTS = ("yes", "in part", "no")  # whether what the paper prints or says is reproduced
LEFT_LIMITS = 3  # status of an experiment that came to its end with a number outside its limits
# One colour per method in every figure: that of report/chart.c, which also says whose lines are dashed.
COLOURS = {"kpca": "#0072b2", "akfa": "#d55e00", "ackfa": "#009e73", "skfa": "#cc79a7", "sma": "#e69f00", "smc": "#56b4e9",
           "kpls": "#882255", "koca": "#332288", "ikpca": "#44aa99", "kboost": "#117733", "skpls": "#aa4499",
           "blf": "#999933", "pca": "#0072b2", "pls": "#882255", "rkpca": "#009e73", "tipping": "#332288"}
DASHED = {"pca", "pls", "rkpca", "tipping"}
GREY = "#6b6b6b"
OTHERS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]  # of what is no method


def style(method, **more):
    """How matplotlib draws the line of a method."""
    return {"color": COLOURS[method], "linestyle": "--" if method in DASHED else "-", **more}


def paper_style(colour, **more):
    """How the paper's own values are drawn: hollow marks of the colour that ours have."""
    return {"linestyle": "none", "marker": "o", "markersize": 6, "markerfacecolor": "none", "color": colour, **more}


def kept(value):
    """Numbers of a figure as they are kept: plain lists, six digits."""
    if isinstance(value, dict):
        return {str(key): kept(entry) for key, entry in value.items()}
    if isinstance(value, (str, bool)) or value is None:
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return [kept(entry) for entry in value]
    short = float(f"{float(value):.6g}")
    return int(short) if short.is_integer() and abs(short) < 1e6 else short


def cell(ours, paper=None, near=None, low=None, high=None, digits=3, why=None, paper_digits=None, spread=None,
         paper_spread=None):
    """Our number beside the paper's.

    near: how far from the paper's it may be; low, high: what it must not leave. Without any of them it
    is shown and not judged. why: the reason of the difference, shown below the table. paper_digits: where
    the paper prints more or fewer than we do. spread, paper_spread: standard deviations, shown after +-.
    """
    if near is not None:
        low = paper - near if low is None else low
        high = paper + near if high is None else high
    values = {"ours": ours, "paper": paper, "low": low, "high": high, "spread": spread, "paper_spread": paper_spread}
    return {**{key: None if value is None else float(value) for key, value in values.items()}, "digits": digits,
            "paper_digits": digits if paper_digits is None else paper_digits, "why": why}


def holds(entry):
    """Whether a cell is within its limits; None when it has none."""
    if not isinstance(entry, dict) or (entry["low"] is None and entry["high"] is None):
        return None
    slack = 1e-9  # limits are decimal numbers
    return bool((entry["low"] is None or entry["ours"] >= entry["low"] - slack)
                and (entry["high"] is None or entry["ours"] <= entry["high"] + slack))


class Table:
    """Rows of texts, numbers and cells under a caption."""

    def __init__(self, lab, block):
        self.lab, self.block = lab, block

    def row(self, *entries):
        entries = [entry if isinstance(entry, dict) else str(entry) for entry in entries]
        self.block["rows"].append(entries)
        shown = [f"{e['ours']:.{e['digits']}f}" if isinstance(e, dict) else e for e in entries]
        print("  " + "  ".join(shown), flush=True)
        for head, entry in zip(self.block["head"], entries):
            good = holds(entry)
            if good is not None:
                self.lab.count(good, f"{entries[0]}, {head}: {entry['ours']:.{entry['digits']}f} not in "
                                     f"[{entry['low']}, {entry['high']}]")


class Lab:
    """One experiment: PAPER/NAME.py is given as file; the title opens its section. reproduced is one of
    VERDICTS; why says in a sentence or three what holds, what does not, and the reason: both are for the
    summary of all papers. draw: makes the figure, of this Lab and the numbers given to `figure`."""

    def __init__(self, file, title, reproduced, why, draw=None):
        if reproduced not in VERDICTS:
            sys.exit(f"{file}: '{reproduced}' is not one of {', '.join(VERDICTS)}")
        path = pathlib.Path(file).resolve()
        self.paper, self.stem = path.parent.name, path.stem
        self.name = f"{self.paper}/{self.stem}"
        self.reproduced, self.why = reproduced, why
        parser = argparse.ArgumentParser(description=title)
        parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="folder of the tool")
        parser.add_argument("--data", type=pathlib.Path, help="folder of the data sets")
        parser.add_argument("--results", type=pathlib.Path, default=ROOT / "docs" / "results",
                            help="where the folders of the papers go")
        parser.add_argument("--quick", action="store_true", help="a smoke run: small, limits not judged")
        parser.add_argument("--draw", action="store_true", help="draw the figure again, from the numbers of the last run")
        options = parser.parse_args()
        self.build, self.data = options.build.resolve(), options.data and options.data.resolve()
        self.results, self.quick = options.results.resolve() / self.paper, options.quick
        self.folder = self.build / "experiments" / (self.name + "-quick" * self.quick)  # not in each other's way
        self.folder.mkdir(parents=True, exist_ok=True)
        self.results.mkdir(parents=True, exist_ok=True)
        self.blocks, self.passed, self.failed = [], 0, 0
        self.title, self.draw, self.drawn = title, draw, None
        if options.draw:
            self.draw_again()
        print(f"{self.name}: {title}", flush=True)

    # ---- data ----

    def need(self, *names):
        """Leave the experiment out, with a line, when one of these data files is not there."""
        for name in names:
            if not self.data or not (self.data / name).exists():
                print(f"left out: {name} is not in {self.data or 'a folder named by --data'}")
                sys.exit(0)
        return [self.data / name for name in names]

    def csv(self, name):
        """(columns, last column) of a CSV with a header."""
        table = np.loadtxt(self.need(name)[0], delimiter=",", skiprows=1, ndmin=2)
        return table[:, :-1], table[:, -1]

    def write(self, name, columns, label=None, target=None):
        """Rows as a CSV of full precision in the scratch folder, with a column label or target."""
        path = self.folder / name
        last = label if label is not None else target
        head = [f"f{j}" for j in range(columns.shape[1])]
        if last is not None:
            head.append("label" if label is not None else "target")
        with open(path, "w", encoding="ascii") as out:
            print(",".join(head), file=out)
            for i, row in enumerate(columns):
                values = [repr(float(value)) for value in row]
                if last is not None:
                    values.append(str(int(last[i])) if label is not None else repr(float(last[i])))
                print(",".join(values), file=out)
        return path

    # ---- running ----

    def mercer(self, *arguments):
        """Run the tool; what it printed, parsed where it is JSON (`--json` among the arguments)."""
        command = [str(self.build / "mercer"), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr.strip()}")
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    def fit(self, model, data, *arguments):
        """The report of a fit that leaves this model in the scratch folder, and the model's path."""
        path = self.folder / model
        return self.mercer("fit", data, "-o", path, "--quiet", "--json", *arguments), path

    def features(self, model, data, *arguments):
        """Features of rows, as an array."""
        path = self.folder / "features.npy"
        self.mercer("transform", model, data, "-o", path, "--quiet", *arguments)
        return np.load(path)

    # ---- the page ----

    def count(self, good, what):
        if self.quick:
            return
        self.passed += good
        self.failed += not good
        if not good:
            print(f"FAIL {what}", flush=True)

    def check(self, what, good):
        """Something that has to hold and is not a cell."""
        self.blocks.append({"kind": "check", "text": what, "good": bool(good)})
        self.count(bool(good), what)

    def note(self, text):
        """A paragraph."""
        self.blocks.append({"kind": "note", "text": " ".join(text.split())})

    def table(self, caption, *head):
        block = {"kind": "table", "caption": caption, "head": list(head), "rows": []}
        self.blocks.append(block)
        return Table(self, block)

    def plot(self, columns=1, rows=1, width=4.2, height=3.2):
        """(figure, axes) of matplotlib, styled alike everywhere."""
        import matplotlib
        matplotlib.use("svg")
        matplotlib.rcParams.update({
            "svg.hashsalt": "mercer", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9,
            "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
            "legend.frameon": False, "lines.linewidth": 1.4, "lines.markersize": 4,
            "axes.prop_cycle": matplotlib.cycler(color=OTHERS)})
        from matplotlib import pyplot
        return pyplot.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False,
                               layout="constrained")

    def figure(self, caption, **drawn):
        """Keep the numbers of the figure, and the figure as SVG: the same bytes for the same numbers."""
        self.drawn = kept(drawn)
        self.blocks.append({"kind": "figure", "file": self.save_figure().name, "caption": " ".join(caption.split())})

    def save_figure(self):
        path = self.results / f"{self.stem}.svg"
        self.draw(self, self.drawn).savefig(path, metadata={"Date": None})
        return path

    def draw_again(self):
        """Draw what the last run kept, and leave."""
        path = self.results / f"{self.stem}.json"
        if self.draw and path.exists():
            self.drawn = json.loads(path.read_text(encoding="utf-8"))["drawn"]
            print(self.save_figure())
        sys.exit(0)

    def finish(self):
        result = {"name": self.name, "title": self.title, "reproduced": self.reproduced, "why": self.why,
                  "passed": self.passed, "failed": self.failed, "blocks": self.blocks}
        text = json.dumps(result, indent=1, ensure_ascii=False)
        if self.drawn:  # thousands of numbers: on a line of their own
            text = f'{text[:-2]},\n "drawn": {json.dumps(self.drawn, separators=(",", ":"))}\n}}'
        (self.results / f"{self.stem}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{self.name}: {self.passed} passed, {self.failed} failed")
        sys.exit(LEFT_LIMITS if self.failed else 0)
