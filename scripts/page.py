"""Fills the texts in scripts/ that become pages of docs/."""

import pathlib

SCRIPTS = pathlib.Path(__file__).resolve().parent


def fill(name, values):
    """The text of `name`, with each @KEY@ replaced by its value."""
    text = (SCRIPTS / name).read_text()
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
