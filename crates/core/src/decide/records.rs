//! The records that answers come from, opened.

use super::answers as decided;
use super::refused::{Known, PutBack};
use super::{Input, Vault};
use crate::content::Thinking;
use crate::decision::{Action, Decision, Evidence};
use crate::edit::Change;
use crate::plane::{Place, SealError};
use crate::reasoning::estimate_thinking_tokens;
use crate::restore::{Ask, Found, Head, Kept, Orphan};

/// The thoughts of one answer, one for each of its records. A record that the target cannot read is left out, with
/// its ids.
pub(super) struct Opened(pub(super) Vec<Option<Kept>>);

impl Opened {
    /// Their estimated cost in a request.
    pub(super) fn tokens(&self) -> u64 {
        let thoughts: Vec<&Thinking> = self.0.iter().flatten().flat_map(Kept::thoughts).collect();
        estimate_thinking_tokens(&thoughts)
    }
}

/// Decides about every answer. If a refusal keeps the vault's thoughts out, it also returns the answers that would
/// have had theirs.
pub(super) fn answers(
    input: &Input<'_>,
    ask: &Ask<'_>,
) -> (Vec<Decision>, Vec<Opened>, Vec<usize>) {
    let (answers, opened) = of(input, ask, input.vault.found);
    if !input.memory.omits {
        return (answers, opened, Vec::new());
    }
    let would = answers.iter().enumerate().filter(|(_, it)| it.action == Action::Restore);
    let refused = would.map(|(at, _)| at).collect();
    let (answers, opened) = of(input, ask, &[]);
    (answers, opened, refused)
}

/// The same until each record that is used can be opened.
fn of(input: &Input<'_>, ask: &Ask<'_>, found: &[Found]) -> (Vec<Decision>, Vec<Opened>) {
    let Some(question) = input.question else { return Default::default() };
    let mut usable: Vec<&Found> = found.iter().collect();
    loop {
        let answers = decided::answers(question, usable.iter().map(|found| &*found.head), ask);
        let opened = answers.iter().map(|answer| {
            let each = answer.parts().map(|part| opened(part, &usable, &input.vault));
            each.collect::<Result<_, _>>().map(Opened)
        });
        match opened.collect::<Result<Vec<Opened>, usize>>() {
            // One record less each time, so that this ends.
            Err(shut) => drop(usable.remove(shut)),
            Ok(opened) => return (answers, opened),
        }
    }
}

/// The content of a record, or the record's index if it cannot be opened.
fn opened(
    (action, found): (Action, &Evidence),
    records: &[&Found],
    vault: &Vault<'_>,
) -> Result<Option<Kept>, usize> {
    let record = records.get(found.record).filter(|_| action != Action::Withhold);
    let kept = record.and_then(|record| open(record, vault));
    kept.transpose().map_err(|_| found.record)
}

/// The content of a record; `None` if nobody owns the request.
fn open(record: &Found, vault: &Vault<'_>) -> Option<Result<Kept, SealError>> {
    let Head { id, origin, .. } = &*record.head;
    let place = Place { tenant: vault.tenant?, record: id, origin, position: 0 };
    Some(record.kept.open(&place, vault.open))
}

/// The thoughts that go back, once that is settled.
pub(super) fn put_back(answers: &[Decision], opened: &[Opened], vault: &Vault<'_>) -> PutBack {
    let has_own = answers.iter().any(|it| it.action == Action::Keep);
    let restored = answers.iter().zip(opened).filter(|(it, _)| it.action == Action::Restore);
    let records = restored.filter_map(|(it, opened)| {
        let (kept, id) = (opened.0.first()?.as_ref()?, &it.found()?.id);
        let record = vault.found.iter().find(|it| it.head.id == *id)?;
        let (maker, asked) = (&record.head.origin, vault.origin);
        Known::of(id, kept, maker.is_beside(asked) && maker.account == asked.account)
    });
    PutBack { records: records.collect(), has_own }
}

/// Renames results whose calls are not in the request: to the ids that the provider gave those calls.
pub(super) fn of_orphans(input: &Input<'_>) -> Vec<Change> {
    let orphans = input.question.map(|question| question.orphans.as_slice()).unwrap_or_default();
    let renamed = |orphan: &Orphan| {
        let record = input.vault.found.iter().find(|record| orphan.is_of(&record.head))?;
        let kept = open(record, &input.vault)?.ok()?;
        orphan.renamed(&record.head, &kept)
    };
    orphans.iter().filter_map(renamed).collect()
}
