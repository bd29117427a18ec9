//! Reads the plain output of a model, without any wire around it.

use super::filter::TagFilter;
use super::scanner::Options;
use super::spec::TagSpec;
use crate::content::Text;
use crate::event::{Event, Sink};

/// Turns a model's text into the events of an answer. The text may come in bytes cut anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextReader {
    filter: TagFilter,
    /// The first bytes of a character whose others have not come.
    tail: Vec<u8>,
    begun: bool,
}

impl TextReader {
    /// A reader for one text.
    #[must_use]
    pub fn new(spec: &TagSpec, options: Options) -> Self {
        Self { filter: TagFilter::new(spec, options), tail: Vec::new(), begun: false }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        self.tail.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.tail);
        let cut = all.utf8_chunks().last().map_or(&[][..], |last| last.invalid());
        // Bytes that are broken for good cannot begin a character.
        let is_open = std::str::from_utf8(cut).is_err_and(|error| error.error_len().is_none());
        let whole = if is_open { all.len() - cut.len() } else { all.len() };
        let (text, tail) = all.split_at_checked(whole).unwrap_or((&all, &[]));
        self.text(&String::from_utf8_lossy(text), sink);
        self.tail = tail.to_vec();
    }

    /// The text is over.
    pub fn end(&mut self, sink: &mut dyn Sink) {
        let tail = std::mem::take(&mut self.tail);
        self.text(&String::from_utf8_lossy(&tail), sink);
        if self.begun {
            self.filter
                .event(Event::TextEnd { block: 0, text: &Text::default(), whole: None }, sink);
        }
        // The text was not cut, so that a thought without its end marker is whole.
        let end = Event::Finish { finish_reason: None, model: None };
        self.filter.event(end, &mut |event: Event<'_>| {
            if !matches!(event, Event::Finish { .. }) {
                sink.event(event);
            }
        });
        self.filter.end(sink);
    }

    fn text(&mut self, text: &str, sink: &mut dyn Sink) {
        if text.is_empty() {
            return;
        }
        if !std::mem::replace(&mut self.begun, true) {
            self.filter.event(Event::TextStart { block: 0 }, sink);
        }
        self.filter.event(Event::TextDelta { block: 0, delta: text }, sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Block;
    use crate::event::Fold;

    fn read(pieces: &[&[u8]]) -> Vec<Block> {
        let mut reader = TextReader::new(&TagSpec::named("think").unwrap(), Options::default());
        let mut fold = Fold::new();
        for piece in pieces {
            reader.push(piece, &mut fold);
        }
        reader.end(&mut fold);
        fold.finish().blocks
    }

    #[test]
    fn text_cut_inside_a_character_is_the_same_text() {
        let text = "<think>für ü</think>Größe 🦀".as_bytes();
        let whole = read(&[text]);
        assert_eq!(whole.len(), 2);
        for cut in 0..=text.len() {
            let (head, tail) = text.split_at(cut);
            assert_eq!(read(&[head, tail]), whole, "{cut}");
        }
    }

    #[test]
    fn broken_bytes_become_replacement_characters() {
        assert_eq!(read(&[b"a\xff", b"b\xe2\x82"]), [Block::text("a\u{fffd}b\u{fffd}")]);
    }

    #[test]
    fn a_text_that_ends_inside_a_thought_is_not_called_cut() {
        let blocks = read(&[b"<think>still at it"]);
        let [Block::Thinking(thinking)] = &blocks[..] else { panic!("{blocks:?}") };
        assert_eq!((thinking.thought.as_str(), thinking.partial), ("still at it", false));
    }
}
