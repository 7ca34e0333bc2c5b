"""Splits Rust source into tokens and leaves out what is compiled only for tests."""

import re
from typing import NamedTuple

TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>//[^\n]*)
  | (?P<block>/\*)
  | (?P<raw>(?:br|cr|r)(?P<hashes>\#*)"(?:.*?)"(?P=hashes))
  | (?P<string>[bc]?"(?:\\.|[^"\\])*")
  | (?P<char>b?'(?:\\u\{[^}]*\}|\\x[0-9a-fA-F]{2}|\\.|[^'\\\n])')
  | (?P<lifetime>'[A-Za-z_]\w*)
  | (?P<number>[0-9]\w*(?:\.[0-9]\w*)?)
  | (?P<name>(?:r\#)?[A-Za-z_]\w*)
  | (?P<sign>::|->|=>|\.\.=|\.\.\.|\.\.|<=|>=|==|!=|&&|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)
BLOCK_EDGE = re.compile(r"/\*|\*/")
OPEN = {"(": ")", "[": "]", "{": "}"}
CLOSE = set(OPEN.values())
# Items that end with a semicolon even after a closing brace.
TO_SEMICOLON = {"use", "const", "static", "type", "let"}
# Items whose head can contain commas.
WITH_HEAD = TO_SEMICOLON | {
    "fn",
    "struct",
    "enum",
    "union",
    "trait",
    "impl",
    "mod",
    "unsafe",
    "async",
    "extern",
}


class Token(NamedTuple):
    kind: str  # name, lifetime, number, string, char, sign
    text: str
    line: int  # of the first character
    last_line: int


def tokens(source):
    """All tokens of `source`, without space and comments."""
    found, at, line = [], 0, 1
    while at < len(source):
        match = TOKEN.match(source, at)
        kind, text = match.lastgroup, match.group()
        if kind == "hashes":
            kind = "raw"
        if kind == "block":
            text = block_comment(source, at)
        last_line = line + text.count("\n")
        if kind not in ("space", "comment", "block"):
            if kind == "raw":
                kind = "string"
            if kind == "name" and text.startswith("r#"):
                text = text[2:]
            found.append(Token(kind, text, line, last_line))
            at = match.end()
        else:
            at += len(text)
        line = last_line
    return found


def block_comment(source, at):
    """The comment that begins at `at`. Block comments nest."""
    depth = 0
    for edge in BLOCK_EDGE.finditer(source, at):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return source[at : edge.end()]
    return source[at:]


def after_group(items, at):
    """The index after the group that opens at `at`."""
    depth = 0
    while at < len(items):
        text = items[at].text if items[at].kind == "sign" else ""
        if text in OPEN:
            depth += 1
        elif text in CLOSE:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return at


def is_sign(items, at, text):
    return 0 <= at < len(items) and items[at].kind == "sign" and items[at].text == text


def attribute(items, at):
    """(index after the attribute, its tokens, inner) or None if there is none at `at`."""
    if not is_sign(items, at, "#"):
        return None
    inner = is_sign(items, at + 1, "!")
    opens = at + 2 if inner else at + 1
    if not is_sign(items, opens, "["):
        return None
    end = after_group(items, opens)
    return end, items[opens + 1 : end - 1], inner


def cfg_value(items):
    """A configuration predicate in the product: True, False or None (depends on the build)."""
    if not items:
        return None
    word = items[0].text
    if len(items) == 1:
        return False if word in ("test", "loom", "doctest") else None
    if not is_sign(items, 1, "("):
        return None
    parts = [cfg_value(part) for part in split_commas(items[2:-1])]
    if word == "not":
        return None if parts[0] is None else not parts[0]
    if word == "all":
        return False if False in parts else (None if None in parts else True)
    if word == "any":
        return True if True in parts else (None if None in parts else False)
    return None


def split_commas(items, angles=False):
    """The parts between the commas of this depth. With `angles`, `<` and `>` are brackets too."""
    parts, depth, begin = [], 0, 0
    for at, item in enumerate(items):
        if item.kind != "sign":
            continue
        if item.text in OPEN or (angles and item.text == "<"):
            depth += 1
        elif item.text in CLOSE or (angles and item.text == ">"):
            depth -= 1
        elif item.text == "," and depth == 0:
            parts.append(items[begin:at])
            begin = at + 1
    if begin < len(items):
        parts.append(items[begin:])
    return parts


def is_left_out(content):
    """Whether this attribute's content removes its item from the product."""
    return bool(content) and content[0].text == "cfg" and cfg_value(content[2:-1]) is False


def after_annotated(items, at):
    """The index after the item, field, arm or statement that begins at `at`."""
    at = after_visibility(items, at)
    word = items[at].text if at < len(items) else ""
    # `const fn` and `unsafe impl` end as the second word does.
    second = items[at + 1].text if at + 1 < len(items) else ""
    to_semicolon = word in TO_SEMICOLON and second not in ("fn", "unsafe", "async", "extern")
    with_head = word in WITH_HEAD
    while at < len(items):
        text = items[at].text if items[at].kind == "sign" else ""
        if text in CLOSE:
            return at
        if text in OPEN:
            at = after_group(items, at)
            if text == "{" and not to_semicolon:
                return at + 1 if is_sign(items, at, ",") or is_sign(items, at, ";") else at
            continue
        at += 1
        if text == ";" or (text == "," and not with_head):
            return at
    return at


def after_visibility(items, at):
    """The index after `pub` or `pub(…)`."""
    if at < len(items) and items[at].text == "pub":
        at += 1
        if is_sign(items, at, "(") and items[at + 1].text in ("crate", "super", "self", "in"):
            at = after_group(items, at)
    return at


def product(items):
    """The tokens that are compiled outside of tests and loom models; none if the file is a test."""
    kept, at = [], 0
    while at < len(items):
        found = attribute(items, at)
        if found is None:
            kept.append(items[at])
            at += 1
            continue
        begin, left_out = at, False
        while found is not None:
            at, content, inner = found
            if is_left_out(content):
                if inner:
                    return []
                left_out = True
            found = attribute(items, at)
        if left_out:
            at = after_annotated(items, at)
        else:
            kept.extend(items[begin:at])
    return kept


def code_lines(items):
    """The numbers of the lines that contain one of these tokens."""
    lines = set()
    for item in items:
        lines.update(range(item.line, item.last_line + 1))
    return lines
