//! What a packet took from its flow's budget.

use alloc::sync::Arc;
use core::fmt;

use super::account::Account;
use crate::packet::Segmentation;

/// Memory that a packet took from its flow's budget; dropping it gives that back.
///
/// Neither `Copy` nor `Clone`: it comes back exactly once, when whoever holds it drops it.
#[must_use = "a charge that is dropped is given back"]
pub struct Charge {
    account: Arc<Account>,
    bytes: u32,
}

impl Charge {
    /// Of `bytes` that `account` was charged.
    pub(crate) fn new(account: Arc<Account>, bytes: u32) -> Self {
        Self { account, bytes }
    }

    /// The memory, in bytes.
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.end_packet(self.bytes);
    }
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Charge({} bytes of {:?})", self.bytes, self.account)
    }
}

/// The descriptor that a host keeps of each packet.
const DESCRIPTOR_BYTES: u32 = 256;
/// The smallest buffer: headers, and a few bytes of payload.
const LEAST_BUFFER_BYTES: u32 = 512;
/// The payload of a super-packet lies in whole pages.
const PAGE_BYTES: u32 = 4096;

/// What a packet of `wire_bytes` takes in the memory of a host: a plain one of 1,514 bytes 2,304, a super-packet
/// its pages, a buffer for its headers and the descriptor.
pub fn memory_bytes(wire_bytes: u32, segmentation: Option<Segmentation>) -> u32 {
    let data_bytes = match segmentation {
        // Most are: an acknowledgement, or a full frame of Ethernet.
        None if wire_bytes <= LEAST_BUFFER_BYTES => LEAST_BUFFER_BYTES,
        None if wire_bytes > 1_024 && wire_bytes <= 2_048 => 2_048,
        None => wire_bytes.checked_next_power_of_two().unwrap_or(wire_bytes),
        Some(cut) => wire_bytes
            .saturating_sub(cut.header_bytes.into())
            .div_ceil(PAGE_BYTES)
            .saturating_mul(PAGE_BYTES)
            .saturating_add(LEAST_BUFFER_BYTES),
    };
    data_bytes.saturating_add(DESCRIPTOR_BYTES)
}
