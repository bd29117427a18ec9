use super::{BudgetRules, Given, KEPT, LEASE, Ledger, Limit, OnExceed, Report, Share};

fn rules(max: u64) -> BudgetRules {
    BudgetRules { max: Limit::from_config(max), on_exceed: OnExceed::Block, ..BudgetRules::DEFAULT }
}

/// A process: its share, and what it has reserved for calls that run.
#[derive(Default)]
struct Process {
    share: Share,
    calls: Vec<u64>,
}

/// Numbers that look drawn, and are the same each time.
fn drawn(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[test]
fn req_budget_three_processes_never_spend_more_than_the_budget_although_their_calls_grow() {
    for seed in 0..2_000_u64 {
        let mut state = seed;
        let max = 1 + drawn(&mut state, 400);
        let (rules, mut ledger) = (rules(max), Ledger::default());
        let mut all: [Process; 3] = Default::default();
        let (mut spent, mut told) = (0, 0);
        for step in 0..60 {
            let one = usize::try_from(drawn(&mut state, 3)).unwrap();
            let Process { share, calls } = &mut all[one];
            match drawn(&mut state, 4) {
                0 => {
                    let wanted = 1 + drawn(&mut state, 60);
                    if share.reserve(wanted) {
                        calls.push(wanted);
                    }
                }
                1 if !calls.is_empty() => {
                    // The answer takes more than was reserved for it.
                    let more = 1 + drawn(&mut state, 30);
                    if share.reserve(more) {
                        *calls.last_mut().unwrap() += more;
                    }
                }
                2 if !calls.is_empty() => {
                    let cap = calls.pop().unwrap();
                    let used = drawn(&mut state, cap + 1);
                    share.settle(cap, used);
                    spent += used;
                }
                _ => {
                    let (wants, spare) = (drawn(&mut state, 80), drawn(&mut state, 20));
                    let report = share.begin(wants, spare);
                    let given = ledger.report(&rules, &one.to_string(), report, step);
                    told += given.events.len();
                    // An answer that is lost is asked for again.
                    if drawn(&mut state, 4) > 0 {
                        share.heard(report, &given);
                    }
                }
            }
            let reserved: u64 = all.iter().flat_map(|process| &process.calls).sum();
            assert!(spent + reserved <= max, "seed {seed}, step {step}");
            let held: u64 = all.iter().map(|process| process.share.reserved()).sum();
            assert_eq!(held, reserved, "seed {seed}, step {step}");
            assert_eq!(Ledger::read(&ledger.write()).as_ref(), Some(&ledger));
        }
        // All is told in the end, once.
        for (one, Process { share, calls }) in all.iter_mut().enumerate() {
            calls.drain(..).for_each(|cap| share.settle(cap, 0));
            while share.has_news() {
                let report = share.begin(0, 0);
                let given = ledger.report(&rules, &one.to_string(), report, 60);
                told += given.events.len();
                share.heard(report, &given);
            }
        }
        assert_eq!(ledger.state().used, spent, "seed {seed}");
        assert!(told <= 2, "seed {seed}");
    }
}

#[test]
fn req_budget_a_slice_is_called_back_and_one_of_a_process_that_is_gone_is_free_after_its_lease() {
    let (rules, mut ledger) = (rules(100), Ledger::default());
    let report = |number, keeps, wants| Report { number, spent: 0, keeps, wants };
    let holds = |given: Given| (given.holds, given.others);
    assert_eq!(holds(ledger.report(&rules, "a", report(1, 0, 80), 0)), (80, 0));
    assert_eq!(ledger.wanted_until(), 0);
    assert_eq!(holds(ledger.report(&rules, "b", report(1, 0, 60), 10)), (20, 80));
    assert_eq!(ledger.wanted_until(), 1_510);
    assert_eq!(holds(ledger.report(&rules, "a", report(2, 30, 0), 20)), (30, 20));
    assert_eq!(holds(ledger.report(&rules, "b", report(2, 20, 40), 30)), (60, 30));
    let later = u64::try_from(LEASE.as_millis()).unwrap() + 25;
    let mut of_file = ledger.clone();
    assert_eq!(holds(ledger.report(&rules, "b", report(3, 60, 40), later)), (70, 30));
    of_file.free_silent(LEASE, later);
    assert_eq!(holds(of_file.report(&rules, "b", report(3, 60, 40), later)), (100, 0));
    // It stays while nobody needs it: its holder may come back, and what it spent fits.
    let later = later + u64::try_from(KEPT.as_millis()).unwrap();
    assert_eq!(holds(ledger.report(&rules, "b", report(4, 70, 0), later)), (70, 30));
    let mut comes_back = ledger.clone();
    let late = Report { number: 3, spent: 30, keeps: 0, wants: 0 };
    assert_eq!(comes_back.report(&rules, "a", late, later).used, 30);
    assert_eq!(holds(comes_back.report(&rules, "b", report(5, 70, 30), later)), (70, 0));
    assert_eq!(holds(ledger.report(&rules, "b", report(5, 70, 30), later)), (100, 0));
}

#[test]
fn adr_budget_a_report_that_is_made_again_is_booked_once() {
    let (rules, mut ledger) = (rules(100), Ledger::default());
    let mut share = Share::default();
    let report = share.begin(90, 0);
    share.heard(report, &ledger.report(&rules, "a", report, 0));
    assert!(share.reserve(90));
    share.settle(90, 85);
    let report = share.begin(0, 0);
    let lost = ledger.report(&rules, "a", report, 1);
    assert_eq!((lost.used, lost.events.len()), (85, 1));
    let again = share.begin(0, 0);
    let given = ledger.report(&rules, "a", again, 2);
    assert_eq!((given.used, given.events.len()), (85, 0));
    share.heard(again, &given);
    assert_eq!((share.used(), share.idle(), share.has_news()), (85, 0, false));
}
