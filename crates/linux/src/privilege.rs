//! What this process may do, and how to get there without being root.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use crate::error::{failed, invalid};
use crate::sys;

/// Numbers of the capabilities in `/proc/PID/status`, from capabilities(7).
const CAP_NET_ADMIN: u32 = 12;
const CAP_NET_RAW: u32 = 13;
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_ADMIN: u32 = 21;

/// A capability that a program may keep, see [`keep_only`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Changing devices.
    NetAdmin,
    /// Packet sockets.
    NetRaw,
    /// Locking memory beyond the limit.
    IpcLock,
}

impl Capability {
    const fn number(self) -> u32 {
        match self {
            Self::NetAdmin => CAP_NET_ADMIN,
            Self::NetRaw => CAP_NET_RAW,
            Self::IpcLock => CAP_IPC_LOCK,
        }
    }

    /// Whether the calling thread has it now.
    ///
    /// # Errors
    /// What reading `/proc/thread-self/status` fails with.
    pub fn is_held(self) -> io::Result<bool> {
        let status = read_status()?;
        Ok(effective(&status) & 1 << self.number() != 0)
    }
}

/// Gives up every capability but `kept`, for good: neither this process nor a program that it starts
/// gets another. The user stays who it is.
///
/// Call it before there are other threads: the kernel keeps capabilities for each thread apart, and
/// threads that are made later have those of their maker.
///
/// # Errors
/// If the process has other threads; `PermissionDenied` if it lacks one of `kept`.
pub fn keep_only(kept: &[Capability]) -> io::Result<()> {
    let mut tries = 0..ENDING_THREADS_TRIES;
    while let threads @ 2.. = threads()? {
        if tries.next().is_none() {
            return Err(invalid(format!(
                "capabilities are given up by each thread for itself, and there are {threads}"
            )));
        }
        thread::sleep(Duration::from_millis(1));
    }
    let named = |call| move |cause| failed(call, "own process", cause);
    let bits = |kept: &[Capability]| kept.iter().fold(0, |bits, it| bits | 1 << it.number());
    for number in 0..u64::BITS {
        match sys::capability::drop_from_bounding_set(number) {
            Ok(()) => {}
            Err(error) => match error.raw_os_error() {
                // The kernel knows no more of them.
                Some(libc::EINVAL) => break,
                // Without CAP_SETPCAP it stays as it is: what is started gets nothing from it, for
                // there are no new privileges.
                Some(libc::EPERM) => break,
                _ => return Err(named("PR_CAPBSET_DROP")(error)),
            },
        }
    }
    sys::capability::no_new_privileges().map_err(named("PR_SET_NO_NEW_PRIVS"))?;
    sys::capability::clear_ambient().map_err(named("PR_CAP_AMBIENT"))?;
    sys::capability::set(bits(kept)).map_err(named("capset"))
}

/// A thread that was joined is still there for a moment: how often to look again, a millisecond apart.
const ENDING_THREADS_TRIES: u32 = 100;

fn threads() -> io::Result<usize> {
    let threads = fs::read_dir("/proc/self/task")
        .map_err(|cause| failed("readdir", "/proc/self/task", cause))?;
    Ok(threads.count())
}

/// How the process may make namespaces and devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// It has the capabilities.
    Capabilities,
    /// It moved into a user namespace of its own, where it has them. Real-time priority and
    /// `/dev/net/tun` may still be out of reach.
    UserNamespace,
}

/// Neither capabilities nor a user namespace: what to do is in the message.
#[derive(Debug)]
pub struct Unprivileged {
    cause: io::Error,
}

impl std::fmt::Display for Unprivileged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "making network namespaces needs CAP_NET_ADMIN and CAP_SYS_ADMIN, or unprivileged user \
             namespaces ({}): run as root, or allow user namespaces",
            self.cause
        )
    }
}

impl std::error::Error for Unprivileged {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

impl From<Unprivileged> for io::Error {
    fn from(error: Unprivileged) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, error)
    }
}

/// Whether the process has the capabilities now. Changes nothing.
///
/// # Errors
/// If one of the two capabilities is missing.
pub fn privilege() -> Result<Privilege, Unprivileged> {
    let status = read_status().map_err(|cause| Unprivileged { cause })?;
    if has_capabilities(&status) {
        Ok(Privilege::Capabilities)
    } else {
        let cause = io::Error::from_raw_os_error(libc::EPERM);
        Err(Unprivileged {
            cause: failed("capget", "own process", cause),
        })
    }
}

/// Makes sure of the capabilities: if they are missing, moves the process into a new user
/// namespace, as `root` of it.
///
/// Call it first thing in `main`: the kernel moves only processes with a single thread. The move
/// is for good, and programs started later inherit it.
///
/// # Errors
/// If the move fails too: user namespaces are forbidden, or the process has other threads.
pub fn ensure_privilege() -> Result<Privilege, Unprivileged> {
    if let Ok(privilege) = privilege() {
        return Ok(privilege);
    }
    enter_user_namespace().map_err(|cause| Unprivileged { cause })?;
    Ok(Privilege::UserNamespace)
}

fn enter_user_namespace() -> io::Result<()> {
    // The files of `/proc/self` belong to the effective user. Must be asked before the move.
    let me = fs::metadata("/proc/self").map_err(|cause| failed("stat", "/proc/self", cause))?;
    let (user, group) = (me.uid(), me.gid());
    sys::namespace::unshare_user().map_err(|cause| failed("unshare", "user namespace", cause))?;
    // An unprivileged process may map its group only after giving up setgroups(2).
    write_file("/proc/self/setgroups", "deny")?;
    write_file("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write_file("/proc/self/gid_map", &format!("0 {group} 1"))
}

fn write_file(path: &str, text: &str) -> io::Result<()> {
    fs::write(path, text).map_err(|cause| failed("write", path, cause))
}

fn read_status() -> io::Result<String> {
    const STATUS: &str = "/proc/thread-self/status";
    fs::read_to_string(STATUS).map_err(|cause| failed("read", STATUS, cause))
}

fn has_capabilities(status: &str) -> bool {
    let needed = 1 << CAP_NET_ADMIN | 1 << CAP_SYS_ADMIN;
    effective(status) & needed == needed
}

/// The capabilities in force, as bits.
fn effective(status: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_capabilities_are_needed() {
        assert!(has_capabilities("Name:\tx\nCapEff:\t000001fffeffffff\n"));
        assert!(has_capabilities("CapEff:\t0000000000201000"));
        assert!(!has_capabilities("CapEff:\t0000000000200000"));
        assert!(!has_capabilities("CapEff:\t0000000000001000"));
        assert!(!has_capabilities("CapPrm:\t000001fffeffffff\n"));
        assert!(!has_capabilities("CapEff:\tnonsense"));
    }
}
