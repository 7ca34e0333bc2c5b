//! Compares the scoreboard in ranges with a literal implementation of RFC 6675, byte by byte.

use proptest::prelude::*;

use super::scoreboard::Scoreboard;

const MSS: u64 = 4;
const STREAM: usize = 120;

struct ByteByByte {
    sacked: [bool; STREAM],
    una: usize,
    high_rxt: usize,
}

impl ByteByByte {
    fn is_lost(&self, byte: usize) -> bool {
        let above = &self.sacked[byte + 1..];
        let bytes = above.iter().filter(|&&sacked| sacked).count() as u64;
        let ranges = above.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let ranges = ranges + usize::from(above.first() == Some(&true));
        ranges >= 3 || bytes > 2 * MSS
    }

    fn pipe_bytes(&self, nxt: usize) -> u64 {
        let on_the_way = |byte: &usize| !self.sacked[*byte];
        (self.una..nxt)
            .filter(on_the_way)
            .map(|byte| u64::from(!self.is_lost(byte)) + u64::from(byte < self.high_rxt))
            .sum()
    }

    fn next_gap(&self, nxt: usize) -> Option<usize> {
        (self.high_rxt..nxt).find(|&byte| !self.sacked[byte])
    }
}

#[derive(Clone, Debug)]
enum Step {
    Sack(usize, usize),
    Advance(usize),
    Resend(usize),
    Timeout,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..STREAM, 1..10_usize).prop_map(|(start, bytes)| Step::Sack(start, bytes)),
        2 => (1..30_usize).prop_map(Step::Advance),
        4 => (1..=MSS as usize).prop_map(Step::Resend),
        1 => Just(Step::Timeout),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn ranges_match_the_byte_by_byte_scoreboard(steps in prop::collection::vec(step(), 1..60)) {
        let mut bytes = ByteByByte { sacked: [false; STREAM], una: 0, high_rxt: 0 };
        let mut board = Scoreboard::default();
        let nxt = STREAM;
        for step in steps {
            match step {
                Step::Sack(start, length) => {
                    let (start, end) = (start.max(bytes.una), (start + length).min(nxt));
                    let is_new = |&byte: &usize| !bytes.sacked[byte];
                    let newly_sacked = (start..end).filter(is_new).count() as u64;
                    prop_assert_eq!(board.sack(start as u64, end as u64), newly_sacked);
                    (start..end).for_each(|byte| bytes.sacked[byte] = true);
                }
                Step::Advance(by) => {
                    bytes.una = (bytes.una + by).min(nxt);
                    bytes.high_rxt = bytes.high_rxt.max(bytes.una);
                    bytes.sacked[..bytes.una].fill(false);
                    board.advance(bytes.una as u64);
                }
                Step::Resend(length) => {
                    let Some(gap) = bytes.next_gap(nxt) else { continue };
                    let (start, end) = board.next_gap();
                    prop_assert_eq!(start, gap as u64);
                    let gap_end = (gap..nxt).find(|&byte| bytes.sacked[byte]);
                    prop_assert_eq!(end, gap_end.map(|byte| byte as u64));
                    let resent_to = (gap + length).min(gap_end.unwrap_or(nxt));
                    board.on_resent(resent_to as u64);
                    bytes.high_rxt = resent_to;
                }
                Step::Timeout => {
                    board.forget_resent(bytes.una as u64);
                    bytes.high_rxt = bytes.una;
                }
            }
            let lost_to = board.lost_to(bytes.una as u64, MSS);
            for byte in (bytes.una..nxt).filter(|&byte| !bytes.sacked[byte]) {
                prop_assert_eq!(bytes.is_lost(byte), (byte as u64) < lost_to, "{}", byte);
            }
            let pipe = board.pipe_bytes(bytes.una as u64, nxt as u64, lost_to);
            prop_assert_eq!(pipe, bytes.pipe_bytes(nxt));
            prop_assert_eq!(board.is_empty(), !bytes.sacked.contains(&true));
        }
    }
}
