//! Sizes and offsets that the header repeats (`cbindgen.toml`): neither side compiles with another
//! layout.

use core::mem::offset_of;

use super::{Coalescer, Config, Dql, Snapshot, StallDetector, Stalls};

const _: () = assert!(size_of::<Dql>() == 160);
const _: () = assert!(size_of::<Coalescer>() == 64);
const _: () = assert!(size_of::<StallDetector>() == 512);
const _: () = assert!(size_of::<Config>() == 24 && offset_of!(Config, hold_time_ns) == 16);
const _: () = assert!(size_of::<Snapshot>() == 72 && offset_of!(Snapshot, window_start_ns) == 56);
const _: () = assert!(size_of::<Stalls>() == 24);

#[cfg(feature = "queue")]
mod queue {
    use core::mem::offset_of;

    use crate::sys::{Completed, Packet, QueueOptions, QueueStats};

    const _: () = assert!(size_of::<Packet>() == 16 && offset_of!(Packet, ecn) == 13);
    const _: () =
        assert!(size_of::<QueueOptions>() == 32 && offset_of!(QueueOptions, coalesce_ns) == 16);
    const _: () = assert!(size_of::<Completed>() == 24 && offset_of!(Completed, stalled_ns) == 16);
    const _: () = assert!(offset_of!(QueueStats, unlimited) == 89);
}
