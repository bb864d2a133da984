#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reports in a real browser: test_report.py MERCER FOLDER [--update] [WORD...]

FOLDER (of the build) keeps the npm packages that package-lock.json names. Debian's Chromium opens the pages; where one
of Node, npm, Chromium or the packages cannot be had, the browser's part is skipped, and says so. --update writes the
reference pictures again. WORDs: only the browser's tests whose names have one of them.
"""
import base64
import hashlib
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness import check, close, output, program, skip  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MERCER = program()
KEEP = pathlib.Path(sys.argv[2]).resolve()
UPDATE = "--update" in sys.argv
ONLY = [word for word in sys.argv[3:] if word != "--update"]
NASTY = ["</script><img src=x onerror=\"window.hacked=1\">", "<b>a</b> & 'b' \"c\"", "-->]]><iframe src=//x>", "Ümlaut|pipe"]
BLOCKS = (24, 16)  # of the pictures that are compared
FAR = 24  # of 255: how far the mean of a block may be from its reference; letters of another font stay below it


def hold(name, good, detail=""):
    """check(), with the detail only where it fails."""
    check(name, good, "" if good else detail)


def mercer(*words):
    return output(MERCER, *words)


def quoted(cell):
    return '"' + str(cell).replace('"', '""') + '"'


def write_table(path, x, ids, classes, names=None, label="kind"):
    names = names or [f"x{j + 1}" for j in range(x.shape[1])]
    with open(path, "w", encoding="utf-8") as out:
        out.write(",".join(map(quoted, ["id", *names, label])) + "\n")
        for i, row in enumerate(x):
            out.write(",".join([quoted(ids[i]), *map(repr, row.tolist()), quoted(classes[i])]) + "\n")


def three_clouds(rng, n):
    """Rows of three classes in six columns."""
    code = np.arange(n) % 3
    x = rng.normal(size=(n, 6)) + 2.5 * np.eye(3, 6)[code] + np.outer(code == 2, [0, 1, 0, 0, 1, 0])
    return x, code


def make_pages():
    """All pages, and what is true of them."""
    rng = np.random.default_rng(20)
    x, code = three_clouds(rng, 240)
    ids = [f"sample {i:03d}" for i in range(len(x))]
    classes = np.array(["oak", "ash", "elm"])[code]
    write_table("main.csv", x, ids, classes)
    mercer("fit", "main.csv", "-m", "kpca", "-k", "rbf:sigma=4", "-n", "5", "--id", "id", "--label", "kind", "--head", "ls", "--novelty", "0.1",
           "-o", "main.model", "-q")
    mercer("report", "main.model", "main.csv", "-o", "main.html")
    mercer("report", "main.model", "main.csv", "-o", "again.html", "--threads", "1")
    hold("the same input gives the same bytes", same_bytes("main.html", "again.html"))
    table = mercer("transform", "main.model", "main.csv").splitlines()
    features = [[float(cell) for cell in line.rsplit(",", 5)[1:3]] for line in table[1:]]
    plan = {"main": {"name": "main", "file": os.path.abspath("main.html"),
                     "truth": {"features": features, "ids": ids, "classes": classes.tolist()}}}

    names = [*NASTY, "plain", "x6"]
    write_table("<b>nasty.csv", x, [f"{NASTY[0]}{i}" for i in range(len(x))], np.array(NASTY[:3])[code], names, NASTY[1] + "label")
    mercer("fit", "<b>nasty.csv", "-m", "akfa", "-k", "rbf:sigma=4", "-n", "4", "--id", "id", "--label", NASTY[1] + "label", "--head", "knn:k=3",
           "-o", "nasty.model", "-q")
    mercer("report", "nasty.model", "<b>nasty.csv", "-o", "nasty.html")
    plan["nasty"] = {"name": "nasty", "file": os.path.abspath("nasty.html"), "names": NASTY, "truth": True}

    mercer("report", "main.model", "-o", "model.html")
    np.save("plain.npy", x[:, :1])
    mercer("fit", "plain.npy", "-m", "pca", "-n", "1", "-o", "plain.model", "-q")
    mercer("report", "plain.model", "plain.npy", "-o", "plain.html")
    plan["pages"] = [plan["main"], plan["nasty"], {"name": "model alone", "file": os.path.abspath("model.html")},
                     {"name": "one feature, no class", "file": os.path.abspath("plain.html"), "truth": True}]

    rows, code = three_clouds(rng, 500)
    write_table("wide.csv", 3 * rows + 1, [f"r{i}" for i in range(500)], np.array(["a", "b", "c"])[code])
    mercer("fit", "wide.csv", "-m", "kpca", "-k", "rbf:sigma=2", "-n", "6", "--scale", "standard", "--label", "kind", "--id", "id", "-o", "wide.model", "-q")
    mercer("report", "wide.model", "wide.csv", "--explore", "-o", "wide.html")
    plan["explore"] = {"name": "explorer", "file": os.path.abspath("wide.html"), "truth": True}
    plan["pages"].append(plan["explore"])

    for name, n in (("large", 100000), ("sample", 1000000)):
        x, code = three_clouds(rng, n)
        np.save(f"{name}.npy", x)
        np.savetxt(f"{name}.labels", code, fmt="c%d")
        if name == "large":
            mercer("fit", "large.npy", "-m", "pca", "-n", "4", "--labels", "large.labels", "--head", "centre", "-o", "large.model", "-q")
        told = json.loads(mercer("report", "large.model", f"{name}.npy", "--labels", f"{name}.labels", "-o", f"{name}.html", "--json"))
        size = os.path.getsize(f"{name}.html")
        print(f"  {n} rows: {size / 1e6:.2f} MB, {told['seconds']:.2f} s with reading and features")
        hold(f"the page of {n} rows is small", size <= (1.5e6 if n == 100000 else 2.5e6), size)
        hold(f"and says how many it shows of {n}", told["points"] == min(n, 200000) and told["bytes"] == size, told)
        plan[name] = {"name": name, "file": os.path.abspath(f"{name}.html"), "rows": n}
    return plan


def draw_pictures():
    """A picture of each kind that looks different, as SVG: one of them a density."""
    main = ["main.model", "main.csv"]
    calls = {"spectrum": main[:1], **{kind: [*main, "--kind", kind] for kind in ("features", "errors", "preimages", "confusion", "roc")},
             "nasty": ["nasty.model", "<b>nasty.csv"], "density": ["large.model", "large.npy", "--labels", "large.labels"]}
    for name, words in calls.items():
        mercer("plot", *words, "-o", f"{name}.svg", "-q")
    mercer("evaluate", "main.csv", "-m", "kpls", "-n", "2", "--id", "id", "--label", "kind", "--importance", "--plot", "importance.svg", "-q")
    return [os.path.abspath(f"{name}.svg") for name in (*calls, "importance")]


def same_bytes(a, b):
    return pathlib.Path(a).read_bytes() == pathlib.Path(b).read_bytes()


class Structure(html.parser.HTMLParser):
    """Elements that are open, ids, and what a strict policy refuses."""
    VOID = {"meta", "br", "input", "img", "hr", "link"}

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.faults, self.text, self.data = [], set(), [], {}, False

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        self.data = dict(attrs).get("type") == "application/json"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        for name, value in attrs:
            if name.startswith("on") or name == "style":
                self.faults.append(f"{tag} has {name}")
            if name in ("src", "href", "xlink:href") and not value.startswith(("#", "data:image/png;base64,")):
                self.faults.append(f"{tag} leads to {value}")
            if name == "id":
                if value in self.ids:
                    self.faults.append(f"two elements are called {value}")
                self.ids.add(value)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style") and not self.data:
            self.text.setdefault(self.open[-1], []).append(data)


def check_structure(plan):
    """What can be seen of a page without a browser."""
    for item in [*plan["pages"], plan["large"]]:
        page = Structure()
        text = pathlib.Path(item["file"]).read_text(encoding="utf-8")
        page.feed(text)
        hold(f"{item['name']}: elements are closed, ids single, nothing inline, nothing from elsewhere",
              not page.faults and not page.open, page.faults[:5])
        policy = dict(part.strip().split(" ", 1) for part in re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].split(";"))
        for kind in ("script", "style"):
            named = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'" for part in page.text[kind])
            hold(f"{item['name']}: the policy names each {kind}", policy.pop(f"{kind}-src") == named, policy)
        if item["name"] == "explorer":
            hold("explorer: it may start a worker", policy.pop("worker-src") == "blob:", policy)
        hold(f"{item['name']}: the policy allows nothing else", policy == {"default-src": "'none'", "img-src": "data:", "base-uri": "'none'",
                                                                           "form-action": "'none'"}, policy)


def install():
    """The folder of the npm packages, or None after a line that says why there is none."""
    for tool, package in (("node", "nodejs"), ("npm", "npm"), ("chromium", "chromium")):
        if not shutil.which(tool):
            return skip("in a browser", f"there is no {tool}; apt-get install {package}")
    KEEP.mkdir(parents=True, exist_ok=True)
    lock = HERE / "package-lock.json"
    modules, kept = KEEP / "node_modules", KEEP / "package-lock.json"
    if not (modules / "axe-core").is_dir() or not kept.is_file() or not same_bytes(lock, kept):
        shutil.copy(HERE / "package.json", KEEP)
        shutil.copy(lock, KEEP)
        try:
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=20000"], cwd=KEEP,
                                  capture_output=True, text=True, check=False, timeout=240, stdin=subprocess.DEVNULL)
            why = (done.stderr.strip().splitlines() or ["no reason given"])[-1] if done.returncode else ""
        except subprocess.TimeoutExpired:
            why = "no answer in 240 s"
        if why:
            kept.unlink(missing_ok=True)
            return skip("in a browser", f"npm ci: {why}")
    return str(modules)


def blocks(path):
    """Means of the blocks of a picture."""
    from PIL import Image
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB").resize(BLOCKS, Image.Resampling.BOX), dtype=int)


def compare_pictures(folder):
    for path in sorted(pathlib.Path(folder).glob("*.png")):
        kept = HERE / "pictures" / (path.stem + ".json")
        seen = blocks(path)
        if UPDATE:
            kept.parent.mkdir(exist_ok=True)
            kept.write_text("[" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in seen.reshape(BLOCKS[1], -1).tolist()) + "]\n")
        wanted = np.array(json.loads(kept.read_text())).reshape(seen.shape)
        far = np.abs(seen - wanted).max()
        hold(f"picture {path.stem} looks as it did", far <= FAR, f"a block is {far} of 255 off")


def compare_programs(pictures, folder):
    """Pictures look the same in the browser and in librsvg."""
    if not shutil.which("rsvg-convert"):
        skip("pictures in two programs", "no rsvg-convert (librsvg2-bin)")
        return
    for path in map(pathlib.Path, pictures):
        other = path.with_suffix(".rsvg.png")
        subprocess.run(["rsvg-convert", path, "-o", other], check=True)
        seen = folder / "svg" / (path.stem + ".png")
        far = np.abs(blocks(seen) - blocks(other)).max() if seen.is_file() else 255
        hold(f"picture {path.stem} looks the same in librsvg and in the browser", far <= FAR, f"a block is {far} of 255 off")


def compare_fits(path):
    """What the explorer found, against the command that it ends in."""
    worst = {}
    for item in json.loads(path.read_text()):
        words = item["command"].split()[1:]
        told = json.loads(mercer(*words, "--json"))
        table = mercer("transform", "my.model", "wide.csv").splitlines()[1:]
        wanted = np.array([[float(cell) for cell in line.split(",")[1:]] for line in table])
        values, found = np.array(told["spectrum"]), np.array(item["values"])
        name = item["command"].split(" -k ")[1].split(" ")[0].split(":")[0]
        if len(values) != len(found):
            hold(f"as many features as {item['command']}", False, f"{len(found)}, not {len(values)}")
            continue
        off = np.abs(values - found).max() / values[0]
        off = max(off, abs(item["trace"] / told["rows"] - told["total_variance"]) / told["total_variance"])
        gaps = np.abs(np.diff(np.concatenate([[np.inf], values, [0]])))
        for j, feature in enumerate(np.array(item["features"])):
            if min(gaps[j], gaps[j + 1] if j + 1 < len(values) else np.inf) < 1e-2 * values[0]:
                continue  # two features of one variance may be any two of their plane
            sign = np.sign(feature @ wanted[:, j])
            off = max(off, np.abs(sign * feature - wanted[:, j]).max() / np.abs(wanted).max())
        worst.setdefault(name, []).append(off)
    for name, off in worst.items():
        most = 1e-6 if name == "exponential" else 1e-8
        check(f"explorer and fit agree: {name}", max(off) <= most, f"{max(off):.1e} at most in {len(off)} settings")
    hold("seven kernels were compared", len(worst) == 7, list(worst))


def browse(plan):
    modules = install()
    if not modules:
        return
    folder = pathlib.Path("pictures")
    (folder / "svg").mkdir(parents=True)
    plan["svg"] = draw_pictures()
    plan |= {"modules": modules, "browser": shutil.which("chromium"), "folder": str(folder.resolve()), "only": ONLY}
    pathlib.Path("plan.json").write_text(json.dumps(plan))
    # Chromium leaves its caches where HOME is.
    env = dict(os.environ, HOME=os.getcwd(), XDG_CONFIG_HOME=os.getcwd(), XDG_CACHE_HOME=os.getcwd())
    try:
        done = subprocess.run(["node", str(HERE / "browser.js"), "plan.json"], capture_output=True, text=True, check=False, timeout=1200, env=env,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        hold("the browser ends", False, (late.stdout or b"")[-500:])
        return
    told = 0
    for line in done.stdout.splitlines():
        mark, _, rest = line.partition(" ")
        if mark in ("ok", "FAIL"):
            name, _, why = rest.partition(": ")
            hold(name, mark == "ok", why)
            told += 1
        else:
            print(line)
    hold("the browser ran", told > 0 and done.returncode == 0, done.stderr[-500:])
    if (folder / "explorer.json").is_file():
        compare_fits(folder / "explorer.json")
    if not ONLY:
        compare_pictures(folder)
        compare_programs(plan["svg"], folder)


def main():
    with tempfile.TemporaryDirectory(prefix="mercer-report-") as folder:
        os.chdir(folder)
        plan = make_pages()
        check_structure(plan)
        browse(plan)
        os.chdir("/")
    return close()


if __name__ == "__main__":
    sys.exit(main())
