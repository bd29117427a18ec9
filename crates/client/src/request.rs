use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::uri::Authority;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Uri};

use crate::error::{ClientError, shown};
use crate::gate::Gate;
use crate::private_header::private_parts;
use crate::proxy::{basic, credentials};
use crate::scrub::{Forms, Secrets};
use crate::secret::{Auth, Secret};

/// Removes the optional part of a body, given the body and its refusal. Returns `None` if the body has no such part,
/// or if the refusal is about something else.
pub type Plainer = fn(&[u8], &[u8]) -> Option<Vec<u8>>;

/// Decides by the body of a 5xx whether a retry is useless.
pub type Lasting = fn(&[u8]) -> bool;

/// One request to an upstream.
#[derive(Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The absolute URL; a `user:password@` in it becomes a `Basic` credential.
    pub url: Uri,
    /// The headers, sent in this order. Headers of a connection are left out.
    pub headers: HeaderMap,
    /// The body; may be empty.
    pub body: Bytes,
    /// Removes an optional part of the body that some servers refuse.
    pub plainer: Option<Plainer>,
    /// Recognises a 5xx for which a retry is useless.
    pub lasting: Option<Lasting>,
    /// The credential. It replaces a header of the same name.
    pub auth: Auth,
    /// Extensions of the HTTP request. The extensions of a caller's request preserve the letter case of its header
    /// names over HTTP/1.1.
    pub extensions: Extensions,
    /// Lets each attempt out, or holds it back.
    pub gate: Option<Arc<dyn Gate>>,
}

impl Request {
    /// Begins a request without headers, body and credential.
    ///
    /// # Errors
    ///
    /// [`ClientError::Request`] if `url` is not an absolute URL.
    pub fn new(method: Method, url: &str) -> Result<Self, ClientError> {
        let refuse = || {
            let shown = url.split(['?', '#']).next().unwrap_or_default();
            let shown = shown.rsplit_once('@').map_or(shown, |(_, rest)| rest);
            ClientError::Request(format!(
                "`{shown}` is not an absolute URL; begin it with `http://` or `https://`"
            ))
        };
        let url: Uri = url.trim().parse().map_err(|_| refuse())?;
        if url.scheme().is_none() || url.host().is_none_or(str::is_empty) {
            return Err(refuse());
        }
        Ok(Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            plainer: None,
            lasting: None,
            auth: Auth::None,
            extensions: Extensions::new(),
            gate: None,
        })
    }

    /// Begins a `POST` with a body.
    ///
    /// # Errors
    ///
    /// [`ClientError::Request`] if `url` is not an absolute URL.
    pub fn post(url: &str, body: impl Into<Bytes>) -> Result<Self, ClientError> {
        Ok(Self { body: body.into(), ..Self::new(Method::POST, url)? })
    }

    /// The secrets that an answer must not repeat: the credential, and the private parts of headers.
    pub(crate) fn secrets(&self) -> Secrets {
        let mut forms = self.auth.secrets();
        let user = self.url.authority().and_then(|it| credentials(it.as_str()));
        forms.extend(user.and_then(|(_, password)| password.forms()));
        // An answer may repeat the caller's own headers. Headers from the configuration were marked as sensitive.
        for (name, value) in self.headers.iter().filter(|(_, value)| value.is_sensitive()) {
            let parts = private_parts(name.as_str(), value.to_str().unwrap_or_default());
            forms.extend(parts.into_iter().filter_map(Forms::of).map(Arc::new));
        }
        Secrets::new(forms)
    }

    /// Builds the HTTP request: adds the credential, removes connection headers, and keeps the order of the others.
    pub(crate) fn prepare(&self, user_agent: &str) -> Result<http::Request<Bytes>, ClientError> {
        let (mut url, user) = split_user(&self.url)?;
        let mut auth_header = None;
        match &self.auth {
            // `Aws` signs the finished request below. `Token` was exchanged for a bearer token before.
            Auth::None | Auth::Aws(_) | Auth::Token(_) => {}
            Auth::Bearer(secret) => {
                auth_header = Some((AUTHORIZATION, secret_value("Bearer ", secret)?));
            }
            Auth::Header { name, secret } => {
                auth_header = Some((name.clone(), secret_value("", secret)?));
            }
            Auth::Query { name, secret } => url = with_parameter(&url, name, secret)?,
        }
        if let Some(value) = user {
            let has_header = self.headers.contains_key(AUTHORIZATION);
            if has_header || auth_header.as_ref().is_some_and(|(name, _)| *name == AUTHORIZATION) {
                return Err(ClientError::Request(format!(
                    "`{}` brings a user name besides the key; take one of them out",
                    shown(&url)
                )));
            }
            auth_header.get_or_insert((AUTHORIZATION, value));
        }
        let mut request = http::Request::new(self.body.clone());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = url;
        *request.headers_mut() = self.outgoing(auth_header, user_agent)?;
        *request.extensions_mut() = self.extensions.clone();
        if let Auth::Aws(keys) = &self.auth {
            keys.sign(&mut request, SystemTime::now())?;
        }
        Ok(request)
    }

    fn outgoing(
        &self,
        auth: Option<(HeaderName, HeaderValue)>,
        user_agent: &str,
    ) -> Result<HeaderMap, ClientError> {
        let identity = HeaderValue::from_static("identity");
        let listed = listed_in_connection(&self.headers);
        // Builds a new map, because removing an entry from a map disturbs its order.
        let mut headers = HeaderMap::with_capacity(self.headers.len() + 3);
        for (name, value) in &self.headers {
            let is_replaced = auth.as_ref().is_some_and(|(replaced, _)| replaced == name);
            if is_replaced || belongs_to_connection(name) || listed.contains(name) {
                continue;
            }
            if name == ACCEPT_ENCODING {
                headers.insert(ACCEPT_ENCODING, identity.clone());
                continue;
            }
            headers.append(name.clone(), value.clone());
        }
        if !headers.contains_key(USER_AGENT) {
            let value = HeaderValue::from_str(user_agent).map_err(|_| {
                ClientError::Config("`client.user_agent` is not a valid header value".to_owned())
            })?;
            headers.insert(USER_AGENT, value);
        }
        headers.entry(ACCEPT_ENCODING).or_insert(identity);
        if let Some((name, value)) = auth {
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &shown(&self.url))
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("body_bytes", &self.body.len())
            .field("auth", &self.auth)
            .finish_non_exhaustive()
    }
}

