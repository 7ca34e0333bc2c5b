//! One direction, from a file or a generator to a device: the engine of `taut send`.

use std::os::fd::AsFd;

use anyhow::bail;
use taut_linux::af_packet::{AfPacket, PacketConfig};
use taut_linux::af_xdp::{AfXdp, XdpConfig, XdpMode};
use taut_linux::link::{self, LinkMonitor, LinkState};
use taut_linux::sched::monotonic_ns;
use taut_linux::{Frames, NetNs, Port, interrupt, poll};
use taut_measure::meter::{Meter, Since};
use taut_path::driver::CompletionStatus;
use taut_path::limit::{Limit, Unit};

use crate::account::Account;
use crate::direction::{Direction, DirectionConfig};
use crate::driver::Driver;
use crate::egress::Egress;
use crate::interface::LINK_HEADER_BYTES;
use crate::latency::{Latency, SentTimes};
use crate::relay::serve;
use crate::run_control::{Event, Policy, RunControl};
use crate::source::{Feed, FeedSettings, Source};

const POLICY: Policy = Policy {
    drops_waiting: false,
    link_timeout_ns: Some(500_000_000),
    drain_ns: u64::MAX,
    follows_mtu: false,
};

/// Frames in addition to those of the ring: for the discipline and the FILL ring.
const SPARE_FRAMES: u32 = 1_024;
/// Poll interval of a link that is not up yet, in ns.
const LINK_POLL_NS: u64 = 50_000_000;

/// The ring of a device's transmit queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    pub driver: Driver,
    /// Maximum number of packets.
    pub slots: u32,
    /// The device's queue, if the driver can select it.
    pub queue: u32,
    /// Never zero-copy.
    pub copy: bool,
}

/// Settings of a transmission.
pub struct Settings {
    pub feed: FeedSettings,
    pub queue: DirectionConfig,
    /// Duration, without end if `None`, and the warm-up that is not measured, in ns.
    pub duration_ns: Option<u64>,
    pub warm_up_ns: u64,
}

/// Measurements of the ring and the latency.
#[derive(Debug, Clone, Copy)]
pub struct Measurements {
    /// In the limit's units; `None` without a limit.
    pub limit_p50: Option<u64>,
    pub in_flight_p50_bytes: u64,
    pub in_flight_p90_bytes: u64,
    pub completion_p50_ns: u64,
    pub completion_p99_ns: u64,
    pub packets_per_s: f64,
    pub bits_per_s: f64,
    /// Maximum delay of a frame after its time in the capture; `None` without such times.
    pub max_late_ns: Option<u64>,
}

/// The outcome of a transmission.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub driver: &'static str,
    pub mode: &'static str,
    pub completion_status: CompletionStatus,
    pub limit: String,
    pub limit_unit: Unit,
    pub account: Account,
    pub measurements: Measurements,
    /// Why it ended before all packets were sent.
    pub failed: Option<String>,
}

/// Waits until the link is up. Returns `false` at `end_ns`, or after an interrupt. `on_wait`
/// receives the name of the device once if the link is down.
///
/// # Errors
/// Returns an error if polling fails, or the device is removed.
pub fn wait_for_link(
    monitor: &mut LinkMonitor,
    end_ns: Option<u64>,
    on_wait: impl FnOnce(&str),
) -> anyhow::Result<bool> {
    let mut on_wait = Some(on_wait);
    while monitor.poll()?.state != LinkState::Running {
        if monitor.state() == LinkState::Removed {
            bail!("{}: device removed", monitor.device());
        }
        if let Some(on_wait) = on_wait.take() {
            on_wait(monitor.device());
        }
        let now_ns = monotonic_ns();
        if interrupt::noted().is_some() || end_ns.is_some_and(|end_ns| now_ns >= end_ns) {
            return Ok(false);
        }
        poll::wait(&[monitor.as_fd()], Some(now_ns + LINK_POLL_NS))?;
    }
    Ok(true)
}

/// Opens a ring on the device of `monitor`. Sends until all frames were sent, the process is
/// interrupted, `observer` ends it, or the device is removed for good.
///
/// # Errors
/// Returns an error if the ring cannot be opened, or if the settings do not fit it.
pub fn transmit(
    ns: &NetNs,
    ring: &Ring,
    monitor: LinkMonitor,
    settings: Settings,
    observer: &mut impl RunControl,
) -> anyhow::Result<Outcome> {
    let (device, slots) = (monitor.device(), ring.slots);
    let frames = 2 * slots + SPARE_FRAMES;
    match ring.driver {
        Driver::AfPacket => {
            let config = PacketConfig { slots, frames };
            let (port, frames) = AfPacket::open(ns, device, &config)?;
            send(port, frames, monitor, settings, observer)
        }
        Driver::AfXdp => {
            let mtu_bytes = link::describe(ns, device)?.mtu_bytes;
            let longest_bytes = mtu_bytes.saturating_add(LINK_HEADER_BYTES);
            let config = XdpConfig {
                queue: ring.queue,
                slots,
                frames,
                // Frames of a umem are 2 or 4 KB.
                frame_bytes: if longest_bytes > 2_048 { 4_096 } else { 2_048 },
                mode: match ring.copy {
                    true => XdpMode::Copy,
                    false => XdpMode::Auto,
                },
                ..XdpConfig::default()
            };
            let (port, frames) = AfXdp::open(ns, device, &config)?;
            send(port, frames, monitor, settings, observer)
        }
    }
}

