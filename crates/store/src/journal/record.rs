//! The payload of journal entries: the rows that the database will store. Records are sealed and have their keys;
//! traces are masked, and their items sealed.
//!
//! These functions only work on bytes.

use super::format::Kind;
use crate::ledger_row::SliceRow;
use crate::row::{NewRecord, SealedItems, TraceRow};
use thinkthrough_limits::Unheard;

/// A row that is stored in a journal before the database.
pub(crate) trait Journaled: Sized + Send + Sync + 'static {
    /// The kind of its entries.
    const KIND: Kind;

    /// Appends the payload to `out`.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads a payload. `None` if the bytes have another form.
    fn read(bytes: &[u8]) -> Option<Self>;
}

impl Journaled for NewRecord {
    const KIND: Kind = Kind::Record;

    fn put(&self, out: &mut Vec<u8>) {
        put(out, self);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        read(bytes)
    }
}

/// The numbers of texts and numbers come first, so that versions with different columns can read each other's
/// entries: an older version ignores additional values, and missing ones are empty.
impl Journaled for TraceRow {
    const KIND: Kind = Kind::Trace;

    fn put(&self, out: &mut Vec<u8>) {
        let (texts, numbers, maybe) = (self.texts(), self.numbers(), self.maybe());
        for count in [texts.len(), numbers.len(), maybe.len()] {
            out.extend((count as u64).to_le_bytes());
        }
        texts.into_iter().for_each(|text| put_bytes(out, text.as_bytes()));
        numbers.into_iter().for_each(|number| out.extend(number.to_le_bytes()));
        for number in maybe {
            out.push(u8::from(number.is_some()));
            out.extend(number.unwrap_or_default().to_le_bytes());
        }
        put_some(out, self.items.as_ref().map(|items| items.sealed.as_slice()));
        out.extend(self.items.as_ref().map_or(0, |items| items.key_id).to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let counts = [length(&mut rest)?, length(&mut rest)?, length(&mut rest)?];
        let mut texts: [String; 11] = Default::default();
        let (mut numbers, mut maybe) = ([0; 5], [None; 4]);
        let [has_texts, has_numbers, has_maybe] = counts;
        fill(&mut texts, has_texts, || text(take_bytes(&mut rest)?))?;
        fill(&mut numbers, has_numbers, || Some(i64::from_le_bytes(chunk(&mut rest)?)))?;
        fill(&mut maybe, has_maybe, || {
            let (is_there, number) = (chunk(&mut rest)?, i64::from_le_bytes(chunk(&mut rest)?));
            match is_there {
                [0] if number == 0 => Some(None),
                [1] => Some(Some(number)),
                [_] => None,
            }
        })?;
        let sealed = take_some(&mut rest)?.map(<[u8]>::to_vec);
        let key_id = u32::from_le_bytes(chunk(&mut rest)?);
        let items = sealed.map(|sealed| SealedItems { key_id, sealed });
        rest.is_empty().then(|| TraceRow { items, ..TraceRow::of(texts, numbers, maybe) })
    }
}

impl Journaled for SliceRow {
    const KIND: Kind = Kind::Slice;

    fn put(&self, out: &mut Vec<u8>) {
        let SliceRow { tenant, name, holder, unheard, order } = self;
        let Unheard { number, reported, spent } = unheard;
        [tenant, name, holder].into_iter().for_each(|text| put_bytes(out, text.as_bytes()));
        [order, number, reported, spent].into_iter().for_each(|it| out.extend(it.to_le_bytes()));
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut next_text = || text(take_bytes(&mut rest)?);
        let (tenant, name, holder) = (next_text()?, next_text()?, next_text()?);
        let mut next = || chunk(&mut rest).map(u64::from_le_bytes);
        let order = next()?;
        let unheard = Unheard { number: next()?, reported: next()?, spent: next()? };
        rest.is_empty().then_some(SliceRow { tenant, name, holder, unheard, order })
    }
}

/// Reads `count` values into the places, and ignores values without a place.
fn fill<T>(places: &mut [T], count: usize, mut next: impl FnMut() -> Option<T>) -> Option<()> {
    let mut places = places.iter_mut();
    for _ in 0..count {
        let value = next()?;
        if let Some(place) = places.next() {
            *place = value;
        }
    }
    Some(())
}

/// Appends a record to `out`.
fn put(out: &mut Vec<u8>, record: &NewRecord) {
    let NewRecord { tenant, id, parent, thread, key_id, keys, head, kept, now } = record;
    out.extend(tenant.to_le_bytes());
    out.extend(now.to_le_bytes());
    out.extend(key_id.to_le_bytes());
    put_bytes(out, id.as_bytes());
    put_some(out, parent.as_ref().map(String::as_bytes));
    put_some(out, thread.as_deref());
    out.extend((keys.len() as u64).to_le_bytes());
    keys.iter().for_each(|key| out.extend(key.to_le_bytes()));
    put_bytes(out, head);
    put_bytes(out, kept);
}

/// Reads the bytes of [`put`]. `None` if they have another form.
fn read(bytes: &[u8]) -> Option<NewRecord> {
    let mut rest = bytes;
    let record = NewRecord {
        tenant: i64::from_le_bytes(chunk(&mut rest)?),
        now: i64::from_le_bytes(chunk(&mut rest)?),
        key_id: u32::from_le_bytes(chunk(&mut rest)?),
        id: text(take_bytes(&mut rest)?)?,
        parent: match take_some(&mut rest)? {
            Some(parent) => Some(text(parent)?),
            None => None,
        },
        thread: take_some(&mut rest)?.map(<[u8]>::to_vec),
        keys: take_keys(&mut rest)?,
        head: take_bytes(&mut rest)?.to_vec(),
        kept: take_bytes(&mut rest)?.to_vec(),
    };
    rest.is_empty().then_some(record)
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_some(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    out.push(u8::from(bytes.is_some()));
    bytes.into_iter().for_each(|bytes| put_bytes(out, bytes));
}

fn chunk<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*first)
}

