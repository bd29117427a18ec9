//! The master key: its sources and its file.

use crate::error::StoreError;
use crate::seal::{self, Broken, Key, Kind, bind};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use zeroize::Zeroizing;

/// A source of the master key. The key is 64 hexadecimal digits. During a change of the key, the next key follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The output of a program.
    Command(Vec<String>),
    /// An environment variable.
    Env(String),
    /// A file that only its owner can read. It is created with a new key if store and file are both new.
    File(PathBuf),
}

/// The master key. It locks only the keys of tenants and of the store.
pub(crate) struct Master {
    pub(crate) key: Key,
    /// The check that the key opened in the store. Each change of the key changes it.
    pub(crate) check: Vec<u8>,
    /// A description of the source.
    pub(crate) from: String,
}

/// The keys of a source: the current one, and perhaps the next one.
pub(crate) struct Given {
    pub(crate) keys: Vec<Key>,
    /// A description of the source.
    pub(crate) from: String,
}

/// A description for messages.
impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySource::Command(command) => {
                write!(f, "the command `{}`", command.first().map_or("", String::as_str))
            }
            KeySource::Env(name) => write!(f, "the environment variable `{name}`"),
            KeySource::File(path) => write!(f, "the file `{}`", path.display()),
        }
    }
}

impl KeySource {
    /// Reads the keys. Creates a missing file if `may_create`.
    pub(crate) fn read(&self, store: &str, may_create: bool) -> Result<Given, StoreError> {
        let from = self.to_string();
        let refuse = |message: String| StoreError::Key { from: from.clone(), message };
        let text = match self {
            KeySource::Command(command) => Zeroizing::new(printed(command).map_err(refuse)?),
            KeySource::Env(name) => {
                let text = std::env::var(name).map_err(|_| refuse("it is not set".to_owned()))?;
                Zeroizing::new(text)
            }
            KeySource::File(path) => match read_private(path)? {
                Some(text) => text,
                None if may_create => create(path)?,
                None => {
                    let store = store.to_owned();
                    return Err(StoreError::KeyMissing { path: path.clone(), store });
                }
            },
        };
        let keys = keys_of(&text).ok_or_else(|| {
            refuse("it is not 64 hexadecimal digits; restore it, or make one with `openssl rand -hex 32`".to_owned())
        })?;
        Ok(Given { keys, from })
    }
}

/// The plain text of the check.
const CHECK: &[u8] = b"thinkthrough";

/// Seals the check by which a store recognises its master key.
pub(crate) fn check(master: &Key) -> Result<Vec<u8>, Broken> {
    master.seal(CHECK, &bind(Kind::Check, &[], &[]))
}

/// Whether this key made the check.
pub(crate) fn fits(master: &Key, check: &[u8]) -> bool {
    master.open(check, &bind(Kind::Check, &[], &[])).is_ok()
}

/// Locks the store's own key with the master key.
pub(crate) fn lock_own(key: &Key, master: &Key) -> Result<Vec<u8>, Broken> {
    master.wrap(key, &bind(Kind::InstallKey, &[], &[]))
}

/// Unlocks the store's own key.
pub(crate) fn open_own(locked: &[u8], master: &Key) -> Result<Key, Broken> {
    master.unwrap(locked, &bind(Kind::InstallKey, &[], &[]))
}

/// Parses one key, or two during a change of the key.
fn keys_of(text: &str) -> Option<Vec<Key>> {
    let keys = text.split_whitespace().map(|word| unhex(word).map(Key::new));
    keys.collect::<Option<Vec<_>>>().filter(|keys| matches!(keys.len(), 1 | 2))
}

/// Writes a key into a new file that only its owner can read.
pub(crate) fn backup(key: &Key, file: &Path) -> Result<(), StoreError> {
    let no = |error: io::Error| StoreError::File {
        path: file.to_owned(),
        message: match error.kind() {
            io::ErrorKind::AlreadyExists => {
                "it is there already, and a key is never written over; name another file".to_owned()
            }
            _ => error.to_string(),
        },
    };
    let text = text_of(std::slice::from_ref(key));
    let mut made = private_file(file).map_err(no)?;
    made.write_all(text.as_bytes()).and_then(|()| made.sync_all()).map_err(no)?;
    sync_folder(file);
    Ok(())
}

/// Replaces the content of a key file atomically: readers and crashes see either the old or the new keys. The caller
/// makes sure that calls do not overlap.
pub(crate) fn replace(path: &Path, keys: &[Key]) -> io::Result<()> {
    // If the path is a link, replace its target and keep the link.
    let path = fs::canonicalize(path)?;
    let mut new = path.clone().into_os_string();
    new.push(".new");
    let new = PathBuf::from(new);
    // A file left by a killed process contains keys.
    drop(fs::remove_file(&new));
    let written = private_file(&new).and_then(|mut file| {
        file.write_all(text_of(keys).as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &path)
    });
    if written.is_err() {
        drop(fs::remove_file(&new));
    }
    sync_folder(&path);
    written
}

