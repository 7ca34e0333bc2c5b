//! Entries of a socket's error queue.

use std::net::SocketAddr;

use crate::control;

/// Origins and types of `struct sock_extended_err`, from linux/errqueue.h.
const ORIGIN_ZERO_COPY: u8 = 5;
const ZERO_COPY_COPIED: u8 = 1;
const STAMP_LEFT: u32 = 0;

/// One entry of a socket's error queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorQueueEntry {
    /// A datagram left the queueing discipline, and was passed to the device.
    Left {
        /// The id with which it was sent.
        id: u32,
        /// The time on the wall clock, in ns.
        at_real_ns: u64,
    },
    /// The buffers of these datagrams were released.
    Released {
        /// The first id.
        first: u32,
        /// The last id; below the first if the ids wrapped.
        last: u32,
        /// The kernel copied at least one of them.
        copied: bool,
    },
    /// A datagram was rejected on its way, or by the peer.
    Refused {
        /// The error number: `ECONNREFUSED`, `EHOSTUNREACH`, `EMSGSIZE`..
        errno: i32,
        /// The destination of the datagram.
        peer: Option<SocketAddr>,
        /// For `EMSGSIZE`: the path MTU in bytes, with the IP header; else 0.
        mtu_bytes: u32,
    },
}

impl ErrorQueueEntry {
    /// Parses the control messages of one entry, as `recvmsg` returns them with `MSG_ERRQUEUE`.
    /// `peer` is the destination of its datagram. `None` if it contains no supported message.
    pub(crate) fn parse(control_bytes: &[u8], peer: Option<SocketAddr>) -> Option<Self> {
        let mut stamp_ns = None;
        let mut extended = None;
        for message in control::messages(control_bytes) {
            match (message.level, message.kind) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                    stamp_ns = time_ns(message.data);
                }
                (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                    extended = Some(message.data);
                }
                _ => {}
            }
        }
        // `struct sock_extended_err`.
        let extended = extended?;
        let (errno, origin) = (control::i32_at(extended, 0)?, *extended.get(4)?);
        let (code, info) = (*extended.get(6)?, control::u32_at(extended, 8)?);
        let data = control::u32_at(extended, 12)?;
        match origin {
            libc::SO_EE_ORIGIN_TIMESTAMPING if info == STAMP_LEFT => Some(Self::Left {
                id: data,
                at_real_ns: stamp_ns?,
            }),
            ORIGIN_ZERO_COPY => Some(Self::Released {
                first: info,
                last: data,
                copied: code & ZERO_COPY_COPIED != 0,
            }),
            libc::SO_EE_ORIGIN_LOCAL | libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6 => {
                Some(Self::Refused {
                    errno,
                    peer,
                    mtu_bytes: if errno == libc::EMSGSIZE { info } else { 0 },
                })
            }
            _ => None,
        }
    }
}

/// The first of three `struct timespec`: the software timestamp.
fn time_ns(bytes: &[u8]) -> Option<u64> {
    let word = bytes.len() / 6;
    let number = |at: usize| match bytes.get(at * word..(at + 1) * word)? {
        bytes if word == 8 => Some(i64::from_ne_bytes(bytes.try_into().ok()?)),
        bytes if word == 4 => Some(i32::from_ne_bytes(bytes.try_into().ok()?).into()),
        _ => None,
    };
    let (seconds, nanoseconds) = (
        u64::try_from(number(0)?).ok()?,
        u64::try_from(number(1)?).ok()?,
    );
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::message::Control;
    use proptest::prelude::*;

    fn entry(origin: u8, code: u8, errno: u32, info: u32, data: u32, stamp: bool) -> Vec<u8> {
        let mut extended = [0; 32];
        extended[..4].copy_from_slice(&errno.to_ne_bytes());
        extended[4] = origin;
        extended[6] = code;
        extended[8..12].copy_from_slice(&info.to_ne_bytes());
        extended[12..16].copy_from_slice(&data.to_ne_bytes());
        let mut times = [0; 48];
        times[..8].copy_from_slice(&3_i64.to_ne_bytes());
        times[8..16].copy_from_slice(&7_i64.to_ne_bytes());
        let mut control = Control::EMPTY;
        if stamp {
            control.push(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &times);
        }
        control.push(libc::SOL_IPV6, libc::IPV6_RECVERR, &extended);
        control.bytes().to_vec()
    }

    #[test]
    fn stamps_notifications_and_errors() {
        let at_real_ns = 3_000_000_007;
        let parse = |bytes: &[u8]| ErrorQueueEntry::parse(bytes, None);
        let left = ErrorQueueEntry::Left { id: 9, at_real_ns };
        assert_eq!(parse(&entry(4, 0, 42, 0, 9, true)), Some(left));
        assert_eq!(parse(&entry(4, 0, 42, 1, 9, true)), None, "not requested");
        let released = ErrorQueueEntry::Released {
            first: u32::MAX,
            last: 2,
            copied: true,
        };
        assert_eq!(parse(&entry(5, 1, 0, u32::MAX, 2, false)), Some(released));
        let refused = ErrorQueueEntry::Refused {
            errno: libc::EMSGSIZE,
            peer: None,
            mtu_bytes: 1400,
        };
        let bytes = entry(1, 0, libc::EMSGSIZE as u32, 1400, 0, false);
        assert_eq!(parse(&bytes), Some(refused));
        assert_eq!(
            parse(&entry(4, 0, 42, 0, 9, false)),
            None,
            "a stamp without a time"
        );
        assert_eq!(
            parse(&entry(4, 0, 42, 2, 9, true)),
            None,
            "acknowledged: TCP only"
        );
    }

    proptest! {
        #[test]
        fn malformed_entry_is_ignored(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = ErrorQueueEntry::parse(&bytes, None);
        }

        #[test]
        fn truncated_entry_is_nothing_or_itself(cut in 0_usize..200) {
            let whole = entry(4, 0, 42, 0, 9, true);
            let got = ErrorQueueEntry::parse(&whole[..cut.min(whole.len())], None);
            prop_assert!(got.is_none() || got == ErrorQueueEntry::parse(&whole, None));
        }
    }
}
