//! Where completions come from, and what to take where they tell nothing.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use super::State;
use super::numbers::Numbers;
use crate::account::Source;
use crate::error::failed;
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
    next_zero_copy: Option<u32>,
}

/// What a source needs before it can be used.
pub(crate) struct Ready {
    pub(crate) pool: Option<Pool>,
    /// `SOF_TIMESTAMPING_TX_*`; 0 when nothing is asked.
    pub(crate) stamps: u32,
    pub(crate) numbers: Numbers,
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
            self.order.push(Source::Stamps);
        }
        (self.at, self.rests) = (0, false);
    }

    /// What it tells is lost. The next takes its place; the level, if there is none.
    fn lose_current(&mut self) {
        let lost = self.current();
        self.order.retain(|&source| source != lost);
        if self.order.is_empty() {
            self.order.push(Source::Polled);
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
    /// Before something is sent: where completions have told nothing for long, the next source.
    pub(super) fn look_for_a_source(&mut self, socket: &UdpSocket) -> io::Result<()> {
        if !self.account.limits_nothing() {
            self.sources.wakes();
            return Ok(());
        }
        if !self.sources.must_move() || !self.account.tells_nothing(monotonic_ns()) {
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

    /// Most of what the source tells never comes: the next. Only where nothing is in flight.
    pub(super) fn leave_a_lost_source(&mut self, socket: &UdpSocket) -> io::Result<()> {
        if self.account.in_flight() > 0 {
            return Ok(());
        }
        let (level, option) = (libc::SOL_SOCKET, libc::SO_ZEROCOPY);
        if self.account.source() == Source::ZeroCopy
            && options::option(socket.as_fd(), level, option).is_ok_and(|on| on == 0)
        {
            return self.go_without_zero_copy(socket);
        }
        if !self.account.most_are_lost() || self.account.source() == Source::Polled {
            return Ok(());
        }
        self.sources.lose_current();
        self.take_source(socket)?;
        self.trouble(Trouble::Verdict(self.account.verdict()));
        Ok(())
    }

    fn keep_number(&mut self) {
        if self.account.source() == Source::ZeroCopy {
            self.sources.next_zero_copy = self.numbers.kernels(self.account.next_id());
        }
    }

    fn take_source(&mut self, socket: &UdpSocket) -> io::Result<()> {
        let source = self.sources.current();
        let Some(ready) = ready(source, socket, self.pool_bytes, self.entered_stamps)? else {
            return self.go_without_zero_copy(socket);
        };
        (self.pool, self.stamps) = (ready.pool, ready.stamps);
        // Used before, its number was kept.
        self.numbers = match self.sources.next_zero_copy {
            Some(_) => Numbers::new(true),
            None => ready.numbers,
        };
        let next_id = match source {
            Source::ZeroCopy => self.sources.next_zero_copy.unwrap_or(0),
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
