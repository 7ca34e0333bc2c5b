//! Atomic creation of files.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes `content` to `path` atomically. An existing file is unchanged if this fails.
pub fn replace(path: &Path, content: &str) -> io::Result<()> {
    replace_with(path, |file| file.write_all(content.as_bytes()))
}

/// Checks before a run that `path` can be written: its directory exists and is writable.
pub fn check_early(path: &Path) -> io::Result<()> {
    let Some(path) = replaced(path)? else {
        // Opening a device or a pipe might block.
        return Ok(());
    };
    let temporary = temporary_path(&path);
    create(&temporary)?;
    fs::remove_file(temporary)
}

/// Writes the output of `fill` to `path` atomically.
pub fn replace_with(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let Some(replaced) = replaced(path)? else {
        return fill(&mut OpenOptions::new().write(true).open(path)?);
    };
    let temporary = temporary_path(&replaced);
    let mut file = create(&temporary)?;
    let done = fill(&mut file)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, replaced));
    if done.is_err() {
        // The first error is returned.
        let _ = fs::remove_file(&temporary);
    }
    done
}

/// Returns the file to replace, which is the target of a link; `None` for a device or a pipe, which
/// is written to.
fn replaced(path: &Path) -> io::Result<Option<PathBuf>> {
    if path.file_name().is_none() || path.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !fs::metadata(directory(path))?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Ok(None),
        Ok(_) => fs::canonicalize(path).map(Some),
        Err(_) => Ok(Some(path.to_owned())),
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Returns a path in the same directory, because renames are atomic only within a file system.
fn temporary_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    directory(path).join(name)
}

fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory for each test, removed at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("taut-file-{}-{test}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<OsString> {
            let entries = fs::read_dir(&self.0).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn fails_half_way(file: &mut File) -> io::Result<()> {
        file.write_all(b"half")?;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }

    #[test]
    fn failed_write_leaves_no_file() {
        let scratch = Scratch::new("nothing");
        let error = replace_with(&scratch.0.join("out.html"), fails_half_way).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(scratch.names().len(), 0);
    }

    #[test]
    fn failed_write_keeps_the_old_file() {
        let scratch = Scratch::new("old");
        let path = scratch.0.join("out.html");
        replace(&path, "old").unwrap();
        replace_with(&path, fails_half_way).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        replace(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(scratch.names(), ["out.html"]);
    }

    #[test]
    fn link_remains_a_link() {
        let scratch = Scratch::new("link");
        let (target, link) = (scratch.0.join("target"), scratch.0.join("link"));
        replace(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        replace(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    }

    #[test]
    fn invalid_path_is_rejected() {
        let scratch = Scratch::new("rejected");
        assert!(replace(&scratch.0, "x").is_err());
        assert!(replace(Path::new(""), "x").is_err());
        assert!(replace(&scratch.0.join("missing/out.html"), "x").is_err());
        assert_eq!(scratch.names().len(), 0);
    }

    /// Uses a socket of the test: a defect must not replace a device of the machine.
    #[test]
    fn special_files_are_not_replaced() {
        use std::os::unix::fs::FileTypeExt;

        let scratch = Scratch::new("socket");
        let path = scratch.0.join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        replace(&path, "x").unwrap_err();
        assert!(fs::metadata(&path).unwrap().file_type().is_socket());
        assert_eq!(scratch.names(), ["socket"]);
    }
}
