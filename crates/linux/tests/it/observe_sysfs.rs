//! Reading queues from trees of the test, and from this machine.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use proptest::prelude::*;
use taut_linux::NetNs;
use taut_linux::link;
use taut_linux::observe::{
    ByteLimits, DeviceKind, LIMIT_MAX_UNSET, NoLimitReason, QueueSampler, Sysfs,
};

use crate::common::{StopOnDrop, allowed};

/// A tree in place of /sys, removed at the end.
struct Tree(PathBuf);

impl Tree {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let root = root.join(format!("sysfs-{}-{number}", std::process::id()));
        fs::create_dir_all(root.join("class/net")).expect("tree");
        Self(root)
    }

    fn sysfs(&self) -> Sysfs {
        Sysfs::at(&self.0)
    }

    fn device(&self, name: &str) -> PathBuf {
        self.0.join("class/net").join(name)
    }

    /// A device with hardware and `queues` queues, as Linux 6.18 shows it.
    fn add(&self, name: &str, queues: u32) {
        let device = self.device(name);
        put(&device, "device/vendor", "0x1af4\n");
        put(&device, "flags", "0x1003\n");
        put(&device, "speed", "1000\n");
        put(&device, "statistics/tx_packets", "7\n");
        fs::create_dir_all(device.join("queues/rx-0")).expect("queue");
        for queue in 0..queues {
            put(&device, &format!("queues/tx-{queue}/tx_timeout"), "0\n");
            let unset = LIMIT_MAX_UNSET.to_string();
            for (file, text) in [
                ("limit", "2020"),
                ("inflight", "66"),
                ("limit_min", "0"),
                ("limit_max", &unset),
                ("hold_time", "1000"),
                ("stall_thrs", "0"),
                ("stall_cnt", "3"),
                ("stall_max", "12"),
            ] {
                put(&self.limits(name, queue), file, format!("{text}\n"));
            }
        }
    }

    fn limits(&self, device: &str, queue: u32) -> PathBuf {
        let queue = format!("queues/tx-{queue}/byte_queue_limits");
        self.device(device).join(queue)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn put(directory: &Path, file: &str, text: impl AsRef<[u8]>) {
    let path = directory.join(file);
    fs::create_dir_all(path.parent().expect("directory")).expect("directory");
    fs::write(path, text).expect("file");
}

#[test]
fn a_device_is_read_with_all_its_queues() {
    let tree = Tree::new();
    tree.add("eth0", 256);
    symlink(
        "/nowhere/virtio_net",
        tree.device("eth0").join("device/driver"),
    )
    .expect("link");
    let device = tree.sysfs().device("eth0").expect("device");
    let numbers: Vec<u32> = device.queues.iter().map(|queue| queue.number).collect();
    assert_eq!(numbers, (0..256).collect::<Vec<_>>());
    assert_eq!(device.driver.as_deref(), Some("virtio_net"));
    assert_eq!(device.speed_bits_per_s, Some(1_000_000_000));
    assert!(device.is_up && device.kind == DeviceKind::Hardware);
    let limits = ByteLimits {
        limit: Some(2020),
        in_flight: Some(66),
        limit_min: Some(0),
        limit_max: Some(LIMIT_MAX_UNSET),
        hold_time_ms: Some(1000),
        stall_threshold_ms: Some(0),
        stalls: Some(3),
        longest_stall_ms: Some(12),
    };
    assert_eq!(device.queues[255].limits, Some(limits));
    assert_eq!((device.no_limit_reason(), device.problems.len()), (None, 0));
}

#[test]
fn missing_stall_files_are_not_a_problem() {
    let tree = Tree::new();
    tree.add("eth0", 1);
    for file in ["stall_thrs", "stall_cnt", "stall_max"] {
        fs::remove_file(tree.limits("eth0", 0).join(file)).expect("file");
    }
    let device = tree.sysfs().device("eth0").expect("device");
    let limits = device.queues[0].limits.expect("limits");
    assert_eq!((limits.stalls, limits.limit), (None, Some(2020)));
    assert_eq!(device.problems.len(), 0);
}

#[test]
fn malformed_and_missing_files_are_reported() {
    let tree = Tree::new();
    tree.add("eth0", 2);
    for queue in 0..2 {
        put(&tree.limits("eth0", queue), "limit", "many\n");
    }
    fs::remove_file(tree.limits("eth0", 1).join("limit_max")).expect("file");
    put(&tree.device("eth0"), "speed", "-1\n");
    fs::create_dir(tree.device("eth0").join("queues/tx-x")).expect("no queue");
    let device = tree.sysfs().device("eth0").expect("device");
    let limits = device.queues[1].limits.expect("limits");
    assert_eq!((limits.limit, limits.in_flight), (None, Some(66)));
    assert_eq!((limits.limit_max, device.speed_bits_per_s), (None, None));
    assert_eq!(device.queues.len(), 2);
    let problems = device.problems.join("\n");
    assert!(
        problems.starts_with("cannot read limit: \"many\": expected a number\n"),
        "{problems}"
    );
    assert!(
        problems.contains("cannot read limit_max: No such file"),
        "{problems}"
    );
    assert_eq!(device.problems.len(), 2, "each is said once: {problems}");
}

/// A directory in place of the file, because root can read all files.
#[test]
fn unreadable_file_is_reported_with_the_reason() {
    let tree = Tree::new();
    tree.add("eth0", 1);
    let limits = tree.limits("eth0", 0);
    fs::remove_file(limits.join("limit")).expect("file");
    fs::create_dir(limits.join("limit")).expect("directory");
    fs::set_permissions(limits.join("inflight"), fs::Permissions::from_mode(0o000)).expect("mode");
    let device = tree.sysfs().device("eth0").expect("device");
    let problems = device.problems.join("\n");
    assert!(
        problems.contains("cannot read limit: Is a directory"),
        "{problems}"
    );
    let sampled = QueueSampler::open(&tree.sysfs(), "eth0", 0).and_then(|it| it.sample());
    sampled.expect_err("nothing to sample");
}

#[test]
fn only_devices_are_listed() {
    let tree = Tree::new();
    for name in ["eth10", "eth9", "lo"] {
        tree.add(name, 1);
    }
    put(&tree.0, "class/net/bonding_masters", "\n");
    symlink(tree.device("gone"), tree.device("dangling")).expect("link");
    assert_eq!(
        tree.sysfs().devices().expect("list"),
        ["eth9", "eth10", "lo"]
    );
    for (name, kind) in [
        ("bonding_masters", ErrorKind::NotFound),
        ("dangling", ErrorKind::NotFound),
        ("eth1", ErrorKind::NotFound),
        ("../net/lo", ErrorKind::InvalidInput),
        ("", ErrorKind::InvalidInput),
    ] {
        assert_eq!(
            tree.sysfs().device(name).expect_err(name).kind(),
            kind,
            "{name}"
        );
    }
    assert!(Sysfs::at("/nowhere").devices().is_err());
}

#[test]
fn virtual_and_queueless_devices_are_reported() {
    let tree = Tree::new();
    fs::create_dir_all(tree.device("veth0").join("queues/tx-0")).expect("queue");
    fs::create_dir_all(tree.device("bare0")).expect("device");
    let why = |name| tree.sysfs().device(name).expect("device").no_limit_reason();
    assert_eq!(
        why("veth0"),
        Some(NoLimitReason::Virtual { over: Vec::new() })
    );
    assert_eq!(why("bare0"), Some(NoLimitReason::NoQueue));
}

#[test]
fn device_removed_during_read_is_harmless() {
    let tree = Tree::new();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stopped = StopOnDrop(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                tree.add("eth0", 4);
                fs::rename(tree.device("eth0"), tree.device("eth1")).expect("renamed");
                fs::remove_dir_all(tree.device("eth1")).expect("removed");
            }
        });
        let (mut found, mut missed) = (0, 0);
        for _ in 0..2000 {
            let devices = tree.sysfs().devices().expect("list");
            for name in ["eth0", "eth1"]
                .map(str::to_owned)
                .into_iter()
                .chain(devices)
            {
                match tree.sysfs().device(&name) {
                    Ok(device) => found += device.queues.len().min(1),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                        missed += 1;
                    }
                }
            }
        }
        drop(stopped);
        assert!(missed > 0, "it was never gone ({found} found)");
    });
}

