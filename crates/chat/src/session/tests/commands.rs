//! Commands: their changes, their messages, and their refusals.

use super::{answered, desk, desk_of, start, wire};
use crate::screen::model::Level;
use crate::session::{Effect, Ended, Hit, Keep, Kept, Message, Profile, Progress, Write, help};
use crossterm::event::{KeyCode, KeyModifiers};
use thinkthrough_core::settings::{Display, Key, Partial};
use thinkthrough_core::usage::Usage;
use thinkthrough_store::Within;

#[test]
fn table_1_5_every_form_of_the_toggle_answers_exactly() {
    for command in ["/thinking", ":thinking", ":toggle thinking", "/toggle thinking"] {
        let mut desk = desk();
        desk.line(command);
        assert_eq!(desk.said(), "Thinking blocks: hidden", "{command}");
        assert_eq!(desk.session.view().display, Display::Off);
        desk.line(command);
        assert_eq!(desk.said(), "Thinking blocks: shown", "{command}");
        assert_eq!(desk.session.view().display, Display::Show);
        assert!(desk.asked().is_empty());
    }
    let mut desk = desk();
    desk.press(KeyCode::Char('t'), KeyModifiers::CONTROL);
    assert_eq!(desk.said(), "Thinking blocks: hidden");
}

#[test]
fn b_11_a_toggle_is_for_the_session_and_only_saving_it_writes() {
    let mut desk = desk();
    desk.press(KeyCode::Char('t'), KeyModifiers::CONTROL);
    desk.line("/thinking");
    assert!(desk.written().is_empty());
    for word in ["show", "collapsed", "stream_only", "off"] {
        desk.line(&format!("/thinking {word}"));
        desk.line("/thinking save");
    }
    let written: Vec<_> = desk.written().into_iter().cloned().collect();
    let modes = written.iter().map(|write| match write {
        Write::Display(display, None) => display.as_str(),
        _ => "",
    });
    assert_eq!(modes.collect::<Vec<_>>(), ["show", "collapsed", "stream_only", "off"]);
}

#[test]
fn a_toggle_wins_over_what_the_session_or_a_profile_said() {
    let mut start = start();
    start.layers.profile = Some(("p".into(), Partial::default()));
    start.layers.profile.as_mut().unwrap().1.display = Some(Display::Collapsed);
    start.layers.session.display = Some(Display::StreamOnly);
    let mut desk = desk_of(start);
    desk.line("/thinking off");
    assert_eq!(desk.session.view().display, Display::Off);
}

#[test]
fn req_think_006_every_key_and_value_is_taken_and_echoed() {
    for key in Key::ALL {
        for word in key.allowed().split(", ") {
            let word = if word == "a positive integer" { "2048" } else { word };
            let mut desk = desk();
            let old = desk.session.layers.resolve().get(key).0;
            desk.line(&format!("/set {} {word}", key.as_str()));
            let expected = format!("{}: {old} -> {word} (session)", key.as_str());
            assert_eq!(desk.noticed(), (Level::Info, expected));
        }
    }
    for (line, key, value) in [
        ("/set thinking.context_mode keep", Key::IncludeInContext, "true"),
        ("/set show_thinking false", Key::Display, "stream_only"),
        ("/set reasoning.display=on", Key::Display, "show"),
        ("/set effort = high", Key::Effort, "high"),
    ] {
        let mut desk = desk();
        desk.line(line);
        assert_eq!(desk.session.layers.resolve().get(key).0, value, "{line}");
    }
}

#[test]
fn err_001_a_bad_value_names_everything_and_changes_nothing() {
    let mut desk = desk();
    desk.line("/set reasoning.format native");
    desk.line("/set reasoning.format xml");
    let text = "`reasoning.format` cannot be `xml`; allowed: field, native";
    assert_eq!(desk.noticed(), (Level::Error, text.to_owned()));
    assert_eq!(desk.session.layers.resolve().get(Key::Format).0, "native");
    desk.line("/effort huge");
    assert_eq!(desk.noticed().0, Level::Error);
    desk.line("/unset reasoning.nothing");
    assert!(desk.noticed().1.starts_with("`reasoning.nothing` is no setting"));
    desk.line("/thinking sometimes");
    assert!(desk.noticed().1.contains("allowed: show, collapsed, stream_only, off"));
}

