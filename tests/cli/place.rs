//! A folder and a home of its own for the program in a test.

use crate::program::{Ran, command};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own with one file to find, and an empty home.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        // Tests of one process may choose the same name.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("think-ask-{}-{number}-{name}", std::process::id());
        let root = std::env::temp_dir().join(folder);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("here")).unwrap();
        fs::write(root.join("here/needle.txt"), "the needle is blue\n").unwrap();
        Place(root)
    }

    /// `think ask` with these arguments, in the folder.
    pub(crate) fn ask(&self, args: &[&str]) -> Ran {
        let mut full = vec!["ask"];
        full.extend_from_slice(args);
        self.think(&full)
    }

    /// `think` with these arguments, in the folder.
    pub(crate) fn think(&self, args: &[&str]) -> Ran {
        ran(&self.command(args).output().unwrap())
    }

    /// The same with something piped in.
    pub(crate) fn piped(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that refuses its arguments does not read its input.
        drop(child.stdin.take().unwrap().write_all(input));
        ran(&child.wait_with_output().unwrap())
    }

    /// The command, not yet started. Its standard input is empty.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        for (name, _) in std::env::vars() {
            if name.ends_with("_API_KEY") || name.ends_with("_TOKEN") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(self.0.join("here"))
            .env("HOME", &self.0)
            .env("XDG_CONFIG_HOME", &self.0)
            .env("XDG_DATA_HOME", &self.0)
            .stdin(Stdio::null());
        command
    }

    /// The folder that commands run in.
    pub(crate) fn folder(&self) -> PathBuf {
        self.0.join("here")
    }

    /// The home that commands see.
    pub(crate) fn home(&self) -> &Path {
        &self.0
    }

    /// Writes a file next to the folder. Returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.0.join(name), text).unwrap();
        self.file(name)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

fn ran(output: &Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout.clone()).unwrap(),
        err: String::from_utf8(output.stderr.clone()).unwrap(),
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
