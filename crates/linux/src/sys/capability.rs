//! Capabilities: capabilities(7), capset(2).

use std::io;

use super::check;

/// `_LINUX_CAPABILITY_VERSION_3`: two words of 32 bits for each set.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Leaves the calling thread just the capabilities of the bits in `kept`, and none to inherit. It
/// must have them.
pub(crate) fn set(kept: u64) -> io::Result<()> {
    let header = Header {
        version: VERSION,
        pid: 0,
    };
    let word = |bits: u32| Data {
        effective: bits,
        permitted: bits,
        inheritable: 0,
    };
    let data = [word(kept as u32), word((kept >> 32) as u32)];
    // SAFETY: the kernel reads a header and, as the version says, two words of each set; both
    // outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) };
    check(result as libc::c_int).map(drop)
}

/// Takes capability `number` out of what the calling thread's programs may ever have; `EINVAL` for
/// a number that the kernel does not know.
pub(crate) fn drop_from_bounding_set(number: u32) -> io::Result<()> {
    // SAFETY: PR_CAPBSET_DROP takes its arguments by value.
    check(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(number), 0, 0, 0) })
        .map(drop)
}

/// Programs that the calling thread starts get no capability by inheritance.
pub(crate) fn clear_ambient() -> io::Result<()> {
    let clear = libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong;
    // SAFETY: PR_CAP_AMBIENT takes its arguments by value.
    check(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, clear, 0, 0, 0) }).map(drop)
}

/// No program that the calling thread starts has more privilege than it has.
pub(crate) fn no_new_privileges() -> io::Result<()> {
    // SAFETY: PR_SET_NO_NEW_PRIVS takes its arguments by value.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).map(drop)
}
