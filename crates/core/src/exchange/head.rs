//! The parameters beside the messages in an outgoing request.

use super::{Caller, RequestContext, build};
use crate::allowance::{can_be_lowered, lower, lowered};
use crate::json::{Raw, merge};
use crate::outgoing;
use crate::request::Request;
use crate::settings::Resolved;

/// A text that is longer is no setting.
const LONG: usize = 256;

impl RequestContext<'_> {
    /// The settings of the outgoing body: thinking, caps, and the number of answers. Lists, messages among them, and
    /// long texts are left out.
    #[must_use]
    pub fn head(&self) -> Raw {
        let Some(caller) = self.caller.filter(|_| self.is_own_wire()) else {
            let bare = self.request.with_contents(Vec::new());
            let bare = Request { tools: Vec::new(), ..bare };
            let body = build(&bare, &self.target, &self.settings).body;
            return Raw::parse(&body).unwrap_or_else(|_| Raw::null());
        };
        let came = Raw::build(|w| {
            w.object(|w| {
                let all = caller.doc.root().entries();
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

    /// Asks for little effort in the caller's own words, if the model's rule has no words for effort.
    pub fn lower_effort(&mut self) {
        if !can_be_lowered(&self.target.rule) {
            lower(&mut self.request.to_mut().reasoning);
            self.is_lowered = true;
        }
    }

    /// A patch that lowers the caller's own amounts of thinking, if that is necessary: because of a budget, or
    /// because thinking must be off and the model has no word for off.
    pub(super) fn lowered(&self, caller: Caller<'_>, settings: &Resolved) -> Option<Raw> {
        let is_wanted = self.is_lowered || outgoing::can_only_be_asked(&self.target.rule, settings);
        lowered(caller.doc.root()).filter(|_| is_wanted)
    }
}
