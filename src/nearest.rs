//! Suggestions for misspelt words.

/// The nearest known word, if at most a third of its letters differ.
pub(crate) fn nearest<'w>(word: &str, known: &[&'w str]) -> Option<&'w str> {
    known
        .iter()
        .map(|candidate| (distance(word, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .min()
        .map(|(_, candidate)| candidate)
}

/// The edit distance of two words, ignoring case.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        let mut next = vec![before];
        for (right, above) in b.chars().zip(row.iter().skip(1)) {
            before = (diagonal + usize::from(left != right)).min(above + 1).min(before + 1);
            diagonal = *above;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_the_nearest_word() {
        let known = ["base_url", "api_key", "wire"];
        assert_eq!(nearest("baseurl", &known), Some("base_url"));
        assert_eq!(nearest("api-key", &known), Some("api_key"));
        assert_eq!(nearest("wier", &known), Some("wire"));
        assert_eq!(nearest("something", &known), None);
    }
}
