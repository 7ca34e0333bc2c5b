//! All integration tests of the crate in one binary, which saves linking time.

mod aperiodic;
mod blind_sender;
mod codel_under_load;
mod files;
mod late_segmentation;
mod late_sockets;
mod limit_over_time;
mod never_worse;
mod pattern_files;
mod pattern_published;
mod pauses;
mod rate_change;
mod right_size;
mod rr_sizes;
mod rr_under_load;
mod rr_under_load_file;
mod shared_budget;
mod small_queues;
mod software_consumer;
mod support;
mod trace;
mod watermarks;
