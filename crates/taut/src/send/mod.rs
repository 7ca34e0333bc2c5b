//! `taut send`: sends frames through a transmit queue to a real device.

mod live;
pub mod options;
pub mod output;
mod talk;

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;

use taut_linux::interrupt;
use taut_linux::link::{self, LinkMonitor, LinkState, MacAddress};
use taut_linux::sched::monotonic_ns;
use taut_linux::{Frames, NetNs, Port, poll};
use taut_relay::driver::{self, Ring, WithPort};
use taut_relay::source::{Content, FeedSettings, Generated, MIN_BYTES, read_capture};
use taut_relay::transmit::{Outcome, Settings, transmit};
use taut_report::{exit, say, stdout};

use crate::missing;
use crate::selection::netns;
use options::{MAX_BYTES, Send};
use talk::Talk;

/// Frames in addition to those of the ring: for the discipline and the FILL ring.
const SPARE_FRAMES: u32 = 1_024;
/// Poll interval of a link that is not up yet, in ns.
const LINK_POLL_NS: u64 = 50_000_000;

/// `taut send`.
pub fn send(options: &Send) -> ExitCode {
    try_send(options).unwrap_or_else(|code| code)
}

fn try_send(options: &Send) -> Result<ExitCode, ExitCode> {
    let ns = match &options.netns {
        Some(name) => netns(name)?,
        None => NetNs::current().map_err(|error| failed(&error))?,
    };
    let source = source(options, &ns)?;
    if options.dry_run {
        return Ok(stdout::print(&plan(options, &source)));
    }
    interrupt::note().map_err(|error| failed(&error))?;
    let code = match run(options, &ns, source.content) {
        Ok(Some(outcome)) => show(options, &outcome),
        // Interrupted before the link was up.
        Ok(None) => ended(ExitCode::SUCCESS),
        Err(error) => match error.downcast_ref::<io::Error>() {
            Some(error) => failed(error),
            None => exit::fail(exit::FAILED, format_args!("{error:#}")),
        },
    };
    Ok(code)
}

/// Frames to send, and their description.
struct Source {
    content: Content,
    description: String,
}

fn source(options: &Send, ns: &NetNs) -> Result<Source, ExitCode> {
    let device = link::describe(ns, &options.device).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => exit::fail(exit::FAILED, missing::device(ns, &options.device)),
        _ => failed(&error),
    })?;
    // Loopback accepts Ethernet frames too.
    if !device.is_ethernet() && options.device != "lo" {
        let message = format_args!(
            "{} carries no Ethernet frames (link type {}), and taut sends no others",
            options.device, device.kind
        );
        return Err(exit::fail(exit::FAILED, message));
    }
    let Some(file) = &options.file else {
        let fits = (device.mtu_bytes.saturating_add(14)).clamp(MIN_BYTES, MAX_BYTES);
        let size = options.size.map_or(fits, |size| size.0 as u32);
        let from = device.mac.unwrap_or(MacAddress::local(1));
        let generated = Generated::new(size, options.flows, from, options.dst_mac, options.seed);
        return Ok(Source {
            content: Content::Generated(generated),
            description: format!(
                "generated frames of {size} bytes in {} flows from {from} to {}",
                options.flows, options.dst_mac
            ),
        });
    };
    if let Err(error) = std::fs::metadata(file) {
        return Err(exit::fail(exit::FAILED, missing::unreadable(file, &error)));
    }
    let capture = read_capture(file).map_err(|error| exit::fail(exit::FAILED, error))?;
    if let Some(broken) = &capture.broken {
        say!(
            "taut: {}: {broken}; sending the complete frames",
            file.display()
        );
    }
    let passes = match options.passes {
        None => Some(1),
        Some(0) => None,
        some => some,
    };
    let times = match passes {
        None => "repeated until interrupted".to_owned(),
        Some(passes) => format!("{passes} times"),
    };
    Ok(Source {
        content: Content::Capture(capture.capture.with_passes(passes)),
        description: format!(
            "{} frames of {}, the longest of {} bytes, {times}",
            capture.frames,
            file.display(),
            capture.longest_bytes
        ),
    })
}

