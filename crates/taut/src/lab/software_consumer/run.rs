//! One run: a queue, its two threads, and what they saw.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::thread;

use anyhow::{Context, anyhow};
use hdrhistogram::Histogram;
use taut_linux::sched::{self, monotonic_ns};
use taut_measure::trace::Tape;
use taut_path::qdisc::Fifo;
use taut_path::{AnyLimit, Queue, QueueConfig};
use taut_sim::consumer::{ConsumerConfig, Core};

use super::consumer::{Consumed, Consumer, Work};
use super::rest;
use super::ring::{Measured, Pings, ring};
use super::seat::Seat;
use super::sender::{DISCIPLINE_PACKETS, Flood, Sent, send};
use crate::interrupt;

/// The lowest priority above those of ordinary work: a switch is then between the two, and nobody else.
const PRIORITY: u8 = 1;

/// Where the threads run.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub sender_processor: usize,
    pub consumer_processor: usize,
    pub real_time: bool,
}

/// What a run gave.
pub struct Ran {
    pub packets_per_s: f64,
    pub in_flight_mean: f64,
    /// In packets.
    pub limit_p50: f64,
    pub ping_ns: Histogram<u64>,
    pub sent_packets: u64,
    pub told_packets: u64,
    pub dropped_packets: u64,
    /// The longest time from one finished packet to the next, in ns.
    pub longest_gap_ns: u64,
    pub tape: Option<Tape>,
}

/// Runs `config`, whose times count from the start, with `limit`; `None` if it was interrupted.
pub fn run(
    config: &ConsumerConfig,
    limit: AnyLimit,
    place: Place,
    most_events: Option<usize>,
) -> anyhow::Result<Option<Ran>> {
    if place.real_time {
        thread::sleep(rest::BEFORE);
    }
    let start_ns = monotonic_ns();
    let measured = Measured {
        from_ns: start_ns + config.warm_ns,
        to_ns: start_ns + config.end_ns,
    };
    let (sender_seat, consumer_seat) = (Arc::<Seat>::default(), Arc::<Seat>::default());
    let pings = Pings::new(config.seed, config.ping_ns, start_ns);
    let (tx, rx) = ring(config.ring, consumer_seat.clone(), pings, measured);
    let queue = Queue::builder(tx, rx)
        .limit(limit)
        .with_qdisc(Fifo::new(DISCIPLINE_PACKETS))
        .config(QueueConfig {
            // One packet is all that a sender that may go on wants.
            restart_slots: Some(1),
            ..QueueConfig::default()
        })
        .probe(most_events.map(|most| Tape::new(start_ns, most)))
        .waker(Waker::from(sender_seat.clone()))
        .build(start_ns)?;
    let (mut sender, mut completer, _watch) =
        queue.split_probes(|mut tape| (tape.as_mut().map(Tape::divide), tape));
    let flood = Flood {
        packet_ns: config.sender_ns,
        units: config.units,
        measured,
        rests: place.real_time,
    };
    let work = Work {
        core: config.core,
        packet_ns: config.consumer_ns,
        poll_packets: config.poll,
        told: config.told,
        units: config.units,
        measured,
    };
    let is_over = AtomicBool::new(false);
    let (sent, consumed) = thread::scope(|scope| {
        let consuming =
            thread::Builder::new()
                .name("consume".into())
                .spawn_scoped(scope, || {
                    consumer_seat.take();
                    let placed = settle(place, place.consumer_processor);
                    let limit_p50 = Consumer::new(&mut completer, &work).run(&is_over);
                    placed.map(|()| limit_p50)
                })?;
        let sending = thread::Builder::new()
            .name("send".into())
            .spawn_scoped(scope, || {
                // Also if it panics: the consumer would wait in vain.
                let _over = Over(&is_over, &consumer_seat);
                sender_seat.take();
                settle(place, place.sender_processor)?;
                Ok(send(&mut sender, &flood, &sender_seat))
            });
        if sending.is_err() {
            drop(Over(&is_over, &consumer_seat));
        }
        let sent: anyhow::Result<Sent> = ended(sending.context("start a thread")?.join());
        let consumed: anyhow::Result<Consumed> = ended(consuming.join());
        anyhow::Ok((sent?, consumed?))
    })?;
    if interrupt::noted().is_some() {
        return Ok(None);
    }
    let length_ns = config.end_ns - config.warm_ns;
    let seen = completer.completions().seen();
    let finished_per_s = seen.finished_packets as f64 * 1e9 / length_ns as f64;
    Ok(Some(Ran {
        packets_per_s: sent
            .rounds
            .packets_per_s(length_ns)
            .unwrap_or(finished_per_s),
        in_flight_mean: seen.stays_ns as f64 / length_ns as f64,
        limit_p50: consumed.limit_p50 as f64 / f64::from(config.units),
        ping_ns: seen.ping_ns.clone(),
        sent_packets: sent.packets,
        told_packets: completer.completions().told(),
        dropped_packets: sent.dropped_packets,
        longest_gap_ns: consumed.longest_gap_ns,
        tape: joined(sender.probe_mut().take(), completer.probe_mut().take()),
    }))
}

fn joined(sent: Option<Tape>, told: Option<Tape>) -> Option<Tape> {
    let mut tape = sent?;
    told.into_iter().for_each(|told| tape.merge(told));
    Some(tape)
}

/// Puts the calling thread where it belongs.
fn settle(place: Place, processor: usize) -> anyhow::Result<()> {
    sched::precise_timers()?;
    sched::keep_to_processor(processor)?;
    if place.real_time {
        sched::realtime_priority(PRIORITY)?;
    }
    Ok(())
}

fn ended<T>(thread: thread::Result<anyhow::Result<T>>) -> anyhow::Result<T> {
    thread.map_err(|_| anyhow!("a thread panicked"))?
}

/// Tells the consumer that no more will come, when it is dropped.
struct Over<'a>(&'a AtomicBool, &'a Seat);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.wake_sleeper();
    }
}

/// Where the two of `core` run, on the last of the processors that the process has; `None` if there are too
/// few.
pub fn place(core: Core, processors: &[usize], real_time: bool) -> Option<Place> {
    let last = *processors.last()?;
    let sender_processor = match core {
        Core::Shared => last,
        Core::Own => *processors.iter().rev().nth(1)?,
    };
    Some(Place {
        sender_processor,
        consumer_processor: last,
        real_time,
    })
}
