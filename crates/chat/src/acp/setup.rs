//! Reads the parameters that an editor sends for a new session, and lists the options of a session.

use super::rpc::Problem;
use super::{EditorReach, EditorServer};
use thinkthrough_client::Secret;
use thinkthrough_core::settings::Effort;
use thinkthrough_json::{Val, Writer};

/// The calls for which the user is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// The user is asked before changes and commands.
    #[default]
    Ask,
    /// Files in the folder are changed without a question; the user is asked before commands.
    Edits,
    /// Only reads: changes no file and runs no program.
    Read,
}

impl Mode {
    const ALL: [Mode; 3] = [Mode::Ask, Mode::Edits, Mode::Read];

    pub(super) const fn id(self) -> &'static str {
        match self {
            Mode::Ask => "ask",
            Mode::Edits => "edits",
            Mode::Read => "read",
        }
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Mode::Ask => ("Ask first", "Asks before it changes a file or runs a command."),
            Mode::Edits => {
                ("Edit freely", "Changes files in the folder; asks before it runs a command.")
            }
            Mode::Read => ("Read only", "Changes nothing and runs nothing."),
        }
    }

    pub(super) fn parse(id: &str) -> Result<Self, Problem> {
        let known = || Mode::ALL.map(Mode::id).join(", ");
        let found = Mode::ALL.into_iter().find(|mode| mode.id() == id);
        found.ok_or_else(|| {
            Problem::params(&format!("there is no mode `{id}`; there are {}", known()))
        })
    }
}

pub(super) fn write_modes(w: &mut Writer, now: Mode) {
    w.key("modes").object(|w| {
        w.field_str("currentModeId", now.id());
        w.key("availableModes").array(|w| {
            for mode in Mode::ALL {
                let (name, description) = mode.words();
                w.object(|w| {
                    w.field_str("id", mode.id());
                    w.field_str("name", name);
                    w.field_str("description", description);
                });
            }
        });
    });
}

/// The only option: the effort of the model.
pub(super) const EFFORT: &str = "reasoning.effort";
/// The value for "no effort requested".
const UNSET: &str = "unset";

/// Parses the name of an effort; `unset` gives `None`.
pub(super) fn effort(value: &str) -> Result<Option<Effort>, Problem> {
    if value == UNSET {
        return Ok(None);
    }
    let known = || Effort::ALL.map(Effort::as_str).join(", ");
    let found = Effort::parse(value).map(Some);
    found.ok_or_else(|| {
        Problem::params(&format!("`{EFFORT}` cannot be `{value}`; allowed: {UNSET}, {}", known()))
    })
}

pub(super) fn write_options(w: &mut Writer, now: Option<Effort>) {
    w.key("configOptions").array(|w| {
        w.object(|w| {
            w.field_str("id", EFFORT);
            w.field_str("name", "Thinking effort");
            w.field_str("category", "thought_level");
            w.field_str("type", "select");
            w.field_str("currentValue", now.map_or(UNSET, Effort::as_str));
            w.key("options").array(|w| {
                for value in [UNSET].into_iter().chain(Effort::ALL.map(Effort::as_str)) {
                    w.object(|w| {
                        w.field_str("value", value);
                        w.field_str("name", value);
                    });
                }
            });
        });
    });
}

/// The MCP servers that the editor configures.
pub(super) fn servers(params: Val<'_>) -> Result<Vec<EditorServer>, Problem> {
    params.get("mcpServers").into_iter().flat_map(Val::items).map(server).collect()
}

fn server(entry: Val<'_>) -> Result<EditorServer, Problem> {
    let name = entry.string("name").unwrap_or_default();
    let pairs = |key: &str| -> Vec<(String, Secret)> {
        let items = entry.get(key).into_iter().flat_map(Val::items);
        items
            .filter_map(|it| Some((it.string("name")?, Secret::new(it.string("value")?))))
            .collect()
    };
    let reach = match entry.text("type").as_deref() {
        Some("http") => {
            EditorReach::Http(entry.string("url").unwrap_or_default(), pairs("headers"))
        }
        Some("stdio") | None => {
            let arguments = entry.get("args").into_iter().flat_map(Val::items);
            let arguments = arguments.filter_map(|it| Some(it.as_str()?.into_owned()));
            let command = entry.string("command").into_iter().chain(arguments).collect();
            EditorReach::Command(command, pairs("env"))
        }
        Some(other) => {
            let message =
                format!("the server `{name}` is reached by `{other}`; only stdio and http are");
            return Err(Problem::params(&message));
        }
    };
    Ok(EditorServer { name, reach })
}
