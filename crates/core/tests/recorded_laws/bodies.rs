//! What the laws are held against: recordings where they are present, and the fixtures always.

use crate::recordings;
use std::path::{Path, PathBuf};
use thinkthrough_core::frame::Framing;
use thinkthrough_core::wire::Wire;

/// One body of an answer, or of a request.
pub(crate) struct Body {
    pub(crate) name: String,
    pub(crate) wire: &'static dyn Wire,
    pub(crate) is_stream: bool,
    pub(crate) bytes: Vec<u8>,
}

/// All answers of a wire.
pub(crate) fn bodies(wire: &'static dyn Wire) -> Vec<Body> {
    let mut bodies = Vec::new();
    for case in recordings::cases().into_iter().filter(|case| case.wire.id() == wire.id()) {
        let is_stream = case.is_stream && !is_json(&case.body, wire);
        bodies.push(Body { name: case.id, wire, is_stream, bytes: case.body });
    }
    for file in files(&fixtures(wire)) {
        let name = file.strip_prefix(fixtures(wire)).unwrap().display().to_string();
        let is_answer = ["received.", "answer."].iter().any(|part| name.contains(part));
        if is_answer {
            let is_stream = !name.ends_with(".json");
            bodies.push(Body { name, wire, is_stream, bytes: std::fs::read(&file).unwrap() });
        }
    }
    bodies
}

/// All requests of a wire.
pub(crate) fn requests(wire: &'static dyn Wire) -> Vec<Body> {
    let mut requests = Vec::new();
    for case in recordings::cases().into_iter().filter(|case| case.wire.id() == wire.id()) {
        if let Some(text) = case.request {
            requests.push(Body { name: case.id, wire, is_stream: false, bytes: text.into_bytes() });
        }
    }
    for file in files(&fixtures(wire)) {
        let name = file.strip_prefix(fixtures(wire)).unwrap().display().to_string();
        if name.starts_with("requests/") || name == "request.json" {
            let bytes = std::fs::read(&file).unwrap();
            requests.push(Body { name, wire, is_stream: false, bytes });
        }
    }
    requests
}

/// An error that came where a stream was asked for. Lines of JSON begin like a value, too.
fn is_json(body: &[u8], wire: &dyn Wire) -> bool {
    let starts = body.iter().find(|byte| !byte.is_ascii_whitespace());
    wire.framing() == Framing::Sse && starts == Some(&b'{')
}

fn fixtures(wire: &dyn Wire) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/wires").join(wire.id())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}
