//! E8: interrupt moderation of a card, and the low watermark at which a full ring restarts.

use crate::one_queue::saturated;
use crate::prelude::*;
use taut_sim::nic::InterruptRule;
use taut_sim::single_queue_bench::{
    Cost, Observed, Rule, SingleQueueConfig, TrafficSource, observe,
};

settings! {
    WatermarksSettings, "watermarks" {
        /// Link rate.
        rate: Rate => validation::rate,
        /// Size of every packet.
        size: Size => validation::size,
        /// Descriptors of the ring.
        ring: u32 => validation::ring,
        /// Finished packets that trigger an interrupt; each is a part of the map.
        interrupt_packets: Vec<u32> where validation::each(1..=100, validation::within(1..=*ring)),
        /// Maximum time between interrupts while packets are finished.
        interrupt_timeout: Time where validation::within(Time(1_000)..=*duration),
        /// Low watermarks: the fill level at which a full ring restarts, in sixteenths of the ring.
        watermark_sixteenths: Vec<u32> => validation::each(1..=100, validation::within(1..=15)),
        /// Backlog above the ring, in quarters of the ring.
        upstream_quarters: Vec<u32> => validation::each(1..=100, validation::within(1..=4_000)),
        /// Cost of an interrupt on the core. This and the next two are at least 1 ns: a packet
        /// without cost is created as soon as there is room, so the sender never sleeps and no
        /// wake-up counts.
        interrupt_cost: Time where validation::within(Time(1)..=*duration),
        /// Cost of a packet on the core.
        packet_cost: Time where validation::within(Time(1)..=*duration),
        /// Cost of waking the sender.
        wakeup_cost: Time where validation::within(Time(1)..=*duration),
        /// Packet interval of the light load.
        light_gap: Time where validation::within(Time(1_000)..=*duration),
        /// Measured time.
        duration: Time => validation::duration,
    }
}

/// Interrupt threshold of the card whose interrupts are counted without costs.
const ASKED_FOR_PACKETS: u32 = 10;

/// Warm-up: a few times a full ring and its buffers.
const WARM_UP_NS: u64 = 20_000_000;

/// The workload.
#[derive(Clone, Copy, PartialEq)]
enum MapLoad {
    Saturated,
    Light,
    /// Saturated, without costs on the core.
    Free,
}

/// A point of the map.
#[derive(Clone, Copy)]
pub struct MapPoint {
    load: MapLoad,
    interrupt_packets: u32,
    watermark_sixteenths: u32,
    upstream_quarters: u32,
}

impl WatermarksSettings {
    fn bench(&self, point: MapPoint, seed: u64) -> SingleQueueConfig {
        let interrupt = InterruptRule {
            packets: Some(point.interrupt_packets),
            ..InterruptRule::every(self.interrupt_timeout.0)
        };
        let filled = u64::from(self.ring) * u64::from(point.watermark_sixteenths) / 16;
        let upstream = u64::from(self.ring) * u64::from(point.upstream_quarters) / 4;
        SingleQueueConfig {
            restart_slots: Some(self.ring - filled as u32),
            backlog_packets: u32::try_from(upstream).unwrap_or(u32::MAX).max(1),
            source: match point.load {
                MapLoad::Saturated | MapLoad::Free => TrafficSource::Saturating,
                MapLoad::Light => TrafficSource::Bursts {
                    packets: 1,
                    every_ns: self.light_gap.0,
                    jitter_ns: 0,
                },
            },
            cost: match point.load {
                MapLoad::Free => Cost::default(),
                MapLoad::Saturated | MapLoad::Light => Cost {
                    interrupt_ns: self.interrupt_cost.0,
                    packet_ns: self.packet_cost.0,
                    wakeup_ns: self.wakeup_cost.0,
                },
            },
            measure_from_ns: WARM_UP_NS,
            end_ns: WARM_UP_NS + self.duration.0,
            ..saturated(self.rate, self.ring, self.size.0 as u32, interrupt, seed)
        }
    }

