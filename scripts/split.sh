#!/bin/sh
# Measures what cutting super-packets at the last moment gives, and writes docs/split.md, its drawing
# docs/split.svg and the rows docs/live/split.json: taut lab rr-under-load over rates, limits and lengths of
# pieces, beside the same with the sender's segmentation off. Medians of RUNS (default 10) runs; NOTE is said
# beside them. Needs root; with 10 runs half an hour, on a machine that does nothing else.
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
splits=${SPLITS:-off 60us 120us 250us all}
duration=${DURATION:-2s}
cargo build --quiet --release --locked -p taut
taut=${CARGO_TARGET_DIR:-target}/release/taut
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

# row RATE SPLIT TSO: one line for each limit: rate, what, limit, requests a second, bytes in the ring,
# goodput in Mbit/s, processor seconds for a gigabyte.
row() {
    "$taut" lab rr-under-load --rate "$1" --limit dql --limit taut --only "bql=on,tso=$3" \
        --duration "$duration" --split "$2" -j >"$new/row.json"
    name=$2
    [ "$3" = on ] || name=sender
    awk -v rate="$1" -v name="$name" '
    function value() { gsub(/[",]/, "", $2); return $2 }
    /"inflight_bytes"/ { inside = 1 }
    /"waiting_packets"|"rr_latency_us"/ { inside = 0 }
    /"limit":/ { limit = value() }
    inside && /"p50"/ { ring = value() }
    /"rr_tps"/ { tps = value() }
    /"goodput_bps"/ { goodput = value() }
    /"cpu_percent"/ {
        cpu = value()
        seconds = goodput > 0 ? cpu / 100 * 8e9 / goodput : 0
        print rate, name, limit, tps, ring, goodput / 1e6, seconds
    }' "$new/row.json"
}

run=0
while [ "$run" -lt "$runs" ]; do
    run=$((run + 1))
    for rate in $rates; do
        for split in $splits; do
            row "$rate" "$split" on
        done
        row "$rate" off off
    done
done >"$new/rows"

# The median of each, in the order of the first run.
awk '
function median(key, column, values, count, i, j, swap) {
    count = split(seen[key, column], values, " ")
    for (i = 2; i <= count; i++)
        for (j = i; j > 1 && values[j] + 0 < values[j - 1] + 0; j--) {
            swap = values[j]; values[j] = values[j - 1]; values[j - 1] = swap
        }
    return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
}
{
    key = $1 " " $2 " " $3
    if (!(key in known)) { known[key] = 1; order[++keys] = key }
    for (column = 4; column <= 7; column++) seen[key, column] = seen[key, column] " " $column
}
END {
    for (i = 1; i <= keys; i++) {
        line = order[i]
        for (column = 4; column <= 7; column++) line = line " " median(order[i], column)
        print line
    }
}' "$new/rows" >"$new/medians"

{
    echo "{\"version\": 1, \"runs\": $runs, \"duration\": \"$duration\", \"rows\": ["
    awk '{
        printf "%s  {\"rate\": \"%s\", \"tso\": %s, \"split\": \"%s\", \"limit\": \"%s\", \"rr_tps\": %.1f, ", (NR > 1 ? ",\n" : ""), $1, ($2 == "sender" ? "false" : "true"), ($2 == "sender" ? "off" : $2), $3, $4
        printf "\"in_ring_p50_bytes\": %d, \"goodput_mbit_per_s\": %.2f, \"cpu_s_per_gigabyte\": %.2f}", $5, $6, $7
    } END { print "\n]}" }' "$new/medians"
} >"$new/split.json"

# table COLUMN FORMAT LIMIT: rates down, splits across.
table() {
    awk -v column="$1" -v format="$2" -v limit="$3" '
    $3 == limit {
        if (!($1 in rates)) { rates[$1] = 1; down[++rows] = $1 }
        if (!($2 in names)) { names[$2] = 1; across[++columns] = $2 }
        value[$1, $2] = $column
    }
    END {
        printf "| %s |", limit
        for (i = 1; i <= columns; i++) printf " %s |", (across[i] == "sender" ? "sender cuts" : across[i])
        printf "\n|---|"
        for (i = 1; i <= columns; i++) printf "---|"
        for (r = 1; r <= rows; r++) {
            printf "\n| %s |", down[r]
            for (i = 1; i <= columns; i++) printf " " format " |", value[down[r], across[i]]
        }
        print ""
    }' "$new/medians"
}

# Requests a second, logarithmic, a group for each rate, a bar for each split.
awk '
$3 == "taut" {
    if (!($1 in rates)) { rates[$1] = 1; down[++rows] = $1 }
    if (!($2 in names)) { names[$2] = 1; across[++columns] = $2 }
    value[$1, $2] = $4
}
function height(tps) { return tps > 0.1 ? 40 * (log(tps) / log(10) + 1) : 1 }
END {
    split("#888 #2a6f97 #61a5c2 #a9d6e5 #c9772f", colours, " ")
    width = 60 + rows * (columns * 16 + 24)
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d 250\" font-family=\"sans-serif\" font-size=\"10\">\n", width
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    print "<text x=\"4\" y=\"12\">requests a second, limit taut, super-packets of the sender</text>"
    for (power = -1; power <= 3; power++) {
        y = 200 - 40 * (power + 1)
        printf "<path d=\"M40 %dH%d\" stroke=\"#ddd\"/><text x=\"4\" y=\"%d\">%g</text>\n", y, width - 4, y + 3, 10 ^ power
    }
    for (r = 1; r <= rows; r++) {
        x = 44 + (r - 1) * (columns * 16 + 24)
        printf "<text x=\"%d\" y=\"214\">%s</text>\n", x, down[r]
        for (i = 1; i <= columns; i++) {
            h = height(value[down[r], across[i]])
            printf "<rect x=\"%d\" y=\"%.1f\" width=\"14\" height=\"%.1f\" fill=\"%s\"/>\n", x + (i - 1) * 16, 200 - h, h, colours[i]
        }
    }
    for (i = 1; i <= columns; i++) {
        x = 44 + (i - 1) * 84
        printf "<rect x=\"%d\" y=\"226\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%d\" y=\"235\">%s</text>\n", x, colours[i], x + 14, (across[i] == "sender" ? "sender cuts" : "split " across[i])
    }
    print "</svg>"
}' "$new/medians" >"$new/split.svg"

{
    cat scripts/split-head.md
    echo "Medians of $runs runs of $duration a row, after 2 s of warm-up; \`RUNS=$runs scripts/split.sh\` writes them."
    [ -z "${NOTE:-}" ] || printf '\n%s\n' "$NOTE"
    echo
    echo "![requests a second over rates](split.svg)"
    for limit in dql taut; do
        printf '\n### Requests a second, limit %s\n\n' "$limit"
        table 4 "%.1f" "$limit"
        printf '\n### Bytes in the ring at the median, limit %s\n\n' "$limit"
        table 5 "%d" "$limit"
        printf '\n### Goodput in Mbit/s, limit %s\n\n' "$limit"
        table 6 "%.2f" "$limit"
        printf '\n### Processor seconds for a gigabyte, limit %s\n\n' "$limit"
        table 7 "%.2f" "$limit"
    done
} >"$new/split.md"
mv "$new/split.md" "$new/split.svg" docs/
mv "$new/split.json" docs/live/split.json
