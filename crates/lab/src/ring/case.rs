//! The rows to measure.

use std::fmt;

use taut_path::AnyLimit;
use taut_relay::driver::Driver;

use super::config::{RingSweep, USUAL_DEPTH};
use super::links::Link;

/// One row.
#[derive(Debug, Clone)]
pub struct RingCase {
    pub driver: Driver,
    pub link: Link,
    pub limit: AnyLimit,
}

impl fmt::Display for RingCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (driver, link) = (self.driver.name(), self.link.name());
        write!(f, "{driver} over {link}: {}", self.limit)
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
    let shaped = experiment.rates.iter().map(|rate| match driver {
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
