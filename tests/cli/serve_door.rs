//! After keys were created, callers without a key stay refused whatever happens to the store.

use crate::place::Place;
use crate::serve_access::Lock;
use crate::serve_config::{question, serve, started};
use crate::server::{PATIENCE, Server};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A place with a created key, and a provider that records its requests.
struct Kept {
    place: Place,
    upstream: Lock,
    key: String,
}

const STORE: &str = "[store]\nurl = \"sqlite:kept.db\"\n";

impl Kept {
    /// `before` runs between the creation of the store and of its key.
    fn new(name: &str, before: impl Fn(&Kept)) -> Self {
        let place = Place::new(name);
        let mut kept = Kept { place, upstream: Lock::new(|_| 200), key: String::new() };
        let config = kept.place.write("config.toml", STORE);
        // Another key is made first where there has to be a store before the key.
        let ran = kept.place.think(&["sessions", "list", "--config", &config]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        drop(serve(&kept.place, STORE));
        before(&kept);
        kept.key = kept.create("alice");
        kept
    }

    fn create(&self, name: &str) -> String {
        let config = self.place.write("config.toml", STORE);
        let made =
            self.place.think(&["keys", "--config", &config, "create", name, "--json"]).json();
        made["key"].as_str().unwrap().to_owned()
    }

    fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(self.place.file(name))
    }

    fn marker(&self) -> PathBuf {
        markers(&self.place).pop().unwrap()
    }

    fn db(&self) -> PathBuf {
        self.file("kept.db")
    }

    fn config(&self, server: &str) -> String {
        format!(
            "[server]\n{server}\n{STORE}[providers.there]\nwire = \"chat-completions\"\n\
             base_url = \"{}\"\napi_key = \"ours\"\n",
            self.upstream.url
        )
    }

    /// The gateway, or why it does not start.
    fn start(&self, server: &str) -> Result<Server, String> {
        started(&self.place, &self.config(server))
    }
}

/// The files that say that keys were made.
fn markers(place: &Place) -> Vec<PathBuf> {
    all_named(place, "gateway-keys-")
}

fn all_named(place: &Place, begin: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(place.home()).unwrap().map(|entry| entry.unwrap());
    let named = files.filter(|it| it.file_name().to_str().unwrap().starts_with(begin));
    named.map(|it| it.path()).collect()
}

/// Every route, with the body of a request.
fn ways() -> Vec<(&'static str, &'static str, String)> {
    let messages = json!({"model": "there/m", "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}]});
    vec![
        ("POST", "/v1/chat/completions", question("there/m")),
        ("POST", "/v1/messages", messages.to_string()),
        ("POST", "/v1/messages/count_tokens", messages.to_string()),
        ("POST", "/v1/responses", json!({"model": "there/m", "input": "hi"}).to_string()),
        ("GET", "/v1/responses/resp_1", String::new()),
        (
            "POST",
            "/v1beta/models/there/m:generateContent",
            json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}).to_string(),
        ),
        ("POST", "/api/chat", question("there/m")),
        ("POST", "/api/generate", json!({"model": "there/m", "prompt": "hi"}).to_string()),
        ("GET", "/v1/models", String::new()),
        ("GET", "/api/tags", String::new()),
        ("GET", "/p/there/v1/models", String::new()),
        ("POST", "/p/there/v1/chat/completions", question("there/m")),
    ]
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or_default()
}

/// Checks that no route accepts a caller without the key.
fn assert_closed(kept: &Kept, gateway: &Server, why: &str) {
    kept.upstream.seen();
    let strangers = [
        "",
        "authorization: Bearer nobodys\r\n",
        "x-api-key: tk-0123456789012345678901234567890123456789012\r\n",
    ];
    for header in strangers {
        for (method, path, body) in ways() {
            let headers = format!("content-type: application/json\r\n{header}");
            let answer = gateway.request(method, path, &headers, &body);
            assert!(["401", "503"].contains(&status(&answer)), "{why}, {path}: {answer}");
        }
    }
    assert!(kept.upstream.seen().is_empty(), "{why}: somebody came to the provider");
    let alive = gateway.request("GET", "/livez", "", "");
    assert_eq!(status(&alive), "200", "{why}");
}

fn set_length(file: &Path, length: u64) {
    fs::OpenOptions::new().write(true).open(file).unwrap().set_len(length).unwrap();
}

fn overwrite(file: &Path, at: usize, length: usize) {
    let mut bytes = fs::read(file).unwrap();
    let end = (at + length).min(bytes.len());
    bytes[at..end].iter_mut().for_each(|byte| *byte = !*byte);
    fs::write(file, bytes).unwrap();
}

fn without_log(kept: &Kept) {
    for name in ["kept.db-wal", "kept.db-shm"] {
        drop(fs::remove_file(kept.file(name)));
    }
}

