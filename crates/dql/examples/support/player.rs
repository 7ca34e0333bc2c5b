//! Plays conformance vectors: one operation a line in, one row a line out.

use std::fmt;
use std::sync::Arc;

use taut_dql::{Completer, Config, Dql, Error, Producer, Shared, Snapshot, reset, split};

const NS_PER_MS: u64 = 1_000_000;

/// Either variant, as the operations see it.
pub trait Queue: Sized {
    fn fresh(config: Config, now_ns: u64) -> Result<Self, Error>;
    fn queued(&mut self, units: u32) -> Result<(), Error>;
    fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error>;
    fn reset(&mut self, now_ns: u64) -> Result<(), Error>;
    fn set(&mut self, setting: Setting) -> Result<(), Error>;
    fn snapshot(&self) -> Snapshot;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Limit(u32),
    MinLimit(u32),
    MaxLimit(u32),
    HoldTimeNs(u64),
}

impl Queue for Dql {
    fn fresh(config: Config, now_ns: u64) -> Result<Self, Error> {
        Dql::with_config(config, now_ns)
    }
    fn queued(&mut self, units: u32) -> Result<(), Error> {
        self.queued(units)
    }
    fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.completed(units, now_ns)
    }
    fn reset(&mut self, now_ns: u64) -> Result<(), Error> {
        self.reset(now_ns);
        Ok(())
    }
    fn set(&mut self, setting: Setting) -> Result<(), Error> {
        match setting {
            Setting::Limit(limit) => self.set_limit(limit),
            Setting::MinLimit(limit) => self.set_min_limit(limit),
            Setting::MaxLimit(limit) => self.set_max_limit(limit),
            Setting::HoldTimeNs(hold_time_ns) => {
                self.set_hold_time_ns(hold_time_ns);
                Ok(())
            }
        }
    }
    fn snapshot(&self) -> Snapshot {
        self.snapshot()
    }
}

/// The two-thread variant, seen the way a third thread sees it.
pub struct Halves {
    pub shared: Arc<Shared>,
    pub producer: Producer<Arc<Shared>>,
    pub completer: Completer<Arc<Shared>>,
}

impl Queue for Halves {
    fn fresh(config: Config, now_ns: u64) -> Result<Self, Error> {
        let shared = Arc::new(Shared::new());
        let (producer, completer) = split(shared.clone(), config, now_ns)?;
        Ok(Halves {
            shared,
            producer,
            completer,
        })
    }
    fn queued(&mut self, units: u32) -> Result<(), Error> {
        self.producer.queued(units)
    }
    fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.completer.completed(units, now_ns)
    }
    fn reset(&mut self, now_ns: u64) -> Result<(), Error> {
        reset(&mut self.producer, &mut self.completer, now_ns)
    }
    fn set(&mut self, setting: Setting) -> Result<(), Error> {
        match setting {
            Setting::Limit(limit) => self.completer.set_limit(limit),
            Setting::MinLimit(limit) => self.completer.set_min_limit(limit),
            Setting::MaxLimit(limit) => self.completer.set_max_limit(limit),
            Setting::HoldTimeNs(hold_time_ns) => {
                self.completer.set_hold_time_ns(hold_time_ns);
                Ok(())
            }
        }
    }
    fn snapshot(&self) -> Snapshot {
        self.shared.snapshot()
    }
}

/// One line of output.
#[derive(Clone, Copy, Debug)]
pub enum Row {
    Refused,
    State(Snapshot),
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row::State(s) = self else {
            return f.write_str("error");
        };
        let start_ms = s.window_start_ns / NS_PER_MS;
        write!(
            f,
            "{} {} {} {} {}",
            s.limit, s.adj_limit, s.num_queued, s.num_completed, s.room
        )?;
        write!(f, " {start_ms} {} {}", s.lowest_slack, s.prev_over_limit)?;
        write!(
            f,
            " {} {} {}",
            s.prev_num_queued, s.prev_last_object, s.last_object
        )
    }
}

