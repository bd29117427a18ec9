//! Ids of tool calls that the API takes.

use std::borrow::Cow;
use std::collections::VecDeque;

/// Whether the API takes this id: letters, digits, `_` and `-`.
pub(crate) fn is_plain_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// An id that the API takes, always the same for the same id and never the same for two.
pub(crate) fn plain_id(id: &str) -> Cow<'_, str> {
    if is_plain_id(id) {
        return Cow::Borrowed(id);
    }
    let mut plain: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    // FNV-1a keeps ids apart that differ only in what was replaced.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    plain.push_str(&format!("_{hash:016x}"));
    Cow::Owned(plain)
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
