//! Checks that only its user can write a configuration file, because the file can name any command and any address.

use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::path::Path;
#[cfg(unix)]
use thinkthrough_chat::owner::effective_user;
use thinkthrough_chat::owner::is_foreign;

/// Reads a configuration file that only its user and root may write.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let no = |error| format!("the configuration `{}` cannot be read: {error}", path.display());
    let mut file = File::open(path).map_err(no)?;
    // Checks the open file, so that no other file can be read in its place.
    refuse_others(path, &file.metadata().map_err(no)?)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(no)?;
    Ok(text)
}

/// Why a file or a folder is not its user's alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Its mode lets others write.
    Mode,
    /// It belongs to another user.
    Owner,
}

/// The metadata that the check uses.
#[derive(Clone, Copy, Debug)]
struct Facts {
    uid: u32,
    mode: u32,
    is_folder: bool,
    /// The owner is the only member of its group.
    is_private_group: bool,
}

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// In such a folder only the owner of a file can put another in its place.
const STICKY: u32 = 0o1000;

/// Returns the reason why another user could write, if there is one.
///
/// Root reads a file of any owner. In a container, root is the only user, and files from outside belong to the user
/// who started it. On a machine of several users, the file was named explicitly.
fn fault(facts: Facts, user: u32) -> Option<Fault> {
    let Facts { uid, mode, is_folder, is_private_group } = facts;
    if is_foreign(uid, user) {
        return Some(Fault::Owner);
    }
    if is_folder && mode & STICKY != 0 {
        return None;
    }
    let shared = if is_private_group { OTHERS_WRITE } else { OTHERS_WRITE | GROUP_WRITES };
    (mode & shared != 0).then_some(Fault::Mode)
}

#[cfg(unix)]
fn refuse_others(path: &Path, file: &Metadata) -> Result<(), String> {
    let refuse = |of: &Path, facts: Facts, what: &str| {
        let shown = of.display();
        let why = match fault(facts, effective_user()) {
            None => return Ok(()),
            Some(Fault::Owner) => format!(
                "belongs to another user ({}), who could change it; copy the file into a folder of your own, or run \
                 `chown` on it",
                facts.uid
            ),
            Some(Fault::Mode) => format!(
                "can be written by other users (mode {:03o}); run `chmod go-w {shown}`",
                facts.mode & 0o7777
            ),
        };
        Err(format!("the configuration `{}` is not used: {what}`{shown}` {why}", path.display()))
    };
    refuse(path, facts(file), "")?;
    // Checks the folder of the link's target, because a file is replaced there.
    let real = fs::canonicalize(path).ok();
    match real.as_deref().and_then(Path::parent).and_then(|it| Some((it, fs::metadata(it).ok()?))) {
        Some((folder, found)) => refuse(folder, facts(&found), "its folder "),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
fn refuse_others(_: &Path, _: &Metadata) -> Result<(), String> {
    Ok(())
}

#[cfg(unix)]
fn facts(of: &Metadata) -> Facts {
    use std::os::unix::fs::MetadataExt as _;
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    Facts {
        uid: of.uid(),
        mode: of.mode(),
        is_folder: of.is_dir(),
        is_private_group: of.gid() == of.uid() && has_no_guests(&groups, of.gid()),
    }
}

/// Whether the only member of a group is the user who has its name and number, as most systems make one group for
/// each user.
fn has_no_guests(groups: &str, gid: u32) -> bool {
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    groups.lines().map(fields).all(|fields| match fields.as_slice() {
        [name, _, number, members] if *number == gid.to_string() => {
            members.split(',').all(|member| member.is_empty() || member == name)
        }
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_its_user_alone_may_write_is_read() {
        const ME: u32 = 1000;
        let file = |uid: u32, mode: u32, is_private_group: bool| Facts {
            uid,
            mode: 0o100_000 | mode,
            is_folder: false,
            is_private_group,
        };
        let folder = |uid: u32, mode: u32, is_private_group: bool| Facts {
            uid,
            mode: 0o040_000 | mode,
            is_folder: true,
            is_private_group,
        };
        for (facts, user, expected) in [
            (file(ME, 0o600, false), ME, None),
            (file(ME, 0o644, false), ME, None),
            (file(0, 0o644, true), ME, None),
            // A user with the umask 002 has a group of their own.
            (file(ME, 0o664, true), ME, None),
            (file(ME, 0o664, false), ME, Some(Fault::Mode)),
            (file(0, 0o664, false), ME, Some(Fault::Mode)),
            (file(ME, 0o666, true), ME, Some(Fault::Mode)),
            (file(ME, 0o602, true), ME, Some(Fault::Mode)),
            (file(1001, 0o600, false), ME, Some(Fault::Owner)),
            (file(1001, 0o644, true), ME, Some(Fault::Owner)),
            // A file from outside a container.
            (file(ME, 0o644, true), 0, None),
            (file(ME, 0o666, true), 0, Some(Fault::Mode)),
            (folder(ME, 0o755, false), ME, None),
            (folder(0, 0o755, true), ME, None),
            (folder(0, 0o1777, true), ME, None),
            (folder(0, 0o777, true), ME, Some(Fault::Mode)),
            (folder(ME, 0o775, false), ME, Some(Fault::Mode)),
            (folder(ME, 0o775, true), ME, None),
            (folder(1001, 0o755, true), ME, Some(Fault::Owner)),
            (folder(1001, 0o1777, true), ME, Some(Fault::Owner)),
        ] {
            assert_eq!(fault(facts, user), expected, "{facts:?} read by {user}");
        }
    }

    #[test]
    fn a_group_of_ones_own_has_no_guests() {
        let groups = "root:x:0:\nalice:x:1000:\nbob:x:1001:bob\ncarol:x:1002:carol,dave\n";
        let private: Vec<bool> =
            [0, 1000, 1001, 1002, 1003].map(|gid| has_no_guests(groups, gid)).to_vec();
        assert_eq!(private, [true, true, true, false, true]);
    }
}
