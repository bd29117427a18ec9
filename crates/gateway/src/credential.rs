//! Callers' credentials: where a request carries them, and their removal from it.

use crate::rejection::{Rejection, rejection};
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Uri};
use thinkthrough_client::{Auth, Secret};

/// The carriers of a credential besides `Authorization: Bearer` and `?key=`.
static CARRIERS: [HeaderName; 3] = [
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

/// The caller's credential, from any of its carriers.
pub(crate) fn of(uri: &Uri, headers: &HeaderMap) -> Result<Auth, Rejection> {
    let mut found: Option<Auth> = None;
    let mut add = |auth: Auth, secret: &str| {
        let same = found.as_ref().is_none_or(|other| exposed(other) == Some(secret));
        if !same {
            let message = "the request carries two different credentials; send one";
            return Err(rejection(400, "two_credentials", message));
        }
        found.get_or_insert(auth);
        Ok(())
    };
    for value in headers.get_all(AUTHORIZATION) {
        let token = value.to_str().ok().and_then(bearer);
        if let Some(token) = token {
            add(Auth::Bearer(Secret::new(token)), token)?;
        }
    }
    for name in &CARRIERS {
        for value in headers.get_all(name) {
            let Some(key) = value.to_str().ok().filter(|key| !key.is_empty()) else { continue };
            let name = name.clone();
            add(Auth::Header { name, secret: Secret::new(key) }, key)?;
        }
    }
    for pair in uri.query().unwrap_or_default().split('&') {
        if let Some(key) = pair.strip_prefix("key=").filter(|key| !key.is_empty()) {
            add(Auth::Query { name: "key".to_owned(), secret: Secret::new(key) }, key)?;
        }
    }
    Ok(found.unwrap_or(Auth::None))
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The secret of a credential.
pub(crate) fn exposed(auth: &Auth) -> Option<&str> {
    match auth {
        Auth::Bearer(secret) | Auth::Header { secret, .. } | Auth::Query { secret, .. } => {
            Some(secret.expose())
        }
        _ => None,
    }
}

/// Removes every credential from a request, so that a gateway key goes no further.
pub(crate) fn take_off(parts: &mut Parts) {
    parts.headers.remove(AUTHORIZATION);
    for name in &CARRIERS {
        parts.headers.remove(name);
    }
    let Some(query) = parts.uri.query().filter(|query| query.contains("key=")) else { return };
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("key=")).collect();
    let path = parts.uri.path();
    let path = match kept.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", kept.join("&")),
    };
    let mut uri = std::mem::take(&mut parts.uri).into_parts();
    // Cannot fail, because removing parameters leaves a valid path.
    uri.path_and_query = path.parse().ok();
    parts.uri = Uri::from_parts(uri).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn t_4_every_carrier_gives_the_same_credential_and_two_are_refused() {
        let uri = Uri::from_static("/");
        for pair in [
            ("authorization", "Bearer k"),
            ("x-api-key", "k"),
            ("api-key", "k"),
            ("x-goog-api-key", "k"),
        ] {
            let auth = of(&uri, &headers(&[pair])).unwrap();
            assert_eq!(exposed(&auth), Some("k"), "{pair:?}");
        }
        let with_key = Uri::from_static("/?a=1&key=k");
        assert_eq!(exposed(&of(&with_key, &headers(&[])).unwrap()), Some("k"));
        let same = headers(&[("authorization", "bearer k"), ("x-api-key", "k")]);
        assert!(of(&with_key, &same).is_ok());
        let two = headers(&[("authorization", "Bearer k"), ("x-api-key", "other")]);
        assert_eq!(of(&uri, &two).unwrap_err().status, 400);
    }

    #[test]
    fn t_7_a_key_of_the_gateway_is_taken_off_wherever_it_stands() {
        for (uri, kept) in [
            ("/a?key=k", "/a"),
            ("/a?x=1&key=k&y=2", "/a?x=1&y=2"),
            ("/a?monkey=k", "/a?monkey=k"),
            ("http://localhost/a?key=k", "http://localhost/a"),
        ] {
            let request = http::Request::get(uri)
                .header("authorization", "Bearer k")
                .header("x-api-key", "k")
                .header("api-key", "k")
                .header("x-goog-api-key", "k")
                .header("accept", "*/*");
            let (mut parts, ()) = request.body(()).unwrap().into_parts();
            take_off(&mut parts);
            assert_eq!(parts.uri, kept);
            assert_eq!(parts.headers, headers(&[("accept", "*/*")]));
        }
    }
}
