//! Events below the socket, for observers.

use std::net::SocketAddr;

use taut_dql::Stall;

use crate::account::Departure;
use crate::quality::CompletionQuality;

/// An event below the socket that a sender should handle. A plain socket reports only some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SocketIssue {
    /// `ENOBUFS`: a discipline or a device below had no room, and the datagram was dropped.
    NoBufferSpace {
        /// Its bytes on the wire.
        bytes: u32,
    },
    /// The kernel accepts no more although the limit has room. The send buffer is full (`EAGAIN`),
    /// or the memory for zero-copy notifications is (`net.core.optmem_max`). Also reported if the
    /// socket then doubled its buffer and sent the datagram.
    BufferFull {
        /// Bytes in flight at that time.
        in_flight_bytes: u32,
    },
    /// `EMSGSIZE`: a datagram exceeds the path MTU, at once or after it was sent.
    TooLarge {
        /// The path MTU in bytes, with the IP header; 0 if it was not reported.
        mtu_bytes: u32,
    },
    /// A peer's port is closed, or there is no route to it.
    Unreachable {
        /// `ECONNREFUSED`, `EHOSTUNREACH`, `ENETUNREACH`..
        errno: i32,
        /// The peer; `None` for the connected one if it was not reported.
        peer: Option<SocketAddr>,
    },
    /// Any other error of the socket.
    Failed {
        /// The error number.
        errno: i32,
    },
    /// The kernel rejected zero-copy: the next source is used from now on, or timestamps.
    ZeroCopyRefused,
    /// Completions were lost; the objects count as completed.
    CompletionsLost {
        /// The number of objects.
        objects: u32,
    },
    /// The oldest object is older than the threshold. Reported again while that lasts.
    Stalled(Stall),
    /// A clock went back while datagrams were in flight: once for each batch of them.
    ClockReversed,
    /// The quality of completions changed.
    QualityChanged(CompletionQuality),
}

/// The number of occurrences of each issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct IssueCounters {
    /// [`SocketIssue::NoBufferSpace`].
    pub no_buffer_space: u64,
    /// [`SocketIssue::BufferFull`].
    pub buffer_full: u64,
    /// [`SocketIssue::TooLarge`].
    pub too_large: u64,
    /// [`SocketIssue::Unreachable`].
    pub unreachable: u64,
    /// [`SocketIssue::Failed`].
    pub failed: u64,
    /// [`SocketIssue::ZeroCopyRefused`].
    pub zero_copy_refused: u64,
    /// [`SocketIssue::CompletionsLost`], in objects.
    pub completions_lost: u64,
    /// [`SocketIssue::Stalled`], each stall once.
    pub stalls: u64,
    /// [`SocketIssue::ClockReversed`].
    pub clock_reversals: u64,
}

impl IssueCounters {
    fn count(&mut self, issue: &SocketIssue) {
        let counter = match issue {
            SocketIssue::NoBufferSpace { .. } => &mut self.no_buffer_space,
            SocketIssue::BufferFull { .. } => &mut self.buffer_full,
            SocketIssue::TooLarge { .. } => &mut self.too_large,
            SocketIssue::Unreachable { .. } => &mut self.unreachable,
            SocketIssue::Failed { .. } => &mut self.failed,
            SocketIssue::ZeroCopyRefused => &mut self.zero_copy_refused,
            SocketIssue::ClockReversed => &mut self.clock_reversals,
            SocketIssue::CompletionsLost { objects } => {
                self.completions_lost += u64::from(*objects);
                return;
            }
            // The tracker counts these, each once.
            SocketIssue::Stalled(_) | SocketIssue::QualityChanged(_) => return,
        };
        *counter += 1;
    }

    /// Returns the issue for an error number of the socket.
    pub(crate) fn of_errno(errno: i32, peer: Option<SocketAddr>, mtu_bytes: u32) -> SocketIssue {
        match errno {
            libc::EMSGSIZE => SocketIssue::TooLarge { mtu_bytes },
            libc::ECONNREFUSED
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::ENONET
            | libc::ENETDOWN
            | libc::EACCES
            | libc::EPROTO
            | libc::ENOPROTOOPT => SocketIssue::Unreachable { errno, peer },
            errno => SocketIssue::Failed { errno },
        }
    }
}

/// Receives each departure and each issue.
///
/// Called while the socket is locked: it must not call the socket, and must return quickly.
pub trait Observer: Send {
    /// Receives the departure of a datagram.
    fn departed(&mut self, departure: &Departure) {
        let _ = departure;
    }

    /// Returns `true` if each datagram needs a timestamp of its own. Otherwise several datagrams of
    /// one call can share one, and depart together. Default: `true`.
    fn needs_each_timestamp(&self) -> bool {
        true
    }

    /// Receives an issue, such as a change of the quality.
    fn issue(&mut self, issue: &SocketIssue) {
        let _ = issue;
    }
}

/// A function that receives departures.
impl<F: FnMut(&Departure) + Send> Observer for F {
    fn departed(&mut self, departure: &Departure) {
        self(departure);
    }
}

/// Passes departures and issues to the user's observer, and counts issues.
#[derive(Default)]
pub(crate) struct Listeners {
    pub(crate) observer: Option<Box<dyn Observer>>,
    pub(crate) issues: IssueCounters,
}

impl Listeners {
    pub(crate) fn departed(&mut self, departure: &Departure) {
        if let Some(observer) = &mut self.observer {
            observer.departed(departure);
        }
    }

    pub(crate) fn issue(&mut self, issue: SocketIssue) {
        self.issues.count(&issue);
        if let Some(observer) = &mut self.observer {
            observer.issue(&issue);
        }
    }
}
