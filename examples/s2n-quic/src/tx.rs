//! Sending: the endpoint assembles packets only while there is room.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};

use s2n_quic_core::event::EndpointPublisher;
use s2n_quic_core::inet::SocketAddress;
use s2n_quic_core::io::tx;
use s2n_quic_core::path::{Handle, Tuple};
use taut_udp::Datagram;
use taut_udp::quic::Sender;

const MAX_DATAGRAM_BYTES: usize = 1_500;
/// The maximum payload of a send that the kernel segments.
const MAX_SEND_BYTES: usize = 65_000;

pub(crate) struct Tx {
    sender: Sender,
    has_room: bool,
    assembled: Option<Assembled>,
    payload: Vec<u8>,
}

impl tx::Tx for Tx {
    type PathHandle = Tuple;
    type Queue = Self;
    type Error = io::Error;

    /// Ready when there is room again. While there is room, nothing changes.
    fn poll_ready(&mut self, context: &mut Context) -> Poll<io::Result<()>> {
        if self.has_room {
            return Poll::Pending;
        }
        let room = self.sender.poll_room(context);
        self.has_room = matches!(room, Poll::Ready(Ok(())));
        room
    }

    fn queue<F: FnOnce(&mut Self)>(&mut self, transmit: F) {
        transmit(self);
        self.send_assembled();
    }

    fn handle_error<E: EndpointPublisher>(self, _: io::Error, _: &mut E) {}
}

/// Datagrams of one send.
#[derive(Clone, Copy)]
struct Assembled {
    to: SocketAddr,
    traffic_class: u8,
    /// Length of each datagram except the last.
    segment_bytes: usize,
    datagrams: usize,
}

impl Tx {
    pub(crate) fn new(sender: Sender) -> Self {
        Self {
            sender,
            has_room: false,
            assembled: None,
            payload: Vec::new(),
        }
    }

    fn send_assembled(&mut self) {
        let Some(assembled) = self.assembled.take() else {
            return;
        };
        let segment = match assembled.datagrams {
            1 => 0,
            _ => u16::try_from(assembled.segment_bytes).unwrap_or(u16::MAX),
        };
        let datagram = Datagram::new(&self.payload)
            .to(assembled.to)
            .traffic_class(assembled.traffic_class)
            .segmented(segment);
        // The next `poll_ready` sets the waker of the event loop.
        let mut context = Context::from_waker(Waker::noop());
        // QUIC detects and repairs the loss of a datagram that the kernel does not accept.
        let _ = self.sender.poll_send(datagram, &mut context);
        self.payload.clear();
        let room = self.sender.poll_room(&mut context);
        self.has_room = matches!(room, Poll::Ready(Ok(())));
    }

    /// Returns the assembled datagrams that `message` can follow, after a send of all others.
    fn before(&mut self, message: &mut impl tx::Message<Handle = Tuple>) -> Assembled {
        let to: SocketAddress = message.path_handle().remote_address().0;
        let (to, traffic_class) = (to.into(), message.ecn() as u8);
        if let Some(it) = self.assembled
            && (it.to, it.traffic_class) == (to, traffic_class)
            && message.can_gso(it.segment_bytes, it.datagrams)
        {
            return it;
        }
        self.send_assembled();
        Assembled {
            to,
            traffic_class,
            segment_bytes: MAX_DATAGRAM_BYTES,
            datagrams: 0,
        }
    }
}

impl tx::Queue for Tx {
    type Handle = Tuple;

    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = Tuple>>(
        &mut self,
        mut message: M,
    ) -> Result<tx::Outcome, tx::Error> {
        let mut assembled = self.before(&mut message);
        if !self.has_room {
            return Err(tx::Error::AtCapacity);
        }
        let begin = self.payload.len();
        self.payload.resize(begin + assembled.segment_bytes, 0);
        let buffer = tx::PayloadBuffer::new(&mut self.payload[begin..]);
        let written = message.write_payload(buffer, assembled.datagrams);
        let len = *written.as_ref().unwrap_or(&0);
        self.payload.truncate(begin + len);
        written?;
        if assembled.datagrams == 0 {
            assembled.segment_bytes = len;
        }
        assembled.datagrams += 1;
        self.assembled = Some(assembled);
        let max_datagrams =
            (MAX_SEND_BYTES / assembled.segment_bytes.max(1)).min(self.sender.send_datagrams());
        if len < assembled.segment_bytes || assembled.datagrams >= max_datagrams {
            self.send_assembled();
        }
        Ok(tx::Outcome { len, index: 0 })
    }

    /// Datagrams of two connections are not sent together.
    fn flush(&mut self) {
        self.send_assembled();
    }

    fn capacity(&self) -> usize {
        usize::from(self.has_room)
    }
}
