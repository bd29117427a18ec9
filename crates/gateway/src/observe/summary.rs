//! The facts about one request, collected from its progress.

use crate::observe::alike::Alike;
use crate::observe::progress::{Heard, Progress};
use http::Uri;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::decision::{Counts, Without};
use thinkthrough_core::price::Price;
use thinkthrough_core::problem::ProblemCode;
use thinkthrough_core::provider::{self, Target};
use thinkthrough_core::settled::Settled;
use thinkthrough_core::usage::Usage;
use thinkthrough_mask::Masker;

/// The longest name that is shown, in characters.
const LONGEST: usize = 200;

/// One request, from its head to its end, without any text of the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    began: Instant,
    pub(crate) route: &'static str,
    /// The trace of the answer's header.
    pub(crate) id: String,
    pub(crate) tenant: String,
    /// The requested name, and its label in metrics.
    pub(crate) model: String,
    pub(crate) label: Arc<str>,
    /// The provider of that model.
    pub(crate) provider: Arc<str>,
    /// The request asks a model for an answer.
    pub(crate) is_asked: bool,
    /// The answer comes from an upstream, translated or passed through.
    pub(crate) is_open: bool,
    pub(crate) stream: bool,
    pub(crate) counts: Counts,
    /// The decisions about its thoughts.
    pub(crate) decided: Vec<Alike>,
    pub(crate) verdict: Option<Verdict>,
    /// No other decision will follow.
    pub(crate) is_final: bool,
    pub(crate) hops: usize,
    /// The upstream that was asked last.
    pub(crate) upstream: Option<Upstream>,
    /// The pseudonym of the client's session.
    pub(crate) session: Option<String>,
    /// The client's product name, without its version.
    pub(crate) client: Option<String>,
    pub(crate) said: Option<Said>,
    /// The bytes of the text that its thought repeated, if it did.
    pub(crate) circles: Option<u64>,
    /// The reason why the gateway cut the answer.
    pub(crate) cut: Option<&'static str>,
    /// The last reason why there is no proper answer.
    pub(crate) error: Option<&'static str>,
    /// Details of the error.
    pub(crate) cause: Option<String>,
    pub(crate) status: u16,
    pub(crate) outcome: &'static str,
    /// Time from the beginning to the head of the answer, to its first byte, and to its end.
    pub(crate) head: Duration,
    pub(crate) first: Option<Duration>,
    pub(crate) total: Duration,
    /// The size of the answer.
    pub(crate) bytes: u64,
    /// The token counts of an answer that was read to its end after its caller had left.
    pub(crate) spent: Vec<(&'static str, u64)>,
}

/// The decisions about the thoughts of a request, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) counts: Counts,
    pub(crate) without: Without,
    pub(crate) is_relayed: bool,
}

/// An upstream that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upstream {
    /// Its name in the configuration, and its name in telemetry.
    pub(crate) provider: Arc<str>,
    /// The model's name at the provider.
    pub(crate) model: String,
    pub(crate) called: String,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) price: Option<Price>,
}

/// The facts that an answer reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) settled: Settled,
    pub(crate) model: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) finish_reason: Option<String>,
}

impl Summary {
    /// Begins the summary of a request that arrived.
    pub(crate) fn new(at: u64, route: &'static str) -> Self {
        Summary {
            at,
            began: Instant::now(),
            route,
            id: String::new(),
            tenant: String::new(),
            model: String::new(),
            label: Arc::from(""),
            provider: Arc::from(""),
            is_asked: false,
            is_open: false,
            stream: false,
            counts: Counts::default(),
            decided: Vec::new(),
            verdict: None,
            is_final: false,
            hops: 0,
            upstream: None,
            session: None,
            client: None,
            said: None,
            circles: None,
            cut: None,
            error: None,
            cause: None,
            status: 0,
            outcome: "",
            head: Duration::ZERO,
            first: None,
            total: Duration::ZERO,
            bytes: 0,
            spent: Vec::new(),
        }
    }

    /// A copy for an answer that was read to its end after its caller had left.
    pub(crate) fn drained(&self, heard: Heard, usage: Option<&Usage>, took: Duration) -> Summary {
        let outcome = match heard {
            Heard::Completed => "drained",
            Heard::Failed => "failed",
            Heard::Left => "cancelled",
        };
        let spent = usage.map(spent).unwrap_or_default();
        Summary { outcome, spent, total: took, ..self.clone() }
    }

    /// The time since the request arrived.
    pub(crate) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn is_over(&self) -> bool {
        !self.outcome.is_empty()
    }

    /// The provider of the answer: the upstream that was asked last.
    pub(crate) fn answering(&self) -> &Arc<str> {
        self.upstream.as_ref().map_or(&self.provider, |upstream| &upstream.provider)
    }

    /// The cost of this usage at the upstream that was asked last, in micro-dollars, if its price is known.
    pub(crate) fn cost(&self, usage: &Usage) -> Option<u64> {
        self.upstream.as_ref()?.price?.of(usage)
    }

