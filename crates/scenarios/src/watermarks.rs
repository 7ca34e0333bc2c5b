//! E8: how often a card interrupts, and at which low watermark a full ring starts again.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::quantity::{Rate, Size, Time, check};
use super::registry::{Findings, Progress, Scenario, ScenarioError};
use super::single_queue::{
    MINIMAL_FRAME_BYTES, check_duration, check_rate, check_ring, check_size, saturated,
};
use crate::results::Figure;
use taut_sim::lane::{Cost, LaneConfig, Observed, Rule, Source, observe};
use taut_sim::nic::InterruptRule;

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `watermarks`.
    pub scenario: String,
    /// Link rate.
    pub rate: Rate,
    /// Size of every packet.
    pub size: Size,
    /// Descriptors of the ring.
    pub ring: u32,
    /// Finished packets for which the card interrupts, each a part of the map.
    pub interrupt_packets: Vec<u32>,
    /// After the last interrupt, the card waits for so many no longer than this.
    pub interrupt_timeout: Time,
    /// Sixteenths of the ring that are still filled when a full ring starts again.
    pub watermark_sixteenths: Vec<u32>,
    /// Packets that wait above the ring, in quarters of the ring.
    pub upstream_quarters: Vec<u32>,
    /// What an interrupt costs on the core.
    pub interrupt_cost: Time,
    /// What a packet costs on the core.
    pub packet_cost: Time,
    /// What it costs to wake the sender.
    pub wakeup_cost: Time,
    /// From packet to packet of the light load.
    pub light_gap: Time,
    /// What is measured.
    pub duration: Time,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scenario: Self::NAME.to_owned(),
            rate: Rate(1_000_000_000),
            size: Size(MINIMAL_FRAME_BYTES.into()),
            ring: 512,
            interrupt_packets: vec![1, 10, 32, 64, 128, 256, 384],
            interrupt_timeout: Time::ms(10),
            watermark_sixteenths: vec![1, 2, 4, 6, 8, 10, 12, 14, 15],
            upstream_quarters: vec![1, 4, 16, 80],
            interrupt_cost: Time::us(5),
            packet_cost: Time(400),
            wakeup_cost: Time::us(20),
            light_gap: Time::us(100),
            duration: Time::ms(100),
        }
    }
}

/// What is not measured at the start: a few times a full ring and its buffers.
const WARM_UP_NS: u64 = 20_000_000;

/// One point of the map.
#[derive(Clone, Copy)]
struct Point {
    interrupt_packets: u32,
    watermark_sixteenths: u32,
    upstream_quarters: u32,
}

