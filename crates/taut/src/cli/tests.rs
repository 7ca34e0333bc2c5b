//! Checks the help of every verb.

use clap::Command;

use super::{command, topic};

/// Maximum size of the text of `-h`.
const MAX_LINES: usize = 40;
const MAX_COLUMNS: usize = 100;

/// Returns `command` and all its visible subcommands, with full names.
fn verbs(command: Command, parent: &str) -> Vec<Command> {
    let name = format!("{parent} {}", command.get_name());
    let command = command.bin_name(name.trim().to_owned());
    let mut all = vec![command.clone()];
    let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
    for it in visible {
        all.extend(verbs(it.clone(), name.trim()));
    }
    all
}

fn all_verbs() -> Vec<Command> {
    verbs(command(), "")
}

fn name(command: &Command) -> String {
    command.get_bin_name().unwrap_or_default().to_owned()
}

#[test]
fn short_help_fits_a_screen() {
    for mut verb in all_verbs() {
        let help = verb.render_help().to_string();
        let lines = help.lines().count();
        assert!(lines <= MAX_LINES, "{}: {lines} lines\n{help}", name(&verb));
        let long = help.lines().find(|it| it.chars().count() > MAX_COLUMNS);
        assert_eq!(long, None, "{}", name(&verb));
    }
}

#[test]
fn options_have_headings() {
    for verb in all_verbs() {
        let options = verb.get_arguments().filter(|it| !it.is_positional());
        for option in options {
            let has_heading = option.get_help_heading().is_some();
            assert!(has_heading, "{}: {}", name(&verb), option.get_id());
        }
    }
}

#[test]
fn long_help_ends_with_two_examples_that_parse() {
    for mut verb in all_verbs() {
        let name = name(&verb);
        let help = verb.render_long_help().to_string();
        let (_, examples) = help.rsplit_once("Examples:\n").unwrap_or_default();
        let examples: Vec<&str> = examples.lines().map(str::trim).collect();
        assert_eq!(examples.len(), 2, "{name}: {help}");
        for example in examples {
            assert!(example.starts_with(&name), "{name}: {example}");
            let parsed = command().try_get_matches_from(example.split(' '));
            let error = parsed.err().map(|error| error.to_string());
            assert_eq!(error, None, "{example}");
        }
    }
}

#[test]
fn topics_list_limits_and_qdiscs() {
    let limits = topic("limits").expect("a topic");
    assert!(
        limits.contains("  dql ") && limits.contains("  taut"),
        "{limits}"
    );
    let qdiscs = topic("qdiscs").expect("a topic");
    assert!(qdiscs.contains("fq_codel"), "{qdiscs}");
    assert_eq!(topic("send"), None);
}
