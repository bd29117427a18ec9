//! A whole session: start, tools, thoughts that are shown and hidden, another size, an interrupt,
//! going on later.

use super::paced::Paced;
use super::{Begin, CTRL_C, CTRL_L, CTRL_T, ESC, Pty, find};
use crate::place::Place;
use vt100::{Cell, Color, Screen};

/// The luminance of a colour by WCAG 2.1.
fn luminance(colour: Color, own: (u8, u8, u8)) -> f64 {
    let (r, g, b) = match colour {
        Color::Rgb(r, g, b) => (r, g, b),
        Color::Default => own,
        Color::Idx(index) => panic!("a colour of the palette: {index}"),
    };
    let part = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
}

/// A cell of a thought: italic, on a ground of its own that can be read.
#[track_caller]
pub(super) fn is_thought(cell: &Cell, own: (u8, u8, u8)) {
    assert!(cell.italic(), "italic");
    let (ground, around) = (luminance(cell.bgcolor(), own), luminance(Color::Default, own));
    if around < 0.2 {
        assert!(ground > around, "lighter on dark: {:?}", cell.bgcolor());
    } else {
        assert!(ground < around, "darker on light: {:?}", cell.bgcolor());
    }
    let letters = luminance(cell.fgcolor(), own);
    let contrast = (letters.max(ground) + 0.05) / (letters.min(ground) + 0.05);
    assert!(contrast >= 4.5, "{contrast}");
}

fn is_plain(cell: &Cell) -> bool {
    !cell.italic() && cell.bgcolor() == Color::Default
}

pub(super) const DARK: (u8, u8, u8) = (0x14, 0x14, 0x18);

#[test]
fn req_think_007_1_to_007_3_thoughts_are_italic_and_shaded_by_the_terminals_ground() {
    for (said, own) in [("1414/1414/1818", DARK), ("fafa/fafa/f8f8", (0xfa, 0xfa, 0xf8))] {
        let place = Place::new(&format!("shade-{}", own.0));
        let begin = Begin { background: Some(said), ..Begin::default() };
        let mut pty = Pty::begin(&place, &["-m", "sim/default"], &begin);
        pty.see("Hello.");
        pty.line("What is in this folder?");
        pty.see("here is what the tools really said");
        pty.see("Thought for");
        is_thought(&pty.cell("Thought for"), own);
        is_thought(&pty.cell("The user says:"), own);
        assert!(is_plain(&pty.cell("here is what the tools")), "the answer is not shaded");
        pty.leave();
    }
}

#[test]
fn without_colour_a_thought_is_italic_beside_a_bar() {
    let place = Place::new("no-colour");
    let begin = Begin { env: &[("NO_COLOR", "1")], ..Begin::default() };
    let mut pty = Pty::begin(&place, &["-m", "sim/default"], &begin);
    pty.see("ask, or type");
    pty.line("What is in this folder?");
    pty.see("Thought for");
    let cell = pty.cell("The user says:");
    assert!(cell.italic() && cell.bgcolor() == Color::Default && cell.fgcolor() == Color::Default);
    let (row, _) = pty.look(|screen| find(screen, "The user says:")).unwrap();
    let bar = pty.look(|screen| screen.cell(row, 0).unwrap().contents().to_owned());
    assert_eq!(bar, "│");
    assert_eq!(pty.asked_for_background(), 0, "nobody needs to know");
    pty.leave();
}

#[test]
fn a_first_conversation_with_tools_works_without_a_key() {
    let place = Place::new("first");
    let mut pty = Pty::chat(&place, &["-m", "sim/default"]);
    pty.see("simulated");
    pty.see("/help");
    pty.line("What is in this folder?");
    pty.see("✓ list_directory");
    pty.line("Read needle.txt.");
    pty.see("✓ read_file");
    pty.see("the needle is blue");
    // A tool that may change something asks first. Here the answer is no.
    pty.line("Run the shell command `echo hi > made.txt`.");
    pty.answer("n");
    pty.see("⊘ shell");
    pty.see("› ");
    assert!(!place.folder().join("made.txt").exists());
    pty.leave();
}

