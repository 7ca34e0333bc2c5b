#!/bin/sh
# Measures the accuracy of a replay: traces live runs under several limits, replays each trace under
# the others, and compares bytes in flight with those of the live run under that limit. Writes
# docs/live/replay.txt, and the summary to standard output too.
# usage: scripts/live-replay.sh
# Exit codes: 0 ok, 1 failed, 77 cannot run here.
set -eu
cd "$(dirname "$0")/.."
cargo build --quiet --release --locked -p taut
taut=${CARGO_TARGET_DIR:-target}/release/taut
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# Bytes in flight of the trace under each limit, and of the replays, as ratios.
summary() {
    awk '
    function bytes(text) { gsub(/,/, "", text); return text + 0 }
    / in the mean when it was traced, under / {
        name = $0; sub(/: [0-9]+ bytes in flight.*/, "", name)
        mean = $0; sub(/^.*: /, "", mean); sub(/ bytes in flight.*/, "", mean)
        rule = $0; sub(/^.*under /, "", rule); sub(/\.$/, "", rule)
        there[name] = rule; live[rule] = mean
    }
    /^limit .*  [0-9]/ {
        split($0, part, /  +/)
        row[++rows] = part[1]; as[rows] = part[2]; mean_of[rows] = bytes(part[3])
    }
    END {
        printf "%-10s %-12s %15s %15s %7s\n",
            "traced", "replayed as", "replay (mean)", "live (mean)", "ratio"
        for (at = 1; at <= rows; at++) {
            rule = as[at]
            if (rule in live)
                printf "%-10s %-12s %15d %15d %7.2f\n",
                    there[row[at]], rule, mean_of[at], live[rule], mean_of[at] / live[rule]
        }
    }' "$1"
}

# A fixed limit and the adaptive rules; other arguments are options of the lab.
run() {
    limits="--limit dql --limit taut --limit $1"
    shift
    "$taut" lab rr-under-load "$@" --duration 3s $limits --trace "$dir/a.trace" \
        --trace-max-size 1g >/dev/null
    "$taut" replay "$dir/a.trace" $limits >"$dir/replay.txt"
    echo "## taut lab rr-under-load $* --duration 3s $limits"
    echo
    summary "$dir/replay.txt"
    echo
}

{
    echo "# Bytes in flight, queued and not reported: replayed, and live under the same limit."
    kernel=$(uname -r | cut -d. -f1,2)
    echo "# Linux $kernel, $(nproc) cores; one run each. Written by scripts/live-replay.sh"
    echo
    run 40k --only tso=off
    run 100k --only tso=on
    run 40k --driver af_packet
} >"$dir/all.txt"
cp "$dir/all.txt" docs/live/replay.txt
cat docs/live/replay.txt
