//! Dates, times and decimals as text.
//!
//! ISO 8601 in its extended form, with as many digits behind the point as the unit has,
//! so that texts of one column order as the times do.

use std::fmt::Write;

use crate::schema::Unit;

const DAY: i64 = 86_400;

impl Unit {
    /// How many there are in a second, and the digits that count them.
    fn scale(self) -> (i64, usize) {
        match self {
            Unit::Second => (1, 0),
            Unit::Milli => (1_000, 3),
            Unit::Micro => (1_000_000, 6),
            Unit::Nano => (1_000_000_000, 9),
        }
    }
}

// Writing to a `String` cannot fail.
macro_rules! put {
    ($out:expr, $($format:tt)+) => { let _ = write!($out, $($format)+); };
}

fn put_fraction(out: &mut String, fraction: i64, digits: usize) {
    if digits > 0 {
        put!(out, ".{fraction:0digits$}");
    }
}

fn put_clock(out: &mut String, seconds: i64) {
    put!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

/// `1970-01-01`. Years beyond four digits have a sign and six digits at least.
pub(crate) fn date(out: &mut String, days: i64) {
    // Days to year, month and day by eras of 400 years that begin on the first of March
    // (Howard Hinnant, "chrono-compatible low-level date algorithms").
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + (month <= 2) as i64;
    if (0..=9999).contains(&year) {
        put!(out, "{year:04}");
    } else {
        put!(out, "{year:+07}");
    }
    put!(out, "-{month:02}-{day:02}");
}

/// `00:00:00.000`; `None` if it is not a time of day.
pub(crate) fn time(out: &mut String, value: i64, unit: Unit) -> Option<()> {
    let (scale, digits) = unit.scale();
    if !(0..DAY * scale).contains(&value) {
        return None;
    }
    put_clock(out, value / scale);
    put_fraction(out, value % scale, digits);
    Some(())
}

/// `1970-01-01T00:00:00.000`, followed by `Z` or an offset if there is a zone.
///
/// Zones that are offsets are shown as such; the time in others is that of UTC, which is
/// what Arrow stores, because their rules are not known here.
pub(crate) fn timestamp(out: &mut String, value: i64, unit: Unit, zone: &str) {
    let (scale, digits) = unit.scale();
    let offset = offset_of(zone);
    let seconds = value.div_euclid(scale);
    // No unit but whole seconds comes near the end of what 64 bits hold.
    let seconds = seconds.saturating_add(offset.unwrap_or(0) * 60);
    date(out, seconds.div_euclid(DAY));
    out.push('T');
    put_clock(out, seconds.rem_euclid(DAY));
    put_fraction(out, value.rem_euclid(scale), digits);
    match offset {
        _ if zone.is_empty() => {}
        None | Some(0) => out.push('Z'),
        Some(minutes) => {
            let sign = if minutes < 0 { '-' } else { '+' };
            let minutes = minutes.abs();
            put!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
        }
    }
}

/// Minutes of a zone such as `+01:30`.
fn offset_of(zone: &str) -> Option<i64> {
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let two = |text: &str, below: i64| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| digits && (0..below).contains(number))
    };
    Some(sign * (two(hours, 24)? * 60 + two(minutes, 60)?))
}

/// A number of digits only.
fn number(text: &str) -> Option<i64> {
    let are_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| are_digits)
}

/// Seconds, with at most nine digits behind the point, as nanoseconds.
fn parse_seconds(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let places = 9u32.checked_sub(u32::try_from(fraction.len()).ok()?)?;
    let fraction = number(fraction)?.checked_mul(10i64.pow(places))?;
    Some(i128::from(number(whole)?) * 1_000_000_000 + i128::from(fraction))
}

/// The days since 1970 of what [`date`] writes.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("-", rest) => (-1, rest),
        ("+", rest) => (1, rest),
        _ => (1, text),
    };
    let mut parts = rest.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if !(4..=9).contains(&year.len()) || month.len() != 2 || day.len() != 2 {
        return None;
    }
    let (year, month, day) = (sign * number(year)?, number(month)?, number(day)?);
    // The reverse of what `date` does.
    let shifted = year - i64::from(month <= 2);
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let mut again = String::new();
    date(&mut again, days);
    // A day that the month does not have reads back as another one.
    (again == text).then_some(days)
}

/// The nanoseconds since midnight of what [`time`] writes.
pub(crate) fn parse_time(text: &str) -> Option<i128> {
    let mut parts = text.splitn(3, ':');
    let (hours, minutes) = (number(parts.next()?)?, number(parts.next()?)?);
    let seconds = parse_seconds(parts.next()?)?;
    let is_time = hours < 24 && minutes < 60 && seconds < 60_000_000_000;
    is_time.then_some(i128::from(hours * 60 + minutes) * 60_000_000_000 + seconds)
}

