//! `think serve --config`: each key of `[server]` and `[client]` changes the traffic.

use crate::place::Place;
use crate::program::command;
use crate::server::{PATIENCE, Server, body};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};
use thinkthrough_client::{Client, ClientConfig, Request};
use tokio::net::TcpSocket;

/// `think serve` with this configuration, on a free port unless the configuration has one.
pub(crate) fn serve(place: &Place, config: &str) -> Server {
    started(place, config).unwrap_or_else(|said| panic!("it does not start: {said}"))
}

/// Like [`serve`], but returns the output if the gateway does not start.
pub(crate) fn started(place: &Place, config: &str) -> Result<Server, String> {
    let file = place.write("config.toml", config);
    let free = if config.contains("listen =") { vec![] } else { vec!["--listen", "127.0.0.1:0"] };
    let args: Vec<&str> = ["serve", "--config", &file].into_iter().chain(free).collect();
    let mut command = command(&args);
    for (name, _) in std::env::vars() {
        if name.ends_with("_API_KEY") || name.ends_with("_TOKEN") {
            command.env_remove(name);
        }
    }
    command.env("HOME", place.home()).env("XDG_CONFIG_HOME", place.home());
    command.env("XDG_DATA_HOME", place.home());
    Server::try_run(command)
}

/// A free port that no other program gets meanwhile, because a socket holds it. A server that asks
/// for it by its number can still listen on it.
pub(crate) struct Reserved {
    pub(crate) port: u16,
    _held: Option<TcpSocket>,
}

impl Reserved {
    pub(crate) fn new() -> Self {
        let held = TcpSocket::new_v4().unwrap();
        held.set_reuseaddr(true).unwrap();
        held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = held.local_addr().unwrap().port();
        // Other systems do not share a port.
        Reserved { port, _held: cfg!(target_os = "linux").then_some(held) }
    }
}

/// A question to a model that answers at once.
pub(crate) fn question(model: &str) -> String {
    json!({"model": model, "messages": [{"role": "user", "content": "what is a zebra"}]})
        .to_string()
}

/// A provider at this address that needs no more than a key.
fn provider(base_url: &str) -> String {
    format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{base_url}\"\napi_key = \"k\"\n"
    )
}

/// Asks for the list of models at an address, after it listens there.
fn get(addr: &str, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(addr).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn server_listen_says_where_and_the_command_line_goes_first() {
    let place = Place::new("listen");
    let reserved = Reserved::new();
    let port = reserved.port;
    let config = format!("[server]\nlisten = \"127.0.0.1:{port}\"\n");
    let gateway = serve(&place, &config);
    assert_eq!(gateway.addr, format!("127.0.0.1:{port}"));
    let file = place.file("config.toml");
    let other = Server::start("serve", &["--config", &file]);
    assert_ne!(other.addr, gateway.addr);
}

#[test]
fn server_hosts_are_answered_for_and_no_others() {
    let place = Place::new("hosts");
    let gateway = serve(&place, "[server]\nhosts = [\"gate.example\"]\n");
    let listed = get(&gateway.addr, "/v1/models", "gate.example");
    assert!(listed.starts_with("HTTP/1.1 200"), "{listed}");
    let other = get(&gateway.addr, "/v1/models", "other.example");
    assert!(other.starts_with("HTTP/1.1 421"), "{other}");
}

#[test]
fn t_8_server_admin_listen_has_the_metrics_and_nothing_else() {
    let place = Place::new("admin");
    let plain = serve(&place, "");
    assert!(get(&plain.addr, "/metrics", "localhost").starts_with("HTTP/1.1 200"));
    // A forwarded request is not local, even if its proxy is.
    let forwarded = plain.request("GET", "/metrics", "x-forwarded-for: 9.9.9.9\r\n", "");
    assert!(forwarded.starts_with("HTTP/1.1 403"), "{forwarded}");
    let reserved = Reserved::new();
    let admin = format!("127.0.0.1:{}", reserved.port);
    let gateway = serve(&place, &format!("[server]\nadmin_listen = \"{admin}\"\n"));
    assert!(get(&gateway.addr, "/metrics", "localhost").starts_with("HTTP/1.1 403"));
    assert!(get(&admin, "/metrics", "localhost").contains("\nthinkthrough_requests_total"));
    assert!(get(&admin, "/livez", "localhost").starts_with("HTTP/1.1 200"));
    for path in ["/v1/models", "/p/sim/v1/models", "/"] {
        assert!(get(&admin, path, "localhost").starts_with("HTTP/1.1 404"), "{path}");
    }
    assert!(get(&admin, "/metrics", "evil.example").starts_with("HTTP/1.1 421"));
}

/// Writes a certificate and its key for this machine. Returns the path of the certificate.
pub(crate) fn certify(place: &Place) -> String {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    place.write("key.pem", &made.signing_key.serialize_pem());
    place.write("cert.pem", &made.cert.pem())
}

/// The status and protocol of an answer to a client that trusts this certificate, or the error.
fn over_tls(addr: &str, ca_file: &str) -> Result<(u16, http::Version), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let ca_file = Some(Path::new(ca_file).to_owned());
        let client = Client::new(ClientConfig { ca_file, ..ClientConfig::default() }).unwrap();
        let url = format!("https://{addr}/v1/models");
        let request = Request::new(http::Method::GET, &url).unwrap();
        let answer = client.send(&request).await.map_err(|error| error.to_string())?;
        Ok((answer.status.as_u16(), answer.version))
    })
}

