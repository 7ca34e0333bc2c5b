//! Fields of a packet from its headers.

use core::slice;

use taut_path::classify;

use super::ring::{Packet, ecn_bits};
use crate::sys::placed::{answer, argument};
use crate::sys::status::Status;

/// Sets flow, priority and ECN bits of `packet` from the headers at `data`: those of an Ethernet
/// frame, or an IP header if `ethernet` is false, as on a TUN device. A short or malformed packet
/// is best effort, and of flow 0. Any thread can call it.
///
/// # Safety
/// `packet` is null or points to one; `data` is null or points to `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_classify(
    packet: *mut Packet,
    data: *const u8,
    bytes: usize,
    ethernet: bool,
) -> Status {
    // SAFETY: guaranteed by the caller.
    let Some(mut classified) = (unsafe { argument(packet) }) else {
        return Status::Null;
    };
    if data.is_null() {
        return Status::Null;
    }
    // SAFETY: not null, and of this length as the caller guarantees.
    let data = unsafe { slice::from_raw_parts(data, bytes) };
    let class = match ethernet {
        true => classify::classify(data),
        false => classify::classify_ip(data),
    };
    classified.flow = class.flow;
    classified.priority = class.priority;
    classified.ecn = ecn_bits(class.ecn);
    // SAFETY: not null, as checked by `argument`.
    unsafe { answer(packet, classified) };
    Status::Ok
}

/// Marks congestion in the headers that `taut_classify` reads, and updates the checksum of IPv4:
/// for a packet whose `ecn` is 3 when it is submitted. Returns `true` if the packet is marked. A
/// packet without ECN support, and null, stay unchanged. Any thread can call it.
///
/// # Safety
/// `data` is null or points to `bytes` bytes of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_mark_congestion(data: *mut u8, bytes: usize, ethernet: bool) -> bool {
    if data.is_null() {
        return false;
    }
    // SAFETY: not null, and of this length without another user, as the caller guarantees.
    let data = unsafe { slice::from_raw_parts_mut(data, bytes) };
    match ethernet {
        true => classify::mark_congestion(data),
        false => classify::mark_congestion_ip(data),
    }
}
