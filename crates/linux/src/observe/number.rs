//! Small files that hold one number.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::LIMIT_MAX_UNSET;

/// More than any file of one line has; the remainder is ignored.
const FILE_BYTES: usize = 256;

/// Returns the text of a file of one line, without surrounding white space.
pub(super) fn text(path: &Path) -> io::Result<String> {
    let owned = |text: &[u8]| Ok(String::from_utf8_lossy(text).into_owned());
    read(&File::open(path)?, owned)
}

/// Passes on the text of an open file of one line, without surrounding white space.
fn read<T>(file: &File, work: impl FnOnce(&[u8]) -> io::Result<T>) -> io::Result<T> {
    let mut buffer = [0; FILE_BYTES];
    let bytes = file.read_at(&mut buffer, 0)?;
    work(buffer[..bytes].trim_ascii())
}

/// Reads the number in an open file. Each call reads it again.
pub(super) fn of_file(file: &File) -> io::Result<u64> {
    read(file, |text| parse(text).ok_or_else(|| garbage(text)))
}

/// Reads the number in the file at `path`.
pub(super) fn of_path(path: &Path) -> io::Result<u64> {
    of_file(&File::open(path)?)
}

/// Reads a number of 32 bits, as the kernel's counters of bytes are.
pub(super) fn of_path_32(path: &Path) -> io::Result<u64> {
    limited(of_path(path)?)
}

/// Reads a limit in an open file: bytes, or `max`, which the kernel accepts for its maximum.
pub(super) fn limit_of_file(file: &File) -> io::Result<u64> {
    read(file, |text| match text {
        b"max" => Ok(LIMIT_MAX_UNSET),
        _ => limited(parse(text).ok_or_else(|| garbage(text))?),
    })
}

/// Reads the limit in the file at `path`.
pub(super) fn limit_of_path(path: &Path) -> io::Result<u64> {
    limit_of_file(&File::open(path)?)
}

fn limited(value: u64) -> io::Result<u64> {
    match u32::try_from(value) {
        Ok(_) => Ok(value),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("value is {value}; allowed: at most {}", u32::MAX),
        )),
    }
}

/// Parses digits with optional surrounding white space.
pub(super) fn parse(bytes: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(bytes.trim_ascii()).ok()?;
    // A sign would parse too.
    digits.parse().ok().filter(|_| !digits.starts_with('+'))
}

fn garbage(bytes: &[u8]) -> io::Error {
    let shown: String = String::from_utf8_lossy(bytes)
        .trim()
        .chars()
        .take(20)
        .collect();
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{shown:?}: expected a number"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_and_malformed_text() {
        assert_eq!(parse(b"2020\n"), Some(2020));
        assert_eq!(parse(b" 0 "), Some(0));
        assert_eq!(parse(b"18446744073709551615"), Some(u64::MAX));
        for bad in [
            &b"18446744073709551616"[..],
            b"",
            b"\n",
            b"-1",
            b"1 2",
            b"0x1",
            b"\xff",
        ] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let text = String::from_utf8_lossy(&bytes);
            // Not `trim`, which also removes other white space.
            let text = text.trim_matches(|it: char| it.is_ascii_whitespace());
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            prop_assert_eq!(parse(&bytes), text.parse().ok().filter(|_| plain));
            let _ = garbage(&bytes);
        }
    }
}
