//! Worlds of conversations that look alike: the same words, ids, systems and tools, forks and retries, answers that
//! were broken off, two tenants, all interleaved. Whatever happens in them, no answer ever gets the thought of another
//! one, and what was sent once is sent again.
//!
//! `THINKTHROUGH_LOOKUPS=1000000` makes worlds until so many answers were looked up under each contract;
//! `THINKTHROUGH_WORLD=7` begins with world 7, which a failure names, and with `THINKTHROUGH_LOOKUPS=1` ends with it.

use crate::judge::{Judge, Sent};
use crate::vault::*;
use std::collections::BTreeMap;
use thinkthrough_core::content::{Block, Content, Parameters, Speaker};
use thinkthrough_core::contract::Contract;
use thinkthrough_core::restore::{Delivery, Secret};

/// Seeded random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// One conversation as it really went, thoughts included.
#[derive(Clone)]
pub(crate) struct Talk {
    pub(crate) frame: Frame,
    pub(crate) truth: Vec<Content>,
    /// The name of each answer's thought, by the index of its message.
    pub(crate) names: BTreeMap<usize, String>,
    pub(crate) tenant: usize,
    manner: Manner,
    /// Its client sends thoughts back with what stands for their signature, whatever else it does.
    echoes: bool,
    /// What went back when it was last sent: the thought of each answer, by the index of its message.
    pub(crate) sent: Sent,
}

impl Talk {
    /// Its client sends the thoughts that it was given.
    pub(crate) fn keeps(&self) -> bool {
        self.echoes || self.strips() || matches!(self.manner, Manner::Keeps | Manner::KeepsFirst)
    }

    /// Its client leaves out the thoughts of turns that are over.
    pub(crate) fn strips(&self) -> bool {
        self.manner == Manner::Strips
    }

    /// Its client sends the thought of the answer at `at`.
    pub(crate) fn says_thought_of(&self, at: usize) -> bool {
        let is_current =
            |talk: &Self| !talk.truth.iter().skip(at).any(|it| it.speaker == Speaker::Human);
        if self.strips() { is_current(self) } else { self.keeps() }
    }

    /// What a client has of it that does more than drop thoughts.
    fn seen(&self) -> Vec<Content> {
        if self.echoes { self.truth.clone() } else { bare(&self.truth) }
    }
}

/// How a client sends a history; it does it the same way each time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    /// As it came, without thoughts.
    Drops,
    /// With all that it was given.
    Keeps,
    /// With the first thought of each answer alone.
    KeepsFirst,
    /// Each call in a message of its own, its result behind it.
    Splits,
    /// Text and arguments written otherwise.
    Rewrites,
    /// Without the thoughts of turns that are over.
    Strips,
}

/// How a world behaves.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) contract: Contract,
    /// Ids are drawn from few.
    weak_ids: bool,
    /// Clients get tickets in the place of signatures.
    signs: bool,
    /// Histories lose their heads.
    compacts: bool,
    /// Thoughts have no words, only what is sealed.
    wordless: bool,
    /// Records get lost, one in this many.
    pub(crate) loses: Option<usize>,
}

impl Rules {
    /// Strong ids, and nothing else that a world may have.
    fn quiet(contract: Contract) -> Self {
        Rules {
            contract,
            weak_ids: false,
            signs: false,
            compacts: false,
            wordless: false,
            loses: None,
        }
    }
}

struct World {
    rules: Rules,
    random: Random,
    /// The records of all tenants; its secret is that of the tenant who asks.
    vault: Vault,
    talks: Vec<Talk>,
    judge: Judge,
    thoughts: usize,
}

impl World {
    fn new(seed: u64, rules: Rules) -> Self {
        World {
            rules,
            random: Random(seed),
            vault: Vault { signs: rules.signs, ..Vault::new(rules.contract) },
            talks: Vec::new(),
            judge: Judge::new(rules),
            thoughts: 0,
        }
    }

    fn live(&mut self, days: usize) {
        for _ in 0..days {
            match self.random.below(10) {
                0 | 1 => self.begin(),
                2 => self.fork(),
                3 if self.rules.compacts => self.compact(),
                4 => self.retry(),
                _ => self.go_on(),
            }
        }
    }

