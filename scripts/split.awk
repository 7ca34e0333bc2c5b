# Medians, tables and the drawing of what scripts/split.sh measured. Reads its rows: run, rate, limit, who cuts
# how, requests a second, bytes in the ring, goodput in Mbit/s, processor seconds for a gigabyte. Writes
# split.json, tables.md and split.svg into `folder`.

# A request and its response are 67 bytes each with the headers of TCP, and 24 more on the wire: what the
# requests take of the link is missing in the goodput of the others, of whose 1,538 bytes 1,448 are payload.
function requests_mbit(tps) { return tps * (67 + 24) * 8 / 1e6 * 1448 / 1538 }

function median(text, values, count, i, j, swap) {
    count = split(text, values, " ")
    for (i = 2; i <= count; i++)
        for (j = i; j > 1 && values[j] + 0 < values[j - 1] + 0; j--) {
            swap = values[j]; values[j] = values[j - 1]; values[j - 1] = swap
        }
    return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
}

function remember(list, value) {
    if (!((list, value) in known)) { known[list, value] = 1; at[list, ++count[list]] = value }
}

{
    remember("run", $1); remember("rate", $2); remember("limit", $3); remember("way", $4)
    for (column = 5; column <= 8; column++) {
        seen[$2, $3, $4, column] = seen[$2, $3, $4, column] " " $column
        one[$1, $2, $3, $4, column] = $column
    }
}

function value(rate, limit, way, column) { return median(seen[rate, limit, way, column]) }
function is_there(rate, limit, way) { return ((rate, limit, way, 5) in seen) }

# The median over the runs of one way by another, in the same run.
function paired(rate, limit, way, other, column, r, run, text, a, b) {
    text = ""
    for (r = 1; r <= count["run"]; r++) {
        run = at["run", r]
        a = one[run, rate, limit, way, column]; b = one[run, rate, limit, other, column]
        # With what the requests carried themselves.
        if (column == "link") {
            a = one[run, rate, limit, way, 7] + requests_mbit(one[run, rate, limit, way, 5])
            b = one[run, rate, limit, other, 7] + requests_mbit(one[run, rate, limit, other, 5])
        }
        if (b > 0) text = text " " a / b
    }
    return median(text)
}

function name(way) { return way == "sender" ? "sender cuts" : way }

function table(title, column, format, l, limit, r, rate, w) {
    printf "\n### %s\n\n| | |", title > tables
    for (w = 1; w <= count["way"]; w++) printf " %s |", name(at["way", w]) > tables
    printf "\n|---|---|" > tables
    for (w = 1; w <= count["way"]; w++) printf "---|" > tables
    for (l = 1; l <= count["limit"]; l++)
        for (r = 1; r <= count["rate"]; r++) {
            limit = at["limit", l]; rate = at["rate", r]
            printf "\n| %s | %s |", (r == 1 ? "limit " limit : ""), rate > tables
            for (w = 1; w <= count["way"]; w++)
                if (is_there(rate, limit, at["way", w])) printf " " format " |", value(rate, limit, at["way", w], column) > tables
                else printf " |" > tables
        }
    print "" > tables
}

function verdict(ok) { return ok ? "yes" : "no" }

function wanted(l, limit, r, rate, tps, goodput, link, cpu) {
    printf "\n### Wanted and found\n\nMedians of what two rows of one run are to each other.\n" > tables
    print "\n- Requests a second with `auto`: at least 0.8 of those with segments from the sender." > tables
    print "- Goodput with `auto`: at least 99 % of that with whole super-packets (`off`). *With requests*: the bytes of the" > tables
    print "  requests counted in, which are in the same link, and many more." > tables
    print "- Processor seconds for a gigabyte at 1 Gbit/s: fewer than with segments from the sender." > tables
    printf "\n| | | requests by sender cuts | >= 0.8 | goodput by off | with requests | >= 0.99 | processor by sender cuts | < 1 |\n|---|---|---|---|---|---|---|---|---|" > tables
    for (l = 1; l <= count["limit"]; l++)
        for (r = 1; r <= count["rate"]; r++) {
            limit = at["limit", l]; rate = at["rate", r]
            if (!is_there(rate, limit, "auto")) continue
            tps = paired(rate, limit, "auto", "sender", 5); goodput = paired(rate, limit, "auto", "off", 7)
            link = paired(rate, limit, "auto", "off", "link"); cpu = paired(rate, limit, "auto", "sender", 8)
            printf "\n| limit %s | %s | %.2f | %s | %.4f | %.4f | %s | %.2f | %s |", limit, rate, tps, verdict(tps >= 0.8), goodput, link, verdict(goodput >= 0.99), cpu, (rate == "1gbit" ? verdict(cpu < 1) : "") > tables
        }
    print "" > tables
}