#[test]
fn unset_lets_the_layer_below_count_again() {
    let mut start = start();
    start.layers.user.set("reasoning.effort", "low").unwrap();
    let mut desk = desk_of(start);
    desk.line("/set reasoning.effort high");
    desk.line("/set reasoning.format native");
    desk.line("/unset reasoning.effort");
    assert_eq!(desk.noticed().1, "reasoning.effort: high -> low (config)");
    assert_eq!(desk.session.layers.resolve().get(Key::Format).0, "native");
    desk.line("/set");
    let page = desk.page();
    assert!(page.contains("| reasoning.effort | low | config |"), "{page}");
    assert!(page.contains("| reasoning.enabled | true | built-in |"), "{page}");
}

#[test]
fn req_think_006_6_profiles_keep_everything_that_was_said() {
    let mut desk = desk();
    for (key, value) in [("effort", "high"), ("maxTokens", "4096"), ("stripFromContext", "all")] {
        desk.line(&format!("/set reasoning.{key} {value}"));
    }
    desk.line("/profile save careful");
    let written = desk.written();
    let [Write::Profile { name, settings, .. }] = written.as_slice() else { panic!("{written:?}") };
    assert_eq!(name, "careful");
    assert_eq!(settings.get(Key::MaxTokens).as_deref(), Some("4096"));
    assert_eq!(settings.get(Key::Enabled), None, "what nobody said stays unsaid");
    for (key, value) in [("effort", "low"), ("maxTokens", "1"), ("stripFromContext", "none")] {
        desk.line(&format!("/set reasoning.{key} {value}"));
    }
    desk.line("/profile load careful");
    let resolved = desk.session.layers.resolve();
    let values = [Key::Effort, Key::MaxTokens, Key::StripFromContext].map(|it| resolved.get(it).0);
    assert_eq!(values, ["high", "4096", "all"]);
    desk.line("/profile load none");
    assert_eq!(desk.noticed().1, "`none` is no profile; there are: careful");
    desk.line("/profile save a/b");
    assert_eq!(desk.noticed().0, Level::Error);
}

#[test]
fn ec_005_a_profile_counts_from_the_next_request_and_on_the_screen_at_once() {
    let mut start = start();
    let mut settings = Partial::default();
    settings.set("reasoning.display", "off").unwrap();
    settings.set("reasoning.enabled", "false").unwrap();
    start.profiles.push(Profile { name: "quiet".into(), settings, ..Profile::default() });
    let mut desk = desk_of(start);
    desk.line("first");
    desk.line("/profile load quiet");
    assert_eq!(desk.session.view().display, Display::Off);
    desk.answer("hm", "yes");
    desk.line("second");
    let asked = desk.asked();
    assert!(asked[0].settings.enabled.value && !asked[1].settings.enabled.value);
    assert_ne!(wire(&asked[0]).contains("disabled"), wire(&asked[1]).contains("disabled"));
}

#[test]
fn completion_offers_commands_keys_and_values() {
    let mut desk = desk();
    let rows = |desk: &mut super::Desk, text: &str| {
        desk.session.composer.clear();
        for char in text.chars() {
            desk.press(KeyCode::Char(char), KeyModifiers::NONE);
        }
        desk.rows()
    };
    assert_eq!(rows(&mut desk, "/th"), ["thinking", "theme"]);
    assert_eq!(rows(&mut desk, "/thinking s"), ["show", "stream_only", "save"]);
    assert_eq!(rows(&mut desk, "/set reasoning.st"), ["reasoning.stripFromContext"]);
    assert_eq!(rows(&mut desk, "/set reasoning.format "), ["field", "native"]);
    assert_eq!(rows(&mut desk, "/set thinking.context_mode k"), ["keep"]);
    assert_eq!(rows(&mut desk, ":un"), ["unset", "undo"]);
    assert!(rows(&mut desk, "what about /th").is_empty());
    rows(&mut desk, "/set reasoning.str");
    desk.press(KeyCode::Tab, KeyModifiers::NONE);
    assert_eq!(desk.session.view().composer.text, "/set reasoning.stripFromContext ");
    desk.press(KeyCode::Tab, KeyModifiers::NONE);
    assert_eq!(desk.session.view().composer.text, "/set reasoning.stripFromContext none");
}

