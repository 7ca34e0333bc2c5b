//! The path from a host's sockets to its discipline.

use std::convert::Infallible;

use taut_path::limit::Limit;
use taut_path::tsq::ReleasingSink;
use taut_path::{Probe, Qdisc, Queue, Stop};

use super::connection::Endpoint;
use super::segments::{OutgoingSegment, Segments};
use super::small_queues::HostBudgets;
use crate::nic::EmulatedNic;
use crate::queue::BatchResult;

/// Releases the charges of finished packets, with small queues.
#[inline(always)]
fn sink<'a>(
    budgets: Option<&'a HostBudgets>,
    segments: &'a mut Segments,
) -> ReleasingSink<'a, &'a mut Segments> {
    ReleasingSink::new(budgets.map(|it| &it.charges), segments)
}

/// The layers below a host's sockets.
pub(super) struct TxPath<P, L, Q: Qdisc> {
    pub segments: Segments,
    /// Budgets of the sockets, with small queues.
    pub budgets: Option<Box<HostBudgets>>,
    /// The product's own queue, with an emulated NIC below.
    pub queue: Queue<EmulatedNic, L, Q, P>,
}

impl<P: Probe, L: Limit, Q: Qdisc> TxPath<P, L, Q> {
    #[inline]
    pub fn run(&mut self, now_ns: u64) -> Stop<Infallible> {
        let sink = &mut sink(self.budgets.as_deref(), &mut self.segments);
        let stop = self.queue.run(now_ns, sink);
        if let Some(budgets) = &mut self.budgets {
            budgets.submitted(self.queue.device());
        }
        stop
    }

    #[inline]
    pub fn complete(&mut self, at_ns: u64) -> BatchResult {
        let sink = &mut sink(self.budgets.as_deref(), &mut self.segments);
        self.queue.complete(at_ns, sink)
    }

    /// Sends the segments of an endpoint's TCP. Returns `true` if there were any.
    #[inline(always)]
    pub fn send_all(&mut self, endpoint: &mut Endpoint, connection: u32, now_ns: u64) -> bool {
        let mut sent = false;
        loop {
            let budgets = self.budgets.as_ref();
            let flow = budgets.map(|budgets| budgets.flow(connection));
            let Some(segment) = endpoint.next_data(connection, flow, now_ns) else {
                break;
            };
            self.send(&segment, endpoint, now_ns);
            sent = true;
        }
        if let Some(segment) = endpoint.last_ack(connection) {
            self.send(&segment, endpoint, now_ns);
            sent = true;
        }
        sent
    }

    /// Enqueues a segment.
    #[inline(always)]
    fn send(&mut self, segment: &OutgoingSegment, from: &Endpoint, now_ns: u64) {
        let packet = self.segments.packet(segment);
        // Rare and large: written in place instead of moved with each segment.
        if let Some(blocks) = from.receiver.blocks() {
            self.segments.of_mut(&packet).ack.sack = blocks;
        }
        // A pure acknowledgement is neither limited nor charged.
        if segment.payload_bytes > 0
            && let Some(budgets) = &mut self.budgets
        {
            budgets.charge(segment.connection, &packet);
        }
        let sink = &mut sink(self.budgets.as_deref(), &mut self.segments);
        self.queue.enqueue(packet, now_ns, sink);
    }
}
