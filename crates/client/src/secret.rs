use std::fmt;
use std::sync::Arc;

use http::HeaderName;
use zeroize::Zeroizing;

use crate::cloud::{AwsKeys, Tokens};

/// A credential: it can be sent, but neither printed nor logged, and its memory is cleared on drop.
///
/// Clones share one buffer, so handing a key to many requests copies nothing.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Takes a credential; white space around it (a line feed at the end of a key file) is no part of it.
    pub fn new(value: impl Into<String>) -> Self {
        let value = Zeroizing::new(value.into());
        if value.trim().len() == value.len() {
            return Self(Arc::new(value));
        }
        Self(Arc::new(Zeroizing::new(value.trim().to_owned())))
    }

    /// Takes a credential whose white space belongs to it, such as an escaped password in a URL.
    pub(crate) fn verbatim(value: String) -> Self {
        Self(Arc::new(Zeroizing::new(value)))
    }

    /// Gives the credential itself, for the one place that puts it on the wire.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Says whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// How a request proves who is asking.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// `authorization: Bearer SECRET`.
    Bearer(Secret),
    /// A header of the provider's own, such as `x-api-key`.
    Header {
        /// The header's name.
        name: HeaderName,
        /// Its whole value.
        secret: Secret,
    },
    /// Keys that sign each request.
    Aws(Arc<AwsKeys>),
    /// No credential beyond what the request's own headers carry.
    #[default]
    None,
    /// A parameter of the URL, such as `key`.
    Query {
        /// The parameter's name.
        name: String,
        /// Its value, unescaped.
        secret: Secret,
    },
    /// `authorization: Bearer TOKEN`, with a token that the account's credential is exchanged for.
    Token(Arc<Tokens>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_nothing_of_itself() {
        let secret = Secret::new("sk-canary-0815\n");
        assert_eq!(secret.expose(), "sk-canary-0815");
        for auth in [
            Auth::Bearer(secret.clone()),
            Auth::Header { name: HeaderName::from_static("x-api-key"), secret: secret.clone() },
            Auth::Query { name: "key".into(), secret: secret.clone() },
        ] {
            assert!(!format!("{auth:?} {auth:#?}").contains("canary"));
        }
    }

    #[test]
    fn white_space_alone_is_no_secret() {
        assert!(Secret::new(" \r\n").is_empty());
        assert!(!Secret::new("EMPTY").is_empty());
    }
}
