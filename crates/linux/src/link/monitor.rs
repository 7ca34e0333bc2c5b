//! Monitoring the state of a device's link, to decide which completed packets were sent.
//!
//! # Why a completion alone is not enough
//! A device that goes down purges its queued packets, and the kernel completes them like those that
//! it sent. It does so **before** it reports that the link is down. So a completed packet was sent
//! only if no such purge came before.
//!
//! The kernel proceeds in this order. It clears `IFF_RUNNING`, purges, and sends the notification.
//! If the link comes up again, it sets the flag, attaches the device's discipline, and sends
//! another notification.
//!
//! [`LinkMonitor::poll`] first reads the flags, which does not block, and then all notifications.
//! If a packet was purged and reaped before the poll, then either the flag is still cleared, or it
//! was set again and the notification of the first change can be read. In both cases the poll
//! returns [`was_down`](LinkStatus::was_down). Only a notification sets the state to running,
//! because between the flag and the notification there might be no discipline, and packets are lost
//! as well.
//!
//! So: reap, poll, and then call [`DeliveryTally::confirm`]. If the poll returns `was_down`,
//! packets in flight are uncertain too, because they might be purged already and not reaped. Reset
//! the queue, so that they are returned as stale ([`DeliveryTally::stale`]).
//!
//! This does not detect a discipline that drops queued packets, or that is replaced.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netdevice::index_to_name;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv};

use super::check_name;
use super::describe::read_link_message;
use super::message::messages;
use super::state::{LinkState, LinkStatus, LinkTracker, Notification};
use crate::error::{Context, failed};
use crate::netns::NetNs;
use crate::sched::monotonic_ns;
use crate::sys;

/// Notifications of links.
const LINK_GROUPS: u32 = libc::RTMGRP_LINK as u32;
/// Larger than any notification; rtnetlink never sends more than 32 KiB.
const NOTIFICATION_BYTES: usize = 32 * 1024;
/// Interval at which a link that is not running is queried, in case its notification was lost, in
/// ns.
const QUERY_INTERVAL_NS: u64 = 200_000_000;

/// Monitors the link of one device, also under another name. When the device was removed, it waits
/// for a device with the last name.
#[derive(Debug)]
pub struct LinkMonitor {
    ns: NetNs,
    fd: OwnedFd,
    tracker: LinkTracker,
    buffer: Vec<u8>,
    queried_ns: u64,
}

impl LinkMonitor {
    /// Starts monitoring `device` in its current state, which can be any.
    ///
    /// # Errors
    /// `NotFound` (or `ENODEV`) if there is no such device.
    pub fn open(ns: &NetNs, device: &str) -> io::Result<Self> {
        check_name(device)?;
        let (kind, flags) = (SocketType::RAW, SocketFlags::NONBLOCK);
        // The default protocol, 0, is `NETLINK_ROUTE`.
        let fd = ns.socket(AddressFamily::NETLINK, kind, flags)?;
        let fd = fd.context("socket AF_NETLINK", device)?;
        bind(&fd, &SocketAddrNetlink::new(0, LINK_GROUPS)).context("bind AF_NETLINK", device)?;
        let mut monitor = Self {
            ns: ns.clone(),
            fd,
            tracker: LinkTracker::new(device),
            buffer: vec![0; NOTIFICATION_BYTES],
            queried_ns: 0,
        };
        monitor.query()?;
        // Discard events from before `open`.
        let _ = monitor.tracker.take();
        Ok(monitor)
    }

    /// Returns the device's name at the last poll.
    pub fn device(&self) -> &str {
        &self.tracker.name
    }

    /// Returns the state at the last poll.
    pub fn state(&self) -> LinkState {
        self.tracker.state
    }

    /// Returns the index of the device; 0 if it is absent.
    pub fn index(&self) -> u32 {
        self.tracker.index
    }

    /// Returns how often another device replaced a removed one. A device that left the namespace
    /// and returned is another one, even with the same index.
    pub fn replacements(&self) -> u64 {
        self.tracker.replacements
    }

    /// Returns `true` if the removed device was moved to another network namespace.
    pub fn is_moved(&self) -> bool {
        self.tracker.is_moved
    }

    /// Prevents that the device with this index replaces a removed one; 0 for none.
    pub fn exclude(&mut self, index: u32) {
        self.tracker.excluded = index;
    }

    /// Returns the MTU of the device at the last poll, in bytes, without the Ethernet header.
    pub fn mtu_bytes(&self) -> u32 {
        self.tracker.mtu_bytes
    }

    /// Polls the state of the device. Does not block while the device is running.
    ///
    /// # Errors
    /// The error of the netlink socket.
    pub fn poll(&mut self) -> io::Result<LinkStatus> {
        match self.read_flags() {
            Ok(Some(flags)) => self.tracker.flags(Some(flags)),
            Ok(None) => {}
            Err(error) if is_absent(&error) => self.tracker.flags(None),
            Err(error) => return Err(failed("SIOCGIFFLAGS", self.device(), error)),
        }
        self.read_notifications()?;
        let waits = self.tracker.state != LinkState::Running;
        if waits && monotonic_ns().saturating_sub(self.queried_ns) >= QUERY_INTERVAL_NS {
            self.query_while_down()?;
            self.read_notifications()?;
        }
        Ok(self.tracker.take())
    }