fn send<P: Port, F: Frames>(
    port: P,
    frames: F,
    monitor: LinkMonitor,
    settings: Settings,
    observer: &mut impl RunControl,
) -> anyhow::Result<Outcome> {
    let now_ns = monotonic_ns();
    let egress = Egress::new(monitor);
    let begin_ns = now_ns.saturating_add(settings.warm_up_ns);
    let duration_ns = settings.duration_ns;
    let sent = SentTimes::new(frames.frames());
    let length_ns = duration_ns.unwrap_or(1_000_000_000);
    let meter = Meter::new(Since(begin_ns), now_ns, length_ns);
    let latency = Latency::new(sent.clone());
    let feed = Feed::new(settings.feed, egress.mtu_bytes());
    let observed = ((meter, sent), Some(latency));
    let direction = Direction::new(settings.queue, feed, (port, frames), observed, now_ns)?;
    let (mut directions, mut egresses) = ([direction], [egress]);
    let mut sender = Sender {
        begin_ns,
        end_ns: duration_ns.map_or(u64::MAX, |ns| begin_ns.saturating_add(ns)),
        from: None,
        to: None,
        observer,
    };
    let failed = serve(&mut directions, &mut egresses, POLICY, &mut sender).err();
    let [mut direction] = directions;
    let (rule, port) = (direction.queue().limit(), direction.port());
    Ok(Outcome {
        driver: port.driver(),
        mode: port.mode(),
        completion_status: port.completion_status(),
        limit: rule.to_string(),
        limit_unit: rule.unit(),
        account: direction.account().clone(),
        measurements: sender.measurements(&mut direction),
        failed: failed.map(|error| error.to_string()),
    })
}

/// The packets and bytes that the device has returned up to a point in time.
#[derive(Debug, Clone, Copy, Default)]
struct ReturnedCounts {
    at_ns: u64,
    packets: u64,
    bytes: u64,
}

impl ReturnedCounts {
    fn of<S: Source>(direction: &Direction<S>, at_ns: u64) -> Self {
        let (packets, bytes) = direction.account().returned();
        Self {
            at_ns,
            packets,
            bytes,
        }
    }
}

/// Ends the transmission, and measures its rate.
struct Sender<'a, O> {
    /// Start and end of the measured time, in ns.
    begin_ns: u64,
    end_ns: u64,
    from: Option<ReturnedCounts>,
    /// When the source was stopped.
    to: Option<ReturnedCounts>,
    observer: &'a mut O,
}

impl<O> Sender<'_, O> {
    /// The rate is that until the source was stopped, or else until the last completion.
    fn measurements<P: Port, F: Frames>(
        &self,
        direction: &mut Direction<Feed<P, F>>,
    ) -> Measurements {
        let from = self.from.unwrap_or_default();
        let last = ReturnedCounts::of(direction, direction.returned_ns);
        let to = self.to.unwrap_or(last);
        let time_ns = to.at_ns.saturating_sub(from.at_ns).max(1);
        let per_second = |number: u64| number as f64 * 1e9 / time_ns as f64;
        let is_valid = direction.port().completion_status().limit_applies();
        let has_limit = is_valid && !direction.queue().limit().is_off();
        let [completion_p50_ns, completion_p99_ns] = [0.5, 0.99].map(|share| {
            let latency = direction.latency();
            latency.map_or(0, |latency| latency.all_ns.value_at_quantile(share))
        });
        let (meter, _) = direction.queue().probe();
        Measurements {
            limit_p50: has_limit.then(|| meter.limit_p50()),
            in_flight_p50_bytes: meter.in_flight_bytes().at_share(0.5),
            in_flight_p90_bytes: meter.in_flight_bytes().at_share(0.9),
            completion_p50_ns,
            completion_p99_ns,
            packets_per_s: per_second(to.packets.saturating_sub(from.packets)),
            bits_per_s: per_second(to.bytes.saturating_sub(from.bytes) * 8),
            max_late_ns: direction.source().max_late_ns(),
        }
    }
}

impl<O: RunControl> RunControl for Sender<'_, O> {
    fn is_over<S: Source>(&mut self, now_ns: u64, directions: &mut [Direction<S>]) -> bool {
        let is_over = self.observer.is_over(now_ns, directions);
        let [direction] = directions else {
            return true;
        };
        let returned = ReturnedCounts::of(direction, now_ns);
        if self.from.is_none() && now_ns >= self.begin_ns {
            self.from = Some(returned);
            if let Some(latency) = direction.latency() {
                latency.all_ns.clear();
            }
        }
        let is_over = is_over || now_ns >= self.end_ns || interrupt::noted().is_some();
        if is_over && !direction.source().is_over() {
            self.to.get_or_insert(returned);
        }
        is_over
    }

    fn event(&mut self, device: &str, event: Event<'_>) {
        self.observer.event(device, event);
    }
}

#[cfg(test)]
#[path = "transmit_tests.rs"]
mod tests;
