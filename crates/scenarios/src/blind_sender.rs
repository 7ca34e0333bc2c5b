//! E10: reactions of a sender to `ENOBUFS` ("no buffer space"), and their cost.

use crate::one_queue::saturated;
use crate::prelude::*;
use taut_sim::nic::InterruptRule;
use taut_sim::single_queue_bench::{
    Cost, Rule, SingleQueueConfig, TrafficSource, WhenFull, observe,
};

settings! {
    BlindSenderSettings, "blind-sender" {
        /// Link rate.
        rate: Rate => validation::rate,
        /// Size of every packet.
        size: Size => validation::size,
        /// Descriptors of the ring.
        ring: u32 => validation::ring,
        /// Packets that the queue above the ring holds.
        queue_packets: u32 => validation::within(1..=1 << 16),
        /// Interrupt interval.
        coalesce: Time where validation::up_to(*duration),
        /// The long sleep.
        long_sleep: Time where validation::within(Time(1_000)..=*duration),
        /// The short sleep.
        short_sleep: Time where validation::within(Time(1_000)..=*duration),
        /// Ticks of the clocks at which sleeps end; 0 is a clock without ticks.
        ticks: Vec<Time> where validation::each(1..=100, validation::up_to(*duration)),
        /// Cost of a failed call of a spinning sender.
        retry: Time where validation::within(Time(1)..=*duration),
        /// Cost of each call that sends. The published results assume none.
        call: Time where validation::up_to(*duration),
        /// Measured time.
        duration: Time => validation::duration,
    }
}

/// Minimum warm-up.
const MIN_WARM_UP_NS: u64 = 100_000_000;

/// One sender.
pub struct BlindSenderCase {
    what: String,
    when_full: WhenFull,
    /// Packets per second by the closed form, if the wire is faster.
    closed_per_s: Option<f64>,
}

/// Returns the time for which a sender sleeps with these ticks, in ns. It was woken by a tick and
/// falls asleep just after it, so it always gets the worst case, the next tick after the sleep.
fn asleep_ns(sleep: Time, tick: Time) -> u64 {
    match tick.0 {
        0 => sleep.0,
        tick_ns => (sleep.0 / tick_ns + 1) * tick_ns,
    }
}

impl BlindSenderSettings {
    /// Returns each sleep with each tick.
    fn sleeps(&self) -> impl Iterator<Item = (Time, Time)> {
        let sleeps = [self.long_sleep, self.short_sleep].into_iter();
        sleeps.flat_map(|sleep| self.ticks.iter().map(move |&tick| (sleep, tick)))
    }

    /// Returns the warm-up, in ns: at least any sleep with its tick, so that each sleep has ended
    /// once.
    fn warm_up_ns(&self) -> u64 {
        let asleep_ns = self.sleeps().map(|(sleep, tick)| asleep_ns(sleep, tick));
        asleep_ns.fold(MIN_WARM_UP_NS, u64::max)
    }

    fn sleeper(&self, sleep: Time, tick: Time) -> BlindSenderCase {
        let held_packets = f64::from(self.ring) + f64::from(self.queue_packets);
        BlindSenderCase {
            what: match tick.0 {
                0 => format!("sleep {sleep}"),
                _ => format!("sleep {sleep}, tick {tick}"),
            },
            when_full: WhenFull::Sleep {
                sleep_ns: sleep.0,
                tick_ns: tick.0,
            },
            closed_per_s: Some(held_packets * 1e9 / asleep_ns(sleep, tick) as f64),
        }
    }

    fn bench(&self, when_full: WhenFull, seed: u64) -> SingleQueueConfig {
        let interrupt = InterruptRule::every(self.coalesce.0);
        SingleQueueConfig {
            source: TrafficSource::Blind(when_full),
            backlog_packets: self.queue_packets,
            cost: Cost {
                interrupt_ns: 0,
                packet_ns: self.call.0,
                wakeup_ns: 0,
            },
            measure_from_ns: self.warm_up_ns(),
            end_ns: self.warm_up_ns() + self.duration.0,
            ..saturated(self.rate, self.ring, self.size.0 as u32, interrupt, seed)
        }
    }
}

impl Scenario for BlindSenderSettings {
    type Case = BlindSenderCase;

    fn cases(&self) -> Cases<Self> {
        let sleepers = self.sleeps().map(|(sleep, tick)| self.sleeper(sleep, tick));
        let other = |what: &str, when_full| BlindSenderCase {
            what: what.to_owned(),
            when_full,
            closed_per_s: None,
        };
        let spins = other("spin", WhenFull::Spin(self.retry.0));
        let waits = other("wait for room", WhenFull::Wait);
        let cases = sleepers.chain([spins, waits]);
        Ok(cases.map(|case| (case.what.clone(), case)).collect())
    }

    fn run(&self, case: &BlindSenderCase, seed: u64) -> Result<Results, ScenarioError> {
        let seen = observe(&self.bench(case.when_full, seed), &Rule::off())?;
        let per_s = |count: u64| per_second(count, self.duration.0);
        let kpps = per_s(seen.wire.packets) / 1e3;
        let mut found = Results::row(json!({
            "when_full": case.what,
            "rate_kpps": kpps,
            "closed_form_kpps": case.closed_per_s.map(|per_s| per_s / 1e3),
            "utilisation": seen.utilisation,
            "failed_per_s": per_s(seen.failed_sends),
            "wakeups_per_s": per_s(seen.wakeups),
            "core_share": seen.core_share,
            "dropped_packets": seen.drops,
        }));
        let asleep_ms = 1e3 / per_s(seen.wakeups).max(f64::MIN_POSITIVE);
        found.compare(format!("E10, {}, kpps", case.what), kpps);
        found.compare(format!("E10, {}, ms", case.what), asleep_ms);
        Ok(found)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let row = |(name, case): (String, BlindSenderCase)| {
            let bench = self.bench(case.when_full, seed);
            TraceRow::bench(name, bench, Rule::off())
        };
        let cases = self.cases().into_iter().flatten();
        cases.map(row).collect()
    }
}