/// The nanoseconds since 1970 of what [`timestamp`] writes, with a zone or without.
pub(crate) fn parse_timestamp(text: &str, has_zone: bool) -> Option<i128> {
    let (date, clock) = text.split_once('T')?;
    let end = clock.find(['Z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(end);
    let offset = match zone {
        "" | "Z" => 0,
        zone => offset_of(zone)?,
    };
    if zone.is_empty() == has_zone {
        return None;
    }
    let seconds = i128::from(parse_date(date)?) * i128::from(DAY) - i128::from(offset) * 60;
    Some(seconds * 1_000_000_000 + parse_time(clock)?)
}

/// The nanoseconds of what [`duration`] writes.
pub(crate) fn parse_duration(text: &str) -> Option<i128> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    Some(sign * parse_seconds(rest.strip_prefix("PT")?.strip_suffix('S')?)?)
}

/// `PT1.500S`, with a sign before it where it is negative.
pub(crate) fn duration(out: &mut String, value: i64, unit: Unit) {
    let (scale, digits) = unit.scale();
    if value < 0 {
        out.push('-');
    }
    let (value, scale) = (value.unsigned_abs(), scale as u64);
    put!(out, "PT{}", value / scale);
    put_fraction(out, (value % scale) as i64, digits);
    out.push('S');
}

/// `-1.50`: a JSON number with as many digits behind the point as the scale says.
pub(crate) fn decimal(out: &mut String, value: i128, scale: i32) {
    if value < 0 {
        out.push('-');
    }
    let digits = value.unsigned_abs().to_string();
    let places = scale.unsigned_abs() as usize;
    if scale <= 0 {
        out.push_str(&digits);
        if value != 0 {
            out.extend(std::iter::repeat_n('0', places));
        }
        return;
    }
    let whole = digits.len().saturating_sub(places);
    out.push_str(if whole == 0 { "0" } else { &digits[..whole] });
    put!(out, ".{:0>places$}", &digits[whole..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (19_782, "2024-02-29"),
            (-719_528, "0000-01-01"),
            (-719_529, "-000001-12-31"),
            (2_932_897, "+010000-01-01"),
        ] {
            assert_eq!(text(|out| date(out, days)), expected);
        }
        for days in [i64::from(i32::MIN), i64::from(i32::MAX), i64::MAX / DAY, i64::MIN / DAY] {
            text(|out| date(out, days));
        }
    }

    #[test]
    fn times() {
        let stamp = |value, unit, zone: &str| text(|out| timestamp(out, value, unit, zone));
        assert_eq!(stamp(-1, Unit::Milli, ""), "1969-12-31T23:59:59.999");
        assert_eq!(stamp(0, Unit::Second, "UTC"), "1970-01-01T00:00:00Z");
        assert_eq!(stamp(0, Unit::Micro, "+05:30"), "1970-01-01T05:30:00.000000+05:30");
        assert_eq!(stamp(0, Unit::Second, "-00:30"), "1969-12-31T23:30:00-00:30");
        assert_eq!(stamp(0, Unit::Second, "Europe/Rome"), "1970-01-01T00:00:00Z");
        assert_eq!(stamp(0, Unit::Second, "+é:00"), "1970-01-01T00:00:00Z");
        for unit in [Unit::Second, Unit::Milli, Unit::Micro, Unit::Nano] {
            for value in [i64::MIN, i64::MAX] {
                for zone in ["", "UTC", "+23:59", "-23:59"] {
                    stamp(value, unit, zone);
                }
                text(|out| duration(out, value, unit));
            }
        }
        assert_eq!(text(|out| duration(out, -1_500, Unit::Milli)), "-PT1.500S");
        assert_eq!(text(|out| duration(out, 3, Unit::Second)), "PT3S");
        let mut out = String::new();
        assert_eq!(time(&mut out, 86_399_000_001, Unit::Micro), Some(()));
        assert_eq!(out, "23:59:59.000001");
        assert_eq!(time(&mut out, 86_400, Unit::Second), None);
        assert_eq!(time(&mut out, -1, Unit::Second), None);
    }

    #[test]
    fn texts_read_back() {
        for unit in [Unit::Second, Unit::Milli, Unit::Micro, Unit::Nano] {
            let each = i128::from(1_000_000_000 / unit.per_second());
            for value in [0, 1, -1, 86_399, 1_700_000_000, -62_135_596_801, 253_402_300_800] {
                for zone in ["", "UTC", "+05:30", "-00:30"] {
                    let written = text(|out| timestamp(out, value, unit, zone));
                    let read = parse_timestamp(&written, !zone.is_empty());
                    assert_eq!(read, Some(i128::from(value) * each), "{written}");
                    assert_eq!(parse_timestamp(&written, zone.is_empty()), None);
                }
                let written = text(|out| duration(out, value, unit));
                assert_eq!(parse_duration(&written), Some(i128::from(value) * each), "{written}");
            }
            let written = text(|out| time(out, 86_399 * unit.per_second(), unit).unwrap());
            assert_eq!(parse_time(&written), Some(86_399_000_000_000));
        }
        for days in [0, -1, 59, 19_782, -719_529, 2_932_897, -1_000_000] {
            assert_eq!(parse_date(&text(|out| date(out, days))), Some(days));
        }
        for bad in ["", "2024-02-30", "2024-2-3", "x", "20240-01-01", "2024-01-01T", "é"] {
            assert_eq!(parse_date(bad), None, "{bad}");
            assert_eq!(parse_timestamp(bad, false), None, "{bad}");
            assert_eq!(parse_duration(bad), None, "{bad}");
            assert_eq!(parse_time(bad), None, "{bad}");
        }
    }

    #[test]
    fn decimals() {
        for (value, scale, expected) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (0, -2, "0"),
            (-5, 2, "-0.05"),
            (12_345, 2, "123.45"),
            (12, -2, "1200"),
            (i128::MIN, 0, "-170141183460469231731687303715884105728"),
        ] {
            assert_eq!(text(|out| decimal(out, value, scale)), expected);
        }
    }
}
