//! Every switch between eight providers, and streams that break off after every event.

use super::scenario::{Act, Play, Scenario};

/// The providers and the simulators that stand for them.
const EIGHT: [(&str, &str); 8] = [
    ("deepseek", "deepseek-v4"),
    ("moonshotai", "kimi-k2"),
    ("anthropic", "anthropic-manual"),
    ("openai", "responses-stateless"),
    ("google", "gemini-3"),
    ("mistral", "mistral"),
    ("groq", "groq"),
    ("minimax", "minimax-tags"),
];

/// The simulators whose streams are cut, one for each API and rule.
const CUT: [&str; 6] =
    ["kimi-k2", "deepseek-v4", "anthropic-manual", "responses-stateless", "gemini-3", "ollama"];

/// The 64 pairs on one transcript: a turn at the first, one at the second, one at the first again.
pub(super) fn pairs() -> Vec<Scenario> {
    let both = EIGHT.iter().flat_map(|from| EIGHT.iter().map(move |to| (from, to)));
    let one = |((from, sim), (to, other)): (&(&str, &'static str), &(&str, &'static str))| {
        let acts = [
            Act::User("What is in this folder, and what does the readme say?"),
            Act::Loop,
            Act::Model(other),
            Act::User("What is the weather in Paris?"),
            Act::Loop,
            Act::Model(sim),
            Act::User("Thanks. What is in the folder now?"),
            Act::Loop,
        ];
        let says = format!("one transcript goes from {from} to {to} and back");
        Scenario::new(format!("switch-{from}-{to}"), says, sim, &acts).through("chat-completions")
    };
    both.map(one).collect()
}

/// A tool loop whose first answer is cut after every event in turn.
pub(super) fn cuts() -> Vec<Scenario> {
    let one = |sim: &'static str| {
        let says = format!(
            "a stream of {sim} breaks off after each of its events, and the client asks again"
        );
        let scenario = Scenario::new(format!("cut-{sim}"), says, sim, &[]);
        Scenario { play: Play::Cuts, ..scenario }
    };
    CUT.into_iter().map(one).collect()
}
