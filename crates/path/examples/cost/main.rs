//! Fixed loads for counting instructions: one loop a process, with or without the measured part, so
//! that the difference is its cost. `scripts/cost.sh` runs them. `path_cost` and `split_cost` are
//! programs of their own, because other callers would change what the compiler inlines in a queue.
//!
//! - `cost ledger owned|shared|empty BATCH DEPTH`: `Dql` or its halves, 1,048,576 packets in
//!   batches of BATCH. The packets of a batch complete together, DEPTH batches later.
//! - `cost limit RULE even|jitter|rare PACKETS BATCHES`: a rule alone, see `limit.rs`.
//! - `cost memory`: the bytes of each rule; the ledger is the same for all.
//! - `cost qdisc QDISC plain|full|burst FLOWS PACKETS`: a discipline, see `qdisc.rs`.

mod ledger;
mod limit;
mod qdisc;

use std::process::ExitCode;

const USAGE: &str = "usage: cost ledger owned|shared|empty BATCH DEPTH
       cost limit RULE even|jitter|rare PACKETS BATCHES
       cost memory
       cost qdisc QDISC plain|full|burst FLOWS(1..=99999) PACKETS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let printed = match arguments[..] {
        ["ledger", variant, batch, depth] => ledger::run(variant, batch, depth),
        ["limit", rule, gaps, packets, batches] => limit::run(rule, gaps, packets, batches),
        ["memory"] => Some(limit::memory()),
        ["qdisc", qdisc, mode, flows, packets] => qdisc::run(qdisc, mode, flows, packets),
        _ => None,
    };
    match printed {
        Some(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
