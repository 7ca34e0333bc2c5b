//! Sources of completions, and the choice of another if one shows nothing.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use crate::error::failed;
use crate::events::{Listeners, SocketIssue};
use crate::pool::Pool;
use crate::quality::Source;
use crate::socket_options::restart_stamp_ids;
use crate::sys::socket as options;

/// Default pages for zero-copy: more than any limit, twice 64 KB.
const POOL_BYTES: usize = 1 << 20;

/// The sources in the order in which they are tried, and the state of the current one.
pub(crate) struct Sources {
    order: Vec<Source>,
    at: usize,
    /// None of them showed a queue: the first is used, because it sees the most.
    pub(super) rests: bool,
    /// The id that the kernel assigns to the next zero-copy object of the socket.
    pub(super) next_zero_copy: Option<u32>,
    pub(crate) pool_bytes: usize,
    /// The kernel accepts our ids for timestamps.
    pub(crate) own_ids: bool,
    pub(super) pool: Option<Pool>,
    pub(super) ids: ZeroCopyIds,
}

impl Sources {
    /// Returns the default source, which is not turned on.
    pub(crate) fn new() -> Self {
        Self {
            order: vec![Source::Timestamps],
            at: 0,
            rests: false,
            next_zero_copy: None,
            pool_bytes: POOL_BYTES,
            own_ids: true,
            pool: None,
            ids: ZeroCopyIds::new(true),
        }
    }

    /// Replaces all sources.
    pub(crate) fn set(&mut self, only: Source) {
        self.order = vec![only];
    }

    /// Adds a source, unless it is among them.
    pub(crate) fn add(&mut self, source: Source) {
        if !self.order.contains(&source) {
            self.order.push(source);
        }
    }

    /// Returns the current source.
    pub(crate) fn current(&self) -> Source {
        self.order.get(self.at).copied().unwrap_or_default()
    }

    /// Removes a source that does not work, and selects the first one left. Adds `last` if none is
    /// left.
    pub(super) fn remove(&mut self, source: Source, last: Source) {
        self.order.retain(|&it| it != source);
        if self.order.is_empty() {
            self.order.push(last);
        }
        (self.at, self.rests) = (0, false);
    }

    /// Returns `true` if the current source has shown no queue and there is another to try.
    pub(super) fn must_move(&self) -> bool {
        self.order.len() > 1 && !self.rests
    }

    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1) % self.order.len();
        self.rests = self.at == 0;
    }

    /// Turns the current source on for `socket`, or the next one if the kernel rejects zero-copy.
    pub(crate) fn turn_on(
        &mut self,
        socket: &UdpSocket,
        listeners: &mut Listeners,
    ) -> io::Result<()> {
        let mut was_on = false;
        if self.current() == Source::ZeroCopy {
            let (level, option) = (libc::SOL_SOCKET, libc::SO_ZEROCOPY);
            // If it was on, another user might have sent, and the kernel continues its ids.
            was_on = options::option(socket.as_fd(), level, option).is_ok_and(|on| on != 0);
            if options::set_option(socket.as_fd(), level, option, 1).is_err() {
                self.reject_zero_copy(listeners);
            }
        }
        let pool = match self.current() {
            Source::ZeroCopy => {
                let pages = Pool::new(self.pool_bytes);
                Some(pages.map_err(|error| failed("mmap of pool_bytes", &error))?)
            }
            Source::Timestamps => {
                restart_stamp_ids(socket)?;
                None
            }
            Source::Polled => None,
        };
        // Only now: after an error the source is still the old one, which might need its pool.
        self.pool = pool;
        // If zero-copy was used before, its id was kept.
        self.ids = ZeroCopyIds::new(!was_on || self.next_zero_copy.is_some());
        Ok(())
    }

    /// Removes zero-copy, which the kernel rejected.
    pub(super) fn reject_zero_copy(&mut self, listeners: &mut Listeners) {
        listeners.issue(SocketIssue::ZeroCopyRefused);
        self.remove(Source::ZeroCopy, Source::Timestamps);
    }
}

/// The kernel's ids of zero-copy sends, which start with the socket and not with its wrapper.
#[derive(Debug)]
pub(super) struct ZeroCopyIds {
    /// The kernel's id less ours.
    ahead: u32,
    pub(super) are_known: bool,
}

impl ZeroCopyIds {
    /// `are_known` if no zero-copy send is possible before: both ids are then equal.
    fn new(are_known: bool) -> Self {
        Self {
            ahead: 0,
            are_known,
        }
    }

    /// Returns the kernel's id for one of ours, if it is known.
    pub(super) fn kernels(&self, ours: u32) -> Option<u32> {
        self.are_known.then(|| ours.wrapping_add(self.ahead))
    }

    /// Converts a range (first, last) of the kernel's ids to ours. Also returns whether it has
    /// unknown ids: another user has then sent as well, and `newest`, our last one, has at least
    /// that id.
    pub(super) fn ours(
        &mut self,
        (first, last): (u32, u32),
        newest: u32,
        in_flight: bool,
    ) -> ((u32, u32), bool) {
        let beyond = last.wrapping_sub(self.ahead).wrapping_sub(newest);
        let is_beyond = beyond != 0 && beyond <= i32::MAX as u32;
        let is_unknown = is_beyond && self.are_known;
        if is_beyond || !self.are_known {
            self.ahead = last.wrapping_sub(newest);
            self.are_known |= in_flight;
        }
        let ours = |id: u32| id.wrapping_sub(self.ahead);
        ((ours(first), ours(last)), is_unknown)
    }
}
