#!/bin/sh
# Measures the forwarder beside the kernel's bridge, and writes what docs/rings.md has of it: the section to
# standard output, its drawings and the document of the run into docs. Part of scripts/rings.sh.
# usage: scripts/rings-forward.sh
# Exit codes: 0 ok, 1 failed, 77 cannot run here.
set -eu
cd "$(dirname "$0")/.."
cargo build --quiet --release --locked -p taut
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

. scripts/page-parts.sh

target/release/taut lab forward --duration 10s -j --report "$dir/page.html" >"$dir/forward.json"
mv "$dir/forward.json" docs/live/
for number in 1 2; do
    drawing "$dir/page.html" "$number" >"docs/rings-forward-$number.svg"
done
{
    table "$dir/page.html" Rows
    echo
    notes "$dir/page.html"
} >"$dir/rows"
# The prose, with the table in its place.
awk -v table="$dir/rows" '
/^TABLE$/ { while ((getline line <table) > 0) print line; next }
{ print }' scripts/rings-forward.md
