//! Text that people may see: `<REDACTED>` spans are hidden first, then secrets.

use crate::tags::{Redactor, redacted};
use std::fmt;
use thinkthrough_mask::{MaskStream, Masker};

/// A value made of text, each piece of which can be masked.
pub trait Maskable {
    /// The same value with the redacted spans and the secrets in all its text covered.
    #[must_use]
    fn masked(&self, masker: &Masker) -> Self;
}

/// A value that went through [`Masker`]: the only thing that logs, traces and views take.
///
/// There is no other way to make one, and no way to replace its content:
///
/// ```
/// use thinkthrough_mask::{Masker, Tiers};
/// use thinkthrough_core::plane::Masked;
/// fn log(line: &Masked<String>) -> String {
///     format!("{line}")
/// }
/// let masker = Masker::new(Tiers::ALL, &[7; 32]);
/// let line = Masked::by(&masker, &"password=hunter2x".to_owned());
/// assert!(log(&line).starts_with("password=[masked:password:"));
/// ```
///
/// Plain text cannot be used as masked text:
///
/// ```compile_fail,E0308
/// use thinkthrough_core::plane::Masked;
/// fn log(_: &Masked<String>) {}
/// log(&"pin 1234".to_owned());
/// ```
///
/// nor can its holder declare it masked:
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
    /// Masks the value by `masker`.
    #[must_use]
    pub fn by(masker: &Masker, value: &T) -> Self {
        Masked(value.masked(masker))
    }
}

impl Masked<String> {
    /// A text from the program itself, which cannot hold a user's secret.
    #[must_use]
    pub fn fixed(text: &'static str) -> Self {
        Masked(text.to_owned())
    }

    /// The masked beginning of a text whose rest is unknown; its end is left out if it may be the beginning of a
    /// secret.
    #[must_use]
    pub fn beginning(masker: &Masker, text: &str) -> Self {
        MaskedText::new(masker).push(text)
    }

    /// Text that was masked in pieces, as one. The caller must not have cut a secret in two; a masker of streams
    /// takes care of that.
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

/// Text that is masked while it arrives: for views of unfinished text.
#[derive(Debug)]
pub struct MaskedText {
    redactor: Redactor,
    stream: MaskStream,
    /// The bytes of a letter that is not whole.
    left: Vec<u8>,
}

impl MaskedText {
    /// The beginning of a text.
    #[must_use]
    pub fn new(masker: &Masker) -> Self {
        let (redactor, stream) = (Redactor::default(), masker.stream());
        MaskedText { redactor, stream, left: Vec::new() }
    }

    /// Takes a piece, and returns all certain text; the results joined with [`Masked::joined`] are the masked text.
    pub fn push(&mut self, piece: &str) -> Masked<String> {
        let mut plain = String::with_capacity(piece.len());
        self.redactor.push(piece, &mut plain);
        self.stream.push(plain.as_bytes(), &mut self.left);
        self.letters()
    }

    /// The rest, behind the text's end. The next piece begins another text.
    pub fn end(&mut self) -> Masked<String> {
        let mut plain = String::new();
        self.redactor.end(&mut plain);
        self.stream.push(plain.as_bytes(), &mut self.left);
        self.stream.end(&mut self.left);
        let rest = std::mem::take(&mut self.left);
        Masked(String::from_utf8_lossy(&rest).into_owned())
    }

    /// The held text that cannot be part of a secret or a span, for callers that do not want to wait longer. The
    /// public beginning of a secret or of a tag may be out then, but never the covered part.
    pub fn flush(&mut self) -> Masked<String> {
        let mut plain = String::new();
        self.redactor.flush(&mut plain);
        self.stream.push(plain.as_bytes(), &mut self.left);
        self.stream.flush(&mut self.left);
        self.letters()
    }

    /// How many bytes are held back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.redactor.held() + self.stream.held() + self.left.len()
    }

    /// The output up to its last whole letter.
    fn letters(&mut self) -> Masked<String> {
        let whole = match std::str::from_utf8(&self.left) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let rest = self.left.split_off(whole);
        Masked(String::from_utf8(std::mem::replace(&mut self.left, rest)).unwrap_or_default())
    }
}

