//! Cuts texts into small uneven pieces, as real streams do.

/// The text in pieces of 2 to 14 characters. Joined they are the text again.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    const SIZES: [usize; 7] = [3, 9, 5, 14, 2, 7, 11];
    let mut out = Vec::new();
    let mut rest = text;
    let mut sizes = SIZES.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().copied().unwrap_or(8);
        let at = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let Some((head, tail)) = rest.split_at_checked(at) else { break };
        out.push(head);
        rest = tail;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_join_to_the_text() {
        for text in ["", "a", "ein Gedanke über vieles, länger als ein Stück 🧠 und noch mehr"]
        {
            assert_eq!(pieces(text).concat(), text);
        }
        assert!(pieces("some longer text that must arrive in several pieces").len() > 4);
    }
}
