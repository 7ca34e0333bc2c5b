#!/bin/sh
# Measures QUIC under a limit and writes docs/udp-and-quic.md, its charts and the documents in
# docs/live.
# Needs root and an idle machine; five repetitions of 3 s take about fifty minutes.
# usage: scripts/udp-and-quic.sh [REPETITIONS [DURATION]]
# Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
set -eu

if [ $# -gt 2 ]; then
    echo "usage: scripts/udp-and-quic.sh [REPETITIONS [DURATION]]" >&2
    exit 2
fi
rounds=${1:-5}
duration=${2:-3s}
cd "$(dirname "$0")/.."
cargo build --quiet --release --locked -p taut-quinn --example quic_under_load
quic=${CARGO_TARGET_DIR:-target}/release/examples/quic_under_load
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# Busy and total time of the processors, in ticks.
ticks() {
    awk '/^cpu / { for (at = 2; at <= 9; at++) all += $at; print all - $5 - $6, all }' /proc/stat
}

# The ticks in the output FILE of `times`: of this shell and its children.
own_ticks() {
    awk -v hertz="$(getconf CLK_TCK)" '
    {
        for (at = 1; at <= 2; at++) { split($at, part, "[ms]"); seconds += part[1] * 60 + part[2] }
    }
    END { printf "%d", seconds * hertz }' "$1"
}

# measure NAME OPTION..
measure() {
    name=$1
    shift
    echo "scripts/udp-and-quic.sh: $name" >&2
    report=$dir/udp-and-quic-$name.md
    "$quic" --repeat "$rounds" --duration "$duration" "$@" -j --report "$report" \
        >"$dir/quic-$name.json"
    scripts/section.sh "$report" "In per cent" >"$dir/$name.summary"
}

# `times` in a subshell measures the subshell only.
times >"$dir/times"
before="$(ticks) $(own_ticks "$dir/times")"
few="--only plain --only 32k --only bbr --only dql --only taut"
measure 2mbit --rate 2mbit
measure 20mbit --rate 20mbit
measure 100mbit --rate 100mbit
measure 500mbit --rate 500mbit
# shellcheck disable=SC2086
{
    measure falls --falls $few
    measure routed --topology routed $few
    measure bridged --topology bridged $few
    measure far --distance 50ms $few
}
# The share of CPU time that other programs used, in per cent.
times >"$dir/times"
busy=$(echo "$before $(ticks) $(own_ticks "$dir/times")" |
    awk '{ printf "%d", ($4 - $1 - ($6 - $3)) * 100 / ($5 - $2) + 0.5 }')
method="Medians of $rounds repetitions of $duration, all rows of a path in each, on $(nproc) CPUs
with Linux $(uname -r | sed 's/-.*//'). Other programs took $busy % of the processors' time"
if [ "$busy" -gt 5 ]; then
    method="$method: **the machine was busy**,
and the results include its load"
fi
python3 scripts/udp_and_quic.py "$dir" "$method." >"$dir/udp-and-quic.md"
mv "$dir/udp-and-quic.md" "$dir"/udp-and-quic-*.svg docs/
mv "$dir"/quic-*.json docs/live/
