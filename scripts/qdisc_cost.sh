#!/bin/sh
# Measures the cost of each discipline for a packet, enqueue and dequeue together, with few and with
# many active flows: packets a second, and instructions, which are the same in every run.
# Exit codes: 0 ok, 1 failed, 77 cannot run here.
set -eu

cd "$(dirname "$0")/.."
PACKETS=65536

if ! command -v valgrind >/dev/null 2>&1; then
    echo "qdisc_cost.sh: valgrind is not installed: it counts the instructions" >&2
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

cargo build --quiet --release -p taut-path --example qdisc_cost
cost=${CARGO_TARGET_DIR:-target}/release/examples/qdisc_cost
"$cost"

# instructions QDISC FLOWS PACKETS [full|burst]: the total of one process.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file="$work/out" "$cost" "$@" \
        >"$work/stdout" 2>"$work/stderr" || {
        cat "$work/stderr" >&2
        return 1
    }
    sed -n 's/^summary: //p' "$work/out"
}

echo
echo "instructions for each packet, enqueue and dequeue (full: and one more, dropped)"
printf '%-29s%9s%9s%9s%9s\n' 'active flows' 1 100 1024 10000
while IFS=, read -r qdisc how; do
    printf '%-29s' "$qdisc${how:+, $how}"
    for flows in 1 100 1024 10000; do
        # The remainder is for creating and filling the discipline.
        all=$(instructions "$qdisc" "$flows" "$PACKETS" ${how:+"$how"})
        setup=$(instructions "$qdisc" "$flows" 0 ${how:+"$how"})
        printf '%9s' "$(((all - setup) / PACKETS))"
    done
    echo
done <<END
pfifo_fast,
pfifo,
codel,
fq_codel,
fq_codel flows 16384,
pfifo,burst
fq_codel flows 16384,burst
fq_codel,full
fq_codel flows 16384,full
END
