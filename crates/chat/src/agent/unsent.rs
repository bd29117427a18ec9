//! Warns about files of the question that are left out, because the model's API cannot carry them.

use super::Run;
use crate::gate::Notice;
use thinkthrough_core::content::{Block, Speaker};
use thinkthrough_core::outgoing::Outgoing;

/// The name of media in [`Outgoing::untranslated`].
const MEDIA: &str = "media";

impl Run<'_> {
    /// Warns only about the newest question: earlier questions had their own warning.
    pub(super) fn tell_unsent(&mut self, round: usize, request: &Outgoing) {
        let question = self.conversation.iter().rev().find(|it| it.speaker == Speaker::Human);
        let is_media = |block: &Block| matches!(block, Block::Media(_));
        let has_media = question.is_some_and(|it| it.blocks.iter().any(is_media));
        if round == 0 && has_media && request.untranslated.iter().any(|name| name == MEDIA) {
            self.watch.notice(&Notice::Media { model: self.target.model.clone() });
        }
    }
}
