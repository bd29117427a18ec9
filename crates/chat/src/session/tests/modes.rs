//! `/plan`, `/theme`, `/init`, `/undo` and the user's own commands; the effort behind an answer.

use super::{desk, desk_of, start};
use crate::own_commands::OwnCommand;
use crate::screen::model::{Body, Level, ThoughtState};
use crate::screen::theme::Background;
use crate::session::{Effect, Ended, Keep, Kept, Message, Progress};
use thinkthrough_core::content::{Content, Speaker};

fn last_asked(desk: &super::Desk) -> String {
    let asked = desk.asked();
    asked.last().and_then(|it| it.contents.last()).map(Content::visible_text).unwrap_or_default()
}

#[test]
fn plan_mode_is_said_and_shown_until_it_ends() {
    let mut desk = desk();
    for (line, is_on) in
        [("/plan", true), ("/plan off", false), ("/plan on", true), ("/plan", false)]
    {
        desk.line(line);
        assert!(matches!(desk.effects.pop(), Some(Effect::Plan(on)) if on == is_on), "{line}");
        assert_eq!(desk.session.view().status.is_planning, is_on, "{line}");
        assert!(desk.noticed().1.starts_with("plan mode"), "{line}");
    }
    desk.line("/plan b");
    assert_eq!(
        desk.noticed(),
        (Level::Error, "`/plan b` is nothing; there are on, off".to_owned())
    );
}

#[test]
fn a_theme_is_chosen_or_left_to_the_terminal() {
    let mut desk = desk();
    for (line, wanted) in [
        ("/theme dark", Some(Background::Dark)),
        ("/theme light", Some(Background::Light)),
        ("/theme auto", None),
    ] {
        desk.line(line);
        assert!(matches!(desk.effects.pop(), Some(Effect::Theme(it)) if it == wanted), "{line}");
    }
    desk.line("/theme");
    assert!(matches!(desk.effects.pop(), Some(Effect::OtherTheme)));
    desk.line("/theme blue");
    assert_eq!(desk.noticed().0, Level::Error);
}

#[test]
fn own_commands_send_their_text_and_are_listed() {
    let own = |name: &str, text: &str| OwnCommand { name: name.into(), text: text.into() };
    let commands = vec![own("review", "# Review\nLook at $ARGUMENTS."), own("help", "mine")];
    let mut desk = desk_of(super::Start { commands, ..start() });
    desk.line("/review the last commit");
    assert_eq!(last_asked(&desk), "# Review\nLook at the last commit.");
    desk.told(Progress::Done(Ended::default()));
    desk.line("/help");
    // A command of the program is not replaced.
    assert!(
        desk.page().contains("## Your own commands\n\n- `/review`: Review\n"),
        "{}",
        desk.page()
    );
    desk.press(crossterm::event::KeyCode::Esc, crossterm::event::KeyModifiers::NONE);
    desk.tell(Message::Paste("/rev".to_owned()));
    assert_eq!(desk.rows(), ["review"]);
}

#[test]
fn init_asks_for_a_file_of_instructions() {
    let mut desk = desk();
    desk.line("/init");
    assert!(last_asked(&desk).contains("write `AGENTS.md`"), "{}", last_asked(&desk));
}

#[test]
fn undo_takes_back_the_last_question_and_the_files_of_its_answers() {
    let mut desk = desk();
    desk.line("/undo");
    assert_eq!(desk.noticed().1, "there is no question to take back yet");
    desk.line("first");
    desk.tell(Message::Stored(Ok(Kept::Begun("abc".to_owned()))));
    desk.answer("Hm.", "One.");
    desk.line("second");
    desk.answer("Hm.", "Two.");
    desk.line("/retry");
    desk.answer("Hm.", "Three.");
    let runs: Vec<u64> = desk.asked().iter().map(|question| question.run).collect();
    desk.effects.clear();
    desk.line("/undo");
    let forked = |it: &Effect| matches!(it, Effect::Keep(Keep::Fork(2)));
    let undone = |it: &Effect| matches!(it, Effect::UndoFiles(of) if *of == runs[1..]);
    assert!(
        desk.effects.iter().any(forked) && desk.effects.iter().any(undone),
        "{:?}",
        desk.effects
    );
    assert_eq!(desk.session.view().composer.text, "second");
    assert_eq!(desk.session.conversation().contents().len(), 2);
}

#[test]
fn an_answer_without_a_thought_shows_its_effort_when_it_comes_and_later() {
    let effort = Some("high".to_owned());
    let answer = Content { effort, ..Content::text(Speaker::Ai, "Yes.") };
    let mut desk = desk();
    desk.line("So?");
    desk.told(Progress::Outgoing { warnings: Vec::new() });
    desk.told(Progress::TextGrows(0, "Yes.".to_owned()));
    desk.told(Progress::Added(Box::new(answer)));
    desk.told(Progress::Done(Ended::default()));
    let shown = |desk: &super::Desk| {
        let bodies: Vec<_> = desk.session.view().transcript.iter().map(|it| it.1.clone()).collect();
        let [.., Body::Answer(_), Body::Thought(thought)] = bodies.as_slice() else {
            panic!("{bodies:?}")
        };
        (thought.state, thought.effort.clone())
    };
    let wanted = (ThoughtState::Absent, Some("high".to_owned()));
    assert_eq!(shown(&desk), wanted);
    desk.line("/fork");
    assert_eq!(shown(&desk), wanted);
}
