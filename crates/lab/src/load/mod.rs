//! The load: bulk TCP streams and, in parallel, one request/response or pings.

mod bulk;
mod connect;
mod ping;
mod request;

use std::io;
use std::net::TcpStream;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use anyhow::{Context, anyhow};
use taut_linux::tcp::{self, TcpInfo};
use taut_linux::{interrupt, sched};
use taut_report::number::per_second;

use crate::control::{Control, StopOnDrop};
use crate::progress::Progress;
use crate::world::Hosts;
use connect::connect_bulk;
use request::MeasuredTraffic;

pub use ping::pings;
pub use request::{Requests, requests};

/// The load of a row.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Bulk TCP streams.
    pub streams: u32,
    /// Connects the traffic whose latency is measured: [`requests`] or [`pings`].
    pub measured: fn(&Hosts) -> anyhow::Result<MeasuredTraffic>,
    /// Time before the measurement, while the streams fill the queues.
    pub warm_up_ns: u64,
    /// Time of the measurement.
    pub duration_ns: u64,
}

/// The results of a row under load.
pub struct Loaded {
    /// The measured time.
    pub window: Window,
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
    /// Loads the link between `hosts` while `forward` moves its packets on a thread of this `name`.
    /// Stops `control` in the end. Returns the results of both, that of the load unless the user
    /// interrupted it.
    ///
    /// # Errors
    /// If the load cannot connect, or a thread fails.
    pub fn run<T: Send>(
        &self,
        hosts: &Hosts,
        control: &Control,
        progress: &mut Progress,
        name: &str,
        forward: impl FnOnce() -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<(T, Option<Loaded>)> {
        thread::scope(|scope| {
            let forward = thread::Builder::new()
                .name(name.into())
                .spawn_scoped(scope, forward)?;
            let loaded = self.load(hosts, control, progress);
            control.stop();
            // A failed forwarder is the cause of a failed load, so its error is reported first.
            Ok((join(forward)?, loaded?))
        })
    }

    fn load(
        &self,
        hosts: &Hosts,
        control: &Control,
        progress: &mut Progress,
    ) -> anyhow::Result<Option<Loaded>> {
        let MeasuredTraffic {
            name,
            request,
            respond,
        } = (self.measured)(hosts)?;
        let bulk = connect_bulk(hosts, self.streams)?;
        let (senders, receivers): (Vec<_>, Vec<_>) = bulk.into_iter().unzip();
        for receiver in &receivers {
            tcp::set_receive_low_water(receiver, bulk::READ_BYTES)?;
        }
        let measured: Vec<TcpStream> = senders
            .iter()
            .map(TcpStream::try_clone)
            .collect::<io::Result<_>>()?;
        thread::scope(|scope| {
            let stop = StopOnDrop(control);
            let send = || bulk::send(senders, control);
            let receive = || bulk::receive(receivers, control);
            let others = [
                spawn(scope, "bulk-send", control, send)?,
                spawn(scope, "bulk-receive", control, receive)?,
                spawn(scope, "echo", control, || respond(control))?,
            ];
            let requests = spawn(scope, name, control, || request(control))?;
            let window = self.measure(&measured, control, progress);
            drop(stop);
            for thread in others {
                join(thread)?;
            }
            let requests = join(requests)?;
            Ok(window?.map(|window| Loaded { window, requests }))
        })
    }

    fn measure(
        &self,
        senders: &[TcpStream],
        control: &Control,
        progress: &mut Progress,
    ) -> io::Result<Option<Window>> {
        wait(self.warm_up_ns, control, progress);
        let before = delivered(senders)?;
        let (start_ns, start_cpu_ns) = (sched::monotonic_ns(), sched::process_cpu_ns());
        control.record(true);
        wait(self.duration_ns, control, progress);
        control.record(false);
        if interrupt::noted().is_some() {
            return Ok(None);
        }
        Ok(Some(Window {
            length_ns: (sched::monotonic_ns() - start_ns).max(1),
            cpu_ns: sched::process_cpu_ns() - start_cpu_ns,
            delivered_bytes: bytes_between(&before, &delivered(senders)?),
        }))
    }
}

impl Window {
    /// Returns the goodput of the bulk streams.
    pub fn goodput_bits_per_s(&self) -> u64 {
        per_second(self.delivered_bytes * 8, self.length_ns) as u64
    }
}

/// Returns what each sender delivered so far: each segment counted once, including those behind a
/// hole. The bytes that the application reads stall while a hole is repaired and then jump, which
/// adds noise over a few seconds.
fn delivered(senders: &[TcpStream]) -> io::Result<Vec<TcpInfo>> {
    senders.iter().map(TcpInfo::of).collect()
}

/// Returns the payload bytes that arrived in the meantime.
fn bytes_between(before: &[TcpInfo], now: &[TcpInfo]) -> u64 {
    let bytes = |(before, now): (&TcpInfo, &TcpInfo)| {
        let segments = now
            .delivered_segments
            .wrapping_sub(before.delivered_segments);
        u64::from(segments) * u64::from(now.mss_bytes)
    };
    before.iter().zip(now).map(bytes).sum()
}

/// Waits until the time is over, a thread failed, or the user interrupts.
fn wait(length_ns: u64, control: &Control, progress: &mut Progress) {
    let end_ns = sched::monotonic_ns() + length_ns;
    while !control.is_stopped() && interrupt::noted().is_none() {
        let left_ns = end_ns.saturating_sub(sched::monotonic_ns());
        if left_ns == 0 {
            break;
        }
        thread::sleep(Duration::from_nanos(left_ns.min(Progress::STEP_NS)));
        progress.show(control);
    }
}

/// Starts a thread of the load. It ends when `control` stops the row.
fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &'static str,
    control: &'scope Control,
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, anyhow::Result<T>>> {
    let work = move || {
        let _stop = StopOnDrop(control);
        work().with_context(|| format!("thread {name}"))
    };
    let thread = thread::Builder::new().name(name.into());
    thread.spawn_scoped(scope, work)
}

fn join<T>(thread: ScopedJoinHandle<'_, anyhow::Result<T>>) -> anyhow::Result<T> {
    let name = thread.thread().name().unwrap_or_default().to_owned();
    thread
        .join()
        .map_err(|_| anyhow!("thread {name} panicked"))?
}
