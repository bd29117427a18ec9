//! Announces the steps of a request to listeners: the same steps that are counted and logged.

use super::event::{About, Event, Happening, Stream};
use super::outbox::Outbox;
use super::{Events, tell};
use crate::observe::alike::Alike;
use crate::observe::audit::state_of;
use crate::observe::progress::{BudgetReached, Progress};
use crate::observe::summary::{Said, Summary, now, plain};
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::decision::{Counts, Decision, Without};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::usage::Usage;
use thinkthrough_json::Writer;
use thinkthrough_mask::Masker;
use thinkthrough_store::TraceState;

/// The tenant of a request, its session and its run.
#[derive(Clone, Debug)]
pub(crate) struct Whose {
    pub(crate) tenant: Tenant,
    pub(crate) session: Option<String>,
    pub(crate) run: Option<String>,
    /// Keeps its events in their order.
    pub(crate) outbox: Outbox,
}

impl Whose {
    /// The properties by which listeners choose its events.
    pub(super) fn about(&self, summary: &Summary, masker: &Masker) -> Arc<About> {
        let model = summary.upstream.as_ref().map(|upstream| upstream.model.clone());
        Arc::new(About {
            trace: summary.id.clone(),
            session: self.session.clone(),
            shown_session: self.session.as_deref().map(|session| masker.mask_text(session)),
            run: self.run.clone(),
            asked: summary.model.clone(),
            model: model.unwrap_or_default(),
            provider: summary.answering().to_string(),
        })
    }

    fn say(
        &self,
        events: &Events,
        summary: &Summary,
        kind: &'static str,
        data: &dyn Fn(&mut Writer, &Masker),
    ) {
        let channels = events.answer_events(&self.tenant);
        if channels.is_empty() {
            return;
        }
        let masker = events.masker();
        let about = self.about(summary, &masker);
        let data = |w: &mut Writer| data(w, &masker);
        let happening = Happening { stream: Stream::Lifecycle, kind, data: &data };
        self.outbox.tell(channels, Arc::new(Event::new(now(), &about, happening)));
    }

    /// Announces a new request, from this client.
    pub(crate) fn started(&self, events: &Events, summary: &Summary, client: Option<&str>) {
        self.say(events, summary, "request_started", &|w, masker| {
            masked(w, masker, "client", client.and_then(|it| it.split_whitespace().next()));
            let key = Some(summary.tenant.as_str()).filter(|key| !key.is_empty());
            w.str_or_null("key", key);
            masked(w, masker, "model", Some(&summary.model));
            w.field_str("route", summary.route);
            w.field_bool("streamed", summary.stream);
        });
    }

    /// Announces a step, unless no listener would need it.
    pub(crate) fn hear(&self, events: &Events, summary: &Summary, told: &Progress<'_>) {
        match told {
            Progress::Decided { counts, without, is_relayed, decisions } => {
                self.say(events, summary, "thoughts_decided", &|w, masker| {
                    decided(w, masker, *counts, *without, decisions);
                    w.field_bool("relayed", *is_relayed);
                });
            }
            Progress::Sent { target, .. } => {
                self.say(events, summary, "request_routed", &|w, masker| {
                    w.field_str("provider", &target.provider);
                    masked(w, masker, "model", Some(&target.model));
                    w.field_str("wire", target.wire.id());
                });
                self.say(events, summary, "phase", &|w, _| w.field_str("phase", "waiting"));
            }
            Progress::Failed { reason, .. } => {
                self.say(events, summary, "upstream_failed", &|w, _| {
                    w.field_str("provider", summary.answering());
                    w.field_str("reason", reason);
                });
            }
            Progress::Limited { by, unit } => {
                self.say(events, summary, "request_limited", &|w, _| {
                    w.field_str("by", by);
                    w.field_str("unit", unit);
                });
            }
            Progress::Repaired => self.say(events, summary, "request_repaired", &|_, _| {}),
            Progress::FellBack => self.say(events, summary, "request_fell_back", &|_, _| {}),
            Progress::FirstByte if summary.status < 400 => {
                self.say(events, summary, "first_byte", &|w, _| {
                    w.u64_or_null("after_ms", summary.first.map(milliseconds));
                });
            }
            Progress::Circles { period, is_cut } => {
                self.say(events, summary, "thought_repeats", &|w, _| {
                    w.field_u64("bytes", *period);
                    w.field_bool("cut", *is_cut);
                });
            }
            Progress::Unsaved => self.say(events, summary, "thought_unsaved", &|_, _| {}),
            Progress::Ended { .. } => {
                let kind = match state_of(summary) {
                    TraceState::Whole => "request_finished",
                    TraceState::Cut => "request_cut",
                    TraceState::Failed => "request_failed",
                };
                self.say(events, summary, kind, &|w, masker| ended(w, masker, summary));
            }
            Progress::Admitted { .. }
            | Progress::TurnedAway
            | Progress::Routed { .. }
            | Progress::Unrouted { .. }
            | Progress::RequestContext { .. }
            | Progress::Passed { .. }
            | Progress::Blind
            | Progress::LetOutAlone { .. }
            | Progress::TryFailed { .. }
            | Progress::Panicked
            | Progress::Explained { .. }
            | Progress::Head { .. }
            | Progress::FirstByte
            | Progress::FirstThought
            | Progress::FirstText
            | Progress::Cut { .. }
            | Progress::Led
            | Progress::Said { .. } => {}
        }
    }

