//! `taut where` on a bulk upload over a shaped veth, with a known result.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use taut_linux::link::{self, RootQdisc};
use taut_linux::{NetNs, privilege};

use crate::observe_tree::Tree;
use crate::sim_command::{failed, stdout};

/// Returns `true` if live tests can run here. With `CI=true` they must.
fn allowed() -> bool {
    match privilege() {
        Ok(_) => true,
        Err(missing) if std::env::var("CI").as_deref() == Ok("true") => panic!("{missing}"),
        Err(missing) => {
            eprintln!("skipped: {missing}");
            false
        }
    }
}

const LEFT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn part<'d>(document: &'d Value, name: &str) -> &'d Value {
    let rows = document["rows"].as_array().expect("rows");
    let found = rows
        .iter()
        .find(|row| row["where"].as_str().unwrap().starts_with(name));
    found.unwrap_or_else(|| panic!("no {name}: {document:#}"))
}

#[test]
fn upload_waits_in_the_shaper() {
    if !allowed() {
        return;
    }
    let (left, right) = (NetNs::new().unwrap(), NetNs::new().unwrap());
    link::add_veth_pair(&left, "up0", &right, "down0").unwrap();
    link::add_address(&left, "up0", LEFT, 24).unwrap();
    link::add_address(&right, "down0", RIGHT, 24).unwrap();
    // 20 Mbit/s and a queue of 100,000 bytes: 40 ms that nothing can overtake.
    let shaper = RootQdisc::Tbf {
        rate_bits_per_s: 20_000_000,
        burst_bytes: 3028,
        limit_bytes: 100_000,
    };
    link::set_root_qdisc(&left, "up0", shaper).unwrap();
    link::set_up(&left, "up0").unwrap();
    link::set_up(&right, "down0").unwrap();
    let listener = right
        .run(|| TcpListener::bind(SocketAddr::from((RIGHT, 0))))
        .unwrap()
        .unwrap();
    let address = listener.local_addr().unwrap();
    let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(60));
    let mut sender = left.run(connect).unwrap().unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    // Loss-based, so that it fills the queue.
    let _ = socket2::SockRef::from(&sender).set_tcp_congestion(b"cubic");
    sender
        .set_write_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    receiver
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let stop = AtomicBool::new(false);
    let going = || !stop.load(Ordering::Relaxed);
    let namespace = format!(
        "-n /proc/{}/fd/{}",
        std::process::id(),
        left.as_fd().as_raw_fd()
    );
    thread::scope(|scope| {
        scope.spawn(|| {
            while going() {
                let _ = sender.write(&[0; 16_384]);
            }
        });
        scope.spawn(|| {
            let mut buffer = [0; 65_536];
            while going() {
                let _ = receiver.read(&mut buffer);
            }
        });
        let checked = std::panic::catch_unwind(|| {
            let start = Instant::now();
            let measure = |target: &str| -> Value {
                let text = stdout(&format!("where {target} {namespace} -t 200ms -j"));
                serde_json::from_str(&text).expect("one JSON document")
            };
            // Until the window fills the queue of the shaper.
            let document = loop {
                let document = measure("up0");
                let waits = part(&document, "discipline tbf")["bytes"].as_u64().unwrap();
                if (50_000..=100_000).contains(&waits) {
                    break document;
                }
                assert!(start.elapsed() < Duration::from_secs(60), "{document:#}");
            };
            let rate = document["rate_bits_per_s"].as_u64().unwrap();
            assert!((10_000_000..30_000_000).contains(&rate), "{rate}");
            assert_eq!(part(&document, "discipline tbf")["overtaken_by"], "nothing");
            assert_eq!(part(&document, "device")["bytes"], 0);
            let advice = document["advice"].as_str().unwrap();
            assert!(
                advice.contains("A byte limit does not change this"),
                "{advice}"
            );
            let unacknowledged = part(&document, "sent, not acknowledged")["bytes"].as_u64();
            assert!(unacknowledged.unwrap() > 30_000, "{document:#}");
            // The port and the process lead to the same device.
            let port = format!(":{}", address.port());
            let own = std::process::id().to_string();
            for target in [port.as_str(), own.as_str()] {
                assert_eq!(measure(target)["device"], "up0", "{target}");
            }
            let text = stdout(&format!("where up0 {namespace} -t 50ms"));
            assert!(text.starts_with("up0, sending "), "{text}");
            assert!(text.contains("nothing overtakes"), "{text}");
        });
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = checked {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn unknown_targets_are_rejected() {
    let talk = failed("where nothing0", 1);
    assert!(
        talk.contains("expected a device, a process or a port such as :443; devices: "),
        "{talk}"
    );
    assert!(failed("where :0", 1).contains("expected a device, a process or a port"));
    assert!(failed("where :1", 1).contains("port 1 has no TCP or UDP socket here"));
    assert!(failed("where lo -t 1ms", 2).contains("allowed: 10ms"));
}

#[test]
fn idle_device_is_shown() {
    let text = stdout("where lo -t 10ms");
    assert!(text.starts_with("lo, sending "), "{text}");
    assert!(text.contains("Not seen: "), "{text}");
}

#[test]
fn copy_of_sys_shows_device_and_ring() {
    let tree = Tree::new("where");
    tree.add("eth0", 2).set("eth0", 1, "inflight", "4294965782");
    let text = stdout(&tree.line("where eth0 -t 10ms"));
    assert!(text.starts_with("eth0, sending 0.0 Mbit/s\n"), "{text}");
    assert!(text.contains("device, queue 0         2,000"), "{text}");
    assert!(
        text.contains("1514 bytes more completed than queued"),
        "{text}"
    );
    assert!(text.contains("sockets and disciplines"), "{text}");
    assert!(text.contains("run taut doctor eth0"), "{text}");
    assert!(failed(&tree.line("where eth1"), 1).contains("there are: eth0"));
    assert!(failed(&tree.line("where :443"), 1).contains("there are: eth0"));
}
