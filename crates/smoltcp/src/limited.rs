//! The device that a stack sees.

use alloc::boxed::Box;
use alloc::vec;
use core::task::Waker;

use smoltcp::phy::{Device, DeviceCapabilities, PacketMeta, TxToken};
use smoltcp::time::{Duration, Instant};
use taut_path::qdisc::Backlog;
use taut_path::queue::{SenderCounters, Snapshot};
use taut_path::{Frame, Probe};

use crate::path::{Path, ns_of};

/// How many frames a device has sent since it was made, wrapping at 2^32.
pub(crate) type Sent<D> = Box<dyn FnMut(&mut D) -> u32 + Send>;

/// A device with a discipline and a limit in front. What a stack sends waits in the discipline, and
/// the device holds just enough.
pub struct Limited<D: Device, P: Probe = ()> {
    pub(crate) device: D,
    pub(crate) path: Path<P>,
    pub(crate) sent: Option<Sent<D>>,
    pub(crate) waker: Waker,
}

/// What happened so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// The discipline, the limit and the doorbell.
    pub sender: SenderCounters,
    /// Times that a stack asked for a token and there was no room.
    pub blocked_tokens: u64,
    /// Answers to received frames that found no frame free, and were dropped.
    pub dropped_responses: u64,
    /// Times that the device stood still for long with something in it, each counted once.
    pub stalls: u64,
}

impl<D: Device, P: Probe> Limited<D, P> {
    /// Call it when the device has sent something, such as from its interrupt's task: frames go on,
    /// and `true` says that a stack which had found no room is worth a poll. A poll of the stack
    /// does the same.
    pub fn complete(&mut self, timestamp: Instant) -> bool {
        self.turn(timestamp);
        if !self.path.is_blocked || !self.path.has_room() {
            return false;
        }
        self.path.is_blocked = false;
        self.waker.wake_by_ref();
        true
    }

    /// How long to wait for received frames or completions, if the stack alone would wait for
    /// `stack` ([`Interface::poll_delay`](smoltcp::iface::Interface::poll_delay)). A stack without
    /// room asks to be polled immediately, although only a completion helps. `None`: until an
    /// event.
    pub fn poll_delay(&self, timestamp: Instant, stack: Option<Duration>) -> Option<Duration> {
        let now_ns = ns_of(timestamp);
        let path = &self.path;
        let own_ns = [path.ready_ns, path.queue.next_wakeup()]
            .into_iter()
            .flatten()
            .min();
        // Rounded up: what is too early is in vain.
        let own = own_ns.map(|at_ns| at_ns.saturating_sub(now_ns).div_ceil(1000));
        let own = own.map(Duration::from_micros);
        let stack = stack.filter(|_| !path.is_blocked);
        [own, stack].into_iter().flatten().min()
    }

    /// Whether a stack asked for a token and got none, and there was no room since.
    pub fn is_blocked(&self) -> bool {
        self.path.is_blocked
    }

    /// After the device was reset: what it held will not be sent, and counts no more.
    pub fn reset(&mut self, timestamp: Instant) {
        let now_ns = self.path.at(timestamp);
        self.path.told = self.told().unwrap_or(0);
        self.path.queue.device_mut().finish(u32::MAX);
        self.path.queue.reset(now_ns);
        let _ = self.complete(timestamp);
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        Stats {
            sender: self.path.queue.sender_counters(),
            blocked_tokens: self.path.blocked_tokens,
            dropped_responses: self.path.dropped_responses,
            stalls: self.path.queue.completer_counters().stalls,
        }
    }

    /// The limit, and what is in flight.
    pub fn snapshot(&self) -> Snapshot {
        self.path.queue.snapshot()
    }

    /// What waits above the limit.
    pub fn backlog(&self) -> Backlog {
        self.path.queue.backlog()
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device. What is sent past the limit counts as a completion of what went through it.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// The probe.
    pub fn probe(&self) -> &P {
        self.path.queue.probe()
    }

    fn turn(&mut self, timestamp: Instant) {
        let told = self.told();
        self.path.turn(&mut self.device, told, timestamp);
    }

    fn told(&mut self) -> Option<u32> {
        let sent = self.sent.as_mut()?;
        Some(sent(&mut self.device))
    }
}

impl<D: Device, P: Probe> Device for Limited<D, P> {
    type RxToken<'a>
        = D::RxToken<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = Token<'a, D, P>
    where
        Self: 'a;

    /// Never refused for lack of room: the answer goes to the discipline.
    fn receive(&mut self, timestamp: Instant) -> Option<(D::RxToken<'_>, Token<'_, D, P>)> {
        self.turn(timestamp);
        let (received, _) = self.device.receive(timestamp)?;
        let frame = self.path.frames.take();
        let path = &mut self.path;
        // The answer goes on at the next call: the device is busy with what it received.
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

    fn transmit(&mut self, timestamp: Instant) -> Option<Token<'_, D, P>> {
        self.turn(timestamp);
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
        // Its longest burst too: a stack bounds by it what its peers may send to the device.
        self.device.capabilities()
    }
}

/// Room for one frame; given back if it is not used.
pub struct Token<'a, D: Device, P: Probe> {
    frame: Option<Frame>,
    meta: PacketMeta,
    path: &'a mut Path<P>,
    device: Option<(&'a mut D, Instant)>,
}

impl<D: Device, P: Probe> TxToken for Token<'_, D, P> {
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
        let written = write(buffer.room(length));
        // Not before: a closure that panics gives its frame back.
        if let Some(frame) = self.frame.take() {
            self.path.enqueue(frame);
        }
        if let Some((device, timestamp)) = self.device.take() {
            self.path.turn(device, None, timestamp);
        }
        written
    }

    fn set_meta(&mut self, meta: PacketMeta) {
        self.meta = meta;
    }
}

impl<D: Device, P: Probe> Drop for Token<'_, D, P> {
    fn drop(&mut self) {
        if let Some(frame) = self.frame.take() {
            self.path.frames.give_back(frame);
        }
    }
}
