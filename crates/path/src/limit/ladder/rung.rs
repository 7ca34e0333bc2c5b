//! The candidates for a limit: eight to the octave, so that the next one is at most 12.5 % more.

/// Rungs up to 2^31.
#[cfg(test)]
const RUNGS: u32 = 232;

/// The highest rung that is not above `bytes`, for `bytes` below 2^31.
pub(crate) fn index(bytes: u32) -> u32 {
    debug_assert!(bytes <= i32::MAX as u32);
    if bytes < 8 {
        return bytes;
    }
    // The octave, and the three bits after the leading one.
    let octave = bytes.ilog2();
    let eighth = (bytes >> (octave - 3)) & 7;
    ((octave - 2) << 3) + eighth
}

/// The bytes of a rung, and 2^31 for the one after the last.
pub(crate) fn bytes(rung: u32) -> u32 {
    if rung < 8 {
        return rung;
    }
    let octave = (rung >> 3) + 2;
    (8 + (rung & 7)) << (octave - 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_between_its_rung_and_the_next() {
        let numbers = (0..31).flat_map(|bit| {
            let power = 1_u32 << bit;
            [
                power - 1,
                power,
                power + 1,
                power + power / 3,
                power + power / 8 * 7,
            ]
        });
        for number in numbers.chain([i32::MAX as u32]) {
            let rung = index(number);
            assert!(bytes(rung) <= number, "{number}");
            assert!(number < bytes(rung + 1), "{number}");
        }
    }

    #[test]
    fn rungs_rise_by_an_eighth_of_their_octave_up_to_2_to_the_31() {
        assert_eq!([0, 7, 8, 9, 16, 17].map(bytes), [0, 7, 8, 9, 16, 18]);
        for rung in 8..RUNGS {
            let (this, next) = (bytes(rung), bytes(rung + 1));
            assert!(this < next && (next - this) * 8 <= this, "rung {rung}");
        }
        assert_eq!(bytes(RUNGS), 1 << 31);
        assert_eq!(index(i32::MAX as u32), RUNGS - 1);
    }
}
