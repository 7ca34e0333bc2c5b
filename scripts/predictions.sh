#!/bin/sh
# Writes docs/predictions.md from the simulator and from the lab's last documents in docs/live.
# With --check, changes nothing and fails if the page differs from the one it would write.
# Exit codes: 0 ok, 1 failed, 3 the page is stale.
set -eu

cd "$(dirname "$0")/.."
new=$(mktemp)
trap 'rm -f "$new"' EXIT
trap 'exit 1' HUP INT TERM

cargo run --quiet --release --locked -p taut-scenarios --example predictions -- \
    scripts/predictions-head.md docs/live/rr-under-load.json >"$new"
if [ "${1:-}" = --check ]; then
    diff -u docs/predictions.md "$new" || {
        echo "predictions.sh: docs/predictions.md is stale: run scripts/predictions.sh" >&2
        exit 3
    }
else
    cp "$new" docs/predictions.md
fi
