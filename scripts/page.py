"""What the scripts share that measure, keep the results and write pages of docs/ from them."""

import contextlib
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parent
ROOT = SCRIPTS.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
LIVE = ROOT / "docs/live"


def build(*selected):
    """Builds a release, of the command unless selected otherwise. Returns its folder."""
    command = ["cargo", "build", "--quiet", "--release", "--locked", *(selected or ("-p", "taut"))]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return TARGET / "release"


def output(*command):
    """The standard output of a command. Its failure ends the script with its exit code."""
    done = subprocess.run([str(it) for it in command], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


@contextlib.contextmanager
def busy_loops(count):
    """Runs loops at ordinary priority, to measure an overloaded machine."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def options(name, values):
    """A repeatable option with each value."""
    return [word for value in values for word in (name, value)]


def load(name):
    """The record docs/live/NAME."""
    content = (LIVE / name).read_bytes()
    return json.loads(gzip.decompress(content) if name.endswith(".gz") else content)


def keep(name, record):
    """Writes the record docs/live/NAME, with the same bytes for the same values."""
    content = (json.dumps(record, indent=1) + "\n").encode()
    # Replaced as a whole: a script that continues from its record can be interrupted.
    new = LIVE / f"{name}.new"
    new.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    new.replace(LIVE / name)


def run(description, measure, write):
    """Measures and writes a page. With --page, only writes it. Returns the exit code."""
    if sys.argv[1:] not in ([], ["--page"]):
        print(description, file=sys.stderr)
        return 2
    if not sys.argv[1:]:
        measure()
    write()
    return 0


def fill(name, values):
    """The text scripts/NAME, with each @KEY@ replaced by its value."""
    text = (SCRIPTS / name).read_text()
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def table(columns, rows, left=1):
    """A Markdown table. All columns except the first `left` are aligned to the right."""
    marks = "|" + "---|" * left + "--:|" * (len(columns) - left)
    lines = ["| " + " | ".join(map(str, cells)) + " |" for cells in [columns, *rows]]
    return "\n".join([lines[0], marks, *lines[1:]])


def marked(text, met):
    """A result, in bold if it misses its target."""
    return text if met else f"**{text}**"


def spread(values):
    """The range of the values, or the one value."""
    low, high = min(values), max(values)
    return f"{low:g} to {high:g}" if low != high else f"{low:g}"


def bars(title, x_title, y_title, groups):
    """A chart with bars: the name of each group, and the value of each limit in it."""
    lines = []
    for at, limit in enumerate(("plain", "dql", "taut")):
        points = []
        for number, (_, values) in enumerate(groups, 1):
            if limit in values:
                left, top = number - 0.4 + at * 0.27, values[limit]
                right = left + 0.25
                points += [[left, 0], [left, top], [right, top], [right, 0]]
        lines.append({"label": limit, "color": limit, "stroke": "filled", "points": points})
    high = max(max(point[1] for point in line["points"]) for line in lines)
    return {"title": title, "x": {"title": x_title, "names": [name for name, _ in groups]},
            "y": {"title": y_title, "low": 1, "high": high}, "lines": lines}


def draw(charts, path):
    """Writes `charts`, as the example `plot` of taut-report describes them, to an SVG file."""
    command = ["cargo", "run", "--quiet", "--locked", "-p", "taut-report", "--example", "plot"]
    text = json.dumps(charts).encode()
    done = subprocess.run(command, cwd=ROOT, input=text, stdout=subprocess.PIPE, check=True)
    path.write_bytes(done.stdout)
