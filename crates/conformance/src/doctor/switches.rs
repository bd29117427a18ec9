//! Switches between eight providers, clients that keep their thoughts at a change of the model, and
//! streams that break off after each event.

use super::scenario::{Act, Check, Expect, Play, Scenario};

/// The providers, each with its simulator.
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

/// The simulators with cut streams: one for each API and rule.
const CUT: [&str; 6] =
    ["kimi-k2", "deepseek-v4", "anthropic-manual", "responses-stateless", "gemini-3", "ollama"];

/// The models whose thoughts a client keeps, and the APIs of such clients.
const MAKERS: [(&str, &str); 5] = [EIGHT[0], EIGHT[1], EIGHT[2], EIGHT[3], EIGHT[4]];
const CALLERS: [&str; 4] = ["chat-completions", "messages", "responses", "generate-content"];

/// One conversation at the first model, at the second, and at the first again.
fn there_and_back(from: &'static str, to: &'static str) -> [Act; 8] {
    [
        Act::User("What is in this folder, and what does the readme say?"),
        Act::Loop,
        Act::Model(to),
        Act::User("Use get_weather for Paris."),
        Act::Loop,
        Act::Model(from),
        Act::User("Thanks. What is in the folder now?"),
        Act::Loop,
    ]
}

/// A client of each API keeps every thought and switches the model. The second model must not
/// receive thoughts of the first, and the simulators must refuse no request.
pub(super) fn kept() -> Vec<Scenario> {
    let mut all = Vec::new();
    for caller in CALLERS {
        for (from, sim) in MAKERS {
            for (to, other) in MAKERS.into_iter().filter(|(to, _)| *to != from) {
                let says = format!(
                    "a {caller} client keeps the thoughts of {from} and goes to {to} and back"
                );
                let id = format!("keep-{caller}-{from}-{to}");
                all.push(
                    Scenario::new(id, says, sim, &there_and_back(sim, other))
                        .through(caller)
                        .with(&[])
                        .expecting(Expect::Any)
                        .checking(&[Check::AtOnce]),
                );
            }
        }
    }
    all
}

/// All 64 pairs of providers, each with one conversation there and back.
pub(super) fn pairs() -> Vec<Scenario> {
    let both = EIGHT.iter().flat_map(|from| EIGHT.iter().map(move |to| (from, to)));
    let one = |((from, sim), (to, other)): (&(&str, &'static str), &(&str, &'static str))| {
        let says = format!("one transcript goes from {from} to {to} and back");
        Scenario::new(format!("switch-{from}-{to}"), says, sim, &there_and_back(sim, other))
            .through("chat-completions")
    };
    both.map(one).collect()
}

/// A tool loop for each simulator. Its first answer breaks off after every event in turn.
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
