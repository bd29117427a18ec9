//! The log of a simulator, for tests and for the console of `think sim`.

use std::fmt;

/// A thought in a request, compared with the simulator's own thoughts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThoughtState {
    /// The simulator's own, unchanged and at its own answer. The mark of a plain-text thought does
    /// not name the simulator, so that there a thought of any simulator counts.
    Own,
    /// The simulator's own, but its text or its place changed.
    Altered,
    /// Not made by this simulator, but for instance by hand or by another model.
    Foreign,
    /// In a field that the provider does not read.
    Ignored,
}

/// One thought that came back in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenThought {
    /// Zero-based index of its message or input item.
    pub message: usize,
    /// The key of the wire that carries it.
    pub field: String,
    /// It has readable text.
    pub text: bool,
    /// It has a signature, or an encrypted or redacted payload.
    pub opaque: bool,
    /// Its state.
    pub state: ThoughtState,
}

/// The log of one request and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogEntry {
    /// Id of the simulator.
    pub simulator: String,
    /// HTTP method.
    pub method: String,
    /// Path and query of the request, without the query parameter `key`.
    pub path: String,
    /// The model that the request names.
    pub model: Option<String>,
    /// The request asks for a streamed answer.
    pub stream: bool,
    /// The thoughts in the request, in order.
    pub thoughts: Vec<SeenThought>,
    /// Losses that cause no error, one sentence each.
    pub losses: Vec<String>,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The error text of a refused request.
    pub refusal: Option<String>,
    /// The injected fault, if any.
    pub fault: Option<String>,
}

impl LogEntry {
    /// Counts the thoughts with readable text.
    pub fn text_thoughts(&self) -> usize {
        self.thoughts.iter().filter(|thought| thought.text).count()
    }

    /// Counts the thoughts with an opaque payload.
    pub fn opaque_thoughts(&self) -> usize {
        self.thoughts.iter().filter(|thought| thought.opaque).count()
    }

    pub(crate) fn loss(&mut self, sentence: String) {
        self.losses.push(sentence);
    }

    pub(crate) fn saw(
        &mut self,
        message: usize,
        field: &str,
        parts: (bool, bool),
        state: ThoughtState,
    ) {
        let (text, opaque) = parts;
        self.thoughts.push(SeenThought { message, field: field.to_owned(), text, opaque, state });
    }
}

impl fmt::Display for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {} -> {}", self.simulator, self.method, self.path, self.status)?;
        write!(f, ", {} thoughts in the request", self.thoughts.len())?;
        if !self.thoughts.is_empty() {
            write!(f, " ({} text, {} opaque)", self.text_thoughts(), self.opaque_thoughts())?;
        }
        for thought in &self.thoughts {
            let state = match thought.state {
                ThoughtState::Own => continue,
                ThoughtState::Altered => "altered",
                ThoughtState::Foreign => "foreign",
                ThoughtState::Ignored => "ignored",
            };
            write!(f, "; `{}` of message {} is {state}", thought.field, thought.message)?;
        }
        for loss in &self.losses {
            write!(f, "; {loss}")?;
        }
        if let Some(fault) = &self.fault {
            write!(f, "; fault {fault}")?;
        }
        match &self.refusal {
            Some(text) => write!(f, "; refused: {text}"),
            None => Ok(()),
        }
    }
}
