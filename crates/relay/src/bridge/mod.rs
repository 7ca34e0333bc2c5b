//! Two interfaces and a direction from each to the other: the engine of `taut forward`.

mod check;
mod settings;

use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use taut_linux::link::DeviceClaim;
use taut_linux::{NetNs, Port, sched};

use crate::direction::Direction;
use crate::egress::Egress;
use crate::interface::{Interface, InterfaceConfig, LINK_HEADER_BYTES, Opened, Receiver};
use crate::link::Link;
use crate::parts::{Parts, Renewal};
use crate::relay::serve;
use crate::run::raise_priority;
use crate::run_control::{Event, Policy, RunControl};
use crate::source::ReceivedFrames;

pub use check::check;
pub use settings::PathSettings;

/// Publishing interval of the statistics, in ns.
const PUBLISH_NS: u64 = 20_000_000;
const POLICY: Policy = Policy {
    drops_waiting: true,
    link_timeout_ns: None,
    drain_ns: 1_000_000_000,
    follows_mtu: true,
};

/// Live statistics of one direction. Counts are since the start.
#[derive(Debug, Default)]
pub struct DirectionStats {
    /// The limit, in its units.
    pub limit: AtomicU64,
    /// Not 0 if a limit applies.
    pub has_limit: AtomicU64,
    /// Units in flight, in the limit's units.
    pub in_flight: AtomicU64,
    /// Packets in the discipline.
    pub waiting_packets: AtomicU64,
    /// Packets that the device completed.
    pub completed_packets: AtomicU64,
    /// Their bytes.
    pub completed_bytes: AtomicU64,
    /// Packets dropped for any reason.
    pub dropped_packets: AtomicU64,
}

/// Both directions: from the first interface, and from the second.
pub type BridgeStats = [DirectionStats; 2];

impl DirectionStats {
    fn publish<I: Interface>(&self, direction: &Direction<Bridged<I>>) {
        let (limit, account) = (direction.limit(), direction.account());
        let values = [
            (&self.limit, limit.unwrap_or(0).into()),
            (&self.has_limit, limit.is_some().into()),
            (&self.in_flight, direction.snapshot().in_flight.into()),
            (&self.waiting_packets, direction.waiting_packets()),
            (&self.completed_packets, account.completed_packets()),
            (&self.completed_bytes, account.completed_bytes()),
            (&self.dropped_packets, account.all_dropped_packets()),
        ];
        for (cell, value) in values {
            cell.store(value, Ordering::Relaxed);
        }
    }
}

