//! Traces, and the filters and sums of their queries.

use crate::trace_items::TraceItems;
use std::time::Duration;
use thinkthrough_core::content::{Block, Thinking};
use thinkthrough_core::plane::{Masked, Tenant};
use thinkthrough_json::{Raw, Writer};
use thinkthrough_mask::Masker;

/// The default retention of traces.
pub const TRACE_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How a generation ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceState {
    /// It broke off before its end.
    Cut,
    /// It ended without an answer.
    Failed,
    /// It ended normally.
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

/// A generation to store.
#[derive(Clone, Debug)]
pub struct NewTrace {
    /// The id that the answer's header names.
    pub id: String,
    /// The owner.
    pub tenant: Tenant,
    /// The session.
    pub session: String,
    /// The user's turn. All requests of the turn share it.
    pub run: String,
    /// The model as the caller asked for it.
    pub model: String,
    /// The provider's name in the configuration.
    pub provider: String,
    /// All thoughts, separated by empty lines.
    pub thought: Masked<String>,
    /// All visible text.
    pub answer: Masked<String>,
    /// Further data as a JSON object.
    pub metadata: Masked<String>,
    /// The decision about the request as a JSON object. Empty if there was no decision.
    pub why: Masked<String>,
    /// The new items of the request, and the calls of the answer.
    pub items: Option<Masked<TraceItems>>,
    /// Counts, cost and times.
    pub numbers: TraceNumbers,
    /// How it ended.
    pub state: TraceState,
}

/// The most bytes of a text that a trace stores.
const MOST: usize = 1 << 20;

/// A text of a trace before it is masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftText {
    /// The stored part of the text.
    pub text: String,
    /// True if the text goes on. The stored end may then be the beginning of a secret.
    pub is_cut: bool,
}

impl DraftText {
    /// Cuts the text to the size that a trace stores.
    #[must_use]
    pub fn fitting(mut text: String) -> Self {
        let is_cut = text.len() > MOST;
        let end = (0..=MOST.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        DraftText { text, is_cut }
    }

    /// Masks the text. From a cut text it also removes an end that may be the beginning of a secret.
    #[must_use]
    pub(crate) fn masked(&self, masker: &Masker) -> Masked<String> {
        match self.is_cut {
            true => Masked::beginning(masker, &self.text),
            false => Masked::by(masker, &self.text),
        }
    }
}

/// The texts of an answer before they are masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceTexts {
    /// All thoughts, separated by empty lines.
    pub thought: DraftText,
    /// All visible text.
    pub answer: DraftText,
    /// Bytes of thoughts that only the provider can read.
    pub sealed_bytes: u64,
}

impl TraceTexts {
    /// Collects the texts of these blocks.
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
        // Gemini attaches the signature of a hidden thought to calls and texts.
        if thought.is_empty() {
            sealed_bytes += carried;
        }
        let [thought, answer] = [thought, answer].map(DraftText::fitting);
        TraceTexts { thought, answer, sealed_bytes }
    }

    /// Returns true if a text did not fit into the trace.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.thought.is_cut || self.answer.is_cut
    }
}

/// The bytes of a thought that only its provider can read. A signature counts only if the thought's text was
/// withheld.
fn sealed(thinking: &Thinking) -> u64 {
    let signature = thinking.signature.as_ref().filter(|_| thinking.thought.is_empty());
    let all = [signature, thinking.redacted_data.as_ref(), thinking.encrypted_content.as_ref()];
    all.into_iter().flatten().map(|it| it.len() as u64).sum()
}

/// The counts, cost and times of a generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceNumbers {
    /// Tokens of the thoughts.
    pub reasoning_tokens: u64,
    /// Input and output tokens. Thoughts count once.
    pub total_tokens: u64,
    /// Input tokens as the provider counts them.
    pub input_tokens: Option<u64>,
    /// Output tokens as the provider counts them.
    pub output_tokens: Option<u64>,
    /// Input tokens that came from the provider's cache.
    pub cached_tokens: Option<u64>,
    /// Cost in micro-dollars. `None` if the price or the provider's counts are unknown.
    pub cost: Option<u64>,
    /// Time from the request to the end of the answer, in milliseconds.
    pub duration: u64,
    /// Bytes of thoughts that only the provider can read.
    pub sealed_bytes: u64,
    /// Time of the request in Unix milliseconds.
    pub created_at: u64,
}

/// The upper limit of each count, so that sums of many counts do not overflow even if an upstream reports nonsense.
const MOST_COUNTED: u64 = 1 << 40;

/// The upper limit of each sum.
pub(crate) const MOST_SUMMED: i64 = 1 << 62;

/// Returns the SQL for the sum of a column, valid in both databases. It sums doubles, which are exact up to 2^53 and
/// do not overflow beyond that: a row of an older version may have any number.
pub(crate) fn summed(of: &str) -> String {
    let (sum, most) = (format!("sum(CAST({of} AS DOUBLE PRECISION))"), MOST_SUMMED);
    format!("CAST(coalesce(CASE WHEN {sum} > {most} THEN {most} ELSE {sum} END, 0) AS BIGINT)")
}

