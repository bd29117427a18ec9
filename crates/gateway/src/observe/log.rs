//! One line for each request: the model and upstream, the outcome and the times, but no text of the conversation.

use crate::observe::summary::{Summary, is_plain, line as on_one_line, plain};
use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use thinkthrough_core::decision::Counts;
use thinkthrough_json::Writer;
use thinkthrough_mask::Masker;

/// The most lines that may wait for the writer. Further lines are lost, because traffic never waits for its log.
const WAITING: usize = 4_096;
/// The time that the first line of several waits for the others.
const GATHERING: Duration = Duration::from_millis(20);

/// The form of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogForm {
    /// A JSON object a line.
    Json,
    /// For people.
    Text,
}

/// The destination of lines.
#[derive(Clone, Debug, Default)]
pub struct Log(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    form: LogForm,
    desk: Arc<Desk>,
    masker: Masker,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// The buffer between requests and the thread that writes.
#[derive(Debug, Default)]
struct Desk {
    pile: Mutex<Pile>,
    /// The first line of a pile came, or the log is closed.
    news: Condvar,
}

#[derive(Debug, Default)]
struct Pile {
    text: String,
    /// The number of lines that are waiting or being written.
    lines: usize,
    is_closed: bool,
}

impl Desk {
    fn pile(&self) -> MutexGuard<'_, Pile> {
        self.pile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there are lines, then a moment longer, so that the lines of many requests cost one change of
    /// threads and one write. `None`: the log is closed and empty.
    fn take(&self) -> Option<(String, usize)> {
        let mut pile = self.pile();
        while pile.lines == 0 {
            if pile.is_closed {
                return None;
            }
            pile = self.news.wait(pile).unwrap_or_else(PoisonError::into_inner);
        }
        if !pile.is_closed {
            let is_open = |pile: &mut Pile| !pile.is_closed;
            let waited = self.news.wait_timeout_while(pile, GATHERING, is_open);
            pile = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Some((std::mem::take(&mut pile.text), pile.lines))
    }

    fn written(&self, lines: usize) {
        let mut pile = self.pile();
        pile.lines = pile.lines.saturating_sub(lines);
    }
}

impl Log {
    /// Turns the log off.
    #[must_use]
    pub fn off() -> Self {
        Log(None)
    }

    /// Writes lines to `out`, from a thread of their own. `masker` removes secrets there, because a caller may have
    /// put one into any name.
    #[must_use]
    pub fn to(mut out: Box<dyn Write + Send>, form: LogForm, masker: &Masker) -> Self {
        let desk = Arc::new(Desk::default());
        let theirs = Arc::clone(&desk);
        let mut stream = masker.stream();
        let work = move || {
            let mut masked = Vec::new();
            while let Some((text, lines)) = theirs.take() {
                stream.push(text.as_bytes(), &mut masked);
                stream.end(&mut masked);
                // The reader of the log may be gone.
                let _ = out.write_all(&masked);
                masked.clear();
                theirs.written(lines);
            }
            let _ = out.flush();
        };
        let writer = std::thread::Builder::new().name("log".to_owned()).spawn(work).ok();
        let masker = masker.clone();
        Log(Some(Arc::new(Inner { form, desk, masker, writer: Mutex::new(writer) })))
    }

    /// Waits until every line is written. No lines are taken after it.
    pub fn close(&self) {
        let Some(inner) = &self.0 else { return };
        inner.desk.pile().is_closed = true;
        inner.desk.news.notify_one();
        let writer = inner.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // A writer that broke has no more lines to write.
            let _ = writer.join();
        }
    }

    /// Leaves a line; false if it is lost.
    pub(crate) fn line(&self, summary: &Summary) -> bool {
        let Some(inner) = &self.0 else { return true };
        let text = match inner.form {
            LogForm::Json => json(summary, &inner.masker),
            LogForm::Text => text(summary, &inner.masker),
        };
        let mut pile = inner.desk.pile();
        if pile.is_closed || pile.lines >= WAITING {
            return false;
        }
        pile.text.push_str(&text);
        pile.lines += 1;
        if pile.lines == 1 {
            inner.desk.news.notify_one();
        }
        true
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A name in a line. A plain name stays as it is, because the writing thread masks the whole line.
fn name<'a>(name: &'a str, masker: &Masker) -> Cow<'a, str> {
    if is_plain(name) { Cow::Borrowed(name) } else { Cow::Owned(plain(name, masker)) }
}

/// The numbers of the answer's header, as it has them.
fn counts(summary: &Summary) -> Vec<(&'static str, usize)> {
    if summary.id.is_empty() {
        return Vec::new();
    }
    let Counts { restored, missed, ambiguous, dropped } = summary.counts;
    let mut counts = vec![
        ("restored", restored),
        ("missed", missed),
        ("ambiguous", ambiguous),
        ("dropped", dropped),
    ];
    if summary.hops > 0 {
        counts.push(("hops", summary.hops));
    }
    counts
}

/// The upstream that gave no proper answer. Its address is for the operator, never for a caller.
fn asked_in_vain(summary: &Summary) -> Option<(&str, u16)> {
    summary.error?;
    let upstream = summary.upstream.as_ref()?;
    Some((upstream.host.as_deref()?, upstream.port?))
}

fn json(summary: &Summary, masker: &Masker) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        w.field_u64("ts", summary.at);
        w.field_str("event", "request");
        w.field_str("id", &summary.id);
        w.field_str("route", summary.route);
        let (model, provider) = (summary.model.as_str(), &*summary.provider);
        for (key, value) in
            [("tenant", summary.tenant.as_str()), ("model", model), ("provider", provider)]
        {
            if !value.is_empty() {
                w.field_str(key, &name(value, masker));
            }
        }
        w.field_u64("status", summary.status.into());
        w.field_str("outcome", summary.outcome);
        w.field_u64("head_ms", millis(summary.head));
        if let Some(first) = summary.first {
            w.field_u64("first_byte_ms", millis(first));
        }
        w.field_u64("total_ms", millis(summary.total));
        w.field_u64("bytes", summary.bytes);
        for (name, count) in counts(summary) {
            w.field_u64(name, count as u64);
        }
        for (name, count) in &summary.spent {
            w.field_u64(name, *count);
        }
        if let Some(reason) = summary.error {
            w.field_str("error", reason);
        }
        if let Some((host, port)) = asked_in_vain(summary) {
            w.field_str("upstream", &format!("{host}:{port}"));
        }
        if let Some(cause) = &summary.cause {
            w.field_str("cause", &on_one_line(cause, masker));
        }
    });
    w.finish() + "\n"
}

