//! The send buffer of a socket with a ring.

use std::os::fd::AsFd;

use rustix::net::sockopt::{set_socket_send_buffer_size, set_socket_send_buffer_size_force};

/// Bytes that the kernel charges to the send buffer for a frame beyond its length, with a margin
/// (measured: 790 for 1514 bytes). The default buffer (212,992 bytes) holds 93 frames of 1514
/// bytes.
const CHARGE_OVERHEAD_BYTES: usize = 1024;

/// Enlarges the send buffer to the charge of `frames` frames, if permitted. If the buffer is too
/// small no frame is lost, but the excess waits in the ring, where the device does not see it.
pub(crate) fn widen(
    socket: impl AsFd,
    frames: usize,
    frame_bytes: usize,
) -> rustix::io::Result<()> {
    let needed = frames.saturating_mul(frame_bytes + CHARGE_OVERHEAD_BYTES);
    let requested = needed.min(i32::MAX as usize);
    // `SO_SNDBUFFORCE` can exceed `net.core.wmem_max`, but not in a user namespace.
    set_socket_send_buffer_size_force(&socket, requested)
        .or_else(|_| set_socket_send_buffer_size(&socket, requested))
}
