//! Members of a JSON object and elements of a JSON array, taken out and put in with their commas.

use super::Draft;
use crate::json::Val;
use std::ops::Range;

/// Edits of one object or array.
#[derive(Clone, Debug)]
pub struct ListEdit {
    /// The byte behind the opening bracket.
    open: usize,
    elements: Vec<Range<usize>>,
    removed: Vec<bool>,
    /// New elements, each with the index of the old element that follows it.
    inserted: Vec<(usize, String)>,
}

impl ListEdit {
    /// Edits of an object's members or an array's elements; no edits for other values.
    #[must_use]
    pub fn of(list: Val<'_>) -> Self {
        let elements: Vec<Range<usize>> = if list.is_object() {
            list.members().map(|(key, value)| key.span().start..value.span().end).collect()
        } else {
            list.items().map(Val::span).collect()
        };
        let removed = vec![false; elements.len()];
        ListEdit { open: list.span().start + 1, elements, removed, inserted: Vec::new() }
    }

    /// Leaves out the element at `index`.
    pub fn remove(&mut self, index: usize) {
        if let Some(removed) = self.removed.get_mut(index) {
            *removed = true;
        }
    }

    /// Puts `element`, which must be one JSON value or one member, before the old element at `index`, and behind
    /// earlier insertions there.
    pub fn insert(&mut self, index: usize, element: impl Into<String>) {
        self.inserted.push((index.min(self.elements.len()), element.into()));
    }

    /// Whether no old element is left and no new one comes in.
    #[must_use]
    pub fn leaves_nothing(&self) -> bool {
        self.inserted.is_empty() && self.removed.iter().all(|removed| *removed)
    }

    /// Adds the edits to `draft`.
    pub fn finish(mut self, draft: &mut Draft) {
        self.inserted.sort_by_key(|(index, _)| *index);
        let Some(first) = self.removed.iter().position(|removed| !removed) else {
            return self.replace_all(draft);
        };
        for (index, element) in &self.inserted {
            match self.elements.get(index.wrapping_sub(1)).filter(|_| *index > first) {
                Some(before) => draft.insert(before.end, format!(",{element}")),
                None => draft.insert(self.open, format!("{element},")),
            }
        }
        // A comma goes with the element behind it; before the first that stays, with the one before it.
        for (index, pair) in self.elements.windows(2).enumerate() {
            let [this, next] = pair else { continue };
            if index < first {
                draft.delete(this.start..next.start);
            } else if self.removed.get(index + 1) == Some(&true) {
                draft.delete(this.end..next.end);
            }
        }
    }

    fn replace_all(&self, draft: &mut Draft) {
        let texts: Vec<&str> = self.inserted.iter().map(|(_, text)| text.as_str()).collect();
        match (self.elements.first(), self.elements.last()) {
            (Some(first), Some(last)) => draft.replace(first.start..last.end, texts.join(",")),
            _ => draft.insert(self.open, texts.join(",")),
        }
    }
}

/// Sets the member `key` of `object` to `value`, which must be JSON: in place of the old value, or before all other
/// members. If the member occurs several times, the last one is replaced, as readers use that one.
pub fn set_member(draft: &mut Draft, object: Val<'_>, key: &str, value: &str) {
    match object.get(key) {
        Some(old) => draft.replace(old.span(), value),
        None => {
            let mut members = ListEdit::of(object);
            members.insert(0, member(key, value));
            members.finish(draft);
        }
    }
}

/// A member as JSON.
#[must_use]
pub fn member(key: &str, value: &str) -> String {
    let mut out = String::with_capacity(key.len() + value.len() + 3);
    crate::json::write_escaped(key, &mut out);
    out.push(':');
    out.push_str(value);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;
    use proptest::prelude::*;

    fn edited(text: &str, edit: impl FnOnce(&mut ListEdit)) -> String {
        let doc = Doc::parse_str(text).unwrap();
        let mut list = ListEdit::of(doc.root());
        edit(&mut list);
        let mut draft = Draft::new();
        list.finish(&mut draft);
        let plan = draft.finish(text.len()).unwrap();
        String::from_utf8(plan.apply(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn commas_follow_the_elements() {
        for (text, removed, inserted, expected) in [
            ("[ 1 , 2 , 3 ]", vec![0], vec![], "[ 2 , 3 ]"),
            ("[ 1 , 2 , 3 ]", vec![1], vec![], "[ 1 , 3 ]"),
            ("[ 1 , 2 , 3 ]", vec![2], vec![], "[ 1 , 2 ]"),
            ("[ 1 , 2 , 3 ]", vec![0, 2], vec![], "[ 2 ]"),
            ("[ 1 , 2 , 3 ]", vec![0, 1, 2], vec![], "[  ]"),
            ("[ 1 , 2 , 3 ]", vec![0, 1, 2], vec![(1, "x"), (0, "y")], "[ y,x ]"),
            ("[ 1 , 2 ]", vec![], vec![(0, "x"), (1, "y"), (2, "z")], "[x, 1,y , 2,z ]"),
            ("[ 1 , 2 ]", vec![0], vec![(0, "x"), (1, "y")], "[x,y, 2 ]"),
            ("[ 1 , 2 ]", vec![1], vec![(1, "x"), (2, "y")], "[ 1,x,y ]"),
            ("[]", vec![], vec![(0, "x"), (0, "y")], "[x,y]"),
            (r#"{"a":1 , "b":2}"#, vec![1], vec![(0, r#""c":3"#)], r#"{"c":3,"a":1}"#),
        ] {
            let done = edited(text, |list| {
                removed.iter().for_each(|index| list.remove(*index));
                inserted.iter().for_each(|(index, text)| list.insert(*index, *text));
            });
            assert_eq!(done, expected, "{text} {removed:?} {inserted:?}");
        }
    }

    proptest! {
        /// The output is a list of exactly the expected elements.
        #[test]
        fn a_list_stays_a_list(
            old in prop::collection::vec((0_u8..9, any::<bool>()), 0..7),
            new in prop::collection::vec((0_usize..8, 10_u8..99), 0..5),
        ) {
            let text: Vec<String> = old.iter().map(|(value, _)| format!(" {value} ")).collect();
            let done = edited(&format!("[{}]", text.join(",")), |list| {
                for (index, (_, remove)) in old.iter().enumerate() {
                    if *remove {
                        list.remove(index);
                    }
                }
                new.iter().for_each(|(index, value)| list.insert(*index, value.to_string()));
            });
            let mut expected = Vec::new();
            for index in 0..=old.len() {
                let here = |at: usize| at == index || (index == old.len() && at > index);
                expected.extend(new.iter().filter(|(at, _)| here(*at)).map(|(_, value)| *value));
                expected.extend(old.get(index).filter(|(_, remove)| !remove).map(|(value, _)| *value));
            }
            let doc = Doc::parse_str(&done).unwrap();
            let said: Vec<u8> =
                doc.root().items().map(|item| item.raw().parse().unwrap()).collect();
            prop_assert_eq!(said, expected, "{}", done);
        }
    }
}
