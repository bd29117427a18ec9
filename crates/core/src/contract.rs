//! Contracts: which reasoning must, may or must not be sent back, in which field, and who can read it.

use crate::content::Origin;
use crate::model_name::{family, is_same};

/// The value that Gemini takes in place of a signature, for a call of another model. Source:
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>
pub(crate) const SKIPS_SIGNATURE: &str = "skip_thought_signature_validator";

/// All values that it takes there, as clients send them: these words, or the base64 of their bytes. No thought is in
/// it.
const FILLERS: [&str; 4] = [
    SKIPS_SIGNATURE,
    "context_engineering_is_the_way_to_go",
    "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I",
    "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
];

/// Whether a payload is only a placeholder for a missing one.
pub(crate) fn is_filler(payload: &str) -> bool {
    FILLERS.contains(&payload.trim_end_matches('='))
}

/// The messages whose reasoning goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Return {
    /// None.
    #[default]
    Never,
    /// The turn under way: every message since the last user message.
    CurrentTurn,
    /// Every message with tool calls, and the turn under way.
    ToolCalls,
    /// All of it.
    All,
}

impl Return {
    /// Whether it takes in a message of the turn under way, or of a turn with tool calls.
    #[must_use]
    pub const fn takes_in(self, is_current_turn: bool, turn_has_calls: bool) -> bool {
        match self {
            Return::Never => false,
            Return::CurrentTurn => is_current_turn,
            Return::ToolCalls => is_current_turn || turn_has_calls,
            Return::All => true,
        }
    }

    /// The public spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Return::Never => "never",
            Return::CurrentTurn => "current-turn",
            Return::ToolCalls => "tool-calls",
            Return::All => "all",
        }
    }

    /// The value of this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Return::Never, Return::CurrentTurn, Return::ToolCalls, Return::All]
            .into_iter()
            .find(|value| value.as_str() == text)
    }
}

/// The evidence that a record belongs to an answer; in a contract, the weakest evidence that it accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// An id that no other answer has: of a call, or a ticket that was given for the thought.
    Anchor,
    /// The identical history with the identical visible answer.
    History,
    /// The next answer names the record as its parent, and the visible parts are equal.
    #[default]
    Parent,
}

impl Level {
    /// The public spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Anchor => "ticket",
            Level::History => "chain",
            Level::Parent => "tail",
        }
    }

    /// The value of this spelling; `calls` is an older one of `tail`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = if text == "calls" { "tail" } else { text };
        [Level::Anchor, Level::History, Level::Parent]
            .into_iter()
            .find(|value| value.as_str() == text)
    }
}

/// Whether thoughts of earlier turns may stay in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Older {
    /// They may.
    #[default]
    Allowed,
    /// They must go.
    Forbidden,
}

impl Older {
    /// The value of this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "allowed" => Some(Older::Allowed),
            "forbidden" => Some(Older::Forbidden),
            _ => None,
        }
    }
}

/// The thoughts that a target can read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readable {
    /// Thoughts of its family, from every host.
    #[default]
    Family,
    /// Thoughts of its family that the same address sealed. Only a refusal shows that another account cannot read them.
    SameHost,
    /// Thoughts of the same model, and of further models in [`Contract::reads`], from the same address.
    SameModel,
}

/// The description in words of an answer whose demanded thought is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Told {
    /// Its calls become words in its own text, and their results words in a user message. For contracts that demand
    /// thoughts only of messages with calls: an answer without calls stays as it is.
    InAnswer,
    /// The whole answer goes into a user message, so that no message of the model lacks its thought. An answer
    /// without calls is quoted right before the user's next message.
    #[default]
    InUserMessage,
    /// Not at all: rather it goes without thinking, or as it is.
    Never,
}

impl Told {
    /// The value of this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "in-answer" => Told::InAnswer,
            "in-user-message" => Told::InUserMessage,
            "never" => Told::Never,
            _ => return None,
        })
    }
}

/// The form of the call ids of a provider that name no answer by themselves: most are a name and a small number, which
/// other answers have too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeakIds {
    /// `functions.NAME:N`; N counts the calls of the conversation.
    Counted,
    /// `NAME:N`; N counts the calls of the answer.
    Placed,
    /// They may have any form, and with it repeat: `callN`; N has five digits and counts the calls of the
    /// conversation. Every API takes that, Mistral's too, whose ids are nine letters and digits.
    Any,
}

impl WeakIds {
    /// The id of a call of this name, with `before` calls in the conversation before it and `place` in its answer.
    #[must_use]
    pub fn id(self, name: &str, before: usize, place: usize) -> String {
        match self {
            WeakIds::Counted => format!("functions.{name}:{before}"),
            WeakIds::Placed => format!("{name}:{place}"),
            WeakIds::Any => format!("call{before:05}"),
        }
    }
}

