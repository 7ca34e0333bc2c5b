//! Measures a row: the loop of `taut send` over a link, or a bare loop for comparison.

use std::thread;

use anyhow::anyhow;
use taut_linux::link::{LinkMonitor, LinkState, MacAddress};
use taut_linux::sched::monotonic_ns;
use taut_linux::{Frames, NetNs, Port, interrupt, link, poll};
use taut_path::driver::CompletionStatus;
use taut_path::limit::Unit;
use taut_path::{AnyLimit, AnyQdisc, Packet, TxRing};

use super::case::{Hold, RingCase};
use super::config::{MAX_SLOTS, RingSweep};
use super::links::Link;
use taut_relay::driver::{self, Ring, WithPort};
use taut_relay::raise_priority;
use taut_relay::source::{Content, FeedSettings, Generated};
use taut_relay::transmit::{Settings, transmit};

/// Size of each frame: the maximum for an MTU of 1,500.
const FRAME_BYTES: u32 = 1_514;
/// Warm-up time: a limit needs it to converge.
const WARM_UP_FIXED_NS: u64 = 200_000_000;
const WARM_UP_NS: u64 = 1_500_000_000;
/// Timeout for a new link to be up, in ns.
const UP_NS: u64 = 10_000_000_000;
/// Packets per doorbell of the bare loop, as in a burst of a queue.
const BURST: u32 = 64;

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct RingRun {
    pub packets_per_s: f64,
    pub in_flight_p50_bytes: u64,
    pub in_flight_p90_bytes: u64,
    pub completion_p50_ns: u64,
    pub completion_p99_ns: u64,
    /// In its units; `None` without a limit.
    pub limit_p50: Option<(u64, bool)>,
    pub completion_status: CompletionStatus,
    pub mode: &'static str,
    pub unaccounted_packets: u64,
}

impl RingCase {
    /// Creates the link and measures. Returns `None` if the user interrupted it.
    pub fn run(&self, options: &RingSweep) -> anyhow::Result<Option<RingRun>> {
        let active = self.link.create()?;
        let mut watch = LinkMonitor::open(&active.ns, &active.device)?;
        wait_until_up(&mut watch)?;
        let (ns, device) = (&active.ns, active.device.as_str());
        let waits = !active.is_polled() && self.link != Link::Plain;
        // On a separate thread: not every user can leave real-time priority.
        let ran = thread::scope(|scope| {
            scope
                .spawn(move || {
                    if waits {
                        // The thread sleeps between polls, and its lateness adds to the bytes in
                        // flight.
                        raise_priority();
                    }
                    self.measure(options, (ns, device), watch)
                })
                .join()
                .map_err(|_| anyhow!("the measuring thread panicked"))
        })??;
        Ok(Some(ran).filter(|_| interrupt::noted().is_none()))
    }

    fn measure(
        &self,
        options: &RingSweep,
        (ns, device): (&NetNs, &str),
        watch: LinkMonitor,
    ) -> anyhow::Result<RingRun> {
        let from = link::describe(ns, device)?.mac;
        let from = from.unwrap_or(MacAddress::local(1));
        let generated = Generated::new(FRAME_BYTES, 1, from, self.link.to(), options.seed);
        let ring = Ring {
            slots: MAX_SLOTS,
            frames: 2 * MAX_SLOTS + 1_024,
            queue: 0,
            copy: self.link.is_virtual(),
        };
        match &self.hold {
            Hold::Limit(limit) => {
                let work = Limited {
                    options,
                    watch,
                    generated,
                    limit,
                };
                driver::open(self.driver, ns, device, &ring, work)?
            }
            Hold::Bare => {
                let work = Bare { options, generated };
                driver::open(self.driver, ns, device, &ring, work)?
            }
        }
    }
}

