//! OpenTelemetry spans: one for each answer that a model is asked for, under the names of the conventions for
//! generative models. They hold no text of the conversation.

use crate::observe::collector;
use crate::observe::progress::Progress;
use crate::observe::summary::{Said, Summary, plain};
use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer, TracerProvider,
};
use opentelemetry::{Array, Context, InstrumentationScope, KeyValue, StringValue, Value};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};
use prometheus_client::metrics::counter::Counter;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use thinkthrough_client::Client;
use thinkthrough_core::decision::Counts;
use thinkthrough_mask::Masker;

/// The headers that connect requests of one trace (W3C Trace Context).
pub(crate) const CONTEXT: [&str; 2] = ["traceparent", "tracestate"];

/// The default number of spans that may wait for the collector.
pub const SPANS: usize = 2_048;

/// The destination of spans.
#[derive(Clone, Default)]
pub struct Traces {
    on: Option<Arc<On>>,
    lost: Counter,
}

struct On {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    /// Covers secrets in names that callers and providers choose.
    masker: Masker,
}

/// Code that waits for the last spans calls [close](Traces::close). A drop does not wait.
impl Drop for On {
    fn drop(&mut self) {
        drop(self.provider.shutdown_with_timeout(Duration::ZERO));
    }
}

impl Traces {
    /// Turns spans off.
    #[must_use]
    pub fn off() -> Self {
        Self::default()
    }

    /// Sends spans by `client` to the collector that the standard environment variables name. At most `room` spans
    /// wait for it, and `masker` covers secrets in their names. Must be called within a runtime.
    ///
    /// # Errors
    /// If the variables cannot be used, with the exporter's message.
    pub fn to_collector(client: Client, room: usize, masker: Masker) -> Result<Self, String> {
        let lost = Counter::default();
        let provider = collector::provider(client, room, &lost)?;
        let scope = InstrumentationScope::builder("thinkthrough")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        let tracer = provider.tracer_with_scope(scope);
        Ok(Traces { on: Some(Arc::new(On { provider, tracer, masker })), lost })
    }

    /// Waits until every span is with the collector, but no longer than `limit`. No spans are taken after it.
    pub async fn close(&self, limit: Duration) {
        let Some(on) = self.on.clone() else { return };
        let (closed, closing) = tokio::sync::oneshot::channel();
        // The provider blocks meanwhile, and code that ends the process at once must not wait for it.
        let work = move || {
            // Spans that were not sent by then are lost, and the waiting code may be gone.
            drop(on.provider.shutdown_with_timeout(limit));
            let _ = closed.send(());
        };
        if std::thread::Builder::new().name("traces".to_owned()).spawn(work).is_ok() {
            drop(closing.await);
        }
    }

    /// Counts the spans that were lost.
    pub(crate) fn lost(&self) -> Counter {
        self.lost.clone()
    }

    /// Adds a step of a request to its span, which `span` holds once there is one.
    pub(crate) fn hear(&self, told: &Progress<'_>, summary: &Summary, span: &mut Option<Span>) {
        let Some(on) = &self.on else { return };
        if let Progress::RequestContext { headers, .. } = told {
            *span = Some(on.begin(summary, headers));
        }
        if summary.is_over()
            && let Some(span) = span.take()
        {
            on.end(span, summary);
        }
    }
}

/// Puts the context of a span on a request that goes upstream.
pub(crate) fn carry(span: &Span, headers: &mut HeaderMap) {
    for name in CONTEXT {
        headers.remove(name);
    }
    let context = Context::new().with_remote_span_context(span.span_context().clone());
    TraceContextPropagator::new().inject_context(&context, &mut HeaderInjector(headers));
    // An empty state is invalid.
    if headers.get(CONTEXT[1]).is_some_and(HeaderValue::is_empty) {
        headers.remove(CONTEXT[1]);
    }
}

