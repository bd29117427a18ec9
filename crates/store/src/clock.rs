//! The time, and whether the wall clock is reliable enough to delete data for its age.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Unix milliseconds.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A moment on both clocks: the wall clock, which may jump, and the steady clock, which never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time of the wall clock.
    pub wall: SystemTime,
    /// The time of the steady clock.
    pub steady: Instant,
}

impl Moment {
    /// The current moment.
    #[must_use]
    pub fn now() -> Self {
        Moment { wall: SystemTime::now(), steady: Instant::now() }
    }
}

/// A larger difference between the clocks is a jump. The wall clock is trusted after this long without a jump.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// Compares the two clocks at each call.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    state: Mutex<Option<State>>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    last: Moment,
    steady_since: Instant,
}

impl Clock {
    /// Reads both clocks. Returns true if they have agreed for an hour. The first call returns false.
    pub(crate) fn is_steady(&self, now: Moment) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let steady_since = match *state {
            Some(State { last, steady_since }) if !has_jumped(last, now) => steady_since,
            Some(_) | None => now.steady,
        };
        *state = Some(State { last: now, steady_since });
        now.steady.saturating_duration_since(steady_since) >= HOUR
    }
}

fn has_jumped(last: Moment, now: Moment) -> bool {
    let expected = now.steady.saturating_duration_since(last.steady);
    let off = match now.wall.duration_since(last.wall) {
        Ok(passed) => passed.abs_diff(expected),
        Err(back) => back.duration() + expected,
    };
    off > HOUR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_believed_after_an_hour_without_a_jump() {
        let (clock, start) = (Clock::default(), Moment::now());
        let at = |wall: i64, steady: u64| {
            let by = Duration::from_secs(wall.unsigned_abs() * 60);
            Moment {
                wall: if wall < 0 { start.wall - by } else { start.wall + by },
                steady: start.steady + Duration::from_secs(steady * 60),
            }
        };
        let ten_years = 10 * 365 * 24 * 60;
        for (wall, steady, expected) in [
            (0, 0, false),
            (30, 30, false),
            (61, 60, true),
            (ten_years, 70, false),
            (ten_years + 40, 110, false),
            (ten_years + 60, 130, true),
            (-90, 131, false),
            (0, 221, true),
        ] {
            assert_eq!(clock.is_steady(at(wall, steady)), expected, "{wall} {steady}");
        }
    }
}
