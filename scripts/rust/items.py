"""Finds the items of one file: modules, uses, types, functions, implementations."""

from dataclasses import dataclass, field

from . import lexer
from .lexer import after_group, after_visibility, attribute, is_sign, split_commas

TYPES = ("struct", "enum", "union", "trait", "type")


@dataclass
class Item:
    kind: str  # a keyword of Rust, or macro
    name: str
    module: tuple
    public: bool = False  # bare `pub`
    owner: str = ""  # the type of an implementation, or the trait
    of_trait: str = ""  # the trait that the implementation is of
    fields: int = 0
    receiver: str = ""  # of a method: value, ref or mut
    length: int = 0  # lines of code of a function, its head included
    signature: list = field(default_factory=list)  # names in the fields of a struct
    local: bool = False  # inside of a function


@dataclass
class Use:
    path: tuple
    name: str  # as it is known here; "*" for a glob
    exported: bool
    module: tuple


@dataclass
class File:
    tokens: list
    module: tuple = ()
    items: list = field(default_factory=list)
    uses: list = field(default_factory=list)
    children: list = field(default_factory=list)  # (module, name, #[path])
    spans: list = field(default_factory=list)  # (begin, end, module): inline modules
    skipped: set = field(default_factory=set)  # tokens that are no reference


def read(source, module=()):
    """The file's items; `module` is the path of its module."""
    tokens = lexer.product(lexer.tokens(source))
    file = File(tokens, module)
    Scanner(file).items_in(0, len(tokens), module, Owner())
    return file


@dataclass
class Owner:
    name: str = ""
    of_trait: str = ""
    local: bool = False


class Scanner:
    def __init__(self, file):
        self.file, self.tokens = file, file.tokens

    def text(self, at):
        return self.tokens[at].text if at < len(self.tokens) else ""

    def items_in(self, at, end, module, owner):
        """Items of a module, an implementation or a trait."""
        while at < end:
            at = max(self.item(at, end, module, owner), at + 1)

    def item(self, at, end, module, owner):
        """Reads what begins at `at`, if it is an item; the index after it."""
        path_attribute = None
        while (found := attribute(self.tokens, at)) is not None:
            begin, (at, content, _) = at, found
            self.file.skipped.update(range(begin, at))
            if content and content[0].text == "path" and len(content) == 3:
                path_attribute = content[2].text.strip('"')
        begin = at
        at = after_visibility(self.tokens, at)
        public = at == begin + 1
        self.file.skipped.update(range(begin, at))
        exported = at > begin
        while self.text(at) in ("unsafe", "async", "default", "auto") or self.is_qualifier(at):
            at += 2 if self.text(at) == "extern" and self.tokens[at + 1].kind == "string" else 1
        if at >= end:
            return end
        word = self.text(at)
        made = Item(
            word,
            self.text(at + 1),
            module,
            public,
            owner.name,
            owner.of_trait,
            local=owner.local,
        )
        if word == "mod" and self.is_name(at + 1):
            return self.module(at, module, path_attribute, owner)
        if word == "use":
            return self.use(at, module, exported)
        if word == "fn" and self.is_name(at + 1):
            return self.function(at, made)
        if word in ("struct", "enum", "union", "trait") and self.is_name(at + 1):
            return self.type(at, made)
        if word in ("type", "const", "static") and self.is_name(at + 1):
            return self.plain(at, made)
        if word == "impl":
            return self.implementation(at, module, owner)
        if word == "macro_rules" and is_sign(self.tokens, at + 1, "!"):
            return self.macro(at, module)
        if word == "extern":
            return at + 1
        if self.tokens[at].kind == "sign" and word in lexer.OPEN:
            # A macro call's arguments, or a block of foreign items.
            stop = after_group(self.tokens, at)
            self.items_in(at + 1, stop - 1, module, owner)
            return stop
        return at + 1

    def is_qualifier(self, at):
        """`const` of `const fn`, or `extern "C"` of `extern "C" fn`."""
        if self.text(at) == "const":
            return self.text(at + 1) in ("fn", "unsafe", "async", "extern")
        return (
            self.text(at) == "extern"
            and at + 2 < len(self.tokens)
            and self.tokens[at + 1].kind == "string"
            and self.text(at + 2) == "fn"
        )

    def is_name(self, at):
        return at < len(self.tokens) and self.tokens[at].kind == "name" and self.text(at - 1) != "$"

    def add(self, item, at):
        self.file.items.append(item)
        self.file.skipped.add(at)

    def body(self, at):
        """(opening brace or None, index after the item) of the item whose head begins at `at`."""
        while at < len(self.tokens):
            if is_sign(self.tokens, at, ";"):
                return None, at + 1
            if is_sign(self.tokens, at, "{"):
                return at, after_group(self.tokens, at)
            at = after_group(self.tokens, at) if self.text(at) in ("(", "[") else at + 1
        return None, at

    def module(self, at, module, path_attribute, owner):
        name = self.text(at + 1)
        self.file.skipped.add(at + 1)
        if not is_sign(self.tokens, at + 2, "{"):
            self.file.children.append((module, name, path_attribute))
            return at + 3
        stop = after_group(self.tokens, at + 2)
        inner = module + (name,)
        self.file.spans.append((at + 2, stop, inner))
        self.items_in(at + 3, stop - 1, inner, Owner(local=owner.local))
        return stop

    def use(self, at, module, exported):
        stop = at
        while stop < len(self.tokens) and not is_sign(self.tokens, stop, ";"):
            stop += 1
        self.file.skipped.update(range(at, stop))
        self.use_tree(self.tokens[at + 1 : stop], (), exported, module)
        return stop + 1

    def use_tree(self, tree, before, exported, module):
        path, at = list(before), 0
        while at < len(tree):
            text = tree[at].text
            if text == "{":
                for part in split_commas(tree[at + 1 : after_group(tree, at) - 1]):
                    self.use_tree(part, tuple(path), exported, module)
                return
            if text == "*":
                self.file.uses.append(Use(tuple(path), "*", exported, module))
                return
            if text == "as":
                self.file.uses.append(Use(tuple(path), tree[at + 1].text, exported, module))
                return
            if text == "self" and path:
                pass
            elif text not in ("::", "$"):
                path.append(text)
            at += 1
        if path:
            self.file.uses.append(Use(tuple(path), path[-1], exported, module))

    def function(self, at, made):
        opens, stop = self.body(at + 2)
        made.receiver = receiver(self.tokens[at + 2 : opens if opens is not None else stop])
        made.length = len(lexer.code_lines(self.tokens[at:stop]))
        self.add(made, at + 1)
        if opens is not None:
            self.local_items(opens + 1, stop - 1, made.module)
        return stop

    def local_items(self, at, end, module):
        """Items inside of a function: those at the begin of a statement."""
        while at < end:
            if self.text(at) in TYPES + (
                "use",
                "fn",
                "impl",
                "const",
                "static",
                "mod",
                "macro_rules",
                "#",
            ):
                before = self.tokens[at - 1]
                if before.kind == "sign" and before.text in ("{", "}", ";"):
                    at = max(self.item(at, end, module, Owner(local=True)), at + 1)
                    continue
            at += 1

    def type(self, at, made):
        self.add(made, at + 1)
        opens, stop = self.body(at + 2)
        if made.kind == "trait":
            if opens is not None:
                self.items_in(opens + 1, stop - 1, made.module, Owner(made.name, made.name))
            return stop
        if opens is None:
            # A unit or tuple struct.
            opens = next((i for i in range(at + 2, stop) if is_sign(self.tokens, i, "(")), None)
            if opens is None:
                return stop
        inside = (opens + 1, after_group(self.tokens, opens) - 1)
        made.signature = [
            token.text for token in self.tokens[inside[0] : inside[1]] if token.kind == "name"
        ]
        parts = split_commas(self.tokens[inside[0] : inside[1]], angles=True)
        if made.kind == "struct":
            made.fields = len(parts)
        if made.kind == "enum":
            self.skip_variants(*inside)
        return stop

    def skip_variants(self, at, end):
        """The name of a variant is not a reference."""
        begins = True
        while at < end:
            found = attribute(self.tokens, at)
            if found is not None:
                self.file.skipped.update(range(at, found[0]))
                at = found[0]
                continue
            if begins:
                self.file.skipped.add(at)
            begins = is_sign(self.tokens, at, ",")
            at = after_group(self.tokens, at) if self.text(at) in lexer.OPEN else at + 1

    def plain(self, at, made):
        self.add(made, at + 1)
        while at < len(self.tokens) and not is_sign(self.tokens, at, ";"):
            at = after_group(self.tokens, at) if self.text(at) in lexer.OPEN else at + 1
        return at + 1

    def implementation(self, at, module, owner):
        opens, stop = self.body(at + 1)
        if opens is None:
            return stop
        name, of_trait = implemented(self.tokens[at + 1 : opens])
        self.file.items.append(
            Item("impl", name, module, owner=name, of_trait=of_trait, local=owner.local)
        )
        self.items_in(opens + 1, stop - 1, module, Owner(name, of_trait, owner.local))
        return stop

    def macro(self, at, module):
        stop = after_group(self.tokens, at + 3)
        self.add(Item("macro", self.text(at + 2), module), at + 2)
        # Its rules can define functions, which count as any other.
        self.local_items(at + 4, stop - 1, module)
        return stop