fn length(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(chunk(rest)?)).ok()
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = length(rest)?;
    let (bytes, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(bytes)
}

fn take_some<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    match chunk(rest)? {
        [0] => Some(None),
        [1] => Some(Some(take_bytes(rest)?)),
        [_] => None,
    }
}

fn take_keys(rest: &mut &[u8]) -> Option<Vec<i64>> {
    let length = length(rest)?.checked_mul(8)?;
    let (keys, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(keys.as_chunks().0.iter().map(|key| i64::from_le_bytes(*key)).collect())
}

fn text(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn record()(
            tenant: i64, id: String, parent: Option<String>, thread: Option<Vec<u8>>, key_id: u32,
            keys: Vec<i64>, head: Vec<u8>, kept: Vec<u8>, now: i64,
        ) -> NewRecord {
            NewRecord { tenant, id, parent, thread, key_id, keys, head, kept, now }
        }
    }

    proptest! {
        #[test]
        fn what_was_put_is_read_and_a_part_of_it_is_nothing(record in record()) {
            let mut bytes = Vec::new();
            put(&mut bytes, &record);
            prop_assert_eq!(read(&bytes), Some(record));
            for cut in 0..bytes.len() {
                prop_assert_eq!(read(&bytes[..cut]), None);
            }
            bytes.push(0);
            prop_assert_eq!(read(&bytes), None);
        }

        #[test]
        fn a_trace_that_was_put_is_read_and_a_part_of_it_is_nothing(
            texts: [String; 11], numbers: [i64; 5], maybe: [Option<i64>; 4],
            items: Option<(u32, Vec<u8>)>,
        ) {
            let items = items.map(|(key_id, sealed)| SealedItems { key_id, sealed });
            let (mut bytes, row) =
                (Vec::new(), TraceRow { items, ..TraceRow::of(texts, numbers, maybe) });
            row.put(&mut bytes);
            prop_assert_eq!(TraceRow::read(&bytes), Some(row));
            for cut in 0..bytes.len() {
                prop_assert_eq!(TraceRow::read(&bytes[..cut]), None);
            }
            bytes.push(0);
            prop_assert_eq!(TraceRow::read(&bytes), None);
        }

        #[test]
        fn a_trace_of_another_version_is_read_as_far_as_it_is_known(id: String, more: String) {
            let count = |number: u64| number.to_le_bytes();
            // An older version wrote only two texts and one number.
            let mut bytes = [count(2), count(1), count(0)].concat();
            [&id, &more].into_iter().for_each(|text| put_bytes(&mut bytes, text.as_bytes()));
            bytes.extend(7_i64.to_le_bytes());
            bytes.extend([0; 5]);
            let row = TraceRow { id: id.clone(), tenant: more.clone(), created_at: 7, ..TraceRow::default() };
            prop_assert_eq!(TraceRow::read(&bytes), Some(row.clone()));
            // A newer version writes one more text after the known ones.
            let known = row.texts().len();
            let mut bytes = [count(known as u64 + 1), count(1), count(0)].concat();
            row.texts().into_iter().for_each(|text| put_bytes(&mut bytes, text.as_bytes()));
            put_bytes(&mut bytes, more.as_bytes());
            bytes.extend(7_i64.to_le_bytes());
            bytes.extend([0; 5]);
            prop_assert_eq!(TraceRow::read(&bytes), Some(row));
        }

        #[test]
        fn a_slice_that_was_put_is_read_and_a_part_of_it_is_nothing(
            texts: [String; 3], numbers: [u64; 4],
        ) {
            let ([tenant, name, holder], [order, number, reported, spent]) = (texts, numbers);
            let unheard = Unheard { number, reported, spent };
            let row = SliceRow { tenant, name, holder, unheard, order };
            let mut bytes = Vec::new();
            row.put(&mut bytes);
            prop_assert_eq!(SliceRow::read(&bytes), Some(row));
            for cut in 0..bytes.len() {
                prop_assert_eq!(SliceRow::read(&bytes[..cut]), None);
            }
            bytes.push(0);
            prop_assert_eq!(SliceRow::read(&bytes), None);
        }

        #[test]
        fn no_bytes_break_it(bytes: Vec<u8>) {
            let _whatever = (read(&bytes), TraceRow::read(&bytes), SliceRow::read(&bytes));
        }
    }
}
