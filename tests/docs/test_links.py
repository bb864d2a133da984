"""Links between the documents lead somewhere: test_links.py ROOT

Every relative link in a Markdown file names a file that exists and, with #, a heading of it.
Closes with "N passed, N failed".
"""
import pathlib
import re
import sys

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
    root = pathlib.Path(sys.argv[1])
    passed = failed = 0
    for page in [*root.glob("*.md"), *(root / "docs").rglob("*.md")]:
        for link in LINK.findall(prose(page)):
            if "://" in link:
                continue
            fault = fault_of(page, link)
            passed += not fault
            failed += bool(fault)
            if fault:
                print(f"{page.relative_to(root)}: link to {link}: {fault}")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
