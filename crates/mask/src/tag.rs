//! Placeholders of secrets: `[masked:<rule>:<tag>]`.
//!
//! The tag is a keyed digest: equal secrets have equal tags under one key, and guesses cannot be tried without the
//! key.

use super::set::Set;
use super::text::{More, Text};

const OPEN: &[u8] = b"[masked:";
const LETTERS: [u8; 32] = *b"abcdefghijklmnopqrstuvwxyz234567";
const LENGTH: usize = 6;
const RULE: Set = Set::range(b'a', b'z').or(Set::range(b'0', b'9')).or(Set::of("-"));
const TAG: Set = Set::range(b'a', b'z').or(Set::range(b'2', b'7'));
const LONGEST_RULE: usize = 48;

/// The beginning of a placeholder.
pub(super) fn opening() -> Vec<u8> {
    OPEN.to_vec()
}

/// The tag of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag([u8; LENGTH]);

/// Makes tags.
#[derive(Clone)]
pub(super) struct TagKey([u8; 32]);

impl TagKey {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        TagKey(*blake3::keyed_hash(key, b"mask tags").as_bytes())
    }

    /// A digest that a secret goes into piece by piece.
    pub(super) fn digest(&self) -> blake3::Hasher {
        blake3::Hasher::new_keyed(&self.0)
    }

    pub(super) fn tag(&self, secret: &[u8]) -> Tag {
        Tag::of(&blake3::keyed_hash(&self.0, secret))
    }

    /// A keyed digest that identifies a registered text, so that the text itself need not be stored.
    pub(super) fn fingerprint(&self, text: &[u8]) -> [u8; 32] {
        let mut digest = self.digest();
        digest.update(b"\0fingerprint\0").update(text);
        *digest.finalize().as_bytes()
    }
}

impl Tag {
    pub(super) fn of(hash: &blake3::Hash) -> Self {
        let mut tag = [b'a'; LENGTH];
        for (letter, byte) in tag.iter_mut().zip(hash.as_bytes()) {
            *letter = LETTERS.get(usize::from(byte & 31)).copied().unwrap_or(b'a');
        }
        Tag(tag)
    }

    /// Writes the placeholder.
    pub(super) fn write(self, rule: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(OPEN);
        out.extend_from_slice(rule.as_bytes());
        out.push(b':');
        out.extend_from_slice(&self.0);
        out.push(b']');
    }
}

/// Returns the end of the placeholder that begins at `at`, if there is one.
pub(super) fn placeholder(text: Text<'_>, at: usize) -> Result<Option<usize>, More> {
    if !text.continues(at, OPEN, false)? {
        return Ok(None);
    }
    let mut here = at + OPEN.len();
    let rule = text.run(here, RULE, LONGEST_RULE)?;
    here += rule;
    if rule == 0 || text.byte(here)? != Some(b':') {
        return Ok(None);
    }
    here += 1;
    if text.run(here, TAG, LENGTH)? != LENGTH || text.byte(here + LENGTH)? != Some(b']') {
        return Ok(None);
    }
    Ok(Some(here + LENGTH + 1))
}

/// Whether a placeholder begins in this part of the text.
pub(super) fn meets(text: Text<'_>, from: usize, to: usize) -> Result<bool, More> {
    for at in memchr::memchr_iter(b'[', text.part(from, to + 1)) {
        if placeholder(text, from + at)?.is_some() {
            return Ok(true);
        }
    }
    // The byte after the part may not have arrived yet.
    text.byte(to)?;
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_is_known_again() {
        let tag = TagKey::new(&[7; 32]).tag(b"secret");
        assert_eq!(tag, TagKey::new(&[7; 32]).tag(b"secret"));
        assert_ne!(tag, TagKey::new(&[8; 32]).tag(b"secret"));
        let mut written = Vec::new();
        tag.write("github-token", &mut written);
        assert_eq!(placeholder(Text::whole(&written), 0), Ok(Some(written.len())));
        for end in 0..written.len() {
            let part = written.get(..end).unwrap();
            assert_eq!(placeholder(Text::begun(part), 0), Err(More));
            assert_eq!(placeholder(Text::whole(part), 0), Ok(None));
        }
        assert_eq!(meets(Text::whole(b"a[b] [masked:x:abcdef]"), 0, 22), Ok(true));
        assert_eq!(meets(Text::whole(b"a[b] [masked:x:abcde1]"), 0, 22), Ok(false));
    }
}
