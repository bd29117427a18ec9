//! Reads a file.

use super::folder::Folder;
use super::{Plan, Spec, clipped, planned};
use crate::tools::permission::{Permission, ToolKind};
use crate::tools::source::Given;
use std::io::Read as _;
use thinkthrough_json::Val;

pub(super) const SPEC: Spec = Spec {
    name: "read_file",
    description: "Read a text file of the working directory.",
    parameters: r#"{"type":"object","properties":{"path":{"type":"string","description":"The file, relative to the working directory."}},"required":["path"]}"#,
    kind: ToolKind::Read,
    permission: Permission::Allow,
    plan,
    run,
};

const LIMIT: usize = 64 * 1024;

fn plan(folder: &Folder, arguments: Val<'_>) -> Result<Plan, String> {
    planned(folder, arguments, "read")
}

fn run(folder: &Folder, arguments: Val<'_>, may_leave: bool) -> Result<Given, String> {
    let path = arguments.text("path").ok_or("`path` is missing; name the file to read")?;
    let refuse = |error: std::io::Error| format!("cannot read `{path}`: {error}");
    let (file, _) = folder.open_existing(&path, may_leave)?;
    let kind = file.metadata().map_err(refuse)?;
    if !kind.is_file() {
        return Err(format!("`{path}` is no file; list it instead"));
    }
    let mut bytes = Vec::new();
    // One byte more than the limit shows whether the file was cut. The note gives its size.
    file.take(LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(refuse)?;
    if bytes.contains(&0) {
        return Err(format!("`{path}` is not text ({} bytes)", kind.len()));
    }
    let is_cut = bytes.len() > LIMIT;
    let mut text = clipped(String::from_utf8_lossy(&bytes).into_owned(), LIMIT);
    if is_cut {
        text.push_str(&format!(" [the file has {} bytes]", kind.len()));
    }
    Ok(Given::text(&text))
}
