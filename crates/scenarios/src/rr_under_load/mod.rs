//! E1: bulk TCP streams saturate a link while one request/response runs at high priority.

mod case;
pub(crate) mod charts;
mod published;
mod row;
pub(crate) mod table;

use taut_measure::meter::{Meter, Since};
use taut_path::qdisc::RequeueSupport;
use taut_path::{AnyLimit, LateSegmentation, Probe, qdisc};
use taut_report::number::one_decimal;
use taut_sim::tcp::GsoSize;
use taut_sim::world::{App, CLIENT, SERVER, World, WorldConfig};

use crate::prelude::*;
use crate::serde_text::{as_text, as_texts};
use crate::two_hosts::{
    BULK, DELAY_NS, Done, GSO_PACKET_BYTES, START_NS, card, first_band, hosts, request_response,
    stream, think_ns, world,
};
use crate::validation::Validation;

pub use case::{Case, Only};
pub use charts::at_most;
pub use published::figures;
pub use row::{Lateness, Row};

settings! {
    Settings, "rr-under-load" {
        /// Bulk streams.
        streams: u32 => validation::within(validation::STREAMS),
        /// Link rate.
        rate: Rate => validation::within(validation::RATES),
        /// Descriptors of the ring.
        ring: u32 => validation::within(validation::RINGS),
        /// Interrupt interval.
        coalesce: Time => validation::within(validation::COALESCE_TIMES),
        /// The discipline, in `tc` syntax.
        qdisc: String => validation::discipline,
        /// Limits of the rows with a limit, a row for each.
        #[serde(with = "as_texts")]
        limits: Vec<AnyLimit> => validation::limits(0),
        /// Late segmentations of GSO packets, a row for each.
        #[serde(with = "as_texts")]
        late_segmentation: Vec<LateSegmentation> => validation::late_segmentation,
        /// Time of a transaction outside of the device queue.
        host_latency: Time => validation::within(Time(2 * DELAY_NS)..=Time::ms(10_000)),
        /// Warm-up of each row.
        warm_up: Time => validation::within(validation::WARM_UPS),
        /// Measured time of each row.
        duration: Time => validation::within(validation::DURATIONS),
        /// The rows that are run.
        #[serde(with = "as_text")]
        rows: Only where leaving_any(limits),
    }
}

impl Settings {
    /// Returns `true` for the settings of the published experiment.
    pub fn is_published(&self) -> bool {
        (self.streams, self.rate.0, self.ring) == (100, 1_000_000_000, 1024)
    }

    /// Returns the end of a row in ns of virtual time, including the warm-up.
    pub fn end_ns(&self) -> u64 {
        self.warm_up.0 + self.duration.0
    }

    /// Returns the selected rows.
    pub fn selected(&self) -> Vec<Case> {
        let qdisc = qdisc::by_name(&self.qdisc);
        let modes: &[_] = match qdisc.is_ok_and(|it| it.requeue_support() != RequeueSupport::None) {
            true => &self.late_segmentation,
            // Each mode would repeat the row without it.
            false => &[LateSegmentation::Off],
        };
        self.rows.cases(&self.limits, modes)
    }

    fn world<P: Probe>(
        &self,
        case: &Case,
        seed: u64,
        probe: impl FnMut(usize) -> P,
    ) -> Result<World<P>, ScenarioError> {
        let by_name = || qdisc::by_name(&self.qdisc);
        by_name().map_err(|error| ScenarioError::Setting(error.to_string()))?;
        let card = card(self.rate, self.ring, self.coalesce, seed);
        let hosts = WorldConfig {
            late_segmentation: case.late_segmentation,
            ..hosts(card, self.warm_up.0)
        };
        // The same text was parsed above.
        let discipline = || by_name().expect("the same text");
        let mut world = world(&hosts, &case.limit, discipline, probe)?;
        let mut bulk = stream(if case.tso {
            GsoSize::Fixed(GSO_PACKET_BYTES)
        } else {
            GsoSize::Off
        });
        bulk.tcp.ecn = qdisc::marks_ecn(&self.qdisc);
        let streams = self.streams;
        for stream in 0..streams {
            let start_ns = START_NS * u64::from(stream) / u64::from(streams);
            world.connect(&bulk, BULK, App::Sink, start_ns);
        }
        // A byte in each direction, after the start of the streams.
        let (client, server) = request_response(1, think_ns(self.host_latency));
        world.connect(&first_band(bulk), client, server, START_NS);
        Ok(world)
    }

    /// Measures a row.
    ///
    /// # Errors
    /// If the settings contradict each other, or a queue becomes faulty.
    pub fn measure(&self, case: &Case, seed: u64) -> Result<Row, ScenarioError> {
        let meter = |_| Meter::new(Since(self.warm_up.0), 0, self.end_ns());
        let mut world = self.world(case, seed, meter)?;
        world.run_until(self.warm_up.0)?;
        let before = world.arrived_bytes(SERVER);
        world.run_until(self.end_ns())?;
        let done = Done::of(&world, self.streams + 1);
        let meter = world.probe(CLIENT);
        let latency_ns = world.latency_ns();
        let delivered_bits = (done.arrived_bytes - before) * 8;
        Ok(Row {
            case: case.clone(),
            inflight_bytes: meter.in_flight_bytes().quantiles(),
            backlog_packets: meter.backlog_packets().quantiles(),
            limit_bytes_p50: case.limits_bytes().then_some(meter.limit_p50()),
            rr_tps: one_decimal(per_second(latency_ns.len(), self.duration.0)),
            latency_ns,
            goodput_bps: per_second(delivered_bits, self.duration.0) as u64,
            cpu_percent: None,
            drops: done.drops,
            marks: done.marks,
            retransmits: done.retransmits,
            stalls: None,
            timer_lateness_us: None,
            curve: meter.curve(),
        })
    }
}

/// Requires a selection with at least one row for `limits`.
fn leaving_any(limits: &[AnyLimit]) -> impl Fn(&str, &Only) -> Validation {
    move |key, rows| {
        if rows.cases(limits, &[LateSegmentation::Off]).is_empty() {
            return Err(format!(
                "{key} is {rows}, which selects no row; allowed with these limits: limit=off"
            ));
        }
        Ok(())
    }
}

impl Scenario for Settings {
    type Case = Case;

    fn cases(&self) -> Cases<Self> {
        let named = |case: Case| (case.to_string(), case);
        Ok(self.selected().into_iter().map(named).collect())
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Results, ScenarioError> {
        let row = self.measure(case, seed)?;
        let mut found = Results::row(serde_json::to_value(&row).unwrap_or_default());
        found.series = row.series(self.end_ns());
        if self.is_published() {
            found.figures = figures(&[row]);
        }
        Ok(found)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let row = |(name, case): (String, Case)| {
            let names = (name, case.limit.to_string());
            TraceRow::two_hosts(names, self.rate, self.end_ns(), move |probe| {
                self.world(&case, seed, probe)
            })
        };
        self.cases().into_iter().flatten().map(row).collect()
    }
}
