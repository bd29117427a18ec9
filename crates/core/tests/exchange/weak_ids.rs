//! Endpoints whose ids of calls come again, or may: on each of their wires an agent that clears old results and adds
//! reminders keeps its thoughts.

use crate::tickets::{Client, native_on};
use crate::unlisted::tidies;
use crate::{Gateway, Lock};
use std::collections::BTreeSet;
use thinkthrough_core::content::Block;
use thinkthrough_core::contract::{Contract, Return};
use thinkthrough_core::provider::{ALL, Endpoint, Provider, Target};
use thinkthrough_core::restore::ticket;
use thinkthrough_core::settings::Effort;
use thinkthrough_json::Extra;

/// A thought and two calls, with the ids that every answer has.
fn answer(wire: &str, contract: &Contract) -> String {
    let calls = |call: &dyn Fn(&str, &str) -> String| {
        [("call_0", r#"{"a":1}"#), ("call_1", "{}")].map(|(id, args)| call(id, args)).join(",")
    };
    match wire {
        "messages" => {
            let calls = calls(&|id, args| {
                format!(r#"{{"type":"tool_use","id":"{id}","name":"read","input":{args}}}"#)
            });
            format!(
                r#"{{"id":"1","type":"message","role":"assistant","model":"m","content":[{{"type":"thinking","thinking":"Look","signature":"c2lnbmF0dXJl"}},{calls}],"stop_reason":"tool_use","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
            )
        }
        "responses" => {
            let calls = calls(&|id, args| {
                let args = args.replace('"', "\\\"");
                format!(
                    r#"{{"type":"function_call","id":"fc","call_id":"{id}","name":"read","arguments":"{args}","status":"completed"}}"#
                )
            });
            let sealed = if contract.signed { r#","encrypted_content":"gAAAA""# } else { "" };
            format!(
                r#"{{"id":"1","object":"response","status":"completed","model":"m","output":[{{"type":"reasoning","id":"rs","summary":[{{"type":"summary_text","text":"Look"}}]{sealed}}},{calls}]}}"#
            )
        }
        "ollama-chat" => {
            let calls =
                calls(&|_, args| format!(r#"{{"function":{{"name":"read","arguments":{args}}}}}"#));
            format!(
                r#"{{"model":"m","message":{{"role":"assistant","content":"","thinking":"Look","tool_calls":[{calls}]}},"done":true,"done_reason":"stop"}}"#
            )
        }
        "generate-content" => {
            let calls =
                calls(&|_, args| format!(r#"{{"functionCall":{{"name":"read","args":{args}}}}}"#));
            let calls = calls.replacen("}},", r#"},"thoughtSignature":"c2ln"},"#, 1);
            format!(
                r#"{{"candidates":[{{"content":{{"role":"model","parts":[{calls}]}},"finishReason":"STOP"}}]}}"#
            )
        }
        "cohere-chat" => {
            let calls = calls(&|id, args| {
                let args = args.replace('"', "\\\"");
                format!(
                    r#"{{"id":"{id}","type":"function","function":{{"name":"read","arguments":"{args}"}}}}"#
                )
            });
            format!(
                r#"{{"id":"1","finish_reason":"TOOL_CALL","message":{{"role":"assistant","content":[{{"type":"thinking","thinking":"Look"}}],"tool_calls":[{calls}]}}}}"#
            )
        }
        _ => {
            let google = r#""extra_content":{"google":{"thought_signature":"c2ln"}},"#;
            let signed = if contract.signed { google } else { "" };
            let calls = calls(&|id, args| {
                let args = args.replace('"', "\\\"");
                format!(
                    r#"{{"id":"{id}",{signed}"type":"function","function":{{"name":"read","arguments":"{args}"}}}}"#
                )
            });
            let (thought, content) = match contract.field {
                Some("reasoning_details") => (
                    r#""reasoning_details":[{"type":"reasoning.text","text":"Look","format":"unknown","index":0}],"#.to_owned(),
                    "null",
                ),
                Some(field) => (format!(r#""{field}":"Look","#), "null"),
                // The wire of one vendor has a place of its own.
                None if wire == "mistral-chat" => (
                    String::new(),
                    r#"[{"type":"thinking","thinking":[{"type":"text","text":"Look"}]}]"#,
                ),
                None => (String::new(), "null"),
            };
            format!(
                r#"{{"id":"1","model":"m","choices":[{{"index":0,"message":{{"role":"assistant",{thought}"content":{content},"tool_calls":[{calls}]}},"finish_reason":"tool_calls"}}]}}"#
            )
        }
    }
}

/// Every rule of these endpoints under which thoughts go back, by the name of a model.
fn weak() -> impl Iterator<Item = (&'static Provider, &'static Endpoint, Target)> {
    let endpoints =
        ALL.iter().flat_map(|provider| provider.endpoints.iter().map(move |it| (*provider, it)));
    let models = endpoints.flat_map(|(provider, endpoint)| {
        endpoint.models.iter().map(move |rule| (provider, endpoint, rule))
    });
    models.filter_map(|(provider, endpoint, rule)| {
        let model = rule.pattern.replace('*', "-").trim_matches('-').to_owned();
        let model = if model.is_empty() { "any".to_owned() } else { model };
        let target = Target::of(provider, endpoint, &model);
        let is_it = target.rule.pattern == rule.pattern
            && target.rule.contract.returns != Return::Never
            // Each family has tags of its own; what they hide is the matter of other tests.
            && target.rule.contract.field != Some("think_tags")
            && !endpoint.draws_ids;
        is_it.then_some((provider, endpoint, target))
    })
}

#[test]
fn an_agent_that_forgets_keeps_its_thoughts_wherever_ids_may_come_again() {
    let mut names = BTreeSet::new();
    for (provider, _, target) in weak() {
        let wire = target.wire.id();
        // Which of these a caller speaks, too.
        let caller = match wire {
            "cohere-chat" | "interactions" | "converse" => "chat-completions",
            wire => wire,
        };
        if wire == "interactions" {
            continue;
        }
        names.insert(provider.id);
        let case = format!("{} {wire} {}", provider.id, target.model);
        assert!(target.rule.contract.tickets.is_some(), "{case}");
        // Ids of nine letters and digits.
        let prefix = if wire == "mistral-chat" { "call0000" } else { "call_" };
        let answer = answer(wire, &target.rule.contract).replace("call_", prefix);
        let mut gateway = Gateway::new(caller, provider.id, Some(wire), &target.model);
        gateway.stream = Some(false);
        // Some models take thoughts only while they think.
        let needs_thinking = target.rule.contract.only_when_on;
        gateway.settings.effort.value = needs_thinking.then_some(Effort::High);
        let mut client = Client::new(caller, false);
        let mut seen = Vec::new();
        for round in 0..4 {
            let next = gateway.ask(&client.request(), &Lock);
            assert_eq!(next.counts.restored, round, "{case}");
            let has_ids = !matches!(wire, "ollama-chat" | "generate-content");
            let own = [format!("{prefix}0"), format!("{prefix}1")];
            let count = if has_ids { 2 * round } else { 0 };
            let own: Vec<String> = own.into_iter().cycle().take(count).collect();
            assert_eq!(native_on(wire, &next), own, "{case}");
            let (said, _) = gateway.answer(next, &[&answer], None);
            seen.extend(client.reads(&said));
            // The client forgets seals, too.
            for block in client.said.iter_mut().flat_map(|it| &mut it.blocks) {
                if let Block::ToolCall(call) = block {
                    call.signature = None;
                    call.extra = Extra::default();
                }
            }
            tidies(&mut client);
        }
        let is_ours = |id: &String| ticket::is_ticket(id) || wire == "mistral-chat";
        assert!(seen.iter().all(is_ours), "{case}: {seen:?}");
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 8, "{case}: {seen:?}");
    }
    for known in ["cohere", "google", "lmstudio", "minimax", "ollama", "xai", "zai"] {
        assert!(names.contains(known), "{known}: {names:?}");
    }
}
