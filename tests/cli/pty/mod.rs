//! The built program in a pseudo-terminal: tests send keys and read cells.

mod ask;
mod bare;
mod budget;
mod commands;
mod context;
mod covered;
mod display;
mod endings;
mod erase;
mod figures;
mod found;
mod hostile;
mod key;
mod keys;
mod kills;
mod mcp;
mod models;
mod mouse;
pub(crate) mod paced;
mod picture;
mod prompts;
mod session;
mod typing;
mod utility;
mod whole;
mod window;
mod words;

use crate::place::Place;
use crate::scripted::Scripted;
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use vt100::{Callbacks, Cell, Color, Parser, Screen};

/// A question ignores keys for this long, because the user cannot have read it yet.
const CALM: Duration = Duration::from_millis(800);

/// How long a test waits before it fails. It is long because other tests run at the same time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const ENTER: &str = "\r";
pub(crate) const ESC: &str = "\u{1b}";
pub(crate) const CTRL_C: &str = "\u{3}";
pub(crate) const CTRL_D: &str = "\u{4}";
pub(crate) const CTRL_L: &str = "\u{c}";
pub(crate) const CTRL_T: &str = "\u{14}";

/// The terminal's replies, and the control sequences that `vt100` does not store.
pub(crate) struct Manners {
    /// The reply to a query of the background colour.
    background: Option<&'static str>,
    /// The number of queries of the background colour.
    asked: usize,
    /// Keyboard flags that were pushed and not popped.
    keyboard: i32,
    /// The last text for the clipboard, in base64.
    copied: Vec<u8>,
    replies: Vec<u8>,
}

impl Callbacks for Manners {
    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        if params == [b"11".as_slice(), b"?"] {
            self.asked += 1;
            if let Some(colour) = self.background {
                self.replies.extend_from_slice(format!("\u{1b}]11;rgb:{colour}\u{7}").as_bytes());
            }
        }
    }

    fn copy_to_clipboard(&mut self, _: &mut Screen, _: &[u8], data: &[u8]) {
        self.copied = data.to_vec();
    }

    fn unhandled_csi(
        &mut self,
        _: &mut Screen,
        first: Option<u8>,
        _: Option<u8>,
        _: &[&[u16]],
        last: char,
    ) {
        match (first, last) {
            (Some(b'>'), 'u') => self.keyboard += 1,
            (Some(b'<'), 'u') => self.keyboard -= 1,
            _ => {}
        }
    }
}

pub(crate) struct Begin<'a> {
    pub(crate) size: (u16, u16),
    pub(crate) background: Option<&'static str>,
    pub(crate) env: &'a [(&'a str, &'a str)],
}

impl Default for Begin<'_> {
    fn default() -> Self {
        Begin { size: (80, 24), background: Some("1414/1414/1818"), env: &[] }
    }
}

pub(crate) struct Pty {
    master: Box<dyn MasterPty + Send>,
    keys: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
    parser: Arc<Mutex<Parser<Manners>>>,
    /// All bytes that the program sent to the terminal.
    sent: Arc<Mutex<Vec<u8>>>,
    is_closed: Arc<AtomicBool>,
    /// Reads until the terminal is closed.
    reader: Option<JoinHandle<()>>,
}

impl Pty {
    /// Starts `think chat` with these arguments, and waits until it accepts keys.
    #[track_caller]
    pub(crate) fn chat(place: &Place, args: &[&str]) -> Self {
        let pty = Self::begin(place, args, &Begin::default());
        pty.see("ask, or type");
        pty
    }

    /// Starts `think chat` with a model whose answers the test writes.
    #[track_caller]
    pub(crate) fn scripted(place: &Place, script: &Scripted) -> Self {
        let config = script.path("config.toml").display().to_string();
        let begin = Begin { env: &[("ODD_NAME", "a-key")], ..Begin::default() };
        let pty = Self::begin(place, &["--config", &config], &begin);
        pty.see("ask, or type");
        pty
    }