#[test]
fn a_path_is_no_command_and_an_unknown_one_is_said() {
    let mut desk = desk();
    desk.line("/etc/passwd is a file?");
    assert_eq!(desk.asked().len(), 1);
    desk.line("/thonking");
    let nearest = "`/thonking` is no command; did you mean `/thinking`? `/help` lists them";
    assert_eq!(desk.noticed().1, nearest);
    for (line, hint) in [
        ("/mdoel x", "did you mean `/model`?"),
        ("/sesion", "did you mean `/sessions`?"),
        ("/helpme", "did you mean `/help`?"),
        ("/re-try", "did you mean `/retry`?"),
        ("/Xyz", "`/help` lists them"),
    ] {
        desk.line(line);
        assert!(desk.noticed().1.contains(hint), "{line}: {}", desk.noticed().1);
    }
    desk.line("/THINKING");
    assert_eq!(desk.said(), "Thinking blocks: hidden");
    assert_eq!(desk.asked().len(), 1);
}

/// Types a line key by key and presses Enter. Returns the text left in the composer.
fn typed(desk: &mut super::Desk, text: &str, then: &[KeyCode]) -> String {
    for char in text.chars() {
        desk.press(KeyCode::Char(char), KeyModifiers::NONE);
    }
    then.iter().for_each(|code| desk.press(*code, KeyModifiers::NONE));
    desk.press(KeyCode::Enter, KeyModifiers::NONE);
    desk.session.view().composer.text.clone()
}

#[test]
fn b_2_enter_takes_the_highlighted_entry_of_the_menu() {
    // The typed text, keys before Enter, and the text left afterwards.
    for (text, then, left) in [
        ("/", &[][..], ""),
        ("/mod", &[], ""),
        ("/exp", &[], ""),
        ("/exp", &[KeyCode::Down], "/export "),
        ("/uns", &[], "/unset "),
        ("/unset", &[], ""),
        ("/set reasoning.str", &[], "/set reasoning.stripFromContext "),
        ("/set reasoning.effort hi", &[], ""),
        ("/thinking ", &[KeyCode::Down], ""),
        ("/th", &[KeyCode::Tab], ""),
        ("/eff", &[KeyCode::Tab], ""),
    ] {
        let mut desk = desk();
        assert_eq!(typed(&mut desk, text, then), left, "{text}");
        assert!(desk.asked().is_empty(), "nothing of it is for the model: {text}");
    }
    let mut desk = desk();
    typed(&mut desk, "/th", &[]);
    assert_eq!(desk.said(), "Thinking blocks: hidden");
    typed(&mut desk, "/set reasoning.effort hi", &[]);
    assert_eq!(desk.session.layers.resolve().get(Key::Effort).0, "high");
    // Without a highlighted entry, Enter runs the line as written.
    typed(&mut desk, "/eff", &[KeyCode::Tab]);
    assert_eq!(desk.session.layers.resolve().get(Key::Effort).0, "high");
    assert!(desk.noticed().1.starts_with("reasoning.effort: high"), "{}", desk.noticed().1);
}

#[test]
fn b_2_a_slash_alone_is_never_sent() {
    for text in ["/", ":", "/ ", " /"] {
        let mut desk = desk();
        typed(&mut desk, text, &[KeyCode::Esc]);
        desk.press(KeyCode::Esc, KeyModifiers::NONE);
        desk.press(KeyCode::Enter, KeyModifiers::NONE);
        assert!(desk.asked().is_empty(), "{text:?}");
    }
    // Esc closes the menu, and Enter opens it again instead of sending anything.
    let mut desk = desk();
    desk.press(KeyCode::Char('/'), KeyModifiers::NONE);
    desk.press(KeyCode::Esc, KeyModifiers::NONE);
    assert!(desk.rows().is_empty());
    desk.press(KeyCode::Enter, KeyModifiers::NONE);
    assert!(desk.rows().len() > 20);
}

#[test]
fn help_lists_every_command_with_what_may_follow_it() {
    let text = help();
    let mut desk = desk();
    desk.press(KeyCode::Char('/'), KeyModifiers::NONE);
    let commands = desk.rows();
    assert!(commands.len() >= 20, "{commands:?}");
    for name in commands {
        let line = text.lines().find(|line| {
            line.strip_prefix(&format!("- `/{name}")).is_some_and(|it| it.starts_with(['`', ' ']))
        });
        let line = line.unwrap_or_else(|| panic!("`/{name}` is not in the help"));
        assert!(line.ends_with('.'), "it says what it does: {line}");
        // The help also lists the words that Tab offers after the command.
        let mut desk = super::desk();
        desk.tell(Message::Paste(format!("/{name} ")));
        desk.press(KeyCode::Tab, KeyModifiers::NONE);
        let words = desk.session.candidates(&format!("/{name} "));
        let listed = ["set", "unset", "profile", "budget"].contains(&name.as_str());
        for word in words.iter().filter(|_| !listed) {
            assert!(line.contains(&word.text), "{} of {line}", word.text);
        }
    }
}

