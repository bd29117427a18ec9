//! Clients that cut the answers with several calls into messages of their own, before strict models.

use crate::naive::{Entry, Naive};
use crate::town::Town;
use thinkthrough_conformance::{SeenThought, ThoughtState};

/// Strict models, each with its own API and with others.
const MODELS: [(&str, &str); 18] = [
    ("deepseek-v4", "chat-completions"),
    ("deepseek-v4", "messages"),
    ("deepseek-v32", "chat-completions"),
    ("deepseek-v4-everywhere", "chat-completions"),
    ("deepseek-v4-messages", "messages"),
    ("deepseek-v4-messages", "chat-completions"),
    ("deepseek-v4-responses", "responses"),
    ("mimo", "chat-completions"),
    ("kimi-k2", "chat-completions"),
    ("kimi-k3", "chat-completions"),
    ("kimi-k3", "responses"),
    ("anthropic-manual", "messages"),
    ("anthropic-manual", "chat-completions"),
    ("anthropic-bound", "messages"),
    ("gemini-3", "generate-content"),
    ("gemini-3", "chat-completions"),
    ("gemini-3-chat", "chat-completions"),
    ("responses-stateless", "responses"),
];

/// How a client cuts an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// Not at all: what the others are measured by.
    None,
    /// A message for each call, its result behind it.
    Each,
    /// The same, and each has the text of the answer.
    Repeating,
    /// A message for each call, and all results behind the last.
    Before,
}

/// The last answer as this client keeps it, with its results.
fn keep(client: &mut Naive, cut: Cut) {
    let Some(Entry::Ai { text, calls }) = client.history.pop() else { panic!("an answer") };
    if cut == Cut::None {
        client.history.push(Entry::Ai { text, calls: calls.clone() });
        client.run_tools(&calls);
        return;
    }
    for (at, call) in calls.iter().enumerate() {
        let text = if at == 0 || cut == Cut::Repeating { text.clone() } else { String::new() };
        client.history.push(Entry::Ai { text, calls: vec![call.clone()] });
        if cut != Cut::Before {
            client.run_tools(std::slice::from_ref(call));
        }
    }
    if cut == Cut::Before {
        client.run_tools(&calls);
    }
}

/// Every result but those of the newest answer.
fn clear(client: &mut Naive) {
    let is_result = |entry: &&mut Entry| matches!(entry, Entry::Result { .. });
    for entry in client.history.iter_mut().rev().filter(is_result).skip(2) {
        if let Entry::Result { text, .. } = entry {
            *text = "[Old tool result content cleared]".to_owned();
        }
    }
}

/// Two turns with two calls at once each; what is wrong with them.
async fn talk(
    town: &Town,
    (model, api): (&'static str, &'static str),
    cut: Cut,
    clears: bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut client = Naive { has_ids: true, ..Naive::new(api, model, false) };
    for turn in 1..=2 {
        client.user("Use get_weather for Paris and Rome.");
        let calls = match client.try_step(town, &town.gateway).await {
            Ok(calls) => calls,
            Err(refusal) => return vec![refusal],
        };
        assert_eq!(calls.len(), 2, "{model}");
        keep(&mut client, cut);
        if clears {
            clear(&mut client);
        }
        town.seen();
        let said = client.ask(town, &town.gateway, &[]).await;
        if said.status != 200 {
            return vec![said.text()];
        }
        if said.count("missed") + said.count("dropped") > 0 {
            wrong.push(format!("{turn}: {:?}", said.counts()));
        }
        if let Err(why) = client.try_step(town, &town.gateway).await {
            return vec![why];
        }
        for seen in town.seen().iter().filter(|seen| seen.simulator == model) {
            wrong.extend(seen.losses.iter().map(|loss| format!("{turn}: {loss}")));
            let is_odd = |it: &&SeenThought| it.state != ThoughtState::Own;
            wrong.extend(seen.thoughts.iter().filter(is_odd).map(|it| format!("{turn}: {it:?}")));
        }
    }
    wrong
}

#[tokio::test]
async fn the_fragments_of_an_answer_arrive_as_one() {
    let town = Town::new().await;
    let mut wrong = Vec::new();
    for (model, clears) in MODELS.into_iter().flat_map(|model| [(model, false), (model, true)]) {
        // What the model has no place for is missed by a client that cuts nothing, too, and so are thoughts that are
        // bound to what was cleared.
        let uncut = talk(&town, model, Cut::None, clears).await;
        for cut in [Cut::Each, Cut::Repeating, Cut::Before] {
            let said = talk(&town, model, cut, clears).await;
            wrong.extend((said != uncut).then(|| format!("{model:?} {cut:?} {clears}: {said:#?}")));
        }
        let is_known = |it: &String| {
            it.contains("no signature on the text") || (clears && model.0 == "anthropic-bound")
        };
        wrong.extend(uncut.into_iter().filter(|it| !is_known(it)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
