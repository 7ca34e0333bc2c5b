//! Runs the command, for the tests of its output.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Returns the command with `arguments`, split at spaces.
pub fn taut(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(arguments.split_whitespace());
    command.stdin(Stdio::null());
    command
}

/// Returns the standard output of a run that succeeds.
pub fn stdout(arguments: &str) -> String {
    let output = taut(arguments).output().expect("runs");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {talk}");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the standard error of a run that fails with `code` and prints no data.
pub fn failed(arguments: &str, code: i32) -> String {
    let output = taut(arguments).output().expect("runs");
    let talk = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(code), "{arguments}: {talk}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments}");
    talk
}

/// A directory for a test, removed on drop.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(test: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{test}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory for the test");
        Self(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the names of its entries, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the directory");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("entry"))).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Parses comma-separated values (RFC 4180), independently of the writer.
pub fn read_csv(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut line, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (quoted, character) {
            (true, '"') if characters.peek() == Some(&'"') => {
                field.push('"');
                characters.next();
            }
            (_, '"') => quoted = !quoted,
            (false, ',') => line.push(std::mem::take(&mut field)),
            (false, '\n') => {
                line.push(std::mem::take(&mut field));
                lines.push(std::mem::take(&mut line));
            }
            _ => field.push(character),
        }
    }
    assert!(!quoted && field.is_empty() && line.is_empty(), "cut off");
    lines
}
