//! The rows to measure.

use std::fmt;

use taut_path::AnyLimit;
use taut_relay::driver::Driver;

use super::config::{RingSweep, USUAL_DEPTH};
use super::links::Link;

/// The limit of the bytes in flight in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Hold {
    Limit(AnyLimit),
    /// No queue: frames are submitted as long as the ring has slots.
    Bare,
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(limit) => limit.fmt(f),
            Self::Bare => f.write_str("bare loop"),
        }
    }
}

/// One row.
#[derive(Debug, Clone)]
pub struct RingCase {
    pub driver: Driver,
    pub link: Link,
    pub hold: Hold,
}

impl fmt::Display for RingCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (driver, link) = (self.driver.name(), self.link.name());
        write!(f, "{driver} over {link}: {}", self.hold)
    }
}

/// Returns all rows.
pub fn cases(experiment: &RingSweep) -> Vec<RingCase> {
    let mut cases = Vec::new();
    for driver in experiment.drivers() {
        for link in links(experiment, driver) {
            let mut add = |hold| {
                cases.push(RingCase {
                    driver,
                    link: link.clone(),
                    hold,
                });
            };
            // All packets complete immediately, or none waits: the cost of the loop itself.
            if link == Link::Polling {
                add(Hold::Bare);
            }
            let limits = match link {
                Link::Plain => vec![AnyLimit::packets(USUAL_DEPTH), AnyLimit::dql()],
                _ => experiment.limits(),
            };
            limits.into_iter().for_each(|limit| add(Hold::Limit(limit)));
        }
    }
    cases
}

fn links(experiment: &RingSweep, driver: Driver) -> Vec<Link> {
    if let Some((device, to)) = experiment.card() {
        let device = device.to_owned();
        return vec![Link::Card { device, to }];
    }
    let rates = experiment.rates().into_iter();
    let shaped = rates.map(|rate| match driver {
        Driver::AfPacket => Link::Shaper {
            rate_bits_per_s: rate.0,
        },
        Driver::AfXdp => Link::Macvlan {
            rate_bits_per_s: rate.0,
        },
    });
    match driver {
        Driver::AfPacket => shaped.chain([Link::Plain]).collect(),
        Driver::AfXdp => shaped.chain([Link::Polling, Link::Plain]).collect(),
    }
}
