//! A command of the built program that listens: `think sim`, `think serve`.

use crate::program::command;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a test waits for what must come; other programs may keep the machine busy meanwhile.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. It stops when this value is dropped.
pub(crate) struct Server {
    child: Child,
    /// Standard error so far.
    said: Arc<Mutex<Vec<u8>>>,
    /// The thread that reads standard error.
    ear: Option<JoinHandle<()>>,
    /// The folder of its store. Deleted with its last user.
    data: Arc<Folder>,
    pub(crate) addr: String,
}

impl Server {
    /// Starts `think COMMAND` on a free port, with a store of its own.
    pub(crate) fn start(name: &str, args: &[&str]) -> Server {
        Server::start_on(name, args, Arc::new(Folder::new()))
    }

    /// Like [`Server::start`], with the store of another one.
    pub(crate) fn beside(&self, name: &str, args: &[&str]) -> Server {
        Server::start_on(name, args, Arc::clone(&self.data))
    }

    fn start_on(name: &str, args: &[&str], data: Arc<Folder>) -> Server {
        let all: Vec<&str> =
            [name, "--listen", "127.0.0.1:0"].iter().chain(args).copied().collect();
        Self::run_in(command(&all), data)
    }

    /// Starts a command that listens at the address in its configuration.
    pub(crate) fn run(command: Command) -> Server {
        Self::run_in(command, Arc::new(Folder::new()))
    }

    /// Like [`Server::run`], but returns standard error if the command does not listen.
    pub(crate) fn try_run(command: Command) -> Result<Server, String> {
        Self::try_run_in(command, Arc::new(Folder::new()))
    }

    fn run_in(command: Command, data: Arc<Folder>) -> Server {
        Self::try_run_in(command, data).unwrap_or_else(|said| panic!("it does not listen: {said}"))
    }

    fn try_run_in(mut command: Command, data: Arc<Folder>) -> Result<Server, String> {
        let command = command.env("XDG_DATA_HOME", &data.0);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self::try_read(child, data)
    }

    /// Takes over a command that the test started with pipes for its output.
    pub(crate) fn of(child: Child) -> Server {
        Self::try_read(child, Arc::new(Folder::new()))
            .unwrap_or_else(|said| panic!("it does not listen: {said}"))
    }

    fn try_read(mut child: Child, data: Arc<Folder>) -> Result<Server, String> {
        let said = Arc::new(Mutex::new(Vec::new()));
        let (mut err, kept) = (child.stderr.take().unwrap(), Arc::clone(&said));
        let ear = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = err.read(&mut piece) {
                kept.lock().unwrap().extend_from_slice(&piece[..count]);
            }
        });
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let mut server = Server { child, said, ear: Some(ear), data, addr: String::new() };
        let Some((_, addr)) = first.trim_end().split_once("://") else {
            return Err(format!("the first line is {first:?}; {}", server.stop()));
        };
        addr.clone_into(&mut server.addr);
        Ok(server)
    }

    /// Standard error so far.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().unwrap()).into_owned()
    }

    /// Posts a JSON body with a bearer key. Returns the whole HTTP answer.
    pub(crate) fn ask(&self, path: &str, body: &str) -> String {
        self.request(
            "POST",
            path,
            "authorization: Bearer key\r\ncontent-type: application/json\r\n",
            body,
        )
    }

    /// Sends a request with these header lines. Returns the whole HTTP answer.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        let host = if headers.contains("host:") { "" } else { "host: localhost\r\n" };
        let head = format!(
            "{method} {path} HTTP/1.1\r\n{host}connection: close\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        );
        // A server that refuses early may close the connection before the request is sent. Its
        // answer still arrives.
        drop(stream.write_all((head + body).as_bytes()));
        let mut answer = Vec::new();
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
        }
        String::from_utf8(answer).unwrap()
    }

    /// Like [`Server::ask`], for a gateway whose store may be late.
    pub(crate) fn ask_in_time(&self, path: &str, body: &str) -> String {
        let headers = "authorization: Bearer key\r\ncontent-type: application/json\r\n";
        self.request_in_time("POST", path, headers, body)
    }

    /// Like [`Server::request`], but repeats the request as long as the gateway reports that its
    /// store was late. The gateway does not wait for the store, so that such an answer may lack
    /// restored thoughts, or its own record may come too late for the next one.
    pub(crate) fn request_in_time(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> String {
        let began = Instant::now();
        loop {
            let before = self.late();
            let answer = self.request(method, path, headers, body);
            if self.late() == before {
                return answer;
            }
            assert!(began.elapsed() < PATIENCE, "the store is always late");
        }
    }

    /// How many answers ended before their record could be seen, or went without a look-up.
    fn late(&self) -> u64 {
        let metrics = self.request("GET", "/metrics", "", "");
        ["thinkthrough_unsaved_total ", "thinkthrough_lookups_failed_total "]
            .iter()
            .map(|name| metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap())
            .map(|count| count.trim().parse::<u64>().unwrap())
            .sum()
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

    /// Limits the size of its files to this many bytes, as a full disk does. `None` removes the
    /// limit.
    pub(crate) fn limit_files(&self, bytes: Option<u64>) {
        let id = rustix::process::Pid::from_child(&self.child);
        let limit = rustix::process::Rlimit { current: bytes, maximum: None };
        rustix::process::prlimit(Some(id), rustix::process::Resource::Fsize, limit).unwrap();
    }

    /// Whether it ended with success within this time, and its standard error.
    pub(crate) fn ends(mut self, within: Duration) -> (bool, String) {
        let began = Instant::now();
        while began.elapsed() < within {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status.success(), self.stop());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it did not end within {within:?}");
    }

    /// Stops it. Returns standard error.
    pub(crate) fn stop(mut self) -> String {
        // It may be gone already.
        drop(self.child.kill());
        self.ear.take().into_iter().for_each(|ear| ear.join().unwrap());
        self.said()
    }
}

/// A folder of its own, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("think-server-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        // A killed process with the same number may have left it.
        drop(std::fs::remove_dir_all(&folder));
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The folder does not exist if the command wrote nothing.
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
