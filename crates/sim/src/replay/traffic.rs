//! Reads the traffic and the completion times of a recorded queue, independent of its rule.

use std::collections::{HashMap, VecDeque};
use std::io::BufRead;

use taut_path::DropReason;
use thiserror::Error;

use crate::error::{TestbedError, demand_countable, demand_order};
use crate::nic::link_ns;
use taut_measure::meter::{Level, Since};
use taut_measure::trace::{self, Event, Line, PacketRecord, ReadError};

/// Batches over which the rate of the device is computed. One batch more or less then changes it by
/// a thousandth. A larger error would drain the backlog of a saturated sender in a replay.
const RATE_ROUNDS: usize = 1024;

/// A packet that was sent eventually.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// Arrival at the discipline, in ns.
    pub at_ns: u64,
    /// Its length as one object; 0 counts as 1. At most [`MAX_OBJECT`](taut_dql::MAX_OBJECT).
    pub bytes: u32,
}

/// A time at which the device reported completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Batch {
    /// Time of the report, in ns.
    pub at_ns: u64,
    /// Latest possible end of the first packet of the batch, in ns. The device was not polled after
    /// this.
    pub finished_ns: u64,
}

/// One recorded queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traffic {
    /// The row's name in the trace.
    pub name: String,
    /// The limit of the recording.
    pub limit: String,
    /// The sent packets, in order of arrival.
    pub arrivals: Vec<Arrival>,
    /// The completion batches, in order of time.
    pub batches: Vec<Batch>,
    /// Mean bytes in flight of the recording, over time. A replay under the same limit should
    /// reproduce it.
    pub in_flight_mean_bytes: u64,
    /// Rate of the device: its maximum over many batches. 0 if too few packets were completed.
    pub rate_bits_per_s: u64,
}

impl Traffic {
    /// Checks that the traffic can be replayed. Traffic that was read is valid, except for objects
    /// that no limit can count.
    ///
    /// # Errors
    /// If arrivals or batches are not in order of time, or for such an object.
    pub fn check(&self) -> Result<(), TestbedError> {
        demand_order(self.arrivals.iter().map(|it| it.at_ns), "at_ns of arrivals")?;
        demand_order(self.batches.iter().map(|it| it.at_ns), "at_ns of batches")?;
        demand_countable(
            self.arrivals.iter().map(|it| it.bytes),
            "bytes of an arrival",
        )
    }
}

/// Why a trace cannot be replayed.
#[derive(Debug, Error)]
pub enum TrafficError {
    /// The trace cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An event precedes the first queue.
    #[error("events before the first row: incomplete trace")]
    NoRow,
}

/// Reads the traffic of every queue of a trace.
///
/// # Errors
/// If the trace cannot be read, or lacks information that a replay needs.
pub fn read(input: impl BufRead) -> Result<Vec<Traffic>, TrafficError> {
    let (_, lines) = trace::read(input)?;
    let mut all: Vec<Queue> = Vec::new();
    for line in lines {
        match line? {
            Line::Row { name, limit } => all.push(Queue::new(name, limit)),
            Line::Event { at_ns, event } => {
                all.last_mut()
                    .ok_or(TrafficError::NoRow)?
                    .take(at_ns, event);
            }
        }
    }
    Ok(all.into_iter().map(Queue::finish).collect())
}

/// State of a queue while its events are read.
struct Queue {
    traffic: Traffic,
    /// Arrival times of packets that are not yet sent or dropped, by their description in the
    /// trace.
    waiting: HashMap<PacketRecord, VecDeque<u64>>,
    /// Can be negative for a moment if two threads recorded one packet in the opposite order.
    in_flight_bytes: i64,
    /// The bytes in flight over time.
    in_flight: Level,
    /// The sent packets in order of sending, and the number completed by each batch.
    sent: Vec<Arrival>,
    back_packets: Vec<u32>,
    /// Busy periods. For each batch of one but the first: the time since the previous batch, in ns,
    /// and the completed bytes.
    busy: Vec<Vec<(u64, u64)>>,
    /// Time of the last batch, unless it left the device without work.
    last_batch_ns: Option<u64>,
}

impl Queue {
    fn new(name: String, limit: String) -> Self {
        Self {
            traffic: Traffic {
                name,
                limit,
                ..Traffic::default()
            },
            waiting: HashMap::new(),
            in_flight_bytes: 0,
            in_flight: Level::new(0, &Since(0)),
            sent: Vec::new(),
            back_packets: Vec::new(),
            busy: vec![Vec::new()],
            last_batch_ns: None,
        }
    }

