//! One request to a model: taken, sent on, answered.

use crate::door::{self, Turned, turned};
use crate::flow::Flow;
use crate::house::House;
use crate::kept::named_by;
use crate::leaving;
use crate::passage::Passage;
use crate::place::Face;
use crate::recall::{Recalled, recall};
use crate::reply::{Account, json, refusal};
use crate::sending::{Begun, Outcome, Refused, begun, failed, is_hop, reason};
use crate::take;
use crate::tenant;
use crate::told::Told;
use crate::tries::Caller;
use bytes::BytesMut;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Extensions, HeaderMap, Response, StatusCode};
use hyper::body::Incoming;
use std::sync::Arc;
use thinkthrough_client::{BodyStream, ClientError, Response as Answer};
use thinkthrough_core::turn::Finished;
use thinkthrough_core::wire::{ErrorBody, Wire, error};

/// What the path says about a request.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) face: Face,
    pub(crate) model: Option<String>,
    pub(crate) stream: Option<bool>,
}

/// Answers a request to a model. Errors come in the caller's wire, and every answer explains itself.
pub(crate) async fn answer(
    house: &Arc<House>,
    parts: Parts,
    body: Incoming,
    wanted: Wanted,
) -> Response<Flow> {
    let mut account = Account::open();
    let wire = wanted.face.spoken();
    let call = Call { house, parts, wanted, wire, account: &mut account };
    let mut answer = call.run(body).await.unwrap_or_else(|turned| refusal(Some(wire), &turned));
    account.explain(&mut answer, &house.seen);
    answer
}

struct Call<'a> {
    house: &'a Arc<House>,
    parts: Parts,
    wanted: Wanted,
    wire: &'static dyn Wire,
    account: &'a mut Account,
}

impl Call<'_> {
    async fn run(self, body: Incoming) -> Result<Response<Flow>, Turned> {
        let credential = door::credential(&self.parts.uri, &self.parts.headers)?;
        let bytes = take::body(&self.parts.headers, body, self.house.options.body_limit).await?;
        let doc = take::json(&bytes)?;
        let root = doc.root();
        let named = self.wanted.model.clone().or_else(|| root.string("model"));
        let model = named.ok_or_else(|| {
            turned(400, "invalid_request_error", "`model` is missing; name the model to ask")
        })?;
        let route = take::route(self.house, &model, root)?;
        let named = named_by(self.house, root)?;
        let by_default = self.wanted.face.is_lines();
        let stream = self.wanted.stream.or_else(|| root.bool("stream")).unwrap_or(by_default);
        self.house.seen.tell(&Told::Asked { headers: &self.parts.headers, stream });
        let (hint, is_kept) =
            (tenant::hint(&self.parts.headers, root), !says_off(&self.parts.headers));
        let Recalled { body, keeping, is_bound } = match self.wanted.face {
            Face::Responses => {
                Box::pin(recall(self.house, &route, &credential, &doc, is_kept)).await?
            }
            _ => Recalled::default(),
        };
        let gone_on = body.as_ref().map(take::json).transpose()?;
        let doc = gone_on.as_ref().unwrap_or(&doc);
        let caller = Caller {
            house: Arc::clone(self.house),
            wire: self.wire,
            body: body.clone().unwrap_or_else(|| bytes.clone()),
            headers: self.parts.headers.clone(),
            query: self.parts.uri.query().map(str::to_owned),
            credential,
            hint,
            stream,
            is_kept,
            keeping,
            is_bound,
            named,
        };
        let waiting = caller.send(route, doc, self.account).await?;
        match begun(waiting, stream && !self.wanted.face.is_lines()).await {
            Begun::Outcome(outcome) => {
                self.begin((*outcome).map_err(|it| failed(&it))?, stream).await
            }
            Begun::Silent(waiting) => {
                let flow = Flow::waiting(waiting, self.wire);
                Ok(streamed(flow, "text/event-stream; charset=utf-8"))
            }
        }
    }

    /// The head of the caller's answer.
    async fn begin(self, outcome: Outcome, stream: bool) -> Result<Response<Flow>, Turned> {
        let (answer, passage) = match outcome {
            Outcome::Refused(refused) => {
                self.account.made = refused.made.clone();
                return Ok(refused_by(refused, self.wire));
            }
            Outcome::Answer { answer, passage, made } => {
                self.account.made = made;
                (answer, passage)
            }
        };
        if passage.is_relayed() {
            let Answer { status, mut headers, extensions, body, .. } = *answer;
            // A stream that breaks off gets a last event that its upstream did not count.
            if stream || !passage.is_untouched() {
                headers.remove(CONTENT_LENGTH);
            }
            let flow = match stream {
                true => Flow::stream(body, passage, self.wire),
                false => Flow::value(body, passage).await,
            };
            return Ok(relayed(status, &headers, extensions, flow));
        }
        if stream {
            let media = match self.wanted.face {
                Face::Lines | Face::Prompt => "application/x-ndjson",
                Face::Chat | Face::Generate | Face::Messages | Face::Responses => {
                    "text/event-stream; charset=utf-8"
                }
            };
            let flow = Flow::stream(answer.body, passage, self.wire);
            return Ok(streamed(flow, media));
        }
        Box::pin(whole(*answer, passage, self.house)).await
    }
}

