//! One direction, from a file or a generator to a device: the engine of `taut send`.

use std::io;
use std::marker::PhantomData;

use taut_linux::link::LinkMonitor;
use taut_linux::sched::monotonic_ns;
use taut_linux::{Frames, Port, interrupt};
use taut_measure::meter::{Meter, Since};
use taut_path::limit::Limit;
use taut_path::{AnyLimit, AnyQdisc, LateSegmentation};

use crate::direction::Direction;
use crate::egress::Egress;
use crate::latency::{Latency, SentTimes};
use crate::link::Link;
use crate::outcome::{Mark, Measured};
use crate::parts::{DirectionConfig, Parts, Renewal};
use crate::relay::serve;
use crate::run_control::{Event, Policy, RunControl};
use crate::source::{Content, Feed, FeedSettings, Source};

pub use crate::outcome::{Measurements, Outcome, Rate};

const POLICY: Policy = Policy {
    drops_waiting: false,
    link_timeout_ns: Some(500_000_000),
    drain_ns: u64::MAX,
    follows_mtu: false,
};

/// Settings of a transmission.
pub struct Settings {
    pub content: Content,
    pub feed: FeedSettings,
    pub qdisc: AnyQdisc,
    pub limit: AnyLimit,
    /// Completion poll interval, in ns.
    pub coalesce_ns: u64,
    /// Stall threshold: the age of the oldest packet in flight at which the ring is reopened, in
    /// ns.
    pub stall_ns: u64,
    /// Duration, without end if `None`, and the warm-up that is not measured, in ns.
    pub duration_ns: Option<u64>,
    pub warm_up_ns: u64,
}

/// The parts of a direction that only sends.
pub struct Sending<P, F>(PhantomData<(P, F)>);

impl<P: Port, F: Frames> Parts for Sending<P, F> {
    type Port = P;
    type Frames = F;
    type Source = Feed;
    type Probe = (Meter<Since>, SentTimes);

    /// By its name, even if another device has that now.
    fn reopen(_renewal: Renewal, port: &mut P, _source: &mut Feed) -> io::Result<()> {
        port.reopen()
    }
}

/// Observes a transmission.
pub trait Observer<P: Port, F: Frames> {
    /// Called at the beginning of each iteration.
    fn turn(&mut self, now_ns: u64, direction: &mut Direction<Sending<P, F>>) {
        let _ = (now_ns, direction);
    }

    /// Receives an event of the device.
    fn event(&mut self, device: &str, event: Event<'_>) {
        let _ = (device, event);
    }
}

/// Observes nothing.
impl<P: Port, F: Frames> Observer<P, F> for () {}

/// Sends until all frames were sent, the process is interrupted, or the device is removed for good.
///
/// # Errors
/// Returns an error if the settings do not fit the ring, or if the device is absent at the start.
pub fn transmit<P: Port, F: Frames>(
    (port, frames): (P, F),
    monitor: LinkMonitor,
    settings: Settings,
    observer: &mut impl Observer<P, F>,
) -> anyhow::Result<Outcome> {
    let now_ns = monotonic_ns();
    let link = Link::of(monitor)?;
    let (limit, limit_unit) = (settings.limit.to_string(), settings.limit.unit());
    let measured = Measured::new(now_ns, settings.warm_up_ns, settings.duration_ns);
    let sent = SentTimes::new(frames.frames());
    let begin_ns = measured.begin_ns();
    let length_ns = settings.duration_ns.unwrap_or(1_000_000_000);
    let meter = Meter::new(Since(begin_ns), now_ns, length_ns);
    let latency = Latency::new(sent.clone());
    let config = DirectionConfig {
        qdisc: settings.qdisc,
        limit: settings.limit,
        split: LateSegmentation::Auto,
        coalesce_ns: settings.coalesce_ns,
        stall_ns: settings.stall_ns,
        rate_bits_per_s: None,
    };
    let feed = Feed::new(
        settings.content,
        settings.feed,
        link.mtu_bytes(),
        P::extra_bytes,
    );
    let observed = ((meter, sent), Some(latency));
    let direction = Direction::new(config, feed, (port, frames), observed, now_ns)?;
    let (mut directions, mut egresses) = ([direction], [Egress::new(link)]);
    let mut sender = Sender { measured, observer };
    let failed = serve(&mut directions, &mut egresses, POLICY, &mut sender).err();
    let [direction] = directions;
    let measurements = measurements(&direction, &sender.measured);
    let (account, port) = (direction.account().clone(), direction.port());
    Ok(Outcome {
        driver: port.driver(),
        mode: port.mode(),
        completion_status: port.completion_status(),
        limit,
        limit_unit,
        account,
        measurements,
        failed: failed.map(|error| error.to_string()),
    })
}

fn measurements<P: Port, F: Frames>(
    direction: &Direction<Sending<P, F>>,
    measured: &Measured,
) -> Measurements {
    let latency = direction.latency();
    let completion_ns = |share| latency.map_or(0, |latency| latency.at_share_ns(share));
    let has_limit = direction.completion_status().limit_applies() && !direction.rule().is_off();
    let (meter, _) = direction.probe();
    Measurements {
        limit_p50: has_limit.then(|| meter.limit_p50()),
        in_flight_p50_bytes: meter.in_flight_at_bytes(0.5),
        in_flight_p90_bytes: meter.in_flight_at_bytes(0.9),
        completion_p50_ns: completion_ns(0.5),
        completion_p99_ns: completion_ns(0.99),
        rate: measured.rate(mark(direction, direction.returned_ns())),
        max_late_ns: direction.source().max_late_ns(),
    }
}

/// Returns the packets that the device has returned by now.
fn mark<K: Parts>(direction: &Direction<K>, at_ns: u64) -> Mark {
    let (packets, bytes) = direction.account().returned();
    Mark {
        at_ns,
        packets,
        bytes,
    }
}

struct Sender<'a, O> {
    measured: Measured,
    observer: &'a mut O,
}

impl<P: Port, F: Frames, O: Observer<P, F>> RunControl<Sending<P, F>> for Sender<'_, O> {
    fn is_over(&mut self, now_ns: u64, directions: &mut [Direction<Sending<P, F>>]) -> bool {
        let [direction] = directions else {
            return true;
        };
        let mark = mark(direction, now_ns);
        if self.measured.begins(mark)
            && let Some(latency) = direction.latency_mut()
        {
            latency.clear();
        }
        self.observer.turn(now_ns, direction);
        let is_over = self.measured.is_over(now_ns) || interrupt::noted().is_some();
        if is_over && !Source::<F>::is_over(direction.source()) {
            self.measured.end(mark);
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
