#!/bin/sh
# Draws docs/limit-rules.svg from a run: what each interval needs, and the limits that the rules
# make of it, on exponential gaps. usage: scripts/limit-figure.sh
set -eu
cd "$(dirname "$0")/.."
page=$(mktemp)
trap 'rm -f "$page"' EXIT
cargo run --quiet --release --locked -p taut -- sim limit-rules --only p02 \
    --rule fixed --rule dql --rule need --rule taut --report "$page" >/dev/null
# The last drawing of the page with its colours, light and dark. What an interval needs is a dot each, and a line has
# its name beside its end.
awk '
/^:root/ { colours = 1 }
/^\*/ { colours = 0 }
colours || /^\.(plot|middle|end|grid|base|line|c[0-9]+)[ ,]/ { css = css $0 "\n" }
/<svg class="plot"/ { drawing = ""; lines = 0; inside = 1; next }
/<\/svg>/ && inside { inside = 0 }
inside && /<path class="line c10 / { dots = as_dots($0); next }
inside && /<path class="line / {
    class[++lines] = $0; sub(/^.*class="line /, "", class[lines]); sub(/ .*$/, "", class[lines])
    at[lines] = $0; sub(/"\/>.*$/, "", at[lines]); sub(/^.*V/, "", at[lines])
    sub(/ solid"/, "\"")
}
inside { drawing = drawing $0 "\n" }

# The steps of a path as points.
function as_dots(path,    n, i, step, to, all) {
    sub(/^.* d="M[0-9.]* [0-9.]*H/, "", path); sub(/".*$/, "", path)
    n = split(path, step, "H")
    for (i = 1; i <= n; i++) {
        split(step[i], to, "V")
        all = all "M" to[1] " " to[2] "h0"
    }
    return all
}

# Names that are too near to each other go apart.
function apart(    tries, i, j, gap) {
    for (tries = 0; tries < 40; tries++)
        for (i = 1; i <= lines; i++)
            for (j = 1; j <= lines; j++) {
                gap = at[j] - at[i]
                if (i != j && gap >= 0 && gap < 14) { at[i] -= (14 - gap) / 2; at[j] += (14 - gap) / 2 }
            }
}

END {
    name["c4"] = "least fixed"; name["c1"] = "dql"; name["c3"] = "need"; name["c2"] = "taut"
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 -6 476 264\" role=\"img\">"
    print "<style>\n" css ".plot .dots { fill: none; stroke: var(--neutral); stroke-width: 2; stroke-linecap: round; stroke-opacity: .45; }"
    print ".line.c4 { stroke-dasharray: 5 3; }\n.plot .c { stroke: none; font-weight: 600; }"
    for (i = 1; i <= lines; i++) printf ".plot .%s.c { fill: var(--%s); }\n", class[i], class[i] == "c4" ? "fixed" : name[class[i]]
    print "</style>\n<rect x=\"0\" y=\"-6\" width=\"476\" height=\"264\" fill=\"var(--ground)\"/>"
    print "<path class=\"dots\" d=\"" dots "\"/>"
    print "<path class=\"dots\" d=\"M256 7h0m5 -4h0m5 6h0m5 -4h0\"/><text x=\"278\" y=\"11\">need of an interval</text>"
    printf "%s", drawing
    apart()
    for (i = 1; i <= lines; i++)
        printf "<text class=\"c %s\" x=\"391\" y=\"%.1f\">%s</text>\n", class[i], at[i] + 4, name[class[i]]
    print "</svg>"
}' "$page" >docs/limit-rules.svg
