//! Command lines that repeat a run.

use super::experiment::Experiment;

/// Returns `command` with the options of `experiment` that differ from `defaults`, without the
/// seed.
pub fn line(command: &str, experiment: &Experiment, defaults: &Experiment) -> String {
    let mut arguments = vec![command.to_owned()];
    let mut push = |differs: bool, option: &str, value: String| {
        if differs {
            arguments.push(format!("--{option} {}", quoted(&value)));
        }
    };
    let Experiment {
        streams,
        rate,
        ring,
        coalesce,
        qdisc,
        limits,
        late_segmentation,
        duration,
        seed: _,
        only,
        json: _,
    } = experiment;
    push(*streams != defaults.streams, "streams", streams.to_string());
    if let Some(rate) = rate {
        push(true, "rate", rate.to_string());
    }
    push(*ring != defaults.ring, "ring", ring.to_string());
    push(
        *coalesce != defaults.coalesce,
        "coalesce",
        coalesce.to_string(),
    );
    push(*qdisc != defaults.qdisc, "qdisc", qdisc.clone());
    for limit in limits {
        push(true, "limit", limit.to_string());
    }
    for mode in late_segmentation {
        push(true, "late-segmentation", mode.to_string());
    }
    push(
        *duration != defaults.duration,
        "duration",
        duration.to_string(),
    );
    push(*only != defaults.only, "only", only.to_string());
    arguments.join(" ")
}

/// Quotes `argument` for a shell.
pub fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    const NAME: &str = "taut sim rr-under-load";

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Experiment,
    }

    fn parse(line: &[&str]) -> Experiment {
        Line::try_parse_from([&["sim"], line].concat())
            .unwrap()
            .options
    }

    #[test]
    fn options_that_differ_round_trip() {
        let first = ["--rate", "2.5gbit", "--coalesce", "0.1ms", "--limit", "40k"];
        let rest = [
            "--qdisc",
            "pfifo_fast limit 500",
            "--duration",
            "2s",
            "--only",
            "tso=on",
            "--limit",
            "taut",
            "--late-segmentation",
            "250us",
        ];
        let defaults = parse(&[]);
        let command = line(NAME, &parse(&[&first[..], &rest].concat()), &defaults);
        assert_eq!(
            command,
            "taut sim rr-under-load --rate 2500mbit --coalesce 100us \
             --qdisc 'pfifo_fast limit 500' --limit 40k --limit taut \
             --late-segmentation 250us --duration 2s --only tso=on"
        );
        let quote_free = command.replace("pfifo_fast limit 500", "pfifo_fast_limit_500");
        let arguments: Vec<String> = quote_free
            .split(' ')
            .skip(3)
            .map(|word| word.replace('\'', "").replace("_limit_500", " limit 500"))
            .collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_eq!(line(NAME, &parse(&arguments), &defaults), command);
        assert_eq!(line(NAME, &defaults, &defaults), "taut sim rr-under-load");
    }

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        for (word, written) in [
            ("a.toml", "a.toml"),
            ("my file", "'my file'"),
            ("it's", "'it'\\''s'"),
            ("$(rm)", "'$(rm)'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), written);
        }
    }
}
