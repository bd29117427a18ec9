//! Merges the members of several objects.

use super::{Kind, Raw, Val, Writer};

/// More members of one object than this are a hostile upstream's; each is looked for again in every object.
const MAX: usize = 256;

/// Members of objects that come one after the other. Lists are joined, and objects merged member by member; of any
/// other value the last one counts, and `null` is ignored. The cost of adding is linear in the new members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered(Vec<(String, Part)>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    List(Vec<Raw>),
    Object(Gathered),
    Value(Raw),
}

impl Gathered {
    /// Adds the members of an object.
    pub fn add(&mut self, object: Val<'_>) {
        for (key, value) in object.entries().filter(|(_, value)| !value.is_null()) {
            if let Some((_, part)) = self.0.iter_mut().find(|(known, _)| *known == key) {
                part.go_on(value);
            } else if self.0.len() < MAX {
                self.0.push((key.into_owned(), Part::of(value)));
            }
        }
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the result as one object.
    pub fn raw(&self) -> Raw {
        Raw::build(|w| self.write(w))
    }

    /// Writes the members in the order of their names, because the order of arrival depends on the cuts of a stream.
    fn write(&self, w: &mut Writer) {
        let mut sorted: Vec<_> = self.0.iter().collect();
        sorted.sort_by_key(|(key, _)| key.as_str());
        w.object(|w| {
            for (key, part) in sorted {
                let w = w.key(key);
                match part {
                    Part::List(items) => w.array(|w| items.iter().for_each(|item| w.raw(item))),
                    Part::Object(members) => members.write(w),
                    Part::Value(value) => w.raw(value),
                }
            }
        });
    }
}

impl Part {
    fn of(value: Val<'_>) -> Self {
        match value.kind() {
            Kind::Array => Part::List(value.items().map(Raw::from).collect()),
            Kind::Object => {
                let mut members = Gathered::default();
                members.add(value);
                Part::Object(members)
            }
            Kind::Bool | Kind::Null | Kind::Number | Kind::String => Part::Value(Raw::from(value)),
        }
    }

    fn go_on(&mut self, value: Val<'_>) {
        match (self, value.kind()) {
            (Part::List(items), Kind::Array) => items.extend(value.items().map(Raw::from)),
            (Part::Object(members), Kind::Object) => members.add(value),
            (part, _) => *part = Part::of(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Gathered;
    use crate::Doc;

    #[test]
    fn lists_go_on_and_values_are_replaced() {
        let mut all = Gathered::default();
        for object in [
            r#"{"logprobs":{"content":[{"token":"a"}],"refusal":null},"n":1.50}"#,
            r#"{"logprobs":{"content":[{"token":"b"}]},"n":2,"x":[]}"#,
            r#"{"logprobs":null,"n":null,"x":{"y":"z"}}"#,
        ] {
            all.add(Doc::parse_str(object).unwrap().root());
        }
        let together =
            r#"{"logprobs":{"content":[{"token":"a"},{"token":"b"}]},"n":2,"x":{"y":"z"}}"#;
        assert_eq!(all.raw().as_str(), together);
    }
}
