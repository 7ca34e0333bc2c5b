//! Validation of settings. A rule is a function of a key and its value; its error contains both and
//! the allowed values.

use std::fmt::Display;
use std::ops::RangeInclusive;

use taut_path::{AnyLimit, LateSegmentation, qdisc};
use taut_sim::nic::DescriptorRule;

use taut_path::units::{Rate, Size, Time};

/// Result of a rule; the error is a message for the user.
pub type Validation = Result<(), String>;

/// Maximum link rate, in bit/s: below it, a minimal frame takes at least a nanosecond.
const MAX_RATE: Rate = Rate(400_000_000_000);
const MAX_RING: u32 = 1 << 16;
/// Maximum duration: an hour.
pub(crate) const MAX_DURATION: Time = Time(3_600_000_000_000);
/// Maximum size of a GSO packet.
const MAX_OBJECT: Size = Size(65_536);

// TCP streams on one link, simulated or live:

/// Number of streams. Live, each has two sockets in one process, within the usual limit of
/// descriptors.
pub const STREAMS: RangeInclusive<u32> = 1..=4_000;

/// Below, TCP's timers exceed the run. Above, two cores are too slow for a live run.
pub const RATES: RangeInclusive<Rate> = Rate(1_000_000)..=Rate(100_000_000_000);

/// Below, a GSO packet does not fit.
pub const RINGS: RangeInclusive<u32> = 32..=65_536;

/// From the resolution of a live timer to a time that TCP takes for a broken link.
pub const COALESCE_TIMES: RangeInclusive<Time> = Time(1_000)..=Time(100_000_000);

/// Long enough for some transactions in every row, and short enough to wait for.
pub const DURATIONS: RangeInclusive<Time> = Time(500_000_000)..=MAX_DURATION;

/// The warm-up.
pub const WARM_UPS: RangeInclusive<Time> = Time(0)..=*DURATIONS.end();

/// Maximum number of limits: more rows are unreadable.
const MAX_LIMITS: usize = 20;

/// Checks that a value is within a range.
///
/// # Errors
/// A message with the key, the value and the range.
pub fn check<T: PartialOrd + Display>(key: &str, value: T, min: T, max: T) -> Validation {
    if (&min..=&max).contains(&&value) {
        return Ok(());
    }
    Err(format!("{key} is {value}; allowed: {min} to {max}"))
}

/// Checks the length of a list.
///
/// # Errors
/// A message with the key, the length and the range.
pub(crate) fn check_length(key: &str, length: usize, min: usize, max: usize) -> Validation {
    let noun = if length == 1 { "value" } else { "values" };
    check(key, length, min, max)
        .map_err(|_| format!("{key} has {length} {noun}; allowed: {min} to {max}"))
}

/// Requires a value within a range.
pub fn within<T: PartialOrd + Display>(
    range: RangeInclusive<T>,
) -> impl Fn(&str, &T) -> Validation {
    move |key, value| check(key, value, range.start(), range.end())
}

/// Requires a time of at most another.
pub(crate) fn up_to(max: Time) -> impl Fn(&str, &Time) -> Validation {
    within(Time(0)..=max)
}

/// Requires a list of this length, whose values `one` accepts.
pub(crate) fn each<T>(
    number: RangeInclusive<usize>,
    one: impl Fn(&str, &T) -> Validation,
) -> impl Fn(&str, &[T]) -> Validation {
    move |key, values| {
        check_length(key, values.len(), *number.start(), *number.end())?;
        values.iter().try_for_each(|value| one(key, value))
    }
}

/// Requires a list of this length without duplicates; `what` names an element.
pub fn each_once<T: PartialEq + Display>(
    number: RangeInclusive<usize>,
    what: &str,
) -> impl Fn(&str, &[T]) -> Validation {
    move |key, values| {
        for (at, value) in values.iter().enumerate() {
            if values[..at].contains(value) {
                let place = at + 1;
                return Err(format!(
                    "{key} has {value} twice, again at position {place}; list each {what} once"
                ));
            }
        }
        each(number.clone(), any)(key, values)
    }
}

/// Accepts any value.
pub(crate) fn any<T>(_key: &str, _value: &T) -> Validation {
    Ok(())
}

/// Requires a link rate.
pub(crate) fn rate(key: &str, rate: &Rate) -> Validation {
    within(Rate(1)..=MAX_RATE)(key, rate)
}

/// Requires the descriptors of a ring.
pub(crate) fn ring(key: &str, ring: &u32) -> Validation {
    within(2..=MAX_RING)(key, ring)
}

/// Requires the descriptors of the published experiments' card. A ring must have room for its
/// largest packet before a queue restarts.
pub(crate) fn card_ring(key: &str, slots: &u32) -> Validation {
    within(DescriptorRule::E1000.restart_slots(*slots)..=MAX_RING)(key, slots)
}

/// Requires the bytes of an object.
pub(crate) fn size(key: &str, size: &Size) -> Validation {
    within(Size(1)..=MAX_OBJECT)(key, size)
}

/// Requires the duration of a run.
pub(crate) fn duration(key: &str, duration: &Time) -> Validation {
    within(Time(1)..=MAX_DURATION)(key, duration)
}

/// Requires at least this number of limits, without duplicates.
pub fn limits(min: usize) -> impl Fn(&str, &[AnyLimit]) -> Validation {
    each_once(min..=MAX_LIMITS, "limit")
}

/// Requires at least one late segmentation, without duplicates; `key` names the list.
///
/// # Errors
/// A message with the first invalid value and the allowed ones.
pub fn late_segmentation(key: &str, modes: &[LateSegmentation]) -> Validation {
    each_once(1..=MAX_LIMITS, "mode")(key, modes)
}

/// Requires a discipline in `tc` syntax.
pub(crate) fn discipline(key: &str, spelled: &String) -> Validation {
    let found = qdisc::by_name(spelled).map(drop);
    found.map_err(|error| format!("{key} is {spelled:?}: {error}"))
}