fn wait_until_up(watch: &mut LinkMonitor) -> anyhow::Result<()> {
    let end_ns = monotonic_ns() + UP_NS;
    while watch.poll()?.state != LinkState::Running {
        if monotonic_ns() >= end_ns || interrupt::noted().is_some() {
            return Err(anyhow!("{} is down, or has no carrier", watch.device()));
        }
        poll::wait(
            &[std::os::fd::AsFd::as_fd(watch)],
            Some(monotonic_ns() + 20_000_000),
        )?;
    }
    Ok(())
}

/// The loop of `taut send`.
struct Limited<'a> {
    options: &'a RingSweep,
    watch: LinkMonitor,
    generated: Generated,
    limit: &'a AnyLimit,
}

impl WithPort for Limited<'_> {
    type Output = anyhow::Result<RingRun>;

    fn run<P: Port, F: Frames>(self, port: P, frames: F) -> Self::Output {
        let is_fixed = self
            .limit
            .to_string()
            .starts_with(|first: char| first.is_ascii_digit());
        let settings = Settings {
            content: Content::Generated(self.generated),
            feed: FeedSettings::default(),
            qdisc: AnyQdisc::default(),
            limit: self.limit.clone(),
            coalesce_ns: self.options.coalesce.0,
            stall_ns: 2_000_000_000,
            duration_ns: Some(self.options.duration.0),
            warm_up_ns: if is_fixed {
                WARM_UP_FIXED_NS
            } else {
                WARM_UP_NS
            },
        };
        let outcome = transmit((port, frames), self.watch, settings, &mut ())?;
        if let Some(failed) = &outcome.failed {
            return Err(anyhow!("{failed}"));
        }
        Ok(RingRun {
            packets_per_s: outcome.measurements.rate.packets_per_s,
            in_flight_p50_bytes: outcome.measurements.in_flight_p50_bytes,
            in_flight_p90_bytes: outcome.measurements.in_flight_p90_bytes,
            completion_p50_ns: outcome.measurements.completion_p50_ns,
            completion_p99_ns: outcome.measurements.completion_p99_ns,
            limit_p50: (outcome.measurements.limit_p50)
                .map(|limit| (limit, outcome.limit_unit == Unit::Packets)),
            completion_status: outcome.completion_status,
            mode: outcome.mode,
            unaccounted_packets: outcome.account.unaccounted_packets(),
        })
    }
}

/// The loop without a queue: frames, slots, doorbell, reaping.
struct Bare<'a> {
    options: &'a RingSweep,
    generated: Generated,
}

impl WithPort for Bare<'_> {
    type Output = anyhow::Result<RingRun>;

    fn run<P: Port, F: Frames>(mut self, mut port: P, mut frames: F) -> Self::Output {
        let begin_ns = monotonic_ns() + WARM_UP_FIXED_NS;
        let end_ns = begin_ns + self.options.duration.0;
        let (mut completed, mut from) = (0_u64, None);
        let (mut now_ns, mut reap_ns) = (monotonic_ns(), 0);
        while now_ns < end_ns && interrupt::noted().is_none() {
            if now_ns >= begin_ns && from.is_none() {
                from = Some((completed, now_ns));
            }
            let room = TxRing::slots_free(&port).min(BURST);
            for _ in 0..room {
                let Ok(packet) = frames.packet(self.generated.next_frame()) else {
                    break;
                };
                if let Err(packet) = port.submit(packet, now_ns) {
                    frames.freed(packet);
                }
            }
            port.kick(now_ns)?;
            if room == 0 || now_ns >= reap_ns {
                reap_ns = now_ns + self.options.coalesce.0;
                let mut freed = |packet: Packet| {
                    completed += 1;
                    frames.freed(packet);
                };
                let _ = port.reap(now_ns, u32::MAX, &mut freed)?;
            }
            now_ns = monotonic_ns();
        }
        let (before, since_ns) = from.unwrap_or((completed, now_ns));
        let time_ns = now_ns.saturating_sub(since_ns).max(1);
        Ok(RingRun {
            packets_per_s: (completed - before) as f64 * 1e9 / time_ns as f64,
            completion_status: port.completion_status(),
            mode: port.mode(),
            ..RingRun::default()
        })
    }
}
