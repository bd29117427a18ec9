//! What a trace is, and which ones somebody wants.

use std::time::Duration;
use thinkthrough_core::content::{Block, Thinking};
use thinkthrough_core::plane::{Masked, Tenant};
use thinkthrough_json::{Raw, Writer};
use thinkthrough_mask::Masker;

/// How long traces stay where nothing else is said.
pub const TRACE_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How a generation ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceState {
    /// Before its end.
    Cut,
    /// Without an answer.
    Failed,
    /// As it should.
    #[default]
    Whole,
}

impl TraceState {
    /// The public spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            TraceState::Cut => "cut",
            TraceState::Failed => "failed",
            TraceState::Whole => "whole",
        }
    }

    pub(crate) fn read(name: &str) -> Self {
        match name {
            "cut" => TraceState::Cut,
            "failed" => TraceState::Failed,
            _ => TraceState::Whole,
        }
    }
}

/// A generation that is to be kept.
#[derive(Clone, Debug)]
pub struct NewTrace {
    /// The id that the answer's header names.
    pub id: String,
    /// Whose it is.
    pub tenant: Tenant,
    /// The session.
    pub session: String,
    /// The user's turn; all its rounds have the same.
    pub run: String,
    /// The model as it was asked.
    pub model: String,
    /// The provider's name in the configuration.
    pub provider: String,
    /// All thoughts, an empty line between two.
    pub thought: Masked<String>,
    /// All visible text.
    pub answer: Masked<String>,
    /// What is known besides, a JSON object.
    pub metadata: Masked<String>,
    /// Why the request went out as it did, a JSON object; empty where nothing was decided about it.
    pub why: Masked<String>,
    /// Its numbers.
    pub numbers: TraceNumbers,
    /// How it ended.
    pub state: TraceState,
}

/// So many bytes of a text stand in a trace.
const MOST: usize = 1 << 20;

/// A text of a trace: nothing in it is masked yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftText {
    /// What is known of it.
    pub text: String,
    /// There was more: what stands at its end may be the beginning of a secret.
    pub is_cut: bool,
}

impl DraftText {
    /// The text up to the room that a trace has.
    #[must_use]
    pub fn fitting(mut text: String) -> Self {
        let is_cut = text.len() > MOST;
        let end = (0..=MOST.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        DraftText { text, is_cut }
    }

    /// The text as people may see it. Of a cut one the end is left out that may have become a secret.
    #[must_use]
    pub(crate) fn masked(&self, masker: &Masker) -> Masked<String> {
        match self.is_cut {
            true => Masked::beginning(masker, &self.text),
            false => Masked::by(masker, &self.text),
        }
    }
}

/// What an answer says, as a trace has it: nothing in it is masked yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceTexts {
    /// All thoughts, an empty line between two.
    pub thought: DraftText,
    /// All visible text.
    pub answer: DraftText,
    /// How many bytes of thoughts nobody but the provider can read.
    pub sealed_bytes: u64,
}

impl TraceTexts {
    /// What these blocks say.
    #[must_use]
    pub fn of(blocks: &[Block]) -> Self {
        let (mut thought, mut answer) = (String::new(), String::new());
        let (mut sealed_bytes, mut carried) = (0, 0);
        let bytes = |payload: &Option<String>| payload.as_ref().map_or(0, |it| it.len() as u64);
        for block in blocks {
            match block {
                Block::Thinking(thinking) => {
                    if !thought.is_empty() {
                        thought.push_str("\n\n");
                    }
                    thought.push_str(&thinking.thought);
                    sealed_bytes += sealed(thinking);
                }
                Block::Text(text) => {
                    answer.push_str(&text.text);
                    carried += bytes(&text.signature);
                }
                Block::ToolCall(call) => carried += bytes(&call.signature),
                _ => {}
            }
        }
        // Gemini's calls and texts carry a thought that is shown nowhere.
        if thought.is_empty() {
            sealed_bytes += carried;
        }
        let [thought, answer] = [thought, answer].map(DraftText::fitting);
        TraceTexts { thought, answer, sealed_bytes }
    }

    /// There was more than a trace has room for.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.thought.is_cut || self.answer.is_cut
    }
}

