//! Namespaces: separate, held by descriptors only, removed with their holder.

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{LEFT, PATIENCE, RIGHT, RIGHT_MAC, allowed, settle, until};
use taut_linux::link::{self, RootQdisc};
use taut_linux::{NetNs, errno};

/// Set in the child that [`killed_process_leaves_no_namespace`] starts.
const AS_HOLDER: &str = "TAUT_TEST_HOLD_NAMESPACE";

#[test]
fn sockets_stay_in_their_namespace() {
    if !allowed() {
        return;
    }
    let (one, other) = (
        NetNs::new().expect("namespace"),
        NetNs::new().expect("namespace"),
    );
    let listener = one
        .run(|| TcpListener::bind("127.0.0.1:0"))
        .expect("enters")
        .expect("binds");
    let address = listener.local_addr().expect("address");
    // From this thread, outside: the socket is still inside.
    assert!(TcpStream::connect_timeout(&address, PATIENCE).is_err());
    assert!(
        other
            .run(|| TcpStream::connect_timeout(&address, PATIENCE))
            .expect("enters")
            .is_err()
    );
    let inside = one
        .run(|| TcpStream::connect_timeout(&address, PATIENCE))
        .expect("enters");
    assert!(inside.is_ok(), "loopback is up: {inside:?}");
    listener.accept().expect("accepts");
}

#[test]
fn a_new_namespace_is_empty_and_silent() {
    if !allowed() {
        return;
    }
    let ns = NetNs::new().expect("namespace");
    let ipv6 = Path::new("/proc/sys/net/ipv6/conf/default/disable_ipv6");
    let off = ns.run(|| std::fs::read_to_string(ipv6)).expect("enters");
    assert!(off.is_err() || off.is_ok_and(|text| text.trim() == "1"));
    let missing = link::index(&ns, "eth0").expect_err("no such device");
    assert_eq!(errno(&missing), Some(libc::ENODEV), "{missing}");
    assert!(
        missing.to_string().starts_with("RTM_GETLINK eth0: "),
        "{missing}"
    );
    let lo = link::statistics(&ns, "lo").expect("counters");
    assert_eq!((lo.rx_packets, lo.tx_packets, lo.tx_dropped), (0, 0, 0));
}

#[test]
fn dropped_namespace_is_removed() {
    if !allowed() {
        return;
    }
    let stays = NetNs::new().expect("namespace");
    let goes = NetNs::new().expect("namespace");
    link::add_veth_pair(&stays, "end", &goes, "end").expect("pair");
    let clone = goes.clone();
    drop(goes);
    assert!(link::index(&stays, "end").is_ok(), "a clone holds it");
    drop(clone);
    // The pair is removed with the namespace of either end.
    until("the namespace is removed", || {
        link::index(&stays, "end").is_err()
    });
}

#[test]
fn killed_process_leaves_no_namespace() {
    if !allowed() {
        return;
    }
    if std::env::var_os(AS_HOLDER).is_some() {
        let ns = NetNs::new().expect("namespace");
        eprintln!("holding {}", ns.as_fd().as_raw_fd());
        // Ends when the test has ended, so that a failing test leaves nothing behind.
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("own path"))
        .args([
            "--exact",
            "live_netns::killed_process_leaves_no_namespace",
            "--nocapture",
        ])
        .env(AS_HOLDER, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let fd = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("holding ").map(str::to_owned))
        .expect("the child says its descriptor");
    let stays = NetNs::new().expect("namespace");
    let path = format!("/proc/{}/fd/{fd}", child.id());
    let theirs = NetNs::open(Path::new(&path)).expect("opens");
    link::add_veth_pair(&stays, "end", &theirs, "end").expect("pair");
    drop(theirs);
    assert!(link::index(&stays, "end").is_ok(), "the child holds it");
    child.kill().expect("kills");
    child.wait().expect("ends");
    until("the namespace is removed", || {
        link::index(&stays, "end").is_err()
    });
}

#[test]
fn shaped_veth_pair_counts_datagrams() {
    if !allowed() {
        return;
    }
    let (left, right) = (
        NetNs::new().expect("namespace"),
        NetNs::new().expect("namespace"),
    );
    link::add_veth_pair(&left, "veth0", &right, "veth0").expect("pair");
    let taken = link::add_veth_pair(&left, "veth0", &right, "veth1").expect_err("name is taken");
    assert_eq!(errno(&taken), Some(libc::EEXIST), "{taken}");
    link::set_mac(&right, "veth0", RIGHT_MAC).expect("mac");
    link::set_mtu(&left, "veth0", 1400).expect("mtu");
    link::set_tx_queue_packets(&left, "veth0", 10).expect("queue");
    settle(&left, "veth0", LEFT, RIGHT, RIGHT_MAC);
    link::set_up(&right, "veth0").expect("up");
    link::add_address(&right, "veth0", RIGHT, 24).expect("address");
    for qdisc in [
        RootQdisc::NoQueue,
        RootQdisc::Tbf {
            rate_bits_per_s: 10_000_000_000_000,
            burst_bytes: 1 << 20,
            limit_bytes: 1 << 20,
        },
        RootQdisc::Tbf {
            rate_bits_per_s: 100_000_000,
            burst_bytes: 3000,
            limit_bytes: 100_000,
        },
    ] {
        link::set_root_qdisc(&left, "veth0", qdisc).unwrap_or_else(|e| panic!("{qdisc:?}: {e}"));
        let to = right
            .run(|| UdpSocket::bind((RIGHT, 7)))
            .expect("enters")
            .expect("binds");
        to.set_read_timeout(Some(PATIENCE)).expect("sets");
        let from = left
            .run(|| UdpSocket::bind((LEFT, 0)))
            .expect("enters")
            .expect("binds");
        from.send_to(&[7; 1000], (RIGHT, 7)).expect("sends");
        assert_eq!(to.recv(&mut [0; 2000]).expect("receives"), 1000);
    }
    let (sent, received) = (
        link::statistics(&left, "veth0"),
        link::statistics(&right, "veth0"),
    );
    let (sent, received) = (sent.expect("counters"), received.expect("counters"));
    assert_eq!((sent.tx_packets, sent.tx_bytes), (3, 3 * (1000 + 42)));
    assert_eq!(
        (received.rx_packets, received.rx_bytes),
        (3, 3 * (1000 + 42))
    );
    let refused = RootQdisc::Tbf {
        rate_bits_per_s: 7,
        burst_bytes: 1,
        limit_bytes: 1,
    };
    assert!(link::set_root_qdisc(&left, "veth0", refused).is_err());
    assert!(link::add_address(&left, "veth0", LEFT, 33).is_err());
    link::set_down(&left, "veth0").expect("down");
}
