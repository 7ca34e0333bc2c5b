//! `taut exporter`.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::observe_tree::Tree;
use crate::sim_command::{failed, taut};

/// A server that is killed on drop.
struct Running {
    child: Child,
    address: SocketAddr,
}

impl Running {
    fn start(line: &str) -> Self {
        let mut child = taut(line).stderr(Stdio::piped()).spawn().expect("starts");
        let mut talk = BufReader::new(child.stderr.take().expect("stderr"));
        let mut line = String::new();
        talk.read_line(&mut line).expect("a line");
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|it| it.split('/').next());
        let address = address.unwrap_or_else(|| panic!("{line}"));
        Self {
            address: address.parse().expect("an address"),
            child,
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connects");
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).expect("timeout");
        stream
    }

    fn answer(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("asks");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn metrics(&self) -> String {
        let answer = self.answer("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(
            head.contains(&format!("Content-Length: {}", body.len())),
            "{head}"
        );
        body.to_owned()
    }

    fn status_kib(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn value(page: &str, sample: &str) -> Option<f64> {
    let line = page.lines().find(|line| line.starts_with(sample))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn page_has_current_metrics_in_base_units() {
    let tree = Tree::new("exporter");
    tree.add("eth0", 2);
    let server = Running::start(&tree.line("exporter --listen 127.0.0.1:0"));
    let page = server.metrics();
    for (sample, expected) in [
        (
            "taut_queue_limit_bytes{device=\"eth0\",queue=\"0\"}",
            40_000.0,
        ),
        (
            "taut_queue_inflight_bytes{device=\"eth0\",queue=\"1\"}",
            2_000.0,
        ),
        (
            "taut_queue_hold_time_seconds{device=\"eth0\",queue=\"0\"}",
            1.0,
        ),
        (
            "taut_queue_limit_seconds{device=\"eth0\",queue=\"0\"}",
            0.00032,
        ),
        ("taut_exporter_problems", 0.0),
    ] {
        assert_eq!(value(&page, sample), Some(expected), "{sample}");
    }
    let (state, in_flight) = (
        "taut_queue_unlimited{device=\"eth0\",queue=\"0\"}",
        "taut_queue_inflight_bytes{device=\"eth0\",queue=\"0\"}",
    );
    assert_eq!(value(&page, state), Some(0.0));
    tree.set("eth0", 0, "inflight", "4294965782")
        .set("eth0", 0, "limit", "max");
    let patience = Instant::now();
    while value(&server.metrics(), in_flight) != Some(-1514.0)
        || value(&server.metrics(), state) != Some(1.0)
    {
        assert!(patience.elapsed() < Duration::from_secs(60));
    }
    tree.set("eth0", 0, "inflight", "3000");
    let patience = Instant::now();
    while value(
        &server.metrics(),
        "taut_queue_inflight_bytes{device=\"eth0\",queue=\"0\"}",
    ) != Some(3000.0)
    {
        assert!(patience.elapsed() < Duration::from_secs(60));
    }
    let histogram =
        "taut_queue_inflight_sampled_bytes_bucket{device=\"eth0\",queue=\"1\",le=\"2048\"}";
    while value(&server.metrics(), histogram).is_none_or(|samples| samples < 3.0) {
        assert!(patience.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn page_has_the_prometheus_format() {
    let tree = Tree::new("promtool");
    tree.add("eth0", 3).add("eth1", 1).add_virtual("lo");
    let server = Running::start(&tree.line("exporter --listen 127.0.0.1:0"));
    let page = server.metrics();
    let mut families = HashSet::new();
    for line in page.lines().filter(|line| line.starts_with("# TYPE ")) {
        assert!(families.insert(line), "twice: {line}");
    }
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        eprintln!("skipped: promtool is not here (package prometheus)");
        return;
    };
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(page.as_bytes())
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && talk.is_empty(), "{talk}");
}

#[test]
fn invalid_requests_are_rejected() {
    let tree = Tree::new("requests");
    tree.add("eth0", 1);
    let server = Running::start(&tree.line("exporter --listen 127.0.0.1:0"));
    for (request, status) in [
        ("GET / HTTP/1.0\r\n\r\n", "200"),
        ("HEAD /metrics HTTP/1.1\r\n\r\n", "200"),
        ("GET /other HTTP/1.1\r\n\r\n", "404"),
        (
            "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
            "405",
        ),
        ("nonsense\r\n\r\n", "400"),
        (
            &format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(9000)),
            "431",
        ),
    ] {
        let answer = server.answer(request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request:?}: {answer}"
        );
    }
}

#[test]
fn slow_and_hostile_clients_do_not_block() {
    let tree = Tree::new("hostile");
    tree.add("eth0", 256);
    let server = Running::start(&tree.line("exporter --listen 127.0.0.1:0"));
    // Clients that send nothing, send single bytes, or never read the response.
    let mut clients = Vec::new();
    for number in 0..1000 {
        let mut stream = server.connect();
        let asked: &[u8] = match number % 3 {
            0 => b"",
            1 => b"GET /metr",
            _ => b"GET /metrics HTTP/1.1\r\n\r\n",
        };
        // The server can have disconnected it already.
        let _ = stream.write_all(asked);
        clients.push(stream);
        if number % 100 == 99 {
            assert!(server.metrics().contains("queue=\"255\""), "after {number}");
        }
    }
    let peak_kib = server.status_kib("VmHWM");
    assert!(peak_kib < 64 * 1024, "{peak_kib} KiB");
    let open = fs::read_dir(format!("/proc/{}/fd", server.child.id()))
        .unwrap()
        .count();
    assert!(
        open < 128 + 600,
        "{open} descriptors: 512 of them the queues' files"
    );
}

#[test]
fn sigterm_ends_the_exporter_with_success() {
    let tree = Tree::new("exporter-end");
    tree.add("eth0", 1);
    let mut server = Running::start(&tree.line("exporter --listen 127.0.0.1:0"));
    let pid = server.child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(sent.unwrap().success());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_cannot_be_is_said() {
    let tree = Tree::new("exporter-usage");
    tree.add("eth0", 1);
    assert!(failed(&tree.line("exporter"), 2).contains("--listen"));
    assert!(failed(&tree.line("exporter --listen here"), 2).contains("--listen"));
    assert!(failed(&tree.line("exporter eth7 --listen 127.0.0.1:0"), 1).contains("no device"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let talk = failed(&tree.line(&format!("exporter --listen {address}")), 1);
    assert!(
        talk.contains(&format!("cannot listen on {address}")),
        "{talk}"
    );
}
