//! Weak ids of calls: the caller gets tickets, the provider its own ids.

use crate::{Gateway, Lock, body};
use thinkthrough_core::content::{Block, Content, Speaker, ToolCall, ToolResponse};
use thinkthrough_core::event::Fold;
use thinkthrough_core::exchange::{Prepared, Restore};
use thinkthrough_core::provider::Target;
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::request::Request;
use thinkthrough_core::restore::ticket;
use thinkthrough_core::wire::{Dialect, find};
use thinkthrough_json::{Doc, Extra, Raw};

pub(crate) const WIRES: [&str; 5] =
    ["chat-completions", "responses", "messages", "generate-content", "ollama-chat"];

fn gateway(caller: &str) -> Gateway {
    Gateway::new(caller, "moonshotai", None, "kimi-k3")
}

/// A client that drops thoughts, on any wire.
pub(crate) struct Client {
    wire: &'static str,
    stream: bool,
    pub(crate) said: Vec<Content>,
}

impl Client {
    pub(crate) fn new(wire: &'static str, stream: bool) -> Self {
        Client { wire, stream, said: vec![Content::text(Speaker::Human, "Read both.")] }
    }

    pub(crate) fn request(&self) -> String {
        let request = Request {
            model: "kimi-k3".to_owned(),
            stream: self.stream,
            max_tokens: Some(2000),
            contents: self.said.clone(),
            ..Request::default()
        };
        find(self.wire).unwrap().write_request(&request, &Dialect::PLAIN).body
    }

    /// Reads an answer, and runs its calls. Gives their ids.
    pub(crate) fn reads(&mut self, answer: &str) -> Vec<String> {
        self.goes_on(calls(self.wire, self.stream, answer))
    }

    /// Runs these calls.
    fn goes_on(&mut self, calls: Vec<ToolCall>) -> Vec<String> {
        let result = |call: &ToolCall| {
            Block::ToolResponse(ToolResponse {
                call_id: call.id.clone(),
                name: Some(call.name.clone()),
                result: Raw::string("text").into(),
                is_error: false,
                extra: Extra::default(),
            })
        };
        let results = calls.iter().map(|call| Content::new(Speaker::Tool, vec![result(call)]));
        let results: Vec<Content> = results.collect();
        let ids = ids(&calls).into_iter().map(str::to_owned).collect();
        self.said.push(Content::new(Speaker::Ai, calls.into_iter().map(Block::ToolCall).collect()));
        self.said.extend(results);
        ids
    }
}

/// Two calls of one answer, with ids that every answer has, and arguments that look like a call.
pub(crate) const STREAM: [&str; 6] = [
    ": hello\r\n\r\ndata:  {\"id\":\"1\", \"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"reasoning_content\":\"Look\"}}]}\r\n\r\n",
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\": \"read:0\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"\",\"function\":{\"arguments\":\"{\\\"id\\\":\\\"read:0\\\"}\"}}]}}]}\n\n",
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"read:1\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]}}]}\n\n",
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: [DONE]\n\n",
];
pub(crate) const WHOLE: &str = r#"{ "id":"1", "model":"kimi-k3","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning_content":"Look","tool_calls":[{"id":"read:0","type":"function","function":{"name":"read","arguments":"{\"id\":\"read:0\"}"}}, {"id": "read:1","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}
"#;

/// The calls in an answer of this wire.
fn calls(wire: &str, stream: bool, answer: &str) -> Vec<ToolCall> {
    choices(wire, stream, answer).remove(0)
}

/// The calls of each choice.
fn choices(wire: &str, stream: bool, answer: &str) -> Vec<Vec<ToolCall>> {
    let mut fold = Fold::new();
    let form = if stream { Form::Stream } else { Form::Whole };
    let mut reader = Reader::new(find(wire).unwrap(), &Dialect::PLAIN, form);
    reader.push(answer.as_bytes(), &mut fold);
    reader.end(&mut fold);
    let mut first = fold.finish();
    let further = std::mem::take(&mut first.choices);
    let contents = std::iter::once(first).chain(further).map(|choice| choice.into_content(None));
    contents.map(|content| content.tool_calls().cloned().collect()).collect()
}

