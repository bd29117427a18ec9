//! Laws over every recorded exchange and every fixture of every wire: one test a wire, all laws over each body.
//!
//! - split: cut at any byte, the events up to the next frame boundary and the state there are those of the uncut
//!   stream; one byte at a time and 100 random partitions give the same answer.
//! - again: encode then decode is the identity, streamed and whole, and what is streamed says what is whole.
//! - cut: a stream that ends early keeps what came and never looks complete.
//! - members: a whole answer that is read and written on its wire keeps its members.
//! - requests: a body that is read and written on its wire keeps every field and every opaque byte.
//! - withheld: where no thoughts are to go upstream, none is in the body, in no spelling.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail where it stands"
)]

mod again;
mod bodies;
mod by_provider;
mod cut;
#[path = "../laws/faces.rs"]
mod faces;
mod members;
mod random;
#[path = "../recordings/mod.rs"]
mod recordings;
mod requests;
mod run;
mod split;
mod stream_members;
mod ways;
mod withheld;

use bodies::{Body, bodies, requests};
use std::panic::{AssertUnwindSafe, catch_unwind};
use thinkthrough_core::wire;

/// Bodies for which a law does not hold: the law, the body, and why. One that holds all the same fails the test.
const APART: &str = include_str!("../../../../fixtures/exceptions/laws.tsv");

fn apart() -> Vec<[&'static str; 3]> {
    let lines = APART.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect::<Vec<_>>().try_into().unwrap()).collect()
}

/// Holds one wire to all laws.
fn check(name: &str) {
    let wire = wire::find(name).unwrap();
    let (apart, mut broken) = (apart(), 0);
    let mut hold = |law: (&str, fn(&Body)), body: &Body| {
        // Every body is tried, so that one run shows all that is broken.
        let is_broken = catch_unwind(AssertUnwindSafe(|| law.1(body))).is_err();
        let is_it = |[name, body_name, _]: &&[&str; 3]| (*name, *body_name) == (law.0, &body.name);
        match apart.iter().find(is_it) {
            None => broken += usize::from(is_broken),
            Some([_, _, reason]) => {
                println!("{body}: does not hold for `{}`: {reason}", law.0);
                assert!(is_broken, "{body}: declared not to hold for `{}`, and holds", law.0);
            }
        }
    };
    let bodies = bodies(wire);
    for body in &bodies {
        if body.is_stream {
            hold(("split", split::check), body);
            hold(("cut", cut::check), body);
        }
        hold(("again", again::check), body);
        hold(("faces", ways::check), body);
    }
    let requests = requests(wire);
    requests.iter().for_each(|body| hold(("requests", requests::check), body));
    requests.iter().for_each(|body| hold(("withheld", withheld::check), body));
    let streams = bodies.iter().filter(|body| body.is_stream).count();
    assert_eq!(broken, 0, "{name}: laws are broken");
    println!(
        "{name}: {} answers, {streams} of them streams; {} requests",
        bodies.len(),
        requests.len()
    );
}

macro_rules! wires {
    ($($test:ident: $wire:literal,)*) => {
        $(
            #[test]
            fn $test() {
                check($wire);
            }
        )*

        #[test]
        fn every_wire_is_held_to_the_laws() {
            let names: Vec<&str> = wire::ALL.iter().map(|wire| wire.id()).collect();
            assert_eq!(names, [$($wire),*]);
        }
    };
}

wires! {
    chat_completions: "chat-completions",
    cohere_chat: "cohere-chat",
    converse: "converse",
    generate_content: "generate-content",
    interactions: "interactions",
    messages: "messages",
    mistral_chat: "mistral-chat",
    ollama_chat: "ollama-chat",
    responses: "responses",
}

/// A body that breaks a law says which.
impl std::fmt::Display for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.wire.id(), self.name)
    }
}
