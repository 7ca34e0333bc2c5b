//! One end of a connection: its TCP, its application, its timer.

use super::app::{App, Desk, Done};
use super::frames_in_flight::{Flight, Says};
use super::segments::OutgoingSegment;
use super::timer::{Look, Timer};
use taut_path::tsq::{Flow, SendRequest};

use crate::NEVER_NS;
use crate::tcp::{SackBlocks, TcpConfig, TcpReceiver, TcpSender, TcpSettings, TcpStats};

/// How a connection is made.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionConfig {
    /// Both ends' TCP.
    pub tcp: TcpConfig,
    /// Headers of each segment, in bytes.
    pub header_bytes: u16,
    /// Priority of its packets, 0..=15.
    pub priority: u8,
}

/// What one end of a connection did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndpointReport {
    /// Bytes that the application read, in order.
    pub received_bytes: u64,
    /// Responses that a client has had in full.
    pub transactions: u64,
    /// What its TCP did.
    pub tcp: TcpStats,
    /// The congestion window now, in bytes.
    pub cwnd_bytes: u64,
    /// The smoothed round trip now, in ns; 0 before the first sample.
    pub srtt_ns: u64,
    /// Written and not acknowledged: what the send buffer holds now, in bytes.
    pub unacked_bytes: u64,
}

/// One end of a connection. Four lines of the cache: with many connections that decides how fast
/// they are simulated.
#[repr(C, align(64))]
pub(super) struct Endpoint {
    sender: TcpSender,
    receiver: TcpReceiver,
    timer: Timer,
    header_bytes: u16,
    mss_bytes: u16,
    priority: u8,
    /// An acknowledgement must go out now, alone if there is no data.
    ack_due: bool,
    /// It will, once the rest of a super-packet is here.
    ack_held: bool,
    desk: Desk,
}

const _: () = assert!(size_of::<Endpoint>() == 256);

impl Endpoint {
    pub fn new(config: &ConnectionConfig, tcp: &TcpSettings, app: App) -> Self {
        Self {
            sender: TcpSender::with(tcp.clone()),
            receiver: TcpReceiver::with(tcp.clone()),
            timer: Timer::NEVER,
            header_bytes: config.header_bytes,
            mss_bytes: config.tcp.mss_bytes.min(u32::from(u16::MAX)) as u16,
            priority: config.priority,
            ack_due: false,
            ack_held: false,
            desk: Desk::new(app),
        }
    }

    /// A look at its timer that is scheduled for `look_ns` is not needed before `end_ns`: says when
    /// it is.
    pub fn move_timer_on(&mut self, look_ns: u64, end_ns: u64) -> Option<u64> {
        self.timer.move_on(look_ns, end_ns)
    }

    /// The part that a look at its timer needs.
    pub fn timer(&self) -> &Timer {
        &self.timer
    }

    /// The application starts, or has thought enough.
    pub fn wake_app(&mut self) {
        self.desk.wake();
    }

    /// Lets the application do what it can now.
    #[inline]
    pub fn run_app(&mut self, now_ns: u64) -> Done {
        self.desk
            .work(&mut self.sender, self.receiver.delivered_bytes(), now_ns)
    }

    #[inline(always)]
    pub fn on_arrival(&mut self, flight: &Flight, now_ns: u64) {
        if flight.says(Says::ACK) {
            let reach = (flight.cumulative, flight.window_bytes);
            let besides = (&flight.sack, flight.says(Says::ECE));
            self.sender.on_parts_of_ack(reach, besides, now_ns);
        }
        if flight.payload_bytes == 0 {
            return;
        }
        if flight.says(Says::CWR) {
            self.receiver.on_cwr();
        }
        let ack = self.receiver.on_segment(
            flight.start,
            flight.payload_bytes.into(),
            flight.says(Says::CONGESTION),
            now_ns,
        );
        if flight.says(Says::MORE) && self.receiver.aggregates() {
            self.ack_held |= ack.is_some();
            return;
        }
        if std::mem::take(&mut self.ack_held) {
            // It covers all of them: none is left for the next.
            let _ = self.receiver.take_ack();
            self.ack_due = true;
        }
        self.ack_due |= ack.is_some();
    }

    /// Time has come to `now_ns`. Too early is harmless.
    pub fn on_timer(&mut self, now_ns: u64) {
        self.sender.on_timer(now_ns);
        self.ack_due |= self.receiver.on_timer(now_ns).is_some();
    }

