//! Senders of datagrams, blind to what is lost: all that holds them back is "no buffer space".

use std::sync::Arc;

use super::frames_in_flight::Says;
use super::segments::OutgoingSegment;
use crate::source::{Note, WhenFull};
use crate::tcp::{Ack, SackBlocks};

/// How a blind sender sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlindConfig {
    /// Payload of each datagram, in bytes; at least 1.
    pub payload_bytes: u16,
    /// Headers of each, in bytes.
    pub header_bytes: u16,
    /// Priority of its packets, 0..=15.
    pub priority: u8,
    /// What it does that finds no room in the discipline.
    pub when_full: WhenFull,
}

/// What a blind sender did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlindReport {
    /// Datagrams that the discipline took.
    pub sent_packets: u64,
    /// Datagrams that arrived at the other host.
    pub arrived_packets: u64,
    /// Sends refused with "no buffer space".
    pub failed_sends: u64,
    /// Times that it went to sleep, or was woken because there was room.
    pub wakeups: u64,
}

#[derive(Debug)]
pub(super) struct Blind {
    pub config: BlindConfig,
    /// It asked to be woken when there is room.
    pub waits: bool,
    pub report: BlindReport,
}

impl Blind {
    pub fn new(config: BlindConfig) -> Self {
        Self {
            config,
            waits: false,
            report: BlindReport::default(),
        }
    }

    /// Length of its packets' headers, in bytes, and their priority.
    pub fn headers(&self) -> (u16, u8) {
        (self.config.header_bytes, self.config.priority)
    }

    /// Its datagrams, all alike; `number` is its own at its host.
    pub fn datagram(&self, number: u32) -> OutgoingSegment {
        let config = &self.config;
        let payload_bytes = config.payload_bytes.max(1);
        OutgoingSegment {
            connection: number,
            start: 0,
            payload_bytes: payload_bytes.into(),
            header_bytes: config.header_bytes,
            mss_bytes: payload_bytes,
            priority: config.priority,
            ack: Ack {
                cumulative: 0,
                window_bytes: 0,
                sack: SackBlocks::default(),
                ece: false,
            },
            says: Says::DATAGRAM,
        }
    }
}

/// The blind senders of a host, and what arrived from those of the other host.
pub(super) struct BlindSenders {
    pub senders: Vec<Blind>,
    /// One of them asked to be woken; `room` says when.
    pub waits: bool,
    pub room: Arc<Note>,
    /// Datagrams that arrived from each blind sender of the other host.
    pub datagrams: Vec<u64>,
}

impl BlindSenders {
    pub fn new(room: Arc<Note>) -> Self {
        Self {
            senders: Vec::new(),
            waits: false,
            room,
            datagrams: Vec::new(),
        }
    }
}
