//! Captures of `taut sim --pcap`, read by independent readers.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};
use serde_json::Value;

use crate::sim_command::{Scratch, failed, stdout, taut};

/// A row with marks or with drops.
fn settings(discipline: &str) -> String {
    format!(
        "scenario = \"rr-under-load\"\nqdisc = \"{discipline}\"\nstreams = 3\nrate = \"20mbit\"\n\
         warm_up = \"1s\"\nduration = \"1s\"\nlimits = [\"dql\"]\nrows = \"limit=on,tso=off\"\n"
    )
}

/// Runs a row with and without a capture, whose output must be equal. Returns the row.
fn captured(scratch: &Scratch, discipline: &str, pcap: &Path) -> Value {
    let file = scratch.file("settings.toml");
    fs::write(&file, settings(discipline)).expect("a file");
    let command = format!("sim run {} --json-lines", file.display());
    let plain = stdout(&command);
    let with = stdout(&format!("{command} --pcap {}", pcap.display()));
    assert_eq!(plain, with, "the capture changes what is found");
    serde_json::from_str(&plain).expect("one row")
}

/// A frame of a capture: its time, its captured bytes, and its full length.
struct Frame {
    sent_ns: u64,
    headers: Vec<u8>,
    whole_bytes: u32,
}

fn frames(path: &Path) -> Vec<Frame> {
    let file = File::open(path).expect("the capture");
    let mut reader = PcapNGReader::new(1 << 16, file).expect("a pcapng");
    let mut found = Vec::new();
    loop {
        match reader.next() {
            Ok((length, block)) => {
                if let PcapBlockOwned::NG(Block::EnhancedPacket(packet)) = block {
                    found.push(Frame {
                        sent_ns: u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low),
                        headers: packet.data[..packet.caplen as usize].to_vec(),
                        whole_bytes: packet.origlen,
                    });
                }
                reader.consume(length);
            }
            Err(PcapError::Eof) => return found,
            Err(PcapError::Incomplete(_)) => reader.refill().expect("the rest"),
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// ECN of the IP header.
const MARKED: u8 = 3;

#[test]
fn capture_has_ordered_frames_with_marks() {
    let scratch = Scratch::new("pcap");
    let path = scratch.file("wire.pcapng");
    let row = captured(&scratch, "fq_codel", &path);
    let frames = frames(&path);
    assert!(frames.windows(2).all(|it| it[0].sent_ns <= it[1].sent_ns));
    for frame in &frames {
        let ip_bytes = u16::from_be_bytes([frame.headers[16], frame.headers[17]]);
        assert_eq!(u32::from(ip_bytes) + 14, frame.whole_bytes);
    }
    let marked = frames.iter().filter(|it| it.headers[15] & 3 == MARKED);
    // Packets in the ring at the end were not sent.
    let marks = row["marks"].as_u64().expect("marks");
    assert!(marks > 50 && marks.abs_diff(marked.count() as u64) <= 3);
    // Saturated from the start: 20 Mbit/s for two seconds, with 24 bytes of overhead per frame.
    let client = frames.iter().filter(|it| it.headers[29] == 1);
    let link_bytes: u64 = client.map(|it| u64::from(it.whole_bytes) + 24).sum();
    assert!(
        (4_800_000..=5_000_000).contains(&link_bytes),
        "{link_bytes}"
    );
}

/// Returns the number of frames that match a filter of tshark.
fn counted(path: &Path, filter: &str) -> u64 {
    let mut tshark = Command::new("tshark");
    tshark.args(["-o", "ip.check_checksum:TRUE", "-Y", filter, "-r"]);
    let output = tshark.arg(path).output().expect("tshark");
    assert!(
        output.status.success(),
        "{filter}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout.iter().filter(|&&byte| byte == b'\n').count() as u64
}

#[test]
fn tshark_agrees_with_the_simulator() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed");
        return;
    }
    let scratch = Scratch::new("tshark");
    let path = scratch.file("wire.pcapng");
    let marked = captured(&scratch, "fq_codel", &path);
    let marks = marked["marks"].as_u64().expect("marks");
    assert!(marks.abs_diff(counted(&path, "ip.dsfield.ecn == 3")) <= 3);
    assert!(counted(&path, "tcp.flags.cwr == 1") > 0);
    assert!(counted(&path, "tcp.flags.ece == 1") > marks);
    // tshark finds no loss.
    assert_eq!(counted(&path, "tcp.analysis.flags"), 0);
    let lost = captured(&scratch, "codel", &path);
    let retransmits = lost["retransmits"].as_u64().expect("retransmits");
    let again = counted(
        &path,
        "tcp.analysis.retransmission or tcp.analysis.out_of_order",
    );
    assert!(
        retransmits > 50 && again * 10 >= retransmits * 8 && again <= retransmits,
        "{again}"
    );
    assert!(counted(&path, "tcp.options.sack_le") > retransmits);
    // Every acknowledged segment was on the wire, and every SACK block is above the
    // acknowledgement.
    assert_eq!(counted(&path, "tcp.analysis.ack_lost_segment"), 0);
    assert_eq!(counted(&path, "tcp.options.sack_le <= tcp.ack"), 0);
    assert_eq!(
        counted(&path, "_ws.malformed or ip.checksum.status == \"Bad\""),
        0
    );
}

#[test]
fn impossible_captures_are_rejected() {
    let scratch = Scratch::new("no-wire");
    let path = scratch.file("wire.pcapng");
    let pcap = format!("--pcap {}", path.display());
    let error = failed(&format!("sim rate-change {pcap}"), 2);
    assert!(error.contains("no wire between two hosts"), "{error}");
    let short = "sim rr-under-load --streams 2 --duration 500ms --only limit=on,tso=off";
    let error = failed(&format!("{short} {pcap} --pcap-row nowhere"), 2);
    assert!(error.contains("there are: limit"), "{error}");
    let error = failed(&format!("{short} {pcap} --trace {}", path.display()), 2);
    assert!(error.contains("would be written twice"), "{error}");
    // The rows are printed even without the capture.
    let output = taut(&format!("{short} {pcap} --pcap-max-size 10k"))
        .output()
        .expect("runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("longer than --pcap-max-size"), "{error}");
    assert_eq!(output.status.code(), Some(1));
    assert!(!output.stdout.is_empty());
    assert!(!path.exists());
}
