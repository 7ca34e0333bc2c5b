//! A reader that stops early, such as `head -1`, ends every verb without a message and with its
//! usual exit code.

use crate::observe_tree::Tree;
use crate::sim_command::{Scratch, taut};

/// Command lines that print something without privilege. `{tree}` is a copy of /sys, `{trace}` a
/// trace.
const LINES: &[&str] = &[
    "--help",
    "show {tree}",
    "show {tree} -j",
    "show {tree} -w 50ms",
    "show --metrics",
    "doctor {tree} -t 200ms",
    "doctor {tree} -t 200ms -j",
    "doctor --rules",
    "doctor --explain no-limit",
    "where lo",
    "where lo -j",
    "where lo -w 1s",
    "set eth0 {tree} limit_max 40k --dry-run",
    "set eth0 {tree} limit_max 40k --dry-run -j",
    "replay {trace} --rate 1gbit --limit dql",
    "replay {trace} --rate 1gbit --limit dql -j",
    "sim --list",
    "sim right-size",
    "sim right-size -j",
    "sim right-size --csv",
    "lab rr-under-load --dry-run",
    "send lo --dry-run",
    "lab ring --dry-run",
    "lab forward --dry-run",
    "send --help",
    "forward --help",
    "exporter --help",
    "top --help",
    "manual --help",
];

#[test]
fn closed_pipe_ends_every_verb_without_error() {
    let tree = Tree::new("pipes");
    tree.add("eth0", 2);
    let scratch = Scratch::new("pipes");
    let trace = scratch.file("a.trace");
    let head = "taut-trace\t3\tscenario=x\tseed=1\ttaut=0\nrow\ta\tdql\n";
    let events = (0..64).map(|at| {
        let (sent_ns, back_ns) = (at * 100_000, at * 100_000 + 50_000);
        format!(
            "{sent_ns}\tenqueue\t1514\t1\t0\n{sent_ns}\tsent\t1514\t1\t0\n\
             {back_ns}\tcompleted\t1514\t1\n"
        )
    });
    let text = head.to_owned() + &events.collect::<String>();
    std::fs::write(&trace, text).expect("the trace");
    let option = tree.line("");
    let is_absent = |line: &str| match line.split(' ').next() {
        Some("lab") => !cfg!(feature = "lab"),
        Some("sim" | "replay") => !cfg!(feature = "sim"),
        Some(_) | None => false,
    };
    for line in LINES.iter().filter(|line| !is_absent(line)) {
        let line = line
            .replace("{tree}", option.trim())
            .replace("{trace}", &trace.display().to_string());
        let code = if line.contains(" -w") {
            0
        } else {
            let output = taut(&line).output().expect("runs");
            assert!(!output.stdout.is_empty(), "{line} prints nothing");
            output.status.code().expect("a code")
        };
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let left = taut(&line).stdout(writer).output().expect("runs");
        let talk = String::from_utf8_lossy(&left.stderr);
        assert_eq!(left.status.code(), Some(code), "{line}: {talk}");
        for word in ["panicked", "Broken pipe", "stdout"] {
            assert!(!talk.contains(word), "{line}: {talk}");
        }
    }
}
