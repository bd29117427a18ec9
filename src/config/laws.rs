//! Laws of the configuration, under the driver of the core's laws.

use super::of_text;
use std::path::Path;

#[macro_use]
#[path = "../../crates/core/tests/laws/driver.rs"]
mod driver;
#[allow(dead_code, reason = "a text is not cut into pieces")]
#[path = "../../crates/core/tests/laws/random.rs"]
mod random;

/// Pieces of configurations, right ones and wrong ones.
const WORDS: &[&[u8]] = &[
    b"default_model = \"kimi\"\n",
    b"[reasoning]\n",
    b"includeInContext = \"auto\"\n",
    b"effort = \"high\"\n",
    b"maxTokens = 0\n",
    b"[server]\n",
    b"listen = \"127.0.0.1:0\"\n",
    b"keyless = true\n",
    b"tls = { cert = \"a\", key = \"b\" }\n",
    b"[store]\n",
    b"url = \"sqlite:a.db\"\n",
    b"url = \"postgres://h/d\"\n",
    b"key = { env = \"A\" }\n",
    b"key = { command = \"pass a\" }\n",
    b"keep_days = \"unlimited\"\n",
    b"[providers.a]\n",
    b"[providers.\"\"]\n",
    b"extends = \"moonshotai\"\n",
    b"wire = \"chat-completions\"\n",
    b"base_url = \"http://h/v1\"\n",
    b"api_key = { env = \"A\" }\n",
    b"api_keys = [\"a\", { env = \"B\" }]\n",
    b"limits = { requests_per_minute = 1 }\n",
    b"[models.\"claude-*\"]\n",
    b"[models.a]\n",
    b"provider = \"a\"\n",
    b"model = \"m\"\n",
    b"fallback = [\"a\"]\n",
    b"restore = \"required\"\n",
    b"contract = { return = \"all\", field = \"x\", level = \"calls\", told = \"never\" }\n",
    b"contract = \"none\"\n",
    b"[roles]\n",
    b"[profiles.a]\n",
    b"[tools.shell]\n",
    b"permission = \"ask\"\n",
    b"[mcp.a]\n",
    b"command = [\"x\"]\n",
    b"[keys.alice]\n",
    b"hash = \"00\"\n",
    b"models = [\"*\"]\n",
    b"budget = { reasoning_tokens_per_session = 1, warn_at = 0.8 }\n",
    b"[client]\n",
    b"connect_timeout = \"1s\"\n",
    b"[chat]\ncompress_at = 101\n",
    b"[chat]\nsurroundings = [\"project\"]\nsystem = \"a\"\n",
    b"= 9223372036854775807\n",
    b"= -1\n",
    b"= nan\n",
    b"= [[[]]]\n",
    b"= \"\\u0000\"\n",
    b"[[keys]]\n",
    b"[a.b.c]\n",
    b"\"\"\"",
];

/// Any text is a configuration, or is refused with a message that names the place: a key of it, or a line. The result
/// is the same each time, and a message never contains the environment's values.
fn any_text_is_read_or_refused_by_name(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let lookup = |name: &str| match name {
        "HOME" => Some("/home/me".to_owned()),
        "A" => Some("a-secret-of-the-environment".to_owned()),
        _ => None,
    };
    let read = |text: &str| of_text(text, &lookup, Path::new("/etc/think"));
    let first = read(&text);
    assert_eq!(first.as_ref().err(), read(&text).as_ref().err(), "a second time");
    match first {
        Err(refused) => {
            assert!(refused.contains('`') || refused.contains("line "), "{refused:?} for {text:?}");
            assert!(!refused.contains("a-secret-of-the-environment"), "{refused}");
        }
        Ok(config) => {
            let shown = format!("{config:?}");
            assert!(!shown.contains("a-secret-of-the-environment"), "{shown}");
        }
    }
}

laws! {
    configurations: any_text_is_read_or_refused_by_name, 0, WORDS;
}
