//! `think serve` with the store of an older gateway: what it kept is put back.
//!
//! `fixtures/stores/before-threads` was written by the last gateway that knew an answer by the whole conversation before
//! it (the commit tagged `before-threads`), in four conversations with simulators. `requests.json` has the next request
//! of each, and what that gateway answered to it.

use crate::place::Place;
use crate::serve_config::serve;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const CONFIG: &str =
    "[store]\nurl = \"sqlite:thinkthrough.db\"\nkey = { file = \"thinkthrough.key\" }\n";

#[test]
fn thoughts_that_an_older_gateway_kept_are_put_back() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/stores/before-threads");
    let place = Place::new("older");
    for file in ["thinkthrough.db", "thinkthrough.key"] {
        let copy = place.file(file);
        fs::copy(kept.join(file), &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let requests = fs::read_to_string(kept.join("requests.json")).unwrap();
    let requests: Value = serde_json::from_str(&requests).unwrap();
    let gateway = serve(&place, CONFIG);
    for (name, request) in requests.as_object().unwrap() {
        let path = request["path"].as_str().unwrap();
        let answer = gateway.ask(path, &request["body"].to_string());
        let expected = request["expected"].as_str().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{name}: {answer}");
        assert!(answer.contains(expected), "{name}, where {expected}: {answer}");
    }
}