/// Sends the frames. Returns `None` if it was interrupted before the link was up.
fn run(options: &Send, ns: &NetNs, content: Content) -> anyhow::Result<Option<Outcome>> {
    let mut watch = LinkMonitor::open(ns, &options.device)?;
    if !wait_for_link(&mut watch)? {
        return Ok(None);
    }
    let ring = Ring {
        slots: options.ring,
        frames: 2 * options.ring + SPARE_FRAMES,
        queue: options.queue,
        copy: false,
    };
    let work = Sending {
        options,
        watch,
        content,
    };
    let outcome = driver::open(options.driver, ns, &options.device, &ring, work)?;
    outcome.map(Some)
}

/// Waits until the link is up. Returns `false` after an interrupt.
fn wait_for_link(watch: &mut LinkMonitor) -> io::Result<bool> {
    let mut reported = false;
    while watch.poll()?.state != LinkState::Running {
        if watch.state() == LinkState::Removed {
            let message = format!("{}: device removed", watch.device());
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        if !reported {
            say!(
                "taut: {} is down, or has no carrier; waiting",
                watch.device()
            );
            reported = true;
        }
        if interrupt::noted().is_some() {
            return Ok(false);
        }
        poll::wait(&[watch.as_fd()], Some(monotonic_ns() + LINK_POLL_NS))?;
    }
    Ok(true)
}

/// The sender, for any driver.
struct Sending<'a> {
    options: &'a Send,
    watch: LinkMonitor,
    content: Content,
}

impl WithPort for Sending<'_> {
    type Output = anyhow::Result<Outcome>;

    fn run<P: Port, F: Frames>(self, port: P, frames: F) -> Self::Output {
        let options = self.options;
        let settings = Settings {
            content: self.content,
            feed: FeedSettings {
                count: options.count,
                rate_bits_per_s: options.rate.map(|rate| rate.0),
                classify: options.qdisc != "pfifo",
            },
            qdisc: options.qdisc.parse()?,
            limit: options.limit.clone(),
            coalesce_ns: options.coalesce.0,
            stall_ns: options.stall_threshold.0,
            duration_ns: options.duration.map(|duration| duration.0),
            warm_up_ns: 0,
        };
        transmit((port, frames), self.watch, settings, &mut Talk::new())
    }
}

/// Prints the outcome. The exit code reports whether the counts add up.
fn show(options: &Send, outcome: &Outcome) -> ExitCode {
    let printed = output::print(outcome, &options.device, options.json);
    if let Some(failed) = &outcome.failed {
        say!("taut: {failed}");
    }
    if outcome.account.unknown_completions() > 0 {
        say!(
            "taut: the driver completed {} packets that were never submitted",
            outcome.account.unknown_completions()
        );
    }
    match outcome.account.unaccounted_packets() {
        0 if outcome.failed.is_some() => ExitCode::from(exit::FAILED),
        0 => ended(printed),
        packets => {
            let message = format_args!("{packets} packets are unaccounted for");
            exit::fail(exit::DOES_NOT_HOLD, message)
        }
    }
}

/// Returns the exit code of a run that succeeded or was interrupted.
fn ended(code: ExitCode) -> ExitCode {
    match interrupt::noted() {
        Some(interrupt) if code == ExitCode::SUCCESS => ExitCode::from(interrupt.exit_code()),
        _ => code,
    }
}

fn failed(error: &io::Error) -> ExitCode {
    say!("taut: {}", missing::explained(error));
    if error.kind() == io::ErrorKind::PermissionDenied {
        let message = "sending frames needs CAP_NET_RAW: run as root";
        return exit::fail(exit::CANNOT_RUN_HERE, message);
    }
    ExitCode::from(exit::FAILED)
}

/// Returns the plan of a run, for `--dry-run`.
fn plan(options: &Send, source: &Source) -> String {
    let netns = match &options.netns {
        Some(name) => format!(" in namespace {name}"),
        None => String::new(),
    };
    let rate = match options.rate {
        Some(rate) => format!(", at most {rate}"),
        None => String::new(),
    };
    let count = match options.count {
        Some(count) => format!(", at most {count} packets"),
        None => String::new(),
    };
    format!(
        "would send on {}{netns} over {}: {}{count}{rate}\n\
         discipline {}, limit {}, ring of {} packets (longest frame: the MTU, an \
         Ethernet header and VLAN tags), completions every {}, stall after {}\n",
        options.device,
        options.driver.name(),
        source.description,
        options.qdisc,
        options.limit,
        options.ring,
        options.coalesce,
        options.stall_threshold,
    )
}
