//! The traffic of a single queue and the device below it.

use serde::{Deserialize, Serialize};
use taut_path::units::parse_size_bytes;
use taut_sim::nic::{DescriptorRule, InterruptRule, NicConfig, RareGap};
use taut_sim::single_queue_bench::{Reap, SingleQueueConfig, TrafficSource};
use taut_sim::tcp::GsoSize;

use super::SingleQueueSettings;
use crate::one_queue::{LINK_OVERHEAD_BYTES, counted_with, saturated};
use crate::prelude::*;
use crate::two_hosts::card;
use crate::validation::Validation;

/// Traffic on one queue. It saturates the link, unless it has `bursts`. A missing value is that of
/// the scenario.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Traffic {
    /// Its name in the rows.
    pub name: String,
    /// Link rates, each for an equal part of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rates: Option<Vec<Rate>>,
    /// Packet sizes, in turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Size>>,
    /// Bytes of the link's overhead that a packet's size includes.
    pub counted_overhead: u32,
    /// Interrupt interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coalesce: Option<Time>,
    /// Maximum deviation of each interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Time>,
    /// Intervals of another length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rare_gap: Option<RareInterval>,
    /// How completions are reaped; all at once if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reap: Option<PolledReap>,
    /// A sender that is silent between bursts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
    /// One TCP stream with GSO packets of this payload; `auto` is the payload that its rate sends
    /// in a millisecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<String>,
    /// Maximum measured time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Time>,
}

/// One interval in `one_in` has another length.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RareInterval {
    one_in: u32,
    gap: Time,
}

/// Completions are reaped in batches of at most `packets`, `gap` apart.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PolledReap {
    packets: u32,
    gap: Time,
}

/// Packets that are sent at once, `every` time, which varies by `jitter`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    packets: u32,
    every: Time,
    #[serde(default)]
    jitter: Time,
}

/// Maximum number of packet sizes and rates of a run.
pub(super) const MAX_VALUES: usize = 1_000;

impl Traffic {
    /// Checks that it can be run for `duration`.
    pub(super) fn check(&self, duration: Time) -> Validation {
        let up_to = validation::up_to(duration);
        if let Some(rates) = &self.rates {
            validation::each(1..=MAX_VALUES, validation::rate)("rates", rates)?;
        }
        if let Some(sizes) = &self.sizes {
            validation::each(1..=MAX_VALUES, validation::size)("sizes", sizes)?;
        }
        validation::within(0..=LINK_OVERHEAD_BYTES)("counted_overhead", &self.counted_overhead)?;
        for (key, time) in [("coalesce", self.coalesce), ("jitter", self.jitter)] {
            time.map_or(Ok(()), |time| up_to(key, &time))?;
        }
        if let Some(at_most) = &self.at_most {
            validation::duration("at_most", at_most)?;
        }
        if let Some(RareInterval { one_in, gap }) = &self.rare_gap {
            validation::within(1..=u32::MAX)("rare_gap.one_in", one_in)?;
            up_to("rare_gap.gap", gap)?;
        }
        if let Some(PolledReap { packets, gap }) = &self.reap {
            validation::within(1..=u32::MAX)("reap.packets", packets)?;
            up_to("reap.gap", gap)?;
        }
        if let Some(bursts) = &self.bursts {
            validation::within(1..=1 << 16)("bursts.packets", &bursts.packets)?;
            validation::within(Time(1_000)..=duration)("bursts.every", &bursts.every)?;
            up_to("bursts.jitter", &bursts.jitter)?;
        }
        self.gso_packet().map(drop)
    }

    /// Returns the GSO packets of the TCP stream, if it is one.
    pub(super) fn gso_packet(&self) -> Result<Option<GsoSize>, String> {
        let Some(text) = &self.tcp else {
            return Ok(None);
        };
        if text == "auto" {
            return Ok(Some(GsoSize::Auto));
        }
        let size =
            parse_size_bytes(text).map_err(|error| format!("tcp: {text:?}: {error}, or auto"))?;
        validation::size("tcp", &Size(size))?;
        Ok(Some(GsoSize::Fixed(size as u32)))
    }
}

impl SingleQueueSettings {
    /// Returns the link rates of `traffic`.
    pub(super) fn rates_of<'a>(&'a self, traffic: &'a Traffic) -> &'a [Rate] {
        traffic.rates.as_ref().unwrap_or(&self.rates)
    }

    pub(super) fn interval_of(&self, traffic: &Traffic) -> Time {
        traffic.coalesce.unwrap_or(self.coalesce)
    }

    pub(super) fn duration_of(&self, traffic: &Traffic) -> Time {
        traffic
            .at_most
            .map_or(self.duration, |max| max.min(self.duration))
    }

    /// Returns the bench with `traffic`, and its duration.
    pub(super) fn bench(&self, traffic: &Traffic, seed: u64) -> SingleQueueConfig {
        let interrupt = InterruptRule {
            jitter_ns: traffic.jitter.map_or(0, |jitter| jitter.0),
            rare_gap: traffic
                .rare_gap
                .map(|RareInterval { one_in, gap }| RareGap {
                    one_in,
                    gap_ns: gap.0,
                }),
            ..InterruptRule::every(self.interval_of(traffic).0)
        };
        let sizes = traffic.sizes.as_ref().unwrap_or(&self.sizes);
        let rates = self.rates_of(traffic);
        let mut bench = saturated(rates[0], self.ring, 0, interrupt, seed);
        bench.nic.framing = counted_with(traffic.counted_overhead);
        let duration_ns = self.duration_of(traffic).0;
        let begins_ns = |part: usize| part as u64 * duration_ns / rates.len() as u64;
        let later = rates.iter().enumerate().skip(1);
        SingleQueueConfig {
            reap: traffic.reap.map_or(Reap::ALL, |it| Reap {
                budget_packets: it.packets,
                poll_interval_ns: it.gap.0,
            }),
            object_bytes: sizes.iter().map(|size| size.0 as u32).collect(),
            source: traffic
                .bursts
                .map_or(TrafficSource::Saturating, |it| TrafficSource::Bursts {
                    packets: it.packets,
                    every_ns: it.every.0,
                    jitter_ns: it.jitter.0,
                }),
            // The backlog holds a whole burst, so that every rule carries the same packets.
            backlog_packets: match traffic.bursts {
                Some(_) => u32::MAX,
                None => bench.backlog_packets,
            },
            rate_changes: later
                .map(|(part, rate)| (self.warm_up.0 + begins_ns(part), rate.0))
                .collect(),
            measure_from_ns: self.warm_up.0,
            end_ns: self.warm_up.0 + duration_ns,
            sample_ns: self.sample.0,
            ..bench
        }
    }

    /// Returns the card below a TCP stream.
    pub(super) fn tcp_card(&self, traffic: &Traffic, seed: u64) -> NicConfig {
        NicConfig {
            rule: DescriptorRule::OnePerPacket,
            ..card(
                self.rates_of(traffic)[0],
                self.ring,
                self.interval_of(traffic),
                seed,
            )
        }
    }
}
