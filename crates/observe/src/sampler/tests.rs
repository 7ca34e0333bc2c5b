//! The samplers on a tree in place of /sys.

use std::fs;
use std::path::PathBuf;

use taut_linux::observe::{Sample, Sysfs};

use super::{Histogram, LiveSampler, LiveSettings, Sampler};
use crate::gather::{Host, Missing, Selection, gather};
use crate::row::QueueRow;

/// A tree with one device of one queue, removed at the end.
struct Tree(PathBuf);

impl Tree {
    fn new(test: &str) -> Self {
        let name = format!("taut-sampler-{}-{test}", std::process::id());
        let tree = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(tree.limits()).expect("directory");
        tree.set("limit", "100").set("inflight", "40");
        tree
    }

    fn limits(&self) -> PathBuf {
        self.0.join("class/net/eth0/queues/tx-0/byte_queue_limits")
    }

    fn set(&self, file: &str, text: &str) -> &Self {
        fs::write(self.limits().join(file), text).expect("file");
        self
    }

    fn sysfs(&self) -> Sysfs {
        Sysfs::at(&self.0)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn row() -> QueueRow {
    QueueRow {
        device: "eth0".to_owned(),
        ..QueueRow::default()
    }
}

fn read(sampler: &mut Sampler) -> Vec<Sample> {
    let mut samples = Vec::new();
    sampler.round(|_, _, sample| samples.push(sample));
    samples
}

#[test]
fn round_skips_partial_numbers() {
    let tree = Tree::new("round");
    let mut sampler = Sampler::new(1_000_000);
    sampler.set_queues(&tree.sysfs(), &[row(), row()]);
    let sample = Sample {
        limit: 100,
        in_flight: 40,
    };
    assert_eq!(read(&mut sampler), [sample, sample]);
    tree.set("inflight", "");
    assert_eq!(read(&mut sampler), []);
    tree.set("inflight", "41");
    assert_eq!(read(&mut sampler)[0].in_flight, 41);
}

#[test]
fn queue_that_failed_is_opened_again() {
    let tree = Tree::new("again");
    fs::remove_file(tree.limits().join("limit")).expect("it is there");
    let mut sampler = Sampler::new(1_000_000);
    sampler.set_queues(&tree.sysfs(), &[row()]);
    assert_eq!(read(&mut sampler), [], "it has no limit");
    tree.set("limit", "100");
    assert_eq!(read(&mut sampler), [], "not before it is listed again");
    sampler.set_queues(&tree.sysfs(), &[row()]);
    assert_eq!(read(&mut sampler).len(), 1);
}

#[test]
fn wait_ends_at_the_deadline_or_next_sample() {
    let mut sampler = Sampler::new(u64::MAX / 2);
    assert!(sampler.wait_until(u64::MAX), "the first round is due");
    sampler.round(|_, _, _| {});
    assert!(!sampler.wait_until(0), "the end is before the next round");
}

#[test]
fn live_sampler_collects_until_it_is_dropped() {
    let tree = Tree::new("live");
    let host = Host {
        sysfs: tree.sysfs(),
        namespace: None,
        paths: false,
    };
    let selection = Selection::default();
    let inventory = gather(&host, &selection, Missing::Error).expect("a tree");
    let settings = LiveSettings {
        interval_ns: 1_000_000,
        rescan_ns: 2_000_000,
        rows: |inventory| inventory.rows().cloned().collect(),
        collector: Histogram::default,
    };
    let sampler = LiveSampler::start(host, selection, settings, &inventory).expect("a thread");
    tree.set("inflight", "60");
    // Samples survive the scans in between.
    while sampler.queues()[0].samples.samples < 20 {
        assert!(sampler.is_running());
        std::thread::yield_now();
    }
    let queue = sampler.queues().remove(0);
    assert_eq!(queue.row.limits.in_flight, Some(60));
}
