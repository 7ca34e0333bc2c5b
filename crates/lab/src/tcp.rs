//! TCP settings and counters of a namespace.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};

use anyhow::Context;
use taut_linux::NetNs;

/// Connections request ECN and accept it.
const ECN_ALWAYS: &[u8] = b"1";

const ECN_SETTING: &str = "/proc/sys/net/ipv4/tcp_ecn";

/// Counters of the namespace of the calling thread; `/proc/net` is that of the process.
const COUNTERS: &str = "/proc/thread-self/net/snmp";

/// Lets new connections of `ns` use ECN.
pub fn negotiate_ecn(ns: &NetNs) -> anyhow::Result<()> {
    ns.run(|| {
        let mut setting = OpenOptions::new().write(true).open(ECN_SETTING)?;
        setting.write_all(ECN_ALWAYS)
    })?
    .with_context(|| format!("write {ECN_SETTING}, for a discipline with ECN"))
}

/// Returns the number of segments that the TCP of `ns` retransmitted.
pub fn retransmits(ns: &NetNs) -> io::Result<u64> {
    let text = ns.run(|| fs::read_to_string(COUNTERS))??;
    counter(&text, "Tcp:", "RetransSegs").ok_or_else(|| {
        let what = format!("{COUNTERS} has no RetransSegs among its Tcp counters");
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}

/// Returns a counter of `/proc/net/snmp`. Each group has a line of names and a line of values.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|word| word == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_has_group_and_name() {
        let text = "Ip: Forwarding RetransSegs\nIp: 1 2\n\
                    Tcp: MaxConn InSegs RetransSegs InErrs\nTcp: -1 70 8 0\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), Some(8));
        assert_eq!(counter(text, "Ip:", "RetransSegs"), Some(2));
        assert_eq!(counter(text, "Tcp:", "MaxConn"), None);
        assert_eq!(counter(text, "Udp:", "InSegs"), None);
        assert_eq!(counter("Tcp: InSegs\n", "Tcp:", "InSegs"), None);
    }
}
