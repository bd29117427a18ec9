//! The leases and the spending of a gateway at its end: no token is spent twice, and none stays
//! reserved.

use crate::place::Place;
use crate::postgres::Database;
use crate::pty::paced::Paced;
use crate::serve_budgets::{on_one_server, status, up_to};
use crate::serve_config::serve;
use crate::server::{PATIENCE, Server};
use crate::upstream::{Upstream, chat};
use rustix::process::Signal;
use std::time::{Duration, Instant};

const BUDGET: &str = "reasoning_tokens_per_key = 400, on_exceed = \"block\"";

/// This configuration, with a spool of its own.
fn spooled(config: &str, spool: &str) -> String {
    let store = format!("spool = \"{spool}\"\n[keys.alice]");
    config.replacen("[keys.alice]", &store, 1)
}

/// Asks for one token at a time until the status is not 200. Returns the number of accepted
/// requests, and the last answer.
fn spend(gateway: &Server) -> (u64, String) {
    let mut spent = 0;
    loop {
        let answer = up_to(gateway, "own/m", 1);
        if status(&answer) != 200 {
            return (spent, answer);
        }
        spent += 1;
    }
}

/// Repeats this until the budget is spent, because other gateways may hold leases at first.
fn spend_all(gateway: &Server) -> u64 {
    let (began, mut spent) = (Instant::now(), 0);
    loop {
        let (more, refused) = spend(gateway);
        spent += more;
        if status(&refused) == 402 {
            return spent;
        }
        assert!(began.elapsed() < PATIENCE, "{spent}: {refused}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn req_budget_that_a_killed_gateway_held_is_nobodys_until_it_is_there_again() {
    let Some(database) = Database::new() else { return };
    let (place, paced) = (Place::new("slices-killed"), Paced::start());
    let own = Upstream::start(vec![chat("hm", "ok", Some(1))]);
    let config = on_one_server(&place, &database, BUDGET, &own, &paced);
    let (first, second) =
        (serve(&place, &spooled(&config, "first")), serve(&place, &spooled(&config, "second")));
    std::thread::scope(|scope| {
        // Its answer does not come.
        scope.spawn(|| up_to(&first, "paced/m", 300));
        paced.asked(1);
        // It gives back the rest of its lease.
        std::thread::sleep(Duration::from_secs(2));
        first.signal(Signal::KILL);
    });
    // For the second gateway, the first one may only be cut off and still spend its lease. The
    // others have the rest.
    let (spent, refused) = spend(&second);
    assert_eq!((spent, status(&refused)), (100, 429), "{refused}");
    assert!(refused.contains("budget_reserved"), "{refused}");
    // A gateway with the same spool releases the lease of the killed one.
    drop(first);
    let _again = serve(&place, &spooled(&config, "first"));
    assert_eq!(spend_all(&second), 300);
}

#[test]
fn req_budget_that_was_spent_while_the_store_was_away_is_booked_however_the_gateway_ends() {
    for is_killed in [true, false] {
        let Some(database) = Database::new() else { return };
        let (place, paced) = (Place::new("slices-away"), Paced::start());
        let own = Upstream::start(vec![chat("hm", "ok", Some(1))]);
        let config = on_one_server(&place, &database, BUDGET, &own, &paced);
        let config = spooled(&config, "first");
        let gateway = serve(&place, &config);
        std::thread::scope(|scope| {
            // Thirty are reserved while the store goes away, and one is spent of them.
            let held = scope.spawn(|| up_to(&gateway, "paced/m", 30));
            paced.asked(1);
            database.shut();
            paced.think("aaaa");
            paced.say("ok");
            paced.end();
            assert_eq!(status(&held.join().unwrap()), 200);
        });
        std::thread::sleep(Duration::from_secs(2));
        assert!((0..20).all(|_| status(&up_to(&gateway, "own/m", 1)) == 200));
        if is_killed {
            gateway.signal(Signal::KILL);
            drop(gateway);
        } else {
            gateway.stop();
        }
        database.open();
        let gateway = serve(&place, &config);
        assert_eq!(spend_all(&gateway), 400 - 21, "{is_killed}");
    }
}

#[test]
fn req_budget_of_a_stream_that_a_kill_cuts_off_has_what_came_of_it() {
    let Some(database) = Database::new() else { return };
    let (place, paced) = (Place::new("slices-cut"), Paced::start());
    let own = Upstream::start(vec![chat("hm", "ok", Some(1))]);
    let budget = "reasoning_tokens_per_key = 4200, on_exceed = \"block\"";
    let config = spooled(&on_one_server(&place, &database, budget, &own, &paced), "first");
    let gateway = serve(&place, &config);
    std::thread::scope(|scope| {
        scope.spawn(|| up_to(&gateway, "paced/m", 4200));
        paced.asked(1);
        // More tokens than the first reservation, with four letters a token.
        paced.think(&"abcd".repeat(4150));
        std::thread::sleep(Duration::from_secs(2));
        gateway.signal(Signal::KILL);
    });
    drop(gateway);
    assert_eq!(spend_all(&serve(&place, &config)), 4200 - 4096);
}
