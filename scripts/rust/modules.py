"""The modules of one target (a library, a program, an example) and which file refers to which."""

import os
from dataclasses import dataclass, field

from . import items
from .lexer import code_lines, is_sign

TYPE_KINDS = {"struct", "enum", "union", "trait", "type"}


@dataclass
class Module:
    path: tuple
    file: str
    names: dict = field(default_factory=dict)  # name -> [Item]
    children: dict = field(default_factory=dict)  # name -> Module
    uses: dict = field(default_factory=dict)  # name -> [Use]
    globs: list = field(default_factory=list)


class Target:
    """All files that belong to the target whose root is `root`."""

    def __init__(self, root):
        self.files = {}  # path -> items.File
        self.modules = {}
        self.macros = {}  # name -> path of the file
        self.load(root, (), os.path.dirname(root))

    def load(self, path, module, directory):
        with open(path, encoding="utf-8") as source:
            file = items.read(source.read(), module)
        if not file.tokens and module:
            return
        self.files[path] = file
        for name in [module] + [span[2] for span in file.spans]:
            self.modules[name] = Module(name, path)
            if name:
                self.modules[name[:-1]].children[name[-1]] = self.modules[name]
        for item in file.items:
            if item.kind == "macro":
                self.macros[item.name] = path
            elif item.kind != "impl" and not item.owner and not item.local:
                self.modules[item.module].names.setdefault(item.name, []).append((item, path))
        for use in file.uses:
            owner = self.modules[use.module]
            if use.name == "*":
                owner.globs.append(use)
            else:
                owner.uses.setdefault(use.name, []).append(use)
        for parent, name, path_attribute in file.children:
            inside = os.path.join(directory, *parent[len(module) :])
            self.load_child(path, inside, parent + (name,), path_attribute)

    def load_child(self, parent_file, directory, module, path_attribute):
        name = module[-1]
        if path_attribute:
            path = os.path.normpath(os.path.join(os.path.dirname(parent_file), path_attribute))
            return self.load(path, module, os.path.dirname(path))
        for path in (
            os.path.join(directory, name + ".rs"),
            os.path.join(directory, name, "mod.rs"),
        ):
            if os.path.exists(path):
                return self.load(path, module, os.path.join(directory, name))
        raise FileNotFoundError(f"{parent_file}: no file for module {name}")

    def resolve(self, module, path, seen=frozenset()):
        """What `path` means inside of `module`: a list of Module or (Item, file)."""
        key = (module, path)
        if key in seen or not path:
            return []
        seen = seen | {key}
        first, rest = path[0], path[1:]
        if first == "crate":
            found = [self.modules[()]]
        elif first == "self":
            found = [self.modules[module]]
        elif first == "super":
            found = [self.modules[module[:-1]]] if module else []
        else:
            found = self.lookup(self.modules[module], first, seen)
        for name in rest:
            found = [self.step(place, name, seen) for place in found]
            found = [place for places in found for place in places]
        return found

    def step(self, place, name, seen):
        if not isinstance(place, Module):
            # A variant, an associated item: the type's own file.
            return [place] if place[0].kind in TYPE_KINDS else []
        if name == "super":
            return [self.modules[place.path[:-1]]] if place.path else []
        return self.lookup(place, name, seen)

    def lookup(self, module, name, seen):
        """What `name` is in `module`: its own, imported, or by a glob."""
        found = list(module.names.get(name, []))
        if name in module.children:
            found.append(module.children[name])
        for use in module.uses.get(name, []):
            found += self.resolve(module.path, use.path, seen)
        if found:
            return found
        for use in module.globs:
            for place in self.resolve(module.path, use.path, seen):
                if (
                    isinstance(place, Module)
                    and place is not module
                    and ("glob", place.path, name) not in seen
                ):
                    found += self.lookup(place, name, seen | {("glob", place.path, name)})
        return found

    def references(self):
        """{file: {other file: {names}}} within the target."""
        edges = {path: {} for path in self.files}
        for path, file in self.files.items():
            for name, target in self.file_references(file):
                if target != path:
                    edges[path].setdefault(target, set()).add(name)
        return edges

    def file_references(self, file):
        for use in file.uses:
            # A re-export is not an item: users of the name refer to its definition.
            if not use.exported and use.name != "*":
                yield from self.defined(use.module, use.path)
        for at, token in enumerate(file.tokens):
            if token.kind != "name" or at in file.skipped:
                continue
            before = file.tokens[at - 1].text if at else ""
            if before in ("::", ".") and (at < 2 or file.tokens[at - 2].text != "$"):
                continue
            path, stop = path_at(file.tokens, at)
            if is_sign(file.tokens, stop, "!") and not is_sign(file.tokens, stop + 1, "="):
                if path[-1] in self.macros:
                    yield path[-1], self.macros[path[-1]]
            elif is_reference(file.tokens, path, stop):
                yield from self.defined(module_at(file, at), path)

    def defined(self, module, path):
        for place in self.resolve(module, path):
            if not isinstance(place, Module):
                yield place[0].name, place[1]


def path_at(tokens, at):
    """(path that begins at `at`, index after it); generic arguments end it."""
    path = [tokens[at].text]
    while is_sign(tokens, at + 1, "::") and at + 2 < len(tokens) and tokens[at + 2].kind == "name":
        at += 2
        path.append(tokens[at].text)
    return tuple(path), at + 1


def is_reference(tokens, path, stop):
    """A lower-case name alone is a variable unless called; a name before `=` is bound there."""
    if len(path) > 1:
        return True
    if is_sign(tokens, stop, "="):
        return False
    return path[0][0].isupper() or is_sign(tokens, stop, "(")


def module_at(file, at):
    """The innermost module of the token, by the file's inline modules."""
    inside = [span for span in file.spans if span[0] <= at < span[1]]
    return max(inside, key=lambda span: span[0])[2] if inside else file.module


def circles(edges):
    """The groups of two or more files that all depend on each other (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(start):
        work = [(start, iter(edges[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(edges[other])))
                    break
                if other in stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    group, stack[at:] = stack[at:], []
                    if len(group) > 1:
                        found.append(sorted(group))

    for node in edges:
        if node not in index:
            visit(node)
    return sorted(found)
