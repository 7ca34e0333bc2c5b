#!/bin/sh
# Measures QUIC under a limit and writes docs/udp-and-quic.md, its drawings and the documents in
# docs/live.
# Needs root; with five rounds of 3 s about fifty minutes, on a machine that does nothing else.
# usage: scripts/udp-and-quic.sh [ROUNDS [DURATION]]
# Exit codes: 0 ok, 1 failed, 2 usage, 77 cannot run here.
set -eu

if [ $# -gt 2 ]; then
    echo "usage: scripts/udp-and-quic.sh [ROUNDS [DURATION]]" >&2
    exit 2
fi
rounds=${1:-5}
duration=${2:-3s}
cd "$(dirname "$0")/.."
cargo build --quiet --release --locked -p taut-quinn --example quic_under_load
quic=${CARGO_TARGET_DIR:-target}/release/examples/quic_under_load
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# Busy and all time of the processors so far, in ticks.
ticks() { awk '/^cpu / { for (at = 2; at <= 9; at++) all += $at; print all - $5 - $6, all }' /proc/stat; }

# The ticks in the output FILE of `times`: of this shell and of what it ran.
own_ticks() {
    awk -v hertz="$(getconf CLK_TCK)" '
    { for (at = 1; at <= 2; at++) { split($at, part, "[ms]"); seconds += part[1] * 60 + part[2] } }
    END { printf "%d", seconds * hertz }' "$1"
}

# Whether the rows of `taut` keep what was wanted of them, a line each.
judge() {
    awk -F '|' -v path="$2" -v p50_us="$3" -v of_best="$4" -v goodput="$5" -v cpu="$6" '
    function number(text) { gsub(/[ ,]/, "", text); return text + 0 }
    function line(what, found, wanted, met) {
        printf "| %s | %d | %s | %s | %s | %s |\n", path, connections, what, found, wanted, met ? "yes" : "**no**"
    }
    $2 !~ /^ taut / { next }
    { connections = number($3) }
    FILENAME ~ /rows$/ {
        if (p50_us != "-") {
            found = number($4) / 1000
            line("p50 of a request", found " ms", "at most " p50_us / 1000 " ms", found * 1000 <= p50_us)
        }
        next
    }
    {
        found = number($4)
        line("goodput of plain", found " %", "at least " goodput " %", found >= goodput)
        if (of_best != "-" && $7 !~ /-/) {
            found = number($7)
            line("p50 of the best buffer (" substr($6, 9, length($6) - 9) ")", found " %", "at most " of_best " %", found <= of_best)
        }
        if (cpu != "-") {
            found = number($8)
            line("CPU for a byte, of plain", found " %", "at most " cpu " %", found <= cpu)
        }
    }' "$dir/$1.rows" "$dir/$1.summary" >>"$dir/verdicts"
}

# measure NAME TITLE P50_US OF_BEST GOODPUT CPU OPTION..
measure() {
    name=$1 title=$2
    wanted="$3 $4 $5 $6"
    shift 6
    echo "scripts/udp-and-quic.sh: $title" >&2
    "$quic" --rounds "$rounds" --duration "$duration" "$@" -j --report "$dir/udp-and-quic-$name.md" \
        >"$dir/quic-$name.json"
    scripts/section.sh "$dir/udp-and-quic-$name.md" Rows >"$dir/$name.rows"
    scripts/section.sh "$dir/udp-and-quic-$name.md" "In per cent" >"$dir/$name.summary"
    # Four words.
    # shellcheck disable=SC2086
    judge "$name" "$title" $wanted
    {
        printf '\n## %s\n\n' "$title"
        printf '![one connection](udp-and-quic-%s-1.svg) ![two connections](udp-and-quic-%s-2.svg)\n\n' "$name" "$name"
        cat "$dir/$name.rows"
        printf '\nIn per cent of plain, and of the quickest buffer that keeps 99 %% of its goodput:\n\n'
        cat "$dir/$name.summary"
    } >>"$dir/sections"
}

# A subshell would tell of itself only.
times >"$dir/times"
before="$(ticks) $(own_ticks "$dir/times")"
few="--only plain --only 32k --only bbr --only dql --only taut"
measure 2mbit "2 Mbit/s" 30000 110 99 - --rate 2mbit
measure 20mbit "20 Mbit/s" 6000 110 99 - --rate 20mbit
measure 100mbit "100 Mbit/s" - 130 99 150 --rate 100mbit
measure 500mbit "500 Mbit/s" - 130 99 150 --rate 500mbit
# shellcheck disable=SC2086
{
    measure falls "20 Mbit/s, and a fifth of it in the middle third" - - 97 - --falls $few
    measure routed "20 Mbit/s behind a router" 10000 - 99 - --topology routed $few
    measure bridged "20 Mbit/s behind a bridge" 10000 - 99 - --topology bridged $few
    measure far "20 Mbit/s, 50 ms away" - - 99 - --distance 50ms $few
}
# The processors' time that was not this script's, in per cent.
times >"$dir/times"
busy=$(echo "$before $(ticks) $(own_ticks "$dir/times")" | awk '{ printf "%d", ($4 - $1 - ($6 - $3)) * 100 / ($5 - $2) + 0.5 }')
{
    cat scripts/udp-and-quic-head.md
    printf 'Medians of %s rounds of %s, the rows one after the other in each round, on %s processors with Linux %s.\n' \
        "$rounds" "$duration" "$(nproc)" "$(uname -r | sed 's/-.*//')"
    printf 'Meanwhile other work took %s %% of their time' "$busy"
    if [ "$busy" -gt 5 ]; then
        printf ': **they were busy**, and the figures are those of a busy machine'
    fi
    printf '.\n\n## Wanted and found\n\n| path | connections | of `taut` | found | wanted | met |\n|---|---|---|---|---|---|\n'
    cat "$dir/verdicts"
    cat scripts/udp-and-quic-why.md
    cat "$dir/sections"
} >"$dir/udp-and-quic.md"
mv "$dir/udp-and-quic.md" "$dir"/udp-and-quic-*.svg docs/
mv "$dir"/quic-*.json docs/live/
