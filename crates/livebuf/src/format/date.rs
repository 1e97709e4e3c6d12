//! Dates and times: counts of days and microseconds, and their text by RFC 3339.
//!
//! All are of the proleptic Gregorian calendar, of the years 0001 to 9999, without leap seconds.
//! So each has a text by RFC 3339, and a value in every language and database.

use crate::error::{Error, Result};
use core::fmt;
use core::str::FromStr;

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;
/// The days from 0001-01-01 to 9999-12-31, counted from 1970-01-01.
const DAYS: core::ops::RangeInclusive<i64> = -719_162..=2_932_896;

/// A date: days since 1970-01-01.
///
/// ```
/// use livebuf::{Date, json};
/// let date: Date = "2026-11-23".parse()?;
/// assert_eq!((date.days(), date.to_string()), (20_780, "2026-11-23".to_string()));
/// let doc = json!({"due": date});
/// assert_eq!(doc.get("due")?.unwrap().as_date()?, Some(date));
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i32);

/// A time of day: microseconds since midnight, less than a day.
///
/// ```
/// use livebuf::Time;
/// let time: Time = "08:30:00.25".parse()?;
/// assert_eq!(time.microseconds(), 30_600_250_000);
/// assert_eq!(time.to_string(), "08:30:00.250");
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// A date and time of day without a time zone: microseconds since 1970-01-01T00:00:00 of the
/// same, unknown, zone.
///
/// ```
/// use livebuf::DateTime;
/// let start: DateTime = "2026-11-23T08:30:00".parse()?;
/// assert_eq!((start.date().to_string(), start.time().to_string()),
///            ("2026-11-23".to_string(), "08:30:00".to_string()));
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(i64);

/// A moment: microseconds since 1970-01-01T00:00:00Z.
///
/// ```
/// use livebuf::Timestamp;
/// let moment: Timestamp = "2026-11-23T08:30:00+02:00".parse()?;
/// assert_eq!(moment.to_string(), "2026-11-23T06:30:00Z");
/// # Ok::<(), livebuf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Date {
    /// The date so many days after 1970-01-01; `None` outside of the years 0001 to 9999.
    pub const fn from_days(days: i32) -> Option<Date> {
        let fits = *DAYS.start() <= days as i64 && days as i64 <= *DAYS.end();
        if fits { Some(Date(days)) } else { None }
    }

    /// The date of a year, month (1 to 12) and day (1 to 31); `None` where there is none.
    ///
    /// ```
    /// use livebuf::Date;
    /// assert_eq!(Date::from_ymd(2024, 2, 29).unwrap().ymd(), (2024, 2, 29));
    /// assert_eq!(Date::from_ymd(2026, 2, 29), None);
    /// ```
    pub fn from_ymd(year: i32, month: u32, day: u32) -> Option<Date> {
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        // Years begin in March, so a leap day is a year's last. Counts are by eras of 400 years:
        // H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
        let shifted = year - i32::from(month <= 2);
        let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
        let of_year =
            (153 * (month as i32 + if month > 2 { -3 } else { 9 }) + 2) / 5 + day as i32 - 1;
        let date = Date::from_days(
            era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468,
        )?;
        // A day that the month has not is one of the next month.
        (date.ymd() == (year, month, day)).then_some(date)
    }

    /// Days since 1970-01-01.
    pub const fn days(self) -> i32 {
        self.0
    }

    /// Year, month (1 to 12) and day (1 to 31).
    pub const fn ymd(self) -> (i32, u32, u32) {
        // `civil_from_days` of the same paper.
        let days = self.0 + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        (year + era * 400 + (month <= 2) as i32, month as u32, day as u32)
    }
}

impl Time {
    /// The time so many microseconds after midnight; `None` where that is not in a day.
    pub const fn from_microseconds(microseconds: i64) -> Option<Time> {
        let fits = 0 <= microseconds && microseconds < DAY;
        if fits { Some(Time(microseconds)) } else { None }
    }

    /// Microseconds since midnight.
    pub const fn microseconds(self) -> i64 {
        self.0
    }

    /// Hour, minute, second and microsecond.
    pub const fn hms(self) -> (u32, u32, u32, u32) {
        let seconds = self.0 / 1_000_000;
        let (minutes, second) = (seconds / 60, seconds % 60);
        let (hour, minute) = (minutes / 60, minutes % 60);
        (hour as u32, minute as u32, second as u32, (self.0 % 1_000_000) as u32)
    }
}