fn ids(calls: &[ToolCall]) -> Vec<&str> {
    calls.iter().filter_map(|call| call.id.as_deref()).collect()
}

#[test]
fn on_the_same_wire_nothing_but_the_ids_changes_however_the_answer_is_cut() {
    for (stream, answer) in [(true, STREAM.concat()), (false, WHOLE.to_owned())] {
        let ask = || {
            gateway("chat-completions")
                .ask(&Client::new("chat-completions", stream).request(), &Lock)
        };
        let (said, done) = gateway("chat-completions").answer(ask(), &[&answer], None);
        let calls = calls("chat-completions", stream, &said);
        let [one, two] = ids(&calls).try_into().unwrap();
        assert!(ticket::is_ticket(one) && ticket::is_ticket(two) && one != two, "{one} {two}");
        let expected = answer
            .replace("\"id\": \"read:0\"", &format!("\"id\": \"{one}\""))
            .replace("{\"id\":\"read:0\",\"type\"", &format!("{{\"id\":\"{one}\",\"type\""))
            .replace("\"id\":\"read:1\"", &format!("\"id\":\"{two}\""))
            .replace("\"id\": \"read:1\"", &format!("\"id\": \"{two}\""));
        assert_eq!(said, expected);
        assert_eq!(done.records[0].0.keys.anchors.len(), 2);
        for at in 0..answer.len() {
            let (head, tail) = answer.split_at(at);
            let (cut, _) = gateway("chat-completions").answer(ask(), &[head, tail], None);
            assert_eq!(cut, said, "{at}");
        }
    }
}

#[test]
fn the_caller_sees_tickets_and_the_provider_its_own_ids_on_every_wire() {
    for wire in WIRES {
        for (stream, answer) in [(true, STREAM.concat()), (false, WHOLE.to_owned())] {
            let (mut gateway, mut client) = (gateway(wire), Client::new(wire, stream));
            gateway.stream = Some(stream);
            let mut seen = Vec::new();
            for round in 0..3 {
                let prepared = gateway.ask(&client.request(), &Lock);
                assert_eq!(prepared.counts.restored, round, "{wire} {stream}");
                assert_eq!(
                    native(&prepared),
                    ["read:0", "read:1"].repeat(round),
                    "{wire} {stream}"
                );
                let (said, _) = gateway.answer(prepared, &[&answer], None);
                seen.extend(client.reads(&said));
            }
            assert!(seen.iter().all(|id| ticket::is_ticket(id)), "{wire} {stream}: {seen:?}");
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), 6, "{wire} {stream}: {seen:?}");
        }
    }
}

/// The ids of the calls that go upstream, if their results have the same ones.
pub(crate) fn native(prepared: &Prepared) -> Vec<String> {
    native_on("chat-completions", prepared)
}

/// The same where the upstream speaks this wire.
pub(crate) fn native_on(wire: &str, prepared: &Prepared) -> Vec<String> {
    let Some(body) = &prepared.body else { return Vec::new() };
    let doc = Doc::parse_str(body).unwrap();
    let request = find(wire).unwrap().read_request(doc.root()).unwrap();
    let calls = request.contents.iter().flat_map(Content::tool_calls);
    let ids: Vec<String> = calls.filter_map(|call| call.id.clone()).collect();
    let blocks = request.contents.iter().flat_map(|content| &content.blocks);
    let results = blocks.filter_map(|block| match block {
        Block::ToolResponse(result) => result.call_id.clone(),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), ids, "{body}");
    ids
}

/// Two choices that name their first calls alike, with a thought each.
const CHOICES: &str = include_str!(
    "../../../../fixtures/wires/chat-completions/responses/calls-in-several-choices/received.sse"
);
const WHOLE_CHOICES: &str = r#"{"id":"r1","model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning_content":"Look","tool_calls":[{"id":"read:0","type":"function","function":{"name":"read","arguments":"{}"}},{"id":"read:1","type":"function","function":{"name":"read","arguments":"{\"b\":1}"}}]},"finish_reason":"tool_calls"},{"index":1,"message":{"role":"assistant","content":null,"reasoning_content":"Else","tool_calls":[{"id":"read:0","type":"function","function":{"name":"read","arguments":"{\"a\":1}"}},{"id":"list:1","type":"function","function":{"name":"list","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;

