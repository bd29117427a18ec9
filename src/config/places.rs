//! The default paths of files.

use std::path::{Path, PathBuf, absolute};

/// Reads the environment; tests pass their own.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The configuration file's usual place.
pub(super) fn config_file(lookup: Lookup<'_>) -> Option<PathBuf> {
    Some(base(lookup, "XDG_CONFIG_HOME", ".config")?.join("thinkthrough").join("config.toml"))
}

/// The folder of the configuration file `read`, or else of the usual file.
pub(crate) fn config_folder(read: Option<&Path>, lookup: Lookup<'_>) -> Option<PathBuf> {
    read.map(folder_of).or_else(|| config_file(lookup)?.parent().map(Path::to_owned))
}

/// The folder of the store and its key.
pub(crate) fn data_folder(lookup: Lookup<'_>) -> Option<PathBuf> {
    Some(base(lookup, "XDG_DATA_HOME", ".local/share")?.join("thinkthrough"))
}

/// A relative path in such a variable does not count.
/// Source: the XDG base directory specification.
fn base(lookup: Lookup<'_>, variable: &str, below_home: &str) -> Option<PathBuf> {
    lookup(variable).filter(|base| Path::new(base).is_absolute()).map(PathBuf::from).or_else(|| {
        Some(PathBuf::from(lookup("HOME").filter(|it| !it.is_empty())?).join(below_home))
    })
}

/// Returns the folder of a configuration file, to which its relative paths refer. A file name without a folder means
/// the process's own folder, whose absolute path is returned.
pub(super) fn folder_of(file: &Path) -> PathBuf {
    let whole = absolute(file).unwrap_or_else(|_| file.to_owned());
    whole.parent().map(Path::to_owned).unwrap_or_default()
}

/// A path as the file says it: a relative one is relative to the file.
pub(super) fn from_file(folder: &Path, path: &str) -> PathBuf {
    folder.join(path)
}
