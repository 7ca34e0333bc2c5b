//! The result of a send call.

use std::io;
use std::ops::ControlFlow;

/// The result of a send call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "what was not sent is still the caller's"]
#[non_exhaustive]
pub struct Sent {
    /// Number of objects ([`Datagram`](crate::Datagram) values) that the kernel accepted, from the
    /// first on.
    pub count: usize,
    /// The id of the first object, as in [`Departure::id`](crate::Departure::id). The ids of the
    /// others follow, except for ids that the kernel assigned to dropped objects.
    pub first: u32,
    /// Why the next object was not accepted; `None` if all were.
    pub stop: Option<Stop>,
    /// There was no [`next_wakeup`](crate::LimitedUdp::next_wakeup) before the call: set a timer to
    /// it.
    pub was_idle: bool,
}

impl Sent {
    /// Adds the result of a call with the remaining datagrams to those of earlier calls. Breaks
    /// with the result for the caller, unless there was no room for some datagrams.
    pub(crate) fn extend(
        earlier: &mut Option<Self>,
        next: io::Result<Self>,
    ) -> ControlFlow<io::Result<Self>> {
        let mut all = match (next, *earlier) {
            (Ok(next), None) => next,
            (Ok(next), Some(all)) => Self {
                count: all.count + next.count,
                was_idle: all.was_idle | next.was_idle,
                stop: next.stop,
                first: all.first,
            },
            (Err(_), Some(all)) if all.count > 0 => return ControlFlow::Break(Ok(all)),
            (Err(error), _) => return ControlFlow::Break(Err(error)),
        };
        if !matches!(all.stop, Some(Stop::NoRoom | Stop::BufferFull)) {
            return ControlFlow::Break(Ok(all));
        }
        // An error of the next call ends with this.
        all.stop = Some(Stop::NoRoom);
        *earlier = Some(all);
        ControlFlow::Continue(())
    }
}

/// The reason why an object was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The limit has no room: wait before sending more.
    #[error("the limit has no room")]
    NoRoom,
    /// The kernel accepts no more although the limit has room
    /// ([`SocketIssue::BufferFull`](crate::SocketIssue::BufferFull)), or the first zero-copy
    /// datagram is in flight, and its notification gives the next id. Handle it as `NoRoom`.
    #[error("the kernel has no room")]
    BufferFull,
    /// The kernel rejected this datagram, with this error number. The caller can send it again or
    /// skip it; those after it can be sent. Frequent numbers:
    ///
    /// - `ENOBUFS`: dropped below the socket.
    /// - `EMSGSIZE`: longer than the path allows.
    /// - `ENETUNREACH`: no route.
    /// - `EAFNOSUPPORT`: a source address of another family.
    /// - `EDESTADDRREQ`: no destination, and the socket is not connected.
    /// - `EINVAL`: port 0, or too many segments.
    #[error("the kernel rejected the datagram: {}", io::Error::from_raw_os_error(*.0))]
    Refused(i32),
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};

    use super::*;
    use crate::{Datagram, LimitedUdp};

    #[test]
    fn reason_has_the_text_of_the_error_number() {
        let text = Stop::Refused(libc::EMSGSIZE).to_string();
        assert_eq!(
            text,
            "the kernel rejected the datagram: Message too long (os error 90)"
        );
        assert_eq!(Stop::NoRoom.to_string(), "the limit has no room");
    }

    #[test]
    fn invalid_destinations_and_segments_have_numbers() {
        let bind = || UdpSocket::bind(("127.0.0.1", 0)).expect("socket");
        let to = bind().local_addr().expect("address");
        let no_port = SocketAddr::new(to.ip(), 0);
        let hello = Datagram::new(b"hello");
        for (datagram, errno) in [
            (hello, libc::EDESTADDRREQ),
            (hello.to(no_port), libc::EINVAL),
            (Datagram::new(&[0; 1_000]).to(to).segmented(1), libc::EINVAL),
        ] {
            let socket = LimitedUdp::new(bind()).expect("limited");
            let sent = socket.send(&[datagram]).expect("sends");
            assert_eq!(sent.stop, Some(Stop::Refused(errno)));
        }
    }
}
