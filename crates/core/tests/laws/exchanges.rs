//! Laws of a caller's request on its way to the upstream, and of the answer on its way back.

use std::collections::BTreeMap;
use thinkthrough_core::content::{
    Block, Content, Origin, Speaker, Thinking, ToolCall, ToolResponse,
};
use thinkthrough_core::contract::{Contract, Level, Return};
use thinkthrough_core::decide::answers;
use thinkthrough_core::decision::{Action, Decision};
use thinkthrough_core::event::Event;
use thinkthrough_core::exchange::{Ending, Found, Handling, Need, Owner, Prepared, RequestContext};
use thinkthrough_core::plane::{Open, SealError, Sealed, Tenant};
use thinkthrough_core::provider::Target;
use thinkthrough_core::restore::{
    About, Answered, Ask, Delivery, Head, Key, Question, Secret, Version, capture,
};
use thinkthrough_core::settings::Resolved;
use thinkthrough_core::wire::find;
use thinkthrough_json::{Doc, Extra, Raw};

use super::random::{Random, pieces};
use super::wires::given_or_spelled;

/// Wires of callers, and where their requests go.
const WAYS: [(&str, &str, Option<&str>, &str); 8] = [
    ("chat-completions", "deepseek", None, "deepseek-v4-flash"),
    ("chat-completions", "anthropic", None, "claude-sonnet-4-5"),
    ("messages", "anthropic", None, "claude-sonnet-4-5"),
    ("messages", "moonshotai", None, "kimi-k2-thinking"),
    ("responses", "openai", Some("responses"), "gpt-5.1"),
    ("responses", "google", None, "gemini-3-pro-preview"),
    ("generate-content", "google", None, "gemini-3-pro-preview"),
    ("ollama-chat", "mistral", None, "magistral-medium-latest"),
];

/// Opens nothing, as after the loss of a key.
struct Shut;

impl Open for Shut {
    fn open(&self, key: u32, _: &[u8], _: &[u8]) -> Result<Vec<u8>, SealError> {
        Err(SealError::KeyGone(key))
    }
}

/// Any request that can be read is prepared, the same each time: what goes upstream is JSON that the upstream's wire
/// reads, and where nothing of ours is to be changed the caller's own bytes. Records that cannot be opened change
/// nothing. Any answer to it comes to an end, in any pieces the same one, and a refused or broken one leaves no record.
pub(crate) fn requests_reach_the_upstream_whole(bytes: &[u8]) {
    let &[choice, seed, cut, ref rest @ ..] = bytes else { return };
    let (caller, provider, wire, model) = WAYS[usize::from(choice) % WAYS.len()];
    let target = Target::built_in(provider, wire, model).expect("it is built in");
    let (body, answer) = rest.split_at(rest.len() * usize::from(cut) / 256);
    let body = given_or_spelled(body);
    let doc = Doc::parse_str(&body).expect("it is JSON");
    let settings = Resolved::default();
    let caller = find(caller).expect("a wire");
    let owner = Owner {
        tenant: Tenant::local(),
        secret: Secret::new([5; 32]),
        hint: None,
        account: None,
        record: "r".to_owned(),
        is_kept: true,
    };
    let handling = Handling::default();
    let Ok(asked) = RequestContext::read(caller, &doc, &target, &settings, handling, Some(owner))
    else {
        return;
    };
    let found = match asked.need() {
        Need::Nothing => Vec::new(),
        Need::Lookup(keys) => unopened(&keys, &target),
    };
    let with = asked.prepare(&found, &Shut);
    let without = asked.prepare(&[], &Shut);
    assert_eq!(with.body, without.body, "what cannot be opened is not there");
    assert_eq!(with.counts.restored, 0);
    assert_eq!(asked.prepare(&found, &Shut).body, with.body, "a second time");
    if let Some(sent) = &with.body {
        let sent_doc = Doc::parse_str(sent).unwrap_or_else(|error| panic!("{error}: {sent}"));
        let read = target.wire.read_request(sent_doc.root());
        assert!(read.is_ok(), "{provider} is sent what its wire cannot read: {read:?}: {sent}");
    }
    let status = if seed % 4 == 0 { 400 } else { 200 };
    let whole = answered(with, &[answer], status);
    let split = answered(asked.prepare(&found, &Shut), &pieces(answer, seed), status);
    assert_eq!(whole, split, "{provider}, {status}");
}

