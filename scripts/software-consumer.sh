#!/bin/sh
# Measures limits where the device is a program, live (`taut lab software-consumer`), and writes
# docs/software-consumer.md and the documents in docs/live. A case that was measured is kept in RESULTS and
# not measured again, so it can be stopped and started; take the directory away to begin anew.
# Needs root for real-time priority (--no-real-time is what others have), two processors, and a machine that
# does nothing else: ROUNDS=10 (the default) takes 30 minutes, ROUNDS=3 11; longer if runs are disturbed.
# usage: [ROUNDS=10] [DURATION=500ms] [RESULTS=target/software-consumer] scripts/software-consumer.sh
# Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
set -eu

if [ $# -ne 0 ]; then
    echo "usage: scripts/software-consumer.sh" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-10}
duration=${DURATION:-500ms}
results=${RESULTS:-target/software-consumer}
cargo build --quiet --release --locked -p taut
taut=${CARGO_TARGET_DIR:-target}/release/taut
mkdir -p "$results"
trap 'exit 1' HUP INT TERM

# measure NAME OPTION..: one case.
measure() {
    file=$results/$1.json
    shift
    [ ! -e "$file" ] || return 0
    "$taut" lab software-consumer --rounds "$rounds" --duration "$duration" -j "$@" >"$file.part"
    mv "$file.part" "$file"
}

for told in each poll 100us; do
    for core in shared own; do
        measure "slow-$core-$told" --consumer slow --core "$core" --told "$told"
        measure "fast-$core-$told" --consumer fast --core "$core" --told "$told"
    done
    # A poll of 64 takes longer than any latency of a sender that a rule believes.
    measure "slow200-shared-$told" --consumer slow --slow-packet 200us --core shared --told "$told"
done
python3 scripts/software_consumer.py "$results"
