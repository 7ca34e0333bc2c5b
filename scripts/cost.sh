#!/bin/sh
# Counts what the estimator costs, in instructions for each packet, and compares the owned variant
# with the widely deployed C implementation; then what a packet costs on the whole path with the
# limit off, fixed, and dynamic, which it also writes to docs/cost.json for docs/predictions.md.
# Counts, unlike times, are the same in every run of one compiler.
# Exit codes: 0 ok, 1 failed, 3 the owned variant costs more than the reference, 77 cannot run here.
set -eu

cd "$(dirname "$0")/.."
PACKETS=1048576

if ! command -v valgrind >/dev/null 2>&1; then
    echo "cost.sh: valgrind is not installed: it counts the instructions" >&2
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

cargo build --quiet --release -p taut-dql --example cost
cost=${CARGO_TARGET_DIR:-target}/release/examples/cost

# instructions VARIANT BATCH DEPTH: the total of one process. What it prints must be right, too.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file="$work/out" \
        "$cost" "--$1" "$2" "$3" >"$work/stdout" 2>"$work/stderr" || {
        cat "$work/stderr" >&2
        return 1
    }
    if [ "$1" != empty ] && [ "$(cat "$work/stdout")" != "$4" ]; then
        echo "cost.sh: $1 $2 $3 ended with: $(cat "$work/stdout"), expected: $4" >&2
        return 1
    fi
    sed -n 's/^summary: //p' "$work/out"
}

# per_packet TOTAL EMPTY
per_packet() {
    awk -v total="$1" -v empty="$2" -v packets="$PACKETS" \
        'BEGIN { printf "%.2f", (total - empty) / packets }'
}

echo "instructions for each packet, the empty loop taken off"
printf '%5s %5s %8s %10s %12s\n' batch depth owned two-thread 'reference C'
above=0
while read -r batch depth reference limit completed; do
    ends="limit $limit num_queued 814848784 num_completed $completed"
    empty=$(instructions empty "$batch" "$depth" '')
    owned=$(instructions owned "$batch" "$depth" "$ends")
    shared=$(instructions shared "$batch" "$depth" "$ends")
    owned=$(per_packet "$owned" "$empty")
    shared=$(per_packet "$shared" "$empty")
    note=
    if awk -v owned="$owned" -v most="$reference" 'BEGIN { exit !(owned > most) }'; then
        note=' above'
        above=$((above + 1))
    fi
    printf '%5s %5s %8s %10s %12s%s\n' "$batch" "$depth" "$owned" "$shared" "$reference" "$note"
done <<EOF
1 0 77 2278 814848784
1 16 101 0 814834702
8 0 16.6 13098 814848784
8 16 20.5 0 814759111
64 0 9.1 112686 814848784
64 16 10.4 0 814065803
EOF

cargo build --quiet --release -p taut-path --example path_cost
path=${CARGO_TARGET_DIR:-target}/release/examples/path_cost

# path_instructions LIMIT BATCH PACKETS: all of them must have been completed.
path_instructions() {
    valgrind --tool=callgrind --callgrind-out-file="$work/out" \
        "$path" "$1" "$2" "$3" >"$work/stdout" 2>"$work/stderr" || {
        cat "$work/stderr" >&2
        return 1
    }
    if [ "$(cat "$work/stdout")" != "$3" ]; then
        echo "cost.sh: $1 $2: $(cat "$work/stdout") of $3 packets were completed" >&2
        return 1
    fi
    sed -n 's/^summary: //p' "$work/out"
}

# path_per_packet LIMIT BATCH: two runs, so that start and end count nothing.
path_per_packet() {
    few=$(path_instructions "$1" "$2" 65536)
    many=$(path_instructions "$1" "$2" 196608)
    awk -v few="$few" -v many="$many" 'BEGIN { printf "%.1f", (many - few) / 131072 }'
}

echo
echo "instructions for each packet on the whole path: fifo, limit, ring, completion"
printf '%5s %8s %8s %8s\n' batch off fixed dql
rows=
for batch in 1 8 64; do
    off=$(path_per_packet off "$batch")
    fixed=$(path_per_packet fixed "$batch")
    dql=$(path_per_packet dql "$batch")
    printf '%5s %8s %8s %8s\n' "$batch" "$off" "$fixed" "$dql"
    rows="$rows${rows:+,
}    {\"batch_packets\": $batch, \"off\": $off, \"fixed\": $fixed, \"dql\": $dql}"
done
printf '{\n  "version": 1,\n  "unit": "instructions for each packet",\n  "rows": [\n%s\n  ]\n}\n' \
    "$rows" >docs/cost.json

if [ "$above" -gt 0 ]; then
    echo "cost.sh: the owned variant is above the reference in $above of 6 cases" >&2
    exit 3
fi