/// An unmasked text that has no listener yet. It keeps enough of its end that a listener who joins later receives no
/// part of a secret or span that began earlier.
#[derive(Clone, Debug, Default)]
pub struct Unheard {
    redactor: Redactor,
    tail: String,
}

impl Unheard {
    /// The number of bytes that are kept of the end: more than the longest secret with a form, a private key.
    const TAIL: usize = 16 * 1024;

    /// The next piece of the text.
    pub fn push(&mut self, piece: &str) {
        self.redactor.push(piece, &mut self.tail);
        // It is cut seldom, so that a piece costs no more than its own length.
        if self.tail.len() > 2 * Self::TAIL {
            let from = self.tail.len() - Self::TAIL;
            let at = (from..self.tail.len()).find(|at| self.tail.is_char_boundary(*at));
            self.tail.drain(..at.unwrap_or_default());
        }
    }

    /// Whether nothing came.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tail.is_empty() && self.redactor.held() == 0
    }

    /// The masked text from here on; earlier text is left out, except for an unfinished word.
    #[must_use]
    pub fn listen(&self, masker: &Masker) -> MaskedText {
        let mut text = MaskedText::new(masker);
        let mut unsaid = Vec::new();
        text.stream.push(self.tail.as_bytes(), &mut unsaid);
        text.redactor = self.redactor.clone();
        text
    }
}

impl Maskable for String {
    fn masked(&self, masker: &Masker) -> Self {
        masker.mask_text(&redacted(self))
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
    use thinkthrough_mask::Tiers;

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

    #[test]
    fn redacted_spans_are_hidden_before_secrets_whole_and_in_pieces() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let whole = "a <REDACTED>PIIalpha77</REDACTED> password=hunter2x <REDACTED>open".to_owned();
        let masked = Masked::by(&masker, &whole).into_inner();
        assert!(
            masked.starts_with("a [redacted] password=[masked:") && masked.ends_with(" [redacted]")
        );
        for cut in 0..whole.len() {
            let mut text = MaskedText::new(&masker);
            let (one, two) = whole.split_at(cut);
            let pieces = [text.push(one), text.push(two), text.end()];
            assert_eq!(Masked::joined(pieces).get(), &masked, "{cut}");
        }
    }

    #[test]
    fn who_listens_from_the_middle_on_hears_nothing_of_what_began_before() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let key = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
        for secret in [key, "<REDACTED>PIIalpha77 PIIbeta88</REDACTED>".to_owned()] {
            let whole = format!("so it is {secret}, and on");
            for cut in 0..whole.len() {
                let mut unheard = Unheard::default();
                let (before, from) = whole.split_at(cut);
                before.chars().for_each(|it| unheard.push(it.encode_utf8(&mut [0; 4])));
                let mut text = unheard.listen(&masker);
                let heard = Masked::joined([text.push(from), text.end()]).into_inner();
                assert!(heard.ends_with("on") || cut >= whole.len() - 1, "{cut}: {heard}");
                for at in 4..secret.len() - 4 {
                    let part = secret.get(at..at + 4).unwrap();
                    assert!(
                        part.contains("EDACTED") || part.contains('<') || !heard.contains(part),
                        "{cut}: {heard}"
                    );
                }
            }
        }
        let mut long = Unheard::default();
        (0..10).for_each(|_| long.push(&"\u{e4}".repeat(Unheard::TAIL / 3)));
        assert!(long.tail.len() <= 2 * Unheard::TAIL && !long.is_empty());
    }

    #[test]
    fn a_beginning_ends_before_what_may_be_a_secret() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let key = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
        for cut in 5..key.len() {
            let text = format!("it is {}", key.split_at(cut).0);
            assert_eq!(Masked::beginning(&masker, &text).get(), "it is ", "{cut}");
        }
        let whole = Masked::beginning(&masker, &format!("it is {key}, and")).into_inner();
        assert!(whole.starts_with("it is [masked:") && whole.contains(','), "{whole}");
    }
}
