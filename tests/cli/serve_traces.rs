//! The spans that `think serve` sends to a collector of traces, over real sockets.

use crate::collector::{Collector, shown};
use crate::place::Place;
use crate::program::command;
use crate::server::{PATIENCE, Server};
use crate::upstream::Upstream;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A stream that thinks and answers, with what providers say about an answer.
fn stream() -> String {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"id": "resp-7", "model": "m-2026", "choices": [choice]})
    };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 12, "total_tokens": 22,
        "completion_tokens_details": {"reasoning_tokens": 7}});
    let chunks = [
        chunk(json!({"reasoning_content": "canary-thought"}), Value::Null),
        chunk(json!({"content": "canary-answer"}), Value::Null),
        chunk(json!({}), json!("stop")),
        json!({"id": "resp-7", "model": "m-2026", "choices": [], "usage": usage}),
    ];
    let lines: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    lines + "data: [DONE]\n\n"
}

/// A gateway before this upstream, with these variables.
fn gateway(place: &Place, upstream: &str, env: &[(&str, &str)]) -> Server {
    let text = format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{upstream}/v1\"\napi_key = \"canary-key\"\n"
    );
    let config = place.write("config.toml", &text);
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--config", &config]);
    command.envs(env.iter().copied());
    Server::run(command)
}

fn question(path: &str) -> String {
    let said = json!([{"role": "user", "content": "canary-prompt"}]);
    let mut question = json!({"model": "there/m", "stream": true, "messages": said});
    if path == "/v1/messages" {
        question["max_tokens"] = json!(1_000);
    }
    question.to_string()
}

fn ask(gateway: &Server, path: &str, headers: &str) -> String {
    let headers = format!("content-type: application/json\r\n{headers}");
    let answer = gateway.request("POST", path, &headers, &question(path));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The header of the last request that an upstream got.
fn header(upstream: &Upstream, name: &str) -> Option<String> {
    let head = upstream.heads().pop().unwrap();
    head.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(": ")?.to_owned()))
}

/// The attributes that the documentation lists.
fn documented() -> BTreeSet<String> {
    let page = std::fs::read_to_string("docs/observing.md").unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let names = rows.flat_map(|cell| cell.trim_end_matches('`').split("`, `"));
    let is_attribute = |name: &&str| name.contains('.') && !name.starts_with("...");
    names.filter(is_attribute).map(str::to_owned).collect()
}

#[test]
fn t_18_a_span_has_what_is_documented_and_nothing_that_was_said() {
    let (collector, place) = (Collector::start(), Place::new("spans"));
    let upstream = Upstream::start(vec![stream()]);
    let gateway = gateway(
        &place,
        &upstream.url,
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-key=canary-header"),
            ("OTEL_SERVICE_NAME", "gate"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ],
    );
    let headers = format!(
        "traceparent: 00-{TRACE}-{PARENT}-01\r\ntracestate: vendor=1\r\nauthorization: Bearer canary-caller\r\n\
         x-thinkthrough-session: canary-session\r\n"
    );
    let answer = ask(&gateway, "/v1/chat/completions", &headers);
    assert!(answer.contains("canary-thought") && answer.contains("canary-answer"), "{answer}");
    let span = collector.spans(1).remove(0);
    assert_eq!((span.name.as_str(), span.kind), ("chat there/m", 3));
    assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.into(), PARENT.into()));
    assert!(span.start_time_unix_nano < span.end_time_unix_nano);
    assert_eq!(span.status.unwrap_or_default().code, 0);
    let forwarded = format!("00-{TRACE}-{}-01", hex(&span.span_id));
    assert_eq!(header(&upstream, "traceparent"), Some(forwarded));
    assert_eq!(header(&upstream, "tracestate").as_deref(), Some("vendor=1"));

    let mut attributes = shown(&span.attributes);
    let conversation = attributes.remove("gen_ai.conversation.id").unwrap();
    assert_eq!(conversation.trim_matches('"').len(), 32, "{conversation}");
    let trace = attributes.remove("thinkthrough.trace").unwrap();
    assert!(answer.contains(&format!("trace={}", trace.trim_matches('"'))), "{trace}: {answer}");
    let port = upstream.url.rsplit_once(':').unwrap().1;
    let expected = BTreeMap::from([
        ("gen_ai.operation.name", "\"chat\""),
        ("gen_ai.provider.name", "\"there\""),
        ("gen_ai.request.model", "\"there/m\""),
        ("gen_ai.response.finish_reasons", "[\"stop\"]"),
        ("gen_ai.response.id", "\"resp-7\""),
        ("gen_ai.response.model", "\"m-2026\""),
        ("gen_ai.usage.input_tokens", "10"),
        ("gen_ai.usage.output_tokens", "12"),
        ("gen_ai.usage.reasoning.output_tokens", "7"),
        ("server.address", "\"127.0.0.1\""),
        ("server.port", port),
        ("thinkthrough.ambiguous", "0"),
        ("thinkthrough.dropped", "0"),
        ("thinkthrough.missed", "0"),
        ("thinkthrough.restored", "0"),
    ]);
    let got: BTreeMap<&str, &str> =
        attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(got, expected);
    let mut names: BTreeSet<String> = attributes.keys().cloned().collect();
    names.extend(["error.type", "gen_ai.conversation.id", "thinkthrough.trace"].map(str::to_owned));
    assert_eq!(documented(), names);

    // A state with a secret in it goes neither to the collector nor to the provider.
    let secret = ["ghp_", "Zk3vRt8mQw1xYb6nLd4sHc9fJg2pTe7uAa5K"].concat();
    let state = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\ntracestate: vendor={secret}\r\n");
    ask(&gateway, "/v1/chat/completions", &state);
    let its = collector.spans(2).remove(1);
    assert_eq!((hex(&its.trace_id), its.trace_state.as_str()), (TRACE.into(), ""));
    assert_eq!(header(&upstream, "tracestate"), None);

    // On another API, and without a trace of the caller's: one of our own goes on.
    let answer = ask(&gateway, "/v1/messages", "x-api-key: canary-caller\r\n");
    assert!(answer.contains("canary-thought"), "{answer}");
    let own = collector.spans(3).remove(2);
    assert!(own.parent_span_id.is_empty() && hex(&own.trace_id) != TRACE, "{own:?}");
    let forwarded = format!("00-{}-{}-01", hex(&own.trace_id), hex(&own.span_id));
    assert_eq!(header(&upstream, "traceparent"), Some(forwarded));
    assert_eq!(header(&upstream, "tracestate"), None);

    tells_nothing(&collector, gateway);
}

