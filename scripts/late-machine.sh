#!/bin/sh
# Measures limits on a packet ring whose thread wakes late, with and without a time cap, and writes
# docs/late-machine.md, docs/late-machine.svg and docs/live/late-machine.json. It runs `taut lab
# rr-under-load --driver af_packet` at 100 Mbit/s next to 0, 1 and 3 busy loops, with real-time and
# with ordinary priority; then over the length of the cap, live and simulated.
# Measurements are kept in RESULTS and not repeated, so the script can be interrupted and continued.
# Needs root, two processors and an idle machine: ROUNDS=5 (the default) takes 45 minutes, ROUNDS=2
# 18.
# usage: [ROUNDS=5] [DURATION=4s] [RESULTS=target/late-machine] scripts/late-machine.sh
# Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
set -eu

if [ $# -ne 0 ]; then
    echo "usage: scripts/late-machine.sh" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-5}
duration=${DURATION:-4s}
results=${RESULTS:-target/late-machine}
cargo build --quiet --release --locked -p taut
taut=${CARGO_TARGET_DIR:-target}/release/taut
mkdir -p "$results"
. scripts/busy-loops.sh
trap stop_loops EXIT
trap 'exit 1' HUP INT TERM

# live NAME LOOPS OPTION..: one run of the rows.
live() {
    file=$results/$1.json
    [ ! -e "$file" ] || return 0
    echo "scripts/late-machine.sh: $1" >&2
    start_loops "$2"
    shift 2
    "$taut" lab rr-under-load --driver af_packet --rate 100mbit --duration "$duration" -j "$@" \
        >"$file.part"
    stop_loops
    mv "$file.part" "$file"
}

rules="--limit dql --limit taut --limit dql:2ms --limit taut:99.9%:2ms"
caps="0.5ms 1ms 2ms 5ms 10ms 20ms"
curve=
for cap in $caps; do
    curve="$curve --limit dql:$cap --limit taut:99.9%:$cap"
done
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for busy in 0 1 3; do
        # shellcheck disable=SC2086
        {
            live "table-$busy-realtime-$round" "$busy" $rules
            live "table-$busy-ordinary-$round" "$busy" $rules --no-real-time
        }
    done
    # shellcheck disable=SC2086
    {
        live "curve-quiet-$round" 0 --only limit=on $curve --limit dql --limit taut
        live "curve-late-$round" 3 --only limit=on $curve --limit dql --limit taut --no-real-time
    }
done
# The same, simulated: a thread polls each 250 us, and one poll in 2,000 or 40 comes after 10 ms.
# The random numbers are computed here, because each awk has a generator of its own.
pattern() {
    awk -v id="$1" -v one_in="$2" 'BEGIN {
        printf "{\"id\": \"%s\", \"rate_bytes_per_us\": 12.5, ", id
        printf "\"end_ns\": 30000000000, \"warm_ns\": 5000000000}\n"
        draw = 1
        for (at = 0; at < 30e9; at += gap) {
            # The minimal standard generator of Park and Miller.
            draw = (draw * 16807) % 2147483647
            gap = draw / 2147483647 * one_in < 1 ? 10000000 : 250000
            print gap, 0
        }
    }' >"$results/$1.pattern"
}
pattern late-rarely 2000
pattern late-often 40
# shellcheck disable=SC2086
"$taut" sim limit-rules --pattern "$results/late-rarely.pattern" \
    --pattern "$results/late-often.pattern" --limit dql --limit taut $curve \
    -j >"$results/simulated.json.part"
mv "$results/simulated.json.part" "$results/simulated.json"
python3 scripts/late_machine.py "$results"
