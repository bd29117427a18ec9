//! Further threats to `think serve`: secrets in memory and files, endless upstreams, and attacks
//! over HTTP/2.

use crate::place::Place;
use crate::serve_config::{question, serve};
use crate::server::{PATIENCE, Server, body};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Every byte of every file below a folder.
fn all_bytes(folder: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| match path.is_dir() {
        true => all_bytes(&path),
        false => std::fs::read(&path).unwrap_or_default(),
    };
    entries.flat_map(read).collect()
}

#[test]
fn t_6_keys_stand_in_no_file_and_a_key_file_for_everybody_is_refused() {
    let place = Place::new("at-rest");
    let canary = "canary-4f9aB2c81dE7";
    let hex: String = canary.bytes().map(|byte| format!("{byte:02x}")).collect();
    let config = "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
                  api_key = { env = \"THERE_KEY\" }\n";
    let file = place.write("config.toml", config);
    let mut command = Command::new(env!("CARGO_BIN_EXE_think"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--config", &file]);
    command.env("THERE_KEY", canary).env("HOME", place.home()).env("XDG_DATA_HOME", place.home());
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let gateway = Server::of(started);
    let bearer = format!("authorization: Bearer {canary}\r\ncontent-type: application/json\r\n");
    for model in ["there/m", "sim/kimi-k2"] {
        drop(gateway.request("POST", "/v1/chat/completions", &bearer, &question(model)));
    }
    let log = gateway.stop();
    let bytes = all_bytes(place.home());
    assert!(bytes.len() > 10_000, "nothing was kept");
    // Neither in plain text nor in the forms of a header or a dump.
    for needle in [canary, &hex, "Y2FuYXJ5LTRmOWFC"] {
        assert!(!bytes.windows(needle.len()).any(|it| it == needle.as_bytes()), "{needle}");
        assert!(!log.contains(needle), "{log}");
    }
    let key = place.home().join("thinkthrough/thinkthrough.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    let ran = place.think(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("chmod 600"), "{}", ran.err);
}

#[test]
#[cfg(target_os = "linux")]
fn t_6_a_gateway_that_breaks_leaves_no_image_of_its_memory() {
    let place = Place::new("core");
    let think = env!("CARGO_BIN_EXE_think");
    // If the system writes core dumps, it writes them here.
    let line = format!("ulimit -c unlimited 2>&-; exec {think} serve --listen 127.0.0.1:0");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &line]).current_dir(place.folder());
    command.env("HOME", place.home()).env("XDG_DATA_HOME", place.home());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut first = [0; 9];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let values: Vec<&str> = core.split_whitespace().skip(4).take(2).collect();
    assert_eq!(values, ["0", "0"], "{core}");
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::ABORT).unwrap();
    let status = child.wait().unwrap();
    assert!(status.signal().is_some() && !status.core_dumped(), "{status:?}");
}

/// An upstream that begins a stream and then calls `go_on` until the peer closes.
fn endless(
    mut go_on: impl FnMut(&mut TcpStream) -> std::io::Result<()> + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut seen = Vec::new();
            let mut piece = [0; 4096];
            while !String::from_utf8_lossy(&seen).contains("zebra") {
                let read = stream.read(&mut piece).unwrap();
                seen.extend_from_slice(&piece[..read]);
            }
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            while go_on(&mut stream).is_ok() {}
        }
    });
    url
}

fn delta(thought: &str) -> String {
    let delta = json!({"reasoning_content": thought});
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]}))
}

/// A configuration with these caps on an answer, and a provider at this address.
fn capped(caps: &str, url: &str) -> String {
    format!(
        "[client]\n{caps}\n[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\napi_key = \"k\"\n"
    )
}

fn streamed(gateway: &Server, path: &str) -> String {
    let mut asked: Value = serde_json::from_str(&question("there/m")).unwrap();
    asked["stream"] = json!(true);
    asked["max_tokens"] = json!(100);
    gateway.ask(path, &asked.to_string())
}