impl Settings {
    fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for &interrupt_packets in &self.interrupt_packets {
            for &watermark_sixteenths in &self.watermark_sixteenths {
                for &upstream_quarters in &self.upstream_quarters {
                    points.push(Point {
                        interrupt_packets,
                        watermark_sixteenths,
                        upstream_quarters,
                    });
                }
            }
        }
        points
    }

    fn lane(&self, point: Point, seed: u64) -> LaneConfig {
        let interrupt = InterruptRule {
            packets: Some(point.interrupt_packets),
            ..InterruptRule::every(self.interrupt_timeout.0)
        };
        let filled = u64::from(self.ring) * u64::from(point.watermark_sixteenths) / 16;
        let upstream = u64::from(self.ring) * u64::from(point.upstream_quarters) / 4;
        LaneConfig {
            restart_slots: Some(self.ring - filled as u32),
            backlog_packets: u32::try_from(upstream).unwrap_or(u32::MAX).max(1),
            cost: Cost {
                interrupt_ns: self.interrupt_cost.0,
                packet_ns: self.packet_cost.0,
                wakeup_ns: self.wakeup_cost.0,
            },
            measure_from_ns: WARM_UP_NS,
            end_ns: WARM_UP_NS + self.duration.0,
            ..saturated(self.rate, self.ring, self.size.0 as u32, interrupt, seed)
        }
    }

    fn row(&self, load: &str, point: Point, seen: &Observed) -> Value {
        let seconds = self.duration.0 as f64 / 1e9;
        json!({
            "load": load,
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

    /// The lowest watermark whose mean rate over all of the map is the best, or less by a
    /// thousandth at most, as a share of the ring. With the default costs every watermark from the
    /// middle up reaches the same rate, so the preference for the lowest decides: a higher one costs
    /// latency and wake-ups, not throughput.
    fn best_watermark(&self, map: &[(Point, f64)]) -> f64 {
        let mean = |&sixteenths: &u32| {
            let with = map
                .iter()
                .filter(|(p, _)| p.watermark_sixteenths == sixteenths);
            with.map(|&(_, rate)| rate).sum::<f64>()
        };
        let all = self.watermark_sixteenths.iter();
        let best = all.clone().map(mean).fold(0.0, f64::max);
        let good = all.filter(|sixteenths| mean(sixteenths) >= 0.999 * best);
        good.min()
            .map_or(0.0, |&sixteenths| f64::from(sixteenths) / 16.0)
    }

    /// Interrupts a second of a card that interrupts for every 10 packets, if they cost nothing.
    fn asked_for(&self, seed: u64) -> Result<Figure, ScenarioError> {
        let point = Point {
            interrupt_packets: 10,
            watermark_sixteenths: 8,
            upstream_quarters: 4,
        };
        let lane = LaneConfig {
            cost: Cost::default(),
            ..self.lane(point, seed)
        };
        let seen = observe(&lane, &Rule::off())?;
        Ok(Figure {
            id: "E8, interrupts that N = 10 asks for".to_owned(),
            published: vec![150_000.0],
            value: seen.wire.interrupts as f64 * 1e9 / self.duration.0 as f64,
            unit: "1/s",
            constants: Vec::new(),
        })
    }
}

impl Scenario for Settings {
    const NAME: &'static str = "watermarks";
    const ABOUT: &'static str =
        "packets per interrupt, low watermark and upstream buffer of a full ring (E8)";
    const HAS_FIGURES: bool = true;

    fn validate(&self) -> Result<(), String> {
        check_rate("rate", self.rate)?;
        check_size("size", self.size)?;
        check_ring("ring", self.ring)?;
        check_duration("duration", self.duration)?;
        for (key, values, most) in [
            ("interrupt_packets", &self.interrupt_packets, self.ring),
            ("watermark_sixteenths", &self.watermark_sixteenths, 15),
            ("upstream_quarters", &self.upstream_quarters, 4_000),
        ] {
            check(&format!("{key}, their number"), values.len(), 1, 100)?;
            for &value in values {
                check(key, value, 1, most)?;
            }
        }
        check("light_gap", self.light_gap, Time(1_000), self.duration)?;
        let (least, most) = (Time(1_000), self.duration);
        check("interrupt_timeout", self.interrupt_timeout, least, most)?;
        for (key, cost) in [
            ("interrupt_cost", self.interrupt_cost),
            ("packet_cost", self.packet_cost),
            ("wakeup_cost", self.wakeup_cost),
        ] {
            // A packet that costs nothing is made as soon as there is room; the sender never
            // sleeps then, and no wake-up counts.
            check(key, cost, Time(1), self.duration)?;
        }
        Ok(())
    }

    fn measure(
        &self,
        seed: u64,
        progress: Progress,
        found: &Findings,
    ) -> Result<(), ScenarioError> {
        let points = self.points();
        let parts = (points.len() + self.interrupt_packets.len()) as u64;
        let mut map = Vec::new();
        for (done, &point) in points.iter().enumerate() {
            progress("saturated", done as u64, parts);
            let seen = observe(&self.lane(point, seed), &Rule::off())?;
            map.push((point, seen.wire.packets as f64));
            found.row(self.row("saturated", point, &seen));
        }
        for (done, &interrupt_packets) in self.interrupt_packets.iter().enumerate() {
            progress("light", (points.len() + done) as u64, parts);
            let point = Point {
                interrupt_packets,
                watermark_sixteenths: 8,
                upstream_quarters: 4,
            };
            let light = LaneConfig {
                source: Source::Bursts {
                    packets: 1,
                    every_ns: self.light_gap.0,
                    jitter_ns: 0,
                },
                ..self.lane(point, seed)
            };
            let seen = observe(&light, &Rule::off())?;
            found.row(self.row("light", point, &seen));
        }
        found.figures([self.asked_for(seed)?]);
        found.figures([Figure {
            id: "E8, best low watermark, share of the ring".to_owned(),
            published: vec![0.25, 0.5],
            value: self.best_watermark(&map),
            unit: "rings",
            constants: vec![
                "interrupt_cost",
                "packet_cost",
                "wakeup_cost",
                "interrupt_timeout",
                "preference for the lowest",
            ],
        }]);
        progress("done", parts, parts);
        Ok(())
    }
}
