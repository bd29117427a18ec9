//! Finds all errors of a configuration file at once.

use super::places::{self, Lookup, folder_of};
use super::read::{config, too_large, warnings_of};
use super::{references, trust};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The result of a check.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The file; `None` if there is no file.
    pub(crate) path: Option<PathBuf>,
    /// The errors that the program refuses.
    pub(crate) errors: Vec<String>,
    /// The problems that it can work with.
    pub(crate) warnings: Vec<String>,
    /// The contents of the file, in words.
    pub(crate) summary: String,
}

/// Checks the file that is named, else the one at its usual place.
pub(crate) fn check(named: Option<&Path>, lookup: Lookup<'_>) -> Result<Report, String> {
    let usual = || places::config_file(lookup).filter(|path| path.exists());
    let Some(path) = named.map(Path::to_owned).or_else(usual) else {
        return Ok(Report::default());
    };
    let text = trust::read(&path)?;
    let mut report = Report { path: Some(path.clone()), ..Report::default() };
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => {
            // With the line and a caret below the place.
            let said = too_large(&text, &error);
            report.errors.push(said.unwrap_or_else(|| error.to_string().trim_end().to_owned()));
            return Ok(report);
        }
    };
    let folder = folder_of(&path);
    report.errors = faults(&table, &|table| config(table, lookup, &folder).err());
    report.errors.extend(references::dangling(&table));
    report.warnings = warnings_of(&table, lookup);
    report.summary = summary(&table);
    Ok(report)
}

/// Returns all errors. Reading ends at the first error, so its place is corrected or removed, and the rest is read
/// again.
fn faults(table: &Table, fault: &dyn Fn(&Table) -> Option<String>) -> Vec<String> {
    let (mut table, mut found) = (table.clone(), Vec::new());
    while let Some(message) = fault(&table) {
        let place = named(&table, &message).or_else(|| culprit(&table, &message, fault));
        let Some(path) = place else {
            found.push(message);
            break;
        };
        let stays = |next: &Table| fault(next).as_ref() == Some(&message);
        table = match put_right(&table, &path, &message).filter(|right| !stays(right)) {
            Some(right) => right,
            None => taken_out(&table, &path, fault),
        };
        let is_stuck = stays(&table);
        found.push(message);
        if is_stuck {
            break;
        }
    }
    found
}

/// The place that a fault names first, if it is one.
fn named(table: &Table, message: &str) -> Option<Vec<String>> {
    let name = message.split('`').nth(1)?;
    let path: Vec<String> = name.split('.').map(str::to_owned).collect();
    let (last, around) = path.split_last()?;
    let inner = around.iter().try_fold(table, |table, key| table.get(key)?.as_table())?;
    inner.contains_key(last).then_some(path)
}

/// The table with the first of the words that a fault says are possible in this place.
fn put_right(table: &Table, path: &[String], message: &str) -> Option<Table> {
    let words = ["allowed: ", "known are "].iter().find_map(|mark| message.split_once(mark));
    let word = words?.1.split(',').next()?.trim();
    let mut table = table.clone();
    let (last, around) = path.split_last()?;
    let inner = around.iter().try_fold(&mut table, |table, key| match table.get_mut(key) {
        Some(Value::Table(inner)) => Some(inner),
        _ => None,
    })?;
    inner.insert(last.clone(), Value::String(word.to_owned()));
    Some(table)
}

/// Returns the table without the value at this path. If the program then misses that value, the table around it is
/// removed, too.
fn taken_out(table: &Table, path: &[String], fault: &dyn Fn(&Table) -> Option<String>) -> Table {
    let without = removed(table, path);
    let is_missed =
        |next: &String| path.last().is_some_and(|key| next.contains(&format!("`{key}`")));
    let around = path.split_last().map_or(&[][..], |(_, around)| around);
    match fault(&without).filter(is_missed) {
        Some(_) if !around.is_empty() => removed(table, around),
        _ => without,
    }
}

/// Returns the place of a fault: the deepest value whose removal changes the fault.
fn culprit(
    table: &Table,
    message: &str,
    fault: &dyn Fn(&Table) -> Option<String>,
) -> Option<Vec<String>> {
    let mut path: Vec<String> = Vec::new();
    loop {
        let inner = path.iter().try_fold(table, |table, key| table.get(key)?.as_table());
        let mut keys = inner.into_iter().flat_map(Table::keys);
        let helps = |key: &&String| {
            let path = [path.as_slice(), &[(*key).clone()]].concat();
            fault(&removed(table, &path)).as_deref() != Some(message)
        };
        match keys.find(helps) {
            Some(key) => {
                let key = key.clone();
                path.push(key);
            }
            None => return (!path.is_empty()).then_some(path),
        }
    }
}

/// Returns the table without the value at this path.
fn removed(table: &Table, path: &[String]) -> Table {
    let mut table = table.clone();
    if let Some((last, around)) = path.split_last() {
        let inner = around.iter().try_fold(&mut table, |table, key| match table.get_mut(key) {
            Some(Value::Table(inner)) => Some(inner),
            _ => None,
        });
        inner.and_then(|inner| inner.remove(last));
    }
    table
}

/// `2 providers, 1 model`
fn summary(table: &Table) -> String {
    let count = |key: &str| table.get(key).and_then(Value::as_table).map_or(0, Table::len);
    let named = [("providers", "provider"), ("models", "model"), ("profiles", "profile")];
    let named = named.into_iter().chain([("roles", "role"), ("keys", "key")]);
    let counted = named.map(|(key, one)| (count(key), one)).filter(|(count, _)| *count > 0);
    let words: Vec<String> = counted
        .map(|(count, one)| format!("{count} {one}{}", if count == 1 { "" } else { "s" }))
        .collect();
    if words.is_empty() { "no provider and no model".to_owned() } else { words.join(", ") }
}
