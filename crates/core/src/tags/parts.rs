//! Collects pieces into whole thoughts and texts.

use super::piece::Piece;

/// A run of text of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Visible text.
    Text(String),
    /// A thought.
    Thinking {
        /// The thought.
        thought: String,
        /// It had no end: the message was cut.
        partial: bool,
    },
}

/// Folds pieces into parts, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    parts: Vec<Part>,
    joined: bool,
}

impl Parts {
    /// No parts yet. `joined` as in [`super::TagSpec::joined`].
    #[must_use]
    pub fn new(joined: bool) -> Self {
        Self { parts: Vec::new(), joined }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::ThinkingStart => {
                let thinking = |part: &&mut Part| matches!(part, Part::Thinking { .. });
                match self.parts.iter_mut().find(thinking) {
                    Some(Part::Thinking { partial, .. }) if self.joined => *partial = true,
                    _ => {
                        self.parts.push(Part::Thinking { thought: String::new(), partial: true });
                    }
                }
            }
            Piece::Thinking(more) => {
                if let Some(Part::Thinking { thought, .. }) = self.open() {
                    thought.push_str(more);
                }
            }
            Piece::ThinkingEnd => {
                if let Some(Part::Thinking { partial, .. }) = self.open() {
                    *partial = false;
                }
            }
            Piece::Text(more) => self.text(more),
        }
    }

    /// The collected parts.
    #[must_use]
    pub fn finish(self) -> Vec<Part> {
        self.parts
    }

    fn open(&mut self) -> Option<&mut Part> {
        self.parts
            .iter_mut()
            .rev()
            .find(|part| matches!(part, Part::Thinking { partial: true, .. }))
    }

    fn text(&mut self, more: &str) {
        let slot = if self.joined {
            self.parts.iter_mut().find(|part| matches!(part, Part::Text(_)))
        } else {
            self.parts.last_mut()
        };
        match slot {
            Some(Part::Text(text)) => text.push_str(more),
            Some(Part::Thinking { .. }) | None => self.parts.push(Part::Text(more.to_owned())),
        }
    }
}
