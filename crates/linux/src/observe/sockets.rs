//! Unsent and unacknowledged data of TCP and UDP sockets, over socket diagnostics.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::Context;
use crate::link::message::{LIST, Message, attribute, attributes, u32_at};
use crate::link::{self, RouteSocket};
use crate::netns::NetNs;

/// From sock_diag.h and inet_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_SKMEMINFO: u16 = 7;
/// `struct inet_diag_req_v2` and `struct inet_diag_msg`; the latter's attributes follow it.
const REQUEST_BYTES: usize = 56;
const RESPONSE_BYTES: usize = 72;
/// All states except listening and those without data: ESTABLISHED to CLOSING.
const STATES_WITH_DATA: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// An unconnected UDP socket is CLOSE.
const STATE_CLOSE: u32 = 1 << 7;
/// Offsets in `struct tcp_info`.
const INFO_RTT_US: usize = 68;
const INFO_NOT_SENT: usize = 144;
const INFO_MIN_RTT_US: usize = 148;
/// Words of `INET_DIAG_SKMEMINFO`.
const MEMORY_BELOW: usize = 2;

/// The protocol of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// A socket that can have data to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Socket {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Its own address and port.
    pub local: (IpAddr, u16),
    /// The other end.
    pub remote: (IpAddr, u16),
    /// Its inode, as in `/proc/PID/fd`.
    pub inode: u32,
    /// Bytes written and not acknowledged (TCP), or the memory of written packets that are still on
    /// the host (UDP).
    pub queued_bytes: u64,
    /// Of those, bytes that were not sent yet; TCP only.
    pub unsent_bytes: Option<u64>,
    /// Memory of packets below the socket: in a discipline or a ring.
    pub below_bytes: Option<u64>,
    /// The smoothed round-trip time in us; TCP only.
    pub rtt_us: Option<u64>,
    /// The minimum round-trip time in us; TCP only.
    pub min_rtt_us: Option<u64>,
}

impl Socket {
    fn parse(payload: &[u8], protocol: Protocol) -> Option<Self> {
        let fixed = payload.get(..RESPONSE_BYTES)?;
        let family = i32::from(fixed[0]);
        let port = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let all = payload.get(RESPONSE_BYTES..)?;
        let info = attribute(all, INET_DIAG_INFO).unwrap_or_default();
        let memory = attribute(all, INET_DIAG_SKMEMINFO).unwrap_or_default();
        // Older kernels have a shorter structure.
        let word = |bytes: &[u8], at: usize| u32_at(bytes, at).map(u64::from);
        Some(Self {
            protocol,
            local: (address(family, &fixed[8..24])?, port(4)),
            remote: (address(family, &fixed[24..40])?, port(6)),
            inode: u32_at(fixed, 68)?,
            queued_bytes: u32_at(fixed, 60)?.into(),
            unsent_bytes: word(info, INFO_NOT_SENT),
            below_bytes: word(memory, MEMORY_BELOW * 4),
            rtt_us: word(info, INFO_RTT_US),
            min_rtt_us: word(info, INFO_MIN_RTT_US).filter(|&us| us < u32::MAX.into()),
        })
    }
}

fn address(family: i32, bytes: &[u8]) -> Option<IpAddr> {
    match family {
        libc::AF_INET => {
            let four: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
            Some(Ipv4Addr::from(four).into())
        }
        libc::AF_INET6 => {
            let sixteen: [u8; 16] = bytes.get(..16)?.try_into().ok()?;
            let address = Ipv6Addr::from(sixteen);
            // An IPv6 socket that uses IPv4.
            Some(address.to_ipv4_mapped().map_or(address.into(), IpAddr::V4))
        }
        _ => None,
    }
}

