//! `think keys` and the path of the store in `[store]`, on the built program.

use crate::place::Place;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The master key of these tests.
fn master() -> String {
    "0f".repeat(32)
}

#[test]
fn a_key_is_shown_once_listed_and_revoked() {
    let place = Place::new("keys");
    assert_eq!(place.think(&["keys", "list", "--json"]).json(), json!([]));
    assert!(!place.home().join(".local").exists(), "whoever only looks makes no store");
    let made = place.think(&["keys", "create", "alice"]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let words: Vec<&str> = made.out.split_whitespace().collect();
    let ["key", key, "hash", hash] = words[..] else { panic!("{}", made.out) };
    assert!(key.starts_with("tk-") && key.len() == 46, "{key}");
    assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    assert_eq!(place.think(&["keys", "create", "alice"]).code, Some(1));
    let second = place.think(&["keys", "create", "bob", "--json"]).json();
    let members: Vec<&String> = second.as_object().unwrap().keys().collect();
    assert_eq!(members, ["name", "key", "hash"]);

    let revoked = place.think(&["keys", "revoke", "alice"]);
    assert_eq!((revoked.code, revoked.out.as_str()), (Some(0), ""), "{}", revoked.err);
    let again = place.think(&["keys", "revoke", "alice"]);
    assert_eq!(
        (again.code, again.err.as_str()),
        (
            Some(1),
            "error: there is no key `alice` that could be revoked; `think keys list` shows those there are\n"
        )
    );
    let list = place.think(&["keys", "list", "--json"]).json();
    let first = list[0].as_object().unwrap();
    assert_eq!(first.keys().collect::<Vec<_>>(), ["name", "createdAt", "revoked", "source"]);
    assert!(first["createdAt"].as_u64().unwrap() > 1_700_000_000_000);
    let rows: Vec<_> = list.as_array().unwrap().iter().map(|row| row["revoked"].clone()).collect();
    assert_eq!((rows, &list[1]["source"]), (vec![json!(true), json!(false)], &json!("store")));
    let text = place.think(&["keys", "list"]).out;
    assert_eq!(text, "alice  revoked  made today\nbob    holds    made today\n");
    for name in ["local", "credential:1", ""] {
        assert_eq!(place.think(&["keys", "create", name]).code, Some(1), "{name:?}");
    }
}

#[test]
fn the_master_key_is_backed_up_into_a_new_private_file() {
    let place = Place::new("backup");
    let copy = place.file("copy.key");
    let none = place.think(&["keys", "backup", &copy]);
    assert_eq!(none.code, Some(1), "there is no store yet");
    assert!(!Path::new(&copy).exists());
    place.think(&["keys", "create", "alice"]);
    let made = place.think(&["keys", "backup", &copy]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    assert!(made.err.contains("a lost key is a lost vault"), "{}", made.err);
    let original = place.home().join("thinkthrough/thinkthrough.key");
    assert_eq!(fs::read(&copy).unwrap(), fs::read(&original).unwrap());
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    let again = place.think(&["keys", "backup", &copy]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("it is there already"), "{}", again.err);
    // The copy opens the store, and another key is never backed up as its own.
    fs::remove_file(&original).unwrap();
    let config = place.write("c.toml", &format!("[store]\nkey = {{ file = \"{copy}\" }}\n"));
    assert_eq!(place.think(&["keys", "list", "--config", &config]).code, Some(0));
    fs::write(&copy, master()).unwrap();
    let other = place.file("other.key");
    let wrong = place.think(&["keys", "backup", &other, "--config", &config]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("is not the one that the store"), "{}", wrong.err);
    assert!(!Path::new(&other).exists());
}

#[test]
fn the_master_key_comes_from_a_file_the_environment_or_a_command() {
    let place = Place::new("sources");
    let file = place.write("m.key", &master());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let store = format!("url = \"sqlite:{}\"", place.file("s.db"));
    // One store, whose key is the same wherever it comes from. `PATH` stands for a variable that
    // holds no key.
    for (at, (key, expected)) in [
        ("{ file = \"m.key\" }", 0),
        ("{ command = [\"cat\", \"m.key\"] }", 0),
        ("{ command = \"cat m.key\" }", 0),
        ("{ env = \"PATH\" }", 1),
        ("{ env = \"THINK_NO_SUCH_VARIABLE\" }", 1),
        ("{ command = \"false\" }", 1),
    ]
    .into_iter()
    .enumerate()
    {
        // Commands run where the program does.
        fs::write(place.home().join("here/m.key"), master()).unwrap();
        let config = place.write("c.toml", &format!("[store]\n{store}\nkey = {key}\n"));
        let ran = place.think(&["keys", "create", &format!("key {at}"), "--config", &config]);
        assert_eq!(ran.code, Some(expected), "{key}: {}", ran.err);
        let ran = place.ask(&["--config", &config, "--continue", "-m", "sim/default", "hello"]);
        assert_eq!(ran.code, Some(expected), "{key}: {}", ran.err);
        let ran = place.think(&["sessions", "list", "--config", &config]);
        assert_eq!((ran.code, ran.out.is_empty()), (Some(expected), expected == 1), "{key}");
    }
}

#[test]
fn a_server_keeps_sessions_and_keys_too() {
    use crate::postgres::Database;
    let Some(database) = Database::new() else { return };
    let place = Place::new("server");
    fs::write(place.home().join("here/m.key"), master()).unwrap();
    let url = &database.url;
    let config = |key: &str| place.write("c.toml", &format!("[store]\nurl = \"{url}\"\n{key}\n"));
    let keyless = place.think(&["keys", "list", "--config", &config("")]);
    assert_eq!(keyless.code, Some(1));
    assert!(keyless.err.contains("which needs `store.key`"), "{}", keyless.err);
    let absent = config("key = { file = \"absent.key\" }");
    let absent = place.think(&["keys", "create", "alice", "--config", &absent]);
    assert_eq!(absent.code, Some(1), "{}", absent.err);
    assert!(!place.home().join("absent.key").exists(), "no key is made for a server");
    let config = config("key = { command = \"cat m.key\" }");
    let ask =
        |question| place.ask(&["--config", &config, "--continue", "-m", "sim/kimi-k2", question]);
    assert_eq!(ask("What is in this folder?").code, Some(0));
    assert_eq!(ask("And now?").code, Some(0));
    let list = place.think(&["sessions", "list", "--json", "--config", &config]).json();
    assert!(list[0]["messages"].as_u64().unwrap() >= 4, "{list}");
    assert_eq!(place.think(&["keys", "create", "alice", "--config", &config]).code, Some(0));
    let erased = place.think(&["erase", "--yes", "--tenant", "local", "--config", &config]);
    assert_eq!(erased.err, "tenant `local` is erased, with 1 session\n");
}