/// Whether these microseconds since 1970 lie in the years 0001 to 9999.
const fn is_in_years(microseconds: i64) -> bool {
    *DAYS.start() * DAY <= microseconds && microseconds < (*DAYS.end() + 1) * DAY
}

impl DateTime {
    /// So many microseconds after 1970-01-01T00:00:00; `None` outside of the years 0001 to 9999.
    pub const fn from_microseconds(microseconds: i64) -> Option<DateTime> {
        if is_in_years(microseconds) { Some(DateTime(microseconds)) } else { None }
    }

    /// A date and a time of day together.
    pub const fn new(date: Date, time: Time) -> DateTime {
        DateTime(date.0 as i64 * DAY + time.0)
    }

    /// Microseconds since 1970-01-01T00:00:00.
    pub const fn microseconds(self) -> i64 {
        self.0
    }

    /// The date.
    pub const fn date(self) -> Date {
        Date(self.0.div_euclid(DAY) as i32)
    }

    /// The time of day.
    pub const fn time(self) -> Time {
        Time(self.0.rem_euclid(DAY))
    }
}

impl Timestamp {
    /// The moment so many microseconds after 1970-01-01T00:00:00Z; `None` outside of the years
    /// 0001 to 9999.
    pub const fn from_microseconds(microseconds: i64) -> Option<Timestamp> {
        if is_in_years(microseconds) { Some(Timestamp(microseconds)) } else { None }
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    pub const fn microseconds(self) -> i64 {
        self.0
    }

    /// Date and time of day in UTC.
    pub const fn utc(self) -> DateTime {
        DateTime(self.0)
    }
}

/// By RFC 3339: `2026-11-23`.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.ymd();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// By RFC 3339: `08:30:00`, with three or six digits of a second's fraction where it has one.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second, microsecond) = self.hms();
        write!(f, "{hour:02}:{minute:02}:{second:02}")?;
        match (microsecond, microsecond % 1000) {
            (0, _) => Ok(()),
            (_, 0) => write!(f, ".{:03}", microsecond / 1000),
            _ => write!(f, ".{microsecond:06}"),
        }
    }
}

/// By RFC 3339, without its offset: `2026-11-23T08:30:00`.
impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.date(), self.time())
    }
}

/// By RFC 3339, in UTC: `2026-11-23T08:30:00Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Z", self.utc())
    }
}

// --- reading text -----------------------------------------------------------

/// The number that exactly these digits are.
fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |value: u32, digit| {
        digit.is_ascii_digit().then(|| 10 * value + u32::from(digit - b'0'))
    })
}

fn date(text: &[u8]) -> Option<Date> {
    match text {
        [year @ .., b'-', m1, m2, b'-', d1, d2] if year.len() == 4 => {
            Date::from_ymd(digits(year)? as i32, digits(&[*m1, *m2])?, digits(&[*d1, *d2])?)
        }
        _ => None,
    }
}