type Break = fn(&Kept);

/// Damages of a store.
const BREAKS: &[(&str, Break)] = &[
    ("nothing", |_| {}),
    ("the file is missing", |kept| {
        without_log(kept);
        fs::remove_file(kept.db()).unwrap();
    }),
    ("the file is missing, its log is not", |kept| fs::remove_file(kept.db()).unwrap()),
    ("file and master key are missing", |kept| {
        without_log(kept);
        fs::remove_file(kept.db()).unwrap();
        fs::remove_file(kept.file("kept.key")).unwrap();
    }),
    ("all that is named after the file is missing: `rm kept.db*`", |kept| {
        all_named(&kept.place, "kept.db").iter().for_each(|it| fs::remove_file(it).unwrap());
    }),
    ("all that is named after the store is missing: `rm kept*`", |kept| {
        all_named(&kept.place, "kept").iter().for_each(|it| fs::remove_file(it).unwrap());
    }),
    ("the file is empty", |kept| {
        without_log(kept);
        set_length(&kept.db(), 0);
    }),
    ("the file has half a header", |kept| {
        without_log(kept);
        set_length(&kept.db(), 50);
    }),
    ("the file has one page", |kept| {
        without_log(kept);
        set_length(&kept.db(), 4096);
    }),
    ("the file is cut within a page", |kept| {
        without_log(kept);
        set_length(&kept.db(), fs::metadata(kept.db()).unwrap().len() / 2 + 700);
    }),
    ("the file lacks its last page", |kept| {
        without_log(kept);
        set_length(&kept.db(), fs::metadata(kept.db()).unwrap().len() - 4096);
    }),
    ("a folder stands in its place", |kept| {
        without_log(kept);
        fs::remove_file(kept.db()).unwrap();
        fs::create_dir(kept.db()).unwrap();
    }),
    ("a link that leads nowhere stands in its place", |kept| {
        without_log(kept);
        fs::remove_file(kept.db()).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", kept.db()).unwrap();
    }),
    ("the header is garbage", |kept| {
        without_log(kept);
        overwrite(&kept.db(), 0, 100);
    }),
    ("one bit of the header is another", |kept| {
        let mut bytes = fs::read(kept.db()).unwrap();
        bytes[18] ^= 1;
        fs::write(kept.db(), bytes).unwrap();
    }),
    ("the file is text", |kept| {
        without_log(kept);
        fs::write(kept.db(), "this is no database\n".repeat(600)).unwrap();
    }),
    ("the first page is garbage behind its header", |kept| {
        without_log(kept);
        overwrite(&kept.db(), 100, 3996);
    }),
    ("every page but the first is garbage", |kept| {
        without_log(kept);
        overwrite(&kept.db(), 4096, usize::MAX / 2);
    }),
    ("a backup of before the key stands in its place", |kept| {
        without_log(kept);
        fs::copy(kept.file("before.db"), kept.db()).unwrap();
    }),
    ("its log is lost", without_log),
    ("its log is garbage", |kept| {
        fs::write(kept.file("kept.db-wal"), [0x5a; 9000]).unwrap();
    }),
    ("the marker is lost", |kept| fs::remove_file(kept.marker()).unwrap()),
    ("the marker is damaged", |kept| fs::write(kept.marker(), "x").unwrap()),
    ("the marker is damaged and the file is missing", |kept| {
        fs::write(kept.marker(), "x").unwrap();
        without_log(kept);
        fs::remove_file(kept.db()).unwrap();
    }),
    ("the marker is empty and the file is", |kept| {
        fs::write(kept.marker(), "").unwrap();
        without_log(kept);
        set_length(&kept.db(), 0);
    }),
    ("the table of keys is empty", |kept| {
        let connection = rusqlite::Connection::open(kept.db()).unwrap();
        connection.execute_batch("DELETE FROM gateway_key").unwrap();
    }),
    ("the table of keys is gone", |kept| {
        let connection = rusqlite::Connection::open(kept.db()).unwrap();
        connection.execute_batch("DROP TABLE gateway_key").unwrap();
    }),
];

#[test]
fn d_4_no_broken_store_lets_anybody_in_once_keys_were_created() {
    for (at, (why, break_it)) in BREAKS.iter().enumerate() {
        let kept = Kept::new("broken", |kept| {
            fs::copy(kept.db(), kept.file("before.db")).unwrap();
        });
        break_it(&kept);
        match kept.start("") {
            Ok(gateway) => {
                assert_closed(&kept, &gateway, why);
                let answer = gateway.request(
                    "POST",
                    "/v1/chat/completions",
                    &format!("authorization: Bearer {}\r\n", kept.key),
                    &question("there/m"),
                );
                // The first one is broken in no way.
                assert!(at > 0 || status(&answer) == "200", "{why}: {answer}");
            }
            // A plain refusal is no open door.
            Err(said) => assert!(at > 0 && said.contains("error: "), "{why}: {said}"),
        }
    }
}

