//! The client of a scenario: its conversation and its next request.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::caller::{Answer, Ask, Call, Caller, caller, run_tool};
use super::habit::{odd_bytes, spoil, top};
use super::post::Letter;
use super::scenario::{Habit, Scenario};
use crate::catalog::{Profile, profile};
use crate::json::Keyed;

/// The way to play a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A client that does everything right, at the simulator.
    Direct,
    /// A naive client at the simulator.
    Naive,
    /// The naive client through a gateway.
    Gateway,
}

/// One entry of a conversation.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    User(String, Option<&'static str>),
    Answer(Answer),
    Results(Vec<(Call, String)>),
}

/// The image of all scenarios: one pixel.
pub(super) const IMAGE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// A conversation. A scenario can keep it and return to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Course {
    pub(super) entries: Vec<Entry>,
    /// Top-level fields of the scenario.
    extra: Option<Value>,
}

/// The client of a scenario.
pub(super) struct Patient<'a> {
    scenario: &'a Scenario,
    /// The number of the scenario. It is in the first message, so that no two scenarios have the
    /// same conversation.
    number: usize,
    way: Way,
    pub(super) sim: &'static str,
    pub(super) course: Course,
    kept: BTreeMap<u8, Course>,
    pub(super) is_stranger: bool,
    pub(super) requests: usize,
}

impl<'a> Patient<'a> {
    pub(super) fn new(scenario: &'a Scenario, number: usize, way: Way) -> Self {
        Self {
            scenario,
            number,
            way,
            sim: scenario.sim,
            course: Course::default(),
            kept: BTreeMap::new(),
            is_stranger: false,
            requests: 0,
        }
    }

    pub(super) fn say(&mut self, text: &str, image: Option<&'static str>) {
        let is_first = self.course.entries.is_empty();
        let number = self.number;
        let text = if is_first { format!("Case {number}: {text}") } else { text.to_owned() };
        self.course.entries.push(Entry::User(text, image));
    }

    pub(super) fn extra(&mut self, fields: &str) {
        self.course.extra = serde_json::from_str(fields).ok();
    }

    pub(super) fn begin_anew(&mut self) {
        self.course = Course::default();
    }

    pub(super) fn keep(&mut self, number: u8) {
        self.kept.insert(number, self.course.clone());
    }

    pub(super) fn back(&mut self, number: u8) {
        self.course = self.kept.get(&number).cloned().unwrap_or_default();
    }

    /// Replaces everything before the last user message by a summary.
    pub(super) fn compact(&mut self, summary: &str) {
        let entries = &mut self.course.entries;
        let last = entries.iter().rposition(|entry| matches!(entry, Entry::User(..)));
        let mut tail = entries.split_off(last.unwrap_or(0));
        tail.insert(0, Entry::User(summary.to_owned(), None));
        *entries = tail;
    }

    /// Runs the tools of the last answer. Returns false if it has no calls.
    pub(super) fn run_tools(&mut self) -> bool {
        let Some(Entry::Answer(answer)) = self.course.entries.last() else { return false };
        let results: Vec<_> =
            answer.calls.iter().map(|call| (call.clone(), run_tool(call))).collect();
        let any = !results.is_empty();
        if any {
            self.course.entries.push(Entry::Results(results));
        }
        any
    }

    /// The answers that came from the simulator of the next request.
    pub(super) fn own_answers(&self) -> impl Iterator<Item = &Answer> {
        self.course.entries.iter().filter_map(|entry| match entry {
            Entry::Answer(answer) if answer.sim == self.sim => Some(answer),
            _ => None,
        })
    }

