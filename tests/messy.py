# SPDX-License-Identifier: BSD-3-Clause
"""Random messy tables, as offices and laboratories write them: ids, dates, texts, gaps, constants, booleans, percent,
thousands, decimal commas, labels with gaps or of one class, one to ten rows, many columns, odd names, odd lines.

messy_table(seed) is the same table for the same seed. What it means is not kept: it is for what must hold of any table,
as that the commands of advise work (advice_that_fails).
"""
import json
import pathlib
import random
import shlex

NAMES = ["a", "b", "x1", "x2", "height", "Größe", "it's", 'say "x"', "net, gross", "total cost", "-n", "--json", "-",
         "2", "10", "3-5", "*", "a*", "?", "name:x", "position:2", "x=y", "a=b,c", "id", "none", "class", "label",
         "target", "species", "outcome", "Customer ID", "row number", "$HOME", "`x`", "a\\b", "café", "über alles", "#",
         "x;y", "a|b", "tab\there", "e", "inf", "nan", "NA", "TRUE", "%", "", " padded ", "very " * 15 + "long", "Σ",
         "a b", "A B", "a_b", "key", "!", "~", "{x}", "[0]", "1e5", "0"]
WORDS = ["red", "green", "blue", "Köln", "New York", "O'Neil", 'the "x"', "a, b", "x;y", "none", "n.a.", "-5 C", "ja"]


def number(draw, scale=1.0, digits=3):
    return f"{draw.gauss(0, scale):.{digits}f}"


def column(draw, kind, rows):
    """The cells of a column, as texts without quotes."""
    if kind == "number":
        scale, digits = 10.0 ** draw.randint(-3, 5), draw.randint(0, 6)
        return [number(draw, scale, digits) for _ in range(rows)]
    if kind == "whole":
        most = draw.choice([1, 2, 9, 100, 10 ** 6])
        return [str(draw.randint(0, most)) for _ in range(rows)]
    if kind == "exponent":
        return [f"{draw.gauss(0, 1):.3e}" for _ in range(rows)]
    if kind == "constant":
        return [draw.choice(["0", "1", "7.5", "x", "2024-01-01", "yes", ""])] * rows
    if kind == "id":
        start, step = draw.choice([0, 1, 1000]), draw.choice([1, 1, 7])
        return [str(start + step * i) for i in range(rows)]
    if kind == "code":
        return [f"{draw.choice('ABC')}-{draw.randint(0, 99999):05d}" for _ in range(rows)]
    if kind == "date":
        form = draw.choice(["{0}-{1:02d}-{2:02d}", "{2:02d}.{1:02d}.{0}", "{1:02d}/{2:02d}/{0}",
                            "{0}-{1:02d}-{2:02d}T12:30:00Z", "{0}-{1:02d}-{2:02d} 08:15", "{0}{1:02d}{2:02d}"])
        return [form.format(draw.randint(1990, 2030), draw.randint(1, 12), draw.randint(1, 28)) for _ in range(rows)]
    if kind == "text":
        words = draw.sample(WORDS, draw.randint(1, 5))
        return [draw.choice(words) for _ in range(rows)]
    if kind == "texts":
        return [f"{draw.choice(WORDS)} {draw.randint(0, rows)}" for _ in range(rows)]
    if kind == "class":
        words = draw.sample(WORDS, draw.randint(1, 4))
        return [draw.choice(words) for _ in range(rows)]
    if kind == "code class":
        most = draw.choice([0, 1, 2, 5, 30])
        return [str(draw.randint(0, most)) for _ in range(rows)]
    if kind == "boolean":
        words = draw.choice([("true", "false"), ("Yes", "No"), ("TRUE", "FALSE"), ("y", "n"), ("0", "1"), ("t", "f")])
        return [draw.choice(words) for _ in range(rows)]
    if kind == "percent":
        plain = draw.random() < 0.2
        return [f"{draw.randint(0, 100)}{'' if plain and draw.random() < 0.5 else draw.choice(['%', ' %'])}"
                for _ in range(rows)]
    if kind == "thousands":
        mark = draw.choice([",", ",", ".", "'", " ", "\u00a0", "\u202f"])
        return [f"{draw.randint(0, 10 ** draw.randint(2, 8)):,}".replace(",", mark) for _ in range(rows)]
    if kind == "comma":
        return [number(draw, 10, draw.choice([1, 2, 3])).replace(".", ",") for _ in range(rows)]
    if kind == "money":
        return [f"{draw.choice('€$')}{draw.randint(0, 999)}.{draw.randint(0, 99):02d}" for _ in range(rows)]
    if kind == "mixed":
        return [draw.choice([number(draw), draw.choice(WORDS), str(draw.randint(0, 9))]) for _ in range(rows)]
    if kind == "huge":
        return [draw.choice(["1e300", "-1e300", "1e-320", "0", "1e400"]) for _ in range(rows)]
    return [""] * rows  # empty


