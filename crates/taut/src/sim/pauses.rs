//! What a pause does to limit rules.

use std::process::ExitCode;

use clap::Args;
use taut_scenarios::pauses::{PausesSettings, Rule};
use taut_scenarios::registry::file;
use taut_scenarios::schema::Schema;

use super::common::Common;
use super::scenario;
use crate::rr::command::quoted;

/// What `taut sim pauses` accepts.
#[derive(Debug, Clone, Args)]
pub struct PausesOptions {
    /// Run this rule only: off, dql, need, taut, 40k, 32p, or dql every 1ms (repeatable)
    #[arg(long, value_name = "RULE", allow_hyphen_values = true)]
    pub rule: Vec<Rule>,

    #[command(flatten)]
    pub common: Common,
}

/// `taut sim pauses`.
pub fn run(options: &PausesOptions) -> ExitCode {
    let mut settings = PausesSettings::defaults();
    if !options.rule.is_empty() {
        settings.rules.clone_from(&options.rule);
    }
    let rules = options.rule.iter().map(|rule| {
        let rule = rule.to_string();
        format!(" --rule {}", quoted(&rule))
    });
    let command = format!("taut sim pauses{}", rules.collect::<String>());
    scenario::run(&file(&settings), &command, &options.common)
}
