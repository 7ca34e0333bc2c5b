//! The loop of a run: takes the earliest of what is due, until the end.

use std::cell::RefCell;
use std::rc::Rc;

use taut_path::limit::Limit;

use super::book::Book;
use super::detail::Detail;
use super::line::Line;
use super::random::SplitMix;
use super::seen::{Samples, Seen};
use super::{Interval, Pattern};
use crate::NEVER_NS;
use crate::error::TestbedError;
use crate::nic::{MultiNic, NicConfig, NicConfigError};
use crate::queue::QueueFault;
use crate::sink::Sink;

/// What can be due.
#[derive(Debug, Clone, Copy)]
enum Due {
    Rate,
    Burst(usize),
    Interrupt(usize),
    Poll(usize),
    Tick(usize),
    Back(usize),
    Sample,
}

struct Run<'p, L, I> {
    pattern: &'p Pattern,
    detail: Detail,
    lines: Vec<Line<L, I>>,
    wire: Rc<RefCell<MultiNic<Book>>>,
    sink: Sink,
    rate_at: usize,
    bursts_ns: Vec<u64>,
    samples: Samples,
    sample_ns: u64,
    random: SplitMix,
}

/// Runs `pattern` with `limit` on each of its queues.
///
/// # Errors
/// If the pattern has no rate, no size or no queue, or if a queue goes wrong.
pub fn observe<L: Limit + Clone>(
    pattern: &Pattern,
    limit: L,
    detail: Detail,
) -> Result<Seen, TestbedError> {
    let mut run = prepared(pattern, limit, detail)?;
    run.run_to_end()?;
    Ok(run.seen())
}

fn prepared<L: Limit + Clone>(
    pattern: &Pattern,
    limit: L,
    detail: Detail,
) -> Result<Run<'_, L, impl Iterator<Item = Interval>>, TestbedError> {
    let Some(&(_, bytes_per_s)) = pattern.rates.first() else {
        return Err(TestbedError::Missing("the pattern has no rate"));
    };
    if pattern.sizes.is_empty() || pattern.queues.is_empty() {
        return Err(TestbedError::Missing("the pattern has no size or queue"));
    }
    let book = Book::new(detail.course);
    // The pattern says when somebody asks.
    let nic = NicConfig::plain(bytes_per_s.saturating_mul(8), detail.slots);
    let wire = MultiNic::without_interrupts(&nic, pattern.queues.len(), book);
    let (wire, rings) = wire?;
    let lines = rings.into_iter().zip(&pattern.queues);
    let lines =
        lines.map(|(ring, queue)| Line::new(pattern, limit.clone(), detail, ring, queue.iter()));
    let lines = lines.collect::<Result<_, _>>()?;
    let mut run = Run {
        pattern,
        detail,
        wire,
        lines,
        sink: Sink::default(),
        rate_at: 1,
        bursts_ns: vec![0; pattern.bursts.len()],
        samples: Samples::default(),
        sample_ns: NEVER_NS,
        // Moments to look at; any seed will do, and one seed looks at every rule alike.
        random: SplitMix::new(1),
    };
    run.plan_sample(pattern.warm_ns);
    Ok(run)
}

