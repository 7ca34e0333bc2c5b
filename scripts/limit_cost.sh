#!/bin/sh
# Counts the cost of each limit: instructions for a packet and for a completion batch, and the
# memory of a queue. Counts, unlike times, are the same in every run.
# Exit codes: 0 ok, 1 failed, 77 cannot run here.
set -eu

cd "$(dirname "$0")/.."
PACKETS=1048576
# Many short batches and few long ones: two equations for the cost of a packet and of a batch.
MANY=131072
FEW=16384

if ! command -v valgrind >/dev/null 2>&1; then
    echo "limit_cost.sh: valgrind is not installed; it counts the instructions" >&2
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

cargo build --quiet --release -p taut-path --example limit_cost
cost=${CARGO_TARGET_DIR:-target}/release/examples/limit_cost

# instructions RULE GAPS BATCHES: the total of one process.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file="$work/out" "$cost" "$1" "$2" "$PACKETS" "$3" \
        >"$work/stdout" 2>"$work/stderr" || {
        cat "$work/stderr" >&2
        return 1
    }
    sed -n 's/^summary: //p' "$work/out"
}

echo "instructions, without those of the empty loop"
printf '%-8s %-8s %8s %8s\n' gaps rule packet batch
for gaps in even jitter rare; do
    none_many=$(instructions none "$gaps" "$MANY")
    none_few=$(instructions none "$gaps" "$FEW")
    for rule in off dql taut; do
        many=$(($(instructions "$rule" "$gaps" "$MANY") - none_many))
        few=$(($(instructions "$rule" "$gaps" "$FEW") - none_few))
        awk -v gaps="$gaps" -v rule="$rule" -v many="$many" -v few="$few" \
            -v m="$MANY" -v f="$FEW" -v packets="$PACKETS" 'BEGIN {
                round = (many - few) / (m - f)
                printf "%-8s %-8s %8.1f %8.1f\n", gaps, rule, (few - f * round) / packets, round
            }'
    done
done

echo
echo "bytes for each queue"
"$cost" memory
