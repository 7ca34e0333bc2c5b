//! Observation of the frames on the wires of a world.

use taut_path::limit::Limit;
use taut_path::{Probe, Qdisc};

use super::World;
use super::frames_in_flight::{Flight, FrameFlags};
use super::host::Host;
use crate::error::TestbedError;
use crate::tcp::Ack;

/// A frame that left a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireFrame {
    /// Time at which its last bit left, in ns.
    pub sent_ns: u64,
    /// Index of the sending host.
    pub from: usize,
    /// Number of its connection.
    pub connection: u32,
    /// Headers, in bytes.
    pub header_bytes: u16,
    /// Payload, in bytes.
    pub payload_bytes: u16,
    /// Priority of its packet, 0..=15.
    pub priority: u8,
    /// Whether it could be marked instead of dropped.
    pub ecn_capable: bool,
    /// Whether it was marked.
    pub is_marked: bool,
    /// Stream offset of its first byte, or of the next byte if it has no payload.
    pub start: u64,
    /// The acknowledgement in its header.
    pub ack: Ack,
    /// Whether it confirms a reduction of the window.
    pub cwr: bool,
}

/// Passes on the frames that left before `until_ns`, in order of time; of simultaneous frames the
/// client's first.
fn give(frames: &mut Vec<WireFrame>, until_ns: u64, seen: &mut dyn FnMut(&WireFrame)) {
    frames.sort_by_key(|frame| (frame.sent_ns, frame.from));
    let due = frames.partition_point(|it| it.sent_ns < until_ns);
    frames.drain(..due).for_each(|frame| seen(&frame));
}

impl<P: Probe, L: Limit, Q: Qdisc> World<P, L, Q> {
    /// As [`run_until`](Self::run_until); `seen` is called for each frame that leaves a host, in
    /// order of time.
    ///
    /// # Errors
    /// As for [`run_until`](Self::run_until).
    pub fn run_until_seen(
        &mut self,
        until_ns: u64,
        seen: &mut dyn FnMut(&WireFrame),
    ) -> Result<(), TestbedError> {
        let mut frames = Vec::new();
        let ran = self.run_windows(until_ns, &mut |begin_ns, host, from, to, before| {
            // All further frames leave later.
            give(&mut frames, begin_ns, seen);
            let new = (before..).map_while(|index| to.get(index));
            frames.extend(new.map(|flight| host.seen(from, flight)));
        });
        give(&mut frames, u64::MAX, seen);
        ran
    }
}

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    fn seen(&self, from: usize, flight: &Flight) -> WireFrame {
        let endpoint = &self.endpoints[flight.connection as usize];
        WireFrame {
            sent_ns: flight.at_ns - self.delay_ns,
            from,
            connection: flight.connection,
            header_bytes: endpoint.header_bytes,
            payload_bytes: flight.payload_bytes,
            priority: endpoint.priority,
            ecn_capable: flight.has(FrameFlags::ECN_CAPABLE),
            is_marked: flight.has(FrameFlags::CONGESTION),
            start: flight.start,
            ack: flight.ack(),
            cwr: flight.has(FrameFlags::CWR),
        }
    }
}
