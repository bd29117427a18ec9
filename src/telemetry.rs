//! Traces for OpenTelemetry, as far as the environment asks for them.

use crate::config::Config;
use crate::environment::{Lookup, usable};
use crate::failure::{Failure, say};
use crate::masking::of_process;
use std::time::Duration;
use thinkthrough_client::{Client, Request};
use thinkthrough_gateway::{SPANS, Traces};
use thinkthrough_mask::Tiers;

const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const COMPRESSIONS: [&str; 2] =
    ["OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"];
const TIMEOUTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
const CONTENT: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
/// The default time limit of a collector.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the destination of spans. The exporter reads further environment variables by itself: headers, service
/// name and sampling. Must be called within a runtime.
pub(crate) fn traces(env: Lookup<'_>, said_so: &Config) -> Result<Traces, Failure> {
    let Some((variable, endpoint)) = wanted(env)? else { return Ok(Traces::off()) };
    let refuse = |why: String| Failure::Failed(format!("`{variable}` cannot be used: {why}"));
    // The exporter would print an unreadable address, with a password in it.
    let address = Request::post(&endpoint, "").map_err(|error| refuse(error.to_string()))?;
    let mut config = said_so.client.clone();
    config.timeouts.first_byte = timeout(env);
    config.timeouts.connect = config.timeouts.connect.min(config.timeouts.first_byte);
    config.timeouts.idle = config.timeouts.first_byte;
    let client = Client::new(config).map_err(|error| Failure::Failed(error.to_string()))?;
    let room = said(env, "OTEL_BSP_MAX_QUEUE_SIZE").and_then(|room| room.parse().ok());
    let (room, masker) = (room.unwrap_or(SPANS).max(1), of_process(said_so, Tiers::CERTAIN)?);
    let traces = Traces::to_collector(client, room, masker).map_err(refuse)?;
    let host = address.url.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    say(format_args!("traces: {}://{host}", address.url.scheme_str().unwrap_or_default()));
    Ok(traces)
}

/// Returns the variable that names the collector, and its address; `None` if traces are off.
fn wanted(env: Lookup<'_>) -> Result<Option<(&'static str, String)>, Failure> {
    let is_off = is_true(&said(env, "OTEL_SDK_DISABLED").unwrap_or_default())
        || said(env, "OTEL_TRACES_EXPORTER").is_some_and(|exporter| exporter == "none");
    let named = ENDPOINTS.into_iter().find_map(|name| Some((name, said(env, name)?)));
    let Some((variable, endpoint)) = named.filter(|_| !is_off) else { return Ok(None) };
    let protocol = PROTOCOLS.into_iter().find_map(|name| Some((name, said(env, name)?)));
    if let Some((name, protocol)) = protocol.filter(|(_, protocol)| protocol != "http/protobuf") {
        return Err(Failure::Failed(format!(
            "`{name}` is `{protocol}`, and traces are sent as `http/protobuf` only; set it to that and `{variable}` to \
             the collector's HTTP port, usually 4318"
        )));
    }
    let packed = COMPRESSIONS.into_iter().find_map(|name| Some((name, said(env, name)?)));
    if let Some((name, form)) = packed.filter(|(_, form)| !matches!(form.as_str(), "gzip" | "none"))
    {
        return Err(Failure::Failed(format!(
            "`{name}` is `{form}`, and traces are sent with `gzip` or `none` only; set it to one of them"
        )));
    }
    let capture = said(env, CONTENT).unwrap_or_default().to_ascii_lowercase();
    if !matches!(capture.as_str(), "" | "false" | "no_content") {
        return Err(Failure::Failed(format!(
            "`{CONTENT}` asks for what was said in traces, and secrets in it cannot be masked yet; unset it"
        )));
    }
    Ok(Some((variable, endpoint)))
}

fn timeout(env: Lookup<'_>) -> Duration {
    let said = TIMEOUTS.into_iter().find_map(|name| said(env, name));
    let millis = said.and_then(|millis| millis.parse().ok()).filter(|millis| *millis > 0);
    millis.map_or(TIMEOUT, Duration::from_millis)
}

fn said(env: Lookup<'_>, name: &str) -> Option<String> {
    usable(env(name)).map(|value| value.trim().to_owned())
}

fn is_true(value: &str) -> bool {
    value.eq_ignore_ascii_case("true")
}