#[test]
fn t_23_an_upstream_that_drips_for_ever_is_ended_for_it() {
    let url = endless(|stream| {
        std::thread::sleep(Duration::from_millis(50));
        stream.write_all(delta("hm").as_bytes())
    });
    let place = Place::new("dripping");
    let gateway = serve(&place, &capped("answer_timeout = \"1s\"", &url));
    let began = Instant::now();
    let answer = streamed(&gateway, "/v1/chat/completions");
    assert!(answer.contains("did not end its answer within 1 s"), "{answer}");
    assert!(answer.contains("client.answer_timeout"), "{answer}");
    assert!(!answer.contains("[DONE]"), "{answer}");
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[test]
fn t_23_an_upstream_that_floods_is_ended_for_it() {
    let events = delta("hm").repeat(64);
    for (flood, path) in [(events.clone(), "/v1/chat/completions"), (events, "/v1/messages")] {
        let url = endless(move |stream| stream.write_all(flood.as_bytes()));
        let place = Place::new("flooding");
        let gateway = serve(&place, &capped("answer_bytes = 20000000", &url));
        let answer = streamed(&gateway, path);
        let tail = answer.get(answer.len().saturating_sub(500)..).unwrap_or_default();
        assert!(answer.contains("is larger than the limit of 20000000 bytes"), "{path}: {tail}");
        assert!(!answer.contains("[DONE]") && !answer.contains("message_stop"), "{path}");
        // The cap counts the upstream's bytes. An event may be longer in another API.
        assert!(answer.len() < 42_000_000, "{path}: {}", answer.len());
        // The gateway keeps the decoded text, not the received bytes.
        assert!(peak(&gateway) < 200_000, "{path}: {} KiB", peak(&gateway));
    }
}

/// The most memory that a process ever had, in KiB.
pub(crate) fn peak(gateway: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn t_23_lines_and_events_of_a_stream_have_an_end() {
    let line = format!("data: {}", "x".repeat(4096));
    let (lines, events) = (line.clone() + "\n", delta("hm"));
    for (cap, flood, said) in [
        ("answer_line_bytes = 3000000", line, "a line with more bytes than the limit of 3000000"),
        (
            "answer_event_bytes = 5000000",
            lines,
            "an event with more bytes than the limit of 5000000",
        ),
        ("answer_events = 7", events, "more events than the limit of 7"),
    ] {
        for path in ["/v1/chat/completions", "/v1/messages"] {
            ends_cleanly(cap, &flood, said, path);
        }
    }
}

/// Checks the end of a stream of two good events and endless data.
fn ends_cleanly(cap: &str, flood: &str, said: &str, path: &str) {
    let (mut written, first, flood) = (0, delta("well"), flood.to_owned());
    let url = endless(move |stream| {
        written += 1;
        stream.write_all(if written <= 2 { first.as_bytes() } else { flood.as_bytes() })
    });
    let place = Place::new("endless");
    let gateway = serve(&place, &capped(cap, &url));
    let answer = streamed(&gateway, path);
    let told = body(&answer);
    let tail = told.get(told.len().saturating_sub(500)..).unwrap_or(&told);
    assert!(answer.starts_with("HTTP/1.1 200"), "{cap} {path}: {tail}");
    let key = format!("client.{}", cap.split(' ').next().unwrap());
    assert!(told.contains(said) && told.contains(&key), "{cap} {path}: {tail}");
    assert!(!told.contains("[DONE]") && !told.contains("message_stop"), "{cap} {path}: {tail}");
    // The error is an event of its own, and the events before it are whole.
    for line in told.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let parsed: Result<Value, _> = serde_json::from_str(line);
        assert!(parsed.is_ok(), "{cap} {path}: {}", line.get(..80).unwrap_or(line));
    }
    assert_eq!(told.matches("well").count(), 2, "{cap} {path}: {tail}");
    assert!(peak(&gateway) < 150_000, "{cap} {path}: {} KiB", peak(&gateway));
}

/// An HTTP/2 connection, frame by frame.
struct Frames(TcpStream);

impl Frames {
    fn open(gateway: &Server) -> Self {
        let mut stream = TcpStream::connect(&gateway.addr).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        stream.write_all(&frame(4, 0, 0, &[])).unwrap();
        Frames(stream)
    }

    /// Sends until the peer closes.
    fn flood(&mut self, bytes: impl Fn(u32) -> Vec<u8>, count: u32) {
        for at in 0..count {
            if self.0.write_all(&bytes(at)).is_err() {
                return;
            }
        }
    }

    /// The reason in the peer's GOAWAY frame, if the frame arrives. The peer must close the
    /// connection.
    fn goodbye(&mut self) -> Option<u32> {
        let mut all = Vec::new();
        if let Err(error) = self.0.read_to_end(&mut all) {
            // A reset may lose the bytes before it.
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it stays");
        }
        let mut rest = &all[..];
        while rest.len() >= 9 {
            let length = usize::from(rest[1]) << 8 | usize::from(rest[2]);
            let (kind, payload) = (rest[3], rest.get(9..9 + length)?);
            if kind == 7 {
                return Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
            }
            rest = &rest[9 + length..];
        }
        None
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// `POST` to a model, without its body.
fn head() -> Vec<u8> {
    let path = "/v1/chat/completions";
    let mut head = vec![0x83, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    head.extend_from_slice(path.as_bytes());
    head.extend_from_slice(b"\x01\x09localhost");
    head
}

/// Seconds of processor time that a process had.
#[cfg(target_os = "linux")]
fn spent(gateway: &Server) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", gateway.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}

#[test]
#[cfg(target_os = "linux")]
fn t_29_http_2_is_no_weapon() {
    /// `ENHANCE_YOUR_CALM`
    const CALM: u32 = 11;
    let gateway = Server::start("serve", &[]);
    let before = spent(&gateway);
    let mut resets = Frames::open(&gateway);
    let reset = |at: u32| {
        let stream = 2 * at + 1;
        [frame(1, 4, stream, &head()), frame(3, 0, stream, &8_u32.to_be_bytes())].concat()
    };
    resets.flood(reset, 100_000);
    assert!(resets.goodbye().is_none_or(|why| why == CALM), "streams that are reset at once");

    let mut continued = Frames::open(&gateway);
    continued.0.write_all(&frame(1, 0, 1, &head())).unwrap();
    continued.flood(|_| frame(9, 0, 1, b"\x40\x01x\x01y"), 100_000);
    assert!(continued.goodbye().is_none_or(|why| why == CALM), "a head without an end");

    let mut unreadable = Frames::open(&gateway);
    let many: Vec<u8> =
        (0..100_u32).flat_map(|at| frame(1, 4, 2 * at + 1, &[0xff; 9000])).collect();
    drop(unreadable.0.write_all(&many));
    unreadable.goodbye();

    assert!(spent(&gateway) - before < 3.0, "{} s", spent(&gateway) - before);
    let answer = gateway.ask("/v1/chat/completions", &question("sim/groq"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
