//! The terminal's background: the client asks for it at the start, and filters the answer out of the keys.
//!
//! A program that waits for the answer before it reads keys loses the keys typed meanwhile, and a late answer would
//! be typed into the composer. So the client does not wait: the answer arrives as keys, `Alt-]` and then its letters,
//! and the listener filters them out. Keys that turn out not to be an answer go on, in their order.

use crate::screen::Rgb;
use crate::screen::theme::Depth;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

/// The question, OSC 11 of xterm. It ends with BEL, because some terminals cannot end their answer otherwise.
const QUESTION: &str = "\u{1b}]11;?\u{7}";
/// How long keys are held back that may begin the answer. The terminal sends all bytes of the answer at once.
const PATIENCE: Duration = Duration::from_millis(50);

/// Asks the terminal for its background, if the client uses colours and the terminal can answer.
pub(super) fn ask(env: fn(&str) -> Option<String>) -> Listener {
    let term = env("TERM").unwrap_or_default();
    let is_deaf = matches!(term.as_str(), "" | "dumb" | "linux");
    let asks = !is_deaf && Depth::of(env) != Depth::Without;
    let mut out = io::stdout();
    let has_asked = asks && out.write_all(QUESTION.as_bytes()).and_then(|()| out.flush()).is_ok();
    Listener { is_waiting: has_asked, ..Listener::default() }
}

/// Filters the answer out of the keys.
#[derive(Debug, Default)]
pub(super) struct Listener {
    /// The question was sent and is not answered yet.
    is_waiting: bool,
    /// Keys that may begin the answer, and their bytes.
    held: Vec<Event>,
    said: String,
    since: Option<Instant>,
}

/// The result of an event.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Heard {
    /// The events of the user, in order.
    pub(super) events: Vec<Event>,
    /// The background.
    pub(super) background: Option<Rgb>,
}

impl Listener {
    /// Takes an event, and returns the events that do not belong to an answer.
    pub(super) fn hear(&mut self, event: Event, now: Instant) -> Heard {
        let Event::Key(key) = &event else {
            // A paste is typed text. Other events do not affect the keys.
            let mut events =
                if matches!(event, Event::Paste(_)) { self.give_up() } else { Vec::new() };
            events.push(event);
            return Heard { events, background: None };
        };
        if !self.is_waiting {
            return Heard { events: vec![event], background: None };
        }
        let before = self.said.len();
        push_said(*key, &mut self.said);
        match read(&self.said) {
            Reading::Answer(background) => {
                *self = Listener::default();
                Heard { events: Vec::new(), background: Some(background) }
            }
            Reading::Beginning => {
                self.since.get_or_insert(now);
                self.held.push(event);
                Heard::default()
            }
            Reading::Other if before == 0 => {
                self.said.clear();
                Heard { events: vec![event], background: None }
            }
            Reading::Other => {
                let mut events = self.give_up();
                // The key may begin the answer itself.
                let heard = self.hear(event, now);
                events.extend(heard.events);
                Heard { events, background: heard.background }
            }
        }
    }

    /// The time at which the keys held back are released.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.since.map(|since| since + PATIENCE)
    }

    /// Releases the keys held back, because they are not an answer.
    pub(super) fn give_up(&mut self) -> Vec<Event> {
        self.said.clear();
        self.since = None;
        std::mem::take(&mut self.held)
    }
}

#[derive(Debug, PartialEq)]
enum Reading {
    Answer(Rgb),
    Beginning,
    Other,
}

/// Appends the bytes that the terminal sent for a key.
fn push_said(key: KeyEvent, said: &mut String) {
    let modifiers = key.modifiers - KeyModifiers::SHIFT;
    match key.code {
        KeyCode::Esc if modifiers.is_empty() => said.push('\u{1b}'),
        KeyCode::Char(char) if modifiers.is_empty() => said.push(char),
        KeyCode::Char(char) if modifiers == KeyModifiers::ALT => said.extend(['\u{1b}', char]),
        KeyCode::Char('g') if modifiers == KeyModifiers::CONTROL => said.push('\u{7}'),
        // No answer contains another key.
        _ => said.push('\0'),
    }
}

