//! Laws of budgets and limits: bytes are a story of calls.

use std::time::Duration;

use thinkthrough_limits::{
    Ask, BudgetEventKind, BudgetRules, Limit, OnExceed, RateLimiter, RateLimits, SessionBudget,
};

/// No minute holds more calls or tokens than allowed, whatever happens to calls, and a refused call is right to wait.
pub(crate) fn rate_limits_hold(bytes: &[u8]) {
    let &[requests, tokens, ref story @ ..] = bytes else { return };
    let limits = RateLimits {
        requests_per_minute: Limit::from_config(u64::from(requests % 16)),
        tokens_per_minute: Limit::from_config(u64::from(tokens) * 4),
    };
    let most_requests = limits.requests_per_minute.get().unwrap_or(u64::MAX);
    let most_tokens = limits.tokens_per_minute.get().unwrap_or(u64::MAX);
    let mut limiter = RateLimiter::new();
    let (mut now, mut open, mut log) =
        (Duration::ZERO, Vec::new(), Vec::<(Duration, u64, u64)>::new());
    for step in story.chunks_exact(3) {
        let &[pause, kind, amount] = step else { continue };
        now += Duration::from_millis(u64::from(pause) * 37);
        let amount = u64::from(amount) * 3;
        if kind % 3 == 0 || open.is_empty() {
            match limiter.admit(&limits, amount, now) {
                Ok(permit) => {
                    open.push((permit, log.len()));
                    log.push((now, 1, amount.min(most_tokens)));
                }
                Err(refusal) => {
                    assert!(
                        limiter.clone().admit(&limits, amount, now + refusal.retry_after).is_ok()
                    );
                    let early = now + refusal.retry_after - Duration::from_millis(1);
                    assert!(limiter.clone().admit(&limits, amount, early).is_err());
                }
            }
        } else {
            let (permit, entry) = open.swap_remove(usize::from(kind) % open.len());
            if kind % 3 == 1 {
                log[entry].2 = amount.min(log[entry].2);
                limiter.settle(permit, log[entry].2, now);
            } else {
                (log[entry].1, log[entry].2) = (0, 0);
                limiter.give_back(permit, now);
            }
        }
        let window = || log.iter().filter(|entry| entry.0 + Duration::from_secs(60) > now);
        assert!(window().map(|entry| entry.1).sum::<u64>() <= most_requests);
        assert!(window().map(|entry| entry.2).sum::<u64>() <= most_tokens);
    }
}

/// Calls that keep their caps never spend more than the budget, and each threshold is reported once and in order.
pub(crate) fn session_budgets_hold(bytes: &[u8]) {
    let &[max, warn_at, on_exceed, ref story @ ..] = bytes else { return };
    let max = 1 + u64::from(max) * 8;
    let rules = BudgetRules {
        max: Limit::from_config(max),
        warn_at: thinkthrough_limits::WarnAt::from_percent(f64::from(1 + warn_at % 100))
            .expect("in range"),
        on_exceed: OnExceed::ALL[usize::from(on_exceed) % OnExceed::ALL.len()],
    };
    let mut budget = SessionBudget::new();
    let (mut open, mut kinds, mut spent) = (Vec::new(), Vec::new(), 0);
    for step in story.chunks_exact(3) {
        let &[kind, wanted, share] = step else { continue };
        let wanted = u64::from(wanted) * 5;
        if kind % 2 == 0 || open.is_empty() {
            let ask = Ask { wanted, least: (wanted / 4).max(1) };
            match budget.admit(&rules, ask, Duration::from_secs(1)) {
                Ok(permit) => {
                    let cap = permit.cap().unwrap_or(wanted);
                    open.push((permit, cap));
                }
                Err(refusal) => assert_eq!((rules.on_exceed, refusal.max), (OnExceed::Block, max)),
            }
        } else {
            let (permit, cap) = open.swap_remove(usize::from(kind) % open.len());
            let used = cap * u64::from(share) / 255;
            spent += used;
            for event in budget.settle(&rules, permit, used) {
                assert_eq!((event.used, event.max), (spent, max));
                kinds.push(event.kind);
            }
        }
        assert_eq!(budget.used(), spent);
        if rules.on_exceed == OnExceed::Block {
            assert!(spent + budget.reserved_tokens() <= max);
        }
    }
    assert_eq!(kinds.contains(&BudgetEventKind::Exceeded), spent >= max);
    let in_order = [BudgetEventKind::Warning, BudgetEventKind::Exceeded];
    assert_eq!(kinds, in_order[..kinds.len()]);
}
