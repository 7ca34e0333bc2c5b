//! Datagrams to send.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;

use crate::control;
use crate::sys::message::Control;

/// Ethernet and UDP headers of each datagram, and those of IP.
const ETHERNET_AND_UDP_BYTES: u32 = 14 + 8;
const IPV4_BYTES: u32 = 20;
const IPV6_BYTES: u32 = 40;

/// Returns the bytes of the Ethernet, IP and UDP headers of a datagram.
pub(crate) const fn header_bytes(ipv4: bool) -> u32 {
    ETHERNET_AND_UDP_BYTES + if ipv4 { IPV4_BYTES } else { IPV6_BYTES }
}

/// `SCM_TS_OPT_ID` of asm-generic/socket.h: the id that a timestamp returns (Linux 6.13).
const SCM_TS_OPT_ID: libc::c_int = 81;

/// An object to send: a datagram, or several in one buffer that the kernel or the card segments
/// (GSO).
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    pub(crate) payload: &'a [u8],
    segment_bytes: Option<NonZeroU16>,
    pub(crate) to: Option<SocketAddr>,
    from: Option<IpAddr>,
    traffic_class: Option<u8>,
    pub(crate) tag: u32,
    more_follow: bool,
}

impl<'a> Datagram<'a> {
    /// Creates a datagram to the connected peer.
    pub const fn new(payload: &'a [u8]) -> Self {
        Self {
            payload,
            segment_bytes: None,
            to: None,
            from: None,
            traffic_class: None,
            tag: 0,
            more_follow: false,
        }
    }

    /// Sets the peer.
    pub const fn to(mut self, peer: SocketAddr) -> Self {
        self.to = Some(peer);
        self
    }

    /// Sets the source to one of the host's addresses, for sockets that are bound to all of them.
    /// It must have the family of the outgoing packet; otherwise the datagram is rejected
    /// ([`Stop::Refused`](crate::Stop::Refused) with `EAFNOSUPPORT`). An IPv4 address can be
    /// mapped.
    pub const fn from(mut self, address: IpAddr) -> Self {
        self.from = Some(address);
        self
    }

    /// Segments the payload into datagrams of `segment_bytes` each, and a shorter last one. At most
    /// 64 of them, and 65,507 bytes in all; 0 does not segment.
    pub const fn segmented(mut self, segment_bytes: u16) -> Self {
        self.segment_bytes = NonZeroU16::new(segment_bytes);
        self
    }

    /// Sets the traffic class (type of service): ECN in the lowest two bits, DSCP in the others.
    pub const fn traffic_class(mut self, class: u8) -> Self {
        self.traffic_class = Some(class);
        self
    }

    /// Sets a number of the caller's own, which the [`Departure`](crate::Departure) contains.
    pub const fn tag(mut self, tag: u32) -> Self {
        self.tag = tag;
        self
    }

    /// Declares that the caller will send another datagram to the same peer at once. This one then
    /// needs no timestamp of its own, as within one call: see
    /// [`timestamp_interval_ns`](crate::Builder::timestamp_interval_ns). If none follows, its
    /// departure is detected 20 ms later and counts as a lost completion.
    pub const fn more_follow(mut self, more_follow: bool) -> Self {
        self.more_follow = more_follow;
        self
    }

    /// Returns the number of datagrams on the wire.
    pub fn datagrams(&self) -> u32 {
        let payload = self.payload.len();
        let count = match self.segment_bytes {
            Some(segment) => payload.div_ceil(segment.get().into()).max(1),
            None => 1,
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Returns its bytes on the wire, with Ethernet, IP and UDP headers; `ipv4` for a socket that
    /// is connected to an IPv4 peer.
    pub(crate) fn wire_bytes(&self, ipv4: bool) -> u32 {
        let header_bytes = header_bytes(self.is_ipv4(ipv4));
        let headers = self.datagrams().saturating_mul(header_bytes);
        let payload = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        payload.saturating_add(headers).min(taut_dql::MAX_OBJECT)
    }

    fn is_ipv4(&self, connected_ipv4: bool) -> bool {
        self.to
            .map_or(connected_ipv4, |peer| control::is_ipv4(peer.ip()))
    }

    /// Returns `true` if the requested source address has the right family.
    pub(crate) fn has_fitting_source(&self, ipv4: bool) -> bool {
        self.from
            .is_none_or(|from| control::is_ipv4(from) == self.is_ipv4(ipv4))
    }

    /// Returns `true` if the next datagram, of this call or a later one, is on the same route.
    pub(crate) fn is_followed_by(&self, next: Option<&Datagram<'_>>) -> bool {
        next.map_or(self.more_follow, |next| next.to == self.to)
    }

    /// Writes the control messages of the datagram.
    pub(crate) fn write_control(
        &self,
        requests: &ReportRequests,
        ipv4: bool,
        control: &mut Control,
    ) {
        control.used = 0;
        if let Some(segment) = self.segment_bytes
            && self.datagrams() > 1
        {
            let data = segment.get().to_ne_bytes();
            control.push(libc::SOL_UDP, libc::UDP_SEGMENT, &data);
        }
        if let Some(class) = self.traffic_class {
            let data = libc::c_int::from(class).to_ne_bytes();
            if self.is_ipv4(ipv4) {
                control.push(libc::IPPROTO_IP, libc::IP_TOS, &data);
            } else {
                control.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &data);
            }
        }
        match self.from.map(|from| from.to_canonical()) {
            Some(IpAddr::V4(address)) => {
                let mut data = [0; 12];
                data[4..8].copy_from_slice(&address.octets());
                control.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &data);
            }
            Some(IpAddr::V6(address)) => {
                let mut data = [0; 20];
                data[..16].copy_from_slice(&address.octets());
                control.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &data);
            }
            None => {}
        }
        if requests.stamp {
            let data = libc::SOF_TIMESTAMPING_TX_SOFTWARE.to_ne_bytes();
            control.push(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &data);
            if let Some(id) = requests.own_id {
                control.push(libc::SOL_SOCKET, SCM_TS_OPT_ID, &id.to_ne_bytes());
            }
        }
    }
}

/// Reports requested from the kernel for a datagram.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReportRequests {
    /// A timestamp.
    pub(crate) stamp: bool,
    /// The id of the timestamp, if the kernel accepts one.
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