#[test]
fn search_says_where_to_look() {
    let mut desk = desk();
    desk.line("/search two words --in thoughts");
    desk.line("/search one");
    desk.line("/search one --in dreams");
    let searched: Vec<_> = desk
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Keep(Keep::Search { words, within, .. }) => Some((words.as_str(), *within)),
            _ => None,
        })
        .collect();
    assert_eq!(searched, [("two words", Within::Thoughts), ("one", Within::All)]);
    assert!(desk.noticed().1.contains("allowed: thoughts, answers, all"));
}

#[test]
fn req_think_007_4_a_search_in_the_chat_finds_no_hidden_thought() {
    let mut desk = desk();
    let looks = |desk: &super::Desk| match desk.effects.last() {
        Some(Effect::Keep(Keep::Search { within, shows_thoughts, .. })) => {
            Some((*within, *shows_thoughts))
        }
        _ => None,
    };
    desk.line("/search plan");
    assert_eq!(looks(&desk), Some((Within::All, true)));
    desk.line("/set reasoning.includeInResponse false");
    // Hits of a search from before the change are filtered too.
    let hit = |text: &str, is_thought| Hit {
        id: text.to_owned(),
        title: text.to_owned(),
        is_thought,
        excerpt: text.to_owned(),
    };
    let hits = vec![hit("a secret plan", true), hit("a plan", false)];
    desk.tell(Message::Stored(Ok(Kept::Found(hits))));
    assert_eq!(desk.rows(), ["a plan"]);
    desk.press(KeyCode::Esc, KeyModifiers::NONE);
    desk.line("/search plan");
    assert_eq!(looks(&desk), Some((Within::All, false)));
    let before = desk.effects.len();
    desk.line("/search plan --in thoughts");
    let searches = |it: &Effect| matches!(it, Effect::Keep(Keep::Search { .. }));
    assert!(!desk.effects[before..].iter().any(searches));
    assert!(desk.noticed().1.contains("set it to true to search thoughts"), "{:?}", desk.noticed());
}

