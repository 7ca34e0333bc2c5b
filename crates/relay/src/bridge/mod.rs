//! Two interfaces and a direction from each to the other: the engine of `taut forward`.

mod check;
mod settings;

use std::io;
use std::marker::PhantomData;

use taut_linux::link::LinkMonitor;
use taut_linux::{NetNs, Port, sched};

use crate::direction::Direction;
use crate::egress::Egress;
use crate::interface::{Interface, InterfaceConfig, LINK_HEADER_BYTES, Receiver};
use crate::parts::{Parts, Renewal};
use crate::relay::serve;
use crate::run::raise_priority;
use crate::run_control::{Event, Policy, RunControl};
use crate::source::ReceivedFrames;

pub use check::check;
pub use settings::PathSettings;

const POLICY: Policy = Policy {
    drops_waiting: true,
    link_timeout_ns: None,
    drain_ns: 1_000_000_000,
    follows_mtu: true,
};

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
        I::reopen(renewal, port, source.receiver_mut())
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
        let monitored = |name| Egress::new(LinkMonitor::open(ns, name)?);
        let mut egresses = [monitored(names[1])?, monitored(names[0])?];
        if !path.is_forced {
            for egress in &mut egresses {
                egress.claim(ns)?;
            }
        }
        let (port_a, frames_a, from_a) = open(0)?;
        let (port_b, frames_b, from_b) = open(1)?;
        let direction = |from: usize, receiver, out| {
            let source =
                ReceivedFrames::new(receiver, egresses[from].mtu_bytes(), I::Port::extra_bytes);
            Direction::new(path.config(from)?, source, out, ((), None), now_ns)
        };
        let directions = [
            direction(0, from_a, (port_b, frames_b))?,
            direction(1, from_b, (port_a, frames_a))?,
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

    /// Forwards until `is_over`, then waits up to 1 s for the packets in the devices. `is_over`
    /// often receives both directions, `listener` the events of the interfaces by name.
    ///
    /// # Errors
    /// Returns an error if polling fails.
    pub fn run(
        &mut self,
        listener: impl FnMut(&str, Event<'_>),
        is_over: impl FnMut(&[Direction<Bridged<I>>]) -> bool,
    ) -> io::Result<()> {
        raise_priority();
        let (directions, egresses) = (&mut self.directions, &mut self.egresses);
        serve(
            directions,
            egresses,
            POLICY,
            &mut Forwarder {
                listener,
                is_over,
                next_count_ns: 0,
            },
        )
    }
}

/// The kernel's counters of missed frames have 32 bits and are read at this interval, in ns.
const COUNT_INTERVAL_NS: u64 = 1_000_000_000;

struct Forwarder<L, F> {
    listener: L,
    is_over: F,
    next_count_ns: u64,
}

impl<I, L, F> RunControl<Bridged<I>> for Forwarder<L, F>
where
    I: Interface,
    L: FnMut(&str, Event<'_>),
    F: FnMut(&[Direction<Bridged<I>>]) -> bool,
{
    fn is_over(&mut self, now_ns: u64, directions: &mut [Direction<Bridged<I>>]) -> bool {
        if now_ns >= self.next_count_ns {
            self.next_count_ns = now_ns + COUNT_INTERVAL_NS;
            for direction in &mut *directions {
                direction.count_missed();
            }
        }
        (self.is_over)(directions)
    }

    fn event(&mut self, interface: &str, event: Event<'_>) {
        (self.listener)(interface, event);
    }
}
