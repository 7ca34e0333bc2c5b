//! An epoll descriptor that can be read when a socket has something in its error queue.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::check;

/// Watches `socket` for errors and nothing else.
pub(crate) fn for_errors(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
    // SAFETY: the kernel just gave us this descriptor and nobody else has it.
    let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
    // EPOLLERR is always told; level triggered, so that nothing depends on who drains.
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: the event outlives the call.
    check(unsafe {
        libc::epoll_ctl(
            epoll.as_raw_fd(),
            libc::EPOLL_CTL_ADD,
            socket.as_raw_fd(),
            &raw mut event,
        )
    })?;
    Ok(epoll)
}

/// Asks without waiting, which makes the next readiness of the descriptor itself be told.
pub(crate) fn is_ready(epoll: BorrowedFd<'_>) -> bool {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: room for the one event that is asked for.
    let ready = unsafe { libc::epoll_wait(epoll.as_raw_fd(), &raw mut event, 1, 0) };
    ready > 0
}

/// Has tokio watch a descriptor until it can be read, and nothing else.
///
/// # Errors
/// What registering it fails with.
pub(crate) fn watch<T: Descriptor>(inner: T) -> io::Result<AsyncFd<T>> {
    // SAFETY: the types that this is for own their descriptor and always answer the same one, and
    // `AsyncFd` owns them until it has deregistered it.
    let watched = unsafe { AsyncFd::register_with_interest(inner, Interest::READABLE) };
    watched.map_err(io::Error::from)
}

/// Owned descriptors, which never change while they live.
pub(crate) trait Descriptor: AsRawFd {}
impl Descriptor for OwnedFd {}
impl Descriptor for UdpSocket {}
