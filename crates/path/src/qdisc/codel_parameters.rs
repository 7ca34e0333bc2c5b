//! The parameters of every discipline with CoDel.

use super::codel_state::CodelConfig;
use super::parameters::{Parameter, QdiscSettings, Range};

/// The allowed times of CoDel.
const WAITING_TIME: Range = Range::time_ns(1, CodelConfig::MAX_INTERVAL_NS);

/// Settings of a discipline with CoDel.
pub(super) trait CodelParameters: QdiscSettings {
    fn codel(&mut self) -> &mut CodelConfig;
    fn codel_ref(&self) -> &CodelConfig;

    const TARGET: Parameter<Self> = Parameter::value(
        "target",
        WAITING_TIME,
        |settings| Some(settings.codel_ref().target_ns),
        |settings, ns| settings.codel().target_ns = ns,
    );

    const INTERVAL: Parameter<Self> = Parameter::value(
        "interval",
        WAITING_TIME,
        |settings| Some(settings.codel_ref().interval_ns),
        |settings, ns| settings.codel().interval_ns = ns,
    );

    const ECN: Parameter<Self> = Parameter::flag(
        "ecn",
        |settings| settings.codel_ref().ecn,
        |settings| settings.codel().ecn = true,
    );

    const NO_ECN: Parameter<Self> = Parameter::flag(
        "noecn",
        |settings| !settings.codel_ref().ecn,
        |settings| settings.codel().ecn = false,
    );

    const CE_THRESHOLD: Parameter<Self> = Parameter::value(
        "ce_threshold",
        WAITING_TIME,
        |settings| settings.codel_ref().ce_threshold_ns,
        |settings, ns| settings.codel().ce_threshold_ns = Some(ns),
    );
}