/// Whether a model has this name, ignoring the parts that hosts add. A number right behind it is another generation,
/// unless it is a date.
fn is_called(model: &str, name: &str) -> bool {
    let lower = model.to_ascii_lowercase();
    let Some((_, rest)) = lower.split_once(name) else { return false };
    let behind = rest.strip_prefix('-').unwrap_or_default();
    !(1..=2).contains(&behind.bytes().take_while(u8::is_ascii_digit).count())
}

/// Returns whether two models belong to one family. A model of an unknown family is kin to its namesakes and to all models
/// at its address.
pub(crate) fn is_kin(its: &Origin, ours: &Origin) -> bool {
    match (family(&its.model), family(&ours.model)) {
        (Some(its), Some(ours)) => its == ours,
        _ => is_same(&its.model, &ours.model) || its.is_beside(ours),
    }
}

/// The demands of one model on the thoughts in a request.
///
/// Names are `'static`, so that contracts are plain data; a reader of user contracts keeps their few words for the
/// life of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contract {
    /// The messages whose reasoning goes back.
    pub returns: Return,
    /// The provider refuses a request in which it is missing.
    pub required: bool,
    /// The messages to which `required` applies. In the others it is welcome.
    pub required_in: Return,
    /// Whether the reasoning of earlier turns may stay.
    pub older: Older,
    /// It is demanded although thinking is switched off for the request.
    pub when_off: bool,
    /// The field of assistant messages that it goes back in, on wires that leave it open.
    pub field: Option<&'static str>,
    /// The value of that field if the thought is known to have been empty.
    pub empty: Option<&'static str>,
    /// The provider refuses `empty`. An answer without a thought is described in words.
    pub never_empty: bool,
    /// Thoughts are sealed with opaque payloads, and only sealed ones may go back.
    pub signed: bool,
    /// Thoughts without a payload may go back beside the sealed ones, unchanged.
    pub unsealed: bool,
    /// Every thought is bound to everything before it: only the oldest may be left out.
    pub bound: bool,
    /// The value that the provider documents for calls of other models, in place of the payload that it demands.
    pub bypass: Option<&'static str>,
    /// The endpoint refuses a thought beside a text in an answer with calls. The text is left out.
    pub apart: bool,
    /// The provider refuses an answer with neither text nor calls. Such an answer is left out.
    pub refuses_silence: bool,
    /// The provider refuses a sealed item if the client added a member to it.
    pub verbatim: bool,
    /// The description of an answer whose demanded thought is missing.
    pub told: Told,
    /// A request that switches thinking off is refused for the thoughts in it.
    pub only_when_on: bool,
    /// The thoughts that the model can read.
    pub readable: Readable,
    /// Further models whose thoughts the model reads, if it otherwise reads only its own: their names, and dated
    /// ones.
    pub reads: &'static [&'static str],
    /// The weakest way of finding a lost thought that is good enough.
    pub level: Level,
    /// The provider's call ids are weak and have this form: if thoughts go back, callers get minted unique ids
    /// instead.
    pub tickets: Option<WeakIds>,
    /// A JSON object of flags that only make the provider keep the returned thoughts; merged into the request.
    pub flags: Option<&'static str>,
    /// A page that states the rule.
    pub source: &'static str,
}

impl Contract {
    /// No reasoning goes back; the contract of an unknown endpoint.
    pub const NONE: Contract = Contract {
        returns: Return::Never,
        required: false,
        required_in: Return::All,
        older: Older::Allowed,
        when_off: false,
        field: None,
        empty: None,
        never_empty: false,
        signed: false,
        unsealed: false,
        bound: false,
        bypass: None,
        apart: false,
        refuses_silence: false,
        verbatim: false,
        told: Told::InUserMessage,
        only_when_on: false,
        readable: Readable::Family,
        reads: &[],
        level: Level::Parent,
        tickets: None,
        flags: None,
        source: "",
    };

    /// Plain text goes back in `field`.
    #[must_use]
    pub const fn plain(returns: Return, field: &'static str) -> Contract {
        Contract { returns, field: Some(field), ..Contract::NONE }
    }

    /// Opaque payloads go back in the wire's own place, to the endpoint that made them.
    #[must_use]
    pub const fn sealed(returns: Return) -> Contract {
        Contract { returns, signed: true, readable: Readable::SameHost, ..Contract::NONE }
    }

    /// Thoughts without a payload go back, too.
    #[must_use]
    pub const fn with_unsealed(self) -> Contract {
        Contract { unsealed: true, ..self }
    }

