//! Who knows what really was thought, and by whom.

use crate::vault::*;
use crate::worlds::{Rules, Talk};
use std::collections::BTreeMap;
use thinkthrough_core::content::{Block, Speaker};
use thinkthrough_core::restore::{Head, Question, Restoration, Verdict};

/// Knows every thought that ever was, and counts.
pub(crate) struct Judge {
    rules: Rules,
    known: BTreeMap<String, Known>,
    /// What went back with each request, and whether its client keeps thoughts itself.
    sent: BTreeMap<String, Vec<(bool, Sent)>>,
    pub(crate) lookups: usize,
    pub(crate) restored: usize,
    /// Restored from an answer to the same request that looks the same.
    pub(crate) twins: usize,
    pub(crate) ambiguous: usize,
}

/// The thought that went back with each answer, by the index of its message.
pub(crate) type Sent = BTreeMap<usize, Option<String>>;

/// One thought.
struct Known {
    /// The visible part of the request that it was thought on, and who asked.
    asked: String,
    /// The thought that was sent last in that request.
    behind: String,
    head: Head,
}

impl Judge {
    pub(crate) fn new(rules: Rules) -> Self {
        let known = BTreeMap::new();
        Judge {
            rules,
            known,
            sent: BTreeMap::new(),
            lookups: 0,
            restored: 0,
            twins: 0,
            ambiguous: 0,
        }
    }

    /// A thought is thought.
    pub(crate) fn learn(&mut self, name: &str, head: &Head, talk: &Talk, behind: String) {
        let asked = asked(talk, talk.truth.len());
        self.known.insert(name.to_owned(), Known { asked, behind, head: head.clone() });
    }

    /// No step gets a thought that is not its own, and every one gets what it got before. `places` are the messages of the
    /// truth that those in the question are of. Gives the last thought that is sent.
    pub(crate) fn check(
        &mut self,
        vault: &Vault,
        talk: &mut Talk,
        places: &[usize],
        question: &Question,
        plan: &Restoration,
    ) -> String {
        let (mut previous, mut sent) = (String::new(), BTreeMap::new());
        for (step, outcome) in question.steps.iter().zip(&plan.outcomes) {
            let at = places[step.contents.start];
            if sent.contains_key(&at) {
                // A further part of an answer that the client has split.
                let is_first = outcome.verdict != Verdict::Restored;
                assert!(is_first, "{}: a thought in the midst of its answer", talk.names[&at]);
                continue;
            }
            self.lookups += 1;
            let own = &talk.names[&at];
            let name = match outcome.verdict {
                Verdict::Kept => Some(own.clone()),
                Verdict::Restored => {
                    let found = outcome.found.as_ref().expect("it was found");
                    let name = name_of(&vault.records[&found.id].1.blocks);
                    self.restored += 1;
                    self.is_own(vault, talk, at, &name);
                    Some(name)
                }
                Verdict::Ambiguous(_) => {
                    self.ambiguous += 1;
                    None
                }
                _ => None,
            };
            if let (true, Some(name)) = (self.rules.contract.bound, &name) {
                let known = &self.known[name];
                assert_eq!(known.asked, asked(talk, at), "{name}: other prefix");
                let is_next = previous.is_empty() || previous == known.behind;
                assert!(is_next, "{name}: a gap behind {previous}");
            }
            previous = name.clone().unwrap_or(previous);
            sent.insert(at, name);
        }
        self.is_as_before(talk, &sent);
        talk.sent.clone_from(&sent);
        self.is_sent_again(talk, sent);
        previous
    }

    /// A thought may come from a retry that nobody could tell from the client's own answer: the very same request of the
    /// same tenant, and an answer that looks the same. If it is sealed, only where the own record got lost, or was made
    /// before the head of the history became a summary.
    fn is_own(&mut self, vault: &Vault, talk: &Talk, at: usize, name: &str) {
        let own = &talk.names[&at];
        if own == name {
            return;
        }
        assert!(!talk.says_thought_of(at), "{own} was sent, and {name} took its place");
        self.twins += 1;
        let (asked, own_known, found) = (asked(talk, at), &self.known[own], &self.known[name]);
        let mut later = talk.names.range(at..).map(|(_, name)| &self.known[name].head.id);
        let is_lost = later.any(|id| !vault.records.contains_key(id));
        let is_behind_summary = own_known.asked != asked;
        let may_be = !self.rules.contract.signed || is_lost || is_behind_summary;
        let is_same = found.asked == asked || found.asked == own_known.asked;
        // Equal requests are to go out equal.
        let is_owed = self.was_sent(talk, at, name);
        let may_be = (may_be && is_same) || is_owed;
        assert!(may_be, "{own} got the foreign {name}: {:?}", talk.truth);
        let looks = |head: &Head| head.calls.iter().map(|call| call.digest).collect::<Vec<_>>();
        assert_eq!(looks(&own_known.head), looks(&found.head), "{own} got the foreign {name}");
    }

    /// It went back at this place when the same messages, or the first of them, were sent before.
    fn was_sent(&self, talk: &Talk, at: usize, name: &str) -> bool {
        let ends = at + 1..=talk.truth.len();
        let before = ends.filter_map(|end| self.sent.get(&request(talk, end)));
        before.flatten().any(|(_, sent)| sent.get(&at).and_then(Option::as_deref) == Some(name))
    }

    /// The same request is sent the same way each time.
    fn is_sent_again(&mut self, talk: &Talk, sent: Sent) {
        let before = self.sent.entry(request(talk, talk.truth.len())).or_default();
        // A client that keeps thoughts says itself what is sent.
        let first = before.iter().find(|(keeps, _)| !keeps);
        if let (None, false, Some((_, first))) = (self.rules.loses, talk.keeps(), first) {
            assert_eq!(*first, sent, "the same request, and what went back");
        }
        before.push((talk.keeps(), sent));
    }

    /// What grows at its end upstream as it does at the client: every thought stays, and none comes in between. What was
    /// missing may be found when its turn is over (edge case 16).
    fn is_as_before(&self, talk: &Talk, sent: &Sent) {
        if self.rules.loses.is_some() {
            return;
        }
        for (at, name) in &talk.sent {
            let is_over = talk.truth.iter().skip(*at).any(|it| it.speaker == Speaker::Human);
            if is_over && (name.is_none() || talk.strips()) {
                continue;
            }
            assert_eq!(Some(name), sent.get(at), "what went back before {}", talk.names[at]);
        }
    }
}

fn name_of(blocks: &[Block]) -> String {
    let Block::Thinking(thought) = &blocks[0] else { panic!("{blocks:?}") };
    let sealed = thought.encrypted_content.as_deref();
    sealed.map_or(&*thought.thought, |it| it.strip_prefix("sealed ").unwrap()).to_owned()
}

fn request(talk: &Talk, end: usize) -> String {
    format!("{:?} {}", talk.frame.hint, asked(talk, end))
}

fn asked(talk: &Talk, at: usize) -> String {
    let bare: Vec<_> =
        bare(&talk.truth[..at]).into_iter().map(|it| (it.speaker, it.blocks)).collect();
    format!("{} {:?} {bare:?}", talk.tenant, talk.frame.tools)
}
