//! Turns receive offloads off while a bridge runs, in a helper process.
//!
//! Restoring them needs CAP_NET_ADMIN, which the forwarder drops. No descriptor carries it, and a
//! thread that kept it would share memory with the code that reads received frames. So a helper
//! process keeps only this capability and does only this work. It restores the offloads when its
//! standard input is closed, which also happens after `kill -9` of the forwarder.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use taut_linux::link::{self, OffloadControl, ReceiveOffloads};
use taut_linux::{CapabilitySet, NetNs, effective_capabilities, retain_capabilities};

/// The hidden command of the program, which must call [`keep_offloads`].
pub const COMMAND: &str = "keep-offloads-off";
/// Ends each of its responses.
const DONE: &str = ".";

/// The forwarder's handle of the helper process.
pub struct OffloadHelper {
    /// The process ends when its standard input is closed.
    child: Child,
}

impl OffloadHelper {
    /// Turns off the receive offloads of `devices`, and with `tags` also those that strip VLAN
    /// tags. Returns its messages.
    ///
    /// # Errors
    /// Returns an error if the process cannot be started.
    pub fn start(devices: [&str; 2], tags: bool) -> io::Result<(Self, Vec<String>)> {
        // Not by its path, which might refer to another program by now.
        let mut child = Command::new("/proc/self/exe")
            .arg(COMMAND)
            .args(tags.then_some("--tags"))
            .args(devices)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C on the terminal is for the forwarder, and this process must live a little
            // longer.
            .process_group(0)
            .spawn()?;
        let answers = child.stdout.take().into_iter();
        let lines = answers.flat_map(|answers| BufReader::new(answers).lines());
        let is_message = |line: &io::Result<String>| !matches!(line, Ok(line) if line == DONE);
        let said = lines.take_while(is_message).collect::<io::Result<_>>()?;
        Ok((Self { child }, said))
    }

    /// Turns the offloads of another device off, which has replaced one.
    pub fn again(&mut self, device: &str) {
        if let Some(orders) = &mut self.child.stdin {
            let _ = writeln!(orders, "{device}");
        }
    }

    /// Waits until the offloads are restored.
    pub fn finish(mut self) {
        // This closes standard input first.
        let _ = self.child.wait();
    }
}

/// The offloads that were turned off, by index of the device, with its name at that time.
type TurnedOff = BTreeMap<u32, (String, ReceiveOffloads)>;

/// Runs the helper process: `taut keep-offloads-off [--tags] A B`. It reports with `say` which
/// offloads it restored.
///
/// # Errors
/// Returns an error if no offload can be turned off.
pub fn keep_offloads(devices: &[String], tags: bool, say: &dyn Fn(String)) -> io::Result<()> {
    // Before any other work. Without the capability, each attempt below reports what it lacks.
    if effective_capabilities()?.contains(CapabilitySet::NET_ADMIN) {
        retain_capabilities(CapabilitySet::NET_ADMIN)?;
    }
    let ns = NetNs::current()?;
    let control = OffloadControl::new(&ns)?;
    let (control, harm) = if tags {
        (
            control.with_tags(),
            "frames that GRO or LRO merged, and stripped VLAN tags, are lost",
        )
    } else {
        (control, "merged frames are segmented again")
    };
    let mut turned_off = TurnedOff::new();
    let mut devices = devices.to_vec();
    let mut lines = io::stdin().lock().lines();
    let mut stdout = io::stdout();
    loop {
        for device in &devices {
            if let Some(line) = turn_off(&ns, &control, device, &mut turned_off, harm) {
                // Only the messages before the first `DONE` are read.
                let _ = writeln!(stdout, "{line}");
            }
        }
        let _ = writeln!(stdout, "{DONE}").and_then(|()| stdout.flush());
        match lines.next() {
            Some(Ok(device)) => devices = vec![device],
            _ => break,
        }
    }
    for (index, (former_name, offloads)) in turned_off {
        // A deleted device has no name. A device in another namespace cannot be reached.
        say(match control.name(index) {
            Err(_) => format!(
                "{former_name} was deleted or moved: its receive offloads are not restored: \
                 {offloads}"
            ),
            Ok(name) => match control.turn_on(&name, &offloads) {
                Ok(()) => format!("restored receive offloads of {name}: {offloads}"),
                Err(error) => format!("{name}: cannot restore {offloads}: {error}"),
            },
        });
    }
    Ok(())
}

/// Turns the offloads of a device off. Returns a message, unless none was on.
fn turn_off(
    ns: &NetNs,
    control: &OffloadControl,
    device: &str,
    turned_off: &mut TurnedOff,
    harm: &str,
) -> Option<String> {
    let index = link::index(ns, device);
    match index.and_then(|index| Ok((index, control.turn_off(device)?))) {
        Ok((_, offloads)) if offloads.is_empty() => None,
        Ok((index, offloads)) => {
            let (name, before) = turned_off.entry(index).or_default();
            device.clone_into(name);
            *before = std::mem::take(before).with(&offloads);
            Some(format!(
                "turned off receive offloads of {device}: {offloads}; restored at the end"
            ))
        }
        Err(error) => Some(format!(
            "cannot turn off receive offloads of {device}: {error}; {harm}; use ethtool -K {device}"
        )),
    }
}
