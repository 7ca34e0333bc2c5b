//! `taut send`: sends frames through a transmit queue to a real device.

pub mod options;
pub mod output;
mod talk;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use taut_linux::NetNs;
use taut_linux::interrupt;
use taut_linux::link::{self, Description, LinkMonitor, MacAddress};
use taut_linux::sched::monotonic_ns;
use taut_relay::direction::DirectionConfig;
use taut_relay::source::{
    CaptureContents, Content, FeedSettings, Generated, MIN_BYTES, Pacing, read_capture,
};
use taut_relay::transmit::{Outcome, Ring, Settings, transmit, wait_for_link};
use taut_report::{exit, say, stdout};

use crate::missing;
use crate::selection::namespace;
use options::{MAX_BYTES, Send};
use talk::Talk;

/// `taut send`.
pub fn send(options: &Send) -> Result<ExitCode, ExitCode> {
    let ns = namespace(options.netns.as_deref())?;
    let pacing = options.pacing();
    let pacing = pacing.map_err(|error| exit::fail(exit::USAGE, error))?;
    let needed = "sending frames needs CAP_NET_RAW: run as root";
    prepare(options, &ns, pacing).map_err(|error| missing::fail(&error, needed))
}

/// Reads the frames, and sends them.
fn prepare(options: &Send, ns: &NetNs, pacing: Pacing) -> anyhow::Result<ExitCode> {
    let source = source(options, ns, pacing)?;
    let broken = source.broken.as_deref();
    if options.dry_run {
        let printed = stdout::print(&plan(options, &source));
        return Ok(exit_code_of(printed, broken));
    }
    interrupt::note()?;
    match run(options, ns, source.content, pacing)? {
        Some(outcome) => Ok(show(options, &outcome, broken)),
        None if interrupt::noted().is_some() => Ok(ended(ExitCode::SUCCESS)),
        None => bail!(
            "{}: the link was down for all of --duration; no packet was sent",
            options.device
        ),
    }
}

/// Returns `FAILED`, after a message, if the file was not read to its end; else `printed`.
fn exit_code_of(printed: ExitCode, broken: Option<&str>) -> ExitCode {
    match broken {
        Some(broken) if printed == ExitCode::SUCCESS => {
            exit::failed(format_args!("not read to the end: {broken}"))
        }
        _ => printed,
    }
}

/// Frames to send, and their description.
struct Source {
    content: Content,
    description: String,
    /// The file, and why it was not read to its end.
    broken: Option<String>,
}

fn source(options: &Send, ns: &NetNs, pacing: Pacing) -> anyhow::Result<Source> {
    let device = link::describe(ns, &options.device).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow!(missing::device(ns, &options.device)),
        _ => error.into(),
    })?;
    // Loopback accepts Ethernet frames too.
    if !device.is_ethernet() && options.device != "lo" {
        let (name, kind) = (&options.device, device.kind);
        bail!("{name}: link type is {kind}; allowed: Ethernet (1)");
    }
    match &options.file {
        Some(file) => captured(options, file, pacing),
        None => Ok(generated(options, &device)),
    }
}

fn generated(options: &Send, device: &Description) -> Source {
    let default_frame_bytes = (device.mtu_bytes.saturating_add(14)).clamp(MIN_BYTES, MAX_BYTES);
    let size = options
        .size
        .map_or(default_frame_bytes, |size| size.0 as u32);
    let from = device.mac.unwrap_or(MacAddress::local(1));
    let generated = Generated::new(size, options.flows, from, options.dst_mac, options.seed);
    Source {
        content: Content::Generated(generated),
        description: format!(
            "generated frames of {size} bytes in {} flows from {from} to {}",
            options.flows, options.dst_mac
        ),
        broken: None,
    }
}

