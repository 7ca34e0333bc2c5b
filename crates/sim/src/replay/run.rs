//! Runs the recorded traffic through a transmit queue, from arrival to arrival and from batch to
//! batch.

use std::slice::from_mut;
use std::task::Waker;

use taut_path::qdisc::Fifo;
use taut_path::{AnyLimit, Frame, Packet, Queue, QueueConfig};

use super::{Arrival, Batch, Traffic};
use crate::NEVER_NS;
use crate::error::{TestbedError, demand};
use crate::nic::{NicConfig, RingOf, SharedNic};
use crate::queue::{MAX_BACKLOG_PACKETS, QueueFault, queue_config};
use crate::single_queue_bench::Rule;
use crate::testbed::{BedEvent, EventResult, Schedule, Setup, Testbed, WireStats};
use taut_measure::meter::{CURVE_POINTS, Curve, Meter, Quantiles, Since};

/// Results of a replay.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// Bytes in the ring over time: queued minus reported.
    pub in_flight_bytes: Quantiles,
    /// Mean bytes in the ring.
    pub in_flight_mean_bytes: u64,
    /// Median of the limit, in the limit's units.
    pub limit_p50: u64,
    /// Packets queued in the discipline, over time.
    pub backlog_packets: Quantiles,
    /// Time for which the link had nothing to send while packets were queued, in ns.
    pub dry_ns: u64,
    /// Completion batches after which the device was empty while the limit blocked the sender.
    pub starved: u64,
    /// When the last packet was reaped, in ns.
    pub end_ns: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes in flight and the limit, in [`CURVE_POINTS`] steps of `step_ns`.
    pub curve: Curve,
    /// Length of a step, in ns.
    pub step_ns: u64,
}

/// A replay has one queue.
const QUEUE: usize = 0;

/// Replays `traffic` through a queue with `rule`, over a link of `rate_bits_per_s` behind a ring of
/// `slots`.
///
/// Completions are reported at the times of the trace. Where the recorded device was not polled
/// although it had finished packets, it is not polled here either. Where it had nothing to report,
/// the median interval of the trace is used.
///
/// # Errors
/// Returns the errors of [`Traffic::check`]. Also fails if the rate is 0, if the ring is too small,
/// or if the discipline overflows, because dropped packets cannot be replayed.
pub fn replay(
    traffic: &Traffic,
    rule: &Rule,
    rate_bits_per_s: u64,
    slots: u32,
) -> Result<Replayed, TestbedError> {
    traffic.check()?;
    let last_ns = traffic.arrivals.last().map_or(0, |it| it.at_ns);
    let length_ns = last_ns.max(traffic.batches.last().map_or(0, |it| it.at_ns));
    let packets = u32::try_from(traffic.arrivals.len()).unwrap_or(u32::MAX);
    let config = QueueConfig {
        coalesce_ns: rule.coalesce_ns,
        ..queue_config(None, Waker::noop().clone())
    };
    let nic = NicConfig::plain(rate_bits_per_s, slots);
    let (nic, mut rings) = SharedNic::shared(&nic, 1, WireStats::new(false), false)?;
    let queue = Queue::builder_for(rings.remove(QUEUE))
        .with_qdisc(Fifo::new(packets.clamp(1, MAX_BACKLOG_PACKETS)))
        .limit(rule.limit.clone())
        .probe(Meter::new(Since(0), 0, length_ns))
        .config(config)
        .build(0)?;
    let setup = Setup {
        wakeup_reaps: true,
        ..Setup::default()
    };
    let mut bed = Testbed::new(nic, setup);
    let mut run = ReplayRun {
        queue,
        arrivals: &traffic.arrivals,
        device: RecordedDevice::new(&traffic.batches),
        now_ns: 0,
    };
    run.run_to_end(&mut bed)?;
    let dropped_packets = run.queue.sender_counters().drops.total();
    demand(
        "dropped_packets (of a backlog of 1000000)",
        dropped_packets,
        0..=0,
    )?;
    Ok(run.outcome(&bed, length_ns))
}

struct ReplayRun<'t> {
    queue: Queue<RingOf<WireStats>, AnyLimit, Fifo, Meter<Since>>,
    /// Remaining arrivals.
    arrivals: &'t [Arrival],
    device: RecordedDevice<'t>,
    now_ns: u64,
}

