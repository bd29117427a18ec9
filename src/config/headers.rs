//! `headers = { ... }` of a provider or a model: additional headers of every request.

use super::secret::{Credential, Sources, one};
use super::table::Section;
use http::{HeaderName, HeaderValue};
use thinkthrough_client::Secret;
use thinkthrough_core::provider::Target;

/// Headers of the user's own; their values may be secret.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers(Vec<(String, Credential)>);

/// Headers of the connection or the body, which cannot be configured.
const OURS: [&str; 8] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
];

impl Headers {
    /// Puts them among the target's, in place of those of the same name.
    pub(crate) fn apply(&self, target: &mut Target) {
        for (name, value) in &self.0 {
            if let Credential::Given(value) = value {
                target.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
                target.headers.push((name.clone(), value.expose().to_owned()));
            }
        }
    }

    /// The values that are there, with the headers' names.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.0.iter().filter_map(|(name, value)| match value {
            Credential::Given(value) => Some((name.as_str(), value)),
            Credential::Missing(_) => None,
        })
    }

    /// The environment variables that should hold a value and do not, with the header's name.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, value)| match value {
            Credential::Missing(variable) => Some((name.as_str(), variable.as_str())),
            Credential::Given(_) => None,
        })
    }
}

pub(super) fn headers(section: Section<'_>, sources: Sources<'_>) -> Result<Headers, String> {
    let mut headers = Vec::new();
    for (name, value) in section.table("headers")?.into_iter().flatten() {
        let at = format!("{}.{name}", section.at("headers"));
        if HeaderName::try_from(name).is_err() {
            return Err(format!("`{at}`: `{}` is no name of a header", name.escape_debug()));
        }
        if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            return Err(format!("`{at}` is set by the connection itself; take it out"));
        }
        let value = one(value, &at, sources)?;
        if let Credential::Given(value) = &value
            && HeaderValue::try_from(value.expose()).is_err()
        {
            return Err(format!("`{at}` holds a character that no header may have"));
        }
        headers.push((name.clone(), value));
    }
    Ok(Headers(headers))
}
