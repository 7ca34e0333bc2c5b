//! Waiting for descriptors with a deadline.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::failed;
use crate::sched::monotonic_ns;

/// Longest wait of one call: 68 years, which every `time_t` can hold.
const MAX_SECONDS: u64 = i32::MAX as u64;

/// Waits until one of `fds` is readable, or until `deadline_ns` of [`monotonic_ns`] (`None`:
/// without a deadline). Signals do not end the wait. With a deadline in the past, the call does not
/// block.
///
/// Returns `true` for each descriptor that is readable, or has an error that a read returns. If
/// there is none, the deadline has passed.
///
/// # Errors
/// The error of `ppoll`.
pub fn wait(fds: &[BorrowedFd<'_>], deadline_ns: Option<u64>) -> io::Result<Vec<bool>> {
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
    let is_ready = |entry: &PollFd<'_>| !entry.revents().is_empty();
    Ok(entries.iter().map(is_ready).collect())
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
    fn readable_descriptors_are_ready() {
        let (silent, _keep) = std::io::pipe().expect("pipe");
        let (reader, mut writer) = std::io::pipe().expect("pipe");
        let fds = [silent.as_fd(), reader.as_fd()];
        assert_eq!(wait(&fds, Some(0)).expect("looks"), [false, false]);
        writer.write_all(b"x").expect("writes");
        assert_eq!(wait(&fds, None).expect("waits"), [false, true]);
    }

    #[test]
    fn never_early() {
        let (silent, _keep) = std::io::pipe().expect("pipe");
        let deadline_ns = monotonic_ns() + 2_000_000;
        let ready = wait(&[silent.as_fd()], Some(deadline_ns)).expect("waits");
        assert_eq!(ready, [false]);
        assert!(monotonic_ns() >= deadline_ns);
    }
}