    fn take(&mut self, at_ns: u64, event: Event) {
        match event {
            Event::Enqueue(packet) => self.waiting.entry(packet).or_default().push_back(at_ns),
            Event::Drop(packet, DropReason::DeviceRefused) => {
                // The most recently sent packet.
                self.traffic.arrivals.pop();
                self.sent.pop();
                self.in_flight_bytes -= i64::from(packet.bytes);
            }
            // Packets with the same description are interchangeable, so its position in the line
            // does not matter.
            Event::Drop(packet, _) => {
                self.waiting.get_mut(&packet).and_then(VecDeque::pop_back);
            }
            Event::Sent(packet) => {
                let arrived = self.waiting.get_mut(&packet).and_then(VecDeque::pop_front);
                self.traffic.arrivals.push(Arrival {
                    at_ns: arrived.unwrap_or(at_ns),
                    bytes: packet.bytes,
                });
                self.sent.push(Arrival {
                    at_ns,
                    bytes: packet.bytes,
                });
                self.in_flight_bytes += i64::from(packet.bytes);
            }
            Event::Completed(done) => {
                if let (Some(last_ns), Some(period)) = (self.last_batch_ns, self.busy.last_mut()) {
                    period.push((at_ns.saturating_sub(last_ns), done.bytes.into()));
                }
                self.in_flight_bytes -= i64::from(done.bytes);
                // The time until the next batch counts only if the device has work from its start.
                self.last_batch_ns = (self.in_flight_bytes > 0).then_some(at_ns);
                if self.in_flight_bytes <= 0 {
                    self.busy.push(Vec::new());
                }
                match (self.traffic.batches.last(), self.back_packets.last_mut()) {
                    (Some(last), Some(back)) if last.at_ns >= at_ns => {
                        *back = back.saturating_add(done.packets);
                    }
                    _ => {
                        self.back_packets.push(done.packets);
                        self.traffic.batches.push(Batch {
                            at_ns,
                            finished_ns: at_ns,
                        });
                    }
                }
            }
            _ => {}
        }
        let in_flight_bytes = self.in_flight_bytes.max(0).cast_unsigned();
        self.in_flight.change(in_flight_bytes, at_ns, &Since(0));
    }

    fn finish(mut self) -> Traffic {
        self.traffic.arrivals.sort_by_key(|arrival| arrival.at_ns);
        self.traffic.rate_bits_per_s = self.rate_bits_per_s();
        self.find_finished();
        self.traffic.in_flight_mean_bytes = self.in_flight.mean();
        self.traffic
    }

    /// Computes the latest end of the first packet of each batch. The device sent all other packets
    /// of the batch after it, and could start it at the previous batch.
    fn find_finished(&mut self) {
        let sending_ns = |bytes| link_ns(bytes, self.traffic.rate_bits_per_s);
        let (mut sent, mut before_ns) = (self.sent.iter(), 0);
        for (batch, &packets) in self.traffic.batches.iter_mut().zip(&self.back_packets) {
            let mut back = sent.by_ref().take(packets as usize);
            let first = back.next();
            let others_bytes = back.map(|it| u64::from(it.bytes)).sum();
            let mut finished_ns = batch.at_ns.saturating_sub(sending_ns(others_bytes));
            if let Some(first) = first {
                let begun_ns = first.at_ns.max(before_ns);
                let length_ns = sending_ns(first.bytes.into());
                finished_ns = finished_ns.min(begun_ns.saturating_add(length_ns));
            }
            batch.finished_ns = finished_ns;
            before_ns = batch.at_ns;
        }
    }

    /// Returns the maximum rate over a window of busy batches, or over all of them if there are
    /// fewer.
    fn rate_bits_per_s(&self) -> u64 {
        let longest = self.busy.iter().map(Vec::len).max().unwrap_or(0);
        let number = longest.min(RATE_ROUNDS);
        if number == 0 {
            return 0;
        }
        let windows = self.busy.iter().flat_map(|period| period.windows(number));
        let rate = |window: &[(u64, u64)]| {
            let bytes: u64 = window.iter().map(|it| it.1).sum();
            // Times of a broken trace can decrease, so their sum can be large.
            let length_ns: u128 = window.iter().map(|it| u128::from(it.0)).sum();
            let bits = u128::from(bytes) * 8 * 1_000_000_000;
            u64::try_from(bits.checked_div(length_ns).unwrap_or(0)).unwrap_or(u64::MAX)
        };
        windows.map(rate).max().unwrap_or(0)
    }
}
