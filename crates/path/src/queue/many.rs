//! Several sending threads in front of one transmit queue.
//!
//! A bounded ring takes packets from any number of [`Submitter`]s, each on a thread of its own. The
//! thread that owns the queue has the [`Intake`], which moves them on into the discipline: the only
//! place where packets should wait, so the ring can be short. What one submitter hands in stays in
//! order.
//!
//! Both sides can sleep, and neither misses the other: each submitter that may sleep has a
//! [`Waiter`] with a gate of its own, and the intake has one for work. Back-pressure goes up: a
//! discipline that is full leaves the packets in the ring, and a ring that is full gives a packet
//! back as [`NoRoom`].

use alloc::sync::Arc;
use core::fmt;
use core::task::Waker;

use concurrent_queue::{ConcurrentQueue, PushError};
use taut_dql::sync::{AtomicU32, Ordering, fence};

use super::{Admission, NoRoom, Sender, Stop};
use crate::driver::TxRing;
use crate::gate::Gate;
use crate::packet::{DropReason, Packet, PacketSink};
use crate::probe::Probe;
use crate::qdisc::Qdisc;
use crate::room::RoomWaker;

#[cfg(all(test, loom))]
mod models;

/// Why a packet was not taken; it comes back.
#[derive(Debug, PartialEq, Eq)]
pub enum SubmitError {
    /// The ring is full; [`Waiter::must_wait`] tells when to try again.
    NoRoom(NoRoom),
    /// The owner of the queue takes no more.
    Closed(Packet),
}

impl SubmitError {
    /// The packet.
    pub fn into_packet(self) -> Packet {
        match self {
            Self::NoRoom(NoRoom(packet)) | Self::Closed(packet) => packet,
        }
    }
}

impl fmt::Display for SubmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom(_) => f.write_str("no buffer space: the ring of the submitters is full"),
            Self::Closed(_) => f.write_str("the queue is closed"),
        }
    }
}

impl core::error::Error for SubmitError {}

/// What all submitters and the intake see.
struct ManyShared {
    ring: ConcurrentQueue<Packet>,
    /// Wakes the owner, which waits for work.
    work: RoomWaker,
    /// Submitters that may be asleep, the one that has waited longest first.
    sleepers: ConcurrentQueue<Arc<Sleeper>>,
    /// Sleepers that are gone and still have a place.
    gone: AtomicU32,
    wakeups: AtomicU32,
}

/// Not among the sleepers.
const UNLISTED: u32 = 0;
/// Among the sleepers; there at most once.
const LISTED: u32 = 1;
/// Among the sleepers, and its [`Waiter`] is gone.
const GONE: u32 = 2;

/// One submitter that may sleep.
struct Sleeper {
    gate: Gate,
    place: AtomicU32,
    waker: Waker,
}

impl ManyShared {
    fn has_room(&self) -> bool {
        // A closed ring is no reason to sleep either.
        !self.ring.is_full() || self.ring.is_closed()
    }

    /// After room was made for so many: wakes as many that sleep, all if the ring is empty now or
    /// closed. Those who are left are woken when the rest is taken.
    fn wake(&self, freed: usize) {
        fence(Ordering::SeqCst);
        let mut left = if self.ring.is_empty() || self.ring.is_closed() {
            usize::MAX
        } else {
            freed
        };
        while left > 0
            && let Ok(sleeper) = self.sleepers.pop()
        {
            // Sees the gate closed by whoever found itself listed still.
            if self.unlist(&sleeper) {
                left -= 1;
            }
        }
    }

