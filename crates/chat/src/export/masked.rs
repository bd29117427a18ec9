//! A conversation that others may read.

use super::{Exported, from_jsonl, to_jsonl};
use thinkthrough_core::content::Block;
use thinkthrough_core::plane::Masked;
use thinkthrough_core::tags::redacted_json;
use thinkthrough_mask::{Masker, Opaque, mask_json};

/// The conversation without its secrets and redacted spans. `None` if its messages cannot be read back. Sealed
/// payloads are left as they are, because only their provider can read them. The payload of a changed thought is
/// removed.
#[must_use]
pub fn masked(exported: &Exported, masker: &Masker) -> Option<Exported> {
    let mut lines = String::new();
    for line in to_jsonl(&exported.contents).lines() {
        let line = redacted_json(line);
        match mask_json(masker, line.as_bytes(), Opaque::Kept).ok()? {
            Some(masked) => lines.push_str(&String::from_utf8(masked).ok()?),
            None => lines.push_str(&line),
        }
        lines.push('\n');
    }
    let mut contents = from_jsonl(&lines).ok()?;
    for (content, original) in contents.iter_mut().zip(&exported.contents) {
        for blocks in content.blocks.iter_mut().zip(&original.blocks) {
            // A provider refuses its payload on a thought that was changed.
            if let (Block::Thinking(thinking), Block::Thinking(original)) = blocks
                && (&thinking.thought, &thinking.summary, &thinking.content)
                    != (&original.thought, &original.summary, &original.content)
            {
                (thinking.signature, thinking.encrypted_content) = (None, None);
            }
        }
    }
    let title = Masked::by(masker, &exported.title).into_inner();
    Some(Exported { title, contents })
}
