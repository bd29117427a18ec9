//! Exceptions from the rules, as data: lines of `place: what: reason`.

/// The exceptions of one rule, and which of them were needed.
pub(crate) struct Exceptions {
    file: &'static str,
    rows: Vec<(String, String, bool)>,
}

impl Exceptions {
    /// Reads lines of `place: what: reason`. Skips empty lines and lines that begin with `#`.
    pub(crate) fn read(file: &'static str, text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let row = |line: &str| {
            let parts: Vec<&str> = line.splitn(3, ": ").collect();
            let [place, what, reason] = parts[..] else {
                panic!("{file}: not `place: what: reason`: {line}")
            };
            assert!(reason.len() > 10, "{file}: an exception has a reason: {line}");
            (place.to_owned(), what.to_owned(), false)
        };
        Self { file, rows: lines.map(row).collect() }
    }

    /// Whether this is an exception.
    pub(crate) fn allow(&mut self, place: &str, what: &str) -> bool {
        let row = self.rows.iter_mut().find(|row| row.0 == place && row.1 == what);
        row.map(|row| row.2 = true).is_some()
    }

    /// Exceptions that are no longer needed. They are findings, too.
    pub(crate) fn stale(&self) -> impl Iterator<Item = String> {
        let stale = self.rows.iter().filter(|row| !row.2);
        stale.map(|(place, what, _)| {
            format!("{}: `{place}: {what}` is not needed any more", self.file)
        })
    }
}

#[test]
fn exceptions_are_read_and_stale_ones_found() {
    let text = "# a comment\n\nsrc/a.rs: xai: the reason that it has\nsrc/b.rs: xai: another good reason\n";
    let mut exceptions = Exceptions::read("x.txt", text);
    assert!(exceptions.allow("src/a.rs", "xai"));
    assert!(!exceptions.allow("src/a.rs", "groq") && !exceptions.allow("src/c.rs", "xai"));
    let stale: Vec<String> = exceptions.stale().collect();
    assert_eq!(stale, ["x.txt: `src/b.rs: xai` is not needed any more"]);
}
