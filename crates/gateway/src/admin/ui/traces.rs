//! Stored traces for the viewer: lists, searches, sums, deletion.

use super::api::{Scope, unavailable};
use super::overview::object;
use crate::accept::place::unescaped;
use crate::rejection::{Rejection, rejection};
use crate::respond::flow::Flow;
use crate::respond::reply::json;
use crate::state::RequestState;
use http::Response;
use thinkthrough_core::echo::short;
use thinkthrough_core::plane::Tenant;
use thinkthrough_json::{Raw, Writer};
use thinkthrough_store::{Trace, TraceFilter, TraceSession, TraceSum, TraceText, Traces};

/// The most characters of a text in a list.
const BRIEF: usize = 240;
/// The most rows of an answer.
const ROWS: u32 = 60;
/// The most rows of a search, which reads whole texts.
const FOUND: u32 = 30;
/// The most words of a search; `LETTERS` is its longest text in bytes.
const WORDS: usize = 32;
const LETTERS: usize = 1024;

/// The parameters of a query.
struct Asked {
    filter: TraceFilter,
    words: String,
    within: TraceText,
    bucket: u64,
}

impl Asked {
    fn of(query: &str, scope: &Scope) -> Result<Self, Rejection> {
        let mut asked = Asked {
            filter: TraceFilter { limit: ROWS, ..TraceFilter::default() },
            words: String::new(),
            within: TraceText::All,
            bucket: 3_600_000,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = unescaped(&value.replace('+', " ")).ok_or_else(|| bad(name))?;
            if !value.is_empty() {
                asked.take(name, value).ok_or_else(|| bad(name))?;
            }
        }
        // A tenant sees only its own traces, even if the query names another tenant.
        if let Some(tenant) = scope.tenant() {
            asked.filter.tenant = Some(tenant.as_str().to_owned());
        }
        Ok(asked)
    }

    fn take(&mut self, name: &str, value: String) -> Option<()> {
        let filter = &mut self.filter;
        match name {
            "model" => filter.model = Some(value),
            "provider" => filter.provider = Some(value),
            "session" => filter.session = Some(value),
            "tenant" => filter.tenant = Some(value),
            "since" => filter.since = Some(value.parse().ok()?),
            "until" => filter.until = Some(value.parse().ok()?),
            "limit" => filter.limit = value.parse::<u32>().ok()?.clamp(1, ROWS),
            "after" => {
                let (time, id) = value.split_once('-')?;
                filter.after = Some((time.parse().ok()?, id.to_owned()));
            }
            "bucket" => self.bucket = value.parse::<u64>().ok()?.max(60_000),
            "in" => {
                self.within = match value.as_str() {
                    "thoughts" => TraceText::Thoughts,
                    "answers" => TraceText::Answers,
                    _ => TraceText::All,
                };
            }
            "q" => {
                let is_short = value.len() <= LETTERS && value.split_whitespace().count() <= WORDS;
                self.words = Some(value).filter(|_| is_short)?;
            }
            _ => return None,
        }
        Some(())
    }
}

fn bad(name: &str) -> Rejection {
    let name = short(name);
    rejection(
        400,
        "invalid_request_error",
        format!("`{name}` cannot be asked so; look at docs/viewer.md"),
    )
}

fn of(state: &RequestState) -> Result<Traces, Rejection> {
    let audit = state.options.audit.as_ref().ok_or_else(|| {
        rejection(
            404,
            "no_traces",
            "this gateway keeps no traces; see `[traces]` in docs/traces.md",
        )
    })?;
    audit.traces().ok_or_else(unavailable)
}

