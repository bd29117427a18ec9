//! `think connect` sets up clients for the gateway, and undoes its changes.

use crate::place::Place;
use crate::program::Ran;
use crate::serve_config::serve;
use crate::server::Server;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A home with a gateway, in which clients are set up.
struct Home {
    place: Place,
    gateway: Server,
}

impl Home {
    fn new(name: &str, config: &str) -> Self {
        let place = Place::new(name);
        let gateway = serve(&place, config);
        Home { place, gateway }
    }

    fn url(&self) -> String {
        format!("http://{}", self.gateway.addr)
    }

    fn connect(&self, args: &[&str]) -> Ran {
        let url = self.url();
        self.place.think(&[&["connect"], args, &["--gateway", &url]].concat())
    }

    fn undo(&self, client: &str) -> Ran {
        self.place.think(&["connect", client, "--undo"])
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.home().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.file(name).parent().unwrap()).unwrap();
        fs::write(self.file(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// All entries of a folder, without the files of the gateway and the commands.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| !["here", "config.toml", "thinkthrough"].contains(&name.as_str()));
    names.sort();
    names
}

const CLAUDE: &str = ".claude/settings.json";
const CODEX: &str = ".codex/config.toml";
const OPENCODE: &str = "opencode/opencode.json";

#[test]
fn a_client_without_settings_gets_a_file_and_loses_it_again() {
    let home = Home::new("connect-new", "[server]\nkeyless = true\n");
    let before = names(home.place.home());
    for (client, file) in [("claude-code", CLAUDE), ("codex", CODEX), ("opencode", OPENCODE)] {
        let ran = home.connect(&[client]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let shown = home.file(file).display().to_string();
        assert!(ran.out.contains(&shown) && ran.out.contains("--undo"), "{}", ran.out);
        assert!(home.read(file).contains(&home.url()), "{}", home.read(file));
        let again = home.connect(&[client]);
        assert_eq!((again.code, again.out), (Some(0), ran.out));
        let undone = home.undo(client);
        assert_eq!(undone.code, Some(0), "{}", undone.err);
        assert_eq!(names(home.place.home()), before, "{client}");
        assert!(!home.file("thinkthrough/connect").exists());
        let nothing = home.undo(client);
        assert_eq!(nothing.code, Some(0));
        assert!(nothing.out.contains("changed nothing"), "{}", nothing.out);
    }
}

#[test]
fn settings_of_others_stay_byte_for_byte() {
    let home = Home::new("connect-foreign", "[server]\nkeyless = true\n");
    let claude = "{\n\t\"permissions\": {\"allow\": [\"Bash(ls)\"]},\n\t\"env\": {\n\t\t\"FOO\": \"1\"\n\t},\n\t\"odd\":1.50\n}";
    let codex = "# mine\nsandbox_mode = \"read-only\" # best\n\n[mcp_servers.a]\ncommand = 'x'\n\n[odd]\nn = 0x10";
    let opencode = "{\n  // mine\n  \"theme\": \"x\", /* \"model\" */\n  \"provider\": {\n    \"other\": {},\n  },\n}\n";
    for (client, file, before) in
        [("claude-code", CLAUDE, claude), ("codex", CODEX, codex), ("opencode", OPENCODE, opencode)]
    {
        home.write(file, before);
        let ran = home.connect(&[client]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let after = home.read(file);
        let mut rest = after.as_str();
        for line in before.lines() {
            let (_, behind) = rest.split_once(line.trim()).unwrap_or_else(|| panic!("{after}"));
            rest = behind;
        }
        assert_ne!(after, before);
        assert_eq!(home.undo(client).code, Some(0));
        assert_eq!(home.read(file), before);
    }
}

#[test]
fn claude_code_gets_the_variables_that_it_reads() {
    let home = Home::new("connect-claude", "[server]\nkeyless = true\n");
    home.connect(&["claude-code"]);
    let set = json_of(&home.read(CLAUDE));
    let env = json!({
        "ANTHROPIC_BASE_URL": home.url(), "ANTHROPIC_AUTH_TOKEN": "not-needed",
        "ANTHROPIC_API_KEY": "",
    });
    assert_eq!(set, json!({"env": env}));
    // No model has the names that the client sends, and the only pattern does not match them.
    let two = "[providers.a]\nwire = \"messages\"\nbase_url = \"http://127.0.0.1:1\"\n\
               [providers.b]\nwire = \"messages\"\nbase_url = \"http://127.0.0.1:1\"\n\
               [models.\"m*\"]\nprovider = \"a\"\n";
    let home = Home::new("connect-nothing", two);
    let ran = home.connect(&["claude-code"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("lists no model") && ran.err.contains("[models]"), "{}", ran.err);
}

#[test]
fn a_key_goes_into_the_settings_and_onto_no_screen() {
    const KEY: &str = "a-Key-of-mine-0123456789";
    let home =
        Home::new("connect-key", &format!("[keys.a]\nkey = \"{KEY}\"\nmodels = [\"sim/*\"]\n"));
    for (args, said) in [
        (&["codex"][..], "wants a key"),
        (&["codex", "--key", "another-Key-0123456789"], "does not know this key"),
    ] {
        let ran = home.connect(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
        assert!(ran.err.contains(said) && ran.err.contains("think keys create"), "{}", ran.err);
    }
    for (client, file) in [("claude-code", CLAUDE), ("codex", CODEX), ("opencode", OPENCODE)] {
        let ran = home.connect(&[client, "--key", KEY]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY), "{}", ran.out);
        assert!(home.read(file).contains(KEY), "{}", home.read(file));
        // This key may not ask for the names that agents send by habit.
        assert!(home.read(file).contains("sim/default"), "{}", home.read(file));
        assert_eq!(home.undo(client).code, Some(0));
    }
}

#[test]
fn what_its_user_changed_since_stays() {
    let home = Home::new("connect-changed", "[server]\nkeyless = true\n");
    home.write(CLAUDE, "{\"env\": {\"ANTHROPIC_BASE_URL\": \"https://old.example\"}}");
    home.connect(&["claude-code"]);
    let mut set = json_of(&home.read(CLAUDE));
    set["env"]["ANTHROPIC_AUTH_TOKEN"] = json!("mine");
    set["model"] = json!("opus");
    home.write(CLAUDE, &serde_json::to_string_pretty(&set).unwrap());
    let ran = home.undo("claude-code");
    assert!(ran.out.contains("`env.ANTHROPIC_AUTH_TOKEN` was changed since"), "{}", ran.out);
    let env = json!({"ANTHROPIC_BASE_URL": "https://old.example", "ANTHROPIC_AUTH_TOKEN": "mine"});
    assert_eq!(json_of(&home.read(CLAUDE)), json!({"env": env, "model": "opus"}));

    home.connect(&["codex"]);
    let set = home.read(CODEX);
    home.write(
        CODEX,
        &format!("# new\n{set}\n# projects\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n"),
    );
    assert_eq!(home.undo("codex").code, Some(0));
    assert_eq!(
        home.read(CODEX),
        "# new\n\n# projects\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n"
    );

    home.connect(&["opencode"]);
    let mut set = json_of(&home.read(OPENCODE));
    set["theme"] = json!("x");
    home.write(OPENCODE, &set.to_string());
    assert_eq!(home.undo("opencode").code, Some(0));
    assert_eq!(json_of(&home.read(OPENCODE)), json!({"theme": "x"}));
}

#[test]
fn a_second_gateway_replaces_the_first_and_the_first_text_comes_back() {
    let home = Home::new("connect-twice", "[server]\nkeyless = true\n");
    let other = Home::new("connect-other", "[server]\nkeyless = true\n");
    let before = "model = \"m\"\nmodel_provider = \"mine\" # why\n";
    home.write(CODEX, before);
    home.connect(&["codex"]);
    let ran = home.place.think(&["connect", "codex", "--gateway", &other.url()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let set = home.read(CODEX);
    assert!(set.contains(&other.url()) && !set.contains(&home.url()), "{set}");
    assert!(set.contains("model_provider = \"thinkthrough\" # why"), "{set}");
    assert_eq!(home.undo("codex").code, Some(0));
    assert_eq!(home.read(CODEX), before);
}

#[test]
fn a_broken_file_is_refused_and_stays() {
    let home = Home::new("connect-broken", "[server]\nkeyless = true\n");
    for (client, file, text, why) in [
        ("claude-code", CLAUDE, "{\n\"env\": {\n", "is no JSON"),
        ("claude-code", CLAUDE, "{\"env\": 1}", "`env` is no object"),
        ("opencode", OPENCODE, "[]", "it holds no object"),
        ("codex", CODEX, "a = 1\nb = [\n", "is no TOML"),
        ("codex", CODEX, "model_providers = { a = {} }\n", "write it as tables"),
    ] {
        home.write(file, text);
        let ran = home.connect(&[client]);
        assert_eq!(ran.code, Some(1), "{}", ran.out);
        let shown = home.file(file).display().to_string();
        assert!(ran.err.contains(&shown) && ran.err.contains(why), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert_eq!(home.read(file), text);
        assert!(home.undo(client).out.contains("changed nothing"));
    }
}

#[test]
fn a_gateway_that_does_not_answer_changes_nothing() {
    let home = Home::new("connect-silent", "[server]\nkeyless = true\n");
    let url = home.url();
    let Home { place, gateway } = home;
    gateway.stop();
    for client in ["claude-code", "codex", "opencode", "python", "env"] {
        let ran = place.think(&["connect", client, "--gateway", &url]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
        assert!(ran.err.contains(&url) && ran.err.contains("`think serve`"), "{}", ran.err);
    }
    assert!(!place.home().join(".claude").exists() && !place.home().join(".codex").exists());
}

#[test]
fn the_folders_that_a_client_is_told_count() {
    let home = Home::new("connect-folders", "[server]\nkeyless = true\n");
    let url = home.url();
    for (client, variable, value, file) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", "other/claude", "other/claude/settings.json"),
        ("codex", "CODEX_HOME", "other/codex", "other/codex/config.toml"),
        ("opencode", "OPENCODE_CONFIG", "other/o.json", "other/o.json"),
    ] {
        let args = ["connect", client, "--gateway", &url];
        let mut command = home.place.command(&args);
        let ran = command.env(variable, home.file(value)).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        assert!(home.file(file).exists(), "{file}");
        // The record says where they are.
        assert_eq!(home.undo(client).code, Some(0));
        assert!(!home.file("other").exists());
    }
}

#[test]
fn programs_and_variables_are_printed() {
    let home = Home::new("connect-printed", "[server]\nkeyless = true\n");
    let url = home.url();
    let ran = home.connect(&["env", "--key", "it's"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains(&format!("export OPENAI_BASE_URL='{url}/v1'\n")), "{}", ran.out);
    assert!(ran.out.contains("export ANTHROPIC_AUTH_TOKEN='it'\\''s'\n"), "{}", ran.out);
    let ran = home.connect(&["python"]);
    assert!(ran.out.contains(&format!("base_url=\"{url}/v1\"")), "{}", ran.out);
    assert!(ran.out.contains("model=\"sim/default\""), "{}", ran.out);
    for client in ["python", "env"] {
        let ran = home.undo(client);
        assert_eq!(ran.code, Some(2));
        assert!(ran.err.contains("nothing to take back"), "{}", ran.err);
    }
}

#[test]
fn the_address_is_that_of_the_configuration() {
    let home = Home::new("connect-config", "[server]\nkeyless = true\n");
    let config = format!("[server]\nlisten = \"{}\"\n", home.gateway.addr);
    home.write("thinkthrough/config.toml", &config);
    let ran = home.place.think(&["connect", "claude-code"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(json_of(&home.read(CLAUDE))["env"]["ANTHROPIC_BASE_URL"], json!(home.url()));
}
