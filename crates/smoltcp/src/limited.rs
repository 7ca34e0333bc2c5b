//! The device with a limit, as the stack uses it.

use alloc::boxed::Box;
use alloc::vec;
use core::task::Waker;

use smoltcp::phy::{Device, DeviceCapabilities, PacketMeta, TxToken};
use smoltcp::time::{Duration, Instant};
use taut_path::Frame;
use taut_path::qdisc::Backlog;
use taut_path::queue::{SenderCounters, Snapshot};

use crate::path::{Path, ns_of};

/// Reads the number of frames that a device has sent, wrapping at 2^32.
pub(crate) type SentCounter<D> = Box<dyn FnMut(&mut D) -> u32 + Send>;

/// A device with a discipline and a limit in front. The discipline queues the packets of the stack,
/// and the device holds only what keeps it busy.
pub struct Limited<D: Device> {
    pub(crate) device: D,
    pub(crate) path: Path,
    pub(crate) sent_counter: Option<SentCounter<D>>,
    /// Its last value.
    pub(crate) sent_count: u32,
    pub(crate) waker: Waker,
}

/// Statistics of a limited device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Counters of the discipline, the limit and the doorbell.
    pub sender: SenderCounters,
    /// Token requests of the stack that found no room.
    pub blocked_tokens: u64,
    /// Responses to received frames that were dropped because no frame was free.
    pub dropped_responses: u64,
    /// Stalls of the device, each counted once.
    pub stalls: u64,
}

impl<D: Device> Limited<D> {
    /// Reaps completions and sends further frames. Call it when the device has sent something, such
    /// as from its interrupt task. Returns `true` if a blocked stack has room again and a poll is
    /// useful. A poll of the stack does the same work.
    pub fn complete(&mut self, timestamp: Instant) -> bool {
        self.poll(timestamp);
        if !self.path.is_blocked || !self.path.has_room() {
            return false;
        }
        self.path.is_blocked = false;
        self.waker.wake_by_ref();
        true
    }

    /// Returns how long to wait for received frames or completions; `None` means to wait for an
    /// event. `stack` is the result of
    /// [`Interface::poll_delay`](smoltcp::iface::Interface::poll_delay). It is ignored while the
    /// stack is blocked, because smoltcp then requests an immediate poll, which has no effect.
    pub fn poll_delay(&self, timestamp: Instant, stack: Option<Duration>) -> Option<Duration> {
        let now_ns = ns_of(timestamp);
        let path = &self.path;
        let own_ns = [path.ready_ns, path.queue.next_wakeup()]
            .into_iter()
            .flatten()
            .min();
        // Rounded up, because an early poll has no effect.
        let own = own_ns.map(|at_ns| at_ns.saturating_sub(now_ns).div_ceil(1000));
        let own = own.map(Duration::from_micros);
        let stack = stack.filter(|_| !path.is_blocked);
        [own, stack].into_iter().flatten().min()
    }

    /// Returns `true` if a stack requested a token without success and has had no room since.
    pub fn is_blocked(&self) -> bool {
        self.path.is_blocked
    }

    /// Resets the queue after a reset of the device. Frames in flight are dropped, including those
    /// that the limit admitted and the device has not accepted. The discipline keeps its packets.
    pub fn reset(&mut self, timestamp: Instant) {
        let now_ns = self.path.at(timestamp);
        let _ = self.newly_sent();
        self.path.queue.device_mut().complete_all();
        self.path.queue.reset(now_ns);
        let _ = self.complete(timestamp);
    }

    /// Returns the statistics so far.
    pub fn stats(&self) -> Stats {
        Stats {
            sender: self.path.queue.sender_counters(),
            blocked_tokens: self.path.blocked_tokens,
            dropped_responses: self.path.dropped_responses,
            stalls: self.path.queue.completer_counters().stalls,
        }
    }

    /// Returns the limit and the bytes in flight.
    pub fn snapshot(&self) -> Snapshot {
        self.path.queue.snapshot()
    }

    /// Returns the packets and bytes that wait in the discipline.
    pub fn backlog(&self) -> Backlog {
        self.path.queue.backlog()
    }

    /// Returns the device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Returns the device for configuration. Do not transmit through it: with a sent counter, each
    /// such frame completes a frame of the queue that is still in flight.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    fn poll(&mut self, timestamp: Instant) {
        let newly_sent = self.newly_sent();
        self.path.poll(&mut self.device, newly_sent, timestamp);
    }

    /// Returns the number of frames that the device has sent since the last call; 0 without a
    /// counter.
    fn newly_sent(&mut self) -> u32 {
        let Some(sent_counter) = &mut self.sent_counter else {
            return 0;
        };
        let sent_count = sent_counter(&mut self.device);
        sent_count.wrapping_sub(core::mem::replace(&mut self.sent_count, sent_count))
    }
}

impl<D: Device> Device for Limited<D> {
    type RxToken<'a>
        = D::RxToken<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = Token<'a, D>
    where
        Self: 'a;

    /// Never blocked by the limit: the response goes to the discipline.
    fn receive(&mut self, timestamp: Instant) -> Option<(D::RxToken<'_>, Token<'_, D>)> {
        self.poll(timestamp);
        let (received, _) = self.device.receive(timestamp)?;
        let frame = self.path.frames.take();
        let path = &mut self.path;
        // The response is sent at the next call, because the device is busy with the received
        // frame.
        Some((
            received,
            Token {
                frame,
                meta: PacketMeta::default(),
                path,
                device: None,
            },
        ))
    }

    fn transmit(&mut self, timestamp: Instant) -> Option<Token<'_, D>> {
        self.poll(timestamp);
        let Self { device, path, .. } = self;
        let frame = if path.has_room() {
            path.frames.take()
        } else {
            None
        };
        path.is_blocked = frame.is_none();
        if frame.is_none() {
            path.blocked_tokens += 1;
            return None;
        }
        let device = Some((device, timestamp));
        Some(Token {
            frame,
            meta: PacketMeta::default(),
            path,
            device,
        })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        // Unchanged, with `max_burst_size`: smoltcp derives the receive window from it.
        self.device.capabilities()
    }
}

/// Room for one frame, which is released if it is not used.
pub struct Token<'a, D: Device> {
    frame: Option<Frame>,
    meta: PacketMeta,
    path: &'a mut Path,
    device: Option<(&'a mut D, Instant)>,
}

impl<D: Device> TxToken for Token<'_, D> {
    fn consume<R, F>(mut self, length: usize, write: F) -> R
    where
        F: FnOnce(&mut [u8]) -> R,
    {
        let Some(frame) = &self.frame else {
            self.path.dropped_responses += 1;
            return write(&mut vec![0; length]);
        };
        let buffer = self.path.frames.buffer_mut(frame);
        buffer.meta = self.meta;
        buffer.bytes.resize(length, 0);
        let written = write(&mut buffer.bytes);
        // Taken only here: a closure that panics releases its frame.
        if let Some(frame) = self.frame.take() {
            self.path.enqueue(frame);
        }
        if let Some((device, timestamp)) = self.device.take() {
            self.path.poll(device, 0, timestamp);
        }
        written
    }

    fn set_meta(&mut self, meta: PacketMeta) {
        self.meta = meta;
    }
}

impl<D: Device> Drop for Token<'_, D> {
    fn drop(&mut self) {
        if let Some(frame) = self.frame.take() {
            self.path.frames.release(frame);
        }
    }
}
