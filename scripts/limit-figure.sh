#!/bin/sh
# Draws docs/limit-rules.svg from a run: what each interval needs, and the limits that the rules
# make of it, on exponential gaps. usage: scripts/limit-figure.sh
set -eu
cd "$(dirname "$0")/.."
page=$(mktemp)
trap 'rm -f "$page"' EXIT
cargo run --quiet --release --locked -p taut -- sim limit-rules --only p02 \
    --rule fixed --rule dql --rule need --rule taut --report "$page" >/dev/null
# The last drawing of the page, with a legend of its own and the page's colours, light and dark.
awk '
/^:root/ { colours = 1 }
/^\*/ { colours = 0 }
colours || /^\.(plot|middle|end|grid|base|line|pale|solid|dashed|c[0-9]+)[ ,]/ { css = css $0 "\n" }
/<svg class="plot"/ { drawing = ""; inside = 1; next }
/<\/svg>/ && inside { inside = 0 }
inside { drawing = drawing $0 "\n" }
END {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 -34 400 300\" role=\"img\">"
    print "<style>\n" css ".plot .key { font-size: 10.5px; }\n</style>"
    print "<rect x=\"0\" y=\"-34\" width=\"400\" height=\"300\" fill=\"var(--ground)\"/>"
    n = split("need of an interval:c10 pale,least fixed:c4,dql:c1,need:c3,taut:c2", names, ",")
    x = 4
    for (i = 1; i <= n; i++) {
        split(names[i], it, ":")
        printf "<path class=\"line %s\" d=\"M%d -20H%d\"/>", it[2], x, x + 22
        printf "<text class=\"axis key\" x=\"%d\" y=\"-16\">%s</text>\n", x + 26, it[1]
        x += 33 + 4.9 * length(it[1])
    }
    printf "%s</svg>\n", drawing
}' "$page" >docs/limit-rules.svg
