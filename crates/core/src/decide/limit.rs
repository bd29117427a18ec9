//! Applies a limit (`max_restore_tokens`) to the restored thoughts.

use super::records::Opened;
use crate::contract::Contract;
use crate::decision::{Action, Decision, Why};
use crate::restore::Step;

/// The name of the setting with the limit.
pub(super) const SETTING: &str = "max_restore_tokens";

/// The data about a restored thought that the limit needs.
#[derive(Clone, Copy, Debug)]
struct Restored {
    /// The answer that it belongs to.
    index: usize,
    tokens: u64,
    /// The contract does without it.
    may_go: bool,
}

/// Leaves restored thoughts beyond `most` tokens out, the oldest first. Thoughts that the contract demands stay.
pub(super) fn limit(
    answers: &mut [Decision],
    steps: &[Step],
    opened: &[Opened],
    contract: &Contract,
    most: u64,
) {
    let mut restored = Vec::new();
    // If thoughts are bound to earlier thoughts, the client's own ones would lose those.
    let mut is_held = false;
    for (index, ((answer, step), opened)) in answers.iter().zip(steps).zip(opened).enumerate() {
        is_held |= contract.bound && answer.action == Action::Keep;
        if answer.action == Action::Restore {
            let is_demanded = contract.demands(step.is_current, step.turn_has_calls);
            let may_go = !is_held && !is_demanded;
            restored.push(Restored { index, tokens: opened.tokens(), may_go });
        }
    }
    let stays = first_that_stays(&restored, most);
    for thought in restored.into_iter().take(stays).filter(|thought| thought.may_go) {
        if let Some(answer) = answers.get_mut(thought.index) {
            answer.turns_to(Action::Drop(Why::OverLimit));
            answer.setting = SETTING;
        }
    }
}

/// The index of the first thought that stays. When a growing conversation passes the limit, half of the thoughts are
/// left out at once. So most requests begin as the request before did, which keeps providers' caches valid. A thought
/// that was left out stays out, because every request walks the same way from the first thought on.
fn first_that_stays(restored: &[Restored], most: u64) -> usize {
    let (mut first, mut sum) = (0, 0_u64);
    for (end, newest) in restored.iter().enumerate() {
        sum = sum.saturating_add(newest.tokens);
        if sum <= most {
            continue;
        }
        for thought in restored.get(first..end).unwrap_or_default() {
            if sum <= most / 2 {
                break;
            }
            if thought.may_go {
                sum = sum.saturating_sub(thought.tokens);
            }
            first += 1;
        }
    }
    // A thought that is more than the limit by itself does not go back either.
    match restored.last() {
        Some(newest) if sum > most && newest.may_go => restored.len(),
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thoughts(sizes: &[i64]) -> Vec<Restored> {
        let one = |(index, size): (usize, &i64)| Restored {
            index,
            tokens: size.unsigned_abs(),
            may_go: *size > 0,
        };
        sizes.iter().enumerate().map(one).collect()
    }

    #[test]
    fn half_goes_at_once_and_what_is_out_stays_out() {
        let sizes = [10_i64; 40];
        let mut before = 0;
        let mut changes = 0;
        for length in 1..=sizes.len() {
            let first = first_that_stays(&thoughts(&sizes[..length]), 100);
            assert!(first >= before, "{length}: {first} after {before}");
            assert!((length - first) * 10 <= 100, "{length}: {first}");
            changes += usize::from(first != before);
            before = first;
        }
        assert_eq!(changes, 5, "it changes once for many requests");
    }

    #[test]
    fn what_is_demanded_counts_and_stays() {
        // Those below 0 are demanded.
        assert_eq!(first_that_stays(&thoughts(&[10, 10, -90, 10]), 100), 2);
        assert_eq!(first_that_stays(&thoughts(&[-90, -90]), 100), 1, "none of them goes");
        assert_eq!(first_that_stays(&thoughts(&[10, 10]), 20), 0, "the limit itself fits");
        assert_eq!(first_that_stays(&thoughts(&[10, 101]), 100), 2, "too long by itself");
        assert_eq!(first_that_stays(&thoughts(&[]), 0), 0);
    }
}
