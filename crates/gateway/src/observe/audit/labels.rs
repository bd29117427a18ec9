//! The labels by which a trace is found.

use thinkthrough_core::content::{Content, Speaker};
use thinkthrough_core::exchange::RequestContext;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::Secret;
use thinkthrough_core::turns::begins;

/// The facts about a request that are known before its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Labels {
    pub(crate) tenant: Tenant,
    pub(crate) session: String,
    /// The same for all requests of a user's turn.
    pub(crate) run: String,
    pub(crate) model: String,
    pub(crate) provider: String,
}

impl Labels {
    /// The labels of a request. Without a named session, all conversations with the same beginning share one.
    pub(crate) fn of(
        tenant: Tenant,
        secret: &Secret,
        hint: Option<&str>,
        asked: &RequestContext<'_>,
    ) -> Self {
        let contents = asked.contents();
        let first = contents.iter().find(|content| content.speaker == Speaker::Human);
        let session = match hint {
            Some(hint) => named(hint, secret),
            None => secret.pseudonym(&first.map(Content::visible_text).unwrap_or_default()),
        };
        let turns = contents.iter().filter(|content| begins(content)).count();
        let last = contents.iter().rfind(|content| begins(content));
        let words = last.map(Content::visible_text).unwrap_or_default();
        let run = secret.pseudonym(&format!("{session} {turns} {words}"));
        let target = asked.target();
        Labels {
            tenant,
            session,
            run,
            model: target.model.clone(),
            provider: target.provider.clone(),
        }
    }
}

/// The session's name as its client gave it. Replaces control characters, which could steer a terminal, by blanks,
/// and adds a pseudonym to keep such names apart. Changes no other characters, because a secret in the name is masked
/// later and is found only in its original form.
fn named(hint: &str, secret: &Secret) -> String {
    if !hint.contains(char::is_control) {
        return hint.to_owned();
    }
    let shown = hint.replace(char::is_control, " ");
    format!("{shown}~{}", secret.pseudonym(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_two_names_are_two() {
        let secret = Secret::new([7; 32]);
        for name in ["plain", "two words", "Träume", ""] {
            assert_eq!(named(name, &secret), name);
        }
        let names = ["a\tb", "ab", "a b", "a\nb", "a\u{7f}b"];
        let shown: std::collections::BTreeSet<String> =
            names.iter().map(|name| named(name, &secret)).collect();
        assert_eq!(shown.len(), names.len());
        assert!(shown.iter().all(|name| !name.contains(char::is_control)));
    }
}
