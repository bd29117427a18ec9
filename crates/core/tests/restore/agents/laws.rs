//! What holds for every decision.

use super::client::{Sent, send};
use super::oracle::{Evidence, Line, Path};
use super::tally::Law;
use super::vault::{Asker, Planned, thought_of};
use super::world::{Ids, Talk, World};
use crate::vault::{ai, bare};
use std::collections::{BTreeMap, BTreeSet};
use thinkthrough_core::content::{Block, Content};
use thinkthrough_core::decision::Action;

/// What was decided about one answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decided {
    /// Its first message.
    at: usize,
    /// The record whose thought goes back.
    restored: Option<String>,
}

/// What was decided when a client last asked.
#[derive(Clone)]
pub(super) struct Memory {
    contents: Vec<Content>,
    model: usize,
    decided: Vec<Decided>,
    answers: usize,
}

/// The records whose thoughts go back, and the messages of each.
fn restored(planned: &Planned) -> impl Iterator<Item = (std::ops::Range<usize>, &str)> {
    let steps = planned.question.steps.iter().zip(&planned.plan);
    steps.filter(|(_, outcome)| outcome.action == Action::Restore).flat_map(|(step, outcome)| {
        let found = outcome.evidence.iter().filter(|it| it.is_usable);
        found.map(|found| (step.contents.clone(), found.id.as_str()))
    })
}

fn decided(planned: &Planned) -> Vec<Decided> {
    let steps = planned.question.steps.iter().zip(&planned.plan);
    let decided = steps.map(|(step, outcome)| {
        let found = outcome.found().filter(|_| outcome.action == Action::Restore);
        Decided { at: step.contents.start, restored: found.map(|found| found.id.clone()) }
    });
    decided.collect()
}

impl World {
    /// No answer gets a thought that is not its own, and what goes back is counted.
    pub(super) fn judge(
        &mut self,
        path: &Path,
        sent: &[Sent],
        planned: &Planned,
        evidence: &BTreeMap<String, Evidence>,
    ) -> Vec<Decided> {
        self.note_twins(path, planned);
        let (mut put_back, mut seen) = (BTreeSet::new(), BTreeSet::new());
        for (messages, id) in restored(planned) {
            self.tally.restored += 1;
            let name = self.oracle.name_of(id).to_owned();
            if !seen.insert(id) {
                self.tally.breaks(Law::Twice, || self.oracle.tell(&name) + &tell(path));
            }
            let own = self.owner(path, messages.clone(), &name, &BTreeSet::new());
            match own {
                Some(own) if own == name => {
                    self.is_in_its_place(path, messages, &name);
                    put_back.insert(own);
                }
                Some(_) => self.tally.twins += 1,
                None => {
                    let what = format!("{messages:?} got {}", self.oracle.tell(&name));
                    self.tally.breaks(Law::Foreign, || what + &tell(path));
                }
            }
        }
        self.is_unbroken(path, sent, planned);
        self.count(path, sent, planned, evidence, &put_back);
        decided(planned)
    }

    /// The answer in these messages that the thought of `name` may stand in.
    fn owner(
        &mut self,
        path: &Path,
        messages: std::ops::Range<usize>,
        name: &str,
        without: &BTreeSet<String>,
    ) -> Option<String> {
        let vault = &self.vault;
        let is_there = |id: &str| vault.has(id) && !without.contains(id);
        messages.into_iter().find_map(|at| self.oracle.right(path, at, name, &is_there))
    }

    fn is_in_its_place(&mut self, path: &Path, messages: std::ops::Range<usize>, name: &str) {
        let at = messages.into_iter().find(|at| path.lines[*at].is_of(name));
        if at.is_some_and(|at| self.oracle.is_moved(path, at, name)) {
            self.tally.breaks(Law::Moved, || self.oracle.tell(name) + &tell(path));
        }
    }

    /// What is found and does not go back may be named later on.
    fn note_twins(&mut self, path: &Path, planned: &Planned) {
        for (step, outcome) in planned.question.steps.iter().zip(&planned.plan) {
            if let Some(found) = outcome.found() {
                let name = self.oracle.name_of(&found.id).to_owned();
                step.contents.clone().for_each(|at| self.oracle.note(path, at, &name));
            }
        }
    }

