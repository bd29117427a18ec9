//! Tool calls without a result.

use std::collections::{HashMap, VecDeque};

/// Calls in the order of the history. A result answers one call; if two calls share an id, it
/// answers the earlier one.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls<'a> {
    ids: Vec<&'a str>,
    names: HashMap<&'a str, VecDeque<&'a str>>,
    waiting: usize,
}

impl<'a> OpenCalls<'a> {
    pub(crate) fn push(&mut self, id: &'a str, name: &'a str) {
        self.ids.push(id);
        self.names.entry(id).or_default().push_back(name);
        self.waiting += 1;
    }

    /// Removes the call with this id and returns its name.
    pub(crate) fn answer(&mut self, id: &str) -> Option<&'a str> {
        let name = self.names.get_mut(id)?.pop_front()?;
        self.waiting -= 1;
        Some(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub(crate) fn unanswered(&self) -> Vec<&'a str> {
        let mut left: HashMap<&str, usize> =
            self.names.iter().map(|(id, names)| (*id, names.len())).collect();
        let mut out: Vec<&str> = self.ids.iter().rev().copied().collect();
        out.retain(|id| match left.get_mut(id) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            Some(_) | None => false,
        });
        out.reverse();
        out
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for OpenCalls<'a> {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(calls: I) -> Self {
        let mut open = Self::default();
        calls.into_iter().for_each(|(id, name)| open.push(id, name));
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_take_calls_out_in_any_order() {
        let mut open: OpenCalls<'_> =
            [("a", "read"), ("b", "list"), ("a", "search"), ("c", "read")].into_iter().collect();
        assert_eq!(open.answer("c"), Some("read"));
        assert_eq!(open.answer("c"), None);
        assert_eq!(open.answer("a"), Some("read"));
        assert_eq!(open.unanswered(), ["b", "a"]);
        assert_eq!((open.answer("a"), open.answer("b")), (Some("search"), Some("list")));
        assert!(open.unanswered().is_empty());
    }
}