    /// For whoever took `sleeper` from its place. Returns whether that woke somebody.
    fn unlist(&self, sleeper: &Sleeper) -> bool {
        if sleeper.place.swap(UNLISTED, Ordering::AcqRel) == GONE {
            self.gone.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        let opened = sleeper.gate.open_if(|| true);
        if opened {
            self.wakeups.fetch_add(1, Ordering::Relaxed);
            sleeper.waker.wake_by_ref();
        }
        opened
    }

    /// Wakes one that sleeps if there is room: somebody who was to be woken for it may have missed
    /// that, or not use it.
    fn pass_on(&self) {
        fence(Ordering::SeqCst);
        if self.has_room() {
            self.wake(1);
        }
    }

    /// Frees the places of those who are gone; the others keep their order.
    fn clear_gone(&self) {
        for _ in 0..self.sleepers.len() {
            let Ok(sleeper) = self.sleepers.pop() else {
                break;
            };
            if sleeper.place.load(Ordering::Acquire) == GONE {
                self.unlist(&sleeper);
            } else if let Err(error) = self.sleepers.push(sleeper) {
                // Another took its place meanwhile, so it comes back for a new one.
                self.unlist(&error.into_inner());
            }
        }
        // The owner did not see those who were out of their places.
        self.pass_on();
    }
}

/// Makes a ring for `capacity_packets` packets (at least 1) in front of a queue, for at most
/// `sleepers` waiters at a time. `waker` wakes the owner when it waits for work; the queue's own
/// waker, for room, may be the same.
pub fn split(capacity_packets: u32, sleepers: u32, waker: Waker) -> (Submitter, Intake) {
    let shared = Arc::new(ManyShared {
        ring: ConcurrentQueue::bounded(capacity_packets.max(1) as usize),
        work: RoomWaker::new(waker),
        sleepers: ConcurrentQueue::bounded(sleepers.max(1) as usize),
        gone: AtomicU32::new(0),
        wakeups: AtomicU32::new(0),
    });
    let intake = Intake {
        shared: shared.clone(),
        held: None,
    };
    (Submitter { shared }, intake)
}

/// Hands packets in. Each thread has a clone of its own, or all share one.
pub struct Submitter {
    shared: Arc<ManyShared>,
}

impl Clone for Submitter {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl Submitter {
    /// Hands in `packet`, and wakes the owner if it waits for work. Any thread may.
    ///
    /// # Errors
    /// [`SubmitError`] gives the packet back.
    pub fn offer(&self, packet: Packet) -> Result<(), SubmitError> {
        self.shared.ring.push(packet).map_err(|error| match error {
            PushError::Full(packet) => SubmitError::NoRoom(NoRoom(packet)),
            PushError::Closed(packet) => SubmitError::Closed(packet),
        })?;
        self.shared.work.notify(|| true);
        Ok(())
    }

    /// A place to wait for room, woken through `waker`. One for each thread that may sleep.
    pub fn waiter(&self, waker: Waker) -> Waiter {
        let sleeper = Arc::new(Sleeper {
            gate: Gate::new(),
            place: AtomicU32::new(UNLISTED),
            waker,
        });
        Waiter {
            shared: self.shared.clone(),
            sleeper,
        }
    }

    /// Packets that were handed in and not taken out yet, for whoever watches.
    pub fn waiting_packets(&self) -> usize {
        self.shared.ring.len()
    }

    /// Whether the owner takes no more.
    pub fn is_closed(&self) -> bool {
        self.shared.ring.is_closed()
    }
}

/// One thread's place to wait for room. Dropping it frees the place, and a wake-up that it does not
/// use goes to another.
pub struct Waiter {
    shared: Arc<ManyShared>,
    sleeper: Arc<Sleeper>,
}

impl Waiter {
    /// For a submitter that found no room: asks for a wake-up. Returns whether to sleep; false if
    /// there is room after all, the queue is closed, or more wait already than were announced. One
    /// wake-up may come for nothing.
    pub fn must_wait(&mut self) -> bool {
        self.sleeper.gate.close_unless(|| {
            let listed = self.list();
            // Between the list and the look, as between the gate and the look.
            fence(Ordering::SeqCst);
            !listed || self.shared.has_room()
        })
    }

    /// Gets among the sleepers, with the gate closed already.
    fn list(&self) -> bool {
        if self.sleeper.place.swap(LISTED, Ordering::AcqRel) == LISTED {
            return true;
        }
        let listed = self.push() || {
            let some_gone = self.shared.gone.load(Ordering::Acquire) > 0;
            some_gone && {
                self.shared.clear_gone();
                self.push()
            }
        };
        if !listed {
            self.sleeper.place.store(UNLISTED, Ordering::Release);
        }
        listed
    }

