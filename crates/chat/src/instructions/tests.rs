use super::{InstructionFile, Instructions, own_text, with_instructions, without_changes};
use crate::attachment::named;
use thinkthrough_core::content::{Content, Speaker};

fn own(text: &str) -> Instructions {
    Instructions { own: Some(text.to_owned()), ..Instructions::default() }
}

fn file(path: &str, text: &str) -> InstructionFile {
    InstructionFile { path: path.to_owned(), text: text.to_owned() }
}

fn all(files: &[InstructionFile], date: &str) -> Instructions {
    Instructions {
        own: Some("be brief".to_owned()),
        usual: None,
        files: Some(files.to_vec()),
        folder: Some("/project".to_owned()),
        date: Some(date.to_owned()),
    }
}

/// The texts of a conversation with these instructions and questions.
fn said(turns: &[(Instructions, &str)]) -> Vec<String> {
    let mut all: Vec<Content> = Vec::new();
    for (instructions, question) in turns {
        let question = Content::text(Speaker::Human, *question);
        let added = with_instructions(&all, instructions, question);
        all.extend(added);
    }
    all.iter().map(Content::visible_text).collect()
}

#[test]
fn instructions_begin_a_conversation_and_a_change_is_said_once() {
    let (brief, rhyme, none) = (own("be brief"), own("rhyme"), Instructions::default());
    let begun = said(&[(brief.clone(), "a"), (brief.clone(), "b"), (none.clone(), "c")]);
    assert_eq!(begun, ["be brief", "a", "b", "c"]);
    let told = "Instructions for this conversation from now on:\n\nrhyme\n\n(End of the changed instructions.)\n\nb";
    let changed = said(&[(brief, "a"), (rhyme.clone(), "b"), (rhyme.clone(), "c")]);
    assert_eq!(changed, ["be brief", "a", told, "c"]);
    assert_eq!(said(&[(none, "a"), (rhyme, "b")]), ["a", told]);
    assert_eq!(said(&[(own(" "), "a")]), ["a"]);
}