    /// Bound thoughts go back as one run up to the newest answer. Those of another model are none of it.
    fn is_unbroken(&mut self, path: &Path, sent: &[Sent], planned: &Planned) {
        if !self.setting.contract.bound {
            return;
        }
        let mut steps = planned.question.steps.iter().zip(&planned.plan).rev();
        let mut ended = false;
        let is_broken = steps.any(|(step, outcome)| {
            let parts = || sent[step.contents.clone()].iter().flat_map(|it| &it.parts);
            let is_ours = parts().any(|part| self.oracle.model_of(&part.name) == path.model);
            let is_out = !outcome.action.is_sent() && outcome.action != Action::GoesOn;
            ended |= is_ours && is_out;
            ended && outcome.action == Action::Restore
        });
        if is_broken {
            self.tally.breaks(Law::Gap, || format!("{:?}{}", planned.plan, tell(path)));
        }
    }

    fn count(
        &mut self,
        path: &Path,
        sent: &[Sent],
        planned: &Planned,
        evidence: &BTreeMap<String, Evidence>,
        put_back: &BTreeSet<String>,
    ) {
        for (name, at) in path.answers() {
            self.tally.lookups += 1;
            let is_thought = |block: &Block| matches!(block, Block::Thinking(_));
            let Some(evidence) = evidence.get(name) else { continue };
            if sent[at].content.blocks.iter().any(is_thought) {
                continue;
            }
            let is_right = put_back.contains(name);
            self.tally.was_possible(*evidence, is_right);
            if !is_right {
                let verdicts: Vec<_> = planned.plan.iter().map(|it| it.action).collect();
                let what = format!("message {at}, {}: {verdicts:?}", self.oracle.tell(name));
                self.tally.misses(*evidence, || what + &tell(path));
            }
        }
    }

    /// When messages grow at their end, the decisions about the earlier ones stay. What was missed may be found, if its
    /// record came since.
    pub(super) fn is_as_before(
        &mut self,
        talk: &mut Talk,
        contents: Vec<Content>,
        decided: &[Decided],
    ) {
        let model = talk.model;
        let before = talk
            .last
            .take()
            .filter(|last| last.model == model && contents.starts_with(&last.contents));
        if let Some(before) = before {
            let newest = format!("r{:06}", before.answers);
            let stays = |(old, new): (&Decided, &Decided)| {
                let came_since = new.restored.as_ref().is_some_and(|id| *id > newest);
                let is_found = old.restored.is_none() && came_since;
                // Before a bound answer that cannot have its thought, none goes back.
                let is_out = self.setting.contract.bound && new.restored.is_none();
                old == new || (old.at == new.at && (is_found || is_out))
            };
            if !before.decided.iter().zip(decided).all(stays) {
                self.tally.breaks(Law::Grown, || {
                    format!("{:?} and now {decided:?}{}", before.decided, tell_all(&contents))
                });
            }
        }
        let decided = decided.to_vec();
        talk.last = Some(Memory { contents, model, decided, answers: self.answers });
    }

    /// With any records gone, an answer has the same thought, or that of a twin, or none.
    pub(super) fn less_is_no_other(
        &mut self,
        talk: &Talk,
        path: &Path,
        contents: &[Content],
        planned: &Planned,
    ) {
        if path.answers().is_empty() || !self.random.once_in(4) {
            return;
        }
        let often = 2 + self.random.below(4);
        let all: Vec<String> = self.vault.ids().cloned().collect();
        let without = all.into_iter().filter(|_| self.random.once_in(often)).collect();
        let asker = Asker::of(talk, &self.setting);
        let fewer = self.vault.plan(&asker, contents, &without);
        self.note_twins(path, &fewer);
        let before: BTreeMap<usize, &str> =
            restored(planned).map(|(messages, id)| (messages.start, id)).collect();
        for (messages, id) in restored(&fewer) {
            let is_same = before.get(&messages.start) == Some(&id);
            let name = self.oracle.name_of(id).to_owned();
            if !is_same && self.owner(path, messages.clone(), &name, &without).is_none() {
                let what = format!("{messages:?} got {}", self.oracle.tell(&name));
                self.tally
                    .breaks(Law::Less, || format!("{what}\nwithout {without:?}{}", tell(path)));
            }
        }
    }

