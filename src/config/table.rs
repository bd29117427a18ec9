//! Tables of the configuration, read key by key, so that every unknown key is an error that names the nearest one.

use toml::{Table, Value};

/// A table and the name under which it stands.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) table: &'a Table,
}

impl<'a> Section<'a> {
    /// Refuses keys that are not `known`.
    pub(super) fn only(self, known: &[&str]) -> Result<Self, String> {
        for key in self.table.keys() {
            if !known.contains(&key.as_str()) {
                let near = nearest(key, known);
                let all = known.join("`, `");
                return Err(match near {
                    Some(near) => format!("`{}` is no key; did you mean `{near}`?", self.at(key)),
                    None => format!("`{}` is no key; the keys here are `{all}`", self.at(key)),
                });
            }
        }
        Ok(self)
    }

    pub(super) fn at(self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    pub(super) fn string(self, key: &str) -> Result<Option<String>, String> {
        self.typed(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn boolean(self, key: &str) -> Result<Option<bool>, String> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub(super) fn table(self, key: &str) -> Result<Option<&'a Table>, String> {
        self.typed(key, "a table", Value::as_table)
    }

    /// The tables below `key`, by name, in file order.
    pub(super) fn tables(self, key: &str) -> Result<Vec<(String, &'a Table)>, String> {
        let Some(parent) = self.table(key)? else { return Ok(Vec::new()) };
        parent
            .iter()
            .map(|(name, value)| {
                let path = format!("{}.{name}", self.at(key));
                let table = value.as_table().ok_or_else(|| format!("`{path}` must be a table"))?;
                Ok((path, table))
            })
            .collect()
    }

    fn typed<T>(
        self,
        key: &str,
        what: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        match self.table.get(key) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(value) => Ok(Some(value)),
                None => Err(format!("`{}` must be {what}", self.at(key))),
            },
        }
    }
}

/// The known word that is at most a third of its letters away.
pub(crate) fn nearest<'w>(word: &str, known: &[&'w str]) -> Option<&'w str> {
    known
        .iter()
        .map(|candidate| (distance(word, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .min()
        .map(|(_, candidate)| candidate)
}

/// The edit distance of two words, case of no account.
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
