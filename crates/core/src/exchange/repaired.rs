//! Prepares a refused request again with a repair.

use super::{LeftOut, RequestContext, question};
use crate::content::{Content, Speaker};
use crate::decide::{self, Applied, Named, Repair};
use crate::decision::{Action, Why};
use crate::outgoing::without_member;
use crate::plane::{Open, Place};
use crate::restore::{Found, Head, Secret};
use std::borrow::Cow;
use std::collections::BTreeSet;

impl RequestContext<'_> {
    /// Prepares the request again after a refusal. If the repair teaches about the model, all decisions are made
    /// afresh: omissions or words of earlier requests may be the cause of the refusal.
    pub fn refused(&mut self, repair: Repair) {
        self.memory.is_afresh |= repair.is_learned();
        self.repair(repair);
    }

    /// Applies a repair to this request.
    pub fn repair(&mut self, repair: Repair) {
        if let Some(taught) = repair.taught_to(&self.target) {
            self.target = taught;
            return;
        }
        match repair {
            Repair::Off => {
                let thinking = &mut self.target.rule.thinking;
                // Anthropic is the provider that asks for this repair, so its form is the default.
                thinking.off = thinking.off.or(Some(r#"{"thinking":{"type":"disabled"}}"#));
                self.settings.enabled.value = false;
            }
            Repair::Omit | Repair::Replace if self.caller.is_none() => self.left_out.is_all = true,
            Repair::Omit | Repair::Replace => {
                self.memory.omits = repair == Repair::Omit;
                self.ask_anew(decide::bare(&self.request.contents));
            }
            Repair::Apart
            | Repair::Efforts(_)
            | Repair::Forbid
            | Repair::Return(_)
            | Repair::Sign
            | Repair::Without(_) => {}
        }
    }

    /// Removes the thoughts with these marks or from these records, and no others.
    pub fn leave_out(&mut self, marks: impl IntoIterator<Item = String>, records: &[String]) {
        self.left_out.marks.extend(marks);
        self.left_out.records.extend(records.iter().cloned());
        if self.caller.is_none() {
            return;
        }
        let contents = self.bare.as_deref().unwrap_or(&self.request.contents);
        if let (Cow::Owned(contents), _) = self.without_marked(Cow::Borrowed(contents)) {
            self.ask_anew(contents);
        }
    }

    /// The keyed digests under which the named thoughts are remembered.
    #[must_use]
    pub fn marks(&self, named: &Named) -> BTreeSet<String> {
        named.marks(&self.secret()).collect()
    }

    /// Reads the question again, because a removed thought counts as missing.
    fn ask_anew(&mut self, contents: Vec<Content>) {
        if self.question.is_some() {
            let owner = self.owner.as_ref();
            self.question = Some(question(&self.request, &contents, owner, &self.target));
        }
        self.bare = Some(contents);
    }

    fn without_marked<'c>(
        &self,
        contents: Cow<'c, [Content]>,
    ) -> (Cow<'c, [Content]>, Vec<(usize, usize)>) {
        if self.left_out.marks.is_empty() {
            return (contents, Vec::new());
        }
        decide::without_named(contents, |word| self.is_refused(word))
    }

    /// Whether the provider refused the thought with this payload, id or text.
    pub(super) fn is_refused(&self, word: &str) -> bool {
        let LeftOut { is_all, marks, .. } = &self.left_out;
        *is_all || !marks.is_empty() && marks.contains(&self.secret().mark(word))
    }

    fn secret(&self) -> Secret {
        let own = self.owner.as_ref().map(|owner| owner.secret.clone());
        own.unwrap_or_else(|| Secret::new([0; 32]))
    }

    /// Filters out the records that the provider refused, and those with a refused thought: the answer then lacks its
    /// thought, as if there were no record.
    pub(super) fn usable<'f>(&self, found: &'f [Found], open: &dyn Open) -> Cow<'f, [Found]> {
        let LeftOut { records, marks, .. } = &self.left_out;
        if records.is_empty() && marks.is_empty() {
            return Cow::Borrowed(found);
        }
        let is_usable = |it: &&Found| !records.contains(&it.head.id) && !self.has_refused(it, open);
        Cow::Owned(found.iter().filter(is_usable).cloned().collect())
    }

    fn has_refused(&self, record: &Found, open: &dyn Open) -> bool {
        let Some(owner) = self.owner.as_ref().filter(|_| !self.left_out.marks.is_empty()) else {
            return false;
        };
        let Head { id, origin, .. } = &*record.head;
        let place = Place { tenant: &owner.tenant, record: id, origin, position: 0 };
        let Ok(kept) = record.kept.open(&place, open) else { return false };
        let content = [Content::new(Speaker::Ai, kept.blocks)];
        !self.without_marked(Cow::Borrowed(&content)).1.is_empty()
    }

    /// Removes refused thoughts that were restored from the vault.
    pub(super) fn without_refused<'c>(&self, applied: Applied<'c>) -> Applied<'c> {
        let Applied { contents, mut decisions, warnings } = applied;
        let (contents, gone) = self.without_marked(contents);
        for (message, _) in gone {
            let sent = decisions.iter_mut().filter(|it| it.message == message);
            let sent = sent.filter(|it| it.action.is_sent() && it.action != Action::Bypass);
            sent.for_each(|it| it.turns_to(Action::Drop(Why::Refused)));
        }
        Applied { contents, decisions, warnings }
    }

    /// Removes the refused members that the gateway added. `None` if the body has no such member.
    pub(super) fn without_members(&self, body: &str) -> Option<String> {
        let own = self.caller.filter(|_| self.is_own_wire());
        let is_callers =
            |path: &str| own.is_some_and(|caller| caller.doc.root().dotted(path).is_some());
        let mut left = None;
        for path in self.target.refuses.iter().filter(|path| !is_callers(path)) {
            left = without_member(left.as_deref().unwrap_or(body), path).or(left);
        }
        left
    }
}
