//! How a conversation is held: its model, its settings and its cost. Every face continues a conversation from this.

use crate::cost::Cost;
use thinkthrough_core::settings::{Key, Layer, Partial, Resolved, Source};
use thinkthrough_json::{Val, Writer};

/// How a conversation is held. A client that continues it uses the same model and settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationState {
    /// The model, by the name that the user asked for.
    pub model: Option<String>,
    /// The settings that were chosen for the conversation, and no defaults.
    pub reasoning: Partial,
    /// The cost so far.
    pub cost: Cost,
}

impl ConversationState {
    /// The settings that a conversation keeps: thinking on or off, effort, budget and display.
    pub const KEYS: [Key; 4] = [Key::Enabled, Key::Effort, Key::MaxTokens, Key::Display];

    /// Selects the settings that belong to the conversation: those chosen in it, in a profile or on the command line.
    /// Values of the configuration stay out, so that a later change of the configuration counts.
    #[must_use]
    pub fn chosen(resolved: &Resolved) -> Partial {
        let chosen = |source| (Source::Conversation..=Source::Session).contains(&source);
        let mut partial = Partial::default();
        for key in Self::KEYS {
            let (value, source) = resolved.get(key);
            if chosen(source) {
                // A value that is in force was accepted before.
                let _ = partial.set(key.as_str(), &value);
            }
        }
        partial
    }

    /// The layer of settings that the conversation adds.
    #[must_use]
    pub fn layer(&self) -> Layer {
        Layer { source: Source::Conversation, values: self.reasoning.clone() }
    }

    pub(crate) fn write(&self, w: &mut Writer) {
        w.opt_str("model", self.model.as_deref());
        if self.reasoning != Partial::default() {
            w.key("reasoning").object(|w| {
                for key in Self::KEYS {
                    w.opt_str(key.short(), self.reasoning.get(key).as_deref());
                }
            });
        }
        if self.cost != Cost::default() {
            w.key("cost").object(|w| {
                w.field_u64("microUsd", self.cost.micro);
                w.field_bool("partial", self.cost.is_partial);
            });
        }
    }

    /// Reads what [`write`](Self::write) wrote. Skips a setting with an unknown value.
    pub(crate) fn read(root: Val<'_>) -> Self {
        let mut reasoning = Partial::default();
        if let Some(said) = root.some("reasoning") {
            for key in Self::KEYS {
                if let Some(value) = said.text(key.short()) {
                    let _ = reasoning.set(key.as_str(), &value);
                }
            }
        }
        let cost = root.some("cost").map(|cost| Cost {
            micro: cost.u64("microUsd").unwrap_or_default(),
            is_partial: cost.bool("partial").unwrap_or_default(),
        });
        ConversationState { model: root.string("model"), reasoning, cost: cost.unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::settings::{Budget, Display, Effort, resolve};

    #[test]
    fn a_conversation_keeps_choices_and_no_configuration() {
        let layer = |source, said: &[(&str, &str)]| {
            let mut values = Partial::default();
            for (key, value) in said {
                values.set(key, value).unwrap();
            }
            Layer { source, values }
        };
        let layers = [
            layer(Source::UserConfig, &[("display", "collapsed"), ("effort", "low")]),
            layer(Source::Conversation, &[("maxTokens", "4000")]),
            layer(Source::Profile, &[("effort", "high"), ("includeInContext", "true")]),
            layer(Source::Session, &[("enabled", "false")]),
        ];
        let expected = Partial {
            enabled: Some(false),
            effort: Some(Some(Effort::High)),
            max_tokens: Some(Budget::parse("4000")),
            ..Partial::default()
        };
        assert_eq!(ConversationState::chosen(&resolve(&layers)), expected);
        let unset = layer(Source::Session, &[("effort", "unset"), ("display", "off")]);
        let expected =
            Partial { effort: Some(None), display: Some(Display::Off), ..Partial::default() };
        assert_eq!(ConversationState::chosen(&resolve(&[unset])), expected);
    }
}
