//! A recorded conversation up to one request, with our own reading of every answer in it.

use crate::recordings::Case;
use serde_json::Value;
use thinkthrough_core::content::{Content, Speaker};
use thinkthrough_core::contract::{Contract, Return};
use thinkthrough_core::exchange::Turn;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::provider::{Target, find};
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::Resolved;
use thinkthrough_json::Doc;

/// Where the same models are served in the same way under another name; a configuration says `extends`.
const EXTENDS: [(&str, &str); 3] =
    [("bedrock-mantle", "bedrock"), ("chatgpt", "openai"), ("copilot", "openai")];

/// Plain endpoints, of which we know nothing: the field that a configuration names for their thoughts, as in
/// `contract = { return = "all", field = "..." }`.
const CONFIGURED: [(&str, &str); 4] = [
    ("crusoe", "reasoning"),
    ("doubleword", "reasoning_content"),
    ("gpustack", "reasoning_content"),
    ("snowflake", "reasoning_details"),
];

/// A conversation as it stands when the recorded client asks on.
pub(crate) struct Told<'c> {
    pub(crate) case: &'c Case,
    pub(crate) target: Target,
    /// The request with our own reading of the answers.
    pub(crate) request: Request,
    /// Which contents are such answers.
    pub(crate) answers: Vec<usize>,
    /// The recorded body has the whole conversation; otherwise the server remembers it.
    pub(crate) is_whole: bool,
}

/// Tells a conversation again; `None` for one that goes on from nothing.
pub(crate) fn tell<'c>(case: &'c Case, cases: &'c [Case]) -> Option<Told<'c>> {
    let link = case.replay.as_ref()?["link"].as_str().unwrap();
    let target = target(case);
    let mut told =
        Told { request: read(case), target, case, answers: Vec::new(), is_whole: link == "prefix" };
    let mut later = case;
    let mut before = Vec::new();
    while let Some(previous) = previous(later, cases) {
        before.push((previous, later));
        later = previous;
    }
    for (previous, next) in before.into_iter().rev() {
        let said = answer(previous, &told.target);
        let begin = if is_prefix(next) {
            read(previous).contents.len()
        } else {
            let mut contents = read(previous).contents;
            let begin = contents.len();
            contents.append(&mut told.request.contents);
            told.request.contents = contents;
            begin
        };
        let is_answer = |content: &&Content| content.speaker == Speaker::Ai;
        let run = told.request.contents[begin..].iter().take_while(is_answer).count();
        told.request.contents.splice(begin..begin + run, [said]);
        told.answers.push(begin);
    }
    Some(told)
}

fn is_prefix(case: &Case) -> bool {
    case.replay.as_ref().is_some_and(|replay| replay["link"] == "prefix")
}

fn previous<'c>(case: &Case, cases: &'c [Case]) -> Option<&'c Case> {
    let id = &case.replay.as_ref()?["previous"];
    Some(cases.iter().find(|other| *id == other.id.as_str()).unwrap())
}

/// Our own reading of an answer, as a turn gives it.
fn answer(case: &Case, target: &Target) -> Content {
    let request = read(case);
    let mut turn = Turn::begin(&request, target, &Resolved::default());
    turn.head(case.status);
    let mut ignore = |_: thinkthrough_core::event::Event<'_>| {};
    turn.push(&case.body, &mut ignore);
    turn.finish(None, &mut ignore).content.unwrap_or_else(|| panic!("{}: says nothing", case.id))
}

/// The request of a recording in the neutral form.
fn read(case: &Case) -> Request {
    let body = case.request.as_deref().unwrap();
    let doc = Doc::parse_str(body).unwrap();
    case.wire.read_request(doc.root()).unwrap_or_else(|error| panic!("{}: {error}", case.id))
}

fn target(case: &Case) -> Target {
    let extends = EXTENDS.iter().find(|(name, _)| *name == case.provider);
    let name = extends.map_or(case.provider.as_str(), |(_, extends)| extends);
    let name = find(name).map_or("openai-compatible", |provider| provider.id);
    let target = Target::built_in(name, Some(case.wire.id()), &case.model).unwrap();
    match CONFIGURED.iter().find(|(name, _)| *name == case.provider) {
        Some((_, field)) => target.with_contract(Contract::plain(Return::All, field), "config"),
        None => target,
    }
}

impl Told<'_> {
    /// The body that the recorded client sent.
    pub(crate) fn theirs(&self) -> Value {
        serde_json::from_str(self.case.request.as_deref().unwrap()).unwrap()
    }

    /// The request that we build.
    pub(crate) fn ours(&self, settings: &Resolved) -> Outgoing {
        thinkthrough_core::exchange::build(&self.request, &self.target, settings)
    }
}
