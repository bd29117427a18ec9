//! Says once in a conversation that an answer looks as if thoughts stood in it between tags.

use super::Run;
use crate::gate::Notice;
use thinkthrough_core::content::Content;

impl Run<'_> {
    /// An earlier answer with tags shows that the notice came already, also in a conversation that is continued.
    pub(super) fn tell_unread_tags(&mut self, content: &Content) {
        let target = self.setup.target;
        let Some(family) = target.unread_tags(content) else { return };
        if self.conversation.iter().all(|earlier| target.unread_tags(earlier).is_none()) {
            self.watch.notice(&Notice::Tags { model: target.model.clone(), family });
        }
    }
}
