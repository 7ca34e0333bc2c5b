//! Limits and disciplines that a program registers.

use crate::support::{Books, FakeRing, packet};
use taut_path::limit::{
    CompletionBatch, Limit, LimitInfo, LimitVisitor, NamedLimit, ParseLimitError,
};
use taut_path::qdisc::Fifo;
use taut_path::{AnyLimit, NameError, Queue, Registry, Stop};

/// A limit of three packets of 100 bytes.
#[derive(Debug, Clone)]
struct Three;

impl Limit for Three {
    fn limit(&self) -> u32 {
        299
    }

    fn completed(&mut self, _batch: &CompletionBatch) -> u32 {
        299
    }

    fn reset(&mut self, _now_ns: u64) {}
}

impl std::fmt::Display for Three {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("three")
    }
}

const THREE: LimitInfo = LimitInfo {
    name: "three",
    usage: "three[:N]",
    help: "three packets",
    adapts: true,
};

fn registry() -> Registry {
    let mut registry = Registry::new();
    let make = |argument: Option<&str>| match argument {
        None => Ok(AnyLimit::new(Three)),
        Some(argument) => Err(format!("three does not take {argument}")),
    };
    registry.register_limit(THREE, make).expect("a free name");
    let make = |parameters: &str| match parameters.parse() {
        Ok(packets) => Ok(Box::new(Fifo::new(packets)) as _),
        Err(_) => Err(format!(
            "tiny needs a number of packets, not {parameters:?}"
        )),
    };
    registry
        .register_qdisc("tiny", "a number of packets", make)
        .expect("a free name");
    registry
}

#[test]
fn taken_name_is_rejected() {
    let mut registry = registry();
    for name in ["three", "dql"] {
        let info = LimitInfo { name, ..THREE };
        let again = registry.register_limit(info, |_| Ok(AnyLimit::off()));
        assert_eq!(again, Err(NameError::Taken(name)));
    }
    for name in ["tiny", "codel"] {
        let make = |_: &str| Ok(Box::new(Fifo::new(1)) as _);
        let again = registry.register_qdisc(name, "", make);
        assert_eq!(again, Err(NameError::Taken(name)));
    }
}

#[test]
fn name_of_the_smallest_fixed_limit_is_reserved() {
    let info = LimitInfo {
        name: "fixed",
        ..THREE
    };
    let added = Registry::new().register_limit(info, |_| Ok(AnyLimit::off()));
    assert_eq!(added, Err(NameError::Taken("fixed")));
}

#[test]
fn limit_without_argument_in_its_usage_receives_none() {
    let mut registry = Registry::new();
    let info = LimitInfo {
        usage: "three",
        ..THREE
    };
    let added = registry.register_limit(info, |_| Ok(AnyLimit::packets(3)));
    assert_eq!(added, Ok(()));
    assert!(registry.limit("three").is_ok());
    assert_eq!(registry.limit("three:4"), Err(ParseLimitError::NoArgument));
}

#[test]
fn text_that_is_not_a_name_is_rejected() {
    let mut registry = Registry::new();
    for name in ["", "40k", "7p", "a:b", "a b", "a\n", "-a", "é"] {
        let info = LimitInfo { name, ..THREE };
        let limit = registry.register_limit(info, |_| Ok(AnyLimit::off()));
        assert_eq!(limit, Err(NameError::Invalid(name)));
        let make = |_: &str| Ok(Box::new(Fifo::new(1)) as _);
        let qdisc = registry.register_qdisc(name, "", make);
        assert_eq!(qdisc, Err(NameError::Invalid(name)));
        let message = NameError::Invalid(name).to_string();
        assert!(message.contains(&format!("{name:?}")), "{message}");
    }
    let info = LimitInfo {
        name: "a-2_B",
        ..THREE
    };
    let added = registry.register_limit(info, |_| Ok(AnyLimit::off()));
    assert_eq!(added, Ok(()));
}

#[test]
fn error_of_unknown_name_lists_registered_names() {
    let registry = registry();
    let limit = registry.limit("nosuch").expect_err("no limit").to_string();
    let qdisc = registry
        .qdisc("nosuch")
        .expect_err("no discipline")
        .to_string();
    for (message, names) in [(limit, ["three[:N]", "dql"]), (qdisc, ["tiny", "codel"])] {
        for name in names {
            assert!(message.contains(name), "{name} in {message}");
        }
    }
    let help = registry.limits_help();
    assert!(help.contains("three packets"), "{help}");
    let mut qdiscs = registry.qdiscs();
    assert!(qdiscs.any(|(_, help)| help == "a number of packets"));
}

#[test]
fn maker_rejects_its_argument() {
    let registry = registry();
    let limit = registry.limit("three:4").expect_err("no argument");
    assert_eq!(limit.to_string(), "three does not take 4");
    let qdisc = registry.qdisc("tiny x").expect_err("a number");
    assert_eq!(
        qdisc.to_string(),
        "tiny needs a number of packets, not \"x\""
    );
    let built_in = registry.qdisc("codel x").expect_err("a parameter");
    assert!(!built_in.to_string().contains("tiny"), "{built_in}");
}

#[test]
fn registered_limit_and_discipline_hold_a_queue() {
    let registry = registry();
    let limit = registry.limit("three").expect("it is registered");
    let qdisc = registry.qdisc("tiny 4").expect("it is registered");
    assert_eq!(
        (limit.to_string(), qdisc.to_string()),
        ("three".into(), "tiny 4".into())
    );
    let mut queue = Queue::builder_for(FakeRing::new(64))
        .qdisc(qdisc)
        .limit(limit)
        .build(0)
        .expect("valid settings");
    let mut books = Books::default();
    for frame in 0..5 {
        queue.enqueue(packet(frame, 100), 0, &mut books);
    }
    assert_eq!(queue.run(0, &mut books), Stop::Limit);
    let held = (queue.device().in_device.len(), queue.backlog().packets);
    assert_eq!((held, books.dropped.len()), ((3, 1), 1));
}

#[test]
fn registered_limit_has_units_and_cap() {
    for text in ["three:packets", "three:2ms", "three:packets:2ms"] {
        let limit = registry().limit(text).expect(text);
        assert_eq!(limit.to_string(), text);
    }
}

/// Writes the limit that it receives.
struct Shown;

impl LimitVisitor for Shown {
    type Output = String;

    fn visit<L: NamedLimit + Clone + 'static>(self, limit: L) -> String {
        limit.to_string()
    }
}

#[test]
fn visitor_receives_rule_in_its_form() {
    let visit = |spec| THREE.visit(spec, Three, Shown);
    for spec in ["three", "three:packets", "three:2ms", "three:packets:2ms"] {
        assert_eq!(visit(spec).as_deref(), Ok(spec));
    }
    for spec in ["", "dql", "three:4", "three:", "three:2ms:packets"] {
        assert!(visit(spec).is_err(), "{spec}");
    }
    let fixed = LimitInfo {
        adapts: false,
        ..THREE
    };
    assert!(fixed.visit("three:packets", Three, Shown).is_err());
}
