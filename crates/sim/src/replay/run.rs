//! The traffic through a transmit queue, from arrival to arrival and from round to round.

use std::task::Waker;

use taut_path::qdisc::Fifo;
use taut_path::queue::QueueConfigError;
use taut_path::{AnyLimit, Frame, Packet, Queue, QueueConfig};

use super::device::Device;
use super::{Round, Traffic};
use crate::lane::Rule;
use crate::meter::{CURVE_POINTS, Curve, Meter, Quantiles, Since};
use crate::queue::queue_config;
use crate::sink::Sink;

/// What a rule made of the traffic.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// Bytes in the ring over time: queued minus reported.
    pub in_flight_bytes: Quantiles,
    /// Their mean.
    pub in_flight_mean_bytes: u64,
    /// Median of the limit, in the limit's units.
    pub limit_p50: u64,
    /// Packets that waited in the discipline, over time.
    pub waiting_packets: Quantiles,
    /// Time that the link had nothing to send while packets waited above, in ns.
    pub dry_ns: u64,
    /// Rounds after which the device had nothing left while the limit held the sender back.
    pub starved: u64,
    /// When the last packet was reaped, in ns.
    pub end_ns: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// In flight and the limit, in [`CURVE_POINTS`] steps of `step_ns`.
    pub curve: Curve,
    /// Length of a step, in ns.
    pub step_ns: u64,
}

type Replaying = Queue<Device, AnyLimit, Fifo, Meter<Since>>;

/// Gives `traffic` to a queue with `rule`, over a link of `rate_bits_per_s` (at least 1) behind a ring
/// of `slots`.
///
/// The device tells at the times of the trace: while it had finished something there and nobody asked it,
/// nobody asks it here. Where nobody could have been told, it tells as often as it did in the median.
///
/// # Errors
/// If the queue cannot be made, for the ring is too small.
pub fn replay(
    traffic: &Traffic,
    rule: &Rule,
    rate_bits_per_s: u64,
    slots: u32,
) -> Result<Replayed, QueueConfigError> {
    let last_ns = traffic.arrivals.last().map_or(0, |it| it.at_ns);
    let length_ns = last_ns.max(traffic.rounds.last().map_or(0, |it| it.at_ns));
    let packets = u32::try_from(traffic.arrivals.len()).unwrap_or(u32::MAX);
    let config = QueueConfig {
        cadence_ns: rule.cadence_ns,
        ..queue_config(None, Waker::noop().clone())
    };
    let queue = Queue::builder_for(Device::new(rate_bits_per_s, slots))
        .with_qdisc(Fifo::new(packets.max(1)))
        .limit(rule.limit.clone())
        .probe(Meter::new(Since(0), 0, length_ns))
        .config(config)
        .build(0)?;
    let mut run = Run {
        queue,
        rounds: &traffic.rounds,
        clock: Clock::of(&traffic.rounds),
        last_round_ns: 0,
        now_ns: 0,
        sink: Sink::default(),
    };
    for arrival in &traffic.arrivals {
        run.rounds_until(arrival.at_ns);
        run.arrive(arrival.at_ns, arrival.bytes);
    }
    run.rounds_until(u64::MAX);
    Ok(run.outcome(length_ns))
}

struct Run<'t> {
    queue: Replaying,
    /// Rounds of the trace that have not been.
    rounds: &'t [Round],
    clock: Clock,
    last_round_ns: u64,
    now_ns: u64,
    sink: Sink,
}

