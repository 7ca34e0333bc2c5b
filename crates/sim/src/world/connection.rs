//! One end of a connection: its TCP, its application, its timer.

use super::app::{App, Desk, Done};
use super::frames_in_flight::{Flight, FrameFlags};
use super::segments::OutgoingSegment;
use super::timer::Timer;
use std::sync::Arc;

use taut_path::tsq::{Flow, SendRequest};

use crate::NEVER_NS;
use crate::tcp::{TcpConfig, TcpReceiver, TcpSender, TcpStats};

/// Settings of a connection.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionConfig {
    /// TCP settings of both ends.
    pub tcp: TcpConfig,
    /// Headers of each segment, in bytes.
    pub header_bytes: u16,
    /// Priority of its packets, 0..=15.
    pub priority: u8,
}

/// Report of one end of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndpointReport {
    /// Bytes that the application read, in order.
    pub received_bytes: u64,
    /// Event counters of its TCP.
    pub tcp: TcpStats,
    /// Current congestion window, in bytes.
    pub cwnd_bytes: u64,
    /// Current smoothed round trip, in ns; 0 before the first sample.
    pub srtt_ns: u64,
}

/// One end of a connection.
pub(super) struct Endpoint {
    sender: TcpSender,
    pub receiver: TcpReceiver,
    pub timer: Timer,
    pub header_bytes: u16,
    mss_bytes: u16,
    pub priority: u8,
    /// An acknowledgement is due, alone if there is no data.
    ack_due: bool,
    /// An acknowledgement is due after the last segment of a GSO packet.
    ack_held: bool,
    pub desk: Desk,
}

impl Endpoint {
    pub fn new(config: &ConnectionConfig, tcp: &Arc<TcpConfig>, app: App) -> Self {
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

    /// Runs the application.
    #[inline]
    pub fn run_app(&mut self, now_ns: u64) -> Done {
        self.desk
            .work(&mut self.sender, self.receiver.delivered_bytes(), now_ns)
    }

    #[inline(always)]
    pub fn on_arrival(&mut self, flight: &Flight, now_ns: u64) {
        if flight.has(FrameFlags::ACK) {
            let reach = (flight.cumulative, flight.window_bytes);
            let sack_and_ece = (&flight.sack, flight.has(FrameFlags::ECE));
            self.sender.on_parts_of_ack(reach, sack_and_ece, now_ns);
        }
        if flight.payload_bytes == 0 {
            return;
        }
        if flight.has(FrameFlags::CWR) {
            self.receiver.on_cwr();
        }
        let ack = self.receiver.on_segment(
            flight.start,
            flight.payload_bytes.into(),
            flight.has(FrameFlags::CONGESTION),
            now_ns,
        );
        if flight.has(FrameFlags::MORE) && self.receiver.aggregates() {
            self.ack_held |= ack.is_some();
            return;
        }
        if std::mem::take(&mut self.ack_held) {
            // It covers all of them, so none is pending afterwards.
            let _ = self.receiver.take_ack();
            self.ack_due = true;
        }
        self.ack_due |= ack.is_some();
    }

    /// Processes the timers at `now_ns`. A call before they are due has no effect.
    pub fn on_timer(&mut self, now_ns: u64) {
        self.sender.on_timer(now_ns);
        self.ack_due |= self.receiver.on_timer(now_ns).is_some();
    }

    /// Returns the time for a check of its timer, if none is scheduled by then: see [`Timer::set`].
    #[inline]
    pub fn watch_timer(&mut self) -> Option<u64> {
        let sender_ns = self.sender.next_timer_ns().unwrap_or(NEVER_NS);
        let receiver_ns = self.receiver.next_timer_ns().unwrap_or(NEVER_NS);
        self.timer.set(sender_ns.min(receiver_ns))
    }

    /// Returns the data to send now, with a pending acknowledgement but without its SACK blocks.
    /// `flow` can hold it back. Call [`last_ack`](Self::last_ack)
    /// afterwards.
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
        let ack_pending = std::mem::take(&mut self.ack_due) || self.receiver.take_ack().is_some();
        let cwr = if data.cwr { FrameFlags::CWR } else { 0 };
        let ack = if ack_pending { FrameFlags::ACK } else { 0 };
        // RFC 3168, 6.1.4: a pure acknowledgement is never ECN-capable.
        let ecn = if data.ecn_capable {
            FrameFlags::ECN_CAPABLE
        } else {
            0
        };
        Some(OutgoingSegment {
            start: data.start,
            payload_bytes: data.payload_bytes,
            ..self.segment(connection, cwr | ack | ecn)
        })
    }

    /// Returns a pending acknowledgement that no data carried.
    #[inline(always)]
    pub fn last_ack(&mut self, connection: u32) -> Option<OutgoingSegment> {
        let ack_due = std::mem::take(&mut self.ack_due);
        ack_due.then(|| self.segment(connection, FrameFlags::ACK))
    }

    /// Returns `true` if the small queue permits the next data.
    #[cold]
    fn may_send(&mut self, connection: u32, flow: &Flow, now_ns: u64) -> bool {
        let max_bytes = flow.max_gso_payload_bytes();
        self.sender.limit_gso_packets(max_bytes.into());
        let Some(payload_bytes) = self.sender.next_payload_bytes(now_ns) else {
            return true;
        };
        let packet = OutgoingSegment {
            payload_bytes: payload_bytes.try_into().unwrap_or(u32::MAX),
            ..self.segment(connection, 0)
        };
        flow.may_send(SendRequest {
            packet_bytes: packet.memory_bytes(),
            // Before the first RTT sample, the rate is unknown and the window is small.
            rate_bytes_per_s: self.sender.pacing_rate_bytes_per_s().unwrap_or(u64::MAX),
        })
    }

    pub fn report(&self) -> EndpointReport {
        EndpointReport {
            received_bytes: self.receiver.delivered_bytes(),
            tcp: self.sender.stats(),
            cwnd_bytes: self.sender.cwnd_bytes(),
            srtt_ns: self.sender.srtt_ns().unwrap_or(0),
        }
    }

    /// Returns a segment without data and without SACK blocks.
    #[inline(always)]
    fn segment(&self, connection: u32, flags: u8) -> OutgoingSegment {
        let ack = self.receiver.plain_ack();
        OutgoingSegment {
            connection,
            // SND.NXT (RFC 9293, 3.10.7.4).
            start: self.sender.next_offset(),
            payload_bytes: 0,
            header_bytes: self.header_bytes,
            mss_bytes: self.mss_bytes,
            priority: self.priority,
            flags: flags | if ack.ece { FrameFlags::ECE } else { 0 },
            ack,
        }
    }
}
