//! The fixed properties of a published queue.

/// The properties of a queue that do not change.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueueInfo<'a> {
    /// Its device, or a name of its own, truncated to 63 bytes.
    pub device: &'a str,
    /// Its number on the device.
    pub queue: u32,
    /// The rule of its limit, as in `--limit`, truncated to 31 bytes.
    pub limit: &'a str,
    /// The limit counts packets, not bytes.
    pub in_packets: bool,
    /// The speed of its link in bit/s; `None` if it is unknown.
    pub rate_bits_per_s: Option<u64>,
}
