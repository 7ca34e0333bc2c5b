#!/bin/sh
# The long comparison of limit rules: every family with 8 seeds of 120 s. Writes limit-rules.json
# and limit-rules.html into DIR. Minutes of one core: about 60; it uses all there are.
# usage: scripts/limit-rules.sh DIR
# Exit codes: 0 ok, 1 failed, 2 usage.
set -eu

if [ $# -ne 1 ]; then
    echo "usage: scripts/limit-rules.sh DIR" >&2
    exit 2
fi
mkdir -p "$1"
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
cargo run --quiet --release --locked -p taut -- sim limit-rules --only f \
    --rule fixed --rule dql --rule "dql every 1ms" --rule need --rule ladder \
    --seeds 8 --warm-up 10s --duration 120s \
    -j --report "$dir/limit-rules.html" >"$dir/limit-rules.json"
