//! Where files stand that nobody named.

use std::path::{Path, PathBuf};

/// Reads the environment; tests pass their own.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The configuration file's usual place.
pub(super) fn config_file(lookup: Lookup<'_>) -> Option<PathBuf> {
    Some(base(lookup, "XDG_CONFIG_HOME", ".config")?.join("thinkthrough").join("config.toml"))
}

/// The folder that the store and its key stand in.
pub(super) fn data_folder(lookup: Lookup<'_>) -> Option<PathBuf> {
    Some(base(lookup, "XDG_DATA_HOME", ".local/share")?.join("thinkthrough"))
}

/// A relative path in such a variable does not count.
/// Source: the XDG base directory specification.
fn base(lookup: Lookup<'_>, variable: &str, below_home: &str) -> Option<PathBuf> {
    lookup(variable).filter(|base| Path::new(base).is_absolute()).map(PathBuf::from).or_else(|| {
        Some(PathBuf::from(lookup("HOME").filter(|it| !it.is_empty())?).join(below_home))
    })
}

/// A path as the file says it: a relative one is relative to the file.
pub(super) fn from_file(folder: &Path, path: &str) -> PathBuf {
    folder.join(path)
}