/// Whether a header belongs to one connection, so that it must not be forwarded (RFC 9110, 7.6.1).
fn belongs_to_connection(name: &HeaderName) -> bool {
    const LISTED: [HeaderName; 10] = [
        CONNECTION,
        CONTENT_LENGTH,
        EXPECT,
        HOST,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    LISTED.contains(name) || matches!(name.as_str(), "keep-alive" | "proxy-connection")
}

fn listed_in_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter();
    let names = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    names.filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok()).collect()
}

fn secret_value(prefix: &str, secret: &Secret) -> Result<HeaderValue, ClientError> {
    let mut value =
        HeaderValue::from_str(&format!("{prefix}{}", secret.expose())).map_err(|_| {
            ClientError::Request(
                "the key holds a character that no header can carry; copy it again".to_owned(),
            )
        })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Takes `user:password@` out of a URL and turns it into a credential.
fn split_user(url: &Uri) -> Result<(Uri, Option<HeaderValue>), ClientError> {
    let Some(authority) = url.authority() else { return Ok((url.clone(), None)) };
    let Some((name, password)) = credentials(authority.as_str()) else {
        return Ok((url.clone(), None));
    };
    let rest = authority.as_str().rsplit_once('@').map_or("", |(_, rest)| rest);
    let mut parts = url.clone().into_parts();
    parts.authority = Authority::try_from(rest).ok();
    let malformed =
        || ClientError::Request(format!("the user name in the URL `{}` is malformed", shown(url)));
    let bare = Uri::from_parts(parts).map_err(|_| malformed())?;
    let value = basic(&name, password.expose()).ok_or_else(malformed)?;
    Ok((bare, Some(value)))
}

/// Sets one parameter of a URL's query, in place of any of the same name.
fn with_parameter(url: &Uri, name: &str, secret: &Secret) -> Result<Uri, ClientError> {
    let pair = format!("{}={}", escape(name), escape(secret.expose()));
    let others = url.query().unwrap_or_default().split('&');
    let kept = others.filter(|other| {
        !other.is_empty() && other.split('=').next().is_some_and(|key| key != escape(name))
    });
    let query: Vec<&str> = kept.chain([pair.as_str()]).collect();
    let mut parts = url.clone().into_parts();
    let path_and_query = format!("{}?{}", url.path(), query.join("&"));
    parts.path_and_query = path_and_query.parse().ok();
    Uri::from_parts(parts).map_err(|_| {
        ClientError::Request(format!("no key can be added to the URL `{}`", shown(url)))
    })
}

/// Percent-encodes a text for a query or a form: all bytes except letters, digits and `-._~`.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private_header::mark_private;

    fn prepared(request: &Request) -> http::Request<Bytes> {
        request.prepare("agent/1").unwrap()
    }

    fn lines(headers: &HeaderMap) -> Vec<String> {
        headers.iter().map(|(k, v)| format!("{k}: {}", v.to_str().unwrap())).collect()
    }

    #[test]
    fn headers_keep_their_order_and_lose_what_belongs_to_the_connection() {
        let mut request = Request::post("https://api.test/v1", "{}").unwrap();
        for (name, value) in [
            ("x-b", "1"),
            ("connection", "close, X-Hop"),
            ("accept-encoding", "br"),
            ("x-hop", "gone"),
            ("x-a", "2"),
            ("content-length", "999"),
            ("transfer-encoding", "chunked"),
            ("keep-alive", "5"),
            ("host", "evil.test"),
            ("authorization", "Bearer old"),
            ("x-c", "3"),
        ] {
            request.headers.append(name, HeaderValue::from_static(value));
        }
        request.auth = Auth::Bearer(Secret::new("new"));
        assert_eq!(
            lines(prepared(&request).headers()),
            [
                "x-b: 1",
                "accept-encoding: identity",
                "x-a: 2",
                "x-c: 3",
                "user-agent: agent/1",
                "authorization: Bearer new"
            ]
        );
    }

    #[test]
    fn each_credential_stands_where_it_belongs() {
        let mut request = Request::new(Method::GET, "https://api.test/v1?a=1&key=old").unwrap();
        request.auth = Auth::Query { name: "key".into(), secret: Secret::new("a b&c") };
        assert_eq!(prepared(&request).uri(), "https://api.test/v1?a=1&key=a%20b%26c");
        request.auth =
            Auth::Header { name: HeaderName::from_static("x-api-key"), secret: Secret::new("k") };
        let built = prepared(&request);
        assert_eq!(built.headers()["x-api-key"], "k");
        assert!(!format!("{built:?}").contains("\"k\""));
    }

    #[test]
    fn a_user_in_the_url_becomes_a_basic_credential() {
        let request = Request::new(Method::GET, "http://bob:pw@[::1]:80/x?y=1").unwrap();
        let built = prepared(&request);
        assert_eq!(built.uri(), "http://[::1]:80/x?y=1");
        assert_eq!(built.headers()["authorization"], "Basic Ym9iOnB3");
        let with_key = Request { auth: Auth::Bearer(Secret::new("canary")), ..request };
        let error = with_key.prepare("agent/1").unwrap_err().to_string();
        assert!(error.contains("user name besides the key"), "{error}");
        assert!(!error.contains("canary") && !error.contains("pw"), "{error}");
    }

    #[test]
    fn t_7_what_is_secret_in_a_header_is_not_to_come_back() {
        let mut request = Request::post("https://a.example", "").unwrap();
        request.headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        assert!(request.secrets().is_empty());
        let name = HeaderName::from_static("x-gateway-token");
        let mut value = HeaderValue::from_static("Bearer violet-heron-1847");
        request.headers.insert(&name, value.clone());
        assert!(request.secrets().is_empty(), "a caller's own may come back");
        mark_private(&name, &mut value);
        request.headers.insert(name, value);
        let mut headers = HeaderMap::new();
        headers.insert("x-echo", HeaderValue::from_static("violet-heron-1847 of Bearer"));
        request.secrets().leave_headers(&mut headers);
        assert_eq!(headers["x-echo"], "***************** of Bearer");
    }

    #[test]
    fn what_is_no_url_or_no_key_is_refused_without_repeating_secrets() {
        for url in
            ["", "/v1", "api.test/v1?key=canary", "https://", "ht tp://x?canary", "bob:canary@x"]
        {
            let error = Request::new(Method::GET, url).unwrap_err().to_string();
            assert!(error.contains("begin it with `http://`"), "{error}");
            assert!(!error.contains("canary"), "{error}");
        }
        let mut request = Request::new(Method::GET, "https://api.test/").unwrap();
        request.auth = Auth::Bearer(Secret::new("can\nary"));
        let error = request.prepare("agent/1").unwrap_err().to_string();
        assert!(!error.contains("ary;") && error.contains("copy it again"), "{error}");
    }

    #[test]
    fn debug_shows_no_value_that_may_be_secret() {
        let mut request =
            Request::post("https://u:canary@api.test/v1?key=canary", "canary").unwrap();
        request.headers.insert("x-api-key", HeaderValue::from_static("canary"));
        request.auth = Auth::Bearer(Secret::new("canary"));
        let text = format!("{request:?} {request:#?}");
        assert!(text.contains("x-api-key") && !text.contains("canary"), "{text}");
    }
}
