//! Schoolbook arithmetic on decimal digits: slow, and without overflow.

/// A decimal number.
pub struct Decimal {
    /// Least significant first.
    digits: Vec<u8>,
    decimals: usize,
}

impl Decimal {
    pub fn new(whole: &str, decimals: &str) -> Self {
        let text = whole.bytes().chain(decimals.bytes()).rev();
        Self {
            digits: text.map(|byte| byte - b'0').collect(),
            decimals: decimals.len(),
        }
    }

    pub fn times(mut self, factor: u64) -> Self {
        let mut carry = 0u128;
        for digit in &mut self.digits {
            carry += u128::from(*digit) * u128::from(factor);
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        while carry > 0 {
            self.digits.push((carry % 10) as u8);
            carry /= 10;
        }
        self
    }

    /// Returns the number over `divisor`, if that is whole and in range.
    pub fn whole_over(self, divisor: u32) -> Option<u64> {
        let Self { digits, decimals } = match divisor {
            1 => self,
            // 1/8 is 0.125.
            8 => Self {
                decimals: self.decimals + 3,
                ..self.times(125)
            },
            _ => panic!("no suffix divides by {divisor}"),
        };
        let (fraction, whole) = digits.split_at(decimals.min(digits.len()));
        if fraction.iter().any(|&digit| digit != 0) {
            return None;
        }
        whole.iter().rev().try_fold(0u64, |value, &digit| {
            value.checked_mul(10)?.checked_add(digit.into())
        })
    }
}
