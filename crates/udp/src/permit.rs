//! Room that is reserved for datagrams that are sent later.

use std::io;

use crate::datagram::Datagram;
use crate::sent::Sent;
use crate::socket::LimitedUdp;
use crate::state::{Room, State};

/// Room below the limit, reserved for an object that is sent later, by any thread or task.
///
/// Its units count as in flight for the limit until the permit is dropped or its datagrams are
/// sent. A permit that is kept without use blocks other senders, as a full queue does.
#[derive(Debug)]
#[must_use = "dropping it immediately releases the room"]
pub struct Permit {
    udp: LimitedUdp,
    /// In units of the limit.
    units: u32,
}

impl Permit {
    /// Sends `datagrams`, all of them even if they exceed the reserved units: from here on, their
    /// actual units count as in flight. Releases the remainder of the permit. Does not wait.
    ///
    /// # Errors
    /// As for [`LimitedUdp::try_send`].
    pub fn send(mut self, datagrams: &[Datagram<'_>]) -> io::Result<Sent> {
        let units = std::mem::take(&mut self.units);
        self.udp.update(|state| {
            state.tracker.limiter.release(units);
            state.send(self.udp.socket(), datagrams, Room::NotNeeded)
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.udp
            .update(|state| state.tracker.limiter.release(self.units));
    }
}

impl LimitedUdp {
    /// Reserves room for one object of `bytes` on the wire (0 counts as 1). With a limit in
    /// packets, it reserves one datagram: call it once for each. Returns `None` without
    /// room, or if other senders wait for it. Does not wait.
    ///
    /// One object can exceed the limit, as when it is sent. It then blocks all senders until the
    /// permit is sent or dropped.
    ///
    /// # Errors
    /// `InvalidInput` for more bytes than [`MAX_OBJECT`](taut_dql::MAX_OBJECT), 268,435,455. An
    /// error of the socket, if it cannot be read.
    pub fn try_reserve(&self, bytes: u32) -> io::Result<Option<Permit>> {
        let reserved = self.update(|state| match state.try_turn(self.socket())? {
            true => reserve(state, bytes).map(Some),
            false => Ok(None),
        });
        Ok(reserved?.map(|units| self.permit(units)))
    }

    pub(crate) fn permit(&self, units: u32) -> Permit {
        Permit {
            udp: self.clone(),
            units,
        }
    }
}

/// Reserves room for an object of `bytes` on the wire. Returns its units.
pub(crate) fn reserve(state: &mut State, bytes: u32) -> io::Result<u32> {
    let units = state.tracker.limiter.units(bytes, 1);
    let reserved = state.tracker.reserve(units, LimitedUdp::now_ns());
    reserved.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    Ok(units)
}
