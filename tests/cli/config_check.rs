//! `think config check`, and names in a configuration that every command refuses because they lead
//! nowhere.

use crate::place::Place;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

const OWN: &str = "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"http://127.0.0.1:1\"\n\
                   [models.kimi]\nprovider = \"own\"\n";

/// The output of `think config check`, and whether it found no error.
fn check(place: &Place, config: &str) -> (bool, String) {
    let file = place.write("check.toml", config);
    let ran = place.think(&["config", "check", &file]);
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    (ran.code == Some(0), ran.out)
}

#[test]
fn names_that_lead_nowhere_are_refused_by_every_command() {
    let place = Place::new("dangling");
    for (config, said) in [
        (
            "[models.a]\nprovider = \"moonshotia\"\n",
            "`models.a.provider` is `moonshotia`, which is no provider; did you mean `moonshotai`?",
        ),
        (
            "[models.a]\nprovider = \"owm\"\n",
            "`models.a.provider` is `owm`, which is no provider; did you mean `own`?",
        ),
        (
            "[keys.a]\nproviders = [\"o*\", \"sim\", \"owm\"]\n",
            "`keys.a.providers` is `owm`, which is no provider; did you mean `own`?",
        ),
        (
            "[models.a]\nprovider = \"own\"\nfallback = [\"kimi\", \"kimmi\"]\n",
            "`models.a.fallback` is `kimmi`, which is no model; did you mean `kimi`?",
        ),
        (
            "[models.a]\nprovider = \"sim\"\nmodel = \"kimi-k22\"\n",
            "`models.a.model` is `kimi-k22`, which is no simulated model; did you mean `kimi-k2`?",
        ),
        (
            "[roles]\nutility = \"kimy\"\n",
            "`roles.utility` is `kimy`, which is no model; did you mean",
        ),
        (
            "[roles]\nutility = \"role:utility\"\n",
            "`roles.utility` is `role:utility`, which is a role",
        ),
        (
            "[profiles.p]\nmodel = \"kimy\"\n",
            "`profiles.p.model` is `kimy`, which is no model; did",
        ),
        (
            "[profiles.p]\nmodel = \"role:utlity\"\n[roles]\nutility = \"kimi\"\n",
            "`profiles.p.model` is `role:utlity`, and nobody plays that role; did you mean `utility`?",
        ),
        (
            "[profiles.p]\nmodel = \"moonshotia/kimi-k2\"\n",
            "`profiles.p.model` is `moonshotia/kimi-k2`, which is no model; did you mean `moonshotai/kimi-k2`?",
        ),
        (
            "[providers.more]\nextends = \"moonshotia\"\n",
            "`providers.more.extends`: `moonshotia` is no provider; did you mean `moonshotai`?",
        ),
    ] {
        let config = place.write("config.toml", &format!("{OWN}{config}"));
        // If it were not refused, the last command would never end.
        for args in [
            &["ask", "--config", &config, "-m", "sim/default", "hi"][..],
            &["settings", "--config", &config],
            &["sessions", "list", "--config", &config],
            &["serve", "--config", &config, "--listen", "127.0.0.1:0"],
        ] {
            let ran = place.think(args);
            assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{args:?}: {ran:?}");
            assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
            assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        }
    }
    let config = place.write("config.toml", &format!("default_model = \"kimy\"\n{OWN}"));
    let ran = place.think(&["models", "--config", &config]);
    assert!(
        ran.err.contains("`default_model` is `kimy`, which is no model; did you"),
        "{}",
        ran.err
    );
}

