#!/bin/sh
# Counts the instructions for a packet of the estimator, compared with the widely deployed C
# implementation, of the whole path and of the simulator. Writes docs/cost.json, which
# docs/predictions.md uses, and the tables of docs/cost.md.
# With --check, counts path and simulator alone, changes nothing, and fails if a count is more than
# 3 % above the one in docs/cost.json, which holds for one compiler only.
# Counts, unlike times, are the same in every run of one compiler.
# Exit codes: 0 ok, 1 failed, 3 a count is too high, 77 cannot run here.
set -eu

check=
case ${1:-} in
'') ;;
--check) check=1 ;;
*)
    echo "usage: scripts/cost.sh [--check]" >&2
    exit 2
    ;;
esac

cd "$(dirname "$0")/.."
PACKETS=1048576

if ! command -v valgrind >/dev/null 2>&1; then
    echo "cost.sh: valgrind is not installed; it counts the instructions" >&2
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

toolchain=$(rustc --version)

estimator() {
    cargo build --quiet --release -p taut-dql --example cost
    cost=${CARGO_TARGET_DIR:-target}/release/examples/cost

    # instructions VARIANT BATCH DEPTH: the total of one process. Also checks its output.
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

    echo "instructions for each packet, without those of the empty loop"
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
        row="\"batch_packets\": $batch, \"depth\": $depth, \"owned\": $owned"
        row="$row, \"shared\": $shared, \"reference\": $reference"
        estimator_rows="$estimator_rows${estimator_rows:+,
}    {$row}"
    done <<EOF
1 0 77 2278 814848784
1 16 101 0 814834702
8 0 16.6 13098 814848784
8 16 20.5 0 814759111
64 0 9.1 112686 814848784
64 16 10.4 0 814065803
EOF
}

if [ -z "$check" ]; then
    above=0
    estimator_rows=
    estimator
    echo
fi

cargo build --quiet --release -p taut-path --example path_cost --example split_cost
examples=${CARGO_TARGET_DIR:-target}/release/examples
path=$examples/path_cost
cargo build --quiet --release -p taut-sim --example speed
simulator=$examples/speed

# path_run LIMIT BATCH PACKETS VARIANT [callgrind's options]: fails unless all packets complete.
path_run() {
    # Words, or none.
    # shellcheck disable=SC2086
    valgrind --tool=callgrind ${5-} --callgrind-out-file="$work/out" \
        "$path" "$1" "$2" "$3" "$4" >"$work/stdout" 2>"$work/stderr" || {
        cat "$work/stderr" >&2
        return 1
    }
    if [ "$(cat "$work/stdout")" != "$3" ]; then
        echo "cost.sh: $1 $2 $4: $(cat "$work/stdout") of $3 packets were completed" >&2
        return 1
    fi
}

# path_instructions LIMIT BATCH VARIANT: for a packet; the difference of two runs, without start
# and end.
path_instructions() {
    path_run "$1" "$2" 65536 "$3"
    few=$(sed -n 's/^summary: //p' "$work/out")
    path_run "$1" "$2" 196608 "$3"
    many=$(sed -n 's/^summary: //p' "$work/out")
    awk -v few="$few" -v many="$many" 'BEGIN { printf "%.1f", (many - few) / 131072 }'
}

# split_instructions VARIANT: for an object, as above.
split_instructions() {
    for packets in 16384 49152; do
        valgrind --tool=callgrind --callgrind-out-file="$work/out" \
            "$examples/split_cost" "$1" "$packets" >"$work/stdout" 2>"$work/stderr" || {
            cat "$work/stderr" >&2
            return 1
        }
        if [ "$(cat "$work/stdout")" != "$packets" ]; then
            echo "cost.sh: GSO packets, $1:" \
                "$(cat "$work/stdout") of $packets objects were completed" >&2
            return 1
        fi
        sed -n 's/^summary: //p' "$work/out"
    done | awk '{ total[NR] = $1 } END { printf "%.1f", (total[2] - total[1]) / 32768 }'
}

# simulator_instructions: for a packet of the speed benchmark with 100 flows.
simulator_instructions() {
    valgrind --tool=callgrind --callgrind-out-file="$work/out" "$simulator" 100 \
        >"$work/stdout" 2>"$work/stderr" || {
        cat "$work/stderr" >&2
        return 1
    }
    # The row of the case: flows, limit, and the packets of both directions.
    packets=$(awk 'END { print $3 + $4 }' "$work/stdout")
    awk -v packets="$packets" '/^summary: / { printf "%.1f\n", $2 / packets }' "$work/out"
}

# path_locked BATCH VARIANT: fences and locked instructions for a packet.
path_locked() {
    path_run dql "$1" 196608 "$2" --dump-instr=yes
    locked=$(python3 scripts/locked_instructions.py "$work/out" <"$work/disassembly")
    awk -v locked="$locked" 'BEGIN { printf "%.2f", locked / 196608 }'
}

