//! Title, settings and origin of a conversation.

use crate::conversation_state::ConversationState;
use thinkthrough_json::{Doc, Raw, Writer};

/// Title, settings and origin of a conversation. They are sealed like its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The title.
    pub title: Option<String>,
    /// Model, settings and cost.
    pub state: ConversationState,
    /// The working folder in which the conversation was begun. `None` if it has none, like an imported one.
    pub folder: Option<String>,
    /// Data of the client, such as its compressions, as a JSON object with the client's own members.
    pub settings: Option<Raw>,
    /// The origin of a fork.
    pub fork: Option<Fork>,
}

/// The place at which a conversation was forked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The id of the original conversation, which may be deleted.
    pub from: String,
    /// Number of copied messages.
    pub at: u32,
}

impl Meta {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.object(|w| {
            w.opt_str("title", self.title.as_deref());
            self.state.write(w);
            w.opt_str("folder", self.folder.as_deref());
            if let Some(settings) = &self.settings {
                w.field_raw("settings", settings);
            }
            if let Some(fork) = &self.fork {
                w.field_str("forkedFrom", &fork.from);
                w.field_u64("forkedAt", fork.at.into());
            }
        });
        w.finish().into_bytes()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let doc = Doc::parse(bytes).ok()?;
        let root = doc.root();
        let at = root.u64("forkedAt").and_then(|at| u32::try_from(at).ok());
        Some(Meta {
            title: root.string("title"),
            state: ConversationState::read(root),
            folder: root.string("folder"),
            settings: root.some("settings").map(Raw::from),
            fork: root.string("forkedFrom").zip(at).map(|(from, at)| Fork { from, at }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Cost;
    use thinkthrough_core::settings::{Display, Partial};

    #[test]
    fn is_read_back() {
        let mut reasoning = Partial::default();
        for (key, value) in [
            ("enabled", "false"),
            ("effort", "unset"),
            ("maxTokens", "4000"),
            ("display", "stream_only"),
        ] {
            reasoning.set(key, value).unwrap();
        }
        let cost = Cost { micro: 120_000, is_partial: true };
        let full = Meta {
            title: Some("a \"title\"".into()),
            state: ConversationState { model: Some("m".into()), reasoning, cost },
            folder: Some("/project".into()),
            settings: Raw::parse("{\"x\": 1.50}").ok(),
            fork: Some(Fork { from: "id".into(), at: 3 }),
        };
        for meta in [Meta::default(), full] {
            assert_eq!(Meta::from_bytes(&meta.to_bytes()), Some(meta));
        }
        assert_eq!(Meta::from_bytes(b"{"), None);
        let odd = br#"{"model": "m", "reasoning": {"effort": "huge", "display": "off"}}"#;
        let read = Meta::from_bytes(odd).unwrap().state;
        assert_eq!(read.model.as_deref(), Some("m"));
        assert_eq!((read.reasoning.effort, read.reasoning.display), (None, Some(Display::Off)));
    }
}