impl<L: Limit, I: Iterator<Item = Interval>> Run<'_, L, I> {
    fn run_to_end(&mut self) -> Result<(), TestbedError> {
        self.run_until(self.pattern.warm_ns.min(self.pattern.end_ns), u64::MAX)?;
        self.wire.borrow_mut().watch.begin();
        self.run_until(self.pattern.end_ns, self.detail.give_up_dry_ns)
    }

    /// Does all that is due before `until_ns`, and gives up once the wire was dry for longer than is said.
    fn run_until(&mut self, until_ns: u64, give_up_dry_ns: u64) -> Result<(), TestbedError> {
        loop {
            let now_ns = self.next_ns();
            if now_ns >= until_ns || self.wire.borrow().watch.dry_ns() > give_up_dry_ns {
                break;
            }
            self.wire.borrow_mut().send_until(now_ns);
            match self.due(now_ns) {
                Due::Rate => self.change_rate(now_ns)?,
                Due::Burst(at) => self.on_burst(at, now_ns)?,
                Due::Interrupt(at) => self.on_interrupt(at, now_ns)?,
                Due::Poll(at) => self.complete(at, now_ns)?,
                Due::Tick(at) => self.on_tick(at, now_ns)?,
                Due::Back(at) => self.send(at, now_ns)?,
                Due::Sample => self.on_sample(now_ns),
            }
        }
        let mut wire = self.wire.borrow_mut();
        wire.send_until(until_ns);
        wire.tell_until(until_ns);
        wire.watch.hold_until(until_ns);
        Ok(())
    }

    fn rate_ns(&self) -> u64 {
        let rate = self.pattern.rates.get(self.rate_at);
        rate.map_or(NEVER_NS, |rate| rate.0)
    }

    /// When something is next due.
    fn next_ns(&self) -> u64 {
        let lines = self.lines.iter().map(Line::next_ns);
        let bursts = self.bursts_ns.iter().copied();
        let others_ns = self.rate_ns().min(self.sample_ns);
        lines.chain(bursts).fold(others_ns, u64::min)
    }

    /// What of all that is due now is first.
    fn due(&self, now_ns: u64) -> Due {
        let line = |is_due: fn(&Line<L, I>) -> u64| {
            let mut lines = self.lines.iter();
            lines.position(|line| is_due(line) == now_ns)
        };
        if self.rate_ns() == now_ns {
            Due::Rate
        } else if let Some(burst) = self.bursts_ns.iter().position(|&at_ns| at_ns == now_ns) {
            Due::Burst(burst)
        } else if let Some(at) = line(|it| it.interrupt_ns) {
            Due::Interrupt(at)
        } else if let Some(at) = line(|it| it.poll_ns) {
            Due::Poll(at)
        } else if let Some(at) = line(Line::tick_ns) {
            Due::Tick(at)
        } else if let Some(at) = line(|it| it.back_ns) {
            Due::Back(at)
        } else {
            Due::Sample
        }
    }

    fn change_rate(&mut self, now_ns: u64) -> Result<(), NicConfigError> {
        let rate = self.pattern.rates.get(self.rate_at);
        self.rate_at += 1;
        rate.map_or(Ok(()), |&(_, bytes_per_s)| {
            let rate_bits_per_s = bytes_per_s.saturating_mul(8);
            self.wire.borrow_mut().set_rate(rate_bits_per_s, now_ns)
        })
    }

    fn on_burst(&mut self, burst: usize, now_ns: u64) -> Result<(), QueueFault> {
        let burst_of = &self.pattern.bursts[burst];
        self.bursts_ns[burst] = now_ns.saturating_add(burst_of.period_ns);
        for at in 0..self.lines.len() {
            self.lines[at].waiting.add(burst_of.objects);
            // A sender that was refused, or is on its way back, sends what is new with the rest.
            let line = &self.lines[at];
            self.wire.borrow_mut().watch.set_waiting(true, now_ns);
            if line.back_ns == NEVER_NS && !line.queue.stopped_by_stack() {
                self.send(at, now_ns)?;
            }
        }
        Ok(())
    }

    fn on_interrupt(&mut self, at: usize, now_ns: u64) -> Result<(), QueueFault> {
        let line = &mut self.lines[at];
        line.plan_interrupt(now_ns);
        // While rounds go on, interrupts are masked.
        if line.poll_ns == NEVER_NS {
            self.complete(at, now_ns)?;
        }
        Ok(())
    }

    fn complete(&mut self, at: usize, now_ns: u64) -> Result<(), QueueFault> {
        let line = &mut self.lines[at];
        line.poll_ns = NEVER_NS;
        let done = line.queue.complete(now_ns, &mut self.sink);
        let done = QueueFault::of_round(done, at, now_ns)?;
        if done.more {
            line.poll_ns = now_ns.saturating_add(self.pattern.poll_ns);
        }
        self.restart(at, done.schedule, now_ns)
    }

    /// The limit's own timer.
    fn on_tick(&mut self, at: usize, now_ns: u64) -> Result<(), QueueFault> {
        let queue = &mut self.lines[at].queue;
        queue.device_mut().silent = true;
        let done = queue.complete(now_ns, &mut self.sink);
        queue.device_mut().silent = false;
        let done = QueueFault::of_round(done, at, now_ns)?;
        self.restart(at, done.schedule, now_ns)
    }

    /// A sender that was refused comes back, late or at once.
    fn restart(&mut self, at: usize, schedule: bool, now_ns: u64) -> Result<(), QueueFault> {
        if !schedule {
            return Ok(());
        }
        let line = &mut self.lines[at];
        match line.delay_ns {
            0 => self.send(at, now_ns)?,
            delay_ns => line.back_ns = now_ns.saturating_add(delay_ns),
        }
        Ok(())
    }

    fn send(&mut self, at: usize, now_ns: u64) -> Result<(), QueueFault> {
        let line = &mut self.lines[at];
        line.back_ns = NEVER_NS;
        let ahead_ns = self.wire.borrow().ahead_ns(at, now_ns);
        for came_ns in line.urgent_ns.drain(..) {
            self.samples.delay(now_ns - came_ns, ahead_ns);
        }
        if line.waiting.is_empty() {
            return Ok(());
        }
        self.wire.borrow_mut().watch.set_waiting(true, now_ns);
        // Whatever stops the run, a round of completions tells when to go on.
        let stop = line.queue.run(now_ns, &mut self.sink);
        QueueFault::of_run(stop, at, now_ns)?;
        let waiting = self.lines.iter().any(|line| !line.waiting.is_empty());
        self.wire.borrow_mut().watch.set_waiting(waiting, now_ns);
        Ok(())
    }

    fn plan_sample(&mut self, from_ns: u64) {
        let period_ns = self.detail.sample_ns;
        self.sample_ns = match period_ns {
            0 => NEVER_NS,
            period_ns => from_ns + self.random.next() % period_ns,
        };
    }

    /// A packet of high priority would come now.
    fn on_sample(&mut self, now_ns: u64) {
        let at = (self.samples.count() % self.lines.len() as u64) as usize;
        let wire = self.wire.borrow();
        let (unsent_bytes, in_flight_bytes) = wire.watch.bytes();
        self.samples.look(unsent_bytes, in_flight_bytes);
        let line = &mut self.lines[at];
        if line.queue.stopped_by_stack() || line.queue.stopped_by_driver() {
            line.urgent_ns.push(now_ns);
        } else {
            self.samples.delay(0, wire.ahead_ns(at, now_ns));
        }
        drop(wire);
        let period_ns = self.detail.sample_ns;
        self.plan_sample((now_ns / period_ns + 1) * period_ns);
    }

    fn seen(mut self) -> Seen {
        let queues = || self.lines.iter().map(|line| &line.queue);
        let mut wire = self.wire.borrow_mut();
        let losses = wire.watch.take_losses();
        let mut seen = Seen {
            sent_packets: queues().map(|it| it.sender_counters().sent_packets).sum(),
            freed_packets: self.sink.freed,
            in_ring_packets: wire.packets_in_rings(),
            limit_bytes: queues().map(|it| u64::from(it.snapshot().limit)).sum(),
            starved_rounds: queues().map(|it| it.completer_counters().starved).sum(),
            losses,
            ..Seen::new(&wire.watch, self.pattern.measured_ns(), self.samples)
        };
        if let Some(first) = self.lines.first_mut() {
            seen.course = std::mem::take(&mut first.queue.probe_mut().changes);
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use taut_path::limit::Fixed;
    use taut_path::{Frame, Packet, TxRing};

    use super::*;
    use crate::pattern::Intervals;
    use crate::queue::Fault;

    #[test]
    fn a_wire_that_makes_a_packet_up_ends_the_run_with_a_report() {
        let mut intervals = Intervals::new();
        (0..10).for_each(|_| {
            intervals.push(Interval {
                gap_ns: 5_000,
                delay_ns: 0,
            });
        });
        let pattern = Pattern {
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
        assert_eq!(run().run_to_end(), Ok(()));
        let mut run = run();
        let port = run.lines[1].queue.device_mut();
        let stray = Packet::new(Frame::new(0), 1_000);
        port.submit(stray, 0).expect("there is room");
        let fault = QueueFault {
            queue: 1,
            at_ns: 5_000,
            fault: Fault::Stray { packets: 1 },
        };
        assert_eq!(run.run_to_end(), Err(fault.into()));
    }
}
