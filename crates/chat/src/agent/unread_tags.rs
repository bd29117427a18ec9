//! Warns once in a conversation that an answer seems to have thoughts between tags.

use super::Run;
use crate::gate::Notice;
use thinkthrough_core::content::Content;

impl Run<'_> {
    /// An earlier answer with tags means that the warning was shown before, even if the conversation was continued
    /// since.
    pub(super) fn tell_unread_tags(&mut self, content: &Content) {
        let target = self.setup.target;
        let Some(family) = target.unread_tags(content) else { return };
        if self.conversation.iter().all(|earlier| target.unread_tags(earlier).is_none()) {
            self.watch.notice(&Notice::Tags { model: target.model.clone(), family });
        }
    }
}
