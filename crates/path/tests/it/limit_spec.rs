//! The names of limits.

use proptest::prelude::*;
use taut_path::LimitSpec;
use taut_path::limit::{ParseLimitError, Utilisation};

#[test]
fn limits_are_read_by_their_names() {
    let cases = [
        ("off", LimitSpec::Off),
        ("dql", LimitSpec::Dynamic),
        ("need", LimitSpec::Need),
        ("ladder", LimitSpec::LADDER),
        ("taut", LimitSpec::TAUT),
        ("taut:99.9%", LimitSpec::TAUT),
        (
            "taut:99.5%",
            LimitSpec::Taut(Utilisation::from_ppm(995_000).unwrap()),
        ),
        ("40k", LimitSpec::Bytes(40_960)),
        ("1514", LimitSpec::Bytes(1_514)),
        ("32p", LimitSpec::Packets(32)),
        ("1879048192", LimitSpec::Bytes(taut_dql::MAX_LIMIT)),
    ];
    for (text, spec) in cases {
        assert_eq!(text.parse(), Ok(spec), "{text}");
    }
    assert_eq!(LimitSpec::TAUT.to_string(), "taut", "and written by them");
}

#[test]
fn limits_that_are_out_of_range_or_unknown_are_refused() {
    for text in [
        "0",
        "0p",
        "0k",
        "1879048193",
        "2g",
        "1879048193p",
        "99999999999999999999p",
    ] {
        assert_eq!(
            text.parse::<LimitSpec>(),
            Err(ParseLimitError::OutOfRange),
            "{text}"
        );
    }
    for text in [
        "taut:",
        "taut:99.5",
        "ladder:100%",
        "ladder:49%",
        "taut:99.5%x",
    ] {
        let error = text.parse::<LimitSpec>().unwrap_err();
        assert!(matches!(error, ParseLimitError::Promise(_)), "{text}");
        assert!(error.to_string().contains("50% to 99.999%"), "{error}");
    }
    let cases = [
        ("", 1),
        ("p", 1),
        ("dq", 1),
        ("off ", 1),
        ("+5p", 1),
        ("1.5p", 4),
        ("10q", 3),
    ];
    for (text, position) in cases {
        let Err(ParseLimitError::Unknown(error)) = text.parse::<LimitSpec>() else {
            panic!("{text} was understood");
        };
        assert_eq!(error.position, position, "{text}");
        let message = ParseLimitError::Unknown(error).to_string();
        assert!(
            message.contains("off, dql, need, ladder, taut") && message.contains("1879048192"),
            "{message}"
        );
    }
}

proptest! {
    #[test]
    fn every_limit_survives_being_written_and_read(units in 1u32..=taut_dql::MAX_LIMIT) {
        for spec in [LimitSpec::Bytes(units), LimitSpec::Packets(units)] {
            prop_assert_eq!(spec.to_string().parse(), Ok(spec));
        }
    }

    #[test]
    fn no_text_panics_and_what_is_understood_is_written_alike(text in "(\\PC|[0-9.kpofdql]){0,20}|dql|need|(ladder|taut)(:[0-9]{1,3}(.[0-9]{1,5})?%?)?") {
        if let Ok(spec) = text.parse::<LimitSpec>() {
            prop_assert_eq!(spec.to_string().parse(), Ok(spec));
        }
    }
}
