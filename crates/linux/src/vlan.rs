//! VLAN tags.

/// Length of a tag.
pub(crate) const TAG_BYTES: u32 = 4;

/// Returns the bytes by which `frame` can exceed the device's MTU: the kernel permits one VLAN tag
/// of a customer.
pub(crate) fn tag_bytes(frame: &[u8]) -> u32 {
    const CUSTOMER_TAG: [u8; 2] = (libc::ETH_P_8021Q as u16).to_be_bytes();
    match frame.get(12..14) {
        Some(ethertype) if ethertype == CUSTOMER_TAG => TAG_BYTES,
        _ => 0,
    }
}
