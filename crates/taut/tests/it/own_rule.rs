//! A program that registers its own limits and disciplines. Each test runs this test binary as a
//! subprocess, because names cannot be removed from a process.

use std::process::{Command, Output};

use taut_path::limit::{Fixed, LimitInfo};
use taut_path::qdisc::Fifo;
use taut_path::{AnyLimit, Registry};

const ARGS: &str = "TAUT_TEST_ARGS";

/// The program, if a test runs it.
#[test]
#[ignore = "the other tests run it"]
fn program() {
    let args = std::env::var(ARGS).expect("arguments");
    let mut registry = Registry::new();
    let info = LimitInfo {
        name: "pair",
        usage: "pair",
        help: "two packets",
        adapts: false,
    };
    let limit = registry.register_limit(info, |_| Ok(AnyLimit::new(Fixed::packets(2))));
    let make = |_: &str| Ok(Box::new(Fifo::new(9)) as _);
    limit
        .and(registry.register_qdisc("tiny", "nine packets", make))
        .expect("free names");
    let args = args.split(' ').map(Into::into);
    let code = taut::run(args, registry);
    std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
}

fn run(args: &str) -> (bool, String) {
    let this = std::env::current_exe().expect("this program");
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(this)
        .args(["--exact", "own_rule::program", "--ignored", "--nocapture"])
        .env(ARGS, format!("own {args}"))
        .output()
        .expect("it runs");
    let text = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (status.success(), text.concat())
}

#[test]
fn help_lists_registered_names() {
    for (topic, help) in [("limits", "two packets"), ("qdiscs", "nine packets")] {
        let (ok, text) = run(&format!("help {topic}"));
        assert!(ok && text.contains(help), "{text}");
    }
}

#[test]
fn unknown_topic_lists_what_has_help() {
    let (ok, text) = run("help limts");
    assert!(!ok && text.contains("a verb, limits, or qdiscs"), "{text}");
    let (ok, text) = run("help send");
    assert!(ok && text.contains("Usage"), "{text}");
}

#[test]
fn errors_list_registered_names() {
    for (option, name) in [("--limit", "pair"), ("--qdisc", "tiny")] {
        let (ok, text) = run(&format!("forward a b {option} nosuch"));
        assert!(!ok && text.contains(name), "{text}");
    }
}

#[cfg(feature = "sim")]
#[test]
fn simulator_runs_registered_limit_and_discipline() {
    let only = "--streams 2 --duration 500ms --only tso=off,limit=on";
    let (ok, text) = run(&format!(
        "sim rr-under-load {only} --limit pair --qdisc tiny"
    ));
    assert!(ok && text.contains("2p"), "{text}");
}
