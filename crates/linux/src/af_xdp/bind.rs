//! Binding a queue: which modes are tried, and how long to retry a busy queue.

use std::io;
use std::time::Duration;

use rustix::net::xdp::SocketAddrXdpFlags;

use super::config::XdpMode;
use crate::error::errno;

/// Retry interval of a busy queue. Measured: it is free 6 to 16 ms after its socket was closed.
const BUSY_PAUSE: Duration = Duration::from_millis(2);
/// Maximum retries: 400 ms in all, far longer than measured and well below a second.
const BUSY_TRIES: u32 = 200;

/// The modes of one bind attempt. In both, a flag of the ring requests the doorbell.
const ZERO_COPY: SocketAddrXdpFlags =
    SocketAddrXdpFlags::XDP_ZEROCOPY.union(SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP);
const COPY: SocketAddrXdpFlags =
    SocketAddrXdpFlags::XDP_COPY.union(SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP);

/// Tries the modes that `mode` allows until one works. `open` creates a socket and a umem for each
/// attempt, because a socket that failed to bind can stay busy (tcpreplay#1081).
pub(super) fn bind<T>(
    mode: XdpMode,
    mut open: impl FnMut(SocketAddrXdpFlags) -> io::Result<T>,
    mut pause: impl FnMut(Duration),
) -> io::Result<T> {
    let mut patiently = |flags| {
        for _ in 1..BUSY_TRIES {
            match open(flags) {
                Err(error) if errno(&error) == Some(libc::EBUSY) => pause(BUSY_PAUSE),
                done => return done,
            }
        }
        open(flags)
    };
    match mode {
        XdpMode::ZeroCopy => patiently(ZERO_COPY),
        XdpMode::Copy => patiently(COPY),
        XdpMode::Auto => patiently(ZERO_COPY).or_else(|error| match errno(&error) {
            // Errors of drivers without this mode, or without it for this queue or frame size.
            Some(libc::EOPNOTSUPP | libc::EINVAL | libc::EBUSY) => patiently(COPY),
            _ => Err(error),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Binds with simulated results, and returns the attempts.
    fn tried(
        mode: XdpMode,
        answer: impl Fn(usize, SocketAddrXdpFlags) -> Result<(), i32>,
    ) -> (io::Result<()>, Vec<SocketAddrXdpFlags>, u32) {
        let attempts = RefCell::new(Vec::new());
        let mut pauses = 0;
        let result = bind(
            mode,
            |attempt| {
                attempts.borrow_mut().push(attempt);
                answer(attempts.borrow().len(), attempt).map_err(io::Error::from_raw_os_error)
            },
            |_| pauses += 1,
        );
        (result, attempts.into_inner(), pauses)
    }

    #[test]
    fn missing_zero_copy_falls_back_to_copy() {
        let no_zero_copy = |_, flags| match flags == ZERO_COPY {
            true => Err(libc::EOPNOTSUPP),
            false => Ok(()),
        };
        let (result, attempts, pauses) = tried(XdpMode::Auto, no_zero_copy);
        result.expect("copy works");
        assert_eq!((attempts, pauses), (vec![ZERO_COPY, COPY], 0));
        let (result, attempts, _) = tried(XdpMode::ZeroCopy, no_zero_copy);
        assert_eq!(errno(&result.expect_err("fails")), Some(libc::EOPNOTSUPP));
        assert_eq!(attempts.len(), 1);
        let (result, attempts, _) = tried(XdpMode::Auto, |_, _| Ok(()));
        result.expect("zero-copy works");
        assert_eq!(attempts, [ZERO_COPY]);
    }

    #[test]
    fn busy_queue_is_retried_for_a_bounded_time() {
        let soon = |number, _| if number < 5 { Err(libc::EBUSY) } else { Ok(()) };
        let (result, attempts, pauses) = tried(XdpMode::Copy, soon);
        result.expect("free by then");
        assert_eq!((attempts.len(), pauses), (5, 4));
        let (result, attempts, _) = tried(XdpMode::Copy, |_, _| Err(libc::EBUSY));
        assert_eq!(errno(&result.expect_err("for ever")), Some(libc::EBUSY));
        assert_eq!(attempts.len() as u32, BUSY_TRIES);
    }

    #[test]
    fn unrecoverable_error_is_returned_at_once() {
        let (result, attempts, _) = tried(XdpMode::Auto, |_, _| Err(libc::EPERM));
        assert_eq!(errno(&result.expect_err("not allowed")), Some(libc::EPERM));
        assert_eq!(attempts.len(), 1);
    }
}
