#!/usr/bin/env python3
"""Lists every message of the command: errors, warnings, verdicts and notices.

A message is a string of two or more words in an error, in a call that formats or prints, or in a
`Display`. crates/taut/tests/golden/messages has a file for each verb and each library, so that the
review of a change includes its new messages.

usage: scripts/messages.py           the messages, by file
       scripts/messages.py --check   fails if a message is in the source or in its file only
       scripts/messages.py --write   writes the files
Exit codes: 0 ok, 1 a message differs, 2 wrong usage.
"""

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

from rust import lexer

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "crates/taut/tests/golden/messages"
LIBRARIES = "dql path measure linux observe relay report sim scenarios lab".split()
CALLS = set(
    "Err anyhow bail context demand ensure eprintln error fail format format_args line map_err "
    "ok_or ok_or_else say unwrap_or_else usage with_context write".split()
)
# Files in which every string is a message: the rules of `taut doctor`.
WHOLE = ("observe/src/judge/rules.rs",)
MARKUP = re.compile(r"</|xmlns|\\r")
CONTINUED = re.compile(r"\\\n\s*")


def text_of(token):
    return CONTINUED.sub("", token.text[token.text.index('"') + 1 : token.text.rindex('"')])


def spans(tokens):
    """(begin, end) of the groups that contain messages."""
    for at, token in enumerate(tokens):
        if token.kind != "name":
            continue
        if token.text in CALLS:
            opens = at + 2 if lexer.is_sign(tokens, at + 1, "!") else at + 1
            if lexer.is_sign(tokens, opens, "("):
                yield opens, lexer.after_group(tokens, opens)
        if token.text == "error" and lexer.is_sign(tokens, at - 1, "["):
            yield at + 1, lexer.after_group(tokens, at + 1)
        if token.text == "Display" and tokens[at + 1].text == "for":
            opens = at + 2
            while not lexer.is_sign(tokens, opens, "{"):
                opens += 1
            yield opens, lexer.after_group(tokens, opens)


def messages(path):
    tokens = lexer.product(lexer.tokens(path.read_text(encoding="utf-8")))
    inside = {at for begin, end in spans(tokens) for at in range(begin, end)}
    if str(path).endswith(WHOLE):
        inside = range(len(tokens))
    strings = (text_of(tokens[at]) for at in inside if tokens[at].kind == "string")
    return {text for text in strings if is_message(text)}


def is_message(text):
    """Two words next to each other, and no markup."""
    words = re.sub(r"\{[^}]*\}|\\n", "|", text)
    return bool(re.search("[A-Za-z]{2}[,:;]? [A-Za-z]{2}", words)) and not MARKUP.search(text)


def name_of(path):
    """The verb of a file of the command, or the library."""
    parts = path.relative_to(ROOT / "crates").parts
    return parts[0] if parts[0] != "taut" else parts[2].removesuffix(".rs")


def of_source():
    found = defaultdict(set)
    for crate in [*LIBRARIES, "taut"]:
        for path in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
            found[name_of(path)] |= messages(path)
    return {name: sorted(texts) for name, texts in found.items() if texts}


def of_files():
    files = GOLDEN.glob("*.txt")
    return {path.stem: path.read_text(encoding="utf-8").splitlines() for path in files}


def check(source, files):
    wrong = 0
    for name in sorted({*source, *files}):
        now, known = set(source.get(name, [])), set(files.get(name, []))
        for sign, texts in (("+", now - known), ("-", known - now)):
            wrong += len(texts)
            for text in sorted(texts):
                print(f"{sign} {name}: {text}")
    if wrong:
        print("messages.py: read these messages, then run scripts/messages.py --write")
    return 1 if wrong else 0


def write(source):
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for path in GOLDEN.glob("*.txt"):
        path.unlink()
    for name, texts in source.items():
        (GOLDEN / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    source = of_source()
    if options.check:
        return check(source, of_files())
    if options.write:
        return write(source)
    for name, texts in source.items():
        print(f"== {name}", *texts, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
