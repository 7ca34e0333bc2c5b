//! What happens below the socket, for whoever wants to hear of it.

use std::net::SocketAddr;

use taut_dql::Stall;

use crate::account::Departure;
use crate::quality::CompletionQuality;

/// Something that a sender should know, and that a plain socket tells nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SocketIssue {
    /// `ENOBUFS`: a discipline or a device below had no room, and the datagram was dropped.
    NoBufferSpace {
        /// Its bytes on the wire.
        bytes: u32,
    },
    /// The kernel takes no more although the limit has room: the send buffer is full (`EAGAIN`;
    /// told also when it is then doubled and the datagram sent), or of zero-copy sends, the memory
    /// for their notifications (`net.core.optmem_max`).
    BufferFull {
        /// Bytes in flight then.
        in_flight_bytes: u32,
    },
    /// `EMSGSIZE`: a datagram is longer than the path, or one that was sent proved to be.
    TooLarge {
        /// The largest packet that passes, in bytes with its IP header; 0 if that was not told.
        mtu_bytes: u32,
    },
    /// A peer's port is closed, or there is no way to it.
    Unreachable {
        /// `ECONNREFUSED`, `EHOSTUNREACH`, `ENETUNREACH`..
        errno: i32,
        /// The peer; `None` for the one that the socket is connected to, where it was not told.
        peer: Option<SocketAddr>,
    },
    /// Any other error of the socket.
    Failed {
        /// The error number.
        errno: i32,
    },
    /// The kernel gave no zero-copy: the next source from here on, or transmit stamps.
    ZeroCopyRefused,
    /// Completions that never came, made up for.
    CompletionsLost {
        /// Of how many objects.
        objects: u32,
    },
    /// The oldest object is older than the threshold. Told again while it lasts.
    Stalled(Stall),
    /// What completions are worth changed.
    QualityChanged(CompletionQuality),
}

/// How often each issue was met.
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
}

impl IssueCounters {
    pub(crate) fn count(&mut self, issue: &SocketIssue) {
        let counter = match issue {
            SocketIssue::NoBufferSpace { .. } => &mut self.no_buffer_space,
            SocketIssue::BufferFull { .. } => &mut self.buffer_full,
            SocketIssue::TooLarge { .. } => &mut self.too_large,
            SocketIssue::Unreachable { .. } => &mut self.unreachable,
            SocketIssue::Failed { .. } => &mut self.failed,
            SocketIssue::ZeroCopyRefused => &mut self.zero_copy_refused,
            SocketIssue::CompletionsLost { objects } => {
                self.completions_lost += u64::from(*objects);
                return;
            }
            // Counted by the tracker, each once.
            SocketIssue::Stalled(_) | SocketIssue::QualityChanged(_) => return,
        };
        *counter += 1;
    }

    /// The issue that an error number of the socket means.
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

/// Hears of each departure and of each issue.
///
/// Called while the socket is locked: it must not call the socket, and should be quick.
pub trait Observer: Send {
    /// A datagram is done.
    fn departed(&mut self, departure: &Departure) {
        let _ = departure;
    }

    /// Something went wrong, or the verdict changed.
    fn issue(&mut self, issue: &SocketIssue) {
        let _ = issue;
    }
}

/// A function that hears of departures.
impl<F: FnMut(&Departure) + Send> Observer for F {
    fn departed(&mut self, departure: &Departure) {
        self(departure);
    }
}