    /// Adds one step of the request's progress.
    pub(crate) fn hear(&mut self, told: &Progress<'_>) {
        match told {
            Progress::Admitted { tenant, .. } => (*tenant).clone_into(&mut self.tenant),
            Progress::Routed { model, provider, label } => {
                (*model).clone_into(&mut self.model);
                self.provider = Arc::from(*provider);
                self.label = Arc::clone(label);
            }
            Progress::Unrouted { model } => (*model).clone_into(&mut self.model),
            Progress::RequestContext { stream, .. } => {
                (self.is_asked, self.is_open, self.stream) = (true, true, *stream);
            }
            Progress::Passed { provider } => {
                self.provider = Arc::from(*provider);
                self.is_open = true;
            }
            Progress::Sent { target, session, .. } => {
                self.upstream = Some(Upstream::of(target));
                self.session.clone_from(session);
                // Errors of earlier attempts are over.
                self.error = None;
                self.cause = None;
            }
            Progress::Failed { reason, cause } => {
                self.error = Some(reason);
                self.cause.clone_from(cause);
            }
            Progress::Explained { id, counts, hops } => {
                (*id).clone_into(&mut self.id);
                (self.counts, self.hops) = (*counts, *hops);
            }
            Progress::Head { status } => (self.status, self.head) = (*status, self.age()),
            Progress::FirstByte => self.first = Some(self.age()),
            Progress::Decided { counts, without, is_relayed, decisions } => {
                let (counts, without, is_relayed) = (*counts, *without, *is_relayed);
                self.verdict = Some(Verdict { counts, without, is_relayed });
                self.decided = Alike::of(decisions);
            }
            Progress::Led => self.is_final = true,
            Progress::Said { answer, settled, is_stopped } => {
                let own = || flaw(answer).filter(|_| !is_stopped);
                self.error = self.cut.or_else(own).or(self.error);
                self.said = Some(Said::of(answer, settled));
            }
            Progress::Circles { period, .. } => self.circles = Some(*period),
            Progress::Cut { reason } => self.cut = Some(reason),
            Progress::Ended { outcome, bytes } => {
                // The failure of a gateway or upstream was delivered as a whole body.
                let is_failed = *outcome == "completed" && self.status >= 500;
                let outcome = if is_failed { "failed" } else { outcome };
                (self.outcome, self.bytes, self.total) = (outcome, *bytes, self.age());
            }
            Progress::TurnedAway
            | Progress::Blind
            | Progress::TryFailed { .. }
            | Progress::Repaired
            | Progress::FellBack
            | Progress::Limited { .. }
            | Progress::LetOutAlone { .. }
            | Progress::Panicked
            | Progress::FirstThought
            | Progress::FirstText
            | Progress::Unsaved => {}
        }
    }
}

impl Upstream {
    fn of(target: &Target) -> Self {
        let called = provider::find(&target.provider).map(provider::Provider::telemetry_name);
        let url = target.base_url.parse::<Uri>().ok();
        let usual = url.as_ref().and_then(Uri::scheme_str).and_then(|scheme| match scheme {
            "https" => Some(443),
            "http" => Some(80),
            _ => None,
        });
        Upstream {
            provider: Arc::from(target.provider.as_str()),
            model: target.model.clone(),
            called: called.unwrap_or(&target.provider).to_owned(),
            host: url.as_ref().and_then(Uri::host).map(str::to_owned),
            port: url.as_ref().and_then(Uri::port_u16).or(usual),
            price: target.price,
        }
    }
}

impl Said {
    fn of(answer: &Answer, settled: &Settled) -> Self {
        Said {
            settled: settled.clone(),
            model: answer.model.clone(),
            id: answer.response_id.clone(),
            finish_reason: answer.finish_reason.clone(),
        }
    }
}

/// The token counts of an answer, as far as they are known.
pub(crate) fn spent(usage: &Usage) -> Vec<(&'static str, u64)> {
    let all = [
        ("input_tokens", usage.input_tokens_with_cached()),
        ("output_tokens", usage.output_tokens_with_reasoning()),
        ("reasoning_tokens", usage.reasoning_tokens),
    ];
    all.into_iter().filter_map(|(kind, count)| Some((kind, count?))).collect()
}

/// The flaw of an answer that did not end properly.
pub(crate) fn flaw(answer: &Answer) -> Option<&'static str> {
    answer.problems.iter().find_map(|problem| match problem.code {
        ProblemCode::UpstreamError => Some("error_event"),
        ProblemCode::CapReached => Some("too_large"),
        ProblemCode::Truncated => Some("truncated"),
        // Other problems leave an answer that counts as whole.
        _ => None,
    })
}

/// Milliseconds since 1970, or 0 if the clock is before that.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The cause of a failure on one line, without secrets. Masks before it cuts, so that no secret is cut in two.
pub(crate) fn line(cause: &str, masker: &Masker) -> String {
    let cause = masker.mask_text(cause);
    cause.chars().map(|c| if c.is_control() { ' ' } else { c }).take(2 * LONGEST).collect()
}

/// Whether a name can be shown unchanged, apart from secrets.
pub(crate) fn is_plain(name: &str) -> bool {
    name.len() <= LONGEST && !name.contains(|c: char| c.is_control() || c.is_whitespace())
}

/// A name from outside, masked, short, and without characters that could break a line or steer a terminal. Masks the
/// name as it came, so that no secret is cut in two and no separate words are joined.
pub(crate) fn plain(name: &str, masker: &Masker) -> String {
    let masked = masker.mask_text(name);
    let words = masked.split(|c: char| c.is_control() || c.is_whitespace());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_with_the_status_of_a_failure_has_failed() {
        for (status, expected) in
            [(200, "completed"), (404, "completed"), (502, "failed"), (503, "failed")]
        {
            let mut summary = Summary::new(7, "chat");
            summary.status = status;
            summary.hear(&Progress::Ended { outcome: "completed", bytes: 1 });
            assert_eq!(summary.outcome, expected, "{status}");
        }
    }
}
