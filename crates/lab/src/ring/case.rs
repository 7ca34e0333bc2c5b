//! The rows, and the loop of `taut send` that measures one.

use std::fmt;
use std::thread;

use anyhow::{anyhow, bail};
use taut_linux::link::{LinkMonitor, MacAddress};
use taut_linux::sched::monotonic_ns;
use taut_linux::{NetNs, interrupt, link};
use taut_path::{AnyLimit, AnyQdisc};
use taut_relay::direction::DirectionConfig;
use taut_relay::driver::Driver;
use taut_relay::raise_priority;
use taut_relay::source::{Content, FeedSettings, Generated, Pacing};
use taut_relay::transmit::{Outcome, Ring, Settings, transmit, wait_for_link};

use super::config::{MAX_SLOTS, RingSweep, USUAL_DEPTH};
use super::links::Link;

/// Size of each frame: the maximum for an MTU of 1,500.
const FRAME_BYTES: u32 = 1_514;
/// Warm-up time: a limit needs it to converge.
const WARM_UP_FIXED_NS: u64 = 200_000_000;
const WARM_UP_NS: u64 = 1_500_000_000;
/// Timeout for a new link to be up, in ns.
const UP_NS: u64 = 10_000_000_000;

/// One row.
#[derive(Debug, Clone)]
pub struct RingCase {
    pub driver: Driver,
    pub link: Link,
    pub limit: AnyLimit,
}

impl fmt::Display for RingCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (driver, link) = (self.driver, self.link.name(self.driver));
        write!(f, "{} over {link}: {}", driver.name(), self.limit)
    }
}

impl RingCase {
    /// Creates the link and measures. Returns `None` if the user interrupted it.
    pub fn run(&self, options: &RingSweep) -> anyhow::Result<Option<Outcome>> {
        let active = self.link.create(self.driver)?;
        let (ns, device) = (&active.ns, active.device.as_str());
        let mut monitor = LinkMonitor::open(ns, device)?;
        if !wait_for_link(&mut monitor, Some(monotonic_ns() + UP_NS), |_| {})? {
            bail!("{device} is down, or has no carrier");
        }
        let waits = !matches!(self.link, Link::Polling | Link::Plain);
        // On a separate thread: not every user can leave real-time priority.
        let ran = thread::scope(|scope| {
            scope
                .spawn(move || {
                    if waits {
                        // The thread sleeps between polls, and its lateness adds to the bytes in
                        // flight.
                        raise_priority();
                    }
                    self.measure(options, ns, monitor)
                })
                .join()
                .map_err(|_| anyhow!("the measuring thread panicked"))
        })??;
        Ok(Some(ran).filter(|_| interrupt::noted().is_none()))
    }

    /// The loop of `taut send`.
    fn measure(
        &self,
        options: &RingSweep,
        ns: &NetNs,
        monitor: LinkMonitor,
    ) -> anyhow::Result<Outcome> {
        let from = link::describe(ns, monitor.device())?.mac;
        let from = from.unwrap_or(MacAddress::local(1));
        let generated = Generated::new(FRAME_BYTES, 1, from, self.link.to(), options.seed);
        let ring = Ring {
            driver: self.driver,
            slots: MAX_SLOTS,
            queue: 0,
            copy: self.link.is_virtual(),
        };
        let is_fixed = self
            .limit
            .to_string()
            .starts_with(|first: char| first.is_ascii_digit());
        let settings = Settings {
            feed: FeedSettings {
                content: Content::Generated(generated),
                count: None,
                pacing: Pacing::Unpaced,
                classify: false,
            },
            queue: DirectionConfig {
                qdisc: AnyQdisc::default(),
                limit: self.limit.clone(),
                coalesce_ns: options.coalesce.0,
                stall_ns: 2_000_000_000,
                rate_bits_per_s: None,
            },
            duration_ns: Some(options.duration.0),
            warm_up_ns: if is_fixed {
                WARM_UP_FIXED_NS
            } else {
                WARM_UP_NS
            },
        };
        let outcome = transmit(ns, &ring, monitor, settings, &mut ())?;
        match &outcome.failed {
            Some(failed) => Err(anyhow!("{failed}")),
            None => Ok(outcome),
        }
    }
}

/// Returns all rows.
pub fn cases(experiment: &RingSweep) -> Vec<RingCase> {
    let mut cases = Vec::new();
    for &driver in &experiment.drivers {
        for link in links(experiment, driver) {
            let limits = match link {
                Link::Plain => vec![AnyLimit::packets(USUAL_DEPTH), AnyLimit::dql()],
                _ => experiment.limits(),
            };
            cases.extend(limits.into_iter().map(|limit| RingCase {
                driver,
                link: link.clone(),
                limit,
            }));
        }
    }
    cases
}

fn links(experiment: &RingSweep, driver: Driver) -> Vec<Link> {
    if let Some((device, to)) = experiment.card() {
        let device = device.to_owned();
        return vec![Link::Card { device, to }];
    }
    let shaped = experiment.rates.iter().map(|rate| Link::Shaped {
        rate_bits_per_s: rate.0,
    });
    match driver {
        Driver::AfPacket => shaped.chain([Link::Plain]).collect(),
        Driver::AfXdp => shaped.chain([Link::Polling, Link::Plain]).collect(),
    }
}
