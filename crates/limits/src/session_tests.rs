use std::time::Duration;

use proptest::prelude::*;

use super::*;

const NOW: Duration = Duration::from_secs(1_000);

fn rules(max: u64, on_exceed: OnExceed) -> BudgetRules {
    BudgetRules { max: Limit::from_config(max), on_exceed, ..BudgetRules::DEFAULT }
}

/// Runs one call that spends what it asked for.
fn spend(budget: &mut SessionBudget, rules: &BudgetRules, tokens: u64) -> Vec<BudgetEvent> {
    let permit = budget.admit(rules, Ask::up_to(tokens), NOW).expect("the call is admitted");
    budget.settle(rules, permit, tokens)
}

fn names(events: &[BudgetEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

#[test]
fn adr_budget_defaults_are_500000_tokens_80_percent_and_warn() {
    let BudgetRules { max, warn_at, on_exceed } = BudgetRules::DEFAULT;
    assert_eq!(max.get(), Some(500_000));
    assert_eq!(Ok(warn_at), WarnAt::from_percent(80.0));
    assert_eq!(Ok(warn_at), WarnAt::from_fraction(0.8));
    assert_eq!(on_exceed, OnExceed::Warn);
}

#[test]
fn adr_budget_warning_once_at_threshold() {
    let (mut budget, rules) = (SessionBudget::new(), BudgetRules::DEFAULT);
    assert_eq!(spend(&mut budget, &rules, 399_999), []);
    let warning =
        BudgetEvent { kind: BudgetEventKind::Warning, used: 400_000, max: 500_000, percent: 80 };
    assert_eq!(spend(&mut budget, &rules, 1), [warning], "the threshold itself counts");
    assert_eq!(spend(&mut budget, &rules, 50_000), [], "once per session");
}

#[test]
fn adr_budget_exceeded_once_at_100_percent() {
    let (mut budget, rules) = (SessionBudget::new(), BudgetRules::DEFAULT);
    assert_eq!(names(&spend(&mut budget, &rules, 499_999)), ["reasoning_budget_warning"]);
    let exceeded =
        BudgetEvent { kind: BudgetEventKind::Exceeded, used: 500_000, max: 500_000, percent: 100 };
    assert_eq!(spend(&mut budget, &rules, 1), [exceeded], "the limit itself counts");
    assert_eq!(spend(&mut budget, &rules, 9_999), [], "once per session");
}

#[test]
fn adr_budget_jump_over_both_thresholds_reports_both() {
    let (mut budget, rules) = (SessionBudget::new(), BudgetRules::DEFAULT);
    let events = spend(&mut budget, &rules, 900_000);
    assert_eq!(names(&events), ["reasoning_budget_warning", "reasoning_budget_exceeded"]);
    assert_eq!(events.iter().map(|event| event.percent).collect::<Vec<_>>(), [180, 180]);
}

#[test]
fn adr_budget_zero_and_unlimited_mean_no_limit() {
    for max in [Limit::from_config(0), Limit::Unlimited] {
        let rules = BudgetRules { max, on_exceed: OnExceed::Block, ..BudgetRules::DEFAULT };
        let mut budget = SessionBudget::new();
        assert_eq!(spend(&mut budget, &rules, u64::MAX), []);
        assert_eq!(spend(&mut budget, &rules, u64::MAX), []);
    }
    assert_eq!(Limit::parse("unlimited"), Some(Limit::Unlimited));
    assert_eq!(Limit::parse("0"), Some(Limit::Unlimited));
    assert_eq!(Limit::parse("7").and_then(Limit::get), Some(7));
    assert_eq!(Limit::parse("-1"), None);
    assert_eq!(Limit::Unlimited.to_string(), "unlimited");
}

#[test]
fn adr_budget_survives_a_restart_without_repeating_events() {
    let (mut budget, rules) = (SessionBudget::new(), BudgetRules::DEFAULT);
    assert_eq!(spend(&mut budget, &rules, 450_000).len(), 1);
    let mut budget = SessionBudget::resume(budget.state());
    assert_eq!(budget.used(), 450_000);
    assert_eq!(spend(&mut budget, &rules, 10), []);
    assert_eq!(names(&spend(&mut budget, &rules, 50_000)), ["reasoning_budget_exceeded"]);
}

#[test]
fn adr_budget_a_raised_limit_has_thresholds_of_its_own() {
    let (mut budget, rules) = (SessionBudget::new(), rules(100, OnExceed::Block));
    assert_eq!(spend(&mut budget, &rules, 100).len(), 2);
    let raised = BudgetRules { max: Limit::from_config(1_000), ..rules };
    assert_eq!(names(&spend(&mut budget, &raised, 700)), ["reasoning_budget_warning"]);
    let lowered = BudgetRules { max: Limit::from_config(500), ..rules };
    let permit = budget.admit(&raised, Ask::up_to(1), NOW).expect("200 are left");
    assert_eq!(names(&budget.settle(&lowered, permit, 1)), ["reasoning_budget_exceeded"]);
}

#[test]
fn adr_budget_on_exceed_says_what_happens_to_the_next_call() {
    for on_exceed in OnExceed::ALL {
        let (mut budget, rules) = (SessionBudget::new(), rules(100, on_exceed));
        spend(&mut budget, &rules, 100);
        let next = budget.admit(&rules, Ask::up_to(10), NOW);
        if on_exceed == OnExceed::Block {
            let refusal = BudgetRefusal { used: 100, reserved: 0, max: 100 };
            assert_eq!(next, Err(refusal));
            assert_eq!(
                refusal.to_string(),
                "this session has spent 100 of its 100 reasoning tokens; start a new session or raise \
                 `reasoning_tokens_per_session`"
            );
            continue;
        }
        let permit = next.expect("only `block` refuses");
        assert_eq!(permit.exceeded(), Some(on_exceed));
        let cap = (on_exceed == OnExceed::DisableReasoning).then_some(0);
        assert_eq!(permit.cap(), cap);
    }
}

#[test]
fn on_exceed_words_are_those_of_the_configuration() {
    let words = OnExceed::ALL.map(OnExceed::as_str);
    assert_eq!(words, ["warn", "lower_effort", "disable_reasoning", "block"]);
    assert!(OnExceed::ALL.iter().all(|action| OnExceed::parse(action.as_str()) == Some(*action)));
    assert_eq!(OnExceed::parse("stop"), None);
}

#[test]
fn a_call_is_granted_what_is_left_if_that_is_of_use_to_it() {
    let (mut budget, rules) = (SessionBudget::new(), rules(1_000, OnExceed::Block));
    let first = budget.admit(&rules, Ask::up_to(600), NOW).expect("600 of 1000 are free");
    assert_eq!(first.cap(), None);
    let refused = budget.admit(&rules, Ask { wanted: 600, least: 500 }, NOW);
    assert_eq!(refused, Err(BudgetRefusal { used: 0, reserved: 600, max: 1_000 }));
    let second = budget.admit(&rules, Ask { wanted: 600, least: 400 }, NOW).expect("400 are left");
    assert_eq!(second.cap(), Some(400));
    assert!(budget.admit(&rules, Ask::up_to(1), NOW).is_err(), "all is reserved");
    assert_eq!(budget.settle(&rules, first, 0), [], "a failed call gives its reservation back");
    assert!(budget.admit(&rules, Ask::up_to(600), NOW).is_ok());
}

#[test]
fn a_reservation_that_nobody_settles_lapses_and_a_late_settlement_still_counts() {
    let (mut budget, rules) = (SessionBudget::new(), rules(100, OnExceed::Block));
    let lost = budget.admit(&rules, Ask::up_to(100), NOW).expect("all is free");
    let hour = Duration::from_secs(3600);
    assert!(budget.admit(&rules, Ask::up_to(1), NOW + hour - Duration::from_millis(1)).is_err());
    let next = budget.admit(&rules, Ask::up_to(60), NOW + hour).expect("the reservation lapsed");
    assert_eq!(budget.settle(&rules, lost, 30), []);
    assert_eq!(names(&budget.settle(&rules, next, 60)), ["reasoning_budget_warning"]);
    assert_eq!((budget.used(), budget.reserved_tokens()), (90, 0));
}

#[test]
fn warning_thresholds_outside_the_range_are_refused() {
    for wrong in [0.0, -0.1, 1.01, f64::NAN, f64::INFINITY] {
        assert!(WarnAt::from_fraction(wrong).is_err(), "{wrong}");
    }
    let error = WarnAt::from_percent(120.0).expect_err("more than the whole");
    assert_eq!(
        error.to_string(),
        "a warning threshold is above 0 and at most 100, and `120` is not"
    );
}

#[test]
fn adr_budget_is_asked_after_the_rate_limiter() {
    let limits = RateLimits {
        requests_per_minute: Limit::from_config(1),
        tokens_per_minute: Limit::Unlimited,
    };
    let rules = rules(10, OnExceed::Block);
    let (mut limiter, mut budget) = (RateLimiter::new(), SessionBudget::new());
    let call = Call { tokens: 50, reasoning: Ask::up_to(10) };
    let mut ask = || admit((&mut limiter, &limits), (&mut budget, &rules), call, NOW);

    let first = ask().expect("both agree");
    let both_exhausted = ask().expect_err("one request per minute");
    assert!(matches!(both_exhausted, Refusal::Rate(_)), "{both_exhausted}");

    limiter.give_back(first.rate, NOW);
    let mut ask = || admit((&mut limiter, &limits), (&mut budget, &rules), call, NOW);
    let refused = ask().expect_err("ten tokens are reserved");
    assert!(matches!(refused, Refusal::Budget(_)), "{refused}");
    assert_eq!(limiter.in_window(NOW), (0, 0), "a refused call leaves no trace");
    assert_eq!(budget.settle(&rules, first.budget, 0), []);
}

proptest! {
    /// Overlapping calls that keep their caps never lift the session above its budget, and no token is lost.
    #[test]
    fn calls_that_keep_their_caps_never_overshoot(
        max in 1_u64..2_000,
        steps in proptest::collection::vec((any::<bool>(), 0_u64..500, 0_u64..100, 0_u64..=100), 1..80),
    ) {
        let rules = rules(max, OnExceed::Block);
        let (mut budget, mut running, mut spent) = (SessionBudget::new(), Vec::new(), 0);
        for (starts, wanted, least, share) in steps {
            if starts || running.is_empty() {
                if let Ok(permit) = budget.admit(&rules, Ask { wanted, least: least.min(wanted) }, NOW) {
                    let cap = permit.cap().unwrap_or(wanted);
                    running.push((permit, cap));
                }
            } else {
                let (permit, cap) = running.swap_remove(running.len() / 2);
                let used = cap * share / 100;
                budget.settle(&rules, permit, used);
                spent += used;
            }
            let reserved: u64 = running.iter().map(|(_, cap)| cap).sum();
            prop_assert_eq!((budget.used(), budget.reserved_tokens()), (spent, reserved));
            prop_assert!(spent + reserved <= max);
        }
    }

    /// However the session gets there, each event is sent once, at or above its threshold, and in order.
    #[test]
    fn every_session_sends_each_event_once(
        calls in proptest::collection::vec(0_u64..300, 0..40),
        warn_at in 1_u64..=100,
    ) {
        let warn_at_percent = WarnAt::from_percent(warn_at as f64).expect("within range");
        let rules = BudgetRules { warn_at: warn_at_percent, ..rules(1_000, OnExceed::Warn) };
        let mut budget = SessionBudget::new();
        let events: Vec<_> = calls.iter().flat_map(|&tokens| spend(&mut budget, &rules, tokens)).collect();
        let used: u64 = calls.iter().sum();
        let mut expected = Vec::new();
        if used >= warn_at * 10 { expected.push("reasoning_budget_warning"); }
        if used >= 1_000 { expected.push("reasoning_budget_exceeded"); }
        prop_assert_eq!(names(&events), expected);
        for event in events {
            prop_assert!(event.percent >= warn_at);
            prop_assert_eq!(event.percent, event.used / 10);
        }
    }
}
