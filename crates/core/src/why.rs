//! The reasons for the form of a request: the decision and evidence for each answer, the attempts, and the
//! differences from the client's request. People read it in the trace.

use crate::content::Content;
use crate::decision::{Decision, Without};
use crate::exchange::{self, Difference, Differences, Repair, RequestContext, Side, Turn};
use crate::json::Writer;
use crate::plane::Masked;
use crate::provider::Target;
use crate::tags::redacted;
use crate::turns::begins;
use crate::wire::Wire;
use thinkthrough_mask::Masker;

/// The most answers and blocks that are reported: the newest.
const DECISIONS: usize = 100;
/// The most attempts that are reported: the last.
const WAYS: usize = 16;
/// The most characters of a text that are reported.
const WORDS: usize = 120;

/// The report about a request.
#[derive(Clone, Debug, Default)]
pub struct Why {
    ways: Vec<Way>,
    last: Prepared,
}

/// A request as it went one way.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// The decisions about its thoughts.
    pub decisions: Vec<Decision>,
    /// For each message of the client's the turn that it belongs to, from 1 on.
    turns: Vec<usize>,
    differences: Differences,
    /// The wires of the client and of the model.
    wires: [&'static str; 2],
    untranslated: Vec<String>,
}

/// A way that a request went.
#[derive(Clone, Debug)]
pub struct Way {
    provider: String,
    model: String,
    /// Lessons of refusals of other requests, and the repair of this one.
    learned: Option<Repair>,
    repaired: Option<Repair>,
    /// The treatment of missing thoughts.
    without: Without,
    /// Why it led to no answer.
    failed: Option<&'static str>,
}

impl Prepared {
    /// The report about a request; takes the differences out of `prepared`.
    #[must_use]
    pub fn of(asked: &RequestContext<'_>, prepared: &mut exchange::Prepared) -> Self {
        let came = asked.caller().map_or("conversation", Wire::id);
        let differences = prepared.differences.take().unwrap_or_default();
        Prepared::told(asked.contents(), [came, asked.target().wire.id()], differences, prepared)
    }

    /// The report about a request of an own conversation.
    #[must_use]
    pub fn of_own(turn: &Turn<'_>) -> Self {
        let prepared = turn.prepared();
        let differences = prepared.differences.clone().unwrap_or_default();
        let wires = ["conversation", turn.target().wire.id()];
        Prepared::told(&turn.request().contents, wires, differences, prepared)
    }

    fn told(
        contents: &[Content],
        wires: [&'static str; 2],
        differences: Differences,
        prepared: &exchange::Prepared,
    ) -> Self {
        let outgoing = prepared.exchange.outgoing();
        Prepared {
            decisions: outgoing.decisions.clone(),
            turns: turns(contents),
            differences,
            wires,
            untranslated: outgoing.untranslated.clone(),
        }
    }
}

/// The turn of each message, from 1 on; 0 before the first turn.
fn turns(contents: &[Content]) -> Vec<usize> {
    let mut turn = 0;
    let count = |content: &Content| {
        turn += usize::from(begins(content));
        turn
    };
    contents.iter().map(count).collect()
}

impl Way {
    /// An attempt at this model, with lessons and repairs.
    #[must_use]
    pub fn of(target: &Target, [learned, repaired]: [Option<Repair>; 2], without: Without) -> Self {
        let (provider, model) = (target.provider.clone(), target.model.clone());
        Way { provider, model, learned, repaired, without, failed: None }
    }
}

impl Why {
    /// The request goes this way next.
    pub fn went(&mut self, way: Way, prepared: Prepared) {
        if self.ways.len() >= WAYS {
            self.ways.remove(0);
        }
        self.ways.push(way);
        self.last = prepared;
    }

    /// The way that it went last led to no answer.
    pub fn failed(&mut self, reason: &'static str) {
        if let Some(way) = self.ways.last_mut() {
            way.failed = Some(reason);
        }
    }

    /// The form in a trace: a JSON object, or an empty text if no request was sent. The texts of differences are
    /// apart from the rest, for people who may not see thoughts.
    #[must_use]
    pub fn masked(&self, masker: &Masker) -> Masked<String> {
        if self.ways.is_empty() {
            return Masked::fixed("");
        }
        let Prepared { decisions, differences, wires, untranslated, .. } = &self.last;
        let mut w = Writer::new();
        w.object(|w| {
            w.key("ways").array(|w| self.ways.iter().for_each(|way| way.write(w)));
            w.key("wires").array(|w| wires.iter().for_each(|wire| w.str(wire)));
            let (answers, blocks): (Vec<&Decision>, Vec<&Decision>) =
                decisions.iter().partition(|it| it.block.is_none());
            for (name, decisions) in [("answers", answers), ("blocks", blocks)] {
                let first = decisions.len().saturating_sub(DECISIONS);
                w.key(name).array(|w| {
                    decisions.iter().skip(first).for_each(|it| self.decision(w, it));
                });
                w.field_u64(&format!("{name}_more"), first as u64);
            }
            w.key("changes").array(|w| differences.list.iter().for_each(|it| change(w, it)));
            w.field_u64("changes_more", differences.more as u64);
            w.key("words").array(|w| {
                for it in &differences.list {
                    let said = |side: &Option<Side>| words(masker, side.as_ref());
                    w.array(|w| [&it.came, &it.goes].map(said).iter().for_each(|it| w.str(it)));
                }
            });
            w.key("members").object(|w| {
                differences.members.iter().for_each(|(name, value)| w.field_str(name, value));
            });
            w.key("untranslated").array(|w| untranslated.iter().for_each(|it| w.str(it)));
        });
        // Reasons and names may contain text of a client or a provider.
        Masked::by(masker, &w.finish())
    }

