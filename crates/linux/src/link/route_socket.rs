//! Requests over a route netlink socket, one at a time.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

use super::message::{HEADER_BYTES, Message, Response, attribute, messages, u32_at};
use crate::error::Context;
use crate::sys;

/// Larger than any response about one link (about 2 KiB); rtnetlink never sends more than 32 KiB.
const RESPONSE_BYTES: usize = 32 * 1024;
/// The attribute of an error with the kernel's message (`NLMSGERR_ATTR_MSG`).
const ERROR_MESSAGE: u16 = 1;

/// A route netlink socket in one network namespace.
#[derive(Debug)]
pub(crate) struct RouteSocket {
    fd: OwnedFd,
    sequence: u32,
}

impl RouteSocket {
    /// Opens a socket in the calling thread's namespace, for a `protocol` of netlink with the same
    /// message format; `None` is the route protocol, whose number is 0.
    pub(crate) fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let fd = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            protocol,
        )
        .context("socket", "AF_NETLINK")?;
        // Errors include the kernel's message, without a copy of the request.
        for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
            sys::socket::set_option(&fd, libc::SOL_NETLINK, option, 1)
                .context("socket", "AF_NETLINK")?;
        }
        Ok(Self { fd, sequence: 0 })
    }

    /// Sends `request`, which must request an acknowledgement or a list, and waits for its end.
    /// `take` receives the other messages of the response, as (type, payload).
    pub(crate) fn request(
        &mut self,
        request: Message,
        mut take: impl FnMut(u16, &[u8]),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let request = request.finish(self.sequence);
        send(&self.fd, &request, SendFlags::NOSIGNAL)?;
        let mut buffer = vec![0; RESPONSE_BYTES];
        loop {
            let receive = || recv(&self.fd, &mut buffer[..], RecvFlags::empty());
            let (length, _) = retry_on_intr(receive)?;
            // Skip the response to an earlier request that was abandoned.
            let ours = messages(&buffer[..length]).filter(|a| a.sequence == self.sequence);
            for response in ours {
                match i32::from(response.kind) {
                    // The end of a list carries an error number, as an acknowledgement does.
                    libc::NLMSG_ERROR | libc::NLMSG_DONE => return acknowledgement(&response),
                    _ => {}
                }
                take(response.kind, response.payload);
            }
        }
    }
}

/// An acknowledgement is an error message with the number 0.
fn acknowledgement(response: &Response<'_>) -> io::Result<()> {
    let number = u32_at(response.payload, 0).ok_or(io::ErrorKind::InvalidData)? as i32;
    if number == 0 {
        return Ok(());
    }
    let cause = io::Error::from_raw_os_error(number.saturating_neg());
    match error_message(response) {
        Some(error_message) => Err(io::Error::new(
            cause.kind(),
            format!("{error_message}: {cause}"),
        )),
        None => Err(cause),
    }
}

/// The kernel's message, which follows the error number and the header of the request.
fn error_message(response: &Response<'_>) -> Option<String> {
    if i32::from(response.flags) & libc::NLM_F_ACK_TLVS == 0 {
        return None;
    }
    let after = response.payload.get(4 + HEADER_BYTES..)?;
    let text = attribute(after, ERROR_MESSAGE)?;
    Some(
        String::from_utf8_lossy(text)
            .trim_end_matches('\0')
            .to_owned(),
    )
}