#[test]
fn names_that_lead_somewhere_are_fine() {
    let place = Place::new("leads");
    // An entry names its provider as well: its prefix and its rules count.
    let models = "[models.\"claude-*\"]\nprovider = \"own\"\n[models.any]\nprovider = \"sim\"\n\
                  [models.\"k2-*\"]\nprovider = \"moonshotai\"\n";
    for name in
        ["kimi", "claude-next", "own/x", "moonshotai/x", "sim/kimi-k2", "role:main", "kimi-k3"]
    {
        let roles = "[roles]\nmain = \"kimi\"\n[profiles.p]\nmodel = \"kimi\"\n";
        let (is_fine, said) =
            check(&place, &format!("default_model = \"{name}\"\n{OWN}{models}{roles}"));
        assert!(is_fine, "{name}: {said}");
    }
    // A file without models leaves names to its only provider, and `"*"` takes every name.
    for config in [
        OWN.split("[models").next().unwrap().to_owned(),
        format!("{OWN}[models.\"*\"]\nprovider = \"own\"\n"),
    ] {
        let (is_fine, said) = check(&place, &format!("default_model = \"anything\"\n{config}"));
        assert!(is_fine, "{said}");
    }
    // A file without providers allows all built-in ones.
    for name in ["moonshotai/x", "deepseek-v4"] {
        let (is_fine, said) = check(&place, &format!("default_model = \"{name}\"\n"));
        assert!(is_fine, "{name}: {said}");
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let place = Place::new("at-once");
    let (is_fine, said) = check(
        &place,
        "default_model = \"nobody\"\n[server]\nlisten = \"nowhere\"\nhost = []\nlog = \"loud\"\n\
         [reasoning]\neffort = \"huge\"\ndisplay = \"never\"\n\
         [providers.own]\nwire = \"chat\"\nbase_url = \"http://127.0.0.1:1\"\napi_key = { env = \"UNSET_A\" }\n\
         contract = { return = \"some\", level = \"none\" }\n\
         [models.a]\nprovider = \"own\"\nview = \"none\"\nrestore = \"none\"\n\
         contract = { return = \"all\", told = \"twice\" }\n\
         [models.b]\nmodel = \"b\"\n[models.c]\nprovider = \"owm\"\n\
         [mcp.files]\ncommand = \"x\"\nenv = { TOKEN = { env = \"UNSET_B\" } }\n",
    );
    assert!(!is_fine);
    for part in [
        "`server.listen` cannot be `nowhere`",
        "`server.host` is no key; did you mean `hosts`?",
        "`server.log` cannot be `loud`",
        "huge",
        "cannot be `never`",
        "`providers.own.wire`: `chat` is no wire",
        "`providers.own.contract.return` cannot be `some`",
        "`models.a.view` cannot be `none`",
        "`models.a.restore` cannot be `none`",
        "`models.a.contract.told` cannot be `twice`",
        "`models.b` needs `provider`",
        "`default_model` is `nobody`",
        "`models.c.provider` is `owm`",
    ] {
        let lines: Vec<_> = said.lines().filter(|line| line.contains(part)).collect();
        assert!(lines.len() == 1 && lines[0].starts_with("error: "), "{part}: {said}");
    }
    let errors = said.lines().filter(|line| line.starts_with("error: ")).count();
    // The check reports a wrong `level` only if the `return` before it is right.
    assert!((13..=14).contains(&errors), "nothing is said that only follows from another: {said}");
    for (at, name) in [("providers.own.api_key", "UNSET_A"), ("mcp.files.env.TOKEN", "UNSET_B")] {
        let warning = format!("warning: `{at}` needs `{name}`, which is not set\n");
        assert!(said.contains(&warning), "{said}");
    }
}

#[test]
fn a_mistake_of_the_language_is_shown_where_it_stands() {
    let place = Place::new("syntax");
    let config = "default_model = \"a\"\n[providers.own\nwire = \"chat-completions\"\n";
    let (is_fine, said) = check(&place, config);
    assert!(!is_fine && said.contains("line 2, column 15"), "{said}");
    assert!(
        said.contains("2 | [providers.own\n") && said.contains("  |               ^"),
        "{said}"
    );
    let file = place.file("check.toml");
    let ran = place.think(&["settings", "--config", &file]);
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 1), "{}", ran.err);
    assert!(ran.err.contains("line 2, column 15: "), "{}", ran.err);
    assert!(ran.err.contains("`think config check` shows the place"), "{}", ran.err);
}

