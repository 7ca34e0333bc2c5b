//! More than two hosts: a row of switches, hosts at each of them, and connections along the row.
//!
//! Two switches are a dumbbell, more are a chain. Between two neighbouring switches is a trunk, with a
//! queue at each end that is the product's own: any discipline, any limit. What comes to a switch for
//! one of its own hosts is held back by nothing but the delay of the host's link.
//!
//! As with two hosts, what a host or a switch does reaches the next after the delay of the link, and not
//! before: so each runs alone for as long as the shortest of these, one after the other.

mod parts;
mod port;
mod switch;

use std::fmt;

use taut_path::{AnyLimit, Probe, Split};

use super::wire::{Flight, Wire};
use super::{App, ConnectionConfig, EndpointReport, Host, Transactions};
use super::{CLIENT, SERVER, WorldConfig};
use crate::error::TestbedError;
use crate::queue::QueueFault;
use crate::tcp::TcpSettings;

use parts::{AnyQueue, End, Hosts, Line, MOST_HOSTS, Station};
pub use parts::{NetworkConfig, Side, Trunk};
pub use port::TrunkReport;
use switch::Switch;

/// Hosts, switches, and what is under way between them.
pub struct Network<P> {
    config: NetworkConfig,
    hosts: Hosts,
    switches: Vec<Switch<P>>,
    lines: Vec<Line>,
    /// What a host has sent and its switch has not been told of.
    outbox: Wire,
    now_ns: u64,
    /// For so long, in ns, nothing that one does can matter to another.
    apart_ns: u64,
    last_tcp: Option<TcpSettings>,
    transactions: Transactions,
}

impl<P: Probe> Network<P> {
    /// A row of so many switches without hosts. `parts` makes what is at each end of each trunk.
    ///
    /// # Errors
    /// If there are fewer than two switches, or a card or a limit cannot be made of its settings.
    pub fn new(
        config: &NetworkConfig,
        switches: usize,
        mut parts: impl FnMut(Trunk) -> (AnyQueue, AnyLimit, P),
    ) -> Result<Self, NetworkError> {
        if switches < 2 {
            return Err(NetworkError::Switches { switches });
        }
        let made = (0..switches).map(|at| Switch::new(at, switches, config, &mut parts));
        Ok(Self {
            switches: made.collect::<Result<_, _>>()?,
            config: *config,
            hosts: Hosts::default(),
            lines: Vec::new(),
            outbox: Wire::new(),
            now_ns: 0,
            apart_ns: config.trunk_delay_ns.max(1),
            last_tcp: None,
            transactions: Transactions::new(),
        })
    }

    /// Adds a host at the switch `at`, `delay_ns` away from it. Returns its number.
    ///
    /// # Errors
    /// If there is no such switch, or there are 256 hosts, or the card or the limit cannot be.
    pub fn add_host(
        &mut self,
        at: usize,
        delay_ns: u64,
        (discipline, limit): (AnyQueue, AnyLimit),
    ) -> Result<usize, NetworkError> {
        let (host, switches) = (self.hosts.stations.len(), self.switches.len());
        if at >= switches {
            return Err(NetworkError::NoSwitch { at, switches });
        }
        if host == MOST_HOSTS {
            return Err(NetworkError::TooManyHosts);
        }
        let config = WorldConfig {
            delay_ns,
            ..self.config.host
        };
        let made = Host::new(host, &config, Split::Off, (discipline, limit, ()))?;
        self.hosts.due_ns.push(u64::MAX);
        self.hosts.stations.push(Station {
            host: made,
            at,
            input: self.switches[at].add_input(),
            delay_ns,
            connections: Vec::new(),
        });
        self.apart_ns = self.apart_ns.min(delay_ns.max(1));
        Ok(host)
    }

    /// Adds an established connection between two hosts and its two applications, which start at
    /// `start_ns`. Returns its number.
    ///
    /// # Errors
    /// If there is no such host, or it is one and the same.
    pub fn connect(
        &mut self,
        config: &ConnectionConfig,
        hosts: [usize; 2],
        apps: [App; 2],
        start_ns: u64,
    ) -> Result<u32, NetworkError> {
        let known = self.hosts.stations.len();
        if let Some(&host) = hosts.iter().find(|&&host| host >= known) {
            return Err(NetworkError::NoHost { host, hosts: known });
        }
        if hosts[CLIENT] == hosts[SERVER] {
            return Err(NetworkError::SameHost {
                host: hosts[CLIENT],
            });
        }
        let connection = self.lines.len() as u32;
        let tcp = TcpSettings::as_last(&mut self.last_tcp, &config.tcp);
        let mut ends = hosts.map(|host| End { host, number: 0 });
        for (end, app) in ends.iter_mut().zip(apps) {
            let station = &mut self.hosts.stations[end.host];
            let host = &mut station.host;
            end.number = host.connect(config, &tcp, app, self.now_ns, start_ns);
            station.connections.push(connection);
            self.hosts.look(end.host);
        }
        self.lines.push(Line {
            ends,
            header_bytes: config.header_bytes,
            priority: config.priority,
        });
        Ok(connection)
    }