/// Rows of the list, newest first, and the cursor of the next page.
pub(super) async fn list(
    state: &RequestState,
    scope: &Scope,
    query: &str,
) -> Result<Response<Flow>, Rejection> {
    let Asked { mut filter, words, mut within, .. } = Asked::of(query, scope)?;
    let shows = state.options.shows_thoughts;
    if !shows {
        within = TraceText::Answers;
    }
    let traces = of(state)?;
    let (found, indexed_to) = if words.trim().is_empty() {
        filter.brief = Some(BRIEF);
        (traces.list(filter.clone()).await.map_err(|_| unavailable())?, None)
    } else {
        filter.limit = filter.limit.min(FOUND);
        let hits = traces.search(&words, within, filter.clone()).await;
        let hits = hits.map_err(|_| unavailable())?;
        (hits.traces, hits.indexed_to)
    };
    let is_full = found.len() >= usize::try_from(filter.limit).unwrap_or(usize::MAX);
    let next = found.last().filter(|_| is_full);
    let next = next.map(|last| format!("{}-{}", last.numbers.created_at, last.id));
    Ok(json(
        200,
        object(|w| {
            w.key("traces").array(|w| found.into_iter().for_each(|it| row(w, it, &words, shows)));
            w.str_or_null("next", next.as_deref());
            w.u64_or_null("indexedTo", indexed_to);
        }),
    ))
}

/// Writes a trace with an excerpt of its texts: the beginning, or the place of the first search word.
fn row(w: &mut Writer, trace: Trace, words: &str, shows: bool) {
    let word = words.split_whitespace().next().unwrap_or_default().to_lowercase();
    let (thought, answer) = (excerpt(&trace.thought, &word), excerpt(&trace.answer, &word));
    Trace { thought, answer, why: String::new(), ..trace }.write(w, shows);
}

fn excerpt(text: &str, word: &str) -> String {
    let lower = text.to_lowercase();
    // Lower case may be longer than the original, so the excerpt may begin a few characters off.
    let at = if word.is_empty() { 0 } else { lower.find(word).unwrap_or(0) };
    let begin =
        lower.get(..at).map_or(0, |before| before.chars().count()).saturating_sub(BRIEF / 4);
    let mut out = String::from(if begin > 0 { "… " } else { "" });
    out.extend(text.chars().skip(begin).take(BRIEF));
    out
}

/// Returns one trace in full.
pub(super) async fn one(
    state: &RequestState,
    scope: &Scope,
    id: &str,
) -> Result<Response<Flow>, Rejection> {
    let missing = || rejection(404, "not_found", format!("there is no trace `{}`", short(id)));
    let trace = of(state)?.get(id).await.map_err(|_| unavailable())?.ok_or_else(missing)?;
    if scope.tenant().is_some_and(|own| own.as_str() != trace.tenant) {
        return Err(missing());
    }
    Ok(json(200, Raw::build(|w| trace.write(w, state.options.shows_thoughts)).as_str().to_owned()))
}

/// Sessions, ordered by their newest trace, and the cursor of the next page.
pub(super) async fn sessions(
    state: &RequestState,
    scope: &Scope,
    query: &str,
) -> Result<Response<Flow>, Rejection> {
    let Asked { filter, .. } = Asked::of(query, scope)?;
    let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
    let found = of(state)?.sessions(filter).await.map_err(|_| unavailable())?;
    let next = found.last().filter(|_| found.len() >= limit);
    let next = next.map(|last| format!("{}-{}", last.last, last.last_id));
    Ok(json(
        200,
        object(|w| {
            w.key("sessions").array(|w| found.iter().for_each(|it| session(w, it)));
            w.str_or_null("next", next.as_deref());
        }),
    ))
}

fn session(w: &mut Writer, it: &TraceSession) {
    w.object(|w| {
        w.field_str("session", &it.session);
        w.field_str("tenant", &it.tenant);
        w.str_or_null("title", it.title.as_deref());
        w.str_or_null("client", it.client.as_deref());
        w.key("models").array(|w| it.models.iter().for_each(|model| w.str(model)));
        for (name, number) in [
            ("last", it.last),
            ("first", it.first),
            ("requests", it.requests),
            ("reasoning", it.reasoning_tokens),
            ("total", it.total_tokens),
            ("duration", it.duration),
        ] {
            w.field_u64(name, number);
        }
    });
}

