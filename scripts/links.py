#!/usr/bin/env python3
"""Checks every page of the repository, without a network:

- relative links lead to a file, and to a heading if they name one;
- in book/, code in a compiled language is included from a file that the tests compile;
- the book has every page of book/, and no page of a built book has a dead link;
- the list of crates in ARCHITECTURE.md is that of the manifests;
- the tests that docs/decisions.md names exist;
- the command accepts the lines that begin with `taut` (with --taut PATH).

usage: scripts/links.py [--taut target/debug/taut]
Exit codes: 0 ok, 1 something is wrong.
"""

import html.parser
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1\s*$", re.M | re.S)
INCLUDE = re.compile(r"\{\{#include ([^\s:}]+)(?::([^}]+))?\}\}")
# Languages whose samples must be compiled, and the files that are compiled.
COMPILED = {"rust", "c", "cpp", "toml", "python"}
TESTED = re.compile(r"^(crates/[^/]+/(README\.md|examples/|tests/|src/)|examples/)")
wrong = []


def files(pattern):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", pattern],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def fail(page, reason):
    wrong.append(f"{page.relative_to(ROOT)}: {reason}")


def slug(heading):
    """Returns the anchor of a heading, by GitHub's rule, which mdbook shares."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))


def headings(page):
    text = FENCE.sub("", page.read_text())
    return {slug(it) for it in re.findall(r"^#+\s+(.*)$", text, re.M)}


def check_links(page, text):
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))):
        if re.match(r"^[a-z]+:", target):
            continue
        path, _, anchor = urllib.parse.unquote(target).partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            fail(page, f"{target}: no such file")
        elif anchor and file.suffix == ".md" and anchor not in headings(file):
            fail(page, f"{target}: no such heading")


def check_samples(page, text):
    for _, language, body in FENCE.findall(text):
        name = language.split(",")[0].strip()
        if name in COMPILED and INCLUDE.sub("", body).strip():
            fail(page, f"{name} sample is not included from a compiled file")
    for name, anchor in INCLUDE.findall(text):
        file = (page.parent / name).resolve()
        if not file.is_file():
            fail(page, f"{name}: no such file to include")
        elif not TESTED.match(str(file.relative_to(ROOT))):
            fail(page, f"{name}: no test compiles or replays this file")
        elif anchor and not all(
            re.search(rf"\b{end}: {re.escape(anchor)}\b", file.read_text())
            for end in ("ANCHOR", "ANCHOR_END")
        ):
            fail(page, f"{name} has no anchor {anchor}")


def commands(text, in_text):
    """Yields lines of blocks that begin with the command, and with `in_text` those of the text.

    Lines with an ellipsis are skipped.
    """
    for _, language, body in FENCE.findall(text):
        if language.strip() in ("", "sh", "console"):
            lines = (it for it in body.splitlines() if re.match(r"^taut( |$)", it))
            yield from (it for it in lines if "..." not in it)
    if in_text:
        found = re.findall(r"`(taut [a-z][^`\n]*)`", FENCE.sub("", text))
        yield from (it for it in found if "..." not in it)


def check_commands(page, text, taut, in_text):
    for line in commands(text, in_text):
        words = shlex.split(line.split(" #")[0].split(" >")[0])[1:]
        # The command parses from the left; --help succeeds if everything before it is valid.
        words += [] if words[:1] == ["help"] else ["--help"]
        done = subprocess.run([taut, *words], capture_output=True, text=True)
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
            fail(page, f"`{line.strip()}`: {reason}")
        yield line


def check_summary():
    summary = ROOT / "book/SUMMARY.md"
    named = {(summary.parent / it).resolve() for it in LINK.findall(summary.read_text())}
    # scripts/book.sh appends other missing pages.
    for page in files("book/*.md"):
        if page != summary and page not in named:
            fail(page, "not in book/SUMMARY.md")


def dependencies():
    """Returns each crate's dependencies in the project, without indirect ones."""
    direct = {}
    for path in files("crates/*/Cargo.toml"):
        manifest = tomllib.loads(path.read_text())
        used = manifest.get("dependencies", {})
        direct[manifest["package"]["name"]] = {it for it in used if it.startswith("taut")}

    def below(name):
        return direct[name].union(*(below(it) for it in direct[name]))

    return {name: used - set().union(*(below(it) for it in used)) for name, used in direct.items()}


def check_crates():
    page = ROOT / "ARCHITECTURE.md"
    listed = {}
    for name, used in re.findall(r"^(taut\S*) +(\S.*?) {2,}\S", page.read_text(), re.M):
        listed[name] = {f"taut-{it}" for it in used.split() if it != "-"}
    for name, used in dependencies().items():
        if listed.get(name) != used:
            fail(page, f"{name} depends on {' '.join(sorted(used)) or '-'}")


def check_tests():
    page = ROOT / "docs/decisions.md"
    sources = "\n".join(file.read_text() for file in files("crates/*.rs"))
    for name in re.findall(r"Tests?:\s+`(\w+)`", page.read_text()):
        if not re.search(rf"\bfn {name}\b", sources):
            fail(page, f"{name}: no such test")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.ids = [], set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src") and value and tag in ("a", "img", "script", "link"):
                self.links.append(value)


def check_built(book):
    pages = {}
    for file in book.rglob("*.html"):
        pages[file.resolve()] = Page()
        pages[file.resolve()].feed(file.read_text())
    for file, page in pages.items():
        if file.name in ("print.html", "404.html", "toc.html"):
            continue
        for link in page.links:
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            if re.match(r"^[a-z]+:", path):
                continue
            target = (file.parent / path).resolve() if path else file
            if not target.exists():
                fail(file, f"{link}: no such file in the built book")
            elif anchor and target in pages and anchor not in pages[target].ids:
                fail(file, f"{link}: no such anchor in the built book")
    return len(pages)


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return
    taut = sys.argv[2] if sys.argv[1:2] == ["--taut"] and len(sys.argv) == 3 else None
    # Parts in scripts/ become pages in docs/.
    pages = [it for it in files("*.md") if it.parent != ROOT / "scripts"]
    checked = 0
    for page in pages:
        text = page.read_text()
        check_links(page, text)
        in_book = page.parent == ROOT / "book"
        if in_book:
            check_samples(page, text)
        if taut and (in_book or page.name == "README.md"):
            checked += len(list(check_commands(page, text, taut, in_book)))
    check_summary()
    check_crates()
    check_tests()
    book = ROOT / "target/book/html"
    built = check_built(book) if book.exists() else 0
    for line in wrong:
        print(line, file=sys.stderr)
    summary = f"{len(pages)} pages, {checked} commands, {built} pages of the built book"
    print(summary if not wrong else f"{summary}: {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


main()
