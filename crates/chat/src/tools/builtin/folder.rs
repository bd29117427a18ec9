//! The working folder: resolves paths of the model, and checks whether they are inside.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

/// The working folder. A path counts as inside only if it is inside after links and `..` are resolved.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
}

/// The error for a folder that cannot be opened.
#[derive(Debug)]
pub struct ToolboxError {
    folder: PathBuf,
    error: io::Error,
}

impl fmt::Display for ToolboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tools cannot look into `{}`: {}", self.folder.display(), self.error)
    }
}

impl std::error::Error for ToolboxError {}

/// A resolved path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The real path, without links.
    pub(super) real: PathBuf,
    /// It is the working folder or below it.
    pub(super) is_inside: bool,
    /// The path exists.
    pub(super) exists: bool,
}

impl Folder {
    pub(super) fn open(folder: &Path) -> Result<Self, ToolboxError> {
        match folder.canonicalize() {
            Ok(root) => Ok(Folder { root }),
            Err(error) => Err(ToolboxError { folder: folder.to_owned(), error }),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves a path, whether or not it exists.
    pub(super) fn place(&self, path: &str) -> Result<Place, String> {
        let path = Path::new(if path.is_empty() { "." } else { path });
        let refuse = |error| format!("cannot open `{}`: {error}", path.display());
        let mut known = self.root.join(path);
        let mut missing = Vec::new();
        let found = loop {
            match known.canonicalize() {
                Ok(real) => break real,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // A dangling link could later send a new file elsewhere.
                    if fs::symlink_metadata(&known).is_ok() {
                        return Err(format!("`{}` is a link that leads nowhere", path.display()));
                    }
                    let Some(Component::Normal(name)) = known.components().next_back() else {
                        return Err(refuse(error));
                    };
                    missing.push(name.to_owned());
                    known.pop();
                }
                Err(error) => return Err(refuse(error)),
            }
        };
        let exists = missing.is_empty();
        let real = missing.into_iter().rev().fold(found, |path, name| path.join(name));
        Ok(Place { is_inside: real.starts_with(&self.root), real, exists })
    }

    /// Resolves a path that must exist. It must be inside the folder unless `may_leave`.
    pub(super) fn existing(&self, path: &str, may_leave: bool) -> Result<PathBuf, String> {
        let place = self.allowed(path, may_leave)?;
        if place.exists { Ok(place.real) } else { Err(format!("there is no `{path}`")) }
    }

    /// Resolves a path. It must be inside the folder unless `may_leave`.
    pub(super) fn allowed(&self, path: &str, may_leave: bool) -> Result<Place, String> {
        let place = self.place(path)?;
        if place.is_inside || may_leave { Ok(place) } else { Err(outside(path)) }
    }

    /// Opens the file that [`existing`](Self::existing) found, and checks that it is still the same file, because the
    /// path may have been replaced by a link meanwhile.
    pub(super) fn open_existing(
        &self,
        path: &str,
        may_leave: bool,
    ) -> Result<(File, PathBuf), String> {
        let real = self.existing(path, may_leave)?;
        let refuse = |error: io::Error| format!("cannot open `{path}`: {error}");
        let file = File::open(&real).map_err(refuse)?;
        let is_same = is_same(&file, &real).map_err(refuse)?;
        if is_same {
            Ok((file, real))
        } else {
            Err(format!("`{path}` changed while it was opened"))
        }
    }

    /// A path as the model sees it.
    pub(super) fn shown(&self, path: &Path) -> String {
        let shown = path.strip_prefix(&self.root).unwrap_or(path).display().to_string();
        if shown.is_empty() { ".".to_owned() } else { shown }
    }
}

pub(super) fn outside(path: &str) -> String {
    format!("`{path}` is outside the working folder")
}

/// Whether an open file is the file at this path, and the path still has no links in it.
pub(super) fn is_same(file: &File, real: &Path) -> io::Result<bool> {
    if real.canonicalize()? != real {
        return Ok(false);
    }
    let (opened, there) = (file.metadata()?, fs::symlink_metadata(real)?);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Ok((opened.dev(), opened.ino()) == (there.dev(), there.ino()))
    }
    #[cfg(not(unix))]
    Ok(opened.len() == there.len())
}
