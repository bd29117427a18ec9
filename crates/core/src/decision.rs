//! Decisions about thoughts. All code that decides, applies, counts or explains uses [`Decision`].

use crate::contract::Level;
use crate::json::Writer;
use std::borrow::Cow;

/// The decision about one answer of the model, or about one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The index of the message in the conversation; for an answer, its first message.
    pub message: usize,
    /// The index of the block in the outgoing message. The index after the last block means a payload on the message
    /// as a whole. `None`: the decision is about the whole answer.
    pub block: Option<usize>,
    /// The action.
    pub action: Action,
    /// The reason, as a sentence.
    pub reason: Cow<'static, str>,
    /// The setting that decided, or `contract`.
    pub setting: &'static str,
    /// The record of the answer, for every action. Further records follow if the client merged several answers into
    /// one message.
    pub evidence: Vec<Evidence>,
    /// The fate of the answer's thought in an earlier request. This request and later ones repeat it.
    pub lasting: Option<Lasting>,
}

/// The fate of an answer's thought that later requests repeat, as long as the answer and the messages before it are
/// unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// The thought was left out although its record was there.
    LeftOut,
    /// The thought was left out because of `max_restore_tokens`.
    OverLimit,
    /// Words replaced the answer, or the provider's documented value replaced the thought.
    Told,
}

impl Lasting {
    pub(crate) const ALL: [Lasting; 3] = [Lasting::LeftOut, Lasting::OverLimit, Lasting::Told];

    /// The reason why the thought stays out although its record is there.
    pub(crate) const fn why(self) -> Why {
        match self {
            Lasting::LeftOut => Why::LeftOut,
            Lasting::OverLimit => Why::OverLimit,
            Lasting::Told => Why::Told,
        }
    }
}

/// The fate of a thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sent although it would be stripped, because the contract demands it.
    Add,
    /// Several unequal records fit, so that no thought is put back. Has the number of records.
    Ambiguous(usize),
    /// The thought is missing. The value that the provider documents for such calls replaces it.
    Bypass,
    /// Left out, because the target refuses it or cannot use it.
    Drop(Why),
    /// The answer is known to have had no thought.
    Empty,
    /// The answer is a fragment of the one before: only tool results are between them.
    GoesOn,
    /// Sent, as the client sends it.
    Keep,
    /// No usable record was found.
    Miss(Why),
    /// The thought is missing, and the request goes without thinking.
    Off,
    /// Put back from the vault.
    Restore,
    /// Left out, because of a setting or because the contract does not want it.
    Strip,
    /// The thought is missing, and words replace the answer.
    Tell,
    /// The client's own thought, sent without its seal, because its maker is unknown.
    Unseal,
    /// Left out, because only another provider or model can read it.
    Withhold,
}

impl Action {
    /// The public spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Add | Action::Bypass => "add",
            Action::Ambiguous(_) | Action::Drop(_) | Action::Miss(_) => "drop",
            Action::Empty | Action::GoesOn | Action::Keep | Action::Unseal => "keep",
            Action::Off | Action::Tell => "drop",
            Action::Restore => "restore",
            Action::Strip => "strip",
            Action::Withhold => "withhold",
        }
    }

    /// The public spelling of an answer's fate.
    #[must_use]
    pub const fn outcome(self) -> &'static str {
        match self {
            Action::Ambiguous(_) => "ambiguous",
            Action::Drop(_) | Action::Withhold => "dropped",
            Action::Empty => "empty",
            Action::GoesOn => "goes_on",
            Action::Keep | Action::Unseal => "kept",
            Action::Miss(_) => "missed",
            Action::Restore => "restored",
            Action::Strip => "not_wanted",
            Action::Add | Action::Bypass | Action::Off | Action::Tell => self.as_str(),
        }
    }

    /// Whether the request has a thought here.
    #[must_use]
    pub const fn is_sent(self) -> bool {
        match self {
            Action::Add | Action::Bypass | Action::Keep | Action::Restore | Action::Unseal => true,
            Action::Ambiguous(_) | Action::Drop(_) | Action::Empty | Action::GoesOn => false,
            Action::Miss(_) | Action::Off | Action::Strip | Action::Tell | Action::Withhold => {
                false
            }
        }
    }
}