/// Returns the connected or bound TCP and UDP sockets of a namespace. No privilege is needed, even
/// for sockets of other users.
///
/// # Errors
/// The error of netlink; `NotFound` if the kernel has no socket diagnostics.
pub fn sockets(ns: &NetNs) -> io::Result<Vec<Socket>> {
    let mut diag = ns
        .run(|| RouteSocket::open(Some(rustix::net::netlink::SOCK_DIAG)))?
        .context("SOCK_DIAG_BY_FAMILY", "inet sockets")?;
    let mut found = Vec::new();
    for (protocol, number, states) in [
        (Protocol::Tcp, libc::IPPROTO_TCP, STATES_WITH_DATA),
        (
            Protocol::Udp,
            libc::IPPROTO_UDP,
            STATES_WITH_DATA | STATE_CLOSE,
        ),
    ] {
        for family in [libc::AF_INET, libc::AF_INET6] {
            let mut fixed = [0; REQUEST_BYTES];
            fixed[0] = family as u8;
            fixed[1] = number as u8;
            fixed[2] = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_SKMEMINFO - 1);
            fixed[4..8].copy_from_slice(&states.to_ne_bytes());
            let request = Message::new(SOCK_DIAG_BY_FAMILY, LIST, &fixed);
            let result = diag.request(request, |kind, payload| {
                if kind == SOCK_DIAG_BY_FAMILY {
                    found.extend(Socket::parse(payload, protocol));
                }
            });
            match result {
                // The kernel lacks this family, or diagnostics for this protocol.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => result.context("SOCK_DIAG_BY_FAMILY", "inet sockets")?,
            }
        }
    }
    Ok(found)
}

/// Returns the addresses of a device.
///
/// # Errors
/// `NotFound` if there is no such device; the error of netlink.
pub fn addresses(ns: &NetNs, device: &str) -> io::Result<Vec<IpAddr>> {
    /// `struct ifaddrmsg`, which the attributes follow.
    const FIXED_BYTES: usize = 8;
    let index = link::index(ns, device)?;
    let mut found = Vec::new();
    let request = Message::new(libc::RTM_GETADDR, LIST, &[0; FIXED_BYTES]);
    ns.request("RTM_GETADDR", device, request, |kind, payload| {
        if kind != libc::RTM_NEWADDR || u32_at(payload, 4) != Some(index) {
            return;
        }
        let family = payload.first().copied().unwrap_or(0).into();
        let all = attributes(payload.get(FIXED_BYTES..).unwrap_or(&[]));
        // On a point-to-point link, the first is the address of the other end, the second its own.
        let own = all.filter(|&(kind, _)| {
            kind == libc::IFA_LOCAL || (kind == libc::IFA_ADDRESS && family == libc::AF_INET6)
        });
        found.extend(own.filter_map(|(_, value)| address(family, value)));
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn own_socket_is_listed_with_unsent_bytes() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let address = listener.local_addr().expect("address");
        let mut sender = TcpStream::connect(address).expect("connects");
        let (_silent, _) = listener.accept().expect("accepts");
        sender.set_nonblocking(true).expect("nonblocking");
        // The receiver does not read, so data beyond its window stays here.
        let mut written = 0;
        while let Ok(bytes) = sender.write(&[0; 65_536]) {
            written += bytes as u64;
        }
        let own = sender.local_addr().expect("address");
        let ns = NetNs::current().expect("namespace");
        let all = sockets(&ns).expect("sockets");
        let find = |it: &&Socket| it.local == (own.ip(), own.port());
        let found = all.iter().find(find).expect("the sender");
        assert_eq!(found.remote, (address.ip(), address.port()));
        assert!(
            (1..=written).contains(&found.queued_bytes),
            "{found:?} of {written}"
        );
        assert!(
            found
                .unsent_bytes
                .is_some_and(|it| it > 0 && it <= found.queued_bytes)
        );
        assert!(found.inode > 0 && found.protocol == Protocol::Tcp);
        let local = addresses(&ns, "lo").expect("addresses");
        assert!(local.contains(&own.ip()), "{local:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..300),
            family in prop::sample::select(vec![libc::AF_INET as u8, libc::AF_INET6 as u8, 0]),
        ) {
            if let Some(first) = bytes.first_mut() {
                *first = family;
            }
            let _ = Socket::parse(&bytes, Protocol::Tcp);
        }
    }
}
