//! The master key: where it comes from, and the file that keeps it.

use crate::error::StoreError;
use crate::seal::{self, Broken, Key, Kind, bind};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use zeroize::Zeroizing;

/// Where the master key comes from. It is 64 hexadecimal digits everywhere; while it is changed, the key that comes next
/// stands behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// What a program prints.
    Command(Vec<String>),
    /// An environment variable.
    Env(String),
    /// A file that only its owner can read; made with a new key where store and file are both new.
    File(PathBuf),
}

/// The master key. Nothing but keys of tenants is locked with it.
pub(crate) struct Master {
    pub(crate) key: Key,
    /// What it opened in the store. It is another one after each change of the key.
    pub(crate) check: Vec<u8>,
    /// Where it came from, in words.
    pub(crate) from: String,
}

/// What a source gives: the key, and perhaps the one that comes next.
pub(crate) struct Given {
    pub(crate) keys: Vec<Key>,
    /// The source, in words.
    pub(crate) from: String,
}

/// In words, for messages.
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
    /// Reads the key; a file that is not there is made if `may_create`.
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

/// What the check of the master key says once opened.
const CHECK: &[u8] = b"thinkthrough";

/// The check by which a store knows its master key.
pub(crate) fn check(master: &Key) -> Result<Vec<u8>, Broken> {
    master.seal(CHECK, &bind(Kind::Check, &[], &[]))
}

/// Whether this is the key that made the check.
pub(crate) fn fits(master: &Key, check: &[u8]) -> bool {
    master.open(check, &bind(Kind::Check, &[], &[])).is_ok()
}

/// Locks the store's own key.
pub(crate) fn lock_own(key: &Key, master: &Key) -> Result<Vec<u8>, Broken> {
    master.wrap(key, &bind(Kind::InstallKey, &[], &[]))
}

/// Opens the store's own key.
pub(crate) fn open_own(locked: &[u8], master: &Key) -> Result<Key, Broken> {
    master.unwrap(locked, &bind(Kind::InstallKey, &[], &[]))
}

/// One key, or two while it is changed.
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

/// Puts these keys into the place of what a key file holds: whoever reads it, and whatever ends this process, finds the
/// one or the other. Nobody else does so meanwhile.
pub(crate) fn replace(path: &Path, keys: &[Key]) -> io::Result<()> {
    // Behind a link, which stays one.
    let path = fs::canonicalize(path)?;
    let mut new = path.clone().into_os_string();
    new.push(".new");
    let new = PathBuf::from(new);
    // Of a process that was killed; it holds keys.
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
    // Room for all, so that no copy of a part stays behind.
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

/// The text of a file that nobody but its owner may read; `None` where there is none.
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

/// The file's mode, if it lets others than the owner in.
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

/// Makes a key file. Of two processes that do so at once, both get the key of the one that was first.
fn create(path: &Path) -> Result<Zeroizing<String>, StoreError> {
    let no =
        |error: io::Error| StoreError::File { path: path.to_owned(), message: error.to_string() };
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    let broken = |_| no(io::Error::other(NO_RANDOM));
    let text = text_of(&[Key::random().map_err(broken)?]);
    // The file gets its name only once it is complete: a link fails where the name is taken.
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

/// Makes a folder that only its owner can enter, with those above it.
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

/// Makes a new file that only its owner can read.
pub(crate) fn private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Lets nobody but its owner at a file that is there, and at what SQLite has beside it; gives what is to be said where
/// others could. SQLite gives the file's mode to all that it makes beside it.
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

/// A new name survives a power cut only once its folder is written; where folders cannot be synced nothing is lost
/// but that.
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
