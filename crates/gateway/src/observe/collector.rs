//! Sends finished spans to a collector: OTLP over HTTP with our own client, without delaying requests.

use bytes::Bytes;
use http::{Request, Response};
use opentelemetry::Context;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter as Otlp, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, Span, SpanData, SpanExporter,
    SpanProcessor,
};
use prometheus_client::metrics::counter::Counter;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use thinkthrough_client::{Client, Request as Outbound};
use tokio::runtime::Handle;

/// The most bytes of a collector's answer that are read.
const ANSWER: usize = 1024 * 1024;

/// A provider of tracers whose spans go to the collector that the environment names. `room` is the most spans that
/// may wait. Spans beyond it, and spans that the collector refuses, are counted as lost.
///
/// Must be called within a runtime, which then sends the spans.
pub(crate) fn provider(
    client: Client,
    room: usize,
    lost: &Counter,
) -> Result<SdkTracerProvider, String> {
    let carrier = Carrier { client, runtime: Handle::current() };
    let otlp = Otlp::builder().with_http().with_http_client(carrier).build();
    let otlp = otlp.map_err(|error| error.to_string())?;
    let waiting = Arc::new(AtomicUsize::new(0));
    let taking = Taking { otlp, waiting: Arc::clone(&waiting), lost: lost.clone() };
    let config = BatchConfigBuilder::default().with_max_queue_size(room).build();
    let queue = BatchSpanProcessor::builder(taking).with_batch_config(config).build();
    let bounded = Bounded { queue, waiting, room, lost: lost.clone() };
    Ok(SdkTracerProvider::builder().with_span_processor(bounded).build())
}

/// Sends the exporter's requests from the runtime, because the exporter has a thread of its own without one.
#[derive(Debug)]
struct Carrier {
    client: Client,
    runtime: Handle,
}

impl HttpClient for Carrier {
    fn send_bytes<'s, 'f>(
        &'s self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        let (client, runtime) = (self.client.clone(), self.runtime.clone());
        Box::pin(async move { runtime.spawn(sent(client, request)).await? })
    }
}

async fn sent(client: Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let (parts, body) = request.into_parts();
    let mut send = Outbound::post(&parts.uri.to_string(), body)?;
    send.headers = parts.headers;
    let answer = client.send(&send).await?;
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    *response.body_mut() = answer.body.collect_up_to(ANSWER).await?;
    Ok(response)
}

/// Counts spans that the collector did not take.
#[derive(Debug)]
struct Taking {
    otlp: Otlp,
    waiting: Arc<AtomicUsize>,
    lost: Counter,
}

impl SpanExporter for Taking {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        let taken = self.otlp.export(batch).await;
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        if taken.is_err() {
            self.lost.inc_by(count as u64);
        }
        taken
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.otlp.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.otlp.set_resource(resource);
    }
}

/// Counts spans without room, which the queue itself would drop silently.
#[derive(Debug)]
struct Bounded {
    queue: BatchSpanProcessor,
    waiting: Arc<AtomicUsize>,
    room: usize,
    lost: Counter,
}

impl SpanProcessor for Bounded {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.queue.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) < self.room {
            self.queue.on_end(span);
        } else {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.lost.inc();
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.queue.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.queue.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.queue.set_resource(resource);
    }
}
