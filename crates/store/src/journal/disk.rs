//! The disk operations of a journal, so that tests can make them fail.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// A disk. Tests use a failing disk.
pub(super) trait Disk: fmt::Debug + Send + Sync {
    /// Creates a file.
    fn make(&self, how: &OpenOptions, path: &Path) -> io::Result<File> {
        how.open(path)
    }

    /// Appends some of these bytes to a file. Returns their number.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    /// Syncs a file or a folder. When this returns, all earlier writes survive a power cut.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Cuts a file to this length.
    fn set_len(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }
}

/// The disk of the system.
#[derive(Debug)]
pub(super) struct System;

impl Disk for System {}

/// Appends all of these bytes. After an error a part of them may be written.
pub(super) fn write_all(disk: &dyn Disk, file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match disk.write(file, bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
