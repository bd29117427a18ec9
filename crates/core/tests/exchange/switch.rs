//! A client that drops thoughts changes the model in the middle of a tool loop, and changes back.

use crate::{Gateway, Lock};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Content, Speaker, Thinking, ToolCall, ToolResponse};
use thinkthrough_core::contract::{Contract, Return};
use thinkthrough_core::event::Fold;
use thinkthrough_core::exchange::{Prepared, Repair};
use thinkthrough_core::provider::Target;
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::request::{ReasoningAsk, Request};
use thinkthrough_core::settings::Effort;
use thinkthrough_core::wire::{Dialect, Wire, find};
use thinkthrough_json::{Doc, Extra, Raw};

/// A model, and the API that its callers use.
pub(crate) struct Model {
    pub(crate) caller: &'static str,
    provider: &'static str,
    wire: Option<&'static str>,
    pub(crate) name: &'static str,
}

pub(crate) const fn model(
    caller: &'static str,
    provider: &'static str,
    wire: Option<&'static str>,
    name: &'static str,
) -> Model {
    Model { caller, provider, wire, name }
}

pub(crate) const CHAT: &str = "chat-completions";
pub(crate) const DEEPSEEK: Model = model(CHAT, "deepseek", None, "deepseek-v4-pro");
/// Nobody's rule is known for it but the one that its user states.
pub(crate) const MIMO: Model = model(CHAT, "openai-compatible", None, "mimo-v2-pro");
/// All that is known of it was learned from a refusal.
const LEARNED: Model = model(CHAT, "openai-compatible", None, "learned");
pub(crate) const KIMI: Model = model(CHAT, "moonshotai", None, "kimi-k2-thinking");

impl Model {
    pub(crate) fn target(&self) -> Target {
        let target = Target::built_in(self.provider, self.wire, self.name).unwrap();
        match self.name {
            "mimo-v2-pro" => {
                let contract = Contract::plain(Return::ToolCalls, "reasoning_content").required();
                target.with_contract(contract, "configuration")
            }
            _ => target,
        }
    }
}

/// A tool loop of a client that keeps no thoughts, with whatever model it asks.
pub(crate) struct Loop {
    pub(crate) gateway: Gateway,
    said: Vec<Content>,
    answers: usize,
    /// What went upstream last, for each model that was asked.
    sent: Vec<(&'static str, Vec<String>)>,
}

impl Loop {
    pub(crate) fn new() -> Self {
        Loop {
            gateway: Gateway::new(CHAT, "deepseek", None, "deepseek-v4-pro"),
            said: vec![Content::text(Speaker::Human, "List it.")],
            answers: 0,
            sent: Vec::new(),
        }
    }

    pub(crate) fn request(&self, model: &Model) -> String {
        let asks = model.name.contains("sonnet-4-5");
        let reasoning = ReasoningAsk {
            enabled: asks.then_some(true),
            effort: (asks && model.caller == CHAT).then_some(Effort::Low),
            max_tokens: (asks && model.caller != CHAT).then_some(2000),
            ..ReasoningAsk::default()
        };
        let request = Request {
            model: model.name.to_owned(),
            max_tokens: Some(4000),
            contents: self.said.clone(),
            reasoning,
            ..Request::default()
        };
        find(model.caller).unwrap().write_request(&request, &Dialect::PLAIN).body
    }

    /// Asks a model. Gives the body that goes upstream, whose messages those of its last one begin.
    fn ask(&mut self, model: &Model) -> (Prepared, String) {
        self.gateway.target = model.target();
        let lesson = Repair::Return(Some(("reasoning_content", "")));
        self.gateway.learned = (model.name == "learned").then_some(lesson);
        self.gateway.caller = find(model.caller).unwrap();
        let request = self.request(model);
        let prepared = self.gateway.ask(&request, &Lock);
        let sent = prepared.body.clone().unwrap_or(request);
        let messages = messages(&sent);
        match self.sent.iter_mut().find(|(name, _)| *name == model.name) {
            Some((name, last)) => {
                assert!(messages.starts_with(last), "{name}: {messages:#?}\nafter {last:#?}");
                *last = messages;
            }
            None => self.sent.push((model.name, messages)),
        }
        (prepared, sent)
    }

