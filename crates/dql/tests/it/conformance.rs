//! Plays every recorded vector, line by line, through both variants.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use taut_dql::{Config, Snapshot};

use crate::queue::{Queue, Setting};

/// Number of vectors; fewer would mean that some are no longer played.
const VECTORS: usize = 17;

const NS_PER_MS: u64 = 1_000_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn vectors() -> Vec<String> {
    let files = fs::read_dir(folder()).expect("the folder of vectors");
    let names = files.map(|entry| entry.expect("a file").file_name().into_string());
    let vector = |name: String| Some(name.split_once(".ops")?.0.to_owned());
    names
        .filter_map(|name| vector(name.expect("UTF-8")))
        .collect()
}

/// Returns a file of a vector. Those of a large vector are compressed.
fn read(vector: &str, extension: &str) -> String {
    let file = folder().join(format!("{vector}.{extension}"));
    if file.exists() {
        return fs::read_to_string(file).expect("a file of the vector");
    }
    let mut gzip = Command::new("gzip");
    gzip.arg("-dc").arg(format!("{}.gz", file.display()));
    let output = gzip.output().expect("gzip");
    assert!(output.status.success(), "{}", file.display());
    String::from_utf8(output.stdout).expect("text")
}

/// A queue, and the time of its operations.
struct Player<Q> {
    queue: Option<Q>,
    now_ns: u64,
}

impl<Q: Queue> Player<Q> {
    /// Plays a line. Returns its row.
    fn play(&mut self, line: &str) -> String {
        if self.apply(line).is_none() {
            return "error".to_owned();
        }
        row(self.queue.as_ref().expect("`init` comes first").snapshot())
    }

    /// Returns `None` if the operation was rejected.
    fn apply(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (value, words) = match words[..] {
            ["r"] => (0, &words[..]),
            _ => {
                let (value, words) = words.split_last().expect("an operation");
                (value.parse::<u64>().expect("a number"), words)
            }
        };
        let (now_ns, units) = (self.now_ns, u32::try_from(value).expect("32 bits"));
        let mut queue = self.queue.as_mut();
        let mut set = |setting| queue.as_mut()?.set(setting).ok();
        match *words {
            ["init"] => {
                let config = Config {
                    hold_time_ns: value * NS_PER_MS,
                    ..Config::default()
                };
                self.queue = Some(Q::fresh(config, now_ns).ok()?);
                Some(())
            }
            ["t"] => {
                self.now_ns = value * NS_PER_MS;
                Some(())
            }
            ["set", "limit"] => set(Setting::Limit(units)),
            ["set", "min_limit"] => set(Setting::MinLimit(units)),
            ["set", "max_limit"] => set(Setting::MaxLimit(units)),
            ["set", "hold"] => set(Setting::HoldTimeNs(value * NS_PER_MS)),
            ["q"] => queue?.queued(units).ok(),
            ["c"] => queue?.completed(units, now_ns).ok(),
            ["r"] => queue?.reset(now_ns).ok(),
            _ => panic!("{line}"),
        }
    }
}

fn row(s: Snapshot) -> String {
    let start_ms = s.window_start_ns / NS_PER_MS;
    let totals = [s.limit, s.adj_limit, s.num_queued, s.num_completed].map(|it| it.to_string());
    format!(
        "{} {} {start_ms} {} {} {} {} {}",
        totals.join(" "),
        s.room,
        s.lowest_slack,
        s.prev_over_limit,
        s.prev_num_queued,
        s.prev_last_object,
        s.last_object
    )
}

/// Compares every line. Returns the number of lines.
fn compare<Q: Queue>(vector: &str) -> usize {
    let (operations, expected) = (read(vector, "ops"), read(vector, "expected"));
    let mut player = Player::<Q> {
        queue: None,
        now_ns: 0,
    };
    let mut rows = expected.lines();
    let mut compared = 0;
    for line in operations.lines() {
        compared += 1;
        let played = player.play(line);
        assert_eq!(Some(&*played), rows.next(), "{vector}:{compared} `{line}`");
    }
    assert_eq!(rows.next(), None, "rows left over in {vector}");
    compared
}

both_variants!(plays_every_vector);

fn plays_every_vector<Q: Queue>() {
    let vectors = vectors();
    assert_eq!(vectors.len(), VECTORS);
    let lines: usize = vectors.iter().map(|vector| compare::<Q>(vector)).sum();
    assert!(lines > 20_000, "only {lines} lines compared");
}
