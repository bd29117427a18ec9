//! Ids of tool calls that an API takes.

use std::borrow::Cow;
use std::collections::VecDeque;

/// What ids an API takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdRule {
    /// Characters beside letters and digits.
    pub(crate) marks: &'static str,
    /// The greatest length.
    pub(crate) longest: usize,
}

impl IdRule {
    /// Whether the API takes this id.
    pub(crate) fn takes(self, id: &str) -> bool {
        let is_taken = |c: char| c.is_ascii_alphanumeric() || self.marks.contains(c);
        !id.is_empty() && id.len() <= self.longest && id.chars().all(is_taken)
    }

    /// An id that the API takes, always the same for the same id and never the same for two.
    pub(crate) fn plain(self, id: &str) -> Cow<'_, str> {
        if self.takes(id) {
            return Cow::Borrowed(id);
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let mut name: String =
            id.chars().take(self.longest.saturating_sub(17)).map(plain).collect();
        // FNV-1a keeps ids apart that differ only in what was replaced.
        let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        name.push_str(&format!("_{hash:016x}"));
        Cow::Owned(name)
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

    /// The id for a result without one: that of the oldest open call, of the same tool if the result names it.
    pub(crate) fn result(&mut self, tool: Option<&str>) -> String {
        let at = self.open.iter().position(|(name, _)| tool.is_none_or(|tool| tool == name));
        let found = self.open.remove(at.unwrap_or_default());
        found.map_or_else(|| format!("toolu_nameless_{}", self.count), |(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::IdRule;

    #[test]
    fn ids_stay_apart_and_short_enough() {
        let rule = IdRule { marks: "_-", longest: 64 };
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
