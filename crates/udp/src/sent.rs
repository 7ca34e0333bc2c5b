//! The result of a send call.

/// The result of a send call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "what was not sent is still the caller's"]
#[non_exhaustive]
pub struct Sent {
    /// Number of datagrams that the kernel accepted, from the first on.
    pub count: usize,
    /// The id of the first of them, as in [`Departure::id`](crate::Departure::id). The others
    /// follow, except for ids that the kernel assigned to dropped datagrams.
    pub first: u32,
    /// Why the next one was not accepted; `None` if all were.
    pub stop: Option<Stop>,
    /// There was no [`next_wakeup`](crate::LimitedUdp::next_wakeup) before the call: set a timer to
    /// it.
    pub was_idle: bool,
}

impl Sent {
    pub(crate) fn all(first: u32, count: usize) -> Self {
        Self {
            count,
            first,
            stop: None,
            was_idle: false,
        }
    }

    /// Adds the result of a later call with the remaining datagrams.
    pub(crate) fn extend(&mut self, next: &Self) {
        self.count += next.count;
        self.was_idle |= next.was_idle;
        self.stop = next.stop;
    }

    pub(crate) fn stopped(first: u32, count: usize, stop: Stop) -> Self {
        Self {
            count,
            first,
            stop: Some(stop),
            was_idle: false,
        }
    }
}

/// Why a datagram was not sent.
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
