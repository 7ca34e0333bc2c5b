//! Where completions come from, and what to take where they tell nothing.

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
    /// None of them told anything: the first is watched, for it is meant to see the most.
    pub(super) rests: bool,
    /// The number that the kernel gives the next zero-copy object of the socket.
    pub(super) next_zero_copy: Option<u32>,
}

impl Sources {
    pub(crate) fn new(order: Vec<Source>) -> Self {
        Self {
            order,
            at: 0,
            rests: false,
            next_zero_copy: None,
        }
    }

    /// The one in use.
    pub(crate) fn current(&self) -> Source {
        self.order.get(self.at).copied().unwrap_or_default()
    }

    /// The kernel gives no zero-copy. The next takes its place; stamps, if there is none.
    pub(crate) fn refuse_zero_copy(&mut self) {
        self.order.retain(|&source| source != Source::ZeroCopy);
        if self.order.is_empty() {
            self.order.push(Source::Timestamps);
        }
        (self.at, self.rests) = (0, false);
    }

    /// What it tells is lost. The next takes its place; the level, if there is none.
    pub(super) fn lose_current(&mut self) {
        let lost = self.current();
        self.order.retain(|&source| source != lost);
        if self.order.is_empty() {
            self.order.push(Source::Polled);
        }
        (self.at, self.rests) = (0, false);
    }

    /// Whether the one in use has told nothing and there is another to try.
    pub(super) fn must_move(&self) -> bool {
        self.order.len() > 1 && !self.rests
    }

    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1) % self.order.len();
        self.rests = self.at == 0;
    }

    /// The one in use tells something, so that what comes after it may be tried again later.
    pub(super) fn wakes(&mut self) {
        self.rests = false;
    }
}

/// What a source needs before it can be used.
pub(crate) struct Ready {
    pub(crate) pool: Option<Pool>,
    /// `SOF_TIMESTAMPING_TX_*`; 0 when nothing is asked.
    pub(crate) stamps: u32,
    pub(crate) numbers: Numbers,
}

/// The source in use, with what it needs.
pub(crate) struct SourceInUse {
    pub(super) order: Sources,
    pub(super) pool_bytes: usize,
    pub(super) sched_timestamps: bool,
    pub(super) own_ids: bool,
    pub(super) pool: Option<Pool>,
    /// `SOF_TIMESTAMPING_TX_*`; 0 when nothing is asked.
    pub(super) stamps: u32,
    pub(super) numbers: Numbers,
}

impl SourceInUse {
    pub(crate) fn new(
        order: Sources,
        ready: Ready,
        pool_bytes: usize,
        sched_timestamps: bool,
        own_ids: bool,
    ) -> Self {
        Self {
            order,
            pool_bytes,
            sched_timestamps,
            own_ids,
            pool: ready.pool,
            stamps: ready.stamps,
            numbers: ready.numbers,
        }
    }

    pub(crate) fn current(&self) -> Source {
        self.order.current()
    }
}

/// Turns `source` on for `socket`; `None` if the kernel gives no zero-copy.
pub(crate) fn ready(
    source: Source,
    socket: &UdpSocket,
    pool_bytes: usize,
    sched_timestamps: bool,
) -> io::Result<Option<Ready>> {
    let mut ready = Ready {
        pool: None,
        stamps: 0,
        numbers: Numbers::new(true),
    };
    match source {
        Source::ZeroCopy => {
            let (level, option) = (libc::SOL_SOCKET, libc::SO_ZEROCOPY);
            // Where it was on, somebody may have sent, and the kernel counts on.
            let was_on = options::option(socket.as_fd(), level, option).is_ok_and(|on| on != 0);
            ready.numbers = Numbers::new(!was_on);
            if options::set_option(socket.as_fd(), level, option, 1).is_err() {
                return Ok(None);
            }
            ready.pool =
                Some(Pool::new(pool_bytes).map_err(|error| failed("mmap of pool_bytes", &error))?);
        }
        Source::Timestamps => {
            restart_stamp_ids(socket)?;
            ready.stamps = libc::SOF_TIMESTAMPING_TX_SOFTWARE;
            if sched_timestamps {
                ready.stamps |= libc::SOF_TIMESTAMPING_TX_SCHED;
            }
        }
        Source::Polled => {}
    }
    Ok(Some(ready))
}
