//! Sources of completions, and the choice of another if one shows nothing.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use super::numbers::Numbers;
use crate::account::Source;
use crate::error::failed;
use crate::pool::Pool;
use crate::socket_options::restart_stamp_ids;
use crate::sys::socket as options;

/// Sources, in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct Sources {
    order: Vec<Source>,
    at: usize,
    /// None of them showed a queue: the first is used, because it sees the most.
    pub(super) rests: bool,
    /// The id that the kernel assigns to the next zero-copy object of the socket.
    pub(super) next_zero_copy: Option<u32>,
}

impl Sources {
    pub(crate) fn new(only: Source) -> Self {
        Self {
            order: vec![only],
            at: 0,
            rests: false,
            next_zero_copy: None,
        }
    }

    /// Adds a source, unless it is among them.
    pub(crate) fn push(&mut self, source: Source) {
        if !self.order.contains(&source) {
            self.order.push(source);
        }
    }

    /// Returns the current source.
    pub(crate) fn current(&self) -> Source {
        self.order.get(self.at).copied().unwrap_or_default()
    }

    /// Handles rejected zero-copy: selects the next source, or timestamps if it was the last.
    pub(crate) fn refuse_zero_copy(&mut self) {
        self.order.retain(|&source| source != Source::ZeroCopy);
        if self.order.is_empty() {
            self.order.push(Source::Timestamps);
        }
        (self.at, self.rests) = (0, false);
    }

    /// Handles lost completions: selects the next source, or the level if it was the last.
    pub(super) fn lose_current(&mut self) {
        let lost = self.current();
        self.order.retain(|&source| source != lost);
        if self.order.is_empty() {
            self.order.push(Source::Polled);
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

    /// The current source shows a queue, so the next ones can be tried again later.
    pub(super) fn wakes(&mut self) {
        self.rests = false;
    }
}

/// Default pages for zero-copy: more than any limit, twice 64 KB.
const POOL_BYTES: usize = 1 << 20;

/// The current source and its state.
pub(crate) struct SourceInUse {
    pub(crate) order: Sources,
    pub(crate) pool_bytes: usize,
    pub(crate) own_ids: bool,
    pub(super) pool: Option<Pool>,
    /// `SOF_TIMESTAMPING_TX_*`; 0 without a request.
    pub(super) stamps: u32,
    pub(super) numbers: Numbers,
}

impl SourceInUse {
    /// Returns the default source, which is not turned on.
    pub(crate) fn new() -> Self {
        Self {
            order: Sources::new(Source::Timestamps),
            pool_bytes: POOL_BYTES,
            own_ids: true,
            pool: None,
            stamps: 0,
            numbers: Numbers::new(true),
        }
    }

    pub(crate) fn current(&self) -> Source {
        self.order.current()
    }

    /// Turns the current source on for `socket`. Returns `false` if the kernel rejects zero-copy.
    pub(crate) fn turn_on(&mut self, socket: &UdpSocket) -> io::Result<bool> {
        let (mut pool, mut stamps, mut was_on) = (None, 0, false);
        match self.current() {
            Source::ZeroCopy => {
                let (level, option) = (libc::SOL_SOCKET, libc::SO_ZEROCOPY);
                // If it was on, another user might have sent, and the kernel continues its ids.
                was_on = options::option(socket.as_fd(), level, option).is_ok_and(|on| on != 0);
                if options::set_option(socket.as_fd(), level, option, 1).is_err() {
                    return Ok(false);
                }
                let pages = Pool::new(self.pool_bytes);
                pool = Some(pages.map_err(|error| failed("mmap of pool_bytes", &error))?);
            }
            Source::Timestamps => {
                restart_stamp_ids(socket)?;
                stamps = libc::SOF_TIMESTAMPING_TX_SOFTWARE;
            }
            Source::Polled => {}
        }
        (self.pool, self.stamps) = (pool, stamps);
        // If zero-copy was used before, its id was kept.
        self.numbers = Numbers::new(!was_on || self.order.next_zero_copy.is_some());
        Ok(true)
    }
}
