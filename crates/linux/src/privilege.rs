//! Privileges of this process, and how to get them without being root.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use crate::error::{Context, failed, invalid};
use crate::sys;

/// The object of errors about capabilities.
const OWN_PROCESS: &str = "own process";

/// Returns the effective capabilities of the calling thread.
///
/// # Errors
/// The error of `capget`.
pub fn effective_capabilities() -> io::Result<CapabilitySet> {
    let sets = capabilities(None).context("capget", OWN_PROCESS)?;
    Ok(sets.effective)
}

/// Drops every capability except `kept`, permanently, for this process and the programs that it
/// starts. The user stays the same.
///
/// Call it before other threads exist: the kernel keeps capabilities for each thread separately,
/// and a new thread inherits those of its creator.
///
/// # Errors
/// Returns an error if the process has other threads; `PermissionDenied` if it lacks one of `kept`.
pub fn retain_capabilities(kept: CapabilitySet) -> io::Result<()> {
    let mut tries = 0..ENDING_THREADS_TRIES;
    while let threads @ 2.. = threads()? {
        if tries.next().is_none() {
            return Err(invalid(format!(
                "only a process with one thread can drop capabilities; this one has {threads}"
            )));
        }
        thread::sleep(Duration::from_millis(1));
    }
    limit_bounding_set().context("PR_CAPBSET_DROP", OWN_PROCESS)?;
    set_no_new_privs(true).context("PR_SET_NO_NEW_PRIVS", OWN_PROCESS)?;
    clear_ambient_capability_set().context("PR_CAP_AMBIENT", OWN_PROCESS)?;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets).context("capset", OWN_PROCESS)
}

/// Clears the bounding set, which limits the capabilities of programs started later.
fn limit_bounding_set() -> rustix::io::Result<()> {
    for number in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            // The kernel has no further capabilities.
            Err(Errno::INVAL) => break,
            // Without CAP_SETPCAP the set stays. A started program gains nothing from it, because
            // there are no new privileges.
            Err(Errno::PERM) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A joined thread still exists for a moment: maximum number of checks, a millisecond apart.
const ENDING_THREADS_TRIES: u32 = 100;

fn threads() -> io::Result<usize> {
    let threads = fs::read_dir("/proc/self/task").context("readdir", "/proc/self/task")?;
    Ok(threads.count())
}

/// Returns the error for a process with neither capabilities nor a user namespace. The message
/// describes how to get them.
fn unprivileged(cause: io::Error) -> io::Error {
    let text = format!(
        "making network namespaces needs CAP_NET_ADMIN and CAP_SYS_ADMIN, or unprivileged user \
         namespaces ({cause}): run as root, or allow user namespaces"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

/// Checks for the capabilities to create namespaces and devices. Changes nothing.
///
/// # Errors
/// `PermissionDenied` if one of the two capabilities is missing.
pub fn privilege() -> io::Result<()> {
    let needed = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN;
    match effective_capabilities() {
        Ok(held) if held.contains(needed) => Ok(()),
        Ok(_) => Err(unprivileged(failed("capget", OWN_PROCESS, Errno::PERM))),
        Err(cause) => Err(unprivileged(cause)),
    }
}

/// Ensures the capabilities: if they are missing, moves the process into a new user namespace, as
/// `root` of it. Real-time priority and `/dev/net/tun` might still be unavailable there.
///
/// Call it first in `main`: the kernel moves only processes with a single thread. The move is
/// permanent, and programs started later inherit it.
///
/// # Errors
/// `PermissionDenied` if the move fails: user namespaces are forbidden, or the process has other
/// threads.
pub fn ensure_privilege() -> io::Result<()> {
    privilege().or_else(|_| enter_user_namespace().map_err(unprivileged))
}

fn enter_user_namespace() -> io::Result<()> {
    // The files of `/proc/self` belong to the effective user. Must be read before the move.
    let me = fs::metadata("/proc/self").context("stat", "/proc/self")?;
    let (user, group) = (me.uid(), me.gid());
    sys::thread::unshare(UnshareFlags::NEWUSER).context("unshare", "user namespace")?;
    // An unprivileged process can map its group only after disabling setgroups(2).
    write_file("/proc/self/setgroups", "deny")?;
    write_file("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write_file("/proc/self/gid_map", &format!("0 {group} 1"))
}

fn write_file(path: &str, text: &str) -> io::Result<()> {
    fs::write(path, text).context("write", path)
}