impl Run<'_> {
    fn arrive(&mut self, at_ns: u64, bytes: u32) {
        self.now_ns = self.now_ns.max(at_ns);
        self.queue.enqueue(
            Packet::new(Frame::new(0), bytes),
            self.now_ns,
            &mut self.sink,
        );
        self.send();
    }

    fn send(&mut self) {
        // Every reason to stop is waited for: a round comes while anything is in the ring.
        let _ = self.queue.run(self.now_ns, &mut self.sink);
        let waits = self.queue.backlog().packets > 0;
        let now_ns = self.now_ns;
        let since_ns = &mut self.queue.device_mut().waiting_since_ns;
        *since_ns = waits.then(|| since_ns.unwrap_or(now_ns));
    }

    /// All rounds before `until_ns`.
    fn rounds_until(&mut self, until_ns: u64) {
        while let Some(at_ns) = self.next_round_ns().filter(|&at_ns| at_ns < until_ns) {
            let passed = self.rounds.partition_point(|it| it.at_ns <= at_ns);
            self.rounds = &self.rounds[passed..];
            self.now_ns = self.now_ns.max(at_ns);
            self.last_round_ns = self.now_ns;
            // The device hands back what it was given, and cannot fail.
            let _ = self.queue.complete(self.now_ns, &mut self.sink);
            self.send();
        }
    }

    /// The next round of the trace that has something to tell, or the one that its device would have
    /// made had it had something; the limit's own wake-up, for a cadence.
    fn next_round_ns(&self) -> Option<u64> {
        let Clock {
            period_ns,
            slack_ns,
        } = self.clock;
        let oldest_ns = self.queue.device().oldest_ns();
        let own_ns = oldest_ns.map(|oldest_ns| {
            let of_period = oldest_ns.max(self.last_round_ns.saturating_add(period_ns));
            let of_trace = self.rounds.partition_point(|it| it.at_ns < oldest_ns);
            let Some(round) = self.rounds.get(of_trace) else {
                return of_period;
            };
            let before_ns = self.rounds[..of_trace]
                .last()
                .map_or(self.last_round_ns, |it| it.at_ns);
            let clock_ns = before_ns.saturating_add(period_ns);
            let due_ns = round.finished_ns.max(clock_ns);
            let most_ns = of_period.saturating_add(slack_ns);
            // A round of the trace that is close, and for which nothing had to be finished first, is the
            // device's own; one that was late there is late here.
            let is_own = round.finished_ns <= clock_ns && round.at_ns <= most_ns;
            let was_late = round.at_ns > due_ns.saturating_add(slack_ns);
            if is_own || was_late && due_ns <= most_ns {
                round.at_ns
            } else {
                of_period
            }
        });
        let wakeup_ns = self
            .queue
            .next_wakeup()
            .map(|at_ns| at_ns.max(self.now_ns + 1));
        own_ns.into_iter().chain(wakeup_ns).min()
    }

    fn outcome(self, length_ns: u64) -> Replayed {
        let (meter, device) = (self.queue.probe(), self.queue.device());
        Replayed {
            in_flight_bytes: meter.in_flight_bytes(),
            in_flight_mean_bytes: meter.in_flight_mean_bytes(),
            limit_p50: meter.limit_p50(),
            waiting_packets: meter.waiting_packets(),
            dry_ns: device.dry_ns,
            starved: self.queue.completer_counters().starved,
            end_ns: self.now_ns,
            sent_bytes: device.sent_bytes,
            curve: meter.curve().clone(),
            step_ns: (length_ns / CURVE_POINTS as u64).max(1),
        }
    }
}

/// How regularly a device is asked.
#[derive(Clone, Copy)]
struct Clock {
    /// From a round to the next, where nothing has to be finished first, in ns.
    period_ns: u64,
    /// A round may come so much later and is still the one that was due, in ns.
    slack_ns: u64,
}

impl Clock {
    /// Of the rounds of a trace, but for those that came when something was finished.
    fn of(rounds: &[Round]) -> Self {
        let gap_ns = |it: &[Round]| it[1].at_ns - it[0].at_ns;
        let least_ns = quantile(rounds.windows(2).map(gap_ns).collect(), 10);
        let by_clock = |it: &&[Round]| it[1].finished_ns <= it[0].at_ns.saturating_add(least_ns);
        let gaps_ns = rounds.windows(2).filter(by_clock).map(gap_ns).collect();
        let period_ns = quantile(gaps_ns, 50).max(least_ns);
        Self {
            period_ns,
            // Most of what lies above the median, but never so much that two rounds are mixed up.
            slack_ns: 4_u64
                .saturating_mul(period_ns - least_ns)
                .min(period_ns / 2),
        }
    }
}

/// So many in a hundred are not above it; at least 1.
fn quantile(mut values: Vec<u64>, percent: usize) -> u64 {
    values.sort_unstable();
    let value = values.get(values.len() * percent / 100).copied();
    value.unwrap_or(1).max(1)
}
