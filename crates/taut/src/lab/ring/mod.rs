//! `taut lab ring`: fixed depths of a ring against the limits, over real drivers.

mod charts;
mod links;
mod measure;
mod options;
mod rows;

use std::process::ExitCode;

use taut_path::AnyLimit;

use crate::interrupt;
use crate::output;
use crate::talk::{ChangingLine, say};
use crate::{exit, stdout};
use links::Link;
use measure::{Case, Hold, Ran};
pub use options::RingSweep;
use options::USUAL_DEPTH;
use rows::{Document, Row};
use taut_relay::driver::Driver;
use taut_report::file;
use taut_report::plot::picture;

/// `taut lab ring`.
pub fn ring(options: &RingSweep) -> ExitCode {
    let cases = cases(options);
    if options.dry_run {
        return stdout::print(&plan(options, &cases));
    }
    for (what, path) in [("picture", &options.svg), ("tables", &options.tables)] {
        if let Err(code) = output::check(what, path.as_deref()) {
            return code;
        }
    }
    if let (Some(device), false) = (&options.device, options.yes) {
        say!(
            "taut: this fills the link of {device} with frames, as many as it carries, for a minute or \
             two; say --yes if nobody else needs it"
        );
        return ExitCode::from(exit::USAGE);
    }
    let found = match &options.device {
        // A card is where the process is, not in a namespace of its own.
        Some(_) => super::run_with_privilege(|| run(options, &cases)),
        None => super::with_privilege(|| run(options, &cases)),
    };
    let rows = match found {
        Ok(rows) => rows,
        Err(code) => return code,
    };
    let finished = rows.len();
    let interrupt = interrupt::noted().filter(|_| finished < cases.len());
    let document = Document::new(options, rows, interrupt.is_some());
    for (what, path, text) in [
        (
            "picture",
            &options.svg,
            picture(&charts::charts(document.rows())),
        ),
        ("tables", &options.tables, document.text(true)),
    ] {
        if let Some(path) = path
            && let Err(error) = file::replace(path, &text)
        {
            return output::write_failed(what, path, &error);
        }
    }
    let printed = if options.json {
        match serde_json::to_string_pretty(&document) {
            Ok(text) => stdout::print(&(text + "\n")),
            Err(error) => {
                say!("taut: {error}");
                ExitCode::from(exit::FAILED)
            }
        }
    } else {
        stdout::print(&document.text(false))
    };
    match interrupt {
        Some(interrupt) => output::interrupted(interrupt, finished, printed),
        None => printed,
    }
}

/// Every row.
fn cases(options: &RingSweep) -> Vec<Case> {
    let mut cases = Vec::new();
    for driver in options.drivers() {
        for link in links_of(options, driver) {
            let mut add = |hold| {
                cases.push(Case {
                    driver,
                    link: link.clone(),
                    hold,
                });
            };
            // Where everything is done at once, or nothing waits: what the loop itself can do.
            if link == Link::Polling {
                add(Hold::Bare);
            }
            let limits = match link {
                Link::Plain => vec![AnyLimit::packets(USUAL_DEPTH), AnyLimit::dql()],
                _ => options.limits(),
            };
            limits.into_iter().for_each(|limit| add(Hold::Limit(limit)));
        }
    }
    cases
}

fn links_of(options: &RingSweep, driver: Driver) -> Vec<Link> {
    if let (Some(device), Some(to)) = (&options.device, options.peer_mac) {
        let device = device.clone();
        return vec![Link::Card { device, to }];
    }
    let rates = options.rates().into_iter();
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

/// Runs every row of a link in turn, as many times as wanted, so that what is compared is measured
/// at about the same time.
fn run(options: &RingSweep, cases: &[Case]) -> anyhow::Result<Vec<Row>> {
    interrupt::note()?;
    let line = ChangingLine::new();
    let mut rows = Vec::new();
    let same = |a: &Case, b: &Case| (a.driver, &a.link) == (b.driver, &b.link);
    for group in cases.chunk_by(same) {
        let mut runs: Vec<Vec<Ran>> = vec![Vec::new(); group.len()];
        for round in 0..options.rounds {
            for (case, runs) in group.iter().zip(&mut runs) {
                line.show(&format!(
                    "[{}/{}] {} over {}: {}, round {} of {}",
                    rows.len() + 1,
                    cases.len(),
                    case.driver.name(),
                    case.link.name(),
                    case.limit_name(),
                    round + 1,
                    options.rounds
                ));
                let Some(ran) = case.run(options)? else {
                    return Ok(rows);
                };
                if ran.unaccounted_packets > 0 {
                    anyhow::bail!("{} packets are unaccounted for", ran.unaccounted_packets);
                }
                runs.push(ran);
            }
        }
        rows.extend(
            group
                .iter()
                .zip(&runs)
                .map(|(case, runs)| Row::new(case, runs)),
        );
    }
    Ok(rows)
}

/// What a run would do, for `--dry-run`.
fn plan(options: &RingSweep, cases: &[Case]) -> String {
    let mut text = match (&options.device, options.peer_mac) {
        (Some(device), Some(to)) => {
            format!("ring: would fill the link of {device} with frames to {to}\n")
        }
        _ => {
            "ring: would make 2 network namespaces with a veth between for each row, held by this \
              process alone\n"
                .to_owned()
        }
    };
    for case in cases {
        text += &format!(
            "would run {} over {}: {}\n",
            case.driver.name(),
            case.link.name(),
            case.limit_name()
        );
    }
    text + &format!(
        "{} times each, {} after a warm-up, completions every {}\n",
        options.rounds, options.duration, options.cadence
    )
}