    pub fn look_is_scheduled(&mut self) {
        self.timer.look_is_scheduled();
    }

    /// A scheduled look at its timer.
    pub fn look_at_timer(&mut self, now_ns: u64) -> Look {
        self.timer.look(now_ns)
    }

    /// Says when to look at its timer, if no look is scheduled by then: see [`Timer::set`].
    #[inline]
    pub fn watch_timer(&mut self) -> Option<u64> {
        let sender_ns = self.sender.next_timer_ns().unwrap_or(NEVER_NS);
        let receiver_ns = self.receiver.next_timer_ns().unwrap_or(NEVER_NS);
        self.timer.set(sender_ns.min(receiver_ns))
    }

    /// The data to send now, with an acknowledgement if one is owed, and without what
    /// [`blocks`](Self::blocks) says. `flow` may hold it back. Then [`last_ack`](Self::last_ack).
    #[inline(always)]
    pub fn next_data(
        &mut self,
        connection: u32,
        flow: Option<&Flow>,
        now_ns: u64,
    ) -> Option<OutgoingSegment> {
        if !flow.is_none_or(|flow| self.may_send(connection, flow, now_ns)) {
            return None;
        }
        let data = self.sender.next_segment(now_ns)?;
        let owed = std::mem::take(&mut self.ack_due) || self.receiver.take_ack().is_some();
        let cwr = if data.cwr { Says::CWR } else { 0 };
        let ack = if owed { Says::ACK } else { 0 };
        // RFC 3168, 6.1.4: an acknowledgement alone never is.
        let ecn = if data.ecn_capable {
            Says::ECN_CAPABLE
        } else {
            0
        };
        Some(OutgoingSegment {
            start: data.start,
            payload_bytes: data.payload_bytes,
            ..self.segment(connection, cwr | ack | ecn)
        })
    }

    /// The acknowledgement that must go out alone, since no data took it along.
    #[inline(always)]
    pub fn last_ack(&mut self, connection: u32) -> Option<OutgoingSegment> {
        let ack_due = std::mem::take(&mut self.ack_due);
        ack_due.then(|| self.segment(connection, Says::ACK))
    }

    /// Whether the data that would go now may, as far as its small queue is concerned.
    #[cold]
    fn may_send(&mut self, connection: u32, flow: &Flow, now_ns: u64) -> bool {
        let most_bytes = flow.largest_packet_bytes();
        self.sender.limit_super_packets(most_bytes.into());
        let Some(payload_bytes) = self.sender.next_payload_bytes(now_ns) else {
            return true;
        };
        let packet = OutgoingSegment {
            payload_bytes: payload_bytes.try_into().unwrap_or(u32::MAX),
            ..self.segment(connection, 0)
        };
        flow.may_send(SendRequest {
            packet_bytes: packet.memory_bytes(),
            // Before the first round trip nothing is known, and the window is small.
            rate_bytes_per_s: self.sender.pacing_rate_bytes_per_s().unwrap_or(u64::MAX),
        })
    }

    /// Length of its packets' headers, in bytes, and their priority.
    pub fn headers(&self) -> (u16, u8) {
        (self.header_bytes, self.priority)
    }

    pub fn arrived_bytes(&self) -> u64 {
        self.receiver.arrived_bytes()
    }

    pub fn report(&self) -> EndpointReport {
        EndpointReport {
            received_bytes: self.receiver.delivered_bytes(),
            transactions: self.desk.transactions(),
            tcp: self.sender.stats(),
            cwnd_bytes: self.sender.cwnd_bytes(),
            srtt_ns: self.sender.srtt_ns().unwrap_or(0),
            unacked_bytes: self.sender.unacked_bytes(),
        }
    }

    /// What each of its acknowledgements says of data that came out of order, if there is such.
    #[inline(always)]
    pub fn blocks(&self) -> Option<SackBlocks> {
        self.receiver.blocks()
    }

    /// A segment without data, and without [`blocks`](Self::blocks).
    #[inline(always)]
    fn segment(&self, connection: u32, says: u8) -> OutgoingSegment {
        let ack = self.receiver.plain_ack();
        OutgoingSegment {
            connection,
            start: 0,
            payload_bytes: 0,
            header_bytes: self.header_bytes,
            mss_bytes: self.mss_bytes,
            priority: self.priority,
            says: says | if ack.ece { Says::ECE } else { 0 },
            ack,
        }
    }
}
