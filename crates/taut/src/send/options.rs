//! Options of `taut send`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use taut_linux::link::MacAddress;
use taut_measure::DEFAULT_SEED;
use taut_path::AnyLimit;
use taut_path::units::{Rate, Size, Time};
use taut_relay::driver::Driver;
use taut_relay::source::MIN_BYTES;

use crate::parse::{
    CADENCES, LINK_RATES, count_in, limit_help, parse_limit, parse_qdisc, qdisc_help, within,
};

/// Sends a capture or generated frames through a transmit queue with a limit, and accounts for
/// each.
///
/// A packet counts as sent when the device has completed it and its link was up all that time. What
/// was in flight when the link went down, the device went away or the ring was opened again is in
/// doubt; every other packet is dropped with a reason.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Send {
    /// The device to send on
    #[arg(value_name = "DEV")]
    pub device: String,

    /// A pcap or pcapng file of Ethernet frames, read into memory; without one, frames are
    /// generated
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// The device is in the network namespace NETNS: a name as `ip netns` has it, or a path
    #[arg(short = 'n', long, value_name = "NETNS")]
    pub netns: Option<String>,

    /// What carries the packets
    #[arg(long, value_enum, default_value_t = Driver::AfPacket)]
    pub driver: Driver,

    /// The device's queue, for af_xdp
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub queue: u32,

    /// Queueing discipline in front of the ring, spelled as for tc
    #[arg(long, value_name = "QDISC", default_value = "pfifo", value_parser = parse_qdisc,
          long_help = qdisc_help("Queueing discipline in front of the ring"))]
    pub qdisc: String,

    /// How much may be in flight: dql, taut, need, bytes (40k), packets (64p) or off
    #[arg(long, value_name = "LIMIT", allow_hyphen_values = true, default_value_t = AnyLimit::dql(),
          value_parser = parse_limit,
          long_help = limit_help("How much may be in flight"))]
    pub limit: AnyLimit,

    /// Packets that the ring holds (1 to 65536)
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = count_in(1..=65_536))]
    pub ring: u32,

    /// Time between two looks for completions, with a unit
    #[arg(long, value_name = "TIME", default_value_t = Time::us(250),
          value_parser = within(CADENCES))]
    pub cadence: Time,

    /// Age of the oldest packet in flight at which the ring is opened again, with a unit
    #[arg(long, value_name = "TIME", default_value_t = Time::ms(1_000),
          value_parser = within(STALLS))]
    pub stall: Time,

    /// Send the file N times; without N, until Ctrl-C
    #[arg(long = "loop", value_name = "N", num_args = 0..=1, require_equals = true,
          default_missing_value = "0", requires = "file")]
    pub passes: Option<u64>,

    /// Stop after so many packets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Stop after this time, with a unit
    #[arg(long, value_name = "TIME", value_parser = within(SEND_DURATIONS))]
    pub duration: Option<Time>,

    /// No faster than this, as tc reads rates; frames count with their Ethernet header
    #[arg(long, value_name = "RATE", value_parser = within(LINK_RATES))]
    pub rate: Option<Rate>,

    /// Bytes of each generated frame, with its Ethernet header (60 to 65549) [default: what fits
    /// the MTU]
    #[arg(long, value_name = "SIZE", value_parser = within(SIZES), conflicts_with = "file")]
    pub size: Option<Size>,

    /// Flows that the generated frames take turns in (1 to 65535)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count_in(1..=65_535),
          conflicts_with = "file")]
    pub flows: u32,

    /// Where generated frames go to; the default is an address that no card has
    #[arg(
        long,
        value_name = "MAC",
        default_value = "02:00:00:00:00:02",
        conflicts_with = "file"
    )]
    pub to: MacAddress,

    /// Seed of the generated frames' bytes
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED, conflicts_with = "file")]
    pub seed: u64,

    /// Print one JSON document instead of lines for people
    #[arg(short, long)]
    pub json: bool,

    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

const AFTER_HELP: &str = "\
Rates and sizes as tc reads them (1gbit, 40k); times need a unit (250us).
Needs CAP_NET_RAW; another namespace (-n) needs CAP_SYS_ADMIN too. Root has both.
Ctrl-C or SIGTERM takes in no more and waits for what was taken in; one half a second later ends at once.
Exit codes: 0 every packet is accounted for, 1 failed (also: the device is gone, or stands still),
2 bad usage, 3 a packet is unaccounted for, 77 cannot run here, 130 or 143 interrupted.";

/// Ages at which the ring is opened again.
const STALLS: RangeInclusive<Time> = Time::ms(10)..=Time::ms(3_600_000);
/// From a moment to 30 days.
const SEND_DURATIONS: RangeInclusive<Time> = Time::ms(1)..=Time::ms(30 * 86_400_000);
/// Bytes of a frame.
const SIZES: RangeInclusive<Size> = Size(MIN_BYTES as u64)..=Size(MAX_BYTES as u64);
/// The longest frame: the largest MTU and an Ethernet header.
pub const MAX_BYTES: u32 = 65_549;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Send,
    }

    fn parse(line: &str) -> Result<Send, String> {
        Line::try_parse_from(std::iter::once("send").chain(line.split_whitespace()))
            .map(|line| line.options)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_loop_may_have_a_number() {
        assert_eq!(parse("veth0 a.pcap").unwrap().passes, None);
        let endless = parse("veth0 --loop a.pcap").unwrap();
        assert_eq!(
            (endless.passes, endless.file),
            (Some(0), Some("a.pcap".into()))
        );
        assert_eq!(parse("veth0 a.pcap --loop=7").unwrap().passes, Some(7));
    }

    #[test]
    fn what_is_refused_says_what_is_allowed() {
        let refused = [
            ("veth0 --size 59", "60b to 65549b"),
            ("veth0 --flows 0", "1..=65535"),
            ("veth0 --rate 1", "1kbit to"),
            ("veth0 --to 02:00", "six bytes"),
            ("veth0 --to 0x:0:0:0:0:0", "six bytes"),
            ("veth0 --limit 12q", "allowed are off"),
            ("veth0 --stall 1ms", "10ms to 3600s"),
            ("veth0 --count 0", "1.."),
            ("veth0 --loop", "FILE"),
            ("veth0 a.pcap --size 100", "cannot be used with"),
            ("", "DEV"),
        ];
        for (line, what) in refused {
            let error = parse(line).map(|_| ()).unwrap_err();
            assert!(error.contains(what), "{line}: {error}");
        }
    }
}