impl TraceNumbers {
    /// Limits each count to [`MOST_COUNTED`]. The request time is no count and stays.
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

/// A stored generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The id that the answer's header named.
    pub id: String,
    /// The owner.
    pub tenant: String,
    /// The session.
    pub session: String,
    /// The user's turn.
    pub run: String,
    /// The model as the caller asked for it.
    pub model: String,
    /// The provider's name in the configuration.
    pub provider: String,
    /// All thoughts, masked.
    pub thought: String,
    /// All visible text, masked.
    pub answer: String,
    /// Further data as a JSON object.
    pub metadata: String,
    /// The decision about the request as a JSON object. Empty in lists, and if there was no decision.
    pub why: String,
    /// The new items of the request, and the calls of the answer. Lists do not read them.
    pub items: TraceItems,
    /// Counts, cost and times.
    pub numbers: TraceNumbers,
    /// How it ended.
    pub state: TraceState,
}

impl Trace {
    /// Writes the trace as a JSON object with the names of its columns. It includes the thought only if
    /// `with_thought`.
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
            w.key("items");
            self.items.write(w);
            w.key("why");
            self.write_why(w, with_thought);
        });
    }

    /// Leaves out `words` without `with_thought`: it describes differences between requests in words of thoughts.
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

/// Selects traces. A field that is `None` does not filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFilter {
    /// Only traces of this tenant.
    pub tenant: Option<String>,
    /// Only traces of this session.
    pub session: Option<String>,
    /// Only traces of this model.
    pub model: Option<String>,
    /// Only traces of this provider.
    pub provider: Option<String>,
    /// Only traces from this time on, in Unix milliseconds.
    pub since: Option<u64>,
    /// Only traces before this time, in Unix milliseconds.
    pub until: Option<u64>,
    /// Only traces after this one (time and id) in the order of the list.
    pub after: Option<(u64, String)>,
    /// The most letters of each text.
    pub brief: Option<usize>,
    /// The most traces to return.
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

/// The sums of one model, tenant and client in one time bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSum {
    /// Start of the bucket in Unix milliseconds.
    pub at: u64,
    /// The model as the caller asked for it.
    pub model: String,
    /// The provider's name in the configuration.
    pub provider: String,
    /// The owner.
    pub tenant: String,
    /// Name of the client's program. Empty if unknown.
    pub client: String,
    /// Number of traces.
    pub requests: u64,
    /// Number of traces that were cut or failed.
    pub failed: u64,
    /// Tokens of the thoughts.
    pub reasoning_tokens: u64,
    /// Input and output tokens. Thoughts count once.
    pub total_tokens: u64,
    /// Input tokens, as far as providers counted them.
    pub input_tokens: u64,
    /// Input tokens that came from a provider's cache.
    pub cached_tokens: u64,
    /// Total time in milliseconds.
    pub duration: u64,
    /// Messages whose thought was put back.
    pub restored: u64,
    /// Messages whose thought was not found.
    pub missed: u64,
    /// Messages whose thought could be several.
    pub ambiguous: u64,
    /// Messages whose thought was left out.
    pub dropped: u64,
    /// Known cost in micro-dollars.
    pub cost: u64,
    /// Number of traces with a known cost.
    pub costed: u64,
    /// Cached tokens of requests into which thoughts were put back. Without those thoughts the prefix would have
    /// changed from the first lost thought on, and the provider's cache would have missed.
    pub cached_restored: u64,
}

/// The sums of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSession {
    /// The session.
    pub session: String,
    /// The owner.
    pub tenant: String,
    /// Its newest trace.
    pub last_id: String,
    /// Time of the newest request in Unix milliseconds.
    pub last: u64,
    /// Time of the oldest request in Unix milliseconds.
    pub first: u64,
    /// The models that were asked, in any order.
    pub models: Vec<String>,
    /// Number of traces.
    pub requests: u64,
    /// Tokens of the thoughts.
    pub reasoning_tokens: u64,
    /// Input and output tokens. Thoughts count once.
    pub total_tokens: u64,
    /// Total time of all requests in milliseconds.
    pub duration: u64,
    /// The first words of the first question, masked, if they are stored.
    pub title: Option<String>,
    /// Name of the program that sent the first request, if it is known.
    pub client: Option<String>,
}

/// The texts that a search reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceText {
    /// Answers and thoughts.
    #[default]
    All,
    /// Visible answers only.
    Answers,
    /// Thoughts only.
    Thoughts,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceHits {
    /// The traces found, newest first.
    pub traces: Vec<Trace>,
    /// The search skipped traces from this time on (Unix milliseconds), because their words are not indexed yet.
    pub indexed_to: Option<u64>,
}