#[test]
fn a_client_may_go_on_with_any_choice() {
    for wire in ["chat-completions", "generate-content"] {
        for (stream, answer) in [(true, CHOICES), (false, WHOLE_CHOICES)] {
            for (choice, thought, own) in
                [(0, "Look", ["read:0", "read:1"]), (1, "Else", ["read:0", "list:1"])]
            {
                let case = format!("{wire} {stream} {choice}");
                let (mut gateway, mut client) = (gateway(wire), Client::new(wire, stream));
                gateway.stream = Some(stream);
                let first = gateway.ask(&client.request(), &Lock);
                let (said, done) = gateway.answer(first, &[answer], None);
                let mut choices = choices(wire, stream, &said);
                let mut seen: Vec<&str> = choices.iter().flat_map(|calls| ids(calls)).collect();
                assert!(seen.iter().all(|id| ticket::is_ticket(id)), "{case}: {seen:?}");
                seen.sort_unstable();
                seen.dedup();
                assert_eq!(seen.len(), 4, "{case}: {seen:?}");
                let kept = done.records.iter().map(|(head, _)| head.keys.anchors.len());
                assert_eq!(kept.collect::<Vec<_>>(), [2, 2], "{case}");
                client.goes_on(choices.swap_remove(choice));
                let next = gateway.ask(&client.request(), &Lock);
                assert_eq!(
                    (next.counts.restored, native(&next)),
                    (1, own.map(str::to_owned).into()),
                    "{case}"
                );
                assert!(next.body.is_some_and(|body| body.contains(thought)), "{case}");
            }
        }
    }
}

#[test]
fn a_ticket_whose_record_is_gone_becomes_an_id_of_the_providers_form() {
    for (model, expected) in [
        ("kimi-k3", ["read:0", "read:1", "read:0", "read:1"]),
        (
            "kimi-k2-thinking",
            ["functions.read:0", "functions.read:1", "functions.read:2", "functions.read:3"],
        ),
    ] {
        let (mut gateway, mut client) = (gateway("messages"), Client::new("messages", false));
        gateway.target = Target::built_in("moonshotai", None, model).unwrap();
        for _ in 0..2 {
            let prepared = gateway.ask(&client.request(), &Lock);
            let (said, _) = gateway.answer(prepared, &[WHOLE], None);
            client.reads(&said);
        }
        gateway.records.clear();
        // The calls are told in words, for their thoughts are gone too.
        let told = gateway.ask(&client.request(), &Lock);
        assert!(native(&told).is_empty() && !told.body.unwrap().contains("tk_"), "{model}");
        gateway.handling.restore = Restore::Required;
        assert_eq!(native(&gateway.ask(&client.request(), &Lock)), expected, "{model}");
        // Nobody's request gets none either.
        gateway.is_nobodys = true;
        assert_eq!(native(&gateway.ask(&client.request(), &Lock)), expected, "{model}");
    }
}

#[test]
fn another_model_is_given_the_ticket_rather_than_the_weak_id() {
    let (mut gateway, mut client) = (gateway("messages"), Client::new("messages", false));
    let prepared = gateway.ask(&client.request(), &Lock);
    let (said, _) = gateway.answer(prepared, &[WHOLE], None);
    let tickets = client.reads(&said);
    gateway.target = Target::built_in("anthropic", None, "claude-sonnet-4-5").unwrap();
    let next = gateway.ask(&client.request(), &Lock);
    let sent = next.body.unwrap_or_else(|| client.request());
    assert!(tickets.iter().all(|ticket| sent.matches(ticket.as_str()).count() == 2), "{sent}");
}

