//! Waiting for descriptors with a deadline.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{failed, invalid};
use crate::sched::monotonic_ns;

/// Maximum number of descriptors of one call: the bits of a set.
pub const FDS_LIMIT: usize = 64;
/// Longest wait of one call: 68 years, which every `time_t` can hold.
const MAX_SECONDS: u64 = i32::MAX as u64;

/// The set of ready descriptors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready(u64);

impl Ready {
    /// Returns `true` if the `position`-th descriptor is readable, or has an error that a read
    /// returns.
    pub fn is_ready(self, position: usize) -> bool {
        position < FDS_LIMIT && self.0 & 1 << position != 0
    }

    /// Returns `true` if any is ready. If not, the deadline has passed.
    pub fn any(self) -> bool {
        self.0 != 0
    }
}

/// Waits until one of `fds` is readable, or until `deadline_ns` of [`monotonic_ns`] (`None`:
/// without a deadline). Signals do not end the wait. With a deadline in the past, the call does not
/// block.
///
/// # Errors
/// `InvalidInput` for more than [`FDS_LIMIT`] descriptors; otherwise the error of `ppoll`.
pub fn wait(fds: &[BorrowedFd<'_>], deadline_ns: Option<u64>) -> io::Result<Ready> {
    if fds.len() > FDS_LIMIT {
        return Err(invalid(format!(
            "fds has {} descriptors; allowed: at most {FDS_LIMIT}",
            fds.len()
        )));
    }
    let entry = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
    let mut entries: Vec<PollFd<'_>> = fds.iter().copied().map(entry).collect();
    loop {
        match poll(&mut entries, deadline_ns.map(time_until).as_ref()) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed("ppoll", "descriptors", error)),
        }
    }
    // An error or a hang-up counts as well: the next read returns it.
    let bit = |(position, entry): (usize, &PollFd<'_>)| {
        u64::from(!entry.revents().is_empty()) << position
    };
    Ok(Ready(entries.iter().enumerate().map(bit).sum()))
}

fn time_until(deadline_ns: u64) -> Timespec {
    let left = Duration::from_nanos(deadline_ns.saturating_sub(monotonic_ns()));
    Timespec {
        tv_sec: left.as_secs().min(MAX_SECONDS) as _,
        tv_nsec: left.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;

    #[test]
    fn display_names_the_privilege() {
        let (silent, _keep) = std::io::pipe().expect("pipe");
        let (reader, mut writer) = std::io::pipe().expect("pipe");
        let fds = [silent.as_fd(), reader.as_fd()];
        assert!(!wait(&fds, Some(0)).expect("looks").any());
        writer.write_all(b"x").expect("writes");
        let ready = wait(&fds, None).expect("waits");
        assert!(ready.any() && ready.is_ready(1));
        assert!(!ready.is_ready(0) && !ready.is_ready(64));
    }

    #[test]
    fn never_early() {
        let (silent, _keep) = std::io::pipe().expect("pipe");
        let deadline_ns = monotonic_ns() + 2_000_000;
        assert!(
            !wait(&[silent.as_fd()], Some(deadline_ns))
                .expect("waits")
                .any()
        );
        assert!(monotonic_ns() >= deadline_ns);
    }

    #[test]
    fn too_many_descriptors_are_rejected() {
        let (reader, _writer) = std::io::pipe().expect("pipe");
        assert!(wait(&[reader.as_fd(); FDS_LIMIT + 1], Some(0)).is_err());
    }
}
