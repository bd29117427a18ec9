//! Ids of conversations.

use std::fmt;

/// A conversation's id: 16 letters and digits of a random number, short enough to type the first few of.
///
/// The alphabet leaves out letters that are mistaken for digits.
/// Source: Crockford's base 32, in small letters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId(Box<str>);

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LETTERS: usize = 16;

impl ConversationId {
    /// The id of ten random bytes.
    pub(crate) fn from_random(bytes: [u8; 10]) -> Self {
        let mut bits = bytes.iter().fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
        let mut id = [b'0'; LETTERS];
        for letter in id.iter_mut().rev() {
            let digit = usize::try_from(bits & 31).unwrap_or_default();
            *letter = ALPHABET.get(digit).copied().unwrap_or(b'0');
            bits >>= 5;
        }
        ConversationId(String::from_utf8_lossy(&id).into())
    }

    /// Parses a complete id. Case does not matter.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let id = text.to_ascii_lowercase();
        (id.len() == LETTERS && is_beginning(&id)).then(|| ConversationId(id.into()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether `text`, in lower case, can be the beginning of an id.
pub(crate) fn is_beginning(text: &str) -> bool {
    !text.is_empty() && text.len() <= LETTERS && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

impl fmt::Debug for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_back_and_nothing_else_is_one() {
        for (bytes, expected) in [
            ([0; 10], "0000000000000000"),
            ([0xFF; 10], "zzzzzzzzzzzzzzzz"),
            ([0, 0, 0, 0, 0, 0, 0, 0, 0, 33], "0000000000000011"),
        ] {
            let id = ConversationId::from_random(bytes);
            assert_eq!(id.as_str(), expected);
            assert_eq!(ConversationId::parse(&expected.to_uppercase()), Some(id));
        }
        for no in ["", "0", "000000000000000l", "../../etc/passwd", "00000000000000000", "é"] {
            assert_eq!(ConversationId::parse(no), None, "{no}");
        }
    }
}
