//! The location of a store.

use crate::master::private_folder;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use tokio::task::spawn_blocking;

/// The location of a store.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// The address of a PostgreSQL server (`postgres://user@host/database`). It may contain a password.
    Postgres(String),
    /// A file on this machine.
    Sqlite(PathBuf),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Postgres(url) => f.write_str(&without_credentials(url)),
            Location::Sqlite(path) => path.display().fmt(f),
        }
    }
}

impl Location {
    /// The same location under its canonical name, so that all processes use the same names for the files next to it,
    /// as SQLite does for its log. Creates the folder of a file if it does not exist.
    pub(crate) async fn settled(&self) -> Self {
        match self {
            Location::Postgres(_) => self.clone(),
            Location::Sqlite(path) => {
                let given = path.clone();
                let settled = spawn_blocking(move || settled(&given)).await;
                Location::Sqlite(settled.unwrap_or_else(|_| path.clone()))
            }
        }
    }
}

fn settled(path: &Path) -> PathBuf {
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path };
    // If this fails, opening the file reports the error.
    drop(private_folder(folder));
    let in_folder = |_| fs::canonicalize(folder).map(|folder| folder.join(name));
    fs::canonicalize(&path).or_else(in_folder).unwrap_or(path)
}

/// The address for messages, without user, password and options.
fn without_credentials(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
            format!("{scheme}://{host}")
        }
        // The form `key=value ...` may contain a password anywhere.
        None => "the PostgreSQL server".to_owned(),
    }
}

/// Like `Display`, without the password of the address.
impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_credential_is_shown() {
        for (url, expected) in [
            ("postgres://me:secret@host:5432/db?password=secret", "postgres://host:5432/db"),
            ("postgresql://host/db", "postgresql://host/db"),
            ("postgres://me:se@cret@host/db", "postgres://host/db"),
            ("host=h user=me password=secret", "the PostgreSQL server"),
        ] {
            let location = Location::Postgres(url.to_owned());
            assert_eq!(format!("{location}"), expected);
            assert!(!format!("{location:?}").contains("secret"));
        }
    }
}
