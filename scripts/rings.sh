#!/bin/sh
# Measures and writes docs/rings.md, its drawings and the documents in docs/live: the sweeps of
# depths and limits over both drivers, and the forwarder beside the kernel's bridge. Needs root;
# about eight minutes, on a machine that does nothing else.
# usage: scripts/rings.sh
# Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
set -eu

if [ $# -ne 0 ]; then
    echo "usage: scripts/rings.sh" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
cargo build --quiet --release --locked -p taut
taut=${CARGO_TARGET_DIR:-target}/release/taut
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

"$taut" lab ring -j --svg "$new/rings.svg" --tables "$new/tables.md" >"$new/ring.json"
scripts/rings-forward.sh >"$new/forward.md"
{
    cat scripts/rings-head.md
    cat "$new/tables.md"
    cat "$new/forward.md"
} >"$new/rings.md"
mv "$new/rings.md" "$new/rings.svg" docs/
mv "$new/ring.json" docs/live/
