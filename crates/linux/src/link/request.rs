//! The fixed parts of requests, from rtnetlink(7).

use super::message::Message;

/// A request about a link: `struct ifinfomsg` with nothing changed; the name finds the device.
pub(super) fn link(kind: u16, flags: libc::c_int, device: &str) -> Message {
    Message::new(kind, flags as u16, &link_fixed(0, 0)).text(libc::IFLA_IFNAME, device)
}

/// As [`link`], of the device with this index.
pub(super) fn link_at(kind: u16, flags: libc::c_int, index: u32) -> Message {
    let mut fixed = link_fixed(0, 0);
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    Message::new(kind, flags as u16, &fixed)
}

/// `struct ifinfomsg`: family, type and index 0, and the interface flags that change.
pub(super) fn link_fixed(flags: libc::c_int, change: libc::c_int) -> [u8; 16] {
    let mut fixed = [0; 16];
    fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
    fixed[12..16].copy_from_slice(&change.to_ne_bytes());
    fixed
}

/// `struct ifaddrmsg` of an IPv4 address.
pub(super) fn address_fixed(prefix_bits: u8, index: u32) -> [u8; 8] {
    let [a, b, c, d] = index.to_ne_bytes();
    [libc::AF_INET as u8, prefix_bits, 0, 0, a, b, c, d]
}

/// `struct ndmsg` of an IPv4 neighbour.
pub(super) fn neighbour_fixed(index: u32, state: u16) -> [u8; 12] {
    let [a, b, c, d] = index.to_ne_bytes();
    let [e, f] = state.to_ne_bytes();
    [libc::AF_INET as u8, 0, 0, 0, a, b, c, d, e, f, 0, 0]
}

/// The handle of a root token bucket, to which its child refers: `1:`.
const TOKEN_BUCKET: u32 = 0x1_0000;

/// `struct tcmsg` of a device's root discipline, which is a token bucket or another.
pub(super) fn root_qdisc_fixed(index: u32, is_token_bucket: bool) -> [u8; 20] {
    /// `TC_H_ROOT`
    const ROOT: u32 = u32::MAX;
    let handle = if is_token_bucket { TOKEN_BUCKET } else { 0 };
    qdisc_fixed(index, handle, ROOT)
}

/// `struct tcmsg` of the discipline inside a token bucket, which has one class: `1:1`.
pub(super) fn bucket_child_fixed(index: u32) -> [u8; 20] {
    qdisc_fixed(index, 0, TOKEN_BUCKET + 1)
}

fn qdisc_fixed(index: u32, handle: u32, parent: u32) -> [u8; 20] {
    let mut fixed = [0; 20];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    fixed[8..12].copy_from_slice(&handle.to_ne_bytes());
    fixed[12..16].copy_from_slice(&parent.to_ne_bytes());
    fixed
}
