#!/bin/sh
# Limit rules on patterns that no generator made: records live rings, saturated with the limit off,
# turns the traces into patterns (scripts/trace_to_pattern.py) in docs/live/recorded, and writes the
# table of them in docs/limit-rules.md: every rule on each, beside the least fixed limit. A pattern
# that is there is not recorded again; with no argument only the table is made of what is there.
# r01 to r03 are of a sending thread that the lab has no longer: they cannot be recorded again.
# Recording needs root and a minute.
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

# record NAME LOOPS OPTION..: 4 s of a lab with the limit off, after 1 s, beside so many busy loops.
record() {
    file=$recorded/$1.pattern
    [ ! -e "$file" ] || return 0
    name=$1
    start_loops "$2"
    shift 2
    "$taut" lab "$@" --duration 5s --trace "$new/a.trace" --trace-most 1g >/dev/null
    stop_loops
    # What ran dry says nothing; the others are worth having.
    if python3 scripts/trace_to_pattern.py "$new/a.trace" "$name" 1 4 >"$new/a.pattern"; then
        mv "$new/a.pattern" "$file"
    fi
}

if [ "$record" = yes ]; then
    packets="rr-under-load --driver af_packet --rate 100mbit --only bql=off --limit off --ring 4096"
    # shellcheck disable=SC2086
    {
        record r04-tcp-realtime-100mbit 0 $packets --streams 400
        record r05-tcp-ordinary-100mbit-3-loops 3 $packets --streams 400 --no-real-time
        record r06-tap-100mbit 0 rr-under-load --rate 100mbit --only bql=off,tso=off --limit off --ring 4096 --streams 400
    }
fi
patterns=
for file in "$recorded"/*.pattern; do
    patterns="$patterns --pattern $file"
done
# shellcheck disable=SC2086
"$taut" sim limit-rules $patterns --rule fixed --rule dql --rule need --rule taut --csv >"$new/rows.csv"
{
    echo "| pattern | dql | need | taut |"
    echo "|---|--:|--:|--:|"
    awk -F, '
    NR == 1 { for (at = 1; at <= NF; at++) column[$at] = at; next }
    {
        pattern = $column["pattern"]
        if (!(pattern in known)) { known[pattern] = 1; order[++count] = pattern }
        kept[$column["rule"]] += $column["utilisation"] >= 0.999
        cell[pattern, $column["rule"]] = sprintf("%.2f / %.3f / %.0f", $column["ratio"], 100 * $column["utilisation"], $column["hp_delay_us_p99"])
    }
    END { for (at = 1; at <= count; at++) { it = order[at]; printf "| %s | %s | %s | %s |\n", it, cell[it, "dql"], cell[it, "need"], cell[it, "taut"] }
        printf "\nBusy for 99.9 %%: dql on %d of %d, need on %d, taut on %d.\n", kept["dql"], count, kept["need"], kept["taut"]
    }' "$new/rows.csv"
} >"$new/table.md"
# In place of what stands between the marks.
awk -v table="$new/table.md" '
/^<!-- recorded patterns: end -->$/ { inside = 0 }
!inside { print }
/^<!-- recorded patterns: / && !/ end -->$/ { inside = 1; print ""; while ((getline line <table) > 0) print line; print "" }
' docs/limit-rules.md >"$new/page.md"
mv "$new/page.md" docs/limit-rules.md