    fn row(&self, point: &MapPoint, seen: &Observed) -> Value {
        let seconds = self.duration.0 as f64 / 1e9;
        json!({
            "load": point.load.name(),
            "interrupt_packets": point.interrupt_packets,
            "watermark": f64::from(point.watermark_sixteenths) / 16.0,
            "upstream_rings": f64::from(point.upstream_quarters) / 4.0,
            "rate_kpps": seen.wire.packets as f64 / seconds / 1e3,
            "utilisation": seen.utilisation,
            "interrupts_per_s": seen.wire.interrupts as f64 / seconds,
            "wakeups_per_s": seen.wakeups as f64 / seconds,
            "core_share": seen.core_share,
            "latency_mean_us": seen.latency_ns.mean() / 1e3,
            "latency_p99_us": seen.latency_ns.value_at_quantile(0.99) as f64 / 1e3,
            "held_mean_us": seen.held_ns.mean() / 1e3,
        })
    }

    /// Returns the lowest watermark whose mean rate over the map is within a thousandth of the
    /// best, as a share of the ring. With the default costs, all watermarks from the middle up
    /// reach the same rate, so the lowest of them is preferred: a higher one costs latency and
    /// wake-ups, not throughput.
    fn best_watermark(&self, rows: &[Value]) -> f64 {
        let of_map = || {
            rows.iter()
                .filter(|row| row["load"] == MapLoad::Saturated.name())
        };
        let rate = |&watermark: &f64| {
            let with = of_map().filter(|row| row["watermark"] == watermark);
            with.filter_map(|row| row["rate_kpps"].as_f64())
                .sum::<f64>()
        };
        let all = self.watermark_sixteenths.iter();
        let all: Vec<f64> = all
            .map(|&sixteenths| f64::from(sixteenths) / 16.0)
            .collect();
        let best = all.iter().map(rate).fold(0.0, f64::max);
        let good = all
            .into_iter()
            .filter(|watermark| rate(watermark) >= 0.999 * best);
        good.reduce(f64::min).unwrap_or(0.0)
    }
}

impl MapLoad {
    const fn name(self) -> &'static str {
        match self {
            Self::Saturated | Self::Free => "saturated",
            Self::Light => "light",
        }
    }
}

impl Scenario for WatermarksSettings {
    type Case = MapPoint;

    fn cases(&self) -> Cases<Self> {
        let mut points = Vec::new();
        for &interrupt_packets in &self.interrupt_packets {
            for &watermark_sixteenths in &self.watermark_sixteenths {
                for &upstream_quarters in &self.upstream_quarters {
                    points.push(MapPoint {
                        load: MapLoad::Saturated,
                        interrupt_packets,
                        watermark_sixteenths,
                        upstream_quarters,
                    });
                }
            }
        }
        let middle = |load, interrupt_packets| MapPoint {
            load,
            interrupt_packets,
            watermark_sixteenths: 8,
            upstream_quarters: 4,
        };
        let light = self.interrupt_packets.iter();
        points.extend(light.map(|&packets| middle(MapLoad::Light, packets)));
        points.push(middle(MapLoad::Free, ASKED_FOR_PACKETS));
        let named = |point: MapPoint| (point.load.name().to_owned(), point);
        Ok(points.into_iter().map(named).collect())
    }

    fn run(&self, point: &MapPoint, seed: u64) -> Result<Results, ScenarioError> {
        let seen = observe(&self.bench(*point, seed), &Rule::off())?;
        if point.load != MapLoad::Free {
            return Ok(Results::row(self.row(point, &seen)));
        }
        let mut found = Results::default();
        let interrupts_per_s = per_second(seen.wire.interrupts, self.duration.0);
        found.compare("E8, interrupts for N = 10".into(), interrupts_per_s);
        Ok(found)
    }

    fn complete(&self, results: &mut Results) {
        // The last case, which has this figure, has been run.
        if !results.figures.is_empty() {
            let best = self.best_watermark(&results.rows);
            results.compare("E8, best low watermark, share of the ring".into(), best);
        }
    }
}
