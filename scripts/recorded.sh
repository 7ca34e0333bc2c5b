#!/bin/sh
# Compares limit rules on recorded completion traces. Records live rings that are saturated without
# a limit, converts their traces (scripts/trace_to_pattern.py), and writes a table in
# docs/limit-rules.md: every rule on each trace of docs/live/recorded, compared with the smallest
# sufficient limit. Existing files are not recorded again. Without an argument, only the table is
# written. The lab no longer has the load of r01 to r03, which cannot be recorded again. Recording
# needs root and a minute.
# usage: scripts/recorded.sh [record]
# Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
set -eu

case $# in
    0) record=no ;;
    1) [ "$1" = record ] || { echo "usage: scripts/recorded.sh [record]" >&2; exit 2; }
       record=yes ;;
    *) echo "usage: scripts/recorded.sh [record]" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
cargo build --quiet --release --locked -p taut
taut=${CARGO_TARGET_DIR:-target}/release/taut
recorded=docs/live/recorded
mkdir -p "$recorded"
new=$(mktemp -d)
. scripts/busy-loops.sh
trap 'stop_loops; rm -rf "$new"' EXIT
trap 'exit 1' HUP INT TERM

# record NAME LOOPS OPTION..: records 4 s of the lab without a limit, after 1 s, next to LOOPS busy
# loops.
record() {
    file=$recorded/$1.pattern.gz
    [ ! -e "$file" ] || return 0
    name=$1
    start_loops "$2"
    shift 2
    "$taut" lab rr-under-load --limit off "$@" \
        --duration 5s --trace "$new/a.trace" --trace-max-size 1g >/dev/null
    stop_loops
    # A trace of a ring that ran empty is rejected; the others are still recorded.
    if python3 scripts/trace_to_pattern.py "$new/a.trace" "$name" 1 4 >"$new/a.pattern"; then
        gzip -9n <"$new/a.pattern" >"$file"
    fi
}

if [ "$record" = yes ]; then
    packets="--driver af_packet --only limit=off --streams 400"
    # shellcheck disable=SC2086
    {
        record r04-tcp-realtime-100mbit 0 $packets --rate 100mbit --ring 4096
        record r05-tcp-ordinary-100mbit-3-loops 3 $packets --rate 100mbit --ring 4096 --no-real-time
        record r06-tap-100mbit 0 --rate 100mbit --only limit=off,tso=off --ring 4096 --streams 400
    }
fi
patterns=
for file in "$recorded"/*.pattern.gz; do
    name=$(basename "$file" .gz)
    gzip -dc "$file" >"$new/$name"
    patterns="$patterns --pattern $new/$name"
done
# shellcheck disable=SC2086
"$taut" sim limit-rules $patterns --limit fixed --limit dql --limit taut --csv >"$new/rows.csv"
{
    echo "| pattern | dql | taut |"
    echo "|---|--:|--:|"
    awk -F, '
    NR == 1 { for (at = 1; at <= NF; at++) column[$at] = at; next }
    {
        pattern = $column["pattern"]
        if (!(pattern in known)) { known[pattern] = 1; order[++count] = pattern }
        kept[$column["rule"]] += $column["utilisation"] >= 0.999
        cell[pattern, $column["rule"]] = sprintf("%.2f / %.3f / %.0f", $column["ratio"],
            100 * $column["utilisation"], $column["hp_delay_us_p99"])
    }
    END {
        for (at = 1; at <= count; at++) {
            it = order[at]
            printf "| %s | %s | %s |\n", it, cell[it, "dql"], cell[it, "taut"]
        }
        printf "\nBusy for 99.9 %%: dql on %d of %d, taut on %d.\n",
            kept["dql"], count, kept["taut"]
    }' "$new/rows.csv"
} >"$new/table.md"
# Replaces the lines between the marks.
awk -v table="$new/table.md" '
/^<!-- recorded patterns: end -->$/ { inside = 0 }
!inside { print }
/^<!-- recorded patterns: / && !/ end -->$/ {
    inside = 1
    print ""
    while ((getline line <table) > 0) print line
    print ""
}
' docs/limit-rules.md >"$new/page.md"
mv "$new/page.md" docs/limit-rules.md
