//! TCP without I/O: a sender and a receiver. Their inputs are the time, the application's writes
//! and the arriving segments. Their outputs are segments and timers.
//!
//! ```text
//! write, on_ack, on_timer -> TcpSender  -> next_segment (until None), next_timer_ns
//! on_segment, on_timer    -> TcpReceiver -> acknowledgements,          next_timer_ns
//! ```
//!
//! The results are the same on every machine: all arithmetic uses integers. Written from the RFCs:
//! 5681 (slow start), 3465 (byte counting), 9438 (CUBIC), 6298 (timeout), 2018 and 6675
//! (selective acknowledgement), 3168 (ECN), 6928 (initial window).
//!
//! # Simpler than a complete TCP
//! - A connection is established from the start and never closes: no handshake (hence no sample of
//!   the round trip before data), no FIN, no reset.
//! - Offsets are 64 bits and never wrap. No option is negotiated: both ends have SACK, window
//!   scaling and segments of the same size.
//! - The round trip is timed once in a window (RFC 6298, 3), not on each acknowledgement by
//!   timestamps. The timestamps are on the wire only as bytes, if the caller counts them.
//! - The application reads at once: the window offered is always the whole buffer, there is no zero
//!   window and no probe of one, and no tuning of buffers.
//! - No HyStart++ (RFC 9406), no RACK or tail loss probe (RFC 8985), no proportional rate reduction
//!   (RFC 9937), no F-RTO (RFC 5682), no D-SACK (RFC 2883) and no undoing of a reduction: a
//!   retransmission that is lost, and a loss at the very end of the data, wait for the timer.
//! - Windows are in bytes, not in packets: many small segments fit in the window of one large one.
//! - The receiver delays acknowledgements always, also at the start of a connection.

mod acknowledge;
mod config;
mod congestion;
mod cubic;
mod reassembly;
mod receiver;
mod round_trip;
mod scoreboard;
#[cfg(test)]
mod scoreboard_tests;
mod segment;
mod sender;

pub use config::{GsoSize, TcpConfig};
pub use receiver::TcpReceiver;
pub use segment::{Ack, SackBlocks, Segment};
pub use sender::{TcpSender, TcpStats};
