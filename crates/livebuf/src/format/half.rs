//! Numbers of sixteen bits: IEEE 754 binary16.

/// The value of a binary16, which binary64 holds exactly. A NaN keeps its sign and its bits.
pub(crate) const fn from_half(bits: u16) -> f64 {
    let sign = (bits as u64 >> 15) << 63;
    let (exponent, fraction) = (bits as u64 >> 10 & 0x1F, bits as u64 & 0x3FF);
    let magnitude = match exponent {
        // Below the least normal number: a multiple of 2⁻²⁴.
        0 => (fraction as f64 / (1 << 24) as f64).to_bits(),
        0x1F => 0x7FF << 52 | fraction << 42,
        _ => (exponent + 1023 - 15) << 52 | fraction << 42,
    };
    f64::from_bits(sign | magnitude)
}

/// The nearest binary16, of two equally near ones the even. A NaN stays one.
pub(crate) fn to_half(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    let magnitude = bits & !(1 << 63);
    sign | match f64::from_bits(magnitude) {
        value if value.is_nan() => 0x7E00 | (bits >> 42 & 0x3FF) as u16,
        // Such a sum is a multiple of 2⁻²⁴, the step of numbers below the least normal one.
        value if value < 1.0 / (1 << 14) as f64 => {
            let base = (1 << 28) as f64;
            ((value + base).to_bits() - base.to_bits()) as u16
        }
        value if value < 65520.0 => {
            // Half a step less one; and one more where the last bit is odd.
            let rounded = magnitude + ((1 << 41) - 1) + (magnitude >> 42 & 1);
            ((rounded >> 42) - ((1023 - 15) << 10)) as u16
        }
        _ => 0x7C00,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn all_numbers_are_those_of_the_half_crate() {
        for bits in 0..=u16::MAX {
            let (value, expected) = (from_half(bits), f16::from_bits(bits));
            if expected.is_nan() {
                assert!(value.is_nan());
                assert_eq!(value.is_sign_negative(), expected.is_sign_negative());
                assert_eq!(to_half(value), bits | 0x200);
            } else {
                assert_eq!(value.to_bits(), f64::from(expected).to_bits());
                assert_eq!(to_half(value), bits);
            }
        }
    }

    #[test]
    fn numbers_of_32_bits_are_rounded_as_by_the_half_crate() {
        for bits in (0..=u32::MAX).step_by(997) {
            let value = f32::from_bits(bits);
            if !value.is_nan() {
                assert_eq!(to_half(value.into()), f16::from_f32(value).to_bits(), "{value:e}");
            }
        }
    }

    /// The crate looks at the upper half of a number of 64 bits only.
    #[test]
    fn other_numbers_go_to_the_nearest() {
        for bits in 0..0x7BFF {
            let (below, above) = (from_half(bits), from_half(bits + 1));
            let middle = (below + above) / 2.0;
            for sign in [1.0, -1.0] {
                let negative = if sign < 0.0 { 0x8000 } else { 0 };
                let half = |value: f64| to_half(sign * value) - negative;
                assert_eq!(half(middle), bits + (bits & 1), "{middle:e}: even of two as near");
                assert_eq!(half(middle.next_down()), bits, "below {middle:e}");
                assert_eq!(half(middle.next_up()), bits + 1, "above {middle:e}");
                assert_eq!([half(below.next_up()), half(above.next_down())], [bits, bits + 1]);
            }
        }
        for (value, half) in [
            (65_519.999, 0x7BFF),
            (65_520.0, 0x7C00),
            (1e300, 0x7C00),
            (f64::INFINITY, 0x7C00),
            (1e-300, 0),
            (5e-324, 0),
        ] {
            assert_eq!([to_half(value), to_half(-value)], [half, half | 0x8000], "{value:e}");
        }
    }
}