#[test]
fn copying_a_hidden_thought_is_refused() {
    let mut desk = desk();
    desk.line("hello");
    desk.answer("secret plan", "hi");
    desk.line("/copy thought");
    desk.line("/set reasoning.includeInResponse false");
    desk.line("/copy thought");
    desk.line("/copy");
    let copied: Vec<_> = desk
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Copy(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(copied, ["secret plan", "hi"]);
}

#[test]
fn a_model_that_cannot_be_found_changes_nothing() {
    let mut desk = desk();
    desk.line("/model nothing");
    assert!(matches!(desk.effects.last(), Some(Effect::Choose(name)) if name == "nothing"));
    desk.tell(Message::Chosen(Err("there is no such model".to_owned())));
    assert_eq!(desk.noticed().1, "there is no such model");
    assert_eq!(desk.session.view().status.model, "deepseek/deepseek-v4-pro");
}

#[test]
fn oq4_an_export_takes_the_form_that_is_said_or_that_the_name_says() {
    use crate::export::ThoughtForm;
    use crate::session::Format;
    let wanted = |line: &str| {
        let mut desk = desk();
        desk.line("one");
        desk.answer("T", "first");
        desk.line(line);
        let exports = desk.effects.iter().find_map(|effect| match effect {
            Effect::Export { format, path, thoughts, is_masked, .. } => {
                assert_eq!(*is_masked, line.contains("--mask"));
                Some((*format, path.display().to_string(), *thoughts))
            }
            _ => None,
        });
        exports.ok_or_else(|| desk.noticed().1)
    };
    let callout = Some(ThoughtForm::Callout);
    let said = |format, path: &str, thoughts| Ok((format, path.to_owned(), thoughts));
    assert_eq!(wanted("/export a b.md"), said(Format::Markdown, "a b.md", callout));
    assert_eq!(wanted("/export a.html --thoughts off"), said(Format::Html, "a.html", None));
    assert_eq!(wanted("/export --mask a.jsonl"), said(Format::Jsonl, "a.jsonl", callout));
    let details = Some(ThoughtForm::Details);
    assert_eq!(wanted("/export a.md --thoughts details"), said(Format::Markdown, "a.md", details));
    for (name, format, _) in Format::ALL {
        let line = format!("/export a.txt --format {name}");
        assert_eq!(wanted(&line), said(format, "a.txt", callout));
    }
    for (line, why) in [
        ("/export a.txt", "`.jsonl`, or add `--format FORMAT`"),
        ("/export a.md --format pdf", "allowed: md, html, jsonl"),
        ("/export a.md --thoughts bold", "allowed: callout, details, fenced, off"),
        ("/export a.md --as html", "`/export` has no option `--as`; it has `--format`"),
    ] {
        let refused = wanted(line).unwrap_err();
        assert!(refused.contains(why), "{line}: {refused}");
    }
}

#[test]
fn other_names_are_in_the_menu_once_they_are_begun() {
    let mut desk = desk();
    desk.tell(Message::Paste("/".to_owned()));
    assert!(!desk.rows().contains(&"clear".to_owned()));
    desk.tell(Message::Paste("cl".to_owned()));
    assert_eq!(desk.rows(), ["clear"]);
    desk.press(KeyCode::Enter, KeyModifiers::NONE);
    assert!(desk.effects.iter().any(|it| matches!(it, Effect::Keep(Keep::Leave))));
    desk.line("/resume");
    assert!(matches!(desk.effects.last(), Some(Effect::Keep(Keep::List))));
}

#[test]
fn status_and_cost_say_what_is_known() {
    let mut start = start();
    start.store = Some("/data/think.db".to_owned());
    let mut desk = desk_of(start);
    desk.line("/cost");
    assert_eq!(
        desk.noticed().1,
        "no price is known for this conversation; no answer has reported its tokens yet"
    );
    desk.line("/set reasoning.effort high");
    desk.line("one");
    let mut answer = answered(&desk.asked()[0].target, "T", "first");
    answer.usage = Some(Usage {
        input_tokens: Some(1_500),
        output_tokens: Some(20),
        reasoning_tokens: Some(5),
        ..Usage::default()
    });
    desk.told(Progress::Added(Box::new(answer)));
    desk.told(Progress::Done(Ended::default()));
    desk.tell(Message::Stored(Ok(Kept::Begun("abc".to_owned()))));
    desk.line("/cost");
    let tokens =
        "tokens of 1 answer: 1,500 in, 0 of them from a cache, 20 out, 5 of them reasoning";
    assert!(desk.noticed().1.ends_with(tokens), "{}", desk.noticed().1);
    desk.line("/status");
    for row in [
        "| model | `deepseek/deepseek-v4-pro` |",
        "| effort | high (session) |",
        "| conversation | one, `abc` |",
        "| messages | 2 |",
        "| folder | `/project` |",
        "| store | `/data/think.db` |",
    ] {
        assert!(desk.page().contains(row), "{row}\n{}", desk.page());
    }
}

#[test]
fn instructions_are_shown_and_changed() {
    let mut desk = desk();
    desk.line("/system");
    assert!(desk.noticed().1.starts_with("there are no instructions"));
    desk.line("/system Answer in French.");
    desk.line("one");
    assert_eq!(desk.asked()[0].contents[0].visible_text(), "Answer in French.");
    desk.answer("T", "un");
    desk.line("/system Answer in German.");
    desk.line("two");
    assert!(desk.asked()[1].contents.last().unwrap().visible_text().contains("Answer in German."));
    desk.line("/system");
    assert!(desk.noticed().1.ends_with("Answer in German."), "{}", desk.noticed().1);
}

#[test]
fn model_effort_and_thinking_have_one_key_each() {
    let mut desk = desk();
    desk.press(KeyCode::F(2), KeyModifiers::NONE);
    assert!(desk.effects.iter().any(|it| matches!(it, Effect::ListModels)));
    let mut pressed = || {
        desk.press(KeyCode::F(3), KeyModifiers::NONE);
        desk.session.view().status.effort.clone()
    };
    let efforts: Vec<Option<String>> = (0..6).map(|_| pressed()).collect();
    let efforts: Vec<Option<&str>> = efforts.iter().map(Option::as_deref).collect();
    let words = ["low", "medium", "high", "max"].map(Some);
    assert_eq!(efforts, [&words[..], &[None, Some("low")]].concat());
    // The model has no such effort; the next higher one follows.
    desk.line("/effort xhigh");
    desk.press(KeyCode::F(3), KeyModifiers::NONE);
    assert_eq!(desk.session.view().status.effort.as_deref(), Some("max"));
    desk.press(KeyCode::F(4), KeyModifiers::NONE);
    assert_eq!(desk.session.view().status.effort.as_deref(), Some("no thinking"));
    assert_eq!(desk.said(), "thinking off");
    desk.press(KeyCode::F(4), KeyModifiers::NONE);
    assert_eq!(desk.said(), "thinking on");
}
