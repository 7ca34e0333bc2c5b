//! The gates of all paths, and the datagrams that have not departed.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::gate::Gate;

/// A datagram in the kernel.
#[derive(Debug, Clone, Copy)]
struct InKernel {
    path: usize,
    socket: u32,
    units: u32,
    epoch: u32,
}

/// A departure, as a socket reports it: the key of the datagram, and whether its completion was
/// lost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departed {
    pub(crate) key: u32,
    pub(crate) lost: bool,
}

/// All gates of a tunnel.
#[derive(Debug)]
pub(crate) struct Gates {
    pub(crate) paths: Vec<Gate>,
    in_kernel: Vec<Option<InKernel>>,
    free: Vec<u32>,
    path_of: HashMap<SocketAddr, usize>,
}

impl Gates {
    pub(crate) fn new(paths: Vec<Gate>) -> Self {
        Self {
            paths,
            in_kernel: Vec::new(),
            free: Vec::new(),
            path_of: HashMap::new(),
        }
    }

    /// Sets the endpoint of a path, and abandons what the kernel holds for the previous one.
    pub(crate) fn set_endpoint(&mut self, path: usize, endpoint: SocketAddr) {
        if self.path_of.get(&endpoint) == Some(&path) {
            return;
        }
        let paths_before = self.path_of.len();
        self.path_of.retain(|_, of| *of != path);
        if self.path_of.len() < paths_before {
            self.paths[path].abandon_kernel();
        }
        self.path_of.insert(endpoint, path);
    }

    fn path_of(&self, destination: SocketAddr) -> usize {
        self.path_of.get(&destination).copied().unwrap_or(0)
    }

    /// Counts a datagram before the kernel can see it. Returns its key.
    pub(crate) fn sent(
        &mut self,
        bytes: usize,
        destination: SocketAddr,
        socket: u32,
        now_ns: u64,
    ) -> u32 {
        let path = self.path_of(destination);
        let gate = &mut self.paths[path];
        let units = gate.sent(u32::try_from(bytes).unwrap_or(u32::MAX), now_ns);
        let record = Some(InKernel {
            path,
            socket,
            units,
            epoch: gate.epoch,
        });
        match self.free.pop() {
            Some(key) => {
                self.in_kernel[key as usize] = record;
                key
            }
            None => {
                self.in_kernel.push(record);
                self.in_kernel.len() as u32 - 1
            }
        }
    }

    fn take(&mut self, key: u32) -> Option<InKernel> {
        let record = self.in_kernel.get_mut(key as usize)?.take()?;
        self.free.push(key);
        Some(record)
    }

    /// Removes a datagram that the kernel rejected.
    pub(crate) fn rejected(&mut self, key: u32) {
        if let Some(record) = self.take(key) {
            self.paths[record.path].rejected(record.units);
        }
    }

    /// Records departures, as one completion batch of each path.
    pub(crate) fn departed(&mut self, departed: &[Departed], limit_applies: bool, now_ns: u64) {
        for &Departed { key, lost } in departed {
            if let Some(record) = self.take(key) {
                let gate = &mut self.paths[record.path];
                gate.limit_applies = limit_applies;
                gate.departed(record.units, record.epoch, lost, now_ns);
            }
        }
        for gate in &mut self.paths {
            gate.end_batch(now_ns);
        }
    }

    /// Abandons the datagrams of a socket that was closed.
    pub(crate) fn closed(&mut self, socket: u32, now_ns: u64) {
        let keys = 0..self.in_kernel.len() as u32;
        let of_socket = |key: &u32| {
            let record = &self.in_kernel[*key as usize];
            record.as_ref().is_some_and(|it| it.socket == socket)
        };
        let lost: Vec<Departed> = keys
            .filter(of_socket)
            .map(|key| Departed { key, lost: true })
            .collect();
        for departed in lost {
            if let Some(record) = self.take(departed.key) {
                self.paths[record.path].departed(record.units, record.epoch, true, now_ns);
            }
        }
    }

    /// Checks all paths for stalls and residuals. Returns `true` if one might have room now.
    pub(crate) fn check(&mut self, now_ns: u64) -> bool {
        let mut has_room = false;
        for gate in &mut self.paths {
            has_room |= gate.check(now_ns);
        }
        has_room
    }

    /// Returns `true` if a packet waits for room.
    pub(crate) fn is_blocked(&self) -> bool {
        self.paths.iter().any(Gate::is_blocked)
    }

    /// Returns when to call [`check`](Self::check), if something is in flight.
    pub(crate) fn next_wakeup(&self) -> Option<u64> {
        self.paths.iter().filter_map(Gate::next_wakeup).min()
    }
}