    fn begin(&mut self) {
        let mut truth = Vec::new();
        if self.random.below(3) > 0 {
            truth.push(system(self.random.one(&["You help.", "You are brief."])));
        }
        let tools = if self.random.below(4) == 0 { vec![] } else { vec![tool("read")] };
        let hint = self.random.one(&[None, Some("a"), Some("b")]);
        truth.push(human(self.random.one(&["ok", "list", "go on"])));
        let manner = self.random.one(&[
            Manner::Drops,
            Manner::Drops,
            Manner::Keeps,
            Manner::KeepsFirst,
            Manner::Strips,
            Manner::Splits,
            Manner::Rewrites,
            Manner::Rewrites,
        ]);
        self.talks.push(Talk {
            frame: Frame { hint, tools },
            truth,
            names: BTreeMap::new(),
            tenant: self.random.below(2),
            manner,
            echoes: self.rules.signs && manner != Manner::Drops && self.random.below(2) > 0,
            sent: BTreeMap::new(),
        });
    }

    fn fork(&mut self) {
        let Some(mut talk) = self.pick() else { return };
        let keep = 1 + self.random.below(talk.truth.len());
        // Not between calls and their results.
        let is_open = |content: &Content| content.tool_calls().next().is_some();
        if is_open(&talk.truth[keep - 1]) || talk.truth[keep - 1].speaker == Speaker::System {
            return;
        }
        talk.truth.truncate(keep);
        talk.names.retain(|at, _| *at < keep);
        talk.sent.clear();
        self.talks.push(talk);
    }

    /// The head of a history becomes a summary, which is never the same twice.
    fn compact(&mut self) {
        let Some(mut talk) = self.pick() else { return };
        let Some(last) = talk.truth.iter().rposition(|it| it.speaker == Speaker::Human) else {
            return;
        };
        if last < 3 {
            return;
        }
        self.thoughts += 1;
        let summary = human(&format!("Summary {}", self.thoughts));
        let head: Vec<Content> = talk
            .truth
            .iter()
            .take_while(|it| it.speaker == Speaker::System)
            .cloned()
            .chain([summary])
            .collect();
        let (new, old) = (head.len(), last);
        talk.truth = [head, talk.truth[last..].to_vec()].concat();
        let names = talk.names.into_iter().filter(|(at, _)| *at >= old);
        talk.names = names.map(|(at, name)| (at - old + new, name)).collect();
        talk.sent.clear();
        self.talks.push(talk);
    }

    fn retry(&mut self) {
        let Some(talk) = self.pick() else { return };
        let mut again = talk.clone();
        if again.truth.last().is_some_and(|it| it.speaker == Speaker::Ai) {
            again.truth.pop();
            again.names.remove(&again.truth.len());
            again.sent.clear();
            self.answer(&mut again);
            self.talks.push(again);
        }
    }

    fn go_on(&mut self) {
        if self.talks.is_empty() {
            return self.begin();
        }
        let at = self.random.below(self.talks.len());
        let mut talk = self.talks.swap_remove(at);
        let last = talk.truth.last().cloned();
        match last {
            Some(last) if last.speaker == Speaker::Ai => {
                let ids: Vec<String> =
                    last.tool_calls().map(|call| call.id.clone().unwrap()).collect();
                if ids.is_empty() {
                    let words = self.random.one(&["ok", "list", "go on"]);
                    talk.truth.push(human(words));
                }
                for id in ids {
                    let words = self.random.one(&["a", "a b"]);
                    talk.truth.push(result(&id, words));
                }
            }
            _ => self.answer(&mut talk),
        }
        self.talks.push(talk);
    }

    fn pick(&mut self) -> Option<Talk> {
        (!self.talks.is_empty()).then(|| self.talks[self.random.below(self.talks.len())].clone())
    }