    /// The model thinks and calls a tool, which gives something; the client keeps call and result.
    pub(crate) fn calls(&mut self, prepared: Prepared) -> usize {
        self.takes(prepared, answer)
    }

    /// The model thinks and answers.
    fn answers(&mut self, prepared: Prepared) -> usize {
        self.takes(prepared, |wire, number| {
            let mut answer = answer(wire, number);
            answer.blocks.truncate(1);
            answer.blocks.push(Block::text("So it is."));
            Answer { finish_reason: Some("stop".to_owned()), ..answer }
        })
    }

    fn takes(&mut self, prepared: Prepared, answer: fn(&dyn Wire, usize) -> Answer) -> usize {
        self.answers += 1;
        let number = self.answers;
        let upstream = self.gateway.target.wire;
        let answer = answer(upstream, number);
        let (said, _) = self.gateway.answer(prepared, &[&upstream.write_response(&answer)], None);
        self.reads(&said);
        number
    }

    fn reads(&mut self, said: &str) {
        let mut fold = Fold::new();
        let mut reader = Reader::new(self.gateway.caller, &Dialect::PLAIN, Form::Whole);
        reader.push(said.as_bytes(), &mut fold);
        reader.end(&mut fold);
        let mut content = fold.finish().into_content(None);
        content.blocks.retain(|block| !matches!(block, Block::Thinking(_)));
        for block in &mut content.blocks {
            if let Block::ToolCall(call) = block {
                (call.signature, call.extra) = (None, Extra::default());
            }
        }
        let number = self.answers;
        let results: Vec<Content> = content.tool_calls().map(|call| result(call, number)).collect();
        self.said.push(content);
        self.said.extend(results);
    }