#[test]
fn a_variable_that_is_not_set_is_a_warning_that_names_it() {
    let place = Place::new("unset");
    let config =
        format!("{}api_key = {{ env = \"UNSET_A\" }}\n", OWN.split("[models").next().unwrap());
    let warning = "warning: `providers.own.api_key` needs `UNSET_A`, which is not set\n";
    let (is_fine, said) = check(&place, &config);
    assert!(
        is_fine && said.starts_with(warning) && said.contains(" is fine: 1 provider\n"),
        "{said}"
    );
    let gateway = crate::serve_config::serve(&place, &config);
    assert!(gateway.stop().starts_with(warning));
    // One whose rule is known, and whose provider has no key.
    let named =
        format!("{OWN}fallback = [\"deepseek-v4\"]\n[models.\"v4-*\"]\nprovider = \"deepseek\"\n");
    let (is_fine, said) = check(&place, &named);
    assert!(
        is_fine
            && said.contains("is `deepseek-v4`, which needs `")
            && said.contains("DEEPSEEK_API_KEY"),
        "{said}"
    );
    // Only providers that the file names can be reached.
    for (model, says) in [
        ("deepseek-v4", "`models.kimi.fallback` is `deepseek-v4`, which is no model"),
        (
            "deepseek/v4",
            "the configuration names no provider `deepseek`; add `[providers.deepseek]`",
        ),
    ] {
        let named = format!("{OWN}fallback = [\"{model}\"]\n");
        let (is_fine, said) = check(&place, &named);
        assert!(!is_fine && said.contains(says), "{said}");
    }
}

#[test]
fn the_file_at_its_usual_place_is_checked_and_none_is_fine() {
    let place = Place::new("usual");
    let none = place.think(&["config", "check"]);
    assert_eq!(
        (none.code, none.out.as_str()),
        (Some(0), "there is no configuration file, and none is needed\n")
    );
    fs::create_dir(place.home().join("thinkthrough")).unwrap();
    let file = place.write("thinkthrough/config.toml", "nonsense = 1\n");
    let ran = place.think(&["config", "check", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["file"], &report["warnings"]), (&json!(file), &json!([])));
    assert!(report["errors"][0].as_str().unwrap().contains("`nonsense` is no key"), "{report}");
    let absent = place.think(&["config", "check", "/nowhere.toml"]);
    assert_eq!(absent.code, Some(1));
    assert!(absent.err.contains("`/nowhere.toml` cannot be read"), "{}", absent.err);
}

#[test]
fn every_example_in_the_documents_is_fine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|it| it == "md"));
    let pages: Vec<PathBuf> = pages.chain([root.join("README.md")]).collect();
    let place = Place::new("examples");
    let mut examples = 0;
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for block in text.split("```toml\n").skip(1) {
            let example = block.split("```").next().unwrap();
            let (is_fine, said) = check(&place, example);
            assert!(is_fine, "{}: {said}\n{example}", page.display());
            examples += 1;
        }
    }
    assert!(examples >= 4, "{examples}");
}

#[test]
fn a_number_that_is_too_large_is_told_with_the_key_that_it_stands_at() {
    let place = Place::new("check-large");
    let number = "99999999999999999999";
    let said = format!("`keys.alice.limits.requests_per_minute` cannot be `{number}`");
    let config = format!("[keys.alice]\nlimits = {{ requests_per_minute = {number} }}\n");
    let (is_fine, told) = check(&place, &config);
    assert!(!is_fine && told.contains(&said), "{told}");
    let file = place.write("large.toml", &config);
    let ran = place.think(&["models", "--config", &file]);
    assert!(ran.err.contains(&said), "{ran:?}");
}
