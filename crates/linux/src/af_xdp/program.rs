//! The XDP program on a device that redirects its packets to our sockets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::config::Redirect;
use crate::error::{Context, errno, failed, failed_with};
use crate::link;
use crate::netns::NetNs;
use crate::sys::bpf;

/// Maximum number of queues of a device.
const QUEUES: u32 = 1024;

/// A program, its map of sockets, and its device. All three are held by descriptors, so the kernel
/// detaches the program when they are closed, however the process ends.
#[derive(Debug)]
pub(super) struct Program {
    map: OwnedFd,
    program: OwnedFd,
    redirect: Redirect,
    attached: Option<Attached>,
}

/// The device to which a program is attached.
#[derive(Debug)]
struct Attached {
    /// The device's index: a recreated device has another.
    index: u32,
    redirect: Redirect,
    _link: OwnedFd,
}

impl Program {
    pub(super) fn load(device: &str, redirect: Redirect) -> io::Result<Self> {
        let map = bpf::socket_map(QUEUES).context("BPF_MAP_CREATE", device)?;
        let program = bpf::load_redirect(map.as_fd()).context("BPF_PROG_LOAD", device)?;
        Ok(Self {
            map,
            program,
            redirect,
            attached: None,
        })
    }

    /// Detaches the program from its device.
    pub(super) fn detach(&mut self) {
        self.attached = None;
    }

    /// Redirects the packets of a queue to `socket`, and returns where they are redirected.
    pub(super) fn serve(
        &mut self,
        (ns, device, index): (&NetNs, &str, u32),
        queue: u32,
        socket: BorrowedFd<'_>,
    ) -> io::Result<Redirect> {
        bpf::set_socket(self.map.as_fd(), queue, socket).context("BPF_MAP_UPDATE_ELEM", device)?;
        if let Some(attached) = self.attached.as_ref().filter(|it| it.index == index) {
            return Ok(attached.redirect);
        }
        let busy = |cause: io::Error| match cause.raw_os_error() {
            Some(libc::EBUSY) => {
                failed_with("BPF_LINK_CREATE", device, cause, attached(ns, device))
            }
            _ => failed("BPF_LINK_CREATE", device, cause),
        };
        let attach = |flags| {
            ns.run(|| bpf::attach(self.program.as_fd(), index, flags))?
                .map_err(busy)
        };
        let native = || attach(bpf::FLAG_NATIVE).map(|link| (Redirect::Native, link));
        let generic = || attach(bpf::FLAG_GENERIC).map(|link| (Redirect::Generic, link));
        let (redirect, link) = match self.redirect {
            Redirect::Native => native()?,
            Redirect::Generic => generic()?,
            Redirect::Auto => native().or_else(|error| match errno(&error) {
                // Errors of drivers without support for programs, or not with this MTU or these
                // queues.
                Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ERANGE | libc::ENOSPC) => generic(),
                _ => Err(error),
            })?,
        };
        self.attached = Some(Attached {
            index,
            redirect,
            _link: link,
        });
        Ok(redirect)
    }
}

/// Describes the program that is attached already.
fn attached(ns: &NetNs, device: &str) -> String {
    let link = link::describe(ns, device).ok();
    match link.and_then(|link| link.xdp_program) {
        Some(id) => format!("XDP program {id} is attached (`ip link show {device}`)"),
        None => "an XDP program was attached a moment ago".to_owned(),
    }
}
