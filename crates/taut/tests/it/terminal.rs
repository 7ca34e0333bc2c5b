//! A terminal for tests, in tmux: sends keys and reads the screen. Integration tests and unit tests
//! use it.
#![allow(dead_code, reason = "the unit tests use a part of it")]

use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A terminal of 80 columns and 24 lines, with a separate tmux server.
pub struct Terminal {
    socket: String,
}

impl Terminal {
    /// Runs a command line, then prints the terminal settings and the exit code. Returns `None`
    /// without tmux.
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
                eprintln!("skipped: tmux is not installed");
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

    /// Returns the screen as soon as it contains `part`.
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

/// Returns `true` if the settings that `stty` printed are those of a restored terminal.
pub fn is_sane(screen: &str) -> bool {
    let on = |word: &str| {
        screen
            .split_whitespace()
            .any(|it| it.trim_end_matches(';') == word)
    };
    on("icanon") && on("echo") && on("opost")
}
