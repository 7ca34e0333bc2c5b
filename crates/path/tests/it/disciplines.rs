//! The disciplines and their names.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Books, packet};
use proptest::prelude::*;
use taut_path::qdisc::{
    AnyQdisc, Backlog, BandLimit, DISCIPLINES, Fifo, FqCodel, FqCodelConfig, ParseQdiscError,
    PfifoFast, Qdisc, by_name, marks_ecn,
};
use taut_path::{DropReason, Ecn, Packet};

/// Priority to band, as documented for the kernel's pfifo_fast.
const BANDS: [usize; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

fn canonical(text: &str) -> Result<String, ParseQdiscError> {
    text.parse::<AnyQdisc>().map(|qdisc| qdisc.to_string())
}

fn with_priority(frame: u32, priority: u8) -> Packet {
    let mut packet = packet(frame, 60 + frame);
    packet.priority = priority;
    packet
}

fn dequeue_all(discipline: &mut dyn Qdisc) -> Vec<u32> {
    let mut books = Books::default();
    let frames = std::iter::from_fn(|| discipline.dequeue(0, &mut books))
        .map(|packet| packet.into_frame().index())
        .collect();
    assert_eq!(books.dropped, []);
    frames
}

#[test]
fn priorities_have_bands_and_higher_bands_precede() {
    let mut discipline = PfifoFast::new(100, BandLimit::Each);
    let mut books = Books::default();
    // Twice, so that the order within a band is tested as well.
    for frame in 0..32 {
        discipline.enqueue(with_priority(frame, (frame % 16) as u8), 0, &mut books);
    }
    let mut expected: Vec<u32> = (0..32).collect();
    expected.sort_by_key(|&frame| BANDS[frame as usize % 16]);
    assert_eq!(dequeue_all(&mut discipline), expected);
}

#[test]
fn packet_of_a_higher_band_overtakes() {
    let mut discipline = PfifoFast::new(100, BandLimit::Each);
    let mut books = Books::default();
    for frame in 0..3 {
        discipline.enqueue(with_priority(frame, 2), 0, &mut books);
    }
    let first = discipline.dequeue(0, &mut books).map(Packet::into_frame);
    assert_eq!(first.map(|frame| frame.index()), Some(0));
    discipline.enqueue(with_priority(3, 0), 0, &mut books);
    discipline.enqueue(with_priority(4, 6), 0, &mut books);
    assert_eq!(dequeue_all(&mut discipline), [4, 3, 1, 2]);
}

#[test]
fn packet_limit_is_clamped_to_a_million() {
    let config = FqCodelConfig {
        limit_packets: u32::MAX,
        memory_limit_bytes: u64::MAX,
        ..FqCodelConfig::default()
    };
    let bands = PfifoFast::new(u32::MAX, BandLimit::Total);
    let disciplines: [Box<dyn Qdisc>; 2] = [Box::new(FqCodel::new(config)), Box::new(bands)];
    for mut discipline in disciplines {
        let mut books = Books::default();
        assert_eq!(discipline.max_packets(), Some(1_000_000));
        for _ in 0..1_000_000 {
            discipline.enqueue(packet(0, 100), 0, &mut books);
        }
        assert!(!discipline.accepts(&with_priority(0, 0)));
    }
}

#[test]
fn panicking_sink_of_a_flush_loses_no_count() {
    for row in DISCIPLINES {
        let mut discipline = by_name(row.name).expect("a discipline");
        let mut books = Books::default();
        for frame in 0..100 {
            let mut packet = packet(frame, 1_000);
            packet.flow = frame % 4;
            discipline.enqueue(packet, 0, &mut books);
        }
        let mut gone = 0;
        let flushed = catch_unwind(AssertUnwindSafe(|| {
            discipline.drain(&mut |_| {
                gone += 1;
                assert!(gone < 40, "the sink panics");
            });
        }));
        assert!(flushed.is_err(), "{}", row.name);
        let left = Backlog {
            packets: 60,
            bytes: 60_000,
        };
        assert_eq!(discipline.backlog(), left, "{}", row.name);
        assert_eq!(dequeue_all(&mut *discipline).len(), 60, "{}", row.name);
    }
}

/// Returns the dropped frames of 3 per band, with a limit of 2.
fn dropped(scope: BandLimit) -> Vec<(u32, DropReason)> {
    let mut discipline = PfifoFast::new(2, scope);
    let mut books = Books::default();
    for (frame, priority) in [2, 2, 2, 0, 0, 0, 6, 6, 6].into_iter().enumerate() {
        let packet = with_priority(frame as u32, priority);
        let accepts = discipline.accepts(&packet);
        let before = books.dropped.len();
        discipline.enqueue(packet, 0, &mut books);
        assert_eq!(accepts, books.dropped.len() == before, "accepts was right");
    }
    books.dropped
}

#[test]
fn limit_applies_per_band_or_in_total() {
    let full = |frames: &[u32]| -> Vec<_> {
        let full = |&frame| (frame, DropReason::QueueFull);
        frames.iter().map(full).collect()
    };
    assert_eq!(dropped(BandLimit::Each), full(&[2, 5, 8]));
    assert_eq!(dropped(BandLimit::Total), full(&[2, 3, 4, 5, 6, 7, 8]));
}

#[test]
fn full_fifo_drops_at_its_tail() {
    let mut discipline = Fifo::new(3);
    let mut books = Books::default();
    for frame in 0..5 {
        discipline.enqueue(packet(frame, 60), 0, &mut books);
    }
    let dropped: Vec<_> = [3, 4].map(|frame| (frame, DropReason::QueueFull)).into();
    assert_eq!(books.dropped, dropped);
    assert_eq!(dequeue_all(&mut discipline), [0, 1, 2]);
}

/// Returns the capacity for packets of one priority, and of all.
fn holds(text: &str) -> (u64, u64) {
    let fill = |priorities: &[u8]| {
        let mut discipline = by_name(text).expect(text);
        let mut books = Books::default();
        for frame in 0..5_000 {
            let priority = priorities[frame as usize % priorities.len()];
            discipline.enqueue(with_priority(frame, priority), 0, &mut books);
        }
        discipline.backlog().packets
    };
    (fill(&[0]), fill(&[0, 2, 6]))
}

#[test]
fn disciplines_have_the_names_of_tc() {
    assert_eq!(holds("pfifo_fast"), (1_000, 3_000));
    assert_eq!(holds("pfifo_fast total"), (1_000, 1_000));
    assert_eq!(holds("pfifo_fast limit 7"), (7, 21));
    assert_eq!(holds("pfifo_fast total limit 7"), (7, 7));
    assert_eq!(holds("  pfifo\tlimit  20\n"), (20, 20));
    assert_eq!(holds("pfifo"), (1_000, 1_000));
    for discipline in DISCIPLINES {
        assert!(by_name(discipline.name).is_ok());
    }
}

#[test]
fn every_parameter_is_written_and_parsed() {
    let cases = [
        ("pfifo", "pfifo limit 1000"),
        ("pfifo_fast", "pfifo_fast limit 1000"),
        (" pfifo_fast\ttotal limit 7", "pfifo_fast limit 7 total"),
        ("codel", "codel limit 1000 target 5ms interval 100ms noecn"),
        (
            "fq_codel",
            "fq_codel limit 10240 flows 1024 target 5ms interval 100ms quantum 1514 \
             memory_limit 32Mb ecn",
        ),
        (
            "fq_codel noecn memory_limit 300000 quantum 1kb flows 65536 seed 7 ce_threshold 1500ns",
            "fq_codel limit 10240 flows 65536 target 5ms interval 100ms quantum 1Kb \
             memory_limit 300000 noecn ce_threshold 1500ns seed 7",
        ),
        (
            "codel ce_threshold 1000us ecn interval 0.5s target 1500us limit 9 noecn ecn",
            "codel limit 9 target 1500us interval 500ms ecn ce_threshold 1ms",
        ),
    ];
    for (text, whole) in cases {
        assert_eq!(canonical(text).as_deref(), Ok(whole));
        assert_eq!(canonical(whole).as_deref(), Ok(whole));
    }
}

#[test]
fn syntax_error_of_a_discipline_has_a_position() {
    let cases = [
        ("", 1, "unknown discipline"),
        ("   ", 1, "unknown discipline"),
        ("codl", 1, "unknown discipline"),
        ("  PFIFO", 3, "unknown discipline"),
        ("pfifo limits 3", 7, "unknown parameter"),
        ("pfifo total", 7, "unknown parameter"),
        ("pfifo_fast total 3", 18, "unknown parameter"),
        ("codel total", 7, "[target TIME]"),
        ("fq_codel memory_limit 1kb", 23, "128Kb to 4096Mb"),
        ("fq_codel memory_limit 1tb", 23, "bad memory_limit"),
        ("fq_codel quantum 255", 18, "256 to 1Mb"),
        ("fq_codel flows 65537", 16, "1 to 65536 flows"),
        ("fq_codel seed 4294967296", 15, "bad seed"),
        ("fq_codel hash 3", 10, "[memory_limit SIZE]"),
        ("codel target 5", 14, "bad target"),
        ("codel ecn target 4001ms", 18, "1ns to 4s"),
        ("codel interval 0s", 16, "bad interval"),
        ("codel ce_threshold", 19, "bad ce_threshold"),
        ("pfifo limit +3", 13, "bad limit"),
        ("pfifo limit", 12, "bad limit"),
        ("pfifo limit 0", 13, "bad limit"),
        ("pfifo limit -1", 13, "bad limit"),
        ("pfifo limit 1k", 13, "bad limit"),
        ("pfifo limit 1000001", 13, "bad limit"),
        ("pfifo limit 99999999999", 13, "bad limit"),
        // Positions count characters: the wide space is one.
        (
            "\u{3000}pfifo\u{2003}limit\u{3000}\u{fc}ber",
            14,
            "bad limit",
        ),
        ("\u{3000}pfifo\u{3000}limit", 13, "bad limit"),
    ];
    for (text, position, what) in cases {
        let error = by_name(text).err().expect(text);
        assert_eq!(error.position, position, "{text}");
        let message = error.to_string();
        assert!(
            message.contains(what) && message.contains("allowed"),
            "{message}"
        );
    }
    assert!(by_name("pfifo limit 1000000").is_ok());
    assert!(by_name("\u{2003}pfifo\u{3000}limit\u{a0}1").is_ok());
}

/// Keywords of disciplines, values of all kinds, and nonsense.
fn word() -> impl Strategy<Value = String> {
    const KNOWN: [&str; 11] = [
        "limit",
        "total",
        "target",
        "interval",
        "ecn",
        "noecn",
        "ce_threshold",
        "flows",
        "quantum",
        "memory_limit",
        "seed",
    ];
    prop_oneof![
        4 => prop::sample::select(&KNOWN[..]).prop_map(str::to_owned),
        4 => "[0-9]{1,7}(us|ms|s|kb|Mb|k|b|)",
        1 => "[0-9.+-]{1,30}",
        1 => "\\PC{0,4}",
    ]
}

#[test]
fn discipline_marks_by_ecn_or_threshold() {
    for text in [
        "fq_codel",
        "codel ecn",
        "codel ce_threshold 1ms",
        "codel noecn ecn",
    ] {
        assert!(marks_ecn(text), "{text}");
    }
    for text in [
        "codel",
        "fq_codel noecn",
        "pfifo_fast",
        "ecn",
        "codel ecn ecm",
    ] {
        assert!(!marks_ecn(text), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_parses_or_has_an_error_position(
        name in "(pfifo|pfifo_fast|codel|fq_codel|\\PC{0,3})",
        words in prop::collection::vec(word(), 0..9),
        spaces in "[ \t\n\u{3000}\u{2003}\u{85}]{1,3}",
    ) {
        let text = format!("{name}{spaces}{}", words.join(&spaces));
        match canonical(&text) {
            Err(error) => {
                prop_assert!((1..=text.chars().count() + 1).contains(&error.position));
                prop_assert!(error.to_string().contains("allowed"));
            }
            Ok(whole) => prop_assert_eq!(canonical(&whole), Ok(whole)),
        }
    }

    #[test]
    fn packets_are_sent_dropped_or_queued(
        steps in prop::collection::vec(random_step(), 1..300),
        limit in 1u32..20,
    ) {
        for parameters in DISCIPLINES.iter().flat_map(|discipline| variants(discipline.name)) {
            let text = format!("{parameters} limit {limit}");
            let mut discipline = by_name(&text).expect(&text);
            let mut books = Books::default();
            let (mut went_in, mut came_out) = (Backlog::default(), Backlog::default());
            let mut now_ns = 0;
            let mut frames = Vec::new();
            for (frame, step) in steps.iter().enumerate() {
                now_ns += step.wait_ns;
                let ended = books.dropped.len();
                if step.enqueue {
                    let packet = packet(frame as u32, step.bytes);
                    let mut packet = packet.with_charge(step.bytes + 700);
                    (packet.priority, packet.flow) = (step.class, (step.class % 5).into());
                    let ecn = [Ecn::NotCapable, Ecn::Capable, Ecn::Marked];
                    packet.set_ecn(ecn[step.class as usize % 3]);
                    count(&mut went_in, step.bytes.max(1));
                    let accepts = discipline.accepts(&packet);
                    discipline.enqueue(packet, now_ns, &mut books);
                    prop_assert_eq!(accepts, ended == books.dropped.len(), "accepts: {}", text);
                } else if let Some(packet) = discipline.dequeue(now_ns, &mut books) {
                    count(&mut came_out, packet.wire_bytes());
                    frames.push(packet.into_frame().index());
                } else {
                    prop_assert_eq!(discipline.backlog().packets, 0, "none comes: {}", text);
                }
                for &(frame, _) in &books.dropped[ended..] {
                    count(&mut came_out, steps[frame as usize].bytes.max(1));
                    frames.push(frame);
                }
                let waits = discipline.backlog();
                prop_assert_eq!(went_in.packets, came_out.packets + waits.packets, "{}", text);
                prop_assert_eq!(went_in.bytes, came_out.bytes + waits.bytes, "{}", text);
                prop_assert_eq!(discipline.next_ready(now_ns), None);
            }
            let all = frames.len();
            frames.sort_unstable();
            frames.dedup();
            prop_assert_eq!(frames.len(), all, "a frame ended twice");
        }
    }
}

/// A discipline with parameters that cause all kinds of drops.
fn variants(name: &str) -> Vec<String> {
    let parameters: &[&str] = match name {
        "pfifo_fast" => &["", " total"],
        "codel" => &[
            "",
            " target 1ms interval 3ms",
            " target 1ms interval 3ms ecn",
        ],
        "fq_codel" => &[
            "",
            " flows 3 target 1ms interval 3ms memory_limit 256Kb",
            " flows 1 quantum 256 target 1ms interval 3ms noecn ce_threshold 2ms",
        ],
        _ => &[""],
    };
    parameters
        .iter()
        .map(|words| format!("{name}{words}"))
        .collect()
}

fn count(total: &mut Backlog, bytes: u32) {
    total.packets += 1;
    // An empty packet counts as one byte.
    total.bytes += u64::from(bytes.max(1));
}

#[derive(Debug, Clone)]
struct RandomStep {
    enqueue: bool,
    bytes: u32,
    class: u8,
    wait_ns: u64,
}

fn random_step() -> impl Strategy<Value = RandomStep> {
    let wait_ns = prop_oneof![3 => Just(0), 1 => 0u64..2_000_000];
    (any::<bool>(), 0u32..70_000, any::<u8>(), wait_ns).prop_map(
        |(enqueue, bytes, class, wait_ns)| RandomStep {
            enqueue,
            bytes,
            class,
            wait_ns,
        },
    )
}