/// Reads `ESC ] 11 ; rgb: RRRR / GGGG / BBBB` and BEL or `ESC \`; some terminals say `rgba:` and a fourth number.
fn read(said: &str) -> Reading {
    const HEADS: [&str; 2] = ["\u{1b}]11;rgb:", "\u{1b}]11;rgba:"];
    let Some(rest) = HEADS.iter().find_map(|head| said.strip_prefix(head)) else {
        let begins = HEADS.iter().any(|head| head.starts_with(said));
        return if begins { Reading::Beginning } else { Reading::Other };
    };
    let (numbers, end) = match rest.find(['\u{7}', '\u{1b}']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let parts: Vec<&str> = numbers.split('/').collect();
    let is_number = |part: &&str| part.len() <= 4 && part.bytes().all(|it| it.is_ascii_hexdigit());
    if parts.len() > 4 || !parts.iter().all(is_number) {
        return Reading::Other;
    }
    match (end, parts.as_slice()) {
        ("" | "\u{1b}", _) => Reading::Beginning,
        ("\u{7}" | "\u{1b}\\", [r, g, b] | [r, g, b, _]) => match (level(r), level(g), level(b)) {
            (Some(r), Some(g), Some(b)) => Reading::Answer(Rgb(r, g, b)),
            _ => Reading::Other,
        },
        _ => Reading::Other,
    }
}

/// Parses one to four hexadecimal digits as a fraction of their largest value.
fn level(digits: &str) -> Option<u8> {
    let value = u32::from_str_radix(digits, 16).ok()?;
    let most = 16_u32.checked_pow(u32::try_from(digits.len()).ok()?)?.checked_sub(1)?;
    u8::try_from((value * 255 + most / 2).checked_div(most)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{Heard, Listener, PATIENCE, Reading, read};
    use crate::screen::Rgb;
    use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
    use std::time::Instant;

    fn listener() -> Listener {
        Listener { is_waiting: true, ..Listener::default() }
    }

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(code, modifiers))
    }

    fn letters(text: &str) -> Vec<Event> {
        let modifiers =
            |c: char| if c.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
        text.chars().map(|c| key(KeyCode::Char(c), modifiers(c))).collect()
    }

    /// The key events of an answer's bytes.
    fn answer(numbers: &str, end: Event) -> Vec<Event> {
        let mut keys = vec![key(KeyCode::Char(']'), KeyModifiers::ALT)];
        keys.extend(letters(&format!("11;rgb:{numbers}")));
        keys.push(end);
        keys
    }

    fn bel() -> Event {
        key(KeyCode::Char('g'), KeyModifiers::CONTROL)
    }

    fn hear_all(listener: &mut Listener, events: &[Event]) -> (Vec<Event>, Option<Rgb>) {
        let (mut out, mut background) = (Vec::new(), None);
        for event in events {
            let Heard { events, background: heard } = listener.hear(event.clone(), Instant::now());
            out.extend(events);
            background = background.or(heard);
        }
        (out, background)
    }

    #[test]
    fn an_answer_is_taken_out_of_what_is_typed_around_it() {
        let string_end = key(KeyCode::Char('\\'), KeyModifiers::ALT);
        for end in [bel(), string_end] {
            let mut typed = letters("before");
            typed.extend(answer("fafa/fafa/F8F8", end));
            typed.extend(letters("after"));
            let mut listener = listener();
            let (out, background) = hear_all(&mut listener, &typed);
            assert_eq!(out, letters("beforeafter"));
            assert_eq!(background, Some(Rgb(0xfa, 0xfa, 0xf8)));
            assert_eq!(listener.deadline(), None);
        }
    }

    #[test]
    fn an_answer_that_is_cut_behind_its_escape_is_heard_too() {
        let mut typed = vec![key(KeyCode::Esc, KeyModifiers::NONE)];
        typed.extend(letters("]11;rgb:00/00/00"));
        typed.push(key(KeyCode::Esc, KeyModifiers::NONE));
        typed.extend(letters("\\x"));
        assert_eq!(hear_all(&mut listener(), &typed), (letters("x"), Some(Rgb(0, 0, 0))));
    }

    #[test]
    fn keys_that_are_no_answer_come_out_whole_and_in_order() {
        let alt = |c| key(KeyCode::Char(c), KeyModifiers::ALT);
        let esc = || key(KeyCode::Esc, KeyModifiers::NONE);
        for typed in [
            [vec![alt(']')], letters("11;rgx")].concat(),
            [vec![alt(']')], letters("11;rgb:12345/0/0"), vec![bel()]].concat(),
            [vec![alt(']')], letters("11;rgb:1/2"), vec![bel()]].concat(),
            vec![esc(), esc(), key(KeyCode::Char('c'), KeyModifiers::CONTROL)],
            vec![alt(']'), Event::Paste("]11;rgb:0/0/0".into())],
            letters("]11;rgb:00/00/00"),
        ] {
            let mut listener = listener();
            let (mut out, background) = hear_all(&mut listener, &typed);
            assert_eq!(background, None);
            out.extend(listener.give_up());
            assert_eq!(out, typed);
        }
    }

    #[test]
    fn a_beginning_is_held_no_longer_than_it_takes() {
        let mut listener = listener();
        let now = Instant::now();
        let escape = key(KeyCode::Esc, KeyModifiers::NONE);
        assert_eq!(listener.hear(escape.clone(), now), Heard::default());
        // A resize is neither held back nor an end of the answer.
        assert_eq!(listener.hear(Event::Resize(1, 2), now).events, [Event::Resize(1, 2)]);
        assert_eq!(listener.deadline(), Some(now + PATIENCE));
        assert_eq!(listener.give_up(), [escape]);
        assert_eq!(listener.deadline(), None);
    }

    #[test]
    fn after_the_answer_every_key_is_the_users() {
        let mut listener = listener();
        hear_all(&mut listener, &answer("0/0/0", bel()));
        let again = answer("0/0/0", bel());
        assert_eq!(hear_all(&mut listener, &again), (again, None));
        // A listener that did not ask holds no key back.
        let mut silent = Listener::default();
        assert_eq!(hear_all(&mut silent, &answer("0/0/0", bel())).1, None);
    }

    #[test]
    fn numbers_of_any_length_are_shares_of_the_whole() {
        for (said, rgb) in [
            ("\u{1b}]11;rgb:f/8/0\u{7}", Rgb(255, 136, 0)),
            ("\u{1b}]11;rgb:ffff/8080/0000\u{7}", Rgb(255, 128, 0)),
            ("\u{1b}]11;rgba:ff/80/00/ff\u{7}", Rgb(255, 128, 0)),
        ] {
            assert_eq!(read(said), Reading::Answer(rgb), "{said:?}");
        }
        assert_eq!(read("\u{1b}]11;rgb://\u{7}"), Reading::Other);
    }
}