    /// Starts `think chat` without waiting for its screen.
    pub(crate) fn begin(place: &Place, args: &[&str], begin: &Begin<'_>) -> Self {
        Self::run(place, &[&["chat"], args].concat(), begin)
    }

    /// Starts any command of `think`.
    pub(crate) fn run(place: &Place, args: &[&str], begin: &Begin<'_>) -> Self {
        Self::start(place, env!("CARGO_BIN_EXE_think"), args, begin)
    }

    /// Starts another program in the same environment.
    pub(crate) fn start(place: &Place, program: &str, args: &[&str], begin: &Begin<'_>) -> Self {
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(place.folder());
        command.env_clear();
        for (name, value) in [
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
            ("PATH", "/usr/bin:/bin"),
            ("SHELL", "/bin/sh"),
        ] {
            command.env(name, value);
        }
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(name, place.home());
        }
        for (name, value) in begin.env {
            command.env(name, value);
        }
        let (cols, rows) = begin.size;
        let size = PtySize { rows, cols, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        // An open handle to the slave would keep the terminal open after the program has ended.
        drop(pair.slave);
        let manners = Manners {
            background: begin.background,
            asked: 0,
            keyboard: 0,
            copied: Vec::new(),
            replies: Vec::new(),
        };
        let parser = Parser::new_with_callbacks(some(rows), some(cols), 0, manners);
        let parser = Arc::new(Mutex::new(parser));
        let keys = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let mut output = pair.master.try_clone_reader().unwrap();
        let (sees, answers) = (Arc::clone(&parser), Arc::clone(&keys));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&sent);
        let is_closed = Arc::new(AtomicBool::new(false));
        let closes = Arc::clone(&is_closed);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                let replies = {
                    let mut parser = sees.lock().unwrap();
                    hears.lock().unwrap().extend_from_slice(&buffer[..count]);
                    parser.process(&buffer[..count]);
                    std::mem::take(&mut parser.callbacks_mut().replies)
                };
                if closes.load(Ordering::Acquire) {
                    return;
                }
                // The program may have ended.
                drop(answers.lock().unwrap().write_all(&replies));
            }
        });
        let (master, reader) = (pair.master, Some(reader));
        Pty { master, keys, child, parser, sent, is_closed, reader }
    }

    pub(crate) fn press(&self, bytes: &str) {
        let mut keys = self.keys.lock().unwrap();
        keys.write_all(bytes.as_bytes()).and_then(|()| keys.flush()).unwrap();
    }

    pub(crate) fn line(&self, text: &str) {
        self.press(text);
        self.press(ENTER);
    }

    /// Answers a tool's question as soon as it accepts keys. A letter counts only if no other key
    /// follows it.
    #[track_caller]
    pub(crate) fn answer(&self, key: &str) {
        self.see("always in this session");
        std::thread::sleep(CALM);
        self.press(key);
    }

    /// Clicks with the left button on the first cell of a text.
    #[track_caller]
    pub(crate) fn click(&self, text: &str) {
        self.see(text);
        let (row, column) = self.look(|screen| find(screen, text)).unwrap();
        let at = format!("{};{}", column + 1, row + 1);
        self.press(&format!("\u{1b}[<0;{at}M\u{1b}[<0;{at}m"));
    }

    fn parser(&self) -> MutexGuard<'_, Parser<Manners>> {
        self.parser.lock().unwrap()
    }

    pub(crate) fn text(&self) -> String {
        self.parser().screen().contents()
    }

    /// All bytes so far that the program sent to the terminal.
    pub(crate) fn sent(&self) -> Vec<u8> {
        self.sent.lock().unwrap().clone()
    }

    /// The number of queries of the background colour.
    pub(crate) fn asked_for_background(&self) -> usize {
        self.parser().callbacks().asked
    }

    /// The last text for the clipboard, in base64.
    pub(crate) fn copied(&self) -> String {
        String::from_utf8(self.parser().callbacks().copied.clone()).unwrap()
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&Screen) -> T) -> T {
        look(self.parser().screen())
    }

    /// Waits until the screen satisfies a condition. `what` describes it in the failure message.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn(&Screen) -> bool) {
        let began = Instant::now();
        while !self.look(&is_so) {
            assert!(began.elapsed() < PATIENCE, "{what} was waited for in vain:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[track_caller]
    pub(crate) fn see(&self, text: &str) {
        self.wait(text, |screen| screen.contents().contains(text));
    }

    #[track_caller]
    pub(crate) fn see_no(&self, text: &str) {
        self.wait(&format!("no {text}"), |screen| !screen.contents().contains(text));
    }

    /// The first cell of a text on the screen.
    #[track_caller]
    pub(crate) fn cell(&self, text: &str) -> Cell {
        self.look(|screen| {
            let (row, column) = find(screen, text)
                .unwrap_or_else(|| panic!("{text} is not on the screen:\n{}", screen.contents()));
            screen.cell(row, column).unwrap().clone()
        })
    }

    /// Simulates another program that writes to the same terminal.
    pub(crate) fn scribble(&self, text: &str) {
        self.parser().process(text.as_bytes());
    }

    pub(crate) fn resize(&self, (cols, rows): (u16, u16)) {
        self.parser().set_size(some(rows), some(cols));
        self.master.resize(PtySize { rows, cols, ..PtySize::default() }).unwrap();
    }

    /// Closes the terminal, like the button of its window.
    pub(crate) fn close(&mut self) {
        self.is_closed.store(true, Ordering::Release);
        // Resizing gives the reader something to read, so that it wakes up and drops its handle.
        self.resize((90, 30));
        self.reader.take().into_iter().for_each(|reader| reader.join().unwrap());
        let other = native_pty_system().openpty(PtySize::default()).unwrap();
        *self.keys.lock().unwrap() = other.master.take_writer().unwrap();
        self.master = other.master;
    }

    /// Sends a signal, as another process would.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.process_id().unwrap().to_string();
        let sent = std::process::Command::new("kill").args([name, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// The peak memory of the program so far, in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn most_memory(&self) -> u64 {
        let id = self.child.process_id().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Waits for the end of the program and of its output.
    #[track_caller]
    pub(crate) fn end(&mut self) -> ExitStatus {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < PATIENCE, "it does not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(2));
        };
        self.reader.take().into_iter().for_each(|reader| reader.join().unwrap());
        status
    }

    /// Checks that the program has restored the terminal: screen, cursor, mouse, keyboard and line
    /// editing.
    #[track_caller]
    pub(crate) fn is_given_back(&self) {
        let parser = self.parser();
        let screen = parser.screen();
        assert!(!screen.alternate_screen(), "the other screen is left");
        assert!(!screen.hide_cursor(), "the cursor is shown");
        assert!(!screen.bracketed_paste(), "pastes are plain");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        assert_eq!((screen.fgcolor(), screen.bgcolor()), (Color::Default, Color::Default));
        assert!(!screen.bold() && !screen.italic() && !screen.inverse());
        assert_eq!(parser.callbacks().keyboard, 0, "keyboard flags");
        let left = screen.contents();
        let is_clean = left.trim().is_empty() || left.contains("\ncontinue with: think chat");
        assert!(is_clean, "only the way to continue is left on the user's screen:\n{left}");
        assert!(self.shows_typing(), "the terminal edits lines");
    }

    /// Whether the terminal edits lines and shows typed letters.
    pub(crate) fn shows_typing(&self) -> bool {
        let modes = format!("{:?}", self.master.get_termios().unwrap().local_flags);
        modes.contains("ICANON") && modes.contains("ECHO")
    }

    /// Quits with Ctrl-D.
    #[track_caller]
    pub(crate) fn leave(&mut self) {
        self.press(CTRL_D);
        assert!(self.end().success());
        self.is_given_back();
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // The program may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The position of a text on the screen.
pub(crate) fn find(screen: &Screen, text: &str) -> Option<(u16, u16)> {
    let (_, columns) = screen.size();
    screen.rows(0, columns.get()).zip(0..).find_map(|(line, row)| {
        let before = line.split_once(text)?.0;
        Some((row, u16::try_from(before.chars().count()).unwrap()))
    })
}

fn some(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}