fn text(summary: &Summary, masker: &Masker) -> String {
    let mut line = String::with_capacity(256);
    // Writing to a string cannot fail.
    let _ = write_text(&mut line, summary, masker);
    line
}

fn write_text(line: &mut String, summary: &Summary, masker: &Masker) -> fmt::Result {
    write!(line, "{} {} {}", summary.status, summary.route, summary.outcome)?;
    let (model, provider) = (summary.model.as_str(), &*summary.provider);
    for (key, value) in
        [("model", model), ("provider", provider), ("tenant", summary.tenant.as_str())]
    {
        if !value.is_empty() {
            write!(line, " {key}={}", name(value, masker).replace(' ', "_"))?;
        }
    }
    write!(line, " {}ms {}B", millis(summary.total), summary.bytes)?;
    for (name, count) in counts(summary) {
        write!(line, " {name}={count}")?;
    }
    for (name, count) in &summary.spent {
        write!(line, " {name}={count}")?;
    }
    if let Some(reason) = summary.error {
        write!(line, " error={reason}")?;
    }
    if let Some((host, port)) = asked_in_vain(summary) {
        write!(line, " upstream={host}:{port}")?;
    }
    write!(line, " id={}", summary.id)?;
    match &summary.cause {
        Some(cause) => writeln!(line, " cause={:?}", on_one_line(cause, masker)),
        None => writeln!(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that sends on the written bytes.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn summary() -> Summary {
        let mut summary = Summary::new(7, "/v1/messages");
        summary.id = "t".to_owned();
        summary.model = "a\u{1b}[2J\nb".to_owned();
        (summary.status, summary.outcome) = (200, "completed");
        summary.counts.restored = 2;
        summary
    }

    #[test]
    fn lines_are_there_once_the_log_is_closed_and_names_cannot_break_them() {
        for (form, expected) in [
            (
                LogForm::Json,
                "{\"ts\":7,\"event\":\"request\",\"id\":\"t\",\"route\":\"/v1/messages\",\
                 \"model\":\"a [2J b\",\"status\":200,\"outcome\":\"completed\",\"head_ms\":0,\
                 \"total_ms\":0,\"bytes\":0,\"restored\":2,\"missed\":0,\"ambiguous\":0,\"dropped\":0}\n",
            ),
            (
                LogForm::Text,
                "200 /v1/messages completed model=a_[2J_b 0ms 0B restored=2 missed=0 ambiguous=0 dropped=0 id=t\n",
            ),
        ] {
            let kept = Kept::default();
            let log = Log::to(Box::new(kept.clone()), form, &masker());
            assert!(log.line(&summary()));
            log.close();
            assert_eq!(String::from_utf8(kept.0.lock().unwrap().clone()).unwrap(), expected);
            assert!(!log.line(&summary()), "nothing comes after the end");
        }
    }

    fn masker() -> Masker {
        Masker::new(thinkthrough_mask::Tiers::CERTAIN, &[7; 32])
    }

    #[test]
    fn a_secret_that_a_caller_put_into_a_name_is_in_no_line() {
        let secret = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
        let far = "x ".repeat(190);
        let names = ["", "run ", "run\n", "run\t", far.as_str()];
        for (form, name) in
            [LogForm::Json, LogForm::Text].into_iter().flat_map(|form| names.map(|it| (form, it)))
        {
            let kept = Kept::default();
            let log = Log::to(Box::new(kept.clone()), form, &masker());
            let mut summary = summary();
            summary.model = format!("{name}{secret} now");
            assert!(log.line(&summary));
            log.close();
            let line = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
            let is_shown = name == far;
            assert!(is_shown || line.contains("[masked:github-token:"), "{line}");
            assert!(!line.contains("a1B2c3D4"), "{line}");
        }
    }

    /// A writer that blocks until it is released.
    struct Stuck(std::sync::mpsc::Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_is_stuck_costs_lines_and_no_time() {
        let (go, stuck) = std::sync::mpsc::channel();
        let log = Log::to(Box::new(Stuck(stuck)), LogForm::Text, &masker());
        let lost = (0..WAITING + 10).filter(|_| !log.line(&summary())).count();
        assert_eq!(lost, 10, "those that are being written wait, too");
        drop(go);
        log.close();
    }
}
