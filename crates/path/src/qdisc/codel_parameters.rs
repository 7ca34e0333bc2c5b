//! The parameters of every discipline with CoDel.

use super::codel_state::CodelConfig;
use super::parameters::{Field, Parameter, QdiscSettings, Range};

/// The allowed times of CoDel.
const WAITING_TIME: Range = Range::time_ns(1, CodelConfig::MAX_INTERVAL_NS);

/// Settings of a discipline with CoDel.
pub(super) trait CodelParameters: QdiscSettings {
    fn codel(&mut self) -> &mut CodelConfig;

    const TARGET: Parameter<Self> = (
        "target",
        Field::U64(WAITING_TIME, |settings| &mut settings.codel().target_ns),
    );
    const INTERVAL: Parameter<Self> = (
        "interval",
        Field::U64(WAITING_TIME, |settings| &mut settings.codel().interval_ns),
    );
    const ECN: Parameter<Self> = (
        "ecn",
        Field::Flag(true, |settings| &mut settings.codel().ecn),
    );
    const NO_ECN: Parameter<Self> = (
        "noecn",
        Field::Flag(false, |settings| &mut settings.codel().ecn),
    );
    const CE_THRESHOLD: Parameter<Self> = (
        "ce_threshold",
        Field::Optional(WAITING_TIME, |settings| {
            &mut settings.codel().ce_threshold_ns
        }),
    );
}
