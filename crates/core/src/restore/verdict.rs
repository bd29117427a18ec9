//! What is decided about one answer, and why.

use crate::contract::Level;

/// What is decided about one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What happens.
    pub verdict: Verdict,
    /// The record that it is known to come from, whatever happens.
    pub found: Option<Found>,
    /// The records of further answers, where the client has merged several into one message.
    pub also: Vec<Found>,
}

impl Outcome {
    /// What happens to an answer of which no record is known.
    pub(super) fn unknown(verdict: Verdict) -> Self {
        Outcome { verdict, found: None, also: Vec::new() }
    }

    /// What happens to each further answer of a message that holds several.
    pub fn parts(&self) -> impl Iterator<Item = Outcome> + '_ {
        let is_restored = self.verdict == Verdict::Restored;
        self.also.iter().map(move |found| Outcome {
            verdict: match is_restored && found.is_usable {
                true => Verdict::Restored,
                false => Verdict::GoesOn,
            },
            found: Some(found.clone()),
            also: Vec::new(),
        })
    }
}

/// The record that a step is known to come from, whether or not its thought goes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The record's id.
    pub id: String,
    /// Its index among the records.
    pub record: usize,
    /// What says so.
    pub level: Level,
    /// The first call of the step that is one of the record's.
    pub first: usize,
    /// For each call of the step from there on the call of the record that it is.
    pub calls: Vec<usize>,
    /// Its thought can go back.
    pub is_usable: bool,
    /// Ids name it.
    pub is_anchored: bool,
    /// When it was kept, nobody knew the answer before it.
    pub follows_unknown: bool,
}

/// What happens to the thought of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Several thoughts fit, so that none is put back; the number of them.
    Ambiguous(usize),
    /// There is one, and it must not go.
    Dropped(Why),
    /// It is known that there was none.
    Empty,
    /// It is a fragment of the answer before: nothing but results stands between.
    GoesOn,
    /// What the client sends stays.
    Kept,
    /// None was found.
    Missed(Why),
    /// The contract does not want it here.
    NotWanted,
    /// It goes back from the vault.
    Restored,
}

impl Verdict {
    /// Whether the request has a thought here.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        matches!(self, Verdict::Kept | Verdict::Restored)
    }
}

/// Why a thought does not go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// What stands before it is not what stood there when it was thought.
    Changed,
    /// The client sends thoughts of its own, and what they are bound to is not known.
    ClientKeepsOwn,
    /// It was thought where the target cannot read it.
    Foreign,
    /// A thought between it and those that are sent is missing.
    Gap,
    /// No record was found.
    NoRecord,
    /// The restored thoughts behind it take all that the limit lets go back.
    OverLimit,
    /// It is a part of an answer whose thought stands elsewhere in the request, and more than results stands between.
    Separate,
    /// The caller broke the answer off, and the model takes no part of one.
    Stopped,
}

impl Why {
    /// The reason in a sentence for people.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Why::Changed => {
                "what stands before it was changed, and the model takes it behind the same only"
            }
            Why::ClientKeepsOwn => {
                "the client sends thoughts that are not known here, and theirs are bound to what is sent"
            }
            Why::Foreign => "it was thought elsewhere and the model cannot read it",
            Why::Gap => "a thought between it and those that are sent is missing",
            Why::NoRecord => "no record of this answer was found",
            Why::OverLimit => "it is beyond `max_restore_tokens`",
            Why::Separate => {
                "it is part of an answer whose thought stands elsewhere in the request"
            }
            Why::Stopped => "the answer was broken off, and the model takes whole thoughts only",
        }
    }
}

/// The numbers of assistant messages in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Their thought was put back.
    pub restored: usize,
    /// Their thought was wanted and not found.
    pub missed: usize,
    /// Several thoughts fit.
    pub ambiguous: usize,
    /// Their thought must not go.
    pub dropped: usize,
}

impl Counts {
    pub(super) fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Restored => self.restored += 1,
            Verdict::Missed(_) => self.missed += 1,
            Verdict::Ambiguous(_) => self.ambiguous += 1,
            Verdict::Dropped(_) => self.dropped += 1,
            Verdict::Empty | Verdict::GoesOn | Verdict::Kept | Verdict::NotWanted => {}
        }
    }
}