/// Whether the caller wants nothing of its answer to be kept.
fn says_off(headers: &HeaderMap) -> bool {
    headers.get("x-thinkthrough-store").is_some_and(|value| value.as_bytes() == b"off")
}

/// A whole answer that comes, and its caller, who may go away meanwhile.
struct Reading {
    body: BodyStream,
    passage: Box<Passage>,
    came: BytesMut,
}

impl Drop for Reading {
    fn drop(&mut self) {
        drop(self.passage.push(self.came.split().freeze()));
        leaving::leave(&mut self.body, &mut self.passage);
    }
}

/// A whole answer in the caller's wire.
async fn whole(
    answer: Answer,
    passage: Box<Passage>,
    house: &House,
) -> Result<Response<Flow>, Turned> {
    let limit = house.options.body_limit;
    let mut reading = Reading { body: answer.body, passage, came: BytesMut::new() };
    while let Some(bytes) = reading.body.next().await {
        let bytes = bytes.and_then(|bytes| match reading.came.len() + bytes.len() > limit {
            false => Ok(bytes),
            true => Err(ClientError::TooLarge { target: "the provider".to_owned(), limit }),
        });
        let bytes = bytes.map_err(|error| {
            // It broke off by itself.
            reading.passage.abandon();
            reading.came.clear();
            house.seen.tell(&Told::Failed { reason: reason(&error) });
            failed(&error)
        })?;
        reading.came.extend_from_slice(&bytes);
    }
    let passage = &mut reading.passage;
    drop(passage.push(reading.came.split().freeze()));
    let Some(ended) = passage.end(None) else {
        return Err(turned(502, "upstream_error", "the answer ended before it began"));
    };
    let Finished { answer, failure, .. } = ended.finished;
    // An answer that says nothing and did not end as it should would look as if the model had nothing to say.
    if answer.blocks.is_empty() && !answer.is_complete() {
        let first = answer.problems.into_iter().next().map(|problem| problem.message);
        let message = failure.map(|failure| failure.message).or(first).unwrap_or_default();
        return Err(turned(502, "upstream_error", message));
    }
    if let Some(saving) = ended.saving {
        saving.wait().await;
    }
    Ok(json(200, ended.out))
}

/// The upstream's refusal: as it is on the caller's own wire, else in the caller's words, with what it says about
/// trying again.
fn refused_by(refused: Refused, wire: &dyn Wire) -> Response<Flow> {
    let Refused { status, headers, extensions, body, is_relayed, .. } = refused;
    if is_relayed {
        return relayed(status, &headers, extensions, Flow::whole(body));
    }
    let text = String::from_utf8_lossy(&body);
    let problem = error::read_text(&text);
    let message = problem.as_ref().map_or_else(
        || format!("the provider answered with status {}", status.as_u16()),
        |problem| problem.message.clone(),
    );
    let code =
        problem.and_then(|problem| problem.at).unwrap_or_else(|| "upstream_error".to_owned());
    let error = ErrorBody { status: status.as_u16(), code, message };
    let mut out = json(status.as_u16(), wire.write_error(&error));
    for (name, value) in &headers {
        let name_text = name.as_str();
        if name_text.starts_with("retry-after") || name_text.starts_with("x-ratelimit-") {
            out.headers_mut().append(name.clone(), value.clone());
        }
    }
    out
}

/// An answer with the upstream's own head.
pub(crate) fn relayed(
    status: StatusCode,
    headers: &HeaderMap,
    extensions: Extensions,
    flow: Flow,
) -> Response<Flow> {
    let mut out = Response::new(flow);
    *out.status_mut() = status;
    *out.extensions_mut() = extensions;
    for (name, value) in headers {
        if !door::stays_here(name) && !is_hop(name) {
            out.headers_mut().append(name.clone(), value.clone());
        }
    }
    out
}

fn streamed(flow: Flow, media: &'static str) -> Response<Flow> {
    let mut out = Response::new(flow);
    out.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    out.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    out
}
