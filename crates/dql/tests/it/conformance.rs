//! Plays every recorded vector, line by line, through both variants.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use taut_dql::Dql;

use crate::player::Player;
use crate::queue::{Halves, Queue};

/// Number of vectors; fewer would mean that some are no longer played.
const VECTORS: usize = 17;

fn vectors() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of vectors")
        .map(|entry| entry.expect("a vector").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ops"))
        .collect();
    files.sort();
    files
}

/// The expected rows of a vector. The file of a large vector is compressed.
fn expected_rows(expected_file: &Path) -> String {
    if expected_file.exists() {
        return fs::read_to_string(expected_file).expect("the expected rows");
    }
    let compressed = expected_file.with_extension("expected.gz");
    let mut gzip = Command::new("gzip");
    let output = gzip.arg("-dc").arg(compressed).output().expect("gzip");
    assert!(output.status.success(), "{}", expected_file.display());
    String::from_utf8(output.stdout).expect("text")
}

/// Compares every line. Returns the number of lines.
fn compare<Q: Queue>(operations: &Path) -> usize {
    let expected_file = operations.with_extension("expected");
    let expected = expected_rows(&expected_file);
    let operations_text = fs::read_to_string(operations).expect("the operations");
    let mut player = Player::<Q>::new();
    let mut rows = expected.lines();
    let mut compared = 0;
    for (index, line) in operations_text.lines().enumerate() {
        let row = player
            .play(line)
            .expect("a valid line")
            .expect("a line with an operation");
        let place = format!("{}:{} `{line}`", operations.display(), index + 1);
        assert_eq!(Some(row.to_string().as_str()), rows.next(), "{place}");
        compared += 1;
    }
    assert_eq!(
        rows.next(),
        None,
        "rows left over in {}",
        expected_file.display()
    );
    compared
}

fn compare_all<Q: Queue>() {
    let files = vectors();
    assert_eq!(files.len(), VECTORS);
    let lines: usize = files.iter().map(|file| compare::<Q>(file)).sum();
    assert!(lines > 20_000, "only {lines} lines compared");
}

#[test]
fn owned_variant_plays_every_vector() {
    compare_all::<Dql>();
}

#[test]
fn two_thread_variant_plays_every_vector() {
    compare_all::<Halves>();
}

fn rows(lines: &[&str]) -> Vec<String> {
    let mut player = Player::<Dql>::new();
    let play = |line: &&str| {
        player
            .play(line)
            .expect("a valid line")
            .map(|row| row.to_string())
    };
    lines.iter().filter_map(play).collect()
}

#[test]
fn numbers_out_of_range_are_rejected_operations() {
    let fresh = "0 0 0 0 0 0 4294967295 0 0 0 0";
    let rejected = [
        "init 18446744073710",
        "set limit 4294967296",
        "set limit 1879048193",
        "set min_limit -1",
        "set max_limit 99999999999999999999999999",
        "set hold 18446744073710",
        "t 18446744073710",
        "q 4294967296",
        "c 4294967296",
    ];
    for line in rejected {
        assert_eq!(
            rows(&["init 1000", line, "set limit 0"]),
            [fresh, "error", fresh],
            "{line}"
        );
    }
}

#[test]
fn crossing_bounds_are_rejected_in_both_directions() {
    let lines = [
        "init 1",
        "set max_limit 10",
        "set min_limit 11",
        "set min_limit 10",
    ];
    let played = rows(&[&lines[..], &["set max_limit 9", "set max_limit 10"]].concat());
    assert_eq!(
        played.iter().map(|row| row == "error").collect::<Vec<_>>(),
        [false, false, true, false, true, false]
    );
}

#[test]
fn malformed_line_error_lists_allowed_values() {
    let malformed = [
        "q",
        "q x",
        "q 1 2",
        "set",
        "set size 1",
        "init",
        "z 1",
        "r 1",
        "q 1.5",
        "q -",
    ];
    for line in malformed {
        let mut player = Player::<Dql>::new();
        player.play("init 1000").expect("a valid line");
        let message = player.play(line).expect_err(line);
        assert!(message.contains("allowed"), "{line}: {message}");
    }
    let message = Player::<Dql>::new().play("q 1").expect_err("no init");
    assert!(message.contains("init"), "{message}");
}

#[test]
fn empty_lines_have_no_row() {
    assert_eq!(rows(&["init 1000", "", "  ", "q 1"]).len(), 2);
}