    pub(crate) fn says(&mut self, text: &str) {
        self.said.push(Content::text(Speaker::Human, text));
    }
}

fn result(call: &ToolCall, number: usize) -> Content {
    let response = ToolResponse {
        call_id: call.id.clone(),
        name: Some(call.name.clone()),
        result: Raw::string(&format!("gift {number}")).into(),
        is_error: false,
        extra: Extra::default(),
    };
    Content::new(Speaker::Tool, vec![Block::ToolResponse(response)])
}

/// Thinks `thought-N` and calls a tool, as each wire has it.
fn answer(wire: &dyn Wire, number: usize) -> Answer {
    let thought = format!("thought-{number}");
    let id = format!("call_0{number}_Xy7zQwErTy12UiOpAsDf{number}g");
    let mut call = ToolCall::new(Some(&id), "ls");
    let mut thinking = Thinking::new(thought.clone(), "reasoning_content");
    match wire.id() {
        "messages" => {
            thinking.source_field = "thinking".to_owned();
            thinking.signature = Some(thought);
        }
        "generate-content" => {
            thinking.source_field = "thought".to_owned();
            call.signature = Some(format!("{thought}-seal"));
        }
        // With both, whichever the provider reads.
        "responses" => {
            thinking.source_field = "content".to_owned();
            thinking.id = Some(format!("rs_{number}"));
            thinking.summary = Some(Vec::new());
            thinking.content = Some(vec![thought.clone()]);
            thinking.encrypted_content = Some(thought);
        }
        _ => {}
    }
    Answer {
        blocks: vec![Block::Thinking(thinking), Block::ToolCall(call)],
        finish_reason: Some("tool_calls".to_owned()),
        response_id: Some(format!("r{number}")),
        ..Answer::default()
    }
}

/// The messages of a request, as they stand in its bytes.
pub(crate) fn messages(body: &str) -> Vec<String> {
    let doc = Doc::parse_str(body).unwrap();
    let list = ["messages", "input", "contents"].iter().find_map(|key| doc.root().get(key));
    list.unwrap().items().map(|item| item.raw().to_owned()).collect()
}

/// The thoughts of these answers are in a request, and no others are.
#[track_caller]
fn has_thoughts(sent: &str, numbers: &[usize]) {
    for number in 1..9 {
        let has = sent.contains(&format!("thought-{number}"));
        assert_eq!(has, numbers.contains(&number), "thought {number}: {sent}");
    }
}

#[test]
fn after_a_change_of_models_and_back_a_model_has_its_own_thoughts_and_thinks() {
    for first in [
        DEEPSEEK,
        model("messages", "deepseek", Some("messages"), "deepseek-v4-pro"),
        model("responses", "deepseek", Some("responses"), "deepseek-v4-pro"),
        MIMO,
        LEARNED,
        KIMI,
        model("messages", "anthropic", None, "claude-sonnet-4-5"),
        model(CHAT, "anthropic", None, "claude-sonnet-4-5"),
        model("messages", "anthropic", None, "claude-opus-5"),
        model("generate-content", "google", None, "gemini-3.1-pro"),
        model("responses", "openai", Some("responses"), "gpt-5.6"),
    ] {
        let other = match first.name {
            "kimi-k2-thinking" => Model { caller: first.caller, ..DEEPSEEK },
            _ => Model { caller: first.caller, ..KIMI },
        };
        let mut talk = Loop::new();
        let (asked, _) = talk.ask(&first);
        let own = talk.calls(asked);
        let (asked, sent) = talk.ask(&other);
        has_thoughts(&sent, &[]);
        talk.calls(asked);

        let (asked, sent) = talk.ask(&first);
        has_thoughts(&sent, &[own]);
        assert!(!sent.contains("disabled"), "{}: {sent}", first.name);
        let explained = asked.exchange.outgoing();
        assert!(
            explained
                .decisions
                .iter()
                .any(|it| it.block.is_some() && it.message == 1 && it.action.is_sent())
        );
        let later = talk.calls(asked);

        // The further way is as before; the one back to the other model, too.
        let (asked, sent) = talk.ask(&first);
        has_thoughts(&sent, &[own, later]);
        assert!(!sent.contains("disabled"), "{}: {sent}", first.name);
        talk.calls(asked);
        let (_, sent) = talk.ask(&other);
        has_thoughts(&sent, &[2]);
        talk.says("And now?");
        let (_, sent) = talk.ask(&first);
        assert!(!sent.contains("disabled"), "{}: {sent}", first.name);
    }
}

/// Claude demands thoughts in the turn under way only.
pub(crate) const CLAUDE: Model = model("messages", "anthropic", None, "claude-sonnet-4-5");

#[test]
fn what_was_told_in_its_turn_stays_told_and_what_is_lost_later_stays_as_it_is() {
    for lost_at_once in [true, false] {
        let mut talk = Loop::new();
        let (asked, _) = talk.ask(&CLAUDE);
        talk.calls(asked);
        if lost_at_once {
            talk.gateway.records.clear();
        }
        let (asked, sent) = talk.ask(&CLAUDE);
        assert_eq!(sent.contains("You used the tool"), lost_at_once, "{sent}");
        talk.calls(asked);
        let (asked, _) = talk.ask(&CLAUDE);
        talk.answers(asked);
        talk.says("And now?");
        if !lost_at_once {
            talk.gateway.records.remove(0);
            talk.sent.clear();
        }
        let (_, sent) = talk.ask(&CLAUDE);
        assert_eq!(sent.contains("You used the tool"), lost_at_once, "{sent}");
        has_thoughts(&sent, &[2, 3]);
    }
}

/// Whichever records are lost as soon as they are kept: what went upstream stays, words and all, and only a loop that
/// loses answer after answer goes without thinking.
#[test]
fn what_is_told_is_told_in_the_same_words_for_ever() {
    for first in [DEEPSEEK, MIMO, KIMI, CLAUDE] {
        for lost in 0..1_u32 << 5 {
            let is_lost = |answer: usize| lost & (1 << answer) != 0;
            let mut talk = Loop::new();
            for answer in 0..5 {
                let before = talk.sent.clone();
                let is_trapped = answer > 1 && is_lost(answer - 1) && is_lost(answer - 2);
                let is_off = is_trapped && ["deepseek-v4-pro", CLAUDE.name].contains(&first.name);
                if is_off {
                    talk.sent.clear();
                }
                let (asked, sent) = talk.ask(&first);
                assert_eq!(asked.without.is_off, is_off, "{} {lost:b}: {sent}", first.name);
                if is_off {
                    talk.sent = before;
                }
                let own: Vec<usize> =
                    (0..answer).filter(|it| !is_lost(*it)).map(|it| it + 1).collect();
                has_thoughts(&sent, if is_off { &[] } else { &own });
                talk.calls(asked);
                if is_lost(answer) {
                    talk.gateway.records.pop();
                }
            }
        }
    }
}
