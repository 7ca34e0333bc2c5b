//! Layout of the file: words of 64 bits in the host's byte order. A head, then slots.

use std::sync::atomic::{AtomicU64, Ordering};

use taut_path::queue::MonitorSnapshot;

/// The first word. It differs in the wrong byte order.
const MAGIC: u64 = u64::from_be_bytes(*b"tautqueu");
/// Changes with the layout.
pub(super) const VERSION: u64 = 2;
/// Magic, version, process, slots, and the program's name.
pub(super) const HEAD_WORDS: usize = 64;
const PROGRAM: usize = 8;
pub(super) const SLOTS: usize = 64;
/// A sequence number, then the words of [`write_info`] and [`write_metrics`].
pub(super) const SLOT_WORDS: usize = 64;
pub(super) const FILE_WORDS: usize = HEAD_WORDS + SLOTS * SLOT_WORDS;

/// Words of a slot, after its sequence number.
const KIND: usize = 0;
const QUEUE: usize = 1;
const RATE: usize = 2;
const UPDATED: usize = 3;
const LIMIT: usize = 4;
const LIMIT_WORDS: usize = 4;
const DEVICE: usize = 8;
const NAME_WORDS: usize = 8;
const METRICS: usize = 16;

/// The unit of a slot's limit.
const KIND_BYTES: u64 = 1;
const KIND_PACKETS: u64 = 2;

