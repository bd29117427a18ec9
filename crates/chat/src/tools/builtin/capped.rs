//! Output of any length in bounded memory: its head and its tail.

use std::collections::VecDeque;

/// The number of bytes kept of the beginning, and again of the end.
const HALF: usize = 16 * 1024;

/// The output of a command. The middle of a long output is left out.
#[derive(Debug, Default)]
pub(super) struct Capped {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: usize,
}

impl Capped {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = HALF.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(HALF);
        self.tail.drain(..over);
        self.left_out += over;
    }

    /// The text, with a note if a part is left out. Cut characters are replaced.
    pub(super) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.left_out == 0 {
            let whole = [self.head.as_slice(), &tail].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}\n[{} bytes left out here]\n{tail}", self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_whole_and_long_output_keeps_both_ends() {
        let mut capped = Capped::default();
        capped.push("a°".as_bytes());
        assert_eq!(capped.text(), "a°");
        for line in 0..20_000 {
            capped.push(format!("{line}\n").as_bytes());
        }
        let text = capped.text();
        assert!(text.starts_with("a°0\n1\n") && text.ends_with("19998\n19999\n"), "both ends");
        assert!(text.contains("bytes left out here]"));
        assert!(text.len() < 2 * HALF + 100, "{}", text.len());
    }
}
