//! Publishing queues, and reading them.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use taut_linux::publish::{MAX_QUEUES, Publisher, QueueInfo, QueueMetrics, read};

use crate::common::StopOnDrop;

struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        Self(root.join(format!("publish-{}-{number}", std::process::id())))
    }

    fn read(&self) -> taut_linux::publish::Published {
        read(std::slice::from_ref(&self.0))
    }

    fn files(&self) -> usize {
        fs::read_dir(&self.0).map_or(0, Iterator::count)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn metrics(value: u64) -> QueueMetrics {
    QueueMetrics {
        limit: value,
        in_flight: value,
        sent_bytes: value,
        longest_stall_ns: value,
        ..QueueMetrics::default()
    }
}

const INFO: QueueInfo<'_> = QueueInfo {
    device: "eth0",
    queue: 2,
    limit: "dql",
    in_packets: false,
    rate_bits_per_s: Some(1_000_000_000),
};

#[test]
fn queue_is_visible_from_first_metrics_to_drop() {
    let directory = Directory::new();
    assert_eq!(directory.read(), Default::default(), "no directory");
    let publisher = Publisher::open_in(&directory.0, "a test").expect("publishes");
    let mut slot = publisher.add(&INFO).expect("slot");
    assert_eq!(directory.read().queues.len(), 0);
    slot.publish_metrics(&metrics(7));
    let found = directory.read();
    let queue = &found.queues[0];
    assert_eq!(
        (queue.program.as_str(), queue.process),
        ("a test", std::process::id())
    );
    assert_eq!(
        (queue.device.as_str(), queue.queue, queue.limit.as_str()),
        ("eth0", 2, "dql")
    );
    assert_eq!(
        (queue.metrics, queue.rate_bits_per_s),
        (metrics(7), Some(1_000_000_000))
    );
    assert_eq!(found.problems.len(), 0);
    drop(slot);
    assert_eq!(directory.read().queues.len(), 0);
    drop(publisher);
    assert_eq!(directory.files(), 0);
}

#[test]
fn slots_are_bounded_and_released() {
    let directory = Directory::new();
    let publisher = Publisher::open_in(&directory.0, "many").expect("publishes");
    let mut slots: Vec<_> = (0..MAX_QUEUES)
        .map(|_| publisher.add(&INFO).expect("slot"))
        .collect();
    publisher.add(&INFO).expect_err("one too many");
    for slot in &mut slots {
        slot.publish_metrics(&metrics(1));
    }
    assert_eq!(directory.read().queues.len(), MAX_QUEUES);
    drop(slots.pop());
    publisher.add(&INFO).expect("one came back");
}

/// The metrics of a slot are always equal to each other, so a mix of two writes is detected.
#[test]
fn readers_never_see_a_partial_write() {
    let directory = Directory::new();
    let publisher = Publisher::open_in(&directory.0, "busy").expect("publishes");
    let mut slot = publisher.add(&INFO).expect("slot");
    slot.publish_metrics(&metrics(0));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stopped = StopOnDrop(&stop);
        scope.spawn(|| {
            let mut value = 0;
            while !stop.load(Ordering::Relaxed) {
                value += 1;
                slot.publish_metrics(&metrics(value));
            }
        });
        let (mut reads, mut last) = (0, 0);
        for _ in 0..2_000 {
            for queue in directory.read().queues {
                assert_eq!(queue.metrics, metrics(queue.metrics.limit));
                assert!(queue.metrics.limit >= last, "it went back");
                last = queue.metrics.limit;
                reads += 1;
            }
        }
        drop(stopped);
        assert!(reads > 0, "always written when it was read");
    });
}

#[test]
fn unlocked_files_are_removed_foreign_ones_kept() {
    let directory = Directory::new();
    let publisher = Publisher::open_in(&directory.0, "ends").expect("publishes");
    publisher
        .add(&INFO)
        .expect("slot")
        .publish_metrics(&metrics(1));
    let file = fs::read_dir(&directory.0)
        .expect("files")
        .next()
        .expect("one")
        .expect("file");
    // The file of a killed program: complete, and without a lock.
    let left = directory.0.join("left");
    fs::copy(file.path(), &left).expect("copy");
    fs::write(directory.0.join("note"), "not ours").expect("file");
    std::os::unix::fs::symlink(&left, directory.0.join("link")).expect("link");
    let found = directory.read();
    assert!(!left.exists());
    assert!(directory.0.join("note").exists());
    fs::copy(file.path(), &left).expect("copy");
    drop(Publisher::open_in(&directory.0, "next").expect("publishes"));
    assert!(!left.exists(), "who publishes next removes it too");
    assert_eq!(found.problems.len(), 1, "the link: {:?}", found.problems);
}

#[test]
fn truncated_files_and_other_versions_do_not_panic() {
    let directory = Directory::new();
    let publisher = Publisher::open_in(&directory.0, "cut").expect("publishes");
    let mut slot = publisher.add(&INFO).expect("slot");
    slot.publish_metrics(&metrics(1));
    let file = fs::read_dir(&directory.0)
        .expect("files")
        .next()
        .expect("one")
        .expect("file");
    let whole = fs::read(file.path()).expect("bytes");
    for length in [0, 1, 8, 511, 512, 513, 1000] {
        fs::write(directory.0.join("cut"), &whole[..length]).expect("file");
        assert_eq!(directory.read().queues.len(), 1, "{length}");
    }
    let mut newer = whole;
    newer[8] = 9;
    fs::write(directory.0.join("newer"), &newer).expect("file");
    let problems = directory.read().problems;
    assert!(
        problems[0].contains("layout version is 9; allowed: 2"),
        "{problems:?}"
    );
}