/// Records that every key finds, and nobody opens.
fn unopened(keys: &[Key], target: &Target) -> Vec<Found> {
    let secret = Secret::new([5; 32]);
    let said = [Content::text(Speaker::Human, "one")];
    let question = Question::read(&said, About::default(), &secret, Version::CURRENT);
    // Nothing was looked up.
    let plan = Vec::new();
    let origin = target.origin(None);
    let record = |(at, key): (usize, &Key)| {
        let answered = Answered {
            record: &format!("r{at}"),
            content: thought_answer(at, "two", &[]),
            origin: &origin,
            delivery: Delivery::Full,
            at: at as u64,
            tickets: None,
            has_thought_ticket: false,
        };
        let (mut head, _) = capture(&question, &plan, answered, &secret)?;
        head.keys.answered = *key;
        Some(Found { head: head.into(), kept: Sealed::stored(1, *b"shut").into() })
    };
    keys.iter().take(4).enumerate().filter_map(record).collect()
}

/// What the caller gets, and how many records are kept.
fn answered(prepared: Prepared, pieces: &[&[u8]], status: u16) -> (String, usize) {
    let (mut exchange, mut out) = (prepared.exchange, Vec::new());
    exchange.head(status);
    for piece in pieces {
        if exchange.is_untouched() {
            out.extend_from_slice(piece);
        }
        exchange.push(piece, &mut out, &mut |_: Event<'_>| {});
    }
    let ending = Ending { cut: None, is_stopped: false, at: 1 };
    let done = exchange.end(&ending, &mut out, &mut |_: Event<'_>| {}, &mut |_| {});
    assert!(status < 400 || done.records.is_empty(), "a refusal is no answer");
    // Whatever is kept was whole: nothing of a stream that broke off is ever put back.
    (String::from_utf8_lossy(&out).into_owned(), done.records.len())
}

const TEXTS: [&str; 4] = ["Yes.", "No.", "Look at it.", "yes"];
const ASKS: [&str; 3] = ["And?", "Why?", "Go on."];
const NAMES: [&str; 2] = ["ls", "read"];
/// Those that servers give again and again.
const WEAK_IDS: [&str; 3] = ["call_0", "call_1", "0"];

/// An id of a call: one that servers give again and again, or one that was drawn at random, and so names this call alone.
fn id(which: usize, at: usize) -> String {
    match WEAK_IDS.get(which % 6) {
        Some(weak) => (*weak).to_owned(),
        None => format!("call_{:016x}kQz9", Random(at as u64).next()),
    }
}

/// A conversation as it went: what was said, and for each answer its thought.
#[derive(Default)]
struct Talk {
    /// As its client keeps it, without thoughts.
    said: Vec<Content>,
    /// For each answer its message and its record.
    answers: BTreeMap<usize, Option<Head>>,
}

/// With the strictness that most providers have.
const PLAIN: Contract = Contract::plain(Return::All, "reasoning_content");
/// The whole conversation must be the same.
const STRICT: Contract = Contract { level: Level::History, ..PLAIN };

fn origin() -> Origin {
    Origin {
        provider: "p".into(),
        endpoint: "https://p.example/v1".into(),
        model: "m".into(),
        account: None,
    }
}

fn secret() -> Secret {
    Secret::new([7; 32])
}

fn thought_answer(at: usize, text: &str, calls: &[ToolCall]) -> Content {
    let thinking = Thinking::new(format!("thought {at}"), "reasoning_content");
    let mut blocks = vec![Block::Thinking(thinking)];
    blocks.extend((!text.is_empty()).then(|| Block::text(text)));
    blocks.extend(calls.iter().cloned().map(Block::ToolCall));
    Content::new(Speaker::Ai, blocks)
}

impl Talk {
    /// A conversation that these bytes spell.
    fn spelled(bytes: &[u8]) -> Self {
        let mut talk = Talk::default();
        talk.said.push(Content::text(Speaker::Human, ASKS[0]));
        for byte in bytes.iter().take(24) {
            let (kind, which) = (byte % 4, usize::from(byte / 4));
            match kind {
                0 => talk.said.push(Content::text(Speaker::Human, ASKS[which % ASKS.len()])),
                1 => talk.answer(TEXTS[which % TEXTS.len()], &[]),
                _ => {
                    let text = if kind == 2 { "" } else { TEXTS[which % TEXTS.len()] };
                    let (id, name) = (id(which, talk.said.len()), NAMES[which % NAMES.len()]);
                    talk.answer(text, &[ToolCall::new(Some(&id), name)]);
                    let result = ToolResponse {
                        call_id: Some(id),
                        name: Some(name.to_owned()),
                        result: Raw::parse("\"done\"").expect("it is JSON").into(),
                        is_error: false,
                        extra: Extra::default(),
                    };
                    talk.said.push(Content::new(Speaker::Tool, vec![Block::ToolResponse(result)]));
                }
            }
        }
        talk
    }

    fn heads(&self) -> Vec<Head> {
        self.answers.values().flatten().cloned().collect()
    }

    /// The model answers what was said so far, and its answer is kept.
    fn answer(&mut self, text: &str, calls: &[ToolCall]) {
        // Two answers in a row may be one that a client split.
        if self.said.last().is_some_and(|last| last.speaker == Speaker::Ai) {
            self.said.push(Content::text(Speaker::Human, ASKS[0]));
        }
        let at = self.said.len();
        let content = thought_answer(at, text, calls);
        let question = Question::read(&self.said, About::default(), &secret(), Version::CURRENT);
        let plan = planned(&question, &self.heads(), &PLAIN);
        let answered = Answered {
            record: &format!("{at:06}"),
            content: content.clone(),
            origin: &origin(),
            delivery: Delivery::Full,
            at: at as u64,
            tickets: None,
            has_thought_ticket: false,
        };
        self.answers.insert(at, capture(&question, &plan, answered, &secret()).map(|it| it.0));
        let visible = content.blocks.into_iter().filter(|it| !matches!(it, Block::Thinking(_)));
        self.said.push(Content::new(Speaker::Ai, visible.collect()));
    }
}

/// What is decided with these of the records in the vault.
fn planned(question: &Question, records: &[Head], contract: &Contract) -> Vec<Decision> {
    let asked = question.keys();
    let is_hit = |head: &&Head| head.all_keys().any(|key| asked.contains(&key));
    let found: Vec<Head> = records.iter().filter(is_hit).cloned().collect();
    let ask =
        Ask { contract, origin: &origin(), is_own_wire: true, is_thinking: true, is_afresh: false };
    let mut plan = answers(question, &found, &ask);
    // By their place in the vault.
    for found_here in plan.iter_mut().flat_map(|answer| answer.evidence.first_mut()) {
        let id = &found[found_here.record].id;
        assert_eq!(*id, found_here.id);
        found_here.record = records.iter().position(|it| it.id == *id).expect("it was found there");
    }
    plan
}

/// An answer gets the thought of one that says the same with the same calls, whatever was lost. What is decided does not
/// hang on the order of records. Records that are lost turn thoughts that went back into missing ones, never into those of
/// answers elsewhere.
pub(crate) fn lost_records_are_missed_and_not_replaced(bytes: &[u8]) {
    let &[lost, lost_too, order, ref spelled @ ..] = bytes else { return };
    let talk = Talk::spelled(spelled);
    let contract = if order < 128 { &PLAIN } else { &STRICT };
    let heads = talk.heads();
    let question = Question::read(&talk.said, About::default(), &secret(), Version::CURRENT);
    let full = planned(&question, &heads, contract);
    let answers: Vec<&Content> = talk.answers.keys().map(|at| &talk.said[*at]).collect();
    assert_eq!(full.len(), answers.len(), "each answer is asked about");
    let mut turned = heads.clone();
    turned.rotate_left(usize::from(order) % heads.len().max(1));
    let again = planned(&question, &turned, contract);
    for (one, other) in full.iter().zip(&again) {
        assert_eq!(one.action, other.action, "in another order");
        let id = |outcome: &Decision| outcome.found().map(|found| found.id.clone());
        assert_eq!(id(one), id(other), "in another order");
    }
    let mask = u16::from_le_bytes([lost, lost_too]);
    let is_left = |at: &usize| mask & (1 << (at % 16)) == 0;
    let left: Vec<Head> =
        heads.iter().enumerate().filter(|(at, _)| is_left(at)).map(|(_, it)| it.clone()).collect();
    let less = planned(&question, &left, contract);
    for (at, (full, less)) in full.iter().zip(&less).enumerate() {
        let said = |head: &Head| {
            let at: usize = head.id.parse().expect("ids are places");
            talk.said[at].blocks.clone()
        };
        let thought_of = |outcome: &Decision, of: &[Head]| {
            let found = outcome.found().filter(|_| outcome.action == Action::Restore)?;
            Some(of[found.record].clone())
        };
        let (was, is) = (thought_of(full, &heads), thought_of(less, &left));
        for head in was.iter().chain(&is) {
            let same = said(head) == answers[at].blocks;
            assert!(same, "answer {at} gets the thought of {}: {:?}", head.id, talk.said);
        }
        if let (Some(was), Some(is)) = (was, is) {
            // Twins answered the same in the same place.
            let is_twin = was.keys.answered == is.keys.answered;
            assert!(was.id == is.id || is_twin, "{} for {}: {:?}", is.id, was.id, talk.said);
        }
    }
}
