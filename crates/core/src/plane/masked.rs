//! Text that people may see.

use std::fmt;

/// Finds secrets in text and covers them.
pub trait Masker {
    /// The text with its secrets covered.
    fn mask(&self, text: &str) -> String;
}

/// A value made of text, each piece of which can be masked.
pub trait Maskable {
    /// The same value with the secrets in all its text covered.
    #[must_use]
    fn masked(&self, masker: &dyn Masker) -> Self;
}

/// A value that went through a masker: the only thing that logs, traces and views take.
///
/// There is no other way to make one, and none to put something else in:
///
/// ```
/// use thinkthrough_core::plane::{Masked, Masker};
/// struct NoDigits;
/// impl Masker for NoDigits {
///     fn mask(&self, text: &str) -> String {
///         text.replace(|c: char| c.is_ascii_digit(), "*")
///     }
/// }
/// fn log(line: &Masked<String>) -> String {
///     format!("{line}")
/// }
/// let line = Masked::by(&NoDigits, &"pin 1234".to_owned());
/// assert_eq!(log(&line), "pin ****");
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
    pub fn by(masker: &dyn Masker, value: &T) -> Self {
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

impl Maskable for String {
    fn masked(&self, masker: &dyn Masker) -> Self {
        masker.mask(self)
    }
}

impl<T: Maskable> Maskable for Option<T> {
    fn masked(&self, masker: &dyn Masker) -> Self {
        self.as_ref().map(|value| value.masked(masker))
    }
}

impl<T: Maskable> Maskable for Vec<T> {
    fn masked(&self, masker: &dyn Masker) -> Self {
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

    struct Shout;

    impl Masker for Shout {
        fn mask(&self, text: &str) -> String {
            text.to_uppercase()
        }
    }

    #[test]
    fn every_piece_goes_through_the_masker() {
        let value = vec![Some("a".to_owned()), None, Some("b".to_owned())];
        let masked = Masked::by(&Shout, &value);
        assert_eq!(masked.get(), &vec![Some("A".to_owned()), None, Some("B".to_owned())]);
        let pieces = [Masked::by(&Shout, &"x ".to_owned()), Masked::fixed("y")];
        assert_eq!(Masked::joined(pieces).into_inner(), "X y");
    }
}
