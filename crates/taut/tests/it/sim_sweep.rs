//! Sweeps: output does not depend on the number of jobs, and finished runs are not repeated.

use std::fs;

use serde_json::Value;

use crate::sim_command::{Scratch, failed, read_csv, stdout};

/// Short rows: four of them, with different settings.
const SWEPT: &str = "sim rate-change --sweep duration=30ms,60ms --sweep ring=64,128";

fn lines(text: &str) -> Vec<Value> {
    let line = |line: &str| serde_json::from_str(line).expect("a JSON object");
    text.lines().map(line).collect()
}

#[test]
fn output_does_not_depend_on_jobs() {
    for form in ["", "--csv", "--json-lines", "-j"] {
        let one = stdout(&format!("{SWEPT} {form} --jobs 1"));
        assert_eq!(one, stdout(&format!("{SWEPT} {form} --jobs 5")), "{form}");
        assert_eq!(one, stdout(&format!("{SWEPT} {form}")), "{form}");
    }
}

#[test]
fn sweep_has_ordered_rows_for_all_combinations() {
    let rows = lines(&stdout(&format!("{SWEPT} --json-lines")));
    // Two rules, three phases each.
    assert_eq!(rows.len(), 4 * 2 * 3);
    let combinations: Vec<(&str, &str)> = rows
        .iter()
        .step_by(6)
        .map(|row| {
            let of = |key: &str| row["sweep"][key].as_str().expect("swept");
            (of("duration"), of("ring"))
        })
        .collect();
    let expected = [
        ("30ms", "64"),
        ("30ms", "128"),
        ("60ms", "64"),
        ("60ms", "128"),
    ];
    assert_eq!(combinations, expected);
    assert_eq!(rows[3]["from_s"], 0.0);
    assert_eq!(rows[13]["from_s"], 0.02, "the second phase of 20 ms");
    let csv = read_csv(&stdout(&format!("{SWEPT} --csv")));
    assert_eq!(csv.len(), rows.len() + 1);
    assert_eq!(csv[0][..2], ["sweep.duration", "sweep.ring"]);
}

#[test]
fn sweep_equals_separate_runs() {
    let swept = "sim aperiodic --sweep seed=3,4 --sweep rules=[\"dql\"] --sweep duration=20ms \
                 --sweep warm_up=10ms --json-lines";
    let swept = lines(&stdout(swept));
    let (third, fourth) = swept.split_at(swept.len() / 2);
    let scratch = Scratch::new("alone");
    let path = scratch.file("alone.toml");
    let alone =
        "scenario = \"aperiodic\"\nrules = [\"dql\"]\nduration = \"20ms\"\nwarm_up = \"10ms\"";
    fs::write(&path, alone).expect("a file");
    let alone = stdout(&format!("sim run {} --seed 4 --json-lines", path.display()));
    let alone = lines(&alone);
    assert_eq!(alone.len(), fourth.len());
    assert_eq!(
        (&third[0]["seed"], &fourth[0]["seed"]),
        (&3.into(), &4.into())
    );
    for (alone, swept) in alone.iter().zip(fourth) {
        assert_eq!(alone["in_flight_mean_bytes"], swept["in_flight_mean_bytes"]);
        assert_eq!(alone["urgent_delay_p99_us"], swept["urgent_delay_p99_us"]);
    }
    assert_ne!(third, fourth);
}

#[test]
fn rows_have_the_swept_seed() {
    let csv = stdout("sim rate-change --sweep seed=5,6 --csv");
    let rows = read_csv(&csv);
    let at = |name| rows[0].iter().position(|it| it == name).expect("a column");
    let (swept, seed) = (at("sweep.seed"), at("seed"));
    assert!(rows[1..].iter().all(|row| row[swept] == row[seed]), "{csv}");
    assert!(!stdout("sim rate-change --sweep seed=5,6").contains("seed 1"));
}

#[test]
fn input_files_are_not_overwritten() {
    let scratch = Scratch::new("spared");
    let (scenario, pattern) = (scratch.file("a.toml"), scratch.file("a.pattern"));
    fs::write(&scenario, "scenario = \"rate-change\"").expect("a file");
    fs::write(&pattern, "not read").expect("a file");
    let rules = scratch.file("rules.toml");
    let files = format!("scenario = \"limit-rules\"\npatterns = []\nfiles = [{pattern:?}]");
    fs::write(&rules, files).expect("a file");
    let (scenario, pattern, rules) = (scenario.display(), pattern.display(), rules.display());
    for line in [
        format!("sim run {scenario} --report {scenario}"),
        format!("sim run {scenario} --resume {scenario}"),
        format!("sim limit-rules --pattern {pattern} --report {pattern}"),
        format!("sim run {rules} --report {pattern}"),
    ] {
        let error = failed(&line, 2);
        assert!(error.contains("refusing to overwrite it"), "{error}");
    }
    let kept = fs::read_to_string(scratch.file("a.toml")).expect("the file");
    assert_eq!(kept, "scenario = \"rate-change\"");
    assert_eq!(
        fs::read_to_string(scratch.file("a.pattern")).expect("the file"),
        "not read"
    );
}

