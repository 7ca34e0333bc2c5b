//! What the sockets of a tunnel have in common: sending, and reporting departures to the gates.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

use taut_path::AnyLimit;
use taut_udp::{CompletionQuality, Datagram, Departure, LimitedUdp, Observer, Sent, Stop};

use crate::core::{Core, Nudge, lock, wake_all};

/// Datagrams of one call of the kernel.
const BATCH: usize = 32;
/// Datagrams that depart in this time share a timestamp: about one read of the error queue and one
/// wake-up per interval.
const TIMESTAMP_INTERVAL_NS: u64 = 1_000_000;

/// The result of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SendReport {
    /// Datagrams that the kernel accepted.
    pub sent: usize,
    /// Datagrams that the kernel rejected. They are lost, and those after them were sent.
    pub rejected: usize,
    /// Datagrams that were not sent because a timeout ended; 0 without a timeout.
    pub unsent: usize,
    /// The error number of the last rejection, such as `EMSGSIZE`; 0 if there was none.
    pub last_errno: i32,
}

/// Collects departures while the socket is locked.
#[derive(Debug, Clone, Default)]
pub(crate) struct DepartureLog(Arc<Mutex<Vec<Departure>>>);

impl Observer for DepartureLog {
    fn departed(&mut self, departure: &Departure) {
        lock(&self.0).push(*departure);
    }

    fn needs_each_timestamp(&self) -> bool {
        false
    }
}

/// Returns `true` if the same datagrams can be sent later.
fn is_full(stop: Stop) -> bool {
    !matches!(stop, Stop::Refused(_))
}

/// A limited socket that does not limit, and its connection to the tunnel.
pub(crate) struct Link {
    pub(crate) udp: LimitedUdp,
    pub(crate) core: Arc<Core>,
    departures: DepartureLog,
    number: u32,
}

impl Link {
    /// Adds `socket` to the tunnel of `core`, with a driver that `nudge` wakes.
    pub(crate) fn open(core: &Arc<Core>, socket: UdpSocket, nudge: Nudge) -> io::Result<Self> {
        let departures = DepartureLog::default();
        let udp = LimitedUdp::builder(socket)
            .limit(AnyLimit::off())
            .source(core.socket.source)
            .errors(core.socket.errors)
            .timestamp_interval_ns(TIMESTAMP_INTERVAL_NS)
            .observer(departures.clone())
            .build()?;
        Ok(Self {
            udp,
            core: Arc::clone(core),
            departures,
            number: core.add_driver(nudge),
        })
    }

    /// Calls the kernel once, and corrects the gates if it accepted fewer.
    fn send_once<P: AsRef<[u8]>>(&self, items: &[(P, SocketAddr)]) -> io::Result<Sent> {
        let (udp, now_ns) = (&self.udp, LimitedUdp::now_ns());
        let count = items.len().min(BATCH);
        let mut datagrams = [Datagram::new(&[]); BATCH];
        let mut keys = [0; BATCH];
        let mut blocked = false;
        let mut gates = self.core.gates();
        for (at, (payload, destination)) in items[..count].iter().enumerate() {
            let payload = payload.as_ref();
            let (key, waits) = gates.sent(payload.len(), *destination, self.number, now_ns);
            datagrams[at] = Datagram::new(payload).to(*destination).tag(key);
            keys[at] = key;
            blocked |= waits;
        }
        // A program that encrypts in parallel sends a few datagrams a call. If each call ended with
        // a timestamp, each would cause a wake-up and a release of a few packets.
        datagrams[count - 1] = datagrams[count - 1].more_follow(gates.more_follow());
        drop(gates);
        if blocked {
            udp.note_blocked();
        }
        let sent = udp.send_unlimited(&datagrams[..count]);
        let accepted = sent.as_ref().map_or(0, |sent| sent.count);
        if accepted < count {
            let is_refused = !matches!(&sent, Ok(Sent { stop, .. }) if stop.is_some_and(is_full));
            let mut gates = self.core.gates();
            for at in (accepted..count).rev() {
                if is_refused && at == accepted {
                    gates.rejected(keys[at]);
                } else {
                    gates.unsent(keys[at], items[at].0.as_ref().len());
                }
            }
            wake_all(gates);
        }
        if sent.as_ref().is_ok_and(|sent| sent.was_idle)
            && let Some(at_ns) = udp.next_wakeup()
        {
            self.core.check_at(at_ns, now_ns);
        }
        self.settle();
        sent
    }

    /// Passes departures to the gates, and wakes what waits for room.
    pub(crate) fn settle(&self) {
        let departed = std::mem::take(&mut *lock(&self.departures.0));
        if departed.is_empty() {
            return;
        }
        let limit_applies = self.udp.completion_quality() != CompletionQuality::Immediate;
        let mut gates = self.core.gates();
        gates.departed(&departed, limit_applies, LimitedUdp::now_ns());
        wake_all(gates);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.core.remove_driver(self.number, LimitedUdp::now_ns());
    }
}

/// The items of a send call, and what became of them.
pub(crate) struct Sending<I: Iterator> {
    items: I,
    batch: Vec<I::Item>,
    /// Items of the batch that were sent or rejected.
    done: usize,
    pub(crate) report: SendReport,
}

impl<P: AsRef<[u8]>, I: Iterator<Item = (P, SocketAddr)>> Sending<I> {
    pub(crate) fn new(items: impl IntoIterator<IntoIter = I>) -> Self {
        let items = items.into_iter();
        Self {
            batch: Vec::with_capacity(items.size_hint().0.clamp(1, BATCH)),
            items,
            done: 0,
            report: SendReport::default(),
        }
    }

    /// Sends items without waiting. Returns `false` if the kernel has no room for the next one.
    pub(crate) fn send(&mut self, link: &Link) -> io::Result<bool> {
        loop {
            if self.done == self.batch.len() {
                self.done = 0;
                self.batch.clear();
                self.batch.extend(self.items.by_ref().take(BATCH));
                if self.batch.is_empty() {
                    return Ok(true);
                }
            }
            let sent = link.send_once(&self.batch[self.done..])?;
            self.done += sent.count;
            self.report.sent += sent.count;
            match sent.stop {
                None => {}
                Some(Stop::Refused(errno)) => {
                    self.done += 1;
                    self.report.rejected += 1;
                    self.report.last_errno = errno;
                }
                Some(_) => return Ok(false),
            }
        }
    }

    /// Returns the report of a call that ends before all items are sent.
    pub(crate) fn stop(mut self) -> SendReport {
        self.report.unsent = self.batch.len() - self.done + self.items.count();
        self.report
    }
}
