//! Runs a completion trace on a testbed: the workload, the interrupts, and the return delay of the
//! sender.

use std::mem::take;

use hdrhistogram::Histogram;
use taut_path::Completed;
use taut_path::limit::Limit;

use super::CompletionTrace;
use super::detail::Detail;
use super::random::SplitMix;
use super::report::TraceReport;
use super::script::{Script, TraceQueue, queue};
use crate::NEVER_NS;
use crate::error::TestbedError;
use crate::nic::{NicConfig, SharedNic};
use crate::queue::QueueFault;
use crate::testbed::{BedEvent, EventResult, Schedule, Setup, Testbed, WireStats};
use taut_measure::meter::{histogram_bytes, histogram_ns};

type TraceTestbed = Testbed<WireStats>;

struct TraceRun<'p, L> {
    pattern: &'p CompletionTrace,
    queues: Vec<TraceQueue<L>>,
    sample_period_ns: u64,
    scripts: Vec<Script<'p>>,
    bursts_ns: Vec<u64>,
    /// Samples at random times.
    unsent_bytes: Histogram<u64>,
    in_flight_bytes: Histogram<u64>,
    sample_ns: u64,
    random: SplitMix,
    give_up_dry_ns: u64,
    /// Stops because of a full ring during the warm-up.
    warm_ring_stops: u64,
}

/// Runs `trace` with `limit` on each of its queues.
///
/// # Errors
/// Returns the errors of [`CompletionTrace::check`]. Also fails if the settings of the NIC or the
/// queues are invalid, or if a queue becomes faulty.
pub fn observe<L: Limit + Clone>(
    pattern: &CompletionTrace,
    limit: L,
    detail: Detail,
) -> Result<TraceReport, TestbedError> {
    pattern.check(detail)?;
    let (mut bed, mut run) = prepared(pattern, limit, detail)?;
    run.run_to_end(&mut bed, detail.give_up_dry_ns)?;
    Ok(run.seen(bed))
}

fn prepared<L: Limit + Clone>(
    pattern: &CompletionTrace,
    limit: L,
    detail: Detail,
) -> Result<(TraceTestbed, TraceRun<'_, L>), TestbedError> {
    let in_bits = |(at_ns, bytes_per_s): (u64, u64)| (at_ns, bytes_per_s.saturating_mul(8));
    let (_, rate_bits_per_s) = in_bits(pattern.first_rate()?);
    let later = pattern.rates.iter().skip(1).copied().map(in_bits);
    let nic = NicConfig::plain(rate_bits_per_s, detail.slots);
    // The trace contains the interrupts, so the rings do not interrupt.
    let wire_stats = WireStats::new(detail.time_series);
    let (nic, rings) = SharedNic::shared(&nic, pattern.queues.len(), wire_stats, false)?;
    let scripts = pattern.queues.iter();
    let scripts = scripts.map(|it| Script::new(pattern, it));
    let queues = rings.into_iter();
    let queues = queues.map(|ring| queue(pattern, limit.clone(), detail, ring));
    let setup = Setup {
        rates: later.collect(),
        poll_interval_ns: pattern.poll_ns,
        ..Setup::default()
    };
    let mut run = TraceRun {
        pattern,
        queues: queues.collect::<Result<_, _>>()?,
        sample_period_ns: detail.sample_ns,
        scripts: scripts.collect(),
        bursts_ns: vec![0; pattern.bursts.len()],
        unsent_bytes: histogram_bytes(),
        in_flight_bytes: histogram_bytes(),
        sample_ns: NEVER_NS,
        // Sampling times. Any seed works, and a fixed one samples every rule at the same times.
        random: SplitMix::new(1),
        give_up_dry_ns: u64::MAX,
        warm_ring_stops: 0,
    };
    run.plan_sample(pattern.warm_ns);
    Ok((Testbed::new(nic, setup), run))
}

