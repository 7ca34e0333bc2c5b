//! What the sockets of a tunnel have in common: sending, and reporting departures to the gates.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

use taut_path::AnyLimit;
use taut_udp::{
    CompletionQuality, Datagram, Departure, DepartureKind, LimitedUdp, Observer, Sent, Source, Stop,
};

use crate::core::{Core, Nudge, lock, wake_all};
use crate::gates::Departed;

/// Datagrams of one call of the kernel.
pub(crate) const BATCH: usize = 32;
/// Datagrams that depart in this time share a timestamp: about one read of the error queue and one
/// wake-up per interval.
const TIMESTAMP_INTERVAL_NS: u64 = 1_000_000;

/// The settings of a tunnel's sockets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SocketSettings {
    pub(crate) source: Source,
    pub(crate) errors: bool,
}

impl SocketSettings {
    /// Returns the builder of a socket that does not limit, and the log of its departures.
    pub(crate) fn builder(self, socket: UdpSocket) -> (taut_udp::Builder, DepartureLog) {
        let departures = DepartureLog::default();
        let builder = LimitedUdp::builder(socket)
            .limit(AnyLimit::off())
            .source(self.source)
            .errors(self.errors)
            .timestamp_interval_ns(TIMESTAMP_INTERVAL_NS)
            .observer(departures.clone());
        (builder, departures)
    }
}

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
pub(crate) struct DepartureLog(Arc<Mutex<Vec<Departed>>>);

impl Observer for DepartureLog {
    fn departed(&mut self, departure: &Departure) {
        lock(&self.0).push(Departed {
            key: departure.tag,
            lost: departure.kind == DepartureKind::Lost,
        });
    }

    fn needs_each_timestamp(&self) -> bool {
        false
    }
}

/// Returns `true` if the same datagrams can be sent later.
fn is_full(stop: Stop) -> bool {
    !matches!(stop, Stop::Refused(_))
}

/// What a socket adds to its limited socket.
pub(crate) struct Link {
    pub(crate) core: Arc<Core>,
    departures: DepartureLog,
    number: u32,
}

impl Link {
    pub(crate) fn new(core: &Arc<Core>, departures: DepartureLog, nudge: Nudge) -> Self {
        Self {
            core: Arc::clone(core),
            departures,
            number: core.add_driver(nudge),
        }
    }

    /// Sends `items`, at most [`BATCH`] of them, without waiting. Returns the number of items that
    /// were sent or rejected: the kernel has no room for the others.
    pub(crate) fn send<P: AsRef<[u8]>>(
        &self,
        udp: &LimitedUdp,
        items: &[(P, SocketAddr)],
        report: &mut SendReport,
    ) -> io::Result<usize> {
        let mut done = 0;
        while done < items.len() {
            let sent = self.send_once(udp, &items[done..])?;
            done += sent.count;
            report.sent += sent.count;
            match sent.stop {
                None => {}
                Some(Stop::Refused(errno)) => {
                    done += 1;
                    report.rejected += 1;
                    report.last_errno = errno;
                }
                Some(_) => break,
            }
        }
        Ok(done)
    }

    /// Calls the kernel once, and corrects the gates if it accepted fewer.
    fn send_once<P: AsRef<[u8]>>(
        &self,
        udp: &LimitedUdp,
        items: &[(P, SocketAddr)],
    ) -> io::Result<Sent> {
        let now_ns = LimitedUdp::now_ns();
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
        self.settle(udp);
        sent
    }

    /// Passes departures to the gates, and wakes what waits for room.
    pub(crate) fn settle(&self, udp: &LimitedUdp) {
        let departed = std::mem::take(&mut *lock(&self.departures.0));
        if departed.is_empty() {
            return;
        }
        let limit_applies = udp.completion_quality() != CompletionQuality::Immediate;
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
