//! Tags of VLANs.

/// What a tag adds to a frame.
pub(crate) const TAG_BYTES: u32 = 4;

/// What `frame` may have beyond the device's MTU: the kernel lets one VLAN tag of a customer
/// through.
pub(crate) fn tag_bytes(frame: &[u8]) -> u32 {
    const CUSTOMER_TAG: [u8; 2] = (libc::ETH_P_8021Q as u16).to_be_bytes();
    match frame.get(12..14) {
        Some(ethertype) if ethertype == CUSTOMER_TAG => TAG_BYTES,
        _ => 0,
    }
}
