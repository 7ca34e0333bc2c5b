//! Options of `taut send`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use taut_linux::link::MacAddress;
use taut_measure::DEFAULT_SEED;
use taut_path::AnyLimit;
use taut_path::units::{Rate, Size, Time};
use taut_relay::driver::Driver;
use taut_relay::source::{MIN_BYTES, Pacing};

use crate::parse::{COALESCE_TIMES, LINK_RATES, count_in, parse_limit, parse_qdisc, within};

/// Send a capture or generated frames through a transmit queue with a limit
///
/// A packet counts as sent when the device completed it and the link stayed up in the meantime.
/// Packets in flight when the link went down, the device was removed or the ring was reopened are
/// counted as uncertain. Every other packet is completed, or dropped with a reason.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Send {
    /// Device to send on
    #[arg(value_name = "DEV")]
    pub device: String,

    /// pcap or pcapng file of Ethernet frames, - is standard input [default: generated frames]
    ///
    /// The file is read into memory. gzip and zstd are decompressed, to at most 1 GiB, which also
    /// bounds standard input. An FCS is removed, and bytes beyond the original length of a packet
    /// (orig_len) are not sent. Packets that cannot be sent are counted with the reason.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Network namespace: a name of `ip netns`, or a path (needs CAP_SYS_ADMIN)
    #[arg(short = 'n', long, value_name = "NETNS")]
    pub netns: Option<String>,

    /// Transmit driver
    #[arg(long, value_enum, default_value_t = Driver::AfPacket)]
    pub driver: Driver,

    /// Device queue, for af_xdp
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub queue: u32,

    /// Queueing discipline (taut help qdiscs)
    #[arg(long, value_name = "QDISC", default_value = "pfifo", value_parser = parse_qdisc)]
    pub qdisc: String,

    /// Limit: dql, taut, 40k, 64p, off (taut help limits)
    #[arg(long, value_name = "LIMIT", allow_hyphen_values = true, default_value_t = AnyLimit::dql(),
          value_parser = parse_limit)]
    pub limit: AnyLimit,

    /// Ring size in slots, one per packet (1 to 65536)
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = count_in(1..=65_536))]
    pub ring: u32,

    /// Completion poll interval
    #[arg(long, value_name = "TIME", default_value_t = Time::us(250),
          value_parser = within(COALESCE_TIMES))]
    pub coalesce: Time,

    /// Stall threshold: age of the oldest packet in flight
    ///
    /// After a stall, the ring is reopened.
    #[arg(long, value_name = "TIME", default_value_t = Time::ms(1_000),
          value_parser = within(STALLS))]
    pub stall_threshold: Time,

    /// Send the file N times; --loop alone: until Ctrl-C [default: once]
    #[arg(long = "loop", value_name = "N", num_args = 0..=1, require_equals = true,
          default_missing_value = "0", requires = "file")]
    pub passes: Option<u64>,

    /// Stop after N packets
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Stop after TIME, such as 10s
    #[arg(long, value_name = "TIME", value_parser = within(SEND_DURATIONS))]
    pub duration: Option<Time>,

    /// Send times of the packets
    #[arg(long, value_enum, default_value_t = Timing::Fast)]
    pub timing: Timing,

    /// Divide the times of the capture by X; needs --timing capture [default: 1]
    ///
    /// 0.001 to 1000000.
    #[arg(long, value_name = "X", value_parser = parse_speed)]
    pub speed: Option<f64>,

    /// Maximum rate of Ethernet frames, such as 10mbit; only with --timing fast
    ///
    /// Preamble, FCS and gap do not count.
    #[arg(long, value_name = "RATE", value_parser = within(LINK_RATES))]
    pub rate: Option<Rate>,

    /// Size of a generated frame with its Ethernet header [default: MTU + 14]
    ///
    /// 60 to 65549 bytes. Not with FILE.
    #[arg(long, value_name = "SIZE", value_parser = within(SIZES), conflicts_with = "file")]
    pub size: Option<Size>,

    /// Flows of the generated frames, round-robin (1 to 65535)
    ///
    /// Not with FILE.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count_in(1..=65_535),
          conflicts_with = "file")]
    pub flows: u32,

    /// Destination MAC address of generated frames
    ///
    /// The default is a locally administered address that no card has. Not with FILE.
    #[arg(
        long,
        value_name = "MAC",
        default_value = "02:00:00:00:00:02",
        conflicts_with = "file"
    )]
    pub dst_mac: MacAddress,

    /// Seed of the payload of generated frames (not with FILE)
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED, conflicts_with = "file")]
    pub seed: u64,

    /// Print one JSON document instead of text
    #[arg(short, long)]
    pub json: bool,

    /// Print the plan without running it
    #[arg(long)]
    pub dry_run: bool,
}

