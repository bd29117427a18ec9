use std::time::Duration;

use proptest::prelude::*;

use super::{Limit, Places, RateGiven, RateLedger, RateLimits, RatePermit, RateReport, RateShare};

fn limits(requests: u64, tokens: u64) -> RateLimits {
    RateLimits {
        requests_per_minute: Limit::from_config(requests),
        tokens_per_minute: Limit::from_config(tokens),
    }
}

/// A gateway of the simulation. Its clock began at another time than the ledger's.
struct Gateway {
    share: RateShare,
    holder: String,
    offset: u64,
    open: Vec<(RatePermit, usize)>,
    /// A report under way, its start, and the ledger's answer to it.
    asked: Option<(RateReport, Duration, Option<RateGiven>)>,
}

impl Gateway {
    fn new(name: usize, offset: u64) -> Self {
        let holder = name.to_string();
        Gateway { share: RateShare::default(), holder, offset, open: Vec::new(), asked: None }
    }

    fn at(&self, now: u64) -> Duration {
        Duration::from_millis(now + self.offset)
    }

    /// Asks the ledger and hears it at once.
    fn ask(
        &mut self,
        ledger: &mut RateLedger,
        limits: &RateLimits,
        needs: (Places, Places),
        now: u64,
    ) -> RateGiven {
        let at = self.at(now);
        let report = self.share.begin(limits, needs, at);
        let given = ledger.report(limits, &self.holder, report, now);
        self.share.heard(report, &given, at);
        given
    }
}

#[derive(Clone, Debug)]
enum Step {
    Take(u64),
    Settle(u64),
    Begin(u64),
    Reach,
    Hear,
    Lose,
    Kill,
}

fn step() -> impl Strategy<Value = (usize, u64, Step)> {
    let step = prop_oneof![
        6 => (0_u64..400).prop_map(Step::Take),
        2 => (0_u64..400).prop_map(Step::Settle),
        3 => (0_u64..900).prop_map(Step::Begin),
        3 => Just(Step::Reach),
        3 => Just(Step::Hear),
        1 => Just(Step::Lose),
        1 => Just(Step::Kill),
    ];
    // Mostly quick, and now and then longer than any lease.
    let pause = prop_oneof![8 => 0_u64..200, 3 => 0_u64..5_000, 1 => 0_u64..80_000];
    (0_usize..3, pause, step)
}

proptest! {
    /// No window of a minute has more calls or tokens of all gateways together than the limit, even if messages are
    /// lost or late, gateways are killed, and clocks differ.
    #[test]
    fn adr_rate_gateways_that_share_a_limit_keep_it_together_over_any_window(
        steps in proptest::collection::vec(step(), 1..400),
        requests in 1_u64..40,
        tokens in 0_u64..1_500,
    ) {
        let limits = limits(requests, tokens);
        let (mut ledger, mut names) = (RateLedger::default(), 3);
        let mut all: Vec<_> = (0..3).map(|one| Gateway::new(one, one as u64 * 7_777_777)).collect();
        let (mut now, mut log) = (0, Vec::<(u64, u64)>::new());
        for (one, pause, step) in steps {
            now += pause;
            let gateway = &mut all[one];
            let at = gateway.at(now);
            match step {
                Step::Take(asked) => {
                    if let Some(permit) = gateway.share.take(&limits, asked, at) {
                        gateway.open.push((permit, log.len()));
                        log.push((now, limits.one(asked).tokens));
                    }
                }
                Step::Settle(used) => if let Some((permit, entry)) = gateway.open.pop() {
                    let used = used.min(log[entry].1);
                    gateway.share.settle(permit, used, at);
                    log[entry].1 = used;
                },
                Step::Begin(needed) => {
                    let needs = limits.counted(Places { requests: needed / 100, tokens: needed });
                    let report = gateway.share.begin(&limits, (needs, limits.one(needed / 3)), at);
                    gateway.asked = Some((report, at, None));
                }
                // A report whose gateway has stopped waiting does not reach the ledger, because the ledger has
                // changed since.
                Step::Reach => {
                    if let Some((report, _, given @ None)) = &mut gateway.asked {
                        *given = Some(ledger.report(&limits, &gateway.holder, *report, now));
                    }
                }
                Step::Hear => if let Some((report, begun, Some(given))) = gateway.asked.take() {
                    gateway.share.heard(report, &given, begun);
                },
                Step::Lose => gateway.asked = None,
                Step::Kill => {
                    *gateway = Gateway::new(names, gateway.offset / 2);
                    names += 1;
                }
            }
            let window = || log.iter().filter(|(taken, _)| taken + 60_000 > now);
            prop_assert!(window().count() as u64 <= requests);
            let sum: u64 = window().map(|entry| entry.1).sum();
            prop_assert!(tokens == 0 || sum <= tokens, "{} of {}", sum, tokens);
            let again = RateLedger::read(&ledger.write());
            prop_assert_eq!(again.as_ref(), Some(&ledger));
        }
    }
}

