//! The limits and disciplines that tests run over, from the tables of the crate.

use taut_path::limit::{LIMITS, LimitInfo};
use taut_path::qdisc::DISCIPLINES;

/// Returns each limit with a name, and `others`.
pub fn limits_and<'a>(others: &[&'a str]) -> Vec<&'a str> {
    let named = LIMITS.iter().map(|limit| limit.name);
    named.chain(others.iter().copied()).collect()
}

/// Returns each limit that adapts.
pub fn adapting() -> impl Iterator<Item = &'static LimitInfo> {
    LIMITS.iter().filter(|limit| limit.adapts)
}

/// Returns each limit with a name, in every unit, with and without a cap, and fixed ones.
pub fn limits_in_every_form() -> Vec<String> {
    let mut limits: Vec<String> = limits_and(&["20k", "7p"])
        .iter()
        .map(|&it| it.into())
        .collect();
    limits.extend(adapting().map(|limit| format!("{}:packets", limit.name)));
    let capped: Vec<_> = limits.iter().map(|limit| format!("{limit}:2ms")).collect();
    limits.extend(capped);
    limits
}

/// Returns each discipline with a small packet limit, so that it overflows, and `others`.
pub fn small_disciplines_and(others: &[&str]) -> Vec<String> {
    let named = DISCIPLINES.iter().map(|it| format!("{} limit 9", it.name));
    named.chain(others.iter().map(|&it| it.into())).collect()
}