    /// The client of the API for the next request.
    pub(super) fn caller(&self) -> Result<&'static dyn Caller, String> {
        let native = self.profile()?.wire();
        let wire = match self.way {
            Way::Gateway => self.scenario.via.unwrap_or(native),
            Way::Direct | Way::Naive => native,
        };
        caller(wire).ok_or_else(|| format!("no client speaks `{wire}`"))
    }

    fn profile(&self) -> Result<&'static Profile, String> {
        profile(self.sim).ok_or_else(|| format!("no simulator `{}`", self.sim))
    }

    /// The next request, and the path of its simulator, which is empty at a gateway.
    pub(super) fn ask(&mut self, stream: bool, count: bool) -> Result<(String, Letter), String> {
        let (caller, profile) = (self.caller()?, self.profile()?);
        let habits = self.habits();
        let mut extra = self.fields(profile);
        let mut system = Some("You help.".to_owned());
        top(habits, self.turn(), &mut extra, &mut system);
        let mut history = self.history(caller);
        spoil(habits, caller, &mut history);
        if self.way == Way::Direct && *extra.at("thinking").at("type") == "disabled" {
            caller.forget(&mut history);
        }
        let is_direct = self.way != Way::Gateway;
        let model =
            if is_direct { profile.model } else { self.scenario.model.unwrap_or(profile.id) };
        let credential = if self.is_stranger { "somebody-else" } else { "the-doctor" };
        let system = system.as_deref();
        let ask = Ask { model, system, history, extra: &extra, credential, stream, count };
        let mut letter = caller.request(ask);
        if habits.contains(&Habit::OddBytes) {
            letter.body = odd_bytes(&letter.body);
        }
        self.requests += 1;
        let before = if is_direct { format!("/{}", profile.id) } else { String::new() };
        Ok((before, letter))
    }

    fn habits(&self) -> &'static [Habit] {
        if self.way == Way::Direct { &[] } else { self.scenario.habits }
    }

    fn turn(&self) -> usize {
        let users = self.course.entries.iter().filter(|entry| matches!(entry, Entry::User(..)));
        users.count()
    }

    /// The top-level fields: first the model's switch for thinking, then the fields of the
    /// scenario.
    fn fields(&self, profile: &Profile) -> Value {
        let native = profile.wire();
        let via = self.scenario.via.filter(|_| self.way == Way::Gateway);
        let thinks_by_itself = !matches!(native, "messages" | "responses" | "generate-content");
        let mut fields = match (profile.id, via.unwrap_or(native)) {
            (_, "chat-completions") if via.is_some() && !thinks_by_itself => {
                json!({"reasoning_effort": "medium"})
            }
            ("anthropic-manual", "messages") => {
                json!({"thinking": {"type": "enabled", "budget_tokens": 1024}})
            }
            (_, "messages") => json!({"thinking": {"type": "adaptive"}}),
            (_, "responses") => json!({
                "store": false, "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"},
            }),
            (_, "generate-content") => {
                json!({"generationConfig": {"thinkingConfig": {"includeThoughts": true}}})
            }
            _ => json!({}),
        };
        for (key, value) in self.course.extra.iter().filter_map(Value::as_object).flatten() {
            fields.set(key, value.clone());
        }
        fields
    }

    /// The history in the form of an API. A client that does everything right describes the answers
    /// of other models in words, because it cannot send their thoughts.
    fn history(&self, caller: &dyn Caller) -> Vec<Value> {
        let (mut out, mut told) = (Vec::new(), String::new());
        for entry in &self.course.entries {
            match entry {
                Entry::User(text, image) => {
                    flush(caller, &mut told, &mut out);
                    out.push(caller.user(text, *image));
                }
                Entry::Answer(answer) if self.is_told(answer) => tell(&mut told, answer),
                Entry::Answer(answer) if answer.wire == caller.wire() => {
                    flush(caller, &mut told, &mut out);
                    out.extend(answer.native.iter().cloned());
                }
                Entry::Answer(answer) => out.extend(caller.visible(&answer.text, &answer.calls)),
                Entry::Results(results) if told.is_empty() => out.extend(caller.results(results)),
                Entry::Results(results) => {
                    results
                        .iter()
                        .for_each(|(_, text)| told.push_str(&format!(" It gave: {text}.")));
                }
            }
        }
        flush(caller, &mut told, &mut out);
        out
    }

    fn is_told(&self, answer: &Answer) -> bool {
        self.way == Way::Direct && answer.sim != self.sim
    }
}

fn tell(told: &mut String, answer: &Answer) {
    told.push_str(&answer.text);
    for call in &answer.calls {
        told.push_str(&format!(" I used {} with {}.", call.name, call.arguments));
    }
}

fn flush(caller: &dyn Caller, told: &mut String, out: &mut Vec<Value>) {
    if !told.is_empty() {
        out.extend(caller.visible(told.trim(), &[]));
        told.clear();
    }
}
