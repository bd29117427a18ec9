//! Requests compared block by block, each as its wire reads it.

use crate::Cell;
use thinkthrough_core::content::{Block, Content, MediaSource, Speaker};
use thinkthrough_core::convert::Converted;
use thinkthrough_core::wire::Wire;
use thinkthrough_json::Doc;

/// What a request shows a model.
#[derive(Default)]
struct Shown {
    /// The bytes or the address of each medium.
    media: Vec<String>,
    /// The lines of all texts.
    lines: Vec<String>,
    /// The lines of the texts in results of tools.
    results: Vec<String>,
    /// Messages that say nothing.
    husks: usize,
}

impl Shown {
    fn of(wire: &dyn Wire, body: &str) -> Self {
        let doc = Doc::parse_str(body).expect("JSON");
        let request = wire.read_request(doc.root()).expect("a request of the wire");
        let mut shown = Shown::default();
        for content in &request.contents {
            shown.husks += usize::from(content.speaker == Speaker::Ai && is_husk(content));
            content.blocks.iter().for_each(|block| shown.block(block, false));
        }
        shown
    }

    fn block(&mut self, block: &Block, in_result: bool) {
        match block {
            Block::Text(text) => self.text(&text.text, in_result),
            Block::Media(media) => match &media.source {
                MediaSource::Data(it) | MediaSource::Url(it) => self.media.push(it.clone()),
            },
            Block::ToolResponse(response) => {
                let blocks = response.result.blocks();
                blocks.iter().for_each(|block| self.block(block, true));
            }
            Block::Other(other) if other.is_data() => self.text(other.raw.as_str(), in_result),
            Block::Other(other) => self.lines.push(other.raw.as_str().to_owned()),
            Block::Thinking(_) | Block::ToolCall(_) => {}
        }
    }

    fn text(&mut self, text: &str, in_result: bool) {
        // Some wires wrap the text of a result into an object.
        let doc = Doc::parse_str(text).ok().filter(|_| in_result);
        let wrapped = |key| doc.as_ref().and_then(|doc| doc.root().string(key));
        let unwrapped = wrapped("output").or_else(|| wrapped("error"));
        let text = unwrapped.as_deref().unwrap_or(text);
        let lines = text.lines().map(str::to_owned).filter(|line| !line.trim().is_empty());
        let lines: Vec<String> = lines.collect();
        if in_result {
            self.results.extend(lines.clone());
        }
        self.lines.extend(lines);
    }
}

fn is_husk(content: &Content) -> bool {
    content.blocks.iter().all(|block| matches!(block, Block::Text(text) if text.text.is_empty()))
}

/// The verdict where blocks are compared, too: a medium is a medium there or named as lost, and never a text; the texts
/// of a result are in a result; and no message is left that says nothing.
pub(crate) fn judge(
    cell: Cell,
    (from, body): (&dyn Wire, &str),
    (to, converted): (&dyn Wire, &Converted),
) -> Cell {
    let (before, after) = (Shown::of(from, body), Shown::of(to, &converted.body));
    let is_named = converted.untranslated.iter().any(|name| name == "media");
    let mut wrong: Vec<String> = Vec::new();
    for medium in &before.media {
        if after.lines.iter().any(|line| line.contains(medium.as_str())) {
            wrong.push(format!("{medium} as text"));
        } else if !is_named && !after.media.contains(medium) {
            wrong.push(format!("{medium} as a medium"));
        }
    }
    let texts = before.results.iter().filter(|line| !after.results.contains(line));
    wrong.extend(texts.map(|line| format!("{line} in a result")));
    if after.husks > before.husks {
        wrong.push("a message that says something".to_owned());
    }
    if wrong.is_empty() { cell } else { Cell::Lost(wrong) }
}
