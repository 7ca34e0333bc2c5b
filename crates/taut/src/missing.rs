//! Messages about a device, file, scenario, feature or privilege that is missing.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use taut_linux::link::ClaimedDevice;
use taut_linux::observe::Sysfs;
use taut_linux::{NetNs, SyscallError};
use taut_report::{exit, say};

/// Returns `no KIND "NAME"; there are: A, B`.
pub fn no_such<'a>(kind: &str, name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.is_empty() {
        true => format!("no {kind} {name:?}; there are: none"),
        false => format!("no {kind} {name:?}; there are: {}", names.join(", ")),
    }
}

/// Returns the message for a device that does not exist in `ns`, with the devices that do.
pub fn device(ns: &NetNs, name: &str) -> String {
    let devices = Sysfs::of_netns(ns).and_then(|sysfs| sysfs.devices());
    // Without privilege, only the devices of this process's namespace can be listed.
    let devices = devices.or_else(|_| Sysfs::of_process().devices());
    let devices = devices.unwrap_or_default();
    no_such("device", name, devices.iter().map(String::as_str))
}

/// Returns the message for a network namespace that does not exist, with those of `ip netns`.
pub fn netns(name: &str) -> String {
    let entries = std::fs::read_dir("/run/netns").into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    no_such("network namespace", name, names.iter().map(String::as_str))
}

/// Returns the message for a verb that needs a feature which this build lacks.
pub fn feature(verb: &str, feature: &str) -> String {
    format!("this build has no `{verb}`: it needs the feature `{feature}`")
}

const EPERM: i32 = 1;
const EACCES: i32 = 13;
const EBUSY: i32 = 16;
const EOPNOTSUPP: i32 = 95;
const EAFNOSUPPORT: i32 = 97;
const ENOBUFS: i32 = 105;

/// Returns the cause of a failed system call, or what to do, if it is known.
fn cause(error: &io::Error) -> Option<&'static str> {
    let error = error.get_ref()?;
    if error.is::<ClaimedDevice>() {
        return Some("each frame would be forwarded twice; --force forwards nevertheless");
    }
    let failed: &SyscallError = error.downcast_ref()?;
    Some(match (failed.call(), failed.errno()?) {
        ("socket AF_PACKET", EPERM) => "packet sockets need CAP_NET_RAW",
        ("socket AF_XDP", EPERM) => "AF_XDP sockets need CAP_NET_RAW",
        ("socket AF_XDP", EAFNOSUPPORT) => "the kernel has no AF_XDP (CONFIG_XDP_SOCKETS)",
        ("XDP_UMEM_REG", ENOBUFS) => {
            "the limit of locked memory is too low, and raising it needs CAP_IPC_LOCK"
        }
        ("bind", EBUSY) => "another AF_XDP socket uses this queue",
        ("BPF_PROG_LOAD", EPERM) => "loading an XDP program needs CAP_BPF and CAP_NET_ADMIN",
        ("BPF_LINK_CREATE", EBUSY) => "detach it first, or use --driver af_packet",
        ("BPF_LINK_CREATE", EOPNOTSUPP) => "the driver of the interface has no XDP",
        ("setns", EPERM) => "entering a network namespace needs CAP_SYS_ADMIN",
        ("fsopen", EPERM) => "reading another network namespace needs CAP_SYS_ADMIN",
        ("unshare", EPERM) => "new namespaces need CAP_SYS_ADMIN, or user namespaces",
        ("open", EACCES) => "the file belongs to another user: run as root",
        _ => return None,
    })
}

fn io_errors(error: &anyhow::Error) -> impl Iterator<Item = &io::Error> {
    error.chain().filter_map(|it| it.downcast_ref())
}

/// Returns the error, with the cause of a failed system call if it is known.
pub fn explained(error: &anyhow::Error) -> String {
    match io_errors(error).find_map(cause) {
        Some(cause) => format!("{error:#}: {cause}"),
        None => format!("{error:#}"),
    }
}

/// Prints `error`, and `needed` if a privilege is missing. Returns the exit code.
pub fn fail(error: &anyhow::Error, needed: &str) -> ExitCode {
    say!("taut: {}", explained(error));
    if io_errors(error).any(|it| it.kind() == io::ErrorKind::PermissionDenied) {
        return exit::fail(exit::CANNOT_RUN_HERE, needed);
    }
    ExitCode::from(exit::FAILED)
}

/// Returns the message for a file that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("no file {path:?}"),
        _ => format!("cannot read {}: {error}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_lists_what_exists() {
        assert_eq!(
            no_such("device", "eth9", ["eth0", "lo"]),
            "no device \"eth9\"; there are: eth0, lo"
        );
        assert_eq!(
            no_such("device", "x", []),
            "no device \"x\"; there are: none"
        );
    }

    #[test]
    fn failed_call_is_explained() {
        let path = Path::new("/no/such/namespace");
        let error = NetNs::open(path).expect_err("no such file");
        assert_eq!(cause(&error), None);
        let text = error.to_string();
        assert_eq!(explained(&error.into()), text);
    }
}
