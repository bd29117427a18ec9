//! Finds the files that contain instructions: `AGENTS.md`, or else `CLAUDE.md`.

use crate::owner::{effective_user, is_foreign};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A file with instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionFile {
    /// Its path, in one line.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The files with instructions, and sentences about files that are not sent as they are.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The files.
    pub files: Vec<InstructionFile>,
    /// The sentences.
    pub warnings: Vec<String>,
}

/// The names of such files. In a folder with both, the first counts.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// The most bytes of a file that are sent.
const MOST: usize = 32 << 10;

/// Finds the file in the `general` folder, and the one of a `project`: the nearest in this folder and the folders
/// above it, up to the root of the repository or the home of the user. Outside of both, only the folder itself counts,
/// because another user may write to a folder above it.
#[must_use]
pub fn find(general: Option<&Path>, project: Option<&Path>, home: Option<&Path>) -> Found {
    let mut found = Found::default();
    let general = general.and_then(|folder| Some((in_folder(folder)?, folder.to_owned())));
    let project = project.and_then(|folder| {
        let folders = upwards(folder, home);
        let path = folders.iter().find_map(|it| in_folder(it))?;
        let is_repository = |it: &&PathBuf| it.join(".git").exists() && home != Some(it.as_path());
        let root = folders.last().filter(is_repository).map(PathBuf::as_path).or(path.parent());
        let root = root?.to_owned();
        Some((path, root))
    });
    let is_same = |other: &PathBuf| general.as_ref().is_some_and(|(path, _)| path == other);
    let project = project.filter(|(path, _)| !is_same(path));
    for (path, root) in general.clone().into_iter().chain(project) {
        match read(&path, &root) {
            Ok((text, warning)) => {
                found.warnings.extend(warning);
                if !text.trim().is_empty() {
                    found.files.push(InstructionFile { path: in_a_line(&path), text });
                }
            }
            Err(why) => {
                found.warnings.push(format!("`{}` is not sent: {why}", in_a_line(&path)));
            }
        }
    }
    found
}

fn in_folder(folder: &Path) -> Option<PathBuf> {
    NAMES.iter().map(|name| folder.join(name)).find(|path| path.exists())
}

/// The folders that may have the file of a project, the nearest first.
fn upwards(folder: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let is_last = |it: &Path| it.join(".git").exists() || home == Some(it);
    let count = folder.ancestors().position(is_last).map_or(1, |last| last + 1);
    let owner = owner(folder);
    let own = folder.ancestors().take(count).take_while(|it| self::owner(it) == owner);
    own.map(Path::to_owned).collect()
}

/// The user that a folder belongs to.
fn owner(folder: &Path) -> Option<u32> {
    owner_of(&fs::metadata(folder).ok()?)
}

#[cfg(unix)]
fn owner_of(it: &fs::Metadata) -> Option<u32> {
    Some(std::os::unix::fs::MetadataExt::uid(it))
}

#[cfg(not(unix))]
fn owner_of(_: &fs::Metadata) -> Option<u32> {
    None
}

/// Returns the other user who could write a file, given the owners of the file and of its folder.
///
/// Root reads the files of others in their own folders, as in a container, but not in a shared folder.
fn foreign(file: Option<u32>, folder: Option<u32>, user: u32) -> Option<u32> {
    let is_own = file == folder || file.is_none_or(|file| file == user);
    let root = file.filter(|_| user == 0 && !is_own);
    root.or_else(|| [file, folder].into_iter().flatten().find(|it| is_foreign(*it, user)))
}

/// Opens a file without following a link, and without waiting for the writer of a pipe.
#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

