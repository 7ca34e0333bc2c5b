//! What `taut sim --pcap` writes, as its readers read it.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};
use serde_json::Value;

use crate::sim_command::{Scratch, failed, stdout, taut};

/// One row, with marks or with drops.
fn settings(discipline: &str) -> String {
    format!(
        "scenario = \"rr-under-load\"\nqdisc = \"{discipline}\"\nstreams = 3\nrate = \"20mbit\"\n\
         warm_up = \"1s\"\nduration = \"1s\"\nlimits = [\"dql\"]\nrows = \"bql=on,tso=off\"\n"
    )
}

/// Runs it with a capture and without, which must print the same, and gives its row.
fn captured(scratch: &Scratch, discipline: &str, pcap: &Path) -> Value {
    let file = scratch.file("settings.toml");
    fs::write(&file, settings(discipline)).expect("a file");
    let command = format!("sim run {} --json-lines", file.display());
    let plain = stdout(&command);
    let with = stdout(&format!("{command} --pcap {}", pcap.display()));
    assert_eq!(plain, with, "the capture changes what is found");
    serde_json::from_str(&plain).expect("one row")
}

/// A frame of a capture: when it left, what is there of it, and its whole length.
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
fn a_capture_has_every_frame_in_order_of_time_with_its_length_and_its_mark() {
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
    // What waits in the ring at the end has not left.
    let marks = row["marks"].as_u64().expect("marks");
    assert!(marks > 50 && marks.abs_diff(marked.count() as u64) <= 3);
    // Full from the first on: 20 Mbit/s for two seconds, with 24 bytes of link time a frame.
    let client = frames.iter().filter(|it| it.headers[29] == 1);
    let link_bytes: u64 = client.map(|it| u64::from(it.whole_bytes) + 24).sum();
    assert!(
        (4_800_000..=5_000_000).contains(&link_bytes),
        "{link_bytes}"
    );
}

/// Frames of a capture that a filter of tshark's lets through.
fn counted(path: &Path, filter: &str) -> u64 {
    let mut tshark = Command::new("tshark");
    tshark.args(["-o", "ip.check_checksum:TRUE", "-Y", filter, "-r"]);
    let told = tshark.arg(path).output().expect("tshark");
    assert!(
        told.status.success(),
        "{filter}: {}",
        String::from_utf8_lossy(&told.stderr)
    );
    told.stdout.iter().filter(|&&byte| byte == b'\n').count() as u64
}

#[test]
fn tshark_reads_sequence_numbers_sack_and_ecn_as_the_simulator_has_them() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("left out: tshark is not here");
        return;
    }
    let scratch = Scratch::new("tshark");
    let path = scratch.file("wire.pcapng");
    let marked = captured(&scratch, "fq_codel", &path);
    let marks = marked["marks"].as_u64().expect("marks");
    assert!(marks.abs_diff(counted(&path, "ip.dsfield.ecn == 3")) <= 3);
    assert!(counted(&path, "tcp.flags.cwr == 1") > 0);
    assert!(counted(&path, "tcp.flags.ece == 1") > marks);
    // Nothing was lost, and nothing looks as if it had been.
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
    // No segment is acknowledged that was not on the wire, and every block is above the acknowledgement.
    assert_eq!(counted(&path, "tcp.analysis.ack_lost_segment"), 0);
    assert_eq!(counted(&path, "tcp.options.sack_le <= tcp.ack"), 0);
    assert_eq!(
        counted(&path, "_ws.malformed or ip.checksum.status == \"Bad\""),
        0
    );
}

#[test]
fn what_has_no_wire_and_what_is_too_long_is_refused() {
    let scratch = Scratch::new("no-wire");
    let path = scratch.file("wire.pcapng");
    let pcap = format!("--pcap {}", path.display());
    let says = failed(&format!("sim rate-change {pcap}"), 2);
    assert!(says.contains("no wire between two hosts"), "{says}");
    let short = "sim rr-under-load --streams 2 --duration 500ms --only bql=on,tso=off";
    let says = failed(&format!("{short} {pcap} --pcap-row nowhere"), 2);
    assert!(says.contains("there are limit"), "{says}");
    let says = failed(&format!("{short} {pcap} --trace {}", path.display()), 2);
    assert!(says.contains("would be written twice"), "{says}");
    // The rows are shown all the same.
    let told = taut(&format!("{short} {pcap} --pcap-most 10k"))
        .output()
        .expect("runs");
    let says = String::from_utf8_lossy(&told.stderr);
    assert!(says.contains("longer than --pcap-most"), "{says}");
    assert_eq!(told.status.code(), Some(1));
    assert!(!told.stdout.is_empty());
    assert!(!path.exists());
}
