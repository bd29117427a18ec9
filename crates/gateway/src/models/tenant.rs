//! The tenant of a request, and the account that answers it.

use crate::models::pool::account_of;
use crate::models::route::Route;
use http::{HeaderMap, HeaderName, HeaderValue};
use thinkthrough_client::Auth;
use thinkthrough_core::contract::Readable;
use thinkthrough_core::provider::{Auth as AuthForm, Target};
use thinkthrough_json::Val;

/// Headers by which clients name their sessions, ours first.
static SESSIONS: [HeaderName; 4] = [
    HeaderName::from_static("x-thinkthrough-session"),
    HeaderName::from_static("x-claude-code-session-id"),
    HeaderName::from_static("x-session-id"),
    HeaderName::from_static("session-id"),
];

/// The longest session name. Names of known clients are shorter.
const LONGEST: usize = 512;

/// Whether the request goes upstream without the caller's own credential.
pub(crate) fn is_ours(route: &Route) -> bool {
    !matches!(route.auth, Auth::None) || route.pool.is_some() || route.target.auth == AuthForm::None
}

/// The account of this credential, if thoughts of the model are sealed for the account that made them.
pub(crate) fn account(target: &Target, auth: &Auth) -> Option<String> {
    match target.rule.contract.readable {
        Readable::Family => None,
        Readable::SameHost | Readable::SameModel => account_of(auth),
    }
}

/// The session that the client names.
pub(crate) fn hint(headers: &HeaderMap, body: Val<'_>) -> Option<String> {
    let [ours, theirs @ ..] = &SESSIONS;
    // Names can be in any language.
    let text = |value: &HeaderValue| std::str::from_utf8(value.as_bytes()).ok().map(str::to_owned);
    let header = |name: &HeaderName| headers.get(name).and_then(text);
    let said = header(ours)
        .or_else(|| body.string("prompt_cache_key"))
        .or_else(|| theirs.iter().find_map(header));
    said.filter(|hint| !hint.is_empty() && hint.len() <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_json::Doc;

    #[test]
    fn our_own_header_goes_first_then_the_body_then_known_clients() {
        let body = Doc::parse_str(r#"{"prompt_cache_key":"b"}"#).unwrap();
        let empty = Doc::parse_str("{}").unwrap();
        let headers = |names: &'static [HeaderName]| -> HeaderMap {
            let pair =
                |name: &'static HeaderName| (name.clone(), HeaderValue::from_static(name.as_str()));
            names.iter().map(pair).collect()
        };
        let all = headers(&SESSIONS);
        assert_eq!(hint(&all, body.root()).as_deref(), Some(SESSIONS[0].as_str()));
        for (at, name) in SESSIONS.iter().enumerate().skip(1) {
            let some = headers(&SESSIONS[at..]);
            assert_eq!(hint(&some, body.root()).as_deref(), Some("b"));
            assert_eq!(hint(&some, empty.root()).as_deref(), Some(name.as_str()));
        }
        assert_eq!(hint(&HeaderMap::new(), empty.root()), None);
        let name = HeaderValue::from_bytes("Träume".as_bytes()).unwrap();
        let named = [(SESSIONS[0].clone(), name)].into_iter().collect();
        assert_eq!(hint(&named, empty.root()).as_deref(), Some("Träume"));
    }
}
