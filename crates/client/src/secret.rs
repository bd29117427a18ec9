use std::fmt;
use std::sync::{Arc, OnceLock};

use http::HeaderName;
use zeroize::Zeroizing;

use crate::cloud::{AwsKeys, Tokens};
use crate::scrub::Forms;

/// A credential: it can be sent, but neither printed nor logged, and its memory is cleared on drop.
///
/// Clones share one buffer, so that a key can serve many requests without copies. Answers are searched for every form
/// in which the secret can be quoted.
#[derive(Clone)]
pub struct Secret(Arc<Inner>);

struct Inner {
    value: Zeroizing<String>,
    /// How answers are searched for it; made when it is first sent.
    forms: OnceLock<Option<Arc<Forms>>>,
}

impl Secret {
    /// Takes a credential without the white space around it, such as the line feed at the end of a key file.
    pub fn new(value: impl Into<String>) -> Self {
        let value = Zeroizing::new(value.into());
        if value.trim().len() == value.len() {
            return Self::of(value);
        }
        Self::of(Zeroizing::new(value.trim().to_owned()))
    }

    fn of(value: Zeroizing<String>) -> Self {
        Self(Arc::new(Inner { value, forms: OnceLock::new() }))
    }

    /// Takes a credential with its white space, such as an escaped password in a URL.
    pub(crate) fn verbatim(value: String) -> Self {
        Self::of(Zeroizing::new(value))
    }

    /// Gives the credential itself, for the one place that puts it on the wire.
    pub fn expose(&self) -> &str {
        &self.0.value
    }

    /// The forms in which an answer may contain it; `None` for a dummy word in place of a key.
    pub(crate) fn forms(&self) -> Option<Arc<Forms>> {
        self.0.forms.get_or_init(|| Forms::of(self.expose()).map(Arc::new)).clone()
    }

    /// Whether the secret is empty.
    pub fn is_empty(&self) -> bool {
        self.0.value.is_empty()
    }
}

/// Two that are the same credential. For configurations, not for callers: how long it takes depends on where they
/// differ.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
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
    /// No credential besides the request's own headers.
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

impl Auth {
    /// The secrets that are sent, so that answers can be searched for them.
    pub(crate) fn secrets(&self) -> Vec<Arc<Forms>> {
        match self {
            Self::Bearer(secret) | Self::Header { secret, .. } | Self::Query { secret, .. } => {
                secret.forms().into_iter().collect()
            }
            Self::Aws(keys) => keys.secrets().filter_map(Secret::forms).collect(),
            // It is exchanged for one of the others before it goes out.
            Self::Token(_) | Self::None => Vec::new(),
        }
    }
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
