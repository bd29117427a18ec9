//! What a trace is found by.

use crate::story::plain;
use thinkthrough_core::content::{Content, Speaker};
use thinkthrough_core::exchange::RequestContext;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::Secret;
use thinkthrough_core::turns::begins;

/// What is known about a request before its answer.
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
    /// A client that names no session has one for all that grows from the same beginning.
    pub(crate) fn of(
        tenant: Tenant,
        secret: &Secret,
        hint: Option<&str>,
        asked: &RequestContext<'_>,
    ) -> Self {
        let contents = asked.contents();
        let first = contents.iter().find(|content| content.speaker == Speaker::Human);
        let session = match hint {
            Some(hint) => plain(hint),
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
