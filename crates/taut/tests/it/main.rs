//! All integration tests in one binary, because linking takes most of the time.

// Without a feature its tests are absent, but not the helpers that they share with others.
#![cfg_attr(not(all(feature = "lab", feature = "sim")), allow(dead_code))]

mod absent_verbs;
#[cfg(feature = "sim")]
mod first_use;
#[cfg(feature = "lab")]
mod lab_dry_run;
mod live;
mod live_forward;
mod live_forward_changes;
mod live_forward_xdp;
#[cfg(feature = "lab")]
mod live_lab_forward;
#[cfg(feature = "lab")]
mod live_ring;
#[cfg(feature = "lab")]
mod live_rr_under_load;
mod live_send;
mod live_send_captures;
mod live_send_faults;
mod live_send_replay;
#[cfg(all(feature = "lab", feature = "sim"))]
mod live_traces;
mod manual;
mod observe_doctor;
mod observe_exporter;
mod observe_set;
mod observe_show;
mod observe_top;
mod observe_tree;
mod observe_where;
mod own_rule;
mod pipes;
#[cfg(feature = "sim")]
mod replay_command;
mod send_command;
mod send_world;
mod sim_command;
#[cfg(feature = "sim")]
mod sim_limit_rules;
#[cfg(feature = "sim")]
mod sim_pcap;
#[cfg(feature = "sim")]
mod sim_rr_under_load;
#[cfg(feature = "sim")]
mod sim_scenarios;
#[cfg(feature = "sim")]
mod sim_sweep;
mod terminal;
mod unusual;
