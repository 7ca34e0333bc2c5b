//! Bisection for the smallest sufficient amount of a quantity of which more is never worse.

/// Upper bound of the search: 2 s at 1 Gbit/s.
const MAX_BYTES: u32 = 1 << 28;

/// Start of the search: a few packets.
const FIRST_BYTES: u32 = 1 << 13;

/// Returns a sufficient amount at most `step` above an insufficient one. `too_low` must be
/// insufficient and `enough` sufficient.
///
/// # Errors
/// Returns the error of `is_enough`.
pub fn smallest_above<E>(
    mut too_low: u32,
    mut enough: u32,
    step: u32,
    mut is_enough: impl FnMut(u32) -> Result<bool, E>,
) -> Result<u32, E> {
    while enough - too_low > step {
        let middle = too_low + (enough - too_low) / 2;
        if is_enough(middle)? {
            enough = middle;
        } else {
            too_low = middle;
        }
    }
    Ok(enough)
}

/// Returns the smallest multiple of `step` that is sufficient as a limit; `None` if none is.
///
/// # Errors
/// Returns the error of `is_enough`.
pub fn smallest_multiple<E>(
    step: u32,
    mut is_enough: impl FnMut(u32) -> Result<bool, E>,
) -> Result<Option<u32>, E> {
    // A limit of 0 lets one object pass.
    if is_enough(0)? {
        return Ok(Some(0));
    }
    let (mut too_low, mut enough) = (0, FIRST_BYTES.div_ceil(step));
    while !is_enough(enough * step)? {
        if enough * step >= MAX_BYTES {
            return Ok(None);
        }
        too_low = enough;
        enough *= 2;
    }
    let steps = smallest_above(too_low, enough, 1, |steps| is_enough(steps * step))?;
    Ok(Some(steps * step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_multiple_is_found_for_any_threshold() {
        for smallest in [0, 1, 99, 8_192, 8_193, 1_000_000] {
            let found = smallest_multiple(100, |bytes| Ok::<_, ()>(bytes >= smallest));
            assert_eq!(
                found,
                Ok(Some(smallest.next_multiple_of(100))),
                "{smallest}"
            );
        }
        assert_eq!(smallest_multiple(100, |_| Ok::<_, ()>(false)), Ok(None));
        assert_eq!(smallest_multiple(100, Err), Err(0));
    }
}
