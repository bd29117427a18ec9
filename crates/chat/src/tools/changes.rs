//! The changes that tools made to files, to take them back.

use super::FileChange;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most bytes of texts that are remembered. Older changes are forgotten first.
const MOST: usize = 32 << 20;

/// The changes of a session, the latest last.
#[derive(Debug, Default)]
pub struct Changes(Mutex<Log>);

#[derive(Debug, Default)]
struct Log {
    /// The number of the current question.
    run: u64,
    made: Vec<(u64, FileChange)>,
}

impl Changes {
    /// The changes that follow belong to the question with this number.
    pub fn begin(&self, run: u64) {
        self.log().run = run;
    }

    pub(super) fn note(&self, change: Option<&FileChange>) {
        let mut log = self.log();
        let run = log.run;
        log.made.extend(change.map(|change| (run, change.clone())));
        let mut bytes = 0;
        let fits = |(_, change): &&(u64, FileChange)| {
            bytes += size(change);
            bytes <= MOST
        };
        let kept = log.made.iter().rev().take_while(fits).count();
        let gone = log.made.len() - kept;
        log.made.drain(..gone);
    }

    /// Takes back the changes of these questions, the latest first. Returns a line for each file. A file that was
    /// changed since then stays as it is.
    #[must_use]
    pub fn undo(&self, runs: &[u64]) -> Vec<String> {
        let mut log = self.log();
        let (made, rest) =
            std::mem::take(&mut log.made).into_iter().partition(|it| runs.contains(&it.0));
        log.made = rest;
        let made: Vec<(u64, FileChange)> = made;
        made.iter().rev().map(|(_, change)| undone(change)).collect()
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn undone(change: &FileChange) -> String {
    let path = change.path.display();
    let now = fs::read_to_string(&change.path).ok();
    if now.as_deref() != Some(&change.new) {
        return format!("`{path}` was changed since, and stays as it is");
    }
    let done = match &change.old {
        Some(old) => fs::write(&change.path, old).map(|()| "is as it was before"),
        None => fs::remove_file(&change.path).map(|()| "was new, and is gone"),
    };
    match done {
        Ok(what) => format!("`{path}` {what}"),
        Err(error) => format!("`{path}` cannot be taken back: {error}"),
    }
}

fn size(change: &FileChange) -> usize {
    change.new.len() + change.old.as_ref().map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_question_are_taken_back_unless_the_file_was_changed_since() {
        let folder = std::env::temp_dir().join(format!("think-undo-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [one, new, other] = ["one", "new", "other"].map(|name| folder.join(name));
        let change = |path: &std::path::Path, old: Option<&str>, new: &str| {
            let path = path.to_owned();
            FileChange { path, old: old.map(str::to_owned), new: new.to_owned() }
        };
        let changes = Changes::default();
        changes.note(Some(&change(&one, Some("0"), "1")));
        changes.begin(7);
        changes.note(Some(&change(&one, Some("1"), "2")));
        changes.note(Some(&change(&one, Some("2"), "3")));
        changes.note(Some(&change(&new, None, "n")));
        changes.note(Some(&change(&other, Some("a"), "b")));
        for (path, text) in [(&one, "3"), (&new, "n"), (&other, "mine")] {
            fs::write(path, text).unwrap();
        }
        let lines = changes.undo(&[7]);
        let read = |path| fs::read_to_string(path).ok();
        let files = [read(&one), read(&new), read(&other)];
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(files, [Some("1".to_owned()), None, Some("mine".to_owned())]);
        assert_eq!(lines.len(), 4);
        assert!(lines[0].ends_with("other` was changed since, and stays as it is"), "{lines:?}");
        assert!(changes.undo(&[7]).is_empty());
    }

    #[test]
    fn old_changes_are_forgotten() {
        let changes = Changes::default();
        let new = "x".repeat(MOST / 2);
        for _ in 0..4 {
            let (path, new) = ("nowhere/at/all".into(), new.clone());
            changes.note(Some(&FileChange { path, old: None, new }));
        }
        assert_eq!(changes.undo(&[0]).len(), 2);
    }
}
