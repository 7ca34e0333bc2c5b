use proptest::prelude::*;

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

fn all(found: CaptureContents) -> Vec<Option<Vec<u8>>> {
    let mut capture = found.capture.with_passes(Some(1));
    let mut frames = Vec::new();
    loop {
        match capture.next() {
            NextFrame::Bytes(bytes) => frames.push(Some(bytes.to_vec())),
            NextFrame::Cut => frames.push(None),
            NextFrame::End => return frames,
        }
    }
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
        let found = read(&file[..]).unwrap_or_else(|error| panic!("file {number}: {error}"));
        assert_eq!(
            (found.frames, found.longest_bytes),
            (4, 65_535),
            "file {number}"
        );
        assert!(found.broken.is_none(), "file {number}: {:?}", found.broken);
        let expected: Vec<_> = frames.iter().map(|frame| Some(frame.to_vec())).collect();
        assert_eq!(all(found), expected, "file {number}");
    }
}

#[test]
fn truncated_frame_is_reported() {
    let file = pcap(MICROSECONDS, 1, false, &[(&[1; 60], 1_500), (&[2; 60], 60)]);
    let frames = all(read(&file[..]).unwrap());
    assert_eq!(frames, [None, Some(vec![2; 60])]);
}

#[test]
fn missing_interface_is_reported() {
    let refused = [
        (Vec::new(), "is empty"),
        (vec![0xd4, 0xc3], "header"),
        (
            b"no capture at all, but long enough".to_vec(),
            "neither pcap nor pcapng",
        ),
        (pcap(MICROSECONDS, 1, false, &[]), "has no packets"),
        (pcapng(&[1], &[]), "has no packets"),
        (
            pcap(MICROSECONDS, 113, false, &[(&[1; 60], 60)]),
            "link type 113",
        ),
        (pcapng(&[276], &[&[1; 60]]), "link type 276"),
        (pcapng(&[], &[&[1; 60]]), "interface 0"),
    ];
    for (file, what) in refused {
        let error = read(&file[..]).map(|found| found.frames).unwrap_err();
        assert!(error.contains(what), "{what}: {error}");
    }
}

#[test]
fn complete_frames_of_a_truncated_file_are_sent() {
    let mut file = pcap(MICROSECONDS, 1, false, &[(&[1; 60], 60), (&[2; 60], 60)]);
    file.truncate(file.len() - 5);
    let found = read(&file[..]).unwrap();
    assert!(found.broken.is_some());
    assert_eq!(all(found), [Some(vec![1; 60])]);
}

#[test]
fn frames_are_repeated_as_configured() {
    let file = pcap(MICROSECONDS, 1, false, &[(&[1; 60], 60), (&[2; 60], 60)]);
    let capture = read(&file[..]).unwrap().capture;
    for (passes, frames) in [(Some(1), 2), (Some(3), 6), (None, 1_000)] {
        let mut capture = capture.clone().with_passes(passes);
        let sent = (0..1_000).take_while(|_| matches!(capture.next(), NextFrame::Bytes(_)));
        assert_eq!(sent.count(), frames);
    }
}

proptest! {
    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = read(&bytes[..]);
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
        if let Ok(found) = read(&file[..]) {
            prop_assert!(all(found).len() <= 100);
        }
    }
}
