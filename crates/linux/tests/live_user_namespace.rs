//! Without any privilege, a new user namespace is enough for everything except TAP and real-time
//! priority.
//!
//! It has its own `main` without the test harness, because the move needs a single thread.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use taut_linux::af_packet::{AfPacket, PacketConfig, PacketReceiver};
use taut_linux::link::{self, RootQdisc};
use taut_linux::{NetNs, ensure_privilege, privilege};

/// The user `nobody`, without privileges.
const NOBODY: u32 = 65_534;
const AS_UNPRIVILEGED: &str = "TAUT_TEST_AS_UNPRIVILEGED";

fn main() -> ExitCode {
    if std::env::var_os(AS_UNPRIVILEGED).is_some() {
        return as_unprivileged();
    }
    let mut child = Command::new("/proc/self/exe");
    child.env(AS_UNPRIVILEGED, "1");
    match privilege() {
        Ok(_) => child.uid(NOBODY).gid(NOBODY),
        Err(_) => &mut child,
    };
    match child.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("skipped: cannot start as nobody: {error}");
            ExitCode::SUCCESS
        }
    }
}

fn as_unprivileged() -> ExitCode {
    assert!(privilege().is_err(), "nobody has no capabilities");
    // The machine can be configured to forbid that.
    if let Err(error) = ensure_privilege() {
        eprintln!("skipped: {error}");
        return ExitCode::SUCCESS;
    }
    privilege().expect("root of the new user namespace");
    let (left, right) = (
        NetNs::new().expect("namespace"),
        NetNs::new().expect("namespace"),
    );
    link::add_veth_pair(&left, "veth0", &right, "veth1").expect("pair");
    let shaper = RootQdisc::Tbf {
        rate_bits_per_s: 1_000_000,
        burst_bytes: 2000,
        limit_bytes: 100_000,
    };
    link::set_root_qdisc(&left, "veth0", shaper).expect("qdisc");
    let config = PacketConfig {
        slots: 16_384,
        frames: 64,
    };
    AfPacket::open(&left, "veth0", &config).expect("ring");
    PacketReceiver::open(&right, "veth1").expect("receiver");
    ExitCode::SUCCESS
}
