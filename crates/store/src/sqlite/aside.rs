//! Copies a damaged log before SQLite silently ignores a part of it or deletes it.

use super::wal;
use crate::aside::copy;
use crate::error::StoreError;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The number of reads of a log that looks damaged, and the pause between them. Another process may be writing it.
const LOOKS: usize = 3;
const PAUSE: Duration = Duration::from_millis(20);

/// Checks the log before SQLite reads it. Returns a message if a copy was made. Blocks.
pub(super) fn put_aside(path: &Path) -> Result<Option<String>, StoreError> {
    let mut log = OsString::from(path.as_os_str());
    log.push("-wal");
    let log = PathBuf::from(log);
    let no = |error: io::Error| StoreError::File { path: log.clone(), message: error.to_string() };
    let Some(at) = broken_at(&log).map_err(no)? else { return Ok(None) };
    // SQLite deletes the log of an empty file.
    let is_alone = fs::metadata(path).map_or(true, |file| file.len() == 0);
    if !is_alone && at.is_none() {
        return Ok(None);
    }
    let copy = copy(&log).map_err(no)?;
    let (log, copy, path) = (log.display(), copy.display(), path.display());
    Ok(Some(match at {
        Some(at) if !is_alone => format!(
            "the log `{log}` is not whole from byte {at} on: it was changed, or power ended while it was written; what \
             stands before is kept, and a copy of all of it is `{copy}`; what was written last may be missing, so look \
             into a backup, and delete the copy when it is of no use"
        ),
        _ => format!(
            "`{path}` is missing or empty and its log is there; the log is kept as `{copy}`: put the file back where \
             it was, and the log beside it as `{log}`, or delete the copy"
        ),
    }))
}

/// The position of damage in the log, if any. The outer `None` means that there is no log. An unfinished write of
/// another process is complete after a moment.
fn broken_at(log: &Path) -> io::Result<Option<Option<usize>>> {
    let mut last = None;
    for _ in 0..LOOKS {
        let bytes = match fs::read(log) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        if bytes.is_empty() {
            return Ok(None);
        }
        last = wal::broken_at(&bytes);
        if last.is_none() {
            break;
        }
        thread::sleep(PAUSE);
    }
    Ok(Some(last))
}
