"""Keeps runs in docs/live/programs.json.gz, and writes docs/programs.md from them."""

import statistics
from textwrap import fill as fold

from page import LIVE, ROOT, bars, draw, fill, keep, load, marked, spread, table
from tunnels.rows import ROWS

RECORD = "programs.json.gz"
VALUES = ("mbit", "p50_ms", "p99_ms", "silence_ms", "cpu_ns_a_byte")
KEYS = ("program", "row", "mode", "run", "seconds", "executable")
MODES = ("plain", "dql", "taut")
AXIS = "Mbit/s and MB of queue; free: unthrottled; router: behind one"
BUSY = """\
**These rows are not final**: {runs} run of each mode for {seconds} s, at a load average of {load}
on two processors. They show that the modes work. Full rows on an idle machine replace them."""
FULL = """\
Each mode has {runs} runs of {seconds} s, at a load average of {load} on two processors. Unthrottled
rows cause a higher one themselves."""
# Fewer runs or a higher load average are no basis for a comparison.
MIN_RUNS, MAX_LOAD = 7, 4


def rounded(value):
    """A run with three decimals at most."""
    if isinstance(value, dict):
        return {key: rounded(it) for key, it in value.items()}
    if isinstance(value, list):
        return [rounded(it) for it in value]
    return round(value, 3) if isinstance(value, float) else value


class Record:
    """The recorded runs. A run that is measured again replaces the previous one."""

    def __init__(self):
        self.runs = load(RECORD)["runs"] if (LIVE / RECORD).exists() else []

    def find(self, key):
        return next((it for it in self.runs if all(it[k] == key[k] for k in KEYS)), None)

    def add(self, run):
        same = KEYS[:4]
        self.runs = [it for it in self.runs if any(it[k] != run[k] for k in same)] + [run]
        keep(RECORD, {"version": 1, "runs": [rounded(it) for it in self.runs]})

    def of(self, program, row, mode):
        return [it for it in self.runs
                if (it["program"], it["row"], it["mode"]) == (program, row, mode)]


def medians(runs):
    values = {key: statistics.median(it[key] for it in runs) for key in VALUES}
    flows = zip(*(it["flows_mbit"] for it in runs))
    return values | {"flows_mbit": [statistics.median(flow) for flow in flows]}


def time(values):
    return f"{values['p50_ms']:,.0f} / {values['p99_ms']:,.0f}"


class Medians:
    """A line for each row: times, goodput and processor time of `taut` as shares of plain."""

    def __init__(self, record, program):
        found = {(row, mode): record.of(program, row, mode)
                 for row in ROWS for mode in (*MODES, "shaper")}
        self.values = {key: medians(runs) for key, runs in found.items() if runs}
        self.rows = [row for row in ROWS if {(row, "plain"), (row, "taut")} <= set(self.values)]

    def text(self):
        if not self.rows:
            return "Not measured."
        columns = ["row", "plain", "dql", "taut", "p99 lower", "goodput", "CPU"]
        return table(columns, [self.line(row) for row in self.rows])

    def line(self, name):
        row, plain, taut = ROWS[name], self.values[name, "plain"], self.values[name, "taut"]
        dql = self.values.get((name, "dql"))
        times = plain["p99_ms"] / taut["p99_ms"]
        goodput = 100 * taut["mbit"] / plain["mbit"]
        cells = [row.title, time(plain), time(dql) if dql else "-", time(taut)]
        cells.append(marked(f"{times:.1f} x", times >= (row.times_lower or 0)))
        cells.append(marked(f"{goodput:.1f} %", goodput >= (row.goodput_percent or 0)))
        return [*cells, f"{100 * taut['cpu_ns_a_byte'] / plain['cpu_ns_a_byte']:.0f} %"]

    def special(self, name, text):
        """A table of all modes of a row, with `text` of each, or nothing without results."""
        modes = [mode for mode in (*MODES, "shaper") if (name, mode) in self.values]
        lines = [f"| {mode} | {text(self.values[name, mode])} |" for mode in modes]
        return "\n".join(lines)


def goodput(values):
    return f"{time(values)} | {values['mbit']:.1f}"


def chart(rows, key, title, axis):
    groups = [
        (ROWS[row].short, {mode: rows.values[row, mode][key] for mode in MODES
                           if (row, mode) in rows.values})
        for row in rows.rows
    ]
    return bars(title, AXIS, axis, groups)


def shown_of(text):
    """The output of a command, with lines that fit the page."""
    lines = text.rstrip().splitlines()
    return "\n".join(line if len(line) <= 100 else fold(line, 98) for line in lines)


def note(own, counts):
    """How the rows were measured."""
    loads = [round(it["load"], 1) for it in own if ROWS[it["row"]].rate]
    is_full = min(counts) >= MIN_RUNS and max(loads) <= MAX_LOAD
    runs = f"{min(counts)} to {max(counts)}" if min(counts) != max(counts) else str(counts[0])
    values = {"runs": runs, "seconds": spread([it["seconds"] for it in own]),
              "load": spread(loads)}
    return (FULL if is_full else BUSY).format(**values)


def write(record):
    rows = Medians(record, "gotatun")
    draw([chart(rows, "p99_ms", "Request through the tunnel, p99", "ms")],
         ROOT / "docs/programs-latency.svg")
    draw([chart(rows, "mbit", "Goodput of the tunnel", "Mbit/s")],
         ROOT / "docs/programs-goodput.svg")
    own = [it for it in record.runs if it["program"] == "gotatun"]
    shown = {it["mode"]: shown_of(it["where"]) for it in own if "where" in it}
    example = {mode: rows.values["20mbit-10mb", mode] for mode in MODES}
    counts = [len(record.of("gotatun", row, "plain")) for row in rows.rows]
    values = {
        "PLAIN_MS": f"{example['plain']['p99_ms']:,.0f}",
        "TAUT_MS": f"{example['taut']['p99_ms']:,.0f}",
        "GOODPUT": f"{100 * example['taut']['mbit'] / example['plain']['mbit']:.1f}",
        "TABLE": rows.text(),
        "TUNNEL": Medians(record, "tunnel").text(),
        "WIREGUARD_GO": Medians(record, "wireguard-go").text(),
        "PEERS": rows.special("peers", lambda it: time(it) + "".join(
            f" | {mbit:.1f}" for mbit in it["flows_mbit"])),
        "ROAMING": rows.special(
            "roaming", lambda it: f"{goodput(it)} | {it['silence_ms'] / 1e3:.1f}"),
        "ROUTER": rows.special("router", goodput),
        "WHERE_PLAIN": shown.get("plain", "not recorded"),
        "WHERE_TAUT": shown.get("taut", "not recorded"),
        "NOTE": note(own, counts),
    }
    (ROOT / "docs/programs.md").write_text(fill("programs-head.md", values))
