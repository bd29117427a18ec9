//! Bytes as base64 that come in several pieces.

/// Appends a piece to base64 that came before. Each piece was encoded by itself, so if one ends within a group of
/// four the bytes are joined and encoded anew. A piece that is not base64 is appended as it is.
pub(super) fn append(before: &mut String, piece: &str) {
    let is_whole = before.len().is_multiple_of(4) && !before.ends_with('=');
    if !is_whole && let (Some(mut bytes), Some(more)) = (decode(before), decode(piece)) {
        bytes.extend(more);
        *before = encode(&bytes);
        return;
    }
    before.push_str(piece);
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').bytes().map(|byte| {
        ALPHABET.iter().position(|&digit| digit == byte).and_then(|at| u32::try_from(at).ok())
    });
    let digits: Vec<u32> = digits.collect::<Option<_>>()?;
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        // Missing digits count as zero; the bytes that they would make are left out.
        let number = (0..4).fold(0, |number, at| number << 6 | group.get(at).unwrap_or(&0));
        let [_, three @ ..] = number.to_be_bytes();
        bytes.extend(three.iter().take(group.len().checked_sub(1).filter(|count| *count > 0)?));
    }
    Some(bytes)
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let number = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4_u32 {
            let digit = ALPHABET.get((number >> (18 - 6 * at) & 63) as usize);
            let is_there = at as usize <= group.len();
            text.push(digit.filter(|_| is_there).map_or('=', |&digit| char::from(digit)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{append, decode, encode};

    #[test]
    fn bytes_survive() {
        for length in 0..70_u8 {
            let bytes: Vec<u8> = (0..length).map(|at| at.wrapping_mul(37)).collect();
            let text = encode(&bytes);
            assert_eq!(text.len() % 4, 0);
            assert_eq!(decode(&text).unwrap(), bytes);
        }
        assert_eq!(encode(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
        assert_eq!(decode("A*=="), None);
        assert_eq!(decode("A"), None, "one digit makes no byte");
    }

    #[test]
    fn pieces_join_wherever_they_were_cut() {
        let bytes = b"opaque reasoning \xff\x00\x10 of some length";
        for cut in 0..=bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            let mut text = encode(head);
            append(&mut text, &encode(tail));
            assert_eq!(text, encode(bytes));
        }
        let mut text = "not base64!".to_owned();
        append(&mut text, "AA==");
        assert_eq!(text, "not base64!AA==");
    }
}