#[test]
fn t_32_server_tls_speaks_http_2_and_its_certificate_changes_without_a_restart() {
    let place = Place::new("tls");
    let cert = certify(&place);
    let config = "[server]\ntls = { cert = \"cert.pem\", key = \"key.pem\" }\n";
    let gateway = serve(&place, config);
    assert_eq!(over_tls(&gateway.addr, &cert), Ok((200, http::Version::HTTP_2)));
    let old = place.write("old.pem", &std::fs::read_to_string(&cert).unwrap());
    let cert = certify(&place);
    gateway.signal(Signal::HUP);
    let began = Instant::now();
    while over_tls(&gateway.addr, &cert).is_err() {
        assert!(began.elapsed() < PATIENCE, "the new certificate is not used");
    }
    let refused = over_tls(&gateway.addr, &old).unwrap_err();
    assert!(refused.contains("unknown authority"), "{refused}");
    // Plain HTTP is not answered there, and the next caller is served.
    let mut plain = TcpStream::connect(&gateway.addr).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    assert!(over_tls(&gateway.addr, &cert).is_ok());
}

#[test]
fn client_ca_file_is_trusted_upstream() {
    let place = Place::new("ca");
    certify(&place);
    let upstream = serve(&place, "[server]\ntls = { cert = \"cert.pem\", key = \"key.pem\" }\n");
    let there = provider(&format!("https://{}/v1", upstream.addr));
    let trusting = serve(&place, &format!("{there}[client]\nca_file = \"cert.pem\"\n"));
    let answer = trusting.ask("/v1/chat/completions", &question("there/sim/kimi-k2"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let wary = serve(&place, &there);
    let answer = wary.ask("/v1/chat/completions", &question("there/sim/kimi-k2"));
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    // The remedy is for the operator only.
    let log = crate::serve_security::log_of(wary);
    assert!(log.contains("client.ca_file") && !answer.contains("client.ca_file"), "{log} {answer}");
}

#[test]
fn client_proxy_is_asked_in_the_targets_place() {
    let place = Place::new("proxy");
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        "{}[client]\nproxy = \"http://{}\"\n",
        provider("http://model.example/v1"),
        proxy.local_addr().unwrap()
    );
    let gateway = serve(&place, &config);
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = proxy.accept().unwrap();
        let mut seen = [0; "POST http://model.example/v1/chat/completions ".len()];
        stream.read_exact(&mut seen).unwrap();
        String::from_utf8_lossy(&seen).into_owned()
    });
    drop(gateway.ask("/v1/chat/completions", &question("there/m")));
    assert_eq!(asked.join().unwrap(), "POST http://model.example/v1/chat/completions ");
}

/// A server that accepts connections and never answers.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    (listener, addr)
}

