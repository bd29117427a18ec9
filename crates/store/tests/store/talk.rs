//! A client that drops every thought, and the vault behind it: what a gateway does with the store.

use super::{answer, question};
use thinkthrough_core::content::{Block, Content, Origin};
use thinkthrough_core::contract::{Contract, Return};
use thinkthrough_core::decide::answers;
use thinkthrough_core::decision::Action;
use thinkthrough_core::exchange::Found;
use thinkthrough_core::plane::{Place, Tenant};
use thinkthrough_core::restore::{
    About, Answered, Ask, Delivery, Head, Kept, Key, Question, Version, capture,
};
use thinkthrough_store::{Looked, Store, StoreError, Vault};

const CONTRACT: Contract = Contract::plain(Return::All, "reasoning_content");

/// A conversation of one tenant.
pub(super) struct Talk {
    pub(super) tenant: Tenant,
    pub(super) vault: Vault,
    /// As the client keeps it: without thoughts.
    pub(super) said: Vec<Content>,
    mark: String,
}

pub(super) fn origin() -> Origin {
    Origin {
        provider: "p".into(),
        endpoint: "https://p.example/v1".into(),
        model: "m".into(),
        account: None,
    }
}

impl Talk {
    /// `mark` is part of every id, so that the records of two conversations have different ones.
    pub(super) fn new(store: &Store, tenant: &Tenant, mark: &str) -> Self {
        let vault = store.vault(tenant);
        Talk { tenant: tenant.clone(), vault, said: Vec::new(), mark: mark.to_owned() }
    }

    pub(super) async fn asks(&self) -> Result<Question, StoreError> {
        let secret = self.vault.secret().await?;
        Ok(Question::read(&self.said, About::default(), &secret, Version::CURRENT))
    }

    pub(super) async fn keys(&self) -> Vec<Key> {
        self.asks().await.unwrap().keys()
    }

    pub(super) async fn looks(&self) -> Result<Looked, StoreError> {
        let keys = self.asks().await?.keys();
        self.vault.lookup(&keys).await
    }

    /// What is found by somebody to whom this was answered.
    pub(super) async fn look_for(&self, text: &str) -> Looked {
        let mut after = Talk {
            said: self.said.clone(),
            tenant: self.tenant.clone(),
            vault: self.vault.clone(),
            mark: String::new(),
        };
        let said = Content::new(thinkthrough_core::content::Speaker::Ai, vec![Block::text(text)]);
        after.said.extend([said, question("and?")]);
        after.looks().await.unwrap()
    }

    /// The record of an answer to what was said so far.
    pub(super) async fn record(&self, thought: &str, text: &str) -> (Head, Kept) {
        let question = self.asks().await.unwrap();
        let looked = self.looks().await.unwrap();
        let heads: Vec<Head> = looked.found.iter().map(|found| (*found.head).clone()).collect();
        let origin = origin();
        let ask = Ask {
            contract: &CONTRACT,
            origin: &origin,
            is_own_wire: true,
            is_thinking: true,
            is_afresh: false,
        };
        let plan = answers(&question, &heads, &ask);
        let answered = Answered {
            record: &format!("{}-{}", self.mark, self.said.len()),
            content: answer(thought, text),
            origin: &origin,
            delivery: Delivery::Full,
            at: 1_700_000_000_000 + self.said.len() as u64,
            tickets: None,
            has_thought_ticket: false,
        };
        let secret = self.vault.secret().await.unwrap();
        capture(&question, &plan, answered, &secret).unwrap()
    }

    /// A turn whose answer is kept before the client hears of it.
    pub(super) async fn turn(&mut self, ask: &str, thought: &str, text: &str) {
        self.said.push(question(ask));
        let record = self.record(thought, text).await;
        self.vault.append(vec![record]).await.unwrap();
        self.said
            .push(Content::new(thinkthrough_core::content::Speaker::Ai, vec![Block::text(text)]));
    }

    /// How many thoughts of the conversation restoration puts back.
    pub(super) async fn restored(&self) -> usize {
        let (question, looked) = (self.asks().await.unwrap(), self.looks().await.unwrap());
        let heads: Vec<Head> = looked.found.iter().map(|found| (*found.head).clone()).collect();
        let origin = origin();
        let ask = Ask {
            contract: &CONTRACT,
            origin: &origin,
            is_own_wire: true,
            is_thinking: true,
            is_afresh: false,
        };
        let plan = answers(&question, &heads, &ask);
        let verdicts = plan.iter().map(|outcome| outcome.action);
        verdicts.filter(|verdict| *verdict == Action::Restore).count()
    }

    /// The thoughts that a look-up finds, in the order of their ids; `None` for one that stays shut.
    pub(super) fn thoughts(&self, looked: &Looked) -> Vec<Option<String>> {
        let mut found: Vec<&Found> = looked.found.iter().collect();
        found.sort_by_key(|found| found.head.at);
        found.into_iter().map(|found| self.thought(looked, found)).collect()
    }

    fn thought(&self, looked: &Looked, found: &Found) -> Option<String> {
        let place = Place {
            tenant: &self.tenant,
            record: &found.head.id,
            origin: &found.head.origin,
            position: 0,
        };
        let kept = found.kept.open(&place, &looked.opener).ok()?;
        kept.blocks.iter().find_map(|block| match block {
            Block::Thinking(thinking) => Some(thinking.thought.clone()),
            _ => None,
        })
    }
}
