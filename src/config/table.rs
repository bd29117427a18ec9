//! Typed access to the tables of the configuration. An unknown key is an error that names the nearest known one.

use super::places::from_file;
use crate::nearest::nearest;
use std::path::Path;
use toml::{Table, Value};

#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) table: &'a Table,
}

impl<'a> Section<'a> {
    /// The name without its first part. Users choose the rest, which may contain dots.
    pub(super) fn own_name(self) -> String {
        self.name.split_once('.').map_or(self.name, |(_, name)| name).to_owned()
    }

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

    pub(super) fn strings(self, key: &str) -> Result<Option<Vec<String>>, String> {
        self.typed(key, "a list of strings", |value| {
            let list = value.as_array()?.iter();
            list.map(|item| item.as_str().map(str::to_owned)).collect()
        })
    }

    pub(super) fn boolean(self, key: &str) -> Result<Option<bool>, String> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub(super) fn number(self, key: &str) -> Result<Option<f64>, String> {
        self.typed(key, "a number", |value| match value {
            Value::Float(number) => Some(*number),
            Value::Integer(number) => i32::try_from(*number).ok().map(f64::from),
            _ => None,
        })
    }

    /// A command: a list that begins with a program, or a line for the shell. A relative path of the program is
    /// resolved from the configuration's folder.
    pub(super) fn command(self, key: &str, folder: &Path) -> Result<Option<Vec<String>>, String> {
        let what = "a list of strings that begins with a program, or a line for the shell";
        let mut command = self.typed(key, what, |value| match value {
            Value::String(line) if !line.trim().is_empty() => Some(shell(line)),
            Value::Array(list) if !list.is_empty() => {
                list.iter().map(|part| part.as_str().map(str::to_owned)).collect()
            }
            _ => None,
        })?;
        if let Some(program) = command.iter_mut().flat_map(|command| command.first_mut()).next()
            && program.contains(std::path::MAIN_SEPARATOR)
        {
            *program = from_file(folder, program).display().to_string();
        }
        Ok(command)
    }

    /// Returns the used one of two names for the same key.
    pub(super) fn one_of(self, keys: [&str; 2]) -> Result<Option<&str>, String> {
        match keys.map(|key| self.table.contains_key(key)) {
            [true, true] => Err(format!(
                "`{}` says the same as `{}`; keep one of them",
                self.at(keys[1]),
                self.at(keys[0])
            )),
            [true, false] => Ok(Some(keys[0])),
            [false, true] => Ok(Some(keys[1])),
            [false, false] => Ok(None),
        }
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

    /// The error for a value that is not allowed. It contains the value, so it must not be used for secrets.
    pub(super) fn wrong(self, key: &str, allowed: &str) -> String {
        const LONGEST: usize = 60;
        let at = self.at(key);
        let Some(value) = self.table.get(key) else { return format!("`{at}` must be {allowed}") };
        let said = value.to_string();
        let short: String = said.chars().filter(|sign| !sign.is_control()).take(LONGEST).collect();
        let more = if said.chars().count() > LONGEST { "..." } else { "" };
        format!("`{at}` must be {allowed}, not `{short}{more}`")
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

/// The command that runs a line in the system's shell.
fn shell(line: &str) -> Vec<String> {
    let shell = if cfg!(windows) { ["cmd", "/C"] } else { ["/bin/sh", "-c"] };
    shell.into_iter().chain([line]).map(str::to_owned).collect()
}
