//! Options of `taut forward`.

use std::fmt;
use std::ops::RangeInclusive;

use clap::Args;
use taut_path::AnyLimit;
use taut_path::units::{Rate, Time};
use taut_relay::bridge::PathSettings;
use taut_relay::driver::Driver;

use crate::parse::{COALESCE_TIMES, DURATIONS, RATES, count_in, parse_limit, parse_qdisc, within};

const DEFAULT_QDISC: &str = "fq_codel ecn";
const DEFAULT_RING: u32 = 1024;
/// The smallest ring has room for the largest GSO packet.
const RINGS: RangeInclusive<u32> = 32..=65_536;
const DEFAULT_COALESCE: Time = Time::us(250);

const DRIVER_HELP: &str = "\
Driver
af_packet: AF_PACKET rings. The host's network stack receives the forwarded frames too. Frames \
pass the device's queueing discipline (qdisc) after that of taut.
af_xdp: an XDP program on each interface redirects the received frames, so the host's network \
stack receives none. Frames bypass the device's qdisc. Each interface must have one receive queue \
and an MTU of at most 3818. If the peer of a veth has VLAN devices, disable txvlan there; \
otherwise their tags are lost.
AF_XDP does not mark partial checksums, which a sender on the same machine leaves to the device. \
taut detects them by their value, also inside GRE, VXLAN, GENEVE, GTP-U and IP in UDP. For other \
tunnels, turn transmit checksum offload off at the sender; otherwise they stay partial.";

/// Forward all frames between two interfaces, in both directions
///
/// A transparent bridge: VLAN tags and all protocols pass unchanged. Each direction has its own
/// queueing discipline and byte limit, so that waiting packets can be reordered, marked or
/// dropped. Ctrl-C ends the command with a summary.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Forward {
    /// First interface
    #[arg(value_name = "A")]
    pub a: String,

    /// Second interface
    #[arg(value_name = "B")]
    pub b: String,

    /// Driver
    #[arg(long, value_enum, default_value_t = Driver::AfPacket, long_help = DRIVER_HELP)]
    pub driver: Driver,

    /// Queueing discipline (taut help qdiscs)
    #[arg(long, value_name = "QDISC", default_value = DEFAULT_QDISC, value_parser = parse_qdisc)]
    pub qdisc: String,

    /// Limit: dql, taut, 40k, 32p, off (taut help limits)
    #[arg(long, value_name = "LIMIT", allow_hyphen_values = true, default_value_t = AnyLimit::dql(),
          value_parser = parse_limit)]
    pub limit: AnyLimit,

    /// Shaper rate of both directions, or to B and to A [default: none]
    ///
    /// Set it slightly below the rate of a bottleneck further along the path. It counts Ethernet
    /// frames as tbf does: without preamble, FCS and gap.
    #[arg(long, value_name = "RATE[,RATE]", value_parser = parse_rates)]
    pub rate: Option<Rates>,

    /// Ring size in slots, one per packet (32 to 65536)
    #[arg(long, value_name = "N", default_value_t = DEFAULT_RING, value_parser = count_in(RINGS))]
    pub ring: u32,

    /// Completion poll interval
    #[arg(long, value_name = "TIME", default_value_t = DEFAULT_COALESCE,
          value_parser = within(COALESCE_TIMES))]
    pub coalesce: Time,

    /// Network namespace of both: a name of `ip netns`, or a path
    ///
    /// Needs CAP_SYS_ADMIN.
    #[arg(short = 'n', long, value_name = "NETNS")]
    pub netns: Option<String>,

    /// End after TIME [default: at Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = within(DURATIONS))]
    pub duration: Option<Time>,

    /// Forward although another process forwards the frames of A or B
    #[arg(long)]
    pub force: bool,

    /// Print the summary as one JSON document
    #[arg(short, long)]
    pub json: bool,

    /// Print the plan without running it
    #[arg(long)]
    pub dry_run: bool,
}

/// Shaper rates of both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    pub to_b: Rate,
    pub to_a: Rate,
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_b)?;
        if self.to_a != self.to_b {
            write!(f, ",{}", self.to_a)?;
        }
        Ok(())
    }
}

fn parse_rates(text: &str) -> Result<Rates, String> {
    let (to_b, to_a) = text.split_once(',').unwrap_or((text, text));
    let parse = within(RATES);
    Ok(Rates {
        to_b: parse(to_b)?,
        to_a: parse(to_a)?,
    })
}

impl Forward {
    /// Returns the settings of the bridge.
    pub fn settings(&self) -> PathSettings {
        PathSettings {
            qdisc: self.qdisc.clone(),
            limit: self.limit.clone(),
            rates_bits_per_s: [
                self.rate.map(|rates| rates.to_b.0),
                self.rate.map(|rates| rates.to_a.0),
            ],
            ring_slots: self.ring,
            coalesce_ns: self.coalesce.0,
            is_forced: self.force,
            ..PathSettings::default()
        }
    }
}

const AFTER_HELP: &str = "\
Rates and sizes are as in tc (1gbit, 40k); times need a unit (250us).
While it runs, both interfaces are promiscuous and their receive offloads are off. GSO packets are
segmented and partial checksums completed. The interfaces must not have addresses: frames for this
host are forwarded too.
Needs root. After its sockets are open it keeps only CAP_NET_RAW, and with af_xdp CAP_IPC_LOCK if
RLIMIT_MEMLOCK cannot be raised. Without CAP_NET_ADMIN, the send buffer of a reopened ring is at
most net.core.wmem_max: raise it if throughput falls.
A renamed interface is followed. For a removed one, a new interface with its last name is used. The
summary has the names of the command line. With --force, the receive offloads of shared interfaces
return when the first forwarder ends. The other forwarder then receives GRO packets.
If completions are early (a plain veth), the limit is disabled, and the summary states it.
Exit codes: 0 done, also after Ctrl-C; 1 failed, 2 bad usage, 3 a packet is unaccounted for,
77 a privilege or kernel feature is missing.
Examples:
  taut forward eth0 eth1
  taut forward eth0 eth1 --rate 95mbit,19mbit --limit taut --duration 60s";

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Forward,
    }

    fn parse(line: &str) -> Result<Forward, String> {
        let arguments = std::iter::once("forward").chain(line.split_whitespace());
        Line::try_parse_from(arguments)
            .map(|line| line.options)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn rate_applies_to_both_directions_or_each() {
        let rates = |line| parse(line).map(|options| options.rate.map(|it| it.to_string()));
        assert_eq!(rates("a b"), Ok(None));
        assert_eq!(rates("a b --rate 100mbit"), Ok(Some("100mbit".to_owned())));
        let separate = rates("a b --rate 100mbit,20mbit");
        assert_eq!(separate, Ok(Some("100mbit,20mbit".to_owned())));
        for wrong in ["1mbit,", ",1mbit", "1mbit,2,3", "x"] {
            assert!(parse(&format!("a b --rate {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn defaults_are_those_of_the_bridge() {
        let path = parse("a b").unwrap().settings();
        let default = PathSettings::default();
        assert_eq!(format!("{path:?}"), format!("{default:?}"));
    }

    #[test]
    fn invalid_command_lines_are_rejected() {
        for wrong in [
            "",
            "a",
            "a b c",
            "a b --limit x",
            "a b --ring 1",
            "a b --qdisc fq",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
