//! Comparison of limit rules, on built-in completion traces and on files.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use taut_path::units::Time;
use taut_report::exit;
use taut_scenarios::limit_rules::{LimitRulesSettings, RuleName, names};
use taut_scenarios::registry::DEFAULT_SEED;
use taut_scenarios::schema::Schema;

use super::output::Common;
use super::scenario::run_settings;
use crate::missing;

/// Options of `taut sim limit-rules`.
#[derive(Debug, Clone, Args)]
pub struct LimitRulesOptions {
    /// Completion trace file (repeatable) [default: the built-in traces]
    ///
    /// The first line is a JSON object: rate_bytes_per_us or rates ([[t_ns, bytes_per_us], ...]),
    /// end_ns, and optionally id, sizes, budget, poll_ns, burst ({period_ns, objects}), warm_ns,
    /// utilisation. Each further line is an interrupt: gap_ns delay_ns. docs/pattern-format.md
    /// describes the format, with an example.
    #[arg(long, value_name = "FILE")]
    pub pattern: Vec<PathBuf>,

    /// Built-in trace, or a prefix such as p, f or p04 (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "pattern")]
    pub only: Vec<String>,

    /// Limit, fixed, or such as "dql every 1ms" (repeatable; taut help limits)
    ///
    /// `fixed` is the smallest fixed limit that reaches the target utilisation of the trace. The
    /// target of `taut` is that of the trace, unless the limit has its own, as in taut:99.5%.
    /// [default: off, fixed, dql, dql every 200us, dql every 1ms, taut]
    #[arg(long = "limit", value_name = "LIMIT", allow_hyphen_values = true)]
    pub limits: Vec<RuleName>,

    /// Seeds of each built-in trace, counted from --seed [default: 1]
    #[arg(long, value_name = "N")]
    pub seeds: Option<u32>,

    /// Measurement time of a synthetic trace (f..) [default: 2s]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Time>,

    /// Warm-up time of a synthetic trace [default: 2s]
    #[arg(long, value_name = "TIME")]
    pub warm_up: Option<Time>,

    #[command(flatten)]
    pub common: Common,
}

impl LimitRulesOptions {
    fn settings(&self) -> Result<LimitRulesSettings, String> {
        let mut settings = LimitRulesSettings::defaults();
        if !self.pattern.is_empty() {
            settings.patterns.clear();
            settings.files.clone_from(&self.pattern);
        }
        if !self.only.is_empty() {
            if let Some(unknown) = self
                .only
                .iter()
                .find(|it| !names().any(|name| name.starts_with(*it)))
            {
                return Err(missing::no_such("pattern", unknown, names()));
            }
            let only = |name: &String| self.only.iter().any(|it| name.starts_with(it));
            settings.patterns.retain(only);
        }
        if !self.limits.is_empty() {
            settings.rules.clone_from(&self.limits);
        }
        settings.seeds = self.seeds.unwrap_or(settings.seeds);
        settings.duration = self.duration.unwrap_or(settings.duration);
        settings.warm_up = self.warm_up.unwrap_or(settings.warm_up);
        Ok(settings)
    }
}

/// `taut sim limit-rules`.
pub fn run(options: &LimitRulesOptions) -> Result<ExitCode, ExitCode> {
    let Common { seed, output } = &options.common;
    let settings = options.settings();
    let settings = settings.map_err(|error| exit::fail(exit::USAGE, error))?;
    output.spares(&settings.files)?;
    run_settings(settings, seed.unwrap_or(DEFAULT_SEED), output)
}