def receiver(head):
    """How the function whose head this is takes self."""
    opens = next((i for i, token in enumerate(head) if token.text == "("), None)
    if opens is None:
        return ""
    first = split_commas(head[opens + 1 : after_group(head, opens) - 1], angles=True)
    texts = [token.text for token in first[0] if token.kind != "lifetime"] if first else []
    if texts[:1] == ["&"]:
        return {"self": "ref", "mut": "mut" if texts[2:3] == ["self"] else ""}.get(texts[1], "")
    if texts[:1] == ["self"] or texts[:2] == ["mut", "self"]:
        return "value"
    return ""


def implemented(head):
    """(type, trait) of an implementation's head."""
    depth, parts, begin = 0, [], 0
    for at, token in enumerate(head):
        if token.kind == "sign" and token.text in ("<", "(", "["):
            depth += 1
        elif token.kind == "sign" and token.text in (">", ")", "]"):
            depth -= 1
        elif depth == 0 and token.text == "for" and not is_sign(head, at + 1, "<"):
            parts.append(head[begin:at])
            begin = at + 1
        elif depth == 0 and token.text == "where":
            head = head[:at]
            break
    parts.append(head[begin:])
    names = [last_name(part) for part in parts]
    return (names[1], names[0]) if len(names) > 1 else (names[0], "")


def last_name(part):
    """The last name of the path in `part`, generics left out."""
    depth, name = 0, ""
    for token in part:
        if token.kind == "sign" and token.text == "<":
            depth += 1
        elif token.kind == "sign" and token.text == ">":
            depth -= 1
        elif (
            depth == 0
            and token.kind == "name"
            and token.text not in ("dyn", "mut", "const", "unsafe")
        ):
            name = token.text
    return name
