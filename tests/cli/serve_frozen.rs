//! A gateway whose PostgreSQL server is away at its start, or is frozen while it runs.

use crate::frozen::Proxy;
use crate::place::Place;
use crate::postgres::Database;
use crate::serve::naive_rounds;
use crate::serve_config::{Reserved, question, serve, started};
use crate::server::{PATIENCE, Server};
use std::os::unix::fs::PermissionsExt as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A database with keys, and a proxy to it that can be frozen.
struct Far {
    place: Place,
    database: Database,
    key: String,
}

impl Far {
    fn new(name: &str) -> Option<Self> {
        let database = Database::new()?;
        let place = Place::new(name);
        place.write("master.key", &"5a".repeat(32));
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(place.file("master.key"), private).unwrap();
        let mut far = Far { place, database, key: String::new() };
        far.key =
            far.keys(&["create", "alice", "--json"]).json()["key"].as_str().unwrap().to_owned();
        Some(far)
    }

    /// `think keys`, without the way that may be frozen.
    fn keys(&self, args: &[&str]) -> crate::program::Ran {
        let config = self.place.write("direct.toml", &self.config(&self.database.url, ""));
        let ran = self.place.think(&[&["keys", "--config", &config], args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran
    }

    fn config(&self, url: &str, server: &str) -> String {
        format!("[server]\n{server}\n[store]\nurl = \"{url}\"\nkey = {{ file = \"master.key\" }}\n")
    }

    /// The address of the server, and the URL of the database through another port.
    fn by(&self, port: u16) -> (String, String) {
        let (head, rest) = self.database.url.split_once("://").unwrap();
        let (whole, name) = rest.split_once('/').unwrap();
        let (user, server) = whole.split_once('@').map_or(("", whole), |(user, at)| (user, at));
        let user = if user.is_empty() { String::new() } else { format!("{user}@") };
        (server.to_owned(), format!("{head}://{user}127.0.0.1:{port}/{name}"))
    }

    fn status(&self, gateway: &Server, key: &str) -> String {
        let answer = ask(gateway, key);
        answer.get(9..12).unwrap_or_default().to_owned()
    }

    /// Waits until the key has this status.
    fn until(&self, gateway: &Server, status: &str) {
        let began = Instant::now();
        while self.status(gateway, &self.key) != status {
            assert!(began.elapsed() < PATIENCE, "it does not come to {status}");
            sleep(Duration::from_millis(50));
        }
    }
}

fn ask(gateway: &Server, key: &str) -> String {
    let credential =
        if key.is_empty() { String::new() } else { format!("authorization: Bearer {key}\r\n") };
    let headers = format!("content-type: application/json\r\n{credential}");
    gateway.request("POST", "/v1/chat/completions", &headers, &question("sim/kimi-k2"))
}

fn figure(gateway: &Server, name: &str) -> u64 {
    let metrics = gateway.request("GET", "/metrics", "", "");
    let value = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    value.unwrap_or_else(|| panic!("no {name}")).trim().parse().unwrap()
}

#[test]
fn p_1_a_server_that_is_away_at_the_start_opens_no_door_and_is_used_once_it_is_there() {
    let Some(far) = Far::new("away") else { return };
    let reserved = Reserved::new();
    let (server, url) = far.by(reserved.port);
    let gateway = serve(&far.place, &far.config(&url, "keyless = false"));
    for (method, path) in [
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/messages"),
        ("POST", "/v1/responses"),
        ("POST", "/api/chat"),
        ("GET", "/v1/models"),
        ("GET", "/p/sim/v1/models"),
        ("GET", "/"),
    ] {
        for header in [String::new(), format!("x-api-key: {}\r\n", far.key)] {
            let answer = gateway.request(method, path, &header, "{}");
            assert!(answer.starts_with("HTTP/1.1 503"), "{path}: {answer}");
            assert!(answer.contains("retry-after: "), "{path}: {answer}");
            // Errors of this API have no code.
            assert!(path == "/api/chat" || answer.contains("keys_unavailable"), "{answer}");
        }
    }
    let ready = gateway.request("GET", "/readyz", "", "");
    assert!(ready.starts_with("HTTP/1.1 503") && ready.ends_with("keys_unavailable\n"), "{ready}");
    assert!(gateway.request("GET", "/livez", "", "").starts_with("HTTP/1.1 200"));
    assert_eq!(figure(&gateway, "thinkthrough_store_up"), 0);
    let _proxy = Proxy::new(&server, reserved.port);
    far.until(&gateway, "200");
    assert_eq!(far.status(&gateway, ""), "401");
    assert!(gateway.request("GET", "/readyz", "", "").ends_with("ok\n"));
    // All of the store is used, not only its keys.
    let bearer = format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n", far.key);
    let answers = naive_rounds("sim/kimi-k2", |_, request| {
        gateway.request_in_time("POST", "/v1/chat/completions", &bearer, request)
    });
    assert!(answers[1].contains("x-thinkthrough: restored=1;"), "{}", answers[1]);
}

#[test]
fn a_store_on_a_server_says_whether_keys_are_wanted() {
    let Some(far) = Far::new("says") else { return };
    let said = started(&far.place, &far.config(&far.database.url, "")).err().unwrap();
    assert!(said.contains("[server] keyless"), "{said}");
    let keyless = started(&far.place, &far.config(&far.database.url, "keyless = true")).unwrap();
    assert_eq!(far.status(&keyless, ""), "200");
    assert!(keyless.stop().contains("nobody is asked for one"));
    let both = format!(
        "{}[keys.bob]\nkey = \"bobs-own-key-of-some-length\"\n",
        far.config(&far.database.url, "keyless = true")
    );
    let said = started(&far.place, &both).err().unwrap();
    assert!(said.contains("server.keyless"), "{said}");
    // Nor does a key of the configuration open the door of a store that is away.
    let config = format!(
        "{}[keys.bob]\nkey = \"bobs-own-key-of-some-length\"\n",
        far.config("postgres://me@127.0.0.1:1/none", "")
    );
    let gateway = serve(&far.place, &config);
    assert_eq!(far.status(&gateway, "bobs-own-key-of-some-length"), "503");
    assert_eq!(far.status(&gateway, ""), "503");
    let ready = gateway.request("GET", "/readyz", "", "");
    assert!(ready.starts_with("HTTP/1.1 503") && ready.ends_with("keys_unavailable\n"), "{ready}");
}

/// How many answers come in this time, with several callers at once, and how long the slowest but
/// one in a hundred took.
fn rate(gateway: &Server, key: &str, time: Duration) -> (usize, Duration) {
    let ends = Instant::now() + time;
    let mut took: Vec<Duration> = std::thread::scope(|scope| {
        let callers = (0..6).map(|_| {
            scope.spawn(|| {
                let mut took = Vec::new();
                while Instant::now() < ends {
                    let began = Instant::now();
                    let answer = ask(gateway, key);
                    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                    took.push(began.elapsed());
                }
                took
            })
        });
        let callers: Vec<_> = callers.collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    took.sort_unstable();
    (took.len(), took[took.len() * 99 / 100])
}

#[test]
fn p_1_a_server_that_stands_still_stops_no_traffic() {
    let Some(far) = Far::new("still") else { return };
    let (server, _) = far.by(0);
    let proxy = Proxy::new(&server, 0);
    let (_, url) = far.by(proxy.port);
    let gateway = serve(&far.place, &far.config(&url, "keyless = false"));
    far.until(&gateway, "200");
    let time = Duration::from_secs(3);
    let (healthy, usual) = rate(&gateway, &far.key, time);
    proxy.freeze(true);
    // The first request after the freeze needs the store.
    let bearer = format!("authorization: Bearer {}\r\n", far.key);
    let began = Instant::now();
    let named = gateway.request("GET", "/v1/responses/resp_1", &bearer, "");
    assert!(named.starts_with("HTTP/1.1 503") && named.contains("store_unavailable"), "{named}");
    assert!(began.elapsed() < Duration::from_millis(1_500), "{:?}", began.elapsed());
    // Requests of one second let the gateway notice the freeze.
    rate(&gateway, &far.key, Duration::from_secs(1));
    let unsaved = figure(&gateway, "thinkthrough_unsaved_total");
    let (frozen, slow) = rate(&gateway, &far.key, time);
    println!("{healthy} answers ({usual:?}), then {frozen} ({slow:?})");
    assert!(frozen * 2 >= healthy, "{healthy} answers, and {frozen} while the server stands still");
    // One wait of 100 ms at most, and what a busy machine makes of it.
    assert!(slow < usual * 3 + Duration::from_secs(1), "{usual:?}, then {slow:?}");
    let lost = figure(&gateway, "thinkthrough_unsaved_total") - unsaved;
    assert!(lost * 2 > u64::try_from(frozen).unwrap(), "{lost} of {frozen} are said to be unsaved");
    // A known key goes on holding, and no other one does.
    let unknown = "tk-0123456789012345678901234567890123456789012";
    assert_eq!([far.status(&gateway, ""), far.status(&gateway, unknown)], ["401", "401"]);
    assert_eq!(figure(&gateway, "thinkthrough_store_up"), 0);
    let ready = gateway.request("GET", "/readyz", "", "");
    assert!(ready.starts_with("HTTP/1.1 200") && ready.ends_with("degraded\n"), "{ready}");
    far.keys(&["revoke", "alice"]);
    assert_eq!(far.status(&gateway, &far.key), "200", "nobody could tell the gateway");
    proxy.freeze(false);
    far.until(&gateway, "401");
    let bob = far.keys(&["create", "bob", "--json"]).json()["key"].as_str().unwrap().to_owned();
    let began = Instant::now();
    while far.status(&gateway, &bob) != "200" {
        assert!(began.elapsed() < PATIENCE);
    }
    assert_eq!(figure(&gateway, "thinkthrough_store_up"), 1);
    let bearer = format!("authorization: Bearer {bob}\r\ncontent-type: application/json\r\n");
    let answers = naive_rounds("sim/kimi-k2", |_, request| {
        gateway.request_in_time("POST", "/v1/chat/completions", &bearer, request)
    });
    assert!(answers[1].contains("x-thinkthrough: restored=1;"), "{}", answers[1]);
}
