//! A mock of the kernel's side of a socket.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::line::{Kernel, Line, Opener};
use super::ring::AfXdp;
use crate::shared_ring::Memory;
use crate::sys::xdp_ring::Descriptor;

/// A ring in plain memory.
#[derive(Debug)]
pub(super) struct MockRing<E> {
    producer: AtomicU32,
    consumer: AtomicU32,
    sleeps: AtomicBool,
    entries: Box<[Mutex<E>]>,
}

impl<E: Copy + Default> MockRing<E> {
    /// Creates a ring with its positions at `at`.
    pub(super) fn new(slots: u32, at: u32) -> Self {
        Self {
            producer: AtomicU32::new(at),
            consumer: AtomicU32::new(at),
            sleeps: AtomicBool::new(false),
            entries: (0..slots).map(|_| Mutex::default()).collect(),
        }
    }
}

impl<E: Copy> Memory for MockRing<E> {
    type Entry = E;

    fn produced(&self) -> u32 {
        self.producer.load(Ordering::Acquire)
    }

    fn consumed(&self) -> u32 {
        self.consumer.load(Ordering::Acquire)
    }

    fn publish(&self, position: u32) {
        self.producer.store(position, Ordering::Release);
    }

    fn release(&self, position: u32) {
        self.consumer.store(position, Ordering::Release);
    }

    fn needs_wakeup(&self) -> bool {
        self.sleeps.load(Ordering::Relaxed)
    }

    fn slots(&self) -> u32 {
        self.entries.len() as u32
    }

    fn read(&self, position: u32) -> E {
        *self.entries[position as usize % self.entries.len()]
            .lock()
            .expect("whole")
    }

    fn write(&self, position: u32, entry: E) {
        *self.entries[position as usize % self.entries.len()]
            .lock()
            .expect("whole") = entry;
    }
}

/// A mock socket. A clone refers to the same socket.
#[derive(Debug, Clone)]
pub(super) struct MockSocket(Arc<State>);

#[derive(Debug)]
struct State {
    tx: Arc<MockRing<[u64; 2]>>,
    completion: Arc<MockRing<[u64; 1]>>,
    is_zero_copy: AtomicBool,
    is_shared: AtomicBool,
    /// Frames that each doorbell moves, and its error code.
    moves: AtomicU32,
    error_code: Mutex<Option<i32>>,
    doorbells: AtomicU32,
    in_device: Mutex<Vec<Descriptor>>,
}

impl MockSocket {
    /// Creates a socket whose doorbell moves all frames, with positions near `at`.
    pub(super) fn new(slots: u32, at: u32) -> Self {
        Self(Arc::new(State {
            tx: Arc::new(MockRing::new(slots, at)),
            completion: Arc::new(MockRing::new(slots, at)),
            is_zero_copy: AtomicBool::new(false),
            is_shared: AtomicBool::new(false),
            moves: AtomicU32::new(u32::MAX),
            error_code: Mutex::new(None),
            doorbells: AtomicU32::new(0),
            in_device: Mutex::default(),
        }))
    }

    pub(super) fn zero_copy(self) -> Self {
        self.0.is_zero_copy.store(true, Ordering::Relaxed);
        self
    }

    /// Sets whether a receiver keeps the socket open.
    pub(super) fn shared(&self, is_shared: bool) {
        self.0.is_shared.store(is_shared, Ordering::Relaxed);
    }

    /// Lets each doorbell move at most this many frames, and then return `code` if there is one.
    pub(super) fn doorbell(&self, moves: u32, code: Option<i32>) {
        self.0.moves.store(moves, Ordering::Relaxed);
        *self.0.error_code.lock().expect("whole") = code;
    }

    /// Returns `true` if `by` uses this socket now.
    pub(super) fn is_used(&self, by: &AfXdp<MockOpener>) -> bool {
        let line = by.line.as_ref();
        line.is_some_and(|line| Arc::ptr_eq(&line.kernel.0, &self.0))
    }

    pub(super) fn doorbells(&self) -> u32 {
        self.0.doorbells.load(Ordering::Relaxed)
    }

    /// Sets whether the driver sleeps until the doorbell is rung.
    pub(super) fn sleeps(&self, sleeps: bool) {
        self.0.tx.sleeps.store(sleeps, Ordering::Relaxed);
    }

    /// Takes up to `frames` published frames into the device.
    pub(super) fn take(&self, frames: u32) {
        let State { tx, in_device, .. } = &*self.0;
        let consumer = tx.consumer.load(Ordering::Relaxed);
        let there = tx.producer.load(Ordering::Acquire).wrapping_sub(consumer);
        let frames = frames.min(there);
        let mut in_device = in_device.lock().expect("whole");
        let entry = |number| Descriptor::from_words(tx.read(consumer.wrapping_add(number)));
        in_device.extend((0..frames).map(entry));
        let consumer = consumer.wrapping_add(frames);
        tx.consumer.store(consumer, Ordering::Release);
    }

    /// Returns the frames that the device took and has not completed.
    pub(super) fn in_device(&self) -> Vec<Descriptor> {
        self.0.in_device.lock().expect("whole").clone()
    }

    /// Completes the frame at `position` of those taken; `false` if there is none.
    pub(super) fn finish(&self, position: usize) -> bool {
        let mut in_device = self.0.in_device.lock().expect("whole");
        if position >= in_device.len() {
            return false;
        }
        let descriptor = in_device.remove(position);
        drop(in_device);
        self.complete(descriptor.address);
        true
    }

    /// Completes an address, whether the device had it or not.
    pub(super) fn complete(&self, address: u64) {
        let ring = &self.0.completion;
        let at = ring.producer.load(Ordering::Relaxed);
        ring.write(at, [address]);
        ring.producer.store(at.wrapping_add(1), Ordering::Release);
    }

    fn line(&self) -> Line<Self> {
        let State { tx, completion, .. } = &*self.0;
        Line::new(self.clone(), 1514, tx.clone(), completion.clone())
    }
}

impl Kernel for MockSocket {
    type Tx = MockRing<[u64; 2]>;
    type Completion = MockRing<[u64; 1]>;

    fn wake(&self) -> io::Result<()> {
        self.0.doorbells.fetch_add(1, Ordering::Relaxed);
        self.take(self.0.moves.load(Ordering::Relaxed));
        match *self.0.error_code.lock().expect("whole") {
            Some(code) => Err(io::Error::from_raw_os_error(code)),
            None => Ok(()),
        }
    }

    fn is_zero_copy(&self) -> bool {
        self.0.is_zero_copy.load(Ordering::Relaxed)
    }

    fn is_shared(&self) -> bool {
        self.0.is_shared.load(Ordering::Relaxed)
    }
}

/// Opens the sockets that a test has prepared, in order; after the last one, the device is absent.
/// The flag is `true` while the device is the one that the first was bound to.
#[derive(Debug)]
pub(super) struct MockOpener(pub(super) Vec<MockSocket>, pub(super) bool);

impl Opener for MockOpener {
    type Kernel = MockSocket;

    fn is_current(&self) -> bool {
        self.1
    }

    fn device(&self) -> &str {
        "mock0"
    }

    fn release_receive_end(&mut self) {}

    fn open(&mut self) -> io::Result<Line<MockSocket>> {
        let prepared = &mut self.0;
        if prepared.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        Ok(prepared.remove(0).line())
    }
}