/// Checks that spans, metrics and log have no text of the conversation and no key.
fn tells_nothing(collector: &Collector, gateway: Server) {
    let got = collector.got();
    for one in &got {
        assert!(one.head.starts_with("post /v1/traces"), "{}", one.head);
        assert!(one.head.contains("x-collector-key: canary-header"), "{}", one.head);
        let sender = one.sender();
        assert_eq!(sender["service.name"], "\"gate\"");
        assert_eq!(sender["deployment.environment.name"], "\"test\"");
    }
    let metrics = gateway.request("GET", "/metrics", "", "");
    // A model name that is in no list comes from a caller, so that metrics have one name for all of
    // these.
    assert!(
        metrics.contains("model=\"other\",type=\"reasoning\",source=\"reported\"} 21"),
        "{metrics}"
    );
    assert!(!metrics.contains("there/m"), "{metrics}");
    let sent: Vec<u8> = got.into_iter().flat_map(|one| one.body).collect();
    for (place, text) in [
        ("the spans", String::from_utf8_lossy(&sent).into_owned()),
        ("the metrics", metrics),
        ("the log", gateway.stop()),
    ] {
        assert!(!text.contains("canary"), "{place}: {text}");
    }
}

#[test]
fn a_refused_request_leaves_a_span_that_says_so() {
    let (collector, place) = (Collector::start(), Place::new("refused"));
    let env = [
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("{}/own", collector.url)),
        ("OTEL_BSP_SCHEDULE_DELAY", "50".to_owned()),
    ];
    let env = env.each_ref().map(|(name, value)| (*name, value.as_str()));
    let gateway = gateway(&place, "http://127.0.0.1:9", &env);
    let greedy =
        json!({"model": "sim/kimi-k2", "n": 6, "messages": [{"role": "user", "content": "x"}]});
    let answer = gateway.ask("/v1/chat/completions", &greedy.to_string());
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let span = collector.spans(1).remove(0);
    assert_eq!(shown(&span.attributes)["error.type"], "\"refused\"");
    assert_eq!(span.status.unwrap().code, 2);
    assert!(collector.got()[0].head.starts_with("post /own"), "{}", collector.got()[0].head);
}

#[test]
fn the_last_spans_are_sent_before_the_end() {
    let (collector, place) = (Collector::start(), Place::new("flush"));
    let upstream = Upstream::start(vec![stream()]);
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "3600000"),
    ];
    let gateway = gateway(&place, &upstream.url, &env);
    ask(&gateway, "/v1/chat/completions", "");
    gateway.signal(Signal::INT);
    let (is_good, said) = gateway.ends(PATIENCE);
    assert!(is_good, "{said}");
    collector.spans(1);
}

