//! The fixed properties of a published queue.

/// The properties of a queue that do not change.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueueInfo<'a> {
    /// The device that it sends to, or a name of its own: at most 63 bytes are kept.
    pub device: &'a str,
    /// Its number there.
    pub queue: u32,
    /// The rule that sets its limit, as `--limit` spells it: at most 31 bytes are kept.
    pub limit: &'a str,
    /// Whether the limit counts packets, not bytes.
    pub in_packets: bool,
    /// The speed of its link in bit/s; `None` if it is not known.
    pub rate_bits_per_s: Option<u64>,
}
