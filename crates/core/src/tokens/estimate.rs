//! Estimates from the length of a text.

/// The number of UTF-16 code units of `text`: its length in JavaScript.
#[must_use]
pub fn utf16_units(text: &str) -> u64 {
    // Every character is one lead byte and one unit; a four-byte character is a surrogate pair, hence one more.
    let units = |byte: &u8| u64::from(*byte & 0xC0 != 0x80) + u64::from(*byte >= 0xF0);
    text.as_bytes().iter().map(units).sum()
}

/// A quarter of the UTF-16 code units, rounded up: the estimate that the `<REASONING>` format prescribes.
#[must_use]
pub fn estimate_utf16_quarter(text: &str) -> u64 {
    utf16_units(text).div_ceil(4)
}

/// The higher of a quarter of the UTF-16 code units and a third of the UTF-8 bytes, both rounded up.
///
/// The quarter alone counts too little if a character is often a token of its own, as in Chinese or Japanese.
#[must_use]
pub fn estimate_conservative(text: &str) -> u64 {
    conservative(utf16_units(text), text.len() as u64)
}

/// Estimates the cost of an opaque payload of Base64 that is sent back.
///
/// No provider documents it. The payload decodes to three quarters of its length, and we take four bytes for a token,
/// as for text.
#[must_use]
pub fn estimate_opaque(payload: &str) -> u64 {
    let decoded = (payload.len() as u64).saturating_mul(3).div_ceil(4);
    decoded.div_ceil(4)
}

/// [`estimate_conservative`] of a text that grows, at a constant cost per byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncrementalEstimate {
    units: u64,
    bytes: u64,
}

impl IncrementalEstimate {
    /// Appends `text`.
    pub fn push(&mut self, text: &str) {
        self.units += utf16_units(text);
        self.bytes += text.len() as u64;
    }

    /// The estimate of everything pushed so far.
    #[must_use]
    pub fn total(&self) -> u64 {
        conservative(self.units, self.bytes)
    }
}

fn conservative(units: u64, bytes: u64) -> u64 {
    units.div_ceil(4).max(bytes.div_ceil(3))
}
