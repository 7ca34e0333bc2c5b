//! What settings may be. A rule is a function of a key and its value; if the value cannot be, it
//! names both and says what is allowed.

use std::fmt::Display;
use std::ops::RangeInclusive;

use taut_path::{AnyLimit, Split};
use taut_sim::nic::DescriptorRule;

use taut_path::units::{Rate, Size, Time};

/// What a rule says; an error is the text for the user.
pub type Validation = Result<(), String>;

/// No link is faster than this, in bit/s: below it, a minimal frame takes a nanosecond or more.
const MAX_RATE: Rate = Rate(400_000_000_000);
const MAX_RING: u32 = 1 << 16;
/// An hour.
pub(crate) const MAX_DURATION: Time = Time(3_600_000_000_000);
/// A super-packet is no larger than this.
const MAX_OBJECT: Size = Size(65_536);

// Of TCP streams on one link, simulated or live.

/// Most streams: live, two sockets each, in one process with the usual hard limit of descriptors.
pub const STREAMS: RangeInclusive<u32> = 1..=4_000;

/// Below, TCP's timers outlast the run; above, two cores cannot keep up live by far.
pub const RATES: RangeInclusive<Rate> = Rate(1_000_000)..=Rate(100_000_000_000);

/// Below, no super-packet fits in.
pub const RINGS: RangeInclusive<u32> = 32..=65_536;

/// From what a timer can do live to what TCP takes for a lost link.
pub const CADENCES: RangeInclusive<Time> = Time(1_000)..=Time(100_000_000);

/// Long enough for some transactions in every row, and short enough to end.
pub const DURATIONS: RangeInclusive<Time> = Time(500_000_000)..=MAX_DURATION;

/// What is not measured of it at first.
pub const WARM_UPS: RangeInclusive<Time> = Time(0)..=*DURATIONS.end();

/// More rows than this are not read side by side.
const MOST_LIMITS: usize = 20;

/// Whether a value is neither less nor more than is allowed.
///
/// # Errors
/// Names it and what is allowed.
pub fn check<T: PartialOrd + Display>(key: &str, value: T, least: T, most: T) -> Validation {
    if (&least..=&most).contains(&&value) {
        return Ok(());
    }
    Err(format!("{key} is {value}; allowed: {least} to {most}"))
}

/// A value within a range.
pub fn within<T: PartialOrd + Display>(
    range: RangeInclusive<T>,
) -> impl Fn(&str, &T) -> Validation {
    move |key, value| check(key, value, range.start(), range.end())
}

/// A time that must come round within another.
pub(crate) fn up_to(most: Time) -> impl Fn(&str, &Time) -> Validation {
    within(Time(0)..=most)
}

/// A list of so many values, each of which `one` allows.
pub(crate) fn each<T>(
    number: RangeInclusive<usize>,
    one: impl Fn(&str, &T) -> Validation,
) -> impl Fn(&str, &[T]) -> Validation {
    move |key, values| {
        within(number.clone())(&format!("{key}, their number"), &values.len())?;
        values.iter().try_for_each(|value| one(key, value))
    }
}

/// A list of so many values, no two alike; `what` is one of them.
pub fn each_once<T: PartialEq + Display>(
    number: RangeInclusive<usize>,
    what: &str,
) -> impl Fn(&str, &[T]) -> Validation {
    move |key, values| {
        for (at, value) in values.iter().enumerate() {
            if values[..at].contains(value) {
                let place = at + 1;
                return Err(format!(
                    "{key} has {value} twice, again at position {place}; say each {what} once"
                ));
            }
        }
        each(number.clone(), any)(key, values)
    }
}

/// Whatever could be read.
pub(crate) fn any<T>(_key: &str, _value: &T) -> Validation {
    Ok(())
}

/// A link rate.
pub(crate) fn rate(key: &str, rate: &Rate) -> Validation {
    within(Rate(1)..=MAX_RATE)(key, rate)
}

/// Descriptors of a ring.
pub(crate) fn ring(key: &str, ring: &u32) -> Validation {
    within(2..=MAX_RING)(key, ring)
}

/// Those of the card of the published experiments: it must have room for its largest packet before
/// a queue starts again.
pub(crate) fn card_ring(key: &str, slots: &u32) -> Validation {
    ring(key, slots)?;
    within(DescriptorRule::E1000.restart_slots(*slots)..=u32::MAX)(key, slots)
}

/// Bytes of an object.
pub(crate) fn size(key: &str, size: &Size) -> Validation {
    within(Size(1)..=MAX_OBJECT)(key, size)
}

/// Time that is run.
pub(crate) fn duration(key: &str, duration: &Time) -> Validation {
    within(Time(1)..=MAX_DURATION)(key, duration)
}

/// At least so many limits, each a row of its own.
pub fn limits(least: usize) -> impl Fn(&str, &[AnyLimit]) -> Validation {
    each_once(least..=MOST_LIMITS, "limit")
}

/// Whether there is a way for super-packets, and each of `splits`, which `key` names, is a row of
/// its own.
///
/// # Errors
/// The first that is not, and what is allowed.
pub fn splits(key: &str, splits: &[Split]) -> Validation {
    each_once(1..=MOST_LIMITS, "way")(key, splits)
}
