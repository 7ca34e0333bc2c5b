//! The gates of all paths, and the datagrams that have not departed.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::task::Waker;

use slab::Slab;
use taut_udp::Departure;

use crate::gate::{Counted, Gate};

/// More waiting tasks than this are woken: those that still wait register again, and dropped ones
/// do not accumulate.
const MAX_WAITING: usize = 64;

/// A datagram in the kernel.
#[derive(Debug, Clone, Copy)]
struct InKernel {
    path: usize,
    socket: u32,
    counted: Counted,
}

/// All gates of a tunnel, and the tasks that wait for room.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    pub(crate) paths: Vec<Gate>,
    /// By key less 1: key 0 is that of datagrams that the program sent past the tunnel.
    in_kernel: Slab<InKernel>,
    path_of: HashMap<(IpAddr, u16), usize>,
    /// The last endpoint of each path, even if another path has it now.
    endpoints: Vec<Option<(IpAddr, u16)>>,
    pub(crate) waiting: Vec<Waker>,
    /// The time at which the shaper of a discipline releases the next packet, if one waits.
    pub(crate) ready_ns: Option<u64>,
    /// Packets were requested since the last tick.
    pub(crate) is_active: bool,
}

impl Gates {
    pub(crate) fn new(paths: Vec<Gate>) -> Self {
        Self {
            endpoints: vec![None; paths.len()],
            paths,
            ..Self::default()
        }
    }

    /// Registers a task that waits for a packet. Returns tasks to wake after the lock is released.
    pub(crate) fn wait(&mut self, waker: &Waker) -> Vec<Waker> {
        if self.waiting.iter().any(|task| task.will_wake(waker)) {
            return Vec::new();
        }
        self.waiting.push(waker.clone());
        match self.waiting.len() > MAX_WAITING {
            true => self.waiting.drain(..MAX_WAITING).collect(),
            false => Vec::new(),
        }
    }

    /// Sets the endpoint of a path, and abandons what the kernel holds for the previous one.
    pub(crate) fn set_endpoint(&mut self, path: usize, endpoint: SocketAddr) {
        let endpoint = canonical(endpoint);
        if self.path_of.get(&endpoint) == Some(&path) {
            return;
        }
        let previous = self.endpoints[path].replace(endpoint);
        if previous.is_some_and(|previous| previous != endpoint) {
            self.paths[path].abandon_kernel();
        }
        self.path_of.retain(|_, of| *of != path);
        self.path_of.insert(endpoint, path);
    }

    /// Counts a datagram before the kernel can see it. Returns its key, and `true` if a packet of
    /// its path waits for room.
    pub(crate) fn sent(
        &mut self,
        bytes: usize,
        destination: SocketAddr,
        socket: u32,
        now_ns: u64,
    ) -> (u32, bool) {
        let path = self.path_of.get(&canonical(destination)).copied();
        let path = path.unwrap_or(0);
        let gate = &mut self.paths[path];
        let counted = gate.sent(u32::try_from(bytes).unwrap_or(u32::MAX), now_ns);
        let record = InKernel {
            path,
            socket,
            counted,
        };
        (self.in_kernel.insert(record) as u32 + 1, gate.blocked)
    }

    /// Returns `true` if the program will send another datagram to the same peer.
    pub(crate) fn more_follow(&self) -> bool {
        matches!(self.paths.as_slice(), [only] if only.program_bytes > 0)
    }

    fn take(&mut self, key: u32) -> Option<InKernel> {
        self.in_kernel.try_remove((key as usize).checked_sub(1)?)
    }

    /// Removes a datagram that the kernel rejected.
    pub(crate) fn rejected(&mut self, key: u32) {
        if let Some(record) = self.take(key) {
            self.paths[record.path].rejected(record.counted);
        }
    }

    /// Returns a datagram to the program: the kernel had no room.
    pub(crate) fn unsent(&mut self, key: u32, bytes: usize) {
        if let Some(record) = self.take(key) {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            self.paths[record.path].unsent(record.counted, bytes);
        }
    }

    /// Records departures, as one completion batch of each path.
    pub(crate) fn departed(&mut self, departed: &[Departure], limit_applies: bool, now_ns: u64) {
        let mut open: Vec<usize> = Vec::new();
        for departure in departed {
            // The tag of a datagram is its key.
            if let Some(record) = self.take(departure.tag) {
                let gate = &mut self.paths[record.path];
                gate.limit_applies = limit_applies;
                gate.departed(record.counted, departure.lost, now_ns);
                if !open.contains(&record.path) {
                    open.push(record.path);
                }
            }
        }
        for path in open {
            self.paths[path].end_batch(now_ns);
        }
    }

    /// Abandons the datagrams of a socket that was closed.
    pub(crate) fn closed(&mut self, socket: u32, now_ns: u64) {
        self.in_kernel.retain(|_, record| {
            let is_closed = record.socket == socket;
            if is_closed {
                self.paths[record.path].departed(record.counted, true, now_ns);
            }
            !is_closed
        });
    }

    /// Checks all paths for stalls and residuals. Returns `true` if one might have room now.
    pub(crate) fn check(&mut self, now_ns: u64) -> bool {
        let checked = self.paths.iter_mut().map(|gate| gate.check(now_ns));
        checked.fold(false, |any, has_room| any | has_room)
    }

    /// Returns when to call [`check`](Self::check), if something is in flight.
    pub(crate) fn next_wakeup(&self) -> Option<u64> {
        self.paths.iter().filter_map(Gate::next_wakeup).min()
    }
}

/// An IPv4 address and its IPv6 form are the same endpoint.
fn canonical(endpoint: SocketAddr) -> (IpAddr, u16) {
    (endpoint.ip().to_canonical(), endpoint.port())
}
