#!/bin/sh
# Measures what cutting super-packets at the last moment gives, and writes docs/split.md, its drawing
# docs/split.svg and the rows docs/live/split.json: taut lab rr-under-load over rates and limits, with
# super-packets whole, cut in two ways, and cut by the sender. Medians of RUNS (default 10) runs; NOTE is said
# beside them. Needs root, three minutes a run, and a machine that does nothing else.
# What was measured is kept in target/split.rows until the page is written: interrupted, it goes on there. Rows
# of another binary or duration are measured anew.
# usage: scripts/split.sh
# Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
set -eu

if [ $# -ne 0 ]; then
    echo "usage: scripts/split.sh" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
runs=${RUNS:-10}
rates=${RATES:-2mbit 20mbit 100mbit 1gbit}
duration=${DURATION:-2s}
cargo build --quiet --release --locked -p taut
target=${CARGO_TARGET_DIR:-target}
taut=$target/release/taut
kept=$target/split.rows
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

# What the rows are of; those of anything else are of no use.
of="# $(sha256sum "$taut" | cut -c1-16) $duration"
[ "$(head -n 1 "$kept" 2>/dev/null || true)" = "$of" ] || echo "$of" >"$kept"

# rows RUN RATE: one line for each row: run, rate, limit, who cuts how, requests a second, bytes in the ring,
# goodput in Mbit/s, processor seconds for a gigabyte.
rows() {
    for only in bql=on bql=off; do
        ways="--split off"
        [ "$only" = bql=off ] || ways="$ways --split auto --split all"
        # shellcheck disable=SC2086 # several words
        "$taut" lab rr-under-load --rate "$2" --limit dql --limit taut $ways --only "$only" \
            --duration "$duration" -j >"$new/document.json" || return
        awk -v run="$1" -v rate="$2" '
        function value() { gsub(/[",]/, "", $2); return $2 }
        $1 == "\"limit\":" { limit = value() }
        $1 == "\"tso\":" { tso = value() }
        $1 == "\"split\":" { name = tso == "true" ? value() : "sender" }
        $1 == "\"inflight_bytes\":" { inside = 1 }
        $1 == "\"waiting_packets\":" { inside = 0 }
        inside && $1 == "\"p50\":" { ring = value() }
        $1 == "\"rr_tps\":" { tps = value() }
        $1 == "\"goodput_bps\":" { goodput = value() }
        $1 == "\"cpu_percent\":" {
            cpu = goodput > 0 ? value() / 100 * 8e9 / goodput : 0
            print run, rate, limit, name, tps, ring, goodput / 1e6, cpu
        }' "$new/document.json"
    done
}

run=0
while [ "$run" -lt "$runs" ]; do
    run=$((run + 1))
    for rate in $rates; do
        grep -q "^$run $rate " "$kept" && continue
        rows "$run" "$rate" >"$new/rows"
        # A row without requests was not read, or not measured; without a limit, some have none.
        if [ "$(awk '($5 > 0 || $3 == "off") && $7 > 0' "$new/rows" | wc -l)" -ne 10 ]; then
            echo "split.sh: run $run at $rate gave no ten rows:" >&2
            cat "$new/rows" >&2
            exit 1
        fi
        cat "$new/rows" >>"$kept"
        echo "run $run of $runs at $rate is kept" >&2
    done
done
# Runs or rates that are not wanted now may be kept, too.
awk -v runs="$runs" -v rates=" $rates " '$1 != "#" && $1 <= runs && index(rates, " " $2 " ")' "$kept" >"$new/all"

# Medians, tables and the drawing of all rows.
awk -v runs="$runs" -v duration="$duration" -v folder="$new" -f scripts/split.awk "$new/all"
{
    cat scripts/split-head.md
    echo "Medians of $runs runs of $duration a row, after 2 s of warm-up; \`RUNS=$runs scripts/split.sh\` writes them."
    [ -z "${NOTE:-}" ] || printf '\n%s\n' "$NOTE"
    cat "$new/tables.md"
} >"$new/split.md"
mv "$new/split.md" "$new/split.svg" docs/
mv "$new/split.json" docs/live/split.json
rm "$kept"
