use super::{BudgetRules, Given, KEPT, LEASE, Ledger, Limit, OnExceed, Report, Share, Unheard};
use std::time::Duration;

fn rules(max: u64) -> BudgetRules {
    BudgetRules { max: Limit::from_config(max), on_exceed: OnExceed::Block, ..BudgetRules::DEFAULT }
}

/// A process: its share, and what it has reserved for calls that run.
#[derive(Default)]
struct Process {
    share: Share,
    calls: Vec<u64>,
    /// How often it was killed and begun anew.
    lives: u32,
}

impl Process {
    fn holder(&self, one: usize) -> String {
        format!("{one}.{}", self.lives)
    }
}

/// The time of a test behind this many others, in milliseconds.
fn after(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap() + 25
}

/// Numbers that look drawn, and are the same each time.
fn drawn(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[test]
fn req_budget_three_processes_never_spend_more_than_the_budget_though_some_are_killed() {
    for seed in 0..2_000_u64 {
        let mut state = seed;
        let max = 1 + drawn(&mut state, 400);
        let (rules, mut ledger) = (rules(max), Ledger::default());
        let mut all: [Process; 3] = Default::default();
        let (mut spent, mut told) = (0, 0);
        for step in 0..60 {
            let one = usize::try_from(drawn(&mut state, 3)).unwrap();
            let holder = all[one].holder(one);
            let Process { share, calls, lives } = &mut all[one];
            match drawn(&mut state, 8) {
                0 | 1 => {
                    let wanted = 1 + drawn(&mut state, 60);
                    if share.reserve(wanted) {
                        calls.push(wanted);
                    }
                }
                2 | 3 if !calls.is_empty() => {
                    // The answer takes more than was reserved for it.
                    let more = 1 + drawn(&mut state, 30);
                    if share.reserve(more) {
                        *calls.last_mut().unwrap() += more;
                    }
                }
                4 | 5 if !calls.is_empty() => {
                    let cap = calls.pop().unwrap();
                    let used = drawn(&mut state, cap + 1);
                    share.settle(cap, used);
                    spent += used;
                }
                6 if drawn(&mut state, 3) == 0 => {
                    // The process is killed; its successor reports its unreported spending.
                    ledger.end(&holder, share.unheard(), step);
                    (*share, *lives) = (Share::default(), *lives + 1);
                    calls.clear();
                }
                _ => {
                    let (wants, spare) = (drawn(&mut state, 80), drawn(&mut state, 20));
                    let report = share.begin(wants, spare);
                    let given = ledger.report(&rules, &holder, report, KEPT, step);
                    told += given.events.len();
                    // A report whose answer is lost is repeated.
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
        // In the end all spending is reported, once.
        for (one, process) in all.iter_mut().enumerate() {
            let holder = process.holder(one);
            let Process { share, calls, .. } = process;
            calls.drain(..).for_each(|cap| share.settle(cap, 0));
            while share.has_news() {
                let report = share.begin(0, 0);
                let given = ledger.report(&rules, &holder, report, KEPT, 60);
                told += given.events.len();
                share.heard(report, &given);
            }
        }
        assert_eq!(ledger.state().used, spent, "seed {seed}");
        assert!(told <= 2, "seed {seed}");
    }
}

#[test]
fn req_budget_a_slice_is_called_back_and_one_of_a_process_that_is_silent_stays_for_a_day() {
    let (rules, mut ledger) = (rules(100), Ledger::default());
    let report = |number, keeps, wants| Report { number, spent: 0, keeps, wants };
    let holds = |given: Given| (given.holds, given.others);
    assert_eq!(holds(ledger.report(&rules, "a", report(1, 0, 80), KEPT, 0)), (80, 0));
    assert_eq!(ledger.wanted_until(), 0);
    assert_eq!(holds(ledger.report(&rules, "b", report(1, 0, 60), KEPT, 10)), (20, 80));
    assert_eq!(ledger.wanted_until(), 1_510);
    assert_eq!(holds(ledger.report(&rules, "a", report(2, 30, 0), KEPT, 20)), (30, 20));
    assert_eq!(holds(ledger.report(&rules, "b", report(2, 20, 40), KEPT, 30)), (60, 30));
    let later = after(KEPT) - 10;
    assert_eq!(holds(ledger.report(&rules, "b", report(3, 60, 40), KEPT, later)), (70, 30));
    // The slice stays while no other holder needs it: its holder may come back, and its spending still fits.
    let later = after(KEPT) + 10;
    assert_eq!(holds(ledger.report(&rules, "b", report(4, 70, 0), KEPT, later)), (70, 30));
    let mut comes_back = ledger.clone();
    let late = Report { number: 3, spent: 30, keeps: 0, wants: 0 };
    assert_eq!(comes_back.report(&rules, "a", late, KEPT, later).used, 30);
    assert_eq!(holds(comes_back.report(&rules, "b", report(5, 70, 30), KEPT, later)), (70, 0));
    assert_eq!(holds(ledger.report(&rules, "b", report(5, 70, 30), KEPT, later)), (100, 0));
}

#[test]
fn req_budget_where_no_holder_can_be_cut_off_a_slice_is_free_after_its_lease() {
    let (rules, mut ledger) = (rules(100), Ledger::default());
    let report = Report { number: 1, spent: 0, keeps: 0, wants: 80 };
    let _all = ledger.report(&rules, "a", report, LEASE, 0);
    assert_eq!(ledger.report(&rules, "b", report, LEASE, after(LEASE) - 50).holds, 20);
    assert_eq!(
        ledger.report(&rules, "b", Report { number: 2, ..report }, LEASE, after(LEASE)).holds,
        80
    );
}

#[test]
fn req_budget_what_a_process_that_is_gone_held_is_free_and_what_it_spent_is_booked_once() {
    let rules = rules(100);
    for seed in 0..2_000_u64 {
        let mut state = seed;
        let (mut ledger, mut share) = (Ledger::default(), Share::default());
        let (mut spent, mut written) = (0, Unheard::default());
        for step in 0..drawn(&mut state, 20) {
            if share.reserve(5) {
                let used = drawn(&mut state, 6);
                share.settle(5, used);
                spent += used;
                written = share.unheard();
            }
            if drawn(&mut state, 3) > 0 {
                continue;
            }
            let report = share.begin(drawn(&mut state, 30), drawn(&mut state, 10));
            let given = ledger.report(&rules, "a", report, KEPT, step);
            if drawn(&mut state, 3) > 0 {
                let had = share.has_news();
                share.heard(report, &given);
                // A process that changed nothing writes nothing; otherwise the stored amount may be older, which is
                // good enough.
                if had && drawn(&mut state, 2) > 0 {
                    written = share.unheard();
                }
            }
        }
        // The process is killed. Its successor may be killed, too, so the report comes twice.
        for _ in 0..2 {
            ledger.end("a", written, 20);
            assert_eq!(ledger.state().used, spent, "seed {seed}");
        }
        let all = Report { number: 1, spent: 0, keeps: 0, wants: 100 };
        let given = ledger.report(&rules, "b", all, KEPT, 30);
        assert_eq!((given.holds, given.others), (100 - spent, 0), "seed {seed}");
    }
}

#[test]
fn adr_budget_a_report_that_is_made_again_is_booked_once() {
    let (rules, mut ledger) = (rules(100), Ledger::default());
    let mut share = Share::default();
    let report = share.begin(90, 0);
    share.heard(report, &ledger.report(&rules, "a", report, KEPT, 0));
    assert!(share.reserve(90));
    share.settle(90, 85);
    let report = share.begin(0, 0);
    let lost = ledger.report(&rules, "a", report, KEPT, 1);
    assert_eq!((lost.used, lost.events.len()), (85, 1));
    let again = share.begin(0, 0);
    let given = ledger.report(&rules, "a", again, KEPT, 2);
    assert_eq!((given.used, given.events.len()), (85, 0));
    share.heard(again, &given);
    assert_eq!((share.used(), share.idle(), share.has_news()), (85, 0, false));
}
