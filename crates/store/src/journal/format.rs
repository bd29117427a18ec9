//! The file format of a journal: a head, then entries, each with its length and checksums.
//!
//! This module does no I/O. Reading accepts any bytes and returns only whole entries, each at the place for which it
//! was written. It stops at an entry whose header is damaged, because the start of the next one is unknown. A file
//! that ends within an entry was cut, for example by a crash. A complete entry with another checksum was changed.
//!
//! ```text
//! head   b"thinkjnl", version: u32, store: [u8; 16], checksum of all before: u32
//! entry  length: u32, kind: u32, checksum of the payload: u32, checksum of these and of the entry's place: u32, payload
//! ```
//!
//! All numbers are little-endian.

use crc32fast::Hasher;

pub(super) const HEAD: usize = 32;
/// Bytes before the payload of an entry.
const BEFORE: usize = 16;
const MAGIC: [u8; 8] = *b"thinkjnl";
const VERSION: u32 = 1;

/// The mark of the store that a journal belongs to.
pub(super) type Mark = [u8; 16];

/// The kind of an entry. The numbers are in files, so they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A record of the vault.
    Record = 1,
    /// The offset up to which the database has all entries.
    Taken = 2,
    /// A trace, in files of its own.
    Trace = 3,
    /// The slice of a budget that a gateway holds, and its spent amount, in files of their own.
    Slice = 4,
    /// A thought of an answer in progress, in files of its own.
    Spilled = 5,
}

impl Kind {
    fn of(number: u32) -> Option<Self> {
        let all = [Kind::Record, Kind::Taken, Kind::Trace, Kind::Slice, Kind::Spilled];
        all.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// The reason why a file has no readable head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoHead {
    /// The file ends within its head: the process that made it ended too early.
    Cut,
    /// Another version of the program made it.
    Version(u32),
    /// The file does not begin like a journal.
    Damaged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) kind: Kind,
    pub(super) payload: &'a [u8],
    /// The offset behind the entry.
    pub(super) end: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entries<'a> {
    pub(super) whole: Vec<Entry<'a>>,
    /// The offset of the first damage.
    pub(super) damaged_at: Option<usize>,
    /// The offset behind the readable part. Bytes after it are cut or damaged.
    pub(super) end: usize,
}

pub(super) fn head(store: Mark) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEAD);
    head.extend(MAGIC);
    head.extend(VERSION.to_le_bytes());
    head.extend(store);
    head.extend(crc32fast::hash(&head).to_le_bytes());
    head
}

/// Reads the mark of the store that the journal belongs to.
pub(super) fn read_head(bytes: &[u8]) -> Result<Mark, NoHead> {
    let (magic, version) = (bytes.get(..8), number(bytes, 8));
    let store = bytes.get(12..28).and_then(|store| Mark::try_from(store).ok());
    let (Some(magic), Some(version), Some(store), Some(sum)) =
        (magic, version, store, number(bytes, 28))
    else {
        return Err(NoHead::Cut);
    };
    let is_whole = bytes.get(..28).is_some_and(|all| crc32fast::hash(all) == sum);
    match (is_whole && magic == MAGIC, version) {
        (false, _) => Err(NoHead::Damaged),
        (true, VERSION) => Ok(store),
        (true, other) => Err(NoHead::Version(other)),
    }
}

/// Appends an entry to `out`, whose first byte goes to offset `at` of the file. `payload` writes the payload. Returns
/// false and appends nothing if the payload is too long for the length field.
pub(super) fn put(
    out: &mut Vec<u8>,
    at: u64,
    kind: Kind,
    payload: impl FnOnce(&mut Vec<u8>),
) -> bool {
    let start = out.len();
    out.extend([0; BEFORE]);
    payload(out);
    let held = out.get(start.saturating_add(BEFORE)..).unwrap_or_default();
    let Ok(length) = u32::try_from(held.len()) else {
        out.truncate(start);
        return false;
    };
    let before = before(at + start as u64, length, kind as u32, crc32fast::hash(held));
    if let Some(room) = out.get_mut(start..start + BEFORE) {
        room.copy_from_slice(&before);
    }
    true
}

pub(super) fn read(bytes: &[u8]) -> Entries<'_> {
    let mut entries = Entries::default();
    let mut at = HEAD;
    while let Some(sums) = bytes.get(at..).and_then(|rest| rest.get(..BEFORE)) {
        let [length, kind, sum] = [0, 4, 8].map(|from| number(sums, from).unwrap_or_default());
        if before(at as u64, length, kind, sum) != sums {
            // The start of the next entry is unknown.
            entries.damaged_at.get_or_insert(at);
            break;
        }
        let start = at + BEFORE;
        let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
        let Some((end, payload)) = end.and_then(|end| Some((end, bytes.get(start..end)?))) else {
            break;
        };
        match Kind::of(kind).filter(|_| crc32fast::hash(payload) == sum) {
            Some(kind) => entries.whole.push(Entry { kind, payload, end: end as u64 }),
            // A damaged payload does not affect later entries.
            None => _ = entries.damaged_at.get_or_insert(at),
        }
        at = end;
    }
    entries.end = at;
    entries
}

/// The header of an entry at offset `at`.
fn before(at: u64, length: u32, kind: u32, sum: u32) -> [u8; BEFORE] {
    let mut bytes = [0; BEFORE];
    let (head, own) = bytes.split_at_mut(12);
    for (room, number) in head.chunks_exact_mut(4).zip([length, kind, sum]) {
        room.copy_from_slice(&number.to_le_bytes());
    }
    let mut hasher = Hasher::new();
    hasher.update(head);
    hasher.update(&at.to_le_bytes());
    own.copy_from_slice(&hasher.finalize().to_le_bytes());
    bytes
}