fn text_of(keys: &[Key]) -> Zeroizing<String> {
    let lines = keys.iter().map(|key| Zeroizing::new(hex(key.bytes())));
    // Reserve the full capacity, so that no reallocation leaves a partial copy in memory.
    let mut text = Zeroizing::new(String::with_capacity(keys.len() * 65));
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

const NO_RANDOM: &str = "the system gives no random bytes";

fn printed(command: &[String]) -> Result<String, String> {
    let (program, arguments) = command.split_first().ok_or("it names no program")?;
    let output = Command::new(program)
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("it does not run: {error}"))?;
    let printed = Zeroizing::new(output.stdout);
    if !output.status.success() {
        return Err(format!("it failed with {}", output.status));
    }
    String::from_utf8(printed.to_vec()).map_err(|_| "it printed no text".to_owned())
}

/// Reads a file that only its owner may read. Returns `None` if it does not exist.
///
/// # Errors
///
/// [`StoreError::Key`] if others may read it, [`StoreError::File`] if it cannot be read.
pub fn read_private(path: &Path) -> Result<Option<Zeroizing<String>>, StoreError> {
    let no = |message: String| StoreError::File { path: path.to_owned(), message };
    match fs::read_to_string(path) {
        Ok(text) => {
            let text = Zeroizing::new(text);
            match foreign_access(path) {
                None => Ok(Some(text)),
                Some(mode) => Err(StoreError::Key {
                    from: format!("the file `{}`", path.display()),
                    message: format!(
                        "others may read this key (mode {mode:03o}); run `chmod 600` on it"
                    ),
                }),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(no(error.to_string())),
    }
}

/// The file's mode, if it gives access to others than the owner.
#[cfg(unix)]
fn foreign_access(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn foreign_access(_: &Path) -> Option<u32> {
    None
}

/// Creates a key file. If two processes do so at once, both get the key of the first.
fn create(path: &Path) -> Result<Zeroizing<String>, StoreError> {
    let no =
        |error: io::Error| StoreError::File { path: path.to_owned(), message: error.to_string() };
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    let broken = |_| no(io::Error::other(NO_RANDOM));
    let text = text_of(&[Key::random().map_err(broken)?]);
    // The file gets its name only when it is complete. A hard link fails if the name exists.
    let mark = hex(&seal::random::<8>().map_err(broken)?);
    let unnamed = path.with_extension(format!("{mark}.new"));
    let written = private_file(&unnamed).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::hard_link(&unnamed, path)
    });
    let removed = fs::remove_file(&unnamed);
    match written {
        Ok(()) => {
            removed.map_err(no)?;
            sync_folder(path);
            Ok(text)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read_private(path)?.ok_or_else(|| no(error))
        }
        Err(error) => Err(no(error)),
    }
}

/// Creates a folder that only its owner can enter, with its parents.
pub(crate) fn private_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|error| StoreError::File { path: folder.to_owned(), message: error.to_string() })
}

/// Creates a new file that only its owner can read.
pub(crate) fn private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Restricts an existing file, and SQLite's files next to it, to the owner. Returns a message if others had access.
/// SQLite gives the file's mode to all files that it creates next to it.
#[cfg(unix)]
pub(crate) fn keep_private(file: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let close = |path: &Path| {
        let mode = foreign_access(path)?;
        Some((mode, fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700))))
    };
    let own = close(file);
    for beside in ["-wal", "-shm", "-journal"] {
        let mut path = file.as_os_str().to_owned();
        path.push(beside);
        close(Path::new(&path));
    }
    let file = file.display();
    own.map(|(mode, closed)| match closed {
        Ok(()) => format!(
            "others could get at the store `{file}` (mode {mode:03o}); from now on only its owner can"
        ),
        Err(error) => format!(
            "others can get at the store `{file}` (mode {mode:03o}), which cannot be changed ({error}); have its owner \
             run `chmod 600` on it"
        ),
    })
}

#[cfg(not(unix))]
pub(crate) fn keep_private(_: &Path) -> Option<String> {
    None
}

/// Syncs the folder of a new file, because only then does the new name survive a power cut. If folders cannot be
/// synced, only that guarantee is missing.
pub(crate) fn sync_folder(path: &Path) {
    if let Some(folder) = path.parent().and_then(|folder| fs::File::open(folder).ok()) {
        drop(folder.sync_all());
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let &[high, low] = pair else { return None };
        let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(key)
}
