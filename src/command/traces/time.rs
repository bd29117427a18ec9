//! Points in time, as people write them.

use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

/// Unix milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time(u64);

impl Time {
    pub(super) fn millis(self) -> u64 {
        self.0
    }

    pub(super) fn now() -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        u64::try_from(now).unwrap_or(u64::MAX)
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let age = age(text).map(|age| Time::now().saturating_sub(age));
        age.or_else(|| date(text)).map(Time).ok_or_else(|| {
            "write an age (`30m`, `2h`, `7d`) or a date in UTC (`2026-11-23`, \
             `2026-11-23T08:30:00Z`)"
                .to_owned()
        })
    }
}

/// An age in milliseconds.
fn age(text: &str) -> Option<u64> {
    let (at, unit) = text.char_indices().last()?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        'w' => 7 * 24 * 60 * 60,
        _ => return None,
    };
    let number: u64 = text.get(..at)?.parse().ok()?;
    number.checked_mul(seconds)?.checked_mul(1000)
}

/// A date, or a date and a time, in UTC.
fn date(text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (day, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let [year, month, day] = numbers(day, '-')?;
    let [hour, minute, second] = match numbers(time, ':') {
        Some(parts) => parts,
        None => numbers(&format!("{time}:00"), ':')?,
    };
    let is_valid = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let years: u64 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let months: u64 = (1..month).map(|month| days_of(year, month)).sum();
    let days = years + months + day.checked_sub(1)?;
    is_valid.then(|| (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000)
}

/// Formats a point in time as [`date`] reads it, to the second. A time after the year 9999 is shown as the end of
/// that year.
pub(super) fn shown(millis: u64) -> String {
    let seconds = millis / 1000;
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (mut year, mut month) = (1970, 1);
    loop {
        let all = if is_leap(year) { 366 } else { 365 };
        if days < all || year == 9999 {
            break;
        }
        (days, year) = (days - all, year + 1);
    }
    while month < 12 && days >= days_of(year, month) {
        days -= days_of(year, month);
        month += 1;
    }
    let day = (days + 1).min(31);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let parts: Vec<u64> =
        text.split(between).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_utc() {
        for (text, millis) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29T12:30:15Z", Some(951_827_415_000)),
            ("2026-11-23", Some(1_795_392_000_000)),
            ("2026-11-23 08:30", Some(1_795_422_600_000)),
            ("2026-02-29", None),
            ("2026-13-01", None),
            ("2026-11-23T24:00:00Z", None),
            ("yesterday", None),
            ("", None),
            ("1-2", None),
        ] {
            assert_eq!(date(text), millis, "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_read_as_the_same_time() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2000-02-29T12:30:15Z",
            "2026-11-24T13:11:18Z",
            "2027-12-31T23:59:59Z",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(date(text).map(shown).as_deref(), Some(text));
        }
        assert!(shown(u64::MAX).starts_with("9999-12-31T"));
    }

    #[test]
    fn ages_count_back_from_now() {
        for (text, millis) in
            [("30s", Some(30_000)), ("2h", Some(7_200_000)), ("1w", Some(604_800_000)), ("2", None)]
        {
            assert_eq!(age(text), millis, "{text}");
        }
        assert_eq!(age(&format!("{}w", u64::MAX)), None);
        assert!(Time::now() - "1h".parse::<Time>().unwrap().millis() >= 3_600_000);
        assert!("soon".parse::<Time>().unwrap_err().contains("2h"));
    }
}
