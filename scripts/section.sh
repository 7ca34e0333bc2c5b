#!/bin/sh
# Prints the section of the Markdown page PAGE whose heading begins with HEADING.
# usage: scripts/section.sh PAGE HEADING
set -eu
awk -v heading="## $2" '
/^## / { inside = index($0, heading) == 1; next }
inside && (NF || seen) {
    if (NF) { while (blank > 0) { print ""; blank-- } print; seen = 1 } else blank++
}
' "$1"
