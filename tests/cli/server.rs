//! A command of the built program that listens: `think sim`, `think serve`.

use crate::program::command;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A running server; it is stopped when this goes.
pub(crate) struct Server {
    child: Child,
    /// What it keeps; gone with the last one that uses it.
    data: Arc<Folder>,
    pub(crate) addr: String,
}

impl Server {
    /// Starts `think COMMAND` on a free port, with a store of its own.
    pub(crate) fn start(name: &str, args: &[&str]) -> Server {
        Server::start_on(name, args, Arc::new(Folder::new()))
    }

    /// As [`Server::start`], with the store of another one.
    pub(crate) fn beside(&self, name: &str, args: &[&str]) -> Server {
        Server::start_on(name, args, Arc::clone(&self.data))
    }

    fn start_on(name: &str, args: &[&str], data: Arc<Folder>) -> Server {
        let all: Vec<&str> =
            [name, "--listen", "127.0.0.1:0"].iter().chain(args).copied().collect();
        Self::run_in(command(&all), data)
    }

    /// Starts a command that listens where its configuration says.
    pub(crate) fn run(command: Command) -> Server {
        Self::run_in(command, Arc::new(Folder::new()))
    }

    fn run_in(mut command: Command, data: Arc<Folder>) -> Server {
        let command = command.env("XDG_DATA_HOME", &data.0);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self::read(child, data)
    }

    /// A command that was started by the test, with pipes for what it says.
    pub(crate) fn of(child: Child) -> Server {
        Self::read(child, Arc::new(Folder::new()))
    }

    fn read(mut child: Child, data: Arc<Folder>) -> Server {
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let addr = first.trim_end().split_once("://").map(|(_, addr)| addr);
        let addr = addr.unwrap_or_else(|| panic!("the first line is {first:?}")).to_owned();
        Server { child, data, addr }
    }

    /// Posts a JSON body with a bearer key, and gives the whole HTTP answer.
    pub(crate) fn ask(&self, path: &str, body: &str) -> String {
        self.request(
            "POST",
            path,
            "authorization: Bearer key\r\ncontent-type: application/json\r\n",
            body,
        )
    }

    /// Sends a request with these header lines, and gives the whole HTTP answer.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        let host = if headers.contains("host:") { "" } else { "host: localhost\r\n" };
        let head = format!(
            "{method} {path} HTTP/1.1\r\n{host}connection: close\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Whether it ended with success within this time, and what it said on standard error.
    pub(crate) fn ends(mut self, within: Duration) -> (bool, String) {
        let began = Instant::now();
        while began.elapsed() < within {
            if let Some(status) = self.child.try_wait().unwrap() {
                let mut said = String::new();
                self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                return (status.success(), said);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it did not end within {within:?}");
    }

    /// Stops it and gives what it said on standard error.
    pub(crate) fn stop(mut self) -> String {
        self.child.kill().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

/// A folder of its own, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("think-server-{}-{number}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Whoever never wrote anything made none.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The body of an HTTP answer, its chunks joined.
pub(crate) fn body(answer: &str) -> String {
    let (head, mut rest) = answer.split_once("\r\n\r\n").unwrap();
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return rest.to_owned();
    }
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        let (chunk, after) = after.split_at(size);
        body.push_str(chunk);
        rest = after.strip_prefix("\r\n").unwrap_or_default();
    }
    body
}