    /// The provider refuses requests without it.
    #[must_use]
    pub const fn required(self) -> Contract {
        Contract { required: true, ..self }
    }

    /// The provider refuses requests without it in these messages, and does without it in others.
    #[must_use]
    pub const fn required_in(self, required_in: Return) -> Contract {
        Contract { required: true, required_in, ..self }
    }

    /// Returns whether the reasoning of such a message goes back. A thought that went back in its own turn keeps going back
    /// after it, so that the provider's prompt cache holds.
    #[must_use]
    pub const fn wants(
        &self,
        is_thinking: bool,
        is_current_turn: bool,
        was_sent: bool,
        turn_has_calls: bool,
    ) -> bool {
        let stays = was_sent && !matches!(self.returns, Return::Never);
        (is_thinking || self.when_off)
            && (is_current_turn || matches!(self.older, Older::Allowed))
            && (stays || self.returns.takes_in(is_current_turn, turn_has_calls))
    }

    /// Returns whether the model reads the words of thoughts and no payloads, so that a payload alone is no thought to
    /// it. Unknown contracts return false, and so do `reasoning_details`, which hold payloads of any model.
    #[must_use]
    pub fn reads_words_alone(&self) -> bool {
        let is_known = self.field.is_some() || !self.source.is_empty();
        is_known && !self.signed && self.field != Some("reasoning_details")
    }

    /// Returns whether a model with the origin `ours` can read a thought with the origin `its`.
    #[must_use]
    pub fn can_read(&self, its: &Origin, ours: &Origin) -> bool {
        let is_host = || its.is_beside(ours);
        let is_model = || is_same(&its.model, &ours.model);
        match self.readable {
            Readable::SameHost | Readable::SameModel if !is_host() => false,
            Readable::SameModel => {
                is_model() || self.reads.iter().any(|name| is_called(&its.model, name))
            }
            Readable::Family | Readable::SameHost => is_kin(its, ours),
        }
    }

    /// Whether the provider refuses a request without the reasoning of such a message.
    #[must_use]
    pub const fn demands(&self, is_current_turn: bool, turn_has_calls: bool) -> bool {
        let may_stay = is_current_turn || matches!(self.older, Older::Allowed);
        self.required
            && may_stay
            && self.returns.takes_in(is_current_turn, turn_has_calls)
            && self.required_in.takes_in(is_current_turn, turn_has_calls)
    }

    /// Known-empty thoughts go back as this value.
    #[must_use]
    pub const fn with_empty(self, empty: &'static str) -> Contract {
        Contract { empty: Some(empty), ..self }
    }

    /// Sets the value that replaces the payload on calls of other models.
    #[must_use]
    pub const fn with_bypass(self, bypass: &'static str) -> Contract {
        Contract { bypass: Some(bypass), ..self }
    }

    /// Sets `apart`.
    #[must_use]
    pub const fn apart(self) -> Contract {
        Contract { apart: true, ..self }
    }

    /// Sets `verbatim`.
    #[must_use]
    pub const fn verbatim(self) -> Contract {
        Contract { verbatim: true, ..self }
    }

    /// A JSON object of preserving flags.
    #[must_use]
    pub const fn with_flags(self, flags: &'static str) -> Contract {
        Contract { flags: Some(flags), ..self }
    }

    /// The same without any demand and without flags: the contract to assume for an unknown model.
    #[must_use]
    pub const fn assumed(self) -> Contract {
        Contract {
            required: false,
            required_in: Return::All,
            when_off: false,
            only_when_on: false,
            empty: None,
            never_empty: false,
            flags: None,
            ..self
        }
    }

    /// The page that states the rule.
    #[must_use]
    pub const fn stated(self, source: &'static str) -> Contract {
        Contract { source, ..self }
    }

    /// The provider is known to refuse reasoning in requests: its contract is stated, and it is `never`.
    #[must_use]
    pub fn forbids(&self) -> bool {
        self.returns == Return::Never && !self.source.is_empty()
    }

    /// A few words for lists: the messages whose reasoning goes back, the messages that are refused without it, and
    /// its form: `all, required in current-turn, signed` or `tool-calls, required, reasoning_content`.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut words = vec![self.returns.as_str().to_owned()];
        if self.required {
            let is_everywhere = matches!(self.required_in, Return::All);
            words.push(match is_everywhere || self.required_in == self.returns {
                true => "required".to_owned(),
                false => format!("required in {}", self.required_in.as_str()),
            });
        }
        if self.when_off {
            words.push("also with thinking off".to_owned());
        }
        if self.bound {
            words.push("prefix-bound".to_owned());
        } else if self.signed {
            words.push("signed".to_owned());
        }
        words.extend(self.field.map(str::to_owned));
        words.join(", ")
    }
}
