//! `taut where`: where do my bytes wait?

mod draw;
pub mod options;
mod picture;
mod target;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use taut_linux::NetNs;
use taut_linux::observe::Sysfs;

use crate::talk::say;
use crate::{exit, stdout};
use options::Where;
use picture::Picture;
use target::Target;

/// `taut where`.
pub fn where_(options: &Where) -> ExitCode {
    let (sysfs, namespace) = match options.place.open() {
        Ok((sysfs, Some(namespace))) => (sysfs, namespace),
        Ok((_, None)) => {
            say!("taut: where needs netlink, which this machine does not give");
            return ExitCode::from(exit::CANNOT_RUN_HERE);
        }
        Err(code) => return code,
    };
    let mut first = true;
    loop {
        let picture = match look(options, &sysfs, &namespace) {
            Ok(picture) => picture,
            Err(error) => {
                say!("taut: {error}");
                return ExitCode::from(exit::FAILED);
            }
        };
        let text = match (options.json, options.watch) {
            (true, true) => format!("{}\n", draw::json(&picture)),
            (true, false) => format!("{:#}\n", draw::json(&picture)),
            (false, _) => draw::text(&picture, stdout::columns()),
        };
        let text = match options.watch && !options.json {
            // Over what was shown before, and nothing of it is left below.
            true if io::stdout().is_terminal() => format!("\x1b[H\x1b[J{text}"),
            true if !first => format!("\n{text}"),
            _ => text,
        };
        first = false;
        let written = stdout::write(&text);
        if !options.watch || written.is_err() {
            return stdout::answer(written, ExitCode::SUCCESS);
        }
    }
}

fn look(options: &Where, sysfs: &Sysfs, namespace: &NetNs) -> Result<Picture, String> {
    let target = Target::find(&options.target, sysfs, namespace)?;
    let before = target.sent_bytes(sysfs)?;
    // The rate is that of this time.
    sleep(Duration::from_nanos(options.time));
    let sent_bytes = target.sent_bytes(sysfs)?.saturating_sub(before);
    let bits = u128::from(sent_bytes) * 8 * 1_000_000_000 / u128::from(options.time.max(1));
    let rate = u64::try_from(bits).unwrap_or(u64::MAX);
    Picture::take(&target, rate, sysfs, namespace)
}