/// Reads a file, and returns a warning if only its beginning is sent. A link must not lead out of `root`, so that a
/// foreign repository cannot send other files of the user.
fn read(path: &Path, root: &Path) -> Result<(String, Option<String>), String> {
    let failed = |error: std::io::Error| error.to_string();
    let real = fs::canonicalize(path).map_err(failed)?;
    let root = fs::canonicalize(root).map_err(failed)?;
    if !real.starts_with(&root) || real.extension().is_none_or(|it| it != "md") {
        let root = in_a_line(&root);
        return Err(format!(
            "it is a link to a file outside of `{root}` or of another kind; put the text itself there"
        ));
    }
    let file = open(&real).map_err(failed)?;
    let size = file.metadata().map_err(failed)?;
    if !size.is_file() {
        return Err("it is no file; remove it or put a text there".to_owned());
    }
    let folder = real.parent().and_then(owner);
    if let Some(other) = foreign(owner_of(&size), folder, effective_user()) {
        return Err(format!(
            "another user ({other}) could change it; copy it into a folder of your own"
        ));
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(MOST + 1).unwrap_or(u64::MAX);
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    let is_cut = bytes.len() > MOST;
    if is_cut {
        let line = bytes.iter().take(MOST).rposition(|byte| *byte == b'\n');
        bytes.truncate(line.map_or(MOST, |at| at + 1));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // The cut may be in the middle of a letter.
        Err(error) if is_cut && error.utf8_error().error_len().is_none() => {
            let length = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(length);
            String::from_utf8(bytes).unwrap_or_default()
        }
        Err(_) => return Err("it is no UTF-8 text; convert it".to_owned()),
    };
    let warning = is_cut.then(|| {
        format!(
            "`{}` has {} KiB, and only its first {} KiB are sent; shorten it",
            in_a_line(path),
            size.len().div_ceil(1024),
            MOST / 1024
        )
    });
    Ok((text, warning))
}

/// A path as one line of text.
fn in_a_line(path: &Path) -> String {
    path.display().to_string().replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use super::{Found, MOST, find, foreign};
    use std::fs;
    use std::path::{Path, PathBuf};

    /// A home with a configuration, a repository in it, and a folder outside of it.
    struct Disk(PathBuf);

    impl Disk {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("think-{name}-{}", std::process::id()));
            drop(fs::remove_dir_all(&root));
            for folder in ["home/.config", "home/repo/.git", "home/repo/src/deep", "other/sub"] {
                fs::create_dir_all(root.join(folder)).unwrap();
            }
            Disk(root)
        }

        fn write(&self, path: &str, text: &str) {
            fs::write(self.0.join(path), text).unwrap();
        }

        /// The files for this folder, by their paths below the root, and the warnings.
        fn find(&self, project: &str) -> (Vec<String>, Vec<String>) {
            let home = self.0.join("home");
            let Found { files, warnings } =
                find(Some(&home.join(".config")), Some(&self.0.join(project)), Some(&home));
            let below = |path: &str| {
                let path = Path::new(path).strip_prefix(&self.0).unwrap();
                path.display().to_string()
            };
            (files.iter().map(|it| below(&it.path)).collect(), warnings)
        }
    }

    impl Drop for Disk {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn the_nearest_file_up_to_the_repository_counts_beside_the_general_one() {
        let disk = Disk::new("nearest");
        assert_eq!(disk.find("home/repo/src").0, [""; 0]);
        disk.write("home/AGENTS.md", "of the home");
        disk.write("other/AGENTS.md", "of another user, perhaps");
        assert_eq!(disk.find("home/repo/src").0, [""; 0], "the repository ends the search");
        assert_eq!(disk.find("other/sub").0, [""; 0], "nothing above a folder elsewhere counts");
        assert_eq!(disk.find("home/.config").0, ["home/AGENTS.md"]);
        disk.write("home/repo/CLAUDE.md", "of the repository");
        disk.write("home/.config/AGENTS.md", "of the user");
        let both = ["home/.config/AGENTS.md", "home/repo/CLAUDE.md"];
        assert_eq!(disk.find("home/repo/src/deep").0, both);
        disk.write("home/repo/AGENTS.md", "of the repository, too");
        assert_eq!(disk.find("home/repo").0[1], "home/repo/AGENTS.md");
        disk.write("home/repo/src/CLAUDE.md", "nearer");
        assert_eq!(disk.find("home/repo/src/deep").0[1], "home/repo/src/CLAUDE.md");
        assert_eq!(disk.find("home/.config").0, ["home/.config/AGENTS.md"], "once");
    }

    #[test]
    fn a_file_that_is_too_long_is_cut_at_a_line_and_no_text_stays_out() {
        let disk = Disk::new("long");
        let line = "a line of thirty-two letters ab\n";
        disk.write("home/repo/AGENTS.md", &line.repeat(MOST / line.len() + 1));
        let (files, warnings) = disk.find("home/repo");
        assert_eq!(files, ["home/repo/AGENTS.md"]);
        assert!(
            warnings[0].ends_with("has 33 KiB, and only its first 32 KiB are sent; shorten it")
        );
        disk.write("home/repo/AGENTS.md", &"ä".repeat(MOST));
        assert_eq!(disk.find("home/repo").0.len(), 1, "a letter is cut");
        disk.write("home/repo/AGENTS.md", " \n");
        assert_eq!(disk.find("home/repo"), (Vec::new(), Vec::new()), "a blank file");
        fs::write(disk.0.join("home/repo/AGENTS.md"), [0xff, 0xfe, b'a']).unwrap();
        assert!(disk.find("home/repo").1[0].contains("is no UTF-8 text"));
    }

    #[test]
    fn a_file_of_another_user_is_not_sent() {
        const ME: u32 = 1000;
        const OTHER: u32 = 1001;
        for (file, folder, user, expected) in [
            (ME, ME, ME, None),
            (0, ME, ME, None),
            (ME, 0, ME, None),
            (0, 0, ME, None),
            (OTHER, 0, ME, Some(OTHER)),
            (OTHER, ME, ME, Some(OTHER)),
            (OTHER, OTHER, ME, Some(OTHER)),
            (ME, OTHER, ME, Some(OTHER)),
            // The folder of a project outside a container.
            (OTHER, OTHER, 0, None),
            (OTHER, 0, 0, Some(OTHER)),
            (0, OTHER, 0, None),
        ] {
            let found = foreign(Some(file), Some(folder), user);
            assert_eq!(found, expected, "{file} in {folder}, read by {user}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_at_once() {
        let disk = Disk::new("pipe");
        let pipe = disk.0.join("home/repo/AGENTS.md");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (files, warnings) = disk.find("home/repo");
        assert_eq!(files, [""; 0]);
        assert!(warnings[0].contains("it is no file"), "{warnings:?}");
    }

    #[cfg(unix)]
    #[test]
    fn without_a_repository_a_link_stays_in_the_folder_of_the_file() {
        let disk = Disk::new("boundary");
        fs::create_dir_all(disk.0.join("home/download/sub")).unwrap();
        disk.write("home/key.md", "secret");
        disk.write("home/download/notes.md", "notes");
        for with_repository_at_home in [false, true] {
            if with_repository_at_home {
                fs::create_dir(disk.0.join("home/.git")).unwrap();
            }
            for (target, is_sent) in [("../key.md", false), ("notes.md", true)] {
                let link = disk.0.join("home/download/AGENTS.md");
                drop(fs::remove_file(&link));
                std::os::unix::fs::symlink(target, &link).unwrap();
                let (files, warnings) = disk.find("home/download/sub");
                assert_eq!((files.len(), warnings.len()), (is_sent.into(), (!is_sent).into()));
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_cannot_send_another_file_of_the_user() {
        let disk = Disk::new("link");
        let link = disk.0.join("home/repo/CLAUDE.md");
        disk.write("home/key.md", "secret");
        disk.write("home/repo/notes.md", "notes");
        disk.write("home/repo/.env", "secret");
        for (target, is_sent) in [("../key.md", false), (".env", false), ("notes.md", true)] {
            drop(fs::remove_file(&link));
            std::os::unix::fs::symlink(target, &link).unwrap();
            let (files, warnings) = disk.find("home/repo");
            assert_eq!((files.len(), warnings.len()), (is_sent.into(), (!is_sent).into()));
        }
    }
}