#[test]
fn each_part_is_said_again_only_if_it_has_changed() {
    let agents = file("/project/AGENTS.md", "# Rules\n```\ncode\n```\n");
    let begun = all(std::slice::from_ref(&agents), "2026-11-29");
    let text = "be brief\n\nInstructions from 1 file:\n\n`/project/AGENTS.md`:\n````md\n# Rules\n```\ncode\n```\n````\
        \n\nWorking folder: /project\n\nToday's date: 2026-11-29";
    assert_eq!(begun.text().as_deref(), Some(text));
    let next_day = all(std::slice::from_ref(&agents), "2026-11-30");
    let moved = Instructions { folder: Some("/other".to_owned()), ..all(&[], "2026-12-01") };
    let rhyme = Instructions { own: Some("rhyme".to_owned()), ..moved.clone() };
    let new_file = Instructions { files: Some(vec![file("/b.md", "b")]), ..rhyme.clone() };
    let off = Instructions::default();
    let turns = [
        (begun.clone(), "1"),
        (begun, "2"),
        (next_day.clone(), "3"),
        (next_day, "4"),
        (moved.clone(), "5"),
        (moved, "6"),
        (off, "7"),
        (rhyme, "8"),
        (new_file.clone(), "9"),
        (new_file, "10"),
    ];
    let expected = [
        text,
        "1",
        "2",
        "Today's date: 2026-11-30\n\n(End of the changed instructions.)\n\n3",
        "4",
        "Today's date: 2026-12-01\n\nWorking folder: /other\n\nInstructions from files: none from now on.\n\n\
         (End of the changed instructions.)\n\n5",
        "6",
        "7",
        "Instructions for this conversation from now on:\n\nrhyme\n\n(End of the changed instructions.)\n\n8",
        "Instructions from 1 file:\n\n`/b.md`:\n```md\nb\n```\n\n(End of the changed instructions.)\n\n9",
        "10",
    ];
    let said = said(&turns);
    assert_eq!(said, expected);
    let plain: Vec<&str> = said.iter().skip(1).map(|text| without_changes(text)).collect();
    assert_eq!(plain, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
}

#[test]
fn a_part_behind_changed_files_is_found() {
    let start = all(&[], "2026-11-29");
    let both = Instructions {
        own: Some("rhyme".to_owned()),
        ..all(&[file("/a.md", "a"), file("/b.md", "b\n")], "2026-11-29")
    };
    let said = said(&[(start, "1"), (both.clone(), "2"), (both, "3")]);
    assert_eq!(said[0], "be brief\n\nWorking folder: /project\n\nToday's date: 2026-11-29");
    assert!(said[2].starts_with("Instructions from 2 files:\n\n`/a.md`"), "{}", said[2]);
    assert!(
        said[2].ends_with("from now on:\n\nrhyme\n\n(End of the changed instructions.)\n\n2"),
        "{}",
        said[2]
    );
    assert_eq!(said[3], "3");
}

#[test]
fn the_own_text_of_a_conversation_is_shown_without_the_other_parts() {
    for (instructions, expected) in [
        (own("be brief"), Some("be brief")),
        (all(&[file("/a.md", "a")], "2026-11-29"), Some("be brief")),
        (Instructions { own: None, ..all(&[], "2026-11-29") }, None),
    ] {
        let question = Content::text(Speaker::Human, "a");
        let begun = with_instructions(&[], &instructions, question);
        assert_eq!(own_text(&begun).as_deref(), expected);
    }
}

#[test]
fn a_part_that_became_shorter_is_said_again() {
    let (a, b) = (file("/a.md", "a"), file("/b.md", "b"));
    let both = all(&[a.clone(), b.clone()], "2026-11-29");
    let one = all(std::slice::from_ref(&a), "2026-11-29");
    let told = "Instructions from 1 file:\n\n`/a.md`:\n```md\na\n```\n\n(End of the changed instructions.)\n\n2";
    assert_eq!(said(&[(both.clone(), "1"), (one.clone(), "2"), (one, "3")])[2..], [told, "3"]);
    let (long, short) = (own("be brief\n\nrhyme"), own("be brief"));
    let told = "Instructions for this conversation from now on:\n\nbe brief\n\n(End of the changed instructions.)\n\n2";
    assert_eq!(said(&[(long, "1"), (short.clone(), "2"), (short, "3")])[2..], [told, "3"]);
    let start = all(&[], "2026-11-29");
    let again = said(&[(start, "1"), (both.clone(), "2"), (both, "3")]);
    assert_eq!(again[3], "3");
}

#[test]
fn the_users_own_words_are_no_changes() {
    let output = named("$ ls", "", "a.md");
    for words in [
        "Working folder: of what?\n\nTell me.".to_owned(),
        "Today's date: unknown\n\nGuess it.".to_owned(),
        format!("{output}\n\nexplain"),
        output.clone(),
    ] {
        assert_eq!(without_changes(&words), words);
        let new = all(&[file("/b.md", "b")], "2026-11-30");
        let said = said(&[(all(&[], "2026-11-29"), "1"), (new, &words)]);
        assert_eq!(without_changes(&said[2]), words, "{}", said[2]);
    }
    let odd = Instructions {
        own: Some("Say this:\n\nToday's date: unknown\n\nand end.".to_owned()),
        ..all(&[file("/b.md", "b")], "2026-11-30")
    };
    assert_eq!(said(&[(odd.clone(), "1"), (odd, "2")])[2], "2");
}

#[test]
fn a_usual_text_does_not_replace_the_own_text_of_a_conversation() {
    let usual = Instructions { usual: Some("be kind".to_owned()), ..Instructions::default() };
    let chosen = Instructions { own: Some("rhyme".to_owned()), ..usual.clone() };
    assert_eq!(said(&[(usual.clone(), "1"), (usual.clone(), "2")]), ["be kind", "1", "2"]);
    assert_eq!(said(&[(chosen.clone(), "1"), (usual.clone(), "2")]), ["rhyme", "1", "2"]);
    let later = said(&[(usual.clone(), "1"), (chosen.clone(), "2"), (usual.clone(), "3")]);
    assert!(later[2].contains("rhyme") && later[3] == "3", "{later:?}");
    let none = Instructions::default();
    let first = said(&[(none.clone(), "1"), (usual.clone(), "2")]);
    assert!(first[1].contains("be kind"), "{first:?}");
    let mut of_profile = usual;
    of_profile.choose_profile(None);
    assert!(said(&[(chosen.clone(), "1"), (of_profile, "2")])[2].contains("be kind"));
    let mut without = none;
    without.choose_profile(None);
    let told = "Instructions for this conversation: none from now on.\n\n(End of the changed instructions.)\n\n2";
    assert_eq!(said(&[(chosen, "1"), (without.clone(), "2"), (without, "3")])[2..], [told, "3"]);
}
