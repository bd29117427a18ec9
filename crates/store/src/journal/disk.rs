//! What a journal asks of its disk: the one place where that can fail.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// A disk. Tests have one that fails as disks do.
pub(super) trait Disk: fmt::Debug + Send + Sync {
    /// Makes a file.
    fn make(&self, how: &OpenOptions, path: &Path) -> io::Result<File> {
        how.open(path)
    }

    /// Writes some of these bytes to the end of a file, and says how many.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    /// Comes back when all that was written to a file, or that stands in a folder, outlives a loss of power.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Cuts a file.
    fn set_len(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }
}

/// That of the system.
#[derive(Debug)]
pub(super) struct System;

impl Disk for System {}

/// Writes all of these bytes, or says why a part of them is there at most.
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