    /// Reads the flags; `None` while the device is being renamed. It has its next name for some
    /// milliseconds before the kernel finds it by that name, and stays up.
    fn read_flags(&self) -> io::Result<Option<u16>> {
        let fd = self.fd.as_fd();
        let index = self.tracker.index;
        if index == 0 {
            return sys::device::flags(fd, self.device()).map(Some);
        }
        let name = index_to_name(fd, index)?;
        match sys::device::flags(fd, &name) {
            Err(error) if is_absent(&error) => {
                index_to_name(fd, index)?;
                Ok(None)
            }
            flags => flags.map(Some),
        }
    }

    /// Reads all pending notifications.
    fn read_notifications(&mut self) -> io::Result<()> {
        let mut is_incomplete = false;
        loop {
            match recv(&self.fd, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((length, _)) => {
                    for message in messages(&self.buffer[..length]) {
                        if let Some(notification) =
                            Notification::parse(message.kind, message.payload)
                        {
                            self.tracker.apply(notification);
                        }
                    }
                }
                Err(Errno::WOULDBLOCK) => break,
                Err(Errno::INTR) => {}
                // The kernel dropped notifications, maybe that of the removal. It returns this
                // error before the older ones that are still queued.
                Err(Errno::NOBUFS) => is_incomplete = true,
                Err(error) => return Err(failed("recv", self.device(), error)),
            }
        }
        if is_incomplete {
            self.tracker.was_down = true;
            match self.query() {
                Err(error) if is_absent(&error) => self.tracker.absent(false),
                result => result?,
            }
        }
        Ok(())
    }

    /// Queries the state. An absent device is removed by its notification, which can follow later.
    fn query_while_down(&mut self) -> io::Result<()> {
        match self.query() {
            Err(error) if is_absent(&error) => {
                self.tracker.flags(None);
                Ok(())
            }
            result => result,
        }
    }

    /// Queries the current state. The kernel answers between changes, never within one.
    fn query(&mut self) -> io::Result<()> {
        self.queried_ns = monotonic_ns();
        let (device, tracker) = (self.tracker.name.clone(), &mut self.tracker);
        read_link_message(&self.ns, &device, tracker.index, |payload| {
            if let Some(notification) = Notification::parse(libc::RTM_NEWLINK, payload) {
                tracker.apply(notification);
            }
        })
    }
}

/// Returns `true` if a call failed because there is no such device.
pub fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || crate::errno(error) == Some(libc::ENODEV)
}

impl AsFd for LinkMonitor {
    /// Readable when there are notifications.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Packets by delivery state.
///
/// The thread that completes calls these methods in this order after each [`Queue::complete`].
///
/// 1. [`reaped`](Self::reaped) with the packets of [`Completed::counts`],
/// 2. [`stale`](Self::stale) with [`Completed::stale_packets`],
/// 3. [`confirm`](Self::confirm) with [`LinkStatus::was_down`] of a poll that follows the reap.
///
/// [`Queue::complete`]: taut_path::Queue::complete
/// [`Completed::counts`]: taut_path::Completed::counts
/// [`Completed::stale_packets`]: taut_path::Completed::stale_packets
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
    /// Sent or lost: in flight when the link went down, the device was removed, or the ring was
    /// reopened.
    pub uncertain: u64,
    /// Reaped, and counted as one of the two at the next poll.
    pub unconfirmed: u64,
}

impl DeliveryTally {
    /// Counts packets that the device returned, without the stale ones.
    pub fn reaped(&mut self, packets: u64) {
        self.unconfirmed += packets;
    }

    /// Counts stale packets, which were in flight when the queue was reset.
    pub fn stale(&mut self, packets: u64) {
        self.uncertain += packets;
    }

    /// Assigns the reaped packets after the link was polled.
    pub fn confirm(&mut self, was_down: bool) {
        let packets = std::mem::take(&mut self.unconfirmed);
        if was_down {
            self.uncertain += packets;
        } else {
            self.completed += packets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{add_veth_pair, set_namespace};
    use crate::privilege;

    #[test]
    fn query_before_the_notification_keeps_the_cause() {
        if privilege().is_err() {
            return;
        }
        let ns = || NetNs::new().expect("namespace");
        let (here, elsewhere) = (ns(), ns());
        add_veth_pair(&here, "left", &here, "right").expect("pair");
        let mut monitor = LinkMonitor::open(&here, "left").expect("monitor");
        set_namespace(&here, "left", &elsewhere).expect("moves");
        monitor.query_while_down().expect("query");
        assert_eq!(monitor.state(), LinkState::Down);
        monitor.read_notifications().expect("notifications");
        assert_eq!(monitor.state(), LinkState::Removed);
        assert!(monitor.is_moved());
    }
}
