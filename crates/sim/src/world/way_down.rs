//! The way from a host's sockets to its discipline.

use taut_path::driver::Orphaning;
use taut_path::limit::Limit;
use taut_path::{Probe, Qdisc, Queue};

use super::connection::Endpoint;
use super::segments::{Segment, Segments};
use super::small_queues::HostBudgets;
use super::worker::{Task, Worker};
use crate::nic::EmulatedNic;

/// The product's own queue, with an emulated NIC below.
pub(super) type HostQueue<P, L, Q> = Queue<Orphaning<EmulatedNic>, L, Q, P>;

/// What is below a host's sockets, for as long as one of them sends.
pub(super) struct WayDown<'a, P, L, Q: Qdisc> {
    pub segments: &'a mut Segments,
    pub budgets: Option<&'a HostBudgets>,
    pub worker: &'a mut Worker,
    /// What the core takes for a packet, in ns.
    pub packet_ns: u64,
    pub queue: &'a mut HostQueue<P, L, Q>,
}

/// What an endpoint sent.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    /// Anything.
    pub any: bool,
    /// Something that the discipline has already: run the queue.
    pub queued: bool,
}

impl<P: Probe, L: Limit, Q: Qdisc> WayDown<'_, P, L, Q> {
    /// Sends what an endpoint's TCP has.
    #[inline(always)]
    pub fn send_all(&mut self, endpoint: &mut Endpoint, connection: u32, now_ns: u64) -> Sent {
        let mut sent = Sent {
            any: false,
            queued: false,
        };
        let flow = self.budgets.map(|budgets| budgets.flow(connection));
        while let Some(segment) = endpoint.next_data(connection, flow, now_ns) {
            self.send(&segment, endpoint, &mut sent, now_ns);
        }
        if let Some(segment) = endpoint.last_ack(connection) {
            self.send(&segment, endpoint, &mut sent, now_ns);
        }
        sent
    }

    /// Hands a segment to the discipline, once the core has seen to it.
    #[inline(always)]
    fn send(&mut self, segment: &Segment, from: &Endpoint, sent: &mut Sent, now_ns: u64) {
        let mut packet = self.segments.packet(segment);
        // Rare, and long: written where it waits, not handed about with each segment.
        if let Some(blocks) = from.blocks() {
            self.segments.of_mut(&packet).ack.sack = blocks;
        }
        // An acknowledgement alone is not held back, and not charged.
        if segment.payload_bytes > 0
            && let Some(budgets) = self.budgets
        {
            budgets.flow(segment.connection).charge(&mut packet);
        }
        sent.any = true;
        if self.packet_ns > 0 {
            self.worker.follow(self.packet_ns, Task::Send(packet));
        } else {
            self.queue.enqueue(packet, now_ns, self.segments);
            sent.queued = true;
        }
    }
}
