//! A limit where the device is a program, live: a sender and a polling thread over a ring in memory, on one
//! core or on two.

mod consumer;
mod hold;
mod options;
mod rest;
mod results;
mod ring;
mod rows;
mod run;
mod seat;
mod sender;

use std::process::ExitCode;

use anyhow::Context;
use taut_linux::sched;
use taut_path::units::Time;
use taut_scenarios::software_consumer::Case;
use taut_sim::consumer::{ConsumerConfig, Told};

pub use options::SoftwareConsumer;

use crate::interrupt;
use crate::output::{self, Form};
use crate::stdout;
use crate::talk::{ChangingLine, say};
use crate::trace_file::write_tapes;
use hold::Hold;
use rows::{Figures, Found};
use run::{Place, Ran};
use taut_measure::trace::Tapes;
use taut_report::text;

/// What does not learn is there at once: what is left are caches and the first switches.
const WARM_UP_FIXED: Time = Time::ms(20);

/// The sender always has packets, so one is finished in about what it costs the two and what is waited before the
/// queue is told. So much more: somebody else had a processor. No rule waits so long for anything here, and one such
/// break is p99 of a run's pings.
const DISTURBED_NS: u64 = 1_000_000;
/// A run at real-time priority that was disturbed is run again, at most so often.
const AGAIN: u32 = 4;

/// `taut lab software-consumer`.
pub fn software_consumer(options: &SoftwareConsumer) -> ExitCode {
    let (cases, holds) = (options.cases(), Hold::all(options));
    if options.dry_run {
        return stdout::print(&plan(options, &cases, &holds));
    }
    if let Err(failed) = options.trace.check() {
        return failed;
    }
    // It needs no privilege, but may have use of it.
    let ran = super::run_with_privilege(|| Lab::new(options)?.run(&cases, &holds));
    let lab = match ran {
        Ok(lab) => lab,
        Err(code) => return code,
    };
    // After the last run there was nothing left to interrupt.
    let wanted = cases.len() * options.rounds as usize;
    let rounds: usize = lab.found.iter().map(|found| found.rounds).sum();
    let interrupt = interrupt::noted().filter(|_| rounds < wanted);
    let mut document = results::document(options, &lab.found, lab.real_time, interrupt.is_some());
    if lab.real_time && lab.disturbed > 0 {
        document.notes.push(format!(
            "disturbed: {} of {} runs lost a processor to somebody else for 1 ms or more, also when they were run again \
             {AGAIN} times; their pings say nothing. Run it again on an idle machine.",
            lab.disturbed, lab.runs
        ));
    }
    if !lab.real_time {
        document.notes.push(ORDINARY.to_owned());
    }
    let form = if options.json {
        Form::Json
    } else {
        Form::Table
    };
    let text = || text::text(&document, stdout::columns());
    let shown = output::emit(&document, form, None, text, String::new);
    let traced = write_tapes(
        &lab.tapes,
        &options.trace,
        "lab software-consumer",
        options.seed,
    );
    let shown = traced.err().unwrap_or(shown);
    match interrupt {
        Some(interrupt) => output::interrupted(interrupt, document.rows.len(), shown),
        None => shown,
    }
}

const ORDINARY: &str = "ordinary priority: others, and each of the two threads, may interrupt the other \
    anywhere; a poll is not one piece of work then";

/// What is run, and what came of it so far.
struct Lab<'a> {
    options: &'a SoftwareConsumer,
    processors: Vec<usize>,
    real_time: bool,
    tapes: Tapes,
    line: ChangingLine,
    found: Vec<Found>,
    /// Runs, and those that somebody disturbed each time.
    runs: u32,
    disturbed: u32,
}

impl<'a> Lab<'a> {
    fn new(options: &'a SoftwareConsumer) -> anyhow::Result<Self> {
        interrupt::note()?;
        Ok(Self {
            options,
            processors: sched::allowed_processors()?,
            real_time: !options.no_real_time && may_be_real_time(),
            tapes: Tapes::new(options.trace.max_bytes()),
            line: ChangingLine::new(),
            found: Vec::new(),
            runs: 0,
            disturbed: 0,
        })
    }