    /// Runs until `until_ns`, or until nothing is left to happen.
    ///
    /// # Errors
    /// If a queue goes wrong; the network stands still from then on.
    pub fn run_until(&mut self, until_ns: u64) -> Result<(), NetworkError> {
        self.check()?;
        // What is due at `until_ns` is done, too.
        let stop_ns = until_ns.saturating_add(1);
        loop {
            let first_ns = self.next_ns();
            if first_ns >= stop_ns {
                break;
            }
            let end_ns = first_ns.saturating_add(self.apart_ns).min(stop_ns);
            for host in 0..self.hosts.due_ns.len() {
                if self.hosts.due_ns[host] < end_ns {
                    self.run_host(host, end_ns);
                }
            }
            for at in 0..self.switches.len() {
                self.run_switch(at, end_ns);
            }
            self.check()?;
        }
        self.now_ns = self.now_ns.max(until_ns);
        Ok(())
    }

    fn next_ns(&self) -> u64 {
        let switches = self.switches.iter().map(Switch::next_ns);
        let hosts_ns = self.hosts.due_ns.iter().copied().min();
        switches.min().min(hosts_ns).unwrap_or(u64::MAX)
    }

    fn run_host(&mut self, host: usize, end_ns: u64) {
        let station = &mut self.hosts.stations[host];
        station.host.run_before(end_ns, &mut self.outbox);
        self.transactions.take(&mut station.host.ended_ns);
        let switch = &mut self.switches[station.at];
        while let Some(flight) = self.outbox.pop() {
            let connection = station.connections[flight.connection as usize];
            let ends = &self.lines[connection as usize].ends;
            let other = ends.iter().find(|end| end.host != host);
            switch.push(
                station.input,
                Flight {
                    connection,
                    to: other.map_or(0, |end| end.host) as u8,
                    ..flight
                },
            );
        }
        self.hosts.look(host);
    }

    fn run_switch(&mut self, at: usize, end_ns: u64) {
        let (before, rest) = self.switches.split_at_mut(at);
        let Some((switch, after)) = rest.split_first_mut() else {
            return;
        };
        switch.run_before(end_ns, &self.lines, &mut self.hosts);
        let neighbours = [before.last_mut(), after.first_mut()];
        switch.hand_on(neighbours);
    }

    fn check(&self) -> Result<(), TestbedError> {
        let hosts = self.hosts.stations.iter().filter_map(|it| it.host.fault);
        let switches = self.switches.iter().filter_map(Switch::fault);
        let first = hosts
            .chain(switches)
            .min_by_key(|fault: &QueueFault| fault.at_ns);
        first.map_or(Ok(()), |fault| Err(TestbedError::Fault(fault)))
    }

    /// The probe at the sending end of a trunk; `None` if there is no such trunk.
    pub fn probe(&self, trunk: Trunk) -> Option<&P> {
        Some(self.switches.get(trunk.from)?.port(trunk.to)?.probe())
    }

    /// What the sending end of a trunk did so far; `None` if there is no such trunk.
    pub fn trunk(&self, trunk: Trunk) -> Option<TrunkReport> {
        Some(self.switches.get(trunk.from)?.port(trunk.to)?.report())
    }

    /// What one end of a connection did so far: [`CLIENT`] or [`SERVER`]. `None` if there is no such
    /// connection or end.
    pub fn report(&self, connection: u32, end: usize) -> Option<EndpointReport> {
        let end = self.lines.get(connection as usize)?.ends.get(end)?;
        let endpoints = &self.hosts.stations[end.host].host.endpoints;
        Some(endpoints[end.number as usize].report())
    }

    /// Packets that the hosts' own queues dropped.
    pub fn dropped_at_hosts(&self) -> u64 {
        let drops = |it: &Station| it.host.queue.sender_counters().drops.total();
        self.hosts.stations.iter().map(drops).sum()
    }

    /// The transactions of all hosts that ended since they count.
    pub fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        let hosts = self.hosts.stations.iter().map(|it| it.host.events);
        hosts.chain(self.switches.iter().map(|it| it.events)).sum()
    }
}

/// Why a network could not be made, or came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkError {
    /// A row has two switches at least.
    Switches {
        /// How many were asked for.
        switches: usize,
    },
    /// There is no such switch.
    NoSwitch {
        /// Which was named.
        at: usize,
        /// How many there are.
        switches: usize,
    },
    /// There are 256 already.
    TooManyHosts,
    /// There is no such host.
    NoHost {
        /// Which was named.
        host: usize,
        /// How many there are.
        hosts: usize,
    },
    /// Both ends of a connection are at one host.
    SameHost {
        /// Which.
        host: usize,
    },
    /// A part could not be made, or went wrong. The queues of switches count from 256 on, the
    /// left one of each before the right one.
    World(TestbedError),
}

impl From<TestbedError> for NetworkError {
    fn from(error: TestbedError) -> Self {
        Self::World(error)
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switches { switches } => {
                write!(f, "a row of {switches} switches has no trunk; at least 2")
            }
            Self::NoSwitch { at, switches } => {
                write!(f, "there is no switch {at}, only 0 to {}", switches - 1)
            }
            Self::TooManyHosts => write!(f, "a network has at most {MOST_HOSTS} hosts"),
            Self::NoHost { host, hosts: 0 } => write!(f, "there is no host {host}, nor any other"),
            Self::NoHost { host, hosts } => {
                write!(f, "there is no host {host}, only 0 to {}", hosts - 1)
            }
            Self::SameHost { host } => write!(
                f,
                "both ends of a connection would be at host {host}; they must be at two"
            ),
            Self::World(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NetworkError {}