    /// Announces the end of an answer that was read without its caller.
    pub(crate) fn drained(&self, events: &Events, summary: &Summary) {
        self.say(events, summary, "request_drained", &|w, _| {
            w.field_str("outcome", summary.outcome);
            spent(w, summary.said.as_ref().map(|said| &said.settled.usage));
            w.field_u64("duration_ms", milliseconds(summary.total));
        });
    }
}

impl Events {
    /// Announces a reached threshold of a budget, for any answer.
    pub(crate) fn budget(&self, reached: &BudgetReached<'_>) {
        let channels = self.answer_events(reached.tenant);
        if channels.is_empty() {
            return;
        }
        let BudgetReached { scope, unit, session, run, event, .. } = reached;
        let about = Arc::new(About {
            session: Some((*session).to_owned()),
            shown_session: Some(self.masker().mask_text(session)),
            run: Some((*run).to_owned()),
            ..About::default()
        });
        let data = |w: &mut Writer| {
            w.field_str("scope", scope);
            w.field_str("unit", unit.as_str());
            w.field_u64("used", event.used);
            w.field_u64("max", event.max);
            w.field_u64("percent", event.percent);
        };
        let kind = event.kind.as_str();
        tell(&channels, &about, Happening { stream: Stream::Budget, kind, data: &data });
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Writes a masked name from outside the gateway.
fn masked(w: &mut Writer, masker: &Masker, key: &str, name: Option<&str>) {
    w.str_or_null(key, name.map(|name| plain(name, masker)).as_deref());
}

fn decided(
    w: &mut Writer,
    masker: &Masker,
    counts: Counts,
    without: Without,
    decisions: &[Decision],
) {
    let Counts { restored, missed, ambiguous, dropped } = counts;
    let Without { bypassed, told, is_off, .. } = without;
    for (name, count) in [
        ("restored", restored),
        ("missed", missed),
        ("ambiguous", ambiguous),
        ("dropped", dropped),
        ("bypassed", bypassed),
        ("told", told),
    ] {
        w.field_u64(name, count as u64);
    }
    w.field_bool("thinking_off", is_off);
    w.key("decisions").array(|w| {
        Alike::of(decisions).iter().for_each(|it| it.write(w, |reason| masker.mask_text(reason)));
    });
}

fn ended(w: &mut Writer, masker: &Masker, summary: &Summary) {
    w.field_str("outcome", summary.outcome);
    w.field_u64("status", summary.status.into());
    w.str_or_null("error", summary.error);
    let said = summary.said.as_ref();
    masked(w, masker, "model", said.and_then(|Said { model, .. }| model.as_deref()));
    masked(w, masker, "finish_reason", said.and_then(|it| it.finish_reason.as_deref()));
    let usage = said.map(|said| &said.settled.usage);
    spent(w, usage);
    w.u64_or_null("cost_micro_usd", usage.and_then(|usage| summary.cost(usage)));
    w.field_u64("duration_ms", milliseconds(summary.total));
    w.field_u64("bytes", summary.bytes);
    w.field_u64("hops", summary.hops as u64);
}

fn spent(w: &mut Writer, usage: Option<&Usage>) {
    w.key("usage");
    let Some(usage) = usage else { return w.null() };
    w.object(|w| {
        w.u64_or_null("input_tokens", usage.input_tokens_with_cached());
        w.u64_or_null("output_tokens", usage.output_tokens_with_reasoning());
        w.u64_or_null("reasoning_tokens", usage.reasoning_tokens);
        w.u64_or_null("cached_tokens", usage.cache_read_tokens);
        w.u64_or_null("total_tokens", usage.total());
    });
}
