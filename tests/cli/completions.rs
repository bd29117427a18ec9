//! Completions of a shell: values that only this machine knows.

use crate::place::Place;

/// The candidates for the last of these words, as the script of bash asks for them.
pub(crate) fn candidates(place: &Place, words: &[&str]) -> Vec<String> {
    let mut command = place.command(&[&["--", "think"], words].concat());
    for (name, value) in [
        ("THINK_COMPLETE", "bash"),
        ("_CLAP_COMPLETE_INDEX", &words.len().to_string()),
        ("_CLAP_COMPLETE_COMP_TYPE", "9"),
        ("_CLAP_COMPLETE_SPACE", "false"),
        ("_CLAP_IFS", "\n"),
    ] {
        command.env(name, value);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn models_profiles_and_conversations_are_completed() {
    let place = Place::new("completions");
    assert_eq!(candidates(&place, &["ask", "-m", "sim/kimi-k"]), ["sim/kimi-k2", "sim/kimi-k3"]);
    std::fs::create_dir_all(place.home().join("thinkthrough")).unwrap();
    let profiles = "[profiles.careful]\n[profiles.quick]\nmodel = \"sim/default\"\n";
    place.write("thinkthrough/config.toml", profiles);
    assert_eq!(candidates(&place, &["chat", "--profile", "c"]), ["careful"]);
    assert_eq!(candidates(&place, &["sessions", "show", "a"]), [""; 0]);
    assert!(!place.home().join("thinkthrough/thinkthrough.db").exists(), "it makes no store");
    place.ask(&["-c", "-m", "sim/default", "Hello"]);
    let listed = place.think(&["sessions", "list"]).out;
    let id = listed.split_whitespace().next().unwrap();
    let beginning: String = id.chars().take(3).collect();
    assert_eq!(candidates(&place, &["sessions", "show", &beginning]), [id]);
    assert_eq!(candidates(&place, &["ask", "--session", &beginning]), [id]);
    assert_eq!(candidates(&place, &["sess"]), ["sessions"]);
}

#[test]
fn each_shell_has_a_script() {
    let place = Place::new("completions-shells");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = place.think(&["completions", shell]);
        assert!(ran.code == Some(0) && ran.out.contains("THINK_COMPLETE"), "{shell}: {}", ran.out);
    }
}

#[test]
fn a_new_store_is_introduced_once_and_never_to_a_quiet_command() {
    let place = Place::new("introduced");
    let asked = |args: &[&str]| place.ask(&[args, &["-m", "sim/default", "Hello"]].concat()).err;
    assert!(!asked(&[]).contains("store"), "a single question makes none");
    let first = asked(&["-c"]);
    assert!(first.contains("the new store `~/"), "{first}");
    assert!(first.contains("keep a copy of its key `~/"), "{first}");
    assert!(!asked(&["-c"]).contains("store"));
    let quiet = Place::new("introduced-quiet");
    assert_eq!(quiet.ask(&["-q", "-c", "-m", "sim/default", "Hello"]).err, "");
}
