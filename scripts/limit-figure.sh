#!/bin/sh
# Draws docs/limit-rules.svg: the requirement of each interval and the limits of the rules, for
# exponential gaps.
# usage: scripts/limit-figure.sh
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cargo run --quiet --release --locked -p taut -- sim limit-rules --only p02 \
    --limit fixed --limit dql --limit taut --report "$dir/limit-rules.svg" >/dev/null
# The first two charts are bars.
mv "$dir/limit-rules-3.svg" docs/limit-rules.svg
