//! A copy of /sys, for the tests of the verbs that read queues.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sim_command::Scratch;

pub struct Tree(Scratch);

impl Tree {
    pub fn new(test: &str) -> Self {
        let tree = Self(Scratch::new(&format!("sysfs-{test}")));
        fs::create_dir_all(tree.0.file("class/net")).expect("tree");
        tree
    }

    /// Returns `verb` with the option that reads this tree.
    pub fn line(&self, verb: &str) -> String {
        format!("{verb} --sysfs {}", self.0.file("").display())
    }

    pub fn device(&self, name: &str) -> PathBuf {
        self.0.file("class/net").join(name)
    }

    /// Adds a device of 1 Gbit/s with hardware that sent 7 packets. Its queues have a limit of
    /// 40,000 bytes and 2,000 bytes in flight.
    pub fn add(&self, name: &str, queues: u32) -> &Self {
        let device = self.device(name);
        self.add_virtual(name);
        put(&device, "device/vendor", "0x1af4");
        put(&device, "speed", "1000");
        put(&device, "mtu", "1500");
        put(&device, "statistics/tx_packets", "7");
        put(&device, "statistics/tx_bytes", "10598");
        for queue in 0..queues {
            put(&device, &format!("queues/tx-{queue}/tx_timeout"), "0");
            for (file, text) in [
                ("limit", "40000"),
                ("inflight", "2000"),
                ("limit_min", "0"),
                ("limit_max", "1879048192"),
                ("hold_time", "1000"),
                ("stall_thrs", "0"),
                ("stall_cnt", "0"),
                ("stall_max", "0"),
            ] {
                self.set(name, queue, file, text);
            }
        }
        self
    }

    /// Adds a device without hardware and without a limit.
    pub fn add_virtual(&self, name: &str) -> &Self {
        let device = self.device(name);
        put(&device, "flags", "0x1003");
        fs::create_dir_all(device.join("queues/tx-0")).expect("queue");
        self
    }

    /// Changes a file of a byte limit.
    pub fn set(&self, device: &str, queue: u32, file: &str, text: &str) -> &Self {
        put(&self.limits(device, queue), file, text);
        self
    }

    pub fn limits(&self, device: &str, queue: u32) -> PathBuf {
        let queue = format!("queues/tx-{queue}/byte_queue_limits");
        self.device(device).join(queue)
    }
}

/// Overwrites a file in place, so that a reader with an open descriptor sees the change.
pub fn put(directory: &Path, file: &str, text: &str) {
    let path = directory.join(file);
    fs::create_dir_all(path.parent().expect("directory")).expect("directory");
    fs::write(path, format!("{text}\n")).expect("file");
}

/// Returns the queue numbers of a heading of `taut doctor`, such as `eth0 queues 0-3,7: limit ..`.
pub fn numbers_of_heading(line: &str) -> Vec<u32> {
    let numbers = line
        .split(" queue")
        .nth(1)
        .and_then(|it| it.split(' ').nth(1));
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |it: &str| it.parse::<u32>().expect("a number");
        number(first)..=number(last)
    };
    let numbers = numbers.expect("numbers").trim_end_matches(':');
    numbers.split(',').flat_map(range).collect()
}
