//! The seam to a real device's transmit queue, of whichever driver.

use std::io;
use std::os::fd::BorrowedFd;

use taut_path::driver::Truth;
use taut_path::{Completions, TxRing};

/// Both halves of a real device's ring, on one thread: what tools that drive any of them need
/// beyond [`TxRing`] and [`Completions`].
pub trait Port: TxRing<Error = io::Error> + Completions<Error = io::Error> {
    /// The device's name.
    fn device(&self) -> &str;

    /// The driver, as the command line says it: `af_xdp`, `af_packet`.
    fn driver(&self) -> &'static str;

    /// How it drives the device: `copy` or `zero-copy` for AF_XDP, `ring` for AF_PACKET.
    fn mode(&self) -> &'static str;

    /// What its completions mean, as far as the packets so far have shown.
    fn completion_status(&self) -> Truth;

    /// The longest frame that it takes now, in bytes with its Ethernet header; one VLAN tag does
    /// not count. 0 while there is no socket.
    fn frame_limit_bytes(&self) -> u32;

    /// What to poll; readable or in error when the driver has something to say. A timer is needed
    /// as well, once a cadence. `None` while there is no socket, after [`reopen`](Self::reopen)
    /// failed.
    fn fd(&self) -> Option<BorrowedFd<'_>>;

    /// **The way back** after a stall, or when the device is there again: a new ring on the same
    /// device, by its name, and a new socket unless the kernel still holds packets of the old one.
    /// What was in the old ring comes back with the next reaps: reset the queue first, so that it
    /// counts as [stale](taut_path::Completed::stale_packets). Whether it was sent nobody knows.
    ///
    /// # Errors
    /// As opening it; `NotFound` if there is no such device now. The old ring is gone then, and
    /// nothing is sent until a later call succeeds; its packets come back all the same.
    fn reopen(&mut self) -> io::Result<()>;
}