/// One number of the metrics.
fn number(gateway: &Server, name: &str) -> u64 {
    let metrics = gateway.request("GET", "/metrics", "", "");
    let found = metrics.lines().find_map(|line| line.strip_prefix(name));
    found.unwrap_or_else(|| panic!("no {name} in {metrics}")).trim().parse().unwrap()
}

#[test]
fn a_collector_that_is_gone_or_silent_costs_spans_and_no_request() {
    let place = Place::new("gone");
    // It accepts connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    for (endpoint, room) in [("http://127.0.0.1:9", "2048"), (silent.as_str(), "1")] {
        let upstream = Upstream::start(vec![stream()]);
        let env = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "500"),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", room),
        ];
        let gateway = gateway(&place, &upstream.url, &env);
        for _ in 0..5 {
            ask(&gateway, "/v1/chat/completions", "");
        }
        let began = Instant::now();
        while number(&gateway, "thinkthrough_spans_lost_total ") < 5 {
            assert!(began.elapsed() < PATIENCE, "the lost spans of {endpoint} are not counted");
            std::thread::sleep(Duration::from_millis(20));
        }
        gateway.signal(Signal::INT);
        let (is_good, said) = gateway.ends(PATIENCE);
        assert!(is_good, "{said}");
    }
}

#[test]
fn without_a_collector_the_callers_trace_goes_on_as_it_came() {
    let (collector, place) = (Collector::start(), Place::new("untouched"));
    let upstream = Upstream::start(vec![stream()]);
    let headers = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\ntracestate: a=1\r\n");
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str());
    for env in [
        vec![],
        vec![endpoint, ("OTEL_SDK_DISABLED", "true")],
        vec![endpoint, ("OTEL_TRACES_EXPORTER", "none")],
    ] {
        let gateway = gateway(&place, &upstream.url, &env);
        for path in ["/v1/chat/completions", "/v1/messages"] {
            ask(&gateway, path, &headers);
            let came = format!("00-{TRACE}-{PARENT}-01");
            assert_eq!(header(&upstream, "traceparent"), Some(came), "{path} {env:?}");
            assert_eq!(header(&upstream, "tracestate").as_deref(), Some("a=1"), "{path}");
            ask(&gateway, path, "");
            assert_eq!(header(&upstream, "traceparent"), None, "{path} {env:?}");
        }
        gateway.signal(Signal::INT);
        assert!(gateway.ends(PATIENCE).0);
    }
    assert!(collector.got().is_empty());
}

#[test]
fn a_collector_gets_them_compressed_if_it_is_told_so() {
    let (collector, place) = (Collector::start(), Place::new("packed"));
    let upstream = Upstream::start(vec![stream()]);
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
    ];
    let gateway = gateway(&place, &upstream.url, &env);
    ask(&gateway, "/v1/chat/completions", "");
    gateway.signal(Signal::INT);
    assert!(gateway.ends(PATIENCE).0);
    let got = collector.got().remove(0);
    assert!(got.head.contains("content-encoding: gzip\n"), "{}", got.head);
    assert!(got.body.starts_with(&[0x1f, 0x8b]), "{:?}", got.body);
}

#[test]
fn the_sampler_of_the_environment_decides() {
    let (collector, place) = (Collector::start(), Place::new("sampled"));
    let upstream = Upstream::start(vec![stream()]);
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("OTEL_TRACES_SAMPLER", "always_off"),
    ];
    let gateway = gateway(&place, &upstream.url, &env);
    ask(&gateway, "/v1/chat/completions", &format!("traceparent: 00-{TRACE}-{PARENT}-01\r\n"));
    let sent = header(&upstream, "traceparent").unwrap();
    assert!(sent.starts_with(&format!("00-{TRACE}-")) && sent.ends_with("-00"), "{sent}");
    gateway.signal(Signal::INT);
    assert!(gateway.ends(PATIENCE).0);
    assert!(collector.got().is_empty());
}

#[test]
fn what_cannot_be_done_is_refused_at_start() {
    let place = Place::new("variables");
    let config = place.write("config.toml", "");
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    for (env, words) in [
        (
            vec![endpoint, ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")],
            "cannot be masked yet; unset it",
        ),
        (vec![endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "`http/protobuf` only"),
        (vec![endpoint, ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd")], "`gzip` or `none` only"),
        (vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "user:canary@host")], "is not an absolute URL"),
    ] {
        let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--config", &config]);
        let output = command.envs(env.iter().copied()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{env:?}: {said}");
        assert!(said.contains(words) && !said.contains("canary"), "{env:?}: {said}");
    }
}