    /// The client asks, everything is checked that goes back, and the model answers.
    fn answer(&mut self, talk: &mut Talk) {
        self.vault.secret = Secret::new([u8::try_from(talk.tenant).unwrap(); 32]);
        let (sent, places) = client(talk);
        let (question, _, plan) = self.vault.plan(&sent, &talk.frame);
        let previous = self.judge.check(&self.vault, talk, &places, &question, &plan);
        self.thoughts += 1;
        let name = format!("thought {}", self.thoughts);
        let answer = self.say(&name, !talk.frame.tools.is_empty());
        let delivery = match self.random.below(10) {
            0 => Delivery::Stopped,
            _ => Delivery::Full,
        };
        let id = self.vault.answered(&sent, &talk.frame, &answer, delivery).expect("it is kept");
        self.judge.learn(&name, &self.vault.records[&id].0, talk, previous);
        let answer = self.vault.given(answer, &id);
        if self.rules.loses.is_some_and(|often| self.random.below(often) == 0) {
            self.vault.records.remove(&id);
        }
        talk.names.insert(talk.truth.len(), name);
        talk.truth.push(answer);
    }

    fn say(&mut self, name: &str, may_call: bool) -> Content {
        let is_sealed = self.rules.contract.signed || self.rules.signs;
        let think = match (is_sealed, self.rules.wordless) {
            (false, _) => unsigned,
            (true, false) => thought,
            (true, true) => wordless,
        };
        let mut blocks = vec![think(name)];
        if is_sealed && self.random.below(4) == 0 {
            blocks.push(think(&format!("{name}, and more")));
        }
        blocks.extend(self.random.one(&[None, Some("ok"), Some("done")]).map(text));
        let calls = if may_call { self.random.below(3) } else { 0 };
        for at in 0..calls {
            let id = if self.rules.weak_ids {
                format!("read:{at}")
            } else {
                format!("call_{:08}x{at}", self.thoughts)
            };
            let arguments = self.random.one(&["{}", r#"{"n":1}"#]);
            blocks.push(call(&id, "read", arguments));
        }
        if blocks.iter().all(|block| matches!(block, Block::Thinking(_))) {
            blocks.push(text("ok"));
        }
        ai(blocks)
    }
}

/// What the client sends, and for each message of it the index of the one in the truth that it is of.
fn client(talk: &Talk) -> (Vec<Content>, Vec<usize>) {
    let whole = |contents: Vec<Content>| {
        let places = (0..contents.len()).collect();
        (contents, places)
    };
    match talk.manner {
        Manner::Keeps => whole(talk.truth.clone()),
        Manner::KeepsFirst => {
            let mut sent = talk.truth.clone();
            for content in &mut sent {
                let mut thoughts = 0;
                content.blocks.retain(|block| {
                    thoughts += usize::from(matches!(block, Block::Thinking(_)));
                    thoughts < 2 || !matches!(block, Block::Thinking(_))
                });
            }
            whole(sent)
        }
        Manner::Drops => whole(bare(&talk.truth)),
        Manner::Rewrites => {
            let mut sent = talk.seen();
            for block in sent.iter_mut().flat_map(|content| &mut content.blocks) {
                match block {
                    Block::Text(text) => text.text.push('\n'),
                    Block::ToolCall(call) if call.parameters.as_text() != "{}" => {
                        call.parameters = Parameters::from_text("{ \"n\" : 1.0 }");
                    }
                    _ => {}
                }
            }
            whole(sent)
        }
        Manner::Splits => split(&talk.seen()),
        Manner::Strips => {
            let turn = talk.truth.iter().rposition(|it| it.speaker == Speaker::Human).unwrap_or(0);
            let (over, current) = talk.truth.split_at(turn);
            whole([bare(over), current.to_vec()].concat())
        }
    }
}

/// Every call in a message of its own, and its result right behind it.
fn split(truth: &[Content]) -> (Vec<Content>, Vec<usize>) {
    let (mut sent, mut places) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(content) = truth.get(at) {
        let calls = content.tool_calls().count();
        let texts = content.blocks.len() - calls;
        let results = truth.get(at + 1..at + 1 + calls).unwrap_or_default();
        let is_result = |content: &Content| content.speaker == Speaker::Tool;
        if calls < 2 || results.len() < calls || !results.iter().all(is_result) {
            sent.push(content.clone());
            places.push(at);
            at += 1;
            continue;
        }
        for (nth, result) in results.iter().enumerate() {
            let own = if nth == 0 { 0..=texts } else { texts + nth..=texts + nth };
            sent.push(ai(content.blocks[own].to_vec()));
            sent.push(result.clone());
            places.extend([at, at + 1 + nth]);
        }
        at += 1 + calls;
    }
    (sent, places)
}

/// Names the world in which something went wrong.
struct Named<'a>(&'a str, u64);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}: world {}", self.0, self.1);
        }
    }
}

