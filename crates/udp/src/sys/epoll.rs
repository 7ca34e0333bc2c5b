//! An epoll descriptor that is readable while a socket has entries in its error queue.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Creates a descriptor that reports only errors of `socket`.
pub(crate) fn for_errors(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    // The kernel reports EPOLLERR even if it is not requested. Level triggered, so that any thread
    // can read the queue.
    epoll::add(&epoll, socket, EventData::new_u64(0), EventFlags::empty())?;
    Ok(epoll)
}

/// Registers a descriptor with tokio for readability only.
///
/// # Errors
/// The error of the registration.
pub(crate) fn watch<T: Descriptor>(inner: T) -> io::Result<AsyncFd<T>> {
    // SAFETY: these types own their descriptor and always return the same one, and `AsyncFd` owns
    // them until it has deregistered it.
    let watched = unsafe { AsyncFd::register_with_interest(inner, Interest::READABLE) };
    watched.map_err(io::Error::from)
}

/// Owned descriptors, which never change while they live.
pub(crate) trait Descriptor: AsRawFd {}
impl Descriptor for OwnedFd {}
impl Descriptor for UdpSocket {}
