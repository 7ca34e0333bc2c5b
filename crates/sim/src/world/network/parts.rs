//! What a network is made of, besides its switches.

use taut_path::{AnyLimit, Qdisc};

use crate::nic::NicConfig;
use crate::world::WorldConfig;
use crate::world::host::Host;
use crate::world::wire::Flight;

/// Most hosts: their number is a byte of each frame.
pub(super) const MOST_HOSTS: usize = 256;

/// How the parts of a network are made.
#[derive(Debug, Clone, Copy)]
pub struct NetworkConfig {
    /// Each host and its link to its switch, whose delay is that of each host.
    pub host: WorldConfig,
    /// The sending card of a switch at each end of a trunk.
    pub trunk: NicConfig,
    /// Time that a bit takes from one switch to the next, in ns.
    pub trunk_delay_ns: u64,
}

/// One direction of a trunk, from a switch to a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trunk {
    /// The switch whose queue it is, from 0.
    pub from: usize,
    /// Where it leads.
    pub to: Side,
}

/// The neighbours of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one before it.
    Left,
    /// The one after it.
    Right,
}

/// A discipline of any kind.
pub(super) type AnyQueue = Box<dyn Qdisc + Send>;

/// A host at its switch.
pub(super) struct Station {
    pub host: Host<(), AnyLimit, AnyQueue>,
    pub at: usize,
    /// Its input there.
    pub input: usize,
    pub delay_ns: u64,
    /// The network's numbers of its connections, by its own.
    pub connections: Vec<u32>,
}

/// All hosts, and when each of them has something to do next.
#[derive(Default)]
pub(super) struct Hosts {
    pub stations: Vec<Station>,
    /// By host, in ns: in one piece of memory, since it is looked through each time.
    pub due_ns: Vec<u64>,
}

impl Hosts {
    /// A frame for a host has reached its switch.
    pub fn deliver(&mut self, host: usize, flight: Flight, now_ns: u64) {
        let station = &mut self.stations[host];
        let arrives_ns = now_ns.saturating_add(station.delay_ns);
        let arrivals = &mut station.host.arrivals;
        arrivals.push(flight.arriving(arrives_ns, now_ns));
        self.look(host);
    }

    /// Something was planned or done at a host.
    pub fn look(&mut self, host: usize) {
        self.due_ns[host] = self.stations[host].host.next_ns();
    }
}

/// One end of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub host: usize,
    /// Its number there.
    pub number: u32,
}

/// A connection, as the network sees it.
#[derive(Debug)]
pub(super) struct Line {
    pub ends: [End; 2],
    pub header_bytes: u16,
    pub priority: u8,
}
