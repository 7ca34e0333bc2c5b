//! System calls and shared memory, one file per interface: the only place with `unsafe`.
//!
//! Every function here is safe to call with any arguments; the kernel returns an error for invalid
//! ones. Calls that `rustix` wraps safely are used directly by their callers.

pub(crate) mod bpf;
pub(crate) mod device;
pub(crate) mod ethtool;
pub(crate) mod packet_ring;
pub(crate) mod shared_file;
pub(crate) mod signal;
pub(crate) mod socket;
pub(crate) mod thread;
pub(crate) mod umem;
pub(crate) mod xdp_ring;

use std::io;

/// Converts the result of a call that returns -1 and sets `errno`.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