impl<L: Limit> TraceRun<'_, L> {
    fn run_to_end(
        &mut self,
        bed: &mut TraceTestbed,
        give_up_dry_ns: u64,
    ) -> Result<(), TestbedError> {
        let CompletionTrace {
            warm_ns, end_ns, ..
        } = *self.pattern;
        self.run_until(bed, warm_ns.min(end_ns))?;
        bed.nic.borrow_mut().watch.begin();
        self.warm_ring_stops = self.ring_stops();
        self.give_up_dry_ns = give_up_dry_ns;
        self.run_until(bed, end_ns)
    }

    /// Processes everything that is due before `until_ns`, and accounts the time until then.
    fn run_until(&mut self, bed: &mut TraceTestbed, until_ns: u64) -> Result<(), TestbedError> {
        // After too much dry time, the rest of the run cannot change the result.
        while bed.nic.borrow().watch.dry_ns() <= self.give_up_dry_ns {
            let (own, scripts) = (self.schedule(), &mut self.scripts);
            let interrupts = |nic: &mut SharedNic<_>, ask_ns| next_interrupt(scripts, nic, ask_ns);
            let Some(event) = bed.next(own, &mut self.queues, until_ns, interrupts)? else {
                break;
            };
            match event {
                BedEvent::Arrival => self.on_burst(bed)?,
                BedEvent::Batch(at, done) => self.on_batch(bed, at, done)?,
                BedEvent::Resume => self.on_return(bed)?,
                BedEvent::Sample => self.on_sample(bed),
            }
        }
        let mut nic = bed.nic.borrow_mut();
        nic.send_until(until_ns);
        nic.report_idle_until(until_ns);
        nic.watch.hold_until(until_ns);
        Ok(())
    }

    fn ring_stops(&self) -> u64 {
        let counters = self.queues.iter().map(|it| it.sender_counters());
        counters.map(|it| it.ring_stops).sum()
    }

    fn schedule(&self) -> Schedule {
        let backs_ns = self.scripts.iter().map(|script| script.back_ns);
        Schedule {
            arrival_ns: self.bursts_ns.iter().copied().fold(NEVER_NS, u64::min),
            resume_ns: backs_ns.fold(NEVER_NS, u64::min),
            sample_ns: self.sample_ns,
        }
    }

    fn on_burst(&mut self, bed: &mut TraceTestbed) -> EventResult {
        let now_ns = bed.now_ns;
        let due = self.bursts_ns.iter().position(|&at_ns| at_ns == now_ns);
        let Some(burst) = due else {
            return Ok(());
        };
        let burst_of = &self.pattern.bursts[burst];
        self.bursts_ns[burst] = now_ns.saturating_add(burst_of.period_ns);
        for at in 0..self.scripts.len() {
            let queue = &self.queues[at];
            queue.qdisc().add(burst_of.objects);
            bed.nic.borrow_mut().watch.set_waiting(true, now_ns);
            // A blocked or returning sender sends the new packets with its backlog.
            if self.scripts[at].back_ns == NEVER_NS && !queue.stopped_by_stack() {
                self.send(bed, at)?;
            }
        }
        Ok(())
    }

    /// A blocked sender returns, late or immediately.
    fn on_batch(&mut self, bed: &mut TraceTestbed, at: usize, done: Completed) -> EventResult {
        match self.scripts[at].delay_ns {
            _ if !done.schedule => Ok(()),
            0 => self.send(bed, at),
            delay_ns => {
                self.scripts[at].back_ns = bed.now_ns.saturating_add(delay_ns);
                Ok(())
            }
        }
    }

    fn on_return(&mut self, bed: &mut TraceTestbed) -> EventResult {
        let is_back = |script: &Script| script.back_ns == bed.now_ns;
        let back = self.scripts.iter().position(is_back);
        back.map_or(Ok(()), |at| self.send(bed, at))
    }

    fn send(&mut self, bed: &mut TraceTestbed, at: usize) -> EventResult {
        let now_ns = bed.now_ns;
        let script = &mut self.scripts[at];
        script.back_ns = NEVER_NS;
        let ahead_ns = bed.nic.borrow().ahead_ns(at, now_ns);
        script.urgent.admit(now_ns, ahead_ns);
        if self.queues[at].backlog().packets == 0 {
            return Ok(());
        }
        bed.nic.borrow_mut().watch.set_waiting(true, now_ns);
        // Whatever stops the run, a completion batch restarts it.
        let stop = self.queues[at].run(now_ns, &mut bed.sink);
        QueueFault::of_run(stop, at, now_ns)?;
        let waiting = self.queues.iter().any(|queue| queue.backlog().packets > 0);
        bed.nic.borrow_mut().watch.set_waiting(waiting, now_ns);
        Ok(())
    }

    fn plan_sample(&mut self, from_ns: u64) {
        self.sample_ns = match self.sample_period_ns {
            0 => NEVER_NS,
            period_ns => from_ns.saturating_add(self.random.next() % period_ns),
        };
    }

    /// Samples the delay of a packet of high priority.
    fn on_sample(&mut self, bed: &mut TraceTestbed) {
        let now_ns = bed.now_ns;
        let at = (self.unsent_bytes.len() % self.scripts.len() as u64) as usize;
        let (unsent_bytes, in_flight_bytes) = bed.nic.borrow().watch.bytes();
        self.unsent_bytes.saturating_record(unsent_bytes);
        self.in_flight_bytes.saturating_record(in_flight_bytes);
        let queue = &self.queues[at];
        let urgent = &mut self.scripts[at].urgent;
        if queue.stopped_by_stack() || queue.stopped_by_driver() {
            urgent.came_ns.push(now_ns);
        } else {
            let ahead_ns = bed.nic.borrow().ahead_ns(at, now_ns);
            urgent.delay_ns.saturating_record(ahead_ns);
        }
        let period_ns = self.sample_period_ns;
        self.plan_sample((now_ns - now_ns % period_ns).saturating_add(period_ns));
    }

    fn seen(mut self, bed: TraceTestbed) -> TraceReport {
        let queues = || self.queues.iter();
        let mut urgent_delay_ns = histogram_ns();
        for script in &self.scripts {
            // All histograms have the same bounds, so adding cannot fail.
            let _ = urgent_delay_ns.add(&script.urgent.delay_ns);
        }
        let mut nic = bed.nic.borrow_mut();
        let losses = nic.watch.take_losses();
        let measured_ns = self.pattern.measured_ns().max(1);
        let mean = |byte_ns: u128| byte_ns as f64 / measured_ns as f64;
        let (unsent_byte_ns, in_flight_byte_ns) = nic.watch.byte_ns();
        let (busy_ns, dry_ns) = (nic.watch.busy_ns(), nic.watch.dry_ns());
        TraceReport {
            mean_bytes: mean(unsent_byte_ns),
            p50_bytes: self.unsent_bytes.value_at_quantile(0.5),
            p99_bytes: self.unsent_bytes.value_at_quantile(0.99),
            in_flight_mean_bytes: mean(in_flight_byte_ns),
            in_flight_p99_bytes: self.in_flight_bytes.value_at_quantile(0.99),
            // Nothing to send means no loss.
            utilisation: match busy_ns + dry_ns {
                0 => 1.0,
                requested_ns => busy_ns as f64 / requested_ns as f64,
            },
            dry_ns,
            learning_dry_ns: nic.watch.dry_before_ns(),
            urgent_delay_p50_ns: urgent_delay_ns.value_at_quantile(0.5),
            urgent_delay_p99_ns: urgent_delay_ns.value_at_quantile(0.99),
            limit_bytes: queues().map(|it| u64::from(it.snapshot().limit)).sum(),
            losses,
            ring_stops: self.ring_stops() - self.warm_ring_stops,
            sent_packets: queues().map(|it| it.sender_counters().sent_packets).sum(),
            freed_packets: bed.sink.freed,
            in_ring_packets: nic.packets_in_rings() as u64,
            limit_changes: take(&mut self.queues[0].probe_mut().changes),
        }
    }
}