/// The bytes of a thought that only its provider can read. A signature alone is one whose text was withheld.
fn sealed(thinking: &Thinking) -> u64 {
    let signature = thinking.signature.as_ref().filter(|_| thinking.thought.is_empty());
    let all = [signature, thinking.redacted_data.as_ref(), thinking.encrypted_content.as_ref()];
    all.into_iter().flatten().map(|it| it.len() as u64).sum()
}

/// The numbers of a generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceNumbers {
    /// Of the thoughts.
    pub reasoning_tokens: u64,
    /// Input and output, thoughts counted once.
    pub total_tokens: u64,
    /// As the provider counts them.
    pub input_tokens: Option<u64>,
    /// As the provider counts them.
    pub output_tokens: Option<u64>,
    /// Input tokens that came from the provider's cache.
    pub cached_tokens: Option<u64>,
    /// What it cost, in micro-dollars; `None` where the price or what the provider counted is not known.
    pub cost: Option<u64>,
    /// From the request to the end of the answer, in milliseconds.
    pub duration: u64,
    /// How many bytes of thoughts nobody but the provider can read.
    pub sealed_bytes: u64,
    /// When the request came, in Unix milliseconds.
    pub created_at: u64,
}

/// No count of a generation is larger, whatever an upstream says, so that many can be summed up.
const MOST_COUNTED: u64 = 1 << 40;

/// No sum of counts is larger.
pub(crate) const MOST_SUMMED: i64 = 1 << 62;

/// The sum of a column in the language of both databases. It is made of doubles, which are exact up to 2^53 and do not
/// overflow beyond: a row of an older version may have any number.
pub(crate) fn summed(of: &str) -> String {
    let (sum, most) = (format!("sum(CAST({of} AS DOUBLE PRECISION))"), MOST_SUMMED);
    format!("CAST(coalesce(CASE WHEN {sum} > {most} THEN {most} ELSE {sum} END, 0) AS BIGINT)")
}

impl TraceNumbers {
    /// The same, with no count above what can be summed up. When the request came is no count.
    pub(crate) fn bounded(self) -> Self {
        let bound = |count: u64| count.min(MOST_COUNTED);
        TraceNumbers {
            reasoning_tokens: bound(self.reasoning_tokens),
            total_tokens: bound(self.total_tokens),
            input_tokens: self.input_tokens.map(bound),
            output_tokens: self.output_tokens.map(bound),
            cached_tokens: self.cached_tokens.map(bound),
            cost: self.cost.map(bound),
            duration: bound(self.duration),
            sealed_bytes: bound(self.sealed_bytes),
            created_at: self.created_at,
        }
    }
}

/// A generation as it was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The id that the answer's header named.
    pub id: String,
    /// Whose it is.
    pub tenant: String,
    /// The session.
    pub session: String,
    /// The user's turn.
    pub run: String,
    /// The model as it was asked.
    pub model: String,
    /// The provider's name in the configuration.
    pub provider: String,
    /// All thoughts, masked.
    pub thought: String,
    /// All visible text, masked.
    pub answer: String,
    /// What is known besides, a JSON object.
    pub metadata: String,
    /// Why the request went out as it did, a JSON object; empty where nothing was decided about it, and in lists.
    pub why: String,
    /// Its numbers.
    pub numbers: TraceNumbers,
    /// How it ended.
    pub state: TraceState,
}

impl Trace {
    /// Writes it as an object with the names of its columns; the thought, where it may be seen.
    pub fn write(&self, w: &mut Writer, with_thought: bool) {
        let numbers = &self.numbers;
        w.object(|w| {
            w.field_str("id", &self.id);
            w.field_str("session_key", &self.session);
            w.field_str("run_id", &self.run);
            w.field_str("model", &self.model);
            w.field_str("provider", &self.provider);
            if with_thought {
                w.field_str("reasoning_text", &self.thought);
            }
            w.field_u64("reasoning_tokens", numbers.reasoning_tokens);
            w.field_u64("total_tokens", numbers.total_tokens);
            w.field_u64("duration_ms", numbers.duration);
            w.field_raw("metadata", &Raw::parse(&self.metadata).unwrap_or_else(|_| Raw::null()));
            w.field_u64("created_at", numbers.created_at);
            w.field_str("tenant", &self.tenant);
            w.field_str("response_text", &self.answer);
            w.field_str("state", self.state.as_str());
            w.field_u64("sealed_bytes", numbers.sealed_bytes);
            w.u64_or_null("input_tokens", numbers.input_tokens);
            w.u64_or_null("output_tokens", numbers.output_tokens);
            w.u64_or_null("cached_tokens", numbers.cached_tokens);
            w.u64_or_null("cost_micro_usd", numbers.cost);
            w.key("why");
            self.write_why(w, with_thought);
        });
    }

