//! Repairs of a refused request, and the lessons of successful repairs.
//!
//! The first repair changes only the part that the refusal names. If that is refused as well, the vault's thoughts replace
//! all thoughts of the client; the last repair removes all thoughts. After a success the gateway remembers facts about the
//! model, marks the refused records, and remembers the client's refused thoughts.

use crate::house::House;
use crate::learned::{Learned, about, now};
use crate::refused::{AtFault, Restored};
use crate::sending::Outcome;
use std::collections::BTreeSet;
use std::sync::Arc;
use thinkthrough_client::ClientError;
use thinkthrough_core::exchange::{Named, Repair, RequestContext};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::provider::Target;
use thinkthrough_store::About;

/// The state of the repairs on one way.
#[derive(Clone, Default)]
pub(crate) struct Mending {
    /// The subject of a lesson. Known once the way is prepared.
    about: Option<About>,
    pub(crate) learned: Option<Repair>,
    pub(crate) repaired: Option<Repair>,
    /// The repair changes only the named part.
    is_narrow: bool,
    /// The thoughts that refusals named, with their records.
    named: Vec<(Named, Vec<String>)>,
    /// The marks of those thoughts.
    marks: BTreeSet<String>,
    /// The records that the refusal blames.
    at_fault: Option<AtFault>,
}

impl Mending {
    /// Loads the facts about the model.
    pub(crate) fn learn(&mut self, tenant: Tenant, target: &Target, learned: &Learned) {
        let about = about(tenant, target);
        if self.repaired.is_none() {
            self.learned = learned.of(&about, now());
        }
        self.about = Some(about);
    }

    /// Applies the facts, the remembered refusals and the current repair to a request.
    pub(crate) fn mend(&mut self, asked: &mut RequestContext<'_>, learned: &Learned) {
        self.learned.iter().for_each(|repair| asked.repair(*repair));
        let wide = self.repaired.filter(|_| !self.is_narrow);
        wide.iter().for_each(|repair| asked.refused(*repair));
        let about = self.about.as_ref();
        let known = about.map(|about| learned.refused(about, now())).unwrap_or_default();
        self.marks = self.named.iter().flat_map(|(named, _)| asked.marks(named)).collect();
        let marks = known.into_iter().chain(self.marks.iter().cloned());
        let records: Vec<String> = self.named.iter().flat_map(|it| it.1.clone()).collect();
        asked.leave_out(marks, &records);
    }

    /// Whether another repair may follow.
    pub(crate) fn may_go_on(&self) -> bool {
        self.is_narrow || matches!(self.repaired, None | Some(Repair::Replace))
    }

    /// The state for the next try after a refusal. `None` if no repair fits.
    pub(crate) fn after(&self, said: &str, sent: &Restored, target: &Target) -> Option<Self> {
        let repair = sent.repair(said, target)?;
        let is_first = self.repaired.is_none();
        // Without a tenant the vault has no thoughts that could go back.
        let is_in_vain = matches!(repair, Repair::Return(_) | Repair::Sign) && self.about.is_none();
        if is_in_vain || !is_first && !repair.leaves_out() {
            return None;
        }
        let (named, records) = sent.named(said);
        let is_narrow = is_first && repair.leaves_out() && !named.is_empty();
        let is_clients = match is_narrow {
            true => records.is_empty(),
            false => self.is_narrow && sent.put_back.has_own(),
        };
        let repaired = if repair == Repair::Omit && is_clients { Repair::Replace } else { repair };
        let at_fault = sent.at_fault(said).or_else(|| self.at_fault.clone());
        let mut next = Mending { repaired: Some(repaired), is_narrow, at_fault, ..self.clone() };
        if !named.is_empty() {
            next.named.push((named, records));
        }
        Some(next)
    }

    /// Stores the lesson of a repair after a success. Drops a known fact that led to a refusal.
    pub(crate) fn note(
        &self,
        outcome: &Result<Outcome, ClientError>,
        house: &Arc<House>,
        is_kept: bool,
    ) {
        let House { learned, seen, .. } = &**house;
        let Some(about) = &self.about else { return };
        match outcome {
            Ok(Outcome::Answer { .. }) => {
                if let Some(at_fault) = self.at_fault.clone() {
                    at_fault.mark(seen);
                }
                if !self.marks.is_empty() {
                    learned.refuse(about.clone(), &self.marks, now());
                }
                if let Some(repair) = self.repaired.filter(|repair| repair.is_learned()) {
                    learned.add(about.clone(), repair, now(), is_kept);
                }
            }
            Ok(Outcome::Refused(refused)) if self.learned.is_some() && self.repaired.is_none() => {
                if Repair::of(&String::from_utf8_lossy(&refused.body)).is_some() {
                    learned.forget(about, now());
                }
            }
            Ok(Outcome::Refused(_)) | Err(_) => {}
        }
    }
}
