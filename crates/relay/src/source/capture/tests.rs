use proptest::prelude::*;

use super::unusual::unusual_capture;
use super::*;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// Returns a pcap file in one byte order.
fn pcap(magic: u32, link: u32, big_endian: bool, frames: &[(&[u8], u32)]) -> Vec<u8> {
    let word = |value: u32| {
        if big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    };
    let half = |value: u16| {
        if big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    };
    let mut file = [&word(magic)[..], &half(2), &half(4)].concat();
    file.extend([0, 0, 262_144, link].map(word).concat());
    for (bytes, original) in frames {
        file.extend([1, 2, bytes.len() as u32, *original].map(word).concat());
        file.extend_from_slice(bytes);
    }
    file
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = (12 + padded as u32).to_le_bytes();
    let mut block = [&kind.to_le_bytes()[..], &length, body].concat();
    block.resize(8 + padded, 0);
    block.extend_from_slice(&length);
    block
}

/// Returns a pcapng file with an interface for each link type, and packets of the first.
fn pcapng(links: &[u16], frames: &[&[u8]]) -> Vec<u8> {
    let header = [
        &0x1a2b_3c4d_u32.to_le_bytes()[..],
        &[1, 0, 0, 0],
        &[0xff; 8],
    ]
    .concat();
    let mut file = block(0x0a0d_0d0a, &header);
    for link in links {
        let body = [&link.to_le_bytes()[..], &[0, 0], &0_u32.to_le_bytes()].concat();
        file.extend(block(1, &body));
    }
    for (number, frame) in frames.iter().enumerate() {
        let length = frame.len() as u32;
        if number % 2 == 0 {
            let head = [0, 0, 0, length, length].map(u32::to_le_bytes).concat();
            file.extend(block(6, &[&head[..], frame].concat()));
        } else {
            file.extend(block(3, &[&length.to_le_bytes()[..], frame].concat()));
        }
    }
    file
}

fn read(bytes: &[u8]) -> Result<CaptureContents, String> {
    contents(Input::read(bytes, u64::MAX, MAX_BYTES)?)
}

/// Maximum length of decompressed files.
const MAX_BYTES: u64 = 8 << 20;

/// Returns the frames of one pass, or the reason.
fn all(found: CaptureContents) -> Vec<Result<Vec<u8>, &'static str>> {
    let mut capture = found.capture.with_passes(Some(1));
    let mut frames = Vec::new();
    while let Some(frame) = capture.next() {
        frames.push(frame.map(<[u8]>::to_vec));
    }
    frames
}

#[test]
fn all_capture_formats_have_the_same_frames() {
    let frames: [&[u8]; 4] = [&[7; 60], &[], &[8; 65_535], &[9; 61]];
    let records: Vec<_> = frames
        .iter()
        .map(|frame| (*frame, frame.len() as u32))
        .collect();
    let files = [
        pcap(MICROSECONDS, 1, false, &records),
        pcap(NANOSECONDS, 1, false, &records),
        pcap(MICROSECONDS, 1, true, &records),
        pcap(NANOSECONDS, 1, true, &records),
        pcapng(&[1], &frames),
        pcapng(&[1, 113], &frames),
    ];
    for (number, file) in files.iter().enumerate() {
        let found = read(file).unwrap_or_else(|error| panic!("file {number}: {error}"));
        assert_eq!(
            (found.frames, found.longest_bytes),
            (4, 65_535),
            "file {number}"
        );
        assert!(found.broken.is_none(), "file {number}: {:?}", found.broken);
        let expected: Vec<_> = frames.iter().map(|frame| Ok(frame.to_vec())).collect();
        assert_eq!(all(found), expected, "file {number}");
    }
}

#[test]
fn truncated_frame_is_reported() {
    let file = pcap(MICROSECONDS, 1, false, &[(&[1; 60], 1_500), (&[2; 60], 60)]);
    let frames = all(read(&file).unwrap());
    assert_eq!(frames, [Err("cut_in_capture"), Ok(vec![2; 60])]);
}

#[test]
fn files_without_packets_are_rejected() {
    let refused = [
        (Vec::new(), "is empty"),
        (vec![0xd4, 0xc3], "header"),
        (
            b"no capture at all, but long enough".to_vec(),
            "neither pcap nor pcapng",
        ),
        (pcap(MICROSECONDS, 1, false, &[]), "has no packets"),
        (pcapng(&[1], &[]), "has no packets"),
        (vec![0xfd, b'7', b'z', b'X', b'Z', 0], "compressed with xz"),
    ];
    for (file, what) in refused {
        let error = read(&file).map(|found| found.frames).unwrap_err();
        assert!(error.contains(what), "{what}: {error}");
    }
}