/// Receives events of the interfaces, by name.
pub type Listener<'a> = &'a dyn Fn(&str, Event<'_>);

/// The parts of a direction between two interfaces.
pub struct Bridged<I>(PhantomData<I>);

impl<I: Interface> Parts for Bridged<I> {
    type Port = I::Port;
    type Frames = I::Frames;
    type Source = ReceivedFrames<I::Receiver>;
    type Probe = ();

    fn set_device(name: &str, port: &mut Self::Port, source: &mut Self::Source) {
        port.set_device(name);
        source.receiver_mut().set_device(name);
    }

    fn reopen(
        renewal: Renewal,
        port: &mut Self::Port,
        source: &mut Self::Source,
    ) -> io::Result<()> {
        match renewal {
            Renewal::SameDevice => I::renew(port, source.receiver_mut()),
            Renewal::AnotherDevice => I::replace(port, source.receiver_mut()),
        }
    }
}

/// Two interfaces and the directions between them.
pub struct Bridge<I: Interface> {
    directions: [Direction<Bridged<I>>; 2],
    egresses: [Egress; 2],
}

impl<I: Interface> Bridge<I> {
    /// Opens both interfaces, in both directions.
    ///
    /// # Errors
    /// Returns an error if one of them cannot be bridged or opened, or if the settings are invalid.
    pub fn open(ns: &NetNs, names: [&str; 2], path: &PathSettings) -> anyhow::Result<Self> {
        let (found, _) = check(ns, names)?;
        let now_ns = sched::monotonic_ns();
        let max_mtu_bytes = found[0].mtu_bytes.max(found[1].mtu_bytes);
        let open = |at: usize| {
            I::open(&InterfaceConfig {
                ns,
                device: names[at],
                ring_slots: path.ring_slots,
                frames: path.frames(),
                gso_packets: path.gso_packets(),
                // The user can raise the lower MTU to the higher while frames are forwarded.
                frame_bytes: max_mtu_bytes + LINK_HEADER_BYTES,
            })
        };
        // The link monitors open before the rings, so they see every later change.
        let egresses = [Link::open(ns, names[1])?, Link::open(ns, names[0])?];
        let claim = |link: &Link| match path.is_forced {
            true => Ok(None),
            false => DeviceClaim::new(ns, link.monitor.device(), link.monitor.index()).map(Some),
        };
        let claims = [claim(&egresses[0])?, claim(&egresses[1])?];
        let (one, other): (Opened<I>, Opened<I>) = (open(0)?, open(1)?);
        let direction = |from: usize, receiver, out| {
            let source =
                ReceivedFrames::new(receiver, egresses[from].mtu_bytes(), I::Port::extra_bytes);
            Direction::new(path.config(from)?, source, out, ((), None), now_ns)
        };
        let directions = [
            direction(0, one.receiver, (other.port, other.frames))?,
            direction(1, other.receiver, (one.port, one.frames))?,
        ];
        let ([to_b, to_a], [b, a]) = (egresses, claims);
        let egresses = [
            Egress::new(to_b).with_claim(b),
            Egress::new(to_a).with_claim(a),
        ];
        Ok(Self {
            directions,
            egresses,
        })
    }

    /// Returns the direction from the first interface to the second, and the opposite one.
    pub fn directions(&self) -> &[Direction<Bridged<I>>; 2] {
        &self.directions
    }

    /// Returns remarks about the interfaces for the user.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        let directions = self.directions().iter();
        let remarks = directions.filter_map(|it| Receiver::remark(it.source().receiver()));
        I::REMARK.map(str::to_owned).into_iter().chain(remarks)
    }

    /// Forwards until `is_over`, then waits up to 1 s for the packets in the devices.
    ///
    /// # Errors
    /// Returns an error if polling fails.
    pub fn run(
        &mut self,
        stats: &BridgeStats,
        listener: Listener<'_>,
        is_over: impl Fn() -> bool,
    ) -> io::Result<()> {
        raise_priority();
        let mut forwarder = Forwarder {
            stats,
            listener,
            is_over,
            next_publish_ns: 0,
        };
        serve(
            &mut self.directions,
            &mut self.egresses,
            POLICY,
            &mut forwarder,
        )?;
        forwarder.publish(&mut self.directions);
        Ok(())
    }
}

struct Forwarder<'a, F> {
    stats: &'a BridgeStats,
    listener: Listener<'a>,
    is_over: F,
    next_publish_ns: u64,
}

impl<F> Forwarder<'_, F> {
    fn publish<I: Interface>(&self, directions: &mut [Direction<Bridged<I>>]) {
        for (direction, stats) in directions.iter_mut().zip(self.stats) {
            direction.count_missed();
            stats.publish(direction);
        }
    }
}

impl<I: Interface, F: Fn() -> bool> RunControl<Bridged<I>> for Forwarder<'_, F> {
    fn is_over(&mut self, now_ns: u64, directions: &mut [Direction<Bridged<I>>]) -> bool {
        if now_ns >= self.next_publish_ns {
            self.next_publish_ns = now_ns + PUBLISH_NS;
            self.publish(directions);
        }
        (self.is_over)()
    }

    fn event(&mut self, interface: &str, event: Event<'_>) {
        (self.listener)(interface, event);
    }
}