fn captured(options: &Send, file: &Path, pacing: Pacing) -> anyhow::Result<Source> {
    let is_stdin = file == Path::new("-");
    if let Err(error) = std::fs::metadata(file)
        && !is_stdin
    {
        bail!(missing::unreadable(file, &error));
    }
    let capture = read_capture(file).map_err(anyhow::Error::msg)?;
    let name = match is_stdin {
        true => "standard input".into(),
        false => file.display().to_string(),
    };
    report(&name, &capture, pacing);
    // 0 is without end.
    let passes = Some(options.passes.unwrap_or(1)).filter(|&passes| passes > 0);
    let times = match passes {
        None => "repeated until interrupted".to_owned(),
        Some(passes) => format!("{passes} times"),
    };
    Ok(Source {
        content: Content::Capture(capture.capture.with_passes(passes)),
        description: format!(
            "{} packets of {name}, the longest of {} bytes, {times}",
            capture.frames, capture.longest_bytes
        ),
        broken: capture.broken.map(|broken| format!("{name} {broken}")),
    })
}

/// Reports what is unusual in a capture, before it is sent.
fn report(name: &str, capture: &CaptureContents, pacing: Pacing) {
    if let Some(broken) = &capture.broken {
        say!("taut: {name} {broken}; the packets before that are sent");
    }
    if !capture.other_links.is_empty() {
        let links = capture.other_links.iter().map(u16::to_string);
        say!(
            "taut: {name}: link type is {} for some packets, which are dropped; allowed: \
             Ethernet (1)",
            links.collect::<Vec<_>>().join(", ")
        );
    }
    if matches!(pacing, Pacing::Capture(_)) && capture.clock_steps > 0 {
        say!(
            "taut: the clock of {name} was set {} times; these steps are skipped",
            capture.clock_steps
        );
    }
}

/// Sends the frames. Returns `None` if the link was not up before the end.
fn run(
    options: &Send,
    ns: &NetNs,
    content: Content,
    pacing: Pacing,
) -> anyhow::Result<Option<Outcome>> {
    let mut monitor = LinkMonitor::open(ns, &options.device)?;
    let begin_ns = monotonic_ns();
    let end_ns = options
        .duration
        .map(|duration| begin_ns.saturating_add(duration.0));
    let report_wait = |device: &str| say!("taut: {device} is down, or has no carrier; waiting");
    if !wait_for_link(&mut monitor, end_ns, report_wait)? {
        return Ok(None);
    }
    let ring = Ring {
        driver: options.driver,
        slots: options.ring,
        queue: options.queue,
        copy: false,
    };
    let settings = Settings {
        feed: FeedSettings {
            content,
            count: options.count,
            pacing,
            classify: options.qdisc != "pfifo",
        },
        queue: DirectionConfig {
            qdisc: options.qdisc.parse()?,
            limit: options.limit.clone(),
            coalesce_ns: options.coalesce.0,
            stall_ns: options.stall_threshold.0,
            rate_bits_per_s: None,
        },
        duration_ns: end_ns.map(|end_ns| end_ns.saturating_sub(monotonic_ns())),
        warm_up_ns: 0,
    };
    transmit(ns, &ring, monitor, settings, &mut Talk::new()).map(Some)
}

/// Prints the outcome. The exit code reports whether the counts add up, packets were sent and the
/// file was read to its end.
fn show(options: &Send, outcome: &Outcome, broken: Option<&str>) -> ExitCode {
    let printed = output::print(outcome, options, broken);
    if let Some(failed) = &outcome.failed {
        say!("taut: {failed}");
    }
    let account = &outcome.account;
    if account.unknown_completions() > 0 {
        say!(
            "taut: the driver returned {} packets that this queue never submitted",
            account.unknown_completions()
        );
    }
    let is_sent = account.completed_packets() + account.uncertain_packets() > 0;
    match account.unaccounted_packets() {
        0 if outcome.failed.is_some() => ExitCode::from(exit::FAILED),
        0 if interrupt::noted().is_some() => ended(printed),
        0 => match exit_code_of(printed, broken) {
            ExitCode::SUCCESS if !is_sent => exit::failed(format_args!("no packet was sent")),
            code => code,
        },
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

/// Returns the plan of a run, for `--dry-run`.
fn plan(options: &Send, source: &Source) -> String {
    let netns = match &options.netns {
        Some(name) => format!(" in namespace {name}"),
        None => String::new(),
    };
    let timing = output::timing(options);
    let count = match options.count {
        Some(count) => format!(", at most {count} packets"),
        None => String::new(),
    };
    format!(
        "would send on {}{netns} over {}: {}{count}, {timing}\n\
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