/// One line of input; `None` for a number that is one, but that its field cannot hold.
enum Operation {
    Init(Option<u64>),
    Set(Option<Setting>),
    Clock(Option<u64>),
    Queued(Option<u32>),
    Completed(Option<u32>),
    Reset,
}

/// Plays one file. `Q` is the variant. The clock goes on across a further `init`.
pub struct Player<Q> {
    queue: Option<Q>,
    now_ns: u64,
}

impl<Q: Queue> Player<Q> {
    pub fn new() -> Self {
        Player {
            queue: None,
            now_ns: 0,
        }
    }

    /// The row for one line of input, none for an empty line, or what is wrong with the line.
    pub fn play(&mut self, line: &str) -> Result<Option<Row>, String> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if words.is_empty() {
            return Ok(None);
        }
        let operation = parse(&words)?;
        if self.queue.is_none() && !matches!(operation, Operation::Init(Some(_))) {
            return Err(format!(
                "`{}` before `init H`, which comes first",
                words.join(" ")
            ));
        }
        let done = self.apply(operation);
        let queue = self.queue.as_ref();
        Ok(Some(match (done, queue) {
            (Some(()), Some(queue)) => Row::State(queue.snapshot()),
            _ => Row::Refused,
        }))
    }

    /// `None` when the operation was refused, and nothing changed.
    fn apply(&mut self, operation: Operation) -> Option<()> {
        if let Operation::Init(hold_time_ns) = operation {
            let config = Config {
                hold_time_ns: hold_time_ns?,
                ..Config::default()
            };
            self.queue = Some(Q::fresh(config, self.now_ns).ok()?);
            return Some(());
        }
        let queue = self.queue.as_mut()?;
        match operation {
            Operation::Init(_) => None,
            Operation::Set(setting) => queue.set(setting?).ok(),
            Operation::Clock(now_ns) => {
                self.now_ns = now_ns?;
                Some(())
            }
            Operation::Queued(units) => queue.queued(units?).ok(),
            Operation::Completed(units) => queue.completed(units?, self.now_ns).ok(),
            Operation::Reset => queue.reset(self.now_ns).ok(),
        }
    }
}

fn parse(words: &[&str]) -> Result<Operation, String> {
    match *words {
        ["init", hold] => Ok(Operation::Init(ms(hold)?)),
        ["t", clock] => Ok(Operation::Clock(ms(clock)?)),
        ["q", units] => Ok(Operation::Queued(units32(units)?)),
        ["c", units] => Ok(Operation::Completed(units32(units)?)),
        ["r"] => Ok(Operation::Reset),
        ["set", "limit", limit] => Ok(Operation::Set(units32(limit)?.map(Setting::Limit))),
        ["set", "min_limit", limit] => Ok(Operation::Set(units32(limit)?.map(Setting::MinLimit))),
        ["set", "max_limit", limit] => Ok(Operation::Set(units32(limit)?.map(Setting::MaxLimit))),
        ["set", "hold", hold] => Ok(Operation::Set(ms(hold)?.map(Setting::HoldTimeNs))),
        _ => Err(format!(
            "`{}` is no operation: allowed are `init H`, `set limit|min_limit|max_limit|hold V`, \
             `t T`, `q N`, `c N` and `r`",
            words.join(" ")
        )),
    }
}

fn ms(word: &str) -> Result<Option<u64>, String> {
    Ok(integer(word)?.and_then(|ms| ms.checked_mul(NS_PER_MS)))
}

fn units32(word: &str) -> Result<Option<u32>, String> {
    Ok(integer(word)?.and_then(|units| u32::try_from(units).ok()))
}

/// `None` for an integer that even a `u64` cannot hold.
fn integer(word: &str) -> Result<Option<u64>, String> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!(
            "`{word}` is no number: allowed are decimal integers"
        ));
    }
    Ok(word.parse().ok())
}
