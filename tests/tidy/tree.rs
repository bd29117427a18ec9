//! The files of the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::code::Code;

/// Folders that hold no source of ours.
const NOT_OURS: [&str; 5] = ["target", ".git", "corpus", "artifacts", "node_modules"];

/// A text file.
pub(crate) struct File {
    /// Its path from the root of the repository, with `/` between folders.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All text files whose names end in this, sorted by path.
pub(crate) fn files(extension: &str) -> Vec<File> {
    let mut paths = Vec::new();
    walk(&root(), &mut paths);
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    let read = |path: PathBuf| File {
        text: fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        path: relative(&path),
    };
    paths.into_iter().map(read).collect()
}

/// The sources of a crate that end up in a build, by the path of its `src` folder, with their tests
/// blanked.
pub(crate) fn shipped(src: &str) -> Vec<(String, Code)> {
    let inside = format!("{src}/");
    let sources = files("rs").into_iter().filter(|file| file.path.starts_with(&inside));
    let sources: Vec<(String, Code)> =
        sources.map(|file| (file.path, Code::without_tests(&file.text))).collect();
    let mut for_tests = BTreeSet::new();
    for (path, code) in &sources {
        let folder = folder_of_submodules(path);
        for module in &code.test_modules {
            for_tests.insert(format!("{folder}/{module}.rs"));
            for_tests.insert(format!("{folder}/{module}/"));
        }
    }
    let is_for_tests = |path: &str| for_tests.iter().any(|test| path.starts_with(test.as_str()));
    sources.into_iter().filter(|(path, _)| !is_for_tests(path)).collect()
}

/// The `src` folders of all crates, the binary's first.
pub(crate) fn src_folders() -> Vec<String> {
    let crates = fs::read_dir(root().join("crates")).expect("the folder of crates can be listed");
    let crates =
        crates.map(|entry| relative(&entry.expect("an entry can be read").path().join("src")));
    let mut folders: Vec<String> = std::iter::once("src".to_owned()).chain(crates).collect();
    folders.sort();
    folders
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !NOT_OURS.contains(&name.as_str()) {
            walk(&path, paths);
        } else if path.is_file() {
            paths.push(path);
        }
    }
}

fn relative(path: &Path) -> String {
    let path = path.strip_prefix(root()).expect("the path is inside the repository");
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// The folder of a file's modules.
fn folder_of_submodules(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        name => format!("{folder}/{}", name.trim_end_matches(".rs")),
    }
}

#[test]
fn files_of_test_modules_do_not_count_as_shipped() {
    let paths: Vec<String> = shipped("crates/core/src").into_iter().map(|(path, _)| path).collect();
    assert!(paths.contains(&"crates/core/src/usage.rs".to_owned()), "{paths:?}");
    assert!(!paths.contains(&"crates/core/src/read/tests.rs".to_owned()));
}
