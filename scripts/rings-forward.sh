#!/bin/sh
# Measures the forwarder against the kernel's bridge. Writes its section of docs/rings.md to
# standard output, and the charts and the document of the run into docs. Part of scripts/rings.sh.
# usage: scripts/rings-forward.sh
# Exit codes: 0 ok, 1 failed, 77 cannot run here.
set -eu
cd "$(dirname "$0")/.."
cargo build --quiet --release --locked -p taut
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

page=$dir/rings-forward.md
target/release/taut lab forward --duration 10s -j --report "$page" >"$dir/forward.json"
mv "$dir/forward.json" docs/live/
mv "$dir"/rings-forward-*.svg docs/
{
    scripts/section.sh "$page" Rows
    echo
    scripts/section.sh "$page" Notes
} >"$dir/rows"
# The prose, with the table in its place.
sed -e "/^TABLE\$/{r $dir/rows" -e 'd}' scripts/rings-forward.md
