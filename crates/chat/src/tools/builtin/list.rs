//! Lists a folder.

use super::folder::Folder;
use super::{Plan, Spec, clipped, planned};
use crate::tools::permission::{Permission, ToolKind};
use crate::tools::source::Given;
use std::fs;
use thinkthrough_json::Val;

pub(super) const SPEC: Spec = Spec {
    name: "list_directory",
    description: "List the files and folders in a folder of the working directory. Folders end with a slash.",
    parameters: r#"{"type":"object","properties":{"path":{"type":"string","description":"The folder, relative to the working directory; \".\" is the working directory itself.","default":"."}}}"#,
    kind: ToolKind::Read,
    permission: Permission::Allow,
    plan,
    run,
};

const LIMIT: usize = 32 * 1024;

fn plan(folder: &Folder, arguments: Val<'_>) -> Result<Plan, String> {
    planned(folder, arguments, "list")
}

fn run(folder: &Folder, arguments: Val<'_>, may_leave: bool) -> Result<Given, String> {
    let path = arguments.text("path").unwrap_or_default();
    let real = folder.existing(&path, may_leave)?;
    let entries = fs::read_dir(&real).map_err(|error| format!("cannot list `{path}`: {error}"))?;
    let mut names = Vec::new();
    for entry in entries.flatten() {
        let mut name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            name.push('/');
        }
        names.push(name);
    }
    names.sort();
    if names.is_empty() {
        return Ok(Given::text(&format!("`{}` is empty", folder.shown(&real))));
    }
    Ok(Given::text(&clipped(names.join("\n"), LIMIT)))
}
