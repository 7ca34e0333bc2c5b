//! The table of disciplines: names, spelled as `tc` spells them.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::any::AnyQdisc;
use super::bounded_ring::DEFAULT_LIMIT_PACKETS;
use super::codel::Codel;
use super::codel_state::CodelConfig;
use super::fifo::Fifo;
use super::fq_codel::{FqCodel, FqCodelConfig};
use super::parameters::{self, ParseQdiscError, QdiscSettings};
use super::pfifo_fast::{BandLimit, PfifoFast};
use super::seam::Qdisc;

/// The disciplines of this crate, in the order of help texts.
pub const DISCIPLINES: &[QdiscInfo] = &[
    QdiscInfo {
        name: "pfifo_fast",
        help: "three strict bands, chosen by the priority",
        keywords: &["limit", "total"],
        defaults: one_queue,
        build: |QdiscSettings { config, total }| {
            let scope = match total {
                true => BandLimit::Total,
                false => BandLimit::Each,
            };
            Box::new(PfifoFast::new(config.limit_packets, scope))
        },
    },
    QdiscInfo {
        name: "pfifo",
        help: "one queue, first in, first out",
        keywords: &["limit"],
        defaults: one_queue,
        build: |it| Box::new(Fifo::new(it.config.limit_packets)),
    },
    QdiscInfo {
        name: "codel",
        help: "one queue with CoDel (RFC 8289)",
        keywords: &[
            "limit",
            "target",
            "interval",
            "ecn",
            "noecn",
            "ce_threshold",
        ],
        defaults: one_queue,
        build: |it| Box::new(Codel::new(it.config.limit_packets, it.config.codel)),
    },
    QdiscInfo {
        name: "fq_codel",
        help: "a queue for each flow, with CoDel on each (RFC 8290)",
        keywords: &[
            "limit",
            "flows",
            "target",
            "interval",
            "quantum",
            "memory_limit",
            "ecn",
            "noecn",
            "ce_threshold",
            "seed",
        ],
        defaults: FqCodelConfig::default,
        build: |it| Box::new(FqCodel::new(it.config)),
    },
];

/// The default settings of a discipline without queues for flows.
fn one_queue() -> FqCodelConfig {
    FqCodelConfig {
        limit_packets: DEFAULT_LIMIT_PACKETS,
        codel: CodelConfig::default(),
        ..FqCodelConfig::default()
    }
}

/// The name of a discipline, and its help.
pub struct QdiscInfo {
    /// The name in `tc`.
    pub name: &'static str,
    /// A description in one line.
    pub help: &'static str,
    keywords: &'static [&'static str],
    defaults: fn() -> FqCodelConfig,
    build: fn(QdiscSettings) -> Box<dyn Qdisc + Send>,
}

impl QdiscInfo {
    /// Returns the parameters that can follow the name.
    pub fn usage(&self) -> String {
        parameters::usage(self.keywords)
    }
}

/// Creates the discipline that `text` names, such as `codel limit 1000 target 5ms`.
///
/// # Errors
/// Names the token that is wrong and the allowed ones, which include the names in `others`.
pub(crate) fn builtin_qdisc(
    text: &str,
    others: impl Iterator<Item = &'static str>,
) -> Result<AnyQdisc, ParseQdiscError> {
    let mut tokens = parameters::tokens(text);
    let (position, name) = tokens.next().unwrap_or((1, ""));
    let Some(known) = DISCIPLINES.iter().find(|known| known.name == name) else {
        let usages = DISCIPLINES
            .iter()
            .map(|known| format!("{} {}", known.name, known.usage()));
        let allowed: Vec<String> = usages.chain(others.map(String::from)).collect();
        let allowed = allowed.join(", ");
        return Err(ParseQdiscError::new(
            "unknown discipline",
            position,
            allowed,
        ));
    };
    let mut settings = QdiscSettings {
        config: (known.defaults)(),
        total: false,
    };
    parameters::read(
        known.keywords,
        &mut settings,
        tokens,
        text.chars().count() + 1,
    )?;
    let spelled = format!("{name}{}", parameters::write(known.keywords, &mut settings));
    Ok(AnyQdisc::from_box(&spelled, (known.build)(settings)))
}
