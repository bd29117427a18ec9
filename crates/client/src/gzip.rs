use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};

/// An honest answer shrinks to a hundredth at most; more is an attack on memory.
const MAX_RATIO: u64 = 100;
/// The ratio is not checked for a smaller output.
const FREE_OUTPUT: u64 = 1024 * 1024;

/// Decompresses an answer whose compression was not requested, chunk by chunk. Returns complete data at once.
pub(crate) struct Inflate {
    decoder: MultiGzDecoder<Sink>,
    encoded: u64,
    decoded: u64,
}

/// Why compressed bytes could not be undone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InflateError {
    /// The data are damaged, or suspiciously small for their content.
    Corrupt(String),
    /// The data are truncated, or do not match their checksum.
    Incomplete,
}

impl Inflate {
    /// Detects the compression of an answer, and removes its headers.
    ///
    /// Returns `None` for an uncompressed answer, and the encoding's name as an error if it is not gzip.
    pub(crate) fn for_headers(headers: &mut HeaderMap) -> Result<Option<Self>, String> {
        let named: Vec<String> = headers
            .get_all(CONTENT_ENCODING)
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .map(|name| String::from_utf8_lossy(name).trim().to_ascii_lowercase())
            .filter(|name| !name.is_empty() && name != "identity")
            .collect();
        match named.as_slice() {
            [] => return Ok(None),
            [one] if one == "gzip" || one == "x-gzip" => {}
            _ => return Err(named.join(", ")),
        }
        let kept =
            headers.iter().filter(|(name, _)| *name != CONTENT_ENCODING && *name != CONTENT_LENGTH);
        *headers = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        let decoder = MultiGzDecoder::new(Sink::default());
        Ok(Some(Self { decoder, encoded: 0, decoded: 0 }))
    }

    /// Takes the next bytes and gives every byte of text that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Bytes, InflateError> {
        self.encoded += bytes.len() as u64;
        let allowed = FREE_OUTPUT + self.encoded.saturating_mul(MAX_RATIO);
        self.decoder.get_mut().room = usize::try_from(allowed - self.decoded).unwrap_or(usize::MAX);
        let pushed = self.decoder.write_all(bytes).and_then(|()| self.decoder.flush());
        pushed.map_err(|error| InflateError::Corrupt(error.to_string()))?;
        Ok(self.take())
    }

    /// Says that no bytes follow, and gives the last text.
    pub(crate) fn end(&mut self) -> Result<Bytes, InflateError> {
        if self.encoded == 0 {
            return Ok(Bytes::new());
        }
        // The decoder compares length and checksum here; it cannot tell which of them differs.
        self.decoder.try_finish().map_err(|_| InflateError::Incomplete)?;
        Ok(self.take())
    }

    fn take(&mut self) -> Bytes {
        let out = std::mem::take(&mut self.decoder.get_mut().out);
        self.decoded += out.len() as u64;
        Bytes::from(out)
    }
}

/// Collects text as long as there is room for it.
#[derive(Default)]
struct Sink {
    out: Vec<u8>,
    room: usize,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(room) = self.room.checked_sub(bytes.len()) else {
            return Err(io::Error::other("it unpacks to more than a hundred times its size"));
        };
        self.room = room;
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn inflate(encoding: &'static str) -> Inflate {
        let mut headers = HeaderMap::new();
        headers.insert("content-length", HeaderValue::from_static("7"));
        headers.insert("content-encoding", HeaderValue::from_static(encoding));
        headers.insert("x-kept", HeaderValue::from_static("yes"));
        let inflate = Inflate::for_headers(&mut headers).unwrap().unwrap();
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["x-kept"]);
        inflate
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn whole(inflate: &mut Inflate, chunks: &[&[u8]]) -> Result<Vec<u8>, InflateError> {
        let mut out = Vec::new();
        for chunk in chunks {
            out.extend_from_slice(&inflate.push(chunk)?);
        }
        out.extend_from_slice(&inflate.end()?);
        Ok(out)
    }

    #[test]
    fn every_split_gives_the_same_text_also_over_two_members() {
        let text = b"data: {\"reasoning_content\":\"hm\"}\n\n".repeat(20);
        let mut packed = gzip(&text);
        packed.extend(gzip(b"second member"));
        let expected = [text.as_slice(), b"second member"].concat();
        for at in 0..=packed.len() {
            let (head, tail) = packed.split_at(at);
            assert_eq!(whole(&mut inflate("gzip"), &[head, tail]).unwrap(), expected, "{at}");
        }
        let bytes: Vec<&[u8]> = packed.chunks(1).collect();
        assert_eq!(whole(&mut inflate("X-GZIP"), &bytes).unwrap(), expected);
    }

    #[test]
    fn a_flushed_event_comes_out_at_once() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut inflate = inflate("gzip");
        for event in ["data: one\n\n", "data: two\n\n"] {
            encoder.write_all(event.as_bytes()).unwrap();
            encoder.flush().unwrap();
            let packed = std::mem::take(encoder.get_mut());
            assert_eq!(inflate.push(&packed).unwrap(), event.as_bytes());
        }
    }

    #[test]
    fn every_cut_is_noticed() {
        let packed = gzip(b"a thought that ends too early");
        for at in 1..packed.len() {
            let cut = whole(&mut inflate("gzip"), &[&packed[..at]]);
            assert_eq!(cut, Err(InflateError::Incomplete), "{at}");
        }
        assert_eq!(whole(&mut inflate("gzip"), &[]).unwrap(), b"");
    }

    #[test]
    fn a_bomb_stops_early() {
        let packed = gzip(&vec![0; 64 * 1024 * 1024]);
        let mut inflate = inflate("gzip");
        assert!(matches!(inflate.push(&packed), Err(InflateError::Corrupt(_))));
        assert!(inflate.decoder.get_mut().out.len() < 8 * 1024 * 1024);
    }

    #[test]
    fn unknown_and_stacked_encodings_are_named() {
        for (value, named) in
            [("br", "br"), ("deflate", "deflate"), ("gzip, gzip", "gzip, gzip"), ("ZSTD", "zstd")]
        {
            let mut headers = HeaderMap::new();
            headers.insert("content-encoding", HeaderValue::from_static(value));
            assert_eq!(Inflate::for_headers(&mut headers).err().unwrap(), named);
        }
        let mut headers = HeaderMap::new();
        headers.insert("content-encoding", HeaderValue::from_static("identity"));
        assert!(Inflate::for_headers(&mut headers).unwrap().is_none());
    }

    proptest! {
        #[test]
        fn damaged_data_never_panic(noise in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..60) {
            let mut packed = gzip(b"a thought, and another thought, and one more thought");
            let at = at.min(packed.len());
            packed.splice(at..at, noise);
            for chunk in [1, 7, 1000] {
                let chunks: Vec<&[u8]> = packed.chunks(chunk).collect();
                let _ = whole(&mut inflate("gzip"), &chunks);
            }
        }
    }
}
