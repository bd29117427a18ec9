//! Counts the tokens of the first attempt of a request, which `think serve` would send and `think explain` shows.

use crate::door::{self, Turned, turned};
use crate::edge::headers::Crossing;
use crate::edge::inbound::Inbound;
use crate::first::First;
use crate::flow::Flow;
use crate::house::House;
use crate::load::{Denied, LARGE, READ, Reservation};
use crate::models::Route;
use crate::place::Face;
use crate::reply::{Account, json, refusal};
use crate::sending::{Job, merged};
use crate::take;
use crate::tenant;
use crate::tries::Caller;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Response};
use std::collections::BTreeSet;
use std::sync::Arc;
use thinkthrough_client::{Auth, Request as Outbound};
use thinkthrough_core::tokens::EffectiveCount;
use thinkthrough_json::{Doc, Raw, Val, Writer};

/// More than any count says.
const ANSWER: usize = 64 * 1024;

/// Answers `/v1/messages/count_tokens` and `:countTokens`.
pub(crate) async fn answer(
    house: &Arc<House>,
    parts: Parts,
    body: Inbound,
    face: Face,
    model: Option<String>,
) -> Response<Flow> {
    let (account, outcome) = counted(house, parts, body, face, model).await;
    let mut answer = outcome.unwrap_or_else(|turned| refusal(Some(face.spoken()), &turned));
    account.explain(&mut answer, &house.seen);
    answer
}

async fn counted(
    house: &Arc<House>,
    parts: Parts,
    body: Inbound,
    face: Face,
    model: Option<String>,
) -> (Account, Result<Response<Flow>, Turned>) {
    let mut account = Account::open();
    let taken = async {
        let credential = door::credential(&parts.uri, &parts.headers)?;
        let (bytes, held) = take::body(house, &parts.headers, body, READ).await?;
        let turn =
            house.load.offload.turn(take::size(house, &bytes)).await.map_err(Denied::turned)?;
        Ok((credential, bytes, held, turn))
    };
    let (credential, bytes, held, turn) = match taken.await {
        Ok(taken) => taken,
        Err(turned) => return (account, Err(turned)),
    };
    let counting = Counting { house: Arc::clone(house), headers: parts.headers, face, credential };
    let work = Box::pin(async move {
        let outcome = counting.prepare((bytes, held), model, &mut account).await;
        (counting, account, outcome)
    });
    let (counting, account, prepared) = turn.run(work).await;
    let outcome = match prepared {
        Ok(prepared) => counting.answer(prepared).await,
        Err(turned) => Err(turned),
    };
    (account, outcome)
}

/// Who wants to know.
struct Counting {
    house: Arc<House>,
    headers: HeaderMap,
    face: Face,
    credential: Auth,
}

/// A request that is counted.
struct Counted {
    /// The request as it would be sent.
    first: First,
    /// Where the upstream itself can be asked.
    ask: Option<Ask>,
}

impl Counting {
    /// All that reads or writes the whole request.
    async fn prepare(
        &self,
        (bytes, held): (Bytes, Reservation),
        model: Option<String>,
        account: &mut Account,
    ) -> Result<Counted, Turned> {
        let Counting { house, headers, face, credential } = self;
        let bad = |message: &str| turned(400, "invalid_request_error", message);
        let bytes = take::masked(house, unwrapped(&bytes)?)?;
        let doc = take::json(&bytes)?;
        let root = doc.root();
        let model = model.or_else(|| root.string("model"));
        let model = model.ok_or_else(|| bad("`model` is missing; name the model to ask"))?;
        let route = take::route(house, &model, root)?;
        // Counting spends no tokens.
        house.tab.enter(house.pass.as_deref(), || 0).await?;
        let caller = Caller {
            house: Arc::clone(house),
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

    /// The question for the upstream's own count. `None` if it has no such route.
    fn ask(&self, first: &First) -> Option<Ask> {
        let First { job, prepared, .. } = first;
        let (exchange, target) = (&prepared.exchange, &job.route.target);
        // A platform counts at an address of its own.
        if !exchange.is_relayed() || target.dialect.hosted.is_some() {
            return None;
        }
        let outgoing = exchange.outgoing();
        let url = asking(self.face, &outgoing.url);
        let callers = Crossing::to(&job.route).request(&self.headers);
        let headers = merged(&outgoing.headers, callers);
        let body = match url.ends_with(":countTokens") {
            // Only within the envelope this route takes what belongs to a whole request.
            true => enveloped(&target.model, &job.body)?,
            false => job.body.clone(),
        };
        Some(Ask { url, headers, body })
    }

    async fn answer(self, counted: Counted) -> Result<Response<Flow>, Turned> {
        let Counted { first, ask } = counted;
        let Job { route, auth, body: sent, .. } = &first.job;
        if let Some(ask) = ask
            && let Some(answer) = ask.send(&self.house, route, auth.clone()).await
        {
            return Ok(json(200, answer));
        }
        let sent = sent.clone();
        let (tokenizer, size) = (self.house.options.tokenizer, sent.len().max(LARGE + 1));
        // Loading the tables would hold up other answers, too, however short the request is.
        let count = Box::pin(async move {
            let tokenizer = tokenizer.map(|it| it as &dyn thinkthrough_core::tokens::Tokenizer);
            EffectiveCount::new(tokenizer).of_body(&String::from_utf8_lossy(&sent)).count
        });
        let count = self.house.load.offload.go_on(size, count).await;
        Ok(json(200, written(self.face, count.tokens)))
    }
}

/// The request within the envelope that `:countTokens` also takes.
fn unwrapped(bytes: &Bytes) -> Result<Bytes, Turned> {
    let doc = take::json(bytes)?;
    let inner = doc.root().some("generateContentRequest").map(Val::raw);
    Ok(inner.map_or_else(|| bytes.clone(), |inner| Bytes::copy_from_slice(inner.as_bytes())))
}

/// The upstream's own route beside the one that answers.
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
    /// What the upstream says; `None` where it has no such route or cannot be asked.
    async fn send(self, house: &House, route: &Route, auth: Auth) -> Option<Bytes> {
        let mut send = Outbound::post(&self.url, self.body).ok()?;
        send.gate = house.tab.gate(route, || 0);
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