#[test]
fn where_nothing_is_kept_no_ticket_is_minted() {
    let cases: [fn(&mut Gateway); 4] = [
        |it| it.is_kept = false,
        |it| it.is_nobodys = true,
        |it| it.handling.dry_run = true,
        |it| it.handling.restore = Restore::Never,
    ];
    for change in cases {
        for wire in ["chat-completions", "messages"] {
            let mut gateway = gateway(wire);
            change(&mut gateway);
            let mut client = Client::new(wire, false);
            let prepared = gateway.ask(&client.request(), &Lock);
            let (said, _) = gateway.answer(prepared, &[WHOLE], None);
            assert_eq!(client.reads(&said), ["read:0", "read:1"]);
        }
    }
}

#[test]
fn a_mistral_model_has_ids_of_its_own_form_on_its_own_api() {
    let own = ["D681PevKs", "x9Tq0LmZa"];
    let answer = WHOLE.replace("read:0\",", "D681PevKs\",").replace("\"read:1\"", "\"x9Tq0LmZa\"");
    let answer = answer.replace(
        r#""content":null,"reasoning_content":"Look""#,
        r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"Look"}]}]"#,
    );
    for (wire, is_short) in [("mistral-chat", true), ("chat-completions", false)] {
        let mut gateway = Gateway::new(wire, "mistral", None, "mistral-medium-latest");
        let mut client = Client::new(wire, false);
        for round in 0..3 {
            let prepared = gateway.ask(&client.request(), &Lock);
            assert_eq!(prepared.counts.restored, round, "{wire}");
            assert_eq!(native_on("mistral-chat", &prepared), own.repeat(round), "{wire}");
            let (said, _) = gateway.answer(prepared, &[&answer], None);
            let seen = client.reads(&said);
            assert!(seen.iter().all(|id| ticket::is_ticket(id) != is_short), "{seen:?}");
            assert!(seen.iter().all(|id| (id.len() == 9) == is_short), "{seen:?}");
            assert!(seen.iter().all(|id| !own.contains(&id.as_str())), "{seen:?}");
            // What stood before says nothing.
            client.said[0] = Content::text(Speaker::Human, format!("Read both, {round}."));
        }
        gateway.records.clear();
        let sent = native_on("mistral-chat", &gateway.ask(&client.request(), &Lock));
        let made = (0..6).map(|call| format!("call{call:05}"));
        assert_eq!(sent, made.collect::<Vec<_>>(), "{wire}");
    }
}

#[test]
fn a_result_whose_call_the_provider_keeps_names_it_by_the_providers_id() {
    let mut gateway = Gateway::new("responses", "xai", Some("responses"), "grok-4.6");
    let asked = r#"{"model":"grok-4.6","input":"Read both."}"#;
    let answer = r#"{"id":"resp_1","object":"response","status":"completed","model":"grok-4.6","output":[{"type":"reasoning","id":"rs_a","summary":[{"type":"summary_text","text":"Look"}],"encrypted_content":"eA=="},{"type":"function_call","id":"fc_a","call_id":"read:0","name":"read","arguments":"{}","status":"completed"},{"type":"function_call","id":"fc_b","call_id":"read:1","name":"read","arguments":"{}","status":"completed"}]}"#;
    let first = gateway.ask(asked, &Lock);
    let (said, _) = gateway.answer(first, &[answer], None);
    let seen = calls("responses", false, &said);
    let [one, two] = ids(&seen).try_into().unwrap();
    assert!(ticket::is_ticket(one) && ticket::is_ticket(two) && one != two, "{one} {two}");
    let results = |one: &str, two: &str| {
        format!(
            r#"{{"model":"grok-4.6","previous_response_id":"resp_1","input":[{{"type":"function_call_output","call_id":"{two}","output":"b"}}, {{"type":"function_call_output","call_id":"{one}","output":"a"}}]}}"#
        )
    };
    let next = gateway.ask(&results(one, two), &Lock);
    let items = |of: &str| of.split_once("\"previous").unwrap().1.to_owned();
    assert_eq!(items(body(&next)), items(&results("read:0", "read:1")));
    // Without the record, the provider gets the caller's ids, and refuses them.
    gateway.records.clear();
    let next = gateway.ask(&results(one, two), &Lock);
    assert_eq!(items(body(&next)), items(&results(one, two)));
}