    /// Runs each case under everything, round after round, so that what is compared is measured at about the
    /// same time.
    fn run(mut self, cases: &[Case], holds: &[Hold]) -> anyhow::Result<Self> {
        for (at, case) in cases.iter().enumerate() {
            let place =
                run::place(case.core.0, &self.processors, self.real_time).with_context(|| {
                    format!("{case}: needs two processors, and this process has one")
                })?;
            if !self.line.is_live() {
                say!("case {} of {}: {case}", at + 1, cases.len());
            }
            let mut found = Found::new(*case, holds);
            for round in 1..=self.options.rounds {
                let shown = format!("[{}/{}] {case}, round {round}", at + 1, cases.len());
                let wanted = found.next_round(&self.options.fixed_shares());
                match self.round(case, &wanted, place, round, &shown)? {
                    Some(figures) => found.add(figures),
                    None => break,
                }
            }
            if found.rounds > 0 {
                self.found.push(found);
            }
            if interrupt::noted().is_some() {
                break;
            }
        }
        self.line.clear();
        Ok(self)
    }

    /// One run under each of `holds`; `None` if it was interrupted.
    fn round(
        &mut self,
        case: &Case,
        holds: &[Hold],
        place: Place,
        round: u32,
        shown: &str,
    ) -> anyhow::Result<Option<Vec<(Hold, Figures)>>> {
        let mut figures: Vec<(Hold, Figures)> = Vec::with_capacity(holds.len());
        for hold in holds {
            self.line.show(&format!("{shown}: {hold}"));
            let Some(ran) = self.one(case, hold, place, round)? else {
                return Ok(None);
            };
            // No limit is the first.
            let off_per_s = figures
                .first()
                .map_or(ran.packets_per_s, |(_, off)| off.packets_per_s);
            figures.push((hold.clone(), Figures::of(&ran, off_per_s)));
        }
        Ok(Some(figures))
    }

    fn one(
        &mut self,
        case: &Case,
        hold: &Hold,
        place: Place,
        round: u32,
    ) -> anyhow::Result<Option<Ran>> {
        let options = self.options;
        let seed = options.seed.wrapping_add(round.into());
        let (limit, units) = match hold {
            Hold::Rule(name) => (options.limit(name), options.units(name)),
            Hold::Depth(packets) => (taut_path::AnyLimit::bytes(*packets), 1),
        };
        let config = options.config(case, units, warm_up(options, hold), seed);
        let named = limit.to_string();
        let most_events = self.tapes.left_events();
        // At ordinary priority a break is nothing unusual.
        let mut again = if self.real_time { AGAIN } else { 0 };
        let (mut ran, disturbed) = loop {
            let Some(ran) = run::run(&config, limit.clone(), place, most_events)? else {
                return Ok(None);
            };
            let disturbed = is_disturbed(&ran, &config);
            if !disturbed || again == 0 {
                break (ran, disturbed);
            }
            again -= 1;
        };
        self.runs += 1;
        self.disturbed += u32::from(disturbed);
        // The one that waited for room when the time was over is dropped.
        if ran.sent_packets != ran.told_packets || ran.dropped_packets > 1 {
            anyhow::bail!(
                "{case}, {hold}: {} packets were sent, {} told of, {} dropped",
                ran.sent_packets,
                ran.told_packets,
                ran.dropped_packets
            );
        }
        let tape = ran.tape.take();
        self.tapes
            .push(&format!("{case}, {hold}, round {round}"), &named, tape);
        Ok(Some(ran))
    }
}

/// How long `hold` has to settle.
fn warm_up(options: &SoftwareConsumer, hold: &Hold) -> Time {
    if hold.is_fixed() {
        return WARM_UP_FIXED;
    }
    options.warm_up
}

/// Whether a run of `config` was disturbed.
fn is_disturbed(ran: &Ran, config: &ConsumerConfig) -> bool {
    let told_ns = match config.told {
        Told::Each | Told::Poll => 0,
        Told::After(after_ns) => after_ns,
    };
    ran.longest_gap_ns > config.consumer_ns + config.sender_ns + told_ns + DISTURBED_NS
}

/// Whether threads of this process may have real-time priority; tried by one that ends at once.
fn may_be_real_time() -> bool {
    let tried = std::thread::spawn(|| sched::realtime_priority(1).is_ok());
    tried.join().unwrap_or(false)
}

/// What a run would do, for `--dry-run`.
fn plan(options: &SoftwareConsumer, cases: &[Case], holds: &[Hold]) -> String {
    let before_ns = rest::BEFORE.as_nanos() as u64;
    let run_ns = |hold| before_ns + warm_up(options, hold).0 + options.duration.0;
    let case_ns: u64 = holds.iter().map(run_ns).sum();
    let mut text = format!(
        "software-consumer: a sender and a consumer over a ring of {}, polls of {}, two threads of this \
         process\n",
        options.ring, options.poll
    );
    for case in cases {
        text += &format!(
            "would run {case}: {} limits, {} times, about {} s together\n",
            holds.len(),
            options.rounds,
            case_ns * u64::from(options.rounds) / 1_000_000_000
        );
    }
    text
}
