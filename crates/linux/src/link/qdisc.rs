//! The queueing discipline at the root of a device.

use std::io;

use super::change::{change, index};
use super::message::{Message, SET};
use crate::error::invalid;
use crate::netns::NetNs;

/// Attributes of a TBF's options, from pkt_sched.h.
const TBF_PARAMETERS: u16 = 1;
const TBF_RATE_64: u16 = 4;
const TBF_BURST: u16 = 6;
/// `TC_LINKLAYER_ETHERNET`: the kernel computes times without a table.
const LINK_LAYER_ETHERNET: u8 = 1;
/// `TC_H_ROOT`.
const ROOT: u32 = u32::MAX;
/// The handle of a root token bucket, `1:`. Its child refers to its only class, `1:1`.
const TOKEN_BUCKET: u32 = 0x1_0000;

/// A discipline for the root of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootQdisc {
    /// Token bucket: shapes to a rate.
    Tbf {
        /// Bits a second, at least 8. Counts the frame with its Ethernet header only.
        rate_bits_per_s: u64,
        /// The bucket. A frame larger than this is dropped.
        burst_bytes: u32,
        /// Maximum backlog in bytes.
        limit_bytes: u32,
    },
    /// No queue: packets are passed to the device directly.
    NoQueue,
}

/// Replaces the root discipline of the device by `qdisc`.
///
/// # Errors
/// `NotFound` if there is no such device or the kernel lacks the discipline; `InvalidInput` for a
/// rate below 8 bit/s; `PermissionDenied` without CAP_NET_ADMIN.
pub fn set_root_qdisc(ns: &NetNs, device: &str, qdisc: RootQdisc) -> io::Result<()> {
    let index = index(ns, device)?;
    let request = match qdisc {
        RootQdisc::Tbf {
            rate_bits_per_s,
            burst_bytes,
            limit_bytes,
        } => {
            let rate_bytes_per_s = rate_bits_per_s / 8;
            if rate_bytes_per_s == 0 {
                return Err(invalid(format!(
                    "tbf rate is {rate_bits_per_s} bit/s; allowed: 8 or more"
                )));
            }
            request(index, TOKEN_BUCKET, ROOT, "tbf").nested(libc::TCA_OPTIONS, |options| {
                options
                    .attribute(
                        TBF_PARAMETERS,
                        &tbf_parameters(rate_bytes_per_s, limit_bytes),
                    )
                    .attribute(TBF_BURST, &burst_bytes.to_ne_bytes())
                    .attribute(TBF_RATE_64, &rate_bytes_per_s.to_ne_bytes())
            })
        }
        RootQdisc::NoQueue => request(index, 0, ROOT, "noqueue"),
    };
    change(ns, "RTM_NEWQDISC", device, request)
}

/// Replaces the byte queue inside the [token bucket](RootQdisc::Tbf) at the root of the device by a
/// `pfifo_fast`. Each of its bands holds as many packets as the device's
/// [queue](super::set_tx_queue_packets).
///
/// # Errors
/// `NotFound` if there is no such device, or no token bucket set by this crate at its root;
/// `PermissionDenied` without CAP_NET_ADMIN.
pub fn set_pfifo_fast_in_tbf(ns: &NetNs, device: &str) -> io::Result<()> {
    let request = request(index(ns, device)?, 0, TOKEN_BUCKET + 1, "pfifo_fast");
    change(ns, "RTM_NEWQDISC", device, request)
}

/// A request for a discipline: `struct tcmsg`, and its kind.
fn request(index: u32, handle: u32, parent: u32, kind: &str) -> Message {
    let mut fixed = [0; 20];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    fixed[8..12].copy_from_slice(&handle.to_ne_bytes());
    fixed[12..16].copy_from_slice(&parent.to_ne_bytes());
    Message::new(libc::RTM_NEWQDISC, SET, &fixed).text(libc::TCA_KIND, kind)
}

/// `struct tc_tbf_qopt`: rate, peak rate (none), limit, and two fields that `TBF_BURST` replaces.
fn tbf_parameters(rate_bytes_per_s: u64, limit_bytes: u32) -> [u8; 36] {
    // A larger rate is in `TBF_RATE_64`; the kernel then expects the maximum here.
    let rate = u32::try_from(rate_bytes_per_s).unwrap_or(u32::MAX);
    let mut parameters = [0; 36];
    parameters[1] = LINK_LAYER_ETHERNET;
    parameters[8..12].copy_from_slice(&rate.to_ne_bytes());
    parameters[24..28].copy_from_slice(&limit_bytes.to_ne_bytes());
    parameters
}
