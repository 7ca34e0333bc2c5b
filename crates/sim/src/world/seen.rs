//! What crosses the wires of a world, for whoever looks at it.

use std::collections::VecDeque;

use taut_path::limit::Limit;
use taut_path::{Probe, Qdisc};

use super::World;
use super::frames_in_flight::{Flight, Says};
use super::host::Host;
use crate::error::TestbedError;
use crate::tcp::Ack;

/// A frame as it left a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireFrame {
    /// When its last bit left, in ns.
    pub sent_ns: u64,
    /// The host that sent it.
    pub from: usize,
    /// Number of its connection.
    pub connection: u32,
    /// Headers, in bytes.
    pub header_bytes: u16,
    /// What follows them, in bytes.
    pub payload_bytes: u16,
    /// Priority of its packet, 0..=15.
    pub priority: u8,
    /// It could be marked instead of dropped.
    pub ecn_capable: bool,
    /// It was.
    pub is_marked: bool,
    /// Offset of its first byte in the stream, or of the next one if it has none.
    pub start: u64,
    /// The acknowledgement in its header.
    pub ack: Ack,
    /// The window was reduced.
    pub cwr: bool,
}

/// Frames of both directions, each in order, on their way into one order.
#[derive(Default)]
struct Order {
    frames: [VecDeque<WireFrame>; 2],
    /// Of each host's connections, where what it sent so far ends.
    ends: [Vec<u64>; 2],
}

impl Order {
    /// Takes the next frame of a host. The model gives an acknowledgement alone no place in the
    /// stream.
    fn take(&mut self, mut frame: WireFrame) {
        let (ends, connection) = (&mut self.ends[frame.from], frame.connection as usize);
        if ends.len() <= connection {
            ends.resize(connection + 1, 0);
        }
        let end = &mut ends[connection];
        if frame.payload_bytes == 0 {
            frame.start = *end;
        }
        *end = (*end).max(frame.start + u64::from(frame.payload_bytes));
        self.frames[frame.from].push_back(frame);
    }

    /// Gives what left before `until_ns`, in the order of time; of two of one time the client's
    /// first.
    fn give(&mut self, until_ns: u64, seen: &mut dyn FnMut(&WireFrame)) {
        loop {
            let sent_ns = |from: usize| self.frames[from].front().map(|frame| frame.sent_ns);
            let from = match (sent_ns(0), sent_ns(1)) {
                (None, None) => return,
                (Some(_), None) => 0,
                (None, Some(_)) => 1,
                (Some(client_ns), Some(server_ns)) => usize::from(server_ns < client_ns),
            };
            match self.frames[from].pop_front() {
                Some(frame) if frame.sent_ns < until_ns => seen(&frame),
                Some(frame) => return self.frames[from].push_front(frame),
                None => return,
            }
        }
    }
}

impl<P: Probe, L: Limit, Q: Qdisc> World<P, L, Q> {
    /// [`run_until`](Self::run_until), and `seen` hears of each frame that leaves a host, in order
    /// of time.
    ///
    /// # Errors
    /// As for [`run_until`](Self::run_until).
    pub fn run_until_seen(
        &mut self,
        until_ns: u64,
        seen: &mut dyn FnMut(&WireFrame),
    ) -> Result<(), TestbedError> {
        let mut order = Order::default();
        let ran = self.run_windows(until_ns, |begin_ns, host, from, to, before| {
            // Whatever leaves from now on leaves later.
            order.give(begin_ns, seen);
            let new = (before..).map_while(|index| to.get(index));
            new.for_each(|flight| order.take(host.seen(from, flight)));
        });
        order.give(u64::MAX, seen);
        ran
    }
}

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    fn seen(&self, from: usize, flight: &Flight) -> WireFrame {
        let (header_bytes, priority) = self.endpoints[flight.connection as usize].headers();
        WireFrame {
            sent_ns: flight.at_ns - self.delay_ns,
            from,
            connection: flight.connection,
            header_bytes,
            payload_bytes: flight.payload_bytes,
            priority,
            ecn_capable: flight.says(Says::ECN_CAPABLE),
            is_marked: flight.says(Says::CONGESTION),
            start: flight.start,
            ack: flight.ack(),
            cwr: flight.says(Says::CWR),
        }
    }
}