#[test]
fn complete_frames_of_a_truncated_file_are_sent() {
    let mut file = pcap(MICROSECONDS, 1, false, &[(&[1; 60], 60), (&[2; 60], 60)]);
    file.truncate(file.len() - 5);
    let found = read(&file).unwrap();
    let broken = found.broken.as_deref();
    assert_eq!(
        broken,
        Some("ends within a record of 60 bytes, at offset 100, after 1 packets")
    );
    assert_eq!(all(found), [Ok(vec![1; 60])]);
}

#[test]
fn frames_are_repeated_as_configured() {
    let file = pcap(MICROSECONDS, 1, false, &[(&[1; 60], 60), (&[2; 60], 60)]);
    let capture = read(&file).unwrap().capture;
    for (passes, frames) in [(Some(1), 2), (Some(3), 6), (None, 1_000)] {
        let mut capture = capture.clone().with_passes(passes);
        let sent = (0..1_000).take_while(|_| matches!(capture.next(), Some(Ok(_))));
        assert_eq!(sent.count(), frames);
    }
}

#[test]
fn other_link_types_are_counted() {
    let found = read(&pcap(MICROSECONDS, 113, false, &[(&[1; 60], 60)])).unwrap();
    assert_eq!(found.other_links, [113]);
    assert_eq!(all(found), [Err("not_ethernet")]);
    let found = read(&pcapng(&[276], &[&[1; 60]])).unwrap();
    assert_eq!(found.other_links, [276]);
    let found = read(&pcapng(&[], &[&[1; 60]])).unwrap();
    assert_eq!(all(found), [Err("unknown_interface")]);
}

/// Returns a packet block with a timestamp.
fn timed(interface: u32, ticks: u64) -> Vec<u8> {
    let (high, low) = ((ticks >> 32) as u32, ticks as u32);
    block(
        6,
        &[interface, high, low, 0, 0].map(u32::to_le_bytes).concat(),
    )
}

#[test]
fn timestamps_follow_resolution_and_offset() {
    let mut file = pcapng(&[], &[]);
    // if_tsresol of each interface: s, ms, 2^-10 s, 10^-39 s (all times are 0) and ns with an
    // offset of two seconds.
    let resolutions: [&[u8]; 5] = [
        &[9, 0, 1, 0, 0, 0, 0, 0],
        &[9, 0, 1, 0, 3, 0, 0, 0],
        &[9, 0, 1, 0, 0x8a, 0, 0, 0],
        &[9, 0, 1, 0, 39, 0, 0, 0],
        &[9, 0, 1, 0, 9, 0, 0, 0, 14, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0],
    ];
    for options in resolutions {
        file.extend(block(1, &[&[1, 0, 0, 0, 0, 0, 0, 0], options].concat()));
    }
    let packets = [
        (0, 1, 0),
        (1, 1_500, 500_000_000),
        (2, 2_048, 1_000_000_000),
        (4, 3, 1_000_000_003),
        (3, u64::MAX, 1_000_000_003),
        (0, 1, 2_000_000_003),
    ];
    for (interface, ticks, _) in packets {
        file.extend(timed(interface, ticks));
    }
    let found = read(&file).unwrap();
    // The time of interface 3 is a step back, and the next one continues from it.
    assert_eq!((found.clock_steps, found.frames), (1, 6));
    let mut capture = found.capture.with_passes(Some(2));
    for (interface, _, due_ns) in packets {
        assert_eq!(capture.next_due_ns(), due_ns, "{interface}");
        capture.next();
    }
}

/// Compresses every other file.
fn compressed(seed: u64, bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    match seed % 4 {
        0 => {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(bytes).expect("in memory");
            gzip.finish().expect("in memory")
        }
        1 => ruzstd::encoding::compress_to_vec(
            bytes,
            ruzstd::encoding::CompressionLevel::Uncompressed,
        ),
        _ => bytes.to_vec(),
    }
}

