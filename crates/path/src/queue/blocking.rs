//! Calls of the sending half that wait for room.

use std::thread;

use super::admission::Admission;
use super::outcome::Stop;
use super::sender::Sender;
use crate::driver::TxRing;
use crate::packet::PacketSink;
use crate::probe::Probe;
use crate::qdisc::Qdisc;

impl<R: TxRing, Q: Qdisc, P: Probe, A: Admission> Sender<R, Q, P, A> {
    /// Runs until no packet is ready. While the limit or the ring has no room, it parks this
    /// thread, which the completer wakes; the waker of the queue is not needed. `now_ns` is the
    /// clock, read before each run. Needs feature `std`.
    ///
    /// It never returns [`Stop::Limit`] or [`Stop::RingFull`]. While completions stall it does not
    /// return, until the queue is reset or the completer is dropped.
    pub fn run_blocking<S: PacketSink + ?Sized>(
        &mut self,
        mut now_ns: impl FnMut() -> u64,
        sink: &mut S,
    ) -> Stop<R::Error> {
        loop {
            match self.run(now_ns(), sink) {
                Stop::Limit | Stop::RingFull => {
                    // First, because the completer can wake this thread as soon as it waits.
                    self.shared.room.replace_parked(Some(thread::current()));
                    if self.must_wait() {
                        thread::park();
                    }
                }
                stop => return stop,
            }
        }
    }
}
