//! `ifreq`, the argument of the ioctls of a device.

/// Returns a request for the device `name`. The field holds 15 bytes and a zero.
pub(super) fn for_device(name: &str) -> libc::ifreq {
    // SAFETY: `ifreq` is plain old data for which all zeroes is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let places = request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1);
    for (to, from) in places.zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}
