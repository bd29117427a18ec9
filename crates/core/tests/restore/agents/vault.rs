//! The records of all tenants of a world, found as a store finds them.

use super::world::{Setting, Talk};
use crate::vault::{Frame, form, thought, unsigned};
use std::collections::{BTreeMap, BTreeSet};
use thinkthrough_core::content::{Block, Content, Origin};
use thinkthrough_core::contract::Contract;
use thinkthrough_core::decide::answers;
use thinkthrough_core::decision::Decision;
use thinkthrough_core::restore::{
    About, Answered, Ask, Delivery, Head, Hook, Key, Question, Secret, Version, more, ticket,
};

/// The records, by what a store needs of them.
#[derive(Default)]
pub(super) struct Vault {
    heads: BTreeMap<String, Head>,
    by_key: BTreeMap<Key, BTreeSet<String>>,
    /// Those that the store does not have for a while.
    away: BTreeSet<String>,
    clock: u64,
}

/// Who asks, and whom.
#[derive(Clone)]
pub(super) struct Asker<'a> {
    pub(super) secret: Secret,
    pub(super) frame: &'a Frame,
    pub(super) contract: Contract,
    pub(super) origin: Origin,
    is_unlisted: bool,
    wire: &'static str,
}

impl<'a> Asker<'a> {
    pub(super) fn of(talk: &'a Talk, setting: &Setting) -> Self {
        let secret = Secret::new([u8::try_from(talk.tenant).unwrap(); 32]);
        let origin = origin(talk.model, setting.is_far);
        let Setting { contract, is_unlisted, wire, .. } = *setting;
        Asker { secret, frame: &talk.frame, contract, origin, is_unlisted, wire }
    }
}

/// Where the answers of a model come from.
fn origin(model: usize, is_far: bool) -> Origin {
    let provider = if is_far { format!("p{model}") } else { "p".to_owned() };
    let endpoint = format!("https://{provider}.example");
    Origin { provider, endpoint, model: format!("m{model}"), account: None }
}

/// A request and what was decided about it.
pub(super) struct Planned {
    pub(super) question: Question,
    pub(super) plan: Vec<Decision>,
    /// It was decided without a look-up.
    pub(super) is_alone: bool,
}

impl Planned {
    fn alone(self) -> Self {
        Planned { is_alone: true, ..self }
    }
}

fn keys_of(head: &Head) -> Vec<Key> {
    head.all_keys().collect()
}

impl Vault {
    /// Decides about a request, as if the records in `without` were not there.
    pub(super) fn plan(
        &self,
        asker: &Asker<'_>,
        contents: &[Content],
        without: &BTreeSet<String>,
    ) -> Planned {
        let about = About {
            tools: &asker.frame.tools,
            hint: asker.frame.hint,
            is_unlisted: asker.is_unlisted,
            is_sealed: asker.contract.signed,
        };
        let question = Question::read(contents, about, &asker.secret, Version::CURRENT);
        let found: BTreeSet<&String> =
            question.keys().iter().filter_map(|key| self.by_key.get(key)).flatten().collect();
        let mut heads = self.heads(found.into_iter(), without);
        let ask = Ask {
            contract: &asker.contract,
            origin: &asker.origin,
            is_own_wire: true,
            is_thinking: true,
            is_afresh: false,
        };
        // As often as the gateway asks.
        for _ in 0..4 {
            let more = more(&question, &heads, &ask);
            heads.extend(self.heads(more.iter(), without));
        }
        let plan = answers(&question, &heads, &ask);
        Planned { question, plan, is_alone: false }
    }

    fn heads<'i>(
        &self,
        ids: impl Iterator<Item = &'i String>,
        without: &BTreeSet<String>,
    ) -> Vec<Head> {
        ids.filter(|id| !without.contains(*id) && !self.away.contains(*id))
            .filter_map(|id| self.heads.get(id))
            .cloned()
            .collect()
    }

    /// What is decided about a request whose look-up failed.
    pub(super) fn plan_without_look_up(asker: &Asker<'_>, contents: &[Content]) -> Planned {
        Vault::default().plan(asker, contents, &BTreeSet::new()).alone()
    }

    /// Records an answer. Gives its record's id, and the answer as its caller gets it.
    pub(super) fn answered(
        &mut self,
        asker: &Asker<'_>,
        planned: &Planned,
        mut answer: Content,
    ) -> (String, Content) {
        self.clock += 1;
        let id = format!("r{:06}", self.clock);
        let answered = Answered {
            record: &id,
            content: answer.clone(),
            origin: &asker.origin,
            delivery: Delivery::Full,
            at: self.clock,
            tickets: asker.contract.tickets.map(|_| form(asker.wire)),
            has_thought_ticket: false,
        };
        let hook = Hook::of(&planned.question, &planned.plan);
        let hook = if planned.is_alone { hook.alone() } else { hook };
        let captured = hook.capture(answered, &asker.secret);
        if let Some((head, _)) = captured {
            for key in keys_of(&head) {
                self.by_key.entry(key).or_default().insert(id.clone());
            }
            self.heads.insert(id.clone(), head);
        }
        if asker.contract.tickets.is_some() {
            let calls = answer.blocks.iter_mut().filter_map(|block| match block {
                Block::ToolCall(call) => Some(call),
                _ => None,
            });
            for (call, nth) in calls.zip(0..) {
                call.id = Some(ticket::mint(&asker.secret, &id, nth, form(asker.wire)));
            }
        }
        (id, answer)
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.heads.contains_key(id) && !self.away.contains(id)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &String> {
        self.heads.keys()
    }

    /// The store has nothing any more, or has again what it had.
    pub(super) fn empty_or_fill(&mut self) {
        match self.away.is_empty() {
            true => self.away = self.heads.keys().cloned().collect(),
            false => self.away.clear(),
        }
    }

    /// The record is evicted.
    pub(super) fn remove(&mut self, id: &str) {
        if let Some(head) = self.heads.remove(id) {
            for key in keys_of(&head) {
                self.by_key.entry(key).or_default().remove(id);
            }
        }
    }
}

/// The thought of this name, as models under this contract give it.
pub(super) fn thought_of(contract: &Contract, name: &str) -> Block {
    let words = words_of(name);
    if contract.signed { thought(&words) } else { unsigned(&words) }
}

/// What is thought under a name: some of it is written otherwise where it is shown.
pub(super) fn words_of(name: &str) -> String {
    format!("{name}: a < b & c\nand so on")
}
