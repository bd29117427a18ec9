//! Ids of tool calls that an API takes.

use std::borrow::Cow;
use std::collections::VecDeque;

/// The ids that an API accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdRule {
    /// Characters beside letters and digits.
    pub(crate) marks: &'static str,
    /// The greatest length.
    pub(crate) longest: usize,
    /// Every id has the greatest length.
    pub(crate) is_exact: bool,
}

impl IdRule {
    /// Whether the API takes this id.
    pub(crate) fn takes(self, id: &str) -> bool {
        let is_taken = |c: char| c.is_ascii_alphanumeric() || self.marks.contains(c);
        let is_long = id.len() == self.longest || !self.is_exact && !id.is_empty();
        is_long && id.len() <= self.longest && id.chars().all(is_taken)
    }

    /// An id that the API takes, always the same for the same id and never the same for two.
    pub(crate) fn plain(self, id: &str) -> Cow<'_, str> {
        if self.takes(id) {
            return Cow::Borrowed(id);
        }
        if self.is_exact {
            let mut rest = hash(id);
            let digits = (0..self.longest).map(|_| {
                let digit = u32::try_from(rest % 36).unwrap_or_default();
                rest /= 36;
                char::from_digit(digit, 36).unwrap_or('0')
            });
            return Cow::Owned(digits.collect());
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let mut name: String =
            id.chars().take(self.longest.saturating_sub(17)).map(plain).collect();
        // The hash distinguishes ids that differ only in the replaced characters.
        name.push_str(&format!("_{:016x}", hash(id)));
        Cow::Owned(name)
    }
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The id of an answer that came without one, for callers whose wire demands one. It identifies no answer: it is the
/// same for every answer, and reads as no id.
pub(crate) const NAMELESS_ANSWER: &str = "msg_nameless";

/// The ids of one answer's calls, for callers whose wire demands them. A call that came without one is named by its
/// answer and its place among the calls: `toolu_`, 16 hexadecimal digits of the answer's id, `_` and the place from 0
/// on. The id is the same each time, and differs between answers with ids.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    answer: Option<String>,
    next: usize,
}

impl CallIds {
    /// The ids of the calls of this answer.
    pub(crate) fn of(answer: Option<&str>) -> Self {
        let answer = answer.filter(|id| !id.is_empty());
        CallIds { answer: answer.map(str::to_owned), next: 0 }
    }

    /// The answer's own id has come.
    pub(crate) fn answer(&mut self, id: &str) {
        self.answer = Some(id.to_owned()).filter(|id| !id.is_empty());
    }

    /// The id of the next call.
    pub(crate) fn next<'i>(&mut self, id: Option<&'i str>) -> Cow<'i, str> {
        let place = self.next;
        self.next += 1;
        match (id, &self.answer) {
            (Some(id), _) => Cow::Borrowed(id),
            (None, Some(answer)) => Cow::Owned(format!("toolu_{:016x}_{place}", hash(answer))),
            (None, None) => Cow::Owned(format!("toolu_nameless_{place}")),
        }
    }
}

/// Ids for calls that came without one, counted over the conversation, so that a longer one gets the same.
#[derive(Debug, Default)]
pub(crate) struct Nameless {
    count: usize,
    /// Calls that wait for their result: the tool and the id.
    open: VecDeque<(String, String)>,
}

impl Nameless {
    /// The id for the next call without one.
    pub(crate) fn call(&mut self, tool: &str) -> String {
        let id = format!("toolu_nameless_{}", self.count);
        self.count += 1;
        self.open.push_back((tool.to_owned(), id.clone()));
        id
    }

    /// The id for a result without one: the id of the oldest open call, of the same tool if the result names it.
    pub(crate) fn result(&mut self, tool: Option<&str>) -> String {
        let at = self.open.iter().position(|(name, _)| tool.is_none_or(|tool| tool == name));
        let found = self.open.remove(at.unwrap_or_default());
        found.map_or_else(|| format!("toolu_nameless_{}", self.count), |(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::{CallIds, IdRule};

    #[test]
    fn calls_without_an_id_are_named_by_their_answer_and_place() {
        let ids = |answer: Option<&str>| -> Vec<String> {
            let mut ids = CallIds::of(answer);
            [None, Some("own"), None].map(|id| ids.next(id).into_owned()).to_vec()
        };
        assert_eq!(ids(None), ["toolu_nameless_0", "own", "toolu_nameless_2"]);
        assert_eq!(ids(Some("a")), ids(Some("a")));
        let (one, other) = (ids(Some("a")), ids(Some("b")));
        assert!(one[0] != other[0] && one[0] != one[2] && one[1] == "own", "{one:?} {other:?}");
        let rule = IdRule { marks: "_-", longest: 64, is_exact: false };
        assert!(one.iter().all(|id| rule.takes(id)));
    }

    #[test]
    fn ids_stay_apart_and_short_enough() {
        let rule = IdRule { marks: "_-", longest: 64, is_exact: false };
        assert_eq!(rule.plain("toolu_01-A"), "toolu_01-A");
        let odd = ["", "a.b", "a:b", "a b", "é", &"x".repeat(65), &format!("{}y", "x".repeat(64))];
        let plain: Vec<String> = odd.iter().map(|id| rule.plain(id).into_owned()).collect();
        assert!(plain.iter().all(|id| rule.takes(id)), "{plain:?}");
        let mut apart = plain.clone();
        apart.sort();
        apart.dedup();
        assert_eq!(apart.len(), odd.len());
        assert_eq!(rule.plain("a.b"), plain[1], "the same for the same id");
    }
}
