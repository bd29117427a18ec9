//! Scenarios as data.

use std::borrow::Cow;

/// One scenario. It is played three ways.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) id: Cow<'static, str>,
    /// Its description, in one sentence.
    pub(super) says: Cow<'static, str>,
    /// The simulator at the start of the conversation.
    pub(super) sim: &'static str,
    /// The API between naive client and gateway. `None` means the simulator's API.
    pub(super) via: Option<&'static str>,
    /// The gateway's name of the model. `None` means the simulator's id.
    pub(super) model: Option<&'static str>,
    pub(super) play: Play,
    /// The habits of the naive client, in the order of their use.
    pub(super) habits: &'static [Habit],
    /// The expected result of the naive client without a gateway.
    pub(super) expect: Expect,
    /// The request itself is faulty, so that a gateway may pass on the refusal.
    pub(super) may_pass_on: bool,
    pub(super) checks: &'static [Check],
}

/// The course of a scenario.
#[derive(Debug, Clone)]
pub(super) enum Play {
    Acts(Vec<Act>),
    /// Plays a tool loop again and again. Each time its first answer breaks off one event later.
    Cuts,
}

/// One step of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Adds a message of the user.
    User(&'static str),
    /// Adds a message of the user with an image.
    Image(&'static str),
    /// Sends a request and adds the answer to the history.
    Send,
    /// Runs the tools of the last answer.
    Tools,
    /// Sends requests and runs tools until an answer has no calls.
    Loop,
    /// Sends a request and ignores the answer, as a client does before a retry.
    Waste,
    /// Sends a request and hangs up after this many pieces of the answer.
    HangUp(usize),
    /// Sends the next requests to this simulator.
    Model(&'static str),
    /// Replaces the top-level fields of the scenario in the next requests.
    Extra(&'static str),
    /// Begins an empty conversation.
    New,
    /// Keeps the conversation under this number.
    Keep(u8),
    /// Returns to the conversation with this number.
    Back(u8),
    /// Replaces everything before the last user message by this summary.
    Compact(&'static str),
    /// Counts the tokens of the request.
    Count,
    /// Changes the credential: from now on a stranger asks.
    Stranger,
    /// Kills the gateway and starts it again.
    Kill,
    /// Kills the gateway, deletes its memory and starts it again.
    Lose,
}

/// A change of a naive client to each of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    /// Removes all thoughts.
    Forget,
    /// Removes reasoning items, but keeps the ids of the other items.
    ForgetButIds,
    /// Removes the ids of all items but reasoning items.
    NoIds,
    /// Removes the encrypted payload of reasoning items.
    NoPayload,
    /// Removes the summary of reasoning items.
    NoSummary,
    /// Removes signatures.
    NoSignature,
    /// Replaces signatures and payloads by this text.
    Seal(&'static str),
    /// Replaces the text of thoughts.
    Rewrite,
    /// Sends only the first half of each thought.
    Half,
    /// Moves thoughts into the visible text, in tags.
    Tagged,
    /// Renames the field of thoughts to `reasoning_content`, also for providers with another name.
    OldName,
    /// Sends thoughts although the request switches thinking off.
    KeepAll,
    /// Asks for a thinking budget above the token cap.
    Budget,
    /// Changes the system text in every turn.
    Clock,
    /// Replaces characters of call ids by `_`, other than letters, digits, `_` and `-`.
    CleanIds,
    /// Puts each call of an answer into a message of its own.
    Split,
    /// Writes empty content as `null`.
    Null,
    /// Leaves out empty content.
    Absent,
    /// Writes content as a list of parts.
    Parts,
    /// Adds a newline to the text of answers.
    Newline,
    /// Writes the arguments of calls as indented JSON.
    Arguments,
    /// Writes bodies in a form that no usual JSON writer produces.
    OddBytes,
}

/// The result of the naive client without a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// A refusal with these words.
    Refused(&'static str),
    /// The provider accepts the request, but the simulator misses a thought.
    Lost,
    /// A refusal or a loss.
    Either,
    /// The provider counts too few tokens.
    Miscounted,
    /// Any result.
    Any,
}

/// A condition for the gateway beyond the rule of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Every thought of the conversation arrives.
    Every,
    /// The history only grows: its bytes in one request begin the history of the next.
    Prefix,
    /// The gateway sends no request that the simulator refuses.
    AtOnce,
    /// The client's bytes arrive unchanged, apart from the model's name and added thoughts. Only
    /// for a scenario with the habit `OddBytes`.
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

    /// Whether the scenario kills the gateway.
    pub(super) fn needs_restart(&self) -> bool {
        let Play::Acts(acts) = &self.play else { return false };
        acts.iter().any(|act| matches!(act, Act::Kill | Act::Lose))
    }
}
