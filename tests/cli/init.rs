//! `think init`: a first configuration.

use crate::place::Place;
use crate::program::Ran;
use crate::pty::{Begin, CTRL_C, ENTER, Pty};
use crate::upstream::{Upstream, messages};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

const MODEL: &str = "anthropic/claude-sonnet-4-5";

/// Runs `think init` with these arguments, a key and an address in the environment.
fn init(place: &Place, url: &str, args: &[&str], key: &str) -> Ran {
    let mut command = place.command(&[&["init"], args].concat());
    command.env("ANTHROPIC_BASE_URL", url).stdin(Stdio::null());
    if !key.is_empty() {
        command.env("ANTHROPIC_API_KEY", key);
    }
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn written(place: &Place) -> Option<String> {
    fs::read_to_string(place.home().join("thinkthrough/config.toml")).ok()
}

#[test]
fn a_script_writes_a_configuration_that_works_and_keeps_the_key_in_its_variable() {
    let place = Place::new("init-script");
    let upstream = Upstream::start(vec![messages()]);
    let words = ["--provider", "anthropic", "--model", "claude-sonnet-4-5", "--yes"];
    let ran = init(&place, &upstream.url, &words, "the-secret");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(upstream.bodies().len(), 1, "one small request");
    let text = written(&place).unwrap();
    assert_eq!(
        text,
        format!(
            "default_model = \"{MODEL}\"\n\n[providers.anthropic]\napi_key = {{ env = \"ANTHROPIC_API_KEY\" }}\n"
        )
    );
    assert!(ran.out.contains("the key stays in `ANTHROPIC_API_KEY`"), "{}", ran.out);
    assert!(ran.out.ends_with("next: think chat\n"), "{}", ran.out);
    let folder = place.home().join("thinkthrough");
    let mode = |path: &str| fs::metadata(folder.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("config.toml")), (0o700, 0o600));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing of the test is left");
    // A second run changes what it must, and nothing else.
    fs::write(folder.join("config.toml"), format!("# mine\n{text}[chat]\nmouse = false\n"))
        .unwrap();
    let ran =
        init(&place, &upstream.url, &["--model", "other", "--no-test", "--yes"], "the-secret");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let again = written(&place).unwrap();
    assert!(again.starts_with("# mine\ndefault_model = \"anthropic/other\"\n"), "{again}");
    assert!(again.ends_with("[chat]\nmouse = false\n"), "{again}");
    assert!(!again.contains("the-secret") && !ran.out.contains("the-secret"));
}

#[test]
fn a_key_from_standard_input_goes_into_a_file_of_its_own() {
    let place = Place::new("init-key");
    let words = ["init", "--provider", "anthropic", "--key-stdin", "--no-test", "--yes"];
    let ran = place.piped(&words, b"the-secret\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = written(&place).unwrap();
    assert!(text.contains("api_key = { file = \"anthropic.key\" }"), "{text}");
    let key = place.home().join("thinkthrough/anthropic.key");
    assert_eq!(fs::read_to_string(&key).unwrap(), "the-secret");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let check = place.think(&["config", "check"]);
    assert_eq!(check.code, Some(0), "{}", check.out);
    let refused = place.piped(&words, b"two words\n");
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("is no key") && !refused.err.contains("two words"));
}

#[test]
fn the_keys_and_the_address_of_a_configuration_stay() {
    let place = Place::new("init-kept");
    let upstream = Upstream::start(vec![messages()]);
    let folder = place.home().join("it's here");
    fs::create_dir(&folder).unwrap();
    let config = folder.join("config.toml");
    let path = config.to_str().unwrap();
    let keys = "api_keys = [\"one-secret\", \"two-secret\"]\n";
    let url = &upstream.url;
    fs::write(&config, format!("[providers.anthropic]\nbase_url = \"{url}\"\n{keys}")).unwrap();
    let words = ["--provider", "anthropic", "--model", "m", "--yes", "--config", path];
    let ran = init(&place, &upstream.url, &words, "another-secret");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains(keys) && !text.contains("api_key ="), "{text}");
    assert!(ran.out.contains("`--key-stdin` replaces it"), "{}", ran.out);
    assert!(ran.out.contains(r"it'\''s here"), "{}", ran.out);
    // A key file that others could read becomes private with its new key.
    let key = folder.join("anthropic.key");
    fs::write(&key, "old").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let words = [&["init", "--key-stdin", "--no-test"], &words[..]].concat();
    let ran = place.piped(&words, b"the-secret\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let address =
        "[providers.openai-compatible]\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key = \"k\"\n";
    fs::write(&config, address).unwrap();
    let words =
        ["--provider", "openai-compatible", "--model", "m", "--no-test", "--yes", "--config", path];
    let ran = init(&place, &upstream.url, &words, "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        fs::read_to_string(&config).unwrap().contains("default_model = \"openai-compatible/m\"")
    );
}