/// Sums over time, for charts.
pub(super) async fn sums(
    state: &RequestState,
    scope: &Scope,
    query: &str,
) -> Result<Response<Flow>, Rejection> {
    let Asked { filter, bucket, .. } = Asked::of(query, scope)?;
    let sums = of(state)?.sums(filter, bucket).await.map_err(|_| unavailable())?;
    Ok(json(
        200,
        object(|w| {
            w.field_u64("bucket", bucket);
            w.key("sums").array(|w| sums.iter().for_each(|sum| written(w, sum)));
        }),
    ))
}

fn written(w: &mut Writer, sum: &TraceSum) {
    w.object(|w| {
        w.field_u64("at", sum.at);
        w.field_str("model", &sum.model);
        w.field_str("provider", &sum.provider);
        w.field_str("tenant", &sum.tenant);
        w.field_str("client", &sum.client);
        for (name, number) in [
            ("requests", sum.requests),
            ("failed", sum.failed),
            ("reasoning", sum.reasoning_tokens),
            ("total", sum.total_tokens),
            ("input", sum.input_tokens),
            ("cached", sum.cached_tokens),
            ("duration", sum.duration),
            ("restored", sum.restored),
            ("missed", sum.missed),
            ("ambiguous", sum.ambiguous),
            ("dropped", sum.dropped),
            ("cost", sum.cost),
            ("costed", sum.costed),
            ("cached_restored", sum.cached_restored),
        ] {
            w.field_u64(name, number);
        }
    });
}

/// Deletes traces older than `before`.
pub(super) async fn prune(
    state: &RequestState,
    scope: &Scope,
    order: &Raw,
) -> Result<Response<Flow>, Rejection> {
    for_admins(scope)?;
    let before = order.doc().root().u64("before").ok_or_else(|| bad("before"))?;
    let gone = of(state)?.prune_older_than(before).await.map_err(|_| unavailable())?;
    Ok(json(200, object(|w| w.field_u64("gone", gone))))
}

/// Erases all data of a tenant by destroying its keys.
pub(super) async fn erase(
    state: &RequestState,
    scope: &Scope,
    order: &Raw,
) -> Result<Response<Flow>, Rejection> {
    for_admins(scope)?;
    let name = order.doc().root().string("tenant").ok_or_else(|| bad("tenant"))?;
    let tenant = Tenant::stored(&name).map_err(|_| bad("tenant"))?;
    let erased = of(state)?.erase_tenant(&tenant).await.map_err(|_| unavailable())?;
    let gone = erased.ok_or_else(|| {
        rejection(404, "not_found", format!("the store has no tenant `{}`", short(&name)))
    })?;
    Ok(json(200, object(|w| w.field_u64("gone", gone))))
}

fn for_admins(scope: &Scope) -> Result<(), Rejection> {
    match scope {
        Scope::All => Ok(()),
        Scope::Tenant(_) => Err(rejection(403, "forbidden", "this is for admins; sign in as one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_where_the_word_stands() {
        let text = format!("{}The Race condition is here.", "é ".repeat(400));
        let found = excerpt(&text, "race");
        assert!(found.starts_with("… ") && found.contains("Race condition"), "{found}");
        assert_eq!(excerpt("short", ""), "short");
        assert_eq!(excerpt(&"x".repeat(900), "").chars().count(), BRIEF);
        assert_eq!(excerpt("", "race"), "");
    }

    #[test]
    fn t_14_nobody_asks_for_another_tenant_or_for_too_much() {
        let own = Scope::Tenant(Tenant::local());
        let asked = Asked::of("tenant=alice&limit=5000&model=a%2Fb", &own)
            .unwrap_or_else(|_| panic!("fine"));
        assert_eq!(asked.filter.tenant.as_deref(), Some(Tenant::local().as_str()));
        assert_eq!((asked.filter.limit, asked.filter.model.as_deref()), (ROWS, Some("a/b")));
        let long = format!("q={}", "a+".repeat(WORDS + 1));
        for query in ["since=x", "after=1", "nothing=1", "model=%zz", &long] {
            assert!(Asked::of(query, &own).is_err(), "{query}");
        }
    }
}
