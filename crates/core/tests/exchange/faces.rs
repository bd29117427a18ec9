//! The same conversation, model and settings: the same goes upstream, whether the conversation is one's own or a client's
//! whose thoughts a gateway keeps. A tool loop at one model, an answer, and then every other model.

use crate::{Gateway, Lock};
use serde_json::Value;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Content, Speaker, Thinking, ToolCall, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::exchange::{Thoughts, Turn};
use thinkthrough_core::pipeline::Pipeline;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::{Request, Tool};
use thinkthrough_core::settings::{Effort, Resolved, Setting, Source};
use thinkthrough_core::wire::{Dialect, Wire};
use thinkthrough_json::{Doc, Extra, Raw};

pub(crate) const MODELS: [(&str, Option<&str>, &str); 14] = [
    ("anthropic", None, "claude-opus-4-6"),
    ("anthropic", None, "claude-sonnet-4-5"),
    ("bedrock", None, "anthropic.claude-opus-4-6-v1"),
    ("openai", None, "gpt-5.6"),
    ("xai", None, "grok-4.7"),
    ("google", None, "gemini-3-pro"),
    ("deepseek", None, "deepseek-v4-pro"),
    ("moonshotai", None, "kimi-k3"),
    ("zai", None, "glm-5"),
    ("minimax", None, "minimax-m3"),
    ("mistral", None, "magistral-medium-latest"),
    ("groq", None, "openai/gpt-oss-120b"),
    ("ollama", None, "qwen3:8b"),
    ("openai-compatible", None, "somebodys-own"),
];

/// A thought as the models of this wire give it.
pub(crate) fn thought(wire: &str, at: usize) -> Block {
    let text = format!("thought number {at}");
    let seal = || Some(format!("c2VhbG51bWJlcg{at}a"));
    Block::Thinking(match wire {
        "messages" => Thinking { signature: seal(), ..Thinking::new(text, "thinking") },
        "converse" => Thinking { signature: seal(), ..Thinking::new(text, "reasoningContent") },
        "responses" => Thinking {
            id: Some(format!("rs_0123456789abcdef{at}")),
            encrypted_content: seal(),
            summary: Some(Vec::new()),
            ..Thinking::new("", "reasoning")
        },
        "generate-content" => Thinking::new(text, "thought"),
        _ => Thinking::new(text, "reasoning_content"),
    })
}

/// An answer of this model: with a call, or the last one.
fn said(target: &Target, at: usize, has_call: bool) -> String {
    let call = || {
        let id = format!("call_00_aB1cD2eF3gH4iJ5kL6mN7o{at}");
        let sealed = (target.wire.id() == "generate-content").then(|| format!("c2lnbmVk{at}aaa"));
        Block::ToolCall(ToolCall { signature: sealed, ..ToolCall::new(Some(&id), "ls") })
    };
    let rest = if has_call { call() } else { Block::text("One file.") };
    let answer = Answer {
        blocks: vec![thought(target.wire.id(), at), rest],
        finish_reason: Some(if has_call { "tool_calls" } else { "stop" }.into()),
        model: Some(target.model.clone()),
        ..Answer::default()
    };
    target.wire.write_response(&answer)
}

pub(crate) fn settings() -> Resolved {
    Resolved {
        enabled: Setting { value: true, source: Source::Request },
        effort: Setting { value: Some(Effort::High), source: Source::Request },
        ..Resolved::default()
    }
}