/// The files of the generator.
#[test]
fn unusual_captures_have_the_stated_packets() {
    let (mut sent, mut broken) = (0, 0);
    let mut reasons = std::collections::BTreeMap::new();
    for seed in 0..300 {
        let capture = unusual_capture(seed);
        let file = compressed(seed, &capture.bytes);
        broken += u64::from(capture.broken_at.is_some());
        let where_broken = capture.broken_at.map(|at| format!("at offset {at},"));
        match read(&file) {
            Err(error) => {
                let at = where_broken.unwrap_or_else(|| "has no packets".into());
                assert!(
                    capture.packets.is_empty() && error.contains(&at),
                    "{seed}: {error}"
                );
            }
            Ok(found) => {
                match (&found.broken, &where_broken) {
                    (None, None) => {}
                    (Some(text), Some(at)) if text.contains(at) => {}
                    other => panic!("{seed}: {other:?}"),
                }
                let packets = all(found);
                for (at, pair) in packets.iter().zip(&capture.packets).enumerate() {
                    assert!(pair.0 == pair.1, "{seed}: packet {at}: {pair:?}");
                }
                assert_eq!(packets.len(), capture.packets.len(), "{seed}");
                for packet in packets {
                    match packet {
                        Ok(_) => sent += 1,
                        Err(reason) => *reasons.entry(reason).or_insert(0) += 1,
                    }
                }
            }
        }
    }
    println!("{broken} files are broken: {sent} packets to send, others {reasons:?}");
    assert!(sent > 1_000 && broken > 30 && reasons.len() == 5);
}

#[test]
fn other_compressed_file_is_rejected_by_its_start() {
    for seed in [0, 1] {
        let file = compressed(seed, &vec![7; MAX_BYTES as usize]);
        let input = Input::read(&file[..], u64::MAX, MAX_BYTES).unwrap();
        assert!(input.bytes.len() <= 1 << 17, "{}", input.bytes.len());
        assert_eq!(contents(input).err().unwrap(), "is neither pcap nor pcapng");
    }
}

#[test]
fn decompression_is_bounded() {
    // A record of the maximum length, a thousand times compressed.
    let mut bomb = pcap(MICROSECONDS, 1, false, &[(&[1; 60], 60)]);
    bomb.extend([1, 2, u32::MAX, u32::MAX].map(u32::to_le_bytes).concat());
    bomb.resize(2 * MAX_BYTES as usize, 0);
    for seed in [0, 1] {
        let file = compressed(seed, &bomb);
        let found = read(&file).unwrap();
        assert!(
            found
                .broken
                .as_ref()
                .unwrap()
                .contains("longer than 8388608 bytes")
        );
        assert_eq!(all(found), [Ok(vec![1; 60])]);
    }
    // Packets that fit one by one, but not together.
    let packet = vec![0; 200_000];
    let many: Vec<_> = (0..50).map(|_| (&packet[..], 200_000)).collect();
    let file = compressed(0, &pcap(MICROSECONDS, 1, false, &many));
    assert!(file.len() < 100_000, "{}", file.len());
    let found = read(&file).unwrap();
    assert!(found.broken.is_some());
    assert!(found.frames < 42);
}

#[test]
fn compressed_members_and_frames_are_joined() {
    let file = pcap(MICROSECONDS, 1, false, &[(&[1; 60], 60), (&[2; 60], 60)]);
    let (first, second) = file.split_at(110);
    for seed in [0, 1] {
        let mut joined = compressed(seed, first);
        if seed == 1 {
            // A frame to skip.
            joined.extend([0x52, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 7, 7, 7]);
        }
        joined.extend(compressed(seed, second));
        let found = read(&joined).unwrap();
        assert_eq!((found.frames, found.broken), (2, None));
        // Cut within the last member.
        joined.truncate(joined.len() - 3);
        let found = read(&joined).unwrap();
        assert!(found.broken.is_some(), "{seed}");
    }
}

proptest! {
    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = read(&bytes);
    }

    #[test]
    fn a_file_with_mistakes_ends(
        is_ng in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let frames: [&[u8]; 3] = [&[7; 60], &[], &[9; 161]];
        let records: Vec<_> = frames.iter().map(|frame| (*frame, frame.len() as u32)).collect();
        let mut file = match is_ng {
            true => pcapng(&[1], &frames),
            false => pcap(NANOSECONDS, 1, false, &records),
        };
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        file.truncate(cut.index(file.len() + 1));
        if let Ok(found) = read(&file) {
            prop_assert!(all(found).len() <= 100);
        }
    }
}