impl Decision {
    /// A decision about a block, or about the payload on the message as a whole.
    pub(crate) fn block(
        action: Action,
        setting: &'static str,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        let evidence = Vec::new();
        let (reason, lasting) = (reason.into(), None);
        Decision { message: 0, block: Some(0), action, reason, setting, evidence, lasting }
    }

    /// A decision about the answer that begins with a message.
    pub(crate) fn answer(message: usize, action: Action, evidence: Vec<Evidence>) -> Self {
        let mut decision =
            Decision { message, block: None, evidence, ..Decision::block(action, "contract", "") };
        decision.turns_to(action);
        decision
    }

    /// Changes the action, and the reason with it.
    pub(crate) fn turns_to(&mut self, action: Action) {
        self.action = action;
        let reason = match action {
            Action::Ambiguous(_) => "several thoughts fit, and nothing tells which is the one",
            Action::Drop(why) | Action::Miss(why) => why.sentence(),
            Action::Empty => "it is known that nothing was thought here",
            Action::GoesOn => "it is part of the answer before, which has the thought",
            Action::Keep => "the client sends a thought of its own",
            Action::Restore => "it is known, and the client dropped it",
            Action::Strip => "the model does not need it here",
            Action::Unseal => "the client sends it, with a seal of which nobody knows whose it is",
            Action::Withhold => Why::Foreign.sentence(),
            Action::Add | Action::Bypass | Action::Off | Action::Tell => "",
        };
        self.reason = Cow::Borrowed(reason);
    }

    /// The first record of the answer.
    #[must_use]
    pub fn found(&self) -> Option<&Evidence> {
        self.evidence.first()
    }

    /// Writes the members of a JSON object. An answer has its outcome and its records, a block has its action.
    pub fn write_members(&self, w: &mut Writer) {
        w.field_u64("message", self.message as u64);
        match self.block {
            Some(block) => {
                w.field_u64("block", block as u64);
                w.field_str("action", self.action.as_str());
            }
            None => w.field_str("outcome", self.action.outcome()),
        }
        w.field_str("reason", &self.reason);
        w.field_str("setting", self.setting);
        if self.block.is_none() {
            w.key("evidence").array(|w| self.evidence.iter().for_each(|it| it.write(w)));
        }
    }

    /// The records of an answer, each with the action for its thought.
    pub fn parts(&self) -> impl Iterator<Item = (Action, &Evidence)> {
        let is_restored = self.action == Action::Restore;
        self.evidence.iter().enumerate().map(move |(at, found)| match at {
            0 => (self.action, found),
            _ if is_restored && found.is_usable => (Action::Restore, found),
            _ if found.is_foreign => (Action::Withhold, found),
            _ => (Action::GoesOn, found),
        })
    }
}

/// The evidence that a record belongs to an answer, whether or not its thought goes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The record's id.
    pub id: String,
    /// Its index among the records.
    pub record: usize,
    /// The kind of evidence.
    pub level: Level,
    /// The first call of the answer that is in the record.
    pub first: usize,
    /// For each call of the answer from `first` on, the same call in the record.
    pub calls: Vec<usize>,
    /// Its thought can go back.
    pub is_usable: bool,
    /// The target cannot read it.
    pub is_foreign: bool,
    /// Ids name the record.
    pub is_anchored: bool,
    /// The text of the answer begins with a copy of its thought.
    pub shows_copy: bool,
}

impl Evidence {
    fn write(&self, w: &mut Writer) {
        w.object(|w| {
            w.field_str("level", self.level.as_str());
            w.field_str("record", &self.id);
            w.field_u64("calls", self.calls.len() as u64);
            w.field_bool("anchored", self.is_anchored);
            w.field_bool("usable", self.is_usable);
            w.field_bool("foreign", self.is_foreign);
        });
    }
}

