//! What a call to send returns.

/// What became of a call to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "what was not sent is still the caller's"]
#[non_exhaustive]
pub struct Sent {
    /// How many of the datagrams, from the first on, the kernel took.
    pub count: usize,
    /// The number of the first of them, as [`Departure::id`](crate::Departure::id) has it; the
    /// others follow, but for numbers that the kernel gave to datagrams it dropped.
    pub first: u32,
    /// Why the one after them was not taken; `None` if all were.
    pub stop: Option<Stop>,
    /// There was no [`next_wakeup`](crate::LimitedUdp::next_wakeup) before the call: set a timer
    /// to it.
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
    /// The limit has no room: wait, and send what there is then.
    NoRoom,
    /// The kernel takes no more although the limit has room
    /// ([`SocketIssue::BufferFull`](crate::SocketIssue::BufferFull)), or the completion of the
    /// first zero-copy datagram is awaited, which shows how the kernel counts. Handle it as
    /// `NoRoom`.
    BufferFull,
    /// The kernel refuses this datagram, with this error number: `ENOBUFS` (dropped below),
    /// `EMSGSIZE`, `ENETUNREACH`, `EAFNOSUPPORT` (a source address of the wrong family).. It is the
    /// caller's to send it again or to leave it out; those after it can be sent.
    Refused(i32),
}
