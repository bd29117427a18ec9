//! The headers of an AWS event-stream message: name, type, value.

use super::EncodeError;

/// The headers of one message, in order. All of them are known to be readable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers<'a> {
    block: &'a [u8],
}

/// The value of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderValue<'a> {
    /// Types 0 (true) and 1 (false).
    Bool(bool),
    /// Type 2.
    Byte(i8),
    /// Type 3.
    Short(i16),
    /// Type 4.
    Int(i32),
    /// Type 5.
    Long(i64),
    /// Type 6.
    Bytes(&'a [u8]),
    /// Type 7.
    Str(&'a str),
    /// Type 8: milliseconds since 1970.
    Timestamp(i64),
    /// Type 9.
    Uuid([u8; 16]),
}

impl<'a> Headers<'a> {
    /// The headers in a header block, or none if one of them cannot be read.
    pub(super) fn read(block: &'a [u8]) -> Option<Self> {
        let mut rest = block;
        while !rest.is_empty() {
            (_, rest) = read_one(rest)?;
        }
        Some(Self { block })
    }

    /// All headers in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, HeaderValue<'a>)> + use<'a> {
        let mut rest = self.block;
        std::iter::from_fn(move || {
            let (header, after) = read_one(rest)?;
            rest = after;
            Some(header)
        })
    }

    /// The value of the first header of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<HeaderValue<'a>> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The text of the first header of that name, if it is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&'a str> {
        match self.get(name)? {
            HeaderValue::Str(text) => Some(text),
            HeaderValue::Bool(_)
            | HeaderValue::Byte(_)
            | HeaderValue::Short(_)
            | HeaderValue::Int(_)
            | HeaderValue::Long(_)
            | HeaderValue::Bytes(_)
            | HeaderValue::Timestamp(_)
            | HeaderValue::Uuid(_) => None,
        }
    }
}

/// Appends one header to a header block.
pub(super) fn encode(
    name: &str,
    value: &HeaderValue<'_>,
    block: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let length = u8::try_from(name.len()).map_err(|_| EncodeError::HeaderName)?;
    if length == 0 {
        return Err(EncodeError::HeaderName);
    }
    block.push(length);
    block.extend_from_slice(name.as_bytes());
    match value {
        HeaderValue::Bool(value) => block.push(u8::from(!value)),
        HeaderValue::Byte(value) => encode_fixed(2, &value.to_be_bytes(), block),
        HeaderValue::Short(value) => encode_fixed(3, &value.to_be_bytes(), block),
        HeaderValue::Int(value) => encode_fixed(4, &value.to_be_bytes(), block),
        HeaderValue::Long(value) => encode_fixed(5, &value.to_be_bytes(), block),
        HeaderValue::Bytes(value) => encode_sized(6, value, block)?,
        HeaderValue::Str(value) => encode_sized(7, value.as_bytes(), block)?,
        HeaderValue::Timestamp(value) => encode_fixed(8, &value.to_be_bytes(), block),
        HeaderValue::Uuid(value) => encode_fixed(9, value, block),
    }
    Ok(())
}

fn encode_fixed(code: u8, value: &[u8], block: &mut Vec<u8>) {
    block.push(code);
    block.extend_from_slice(value);
}

fn encode_sized(code: u8, value: &[u8], block: &mut Vec<u8>) -> Result<(), EncodeError> {
    let length = u16::try_from(value.len()).map_err(|_| EncodeError::HeaderValue)?;
    block.push(code);
    block.extend_from_slice(&length.to_be_bytes());
    block.extend_from_slice(value);
    Ok(())
}

/// Reads the first header of a block and returns the bytes after it.
fn read_one(block: &[u8]) -> Option<((&str, HeaderValue<'_>), &[u8])> {
    let (length, rest) = block.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(*length))?;
    let name = std::str::from_utf8(name).ok()?;
    let (code, mut rest) = rest.split_first()?;
    let value = match code {
        0 => HeaderValue::Bool(true),
        1 => HeaderValue::Bool(false),
        2 => HeaderValue::Byte(i8::from_be_bytes(fixed(&mut rest)?)),
        3 => HeaderValue::Short(i16::from_be_bytes(fixed(&mut rest)?)),
        4 => HeaderValue::Int(i32::from_be_bytes(fixed(&mut rest)?)),
        5 => HeaderValue::Long(i64::from_be_bytes(fixed(&mut rest)?)),
        6 => HeaderValue::Bytes(sized(&mut rest)?),
        7 => HeaderValue::Str(std::str::from_utf8(sized(&mut rest)?).ok()?),
        8 => HeaderValue::Timestamp(i64::from_be_bytes(fixed(&mut rest)?)),
        9 => HeaderValue::Uuid(fixed(&mut rest)?),
        _ => return None,
    };
    Some(((name, value), rest))
}

fn fixed<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (value, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*value)
}

fn sized<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::from(u16::from_be_bytes(fixed(rest)?));
    let (value, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(value)
}