    fn push(&self) -> bool {
        self.shared.sleepers.push(self.sleeper.clone()).is_ok()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let place = &self.sleeper.place;
        let left = place.compare_exchange(LISTED, GONE, Ordering::AcqRel, Ordering::Acquire);
        if left.is_ok() {
            self.shared.gone.fetch_add(1, Ordering::Release);
        }
        // It may have been woken for room that it does not use now.
        self.shared.pass_on();
    }
}

/// The owner's end: takes packets out. Dropping it closes the ring and drops the packets that are
/// still in it, and their frames with them: [`flush`](Self::flush) passes them to a sink.
pub struct Intake {
    shared: Arc<ManyShared>,
    /// Taken out, and the discipline had no room for it.
    held: Option<Packet>,
}

impl Intake {
    /// Moves packets into the discipline while it has room. A packet that does not even fit into an
    /// empty discipline is dropped there, with the reason. Returns how many left the ring for good.
    pub fn drain<R, S: PacketSink + ?Sized>(
        &mut self,
        sender: &mut Sender<R, impl Qdisc, impl Probe, impl Admission>,
        now_ns: u64,
        sink: &mut S,
    ) -> usize {
        let mut moved = 0;
        let mut freed = 0;
        loop {
            let packet = match self.held.take() {
                Some(packet) => packet,
                None => match self.shared.ring.pop() {
                    Ok(packet) => {
                        freed += 1;
                        packet
                    }
                    Err(_) => break,
                },
            };
            if let Err(NoRoom(packet)) = sender.offer(packet, now_ns, sink) {
                if sender.backlog().packets > 0 {
                    self.held = Some(packet);
                    break;
                }
                // Nothing goes that could make room for it.
                sender.enqueue(packet, now_ns, sink);
            }
            moved += 1;
        }
        if freed > 0 {
            self.shared.wake(freed);
        }
        moved
    }

    /// Takes in and sends until nothing is left to do.
    pub fn run<R: TxRing, S: PacketSink + ?Sized>(
        &mut self,
        sender: &mut Sender<R, impl Qdisc, impl Probe, impl Admission>,
        now_ns: u64,
        sink: &mut S,
    ) -> Stop<R::Error> {
        loop {
            self.drain(sender, now_ns, sink);
            let stop = sender.run(now_ns, sink);
            // Whoever runs out of packets looks once more; a queue that is stopped makes no room.
            if !matches!(stop, Stop::Idle) || self.is_empty() {
                return stop;
            }
        }
    }

    /// For an owner that has nothing to do: asks to be woken when a packet is handed in. Returns
    /// false if one was meanwhile, or the queue is closed.
    pub fn must_wait(&self) -> bool {
        let ring = &self.shared.ring;
        self.shared
            .work
            .must_wait(|| !ring.is_empty() || ring.is_closed())
    }

    /// Whether nothing waits to be taken in.
    pub fn is_empty(&self) -> bool {
        self.held.is_none() && self.shared.ring.is_empty()
    }

    /// Takes no more packets from now on: every submitter gets its packet back. What was handed in
    /// before is still here.
    pub fn close(&mut self) {
        if self.shared.ring.close() {
            self.shared.wake(usize::MAX);
        }
    }

    /// Closes the ring and drops what was handed in and not moved on.
    pub fn flush(&mut self, sink: &mut dyn PacketSink) {
        self.close();
        let held = self.held.take().into_iter();
        for packet in held.chain(self.shared.ring.try_iter()) {
            sink.dropped(packet, DropReason::Flushed);
        }
    }

    /// Times that a submitter was woken, wrapping.
    pub fn wakeups(&self) -> u32 {
        self.shared.wakeups.load(Ordering::Relaxed)
    }

    /// Times that the owner was woken for work, wrapping.
    pub fn work_wakeups(&self) -> u32 {
        self.shared.work.wakeups()
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.close();
    }
}
