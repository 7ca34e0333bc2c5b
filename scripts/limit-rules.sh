#!/bin/sh
# The long comparison of limit rules: every family with 8 seeds of 120 s. Writes
# limit-rules.json and limit-rules.html into DIR, and the same as limit-rules-f11 for f11, which
# sends two million packets a second and so is run for 8 s. Some four minutes of CPU time: the
# traces run on all cores, the seeds of a trace one after another.
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
compare() {
    name=$1
    shift
    cargo run --quiet --release --locked -p taut -- sim limit-rules "$@" \
        --limit fixed --limit dql --limit "dql every 1ms" --limit taut \
        --seeds 8 -j --report "$dir/$name.html" >"$dir/$name.json"
}
compare limit-rules --warm-up 10s --duration 120s --only f0 --only f10 --only f12 --only f13 \
    --only f14 --only f15 --only f16
compare limit-rules-f11 --warm-up 2s --duration 8s --only f11