#[test]
fn d_4_callers_of_a_store_that_lost_its_keys_are_told_the_remedies() {
    let kept = Kept::new("remedies", |_| {});
    all_named(&kept.place, "kept.db").iter().for_each(|it| fs::remove_file(it).unwrap());
    let gateway = kept.start("").unwrap();
    let ask = |headers: &str| gateway.request("GET", "/v1/models", headers, "");
    for headers in [String::new(), format!("x-api-key: {}\r\n", kept.key)] {
        let answer = ask(&headers);
        assert_eq!(status(&answer), "503", "{answer}");
        assert!(answer.contains("`think keys create`"), "{answer}");
        assert!(answer.contains("`[server] keyless = true`"), "{answer}");
    }
    // The first remedy works while the gateway runs.
    let bob = format!("x-api-key: {}\r\n", kept.create("bob"));
    let began = Instant::now();
    while status(&ask(&bob)) != "200" {
        assert!(began.elapsed() < PATIENCE, "{}", ask(&bob));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(status(&ask("")), "401");
    drop(gateway);
    // And so does the second.
    all_named(&kept.place, "kept.db").iter().for_each(|it| fs::remove_file(it).unwrap());
    let gateway = kept.start("keyless = true").unwrap();
    assert_eq!(status(&gateway.request("GET", "/v1/models", "", "")), "200");
}

/// With a master key from elsewhere, the marker is beside the configuration.
#[test]
fn d_4_a_key_from_elsewhere_leaves_the_marker_beside_the_configuration() {
    let place = Place::new("elsewhere");
    fs::create_dir(place.file("data")).unwrap();
    let digits = "0123456789abcdef".repeat(4);
    let store = format!(
        "[store]\nurl = \"sqlite:data/kept.db\"\nkey = {{ command = \"echo {digits}\" }}\n"
    );
    let config = place.write("config.toml", &store);
    let made = place.think(&["keys", "--config", &config, "create", "alice", "--json"]).json();
    assert_eq!(markers(&place).len(), 1);
    fs::remove_dir_all(place.file("data")).unwrap();
    let gateway = serve(&place, &store);
    let key = format!("x-api-key: {}\r\n", made["key"].as_str().unwrap());
    for headers in ["", &key] {
        let answer = gateway.request("GET", "/v1/models", headers, "");
        assert_eq!(status(&answer), "503", "{answer}");
    }
}

#[test]
fn a_place_without_a_store_and_without_keys_opens_as_ever() {
    let place = Place::new("simple");
    let gateway = serve(&place, STORE);
    let answer = gateway.request("POST", "/v1/chat/completions", "", &question("sim/groq"));
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(gateway.request("GET", "/readyz", "", "").ends_with("ok\n"));
    assert_eq!(markers(&place), [] as [PathBuf; 0]);
}

#[test]
fn d_5_a_gateway_that_may_not_read_its_store_lets_nobody_in_until_it_may() {
    use std::os::unix::fs::PermissionsExt as _;
    if rustix::process::geteuid().is_root() {
        println!("skipped: root may read every file");
        return;
    }
    let kept = Kept::new("permission", |_| {});
    fs::set_permissions(kept.db(), fs::Permissions::from_mode(0o000)).unwrap();
    let gateway = kept.start("").unwrap();
    assert_closed(&kept, &gateway, "no permission");
    fs::set_permissions(kept.db(), fs::Permissions::from_mode(0o600)).unwrap();
    opens_for(&kept, &gateway);
}

/// Waits until the key is accepted. Callers without it stay refused.
fn opens_for(kept: &Kept, gateway: &Server) {
    let bearer = format!("authorization: Bearer {}\r\n", kept.key);
    let began = Instant::now();
    loop {
        let answer = gateway.request("POST", "/v1/chat/completions", &bearer, &question("there/m"));
        if status(&answer) == "200" {
            break;
        }
        assert_eq!(status(&answer), "503", "{answer}");
        assert!(began.elapsed() < PATIENCE, "it does not open: {answer}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_closed(kept, gateway, "it is open again");
}

/// The gateway's output at its start.
fn introduced(gateway: &Server) -> String {
    let began = Instant::now();
    while !gateway.said().contains("Ollama clients") {
        assert!(began.elapsed() < PATIENCE, "{}", gateway.said());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    gateway.said()
}

#[test]
fn d_4_nobody_is_promised_an_answer_while_the_door_is_closed() {
    let kept = Kept::new("introduced", |_| {});
    let promised = "the simulated models answer";
    let gateway = serve(&kept.place, STORE);
    let said = introduced(&gateway);
    assert!(said.contains(promised), "with a key they do: {said}");
    gateway.stop();
    without_log(&kept);
    fs::remove_file(kept.db()).unwrap();
    let gateway = serve(&kept.place, STORE);
    let said = introduced(&gateway);
    let ready = gateway.request("GET", "/readyz", "", "");
    assert_eq!(status(&ready), "503", "{ready}");
    assert!(!said.contains(promised), "{said}");
    assert!(said.contains("nobody is let in until the gateway's own keys can be read"), "{said}");
}

/// While the store cannot be opened, keys of the configuration and pass-through callers are
/// refused, too.
#[test]
fn d_4_every_caller_waits_until_the_store_is_open() {
    const BOB: &str = "bobs-own-key-of-some-length";
    let keys = format!("[keys.bob]\nkey = \"{BOB}\"\n");
    for (server, keys, after) in [
        ("", keys.as_str(), "200"),
        ("pass_through = true", "", "200"),
        ("keyless = false", "", "401"),
    ] {
        let place = Place::new("closed");
        fs::create_dir(place.file("kept.db")).unwrap();
        let gateway = serve(&place, &format!("[server]\n{server}\n{STORE}{keys}"));
        let ask = || {
            let headers = format!("content-type: application/json\r\nx-api-key: {BOB}\r\n");
            gateway.request("POST", "/v1/chat/completions", &headers, &question("sim/groq"))
        };
        let answer = ask();
        assert_eq!(status(&answer), "503", "{server}: {answer}");
        assert!(
            answer.contains("keys_unavailable") && answer.contains("retry-after: "),
            "{answer}"
        );
        let ready = gateway.request("GET", "/readyz", "", "");
        assert!(ready.ends_with("keys_unavailable\n"), "{server}: {ready}");
        let metrics = gateway.request("GET", "/metrics", "", "");
        assert_eq!(status(&metrics), "200", "{server}: {metrics}");
        fs::remove_dir(place.file("kept.db")).unwrap();
        let began = Instant::now();
        while status(&ask()) == "503" {
            assert!(began.elapsed() < PATIENCE, "{server}: it does not open");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let answer = ask();
        assert_eq!(status(&answer), after, "{server}: {answer}");
    }
    // With `keyless = true` the gateway works without a store.
    let place = Place::new("keyless");
    fs::create_dir(place.file("kept.db")).unwrap();
    let gateway = serve(&place, &format!("[server]\nkeyless = true\n{STORE}"));
    let answer = gateway.request("POST", "/v1/chat/completions", "", &question("sim/groq"));
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(gateway.request("GET", "/readyz", "", "").ends_with("degraded\n"));
}

fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
}

#[test]
fn t_13_a_store_that_is_lost_after_a_rotation_lets_nobody_in() {
    let lost = ["the file is missing", "the file is empty", "a backup of before the key"];
    let breaks = || BREAKS.iter().filter(|(why, _)| lost.iter().any(|it| why.starts_with(it)));
    assert_eq!(breaks().count(), 4);
    // Until the keys are read, the marker still belongs to the old master key.
    for is_read in [false, true] {
        for (why, break_it) in breaks() {
            let kept = Kept::new("rotated", |kept| {
                fs::copy(kept.db(), kept.file("before.db")).unwrap();
            });
            let config = kept.place.file("config.toml");
            let before = fs::read(kept.file("kept.key")).unwrap();
            let rotated = kept.place.think(&["keys", "rotate", "--config", &config]);
            assert_eq!(rotated.code, Some(0), "{}", rotated.err);
            assert_ne!(fs::read(kept.file("kept.key")).unwrap(), before);
            if is_read {
                let gateway = kept.start("").unwrap();
                opens_for(&kept, &gateway);
                gateway.stop();
            }
            assert!(kept.marker().exists());
            // The log may still have a part of the store.
            let whole = kept.file("whole");
            fs::create_dir(&whole).unwrap();
            let names = ["kept.db", "kept.db-wal", "kept.db-shm"];
            let there = || names.iter().filter(|name| kept.file(name).exists());
            there().for_each(|name| copy(&kept.file(name), &whole.join(name)));
            break_it(&kept);
            match kept.start("") {
                Ok(gateway) => assert_closed(&kept, &gateway, why),
                Err(said) => assert!(said.contains("error: "), "{why}: {said}"),
            }
            there().for_each(|name| fs::remove_file(kept.file(name)).unwrap());
            let kept_names = names.iter().filter(|name| whole.join(name).exists());
            kept_names.for_each(|name| copy(&whole.join(name), &kept.file(name)));
            opens_for(&kept, &kept.start("").unwrap());
        }
    }
}
