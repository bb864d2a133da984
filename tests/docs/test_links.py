# SPDX-License-Identifier: BSD-3-Clause
"""Links between the documents lead somewhere: test_links.py

Every relative link in a Markdown file names a file that exists and, with #, a heading of it.
Closes with "N passed, N failed".
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
HEADING = re.compile(r"^#+ (.+)$", re.M)


def prose(path):
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors(path):
    """The names under which headings are found."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
            for heading in HEADING.findall(prose(path))}


def fault_of(page, link):
    name, _, anchor = link.partition("#")
    target = (page.parent / name) if name else page
    if not target.exists():
        return "no such file"
    if anchor and anchor not in anchors(target):
        return "no such heading"
    return None


def main():
    root = harness.ROOT
    for page in [*root.glob("*.md"), *(root / "docs").rglob("*.md")]:
        for link in LINK.findall(prose(page)):
            if "://" in link:
                continue
            fault = fault_of(page, link)
            harness.check(f"{page.relative_to(root)}: link to {link}", not fault, fault, quiet=True)
    return harness.close()


if __name__ == "__main__":
    sys.exit(main())