#[test]
fn sampler_continues_after_a_rename() {
    let tree = Tree::new();
    tree.add("eth0", 1);
    let sampler = QueueSampler::open(&tree.sysfs(), "eth0", 0).expect("opens");
    assert_eq!(sampler.sample().expect("sample").in_flight, 66);
    put(&tree.limits("eth0", 0), "inflight", "9000\n");
    fs::rename(tree.device("eth0"), tree.device("wan")).expect("renamed");
    let sample = sampler.sample().expect("sample");
    assert_eq!((sample.in_flight, sample.limit), (9000, 2020));
    let missing = QueueSampler::open(&tree.sysfs(), "wan", 1).expect_err("no queue");
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn files_of_garbage_are_read_without_panic(
        texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 12),
    ) {
        let tree = Tree::new();
        tree.add("eth0", 1);
        let files = fs::read_dir(tree.limits("eth0", 0)).expect("files");
        let files = files.map(|file| file.expect("file").path());
        let others = ["flags", "speed", "mtu", "statistics/tx_packets"];
        let others = others.map(|file| tree.device("eth0").join(file));
        for (path, text) in files.chain(others).zip(&texts) {
            fs::write(path, text).expect("file");
        }
        let device = tree.sysfs().device("eth0").expect("device");
        let _ = device.no_limit_reason().map(|it| it.text());
        if let Ok(sampler) = QueueSampler::open(&tree.sysfs(), "eth0", 0) {
            let _ = sampler.sample();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_queue_is_read_once(
        numbers in prop::collection::btree_set(0u32..5000, 0..20),
        others in prop::collection::vec("(tx|rx|tx-)[-a-z0-9]{0,3}x", 0..5),
        limit in prop_oneof![Just("max".to_owned()), "[0-9]{0,22}", "\\PC{0,9}"],
    ) {
        let tree = Tree::new();
        put(&tree.device("eth0"), "device/vendor", "0x1af4\n");
        fs::create_dir_all(tree.device("eth0").join("queues")).expect("queues");
        for number in &numbers {
            put(&tree.limits("eth0", *number), "limit", &limit);
        }
        for other in others {
            fs::create_dir_all(tree.device("eth0").join("queues").join(other)).expect("other");
        }
        let device = tree.sysfs().device("eth0").expect("device");
        let read: Vec<u32> = device.queues.iter().map(|it| it.number).collect();
        prop_assert_eq!(read, numbers.into_iter().collect::<Vec<_>>());
        for queue in &device.queues {
            let read = queue.limits.expect("limits").limit;
            let number = limit.parse::<u32>().ok().map(u64::from);
            let expected = if limit == "max" { Some(LIMIT_MAX_UNSET) } else { number };
            prop_assert!(read == expected || expected.is_none() == read.is_none());
        }
    }
}

#[test]
fn lower_devices_are_named() {
    let tree = Tree::new();
    for name in ["eth0", "eth1", "lan1", "lan2", "lan3", "wlan0"] {
        tree.add(name, 1);
        put(&tree.limits(name, 0), "limit", "0");
        put(&tree.limits(name, 0), "inflight", "0");
    }
    put(&tree.device("eth0"), "dsa/tagging", "edsa\n");
    put(
        &tree.device("eth0"),
        "uevent",
        "INTERFACE=eth0\nIFINDEX=2\n",
    );
    put(&tree.device("eth0"), "ifindex", "2\n");
    put(
        &tree.device("lan1"),
        "uevent",
        "DEVTYPE=dsa\nINTERFACE=lan1\n",
    );
    put(&tree.device("lan1"), "iflink", "2\n");
    put(&tree.device("lan2"), "uevent", "DEVTYPE=dsa\n");
    fs::create_dir_all(tree.device("lan2").join("lower_eth1")).expect("lower");
    // Two candidates and no hint.
    put(&tree.device("lan3"), "dsa/tagging", "edsa\n");
    put(&tree.device("lan3"), "phys_switch_id", "00000000\n");
    fs::create_dir_all(tree.device("wlan0").join("phy80211")).expect("wifi");
    fs::create_dir_all(tree.device("eth0.7").join("queues/tx-0")).expect("queue");
    fs::create_dir_all(tree.device("eth0.7").join("lower_eth0")).expect("lower");
    let why = |name| tree.sysfs().device(name).expect("device").no_limit_reason();
    let port = |conduits: &[&str]| {
        let conduits = conduits.iter().map(|it| (*it).to_owned()).collect();
        Some(NoLimitReason::SwitchPort { conduits })
    };
    assert_eq!(why("eth0"), Some(NoLimitReason::NeverReports));
    assert_eq!(why("lan1"), port(&["eth0"]));
    assert_eq!(why("lan2"), port(&["eth1"]));
    assert_eq!(why("lan3"), port(&[]));
    assert_eq!(why("wlan0"), Some(NoLimitReason::Wifi));
    let over = vec!["eth0".to_owned()];
    assert_eq!(why("eth0.7"), Some(NoLimitReason::Virtual { over }));
}

/// Reads all devices of this machine.
#[test]
fn the_devices_of_this_machine_are_read() {
    let sysfs = Sysfs::of_process();
    for name in sysfs.devices().expect("list") {
        let device = sysfs.device(&name).expect("device");
        for queue in &device.queues {
            let Some(limits) = queue.limits else { continue };
            assert!(
                limits.limit.is_some() && limits.hold_time_ms.is_some(),
                "{device:?}"
            );
            let sampler = QueueSampler::open(&sysfs, &name, queue.number).expect("opens");
            sampler.sample().expect("sample");
        }
    }
}

#[test]
fn the_devices_of_another_namespace_are_read() {
    if !allowed() {
        return;
    }
    let ns = NetNs::new().expect("namespace");
    link::add_veth_pair(&ns, "left", &ns, "right").expect("veth");
    let sysfs = Sysfs::of_netns(&ns).expect("sysfs");
    assert_eq!(sysfs.devices().expect("list"), ["left", "lo", "right"]);
    let device = sysfs.device("left").expect("device");
    assert_eq!(
        device.no_limit_reason(),
        Some(NoLimitReason::Virtual { over: Vec::new() })
    );
}