const ONE: Places = Places { requests: 1, tokens: 0 };

/// Takes places while there are some. Besides, every gateway with news reports three times a second.
fn take_all(all: &mut [Gateway], ledger: &mut RateLedger, turns: &[usize], now: &mut u64) -> u64 {
    let (limits, mut taken) = (limits(60, 0), 0);
    for turn in turns {
        let until = *now + 1_000;
        loop {
            let one = &mut all[*turn];
            let is_taken = one.share.take(&limits, 0, one.at(*now)).is_some();
            taken += u64::from(is_taken);
            if is_taken {
                break;
            }
            let given = one.ask(ledger, &limits, (ONE, ONE), *now);
            if given.holds == Places::NONE && !given.may_come || *now > until {
                break;
            }
            let is_taken = one.share.take(&limits, 0, one.at(*now)).is_some();
            taken += u64::from(is_taken);
            if is_taken || !given.may_come {
                break;
            }
            *now += 50;
            if now.is_multiple_of(300) {
                for other in all.iter_mut() {
                    let at = other.at(*now);
                    if other.share.has_news(&limits, at) {
                        other.ask(ledger, &limits, (Places::NONE, Places::NONE), *now);
                    }
                }
            }
        }
    }
    taken
}

#[test]
fn adr_rate_what_is_free_is_had_by_whoever_asks_and_idle_places_come_back_within_a_second() {
    let hot: Vec<usize> = [vec![0; 50], vec![1; 50], vec![2; 20]].concat();
    let even: Vec<usize> = (0..200).map(|one| one % 3).collect();
    for turns in [hot, even] {
        let mut all: Vec<_> = (0..3).map(|one| Gateway::new(one, one as u64 * 999)).collect();
        let (mut ledger, mut now) = (RateLedger::default(), 0);
        assert_eq!(take_all(&mut all, &mut ledger, &turns, &mut now), 60);
        // A minute later all places are free, and every caller gets one within a second.
        let mut later = now + 61_000;
        assert_eq!(take_all(&mut all, &mut ledger, &turns, &mut later), 60);
    }
}

#[test]
fn adr_rate_places_of_a_gateway_that_is_killed_are_free_when_nobody_can_have_taken_them_in_a_minute()
 {
    let limits = limits(60, 0);
    let (mut ledger, mut first, mut second) =
        (RateLedger::default(), Gateway::new(1, 0), Gateway::new(2, 5));
    let all = Places { requests: 60, tokens: 0 };
    assert_eq!(first.ask(&mut ledger, &limits, (all, ONE), 1_000).holds, all);
    let given = second.ask(&mut ledger, &limits, (all, ONE), 71_999);
    assert_eq!((given.holds, given.is_shared, given.may_come), (Places::NONE, true, true));
    assert_eq!(given.frees_in, Some(Duration::from_millis(1)));
    assert_eq!(second.ask(&mut ledger, &limits, (all, ONE), 72_000).holds, all);
}

#[test]
fn adr_rate_a_piece_that_helps_no_call_is_left_to_others() {
    let limits = limits(0, 100);
    let tokens = |tokens| Places { requests: 0, tokens };
    let (mut ledger, mut first, mut second) =
        (RateLedger::default(), Gateway::new(1, 0), Gateway::new(2, 5));
    first.ask(&mut ledger, &limits, (tokens(40), tokens(40)), 0);
    let given = second.ask(&mut ledger, &limits, (tokens(80), tokens(80)), 10);
    assert_eq!((given.holds, given.may_come), (Places::NONE, true));
    let at = first.at(20);
    let refusal = second.share.refusal(&limits, 80, &given, at);
    assert_eq!((refusal.unit, refusal.limit), (super::RateUnit::Tokens, 100));
    // The first one learns that others wait, and keeps no spare places.
    let given = first.ask(&mut ledger, &limits, (Places::NONE, Places::NONE), 20);
    assert_eq!((given.holds, given.is_wanted), (Places::NONE, true));
    assert_eq!(second.ask(&mut ledger, &limits, (tokens(80), tokens(80)), 30).holds.tokens, 86);
}
