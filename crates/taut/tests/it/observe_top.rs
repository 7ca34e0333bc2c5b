//! `taut top` in a terminal of tmux.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::observe_tree::Tree;
use crate::sim_command::failed;
use crate::terminal::{Terminal, is_sane};

/// Runs `taut` in a separate terminal. Returns `None` without tmux.
fn start(test: &str, environment: &str, arguments: &str) -> Option<Terminal> {
    let taut = env!("CARGO_BIN_EXE_taut");
    Terminal::start(test, &format!("env {environment} {taut} {arguments}"))
}

#[test]
fn keys_sort_and_select_queues() {
    let tree = Tree::new("top");
    for name in ["eth0", "eth1", "wan0"] {
        tree.add(name, 1);
    }
    tree.set("wan0", 0, "inflight", "39000")
        .set("eth1", 0, "inflight", "9000");
    let line = tree.line("top -d 50ms");
    let Some(terminal) = start("keys", "LC_ALL=C.UTF-8", &line) else {
        return;
    };
    let screen = terminal.until("312us");
    let lines: Vec<&str> = screen.lines().collect();
    assert!(
        lines[0].starts_with("taut top  3 queues, by in-flight time"),
        "{screen}"
    );
    let first = |at: usize| lines[at].split_whitespace().next();
    assert_eq!(
        [first(2), first(3), first(4)],
        [Some("wan0"), Some("eth1"), Some("eth0")]
    );
    assert!(screen.contains('\u{2588}'), "a full curve: {screen}");
    // The maximum in flight is visible at once.
    tree.set("eth0", 0, "inflight", "12345");
    terminal.until("12,345");
    terminal.keys(&["s", "s", "s"]);
    terminal.until("by name");
    terminal.keys(&["Down", "Enter"]);
    let screen = terminal.until("eth1 queue 0, sampled");
    assert!(screen.contains("limit_max max"), "{screen}");
    terminal.until("in flight: 9,000 / 9,000 (72us) / 9,000");
    terminal.keys(&["p"]);
    terminal.until("PAUSED");
    terminal.keys(&["q"]);
    assert!(is_sane(&terminal.until("code 0")), "{}", terminal.screen());
}

#[test]
fn signal_restores_the_terminal() {
    let tree = Tree::new("top-signal");
    tree.add("eth0", 1);
    let line = tree.line("top -d 50ms");
    let Some(terminal) = start("signal", "NO_COLOR=1", &line) else {
        return;
    };
    terminal.until("q quit");
    let panes = terminal
        .tmux(&["list-panes", "-F", "#{pane_pid}"])
        .expect("tmux");
    let shell = String::from_utf8_lossy(&panes.stdout).trim().to_owned();
    let child = format!("/proc/{shell}/task/{shell}/children");
    let child = std::fs::read_to_string(child).expect("children");
    let sent = Command::new("kill").args(["-TERM", child.trim()]).status();
    assert!(sent.expect("kill").success());
    let screen = terminal.until("code 143");
    assert!(is_sane(&screen), "{screen}");
}

#[test]
fn works_without_width_colour_and_unicode() {
    let tree = Tree::new("top-plain");
    tree.add("eth0", 1);
    let line = tree.line("top -d 50ms");
    let Some(terminal) = start("plain", "NO_COLOR=1 LC_ALL=C", &line) else {
        return;
    };
    terminal.until("eth0");
    terminal
        .tmux(&["resize-window", "-x", "40", "-y", "8"])
        .expect("tmux");
    sleep(Duration::from_millis(300));
    let output = terminal.tmux(&["capture-pane", "-p", "-e"]).expect("tmux");
    let screen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(screen.contains("eth0"), "{screen}");
    for color in ["\x1b[32m", "\x1b[36m"] {
        assert!(!screen.contains(color), "{screen:?}");
    }
    assert!(screen.is_ascii(), "{screen:?}");
}

#[test]
fn missing_terminal_is_an_error() {
    assert!(failed("top", 2).contains("taut: top needs a terminal"));
}