impl On {
    fn begin(&self, summary: &Summary, headers: &HeaderMap) -> Span {
        let own = self.context(headers);
        let extractor = HeaderExtractor(&own);
        let parent =
            TraceContextPropagator::new().extract_with_context(&Context::new(), &extractor);
        let model = self.name(&summary.model);
        let builder = SpanBuilder::from_name(format!("chat {model}"))
            .with_kind(SpanKind::Client)
            .with_start_time(UNIX_EPOCH + Duration::from_millis(summary.at))
            // Samplers may read these attributes.
            .with_attributes([
                KeyValue::new("gen_ai.operation.name", "chat"),
                KeyValue::new("gen_ai.request.model", model),
            ]);
        self.tracer.build_with_context(builder, &parent)
    }

    fn end(&self, mut span: Span, summary: &Summary) {
        let end = UNIX_EPOCH + Duration::from_millis(summary.at) + summary.total;
        if span.is_recording() {
            span.set_attributes(attributes(summary, &|text| self.name(text)));
            if let Some(error) = error(summary) {
                span.set_attribute(KeyValue::new("error.type", error));
                span.set_status(Status::error(""));
            }
        }
        span.end_with_timestamp(end);
    }

    /// The trace headers of the caller. A caller's state goes on to the collector and to the provider, so that a
    /// state with a secret is left out.
    fn context(&self, headers: &HeaderMap) -> HeaderMap {
        let is_clean = |value: &HeaderValue| {
            value.to_str().is_ok_and(|text| self.masker.mask_text(text) == text)
        };
        let of = |name: &'static str| headers.get_all(name).iter().map(move |value| (name, value));
        CONTEXT
            .into_iter()
            .flat_map(of)
            .filter(|(_, value)| is_clean(value))
            .map(|(name, value)| (HeaderName::from_static(name), value.clone()))
            .collect()
    }

    /// A name as it may be shown.
    fn name(&self, text: &str) -> String {
        plain(text, &self.masker)
    }
}

/// The attributes that are known at the end. Unreported values are left out.
fn attributes(summary: &Summary, name: &dyn Fn(&str) -> String) -> Vec<KeyValue> {
    let mut all = Vec::new();
    let mut put = |name: &'static str, value: Option<Value>| {
        all.extend(value.map(|value| KeyValue::new(name, value)));
    };
    let text = |text: &Option<String>| text.as_deref().map(|text| Value::from(name(text)));
    let upstream = summary.upstream.as_ref();
    let provider = upstream.map_or(&*summary.provider, |upstream| &upstream.called);
    put("gen_ai.provider.name", Some(provider.to_owned().into()));
    put("server.address", upstream.and_then(|it| it.host.clone()).map(Value::from));
    put("server.port", upstream.and_then(|it| it.port).map(|port| i64::from(port).into()));
    put("gen_ai.conversation.id", text(&summary.session));
    if let Some(Said { settled, model, id, finish_reason }) = &summary.said {
        let usage = &settled.usage;
        put("gen_ai.response.model", text(model));
        put("gen_ai.response.id", text(id));
        let reasons = finish_reason
            .as_deref()
            .map(|reason| Value::Array(Array::String(vec![StringValue::from(name(reason))])));
        put("gen_ai.response.finish_reasons", reasons);
        // The conventions count cached tokens and reasoning into these.
        put("gen_ai.usage.input_tokens", usage.input_tokens_with_cached().map(number));
        put("gen_ai.usage.output_tokens", usage.output_tokens_with_reasoning().map(number));
        put("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens.map(number));
    }
    let Counts { restored, missed, ambiguous, dropped } = summary.counts;
    for (name, count) in [
        ("thinkthrough.restored", restored),
        ("thinkthrough.missed", missed),
        ("thinkthrough.ambiguous", ambiguous),
        ("thinkthrough.dropped", dropped),
    ] {
        put(name, Some(number(count as u64)));
    }
    put("thinkthrough.trace", (!summary.id.is_empty()).then(|| summary.id.clone().into()));
    all
}

fn number(count: u64) -> Value {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}

/// The error of a request, as a word of a short list or the number of a status.
fn error(summary: &Summary) -> Option<String> {
    let outcome = Some(summary.outcome).filter(|outcome| *outcome != "completed");
    let status = (summary.status >= 400).then(|| summary.status.to_string());
    summary.error.map(str::to_owned).or(status).or_else(|| outcome.map(str::to_owned))
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").field("is_on", &self.on.is_some()).finish_non_exhaustive()
    }
}