#[test]
fn resume_repeats_only_incomplete_runs() {
    let scratch = Scratch::new("resume");
    let path = scratch.file("runs");
    let command = format!("{SWEPT} --csv --resume {}", path.display());
    let whole = stdout(&command);
    let kept = fs::read_to_string(&path).expect("the file");
    assert_eq!(kept.lines().count(), 4);
    assert_eq!(stdout(&command), whole);
    assert_eq!(
        fs::read_to_string(&path).expect("the file"),
        kept,
        "run again"
    );
    // The incomplete line is run again, and nothing else.
    let torn = &kept[..kept.len() - 10];
    fs::write(&path, torn).expect("a file");
    assert_eq!(stdout(&command), whole);
    let again = fs::read_to_string(&path).expect("the file");
    assert_eq!(again.lines().count(), 4);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&again), sorted(&kept));
    // The rows of the file are printed: they were not run again.
    fs::write(&path, kept.replace("\"rule\":\"dql\"", "\"rule\":\"kept\"")).expect("a file");
    assert_eq!(stdout(&command).matches("kept").count(), 12);
    // Another seed is another run.
    assert!(!stdout(&format!("{command} --seed 2")).contains("kept"));
}

#[test]
fn scenarios_with_own_options_can_be_swept() {
    let rows = lines(&stdout(
        "sim rr-under-load --streams 2 --duration 500ms --only limit=off --sweep warm_up=0s \
         --sweep ring=64,256 --json-lines",
    ));
    let rings: Vec<&Value> = rows.iter().map(|row| &row["sweep"]["ring"]).collect();
    assert_eq!(rings, ["64", "64", "256", "256"]);
    let rows = lines(&stdout(
        "sim limit-rules --only p01 --limit off --sweep seeds=1,2 --json-lines",
    ));
    assert_eq!((rows.len(), &rows[1]["seeds"]), (2, &Value::from(2)));
}

#[test]
fn sweep_of_a_file_runs_with_own_options() {
    let scratch = Scratch::new("own");
    let path = scratch.file("own.toml");
    let text = "scenario = \"limit-rules\"\npatterns = [\"f06-sinus\"]\nrules = [\"off\"]\n\
                warm_up = \"0ns\"\nduration = \"100ms\"\nsweep = { seeds = [1, 2] }\n";
    fs::write(&path, text).expect("a file");
    let rows = lines(&stdout(&format!("sim run {} --json-lines", path.display())));
    let swept: Vec<_> = rows.iter().map(|row| &row["sweep"]["seeds"]).collect();
    assert_eq!(swept, ["1", "2"]);
}

#[test]
fn invalid_sweeps_are_rejected() {
    let scratch = Scratch::new("rejected");
    let path = scratch.file("runs");
    fs::write(&path, "nothing\n").expect("a file");
    let bad_file = format!("{SWEPT} --resume {}", path.display());
    for (line, code, what) in [
        ("sim rate-change --sweep ring", 2, "there is no \"=\""),
        (
            "sim rate-change --sweep rnig=1",
            2,
            "no setting \"rnig\"; there are",
        ),
        (
            "sim rate-change --sweep ring=1",
            2,
            "ring is 1; allowed: 2 to 65536",
        ),
        ("sim rate-change --sweep seed=x", 2, "seed is \"x\""),
        (
            "sim rate-change --sweep ring=64 --report x.html",
            2,
            "cannot be used with",
        ),
        ("sim rate-change --jobs 0", 2, "--jobs"),
        ("sim rate-change --json-lines -j", 2, "cannot be used with"),
        (bad_file.as_str(), 1, "line 1"),
        (
            "sim rate-change --resume /dev/zero",
            1,
            "not a regular file",
        ),
        ("sim rate-change --sweep ring=64,64", 2, "ring has 64 twice"),
        (
            "sim rate-change --seed 3 --sweep seed=1,2",
            2,
            "list all seeds in --sweep",
        ),
    ] {
        let talk = failed(line, code);
        assert!(talk.contains(what), "{line}: {talk}");
    }
}
