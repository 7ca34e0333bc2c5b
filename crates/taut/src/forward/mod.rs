//! `taut forward`: a transparent bridge of two interfaces, with a taut queue in each direction.

pub mod options;
mod summary;

use std::io;
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use anyhow::Context;
use taut_linux::interrupt;
use taut_linux::link;
use taut_linux::{CapabilitySet, ETHERNET_HEADER_BYTES, NetNs, retain_capabilities, sched};
use taut_relay::bridge::{Bridge, check};
use taut_relay::driver::Driver;
use taut_relay::interface::{Interface, PacketInterface, XdpInterface};
use taut_relay::offload::{self, OffloadHelper};
use taut_relay::run_control::{Event, RunControl};
use taut_relay::{Direction, Source};
use taut_report::{exit, say, stdout};

use crate::missing;
use crate::selection::namespace;
use options::Forward;

pub use offload::COMMAND as OFFLOAD_COMMAND;

/// `taut forward`.
pub fn forward(options: &Forward) -> Result<ExitCode, ExitCode> {
    let names = [options.a.as_str(), options.b.as_str()];
    let [a, b] = names;
    if a == b {
        let message = format_args!("{a} and {b} are the same interface; a bridge needs two");
        return Err(exit::fail(exit::USAGE, message));
    }
    let ns = namespace(options.netns.as_deref())?;
    // The helper process starts in this namespace.
    let entered = ns.enter().context("enter the network namespace");
    let ran = entered.and_then(|()| match options.driver {
        _ if options.dry_run => dry_run(options, &ns, names),
        Driver::AfPacket => run::<PacketInterface>(options, &ns, names),
        Driver::AfXdp => run::<XdpInterface>(options, &ns, names),
    });
    ran.map_err(|error| missing::fail(&error, NEEDED_PRIVILEGES))
}

const NEEDED_PRIVILEGES: &str = "\
    run as root: sockets need CAP_NET_RAW, the XDP program of af_xdp CAP_BPF and CAP_NET_ADMIN, \
    disabling receive offloads CAP_NET_ADMIN, and another namespace CAP_SYS_ADMIN";

/// Checks the interfaces, and returns remarks on them.
fn checked(ns: &NetNs, names: [&str; 2]) -> anyhow::Result<Vec<String>> {
    for name in names {
        let found = link::describe(ns, name);
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            anyhow::bail!(missing::device(ns, name));
        }
    }
    Ok(check(ns, names)?.1)
}

fn dry_run(options: &Forward, ns: &NetNs, names: [&str; 2]) -> anyhow::Result<ExitCode> {
    let remarks = checked(ns, names)?;
    for remark in remarks {
        say!("taut: {remark}");
    }
    Ok(stdout::print(&plan(options)))
}

fn run<I: Interface>(options: &Forward, ns: &NetNs, names: [&str; 2]) -> anyhow::Result<ExitCode> {
    interrupt::note()?;
    let remarks = checked(ns, names)?;
    let mut bridge = Bridge::<I>::open(ns, names, &options.settings())?;
    // Before capabilities are dropped and threads are started.
    let tags = options.driver == Driver::AfXdp;
    let (mut offloads, messages) = OffloadHelper::start(names, tags)
        .context("start the helper process for receive offloads")?;
    let kept = I::kept()?;
    retain_capabilities(kept)?;
    if kept.contains(CapabilitySet::IPC_LOCK) {
        say!("taut: cannot raise RLIMIT_MEMLOCK; keeping CAP_IPC_LOCK");
    }
    for remark in remarks.into_iter().chain(messages).chain(bridge.remarks()) {
        say!("taut: {remark}");
    }
    say!(
        "taut: forwarding between {} and {}; Ctrl-C ends it",
        options.a,
        options.b
    );
    let start_ns = sched::monotonic_ns();
    let end_ns = options.duration.map(|it| start_ns.saturating_add(it.0));
    let ran = run_with_messages(&mut bridge, &mut offloads, end_ns);
    let length_ns = sched::monotonic_ns() - start_ns;
    offloads.finish();
    ran?;
    let directions = bridge.directions();
    let printed = summary::print(options, directions, length_ns);
    let unaccounted = directions
        .iter()
        .map(|it| it.account().unaccounted_packets());
    match unaccounted.sum::<u64>() {
        0 => Ok(printed),
        packets => {
            let message = format_args!("{packets} packets are unaccounted for");
            Ok(exit::fail(exit::DOES_NOT_HOLD, message))
        }
    }
}

