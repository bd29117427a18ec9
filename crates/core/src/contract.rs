//! Contracts: which reasoning must, may or must not be sent back, in which field, and who can read it.

/// Which messages' reasoning goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Return {
    /// None.
    #[default]
    Never,
    /// That of the turn under way: everything since the last user message.
    CurrentTurn,
    /// That of every message with tool calls, and of the turn under way.
    ToolCalls,
    /// All of it.
    All,
}

impl Return {
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

/// The weakest way of finding a lost thought again that a contract accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// An id that we minted.
    Ticket,
    /// The same visible conversation from its start.
    #[default]
    Chain,
    /// The same visible conversation from the last user message on.
    Tail,
    /// The same full set of tool calls in the same session.
    Calls,
}

impl Level {
    /// The public spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Ticket => "ticket",
            Level::Chain => "chain",
            Level::Tail => "tail",
            Level::Calls => "calls",
        }
    }

    /// The value of this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Level::Ticket, Level::Chain, Level::Tail, Level::Calls]
            .into_iter()
            .find(|value| value.as_str() == text)
    }
}

/// Whose thoughts a target can read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readable {
    /// Any thought that is plain text, whoever wrote it.
    #[default]
    PlainText,
    /// Only thoughts of the same provider and endpoint.
    SameEndpoint,
    /// Only thoughts of the same provider, endpoint and model.
    SameModel,
}

/// What one model demands of the thoughts in a request.
///
/// Names are `'static`, so that contracts are plain data; whoever reads a user's own from a configuration keeps its
/// few words for the life of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contract {
    /// Which messages' reasoning goes back.
    pub returns: Return,
    /// The provider refuses a request in which it is missing.
    pub required: bool,
    /// It is demanded although thinking is switched off for the request.
    pub when_off: bool,
    /// The field of assistant messages that it goes back in, on wires that leave it open.
    pub field: Option<&'static str>,
    /// What stands in that field where the thought is known to have been empty.
    pub empty: Option<&'static str>,
    /// Only sealed thoughts with an opaque payload may go back.
    pub signed: bool,
    /// Every thought is bound to everything before it: only the oldest may be left out.
    pub bound: bool,
    /// Whose thoughts the model can read.
    pub readable: Readable,
    /// The weakest way of finding a lost thought that is good enough.
    pub level: Level,
    /// Unique ids are minted for the caller in place of the provider's, which are weak.
    pub tickets: bool,
    /// A JSON object of flags that only make the provider keep what is sent back; merged into the request.
    pub flags: Option<&'static str>,
    /// A page that states the rule.
    pub source: &'static str,
}

impl Contract {
    /// No reasoning goes back; the contract of an endpoint that nothing is known about.
    pub const NONE: Contract = Contract {
        returns: Return::Never,
        required: false,
        when_off: false,
        field: None,
        empty: None,
        signed: false,
        bound: false,
        readable: Readable::PlainText,
        level: Level::Chain,
        tickets: false,
        flags: None,
        source: "",
    };

    /// Plain text goes back in `field`.
    #[must_use]
    pub const fn plain(returns: Return, field: &'static str) -> Contract {
        Contract { returns, field: Some(field), level: Level::Calls, ..Contract::NONE }
    }

    /// Opaque payloads go back in the wire's own place, to the endpoint that made them.
    #[must_use]
    pub const fn sealed(returns: Return) -> Contract {
        Contract { returns, signed: true, readable: Readable::SameEndpoint, ..Contract::NONE }
    }

    /// The provider refuses requests without it.
    #[must_use]
    pub const fn required(self) -> Contract {
        Contract { required: true, ..self }
    }

    /// Known-empty thoughts go back as this value.
    #[must_use]
    pub const fn with_empty(self, empty: &'static str) -> Contract {
        Contract { empty: Some(empty), ..self }
    }

    /// A JSON object of preserving flags.
    #[must_use]
    pub const fn with_flags(self, flags: &'static str) -> Contract {
        Contract { flags: Some(flags), ..self }
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

    /// A few words for lists: `tool-calls, required, reasoning_content`.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut words = vec![self.returns.as_str().to_owned()];
        if self.required {
            words.push("required".to_owned());
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
