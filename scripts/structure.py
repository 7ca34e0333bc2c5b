#!/usr/bin/env python3
"""Counts properties that make the source hard to maintain, and checks their ceilings.

usage: scripts/structure.py             the counts, and where they come from
       scripts/structure.py --check     fails if a count is above its ceiling in structure.json
       scripts/structure.py --tighten   lowers the ceilings in structure.json to the counts
       scripts/structure.py --self-test
       --root DIR   another checkout
Exit codes: 0 ok, 1 a count is above its ceiling, 2 wrong usage.

Code lines: lines with a token, in `src` and `examples`, without comments, blank lines and items
that are compiled only for tests (`cfg(test)`, `cfg(loom)`, `cfg(doctest)`).
Circles: groups of files of a crate that refer to each other's items. A `mod` line and a re-export
are not a reference; a use through a re-export refers to the file that defines the item.
Large structs: above 14 fields (12 in dql and path), with behaviour: a method takes `&mut self`, or
`&self` of a struct with cells. Settings, counters, snapshots and rows have no such method.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
from collections import defaultdict

from rust import modules

CORE = ("dql", "path")
PUBLIC_KINDS = ("fn", "struct", "enum", "trait", "type", "const")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_FIELDS, MAX_CORE_FIELDS = 14, 12
MAX_COLUMNS = 100
CELLS = ("Cell", "RefCell", "UnsafeCell", "Mutex", "RwLock", "OnceLock")
HERE = os.path.dirname(os.path.abspath(__file__))
CEILINGS = os.path.join(HERE, "structure.json")


class Crate:
    """A package: its library, programs and examples, each a target."""

    def __init__(self, directory):
        self.directory, self.name = directory, os.path.basename(directory)
        roots = [os.path.join(directory, "src", name) for name in ("lib.rs", "main.rs")]
        roots += sorted(glob.glob(os.path.join(directory, "examples", "*.rs")))
        roots += sorted(glob.glob(os.path.join(directory, "examples", "*", "main.rs")))
        self.targets = [modules.Target(root) for root in roots if os.path.exists(root)]
        self.files = {path: file for target in self.targets for path, file in target.files.items()}

    def in_folder(self, folder):
        begin = os.path.join(self.directory, folder) + os.sep
        return {path: file for path, file in self.files.items() if path.startswith(begin)}


def tracked(pattern=None):
    names = subprocess.run(
        ["git", "ls-files", "-z"] + ([pattern] if pattern else []), check=True, capture_output=True
    ).stdout
    return [name for name in os.fsdecode(names).split("\0") if name and os.path.lexists(name)]


def crates():
    manifests = tracked("*Cargo.toml")
    return [Crate(os.path.dirname(name)) for name in sorted(manifests) if os.path.dirname(name)]


def lines_of_code(files):
    return sum(len(modules.code_lines(file.tokens)) for file in files.values())


def circles(crate):
    return [group for target in crate.targets for group in modules.circles(target.references())]


def long_files(crate):
    found = []
    for path in crate.in_folder("src"):
        with open(path, encoding="utf-8") as source:
            lines = sum(1 for _ in source)
        if lines > MAX_FILE_LINES:
            found.append((lines, path))
    return found


def long_functions(crate):
    return [
        (item.length, f"{path}: {item.name}")
        for path, file in crate.in_folder("src").items()
        for item in file.items
        if item.kind == "fn" and item.length > MAX_FUNCTION_LINES
    ]


def has_cells(struct):
    return any(name in CELLS or name.startswith("Atomic") for name in struct.signature)


def large_structs(crate):
    """Structs with behaviour and too many fields."""
    most = MAX_CORE_FIELDS if crate.name in CORE else MAX_FIELDS
    return [found for found in structs_with_behaviour(crate) if found[0] > most]


def structs_with_behaviour(crate):
    found = []
    for target in crate.targets:
        receivers = defaultdict(set)
        for item in all_items(target):
            if item.kind == "fn" and item.owner and item.of_trait != "Debug":
                receivers[item.owner].add(item.receiver)
        for path, file in target.files.items():
            for item in file.items:
                taken = receivers[item.name]
                behaves = "mut" in taken or ("ref" in taken and has_cells(item))
                if item.kind == "struct" and behaves:
                    found.append((item.fields, f"{path}: {item.name}"))
    return found


def all_items(target):
    return [item for file in target.files.values() for item in file.items]


def duplicate_types(crate):
    """Names that two types of one target have. Alternatives in one module are the same type."""
    found = []
    for target in crate.targets:
        places = defaultdict(set)
        for path, file in target.files.items():
            for item in file.items:
                if item.kind in modules.TYPE_KINDS and not item.owner:
                    places[item.name].add((path, item.module))
        found += [
            (name, sorted({path for path, _ in where}))
            for name, where in places.items()
            if len(where) > 1
        ]
    return found


def public_items(crate):
    return [
        (item, path)
        for path, file in crate.in_folder("src").items()
        for item in file.items
        if item.public and item.kind in PUBLIC_KINDS
    ]


def long_lines():
    """{folder: lines above 100 columns} of Rust and of scripts."""
    found = defaultdict(int)
    for path in tracked():
        if path.endswith((".rs", ".py", ".sh")) and not os.path.islink(path):
            with open(path, encoding="utf-8") as source:
                count = sum(len(line.rstrip("\n")) > MAX_COLUMNS for line in source)
            if count:
                parts = path.split(os.sep)
                found["/".join(parts[:2]) if parts[0] == "crates" else parts[0]] += count
    return found


def measure():
    """{count: (value, where)}."""
    found = crates()
    code, public, columns = {}, {}, long_lines()
    for crate in found:
        code[crate.directory] = sum(lines_of_code(crate.in_folder(f)) for f in ("src", "examples"))
        if crate.name in CORE:
            public[crate.directory] = len(public_items(crate))
    return {
        "code_lines": summed(code),
        "public_items": summed(public),
        "circles": listed("\n      ".join(group) for crate in found for group in circles(crate)),
        "long_files": sized(found, long_files),
        "long_functions": sized(found, long_functions),
        "large_structs": sized(found, large_structs),
        "duplicate_types": listed(
            f"{crate.directory}: {name}: {' '.join(paths)}"
            for crate in found
            for name, paths in duplicate_types(crate)
        ),
        "long_lines": summed(columns),
        "tracked_bytes": (sum(os.lstat(path).st_size for path in tracked()), []),
    }


def sized(found, count):
    return listed(f"{size:6} {place}" for crate in found for size, place in count(crate))


def summed(parts):
    return sum(parts.values()), [f"{size:6} {name}" for name, size in sorted(parts.items())]


def listed(where):
    where = list(where)
    return len(where), where


def read_limits():
    with open(CEILINGS, encoding="utf-8") as file:
        return json.load(file)


def report(counts):
    limits = read_limits()
    for name, (value, where) in counts.items():
        limit = limits[name]
        print(f"{name}: {value} (ceiling {limit['ceiling']}, target {limit['target']})")
        for line in where:
            print(f"    {line}")


def check(counts):
    limits = read_limits()
    high = 0
    for name, (value, where) in counts.items():
        ceiling, target = limits[name]["ceiling"], limits[name]["target"]
        verdict = "ok" if value <= ceiling else "too high"
        print(f"{name}: {value}, ceiling {ceiling}, target {target}: {verdict}")
        if value > ceiling:
            high += 1
            print("\n".join(f"    {line}" for line in where))
    return 1 if high else 0


def tighten(counts):
    limits = read_limits()
    for name, (value, _) in counts.items():
        ceiling = limits[name]["ceiling"]
        limits[name]["ceiling"] = max(min(ceiling, value), limits[name]["target"])
    with open(CEILINGS, "w", encoding="utf-8") as file:
        rows = [f'  "{name}": {json.dumps(row)}' for name, row in limits.items()]
        file.write("{\n" + ",\n".join(rows) + "\n}\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", default=os.path.dirname(HERE))
    for option in ("--check", "--tighten", "--self-test"):
        parser.add_argument(option, action="store_true")
    options = parser.parse_args()
    if options.self_test:
        from rust import tests

        return tests.run()
    os.chdir(options.root)
    counts = measure()
    if options.check:
        return check(counts)
    if options.tighten:
        tighten(counts)
    report(counts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