    /// However many agents say the same, an answer that shows an id of its own is decided about as before.
    pub(super) fn look_alikes_change_nothing(&mut self) {
        let is_known = |talk: &&Talk| talk.truth.iter().any(|it| it.name.is_some());
        let talks: Vec<Talk> = self.talks.iter().filter(is_known).cloned().collect();
        if talks.is_empty() || !self.random.once_in(2) {
            return;
        }
        let talk = self.random.one(&talks);
        let sent = send(&talk);
        let contents: Vec<Content> = sent.iter().map(|it| it.content.clone()).collect();
        let path = self.oracle.read(&talk, &sent);
        let asker = Asker::of(&talk, &self.setting);
        let before = decided(&self.vault.plan(&asker, &contents, &BTreeSet::new()));
        let answers = path.answers().len();
        let count = self.random.one(&[1, 5, 40, 100]).min(1 + 120 / answers);
        let added: Vec<String> = (0..count).flat_map(|_| self.look_alike(&talk)).collect();
        let after = decided(&self.vault.plan(&asker, &contents, &BTreeSet::new()));
        let shows_own = |at: usize| path.lines[at].anchor.is_some();
        let stays = |(old, new): (&Decided, &Decided)| old == new || !shows_own(old.at);
        if before.len() != after.len() || !before.iter().zip(&after).all(stays) {
            self.tally.breaks(Law::More, || {
                format!("{count} more: {before:?} and now {after:?}{}", tell(&path))
            });
        }
        added.iter().for_each(|id| self.vault.remove(id));
    }

    /// Another agent that does and says the same; gives its records.
    fn look_alike(&mut self, talk: &Talk) -> Vec<String> {
        let asker = Asker::of(talk, &self.setting);
        let (mut ids, mut records) = (BTreeMap::new(), Vec::new());
        let mut said: Vec<Content> = Vec::new();
        for message in &talk.truth {
            let mut content = message.content.clone();
            if message.name.is_none() {
                renamed(&mut content, &ids);
                said.push(content);
                continue;
            }
            if self.setting.ids == Ids::Random {
                for call in message.content.tool_calls() {
                    let id = self.random_id();
                    ids.insert(call.id.clone().unwrap(), id);
                }
                renamed(&mut content, &ids);
            }
            let thought = thought_of(&self.setting.contract, &format!("like {}", said.len()));
            let rest = content.blocks.drain(..).filter(|it| !matches!(it, Block::Thinking(_)));
            let answer = ai([thought].into_iter().chain(rest).collect());
            let planned = self.vault.plan(&asker, &bare(&said), &BTreeSet::new());
            let (id, given) = self.vault.answered(&asker, &planned, answer);
            let pairs = message.content.tool_calls().zip(given.tool_calls());
            ids.extend(pairs.filter_map(|(old, new)| old.id.clone().zip(new.id.clone())));
            records.push(id);
            said.push(given);
        }
        records
    }
}

/// The same with other ids.
fn renamed(content: &mut Content, ids: &BTreeMap<String, String>) {
    for block in &mut content.blocks {
        let id = match block {
            Block::ToolCall(call) => &mut call.id,
            Block::ToolResponse(response) => &mut response.call_id,
            _ => continue,
        };
        if let Some(new) = id.as_ref().and_then(|id| ids.get(id)) {
            *id = Some(new.clone());
        }
    }
}

fn tell(path: &Path) -> String {
    let line = |line: &Line| {
        let copy = if line.copy.is_some() { ", with a copy of its thought" } else { "" };
        let names: Vec<&str> = line.parts.iter().map(|part| part.name.as_str()).collect();
        format!("{} {}{copy}", line.words, names.join(" + "))
    };
    let lines: Vec<String> = path.lines.iter().map(line).collect();
    let Path { tenant, model, tools, .. } = path;
    format!("\n-- asked by tenant {tenant} of model {model} {tools}\n{}", lines.join("\n"))
}

fn tell_all(contents: &[Content]) -> String {
    let lines: Vec<String> = contents
        .iter()
        .map(|it| {
            let calls: Vec<_> = it.tool_calls().map(|call| (&call.name, &call.id)).collect();
            format!("{:?} {:?} {calls:?}", it.speaker, it.visible_text())
        })
        .collect();
    format!("\n-- asked\n{}", lines.join("\n"))
}
