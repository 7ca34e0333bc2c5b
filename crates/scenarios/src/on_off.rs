//! Text of a switch in a name.

/// Returns `on` or `off`.
pub const fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}
