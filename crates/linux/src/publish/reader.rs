//! Reading the queues that other programs publish.
//!
//! The file is read and not mapped: if it is truncated, a read ends early, without a signal to the
//! process.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{Ordering, fence};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::layout::{
    FILE_WORDS, HEAD_WORDS, PublishedQueue, SLOT_WORDS, SLOTS, VERSION, read_head, read_slot,
};
use crate::sched::monotonic_ns;

/// Maximum number of files read in a directory.
const FILES: usize = 1024;
/// Attempts to read a slot that is being written: a write takes far less than a microsecond.
const TRIES: usize = 100;

/// The published queues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Published {
    /// The queues, by process.
    pub queues: Vec<PublishedQueue>,
    /// Files that could not be read, and why.
    pub problems: Vec<String>,
}

/// Reads all queues that are published in `directories`, see [`super::directories`]. Removes files
/// that no process holds. A directory that does not exist is empty.
pub fn read(directories: &[PathBuf]) -> Published {
    let mut published = Published::default();
    for directory in directories {
        match fs::read_dir(directory) {
            Ok(entries) => {
                let may_remove = is_own(directory);
                for entry in entries.take(FILES).flatten() {
                    let path = entry.path();
                    if let Err(error) = read_file(&path, may_remove, &mut published.queues) {
                        let problem = format!("{}: {error}", path.display());
                        published.problems.push(problem);
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let problem = format!("{}: {error}", directory.display());
                published.problems.push(problem);
            }
        }
    }
    let key = |it: &PublishedQueue| (it.process, it.device.clone(), it.queue);
    published.queues.sort_by_cached_key(key);
    published
}

/// Returns `true` if no other user can replace the directory between a check and a removal: it is
/// not a link, and the user owns it.
fn is_own(directory: &Path) -> bool {
    let found = fs::symlink_metadata(directory);
    found.is_ok_and(|it| it.is_dir() && it.uid() == geteuid().as_raw())
}

fn read_file(path: &Path, may_remove: bool, queues: &mut Vec<PublishedQueue>) -> io::Result<()> {
    // Neither follows a link nor blocks on a pipe.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match open(path, flags, Mode::empty()) {
        // It was removed in the meantime.
        Err(Errno::NOENT) => return Ok(()),
        file => File::from(file?),
    };
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    let (process, program) = match read_head(&words(&file, 0, HEAD_WORDS)?) {
        Ok(Some(head)) => head,
        // A file of another format is left alone.
        Ok(None) => return Ok(()),
        Err(version) => {
            let text = format!(
                "layout version is {version}; allowed: {VERSION}. Use the taut of that program"
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
    };
    if !is_locked(&file)? {
        // Left behind by a program that ended without removing it.
        if may_remove {
            let _ = fs::remove_file(path);
        }
        return Ok(());
    }
    for slot in 0..SLOTS {
        if let Some(queue) = slot_of(&file, slot)? {
            queues.push(PublishedQueue {
                program: program.clone(),
                process,
                ..queue
            });
        }
    }
    Ok(())
}

/// Returns `true` if a publisher holds the exclusive lock of `file`.
fn is_locked(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Reads a slot consistently; `None` if it is free, or its writer stopped in the middle.
fn slot_of(file: &File, slot: usize) -> io::Result<Option<PublishedQueue>> {
    let start = HEAD_WORDS + slot * SLOT_WORDS;
    let sequence = || Ok::<_, io::Error>(words(file, start, 1)?.first().copied());
    for _ in 0..TRIES {
        // Read separately: the order of words within one read is not guaranteed.
        let before = sequence()?;
        fence(Ordering::Acquire);
        let slot = words(file, start + 1, SLOT_WORDS - 1)?;
        fence(Ordering::Acquire);
        match before {
            None => return Ok(None),
            Some(number) if number % 2 == 0 && sequence()? == before => {
                return Ok(read_slot(&slot, monotonic_ns()));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Reads words of a file; fewer than `number`, or none, at its end.
fn words(file: &File, start: usize, number: usize) -> io::Result<Vec<u64>> {
    debug_assert!(start + number <= FILE_WORDS);
    let mut bytes = vec![0; number * 8];
    match file.read_exact_at(&mut bytes, (start * 8) as u64) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Vec::new()),
        read => read?,
    }
    let (words, _) = bytes.as_chunks::<8>();
    Ok(words.iter().map(|word| u64::from_ne_bytes(*word)).collect())
}