/// The reason why a thought is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Several records fit.
    Ambiguous,
    /// The messages before it have changed since the model thought it.
    Changed,
    /// The client sends thoughts without a record, so that it is unknown which messages they are bound to.
    ClientKeepsOwn,
    /// It was cut off.
    Cut,
    /// Its answer was cut off, and the thought is bound to all of it.
    CutAnswer,
    /// Its answer was cut off, and the payload belongs to all of it.
    CutPayload,
    /// The model refuses thoughts of earlier turns.
    Earlier,
    /// The model refuses thoughts in requests.
    Forbidden,
    /// The target cannot read thoughts of its maker.
    Foreign,
    /// A thought between it and the sent thoughts is missing.
    Gap,
    /// An earlier request left it out, and a later answer has followed.
    LeftOut,
    /// No record was found.
    NoRecord,
    /// The newer restored thoughts use up `max_restore_tokens`.
    OverLimit,
    /// The provider refused a request with it.
    Refused,
    /// It is a part of an answer whose thought is elsewhere in the request, and more than tool results are between
    /// them.
    Separate,
    /// The answer had no thought, and the provider refuses that.
    Silent,
    /// The caller stopped the answer, and the model accepts only whole thoughts.
    Stopped,
    /// Words, or the documented value, replaced it when its record was missing.
    Told,
    /// Its answer has neither text nor calls, and the provider refuses such an answer.
    Unanswered,
    /// It has only a payload, and the model reads only text.
    Unreadable,
    /// Its maker is unknown, and it came on another wire.
    Unknown,
    /// It has no payload, and the model accepts only sealed thoughts.
    Unsealed,
}

impl Why {
    /// The reason in a sentence for people.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Why::Ambiguous => "several thoughts fit this answer",
            Why::Changed => {
                "what stands before it was changed, and the model takes it behind the same only"
            }
            Why::ClientKeepsOwn => {
                "the client sends thoughts that are not known here, and theirs are bound to what is sent"
            }
            Why::Cut => "it was cut off, and only a complete thought may be sent back",
            Why::CutAnswer => "its answer was cut off, and it cannot go without the rest",
            Why::CutPayload => "its answer was cut off, and the payload belongs to all of it",
            Why::Earlier => "the model refuses reasoning of earlier turns",
            Why::Forbidden => "the model refuses reasoning in requests",
            Why::Foreign => "it was thought elsewhere and the model cannot read it",
            Why::Gap => "a thought between it and those that are sent is missing",
            Why::LeftOut => {
                "it was left out of an earlier request, and what was sent stays as it was"
            }
            Why::NoRecord => "no record of this answer was found",
            Why::OverLimit => "it is beyond `max_restore_tokens`",
            Why::Refused => "the provider refused a request with it",
            Why::Separate => {
                "it is part of an answer whose thought stands elsewhere in the request"
            }
            Why::Silent => {
                "nothing was thought, and the provider refuses an answer without a thought"
            }
            Why::Stopped => "the answer was broken off, and the model takes whole thoughts only",
            Why::Told => {
                "something else went out in its place before, and what was sent stays as it was"
            }
            Why::Unanswered => "its answer says and calls nothing, and the provider refuses that",
            Why::Unreadable => "it has no readable text, and the model takes nothing else",
            Why::Unknown => "nobody knows who sealed it, and the model takes its own seals only",
            Why::Unsealed => "it has no signature or other payload that the model could verify",
        }
    }
}

/// The numbers of assistant messages in a request, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Their thought was put back.
    pub restored: usize,
    /// Their thought was wanted and not found.
    pub missed: usize,
    /// Several thoughts fit.
    pub ambiguous: usize,
    /// Their thought cannot be sent.
    pub dropped: usize,
}

impl Counts {
    /// Counts the decisions about answers.
    #[must_use]
    pub fn of(decisions: &[Decision]) -> Self {
        let mut counts = Counts::default();
        for decision in decisions.iter().filter(|it| it.block.is_none()) {
            match decision.action {
                Action::Ambiguous(_) => counts.ambiguous += 1,
                Action::Drop(_) | Action::Withhold => counts.dropped += 1,
                Action::Miss(_) => counts.missed += 1,
                Action::Restore => counts.restored += 1,
                Action::Add | Action::Bypass | Action::Empty | Action::GoesOn => {}
                Action::Keep | Action::Unseal => {}
                Action::Off | Action::Strip | Action::Tell => {}
            }
        }
        counts
    }
}

/// The substitutes for demanded thoughts that are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without {
    /// The number of answers with the provider's documented value.
    pub bypassed: usize,
    /// The number of answers that words replace, together with their tool results.
    pub told: usize,
    /// Thinking is off in this request.
    pub is_off: bool,
}

impl Without {
    /// Counts the substitutes among the decisions.
    #[must_use]
    pub fn of(decisions: &[Decision]) -> Self {
        let count = |what| decisions.iter().filter(|it| it.action == what).count();
        let (bypassed, told) = (count(Action::Bypass), count(Action::Tell));
        Without { bypassed, told, is_off: count(Action::Off) > 0 }
    }
}
