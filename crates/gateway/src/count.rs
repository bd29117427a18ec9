//! How many tokens a request has, as it would be sent: with the thoughts that were put back, and without those that are
//! withheld.

use crate::asking::{Claim, claim, credential_for, handling, look_up, settings};
use crate::audit::Labels;
use crate::door::{self, Turned, turned};
use crate::edge::headers::Crossing;
use crate::edge::inbound::Inbound;
use crate::flow::Flow;
use crate::house::House;
use crate::learned::{about, now};
use crate::load::{Denied, LARGE, READ};
use crate::models::Route;
use crate::place::Face;
use crate::provider_resource::{Access, Ids};
use crate::reply::{Account, json, refusal};
use crate::sending::merged;
use crate::spending::Asking;
use crate::take;
use crate::tenant;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Response};
use std::sync::Arc;
use thinkthrough_client::{Auth, Request as Outbound};
use thinkthrough_core::exchange::{Prepared, RequestContext, Restore};
use thinkthrough_core::json::{Doc, Raw, Val, Writer};
use thinkthrough_core::tokens::EffectiveCount;

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
        let outcome = counting.prepare(bytes, model, &mut account).await;
        (counting, account, outcome)
    });
    let (counting, account, prepared) = turn.run(work).await;
    let outcome = match prepared {
        Ok(prepared) => counting.answer(prepared).await,
        Err(turned) => Err(turned),
    };
    drop(held);
    (account, outcome)
}

/// Who wants to know.
struct Counting {
    house: Arc<House>,
    headers: HeaderMap,
    face: Face,
    credential: Auth,
}

/// What is to be counted.
struct Counted {
    route: Arc<Route>,
    sent: Bytes,
    /// Where the upstream itself can be asked.
    ask: Option<Ask>,
}

impl Counting {
    /// All that reads or writes the whole request.
    async fn prepare(
        &self,
        bytes: Bytes,
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
        let hint = tenant::hint(headers, root);
        let claim = claim(house, &route, credential, hint.clone()).await;
        let settings = settings(&route, headers)?;
        let handling = handling(&route, headers)?;
        let (owner, vault) = claim.map(|Claim { owner, vault }| (owner, vault)).unzip();
        let repairs = !handling.dry_run && handling.restore == Restore::Recommended;
        let learned = owner
            .as_ref()
            .filter(|_| repairs)
            .and_then(|owner| house.learned.of(&about(owner.tenant.clone(), &route.target), now()));
        let secret = owner.as_ref().map(|owner| (owner.tenant.clone(), owner.secret.clone()));
        let asked =
            RequestContext::read(face.spoken(), &doc, &route.target, &settings, handling, owner);
        let mut asked = asked.map_err(|error| bad(&error.to_string()))?;
        let labels =
            secret.map(|(tenant, secret)| Labels::of(tenant, &secret, hint.as_deref(), &asked));
        let purse = Asking {
            pass: house.pass.as_deref(),
            vaults: house.vaults.as_ref(),
            headers,
            hint: hint.as_deref(),
            labels,
            body: None,
            is_as_it_is: true,
        };
        house.tab.check(purse, &asked).await?;
        learned.into_iter().for_each(|repair| asked.repair(repair));
        let looked = look_up(&mut asked, vault.as_ref(), house).await;
        let prepared = asked.prepare(&looked.found, &*looked.open);
        drop(asked);
        account.made.counts = prepared.counts;
        account.made.learned = learned;
        account.made.without = prepared.without;
        let Prepared { body, exchange, .. } = prepared;
        let sent = body.map_or_else(|| bytes.clone(), Bytes::from);
        if let Some(access) = Access::of(house, &route.target.provider)
            && let Ok(doc) = Doc::parse(&sent)
        {
            access.admit(&Ids::of_model(route.target.wire, doc.root())).await?;
        }
        account.untranslated.clone_from(&exchange.outgoing().untranslated);
        account.adapted.clone_from(&exchange.outgoing().adapted);
        let outgoing = exchange.outgoing();
        // A platform has its own way to count, which is not beside the one that answers.
        let has_route = exchange.is_relayed() && route.target.dialect.hosted.is_none();
        let ask = has_route.then(|| {
            let url = asking(*face, &outgoing.url);
            let headers = merged(&outgoing.headers, Crossing::to(&route).request(headers));
            let body = match url.ends_with(":countTokens") {
                // Only within the envelope this route takes what belongs to a whole request.
                true => enveloped(&route.target.model, &sent)?,
                false => sent.clone(),
            };
            Some(Ask { url, headers, body })
        });
        Ok(Counted { route, sent, ask: ask.flatten() })
    }

    async fn answer(self, counted: Counted) -> Result<Response<Flow>, Turned> {
        let Counted { route, sent, ask } = counted;
        if let Some(ask) = ask
            && let Some(answer) =
                ask.send(&self.house, &route, credential_for(&route, self.credential)).await
        {
            return Ok(json(200, answer));
        }
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
