//! Searches files for a text.

use super::folder::Folder;
use super::walk::Walk;
use super::{Plan, Spec, clipped, planned};
use crate::tools::permission::{Permission, ToolKind};
use crate::tools::source::Given;
use std::fs;
use std::path::{Path, PathBuf};
use thinkthrough_json::Val;

pub(super) const SPEC: Spec = Spec {
    name: "search_files",
    description: "Search the text files of the working directory for a text, without regard to case. \
                  Gives file, line number and line.",
    parameters: r#"{"type":"object","properties":{"query":{"type":"string","description":"The text to look for."},"path":{"type":"string","description":"Where to look, relative to the working directory.","default":"."}},"required":["query"]}"#,
    kind: ToolKind::Search,
    permission: Permission::Allow,
    plan,
    run,
};

const MAX_HITS: usize = 100;
const MAX_FILES: usize = 20_000;
const MAX_FILE: u64 = 1024 * 1024;
const LIMIT: usize = 32 * 1024;

fn plan(folder: &Folder, arguments: Val<'_>) -> Result<Plan, String> {
    planned(folder, arguments, "search")
}

fn run(folder: &Folder, arguments: Val<'_>, may_leave: bool) -> Result<Given, String> {
    let query = arguments.text("query").filter(|query| !query.is_empty());
    let query = query.ok_or("`query` is missing; say which text to look for")?.to_lowercase();
    let start = folder.existing(&arguments.text("path").unwrap_or_default(), may_leave)?;
    let mut search = Search { folder, query, hits: Vec::new(), files: 0 };
    search.look(start);
    if search.hits.is_empty() {
        let text = format!("no line contains it ({} files searched)", search.files);
        return Ok(Given::text(&text));
    }
    if search.hits.len() >= MAX_HITS {
        search.hits.push(format!("[more than {MAX_HITS} lines; look for something longer]"));
    }
    Ok(Given::text(&clipped(search.hits.join("\n"), LIMIT)))
}

struct Search<'a> {
    folder: &'a Folder,
    query: String,
    hits: Vec<String>,
    files: usize,
}

impl Search<'_> {
    fn look(&mut self, start: PathBuf) {
        for (path, found) in Walk::new(start) {
            if found.len() <= MAX_FILE {
                self.files += 1;
                self.read(&path);
            }
            if self.hits.len() >= MAX_HITS || self.files >= MAX_FILES {
                return;
            }
        }
    }

    fn read(&mut self, path: &Path) {
        let Ok(text) = fs::read_to_string(path) else { return };
        let shown = self.folder.shown(path);
        for (index, line) in text.lines().enumerate() {
            if self.hits.len() >= MAX_HITS {
                return;
            }
            if line.to_lowercase().contains(&self.query) {
                self.hits.push(format!("{shown}:{}: {}", index + 1, line.trim()));
            }
        }
    }
}
