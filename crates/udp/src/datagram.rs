//! What is sent.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;

use crate::control::{self, Name, Writer};
use crate::sys::message::Control;

/// Ethernet and UDP headers of each datagram, and those of IP.
const ETHERNET_AND_UDP_BYTES: u32 = 14 + 8;
const IPV4_BYTES: u32 = 20;
const IPV6_BYTES: u32 = 40;

/// `SCM_TS_OPT_ID` of asm-generic/socket.h: the number that a stamp comes back with (Linux 6.13).
const SCM_TS_OPT_ID: libc::c_int = 81;

/// A datagram to send, or several in one buffer that the kernel or the card cuts (GSO).
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    payload: &'a [u8],
    segment_bytes: Option<NonZeroU16>,
    to: Option<SocketAddr>,
    from: Option<IpAddr>,
    traffic_class: Option<u8>,
}

impl<'a> Datagram<'a> {
    /// A datagram to the peer that the socket is connected to.
    pub const fn new(payload: &'a [u8]) -> Self {
        Self {
            payload,
            segment_bytes: None,
            to: None,
            from: None,
            traffic_class: None,
        }
    }

    /// The same to `peer`.
    pub const fn to(mut self, peer: SocketAddr) -> Self {
        self.to = Some(peer);
        self
    }

    /// The same from one of the host's addresses: for sockets that are bound to all of them. Of the
    /// family that it goes out with, or it is refused ([`Stop::Refused`](crate::Stop::Refused) with
    /// `EAFNOSUPPORT`); an IPv4 address may be mapped.
    pub const fn from(mut self, address: IpAddr) -> Self {
        self.from = Some(address);
        self
    }

    /// Cut into datagrams of `segment_bytes` of payload each, and a last one of what is left. At
    /// most 64 of them, and 65,507 bytes together; 0 does not cut.
    pub const fn segmented(mut self, segment_bytes: u16) -> Self {
        self.segment_bytes = NonZeroU16::new(segment_bytes);
        self
    }

    /// With this traffic class (type of service): ECN in the lowest two bits, DSCP in the others.
    pub const fn traffic_class(mut self, class: u8) -> Self {
        self.traffic_class = Some(class);
        self
    }

    /// How many datagrams it is on the wire.
    pub fn datagrams(&self) -> u32 {
        let payload = self.payload.len();
        let count = match self.segment_bytes {
            Some(segment) => payload.div_ceil(segment.get().into()).max(1),
            None => 1,
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Its bytes on the wire, with Ethernet, IP and UDP headers; `ipv4` for a socket that is
    /// connected to an IPv4 peer.
    pub(crate) fn wire_bytes(&self, ipv4: bool) -> u32 {
        let ip_bytes = if self.is_ipv4(ipv4) {
            IPV4_BYTES
        } else {
            IPV6_BYTES
        };
        let headers = self
            .datagrams()
            .saturating_mul(ETHERNET_AND_UDP_BYTES + ip_bytes);
        let payload = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        payload.saturating_add(headers).min(taut_dql::MAX_OBJECT)
    }

    fn is_ipv4(&self, connected_ipv4: bool) -> bool {
        self.to
            .map_or(connected_ipv4, |peer| control::is_ipv4(peer.ip()))
    }

    /// Whether it can have the source address that it asks for.
    pub(crate) fn has_fitting_source(&self, ipv4: bool) -> bool {
        self.from
            .is_none_or(|from| control::is_ipv4(from) == self.is_ipv4(ipv4))
    }

    /// Where it goes; `None` for the peer that the socket is connected to.
    pub(crate) fn destination(&self) -> Option<SocketAddr> {
        self.to
    }

    pub(crate) fn payload(&self) -> &'a [u8] {
        self.payload
    }

    pub(crate) fn name(&self) -> Name {
        self.to.map_or(Name::NONE, Name::new)
    }

    /// Writes what the kernel must know beside the payload. Returns the bytes used.
    pub(crate) fn write_control(&self, asks: &Asks, ipv4: bool, into: &mut Control) -> usize {
        let mut writer = Writer::new(&mut into.0);
        if let Some(segment) = self.segment_bytes
            && self.datagrams() > 1
        {
            let data = segment.get().to_ne_bytes();
            writer.push(libc::SOL_UDP, libc::UDP_SEGMENT, &data);
        }
        if let Some(class) = self.traffic_class {
            let data = libc::c_int::from(class).to_ne_bytes();
            if self.is_ipv4(ipv4) {
                writer.push(libc::IPPROTO_IP, libc::IP_TOS, &data);
            } else {
                writer.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &data);
            }
        }
        match self.from.map(|from| from.to_canonical()) {
            Some(IpAddr::V4(address)) => {
                let mut data = [0; 12];
                data[4..8].copy_from_slice(&address.octets());
                writer.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &data);
            }
            Some(IpAddr::V6(address)) => {
                let mut data = [0; 20];
                data[..16].copy_from_slice(&address.octets());
                writer.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &data);
            }
            None => {}
        }
        if asks.stamps != 0 {
            let data = asks.stamps.to_ne_bytes();
            writer.push(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &data);
            if let Some(id) = asks.own_id {
                writer.push(libc::SOL_SOCKET, SCM_TS_OPT_ID, &id.to_ne_bytes());
            }
        }
        writer.finish()
    }
}

/// What the kernel is asked to tell about a datagram.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asks {
    /// `SOF_TIMESTAMPING_TX_*`.
    pub(crate) stamps: u32,
    /// The number of the stamps, if the kernel takes one.
    pub(crate) own_id: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_bytes_count_each_datagrams_headers() {
        let payload = [0; 2500];
        let one = Datagram::new(&payload);
        assert_eq!((one.datagrams(), one.wire_bytes(true)), (1, 2542));
        let cut = one.segmented(1000);
        assert_eq!((cut.datagrams(), cut.wire_bytes(true)), (3, 2500 + 3 * 42));
        let six = cut.to("[::1]:9".parse().unwrap());
        assert_eq!(six.wire_bytes(true), 2500 + 3 * 62);
        let mapped = cut.to("[::ffff:10.0.0.1]:9".parse().unwrap());
        assert_eq!(mapped.wire_bytes(false), 2500 + 3 * 42);
        assert_eq!(Datagram::new(&[]).segmented(100).datagrams(), 1);
    }
}
