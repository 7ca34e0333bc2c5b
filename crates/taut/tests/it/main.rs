//! All tests of the crate in one binary: linking is what they wait for.

mod first_use;
mod lab_dry_run;
mod live;
mod live_forward;
mod live_forward_xdp;
mod live_lab_forward;
#[cfg(feature = "quic")]
mod live_lab_quic;
mod live_ring;
mod live_rr_under_load;
mod live_send;
mod live_send_faults;
mod live_send_replay;
mod live_traces;
mod manual;
mod observe_doctor;
mod observe_exporter;
mod observe_record;
mod observe_set;
mod observe_show;
mod observe_top;
mod observe_tree;
mod observe_where;
mod pipes;
mod send_command;
mod send_world;
mod sim_command;
mod sim_limit_rules;
mod sim_pcap;
mod sim_rr_under_load;
mod sim_scenarios;
mod sim_sweep;
mod terminal;
