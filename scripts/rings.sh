#!/bin/sh
# Measures and writes docs/rings.md, its charts and the documents in docs/live: sweeps of depths and
# limits over both drivers, and the forwarder compared with the kernel's bridge. Needs root and an
# idle machine; takes about eight minutes.
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
trap 'exit 1' HUP INT TERM

"$taut" lab ring -j --svg "$new/rings.svg" >"$new/ring.json"
"$taut" lab forward --duration 10s -j --report "$new/rings-forward.md" >"$new/forward.json"
mv "$new"/rings.svg "$new"/rings-forward-*.svg docs/
mv "$new/ring.json" "$new/forward.json" docs/live/
python3 scripts/rings.py >"$new/rings.md"
mv "$new/rings.md" docs/
