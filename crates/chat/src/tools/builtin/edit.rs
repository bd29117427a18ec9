//! Changes a file: replaces an exact text, or creates a file.

use super::folder::{Folder, Place, is_same};
use super::{Plan, Spec, clipped, planned};
use crate::tools::permission::{FileChange, Permission, ToolKind};
use crate::tools::source::Given;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use thinkthrough_json::Val;

pub(super) const SPEC: Spec = Spec {
    name: "edit_file",
    description: "Change a text file of the working directory: `old_text`, which must occur exactly once, becomes \
                  `new_text`. With an empty `old_text` a new file is created. The result is the change as a diff.",
    parameters: r#"{"type":"object","properties":{"path":{"type":"string","description":"The file, relative to the working directory."},"old_text":{"type":"string","description":"The text to replace, exactly as it stands in the file, with enough lines around it to be unique. Empty to create the file."},"new_text":{"type":"string","description":"The text that stands there afterwards."},"replace_all":{"type":"boolean","description":"Replace every occurrence instead of demanding that there is one.","default":false}},"required":["path","old_text","new_text"]}"#,
    kind: ToolKind::Edit,
    permission: Permission::Ask,
    plan,
    run,
};

const MAX_FILE: u64 = 16 * 1024 * 1024;
const MAX_DIFF: usize = 16 * 1024;

fn plan(folder: &Folder, arguments: Val<'_>) -> Result<Plan, String> {
    let mut plan = planned(folder, arguments, "edit")?;
    // A call that cannot work fails here, before the user is asked.
    let (change, _) = prepare(folder, arguments, true)?;
    if change.old.is_none() {
        plan.title = plan.title.replacen("edit", "create", 1);
    }
    if plan.reason.is_none() {
        plan.grant = "change files in the working folder".to_owned();
    }
    plan.change = Some(change);
    Ok(plan)
}

fn run(folder: &Folder, arguments: Val<'_>, may_leave: bool) -> Result<Given, String> {
    let path = arguments.text("path").unwrap_or_default();
    let (change, seen) = prepare(folder, arguments, may_leave)?;
    write(&change, seen.as_ref()).map_err(|error| format!("cannot write `{path}`: {error}"))?;
    let (more, less) = change.counts();
    let verb = if change.old.is_some() { "changed" } else { "created" };
    let head = format!("{verb} `{}` (+{more} -{less})\n", folder.shown(&change.path));
    let text = head + &clipped(change.diff(), MAX_DIFF);
    Ok(Given { change: Some(change), ..Given::text(&text) })
}

/// The change that the call would make, and the file as it was read.
fn prepare(
    folder: &Folder,
    arguments: Val<'_>,
    may_leave: bool,
) -> Result<(FileChange, Option<File>), String> {
    let path = arguments.text("path").filter(|path| !path.is_empty());
    let path = path.ok_or("`path` is missing; name the file to change")?;
    let old_text = arguments.text("old_text").unwrap_or_default();
    let new_text = arguments.text("new_text").ok_or("`new_text` is missing")?;
    let Place { real, exists, .. } = folder.allowed(&path, may_leave)?;
    if !exists {
        if !old_text.is_empty() {
            return Err(format!("there is no `{path}`; leave `old_text` empty to create it"));
        }
        return Ok((FileChange { path: real, old: None, new: new_text.into_owned() }, None));
    }
    let (file, real) = folder.open_existing(&path, may_leave)?;
    let old = read(&file).map_err(|error| format!("cannot change `{path}`: {error}"))?;
    let new =
        replaced(&path, &old, &old_text, &new_text, arguments.bool("replace_all") == Some(true))?;
    Ok((FileChange { path: real, old: Some(old), new }, Some(file)))
}

fn read(mut file: &File) -> io::Result<String> {
    let kind = file.metadata()?;
    if !kind.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    if kind.len() > MAX_FILE {
        return Err(io::Error::other("it is larger than 16 MiB"));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn replaced(path: &str, text: &str, old: &str, new: &str, all: bool) -> Result<String, String> {
    if old.is_empty() {
        return match text.is_empty() {
            true => Ok(new.to_owned()),
            false => Err(format!("`{path}` exists already; say in `old_text` what to replace")),
        };
    }
    if old == new {
        return Err("`old_text` and `new_text` are the same".to_owned());
    }
    match text.matches(old).count() {
        0 => Err(format!(
            "`old_text` does not occur in `{path}`; read it and copy the text exactly, white space included"
        )),
        1 => Ok(text.replacen(old, new, 1)),
        _ if all => Ok(text.replace(old, new)),
        count => Err(format!(
            "`old_text` occurs {count} times in `{path}`; add lines around it until it is unique, or set `replace_all`"
        )),
    }
}

/// Replaces the file in one step, so that readers see either the old text or the new one.
fn write(change: &FileChange, seen: Option<&File>) -> io::Result<()> {
    let folder = change.path.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    fs::create_dir_all(folder)?;
    let name = change.path.file_name().ok_or_else(|| io::Error::other("it has no name"))?;
    // The open handle keeps the checked folder, even if its path is replaced meanwhile.
    let held = File::open(folder)?;
    if !is_same(&held, folder)? {
        return Err(io::Error::other("its folder changed meanwhile"));
    }
    let folder = held_path(&held, folder);
    let target = folder.join(name);
    let draft = Draft::new(&folder)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(&draft.0)?;
    file.write_all(change.new.as_bytes())?;
    if let Some(seen) = seen {
        file.set_permissions(seen.metadata()?.permissions())?;
    }
    file.sync_all()?;
    let now = match File::open(&target) {
        Ok(file) => Some(read(&file)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if now != change.old {
        return Err(io::Error::other("somebody else changed it meanwhile; read it again"));
    }
    fs::rename(&draft.0, &target)
}

/// A path to an open folder that no link can redirect, if the system has such paths.
fn held_path(held: &File, folder: &Path) -> PathBuf {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        let path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
        if path.exists() {
            return path;
        }
    }
    let _ = held;
    folder.to_owned()
}

/// The path of an unfinished file, which is deleted on drop unless it was renamed.
struct Draft(PathBuf);

impl Draft {
    fn new(folder: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        for _ in 0..100 {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".think-edit-{}-{number}", std::process::id()));
            if fs::symlink_metadata(&path).is_err() {
                return Ok(Draft(path));
            }
        }
        Err(io::Error::other("there are too many unfinished edits; remove `.think-edit-*`"))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After the renaming the temporary file no longer exists, and the removal fails.
        drop(fs::remove_file(&self.0));
    }
}
