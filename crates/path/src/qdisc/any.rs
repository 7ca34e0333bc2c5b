//! A discipline chosen at run time, by its name.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use super::bounded_ring::DEFAULT_LIMIT_PACKETS;
use super::fifo::Fifo;
use super::seam::{Backlog, Burst, Qdisc, RequeueSupport, forward_qdisc};
use crate::packet::{Packet, PacketSink};

/// Any discipline: the type of one that is chosen at run time.
///
/// ```
/// use taut_path::qdisc::AnyQdisc;
/// let qdisc: AnyQdisc = "codel limit 100 ecn".parse()?;
/// assert_eq!(qdisc.to_string(), "codel limit 100 target 5ms interval 100ms ecn");
/// # Ok::<(), taut_path::qdisc::ParseQdiscError>(())
/// ```
/// [`DISCIPLINES`](super::DISCIPLINES) lists the names. [`new`](Self::new) wraps a discipline of
/// another crate.
pub struct AnyQdisc {
    qdisc: Box<dyn Qdisc + Send>,
    spelled: String,
}

impl AnyQdisc {
    /// Wraps `qdisc`, which can be of another crate, under a name of its own.
    pub fn new(name: &str, qdisc: impl Qdisc + Send + 'static) -> Self {
        Self::from_box(name, Box::new(qdisc))
    }

    pub(crate) fn from_box(name: &str, qdisc: Box<dyn Qdisc + Send>) -> Self {
        let spelled = name.into();
        Self { qdisc, spelled }
    }

    /// Returns the discipline without its name.
    pub(crate) fn into_inner(self) -> Box<dyn Qdisc + Send> {
        self.qdisc
    }
}

impl Default for AnyQdisc {
    /// `pfifo` with the default queue length of an Ethernet device.
    fn default() -> Self {
        Self::new("pfifo", Fifo::new(DEFAULT_LIMIT_PACKETS))
    }
}

/// Writes every parameter, as `tc` shows it.
impl fmt::Display for AnyQdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled)
    }
}

impl fmt::Debug for AnyQdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyQdisc({})", self.spelled)
    }
}

impl Qdisc for AnyQdisc {
    forward_qdisc!(self => self.qdisc);
}
