use super::store::Store;
use super::tools::{McpServer, Tool};
use super::*;
use std::path::Path;
use thinkthrough_chat::Permission;
use thinkthrough_core::exchange::{Restore, View};
use thinkthrough_core::settings::{Key, Source};
use thinkthrough_limits::{Limit, OnExceed};
use thinkthrough_store::{KeySource, Limits, Location, TraceContent};

fn env(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/me".to_owned()),
        "A_KEY" => Some("sk-a".to_owned()),
        "LONG" => Some("tt-0123456789-abc".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn read_text(text: &str) -> Result<Config, String> {
    of_text(text, &env, Path::new("/etc/think"))
}

fn good(text: &str) -> Config {
    read_text(text).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    read_text(text).map(|_| text).expect_err("this must be refused")
}

#[test]
fn the_example_of_the_terminal_client_is_read_into_types() {
    let config = good(
        r#"
        default_model = "kimi"
        [store]
        url = "sqlite:kept/talks.db"
        key = { file = "talks.key" }
        [budget]
        reasoning_tokens_per_session = 1000
        warn_at = 0.5
        on_exceed = "block"
        [providers.moonshotai]
        api_key = { env = "A_KEY" }
        limits = { requests_per_minute = 600, tokens_per_minute = "unlimited" }
        [models.kimi]
        provider = "moonshotai"
        model = "kimi-k2-thinking"
        [roles]
        reasoning = "kimi"
        utility = "small"
        [profiles.careful]
        model = "kimi"
        reasoning = { effort = "high", stripFromContext = "allButLast" }
        [tools.shell]
        permission = "ask"
        [mcp.files]
        command = ["./some-server", "--stdio"]
        env = { TOKEN = { env = "A_KEY" } }
        [mcp.web]
        url = "http://127.0.0.1:9/mcp"
        "#,
    );
    let key = KeySource::File("/etc/think/talks.key".into());
    let location = Location::Sqlite("/etc/think/kept/talks.db".into());
    assert_eq!(config.store, Some(Store { location, key, limits: Limits::default(), spool: None }));
    assert_eq!(config.budget.max, Limit::from_config(1000));
    assert_eq!(config.budget.on_exceed, OnExceed::Block);
    let limits = config.providers[0].limits;
    assert_eq!(limits.requests_per_minute, Limit::from_config(600));
    assert_eq!(limits.tokens_per_minute, Limit::Unlimited);
    assert!(
        matches!(&config.providers[0].key, Some(Credential::Given(key)) if key.expose() == "sk-a")
    );
    assert_eq!((config.role("utility"), config.role("other")), (Some("small"), None));
    assert_eq!(config.profiles[0].reasoning.get(Key::Effort).as_deref(), Some("high"));
    let shell = Tool { name: "shell".to_owned(), permission: Permission::Ask };
    assert_eq!(config.tools, [shell]);
    assert_eq!(config.mcp[0].name, "files");
    let McpServer::Command { command, env } = &config.mcp[0].server else { panic!("a command") };
    assert_eq!(command, &["/etc/think/./some-server", "--stdio"]);
    assert!(matches!(&env[0], (name, Credential::Given(_)) if name == "TOKEN"));
    assert!(matches!(&config.mcp[1].server, McpServer::Url(url) if url.ends_with("/mcp")));
}

#[test]
fn without_a_store_it_is_at_the_usual_place_with_its_key_beside_it() {
    let folder = Path::new("/home/me/.local/share/thinkthrough");
    let usual = |database: &str, key: &str| {
        let location = Location::Sqlite(folder.join(database));
        Some(Store {
            location,
            key: KeySource::File(folder.join(key)),
            limits: Limits::default(),
            spool: None,
        })
    };
    assert_eq!(good("").store, usual("thinkthrough.db", "thinkthrough.key"));
    let from_env = good("[store]\nkey = { env = \"MASTER\" }").store.map(|store| store.key);
    assert_eq!(from_env, Some(KeySource::Env("MASTER".to_owned())));
    let printed = good("[store]\nkey = { command = \"pass think\" }").store.map(|store| store.key);
    let Some(KeySource::Command(command)) = printed else { panic!("a command") };
    assert_eq!(command.last().map(String::as_str), Some("pass think"));
    for (url, path) in [
        ("sqlite:a.db", "/etc/think/a.db"),
        ("sqlite://a.db", "/etc/think/a.db"),
        ("sqlite:///var/a.db", "/var/a.db"),
        ("sqlite:/var/a.db", "/var/a.db"),
    ] {
        let store = good(&format!("[store]\nurl = \"{url}\"")).store.map(|store| store.location);
        assert_eq!(store, Some(Location::Sqlite(path.into())), "{url}");
    }
}

#[test]
fn what_the_vault_keeps_can_be_said_and_no_limit_too() {
    let limits = |text: &str| good(&format!("[store]\n{text}")).store.unwrap().limits;
    assert_eq!(limits(""), Limits::default());
    let day = std::time::Duration::from_secs(24 * 60 * 60);
    let said = limits(
        "keep_days = 7\nmax_bytes_per_tenant = 5000\nmax_records_per_tenant = 9\nmax_budgets_per_tenant = 8",
    );
    let usual = Limits::default();
    assert_eq!(said, Limits { age: 7 * day, bytes: 5000, records: 9, budgets: 8, ..usual });
    for none in ["0", "\"unlimited\""] {
        let said = limits(&format!("keep_days = {none}\nmax_records_per_tenant = {none}"));
        assert!(said.age > 1_000_000 * day && said.records == u64::MAX, "{said:?}");
        assert_eq!(said.bytes, Limits::default().bytes);
    }
    for wrong in ["keep_days = -1", "max_bytes_per_tenant = \"1 GB\"", "keep_days = 0.5"] {
        let said = refused(&format!("[store]\n{wrong}"));
        assert!(said.contains("must be a whole number or \"unlimited\""), "{said}");
    }
    assert!(refused("[store]\nkeep_day = 1").contains("did you mean `keep_days`"));
}

#[test]
fn what_becomes_of_an_answer_without_a_caller_is_one_of_two_things() {
    let said = refused("[providers.openai]\non_disconnect = \"wait\"");
    assert_eq!(said, "`providers.openai.on_disconnect` cannot be `wait`; allowed: cancel, drain");
}

#[test]
fn traces_have_the_turn_unless_the_configuration_says_otherwise() {
    let content = |text: &str| good(text).traces.content;
    assert_eq!(content(""), TraceContent::Turn);
    assert_eq!(content("[traces]\ncontent = \"turn\""), TraceContent::Turn);
    assert_eq!(content("[traces]\ncontent = \"thoughts\""), TraceContent::Thoughts);
    let said = refused("[traces]\ncontent = \"all\"");
    assert_eq!(said, "`traces.content` cannot be `all`; allowed: turn, thoughts");
}

#[test]
fn a_server_needs_a_key_from_outside() {
    let url = "postgres://me:secret@host/db?sslmode=require";
    let text = format!("[store]\nurl = \"{url}\"");
    assert_eq!(
        refused(&text),
        "`store.url` is a PostgreSQL server, which needs `store.key`: { file = \"FILE\" }, \
         { env = \"NAME\" } or { command = \"...\" }; make one with `openssl rand -hex 32`"
    );
    for (key, expected) in [
        ("{ file = \"a.key\" }", KeySource::File("/etc/think/a.key".into())),
        ("{ env = \"MASTER\" }", KeySource::Env("MASTER".to_owned())),
        ("{ command = [\"pass\", \"a\"] }", KeySource::Command(vec!["pass".into(), "a".into()])),
    ] {
        let store = good(&format!("{text}\nkey = {key}")).store;
        let location = Location::Postgres(url.to_owned());
        let limits = Limits::default();
        let spool = Some("/home/me/.local/share/thinkthrough/spool".into());
        assert_eq!(store, Some(Store { location, key: expected, limits, spool }), "{key}");
    }
    let spool = |said: &str| {
        let text = format!("{text}\nkey = {{ env = \"MASTER\" }}\nspool = {said}");
        good(&text).store.and_then(|store| store.spool)
    };
    assert_eq!(spool("\"waiting\""), Some("/etc/think/waiting".into()));
    assert_eq!(spool("false"), None);
    assert!(
        refused(&format!("{text}\nkey = {{ env = \"M\" }}\nspool = true")).contains("a folder or")
    );
    assert!(refused("[store]\nspool = \"waiting\"").contains("is for a PostgreSQL server"));
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_one() {
    for (text, said) in [
        ("defualt_model = \"a\"", "`defualt_model` is no key; did you mean `default_model`?"),
        ("[budgets]", "`budgets` is no key; did you mean `budget`?"),
        ("[budget]\nwarn = 1", "`budget.warn` is no key; did you mean `warn_at`?"),
        ("[store]\nurll = \"a\"", "`store.urll` is no key; did you mean `url`?"),
        ("[tools.a]\npermisson = \"ask\"", "did you mean `permission`?"),
        ("[mcp.a]\ncomand = [\"a\"]", "`mcp.a.comand` is no key; did you mean `command`?"),
        ("[reasoning]\nefort = \"low\"", "`reasoning.efort` is no setting; did you mean `effort`?"),
        ("[profiles.a.reasoning]\nformta = \"field\"", "did you mean `format`?"),
        (
            "[providers.openai]\napikey = \"a\"",
            "`providers.openai.apikey` is no key; did you mean `api_key`?",
        ),
        (
            "[providers.openai.limits]\nrequests_per_minut = 1",
            "did you mean `requests_per_minute`?",
        ),
        ("[models.a]\nprovider = \"openai\"\ncontrakt = 1", "did you mean `contract`?"),
        ("[client]\nca_fiel = \"a\"", "did you mean `ca_file`?"),
        ("[client]\nanswer_events = 0", "`client.answer_events` must be a number of events"),
        ("[client]\nanswer_line_bytes = \"1 MB\"", "must be a number of bytes greater than 0"),
        (
            "[client]\nanswer_line_bytes = 9\nanswer_event_bytes = 8",
            "cannot be more than `client.answer_event_bytes`",
        ),
        ("[client]\nanswer_event_bytes = 9\nanswer_bytes = 8", "it is 9, and the other 8"),
    ] {
        let error = refused(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn a_model_says_how_the_gateway_treats_its_requests() {
    let text =
        "[models.a]\nprovider = \"openai\"\nrestore = \"never\"\nview = \"hidden\"\ndry_run = true";
    let handling = Handling {
        restore: Restore::Never,
        dry_run: true,
        view: Some(View::Hidden),
        ..Handling::default()
    };
    assert_eq!(good(text).models[0].handling, handling);
    for (key, allowed) in [("restore", "recommended"), ("view", "think_tags")] {
        let error = refused(&format!("[models.a]\nprovider = \"openai\"\n{key} = \"x\""));
        assert!(error.contains(&format!("`models.a.{key}` cannot be `x`")), "{error}");
        assert!(error.contains(allowed), "{error}");
    }
}

#[test]
fn values_that_make_no_sense_are_refused_with_what_is_allowed() {
    for (text, said) in [
        (
            "[tools.a]\npermission = \"yes\"",
            "`tools.a.permission` cannot be `yes`; allowed: ask, allow, deny",
        ),
        ("[mcp.a]", "`mcp.a` needs either `command` or `url`"),
        ("[mcp.a]\nurl = \"http://a\"\ncommand = [\"a\"]", "needs either `command` or `url`"),
        ("[mcp.a]\nurl = \"ftp://a\"", "it begins with `http://` or `https://`"),
        ("[mcp.a]\nurl = \"http://a\"\nenv = { A = \"b\" }", "is for a server that is started"),
        ("[budget]\nwarn_at = 80", "cannot be `80`: a warning threshold is above 0 and at most 1"),
        ("[budget]\non_exceed = \"stop\"", "allowed: warn, lower_effort, disable_reasoning, block"),
        (
            "[budget]\nreasoning_tokens_per_session = -1",
            "must be a whole number or \"unlimited\", not `-1`",
        ),
        (
            "[budget]\nwarningThresholdPercent = 0.8",
            "`budget.warningThresholdPercent` must be a whole number from 1 to 100, like 80, or be said as \
             `budget.warn_at = 0.8`, not `0.8`",
        ),
        (
            "[keys.a]\nkey = \"abcdefghijklmnop0123\"\nbudget = { warningThresholdPercent = 101 }",
            "`keys.a.budget.warningThresholdPercent` must be a whole number from 1 to 100, like 80, or be said as \
             `keys.a.budget.warn_at = 0.8`, not `101`",
        ),
        ("[budget]\nwarningThresholdPercent = 0", "not `0`"),
        ("[budget]\nwarn_at = \"0.8\"", "`budget.warn_at` must be a share above 0 and at most 1"),
        (
            "[budget]\non_exceed = true",
            "`budget.on_exceed` cannot be `true`; allowed: warn, lower_effort, disable_reasoning, block",
        ),
        (
            "[keys.a]\nkey = \"abcdefghijklmnop0123\"\nlimits = { requests_per_minute = \"60\" }",
            "`keys.a.limits.requests_per_minute` must be a whole number without quotes, or \"unlimited\", not `\"60\"`",
        ),
        (
            "[keys.a]\nkey = \"abcdefghijklmnop0123\"\nlimits = { tokens_per_minute = 9223372036854775807 }",
            "`keys.a.limits.tokens_per_minute` must be at most 1000000000000000, or \"unlimited\", not \
             `9223372036854775807`",
        ),
        ("[client]\nidle_timeout = \"soon\"", "or \"500ms\", not `\"soon\"`"),
        ("[budget]\nwarn_at = 0.5\nwarningThresholdPercent = 50", "keep one of them"),
        ("[store]\nurl = \"talks.db\"", "write `sqlite:FILE`"),
        ("[store]\nkey = \"abc\"", "`store.key` must be one of"),
        ("[providers.openai]\napi_key = \"a\"\napi_keys = [\"b\"]", "keep one of them"),
        (
            "[providers.openai]\napi_keys = [1]",
            "must be a string, { env = \"NAME\" } or { file = \"FILE\" }",
        ),
        (
            "[reasoning]\ndisplay = \"off\"\n[thinking]\ncontext_mode = \"yes\"",
            "keep, strip, provider_default",
        ),
        (
            "show_thinking = false\n[reasoning]\ndisplay = \"off\"",
            "`show_thinking` says the same as `reasoning.display`",
        ),
        ("[roles]\nutility = 1", "`roles.utility` must be a string"),
    ] {
        let error = refused(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn a_key_that_is_not_there_is_no_error_until_it_is_needed() {
    let key = |text: &str| good(&format!("[providers.openai]\n{text}")).providers[0].key.clone();
    let given = |key| matches!(key, Some(Credential::Given(key)) if key.expose() == "sk-a");
    assert!(given(key("api_keys = [{ env = \"NONE\" }, { env = \"A_KEY\" }, \"sk-b\"]")));
    let missing = key("api_keys = [{ env = \"NONE\" }, { env = \"EMPTY\" }]");
    assert!(matches!(missing, Some(Credential::Missing(names)) if names == "NONE` or `EMPTY"));
    assert!(key("").is_none());
}

#[test]
fn adr_budget_names_and_words_of_the_seeds_are_accepted() {
    let rules =
        good("[budget]\nmaxReasoningTokensPerSession = 0\nwarningThresholdPercent = 90").budget;
    assert_eq!(rules.max, Limit::Unlimited);
    let rules = good("").budget;
    assert_eq!((rules.max, rules.on_exceed), (Limit::from_config(500_000), OnExceed::Warn));
    let config = good("show_thinking = false\n[thinking]\ncontext_mode = \"keep\"");
    assert_eq!(config.reasoning.get(Key::Display).as_deref(), Some("stream_only"));
    assert_eq!(config.reasoning.get(Key::IncludeInContext).as_deref(), Some("true"));
    assert_eq!(Source::UserConfig.as_str(), "config");
}

#[test]
fn prices_are_dollars_for_a_million_tokens() {
    let model = |price: &str| format!("[models.a]\nprovider = \"sim\"\nprice = {price}\n");
    let config = good(&model("{ input = 0.6, output = 3, cache_read = 0.15 }"));
    let price = config.models[0].price.unwrap();
    let rates = price.rates;
    assert_eq!((rates.input, rates.output), (600_000, 3_000_000));
    assert_eq!((rates.cache_read, rates.cache_write), (Some(150_000), None));
    assert_eq!(good("[models.a]\nprovider = \"sim\"\n").models[0].price, None);
    assert!(refused(&model("{ input = 1 }")).contains("needs `input` and `output`"));
    assert!(refused(&model("{ input = -1, output = 1 }")).contains("0 or more dollars"));
    assert!(refused(&model("{ input = 1, output = 1, cashed = 1 }")).contains("cache"));
}

#[test]
fn thoughts_that_run_away_are_told_cut_or_left() {
    use thinkthrough_limits::runaway::Runaway;
    assert_eq!(good("").runaway, Runaway::Warn);
    for (word, runaway) in [("off", Runaway::Off), ("warn", Runaway::Warn), ("cut", Runaway::Cut)] {
        assert_eq!(good(&format!("[chat]\nrunaway = \"{word}\"\n")).runaway, runaway);
    }
    assert!(refused("[chat]\nrunaway = \"stop\"\n").contains("`chat.runaway` must be"));
}

#[test]
fn the_threshold_of_compression_is_a_percentage_or_never() {
    assert_eq!(good("").compress_at, 80);
    assert_eq!(good("[chat]\ncompress_at = 55\n").compress_at, 55);
    assert_eq!(good("[chat]\ncompress_at = \"never\"\n").compress_at, 0);
    for wrong in ["101", "-1", "\"often\"", "0.5"] {
        let said = refused(&format!("[chat]\ncompress_at = {wrong}\n"));
        assert!(said.contains("`chat.compress_at` must be 1 to 100 percent"), "{said}");
    }
}

#[test]
fn adr_budget_of_a_key_names_what_it_is_of_and_limits_nothing_else() {
    let budgets = |text: &str| good(&format!("[keys.a]\nbudget = {{ {text} }}")).keys[0].budgets;
    assert!(budgets("").is_none() && budgets("reasoning_tokens_per_day = 0").is_none());
    let max = |text: &str| budgets(text).max.map(|limit| limit.get().unwrap_or_default());
    for (place, scope) in ["session", "turn", "task", "day", "key"].into_iter().enumerate() {
        let mut expected = [0; 5];
        expected[place] = 7;
        assert_eq!(max(&format!("reasoning_tokens_per_{scope} = 7")), expected);
    }
    let said = budgets("maxReasoningTokensPerSession = 7, warn_at = 0.5, on_exceed = \"block\"");
    assert_eq!((said.max[0], said.on_exceed), (Limit::from_config(7), OnExceed::Block));
    assert_eq!(said.warn_at.percent(), 50);
    let wrong = refused("[keys.a]\nbudget = { reasoning_tokens_per_sesion = 1 }");
    assert!(wrong.contains("did you mean `reasoning_tokens_per_session`?"), "{wrong}");
}

#[test]
fn settings_alone_are_no_choice_of_a_model() {
    let written = "[reasoning]\ndisplay = \"off\"\n[profiles.p]\nmodel = \"vllm/a\"\n[roles]\nutility = \"b\"\n";
    assert!(!good(written).names_models());
    for says in [
        "default_model = \"sim/default\"\n",
        "[models.a]\nprovider = \"sim\"\n",
        "[providers.anthropic]\n",
    ] {
        assert!(good(&format!("{says}{written}")).names_models(), "{says}");
    }
}

#[test]
fn the_manual_has_every_key_of_the_gateway_and_no_other() {
    let manual = include_str!("../../docs/serve.md");
    for (table, keys) in [
        ("[server]", &server::KEYS[..]),
        ("[client]", &client::KEYS[..]),
        ("[store]", &store::KEYS[..]),
        ("[keys.NAME]", &[&keys::KEYS[..], &["reasoning"]].concat()[..]),
    ] {
        let (_, rest) = manual.split_once(&format!("| under `{table}` |")).unwrap();
        let rows = rest.lines().skip(2).take_while(|line| line.starts_with('|'));
        let row = |line: &str| line.split([' ', '`']).nth(2).unwrap_or_default().to_owned();
        let rows: Vec<String> = rows.map(row).collect();
        assert_eq!(rows, keys, "{table}");
    }
}

#[test]
fn t_5_a_key_of_the_gateway_is_known_by_one_thing_that_is_there() {
    let key = &good("[keys.a]\nkey = { env = \"LONG\" }\nmodels = [\"m*\"]").keys[0];
    assert!(key.hash == Some(thinkthrough_store::KeyHash::of("tt-0123456789-abc")));
    assert_eq!(
        (&key.models[..], &key.providers[..]),
        (&["m*".to_owned()][..], &["*".to_owned()][..])
    );
    let digest = "0".repeat(64);
    let both = format!("[keys.a]\nkey = {{ env = \"LONG\" }}\nhash = \"{digest}\"");
    for (text, said) in [
        ("[keys.a]\nkey = { env = \"NONE\" }", "`NONE`, which is not set"),
        ("[keys.a]\nhash = \"short\"", "think keys create"),
        ("[keys.local]", "cannot be the name of a key"),
        (&both, "keep one of them"),
        (
            "[keys.a]\nkey = { env = \"LONG\" }\n[keys.b]\nkey = \"tt-0123456789-abc\"",
            "`keys.a` and `keys.b` are the same key",
        ),
    ] {
        let error = refused(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn t_5_a_key_that_can_be_guessed_is_refused() {
    for key in
        ["k", "0123456789abcde", "aaaaaaaaaaaaaaaaaaaaaaaa", "0123 456789 abcdef", "пароль-пароль"]
    {
        let error = refused(&format!("[keys.a]\nkey = \"{key}\""));
        assert!(error.contains("`keys.a.key`"), "{key}: {error}");
        assert!(error.contains("`think keys create a`"), "{key}: {error}");
        assert!(key == "k" || !error.contains(key), "{error}");
    }
    good("[keys.a]\nkey = \"0123456789abcdef\"");
}

#[test]
fn t_7_only_headers_that_may_travel_can_be_forwarded() {
    let provider = "[providers.own]\nextends = \"openai-compatible\"\nbase_url = \"http://x\"\n";
    let of = |list: &str| format!("{provider}forward_headers = [{list}]");
    let names = &good(&of("\"X-Custom-*\", \"x-tenant\"")).providers[0].forward_headers;
    assert_eq!(names, &["x-custom-*".to_owned(), "x-tenant".to_owned()]);
    for name in ["*", "authorization", "x-amz-date", "x-http-method-override", "cookie", "a b", ""]
    {
        let error = refused(&of(&format!("\"{name}\"")));
        assert!(error.contains("`providers.own.forward_headers` cannot have"), "{name}: {error}");
    }
}

#[test]
fn a_budget_in_dollars_is_read_to_the_last_digit() {
    let of = |budget: &str| {
        let text = format!("[keys.a]\nkey = \"0123456789abcdef\"\nbudget = {{ {budget} }}\n");
        of_text(&text, &|_| None, Path::new("/")).map(|config| config.keys[0].budgets)
    };
    let all =
        "usd_per_session = 0.1, usd_per_turn = 2, usd_per_day = 0, usd_per_key = \"unlimited\"";
    let budgets = of(all).unwrap();
    let [none, some] = [Limit::Unlimited, Limit::from_config(100_000)];
    assert_eq!(budgets.money, [some, Limit::from_config(2_000_000), none, none, none]);
    assert!(budgets.has_money() && !budgets.is_none());
    assert!(of("usd_per_day = -1").unwrap_err().contains("`keys.a.budget.usd_per_day` must be"));
    assert!(of("usd_per_week = 1").unwrap_err().contains("usd_per"));
}

#[test]
fn what_server_cannot_mean_is_refused() {
    for (text, said) in [
        ("[server]\nlisten = \"somewhere\"", "like `127.0.0.1:4114`"),
        ("[server]\nlog = \"loud\"", "allowed: text, json, off"),
        ("[server]\ntls = { cert = \"a\" }", "`server.tls` needs `key`"),
        ("[server]\nhosts = \"a\"", "a list of strings"),
        ("[server]\nhots = []", "did you mean `hosts`"),
        (
            "[server]\nrunaway = true",
            "`server.runaway` must be \"off\", \"warn\" or \"cut\", not `true`",
        ),
        ("[server]\nrunaway = \"stop\"", "`server.runaway` must be \"off\", \"warn\" or \"cut\""),
    ] {
        let error = refused(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}