impl Send {
    /// Returns the times at which frames are sent.
    ///
    /// # Errors
    /// Returns an error if options contradict each other.
    pub fn pacing(&self) -> Result<Pacing, &'static str> {
        match (self.timing, self.rate) {
            (Timing::Fast, _) if self.speed.is_some() => Err("--speed needs --timing capture"),
            (Timing::Fast, Some(rate)) => Ok(Pacing::Rate(rate.0)),
            (Timing::Fast, None) => Ok(Pacing::Unpaced),
            (Timing::Capture, _) if self.file.is_none() => Err("--timing capture needs a FILE"),
            (Timing::Capture, Some(_)) => Err("--rate cannot be used with --timing capture"),
            (Timing::Capture, None) => Ok(Pacing::Capture(self.speed.unwrap_or(1.0))),
        }
    }
}

/// When packets are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Timing {
    /// As fast as the limit and --rate permit
    Fast,
    /// At the times of the capture
    ///
    /// The times do not advance while the link is down. A late sender catches up. Steps of the
    /// clock (backwards by more than 1 s, or forwards by more than a day) are skipped. A
    /// repetition starts at the time of the last packet.
    Capture,
}

fn parse_speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok();
    let speed = speed.filter(|speed| (0.001..=1e6).contains(speed));
    speed.ok_or_else(|| "expected a factor from 0.001 to 1000000, such as 2.5".into())
}

const AFTER_HELP: &str = "\
Rates and sizes are as in tc (1gbit, 40k); times need a unit (250us).
Needs CAP_NET_RAW. af_xdp also needs enough locked memory (RLIMIT_MEMLOCK) or CAP_IPC_LOCK, and -n
needs CAP_SYS_ADMIN. Root has them. The packets leave the machine.
After Ctrl-C or SIGTERM, the command accepts no further packets and waits for those already queued.
A second signal, at least half a second later, ends it immediately.
Exit codes: 0 every packet is accounted for, 1 failed (also: the device was removed or stalled, no
packet was sent, or the file was not read to its end), 2 bad usage, 3 a packet is unaccounted for,
77 a privilege or kernel feature is missing, 130 or 143 interrupted.
Examples:
  taut send eth1 flows.pcap.gz --timing capture --speed 2
  taut send eth1 --count 100000 --flows 8 --rate 100mbit --json";

/// Stall thresholds.
const STALLS: RangeInclusive<Time> = Time::ms(10)..=Time::ms(3_600_000);
/// Durations, up to 30 days.
const SEND_DURATIONS: RangeInclusive<Time> = Time::ms(1)..=Time::ms(30 * 86_400_000);
/// Frame sizes.
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
    fn loop_takes_an_optional_number() {
        assert_eq!(parse("veth0 a.pcap").unwrap().passes, None);
        let endless = parse("veth0 --loop a.pcap").unwrap();
        assert_eq!(
            (endless.passes, endless.file),
            (Some(0), Some("a.pcap".into()))
        );
        assert_eq!(parse("veth0 a.pcap --loop=7").unwrap().passes, Some(7));
    }

    #[test]
    fn errors_state_the_allowed_values() {
        let rejected = [
            ("veth0 --size 59", "60b to 65549b"),
            ("veth0 --flows 0", "1..=65535"),
            ("veth0 --rate 1", "1kbit to"),
            ("veth0 --dst-mac 02:00", "six bytes"),
            ("veth0 --dst-mac 0x:0:0:0:0:0", "six bytes"),
            ("veth0 --limit 12q", "allowed: off"),
            ("veth0 --stall-threshold 1ms", "10ms to 3600s"),
            ("veth0 --count 0", "1.."),
            ("veth0 --loop", "FILE"),
            ("veth0 a.pcap --size 100", "cannot be used with"),
            ("veth0 a.pcap --speed 0", "0.001 to 1000000"),
            ("veth0 a.pcap --speed NaN", "0.001 to 1000000"),
            ("", "DEV"),
        ];
        for (line, what) in rejected {
            let error = parse(line).map(|_| ()).unwrap_err();
            assert!(error.contains(what), "{line}: {error}");
        }
    }

    #[test]
    fn contradicting_times_are_rejected() {
        let pacing = |line: &str| parse(line).unwrap().pacing();
        assert_eq!(pacing("veth0"), Ok(Pacing::Unpaced));
        assert_eq!(pacing("veth0 --rate 1mbit"), Ok(Pacing::Rate(1_000_000)));
        let timed = "veth0 a.pcap --timing capture";
        assert_eq!(pacing(timed), Ok(Pacing::Capture(1.0)));
        assert_eq!(
            pacing(&format!("{timed} --speed 2.5")),
            Ok(Pacing::Capture(2.5))
        );
        for (line, what) in [
            ("veth0 a.pcap --speed 2", "needs --timing capture"),
            ("veth0 --timing capture", "needs a FILE"),
            (&format!("{timed} --rate 1mbit"), "--rate cannot be used"),
        ] {
            assert!(pacing(line).unwrap_err().contains(what), "{line}");
        }
    }
}