pub(crate) fn request(contents: Vec<Content>, model: &str) -> Request {
    let tool = Tool::Function {
        name: "ls".into(),
        description: None,
        parameters: Some(Raw::parse(r#"{"type":"object"}"#).unwrap()),
        extra: Extra::default(),
    };
    let (model, max_tokens) = (model.into(), Some(32_000));
    Request { contents, model, max_tokens, tools: vec![tool], ..Request::default() }
}

pub(crate) fn result(calls: &Content) -> Content {
    let call = calls.tool_calls().next().unwrap();
    let result = ToolResponse {
        call_id: call.id.clone(),
        name: Some(call.name.clone()),
        result: Raw::string("a").into(),
        is_error: false,
        extra: Extra::default(),
    };
    Content::new(Speaker::Tool, vec![Block::ToolResponse(result)])
}

/// A conversation of one's own, which grows by the answer.
fn own(contents: &mut Vec<Content>, target: &Target, says: &str) {
    let asked = request(contents.clone(), &target.model);
    let mut turn = Turn::begin(&asked, target, &settings());
    turn.push(says.as_bytes(), &mut |_: Event<'_>| {});
    let finished = turn.finish(None, &mut |_: Event<'_>| {});
    contents.push(finished.content.unwrap());
}

/// A client that drops its thoughts.
struct Client {
    gateway: Gateway,
    contents: Vec<Content>,
}

impl Client {
    fn body(&self) -> String {
        let asked = request(self.contents.clone(), &self.gateway.target.model);
        self.gateway.caller.write_request(&asked, &Dialect::PLAIN).body
    }

    fn ask(&mut self, says: &str) {
        let prepared = self.gateway.ask(&self.body(), &Lock);
        let (got, _) = self.gateway.answer(prepared, &[says], None);
        let got = if got.is_empty() { says } else { &got };
        let mut content = read(self.gateway.caller, got);
        content.blocks.retain(|block| !matches!(block, Block::Thinking(_)));
        content.blocks.iter_mut().for_each(|block| {
            if let Block::ToolCall(call) = block {
                call.signature = None;
            }
        });
        self.contents.push(content);
    }
}

pub(crate) fn read(wire: &'static dyn Wire, answer: &str) -> Content {
    use thinkthrough_core::read::{Form, Reader};
    let mut pipeline = Pipeline::new(Reader::new(wire, &Dialect::PLAIN, Form::Auto));
    pipeline.push(answer.as_bytes(), &mut Vec::new(), &mut |_: Event<'_>| {});
    pipeline.end(None, &mut Vec::new(), &mut |_: Event<'_>| {}).answer.into_content(None)
}

/// What a body says: who speaks, each block, and the members beside the messages. Names of items, which one's own
/// conversation has and a client does not send, say nothing.
fn meaning(wire: &'static dyn Wire, body: &str) -> String {
    let doc = Doc::parse_str(body).unwrap();
    let mut said: Vec<String> = Vec::new();
    let mut last = None;
    for content in wire.read_request(doc.root()).unwrap().contents {
        if last.replace(content.speaker) != Some(content.speaker) {
            said.push(format!("{:?}", content.speaker));
        }
        said.extend(content.blocks.iter().map(block));
        said.extend(content.signature.map(|seal| format!("  message {seal}")));
    }
    let members: Value = serde_json::from_str(body).unwrap();
    let mut members: Vec<String> = members
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| !["messages", "input", "contents", "tools"].contains(&&***name))
        .map(|(name, value)| format!("{name}: {}", sorted(value)))
        .collect();
    members.sort();
    [said, members].concat().join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Thinking(it) => format!(
            "  thought {:?} {:?} {:?} {:?}",
            it.thought, it.signature, it.encrypted_content, it.redacted_data
        ),
        Block::Text(text) => format!("  text {:?} {:?}", text.text, text.signature),
        Block::ToolCall(call) => {
            format!("  call {} {:?} {:?}", call.name, call.parameters, call.signature)
        }
        Block::ToolResponse(result) => format!("  result {:?}", result.result.text()),
        Block::Media(_) | Block::Other(_) => format!("  {block:?}"),
    }
}

fn sorted(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut all: Vec<String> =
                members.iter().map(|(name, value)| format!("{name}: {}", sorted(value))).collect();
            all.sort();
            format!("{{{}}}", all.join(", "))
        }
        _ => value.to_string(),
    }
}

#[test]
fn what_goes_upstream_is_the_same_on_every_face() {
    let targets =
        MODELS.map(|(provider, wire, model)| Target::built_in(provider, wire, model).unwrap());
    let mut differ = Vec::new();
    for caller in ["chat-completions", "messages", "responses"] {
        for first in &targets {
            let human = |text: &str| Content::text(Speaker::Human, text);
            let mut gateway = Gateway::new(caller, "openai-compatible", None, "m");
            (gateway.target, gateway.settings) = (first.clone(), settings());
            gateway.handling.thoughts = Thoughts::Show;
            let mut client = Client { gateway, contents: vec![human("List it.")] };
            let mut contents = client.contents.clone();
            for at in 0..2 {
                let says = said(first, at, at == 0);
                own(&mut contents, first, &says);
                client.ask(&says);
                if at == 0 {
                    contents.push(result(contents.last().unwrap()));
                    client.contents.push(result(client.contents.last().unwrap()));
                }
            }
            contents.push(human("And now?"));
            client.contents.push(human("And now?"));
            for second in &targets {
                client.gateway.target = second.clone();
                let asked = request(contents.clone(), &second.model);
                let ours = Turn::begin(&asked, second, &settings());
                let theirs = client.gateway.ask(&client.body(), &Lock);
                let theirs = theirs.body.unwrap_or_else(|| client.body());
                let of = |body: &str| meaning(second.wire, body);
                let (ours, theirs) = (of(&ours.outgoing().body), of(&theirs));
                if ours != theirs {
                    let lines = similar(&ours, &theirs);
                    differ.push(format!("{caller}: {} to {}:\n{lines}", first.model, second.model));
                }
            }
        }
    }
    let all = 3 * MODELS.len() * MODELS.len();
    assert!(differ.is_empty(), "{} of {all} differ:\n{}", differ.len(), differ.join("\n"));
}

/// The lines that only one of them has.
fn similar(ours: &str, theirs: &str) -> String {
    let only = |of: &str, other: &str, mark: &str| -> Vec<String> {
        let lines = of.lines().filter(|line| !other.lines().any(|it| it == *line));
        lines.map(|line| format!("{mark} {}", line.trim())).collect()
    };
    [only(ours, theirs, "  own    "), only(theirs, ours, "  gateway")].concat().join("\n")
}
