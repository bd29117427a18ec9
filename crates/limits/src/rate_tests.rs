use std::time::Duration;

use proptest::prelude::*;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn limits(requests: u64, tokens: u64) -> RateLimits {
    RateLimits {
        requests_per_minute: Limit::from_config(requests),
        tokens_per_minute: Limit::from_config(tokens),
    }
}

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn adr_rate_200_parallel_calls_against_60_per_minute_admit_exactly_60() {
    let (mut limiter, limits) = (RateLimiter::new(), limits(60, 0));
    let outcomes: Vec<_> = (0..200).map(|_| limiter.admit(&limits, 9, at(5_000))).collect();
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 60);
    let refusal = outcomes.into_iter().find_map(Result::err).expect("140 are refused");
    assert_eq!((refusal.unit, refusal.limit), (RateUnit::Requests, 60));
    assert_eq!(refusal.retry_after, MINUTE + at(100), "when the slot of this moment is gone");
    assert_eq!(
        refusal.to_string(),
        "the provider's limit of 60 requests per minute is reached, try again in 61 s"
    );
}

#[test]
fn adr_rate_tokens_are_reserved_before_the_call_and_settled_with_what_it_cost() {
    let (mut limiter, limits) = (RateLimiter::new(), limits(0, 1_000));
    let permit = limiter.admit(&limits, 900, at(0)).expect("the window is empty");
    let refusal = limiter.admit(&limits, 200, at(10)).expect_err("only 100 are left");
    assert_eq!(refusal.unit, RateUnit::Tokens);
    limiter.settle(permit, 300, at(20));
    assert_eq!(limiter.in_window(at(20)), (1, 300), "the rest is free at once");
    let permit = limiter.admit(&limits, 700, at(30)).expect("700 are free");
    limiter.settle(permit, 800, at(59_000));
    assert_eq!(limiter.in_window(at(60_099)), (2, 1_100));
    assert_eq!(limiter.in_window(at(60_100)), (0, 100), "the excess counts from when it was known");
}

#[test]
fn adr_rate_a_call_that_never_went_out_is_given_back_with_its_request() {
    let (mut limiter, limits) = (RateLimiter::new(), limits(1, 1_000));
    let permit = limiter.admit(&limits, 900, at(0)).expect("the window is empty");
    limiter.give_back(permit, at(10));
    assert_eq!(limiter.in_window(at(10)), (0, 0));
    assert!(limiter.admit(&limits, 1_000, at(20)).is_ok());
}

#[test]
fn adr_rate_a_call_larger_than_the_limit_waits_for_an_empty_window() {
    let (mut limiter, limits) = (RateLimiter::new(), limits(0, 1_000));
    let small = limiter.admit(&limits, 1, at(0)).expect("the window is empty");
    let refusal = limiter.admit(&limits, 5_000, at(0)).expect_err("the window is not empty");
    let permit = limiter.admit(&limits, 5_000, refusal.retry_after).expect("now it is");
    assert_eq!(limiter.in_window(refusal.retry_after), (1, 1_000), "it holds the whole window");
    limiter.settle(small, 1, refusal.retry_after);
    limiter.settle(permit, 4_000, refusal.retry_after);
    assert_eq!(limiter.in_window(refusal.retry_after), (1, 4_000));
}

#[test]
fn adr_rate_without_limits_nothing_is_kept() {
    let mut limiter = RateLimiter::new();
    for n in 0..1_000 {
        let permit = limiter.admit(&RateLimits::UNLIMITED, u64::MAX, at(n)).expect("no limit");
        limiter.settle(permit, u64::MAX, at(n));
    }
    assert_eq!(limiter.in_window(at(1_000)), (0, 0));
}

#[test]
fn adr_rate_a_clock_that_steps_back_neither_frees_nor_locks() {
    let (mut limiter, limits) = (RateLimiter::new(), limits(2, 0));
    let first = limiter.admit(&limits, 1, at(90_000)).expect("the window is empty");
    let second = limiter.admit(&limits, 1, at(1_000)).expect("one request is left");
    let refusal = limiter.admit(&limits, 1, at(2_000)).expect_err("both are used");
    assert_eq!(refusal.retry_after, MINUTE + at(100));
    limiter.settle(first, 1, at(0));
    limiter.settle(second, 1, at(0));
    assert_eq!(limiter.in_window(at(150_099)), (2, 2));
    assert_eq!(limiter.in_window(at(150_100)), (0, 0));
}

#[test]
fn adr_rate_the_refusal_names_the_limit_that_keeps_waiting_longest() {
    let (mut limiter, limits) = (RateLimiter::new(), limits(2, 1_000));
    let _first = limiter.admit(&limits, 10, at(0)).expect("the window is empty");
    let _second = limiter.admit(&limits, 990, at(30_000)).expect("990 are left");
    let refusal = limiter.admit(&limits, 500, at(31_000)).expect_err("both limits are reached");
    assert_eq!(refusal.unit, RateUnit::Tokens);
    assert_eq!(refusal.retry_after, at(30_000 + 100 + 60_000 - 31_000));
}

#[test]
fn adr_rate_a_call_counts_until_a_minute_after_it_can_have_arrived() {
    let (mut limiter, limits) = (RateLimiter::new(), limits(2, 0));
    let mut slow = limiter.admit(&limits, 1, at(0)).expect("the window is empty");
    let mut lost = limiter.admit(&limits, 1, at(0)).expect("one request is left");
    limiter.open(&mut slow, at(0));
    limiter.open(&mut lost, at(0));
    assert_eq!(limiter.in_window(at(200_000)), (2, 2), "nobody said when");
    // It went out, and is there two seconds later at most; its answer begins before that.
    limiter.stamp(&mut slow, at(202_000), at(200_000));
    limiter.stamp(&mut slow, at(201_000), at(201_000));
    limiter.stamp(&mut slow, at(201_900), at(201_900));
    // This one never went out.
    limiter.settle(lost, 0, at(230_000));
    assert_eq!(limiter.in_window(at(261_099)), (2, 1));
    assert_eq!(limiter.in_window(at(261_100)), (1, 0));
    assert_eq!(limiter.in_window(at(290_100)), (0, 0));
}

