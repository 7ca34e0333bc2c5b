//! The interface to a real device's transmit queue, for any driver.

use std::io;
use std::os::fd::BorrowedFd;

use taut_path::driver::CompletionStatus;
use taut_path::{Completions, TxRing};

/// Length of an Ethernet header, in bytes: the minimum length of a frame.
pub const ETHERNET_HEADER_BYTES: u32 = 14;

/// Both halves of a real device's ring on one thread: the functions beyond [`TxRing`] and
/// [`Completions`] that generic tools need.
pub trait Port: TxRing<Error = io::Error> + Completions<Error = io::Error> {
    /// Returns the device's name.
    fn device(&self) -> &str;

    /// Returns the driver, as on the command line: `af_xdp`, `af_packet`.
    fn driver(&self) -> &'static str;

    /// Returns the mode: `copy` or `zero-copy` for AF_XDP, `ring` for AF_PACKET.
    fn mode(&self) -> &'static str;

    /// Returns the current status of completions.
    fn completion_status(&self) -> CompletionStatus;

    /// Returns the bytes by which `frame` can exceed the MTU and its Ethernet header because of its
    /// VLAN tags.
    fn extra_bytes(frame: &[u8]) -> u32
    where
        Self: Sized;

    /// Returns the socket's descriptor; `None` without a socket, because [`reopen`](Self::reopen)
    /// failed.
    ///
    /// Do not wait for it: poll does not return for completions, for a link that goes down, or for
    /// a removed device. Measured on Linux 6.18 with `af_xdp` (copy) and `af_packet`. Only the
    /// descriptor of an AF_XDP socket with a receiver becomes readable, for received packets.
    ///
    /// Instead, call [`Queue::complete`](taut_path::Queue::complete) at least every 250 us while
    /// packets are in flight, by a timer. The limit covers about two of these intervals, which is
    /// 62 KB at 1 Gbit/s. A longer interval raises the limit and the latency.
    fn fd(&self) -> Option<BorrowedFd<'_>>;

    /// Sets the name of the device after it was renamed: [`reopen`](Self::reopen) uses it.
    fn set_device(&mut self, name: &str);

    /// Releases the device, so that a program on it no longer takes received packets.
    ///
    /// The caller is the program that monitors the link. It calls this when the
    /// [`LinkMonitor`](crate::link::LinkMonitor) returns
    /// [`LinkState::Removed`](crate::link::LinkState::Removed), before it calls
    /// [`reopen`](Self::reopen). The state is the same for a device that was moved to another
    /// network namespace, where the program would remain. The default does nothing.
    fn release_device(&mut self) {}

    /// Recovers from a stall, or from the removal of the device. Opens a new ring on the same
    /// device, by its name, and a new socket unless the kernel still holds packets of the old one.
    ///
    /// The next reaps return the packets of the old ring. Reset the queue first, so that they count
    /// as [stale](taut_path::Completed::stale_packets). It is unknown whether they were sent.
    ///
    /// For a removed device, repeat this at intervals until it succeeds. Then call
    /// [`Queue::complete`](taut_path::Queue::complete) and [`Queue::run`](taut_path::Queue::run),
    /// because `run` returns [`RingFull`](taut_path::Stop::RingFull) until then.
    ///
    /// # Errors
    /// As for opening it; `NotFound` if there is no such device now. The old ring is closed then,
    /// and nothing is sent until a later call succeeds. Its packets are returned even so.
    ///
    /// `ResourceBusy` while an [`AfXdpReceiver`](crate::af_xdp::AfXdpReceiver) uses the socket. The
    /// old ring is unchanged then; call [`AfXdp::reopen_both`](crate::af_xdp::AfXdp::reopen_both).
    fn reopen(&mut self) -> io::Result<()>;
}