macro_rules! metrics {
    ($($(#[$doc:meta])* $name:ident = $of:expr;)*) => {
        /// The metrics of a queue, in the order in which they are published. Values of the limit
        /// are in its units.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct QueueMetrics {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl QueueMetrics {
            /// Returns the metrics of a `taut-path` queue.
            pub fn of(snapshot: &MonitorSnapshot) -> Self {
                $(let $name: fn(&MonitorSnapshot) -> u64 = $of;)*
                Self { $($name: $name(snapshot),)* }
            }

            fn words(&self) -> [u64; [$(stringify!($name)),*].len()] {
                [$(self.$name),*]
            }

            fn from_words(words: &mut impl Iterator<Item = u64>) -> Option<Self> {
                Some(Self { $($name: words.next()?,)* })
            }
        }
    };
}

metrics! {
    /// The limit.
    limit = |it| it.queue.limit.into();
    /// Queued and not yet reported complete.
    in_flight = |it| it.queue.in_flight.into();
    /// Minimum limit.
    limit_min = |it| it.queue.min_limit.into();
    /// Maximum limit.
    limit_max = |it| it.queue.max_limit.into();
    /// How long slack is observed before the limit is decreased, in ns.
    hold_time_ns = |it| it.queue.hold_time_ns;
    /// 1 if completions are early: the queue then applies no limit.
    early_completions = |it| it.queue.early_completions.into();
    /// Packets offered to the discipline.
    enqueued_packets = |it| it.sender.enqueued_packets;
    /// Packets submitted to the device.
    sent_packets = |it| it.sender.sent_packets;
    /// Their bytes.
    sent_bytes = |it| it.sender.sent_bytes;
    /// Packets dropped, for any reason.
    dropped_packets = |it| it.sender.drops.total();
    /// Packets marked by the discipline.
    marked_packets = |it| it.sender.marked_packets;
    /// Times the limit stopped the queue.
    limit_stops = |it| it.sender.limit_stops;
    /// Times a full ring stopped the queue.
    ring_stops = |it| it.sender.ring_stops;
    /// Doorbells rung.
    kicks = |it| it.sender.kicks;
    /// Packets completed that count for the limit.
    completed_packets = |it| it.completer.completed_packets;
    /// Their bytes.
    completed_bytes = |it| it.completer.completed_bytes;
    /// Packets sent before a reset.
    stale_packets = |it| it.completer.stale_packets;
    /// Packets that the driver returned and this queue never sent (driver bug).
    unknown_completions = |it| it.completer.unknown_completions;
    /// Completion batches with at least one packet.
    completion_batches = |it| it.completer.batches;
    /// Completion batches after which the device was empty while the limit blocked the sender.
    starved = |it| it.completer.starved;
    /// Resets so far.
    resets = |it| it.completer.resets;
    /// Stalls so far.
    stalls = |it| it.completer.stalls;
    /// Longest stall, in ns.
    longest_stall_ns = |it| it.completer.longest_stall_ns;
}

pub(super) fn write_head(words: &[AtomicU64], program: &str) {
    put(words, 2, std::process::id().into());
    put(words, 3, SLOTS as u64);
    put_text(words, PROGRAM, NAME_WORDS, program);
    put(words, 1, VERSION);
    put(words, 0, MAGIC);
}

pub(super) fn write_info(words: &[AtomicU64], info: &QueueInfo<'_>) {
    put(words, QUEUE, info.queue.into());
    put(words, RATE, info.rate_bits_per_s.unwrap_or(0));
    put_text(words, LIMIT, LIMIT_WORDS, info.limit);
    put_text(words, DEVICE, NAME_WORDS, info.device);
    // No metrics were published yet.
    put(words, UPDATED, 0);
    let kind = match info.in_packets {
        true => KIND_PACKETS,
        false => KIND_BYTES,
    };
    put(words, KIND, kind);
}

pub(super) fn write_metrics(words: &[AtomicU64], now_ns: u64, metrics: &QueueMetrics) {
    put(words, UPDATED, now_ns);
    for (at, value) in metrics.words().into_iter().enumerate() {
        put(words, METRICS + at, value);
    }
}

pub(super) fn clear(words: &[AtomicU64]) {
    put(words, KIND, 0);
}

fn put(words: &[AtomicU64], at: usize, value: u64) {
    words[at].store(value, Ordering::Relaxed);
}

/// Writes as much of `text` as fits with a terminating zero, in whole characters.
fn put_text(words: &[AtomicU64], at: usize, number: usize, text: &str) {
    let mut end = text.len().min(number * 8 - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut bytes = text.as_bytes()[..end].to_vec();
    bytes.resize(number * 8, 0);
    for (offset, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
        put(words, at + offset, u64::from_ne_bytes(*word));
    }
}

/// Returns the process and the name of the program. `Err` with an unsupported version; `Ok(None)`
/// for a file of another format.
pub(super) fn read_head(words: &[u64]) -> Result<Option<(u32, String)>, u64> {
    match words.get(..HEAD_WORDS) {
        Some(words) if words[0] == MAGIC && words[1] == VERSION => {
            let program = text(words, PROGRAM, NAME_WORDS);
            Ok(Some((words[2] as u32, program)))
        }
        Some(words) if words[0] == MAGIC => Err(words[1]),
        _ => Ok(None),
    }
}

/// The properties of a queue that do not change.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueueInfo<'a> {
    /// Its device, or a name of its own, truncated to 63 bytes.
    pub device: &'a str,
    /// Its number on the device.
    pub queue: u32,
    /// The rule of its limit, as in `--limit`, truncated to 31 bytes.
    pub limit: &'a str,
    /// The limit counts packets, not bytes.
    pub in_packets: bool,
    /// The speed of its link in bit/s; `None` if it is unknown.
    pub rate_bits_per_s: Option<u64>,
}

/// A queue that a program publishes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PublishedQueue {
    /// The program's name.
    pub program: String,
    /// Its process.
    pub process: u32,
    /// The device, or another name.
    pub device: String,
    /// The number of the queue on the device.
    pub queue: u32,
    /// The rule that sets the limit.
    pub limit: String,
    /// The limit counts packets, not bytes.
    pub in_packets: bool,
    /// The speed of its link in bit/s, if the program reports it.
    pub rate_bits_per_s: Option<u64>,
    /// The age of the metrics, in ns.
    pub age_ns: u64,
    /// The metrics.
    pub metrics: QueueMetrics,
}

