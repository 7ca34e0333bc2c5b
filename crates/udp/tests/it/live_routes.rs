//! A route that is removed and returns, and a smaller path MTU for datagrams that must not be
//! fragmented.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};
use taut_linux::{NetNs, link};
use taut_path::AnyLimit;
use taut_udp::{Datagram, LimitedUdp, Observer, SocketIssue, Source, Stop};

use crate::common::{Link, allowed, finish, read_all, send_and_finish, until};

const PAYLOAD: [u8; 1200] = [0; 1200];
/// The network of the links.
const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);
const PREFIX_BITS: u8 = 24;

/// The one route of the near side.
struct Route<'a> {
    ns: &'a NetNs,
    device: u32,
}

impl Route<'_> {
    fn remove(&self) {
        self.change(libc::RTM_DELROUTE, 0, libc::RT_SCOPE_NOWHERE);
    }

    fn restore(&self) {
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.change(libc::RTM_NEWROUTE, flags, libc::RT_SCOPE_LINK);
    }

    /// Requests a change from the kernel, and waits for its response.
    fn change(&self, kind: u16, flags: i32, scope: u8) {
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
        let mut message = vec![0; 4];
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        // Sequence number and port: there is no other requester.
        message.extend([0; 8]);
        let family = libc::AF_INET as u8;
        message.extend([family, PREFIX_BITS, 0, 0]);
        let protocol = if scope == libc::RT_SCOPE_LINK {
            libc::RTPROT_STATIC
        } else {
            libc::RTPROT_UNSPEC
        };
        message.extend([libc::RT_TABLE_MAIN, protocol, scope, libc::RTN_UNICAST]);
        message.extend([0; 4]);
        for (attribute, value) in [
            (libc::RTA_DST, NETWORK.octets()),
            (libc::RTA_OIF, self.device.to_ne_bytes()),
        ] {
            message.extend(8_u16.to_ne_bytes());
            message.extend(attribute.to_ne_bytes());
            message.extend(value);
        }
        let length = message.len() as u32;
        message[..4].copy_from_slice(&length.to_ne_bytes());
        let answer = self.ns.run(move || {
            let family = AddressFamily::NETLINK;
            // Protocol 0 is routes.
            let socket = rustix::net::socket(family, SocketType::RAW, None)?;
            rustix::net::send(&socket, &message, SendFlags::empty())?;
            let mut answer = [0; 256];
            rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
            std::io::Result::Ok(answer)
        });
        let answer = answer.expect("thread").expect("netlink");
        // The error number after the header; 0 is an acknowledgement.
        assert_eq!(answer[16..20], [0; 4], "{kind}");
    }
}

/// Records the issues that it receives.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<SocketIssue>>>);

impl Observer for Log {
    fn issue(&mut self, issue: &SocketIssue) {
        self.0.lock().unwrap().push(*issue);
    }
}

#[test]
fn removed_route_is_reported_without_earlier_loss() {
    if !allowed() {
        return;
    }
    for source in [Source::Timestamps, Source::ZeroCopy, Source::Polled] {
        let link = Link::shaped(2_000_000);
        let route = Route {
            ns: &link.near,
            device: link::index(&link.near, "near").expect("index"),
        };
        let (far, address) = link.receiver();
        let socket = LimitedUdp::builder(link.connected(address))
            .source(source)
            .limit(AnyLimit::bytes(30_000))
            .build()
            .expect("limited");
        let mut taken = 0;
        loop {
            let sent = socket
                .try_send(&[Datagram::new(&PAYLOAD); 8])
                .expect("sends");
            taken += sent.count;
            if sent.stop.is_some() {
                assert_eq!(sent.stop, Some(Stop::NoRoom));
                break;
            }
        }
        route.remove();
        let gone = Stop::Refused(libc::ENETUNREACH);
        // With or without room: a sender does not wait for datagrams that cannot be sent.
        let refused = socket
            .send_unlimited(&[Datagram::new(&PAYLOAD)])
            .expect("sends");
        assert_eq!((refused.count, refused.stop), (0, Some(gone)), "{source:?}");
        finish(&socket);
        let refused = socket.send(&[Datagram::new(&PAYLOAD); 8]).expect("sends");
        assert_eq!((refused.count, refused.stop), (0, Some(gone)), "{source:?}");
        assert_eq!(socket.snapshot().issues.unreachable, 2);
        assert_eq!(
            socket.snapshot().in_flight,
            0,
            "what is refused is not in flight"
        );
        // Read in between, because zero-copy pages fill the receiver's buffer quickly.
        let mut received = read_all(&far);
        route.restore();
        send_and_finish(&socket, 1200, 10);
        until("all that was taken came", || {
            received += read_all(&far);
            received == taken + 10
        });
        let totals = socket.snapshot().totals;
        assert_eq!(totals.completed_bytes, totals.sent_bytes, "{source:?}");
        assert_eq!(totals.sent_datagrams, taken as u64 + 10);
        assert_eq!(totals.lost_completions, 0);
    }
}

#[test]
fn smaller_path_mtu_rejects_unfragmentable_datagrams() {
    if !allowed() {
        return;
    }
    for source in [Source::Timestamps, Source::ZeroCopy, Source::Polled] {
        let link = Link::shaped(5_000_000);
        let (far, address) = link.receiver();
        let log = Log::default();
        let socket = link.connected(address);
        set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO).expect("option");
        let socket = LimitedUdp::builder(socket)
            .source(source)
            .limit(AnyLimit::bytes(30_000))
            .observer(log.clone())
            .build()
            .expect("limited");
        let full = socket
            .try_send(&[Datagram::new(&PAYLOAD); 32])
            .expect("sends");
        assert_eq!(full.stop, Some(Stop::NoRoom));
        link::set_mtu(&link.near, "near", 1000).expect("mtu");
        // The discipline's backlog is sent, and short datagrams still pass.
        finish(&socket);
        let mut received = read_all(&far);
        let short = [1; 900];
        for _ in 0..3 {
            let mixed = [Datagram::new(&PAYLOAD), Datagram::new(&short)];
            let sent = socket.send(&mixed).expect("sends");
            assert_eq!(
                (sent.count, sent.stop),
                (0, Some(Stop::Refused(libc::EMSGSIZE))),
                "{source:?}"
            );
            let sent = socket.send(&mixed[1..]).expect("sends");
            assert_eq!((sent.count, sent.stop), (1, None), "{source:?}");
        }
        finish(&socket);
        assert!(socket.snapshot().issues.too_large >= 3);
        let on_departure =
            |issue: &SocketIssue| matches!(issue, SocketIssue::TooLarge { mtu_bytes: 1000 });
        assert!(
            log.0.lock().unwrap().iter().any(on_departure),
            "{log:?}",
            log = log.0
        );
        link::set_mtu(&link.near, "near", 1500).expect("mtu");
        send_and_finish(&socket, 1200, 10);
        until("all that was taken came", || {
            received += read_all(&far);
            received == full.count + 13
        });
        let totals = socket.snapshot().totals;
        assert_eq!(totals.completed_bytes, totals.sent_bytes, "{source:?}");
        assert_eq!(totals.lost_completions, 0);
    }
}
