//! The settings of each client.
//!
//! Sources: Claude Code 2.1.197, Codex 0.169.0 and opencode 1.18.33 read these files and members.

use super::gateway::Gateway;
use super::settings::{Change, Form, Value};
use crate::environment::{Lookup, usable};
use crate::failure::Failure;
use crate::reach::rules;
use std::path::PathBuf;
use thinkthrough_core::provider;

/// The name of the gateway in files with several providers.
const OWN: &str = "thinkthrough";

/// Settings of a client for a gateway.
pub(super) struct Plan {
    pub(super) file: PathBuf,
    pub(super) form: Form,
    pub(super) changes: Vec<Change>,
    /// A sentence for the user.
    pub(super) note: String,
}

impl Plan {
    /// The text of the file with all changes.
    pub(super) fn applied(&self, before: Option<&str>) -> Result<String, String> {
        let mut text = before.unwrap_or_default().to_owned();
        let mut changes: Vec<&Change> = self.changes.iter().collect();
        if self.form == Form::Json {
            // A new member becomes the first.
            changes.reverse();
        }
        for Change { path, value, .. } in changes {
            text = self
                .form
                .set(&text, path, value)
                .map_err(|why| format!("`{}` is left as it is: {why}", self.file.display()))?;
        }
        Ok(text)
    }
}

/// `env` in `settings.json`.
pub(super) fn claude_code(gateway: &Gateway, env: Lookup<'_>) -> Result<Plan, Failure> {
    let folder = folder(env, "CLAUDE_CONFIG_DIR", ".claude")?;
    let variable = |name: &str, value: &str| Change::text(&["env", name], value);
    let mut changes = vec![
        variable("ANTHROPIC_BASE_URL", &gateway.base),
        variable("ANTHROPIC_AUTH_TOKEN", &gateway.key).secret(gateway.has_key),
        // A key in the user's shell would be a second credential, which the gateway refuses.
        variable("ANTHROPIC_API_KEY", ""),
    ];
    let note = match gateway.habit("claude-") {
        Some(owner) => {
            format!("Claude Code keeps the names of its models; `{owner}` answers for them")
        }
        None => {
            let model = gateway.model()?;
            let names = ["ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL"];
            changes.extend(names.map(|name| variable(name, model)));
            format!("Claude Code asks for `{model}`")
        }
    };
    Ok(Plan { file: folder.join("settings.json"), form: Form::Json, changes, note })
}

/// A provider in `config.toml`.
pub(super) fn codex(gateway: &Gateway, env: Lookup<'_>) -> Result<Plan, Failure> {
    let folder = folder(env, "CODEX_HOME", ".codex")?;
    let mut provider = vec![
        ("name", Value::text("Thinkthrough")),
        ("base_url", Value::text(&format!("{}/v1", gateway.base))),
        ("wire_api", Value::text("responses")),
    ];
    if gateway.has_key {
        provider.push(("experimental_bearer_token", Value::text(&gateway.key)));
    }
    let mut changes = vec![
        Change::text(&["model_provider"], OWN),
        Change::new(&["model_providers", OWN], Value::table(provider)).secret(gateway.has_key),
    ];
    let maker = gateway.habit("gpt-").filter(|owner| {
        let maker = provider::find(owner);
        maker.is_some_and(|maker| rules(maker, "gpt-5").next().is_some())
    });
    let note = match maker {
        Some(owner) => format!("Codex keeps the names of its models; `{owner}` answers for them"),
        // For the models that it knows, Codex sends tools that other models cannot call.
        None => {
            let model = gateway.model()?;
            changes.insert(0, Change::text(&["model"], model));
            format!("Codex asks for `{model}`")
        }
    };
    Ok(Plan { file: folder.join("config.toml"), form: Form::Toml, changes, note })
}

/// A provider in `opencode.json`.
pub(super) fn opencode(gateway: &Gateway, env: Lookup<'_>) -> Result<Plan, Failure> {
    let file = match usable(env("OPENCODE_CONFIG")) {
        Some(file) => std::path::absolute(&file).unwrap_or_else(|_| PathBuf::from(file)),
        None => {
            let base = match usable(env("XDG_CONFIG_HOME")) {
                Some(base) => PathBuf::from(base),
                None => home(env)?.join(".config"),
            };
            let folder = base.join("opencode");
            let with_comments = folder.join("opencode.jsonc");
            let usual = folder.join("opencode.json");
            if with_comments.exists() && !usual.exists() { with_comments } else { usual }
        }
    };
    let model = gateway.model()?;
    let known = Value::table(vec![("tool_call", Value::True), ("reasoning", Value::True)]);
    let models = gateway.models.iter().map(|name| (name.clone(), known.clone())).collect();
    let options = vec![
        ("baseURL", Value::text(&format!("{}/v1", gateway.base))),
        ("apiKey", Value::text(&gateway.key)),
    ];
    let provider = Value::table(vec![
        ("npm", Value::text("@ai-sdk/openai-compatible")),
        ("name", Value::text("Thinkthrough")),
        ("options", Value::table(options)),
        ("models", Value::Table(models)),
    ]);
    let changes = vec![
        // opencode adds it to every file that lacks it.
        Change::text(&["$schema"], "https://opencode.ai/config.json"),
        Change::text(&["model"], &format!("{OWN}/{model}")),
        Change::new(&["provider", OWN], provider).secret(true),
    ];
    let note = format!("opencode asks for `{model}`; `/models` in it lists the others");
    Ok(Plan { file, form: Form::Json, changes, note })
}

/// The folder that a variable names, or else this one of the user's home.
fn folder(env: Lookup<'_>, variable: &str, usual: &str) -> Result<PathBuf, Failure> {
    match usable(env(variable)) {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => Ok(home(env)?.join(usual)),
    }
}

fn home(env: Lookup<'_>) -> Result<PathBuf, Failure> {
    usable(env("HOME")).map(PathBuf::from).ok_or_else(|| {
        Failure::Failed("there is no home folder with the client's settings; set `HOME`".to_owned())
    })
}
