//! Where completions come from, and what to take where they tell nothing.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use super::State;
use crate::account::Source;
use crate::events::Trouble;
use crate::pool::Pool;
use crate::sys::clock::monotonic_ns;
use crate::sys::socket as options;

/// Sources, in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct Sources {
    order: Vec<Source>,
    at: usize,
    /// None of them told anything: the first is watched, for it is meant to see the most.
    rests: bool,
    /// The number that the kernel gives the next zero-copy object of the socket.
    next_zero_copy: u32,
}

/// What a source needs before it can be used.
pub(crate) struct Ready {
    pub(crate) pool: Option<Pool>,
    /// `SOF_TIMESTAMPING_TX_*`; 0 when nothing is asked.
    pub(crate) stamps: u32,
}

impl Sources {
    pub(crate) fn new(order: Vec<Source>) -> Self {
        Self {
            order,
            at: 0,
            rests: false,
            next_zero_copy: 0,
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
            self.order.push(Source::Stamps);
        }
        (self.at, self.rests) = (0, false);
    }

    /// Whether the one in use has told nothing and there is another to try.
    fn must_move(&self) -> bool {
        self.order.len() > 1 && !self.rests
    }

    fn advance(&mut self) {
        self.at = (self.at + 1) % self.order.len();
        self.rests = self.at == 0;
    }

    /// The one in use tells something, so that what comes after it may be tried again later.
    fn wakes(&mut self) {
        self.rests = false;
    }
}

/// Turns `source` on for `socket`; `None` if the kernel gives no zero-copy.
pub(crate) fn ready(
    source: Source,
    socket: &UdpSocket,
    pool_bytes: usize,
    entered_stamps: bool,
) -> io::Result<Option<Ready>> {
    let mut ready = Ready {
        pool: None,
        stamps: 0,
    };
    match source {
        Source::ZeroCopy => {
            let (level, option) = (libc::SOL_SOCKET, libc::SO_ZEROCOPY);
            if options::set_option(socket.as_fd(), level, option, 1).is_err() {
                return Ok(None);
            }
            ready.pool = Some(Pool::new(pool_bytes)?);
        }
        Source::Stamps => {
            crate::socket::restart_stamp_ids(socket)?;
            ready.stamps = libc::SOF_TIMESTAMPING_TX_SOFTWARE;
            if entered_stamps {
                ready.stamps |= libc::SOF_TIMESTAMPING_TX_SCHED;
            }
        }
        Source::Polled => {}
    }
    Ok(Some(ready))
}

impl State {
    /// Before something is sent: where completions have proved to tell nothing, the next source.
    pub(super) fn look_for_a_source(&mut self, socket: &UdpSocket) -> io::Result<()> {
        if !self.account.limits_nothing() {
            self.sources.wakes();
            return Ok(());
        }
        if !self.sources.must_move() {
            return Ok(());
        }
        // Nothing may be in flight: its news would have numbers of the old source.
        self.complete(socket)?;
        if self.account.in_flight() > 0 || !self.account.limits_nothing() {
            return Ok(());
        }
        self.keep_number();
        self.sources.advance();
        self.take_source(socket)
    }

    /// The kernel gives no zero-copy, and nothing is in flight.
    pub(super) fn go_without_zero_copy(&mut self, socket: &UdpSocket) -> io::Result<()> {
        self.trouble(Trouble::ZeroCopyRefused);
        self.sources.refuse_zero_copy();
        self.take_source(socket)
    }

    fn keep_number(&mut self) {
        if self.account.source() == Source::ZeroCopy {
            self.sources.next_zero_copy = self.account.next_id();
        }
    }

    fn take_source(&mut self, socket: &UdpSocket) -> io::Result<()> {
        let source = self.sources.current();
        let Some(ready) = ready(source, socket, self.pool_bytes, self.entered_stamps)? else {
            return self.go_without_zero_copy(socket);
        };
        (self.pool, self.stamps) = (ready.pool, ready.stamps);
        let next_id = match source {
            Source::ZeroCopy => self.sources.next_zero_copy,
            // The kernel counts stamps from 0 since they were turned on, if it is the one who counts.
            Source::Stamps if !self.own_ids => 0,
            _ => self.account.next_id(),
        };
        let rests = self.sources.rests;
        self.account
            .change_source(source, next_id, rests, monotonic_ns());
        self.looks_from = self.account.totals().sent_objects;
        self.looks_in = 0;
        Ok(())
    }
}
