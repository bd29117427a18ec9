//! Arguments of a call that come leaf by leaf: `{"jsonPath": "$.a[0].b", "stringValue": "..."}`.

use crate::json::{Raw, Val, Writer};
use std::collections::HashMap;

/// The leaves so far, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PartialArgs {
    leaves: Vec<(Vec<Step>, Leaf)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    At(usize),
    Key(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Leaf {
    Raw(Raw),
    /// A string, which may grow.
    Text(String),
}

/// Paths that go deeper than this are a hostile upstream's; they are skipped.
const MAX_DEPTH: usize = 64;

/// A string goes on at one of the latest leaves.
const LATEST: usize = 32;

impl PartialArgs {
    /// Takes one leaf, or more of one.
    pub(super) fn add(&mut self, arg: Val<'_>) {
        let Some(path) = steps(&arg.text("jsonPath").unwrap_or("$".into())) else { return };
        let latest = self.leaves.iter_mut().rev().take(LATEST);
        let old = latest.into_iter().find(|(old, _)| *old == path).map(|(_, leaf)| leaf);
        if let Some(more) = arg.text("stringValue") {
            match old {
                Some(Leaf::Text(text)) => text.push_str(&more),
                Some(leaf) => *leaf = Leaf::Text(more.into_owned()),
                None => self.leaves.push((path, Leaf::Text(more.into_owned()))),
            }
            return;
        }
        let value = arg.some("numberValue").or_else(|| arg.some("boolValue"));
        let leaf = match value {
            Some(value) => Leaf::Raw(Raw::from(value)),
            None if arg.get("nullValue").is_some() => Leaf::Raw(Raw::null()),
            // A leaf without a value only announces that it will continue.
            None => return,
        };
        match old {
            Some(old) => *old = leaf,
            None => self.leaves.push((path, leaf)),
        }
    }

    /// Whether nothing came.
    pub(super) fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// The arguments as JSON.
    pub(super) fn build(&self) -> Raw {
        let leaves: Vec<_> = self.leaves.iter().map(|(path, leaf)| (&**path, leaf)).collect();
        Raw::build(|w| write(w, &leaves))
    }
}

/// A leaf with the way to it from the place that is written.
type Under<'a> = (&'a [Step], &'a Leaf);

/// Writes the leaves under one place. The depth is at most the depth of the paths.
fn write(w: &mut Writer, leaves: &[Under<'_>]) {
    if let Some((_, leaf)) = leaves.iter().rfind(|(path, _)| path.is_empty()) {
        return match leaf {
            Leaf::Raw(raw) => w.raw(raw),
            Leaf::Text(text) => w.str(text),
        };
    }
    let mut places: HashMap<&Step, usize> = HashMap::new();
    let mut groups: Vec<(&Step, Vec<Under<'_>>)> = Vec::new();
    for (path, leaf) in leaves {
        let Some((first, rest)) = path.split_first() else { continue };
        let at = *places.entry(first).or_insert_with(|| {
            groups.push((first, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, group)) = groups.get_mut(at) {
            group.push((rest, leaf));
        }
    }
    if matches!(groups.first(), Some((Step::At(_), _))) {
        // An array cannot hold leaves without an index, so they come last.
        groups.sort_by_key(|(step, _)| match step {
            Step::At(at) => *at,
            Step::Key(_) => usize::MAX,
        });
        w.array(|w| groups.iter().for_each(|(_, group)| write(w, group)));
    } else {
        w.object(|w| {
            for (step, group) in &groups {
                match step {
                    Step::At(at) => write(w.key(&at.to_string()), group),
                    Step::Key(key) => write(w.key(key), group),
                }
            }
        });
    }
}

/// The steps of a path like `$.a[0]['b']`. A text that is not such a path is taken for a name.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() >= MAX_DEPTH {
            return None;
        }
        let (step, after) = bracketed(rest).unwrap_or_else(|| named(rest));
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

/// `[0]`, `['name']` or `["name"]` at the beginning.
fn bracketed(path: &str) -> Option<(Step, &str)> {
    let inner = path.strip_prefix('[')?;
    for quote in ['\'', '"'] {
        if let Some(inner) = inner.strip_prefix(quote) {
            let (name, after) = inner.split_once(quote)?;
            return Some((Step::Key(name.to_owned()), after.strip_prefix(']')?));
        }
    }
    let (at, after) = inner.split_once(']')?;
    Some((Step::At(at.parse().ok()?), after))
}

/// `.name` at the beginning.
fn named(path: &str) -> (Step, &str) {
    let inner = path.strip_prefix('.').unwrap_or(path);
    // A bracket that opens no index belongs to the name; at least one character is taken.
    let from = inner.chars().next().map_or(0, char::len_utf8);
    let tail = inner.get(from..).unwrap_or_default();
    let end = tail.find(['.', '[']).map_or(inner.len(), |at| at + from);
    let (name, after) = inner.split_at_checked(end).unwrap_or((inner, ""));
    (Step::Key(name.to_owned()), after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    fn built(args: &str) -> String {
        let doc = Doc::parse_str(args).unwrap();
        let mut partial = PartialArgs::default();
        doc.root().items().for_each(|arg| partial.add(arg));
        partial.build().as_str().to_owned()
    }

    #[test]
    fn leaves_grow_into_arguments() {
        let args = r#"[
            {"jsonPath":"$.place.name","stringValue":"San ","willContinue":true},
            {"jsonPath":"$.place.name","stringValue":"Francisco"},
            {"jsonPath":"$.days[0]","numberValue":1},
            {"jsonPath":"$.days[1]","numberValue":2.50},
            {"jsonPath":"$['is exact']","boolValue":true},
            {"jsonPath":"$.none","nullValue":"NULL_VALUE"}]"#;
        let all =
            r#"{"place":{"name":"San Francisco"},"days":[1,2.50],"is exact":true,"none":null}"#;
        assert_eq!(built(args), all);
    }

    #[test]
    fn odd_paths_are_survived() {
        assert_eq!(built(r#"[{"jsonPath":"$","stringValue":"all"}]"#), r#""all""#);
        assert_eq!(built(r#"[{"jsonPath":"a","numberValue":1}]"#), r#"{"a":1}"#);
        assert_eq!(built(r#"[{"jsonPath":"$.a[","numberValue":1}]"#), r#"{"a":{"[":1}}"#);
        let deep = "[0]".repeat(100_000);
        let arg = format!(r#"[{{"jsonPath":"${deep}","numberValue":1}}]"#);
        assert_eq!(built(&arg), "{}");
        assert_eq!(built(r#"[{"jsonPath":"$..","numberValue":1}]"#), r#"{".":1}"#);
    }
}
