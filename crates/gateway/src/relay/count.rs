//! Counts the tokens of the first attempt of a request, which `think serve` would send and `think explain` shows.

use crate::accept::place::Face;
use crate::attempt::sending::{Job, merged};
use crate::attempt::tries::Caller;
use crate::credential;
use crate::load::{Denied, LARGE, READ, Reservation};
use crate::models::route::Route;
use crate::models::tenant;
use crate::rejection::{Rejection, rejection};
use crate::relay::first::First;
use crate::request::edge::headers::Crossing;
use crate::request::edge::inbound::Inbound;
use crate::request::take;
use crate::respond::flow::Flow;
use crate::respond::reply::{Account, json, refusal};
use crate::state::RequestState;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Response};
use std::collections::BTreeSet;
use std::sync::Arc;
use thinkthrough_client::{Auth, Request as Outbound};
use thinkthrough_core::tokens::EffectiveCount;
use thinkthrough_json::{Doc, Raw, Val, Writer};

/// The longest count answer of an upstream, in bytes.
const ANSWER: usize = 64 * 1024;

/// Answers `/v1/messages/count_tokens` and `:countTokens`.
pub(crate) async fn answer(
    state: &Arc<RequestState>,
    parts: Parts,
    body: Inbound,
    face: Face,
    model: Option<String>,
) -> Response<Flow> {
    let (account, outcome) = counted(state, parts, body, face, model).await;
    let mut answer = outcome.unwrap_or_else(|rejection| refusal(Some(face.spoken()), &rejection));
    account.explain(&mut answer, &state.reporter);
    answer
}

async fn counted(
    state: &Arc<RequestState>,
    parts: Parts,
    body: Inbound,
    face: Face,
    model: Option<String>,
) -> (Account, Result<Response<Flow>, Rejection>) {
    let mut account = Account::open();
    let taken = async {
        let credential = credential::of(&parts.uri, &parts.headers)?;
        let (bytes, held) = take::body(state, &parts.headers, body, READ).await?;
        let turn =
            state.load.offload.turn(take::size(state, &bytes)).await.map_err(Denied::rejection)?;
        Ok((credential, bytes, held, turn))
    };
    let (credential, bytes, held, turn) = match taken.await {
        Ok(taken) => taken,
        Err(rejection) => return (account, Err(rejection)),
    };
    let counting = Counting { state: Arc::clone(state), headers: parts.headers, face, credential };
    let work = Box::pin(async move {
        let outcome = counting.prepare((bytes, held), model, &mut account).await;
        (counting, account, outcome)
    });
    let (counting, account, prepared) = turn.run(work).await;
    let outcome = match prepared {
        Ok(prepared) => counting.answer(prepared).await,
        Err(rejection) => Err(rejection),
    };
    (account, outcome)
}

/// The caller of a count.
struct Counting {
    state: Arc<RequestState>,
    headers: HeaderMap,
    face: Face,
    credential: Auth,
}

/// A prepared request whose tokens are counted.
struct Counted {
    /// The request as it would be sent.
    first: First,
    /// The request for the upstream's own count, if the upstream has such a route.
    ask: Option<Ask>,
}

impl Counting {
    /// Does all work on the whole body.
    async fn prepare(
        &self,
        (bytes, held): (Bytes, Reservation),
        model: Option<String>,
        account: &mut Account,
    ) -> Result<Counted, Rejection> {
        let Counting { state, headers, face, credential } = self;
        let bad = |message: &str| rejection(400, "invalid_request_error", message);
        let bytes = take::masked(state, unwrapped(&bytes)?)?;
        let doc = take::json(&bytes)?;
        let root = doc.root();
        let model = model.or_else(|| root.string("model"));
        let model = model.ok_or_else(|| bad("`model` is missing; name the model to ask"))?;
        let route = take::route(state, &model, root)?;
        // Counting spends no tokens.
        state.charges.enter(state.pass.as_deref(), || 0).await?;
        let caller = Caller {
            state: Arc::clone(state),
            wire: face.spoken(),
            body: bytes.clone(),
            headers: headers.clone(),
            query: None,
            credential: credential.clone(),
            hint: tenant::hint(headers, root),
            stream: root.bool("stream").unwrap_or_default(),
            model,
            is_kept: true,
            is_counted: true,
            keeping: None,
            is_bound: false,
            resources: BTreeSet::new(),
            held,
        };
        let first = caller.first(route, &doc, account).await?;
        let ask = self.ask(&first);
        Ok(Counted { first, ask })
    }

