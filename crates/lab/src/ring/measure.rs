//! Measures a row: the loop of `taut send` over a link.

use std::thread;

use anyhow::anyhow;
use taut_linux::link::{LinkMonitor, LinkState, MacAddress};
use taut_linux::sched::monotonic_ns;
use taut_linux::{Frames, NetNs, Port, interrupt, link, poll};
use taut_path::AnyQdisc;

use super::case::RingCase;
use super::config::{MAX_SLOTS, RingSweep};
use super::links::Link;
use taut_relay::driver::{self, Ring, WithPort};
use taut_relay::raise_priority;
use taut_relay::source::{Content, FeedSettings, Generated};
use taut_relay::transmit::{Outcome, Settings, transmit};

/// Size of each frame: the maximum for an MTU of 1,500.
const FRAME_BYTES: u32 = 1_514;
/// Warm-up time: a limit needs it to converge.
const WARM_UP_FIXED_NS: u64 = 200_000_000;
const WARM_UP_NS: u64 = 1_500_000_000;
/// Timeout for a new link to be up, in ns.
const UP_NS: u64 = 10_000_000_000;

impl RingCase {
    /// Creates the link and measures. Returns `None` if the user interrupted it.
    pub fn run(&self, options: &RingSweep) -> anyhow::Result<Option<Outcome>> {
        let active = self.link.create()?;
        let mut watch = LinkMonitor::open(&active.ns, &active.device)?;
        wait_until_up(&mut watch)?;
        let (ns, device) = (&active.ns, active.device.as_str());
        let waits = !active.is_polled() && self.link != Link::Plain;
        // On a separate thread: not every user can leave real-time priority.
        let ran = thread::scope(|scope| {
            scope
                .spawn(move || {
                    if waits {
                        // The thread sleeps between polls, and its lateness adds to the bytes in
                        // flight.
                        raise_priority();
                    }
                    self.measure(options, (ns, device), watch)
                })
                .join()
                .map_err(|_| anyhow!("the measuring thread panicked"))
        })??;
        Ok(Some(ran).filter(|_| interrupt::noted().is_none()))
    }

    fn measure(
        &self,
        options: &RingSweep,
        (ns, device): (&NetNs, &str),
        watch: LinkMonitor,
    ) -> anyhow::Result<Outcome> {
        let from = link::describe(ns, device)?.mac;
        let from = from.unwrap_or(MacAddress::local(1));
        let generated = Generated::new(FRAME_BYTES, 1, from, self.link.to(), options.seed);
        let ring = Ring {
            slots: MAX_SLOTS,
            frames: 2 * MAX_SLOTS + 1_024,
            queue: 0,
            copy: self.link.is_virtual(),
        };
        let work = Sending {
            case: self,
            options,
            watch,
            generated,
        };
        driver::open(self.driver, ns, device, &ring, work)?
    }
}

fn wait_until_up(watch: &mut LinkMonitor) -> anyhow::Result<()> {
    let end_ns = monotonic_ns() + UP_NS;
    while watch.poll()?.state != LinkState::Running {
        if monotonic_ns() >= end_ns || interrupt::noted().is_some() {
            return Err(anyhow!("{} is down, or has no carrier", watch.device()));
        }
        poll::wait(
            &[std::os::fd::AsFd::as_fd(watch)],
            Some(monotonic_ns() + 20_000_000),
        )?;
    }
    Ok(())
}

/// The loop of `taut send`.
struct Sending<'a> {
    case: &'a RingCase,
    options: &'a RingSweep,
    watch: LinkMonitor,
    generated: Generated,
}

impl WithPort for Sending<'_> {
    type Output = anyhow::Result<Outcome>;

    fn run<P: Port, F: Frames>(self, port: P, frames: F) -> Self::Output {
        let limit = &self.case.limit;
        let is_fixed = limit
            .to_string()
            .starts_with(|first: char| first.is_ascii_digit());
        let settings = Settings {
            content: Content::Generated(self.generated),
            feed: FeedSettings::default(),
            qdisc: AnyQdisc::default(),
            limit: limit.clone(),
            coalesce_ns: self.options.coalesce.0,
            stall_ns: 2_000_000_000,
            duration_ns: Some(self.options.duration.0),
            warm_up_ns: if is_fixed {
                WARM_UP_FIXED_NS
            } else {
                WARM_UP_NS
            },
        };
        let outcome = transmit((port, frames), self.watch, settings, &mut ())?;
        if let Some(failed) = &outcome.failed {
            return Err(anyhow!("{failed}"));
        }
        Ok(outcome)
    }
}
