//! `taut forward`.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use anyhow::Context;
use taut_linux::interrupt;
use taut_linux::{Capability, NetNs, retain_capabilities, sched};
use taut_relay::bridge::{Board, Bridge, Listener, check};
use taut_relay::driver::Driver;
use taut_relay::interface::{Interface, PacketInterface, XdpInterface};
use taut_relay::offload::OffloadHelper;
use taut_relay::operator::Event;
use taut_report::{exit, say, stdout};

use super::options::Forward;
use super::summary::Summary;
use super::talk::sentence;
use super::view;
use crate::selection::netns_path;

/// `taut forward`.
pub fn forward(options: &Forward) -> ExitCode {
    let names = [options.a.as_str(), options.b.as_str()];
    if options.a == options.b {
        let message = format_args!(
            "{} twice: a bridge needs two different interfaces",
            options.a
        );
        return exit::fail(exit::USAGE, message);
    }
    if options.dry_run {
        return stdout::print(&plan(options));
    }
    let ran = match options.driver {
        Driver::AfPacket => run::<PacketInterface>(options, names),
        Driver::AfXdp => run::<XdpInterface>(options, names),
    };
    match ran {
        Ok(code) => code,
        Err(error) => {
            say!("taut: {error:#}");
            if lacks_privilege(&error) {
                return exit::fail(exit::CANNOT_RUN_HERE, WHAT_TO_DO);
            }
            ExitCode::from(exit::FAILED)
        }
    }
}

/// Whether the kernel refused something that a privilege gets.
fn lacks_privilege(error: &anyhow::Error) -> bool {
    let causes = error.chain();
    let mut causes = causes.filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::PermissionDenied)
}

const WHAT_TO_DO: &str = "its sockets need CAP_NET_RAW, the program of af_xdp CAP_BPF and \
    CAP_NET_ADMIN, turning receive offloads off CAP_NET_ADMIN, and another namespace \
    CAP_SYS_ADMIN: run as root";

fn run<I: Interface>(options: &Forward, names: [&str; 2]) -> anyhow::Result<ExitCode> {
    interrupt::note()?;
    if let Some(name) = &options.netns {
        let entered = NetNs::open(&netns_path(name)).and_then(|ns| ns.enter());
        entered.with_context(|| format!("network namespace {name}"))?;
    }
    let ns = NetNs::current()?;
    let (_, remarks) = check(&ns, names)?;
    let mut bridge = Bridge::<I>::open(&ns, names, &options.path.settings())?;
    // Before anything is given up, and before there are threads.
    let tags = options.driver == Driver::AfXdp;
    let (keeper, said) =
        OffloadHelper::start(names, tags).context("start the keeper of receive offloads")?;
    let kept = I::kept()?;
    retain_capabilities(&kept)?;
    if kept.contains(&Capability::IpcLock) {
        say!("taut: the limit of locked memory cannot be raised here: keeping CAP_IPC_LOCK too");
    }
    for remark in remarks.into_iter().chain(said).chain(bridge.remarks()) {
        say!("taut: {remark}");
    }
    say!(
        "taut: forwarding between {} and {}; Ctrl-C ends it",
        options.a,
        options.b
    );
    let start_ns = sched::monotonic_ns();
    let end_ns = options.duration.map(|it| start_ns.saturating_add(it.0));
    let is_over = || {
        interrupt::noted().is_some() || end_ns.is_some_and(|end_ns| sched::monotonic_ns() >= end_ns)
    };
    let ran = watched(&mut bridge, names, &keeper, is_over);
    let length_ns = sched::monotonic_ns() - start_ns;
    keeper.finish();
    ran?;
    let summary = Summary::new(options, bridge.directions(), length_ns);
    let printed = summary.print(options.json);
    match summary.unaccounted_packets() {
        0 => Ok(printed),
        packets => {
            let message = format_args!("{packets} frames are unaccounted for");
            Ok(exit::fail(exit::DOES_NOT_HOLD, message))
        }
    }
}

/// Runs the bridge while another thread shows how it goes.
fn watched<I: Interface>(
    bridge: &mut Bridge<I>,
    names: [&str; 2],
    keeper: &OffloadHelper,
    is_over: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let board = Arc::new(Board::default());
    let (send, events) = channel();
    let shown = {
        let board = Arc::clone(&board);
        let names = names.map(str::to_owned);
        thread::Builder::new().name("view".into()).spawn(move || {
            let [a, b] = &names;
            view::show(&board, [a, b], &events);
        })?
    };
    let listener = BridgeEvents {
        events: send,
        keeper,
    };
    let ran = bridge.run(&board, &listener, is_over);
    drop(listener);
    // A terminal that stands still holds it up: the end does not wait for that.
    let patience_ns = sched::monotonic_ns() + 200_000_000;
    while !shown.is_finished() && sched::monotonic_ns() < patience_ns {
        thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(ran?)
}

struct BridgeEvents<'a> {
    events: Sender<String>,
    keeper: &'a OffloadHelper,
}

impl Listener for BridgeEvents<'_> {
    fn event(&self, interface: &str, event: Event<'_>) {
        if let Some(text) = sentence(interface, &event) {
            // If the view is gone, nobody can be told.
            let _ = self.events.send(text);
        }
        if matches!(event, Event::Returned) {
            self.keeper.again();
        }
    }
}

/// What a run would do, for `--dry-run`.
fn plan(options: &Forward) -> String {
    let Forward { a, b, path, .. } = options;
    let shaped = match path.rate {
        Some(rates) => format!(
            "a shaper of {} towards {b} and {} towards {a}, ",
            rates.to_b, rates.to_a
        ),
        None => String::new(),
    };
    let (caught, kept) = match options.driver {
        Driver::AfPacket => ("", ""),
        Driver::AfXdp => (
            "would put an XDP program on both, until it ends\n",
            ", and CAP_IPC_LOCK where locked memory is limited",
        ),
    };
    format!(
        "would forward everything between {a} and {b}: {}, {shaped}limit {}, {} rings of {}, \
         completions every {} us\n\
         {caught}\
         would make both promiscuous and turn their receive offloads off, until it ends\n\
         would keep CAP_NET_RAW only{kept}\n",
        path.qdisc,
        path.limit,
        options.driver.name(),
        path.ring,
        path.cadence.0 / 1000,
    )
}
