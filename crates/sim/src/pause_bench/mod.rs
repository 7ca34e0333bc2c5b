//! One queue whose threads pause: a sender that always has something to send, and a completer that
//! interrupts run.
//!
//! A pause delays everything that the paused thread does until the pause ends. The device continues
//! meanwhile: it sends what is in its ring, and its interrupts remain pending.

mod ring;
mod run;

use std::fmt;
use std::str::FromStr;

pub use run::observe;

/// The thread that pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paused {
    /// The sender alone: completions continue, and nothing new is sent.
    Sender,
    /// The one thread that sends and completes.
    Thread,
}

impl fmt::Display for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sender => "sender",
            Self::Thread => "thread",
        })
    }
}

impl FromStr for Paused {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "sender" => Ok(Self::Sender),
            "thread" => Ok(Self::Thread),
            _ => Err("expected sender or thread"),
        }
    }
}

/// When a thread pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// The thread that pauses.
    pub paused: Paused,
    /// The length of a pause, in ns.
    pub length_ns: u64,
    /// From the start of a pause to the start of the next, in ns; one pause if `None`.
    pub every_ns: Option<u64>,
}

/// One queue and its pauses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseBenchConfig {
    /// Link rate, in bit/s.
    pub rate_bits_per_s: u64,
    /// Packets that the ring holds.
    pub ring_slots: u32,
    /// Bytes of each packet.
    pub object_bytes: u32,
    /// Mean time between interrupts, in ns; each differs from it by at most a tenth.
    pub interrupt_ns: u64,
    /// Seed of the times between interrupts.
    pub seed: u64,
    /// The pauses, the first at `warm_ns`.
    pub pause: Option<Pause>,
    /// End of the warm-up, in ns.
    pub warm_ns: u64,
    /// Time over which the bytes in flight are averaged, from `warm_ns` on, in ns.
    pub mean_ns: u64,
    /// Times after the end of the first pause at which the limit is sampled, in ns and ascending.
    pub samples_ns: Vec<u64>,
    /// The end, in ns.
    pub end_ns: u64,
}

/// The limit before and after a pause. Amounts are in the unit of the limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PauseReport {
    /// The limit at the start of the first pause.
    pub limit_before: u32,
    /// The limit at each of the sample times that the run reached.
    pub limits: Vec<u32>,
    /// The largest limit from the first pause on.
    pub limit_peak: u32,
    /// Mean amount in flight over `mean_ns`.
    pub in_flight_mean: f64,
    /// The largest amount in flight from the first pause on.
    pub in_flight_peak: u32,
    /// Stops of the queue because of a full ring, from the first pause on.
    pub ring_stops: u64,
    /// Share of the time from the first pause on in which the link was busy.
    pub utilisation: f64,
}
