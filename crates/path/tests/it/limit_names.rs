//! The names of limits.

use proptest::prelude::*;
use taut_path::AnyLimit;
use taut_path::limit::{
    Dynamic, Fixed, LIMITS, Limit, LossBudget, PacketUnits, ParseLimitError, TimeCapped, Unit,
    Utilisation,
};

fn read(text: &str) -> AnyLimit {
    text.parse().expect(text)
}

#[test]
fn names_parse_to_limits() {
    let utilisation = Utilisation::from_ppm(995_000).expect("in range");
    let cases = [
        ("off", AnyLimit::off()),
        ("off", AnyLimit::new(Fixed::off())),
        ("dql", AnyLimit::dql()),
        ("dql", AnyLimit::new(Dynamic::default())),
        ("taut", AnyLimit::taut()),
        (
            "taut:99.9%",
            AnyLimit::new(LossBudget::new(Utilisation::DEFAULT)),
        ),
        ("taut:99.5%", AnyLimit::new(LossBudget::new(utilisation))),
        (
            "dql:packets",
            AnyLimit::new(PacketUnits::new(Dynamic::default())),
        ),
        (
            "taut:99.5%:packets:2ms",
            AnyLimit::new(TimeCapped::new(
                PacketUnits::new(LossBudget::new(utilisation)),
                2_000_000,
            )),
        ),
        ("40k", AnyLimit::bytes(40_960)),
        ("1514", AnyLimit::bytes(1_514)),
        ("32p", AnyLimit::packets(32)),
    ];
    for (text, limit) in cases {
        assert_eq!(read(text), limit, "{text}");
    }
    assert_eq!(AnyLimit::taut().to_string(), "taut", "and written by them");
    assert_eq!(AnyLimit::default(), AnyLimit::dql());
}

#[test]
fn limit_is_written_as_it_was_spelled() {
    for text in [
        "taut",
        "taut:packets",
        "taut:packets:2ms",
        "taut:99.9%",
        "taut:99.9%:packets:2ms",
        "taut:99.5%:2ms",
    ] {
        assert_eq!(read(text).to_string(), text);
    }
}

#[test]
fn parsed_limit_is_the_named_rule() {
    assert_eq!(read("40k").limit(), 40_960);
    assert_eq!(read("32p").unit(), Unit::Packets);
    for text in ["dql:packets", "dql:packets:1ms", "taut:99.5%:packets"] {
        assert_eq!(read(text).unit(), Unit::Packets, "{text}");
    }
    assert_eq!(read("dql:2ms").unit(), Unit::Bytes);
    // A depth counts whole packets, and a limit lets one more through.
    assert_eq!((read("32p").limit(), read("32p").config().limit), (31, 32));
    assert_eq!(read("dql").limit(), 0);
    assert!(read("off").is_off() && !read("40k").is_off());
    assert!(
        read("1879048192").is_off(),
        "the largest holds nothing back"
    );
}

#[test]
fn every_usage_text_parses() {
    for rule in LIMITS {
        let name = rule.name;
        assert!(rule.usage.starts_with(name));
        assert_eq!(read(name).to_string(), name);
        assert!(!rule.help.is_empty() && !rule.help.contains('\n'));
    }
    let usages: Vec<_> = LIMITS.iter().map(|rule| rule.usage).collect();
    assert_eq!(usages, ["off", "dql", "taut[:SHARE%]"]);
}

#[test]
fn cloned_limit_is_independent() {
    let limit = AnyLimit::bytes(1_000);
    let mut other = limit.clone();
    let config = taut_dql::Config {
        limit: 2_000,
        ..other.config()
    };
    other.set_config(config).expect("it is in range");
    assert_eq!((limit.limit(), other.limit()), (1_000, 2_000));
    assert_ne!(limit, other);
}

#[test]
fn invalid_limits_are_rejected() {
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
            text.parse::<AnyLimit>(),
            Err(ParseLimitError::OutOfRange),
            "{text}"
        );
    }
    for text in ["taut:", "taut:99.5", "taut:100%", "taut:49%", "taut:99.5%x"] {
        let error = text.parse::<AnyLimit>().unwrap_err();
        assert!(matches!(error, ParseLimitError::Utilisation(_)), "{text}");
        assert!(error.to_string().contains("50% to 99.999%"), "{error}");
    }
    for (text, why) in [
        ("off:packets", ParseLimitError::NotInPackets),
        ("40k:packets", ParseLimitError::NotInPackets),
        ("32p:packets", ParseLimitError::NotInPackets),
        ("dql:packets:packets", ParseLimitError::NoArgument),
        ("dql:2ms:packets", ParseLimitError::AfterCap),
        ("dql:packets:0us", ParseLimitError::CapOutOfRange),
    ] {
        assert_eq!(text.parse::<AnyLimit>(), Err(why.clone()), "{text}");
        assert!(why.to_string().contains("such as in dql:") || why.to_string().contains("32p"));
    }
    for text in ["off:", "dql:99%", "dql:1", "dql:packets:1", "dql:packet"] {
        let error = text.parse::<AnyLimit>().unwrap_err();
        assert_eq!(error, ParseLimitError::NoArgument, "{text}");
        assert!(error.to_string().contains("takes nothing"), "{error}");
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
        let Err(ParseLimitError::Unknown(error)) = text.parse::<AnyLimit>() else {
            panic!("{text} was understood");
        };
        assert_eq!(error.position, position, "{text}");
        let message = ParseLimitError::Unknown(error).to_string();
        assert!(
            message.contains("off, dql, taut[:SHARE%]") && message.contains("1879048192"),
            "{message}"
        );
    }
}

proptest! {
    #[test]
    fn written_limits_parse_to_the_same(units in 1u32..=taut_dql::MAX_LIMIT) {
        for limit in [AnyLimit::bytes(units), AnyLimit::packets(units)] {
            let again: AnyLimit = limit.to_string().parse().expect("it was written");
            prop_assert_eq!(again.limit(), limit.limit());
            prop_assert_eq!(again, limit);
        }
    }

    #[test]
    fn written_suffixes_parse_to_the_same(
        name in prop_oneof![
            Just("dql".to_owned()),
            Just("taut".to_owned()),
            (50_000u32..=99_999)
                .prop_map(|share| format!("taut:{}.{:03}%", share / 1_000, share % 1_000)),
        ],
        packets: bool,
        cap_us in proptest::option::of(1u64..=10_000_000),
    ) {
        let mut text = name;
        if packets {
            text += ":packets";
        }
        if let Some(us) = cap_us {
            text += &format!(":{us}us");
        }
        let limit = read(&text);
        prop_assert_eq!(limit.unit() == Unit::Packets, packets);
        prop_assert_eq!(limit.needs().rate, cap_us.is_some());
        let again = read(&limit.to_string());
        prop_assert_eq!(again.unit(), limit.unit());
        prop_assert_eq!(again.to_string(), limit.to_string());
    }

    #[test]
    fn any_text_parses_or_fails_without_panic(
        text in concat!(
            "(\\PC|[0-9.kpofdql]){0,20}|dql|need|",
            "taut(:[0-9]{1,3}(.[0-9]{1,5})?%?)?(:packets)?(:[0-9]{1,3}[mu]s)?",
        ),
    ) {
        if let Ok(limit) = text.parse::<AnyLimit>() {
            prop_assert_eq!(limit.to_string().parse(), Ok(limit));
        }
    }
}