#[test]
fn client_connect_timeout_ends_a_handshake_that_nobody_answers() {
    let place = Place::new("connect");
    let (_listener, addr) = silent();
    let there = provider(&format!("https://{addr}/v1"));
    let key = "[client]\nconnect_timeout = \"200ms\"\n";
    let config =
        format!("{there}{key}[models.m]\nprovider = \"there\"\nfallback = [\"sim/groq\"]\n");
    let gateway = serve(&place, &config);
    let answer = gateway.ask("/v1/chat/completions", &question("m"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let answer = gateway.ask("/v1/chat/completions", &question("there/m"));
    assert!(answer.starts_with("HTTP/1.1 504") && answer.contains("within 0.2 s"), "{answer}");
}

#[test]
fn client_first_byte_timeout_ends_an_upstream_that_says_nothing() {
    let place = Place::new("first-byte");
    let (_listener, addr) = silent();
    let there = provider(&format!("http://{addr}/v1"));
    let gateway = serve(&place, &format!("{there}[client]\nfirst_byte_timeout = \"300ms\"\n"));
    let answer = gateway.ask("/v1/chat/completions", &question("there/m"));
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    assert!(answer.contains("client.first_byte_timeout"), "{answer}");
}

#[test]
fn client_idle_timeout_ends_an_answer_that_falls_silent() {
    let place = Place::new("idle");
    let sim = Server::start("sim", &["--fault", "stall=60000,stall-at=3"]);
    let there = provider(&format!("http://{}/kimi-k2/v1", sim.addr));
    let gateway = serve(&place, &format!("{there}[client]\nidle_timeout = \"300ms\"\n"));
    let mut asked: Value = serde_json::from_str(&question("there/kimi-k2-thinking")).unwrap();
    asked["stream"] = json!(true);
    let answer = gateway.ask("/v1/chat/completions", &asked.to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let said = body(&answer);
    assert!(said.contains("\"error\"") && !said.contains("[DONE]"), "{said}");
}

#[test]
fn k_8_a_changed_file_holds_for_new_requests_and_a_bad_one_changes_nothing() {
    let place = Place::new("reload");
    let model = |name: &str| format!("[models.m]\nprovider = \"sim\"\nmodel = \"{name}\"\n");
    let gateway = serve(&place, &model("kimi-k2"));
    let status = || {
        let answer = gateway.ask("/v1/chat/completions", &question("m"));
        answer.get(9..12).unwrap_or_default().to_owned()
    };
    let wait = |expected: &str| {
        let began = Instant::now();
        while status() != expected {
            assert!(began.elapsed() < PATIENCE, "never {expected}");
        }
    };
    assert_eq!(status(), "200");
    place.write("config.toml", &model("groq").replace("models.m", "models.n"));
    gateway.signal(Signal::HUP);
    wait("404");
    place.write("config.toml", &model("groq"));
    gateway.signal(Signal::HUP);
    wait("200");
    place.write("config.toml", "[models.m]\nprovidor = \"sim\"\n");
    gateway.signal(Signal::HUP);
    let began = Instant::now();
    while !gateway.said().contains("the configuration stays as it was") {
        assert!(began.elapsed() < PATIENCE, "the bad one is never read: {}", gateway.said());
        assert_eq!(status(), "200");
    }
    assert_eq!(status(), "200");
    let said = gateway.stop();
    assert!(said.contains("did you mean `provider`"), "{said}");
}

#[test]
fn k_8_a_hundred_changes_under_load_cost_no_request() {
    let place = Place::new("reloads");
    let gateway = serve(&place, "[models.m]\nprovider = \"sim\"\nmodel = \"groq\"\n");
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..40 {
                        let answer = gateway.ask("/v1/chat/completions", &question("m"));
                        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                    }
                })
            })
            .collect();
        for _ in 0..100 {
            gateway.signal(Signal::HUP);
            std::thread::sleep(Duration::from_millis(10));
        }
        asking.into_iter().for_each(|one| one.join().unwrap());
    });
    let metrics = get(&gateway.addr, "/metrics", "localhost");
    assert!(metrics.contains("thinkthrough_config_reloads_total"), "{metrics}");
    assert!(!metrics.contains("thinkthrough_config_reloads_total 0"), "{metrics}");
}
