"""The users of each public item of the core: other crates, examples, pages, or none."""

import re

FENCE = re.compile(r"^```")
DOC_COMMENT = re.compile(r"^\s*//[/!] ?")
WORD = re.compile(r"[A-Za-z_]\w*")


class Words:
    """The names that one place of use contains, as paths, calls of methods and single words."""

    def __init__(self):
        self.names, self.methods, self.pairs, self.defined = set(), set(), set(), set()

    def add_file(self, file):
        tokens = file.tokens
        self.defined.update(
            item.name for item in file.items if item.kind != "impl" and not item.owner
        )
        for at, token in enumerate(tokens):
            if token.kind != "name":
                continue
            self.names.add(token.text)
            before = tokens[at - 1].text if at else ""
            if before == ".":
                self.methods.add(token.text)
            elif before == "::" and at >= 2:
                self.pairs.add((owner_before(tokens, at - 2), token.text))

    def add_text(self, text):
        words = WORD.findall(text)
        self.names.update(words)
        self.methods.update(re.findall(r"\.([a-z_]\w*)", text))
        self.pairs.update(re.findall(r"([A-Za-z_]\w*)::([A-Za-z_]\w*)", text))

    def uses(self, item):
        if item.receiver:
            return item.name in self.methods or (item.owner, item.name) in self.pairs
        if item.owner:
            return (item.owner, item.name) in self.pairs or ("Self", item.name) in self.pairs
        return item.name in self.names and item.name not in self.defined


def owner_before(tokens, at):
    """The name before `::`, generic arguments skipped."""
    depth = 0
    while at >= 0:
        text = tokens[at].text
        if text == ">":
            depth += 1
        elif text == "<":
            depth -= 1
        elif depth == 0 and tokens[at].kind == "name":
            return text
        elif depth == 0 and text != "::":
            return ""
        at -= 1
    return ""


def fenced(text):
    """The code between fences of a page."""
    inside, kept = False, []
    for line in text.splitlines():
        if FENCE.match(line.strip()):
            inside = not inside
        elif inside:
            kept.append(line)
    return "\n".join(kept)


def doc_comments(source):
    """The documentation inside of a source file, as a page."""
    return "\n".join(
        DOC_COMMENT.sub("", line) for line in source.splitlines() if DOC_COMMENT.match(line)
    )


def find(items, places):
    """{index of item: user}; `places` is a list of (name, Words), the first that fits counts."""
    found = {}
    for index, item in enumerate(items):
        for name, words in places:
            if words.uses(item):
                found[index] = name
                break
    # A type that a used item's head names is used through it.
    changed = True
    while changed:
        changed = False
        named = {word: items[index] for index in found for word in items[index].signature}
        for index, item in enumerate(items):
            if index not in found and not item.owner and item.name in named:
                by = named[item.name]
                found[index] = f"head of {by.owner + '::' if by.owner else ''}{by.name}"
                changed = True
    return found
