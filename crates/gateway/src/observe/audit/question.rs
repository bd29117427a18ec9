//! The part of a request that its trace shows: its new items, and the effort that it asks for.

use crate::load::Reservation;
use thinkthrough_core::settings::Effort;
use thinkthrough_core::wire::error::read_text;
use thinkthrough_store::TraceItems;

/// The part of a request that its trace shows.
#[derive(Debug, Default)]
pub(crate) struct Question {
    pub(crate) effort: Option<Effort>,
    /// No answer precedes it, so that a conversation begins. Conversations that begin alike may share a session.
    pub(crate) is_first: bool,
    pub(crate) items: TraceItems,
    /// The provider's words, if the last attempt was refused.
    pub(crate) refusal: Option<String>,
    /// The memory of the items.
    pub(crate) room: Option<Reservation>,
}

/// The longest refusal that is kept, in bytes. The store cuts it to the size of an item.
const LONGEST: usize = 64 << 10;

/// The provider's words in the body of a refusal.
pub(crate) fn words_of(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body.get(..LONGEST).unwrap_or(body));
    let words = match std::str::from_utf8(body).ok().and_then(read_text) {
        Some(problem) => problem.message,
        None => text.into_owned(),
    };
    (!words.trim().is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_providers_words() {
        let said = |body: &str| words_of(body.as_bytes());
        let error = "{\"error\":{\"message\":\"too long\",\"type\":\"invalid_request_error\"}}";
        assert_eq!(said(error).as_deref(), Some("too long"));
        assert_eq!(said("Bad Gateway").as_deref(), Some("Bad Gateway"));
        assert_eq!(said(" \n"), None);
        assert_eq!(words_of(&[b'x'; LONGEST + 1]).map(|it| it.len()), Some(LONGEST));
    }
}