#[test]
fn a_key_under_test_is_on_no_disk() {
    let place = Place::new("init-memory");
    fs::create_dir(place.home().join("etc")).unwrap();
    let upstream = Upstream::start(vec![messages()]);
    let config = place.write(
        "etc/config.toml",
        &format!("[providers.anthropic]\nbase_url = \"{}\"\n", upstream.url),
    );
    let words = [
        "init",
        "--provider",
        "anthropic",
        "--model",
        "m",
        "--key-stdin",
        "--yes",
        "--config",
        &config,
    ];
    let ran = place.piped(&words, b"the-secret\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(upstream.bodies().len(), 1);
    let folder = std::path::Path::new(&config).parent().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["anthropic.key", "config.toml"]);
}

#[test]
fn what_does_not_work_is_not_written() {
    let place = Place::new("init-refused");
    let yes = ["--provider", "anthropic", "--yes"];
    let refused = init(&place, "http://127.0.0.1:9", &yes, "the-secret");
    assert_eq!(refused.code, Some(1), "{}", refused.out);
    assert!(refused.err.contains("nothing was written"), "{}", refused.err);
    let keyless = init(&place, "http://127.0.0.1:9", &yes, "");
    assert!(keyless.err.contains("set `ANTHROPIC_API_KEY`"), "{}", keyless.err);
    let nobody = init(&place, "http://127.0.0.1:9", &["--provider", "anthropic"], "k");
    assert_eq!(nobody.code, Some(2));
    let unknown = init(&place, "http://127.0.0.1:9", &["--provider", "nope", "--yes"], "k");
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
    let placeless = ["--provider", "openai-compatible", "--yes"];
    let placeless = init(&place, "http://127.0.0.1:9", &placeless, "k");
    assert!(placeless.err.contains("has no address of its own"), "{}", placeless.err);
    assert_eq!(written(&place), None);
    assert!(!place.home().join("thinkthrough/anthropic.key").exists());
}

#[test]
fn a_user_chooses_from_a_list_and_a_file_that_is_there_is_not_changed_unasked() {
    let place = Place::new("init-asked");
    let upstream = Upstream::start(vec![messages()]);
    let env = [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", upstream.url.as_str())];
    let begin = Begin { env: &env, ..Begin::default() };
    let mut pty = Pty::run(&place, &["init"], &begin);
    pty.see("1  anthropic    `ANTHROPIC_API_KEY` is set");
    pty.see("Provider, by number or name [anthropic]:");
    pty.line("1");
    pty.see("Model [");
    pty.line("claude-sonnet-4-5");
    pty.see("next: think chat");
    assert!(pty.end().success());
    let text = written(&place).unwrap();
    let mut pty = Pty::run(&place, &["init", "--provider", "anthropic"], &begin);
    pty.see("Model [");
    pty.press(ENTER);
    pty.see("is there. Change its `default_model`");
    pty.press(ENTER);
    assert!(!pty.end().success());
    assert!(pty.text().contains("nothing was changed"), "{}", pty.text());
    assert_eq!(written(&place).unwrap(), text);
    let typed = Begin { env: &[], ..Begin::default() };
    let words = ["init", "--provider", "openai", "--model", "m", "--no-test"];
    let mut pty = Pty::run(&place, &words, &typed);
    pty.see("Key for openai");
    pty.line("typed-secret");
    pty.see("is there. Change");
    assert!(!pty.text().contains("typed-secret"), "{}", pty.text());
    pty.line("y");
    pty.see("only you may read");
    assert!(pty.end().success());
    let key = place.home().join("thinkthrough/openai.key");
    assert_eq!(fs::read_to_string(key).unwrap(), "typed-secret");
}

#[test]
fn ctrl_c_changes_nothing_and_gives_the_terminal_back() {
    let place = Place::new("init-left");
    let words = ["init", "--provider", "openai", "--model", "m", "--no-test"];
    let questions = [(&["init"][..], "Provider, by number"), (&words, "Key for openai")];
    for (args, question) in questions {
        let mut pty = Pty::run(&place, args, &Begin::default());
        pty.see(question);
        pty.press("typed");
        pty.press(CTRL_C);
        assert!(!pty.end().success(), "{question}");
        assert!(pty.shows_typing(), "{question}");
        assert_eq!(written(&place), None, "{question}");
        assert!(!place.home().join("thinkthrough/openai.key").exists(), "{question}");
    }
}
