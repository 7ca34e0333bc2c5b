//! unshare(2).

use rustix::io::{Errno, Result};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Moves the calling thread into new namespaces. `EINVAL` for `FILES`: other threads' descriptors
/// would become invalid in this one.
pub(crate) fn unshare(flags: UnshareFlags) -> Result<()> {
    if flags.contains(UnshareFlags::FILES) {
        return Err(Errno::INVAL);
    }
    // SAFETY: the thread keeps its table of descriptors, see above.
    unsafe { unshare_unsafe(flags) }
}
