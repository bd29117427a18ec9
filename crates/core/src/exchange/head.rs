//! What a request says beside its messages, as it goes out.

use super::RequestContext;
use crate::json::{Raw, at_path, merge};
use crate::outgoing::{self, build};
use crate::request::Request;
use crate::settings::Effort;

/// A text that is longer is no setting.
const LONG: usize = 256;

impl RequestContext<'_> {
    /// The settings of the body that goes out: what it says of thinking, of caps, and of how many answers are wanted.
    /// Lists, messages among them, and long texts are left out.
    #[must_use]
    pub fn head(&self) -> Raw {
        if !self.is_own_wire() {
            let bare = self.request.with_contents(Vec::new());
            let bare = Request { tools: Vec::new(), ..bare };
            let body = build(&bare, &self.target, &self.settings).body;
            return Raw::parse(&body).unwrap_or_else(|_| Raw::null());
        }
        let came = Raw::build(|w| {
            w.object(|w| {
                let all = self.doc.root().entries();
                let is_short = |text: &str| text.len() <= LONG;
                for (key, value) in all.filter(|(_, value)| !value.is_array()) {
                    if value.is_object() || is_short(value.raw()) {
                        w.key(&key).raw_str(value.raw());
                    }
                }
            });
        });
        let said = outgoing::said(&self.request, &self.target, &self.settings);
        let body = said
            .patches
            .iter()
            .fold(came, |body, patch| merge(body.doc().root(), patch.doc().root()));
        outgoing::without_contradiction(body.as_str(), &self.target.rule, &self.settings)
            .and_then(|body| Raw::parse(&body).ok())
            .unwrap_or(body)
    }

    /// Asks for little effort in the words of the caller, where the rule of the model has none of its own.
    pub fn lower_effort(&mut self) {
        let thinking = &self.target.rule.thinking;
        let has_words = thinking.effort.is_some() || thinking.budget.is_some();
        if !has_words && self.request.reasoning.effort.is_some_and(|effort| effort > Effort::Low) {
            self.request.reasoning.effort = Some(Effort::Low);
            self.is_lowered = true;
        }
    }

    /// The effort that the caller names, lowered, wherever it stands.
    pub(super) fn lowered(&self) -> Vec<Raw> {
        const PLACES: [&str; 5] = [
            "reasoning_effort",
            "reasoning.effort",
            "output_config.effort",
            "chat_template_kwargs.reasoning_effort",
            "generationConfig.thinkingConfig.thinkingLevel",
        ];
        let root = self.doc.root();
        let stands = |place: &&str| root.path(&place.split('.').collect::<Vec<_>>()).is_some();
        let places = PLACES.into_iter().filter(|_| self.is_lowered).filter(stands);
        places.map(|place| at_path(place, &Raw::string(Effort::Low.as_str()))).collect()
    }
}
