//! Findings that travel beside a result: a broken tail never loses a good head.

use std::fmt;

/// The subject of a finding; [`ProblemCode::as_str`] is its public spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemCode {
    /// A guard against hostile upstreams was reached; earlier data was kept.
    CapReached,
    /// A tokenizer or another optional aid failed; a documented substitute was used.
    Fallback,
    /// A frame, an event or a body that could not be read; it was skipped, or kept raw.
    Malformed,
    /// The stream or body ended before it was complete.
    Truncated,
    /// An event or a shape that is not known here; it was kept raw or skipped.
    Unknown,
    /// The provider answered with an error.
    UpstreamError,
}

impl ProblemCode {
    /// The public spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ProblemCode::CapReached => "cap_reached",
            ProblemCode::Fallback => "fallback",
            ProblemCode::Malformed => "malformed",
            ProblemCode::Truncated => "truncated",
            ProblemCode::Unknown => "unknown",
            ProblemCode::UpstreamError => "upstream_error",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The subject of the finding.
    pub code: ProblemCode,
    /// A sentence for people; it never quotes a thought or a credential of ours.
    pub message: String,
    /// The place: a byte offset, a JSON path or an event name.
    pub at: Option<String>,
}

impl Problem {
    /// A finding without a place.
    #[must_use]
    pub fn new(code: ProblemCode, message: impl Into<String>) -> Self {
        Problem { code, message: message.into(), at: None }
    }

    /// Whether an answer with it is not whole.
    #[must_use]
    pub fn breaks(&self) -> bool {
        matches!(
            self.code,
            ProblemCode::UpstreamError | ProblemCode::Truncated | ProblemCode::CapReached
        )
    }

    /// The same finding at a place.
    #[must_use]
    pub fn at(mut self, at: impl Into<String>) -> Self {
        self.at = Some(at.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)?;
        match &self.at {
            Some(at) => write!(f, " (at {at})"),
            None => Ok(()),
        }
    }
}
