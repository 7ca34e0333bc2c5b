//! Several sending threads in front of one transmit queue.
//!
//! A bounded ring takes packets from any number of [`Submitter`]s, each on a thread of its own. The
//! thread that owns the queue has the [`Intake`], which moves the packets into the discipline.
//! Packets should wait only there, so the ring can be short. The packets of one submitter stay in
//! order.
//!
//! Both sides can sleep without losing a wake-up: each submitter that can sleep has a [`Waiter`]
//! with a gate of its own, and the intake has a gate for work. Backpressure propagates: if the
//! discipline is full, packets stay in the ring. If the ring is full, the submitter gets its packet
//! back as [`NoRoom`].

use alloc::sync::Arc;
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
use crate::sharing::Threads;

#[cfg(all(test, loom))]
mod models;

/// The reason why a packet was not accepted; it contains the packet.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The ring is full; use [`Waiter::must_wait`] to wait.
    #[error("no buffer space: the ring of the submitters is full")]
    NoRoom(NoRoom),
    /// The queue is closed.
    #[error("the queue is closed")]
    Closed(Packet),
}

impl SubmitError {
    /// Returns the packet.
    pub fn into_packet(self) -> Packet {
        match self {
            Self::NoRoom(NoRoom(packet)) | Self::Closed(packet) => packet,
        }
    }
}

/// State shared by all submitters and the intake.
struct ManyShared {
    ring: ConcurrentQueue<Packet>,
    /// Wakes the owner of the queue, which waits for work.
    work: RoomWaker<Threads>,
    /// Submitters that might be asleep, the one that has waited longest first.
    waiters: ConcurrentQueue<Arc<WaiterState>>,
    /// Dropped waiters that still have a place.
    dropped: AtomicU32,
}

/// Not in the list of waiters.
const UNLISTED: u32 = 0;
/// In the list of waiters, at most once.
const LISTED: u32 = 1;
/// In the list of waiters, and its [`Waiter`] was dropped.
const DROPPED: u32 = 2;

/// A submitter that can sleep.
struct WaiterState {
    gate: Gate,
    place: AtomicU32,
    waker: Waker,
}

impl ManyShared {
    fn has_room(&self) -> bool {
        // On a closed ring nothing must sleep either.
        !self.ring.is_full() || self.ring.is_closed()
    }

    /// After room for `packets` was made: wakes that many waiters, or all if the ring is empty or
    /// closed. The others are woken when more packets leave the ring.
    fn wake(&self, freed: usize) {
        fence(Ordering::SeqCst);
        let mut left = if self.ring.is_empty() || self.ring.is_closed() {
            usize::MAX
        } else {
            freed
        };
        while left > 0
            && let Ok(waiter) = self.waiters.pop()
        {
            // A waiter that finds itself listed has closed its gate before, and the exchange in
            // `unlist` makes that visible here.
            if self.unlist(&waiter) {
                left -= 1;
            }
        }
    }

    /// For the thread that took `waiter` from the list. Returns `true` if it was woken.
    fn unlist(&self, waiter: &WaiterState) -> bool {
        if waiter.place.swap(UNLISTED, Ordering::AcqRel) == DROPPED {
            self.dropped.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        let opened = waiter.gate.open_if(|| true);
        if opened {
            waiter.waker.wake_by_ref();
        }
        opened
    }

    /// Wakes one waiter if there is room, because a waiter that was to be woken for the room
    /// might have missed it or not use it.
    fn pass_on(&self) {
        fence(Ordering::SeqCst);
        if self.has_room() {
            self.wake(1);
        }
    }

    /// Frees the places of dropped waiters; the others keep their order.
    fn clear_dropped(&self) {
        for _ in 0..self.waiters.len() {
            let Ok(waiter) = self.waiters.pop() else {
                break;
            };
            if waiter.place.load(Ordering::Acquire) == DROPPED {
                self.unlist(&waiter);
            } else if let Err(error) = self.waiters.push(waiter) {
                // Another thread took its place in the meantime, so it needs a new one.
                self.unlist(&error.into_inner());
            }
        }
        // The owner did not see the waiters that were out of their places.
        self.pass_on();
    }
}

/// Creates a ring for `capacity_packets` packets in front of a queue. At most `max_waiters`
/// [`Waiter`]s can sleep at the same time. For either number, 0 counts as 1. `waker` wakes the
/// owner when it waits for work. It can be the same as the queue's own waker for room.
pub fn split(capacity_packets: u32, max_waiters: u32, waker: Waker) -> (Submitter, Intake) {
    let shared = Arc::new(ManyShared {
        ring: ConcurrentQueue::bounded(capacity_packets.max(1) as usize),
        work: RoomWaker::new(waker),
        waiters: ConcurrentQueue::bounded(max_waiters.max(1) as usize),
        dropped: AtomicU32::new(0),
    });
    let intake = Intake {
        shared: shared.clone(),
        held: None,
    };
    (Submitter { shared }, intake)
}

/// Submits packets. Each thread has a clone, or all share one.
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
    /// Submits `packet`, and wakes the owner if it waits for work. Any thread can call it.
    ///
    /// # Errors
    /// [`SubmitError`] returns the packet.
    pub fn offer(&self, packet: Packet) -> Result<(), SubmitError> {
        self.shared.ring.push(packet).map_err(|error| match error {
            PushError::Full(packet) => SubmitError::NoRoom(NoRoom(packet)),
            PushError::Closed(packet) => SubmitError::Closed(packet),
        })?;
        self.shared.work.notify();
        Ok(())
    }

