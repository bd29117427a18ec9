//! The input of commands: a file, or standard input.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;

/// The last argument of every command that reads.
#[derive(Debug, Args)]
pub(crate) struct Input {
    /// What to read; `-` or nothing is standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Input {
    /// Hands out the input piece by piece, as it comes.
    pub(crate) fn each(
        &self,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut source = self.open()?;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = match source.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.unreadable(&error)),
            };
            take(buffer.get(..count).unwrap_or_default())?;
        }
    }

    /// The whole input.
    pub(crate) fn all(&self) -> Result<Vec<u8>, Failure> {
        let mut all = Vec::new();
        self.open()?.read_to_end(&mut all).map_err(|error| self.unreadable(&error))?;
        Ok(all)
    }

    fn open(&self) -> Result<Box<dyn Read>, Failure> {
        Ok(match self.path() {
            Some(path) => Box::new(File::open(path).map_err(|error| self.unreadable(&error))?),
            None => Box::new(io::stdin().lock()),
        })
    }

    fn path(&self) -> Option<&PathBuf> {
        self.file.as_ref().filter(|file| file.as_os_str() != "-")
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        let name = self
            .path()
            .map_or_else(|| "standard input".to_owned(), |path| format!("`{}`", path.display()));
        Failure::Failed(format!(
            "{name} cannot be read: {error}; give a file that can be, or `-` for standard input"
        ))
    }
}
