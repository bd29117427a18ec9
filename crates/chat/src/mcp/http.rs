//! The HTTP transport of the protocol, with our own client.
//!
//! Facts: the transport chapter of the Model Context Protocol, "Streamable HTTP".

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use std::collections::HashMap;
use std::sync::Arc;
use thinkthrough_client::{Auth, BodyStream, Client, ClientError, Request, Response, Secret};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const MAX_BODY: usize = 16 * 1024 * 1024;
const MAX_ERROR: usize = 64 * 1024;

type Failed = StreamableHttpError<ClientError>;

/// The HTTP transport of one server.
#[derive(Clone)]
pub(super) struct Http {
    client: Client,
    auth: Auth,
    headers: Vec<(String, Secret)>,
}

impl Http {
    pub(super) fn new(client: Client, auth: Auth, headers: Vec<(String, Secret)>) -> Self {
        Http { client, auth, headers }
    }

    async fn send(
        &self,
        (method, url): (Method, &str),
        body: String,
        session: Option<&str>,
        (accept, more): (&'static str, HashMap<HeaderName, HeaderValue>),
    ) -> Result<Response, Failed> {
        let mut request = Request::new(method, url).map_err(StreamableHttpError::Client)?;
        let headers = &mut request.headers;
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        if !body.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        for (name, value) in &self.headers {
            let refuse = || {
                let message = format!(
                    "`{name}` is no header, or its value has a character that none can have"
                );
                StreamableHttpError::Client(ClientError::Request(message))
            };
            let name = HeaderName::try_from(name.as_str()).map_err(|_| refuse())?;
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| refuse())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers.extend(more);
        if let Some(session) = session.and_then(|it| HeaderValue::from_str(it).ok()) {
            headers.insert(SESSION, session);
        }
        request.body = body.into();
        request.auth = self.auth.clone();
        let response = self.client.send(&request).await.map_err(StreamableHttpError::Client)?;
        if response.status == StatusCode::UNAUTHORIZED {
            let challenge = text(&response.headers, &header::WWW_AUTHENTICATE).unwrap_or_default();
            return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)));
        }
        if response.status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        Ok(response)
    }
}

impl StreamableHttpClient for Http {
    type Error = ClientError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let body = serde_json::to_string(&message)?;
        let accept = "application/json, text/event-stream";
        let asked = (Method::POST, &*uri);
        let response =
            self.send(asked, body, session_id.as_deref(), (accept, custom_headers)).await?;
        let status = response.status;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !status.is_success() {
            return Err(refusal(response).await);
        }
        let session = text(&response.headers, &SESSION);
        let kind = text(&response.headers, &header::CONTENT_TYPE);
        match kind.as_deref() {
            Some(kind) if kind.starts_with(EVENTS) => {
                Ok(StreamableHttpPostResponse::Sse(events(response.body), session))
            }
            Some(kind) if kind.starts_with(JSON) => {
                let read = response.body.collect_up_to(MAX_BODY).await;
                let bytes = read.map_err(StreamableHttpError::Client)?;
                let message: ServerJsonRpcMessage = serde_json::from_slice(&bytes)?;
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            _ => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let asked = (Method::DELETE, &*uri);
        let response =
            self.send(asked, String::new(), Some(&session_id), (JSON, custom_headers)).await?;
        match response.status {
            StatusCode::METHOD_NOT_ALLOWED => {
                Err(StreamableHttpError::ServerDoesNotSupportDeleteSession)
            }
            status if status.is_success() => Ok(()),
            _ => Err(refusal(response).await),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth: Option<String>,
        mut custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        if let Some(last) = last_event_id.and_then(|it| HeaderValue::from_str(&it).ok()) {
            custom_headers.insert(LAST_EVENT, last);
        }
        let asked = (Method::GET, &*uri);
        let response = self
            .send(asked, String::new(), session_id.as_deref(), (EVENTS, custom_headers))
            .await?;
        if response.status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !response.status.is_success() {
            return Err(refusal(response).await);
        }
        match text(&response.headers, &header::CONTENT_TYPE) {
            Some(kind) if kind.starts_with(EVENTS) => Ok(events(response.body)),
            kind => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }
}

async fn refusal(response: Response) -> Failed {
    let status = response.status;
    let body = response.body.collect_error(MAX_ERROR).await;
    let body = String::from_utf8_lossy(&body);
    let head: String = body.trim().chars().take(300).collect();
    StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}: {head}").into())
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn events(body: BodyStream) -> BoxStream<'static, Result<Sse, SseError>> {
    let chunks = stream::unfold(body, |mut body| async {
        let chunk = body.next().await?;
        Some((chunk, body))
    });
    SseStream::from_bytes_stream(chunks.boxed()).boxed()
}