fn number(bytes: &[u8], from: usize) -> Option<u32> {
    let bytes = bytes.get(from..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STORE: Mark = *b"0123456789abcdef";

    /// A journal with these payloads, and the offsets behind its entries.
    fn journal(payloads: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends) = (head(STORE), Vec::new());
        for payload in payloads {
            assert!(put(&mut bytes, 0, Kind::Record, |out| out.extend(payload)));
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn payloads_of(bytes: &[u8]) -> Vec<Vec<u8>> {
        let whole = read(bytes).whole;
        whole.into_iter().map(|entry| entry.payload.to_vec()).collect()
    }

    fn some() -> impl Strategy<Value = Vec<Vec<u8>>> {
        prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8)
    }

    #[test]
    fn the_form_stays_as_it_is() {
        let mut bytes = head(STORE);
        put(&mut bytes, 0, Kind::Record, |out| out.extend(b"ab"));
        put(&mut bytes, 0, Kind::Taken, |out| out.extend(50_u64.to_le_bytes()));
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let head = "7468696e6b6a6e6c01000000303132333435363738396162636465666bd7582b";
        let record = "02000000010000006d48839e24a016476162";
        let taken = "0800000002000000698bcaa21cecb2963200000000000000";
        assert_eq!(hex, [head, record, taken].concat());
    }

    #[test]
    fn entries_are_written_behind_what_the_file_has() {
        let (whole, ends) = journal(&[b"one".to_vec(), b"two".to_vec()]);
        let mut second = Vec::new();
        assert!(put(&mut second, ends[0] as u64, Kind::Record, |out| out.extend(b"two")));
        assert_eq!(second, whole[ends[0]..]);
    }

    #[test]
    fn another_version_and_another_file_are_no_journal() {
        let mut newer = head(STORE);
        newer[8] = 2;
        let sum = crc32fast::hash(&newer[..28]);
        newer[28..].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(read_head(&newer), Err(NoHead::Version(2)));
        assert_eq!(read_head(&[0; 40]), Err(NoHead::Damaged));
        assert_eq!(read_head(&[]), Err(NoHead::Cut));
        for bit in 0..HEAD * 8 {
            let mut changed = head(STORE);
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_head(&changed), Err(NoHead::Damaged), "{bit}");
        }
    }

    proptest! {
        #[test]
        fn what_was_put_is_read(payloads in some()) {
            let (bytes, ends) = journal(&payloads);
            prop_assert_eq!(read_head(&bytes), Ok(STORE));
            let entries = read(&bytes);
            prop_assert_eq!(entries.damaged_at, None);
            let read: Vec<usize> =
                entries.whole.iter().map(|entry| usize::try_from(entry.end).unwrap()).collect();
            prop_assert_eq!(read, ends);
            prop_assert_eq!(payloads_of(&bytes), payloads);
        }

        #[test]
        fn cut_at_any_byte_it_gives_what_was_whole_before_and_is_not_damaged(payloads in some()) {
            let (bytes, ends) = journal(&payloads);
            for cut in 0..bytes.len() {
                let (part, whole) = (&bytes[..cut], ends.iter().filter(|end| **end <= cut).count());
                prop_assert_eq!(payloads_of(part), &payloads[..whole], "cut at {}", cut);
                prop_assert_eq!(read(part).damaged_at, None, "cut at {}", cut);
                prop_assert_eq!(read_head(part).is_ok(), cut >= HEAD);
            }
        }

        #[test]
        fn a_changed_bit_takes_no_entry_before_it_and_makes_none(payloads in some(), at: u32) {
            let (mut bytes, ends) = journal(&payloads);
            let bit = at as usize % ((bytes.len() - HEAD).max(1) * 8);
            let place = HEAD + bit / 8;
            if let Some(byte) = bytes.get_mut(place) {
                *byte ^= 1 << (bit % 8);
                let before = ends.iter().filter(|end| **end <= place).count();
                let read_now = payloads_of(&bytes);
                prop_assert_eq!(&read_now[..before], &payloads[..before]);
                let mut rest = read_now[before..].to_vec();
                // Every later entry that is read was there before.
                rest.retain(|it| !payloads[before + 1..].contains(it));
                prop_assert_eq!(rest, Vec::<Vec<u8>>::new());
                let from = before.checked_sub(1).map_or(HEAD, |it| ends[it]);
                prop_assert_eq!(read(&bytes).damaged_at, Some(from));
            }
        }

        #[test]
        fn garbage_behind_it_adds_nothing(payloads in some(), garbage: Vec<u8>) {
            let (mut bytes, _) = journal(&payloads);
            bytes.extend(garbage);
            prop_assert_eq!(payloads_of(&bytes), payloads);
        }

        #[test]
        fn entries_that_change_places_are_not_read(one in prop::collection::vec(any::<u8>(), 0..50)) {
            let (bytes, ends) = journal(&[one, b"the next one".to_vec()]);
            let mut moved = bytes[..HEAD].to_vec();
            moved.extend(&bytes[ends[0]..]);
            prop_assert_eq!(read(&moved).whole, Vec::new());
        }

        #[test]
        fn no_bytes_break_it(bytes: Vec<u8>) {
            let mut behind = head(STORE);
            behind.extend(&bytes);
            prop_assert_eq!(read(&behind).whole, Vec::new());
            let _whatever = (read_head(&bytes), read(&bytes));
        }
    }
}