#[test]
fn q2_phase1_thoughts_are_toggled_before_during_and_after_the_stream_and_oq2_the_choice_is_remembered()
 {
    let place = Place::new("toggle");
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.see("Hello.");
    // Before: hidden, so a live line shows label, time and tokens, and no text.
    pty.line("/thinking");
    pty.see("Thinking blocks: hidden");
    pty.line("one");
    paced.asked(1);
    paced.think("a first deep thought");
    pty.see("Thinking for");
    pty.see("tokens");
    assert!(!pty.text().contains("a first deep thought"));
    // During: the text so far appears at once.
    pty.press(CTRL_T);
    pty.see("a first deep thought");
    pty.see("Thinking blocks: shown");
    paced.think(" and more of it");
    pty.see("a first deep thought and more of it");
    pty.press(CTRL_T);
    pty.see_no("a first deep thought");
    paced.say("the answer to one");
    paced.end();
    pty.see("the answer to one");
    pty.see_no("esc stops");
    assert!(!pty.text().contains("Thought for"), "a hidden thought leaves no line");
    // After: the past follows.
    pty.line(":toggle thinking");
    pty.see("Thinking blocks: shown");
    pty.see("a first deep thought and more of it");
    is_thought(&pty.cell("a first deep"), DARK);
    pty.line(":thinking");
    pty.see("Thinking blocks: hidden");
    pty.see_no("a first deep thought");
    // The configuration file changes only when the user saves.
    let kept = || std::fs::read_to_string(&config).unwrap();
    assert!(!kept().contains("display"), "{}", kept());
    pty.line("/thinking save");
    pty.see("is off in");
    pty.leave();
    assert!(kept().contains("display = \"off\""), "{}", kept());
    let mut pty = Pty::chat(&place, &["--config", &config, "--continue"]);
    pty.see("the answer to one");
    assert!(!pty.text().contains("a first deep thought"), "the choice is remembered");
    pty.press(CTRL_T);
    pty.see("a first deep thought");
    pty.leave();
}

#[test]
fn an_interrupt_keeps_the_partial_thought_marks_it_and_lets_the_user_steer() {
    let place = Place::new("interrupt");
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.line("why?");
    paced.asked(1);
    paced.think("on the wrong track");
    pty.see("on the wrong track");
    pty.press(ESC);
    pty.see("(broken off)");
    pty.see("interrupted");
    pty.see_no("esc stops");
    pty.line("think of the sea instead");
    let body = paced.asked(2).to_string();
    assert!(body.contains("think of the sea instead"), "{body}");
    paced.think("the sea, then");
    paced.say("salt");
    paced.end();
    pty.see("salt");
    pty.see_no("esc stops");
    pty.leave();
    // Going on later, everything is there, and the mark too.
    let mut pty = Pty::chat(&place, &["--config", &config, "--continue"]);
    for text in ["why?", "on the wrong track", "(broken off)", "think of the sea", "salt"] {
        pty.see(text);
    }
    pty.line("and then?");
    let body = paced.asked(3).to_string();
    assert!(body.contains("the sea, then") && body.contains("and then?"), "{body}");
    paced.say("foam");
    paced.end();
    pty.see("foam");
    pty.leave();
}