/// Returns the time and the queue of the next interrupt by `until_ns`, and sends the packets that
/// leave before it.
fn next_interrupt(
    scripts: &mut [Script<'_>],
    nic: &mut SharedNic<WireStats>,
    until_ns: u64,
) -> Option<(u64, usize)> {
    let times = scripts.iter().map(|it| it.interrupt_ns).enumerate();
    let (at, at_ns) = times.min_by_key(|&(_, at_ns)| at_ns)?;
    if at_ns > until_ns {
        return None;
    }
    nic.send_until(at_ns);
    scripts[at].plan_interrupt(at_ns);
    Some((at_ns, at))
}

#[cfg(test)]
mod tests {
    use taut_path::limit::Fixed;
    use taut_path::{Frame, Packet, TxRing};

    use super::*;
    use crate::completion_trace::{Interval, Intervals};
    use crate::queue::Fault;

    #[test]
    fn unknown_completion_ends_the_run_with_a_fault() {
        let mut intervals = Intervals::default();
        (0..10).for_each(|_| {
            intervals.push(Interval {
                gap_ns: 5_000,
                delay_ns: 0,
            });
        });
        let pattern = CompletionTrace {
            id: "test".to_owned(),
            rates: vec![(0, 1_000_000_000)],
            sizes: vec![1_000],
            budget: 0,
            poll_ns: 0,
            bursts: Vec::new(),
            warm_ns: 0,
            end_ns: 40_000,
            utilisation: 0.999,
            changes_ns: Vec::new(),
            queues: vec![intervals.clone(), intervals],
        };
        let run = || prepared(&pattern, Fixed::bytes(3_000), Detail::FULL).expect("valid");
        let (mut bed, mut of_pattern) = run();
        assert_eq!(of_pattern.run_to_end(&mut bed, u64::MAX), Ok(()));
        let (mut bed, mut of_pattern) = run();
        let port = of_pattern.queues[1].device_mut();
        let unknown = Packet::new(Frame::new(0), 1_000);
        port.submit(unknown, 0).expect("there is room");
        let fault = QueueFault {
            queue: 1,
            at_ns: 5_000,
            fault: Fault::UnknownCompletions { packets: 1 },
        };
        assert_eq!(of_pattern.run_to_end(&mut bed, u64::MAX), Err(fault.into()));
    }
}