/// Runs the bridge. Another thread prints its messages: a stalled terminal must not delay frames.
fn run_with_messages<I: Interface>(
    bridge: &mut Bridge<I>,
    offloads: &mut OffloadHelper,
    end_ns: Option<u64>,
) -> anyhow::Result<()> {
    let (send, messages) = channel::<String>();
    let print = move || messages.iter().for_each(|message| say!("taut: {message}"));
    let printer = thread::Builder::new()
        .name("messages".into())
        .spawn(print)?;
    let mut control = ForwardControl {
        send,
        offloads,
        end_ns,
        max_frame_bytes: I::MAX_FRAME_BYTES,
    };
    let ran = bridge.run(&mut control);
    drop(control);
    // A stalled terminal blocks the printer: do not wait for it longer than this.
    let deadline_ns = sched::monotonic_ns() + 200_000_000;
    while !printer.is_finished() && sched::monotonic_ns() < deadline_ns {
        thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(ran?)
}

/// Ends the bridge at a time or an interrupt, and sends its messages to another thread.
struct ForwardControl<'a> {
    send: Sender<String>,
    offloads: &'a mut OffloadHelper,
    end_ns: Option<u64>,
    /// Longer frames cannot be received.
    max_frame_bytes: u32,
}

impl RunControl for ForwardControl<'_> {
    fn is_over<S: Source>(&mut self, now_ns: u64, _: &mut [Direction<S>]) -> bool {
        interrupt::noted().is_some() || self.end_ns.is_some_and(|end_ns| now_ns >= end_ns)
    }

    fn event(&mut self, interface: &str, event: Event<'_>) {
        let max_bytes = self.max_frame_bytes;
        let message = match event {
            Event::Mtu(mtu_bytes)
                if mtu_bytes.saturating_add(ETHERNET_HEADER_BYTES) > max_bytes =>
            {
                Some(format!(
                    "{interface}: MTU is now {mtu_bytes} bytes; frames above {max_bytes} bytes \
                     are dropped (too_long): use --driver af_packet"
                ))
            }
            _ => event.message(interface),
        };
        if let Some(message) = message {
            let _ = self.send.send(message);
        }
        if matches!(event, Event::Returned) {
            self.offloads.again(interface);
        }
    }
}

/// Returns the plan of a run, for `--dry-run`.
fn plan(options: &Forward) -> String {
    let Forward { a, b, .. } = options;
    let shaped = match options.rate {
        Some(rates) => format!(
            "a shaper of {} towards {b} and {} towards {a}, ",
            rates.to_b, rates.to_a
        ),
        None => String::new(),
    };
    let (xdp, kept) = match options.driver {
        Driver::AfPacket => ("", ""),
        Driver::AfXdp => (
            "would attach an XDP program to both, until it ends\n",
            ", and CAP_IPC_LOCK if locked memory is limited",
        ),
    };
    format!(
        "would forward all frames between {a} and {b}: {}, {shaped}limit {}, {} rings of {} \
         slots, completions every {} us\n\
         {xdp}\
         would make both promiscuous and turn their receive offloads off, until it ends\n\
         would keep CAP_NET_RAW only{kept}\n",
        options.qdisc,
        options.limit,
        options.driver.name(),
        options.ring,
        options.coalesce.0 / 1000,
    )
}

/// Runs the helper process that keeps receive offloads off.
pub fn keep_offloads(devices: &[String], tags: bool) -> Result<ExitCode, ExitCode> {
    let ended = offload::keep_offloads(devices, tags, &|line| say!("taut: {line}"));
    ended.map(|()| ExitCode::SUCCESS).map_err(exit::failed)
}
