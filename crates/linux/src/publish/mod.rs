//! Publishes the queues of this program: one call for each queue, then `taut show` lists it.
//!
//! ```no_run
//! use taut_linux::publish::{QueueInfo, Publisher};
//! # fn watch() -> taut_path::queue::Monitor { unimplemented!() }
//! let publisher = Publisher::open("my-sender")?;
//! let info = QueueInfo { device: "eth0", queue: 0, limit: "dql", ..QueueInfo::default() };
//! let mut queue = publisher.add(&info)?;
//! queue.publish(&watch().snapshot()); // from time to time, or after each batch
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A publisher has one file of shared memory in [`directories`], which only its user can read. Each
//! queue has a slot there, written under a sequence lock. A write takes about 50 ns and never
//! blocks, and readers never see a partial one.
//!
//! The publisher holds the file's lock (`flock`). A file without a lock holder is ignored, and the
//! next reader or publisher removes it. So files that `kill -9` leaves behind do not accumulate.

mod layout;
mod reader;

use std::env;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, flock, linkat};
use rustix::process::geteuid;
use taut_path::queue::MonitorSnapshot;

use crate::error::{Context, failed, invalid};
use crate::sched::monotonic_ns;
use crate::sys::shared_file::Words;
use layout::{FILE_WORDS, HEAD_WORDS, SLOT_WORDS, SLOTS};

pub use layout::{PublishedQueue, QueueInfo, QueueMetrics};
pub use reader::{Published, read};

/// Maximum number of queues of one publisher.
pub const MAX_QUEUES: usize = SLOTS;

/// Returns the directories for published files, in order of preference: `$TAUT_RUNTIME_DIR` if it
/// is set; else, for root, `/run/taut`; else `taut` in `$XDG_RUNTIME_DIR`.
pub fn directories() -> Vec<PathBuf> {
    let set = |name: &str| {
        env::var_os(name)
            .filter(|it| !it.is_empty())
            .map(PathBuf::from)
    };
    if let Some(directory) = set("TAUT_RUNTIME_DIR") {
        return vec![directory];
    }
    let of_root = geteuid().is_root().then(|| PathBuf::from("/run/taut"));
    // The root user of a user namespace might not have write access to the first.
    let of_user = set("XDG_RUNTIME_DIR").map(|it| it.join("taut"));
    of_root.into_iter().chain(of_user).collect()
}

/// Publishes the queues of this program, until it and its slots are dropped.
#[derive(Debug, Clone)]
pub struct Publisher(Arc<SharedFile>);

#[derive(Debug)]
struct SharedFile {
    words: Words,
    path: PathBuf,
    /// Free slots.
    free: Mutex<Vec<usize>>,
    /// Holds the lock.
    _file: File,
}

impl Publisher {
    /// Creates a file in the first of [`directories`] that permits it. `program` is the name of the
    /// publisher, truncated to 63 bytes.
    ///
    /// # Errors
    /// `NotFound` if there is no directory: neither root nor `$XDG_RUNTIME_DIR`; otherwise the
    /// error of creating the file. A program should continue without it.
    pub fn open(program: &str) -> io::Result<Self> {
        let none = io::Error::new(
            io::ErrorKind::NotFound,
            "nowhere to publish: XDG_RUNTIME_DIR is not set",
        );
        let mut opened = Err(none);
        for directory in directories() {
            opened = opened.or_else(|_| Self::open_in(&directory, program));
        }
        opened
    }

    /// As [`open`](Self::open), in `directory`, which is created for this user only if it does not
    /// exist.
    ///
    /// # Errors
    /// The error of creating the file.
    pub fn open_in(directory: &Path, program: &str) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed("mkdir", directory, error));
            }
            _ => {}
        }
        // Removes files of killed programs.
        drop(read(&[directory.to_owned()]));
        // Has no name before it is locked and complete.
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = File::from(rustix::fs::open(directory, flags, mode).context("open", directory)?);
        flock(&file, FlockOperation::NonBlockingLockExclusive).context("flock", directory)?;
        let words = Words::map(&file, FILE_WORDS).context("mmap", directory)?;
        layout::write_head(words.all(), program);
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Process ids are reused, the time is not.
        let name = format!("{}-{}-{number}", std::process::id(), monotonic_ns());
        let path = directory.join(name);
        let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
        linkat(CWD, unnamed, CWD, &path, AtFlags::SYMLINK_FOLLOW).context("linkat", directory)?;
        Ok(Self(Arc::new(SharedFile {
            words,
            path,
            free: Mutex::new((0..SLOTS).rev().collect()),
            _file: file,
        })))
    }

    /// Takes a slot for a queue. It is released when the returned value is dropped.
    ///
    /// # Errors
    /// `InvalidInput` if all [`MAX_QUEUES`] are in use.
    pub fn add(&self, info: &QueueInfo<'_>) -> io::Result<QueueSlot> {
        let mut free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(slot) = free.pop() else {
            return Err(invalid(format!(
                "{MAX_QUEUES} queues are published already"
            )));
        };
        let slot = QueueSlot {
            held: Arc::clone(&self.0),
            slot,
        };
        slot.write(|words| layout::write_info(words, info));
        Ok(slot)
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        // If it cannot be removed, the next reader removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The slot of one queue.
#[derive(Debug)]
pub struct QueueSlot {
    held: Arc<SharedFile>,
    slot: usize,
}

impl QueueSlot {
    /// Publishes `snapshot`.
    pub fn publish(&mut self, snapshot: &MonitorSnapshot) {
        self.publish_metrics(&QueueMetrics::of(snapshot));
    }

    /// Publishes the metrics of a queue of another implementation.
    pub fn publish_metrics(&mut self, metrics: &QueueMetrics) {
        self.write(|words| layout::write_metrics(words, monotonic_ns(), metrics));
    }

    /// Writes under the sequence lock, of which this is the only writer.
    fn write(&self, write: impl FnOnce(&[AtomicU64])) {
        let start = HEAD_WORDS + self.slot * SLOT_WORDS;
        let slot = &self.held.words.all()[start..start + SLOT_WORDS];
        let Some((sequence, words)) = slot.split_first() else {
            return;
        };
        let before = sequence.load(Ordering::Relaxed);
        // Odd during a write.
        sequence.store(before.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        write(words);
        sequence.store(before.wrapping_add(2), Ordering::Release);
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.write(layout::clear);
        let free = &self.held.free;
        free.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self.slot);
    }
}
