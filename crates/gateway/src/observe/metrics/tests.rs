use super::*;
use std::collections::BTreeSet;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::price::Price;
use thinkthrough_core::provider::Target;
use thinkthrough_core::settled::AnswerSize;

/// Reports every kind of step for one request of this model.
fn live(metrics: &Metrics, names: &Names, caller: &str, model: &str) {
    let mut summary = Summary::new(7, "/v1/messages");
    let mut tell = |told: Progress<'_>| {
        summary.hear(&told);
        metrics.hear(&told, &summary);
    };
    let target = Target::built_in("openai-compatible", None, model).unwrap();
    let usage = Usage { input_tokens: Some(3), reasoning_tokens: Some(2), ..Usage::default() };
    let answer = Answer { usage: Some(usage), ..Answer::default() };
    let took = Duration::from_micros(300);
    let counts = Counts { restored: 2, missed: 1, ..Counts::default() };
    tell(Progress::Admitted { tenant: caller, took });
    tell(Progress::Routed { model, provider: "a\"b", label: names.label(model) });
    tell(Progress::RequestContext { headers: &http::HeaderMap::new(), stream: true });
    let without = Without { told: 3, ..Without::default() };
    tell(Progress::Decided { counts, without, is_relayed: true, decisions: &[] });
    tell(Progress::Sent { target: &target, session: Some(caller.to_owned()), took });
    tell(Progress::Led);
    tell(Progress::Failed { reason: "timeout", cause: None });
    tell(Progress::Explained { id: caller, counts, hops: 0 });
    tell(Progress::Head { status: 200 });
    tell(Progress::FirstByte);
    tell(Progress::FirstThought);
    tell(Progress::FirstText);
    let settled = Settled::of(answer.usage.as_ref(), AnswerSize::default(), true);
    tell(Progress::Said { answer: &answer, settled: &settled, is_stopped: false });
    tell(Progress::Ended { outcome: "cancelled", bytes: 9 });
}

#[test]
fn the_text_form_counts() {
    let metrics = Metrics::new(Counter::default(), Default::default());
    let names = Names::of(["m".to_owned()]);
    live(&metrics, &names, "ana", "m");
    live(&metrics, &names, "ben", "m");
    let text = metrics.text(true);
    let whose = "provider=\"openai-compatible\",model=\"m\"";
    for line in [
        "thinkthrough_requests_total{status=\"2xx\"} 2".to_owned(),
        "thinkthrough_requests_total{status=\"4xx\"} 0".to_owned(),
        "thinkthrough_relayed_total 2".to_owned(),
        "thinkthrough_cancelled_total 2".to_owned(),
        "thinkthrough_open_requests 0".to_owned(),
        "thinkthrough_streams_live 0".to_owned(),
        "thinkthrough_thoughts_total{provider=\"a\\\"b\",outcome=\"restored\"} 4".to_owned(),
        "thinkthrough_thoughts_total{provider=\"a\\\"b\",outcome=\"missed\"} 2".to_owned(),
        "thinkthrough_without_thought_total{way=\"flattened\"} 6".to_owned(),
        "thinkthrough_without_thought_total{way=\"off\"} 0".to_owned(),
        format!("thinkthrough_tokens_total{{{whose},type=\"reasoning\",source=\"reported\"}} 4"),
        "thinkthrough_upstream_errors_total{provider=\"openai-compatible\",reason=\"timeout\"} 2"
            .to_owned(),
        format!("thinkthrough_time_to_first_reasoning_seconds_count{{{whose}}} 2"),
        "thinkthrough_overhead_seconds_bucket{le=\"0.0005\",phase=\"restore\"} 2".to_owned(),
        format!("thinkthrough_request_duration_seconds_count{{{whose},outcome=\"cancelled\"}} 2"),
    ] {
        assert!(text.lines().any(|it| it == line), "no {line} in\n{text}");
    }
    assert!(!text.contains("ana") && text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn callers_cannot_make_series() {
    let metrics = Metrics::new(Counter::default(), Default::default());
    let names = Names::of((0..20).map(|at| format!("known-{at}")));
    for at in 0..20 {
        live(&metrics, &names, "ana", &format!("known-{at}"));
    }
    live(&metrics, &names, "ana", "unknown");
    let before = metrics.text(true).lines().count();
    for at in 0..20_000 {
        live(&metrics, &names, &format!("caller-{at}"), &format!("model-{at}"));
    }
    assert_eq!(metrics.text(true).lines().count(), before);
    assert!(before < 5_000, "{before} lines for 20 models");
    assert!(!metrics.text(true).contains("-19999"));
}

#[test]
fn the_documents_name_every_metric_and_no_other() {
    let metrics = Metrics::new(Counter::default(), Default::default());
    live(&metrics, &Names::default(), "ana", "m");
    let usage = Usage { input_tokens: Some(1), ..Usage::default() };
    let mut summary = Summary::new(0, "chat");
    metrics.drained(&summary, Heard::Completed, Some(&usage));
    let target = Target::built_in("openai-compatible", None, "m").unwrap();
    let target = Target { price: Some(Price::FREE), ..target };
    summary.hear(&Progress::Sent { target: &target, session: None, took: Duration::ZERO });
    metrics.cost(&summary, &Usage { output_tokens: Some(1), ..usage });
    let text = metrics.text(true);
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let there: BTreeSet<String> = types
        .filter_map(|line| line.split_once(' '))
        .map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            "info" => format!("{name}_info"),
            _ => name.to_owned(),
        })
        .collect();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observing.md");
    let page = std::fs::read_to_string(page).unwrap();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let names = cells.flat_map(|cell| cell.trim_end_matches('`').split("`, `"));
    let names = names.map(|name| name.split('{').next().unwrap_or_default());
    let of_metrics =
        |name: &&str| ["thinkthrough_", "process_"].iter().any(|it| name.starts_with(it));
    let named: BTreeSet<String> = names.filter(of_metrics).map(str::to_owned).collect();
    let is_elsewhere = |name: &String| name == "process_resident_memory_bytes";
    let missing: Vec<_> = there.difference(&named).collect();
    let stale: Vec<_> = named.difference(&there).filter(|it| !is_elsewhere(it)).collect();
    assert!(missing.is_empty() && stale.is_empty(), "missing {missing:?}, stale {stale:?}");
}
