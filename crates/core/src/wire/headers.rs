//! The headers of callers that belong to an API, as data; the gateway does not forward any other header.

/// The headers of one API. An entry is a name in lower case, or the beginning of one with a star behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Headers that go to the API with any credential: versions, features, client, session.
    pub forwarded: &'static [&'static str],
    /// Headers that name an account, a project or an organisation. It belongs to the credential: in a request it goes
    /// on with the caller's own credential alone, and in an answer it comes back with that alone.
    pub account: &'static [&'static str],
}

impl Headers {
    /// An API without headers of its own.
    pub const NONE: Headers = Headers { forwarded: &[], account: &[] };
}

/// Headers that go to every API: content types, client, ids of request and trace, and the session, by which providers
/// find their caches again.
pub const COMMON: &[&str] = &[
    "accept",
    "accept-language",
    "content-type",
    "conversation-id",
    "conversation_id",
    "http-referer",
    "idempotency-key",
    "originator",
    "session-id",
    "session_id",
    "thread-id",
    "traceparent",
    "tracestate",
    "user-agent",
    "x-app",
    "x-client-request-id",
    "x-grok-conv-id",
    "x-request-id",
    "x-session-affinity",
    "x-session-id",
    "x-stainless-*",
    "x-title",
];

/// Whether a name in lower case is on a list.
#[must_use]
pub fn is_listed(list: &[impl AsRef<str>], name: &str) -> bool {
    list.iter().any(|pattern| {
        let pattern = pattern.as_ref();
        match pattern.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => name == pattern,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ALL;

    #[test]
    fn lists_are_in_lower_case_and_a_star_stands_at_the_end() {
        let own = ALL.iter().flat_map(|wire| {
            let Headers { forwarded, account } = wire.headers();
            [forwarded, account]
        });
        for pattern in own.chain([COMMON]).flatten() {
            let name = pattern.strip_suffix('*').unwrap_or(pattern);
            assert!(name.len() > 2, "{pattern}");
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || b"-_".contains(&byte);
            assert!(name.bytes().all(is_plain), "{pattern}");
        }
    }

    #[test]
    fn what_names_an_account_is_no_header_for_everybody() {
        for wire in ALL {
            let Headers { forwarded, account } = wire.headers();
            for name in account {
                let is_open = is_listed(forwarded, name) || is_listed(COMMON, name);
                assert!(!is_open, "{} {name}", wire.id());
            }
        }
    }

    #[test]
    fn a_star_stands_for_any_end() {
        let list = ["x-a", "x-b-*"];
        for (name, expected) in
            [("x-a", true), ("x-a-b", false), ("x-b-", true), ("x-b-c", true), ("x-b", false)]
        {
            assert_eq!(is_listed(&list, name), expected, "{name}");
        }
    }
}