/// Reads a slot, without the values of the head. `None` if it is free, or has no metrics yet.
pub(super) fn read_slot(words: &[u64], now_ns: u64) -> Option<PublishedQueue> {
    let words = words.get(..SLOT_WORDS - 1)?;
    let used = matches!(words[KIND], KIND_BYTES | KIND_PACKETS) && words[UPDATED] != 0;
    if !used {
        return None;
    }
    Some(PublishedQueue {
        device: text(words, DEVICE, NAME_WORDS),
        queue: words[QUEUE] as u32,
        limit: text(words, LIMIT, LIMIT_WORDS),
        in_packets: words[KIND] == KIND_PACKETS,
        rate_bits_per_s: Some(words[RATE]).filter(|&rate| rate > 0),
        age_ns: now_ns.saturating_sub(words[UPDATED]),
        metrics: QueueMetrics::from_words(&mut words[METRICS..].iter().copied())?,
        ..PublishedQueue::default()
    })
}

/// Reads text up to its zero. Control characters, which could harm a terminal, become question
/// marks.
fn text(words: &[u64], at: usize, number: usize) -> String {
    let words = words[at..at + number].iter();
    let bytes = words.flat_map(|word| word.to_ne_bytes());
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).replace(char::is_control, "?")
}

const _: () = assert!(
    METRICS + size_of::<QueueMetrics>() / 8 < SLOT_WORDS,
    "a slot holds all metrics"
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn loaded(words: &[AtomicU64]) -> Vec<u64> {
        words.iter().map(|it| it.load(Ordering::Relaxed)).collect()
    }

    fn empty(number: usize) -> Vec<AtomicU64> {
        (0..number).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn published_slot_is_read() {
        let words = empty(SLOT_WORDS - 1);
        let info = QueueInfo {
            device: "eth0",
            queue: 3,
            limit: "taut:99.5%",
            in_packets: true,
            rate_bits_per_s: Some(1_000_000_000),
        };
        assert_eq!(read_slot(&loaded(&words), 7), None);
        write_info(&words, &info);
        assert_eq!(read_slot(&loaded(&words), 7), None);
        let metrics = QueueMetrics {
            limit: 7,
            longest_stall_ns: 9,
            ..QueueMetrics::default()
        };
        write_metrics(&words, 5, &metrics);
        let slot = read_slot(&loaded(&words), 7).expect("published");
        assert_eq!((slot.device.as_str(), slot.queue), ("eth0", 3));
        assert_eq!((slot.limit.as_str(), slot.in_packets), ("taut:99.5%", true));
        assert_eq!((slot.metrics, slot.age_ns), (metrics, 2));
        clear(&words);
        assert_eq!(read_slot(&loaded(&words), 7), None);
    }

    #[test]
    fn long_names_are_truncated_and_controls_replaced() {
        let words = empty(HEAD_WORDS);
        write_head(&words, &"\u{e4}".repeat(40));
        let head = read_head(&loaded(&words)).expect("version").expect("ours");
        assert_eq!(head.1, "\u{e4}".repeat(31));
        write_head(&words, "a\x1b[2Jb");
        let head = read_head(&loaded(&words)).expect("version").expect("ours");
        assert_eq!(head.1, "a?[2Jb");
        words[1].store(VERSION + 1, Ordering::Relaxed);
        assert_eq!(read_head(&loaded(&words)), Err(VERSION + 1));
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_panic(
            mut words in prop::collection::vec(any::<u64>(), 0..200),
            ours in any::<bool>(),
        ) {
            if let (true, [magic, version, ..]) = (ours, &mut words[..]) {
                (*magic, *version) = (MAGIC, VERSION);
            }
            let _ = read_head(&words);
            if let (true, [kind, ..]) = (ours, &mut words[..]) {
                *kind = KIND_BYTES;
            }
            let _ = read_slot(&words, 0);
        }
    }
}
