//! Writes the binary event stream of AWS. A message has a prelude, headers, a payload and two
//! checksums.

use serde_json::Value;

pub(super) fn event(name: &str, payload: &Value) -> Vec<u8> {
    let headers =
        [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")];
    message(&headers, payload)
}

/// An exception event. It ends the stream.
pub(super) fn exception(name: &str, payload: &Value) -> Vec<u8> {
    let headers = [
        (":exception-type", name),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    message(&headers, payload)
}

fn message(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    const STRING: u8 = 7;
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        head.extend_from_slice(name.as_bytes());
        head.push(STRING);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let payload = payload.to_string().into_bytes();
    let mut out = Vec::with_capacity(16 + head.len() + payload.len());
    out.extend_from_slice(&length(16 + head.len() + payload.len()).to_be_bytes());
    out.extend_from_slice(&length(head.len()).to_be_bytes());
    let prelude = crc32(&out);
    out.extend_from_slice(&prelude.to_be_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(&payload);
    let whole = crc32(&out);
    out.extend_from_slice(&whole.to_be_bytes());
    out
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// CRC-32 of IEEE 802.3, computed bit by bit because the frames are small.
fn crc32(bytes: &[u8]) -> u32 {
    let mut state = u32::MAX;
    for byte in bytes {
        state ^= u32::from(*byte);
        for _ in 0..8 {
            let low = state & 1;
            state >>= 1;
            if low == 1 {
                state ^= 0xedb8_8320;
            }
        }
    }
    !state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_agrees_with_the_known_vector() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_frame_says_its_length_and_checks_out() {
        let frame = event("messageStart", &serde_json::json!({"role": "assistant"}));
        let number = |at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().unwrap());
        assert_eq!(number(0) as usize, frame.len());
        assert_eq!(number(8), crc32(&frame[..8]));
        assert_eq!(number(frame.len() - 4), crc32(&frame[..frame.len() - 4]));
    }
}
