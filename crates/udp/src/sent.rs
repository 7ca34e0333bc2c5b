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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The limit has no room: wait before sending more.
    NoRoom,
    /// The kernel accepts no more although the limit has room
    /// ([`SocketIssue::BufferFull`](crate::SocketIssue::BufferFull)), or the first zero-copy
    /// datagram is in flight, and its notification gives the next id. Handle it as `NoRoom`.
    BufferFull,
    /// The kernel rejected this datagram, with this error number: `ENOBUFS` (dropped below),
    /// `EMSGSIZE`, `ENETUNREACH`, `EAFNOSUPPORT` (a source address of another family). The caller
    /// can send it again or skip it; those after it can be sent.
    Refused(i32),
}
