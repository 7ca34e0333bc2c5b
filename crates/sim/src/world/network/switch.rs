//! A switch: frames come in from its hosts and its neighbours, and go on to where they are for.

use std::cmp::Ordering;

use taut_path::{AnyLimit, Probe};

use super::parts::{AnyQueue, Hosts, Line, MOST_HOSTS, NetworkConfig, Side, Trunk};
use super::port::Port;
use crate::error::TestbedError;
use crate::queue::QueueFault;
use crate::world::wire::{Flight, Wire};

/// What comes in from the neighbours; after these come the hosts.
const NEIGHBOURS: usize = 2;

pub(super) struct Switch<P> {
    at: usize,
    /// Frames under way to it: from the neighbours first, then from the hosts in the order in which they
    /// were added.
    inputs: Vec<Wire>,
    /// When the first frame of each arrives, in ns: in one piece of memory, since it is looked through for
    /// each frame.
    first_ns: Vec<u64>,
    /// To the left and to the right, where there is a neighbour.
    ports: [Option<Port<P>>; 2],
    /// What it did so far, in steps.
    pub events: u64,
}

impl<P: Probe> Switch<P> {
    pub fn new(
        at: usize,
        switches: usize,
        config: &NetworkConfig,
        parts: &mut impl FnMut(Trunk) -> (AnyQueue, AnyLimit, P),
    ) -> Result<Self, TestbedError> {
        let mut port = |to: Side, exists: bool| {
            let index = MOST_HOSTS + 2 * at + to as usize;
            exists
                .then(|| Port::new(index, config, parts(Trunk { from: at, to })))
                .transpose()
        };
        Ok(Self {
            at,
            inputs: (0..NEIGHBOURS).map(|_| Wire::new()).collect(),
            first_ns: vec![u64::MAX; NEIGHBOURS],
            ports: [
                port(Side::Left, at > 0)?,
                port(Side::Right, at + 1 < switches)?,
            ],
            events: 0,
        })
    }

    /// Adds a host's input, and says its number.
    pub fn add_input(&mut self) -> usize {
        self.inputs.push(Wire::new());
        self.first_ns.push(u64::MAX);
        self.inputs.len() - 1
    }

    /// A frame is under way to one of the inputs.
    pub fn push(&mut self, input: usize, flight: Flight) {
        let wire = &mut self.inputs[input];
        wire.push(flight);
        self.first_ns[input] = wire.first_ns();
    }

    /// When something may happen here next, in ns.
    pub fn next_ns(&self) -> u64 {
        let arrivals = self.first_ns.iter().copied();
        let ports = self.ports.iter().flatten().map(Port::next_ns);
        arrivals.chain(ports).min().unwrap_or(u64::MAX)
    }

    /// Does all that is due before `end_ns`. At one time the cards are first, so that there is room for
    /// what arrives; then what arrives, in the order of the inputs.
    pub fn run_before(&mut self, end_ns: u64, lines: &[Line], hosts: &mut Hosts) {
        loop {
            let now_ns = self.next_ns();
            if now_ns >= end_ns || self.fault().is_some() {
                return;
            }
            let due = self.ports.iter_mut().flatten();
            if let Some(port) = { due }.find(|port| port.next_ns() == now_ns) {
                port.on_nic(now_ns);
            } else if let Some(at) = self.first_ns.iter().position(|&it| it == now_ns) {
                let wire = &mut self.inputs[at];
                let flight = wire.pop();
                self.first_ns[at] = wire.first_ns();
                if let Some(flight) = flight {
                    self.forward(flight, now_ns, lines, hosts);
                }
            }
            self.events += 1;
        }
    }

    /// To its host if that is here, else along the row.
    fn forward(&mut self, flight: Flight, now_ns: u64, lines: &[Line], hosts: &mut Hosts) {
        let (host, line) = (usize::from(flight.to), &lines[flight.connection as usize]);
        let side = match hosts.stations[host].at.cmp(&self.at) {
            Ordering::Less => Side::Left,
            Ordering::Greater => Side::Right,
            Ordering::Equal => {
                let end = line.ends.iter().find(|end| end.host == host);
                let connection = end.map_or(0, |end| end.number);
                let flight = Flight {
                    connection,
                    ..flight
                };
                return hosts.deliver(host, flight, now_ns);
            }
        };
        if let Some(port) = &mut self.ports[side as usize] {
            port.take_in(&flight, line, now_ns);
        }
    }

    /// Hands on what left to the switches before and after it.
    pub fn hand_on(&mut self, neighbours: [Option<&mut Self>; 2]) {
        let both = self.ports.iter_mut().zip(neighbours).enumerate();
        for (side, (port, neighbour)) in both {
            let (Some(port), Some(neighbour)) = (port, neighbour) else {
                continue;
            };
            while let Some(flight) = port.out.pop() {
                // What goes left comes from the right.
                neighbour.push(1 - side, flight);
            }
        }
    }

    pub fn port(&self, to: Side) -> Option<&Port<P>> {
        self.ports[to as usize].as_ref()
    }

    pub fn fault(&self) -> Option<QueueFault> {
        self.ports.iter().flatten().find_map(|port| port.fault)
    }
}
