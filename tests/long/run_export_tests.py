#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables as other programs write them today: pandas, R, LibreOffice (German and French), SQLite's shell.

Usage: run_export_tests.py MERCER. Each program that is there writes the same rows, an id, a name, numbers with fractions
and a whole number among them; `mercer` reads them with no option but --id for the column of names, and gives the same
numbers. A program that is not there is skipped. Prints "N passed, N failed". tests/cli/test_text.py has small files that
such programs wrote.
"""
import csv
import io
import pathlib
import random
import shutil
import sys

from common import MERCER
from harness import call, check, close, output, run_parts, scratch, skip

draw = random.Random(3)
ROWS = [(f"Ort {chr(65 + i % 26)}{i}", round(draw.gauss(0, 3), 4), round(draw.gauss(0, 900), 2), draw.randint(0, 99))
        for i in range(60)]
NAMES = ["name", "a", "größe", "k"]
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Setup/L10N">
<prop oor:name="ooSetupSystemLocale" oor:op="fuse"><value>{place}</value></prop></item>
</oor:items>
"""


def plain():
    """plain.csv, which the other programs read."""
    with open("plain.csv", "w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([NAMES, *ROWS])


def judge(name, path, *words):
    done = call(MERCER, "scale", path, "--scale", "none", "--id", "name", *words)
    rows = list(csv.reader(io.StringIO(done.stdout)))
    columns = [rows[0].index(column) for column in NAMES[1:]] if rows and set(NAMES) <= set(rows[0]) else []
    got = [tuple(float(row[j]) for j in columns) for row in rows[1:]]
    check(name, done.returncode == 0 and got == [tuple(map(float, row[1:])) for row in ROWS],
          done.stderr.strip() or f"{len(got)} rows, header {rows[:1]}")


def pandas():
    try:
        import pandas as pd
    except ImportError:
        skip("pandas", "is not there")
        return
    frame = pd.DataFrame(ROWS, columns=NAMES)
    for name, words in (("index", {}), ("plain", {"index": False}), ("german", {"sep": ";", "decimal": ",", "index": False}),
                        ("tabs", {"sep": "\t", "index": False}), ("quoted", {"quoting": csv.QUOTE_ALL, "index": False}),
                        ("mark", {"encoding": "utf-8-sig", "index": False}), ("utf16", {"encoding": "utf-16", "index": False}),
                        ("zipped", {"index": False, "compression": "gzip"})):
        path = f"pandas_{name}.csv" + (".gz" if name == "zipped" else "")
        frame.to_csv(path, **words)
        # The index, which has no name, would be the id, unless another column is.
        judge(f"pandas, {name}", path, *(["--drop", "1"] if name == "index" else []))
    frame.to_csv("pandas_latin.csv", encoding="latin-1", index=False)
    judge("pandas, Latin-1", "pandas_latin.csv", "--encoding", "latin1")


def r():
    if not shutil.which("Rscript"):
        skip("R", "is not there")
        return
    read = 'x <- read.csv("plain.csv", check.names=FALSE, encoding="UTF-8");'
    for name, write in (("write.csv", 'write.csv(x, "r.csv", row.names=FALSE)'), ("write.csv2", 'write.csv2(x, "r.csv", row.names=FALSE)')):
        output("Rscript", "-e", read + write)
        judge(f"R, {name}", "r.csv")


def office():
    program = shutil.which("soffice") or shutil.which("libreoffice")
    if not program:
        skip("LibreOffice", "is not there")
        return
    for name, place in (("German", "de-DE"), ("French", "fr-FR")):
        folder = pathlib.Path(name)
        settings = folder / "profile/user/registrymodifications.xcu"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS.format(place=place), encoding="utf-8")
        # Tokens: separator, quote, UTF-8, first line, columns, language, quote all, as shown. The language, English, is
        # that of the numbers that are read; those that are written follow the place of the profile.
        output(program, "--headless", f"-env:UserInstallation=file://{folder.resolve()}/profile",
               "--infilter=CSV:44,34,76,1,,1033,false,true", "--convert-to",
               "csv:Text - txt - csv (StarCalc):59,34,76,1,,0,false,true", "--outdir", str(folder), "plain.csv", timeout=300)
        text = (folder / "plain.csv").read_text(encoding="utf-8")
        check(f"LibreOffice, {name}, writes decimal commas", ",2841;" in text, text[:60])
        judge(f"LibreOffice, {name}", folder / "plain.csv")


def sqlite():
    if not shutil.which("sqlite3"):
        skip("SQLite's shell", "is not there")
        return
    output("sqlite3", "t.db", ".mode csv", ".import plain.csv t")
    for name, words in (("csv", ["-csv"]), ("tabs", ["-tabs"]), ("list", ["-list"])):
        pathlib.Path("s.csv").write_text(output("sqlite3", "-header", *words, "t.db", "select * from t"), encoding="utf-8")
        judge(f"SQLite, {name}", "s.csv")


with scratch():
    plain()
    run_parts([pandas, r, office, sqlite], sys.argv[2:])
sys.exit(close())