if [ -n "$check" ]; then
    kept=$(sed -n 's/.*"toolchain": "\(.*\)".*/\1/p' docs/cost.json)
    if [ "$kept" != "$toolchain" ]; then
        echo "cost.sh: not compared: docs/cost.json is from $kept, this is $toolchain"
        exit 0
    fi
    high=0
    for batch in 1 8 64; do
        row=$(grep "\"batch_packets\": $batch,.*\"any\"" docs/cost.json)
        for variant in owned any shared; do
            was=$(echo "$row" | sed "s/.*\"$variant\": \([0-9.]*\).*/\1/")
            is=$(path_instructions dql "$batch" "$variant")
            verdict=$(awk -v was="$was" -v is="$is" \
                'BEGIN { print (is > was * 1.03) ? "too high" : "ok" }')
            echo "batch $batch, $variant: $is instructions a packet, kept $was: $verdict"
            [ "$verdict" = ok ] || high=$((high + 1))
        done
    done
    for variant in uncut whole pieces alone; do
        was=$(sed -n "s/.*\"split-$variant\": \([0-9.]*\).*/\1/p" docs/cost.json)
        is=$(split_instructions "$variant")
        verdict=$(awk -v was="$was" -v is="$is" \
            'BEGIN { print (is > was * 1.03) ? "too high" : "ok" }')
        echo "GSO packets, $variant: $is instructions an object, kept $was: $verdict"
        [ "$verdict" = ok ] || high=$((high + 1))
    done
    was=$(sed -n 's/.*"simulator": \([0-9.]*\).*/\1/p' docs/cost.json)
    is=$(simulator_instructions)
    verdict=$(awk -v was="$was" -v is="$is" 'BEGIN { print (is > was * 1.03) ? "too high" : "ok" }')
    echo "simulator: $is instructions a packet, kept $was: $verdict"
    [ "$verdict" = ok ] || high=$((high + 1))
    [ "$high" -eq 0 ] || exit 3
    exit 0
fi

echo "instructions for each packet on the whole path: fifo, limit, ring, completion; limits and"
echo "threads as columns. owned: one thread, static types; any: chosen by name; ring: the example's"
echo "own ring, sink and packet, which all of them contain; bare: an rtrb ring alone"
columns="off:owned fixed:owned dql:owned dql:any dql:shared dql:ring dql:bare"
printf '%5s %8s %8s %8s %8s %8s %8s %8s\n' batch off fixed dql any 'two thr.' ring bare
rows=
for batch in 1 8 64; do
    printf '%5s' "$batch"
    row="{\"batch_packets\": $batch"
    for column in $columns; do
        limit=${column%:*}
        variant=${column#*:}
        count=$(path_instructions "$limit" "$batch" "$variant")
        printf ' %8s' "$count"
        name=$variant
        [ "$variant" = owned ] && row="$row, \"$limit\": $count"
        [ "$limit" = dql ] && row="$row, \"$name\": $count"
    done
    echo
    rows="$rows${rows:+,
}    $row}"
done
echo
echo "GSO packets, for an object (owned, dql, 16 a batch). plain: packets, late segmentation off;"
echo "uncut: packets, late segmentation on; whole: GSO packets sent whole; pieces: chunks of them;"
echo "alone: chunks under a limit of one object, sent and completed one at a time;"
echo "plain-alone: packets under that limit"
split=
for variant in plain uncut whole pieces plain-alone alone; do
    count=$(split_instructions "$variant")
    printf '%11s %8s\n' "$variant" "$count"
    split="$split\"split-$variant\": $count, "
done
in_simulator=$(simulator_instructions)
echo
echo "the simulator, a packet of its speed benchmark with 100 flows: $in_simulator"
format='{\n  "version": 1,\n  "unit": "instructions for each packet",\n  "toolchain": "%s",\n'
format=$format'  %s"simulator": %s,\n  "estimator": [\n%s\n  ],\n  "rows": [\n%s\n  ]\n}\n'
printf "$format" \
    "$toolchain" "$split" "$in_simulator" "$estimator_rows" "$rows" >docs/cost.json
python3 scripts/cost_page.py

if command -v objdump >/dev/null 2>&1; then
    objdump -d "$path" >"$work/disassembly"
    echo
    echo "fences and locked instructions for each packet, which cost more than other instructions"
    printf '%5s %8s %8s %8s\n' batch owned 'two thr.' bare
    for batch in 1 8 64; do
        printf '%5s' "$batch"
        for variant in owned shared bare; do
            printf ' %8s' "$(path_locked "$batch" "$variant")"
        done
        echo
    done
else
    echo "cost.sh: objdump is not installed: fences are not counted" >&2
fi

if [ "$above" -gt 0 ]; then
    echo "cost.sh: the owned variant of the estimator is above the reference in $above of 6 cases" \
        >&2
    exit 3
fi
