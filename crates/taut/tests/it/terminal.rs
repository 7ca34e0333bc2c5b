//! A real terminal for tests: tmux holds it, keys are sent, the screen is read. Of the integration tests
//! and, for what only the inside can do, of the unit tests.
#![allow(dead_code, reason = "the unit tests use a part of it")]

use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A terminal of 80 columns and 24 lines, with a server of its own.
pub struct Terminal {
    socket: String,
}

impl Terminal {
    /// Runs a command line, says the terminal's settings after it and then its exit code. `None` where
    /// there is no tmux.
    pub fn start(test: &str, line: &str) -> Option<Self> {
        let socket = format!("taut-{test}-{}", std::process::id());
        let terminal = Self { socket };
        let script = format!("{line}; code=$?; stty -a; echo code $code; sleep 600");
        let line = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            &script,
        ];
        match terminal.tmux(&line) {
            Some(output) => assert!(output.status.success(), "{output:?}"),
            None => {
                eprintln!("skipped: tmux is not here");
                return None;
            }
        }
        Some(terminal)
    }

    pub fn tmux(&self, arguments: &[&str]) -> Option<Output> {
        let mut command = Command::new("tmux");
        command
            .env("LC_ALL", "C.UTF-8")
            .args(["-u", "-L", &self.socket]);
        command.args(arguments).output().ok()
    }

    pub fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p"]).expect("tmux");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat()).expect("tmux");
    }

    /// The screen once it has `part`.
    pub fn until(&self, part: &str) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if screen.contains(part) {
                return screen;
            }
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "no {part:?}:\n{screen}"
            );
            sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

/// What `stty` says of a terminal that was given back.
pub fn is_sane(screen: &str) -> bool {
    let on = |word: &str| {
        screen
            .split_whitespace()
            .any(|it| it.trim_end_matches(';') == word)
    };
    on("icanon") && on("echo") && on("opost")
}
