//! Hearing when a device goes down, comes up, goes and is there again; and which completions count.
//!
//! # Why a completion alone is not enough
//! A device that goes down throws away what waits in it, and the kernel completes these packets
//! like those that it sent, without a trace. It does so **before** it says that the link is down.
//! So a packet that completed is only sent for certain once it is certain that no such purge came
//! before.
//!
//! The kernel does in this order: it takes `IFF_RUNNING` away; purges; sends the notice; and, if
//! the link comes up again, sets the flag, connects the device's discipline, and sends a notice
//! again. [`LinkMonitor::poll`] first reads the flags, which waits for nobody, and then all notices.
//! Take a packet that was purged and reaped before the look. Either the flag is still gone, or it
//! was set again, and then the notice of its going is there to be read. The look says
//! [`was_down`](LinkStatus::was_down) either way. A link is running again only by notice, for
//! between the flag and that notice there may be no discipline yet, and packets vanish as well.
//!
//! So: reap, look, and then [`DeliveryTally::confirm`]. After a look that says `was_down`, everything in
//! flight is in doubt too, since it may be purged already and not reaped: reset the queue, so that
//! it comes back as late ([`DeliveryTally::stale`]).
//!
//! What this does not hear of: a discipline that drops what it took, or that is replaced.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

use super::check_name;
use super::message::answers;
use super::state::{LinkState, LinkStatus, LinkTracker, Notice};
use super::statistics::read_link_message;
use crate::error::failed;
use crate::netns::NetNs;
use crate::sched::monotonic_ns;
use crate::sys;

/// Notices of links.
const LINK_GROUPS: u32 = libc::RTMGRP_LINK as u32;
/// Larger than any notice; rtnetlink never sends more than 32 KiB.
const NOTICE_BYTES: usize = 32 * 1024;
/// How often a link that does not run is asked for, were a notice of it ever missing, in ns.
const ASK_AGAIN_NS: u64 = 200_000_000;

/// Watches one device.
#[derive(Debug)]
pub struct LinkMonitor {
    ns: NetNs,
    device: String,
    fd: OwnedFd,
    known: LinkTracker,
    buffer: Vec<u8>,
    asked_ns: u64,
}

impl LinkMonitor {
    /// Watches `device`, from what it is now. It need not be running.
    ///
    /// # Errors
    /// `NotFound` (or `ENODEV`) if there is no such device.
    pub fn open(ns: &NetNs, device: &str) -> io::Result<Self> {
        check_name(device)?;
        let named = |call| move |cause| failed(call, device, cause);
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // Protocol 0 is `NETLINK_ROUTE`.
        let fd = ns
            .run(|| socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None))?
            .map_err(named("socket AF_NETLINK"))?;
        bind(&fd, &SocketAddrNetlink::new(0, LINK_GROUPS)).map_err(named("bind AF_NETLINK"))?;
        let mut watch = Self {
            ns: ns.clone(),
            device: device.to_owned(),
            fd,
            known: LinkTracker::new(device),
            buffer: vec![0; NOTICE_BYTES],
            asked_ns: 0,
        };
        watch.ask()?;
        // How it came to be what it is now is no news.
        let _ = watch.known.take();
        Ok(watch)
    }

    /// The device's name.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// What is known since the last look.
    pub fn state(&self) -> LinkState {
        self.known.state()
    }

    /// The kernel's number of the device; 0 while there is none. Another device of the same name,
    /// made later, has another.
    pub fn index(&self) -> u32 {
        self.known.index()
    }

    /// The longest packet that the device carries now, in bytes, without the Ethernet header. Waits
    /// for nobody.
    ///
    /// # Errors
    /// `NotFound` (or `ENODEV`) if there is no such device.
    pub fn mtu_bytes(&self) -> io::Result<u32> {
        let mtu = sys::link::mtu(self.fd.as_fd(), &self.device)
            .map_err(|cause| failed("SIOCGIFMTU", &self.device, cause))?;
        Ok(u32::try_from(mtu).unwrap_or(0))
    }

    /// Finds out what became of the device. Waits for nobody while it runs.
    ///
    /// # Errors
    /// What the netlink socket fails with.
    pub fn poll(&mut self) -> io::Result<LinkStatus> {
        match sys::link::flags(self.fd.as_fd(), &self.device) {
            Ok(flags) => self.known.flags(Some(flags)),
            Err(error) if is_absent(&error) => self.known.flags(None),
            Err(error) => return Err(failed("SIOCGIFFLAGS", &self.device, error)),
        }
        self.hear()?;
        let waits = self.known.state() != LinkState::Running;
        if waits && monotonic_ns().saturating_sub(self.asked_ns) >= ASK_AGAIN_NS {
            self.ask_again()?;
            self.hear()?;
        }
        Ok(self.known.take())
    }

    /// Reads all notices that wait.
    fn hear(&mut self) -> io::Result<()> {
        loop {
            match recv(&self.fd, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((length, _)) => {
                    for message in answers(&self.buffer[..length]) {
                        if let Some(notice) = Notice::parse(message.kind, message.payload) {
                            self.known.notice(notice);
                        }
                    }
                }
                Err(Errno::WOULDBLOCK) => return Ok(()),
                Err(Errno::INTR) => {}
                // The kernel dropped notices: ask for the present state instead.
                Err(Errno::NOBUFS) => {
                    self.known.missed_notices();
                    self.ask_again()?;
                }
                Err(error) => return Err(failed("recv", &self.device, error)),
            }
        }
    }

    /// Asks the kernel for what it would say now. It answers between changes, never in one.
    fn ask(&mut self) -> io::Result<()> {
        self.asked_ns = monotonic_ns();
        let known = &mut self.known;
        read_link_message(&self.ns, &self.device, |payload| {
            if let Some(notice) = Notice::parse(libc::RTM_NEWLINK, payload) {
                known.notice(notice);
            }
        })
    }

    /// The same, where there may be no such device.
    fn ask_again(&mut self) -> io::Result<()> {
        match self.ask() {
            Err(error) if is_absent(&error) => {
                self.known.flags(None);
                Ok(())
            }
            asked => asked,
        }
    }
}

/// Whether a call failed since there is no such device.
fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || crate::errno(error) == Some(libc::ENODEV)
}

impl AsFd for LinkMonitor {
    /// Readable when there is news.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Packets by what is certain of them.
///
/// ```
/// use taut_linux::link::DeliveryTally;
///
/// let mut tally = DeliveryTally::default();
/// tally.reaped(3);
/// tally.confirm(false); // the link was running all the time: they were sent
/// tally.reaped(2);
/// tally.confirm(true); // it was down meanwhile
/// tally.stale(4); // and these were in flight
/// assert_eq!((tally.completed, tally.uncertain, tally.unconfirmed), (3, 6, 0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeliveryTally {
    /// Sent.
    pub completed: u64,
    /// Sent, or lost when the link went down, was removed, or the ring was opened again.
    pub uncertain: u64,
    /// Reaped, and one of the two: the next look tells.
    pub unconfirmed: u64,
}

impl DeliveryTally {
    /// So many packets were handed back by the device.
    pub fn reaped(&mut self, packets: u64) {
        self.unconfirmed += packets;
    }

    /// So many came back that were in flight when the queue was reset.
    pub fn stale(&mut self, packets: u64) {
        self.uncertain += packets;
    }

    /// After what was reaped, the link was looked at.
    pub fn confirm(&mut self, was_down: bool) {
        let packets = std::mem::take(&mut self.unconfirmed);
        if was_down {
            self.uncertain += packets;
        } else {
            self.completed += packets;
        }
    }
}
