//! Scenario files: accepted ones, error messages, and no panics.

use crate::support::file_with;
use proptest::prelude::*;
use taut_scenarios::registry::{ALL, check};
use taut_scenarios::sweep::run;

#[test]
fn every_file_is_valid() {
    for entry in ALL {
        let first = entry.file.lines().next();
        assert_eq!(
            first,
            Some(format!("scenario = \"{}\"", entry.name).as_str())
        );
        let about = &entry.description().about;
        // One line of the help.
        assert!((1..80).contains(&about.len()) && !about.contains('\n'));
        let found = check(entry.file).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert_eq!(found.name, entry.name);
    }
}

#[test]
fn unknown_key_error_has_a_position() {
    for entry in ALL {
        let text = format!("scenario = \"{}\"\n\n  colour = 1\n", entry.name);
        let error = check(&text).expect_err("an unknown key").to_string();
        assert!(error.contains("line 3, column 3"), "{error}");
        assert!(error.contains("unknown field `colour`"), "{error}");
    }
    let error = check("scenario = \"right-size\"\nring =\n").expect_err("no value");
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn invalid_value_error_has_key_and_range() {
    let cases = [
        ("right-size", "ring", "0", "ring is 0; allowed: 2 to 65536"),
        (
            "right-size",
            "rates",
            "[\"0bit\"]",
            "rates is 0bit; allowed: 1bit to 400gbit",
        ),
        (
            "right-size",
            "coalesce",
            "\"2s\"",
            "coalesce is 2s; allowed: 0ns to 1s",
        ),
        (
            "right-size",
            "sizes",
            "[\"1m\"]",
            "sizes is 1048576b; allowed: 1b to 65536b",
        ),
        (
            "late-segmentation",
            "warm_up",
            "\"3601s\"",
            "warm_up is 3601s; allowed: 0ns to 3600s",
        ),
        (
            "late-segmentation",
            "coalesce",
            "\"5000s\"",
            "coalesce is 5000s; allowed: 1us to 100ms",
        ),
        (
            "right-size",
            "rules",
            "[\"fixed\"]",
            "rules has fixed; allowed: a limit, or fixed with show = \"compared\"",
        ),
        (
            "late-segmentation",
            "limits",
            "[]",
            "rows is limit=on, which selects no row; allowed with these limits: limit=off",
        ),
        (
            "codel-under-load",
            "ring",
            "1",
            "ring is 1; allowed: 32 to 65536",
        ),
        (
            "software-consumer",
            "consumers",
            "[]",
            "consumers has 0 values; allowed: 1 to 20",
        ),
        (
            "software-consumer",
            "cores",
            "[]",
            "cores has 0 values; allowed: 1 to 20",
        ),
        (
            "software-consumer",
            "notify",
            "[]",
            "notify has 0 values; allowed: 1 to 20",
        ),
    ];
    for (name, key, value, message) in cases {
        let error = check(&file_with(name, &[(key, value)])).expect_err(key);
        assert_eq!(error.to_string(), message);
    }
    let whole = file_with("limit-rules", &[]);
    let (before, list) = whole.split_once("patterns = [").expect("patterns");
    let (_, after) = list.split_once("\n]").expect("the end of the list");
    let nothing = format!("{before}patterns = []{after}");
    let error = check(&nothing).expect_err("nothing to compare on");
    assert!(error.to_string().contains("both empty"), "{error}");
    for (key, value) in [("coalesce", "50"), ("coalesce", "\"50\""), ("ring", "-1")] {
        let error = check(&file_with("right-size", &[(key, value)])).expect_err(value);
        assert!(error.to_string().contains("line 1"), "{error}");
    }
    let error = check("scenario = \"left-size\"").expect_err("an unknown name");
    let names: Vec<_> = ALL.iter().map(|entry| entry.name).collect();
    assert_eq!(
        error.to_string(),
        format!("no scenario \"left-size\"; there are: {}", names.join(", "))
    );
    assert!(run("", None, 1, &mut |_, _, _| {}).is_err());
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = check(&text);
        let _ = check(&format!("scenario = \"right-size\"\n{text}"));
    }

    /// A valid file with random deletions and insertions.
    #[test]
    fn no_mutated_file_panics(
        which in 0..ALL.len(),
        from in 0usize..600,
        cut in 0usize..20,
        put in "[-0-9a-z\"=\\[\\]{}., \\n]{0,6}",
    ) {
        let text = ALL[which].file;
        let from = from % text.len();
        let to = (from + cut).min(text.len());
        if text.is_char_boundary(from) && text.is_char_boundary(to) {
            let _ = check(&format!("{}{put}{}", &text[..from], &text[to..]));
        }
    }
}
