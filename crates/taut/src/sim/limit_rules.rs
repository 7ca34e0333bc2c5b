//! Limit rules side by side, on named patterns and on files.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use taut_path::units::Time;
use taut_report::document::Document;
use taut_scenarios::limit_rules::{Compared, LimitRulesSettings, RuleName, names};
use taut_scenarios::registry::{DEFAULT_SEED, file};
use taut_scenarios::run::Run;
use taut_scenarios::scenario::Scenario;
use taut_scenarios::schema::Schema;

use super::cases::{show, usage};
use super::common::Common;
use super::limit_rules_show::{charts, remark, text};
use super::output::Output;
use super::sweep;
use crate::rr::command::quoted;
use taut_report::emit::Form;
use taut_report::page::{Origin, Page};
use taut_report::{exit, say, stdout};

/// What `taut sim limit-rules` accepts.
#[derive(Debug, Clone, Args)]
pub struct LimitRulesOptions {
    /// Compare on this file only; may be given again
    ///
    /// The first line is a JSON object: rate_bytes_per_us or rates ([[t_ns, bytes_per_us], ...]),
    /// end_ns, and as wanted id, sizes, budget, poll_ns, burst ({period_ns, objects}), warm_ns,
    /// utilisation. Each other line is an interrupt: gap_ns delay_ns. docs/pattern-format.md says what
    /// each means, with an example.
    #[arg(long, value_name = "FILE")]
    pub pattern: Vec<PathBuf>,

    /// Compare on this built-in pattern only; a prefix such as p, f, w or p04 takes all that have it;
    /// may be given again
    #[arg(long, value_name = "NAME", conflicts_with = "pattern")]
    pub only: Vec<String>,

    /// Compare this rule only: off, fixed, dql, need, taut, 40k, 32p, or dql every 1ms; may
    /// be given again
    ///
    /// taut promises what the pattern wants (its utilisation) unless it is told a share itself, as in
    /// taut:99.5%; also behind :packets or a cap in time.
    #[arg(long, value_name = "RULE", allow_hyphen_values = true)]
    pub rule: Vec<RuleName>,

    /// Seeds of each built-in pattern, counted from --seed
    #[arg(long, value_name = "N")]
    pub seeds: Option<u32>,

    /// What is measured of a built-in family or load (f.., w..)
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Time>,

    /// What is not measured at its start
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
            if let Some(nothing) = self
                .only
                .iter()
                .find(|it| !names().any(|name| name.starts_with(*it)))
            {
                let names: Vec<&str> = names().collect();
                return Err(format!(
                    "no pattern {nothing:?}; there are {}",
                    names.join(", ")
                ));
            }
            let only = |name: &String| self.only.iter().any(|it| name.starts_with(it));
            settings.patterns.retain(only);
        }
        if !self.rule.is_empty() {
            settings.rules.clone_from(&self.rule);
        }
        settings.seeds = self.seeds.unwrap_or(settings.seeds);
        settings.duration = self.duration.unwrap_or(settings.duration);
        settings.warm_up = self.warm_up.unwrap_or(settings.warm_up);
        Ok(settings)
    }

    /// What gives the same again, but for the seed.
    fn command(&self) -> String {
        let mut words = vec!["taut sim limit-rules".to_owned()];
        let mut push =
            |option: &str, value: String| words.push(format!("--{option} {}", quoted(&value)));
        for file in &self.pattern {
            push("pattern", file.display().to_string());
        }
        for name in &self.only {
            push("only", name.clone());
        }
        for rule in &self.rule {
            push("rule", rule.to_string());
        }
        let times = [("duration", self.duration), ("warm-up", self.warm_up)];
        for (option, time) in times {
            if let Some(time) = time {
                push(option, time.to_string());
            }
        }
        if let Some(seeds) = self.seeds {
            push("seeds", seeds.to_string());
        }
        words.join(" ")
    }
}

/// `taut sim limit-rules`.
pub fn run(options: &LimitRulesOptions) -> ExitCode {
    let Common { seed, json, output } = &options.common;
    let settings = options.settings();
    match settings.and_then(|settings| settings.validate().map(|()| settings)) {
        Ok(settings) => run_settings(
            settings,
            seed.unwrap_or(DEFAULT_SEED),
            output,
            output.form(*json),
            &options.command(),
        ),
        Err(message) => usage(&message),
    }
}

/// Runs valid settings, wherever they came from; `command` gives the same again, but for the seed.
pub fn run_settings(
    settings: LimitRulesSettings,
    seed: u64,
    output: &Output,
    form: Form,
    command: &str,
) -> ExitCode {
    if let Err(failed) = output.spares(&settings.files) {
        return failed;
    }
    if output.many.is_wanted() {
        return sweep::run(&file(&settings), seed, output, form);
    }
    let subjects = match settings.subjects(|warning| say!("taut: {warning}")) {
        Ok(subjects) => subjects,
        Err(error) if error.is_io() => {
            say!("taut: {error}");
            return ExitCode::from(exit::FAILED);
        }
        Err(error) => return usage(&error),
    };
    let cases = settings.cases_of(subjects, seed);
    let run = Arc::new(Run::of(settings, seed, cases));
    let compared = || run.settings().compared(&run.ran());
    show(
        run.clone(),
        output,
        form,
        |document| text(document, &compared(), stdout::columns()),
        |document| page(document, &compared(), format!("{command} --seed {seed}")),
    )
}

fn page<'d>(document: &'d Document, compared: &[Compared], command: String) -> Page<'d> {
    Page {
        document,
        origin: Origin::Simulated,
        about: LimitRulesSettings::ABOUT,
        charts: charts(compared),
        remark: Some(remark(compared)),
        command,
    }
}
