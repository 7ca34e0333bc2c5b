//! A switch: frames come in from its hosts and its neighbours, and go on to where they are for.

use taut_path::{AnyLimit, Probe};

use super::port::Port;
use super::{AnyQueue, Line, MOST_HOSTS, NetworkConfig, Side, Station, Trunk};
use crate::queue::QueueFault;
use crate::world::WorldError;
use crate::world::wire::{Flight, Wire};

/// Frames under way to a switch, from a host or a neighbour.
struct Input {
    /// `None` for a neighbour.
    host: Option<usize>,
    wire: Wire,
}

pub(super) struct Switch<P> {
    at: usize,
    /// The neighbours first, then the hosts in the order in which they were added.
    inputs: Vec<Input>,
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
    ) -> Result<Self, WorldError> {
        let mut port = |to: Side, exists: bool| {
            let index = MOST_HOSTS + 2 * at + to as usize;
            exists
                .then(|| Port::new(index, config, parts(Trunk { from: at, to })))
                .transpose()
        };
        let neighbour = || Input {
            host: None,
            wire: Wire::new(),
        };
        Ok(Self {
            at,
            inputs: vec![neighbour(), neighbour()],
            ports: [
                port(Side::Left, at > 0)?,
                port(Side::Right, at + 1 < switches)?,
            ],
            events: 0,
        })
    }

    pub fn add_input(&mut self, host: usize) {
        self.inputs.push(Input {
            host: Some(host),
            wire: Wire::new(),
        });
    }

    /// A frame is under way from one of its hosts.
    pub fn take_in(&mut self, host: usize, flight: Flight) {
        let input = self.inputs.iter_mut().find(|it| it.host == Some(host));
        if let Some(input) = input {
            input.wire.push(flight);
        }
    }

    /// When something may happen here next, in ns.
    pub fn next_ns(&self) -> u64 {
        let arrivals = self.inputs.iter().map(|it| it.wire.first_ns());
        let ports = self.ports.iter().flatten().map(Port::next_ns);
        arrivals.chain(ports).min().unwrap_or(u64::MAX)
    }

    /// Does all that is due before `end_ns`. At one time the cards are first, so that there is room for
    /// what arrives; then what arrives, in the order of the inputs.
    pub fn run_before(&mut self, end_ns: u64, lines: &[Line], stations: &mut [Station]) {
        loop {
            let now_ns = self.next_ns();
            if now_ns >= end_ns || self.fault().is_some() {
                return;
            }
            let due = self.ports.iter_mut().flatten();
            if let Some(port) = { due }.find(|port| port.next_ns() == now_ns) {
                port.on_nic(now_ns);
            } else {
                let mut inputs = self.inputs.iter_mut();
                let input = inputs.find(|it| it.wire.first_ns() == now_ns);
                if let Some(flight) = input.and_then(|it| it.wire.pop()) {
                    self.forward(flight, now_ns, lines, stations);
                }
            }
            self.events += 1;
        }
    }

    /// To its host if that is here, else along the row.
    fn forward(&mut self, flight: Flight, now_ns: u64, lines: &[Line], stations: &mut [Station]) {
        let (host, line) = (usize::from(flight.to), &lines[flight.connection as usize]);
        let station = &mut stations[host];
        let side = match station.at.cmp(&self.at) {
            std::cmp::Ordering::Less => Side::Left,
            std::cmp::Ordering::Greater => Side::Right,
            std::cmp::Ordering::Equal => {
                let arrives_ns = now_ns.saturating_add(station.delay_ns);
                let end = line.ends.iter().find(|end| end.host == host);
                let connection = end.map_or(0, |end| end.number);
                let flight = Flight {
                    connection,
                    ..flight
                };
                let arrivals = &mut station.host.arrivals;
                return arrivals.push(flight.arriving(arrives_ns, now_ns));
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
            // What goes left comes from the right.
            let input = &mut neighbour.inputs[1 - side].wire;
            while let Some(flight) = port.out.pop() {
                input.push(flight);
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
