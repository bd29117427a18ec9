//! Repairs of a refused request, one after the other, and the lessons of the successful ones.
//!
//! The first repair changes only the part that the refusal names. If that is refused as well, the vault's thoughts
//! replace all thoughts of the client; the last repair removes all thoughts.

use super::RequestContext;
use crate::decide::{Named, PutBack, RefusalCause, Repair};
use crate::provider::Target;
use std::collections::BTreeSet;

/// A request as it went out, which the provider refused.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// Its body.
    pub body: &'a [u8],
    /// The thoughts in it that the refusal may be about.
    pub put_back: &'a PutBack,
    /// The target of the request.
    pub target: &'a Target,
    /// There may be further thoughts: in a vault, or in an own conversation.
    pub has_more: bool,
}

/// The state of the repairs of one request.
#[derive(Clone, Debug, Default)]
pub struct Mending {
    learned: Option<Repair>,
    repaired: Option<Repair>,
    /// The repair changes only the named part.
    is_narrow: bool,
    /// The thoughts that refusals named, with their records.
    named: Vec<(Named, Vec<String>)>,
    marks: BTreeSet<String>,
    fault: Option<(RefusalCause, Vec<String>)>,
    /// An own conversation: no vault can replace a refused thought.
    is_own: bool,
}

/// The number of refusals that remove only the thoughts that they name; the next one removes all thoughts.
const MOST_NAMED: usize = 3;

/// Whether a changed request may succeed, because the provider refused its content.
#[must_use]
pub fn may_be_repaired(status: u16, refusal: &str) -> bool {
    match status {
        400 | 404 | 409 | 413 | 422 => true,
        500.. => Repair::names_history(refusal),
        _ => false,
    }
}

impl Mending {
    pub(super) fn own() -> Self {
        Mending { is_own: true, ..Mending::default() }
    }

    /// Sets the lesson of earlier refusals about the model. It holds until another repair of this request.
    pub fn learn(&mut self, fact: Option<Repair>) {
        if self.repaired.is_none() {
            self.learned = fact;
        }
    }

    /// Applies the lesson and the repair to a parsed request. The thoughts with the marks `refused` were refused
    /// before.
    pub fn apply(
        &mut self,
        asked: &mut RequestContext<'_>,
        refused: impl IntoIterator<Item = String>,
    ) {
        self.learned.iter().for_each(|repair| asked.repair(*repair));
        let wide = self.repaired.filter(|_| !self.is_narrow);
        wide.iter().for_each(|repair| asked.refused(*repair));
        self.marks = self.named.iter().flat_map(|(named, _)| asked.marks(named)).collect();
        let records: Vec<String> = self.named.iter().flat_map(|it| it.1.clone()).collect();
        asked.leave_out(refused.into_iter().chain(self.marks.iter().cloned()), &records);
    }

    /// Whether another repair may follow.
    #[must_use]
    pub fn may_go_on(&self) -> bool {
        self.is_narrow || matches!(self.repaired, None | Some(Repair::Replace))
    }

    /// The repair that follows a refusal; `None` if none fits.
    #[must_use]
    pub fn after(&self, refusal: &str, sent: Sent<'_>) -> Option<Self> {
        let Sent { body, put_back, target, has_more } = sent;
        let repair = put_back.repair(refusal, body, target).filter(|_| self.may_go_on())?;
        let is_first = self.repaired.is_none();
        let is_in_vain = matches!(repair, Repair::Return(_) | Repair::Sign) && !has_more;
        if is_in_vain || !is_first && !repair.leaves_out() {
            return None;
        }
        let (named, records) = (Named::of(refusal, body), put_back.at_fault(refusal, body));
        let is_another = self.is_own && self.is_narrow && self.named.len() < MOST_NAMED;
        let is_narrow = (is_first || is_another) && repair.leaves_out() && !named.is_empty();
        let is_clients = match is_narrow {
            true => records.is_empty(),
            false => self.is_narrow && put_back.has_own(),
        };
        // The replacement of the client's thoughts was refused, too, or is equal to them.
        let is_replaced = !self.is_narrow && self.repaired == Some(Repair::Replace);
        let repaired = match repair {
            Repair::Omit if is_clients => Repair::Replace,
            Repair::Replace if is_replaced => Repair::Omit,
            repair => repair,
        };
        let own = put_back.own(&records);
        let cause = RefusalCause::of(refusal).filter(|_| !own.is_empty());
        let fault = cause.map(|cause| (cause, own)).or_else(|| self.fault.clone());
        let mut next = Mending { repaired: Some(repaired), is_narrow, fault, ..self.clone() };
        if !named.is_empty() {
            next.named.push((named, records));
        }
        // A repair without any thought is remembered against all thoughts that a client or an own conversation sent.
        let is_last = repaired == Repair::Omit || self.is_own && repaired.leaves_out();
        if is_last && !is_narrow && put_back.has_own() {
            next.named.push((Named::all(body), Vec::new()));
        }
        Some(next)
    }

    /// The lesson of earlier refusals.
    #[must_use]
    pub fn learned(&self) -> Option<Repair> {
        self.learned
    }

    /// The repair of this request.
    #[must_use]
    pub fn repaired(&self) -> Option<Repair> {
        self.repaired
    }

    /// The lesson of the repair about the model, once the provider accepts the request.
    #[must_use]
    pub fn fact(&self) -> Option<Repair> {
        self.repaired.filter(|repair| repair.is_learned())
    }

    /// The marks of the thoughts that the provider refused, once the request was taken without them.
    #[must_use]
    pub fn marks(&self) -> &BTreeSet<String> {
        &self.marks
    }

    /// The bad records of the vault, known once the provider accepts the request without them, and the cause. Records
    /// of another address are not among them.
    #[must_use]
    pub fn fault(&self) -> Option<(RefusalCause, &[String])> {
        self.fault.as_ref().map(|(cause, records)| (*cause, records.as_slice()))
    }

    /// Whether a refusal shows that the lesson no longer holds.
    #[must_use]
    pub fn is_wrong(&self, refusal: &str) -> bool {
        self.learned.is_some() && self.repaired.is_none() && Repair::of(refusal).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name in the refusal is cut so that no payload of the request fits it.
    #[test]
    fn a_repair_without_any_thought_is_remembered_against_all_that_the_client_sent() {
        let target = Target::built_in("openai", None, "gpt-5").unwrap();
        let body = br#"{"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA-first-XyZ="}]}"#;
        let refusal = "The encrypted content gAAB...nobody= could not be verified. It could not be decrypted.";
        let clients = PutBack::of_client();
        let sent = Sent { body, put_back: &clients, target: &target, has_more: true };
        let first = Mending::default().after(refusal, sent).unwrap();
        assert_eq!((first.repaired, first.named.len()), (Some(Repair::Replace), 0));
        let second = first.after(refusal, sent).unwrap();
        assert_eq!((second.repaired, second.named.len()), (Some(Repair::Omit), 1));
        // A vault's record has a mark of its own.
        let sent = Sent { put_back: &PutBack::default(), ..sent };
        let omitted = Mending::default().after(refusal, sent);
        assert!(omitted.is_none_or(|it| it.named.is_empty()));
    }
}
