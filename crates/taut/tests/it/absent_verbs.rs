//! Verbs of a feature that the build lacks.

use crate::sim_command::taut;

#[test]
fn absent_verb_names_the_feature_it_needs() {
    let verbs = [
        ("lab", "lab", cfg!(feature = "lab")),
        ("sim", "sim", cfg!(feature = "sim")),
        ("replay", "sim", cfg!(feature = "sim")),
    ];
    for (verb, feature, is_present) in verbs {
        let output = taut(&format!("{verb} --help")).output().expect("runs");
        let talk = String::from_utf8_lossy(&output.stderr);
        if is_present {
            assert!(output.status.success(), "{verb}: {talk}");
        } else {
            assert_eq!(output.status.code(), Some(2), "{verb}");
            assert!(talk.contains(&format!("the feature `{feature}`")), "{talk}");
        }
    }
}

#[test]
#[cfg(not(feature = "sim"))]
fn command_without_a_verb_prints_help() {
    let output = taut("").output().expect("runs");
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("Usage: taut"));
}