    fn decision(&self, w: &mut Writer, decision: &Decision) {
        w.object(|w| {
            decision.write_members(w);
            let turn = self.last.turns.get(decision.message).copied();
            w.u64_or_null("turn", turn.map(|turn| turn as u64));
        });
    }
}

impl Way {
    fn write(&self, w: &mut Writer) {
        w.object(|w| {
            w.field_str("provider", &self.provider);
            w.field_str("model", &self.model);
            w.opt_str("learned", self.learned.map(Repair::as_str));
            w.opt_str("repaired", self.repaired.map(Repair::as_str));
            let Without { bypassed, told, is_off } = self.without;
            for (name, count) in [("bypassed", bypassed), ("flattened", told)] {
                if count > 0 {
                    w.field_u64(name, count as u64);
                }
            }
            if is_off {
                w.field_str("thinking", "off");
            }
            w.opt_str("failed", self.failed);
        });
    }
}

/// The place and kind of a difference, and the sizes of text and payloads before and after.
fn change(w: &mut Writer, it: &Difference) {
    let Difference { message, block, came, goes } = it;
    let what = match (came, goes) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "replaced",
    };
    let kind = goes.as_ref().or(came.as_ref()).map_or("other", |side| side.kind);
    w.object(|w| {
        w.field_u64("message", *message as u64);
        w.field_u64("block", *block as u64);
        w.field_str("what", what);
        w.field_str("kind", kind);
        for (name, size) in
            [("bytes", (|it| it.bytes) as fn(&Side) -> usize), ("sealed", |it| it.sealed)]
        {
            w.key(name).array(|w| {
                for side in [came, goes] {
                    w.u64(side.as_ref().map_or(0, size) as u64);
                }
            });
        }
    });
}

/// The first words of a text, with its spans and secrets hidden before they are cut once more.
fn words(masker: &Masker, side: Option<&Side>) -> String {
    let Some(side) = side else { return String::new() };
    let masked = masker.mask_text(&redacted(&side.words));
    let is_cut = side.words.len() < side.bytes || masked.chars().nth(WORDS).is_some();
    let mut words: String = masked.chars().take(WORDS).collect();
    if is_cut && matches!(side.kind, "text" | "thinking") {
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;
    use thinkthrough_mask::Tiers;

    fn way(failed: Option<&'static str>, repaired: Option<Repair>) -> Way {
        let (provider, model) = ("there".to_owned(), "m".to_owned());
        Way { provider, model, learned: None, repaired, without: Without::default(), failed }
    }

    #[test]
    fn what_differs_is_told_masked_and_cut_and_words_stand_apart() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        assert_eq!(Why::default().masked(&masker).get(), "");
        let long = format!("password=hunter2x {}", "and so on ".repeat(40));
        let goes = Side { kind: "thinking", bytes: long.len(), sealed: 7, words: long };
        let list = vec![Difference { message: 3, block: 1, came: None, goes: Some(goes) }];
        let differences =
            Differences { list, more: 2, members: vec![("model".into(), "1".into())] };
        let mut why = Why::default();
        why.went(way(None, None), Prepared::default());
        why.failed("refused");
        let prepared = Prepared { differences, wires: ["messages"; 2], ..Prepared::default() };
        why.went(way(None, Some(Repair::Omit)), prepared);
        let masked = why.masked(&masker).into_inner();
        let doc = Doc::parse_str(&masked).unwrap();
        let raw = |name: &str| doc.root().get(name).unwrap().raw();
        let change = r#"[{"message":3,"block":1,"what":"added","kind":"thinking","bytes":[0,418],"sealed":[0,7]}]"#;
        assert_eq!(raw("changes"), change);
        let ways = r#"[{"provider":"there","model":"m","failed":"refused"},{"provider":"there","model":"m","repaired":"omit"}]"#;
        assert_eq!(raw("ways"), ways);
        assert_eq!((raw("changes_more"), raw("members")), ("2", r#"{"model":"1"}"#));
        let words = raw("words");
        assert!(words.contains("[masked:password:") && words.contains('…'), "{words}");
        assert!(!masked.contains("hunter2x") && words.len() < 2 * WORDS, "{masked}");
    }
}
