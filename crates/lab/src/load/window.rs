//! One row under load: connect, warm up, measure, stop.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use taut_linux::{interrupt, sched};
use taut_report::number::per_second;

use super::connect::{Beside, connect};
use super::request::Requests;
use super::running::Load;
use crate::control::Control;
use crate::progress::Progress;
use crate::world::Hosts;

/// The load of a row.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Bulk TCP streams.
    pub streams: u32,
    /// The traffic whose latency is measured.
    pub beside: Beside,
    /// Time before the measurement, while the streams fill the queues.
    pub warm_up_ns: u64,
    /// Time of the measurement.
    pub duration_ns: u64,
}

/// The results of a row under load.
pub struct Loaded {
    /// The measured time, or `None` if the user interrupted it.
    pub window: Option<Window>,
    /// The requests or pings.
    pub requests: Requests,
}

/// The traffic in the measured time.
pub struct Window {
    /// Its length.
    pub length_ns: u64,
    /// Processor time of this process.
    pub cpu_ns: u64,
    /// Payload of the bulk streams that arrived.
    pub delivered_bytes: u64,
}

impl Plan {
    /// Loads the link between `hosts`, and stops `control` in the end. `step` is called before each
    /// change of the progress line.
    ///
    /// # Errors
    /// If the load cannot connect, or a thread of it fails.
    pub fn run(
        &self,
        hosts: &Hosts,
        control: &Arc<Control>,
        progress: &mut Progress,
        step: impl FnMut(),
    ) -> anyhow::Result<Loaded> {
        let connected = connect(hosts, self.streams, self.beside)?;
        let load = connected.start(control)?;
        let window = self.measure(&load, control, progress, step);
        control.stop();
        Ok(Loaded {
            requests: load.join()?,
            window: window?,
        })
    }

    fn measure(
        &self,
        load: &Load,
        control: &Control,
        progress: &mut Progress,
        mut step: impl FnMut(),
    ) -> std::io::Result<Option<Window>> {
        wait(self.warm_up_ns, control, progress, &mut step);
        let before = load.delivered()?;
        let (start_ns, start_cpu_ns) = (sched::monotonic_ns(), sched::process_cpu_ns());
        control.record(true);
        wait(self.duration_ns, control, progress, &mut step);
        control.record(false);
        if interrupt::noted().is_some() {
            return Ok(None);
        }
        Ok(Some(Window {
            length_ns: (sched::monotonic_ns() - start_ns).max(1),
            cpu_ns: sched::process_cpu_ns() - start_cpu_ns,
            delivered_bytes: load.delivered()?.bytes_since(&before),
        }))
    }
}

impl Window {
    /// Returns the goodput of the bulk streams.
    pub fn goodput_bits_per_s(&self) -> u64 {
        per_second(self.delivered_bytes * 8, self.length_ns) as u64
    }
}

/// Waits until the time is over, a thread failed, or the user interrupts.
fn wait(length_ns: u64, control: &Control, progress: &mut Progress, step: &mut impl FnMut()) {
    let end_ns = sched::monotonic_ns() + length_ns;
    while !control.is_stopped() && interrupt::noted().is_none() {
        let left_ns = end_ns.saturating_sub(sched::monotonic_ns());
        if left_ns == 0 {
            break;
        }
        thread::sleep(Duration::from_nanos(left_ns.min(Progress::STEP_NS)));
        step();
        progress.show(control);
    }
}
