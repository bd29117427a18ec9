//! What a simulator saw in a request: the evidence for tests and for the console of `think sim`.

use std::fmt;

/// Where a thought in a request stands against what the simulator once handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThoughtState {
    /// Byte for byte the simulator's own, at the answer that it belongs to.
    Own,
    /// The simulator's own, but its text or its place changed.
    Altered,
    /// Not made by this simulator, for instance written by hand or by another model.
    Foreign,
    /// Present under a name that the provider does not read.
    Ignored,
}

/// One thought that came back in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenThought {
    /// Zero-based index of the message or input item that carries it.
    pub message: usize,
    /// The wire's key that carries it.
    pub field: String,
    /// It has readable text.
    pub text: bool,
    /// It has a signature, encrypted or redacted payload.
    pub opaque: bool,
    /// What it is to the simulator.
    pub state: ThoughtState,
}

/// What arrived in one request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogEntry {
    /// Id of the simulator.
    pub simulator: String,
    /// HTTP method.
    pub method: String,
    /// Path and query as they came, with the value of `key=` left out.
    pub path: String,
    /// The model that the request names.
    pub model: Option<String>,
    /// A streamed answer was asked for.
    pub stream: bool,
    /// The thoughts in the request, in order.
    pub thoughts: Vec<SeenThought>,
    /// What was lost without an error, one sentence each.
    pub losses: Vec<String>,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The error text, when the request was refused.
    pub refusal: Option<String>,
    /// The injected fault, when there was one.
    pub fault: Option<String>,
}

impl LogEntry {
    /// How many thoughts in the request have readable text.
    pub fn text_thoughts(&self) -> usize {
        self.thoughts.iter().filter(|thought| thought.text).count()
    }

    /// How many thoughts in the request carry an opaque payload.
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