KINDS = ["number"] * 8 + ["whole"] * 3 + ["text"] * 2 + ["class"] * 2 + [
    "exponent", "constant", "id", "code", "date", "texts", "code class", "boolean", "percent", "thousands", "comma",
    "money", "mixed", "huge", "empty"]
GAPS = ["", "", "NA", "NaN", "null", "?", "-", "n/a", "#N/A"]


def with_gaps(draw, cells):
    share, mark = draw.choice([0.02, 0.1, 0.5]), draw.choice(GAPS)
    return [mark if draw.random() < share else cell for cell in cells]


def quoted(draw, cell, mark, always):
    if always or any(c in cell for c in (mark, '"', "\n")) or cell != cell.strip():
        return '"' + cell.replace('"', '""') + '"'
    return cell


def messy_table(seed):
    """The text of a file, as bytes."""
    draw = random.Random(seed)
    rows = draw.choice([1, 2, 3, 4, 5, 7, 10, 20, 40, 60, 90, 150, 230])
    count = draw.choice([1, 2, 3, 4, 5, 6, 8]) if draw.random() < 0.95 else draw.choice([40, 150])
    kinds = [draw.choice(KINDS) for _ in range(count)]
    if draw.random() < 0.5:  # a table of numbers with one odd column
        kinds = [draw.choice(["number", "whole", "number"]) for _ in range(count)]
        kinds[draw.randrange(count)] = draw.choice(KINDS)
    columns = [column(draw, kind, rows) for kind in kinds]
    names = draw.sample(NAMES, min(count, len(NAMES))) + [f"v{i}" for i in range(count - len(NAMES))]
    if draw.random() < 0.5:
        names = [f"v{i}" for i in range(count)]
    for j, kind in enumerate(kinds):
        if kind in ("class", "code class") and draw.random() < 0.8:
            names[j] = draw.choice(["label", "species", "Wine class", "target", "diagnosis"]) + ("" if j == 0 else str(j))
        elif kind == "id" and draw.random() < 0.6:
            names[j] = draw.choice(["id", "Customer ID", "", "nr"])
        if draw.random() < 0.15:
            columns[j] = with_gaps(draw, columns[j])
    if draw.random() < 0.3:
        names[-1] = draw.choice(["label", "class", "target", "outcome"])
    mark = draw.choice([",", ",", ",", ";", "\t"])
    always = draw.random() < 0.1
    lines = [mark.join(quoted(draw, row[j], mark, always) for j in range(count)) for row in zip(*columns)]
    if draw.random() < 0.9:
        lines.insert(0, mark.join(quoted(draw, name, mark, always) for name in names))
    if draw.random() < 0.05:
        lines = [line + mark for line in lines]
    if draw.random() < 0.05:
        lines.append("")
    if draw.random() < 0.05 and rows > 5:  # rows twice
        lines += lines[1:]
    end = draw.choice(["\n", "\n", "\r\n"])
    text = end.join(lines) + (end if draw.random() < 0.9 else "")
    encoding = draw.choice(["utf-8"] * 8 + ["utf-8-sig", "cp1252"])
    return text.encode(encoding, errors="replace")


def advice_that_fails(run, seed):
    """What is wrong with `mercer advise` on a table, as texts; run(*words) gives a finished process. Refused tables take
    one line and status 1; of others every command that is printed works."""
    pathlib.Path("t.csv").write_bytes(messy_table(seed))
    goal = [[], [], ["--goal", "features"], ["--goal", "outliers"], ["--goal", "pictures"]][seed % 5]
    done = run("advise", "t.csv", *goal, "--json")
    if done.returncode != 0:
        good = done.returncode == 1 and done.stderr.startswith("mercer: t.csv") and done.stderr.count("\n") == 1
        return [] if good else [f"seed {seed}: status {done.returncode}: {done.stderr}"]
    wrong = []
    for entry in json.loads(done.stdout)["advice"]:
        for command in filter(None, (entry["command"], entry["then"])):
            pasted = run(*shlex.split(command)[1:])
            if pasted.returncode != 0:
                wrong.append(f"seed {seed}: {command}: {pasted.stderr}")
                break
    return wrong