impl ReplayRun<'_> {
    fn run_to_end(&mut self, bed: &mut Testbed<WireStats>) -> Result<(), TestbedError> {
        loop {
            let own = Schedule {
                arrival_ns: self.arrivals.first().map_or(NEVER_NS, |next| next.at_ns),
                ..Schedule::EMPTY
            };
            let (device, now_ns) = (&self.device, self.now_ns);
            let interrupts = |nic: &mut SharedNic<_>, until_ns| {
                let at_ns = device.next_batch_ns(nic.oldest_ns(QUEUE)?).max(now_ns);
                if at_ns > until_ns {
                    return None;
                }
                nic.send_until(at_ns);
                Some((at_ns, QUEUE))
            };
            let queues = from_mut(&mut self.queue);
            match bed.next(own, queues, NEVER_NS, interrupts)? {
                Some(BedEvent::Arrival) => self.on_arrival(bed),
                Some(_) => self.device.reported(bed.now_ns),
                None => return Ok(()),
            }
            self.send(bed)?;
        }
    }

    fn on_arrival(&mut self, bed: &mut Testbed<WireStats>) {
        if let Some((next, later)) = self.arrivals.split_first() {
            self.arrivals = later;
            let packet = Packet::new(Frame::new(0), next.bytes);
            self.queue.enqueue(packet, bed.now_ns, &mut bed.sink);
        }
    }

    fn send(&mut self, bed: &mut Testbed<WireStats>) -> EventResult {
        let now_ns = bed.now_ns;
        self.now_ns = now_ns;
        // Any stop ends with a batch, which comes while the ring has packets.
        let stop = self.queue.run(now_ns, &mut bed.sink);
        let is_idle = QueueFault::of_run(stop, QUEUE, now_ns)?;
        bed.nic.borrow_mut().watch.set_waiting(!is_idle, now_ns);
        Ok(())
    }

    fn outcome(self, bed: &Testbed<WireStats>, length_ns: u64) -> Replayed {
        let (meter, nic) = (self.queue.probe(), bed.nic.borrow());
        Replayed {
            in_flight_bytes: meter.in_flight_bytes().quantiles(),
            in_flight_mean_bytes: meter.in_flight_bytes().mean(),
            limit_p50: meter.limit_p50(),
            backlog_packets: meter.backlog_packets().quantiles(),
            dry_ns: nic.watch.dry_ns(),
            starved: self.queue.completer_counters().starved,
            end_ns: self.now_ns,
            sent_bytes: nic.counters(QUEUE).time_bytes,
            curve: meter.curve(),
            step_ns: (length_ns / CURVE_POINTS as u64).max(1),
        }
    }
}

/// The device of a trace: the times of its batches, and the regularity of its polls.
struct RecordedDevice<'t> {
    /// Remaining batches of the trace.
    batches: &'t [Batch],
    /// Interval between batches that did not wait for a packet, in ns.
    period_ns: u64,
    /// Maximum delay of a batch that is still attributed to its interval, in ns.
    slack_ns: u64,
    last_batch_ns: u64,
}

impl<'t> RecordedDevice<'t> {
    /// Computes the regularity from the batches, except those that waited for a packet.
    fn new(batches: &'t [Batch]) -> Self {
        let gap_ns = |it: &[Batch]| it[1].at_ns - it[0].at_ns;
        let min_ns = quantile(batches.windows(2).map(gap_ns).collect(), 10);
        let by_clock = |it: &&[Batch]| it[1].finished_ns <= it[0].at_ns.saturating_add(min_ns);
        let gaps_ns = batches.windows(2).filter(by_clock).map(gap_ns).collect();
        let period_ns = quantile(gaps_ns, 50).max(min_ns);
        Self {
            batches,
            period_ns,
            // Covers most of what lies above the median without merging two batches.
            slack_ns: 4_u64.saturating_mul(period_ns - min_ns).min(period_ns / 2),
            last_batch_ns: 0,
        }
    }

    fn reported(&mut self, now_ns: u64) {
        let passed = self.batches.partition_point(|it| it.at_ns <= now_ns);
        self.batches = &self.batches[passed..];
        self.last_batch_ns = now_ns;
    }

    /// Returns the time of the next batch of the trace with completions to report. If the trace has
    /// none in time, returns the time at which its device would have reported.
    fn next_batch_ns(&self, oldest_ns: u64) -> u64 {
        let of_period = oldest_ns.max(self.last_batch_ns.saturating_add(self.period_ns));
        let of_trace = self.batches.partition_point(|it| it.at_ns < oldest_ns);
        let Some(batch) = self.batches.get(of_trace) else {
            return of_period;
        };
        let before_ns = self.batches[..of_trace]
            .last()
            .map_or(self.last_batch_ns, |it| it.at_ns);
        let clock_ns = before_ns.saturating_add(self.period_ns);
        let due_ns = batch.finished_ns.max(clock_ns);
        let max_ns = of_period.saturating_add(self.slack_ns);
        // A nearby batch of the trace that did not wait for a packet reflects the device's activity
        // interval. If it was late there, it is late here.
        let is_own = batch.finished_ns <= clock_ns && batch.at_ns <= max_ns;
        let was_late = batch.at_ns > due_ns.saturating_add(self.slack_ns);
        if is_own || was_late && due_ns <= max_ns {
            batch.at_ns
        } else {
            of_period
        }
    }
}

/// Returns the given percentile; at least 1.
fn quantile(mut values: Vec<u64>, percent: usize) -> u64 {
    values.sort_unstable();
    let value = values.get(values.len() * percent / 100).copied();
    value.unwrap_or(1).max(1)
}
