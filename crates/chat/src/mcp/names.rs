//! Names of tools that every provider takes: letters, digits, `_` and `-`, at most 64 of them.

use std::collections::BTreeSet;

/// The longest name that all providers take.
const MAX: usize = 64;
/// The longest part for a server's name, so that its tools have room for theirs.
const MAX_SERVER: usize = 24;

/// `mcp__SERVER__` for each server; no two are the same.
pub(super) fn prefixes<'a>(servers: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let prefix = |server: &str| format!("mcp__{}__", fitting(server, MAX_SERVER));
    servers
        .map(|server| {
            let plain = prefix(server);
            let name =
                if taken.contains(&plain) { prefix(&marked(server, MAX_SERVER)) } else { plain };
            taken.insert(name.clone());
            name
        })
        .collect()
}

/// A name for each tool of a server; no two are the same.
pub(super) fn tools<'a>(prefix: &str, tools: impl Iterator<Item = &'a str>) -> Vec<String> {
    let room = MAX.saturating_sub(prefix.len());
    let mut taken = BTreeSet::new();
    tools
        .map(|tool| {
            let plain = fitting(tool, room);
            let name = if taken.contains(&plain) { marked(tool, room) } else { plain };
            taken.insert(name.clone());
            format!("{prefix}{name}")
        })
        .collect()
}

/// The name with invalid characters replaced. A name that is too long, or empty, ends with a digest of the whole
/// name.
fn fitting(name: &str, room: usize) -> String {
    let plain = clean(name);
    if plain.is_empty() || plain.len() > room { marked(name, room) } else { plain }
}

fn marked(name: &str, room: usize) -> String {
    let mark = format!("{:08x}", digest(name));
    let head: String = clean(name).chars().take(room.saturating_sub(mark.len() + 1)).collect();
    format!("{head}_{mark}")
}

fn clean(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}

/// FNV-1a over 32 bits. It distinguishes names and is the same on every run. It protects no secret.
fn digest(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_allowed_everywhere_and_no_two_are_the_same() {
        let long = "x".repeat(200);
        let servers = ["files", "a b", "a.b", long.as_str(), ""];
        let prefixes = prefixes(servers.into_iter());
        assert_eq!(prefixes[0], "mcp__files__");
        assert_eq!(prefixes[1], "mcp__a_b__");
        let mut all = Vec::new();
        for prefix in &prefixes {
            let other = format!("{long}y");
            let names = ["read", "read/it", "read.it", "réad", long.as_str(), other.as_str(), ""];
            all.extend(tools(prefix, names.into_iter()));
        }
        assert_eq!(all[0], "mcp__files__read");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 35, "{all:?}");
        for name in &all {
            assert!(name.len() <= MAX && clean(name) == *name, "{name}");
        }
    }
}