#[test]
fn another_size_shows_the_same_conversation() {
    let place = Place::new("sizes");
    let mut pty = Pty::chat(&place, &["-m", "sim/default"]);
    pty.line("What is in this folder?");
    pty.see("list_directory gave");
    pty.see_no("esc stops");
    let edges = |screen: &Screen| {
        let (rows, columns) = screen.size();
        // The box of the composer reaches both edges, and the status line is the last row.
        let row = |at: u16| screen.rows(0, columns.get()).nth(usize::from(at)).unwrap();
        row(rows.get() - 2).trim_end().ends_with('╯') && row(rows.get() - 1).contains("sim/default")
    };
    for size in [(120, 40), (40, 12), (200, 60), (12, 5), (80, 24)] {
        pty.resize(size);
        if size.0 >= 40 {
            pty.wait(&format!("{size:?}"), |screen| edges(screen));
        }
    }
    pty.see("list_directory gave");
    // Sizes that follow each other faster than frames.
    for step in 0..200_u16 {
        pty.resize((20 + step % 100, 6 + step % 40));
    }
    pty.resize((80, 24));
    pty.wait("80x24", |screen| edges(screen));
    pty.press("still here");
    pty.see("still here");
    // Something else wrote on the screen; Ctrl-L draws everything afresh.
    pty.scribble("\u{1b}[2;1Hscribble");
    assert!(pty.text().contains("scribble"));
    pty.press(CTRL_L);
    pty.see_no("scribble");
    pty.see("still here");
    pty.press(CTRL_C);
    pty.see_no("still here");
    pty.leave();
}

#[test]
fn settings_show_old_and_new_and_a_bad_value_says_what_is_allowed() {
    let place = Place::new("set");
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.line("/set reasoning.includeInContext false");
    pty.see("reasoning.includeInContext: auto -> false");
    pty.line("/set reasoning.format xml");
    pty.see("allowed:");
    pty.line("one");
    paced.asked(1);
    paced.think("a thought to leave out");
    paced.say("first");
    paced.end();
    pty.see("first");
    pty.see_no("esc stops");
    pty.line("two");
    assert!(!paced.asked(2).to_string().contains("a thought to leave out"));
    // Said while the answer comes: it counts for the next request.
    pty.line("/unset reasoning.includeInContext");
    pty.see("the answer under way");
    paced.say("second");
    paced.end();
    pty.see("second");
    pty.see_no("esc stops");
    pty.line("three");
    assert!(paced.asked(3).to_string().contains("a thought to leave out"));
    paced.say("third");
    paced.end();
    pty.see("third");
    // The setting also hides thoughts on the screen.
    assert!(pty.text().contains("a thought to leave out"));
    pty.line("/set reasoning.includeInResponse false");
    pty.see_no("a thought to leave out");
    for said in ["Thinking blocks: hidden", "Thinking blocks: shown"] {
        pty.press(CTRL_T);
        pty.see(said);
        assert!(!pty.text().contains("a thought to leave out"), "{}", pty.text());
    }
    pty.leave();
}

#[test]
fn the_configuration_holds_in_chat_prices_limits_servers_and_the_threshold() {
    let place = Place::new("configured");
    let paced = Paced::start();
    let config = paced.config().replace("paced/m", "priced")
        + "limits = { requests_per_minute = 1 }\n\
           [models.priced]\nprovider = \"paced\"\nmodel = \"m\"\nprice = { input = 2, output = 10 }\n\
           [chat]\ncompress_at = 55\n[mcp.ghost]\ncommand = [\"/nowhere/at-all\"]\n";
    let config = place.write("own.toml", &config);
    let mut pty = Pty::chat(&place, &["--config", &config]);
    // The screen reports a server that does not start. Everything else works.
    pty.see("ghost");
    assert!(!pty.text().contains('$'), "what is not known is not 0");
    pty.line("one");
    paced.asked(1);
    paced.say("first");
    paced.count(100_000, 20_000);
    paced.end();
    pty.see("$0.40");
    pty.see_no("esc stops");
    pty.line("/compress at never");
    pty.see("compression: at 55 % -> never");
    pty.line("two");
    pty.see("the limit of 1 requests per minute is reached");
    pty.press(ESC);
    pty.see("interrupted");
    // Up recalls the messages of this session.
    pty.press("\u{1b}[A");
    pty.see("› two");
    pty.press("\u{1b}[A\u{1b}[A");
    pty.see("› one");
    pty.press(CTRL_C);
    pty.leave();
}
