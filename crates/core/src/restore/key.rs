//! Keyed digests: every look-up uses a digest under the tenant's own key.

use std::fmt;

/// The version of the normal form. Each key and each stored record has its number.
///
/// A change that gives the same answer other keys is a new version. [`Version::READ`] then has the new one and the
/// one before it, and a look-up asks for the keys of both. A record with another number is not read, and the store
/// reports once that it has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// The first release: an answer is known by its own ids, else by its history.
    V1,
}

impl Version {
    /// The version of new records.
    pub const CURRENT: Version = Version::V1;
    /// The versions that this program reads, the newest first.
    pub const READ: &[Version] = &[Version::V1];

    /// The number in keys and records.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Version::V1 => 1,
        }
    }

    /// The version with this number. Returns `None` if this program does not read it.
    pub(super) fn read(number: u8) -> Option<Version> {
        Version::READ.iter().copied().find(|version| version.number() == number)
    }
}

/// A tenant's secret for look-ups. It is never printed, and two tenants never share one.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    /// The secret with these bytes, which must be random and different for each tenant.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Secret(bytes)
    }

    /// A pseudonym of a session for people: the same each time, and meaningless without the secret.
    #[must_use]
    pub fn pseudonym(&self, session: &str) -> String {
        self.name(Of::Session, session)
    }

    /// The keyed digest of a payload that a provider refused.
    #[must_use]
    pub fn mark(&self, payload: &str) -> String {
        self.name(Of::Refused, payload)
    }

    fn name(&self, of: Of, text: &str) -> String {
        let digest = Digest::new(self, Version::CURRENT, of).part(text.as_bytes()).finish();
        let half = digest.0.first_chunk().copied().unwrap_or_default();
        format!("{:032x}", u128::from_be_bytes(half))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A digest under a tenant's secret. It is meaningless without the secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key([u8; 32]);

impl Key {
    /// The key with these bytes, read back from a store.
    #[must_use]
    pub fn stored(bytes: [u8; 32]) -> Self {
        Key(bytes)
    }

    /// The bytes, for a store.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(6).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The kind of data in a digest. Digests of two kinds never meet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    /// A ticket in the place of a thought's signature.
    Ticket = 1,
    /// A session hint.
    Hint = 2,
    /// The system messages.
    System = 3,
    /// The tools on offer.
    Tools = 4,
    /// One visible piece.
    Piece = 5,
    /// The reasoning of an answer.
    Thought = 6,
    /// The data from which a ticket is made.
    Mint = 7,
    /// A session hint for people; look-up keys are never shown.
    Session = 8,
    /// The id of a call that no other answer has.
    Anchor = 9,
    /// The visible parts of an answer.
    Content = 10,
    /// The messages before an answer since the last unique id.
    History = 11,
    /// An answer behind its history.
    Answered = 12,
    /// All messages before an answer.
    Prefix = 13,
    /// The words of a thought, as clients show them.
    Words = 14,
    /// A payload that a provider refused.
    Refused = 15,
}

/// How much is gathered before it is digested. A power of two of at least a kilobyte, so that the hash can process
/// the bytes of one call in parallel.
const GATHERED: usize = 64 * 1024;

/// A digest in the making. Short parts are gathered first, because digesting them one by one would cost several times
/// as much as digesting their bytes in one piece.
pub(super) struct Digest {
    secret: [u8; 32],
    /// Holds the bytes that no longer fit into `gathered`.
    hasher: Option<Box<blake3::Hasher>>,
    gathered: Vec<u8>,
}

impl Digest {
    pub(super) fn new(secret: &Secret, version: Version, of: Of) -> Self {
        let mut gathered = Vec::with_capacity(128);
        gathered.extend([version.number(), of as u8]);
        Digest { secret: secret.0, hasher: None, gathered }
    }

    /// Adds bytes with their length, so that no two lists of parts are one.
    pub(super) fn part(&mut self, bytes: &[u8]) -> &mut Self {
        self.add(&(bytes.len() as u64).to_le_bytes());
        self.add(bytes);
        self
    }

    /// Adds a byte that names the kind of the next part.
    pub(super) fn tag(&mut self, tag: u8) -> &mut Self {
        self.add(&[tag]);
        self
    }

    pub(super) fn key(&mut self, key: &Key) -> &mut Self {
        self.add(&key.0);
        self
    }

    pub(super) fn finish(&self) -> Key {
        let digest = match &self.hasher {
            None => blake3::keyed_hash(&self.secret, &self.gathered),
            Some(hasher) => hasher.clone().update(&self.gathered).finalize(),
        };
        Key(*digest.as_bytes())
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = GATHERED - self.gathered.len();
        let Some((fits, mut rest)) = bytes.split_at_checked(room) else {
            return self.gathered.extend_from_slice(bytes);
        };
        self.gathered.extend_from_slice(fits);
        let secret = &self.secret;
        let hasher = self.hasher.get_or_insert_with(|| Box::new(blake3::Hasher::new_keyed(secret)));
        hasher.update(&self.gathered);
        self.gathered.clear();
        while let Some((whole, left)) = rest.split_at_checked(GATHERED) {
            hasher.update(whole);
            rest = left;
        }
        self.gathered.extend_from_slice(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_by_tenant_kind_and_part() {
        let (one, two) = (Secret::new([1; 32]), Secret::new([2; 32]));
        let key = |secret: &Secret, of, parts: &[&str]| {
            let mut digest = Digest::new(secret, Version::CURRENT, of);
            parts.iter().for_each(|part| {
                digest.part(part.as_bytes());
            });
            digest.finish()
        };
        let all = [
            key(&one, Of::History, &["ab", "c"]),
            key(&one, Of::History, &["a", "bc"]),
            key(&one, Of::History, &["abc"]),
            key(&one, Of::Piece, &["ab", "c"]),
            key(&two, Of::History, &["ab", "c"]),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(Key::stored(*all[0].bytes()), all[0]);
        assert_eq!(format!("{one:?}"), "Secret(..)");
    }

    #[test]
    fn a_digest_is_that_of_its_bytes_in_one_piece() {
        let secret = Secret::new([7; 32]);
        for (sizes, count) in [
            (&[1][..], 10),
            (&[3, 1000, 0], 90),
            (&[GATHERED - 2], 1),
            (&[GATHERED - 10], 5),
            (&[9, 3 * GATHERED + 1], 2),
        ] {
            let mut digest = Digest::new(&secret, Version::CURRENT, Of::Piece);
            let mut whole = vec![Version::CURRENT.number(), Of::Piece as u8];
            for size in sizes.iter().cycle().take(sizes.len() * count) {
                let part: Vec<u8> = (0..=250).cycle().take(*size).collect();
                digest.part(&part).tag(9);
                whole.extend((part.len() as u64).to_le_bytes());
                whole.extend(&part);
                whole.push(9);
            }
            let key = digest.finish();
            assert_eq!(key.bytes(), blake3::keyed_hash(&[7; 32], &whole).as_bytes(), "{sizes:?}");
            assert_eq!(digest.finish(), key);
        }
    }

    #[test]
    fn a_session_is_shown_by_a_name_that_nobody_can_undo() {
        let (one, two) = (Secret::new([1; 32]), Secret::new([2; 32]));
        let name = one.pseudonym("ana@example.org");
        assert_eq!((name.len(), name.contains("ana")), (32, false));
        assert_eq!(name, one.pseudonym("ana@example.org"));
        assert_ne!(name, one.pseudonym("ben@example.org"));
        assert_ne!(name, two.pseudonym("ana@example.org"));
        let looked_up =
            Digest::new(&one, Version::CURRENT, Of::Hint).part(b"ana@example.org").finish();
        assert!(!name.starts_with(&format!("{looked_up:?}")));
    }
}
