//! Copies of files that another program has changed.

use crate::master::{private_file, sync_folder};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The most names to try.
const NAMES: u32 = 100;

/// Copies a file to a new name next to it and syncs the copy.
pub(crate) fn copy(file: &Path) -> io::Result<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    for number in 0..NAMES {
        let mut name = OsString::from(file.as_os_str());
        name.push(format!(".aside-{now}-{number}"));
        let name = PathBuf::from(name);
        let mut made = match private_file(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        };
        let copied = fs::File::open(file).and_then(|mut file| {
            io::copy(&mut file, &mut made)?;
            made.sync_all()
        });
        if let Err(error) = copied {
            // Remove an incomplete copy.
            drop(fs::remove_file(&name));
            return Err(error);
        }
        sync_folder(&name);
        return Ok(name);
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
