//! Sending through a socket, and reporting departures to the gates.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use taut_udp::{
    CompletionQuality, Datagram, Departure, DepartureKind, LimitedUdp, Observer, Sent, Stop,
};

use crate::core::{Core, lock};
use crate::gates::Departed;

/// Datagrams of one call of the kernel.
pub(crate) const BATCH: usize = 32;

/// The result of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SendReport {
    /// Datagrams that the kernel accepted.
    pub sent: usize,
    /// Datagrams that the kernel rejected. They are lost, and those after them were sent.
    pub rejected: usize,
    /// The error number of the last rejection, such as `EMSGSIZE`; 0 if there was none.
    pub last_errno: i32,
}

/// Collects departures while the socket is locked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Departures(Arc<Mutex<Vec<Departed>>>);

impl Observer for Departures {
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

/// What a socket adds to its limited socket.
pub(crate) struct Link {
    pub(crate) core: Arc<Core>,
    pub(crate) departures: Departures,
    pub(crate) number: u32,
}

impl Link {
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
                Some(Stop::NoRoom | Stop::BufferFull) => break,
                Some(Stop::Refused(errno)) => {
                    done += 1;
                    report.rejected += 1;
                    report.last_errno = errno;
                }
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
        let mut keys = [0; BATCH];
        let mut gates = self.core.gates();
        for ((payload, destination), key) in items.iter().zip(&mut keys) {
            *key = gates.sent(payload.as_ref().len(), *destination, self.number, now_ns);
        }
        let is_blocked = gates.is_blocked();
        drop(gates);
        let mut datagrams = [Datagram::new(&[]); BATCH];
        for (((payload, destination), key), datagram) in items.iter().zip(keys).zip(&mut datagrams)
        {
            *datagram = Datagram::new(payload.as_ref()).to(*destination).tag(key);
        }
        let count = items.len().min(BATCH);
        if is_blocked {
            udp.note_blocked();
        }
        let sent = udp.send_unlimited(&datagrams[..count]);
        let accepted = sent.as_ref().map_or(0, |sent| sent.count);
        let mut gates = self.core.gates();
        for key in &keys[accepted..count] {
            gates.rejected(*key);
        }
        drop(gates);
        self.core.note_active();
        if sent.as_ref().is_ok_and(|sent| sent.was_idle)
            && let Some(at_ns) = udp.next_wakeup()
        {
            let late_ns = at_ns.saturating_sub(now_ns);
            self.core.check_by(at_ns.saturating_add(late_ns));
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
        self.core
            .gates()
            .departed(&departed, limit_applies, LimitedUdp::now_ns());
        self.core.wake();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.core.remove_driver(self.number, LimitedUdp::now_ns());
    }
}