    /// Creates a place to wait for room, with a waker: one for each thread that can sleep.
    pub fn waiter(&self, waker: Waker) -> Waiter {
        let state = Arc::new(WaiterState {
            gate: Gate::new(),
            place: AtomicU32::new(UNLISTED),
            waker,
        });
        Waiter {
            shared: self.shared.clone(),
            state,
        }
    }
}

/// One thread's place to wait for room. Dropping it frees the place, and passes an unused wake-up
/// to another waiter.
pub struct Waiter {
    shared: Arc<ManyShared>,
    state: Arc<WaiterState>,
}

impl Waiter {
    /// For a submitter that found no room: arms its waker, then checks the room again. Returns
    /// `true` if it must sleep; `false` if there is room or the queue is closed. One spurious
    /// wake-up might follow.
    ///
    /// It also returns `false`, without room, if `max_waiters` other waiters are asleep. A loop of
    /// [`offer`](Submitter::offer) and `must_wait` then spins. Either allow as many waiters as
    /// there are threads, or yield before the next attempt.
    pub fn must_wait(&mut self) -> bool {
        self.state.gate.close_unless(|| {
            let listed = self.list();
            // Orders the listing before the recheck of the room, as at any gate.
            fence(Ordering::SeqCst);
            !listed || self.shared.has_room()
        })
    }

    /// Adds the waiter to the list, with its gate already closed.
    fn list(&self) -> bool {
        if self.state.place.swap(LISTED, Ordering::AcqRel) == LISTED {
            return true;
        }
        let listed = self.push() || {
            let some_dropped = self.shared.dropped.load(Ordering::Acquire) > 0;
            some_dropped && {
                self.shared.clear_dropped();
                self.push()
            }
        };
        if !listed {
            self.state.place.store(UNLISTED, Ordering::Release);
        }
        listed
    }

    fn push(&self) -> bool {
        self.shared.waiters.push(self.state.clone()).is_ok()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let place = &self.state.place;
        let left = place.compare_exchange(LISTED, DROPPED, Ordering::AcqRel, Ordering::Acquire);
        if left.is_ok() {
            self.shared.dropped.fetch_add(1, Ordering::Release);
        }
        // It might have been woken for room that it does not use now.
        self.shared.pass_on();
    }
}

/// The owner's end: takes packets from the ring. Dropping it closes the ring and drops the packets
/// in it, with their frames; [`flush`](Self::flush) passes them to a sink.
pub struct Intake {
    shared: Arc<ManyShared>,
    /// A packet that left the ring, and for which the discipline had no room.
    held: Option<Packet>,
}

impl Intake {
    /// Moves packets into the discipline while it has room. A packet that does not fit even into an
    /// empty discipline is dropped there, with the reason. Returns the number of packets that left
    /// the ring.
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
                // The discipline is empty, so no departure can make room for it.
                sender.enqueue(packet, now_ns, sink);
            }
            moved += 1;
        }
        if freed > 0 {
            self.shared.wake(freed);
        }
        moved
    }

    /// Moves packets and runs the queue until neither makes progress.
    pub fn run<R: TxRing, S: PacketSink + ?Sized>(
        &mut self,
        sender: &mut Sender<R, impl Qdisc, impl Probe, impl Admission>,
        now_ns: u64,
        sink: &mut S,
    ) -> Stop<R::Error> {
        loop {
            self.drain(sender, now_ns, sink);
            let stop = sender.run(now_ns, sink);
            // A sender that ran out of packets checks the ring once more; a stopped queue makes no
            // room.
            if !matches!(stop, Stop::Idle) || self.is_empty() {
                return stop;
            }
        }
    }

    /// For an owner without work: arms its waker, then checks the ring again. Returns `true` if it
    /// must sleep; `false` if a packet was submitted in the meantime or the queue is closed.
    pub fn must_wait(&self) -> bool {
        let ring = &self.shared.ring;
        self.shared
            .work
            .must_wait(|| !ring.is_empty() || ring.is_closed())
    }

    /// Returns `true` if no packet waits in the ring.
    pub fn is_empty(&self) -> bool {
        self.held.is_none() && self.shared.ring.is_empty()
    }

    /// Closes the ring: every submitter gets its packet back from now on. Packets submitted before
    /// stay in the ring.
    pub fn close(&mut self) {
        if self.shared.ring.close() {
            self.shared.wake(usize::MAX);
        }
    }

    /// Closes the ring and drops the packets in it.
    pub fn flush(&mut self, sink: &mut dyn PacketSink) {
        self.close();
        let held = self.held.take().into_iter();
        for packet in held.chain(self.shared.ring.try_iter()) {
            sink.dropped(packet, DropReason::Flushed);
        }
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.close();
    }
}