fn live(name: &str, rules: Rules) {
    let wanted =
        std::env::var("THINKTHROUGH_LOOKUPS").map_or(2_000, |count| count.parse().unwrap());
    let first = std::env::var("THINKTHROUGH_WORLD").map_or(0, |world| world.parse().unwrap());
    let (mut worlds, mut lookups, mut restored, mut twins, mut ambiguous) = (first, 0, 0, 0, 0);
    while lookups < wanted {
        let _named = Named(name, worlds);
        let mut world = World::new(worlds, rules);
        world.live(160);
        worlds += 1;
        lookups += world.judge.lookups;
        restored += world.judge.restored;
        twins += world.judge.twins;
        ambiguous += world.judge.ambiguous;
    }
    println!(
        "{name}: {} worlds, {lookups} looked up, {restored} restored, {twins} of them of an answer that nobody could \
         tell from it, {ambiguous} ambiguous, 0 foreign",
        worlds - first
    );
    // The law would hold for a vault that gives nothing back, too.
    assert!(lookups < 2_000 || restored * 5 > lookups * 2, "{name}: {restored} of {lookups}");
}

/// Every kind of world is a test of its own, so that each can be run alone.
macro_rules! worlds {
    ($($name:ident: $contract:expr $(, $rule:ident: $value:expr)*;)*) => {
        $(#[test]
        fn $name() {
            let name = concat!(module_path!(), "::", stringify!($name));
            live(name, Rules { $($rule: $value,)* ..Rules::quiet($contract) });
        })*
    };
}

mod no_foreign_thought {
    use super::*;

    worlds! {
        plain_with_weak_ids: PLAIN, weak_ids: true;
        plain_and_compacted: PLAIN, compacts: true;
        plain_with_weak_ids_and_compacted: PLAIN, weak_ids: true, compacts: true;
        plain_with_tickets: TICKETS, weak_ids: true;
        signed: SIGNED;
        signed_to_the_tail: TAILED, compacts: true;
        bound: BOUND;
    }
}

mod no_foreign_thought_where_records_get_lost {
    use super::*;

    worlds! {
        signed: SIGNED, loses: Some(20);
        bound: BOUND, loses: Some(20);
    }
}

/// Encrypted reasoning, and the signatures of models that show no thoughts.
mod no_foreign_thought_where_thoughts_have_no_words {
    use super::*;

    worlds! {
        signed: SIGNED, wordless: true, weak_ids: true;
        signed_with_lost_records: SIGNED, wordless: true, weak_ids: true, loses: Some(4);
        signed_to_the_tail: TAILED, wordless: true, weak_ids: true, compacts: true;
        bound_with_lost_records: BOUND, wordless: true, weak_ids: true, loses: Some(4);
    }
}

/// Clients of another wire send back what they see of a thought, with a ticket in the place of its signature; others
/// drop it.
mod no_foreign_thought_where_thoughts_have_tickets {
    use super::*;

    worlds! {
        signed: SIGNED, signs: true, weak_ids: true, compacts: true;
        signed_with_lost_records: SIGNED, signs: true, weak_ids: true, loses: Some(20);
        signed_to_the_tail: TAILED, signs: true, weak_ids: true, compacts: true;
        plain: PLAIN, signs: true, weak_ids: true, compacts: true;
        bound: BOUND, signs: true, weak_ids: true;
    }
}