    /// What differs between two requests is told in words of thoughts, which not everybody may see.
    fn write_why(&self, w: &mut Writer, with_thought: bool) {
        let Ok(why) = Raw::parse(&self.why) else { return w.null() };
        w.object(|w| {
            let doc = why.doc();
            for (name, value) in doc.root().entries().filter(|it| with_thought || it.0 != "words") {
                w.key(&name).raw_str(value.raw());
            }
        });
    }
}

/// Which traces are wanted; what is not said does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFilter {
    /// Of this tenant only.
    pub tenant: Option<String>,
    /// Of this session only.
    pub session: Option<String>,
    /// Of this model only.
    pub model: Option<String>,
    /// Of this provider only.
    pub provider: Option<String>,
    /// From this time on, in Unix milliseconds.
    pub since: Option<u64>,
    /// Before this time, in Unix milliseconds.
    pub until: Option<u64>,
    /// Behind this one, in the order in which they are given.
    pub after: Option<(u64, String)>,
    /// Of each text only so many letters.
    pub brief: Option<usize>,
    /// So many at most.
    pub limit: u32,
}

impl Default for TraceFilter {
    fn default() -> Self {
        TraceFilter {
            tenant: None,
            session: None,
            model: None,
            provider: None,
            since: None,
            until: None,
            after: None,
            brief: None,
            limit: 50,
        }
    }
}

/// The traces of one model, tenant and client in one stretch of time, summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSum {
    /// When the stretch began, in Unix milliseconds.
    pub at: u64,
    /// The model as it was asked.
    pub model: String,
    /// The provider's name in the configuration.
    pub provider: String,
    /// Whose they are.
    pub tenant: String,
    /// What the client's program calls itself; empty where nothing says so.
    pub client: String,
    /// How many they are.
    pub requests: u64,
    /// How many of them were cut or failed.
    pub failed: u64,
    /// Of the thoughts.
    pub reasoning_tokens: u64,
    /// Input and output, thoughts counted once.
    pub total_tokens: u64,
    /// As far as providers counted them.
    pub input_tokens: u64,
    /// Of them, those that came from a provider's cache.
    pub cached_tokens: u64,
    /// In milliseconds.
    pub duration: u64,
    /// Messages whose thought was put back.
    pub restored: u64,
    /// Messages whose thought was not found.
    pub missed: u64,
    /// Messages whose thought could be several.
    pub ambiguous: u64,
    /// Messages whose thought was left out.
    pub dropped: u64,
    /// What they cost as far as that is known, in micro-dollars.
    pub cost: u64,
    /// Of how many it is known.
    pub costed: u64,
    /// Of the cached tokens those of requests into which thoughts were put back: without them a provider would have
    /// seen another beginning from the first lost thought on.
    pub cached_restored: u64,
}

/// The traces of one session, summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSession {
    /// The session.
    pub session: String,
    /// Whose it is.
    pub tenant: String,
    /// Its newest trace.
    pub last_id: String,
    /// When the request of its newest trace came, in Unix milliseconds.
    pub last: u64,
    /// When that of its oldest one came, in Unix milliseconds.
    pub first: u64,
    /// The models that were asked, in no order.
    pub models: Vec<String>,
    /// How many traces it has.
    pub requests: u64,
    /// Of the thoughts.
    pub reasoning_tokens: u64,
    /// Input and output, thoughts counted once.
    pub total_tokens: u64,
    /// Of all its requests, in milliseconds.
    pub duration: u64,
}

/// Which text is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceText {
    /// Both.
    #[default]
    All,
    /// What was said visibly.
    Answers,
    /// What was thought.
    Thoughts,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceHits {
    /// The newest first.
    pub traces: Vec<Trace>,
    /// Traces from this time on, in Unix milliseconds, were not looked at, because their words are not indexed yet.
    pub indexed_to: Option<u64>,
}
