//! What a scenario is: data, played three ways.

use std::borrow::Cow;

/// One scenario.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) id: Cow<'static, str>,
    /// What it is about, in one sentence.
    pub(super) says: Cow<'static, str>,
    /// The simulator that the conversation begins at.
    pub(super) sim: &'static str,
    /// The API that the naive client speaks to a gateway; that of the simulator where nothing is said.
    pub(super) via: Option<&'static str>,
    /// The gateway's name for the model, where it is not that of the simulator.
    pub(super) model: Option<&'static str>,
    pub(super) play: Play,
    /// What the naive client does to its history, in this order.
    pub(super) habits: &'static [Habit],
    /// How the naive client fares without help.
    pub(super) expect: Expect,
    /// The request itself is at fault, so that a gateway may pass the refusal on.
    pub(super) may_pass_on: bool,
    pub(super) checks: &'static [Check],
}

/// What happens.
#[derive(Debug, Clone)]
pub(super) enum Play {
    Acts(Vec<Act>),
    /// The acts of a tool loop, over and over; each time the first answer breaks off one event later.
    Cuts,
}

/// One step of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// The user says something.
    User(&'static str),
    /// The user shows an image and says something.
    Image(&'static str),
    /// Asks, and takes the answer into the history.
    Send,
    /// Runs the tools of the last answer.
    Tools,
    /// Asks and runs tools until an answer calls none.
    Loop,
    /// Asks, and forgets the answer, as a client does that tries again.
    Waste,
    /// Asks, and hangs up after so many pieces of the answer.
    HangUp(usize),
    /// The next requests go to this simulator.
    Model(&'static str),
    /// These fields stand in the next requests, in place of those before.
    Extra(&'static str),
    /// An empty conversation begins.
    New,
    /// Keeps the conversation under this number.
    Keep(u8),
    /// Goes back to the conversation under this number.
    Back(u8),
    /// Everything before the last words of the user becomes this summary.
    Compact(&'static str),
    /// Counts the tokens of the request.
    Count,
    /// From here on somebody else asks.
    Stranger,
    /// The gateway is killed and started again.
    Kill,
    /// The gateway is killed, and what it knew is gone.
    Lose,
}

/// What a naive client does to its history before each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    /// It keeps nothing of thoughts.
    Forget,
    /// It drops reasoning items and keeps the ids of the others.
    ForgetButIds,
    /// It takes the ids off what follows a reasoning item.
    NoIds,
    /// It takes the encrypted payload off reasoning items.
    NoPayload,
    /// It leaves the summary of reasoning items out.
    NoSummary,
    /// It takes signatures off thoughts.
    NoSignature,
    /// It writes this in place of signatures and payloads.
    Seal(&'static str),
    /// It changes the words of thoughts.
    Rewrite,
    /// It sends half of each thought.
    Half,
    /// It writes thoughts into the visible text, in tags.
    Tagged,
    /// It sends thoughts as `reasoning_content`, whoever reads that.
    OldName,
    /// It sends thoughts though it switched thinking off.
    KeepAll,
    /// It asks for a greater budget than its cap.
    Budget,
    /// It writes another system text in every turn.
    Clock,
    /// It allows letters, digits, `_` and `-` in ids of calls.
    CleanIds,
    /// It writes each call of an answer into a message of its own.
    Split,
    /// It writes empty content as `null`.
    Null,
    /// It leaves empty content out.
    Absent,
    /// It writes content as a list of parts.
    Parts,
    /// It adds a newline to the answer's text.
    Newline,
    /// It writes the arguments of calls in its own way.
    Arguments,
    /// It writes its bodies in a way no program would.
    OddBytes,
}

/// How a naive client fares when nobody helps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// It is refused with these words.
    Refused(&'static str),
    /// The provider says nothing, and the simulator misses a thought.
    Lost,
    /// One of the two.
    Either,
    /// The tokens that are counted for it are too few.
    Miscounted,
    /// Any outcome.
    Any,
}

/// What must hold beyond the rule of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Every thought of the conversation arrives, the right one.
    Every,
    /// What arrived once arrives again, byte for byte, when the conversation grows.
    Prefix,
    /// The provider refuses no request on the way.
    AtOnce,
    /// What the client wrote arrives byte for byte; thoughts are put between.
    Bytes,
}

impl Scenario {
    pub(super) fn new(
        id: impl Into<Cow<'static, str>>,
        says: impl Into<Cow<'static, str>>,
        sim: &'static str,
        acts: &[Act],
    ) -> Self {
        Self {
            id: id.into(),
            says: says.into(),
            sim,
            via: None,
            model: None,
            play: Play::Acts(acts.to_vec()),
            habits: &[Habit::Forget],
            expect: Expect::Either,
            may_pass_on: false,
            checks: &[],
        }
    }

    pub(super) fn refused(self, text: &'static str) -> Self {
        Self { expect: Expect::Refused(text), ..self }
    }

    pub(super) fn expecting(self, expect: Expect) -> Self {
        Self { expect, ..self }
    }

    pub(super) fn with(self, habits: &'static [Habit]) -> Self {
        Self { habits, ..self }
    }

    pub(super) fn checking(self, checks: &'static [Check]) -> Self {
        Self { checks, ..self }
    }

    pub(super) fn through(self, wire: &'static str) -> Self {
        Self { via: Some(wire), ..self }
    }

    pub(super) fn known_as(self, model: &'static str) -> Self {
        Self { model: Some(model), ..self }
    }

    pub(super) fn may_pass_on(self) -> Self {
        Self { may_pass_on: true, ..self }
    }

    /// The gateway must end and start again for it.
    pub(super) fn needs_restart(&self) -> bool {
        let Play::Acts(acts) = &self.play else { return false };
        acts.iter().any(|act| matches!(act, Act::Kill | Act::Lose))
    }
}
