"""Draws charts of recorded results with the example `plot` of taut-report."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def draw(charts, path):
    """Writes `charts`, as the example describes them, to the SVG file `path`."""
    command = ["cargo", "run", "--quiet", "--locked", "-p", "taut-report", "--example", "plot"]
    text = json.dumps(charts).encode()
    done = subprocess.run(command, cwd=ROOT, input=text, stdout=subprocess.PIPE, check=True)
    path.write_bytes(done.stdout)
