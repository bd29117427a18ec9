//! Text that people may see.

use crate::mask::{MaskStream, Masker};
use std::fmt;

/// A value made of text, each piece of which can be masked.
pub trait Maskable {
    /// The same value with the secrets in all its text covered.
    #[must_use]
    fn masked(&self, masker: &Masker) -> Self;
}

/// A value that went through [`Masker`]: the only thing that logs, traces and views take.
///
/// There is no other way to make one, and none to put something else in:
///
/// ```
/// use thinkthrough_core::mask::{Masker, Tiers};
/// use thinkthrough_core::plane::Masked;
/// fn log(line: &Masked<String>) -> String {
///     format!("{line}")
/// }
/// let masker = Masker::new(Tiers::ALL, &[7; 32]);
/// let line = Masked::by(&masker, &"password=hunter2x".to_owned());
/// assert!(log(&line).starts_with("password=[masked:password:"));
/// ```
///
/// Plain text cannot go where masked text is wanted:
///
/// ```compile_fail,E0308
/// use thinkthrough_core::plane::Masked;
/// fn log(_: &Masked<String>) {}
/// log(&"pin 1234".to_owned());
/// ```
///
/// nor be called masked by whoever holds it:
///
/// ```compile_fail,E0423
/// use thinkthrough_core::plane::Masked;
/// let line = Masked("pin 1234".to_owned());
/// ```
///
/// ```compile_fail,E0277
/// use thinkthrough_core::plane::Masked;
/// let line: Masked<String> = "pin 1234".to_owned().into();
/// ```
///
/// nor slip in later:
///
/// ```compile_fail,E0594
/// use thinkthrough_core::plane::Masked;
/// fn slip_in(mut line: Masked<String>) {
///     *line.get() = "pin 1234".to_owned();
/// }
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Masked<T>(T);

impl<T: Maskable> Masked<T> {
    /// What `masker` makes of the value.
    #[must_use]
    pub fn by(masker: &Masker, value: &T) -> Self {
        Masked(value.masked(masker))
    }
}

impl Masked<String> {
    /// A text that stands in the program itself, and so holds nobody's secret.
    #[must_use]
    pub fn fixed(text: &'static str) -> Self {
        Masked(text.to_owned())
    }

    /// Text that was masked in pieces, as one. Whoever cuts a text must see to it that no secret is cut in two: a
    /// masker of streams does.
    #[must_use]
    pub fn joined(pieces: impl IntoIterator<Item = Masked<String>>) -> Self {
        Masked(pieces.into_iter().map(|piece| piece.0).collect())
    }
}

impl<T> Masked<T> {
    /// The value, for showing and storing.
    #[must_use]
    pub fn get(&self) -> &T {
        &self.0
    }

    /// The value, owned.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Text that is masked while it comes: for views of what is not yet whole.
#[derive(Debug)]
pub struct MaskedText(MaskStream);

impl MaskedText {
    /// The beginning of a text.
    #[must_use]
    pub fn new(masker: &Masker) -> Self {
        MaskedText(masker.stream())
    }

    /// What is certain after this piece; joined with [`Masked::joined`], all pieces are the masked text.
    pub fn push(&mut self, piece: &str) -> Masked<String> {
        let mut out = Vec::new();
        self.0.push(piece.as_bytes(), &mut out);
        text(out)
    }

    /// The rest, behind the text's end.
    pub fn end(&mut self) -> Masked<String> {
        let mut out = Vec::new();
        self.0.end(&mut out);
        text(out)
    }
}

/// A masker cuts a text between letters only, so that nothing is ever replaced here.
fn text(bytes: Vec<u8>) -> Masked<String> {
    Masked(
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}

impl Maskable for String {
    fn masked(&self, masker: &Masker) -> Self {
        masker.mask_text(self)
    }
}

impl<T: Maskable> Maskable for Option<T> {
    fn masked(&self, masker: &Masker) -> Self {
        self.as_ref().map(|value| value.masked(masker))
    }
}

impl<T: Maskable> Maskable for Vec<T> {
    fn masked(&self, masker: &Masker) -> Self {
        self.iter().map(|value| value.masked(masker)).collect()
    }
}

impl<T: fmt::Debug> fmt::Debug for Masked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: fmt::Display> fmt::Display for Masked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask::Tiers;

    #[test]
    fn every_piece_goes_through_the_masker() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let secret = "password=hunter2x".to_owned();
        let masked = masker.mask_text(&secret);
        assert_ne!(masked, secret);
        let value = vec![Some(secret), None, Some("b".to_owned())];
        assert_eq!(
            Masked::by(&masker, &value).get(),
            &vec![Some(masked.clone()), None, Some("b".to_owned())]
        );
        let pieces = [Masked::by(&masker, &"x ".to_owned()), Masked::fixed("y")];
        assert_eq!(Masked::joined(pieces).into_inner(), "x y");
    }

    #[test]
    fn text_that_comes_in_pieces_is_masked_as_the_whole() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let whole = "é password=hunter2x, 日本 and password=\"é日7x9!\"";
        let mut text = MaskedText::new(&masker);
        let mut pieces: Vec<Masked<String>> =
            whole.chars().map(|char| text.push(&char.to_string())).collect();
        pieces.push(text.end());
        assert_eq!(Masked::joined(pieces).into_inner(), masker.mask_text(whole));
    }
}
