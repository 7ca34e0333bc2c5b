# Parts of a page that `taut ... --report` wrote, for Markdown. Read by the scripts that write docs/*.md.

# The table under the heading HEADING of a page as a Markdown table.
table() {
    awk -v heading="$2" '
    { gsub(/&#39;/, "\047") }
    /<h2>/ { name = $0; gsub(/<[^>]*>/, "", name); gsub(/&amp;/, "\\&", name); inside = (index(name, heading) == 1) }
    inside && /<tr><t[hd]/ {
        line = $0
        sub(/^.*<tr>/, "", line); sub(/<\/tr>.*$/, "", line)
        gsub(/<wbr>/, "", line); gsub(/<\/t[hd]>/, " |", line); gsub(/<[^>]*>/, " ", line); gsub(/  +/, " ", line)
        print "|" line
        if (!ruled++) {
            gsub(/[^|]+/, "---", line)
            print "|" line
        }
    }' "$1"
}

# The notes of a page as a list.
notes() {
    awk '
    { gsub(/&#39;/, "\047") }
    /<p class="note">/ { gsub(/<[^>]*>/, ""); print "- " $0 }' "$1"
}

# Drawing NUMBER of a page, with a legend of its own and the colours of the page, light and dark.
drawing() {
    awk -v number="$2" '
    /^:root/ { colours = 1 }
    /^\*/ { colours = 0 }
    colours || /^\.(plot|middle|end|grid|base|line|pale|solid|dashed|dotted|c[0-9]+)[ ,]/ { css = css $0 "\n" }
    /<figure class="chart">/ { at++; keys = 0 }
    at == number && /<figcaption>/ { title = $0; gsub(/<[^>]*>/, "", title) }
    at == number && /<li><svg/ {
        class = $0; sub(/^.*<path class="/, "", class); sub(/".*$/, "", class)
        key = $0; gsub(/<[^>]*>/, "", key)
        classes[++keys] = class; names[keys] = key
        if (keys > most) most = keys
    }
    at == number && /<svg class="plot"/ { inside = 1; next }
    /<\/svg>/ && inside { inside = 0 }
    inside { drawing = drawing $0 "\n" }
    END {
        top = -(18 + 13 * most)
        height = 266 - top
        print "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 " top " 400 " height "\" role=\"img\">"
        print "<style>\n" css ".plot .key { font-size: 10.5px; }\n</style>"
        print "<rect x=\"0\" y=\"" top "\" width=\"400\" height=\"" height "\" fill=\"var(--ground)\"/>"
        printf "<text class=\"axis key\" x=\"4\" y=\"%d\">%s</text>\n", top + 12, title
        for (i = 1; i <= most; i++) {
            y = top + 12 + 13 * i
            printf "<path class=\"line %s\" d=\"M4 %dH26\"/>", substr(classes[i], 6), y - 4
            printf "<text class=\"axis key\" x=\"32\" y=\"%d\">%s</text>\n", y, names[i]
        }
        printf "%s</svg>\n", drawing
    }' "$1"
}
