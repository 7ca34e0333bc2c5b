//! For the cost benchmark: the same system call without a limit.

use std::net::UdpSocket;
use std::os::fd::AsFd;

use crate::datagram::{Datagram, ReportRequests};
use crate::sys::message::{self, BATCH, Control, Outgoing};

/// Sends `datagrams`, at most 32, over a connected IPv4 socket, and ignores errors.
pub fn send(socket: &UdpSocket, datagrams: &[Datagram<'_>]) {
    let mut controls = [Control::EMPTY; BATCH];
    let mut outgoing = [Outgoing::EMPTY; BATCH];
    let places = outgoing.iter_mut().zip(&mut controls);
    for ((out, control), datagram) in places.zip(datagrams) {
        datagram.write_control(&ReportRequests::default(), true, control);
        out.payload = datagram.payload;
        out.control = control.bytes();
    }
    let count = datagrams.len().min(BATCH);
    let _ = message::send(socket.as_fd(), &outgoing[..count], 0);
}