    /// Builds the request for the upstream's own count. `None` if the upstream has no such route.
    fn ask(&self, first: &First) -> Option<Ask> {
        let First { job, prepared, .. } = first;
        let (exchange, target) = (&prepared.exchange, &job.route.target);
        // Hosting platforms count at other addresses.
        if !exchange.is_relayed() || target.dialect.hosted.is_some() {
            return None;
        }
        let outgoing = exchange.outgoing();
        let url = asking(self.face, &outgoing.url);
        let callers = Crossing::to(&job.route).request(&self.headers);
        let headers = merged(&outgoing.headers, callers);
        let body = match url.ends_with(":countTokens") {
            // This route accepts the members of a whole request only inside the envelope.
            true => enveloped(&target.model, &job.body)?,
            false => job.body.clone(),
        };
        Some(Ask { url, headers, body })
    }

    async fn answer(self, counted: Counted) -> Result<Response<Flow>, Rejection> {
        let Counted { first, ask } = counted;
        let Job { route, auth, body: sent, .. } = &first.job;
        if let Some(ask) = ask
            && let Some(answer) = ask.send(&self.state, route, auth.clone()).await
        {
            return Ok(json(200, answer));
        }
        let sent = sent.clone();
        let (tokenizer, size) = (self.state.options.tokenizer, sent.len().max(LARGE + 1));
        // Loading the tables would block other answers, even for a short request.
        let count = Box::pin(async move {
            let tokenizer = tokenizer.map(|it| it as &dyn thinkthrough_core::tokens::Tokenizer);
            EffectiveCount::new(tokenizer).of_body(&String::from_utf8_lossy(&sent)).count
        });
        let count = self.state.load.offload.go_on(size, count).await;
        Ok(json(200, written(self.face, count.tokens)))
    }
}

/// The request inside the envelope that `:countTokens` also accepts.
fn unwrapped(bytes: &Bytes) -> Result<Bytes, Rejection> {
    let doc = take::json(bytes)?;
    let inner = doc.root().some("generateContentRequest").map(Val::raw);
    Ok(inner.map_or_else(|| bytes.clone(), |inner| Bytes::copy_from_slice(inner.as_bytes())))
}

/// The URL of the upstream's count route, from the URL of its answer route.
fn asking(face: Face, url: &str) -> String {
    let url = url.split('?').next().unwrap_or(url);
    match face {
        Face::Generate => {
            let base = url.rsplit_once(':').map_or(url, |(base, _)| base);
            format!("{base}:countTokens")
        }
        _ => format!("{url}/count_tokens"),
    }
}

struct Ask {
    url: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Ask {
    /// Asks the upstream. `None` if it cannot be asked or does not answer with a count.
    async fn send(self, state: &RequestState, route: &Route, auth: Auth) -> Option<Bytes> {
        let mut send = Outbound::post(&self.url, self.body).ok()?;
        send.gate = state.charges.gate(route, || 0);
        send.headers = self.headers;
        send.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        send.auth = auth;
        let answer = route.transport.send(&send).await.ok()?;
        if !answer.status.is_success() {
            return None;
        }
        let body = answer.body.collect_up_to(ANSWER).await.ok()?;
        let is_count = Doc::parse(&body).is_ok_and(|doc| {
            ["input_tokens", "totalTokens"].into_iter().any(|key| doc.root().some(key).is_some())
        });
        is_count.then_some(body)
    }
}

fn enveloped(model: &str, body: &[u8]) -> Option<Bytes> {
    let doc = Doc::parse(body).ok()?;
    let raw = Raw::build(|w: &mut Writer| {
        w.object(|w| {
            w.key("generateContentRequest").object(|w| {
                w.field_str("model", &format!("models/{model}"));
                for (key, value) in doc.root().entries().filter(|(key, _)| *key != "model") {
                    w.key(&key).raw_str(value.raw());
                }
            });
        });
    });
    Some(Bytes::copy_from_slice(raw.as_str().as_bytes()))
}

fn written(face: Face, tokens: u64) -> String {
    let key = if face == Face::Generate { "totalTokens" } else { "input_tokens" };
    Raw::build(|w: &mut Writer| w.object(|w| w.field_u64(key, tokens))).as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upstreams_route_stands_beside_the_one_that_answers() {
        let messages = asking(Face::Messages, "https://a.test/v1/messages");
        assert_eq!(messages, "https://a.test/v1/messages/count_tokens");
        let generate = "https://g.test/v1beta/models/m:streamGenerateContent?alt=sse";
        assert_eq!(asking(Face::Generate, generate), "https://g.test/v1beta/models/m:countTokens");
    }

    #[test]
    fn a_request_within_its_envelope_is_the_request() {
        let inner = r#"{"contents":[]}"#;
        let whole = format!(r#"{{"generateContentRequest":{inner}}}"#);
        for body in [inner.to_owned(), whole] {
            assert_eq!(unwrapped(&Bytes::from(body)).ok().unwrap(), inner);
        }
        let body = enveloped("m", inner.as_bytes()).unwrap();
        let expected = r#"{"generateContentRequest":{"model":"models/m","contents":[]}}"#;
        assert_eq!(body, expected);
    }
}