function json(file, l, limit, r, rate, w, way, comma) {
    file = folder "/split.json"
    printf "{\"version\": 2, \"runs\": %d, \"duration\": \"%s\", \"rows\": [\n", runs, duration > file
    for (r = 1; r <= count["rate"]; r++)
        for (l = 1; l <= count["limit"]; l++)
            for (w = 1; w <= count["way"]; w++) {
                rate = at["rate", r]; limit = at["limit", l]; way = at["way", w]
                if (!is_there(rate, limit, way)) continue
                printf "%s  {\"rate\": \"%s\", \"limit\": \"%s\", \"tso\": %s, \"split\": \"%s\", ", comma, rate, limit, (way == "sender" ? "false" : "true"), (way == "sender" ? "off" : way) > file
                printf "\"rr_tps\": %.1f, \"in_ring_p50_bytes\": %d, ", value(rate, limit, way, 5), value(rate, limit, way, 6) > file
                printf "\"goodput_mbit_per_s\": %.2f, \"cpu_s_per_gigabyte\": %.2f}", value(rate, limit, way, 7), value(rate, limit, way, 8) > file
                comma = ",\n"
            }
    print "\n]}" > file
}

function height(tps) { return tps > 0.1 ? 40 * (log(tps) / log(10) + 1) : 1 }

# Requests a second, logarithmic: a group for each rate, a bar for each way.
function drawing(limit, file, r, w, x, y, h, power, width, colours) {
    file = folder "/split.svg"
    split("#888 #2a6f97 #61a5c2 #c9772f", colours, " ")
    width = 60 + count["rate"] * (count["way"] * 20 + 24)
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d 250\" font-family=\"sans-serif\" font-size=\"10\">\n", width > file
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>" > file
    printf "<text x=\"4\" y=\"12\">requests a second, limit %s, super-packets of the sender</text>\n", limit > file
    for (power = -1; power <= 3; power++) {
        y = 200 - 40 * (power + 1)
        printf "<path d=\"M40 %dH%d\" stroke=\"#ddd\"/><text x=\"4\" y=\"%d\">%g</text>\n", y, width - 4, y + 3, 10 ^ power > file
    }
    for (r = 1; r <= count["rate"]; r++) {
        x = 44 + (r - 1) * (count["way"] * 20 + 24)
        printf "<text x=\"%d\" y=\"214\">%s</text>\n", x, at["rate", r] > file
        for (w = 1; w <= count["way"]; w++) {
            h = height(value(at["rate", r], limit, at["way", w], 5))
            printf "<rect x=\"%d\" y=\"%.1f\" width=\"18\" height=\"%.1f\" fill=\"%s\"/>\n", x + (w - 1) * 20, 200 - h, h, colours[w] > file
        }
    }
    for (w = 1; w <= count["way"]; w++) {
        x = 44 + (w - 1) * 84
        printf "<rect x=\"%d\" y=\"226\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%d\" y=\"235\">%s</text>\n", x, colours[w], x + 14, (at["way", w] == "sender" ? "sender cuts" : "split " at["way", w]) > file
    }
    print "</svg>" > file
}

END {
    tables = folder "/tables.md"
    wanted()
    print "\n![requests a second over rates](split.svg)" > tables
    table("Requests a second", 5, "%.1f")
    table("Bytes in the ring at the median", 6, "%d")
    table("Goodput in Mbit/s", 7, "%.2f")
    table("Processor seconds for a gigabyte", 8, "%.2f")
    json()
    drawing("taut")
}
