//! How large the parts of a request may be.
//!
//! Memory and time depend on the number of values more than on their bytes: a million parts of 25 bytes each cost a
//! gigabyte. Real requests are far from these caps.

use thinkthrough_json::{Doc, JsonErrorKind, Kind, Val};

/// The caps of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caps {
    /// Values in all. Keys of objects are values, too.
    pub(crate) values: usize,
    /// Members of one object.
    pub(crate) members: usize,
    /// Blocks of one message.
    pub(crate) blocks: usize,
    /// Blocks of all messages.
    pub(crate) all_blocks: usize,
    /// Entries of `tools`.
    pub(crate) tools: usize,
    /// Entries of each of the [`MESSAGES`].
    pub(crate) messages: usize,
}

/// The names of the lists of messages.
pub(crate) const MESSAGES: [&str; 3] = ["messages", "input", "contents"];

/// The caps of every request.
pub(crate) const CAPS: Caps = Caps {
    values: 2_000_000,
    members: 50_000,
    blocks: 20_000,
    all_blocks: 250_000,
    tools: 1_024,
    messages: 100_000,
};

impl Caps {
    /// Parses a request as JSON with no more than the allowed values. Otherwise returns the reason for its refusal.
    pub(crate) fn parse(self, body: &[u8]) -> Result<Doc<'_>, String> {
        Doc::parse_within(body, self.values).map_err(|error| match error.kind {
            JsonErrorKind::TooMany(most) => over("the body has more values", most),
            _ => format!("the body is not JSON: {error}"),
        })
    }

    /// Describes a list that exceeds its cap.
    pub(crate) fn too_many(self, doc: &Doc<'_>) -> Option<String> {
        let list = |name: &str| doc.root().some(name).filter(|list| list.is_array());
        let is_longer = |list: Val<'_>, most: usize| list.items().nth(most).is_some();
        if list("tools").is_some_and(|tools| is_longer(tools, self.tools)) {
            return Some(over("`tools` has more entries", self.tools));
        }
        for name in MESSAGES {
            let Some(messages) = list(name) else { continue };
            if is_longer(messages, self.messages) {
                return Some(over(&format!("`{name}` has more entries"), self.messages));
            }
            let mut all = 0_usize;
            for message in messages.items() {
                let blocks = blocks(message);
                all += blocks;
                if blocks > self.blocks {
                    let what = format!("a message of `{name}` has more blocks");
                    return Some(over(&what, self.blocks));
                }
            }
            if all > self.all_blocks {
                let what = format!("the messages of `{name}` have more blocks");
                return Some(over(&what, self.all_blocks));
            }
        }
        let is_wide = doc.longest(Kind::Object) > self.members;
        is_wide.then(|| over("an object of the body has more members", self.members))
    }
}

fn over(what: &str, most: usize) -> String {
    format!("{what} than {most}; send fewer")
}

/// The number of a message's blocks, by the names of each API.
fn blocks(message: Val<'_>) -> usize {
    let lists = ["content", "parts"].into_iter().filter_map(|list| message.some(list));
    lists.map(|list| list.items().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: usize = CAPS.blocks;
    const ALL_BLOCKS: usize = CAPS.all_blocks;
    const MEMBERS: usize = CAPS.members;
    const VALUES: usize = CAPS.values;

    fn refusal(body: &str) -> Option<String> {
        match CAPS.parse(body.as_bytes()) {
            Ok(doc) => CAPS.too_many(&doc),
            Err(refusal) => Some(refusal),
        }
    }

    fn many(item: &str, count: usize) -> String {
        vec![item; count].join(",")
    }

    #[test]
    fn t_31_lists_have_an_end() {
        let lists = MESSAGES.into_iter().map(|list| (list, CAPS.messages));
        for (list, most) in lists.chain([("tools", CAPS.tools)]) {
            for (count, is_taken) in [(most, true), (most + 1, false)] {
                let refusal = refusal(&format!("{{\"{list}\":[{}]}}", many("0", count)));
                assert_eq!(refusal.is_none(), is_taken, "{list} {count} {refusal:?}");
                assert!(refusal.is_none_or(|it| it.contains(&most.to_string())));
            }
        }
    }

    #[test]
    fn t_31_blocks_members_and_values_have_an_end() {
        let message = |blocks| format!("{{\"content\":[{}]}}", many("0", blocks));
        let messages = |count, blocks| many(&message(blocks), count);
        let members = |count: usize| {
            let all: Vec<String> = (0..count).map(|at| format!("\"{at}\":0")).collect();
            all.join(",")
        };
        for (body, cap) in [
            (format!("{{\"messages\":[{}]}}", message(BLOCKS)), None),
            (format!("{{\"input\":[{}]}}", message(BLOCKS + 1)), Some(BLOCKS)),
            (format!("{{\"contents\":[{{\"parts\":[{}]}}]}}", many("0", BLOCKS + 1)), Some(BLOCKS)),
            (format!("{{\"messages\":[{}]}}", messages(10, ALL_BLOCKS / 10)), Some(BLOCKS)),
            (format!("{{\"messages\":[{}]}}", messages(100, ALL_BLOCKS / 100)), None),
            (
                format!("{{\"messages\":[{},{}]}}", messages(100, ALL_BLOCKS / 100), message(1)),
                Some(ALL_BLOCKS),
            ),
            (format!("{{{}}}", members(MEMBERS)), None),
            (format!("{{{}}}", members(MEMBERS + 1)), Some(MEMBERS)),
            (format!("{{\"a\":[{{{}}}]}}", members(MEMBERS + 1)), Some(MEMBERS)),
            // The outermost object, the key and the list are values as well.
            (format!("{{\"a\":[{}]}}", many("0", VALUES - 3)), None),
            (format!("{{\"a\":[{}]}}", many("0", VALUES - 2)), Some(VALUES)),
        ] {
            let refusal = refusal(&body);
            let named = cap.map(|cap| cap.to_string());
            let is_right = match (&refusal, &named) {
                (Some(refusal), Some(cap)) => refusal.contains(cap.as_str()),
                (refusal, cap) => refusal.is_none() && cap.is_none(),
            };
            assert!(is_right, "{refusal:?} in place of {named:?}");
        }
    }
}
