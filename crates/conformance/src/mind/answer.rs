//! The texts of thoughts and answers.

use super::words::shortened;
use super::{Plan, Scene, Turn};

const QUOTE_LIMIT: usize = 1500;

/// The text of the thought before the calls or the answer of the plan.
pub(super) fn thought(scene: &Scene, turn: &Turn<'_>, plan: &Plan) -> String {
    let mut out = format!("The user says: \"{}\".", shortened(&turn.question, 16));
    if let Some((name, text, failed)) = turn.results.last() {
        let verb = if *failed { "failed with" } else { "gave me" };
        let lines = text.lines().count();
        out.push_str(&format!(
            " After {} tool result{} the last one, from `{name}`, {verb} {lines} line{}: {}.",
            turn.results.len(),
            plural(turn.results.len()),
            plural(lines),
            shortened(text, 8)
        ));
    } else if !scene.tools.is_empty() {
        let names: Vec<&str> = scene.tools.iter().map(|tool| tool.name.as_str()).collect();
        out.push_str(&format!(" I am offered {}.", names.join(", ")));
    }
    match plan.calls.as_slice() {
        [] if turn.results.is_empty() => {
            out.push_str(" No tool would help here, so I answer from the words alone.");
        }
        [] => out.push_str(" That is what I needed; I can answer with what is really there."),
        calls => {
            let list: Vec<String> =
                calls.iter().map(|call| format!("{} with {}", call.name, call.arguments)).collect();
            let at_once = if calls.len() > 1 { ", both at once" } else { "" };
            out.push_str(&format!(
                " I should find out before I answer: call {}{at_once}.",
                list.join(" and ")
            ));
        }
    }
    out
}

/// The text of the answer. It says that the model is simulated.
pub(super) fn answer(scene: &Scene, turn: &Turn<'_>) -> String {
    let who = format!("the simulated model `{}`", scene.simulator);
    if turn.results.is_empty() {
        let said = shortened(&turn.question, 24);
        let help = match scene.tools.is_empty() {
            true => "Offer me a tool that fits and I will use it and report what it says.",
            false => "Name a file and I will read it, or say \"use\" and the name of a tool.",
        };
        return if said.is_empty() {
            format!("This is {who}: there was no question, so I have nothing to answer.")
        } else {
            format!(
                "This is {who}, so I know nothing of my own. You said: \"{said}\". \
                 {help}"
            )
        };
    }
    let mut out = format!("This is {who}; here is what the tools really said.");
    for (name, text, failed) in &turn.results {
        let verb = if *failed { "failed" } else { "gave" };
        out.push_str(&format!("\n\n`{name}` {verb}:\n{}", quote(text)));
    }
    out
}

fn quote(text: &str) -> String {
    let count = text.chars().count();
    if count <= QUOTE_LIMIT {
        return text.trim_end().to_owned();
    }
    let head: String = text.chars().take(QUOTE_LIMIT).collect();
    format!("{head}\n... ({} more characters)", count - QUOTE_LIMIT)
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