#[derive(Clone, Debug)]
enum Step {
    Admit(u64),
    Settle { used: u64 },
    GiveBack,
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let step = prop_oneof![
        3 => (0_u64..400).prop_map(Step::Admit),
        1 => (0_u64..400).prop_map(|used| Step::Settle { used }),
        1 => Just(Step::GiveBack),
    ];
    (0_u64..4_000, step)
}

proptest! {
    /// No window of a minute holds more calls or tokens than allowed, regardless of settled and returned calls.
    #[test]
    fn limits_hold_over_any_window(
        steps in proptest::collection::vec(step(), 1..200),
        requests in 1_u64..12,
        tokens in 1_u64..1_500,
    ) {
        let limits = limits(requests, tokens);
        let mut limiter = RateLimiter::new();
        let (mut now, mut open, mut log) = (0, Vec::new(), Vec::<(u64, u64, u64)>::new());
        for (pause, step) in steps {
            now += pause;
            match step {
                Step::Admit(asked) => match limiter.admit(&limits, asked, at(now)) {
                    Ok(permit) => {
                        open.push((permit, log.len()));
                        log.push((now, 1, asked.min(tokens)));
                    }
                    Err(refusal) => {
                        let later = at(now) + refusal.retry_after;
                        prop_assert!(limiter.clone().admit(&limits, asked, later).is_ok());
                        let too_early = later - at(1);
                        prop_assert!(limiter.clone().admit(&limits, asked, too_early).is_err());
                    }
                },
                Step::Settle { used } if !open.is_empty() => {
                    let (permit, entry) = open.swap_remove(0);
                    let used = used.min(log[entry].2);
                    limiter.settle(permit, used, at(now));
                    log[entry].2 = used;
                }
                Step::GiveBack if !open.is_empty() => {
                    let (permit, entry) = open.swap_remove(0);
                    limiter.give_back(permit, at(now));
                    log[entry] = (log[entry].0, 0, 0);
                }
                Step::Settle { .. } | Step::GiveBack => {}
            }
            let window = || log.iter().filter(|(started, ..)| started + 60_000 > now);
            let in_window: (u64, u64) =
                (window().map(|entry| entry.1).sum(), window().map(|entry| entry.2).sum());
            prop_assert!(in_window.0 <= requests && in_window.1 <= tokens);
            let counted = limiter.in_window(at(now));
            prop_assert!(counted.0 >= in_window.0 && counted.1 >= in_window.1);
            prop_assert!(counted.0 <= requests && counted.1 <= tokens);
        }
    }

    /// However late calls go out, and arrive within two seconds of that: no minute at the provider has more than
    /// allowed.
    #[test]
    fn limits_hold_over_any_window_where_calls_arrive(
        steps in proptest::collection::vec((0_u64..6_000, 0_u64..4, 0_u64..2_000), 1..300),
        requests in 1_u64..8,
    ) {
        let limits = limits(requests, 0);
        let mut limiter = RateLimiter::new();
        let (mut now, mut arrived) = (0, Vec::<u64>::new());
        let (mut waiting, mut sent) = (Vec::new(), Vec::<(RatePermit, u64)>::new());
        for (pause, step, way) in steps {
            now += pause;
            match step {
                0 | 1 => if let Ok(mut permit) = limiter.admit(&limits, 0, at(now)) {
                    limiter.open(&mut permit, at(now));
                    waiting.push(permit);
                },
                2 => if let Some(mut permit) = waiting.pop() {
                    limiter.stamp(&mut permit, at(now + 2_000), at(now));
                    arrived.push(now + way);
                    sent.push((permit, now + way));
                },
                _ => if let Some((mut permit, there)) = sent.pop() {
                    if there <= now {
                        limiter.stamp(&mut permit, at(now), at(now));
                    }
                    limiter.settle(permit, 0, at(now));
                },
            }
        }
        arrived.sort_unstable();
        for (first, later) in arrived.iter().zip(arrived.iter().skip(usize::try_from(requests).unwrap())) {
            prop_assert!(later - first >= 60_000, "{} {}: {:?}", first, later, arrived);
        }
    }

    /// A call that is settled or given back twice, late or beyond its reservation never makes the window negative.
    #[test]
    fn a_refund_is_never_more_than_what_was_taken(steps in proptest::collection::vec(step(), 1..200)) {
        let limits = limits(1_000_000, 1_000_000);
        let mut limiter = RateLimiter::new();
        let (mut now, mut open) = (0, Vec::new());
        for (pause, step) in steps {
            now += pause * 20;
            match step {
                Step::Admit(asked) => {
                    open.push((limiter.admit(&limits, asked, at(now)).expect("far below"), asked));
                }
                Step::Settle { used } => if let Some((permit, _)) = open.pop() {
                    limiter.settle(permit, used, at(now));
                },
                Step::GiveBack => if let Some((permit, asked)) = open.pop() {
                    let before = limiter.in_window(at(now));
                    limiter.give_back(permit, at(now));
                    let after = limiter.in_window(at(now));
                    prop_assert!(before.0 - after.0 <= 1 && before.1 - after.1 <= asked);
                },
            }
        }
        now += 60_100;
        prop_assert_eq!(limiter.in_window(at(now)), (0, 0), "nothing is left behind");
    }
}
