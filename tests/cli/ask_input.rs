//! The question of `think ask`: the words of the command line, then standard input.

use crate::place::Place;
use crate::server::PATIENCE;
use crate::upstream::{Upstream, chat};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

struct Desk {
    place: Place,
    upstream: Upstream,
    config: String,
}

impl Desk {
    fn new(name: &str) -> Self {
        let place = Place::new(name);
        let upstream = Upstream::start(vec![chat("", "fine", None)]);
        let provider = format!(
            "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
            upstream.url
        );
        let config = place.write("config.toml", &provider);
        Desk { place, upstream, config }
    }

    fn args<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        let all = ["ask", "--config", &self.config, "-m", "own/m", "--tools", "off"];
        [&all[..], words].concat()
    }

    fn question(&self) -> String {
        self.upstream.last()["messages"][0]["content"].as_str().unwrap().to_owned()
    }
}

#[test]
fn what_is_piped_in_follows_the_prompt_and_a_dash_stands_anywhere() {
    let desk = Desk::new("piped");
    for (words, piped, asked) in [
        (&["Summarise this:"][..], "the text\n", "Summarise this:\n\nthe text\n"),
        (&["Summarise", "-"], "the text\n", "Summarise\n\nthe text\n"),
        (&["-", "Summarise", "it"], "the text", "Summarise it\n\nthe text"),
        (&["-"], "the text\n", "the text\n"),
        (&[], "the text\n", "the text\n"),
        (&["Summarise:"], "", "Summarise:"),
        (&["Summarise:", "-"], "", "Summarise:"),
        (&["Summarise: x-y"], "", "Summarise: x-y"),
    ] {
        let ran = desk.place.piped(&desk.args(words), piped.as_bytes());
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.err);
        assert_eq!(desk.question(), asked, "{words:?}");
    }
}

#[test]
fn a_file_is_read_and_what_holds_nothing_is_not_waited_for() {
    let desk = Desk::new("file");
    let text = desk.place.write("text", "from a file\n");
    for (from, asked) in [(text.as_str(), "Sum up:\n\nfrom a file\n"), ("/dev/null", "Sum up:")] {
        let mut command = desk.place.command(&desk.args(&["Sum up:"]));
        let status = command.stdin(File::open(from).unwrap()).output().unwrap().status;
        assert_eq!((status.code(), desk.question().as_str()), (Some(0), asked), "{from}");
    }
    // Standard input is closed.
    let line = format!(
        "exec {} ask --config {} -m own/m --tools off closed <&-",
        env!("CARGO_BIN_EXE_think"),
        desk.config
    );
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &line]).env("HOME", desk.place.home());
    assert_eq!(shell.output().unwrap().status.code(), Some(0));
    assert_eq!(desk.question(), "closed");
}

#[test]
fn nothing_is_asked_without_a_question_or_with_bytes_that_are_no_text() {
    let desk = Desk::new("no-text");
    for (words, piped, code, why) in [
        (&[][..], &b""[..], 2, "there is no question"),
        (&["-"], b" \n", 2, "there is no question"),
        (&["Sum up:"], b"ab\xffcd", 1, "byte 2 is not UTF-8"),
    ] {
        let ran = desk.place.piped(&desk.args(words), piped);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.err);
        assert!(ran.err.contains(why) && ran.out.is_empty(), "{}", ran.err);
    }
    assert!(desk.upstream.bodies().is_empty());
}

#[test]
fn a_pipe_that_does_not_end_is_waited_for_and_spoken_of() {
    let desk = Desk::new("endless");
    let mut command = desk.place.command(&desk.args(&["Sum up:"]));
    let began = Instant::now();
    let mut child =
        command.stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    let waited = "still reading standard input, which has not ended; `-n` leaves it out\n";
    assert_eq!(said, waited);
    assert!(began.elapsed() >= Duration::from_secs(2) && began.elapsed() < PATIENCE);
    assert!(desk.upstream.bodies().is_empty(), "nothing is left out because it comes late");
    stdin.write_all(b"late").unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(desk.question(), "Sum up:\n\nlate");
}