fn time(text: &[u8]) -> Option<Time> {
    let (clock, fraction) = text.split_at_checked(8)?;
    let [h1, h2, b':', m1, m2, b':', s1, s2] = *clock else { return None };
    let (hour, minute, second) = (digits(&[h1, h2])?, digits(&[m1, m2])?, digits(&[s1, s2])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction = match fraction {
        [] => 0,
        [b'.', rest @ ..] if (1..=6).contains(&rest.len()) => {
            digits(rest)? * 10u32.pow(6 - rest.len() as u32)
        }
        _ => return None,
    };
    let seconds = i64::from(3600 * hour + 60 * minute + second);
    Time::from_microseconds(seconds * 1_000_000 + i64::from(fraction))
}

fn date_time(text: &[u8]) -> Option<DateTime> {
    let (day, clock) = text.split_at_checked(10)?;
    Some(DateTime::new(date(day)?, time(clock.strip_prefix(b"T")?)?))
}

fn timestamp(text: &[u8]) -> Option<Timestamp> {
    if let Some(text) = text.strip_suffix(b"Z") {
        return date_time(text).map(|utc| Timestamp(utc.0));
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let [sign, h1, h2, b':', m1, m2] = *offset else { return None };
    let (hour, minute) = (digits(&[h1, h2])?, digits(&[m1, m2])?);
    if hour > 23 || minute > 59 {
        return None;
    }
    let offset = i64::from(3600 * hour + 60 * minute) * 1_000_000;
    let local = date_time(local)?.0;
    match sign {
        b'+' => Timestamp::from_microseconds(local - offset),
        b'-' => Timestamp::from_microseconds(local + offset),
        _ => None,
    }
}

macro_rules! from_text {
    ($($(#[doc = $doc:literal])+ $type:ident by $function:ident;)+) => {
        $(
            $(#[doc = $doc])+
            impl FromStr for $type {
                type Err = Error;

                fn from_str(text: &str) -> Result<$type> {
                    $function(text.as_bytes()).ok_or(Error::bad_value())
                }
            }
        )+
    };
}
from_text! {
    /// A `full-date` of RFC 3339.
    ///
    /// # Errors
    /// [`BadValue`](crate::ErrorKind::BadValue).
    Date by date;
    /// A `partial-time` of RFC 3339 with at most six digits of a second's fraction.
    ///
    /// # Errors
    /// [`BadValue`](crate::ErrorKind::BadValue).
    Time by time;
    /// A `date-time` of RFC 3339 without its offset, with `T`, and at most six digits of a
    /// second's fraction.
    ///
    /// # Errors
    /// [`BadValue`](crate::ErrorKind::BadValue).
    DateTime by date_time;
    /// A `date-time` of RFC 3339 with `T`, `Z` or an offset, and at most six digits of a second's
    /// fraction. The offset is not kept.
    ///
    /// # Errors
    /// [`BadValue`](crate::ErrorKind::BadValue).
    Timestamp by timestamp;
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// Each day follows the one before, and is found again by its parts and by its text.
    #[test]
    fn every_day_has_its_date() {
        let (mut year, mut month, mut day) = (1, 1, 1);
        for days in DAYS {
            let date = Date::from_days(days as i32).unwrap();
            assert_eq!(date.ymd(), (year, month, day));
            assert_eq!(Date::from_ymd(year, month, day), Some(date));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + u32::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, day) if day == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
        assert_eq!(year, 10_000);
        assert_eq!(Date::from_days(0).unwrap().to_string(), "1970-01-01");
        assert_eq!(Date::from_days(-719_163), None);
        assert_eq!(Date::from_days(2_932_897), None);
    }

    #[test]
    fn bounds_are_those_of_the_years() {
        for (text, microseconds) in [
            ("0001-01-01T00:00:00Z", -719_162 * DAY),
            ("9999-12-31T23:59:59.999999Z", 2_932_897 * DAY - 1),
            ("1969-12-31T23:59:59.999999Z", -1),
        ] {
            let moment: Timestamp = text.parse().unwrap();
            assert_eq!((moment.microseconds(), &*moment.to_string()), (microseconds, text));
        }
        for beyond in [-719_162 * DAY - 1, 2_932_897 * DAY, i64::MIN, i64::MAX] {
            assert_eq!(Timestamp::from_microseconds(beyond), None);
            assert_eq!(DateTime::from_microseconds(beyond), None);
        }
        assert_eq!((Time::from_microseconds(-1), Time::from_microseconds(DAY)), (None, None));
    }

    fn refuses<T: FromStr>(texts: &[&str]) {
        for text in texts {
            assert!(text.parse::<T>().is_err(), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        refuses::<Date>(&["", "2026-1-01", "2026-02-29", "0000-01-01", "2026-13-01"]);
        refuses::<Date>(&["2026-11-2é", "+026-01-01"]);
        refuses::<Time>(&["24:00:00", "08:60:00", "23:59:60", "8:30:00", "08:30", "08:30:00."]);
        refuses::<Time>(&["08:30:00.1234567"]);
        refuses::<DateTime>(&["2026-11-23 08:30:00", "2026-11-23T08:30:00Z", "2026-11-23"]);
        refuses::<Timestamp>(&["2026-11-23T08:30:00", "2026-11-23T08:30:00+0200", "Z"]);
        refuses::<Timestamp>(&["0001-01-01T00:00:00+00:01", "é+00:00"]);
    }
}
