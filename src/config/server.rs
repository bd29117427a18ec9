//! `[server]`: the gateway's addresses, access, log and load limits.

use super::client::duration;
use super::limits::limit;
use super::places::from_file;
use super::read::runaway;
use super::size::size;
use super::table::Section;
use crate::listen::with_host;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thinkthrough_gateway::LogForm;
use thinkthrough_limits::Limit;
use thinkthrough_limits::runaway::Runaway;

/// The settings of `[server]`, with defaults for missing keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) listen: String,
    pub(crate) hosts: Vec<String>,
    /// Address for metrics. `None`: the main listener, for callers on this machine.
    pub(crate) admin_listen: Option<String>,
    pub(crate) tls: Option<Certificate>,
    /// Callers use their own upstream credentials.
    pub(crate) pass_through: bool,
    /// Callers need no keys. `None`: they need one if the store or the configuration has keys.
    pub(crate) keyless: Option<bool>,
    /// The format of the log. `None`: no log.
    pub(crate) log: Option<LogForm>,
    /// The action for thoughts that repeat the same text.
    pub(crate) runaway: Runaway,
    pub(crate) load: Load,
}

/// Load limits. The gateway has defaults for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) in_flight: Option<usize>,
    pub(crate) in_flight_per_key: Option<usize>,
    pub(crate) in_flight_per_address: Option<usize>,
    pub(crate) connections_per_address: Option<usize>,
    pub(crate) body_timeout: Option<Duration>,
}

/// `tls = { cert, key }`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

impl Default for Server {
    fn default() -> Self {
        Server {
            listen: "127.0.0.1:4114".to_owned(),
            hosts: Vec::new(),
            admin_listen: None,
            tls: None,
            pass_through: false,
            keyless: None,
            log: Some(LogForm::Text),
            runaway: Runaway::Off,
            load: Load::default(),
        }
    }
}

pub(super) const KEYS: [&str; 13] = [
    "listen",
    "hosts",
    "admin_listen",
    "tls",
    "pass_through",
    IN_FLIGHT,
    PER_KEY,
    PER_ADDRESS,
    "connections_per_address",
    "body_timeout",
    "keyless",
    "log",
    "runaway",
];
const IN_FLIGHT: &str = "max_bytes_in_flight";
const PER_KEY: &str = "max_bytes_in_flight_per_key";
const PER_ADDRESS: &str = "max_bytes_in_flight_per_address";

pub(super) fn server(section: Option<Section<'_>>, folder: &Path) -> Result<Server, String> {
    let usual = Server::default();
    let Some(section) = section else { return Ok(usual) };
    section.only(&KEYS)?;
    let address = |key: &str| -> Result<Option<String>, String> {
        let Some(text) = section.string(key)?.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let text = with_host(&text).into_owned();
        match text.rsplit_once(':').map(|(_, port)| port.parse::<u16>()) {
            Some(Ok(_)) => Ok(Some(text)),
            _ => Err(format!(
                "`{}` cannot be `{text}`; write an address and a port, like `127.0.0.1:4114`",
                section.at(key)
            )),
        }
    };
    let log = match section.string("log")?.as_deref() {
        None | Some("text") => Some(LogForm::Text),
        Some("json") => Some(LogForm::Json),
        Some("off") => None,
        Some(other) => {
            let at = section.at("log");
            return Err(format!("`{at}` cannot be `{other}`; allowed: text, json, off"));
        }
    };
    Ok(Server {
        listen: address("listen")?.unwrap_or(usual.listen),
        hosts: section.strings("hosts")?.unwrap_or_default(),
        admin_listen: address("admin_listen")?,
        tls: certificate(section, folder)?,
        pass_through: section.boolean("pass_through")?.unwrap_or(false),
        keyless: section.boolean("keyless")?,
        log,
        runaway: runaway(section)?.unwrap_or(usual.runaway),
        load: load(section)?,
    })
}

fn load(section: Section<'_>) -> Result<Load, String> {
    let all = size(section, IN_FLIGHT)?;
    let part = |key: &str| -> Result<Option<usize>, String> {
        let part = size(section, key)?;
        match (part, all) {
            (Some(part), Some(all)) if part > all && part != usize::MAX => Err(format!(
                "`{}` cannot be more than `{}`, of which it is a part; it is {part}, and the \
                 other {all}",
                section.at(key),
                section.at(IN_FLIGHT)
            )),
            _ => Ok(part),
        }
    };
    let connections = limit(section, "connections_per_address")?;
    let body_timeout = section.table.get("body_timeout").map(|value| {
        let allowed = "a time, like 30, \"30s\", \"15m\" or \"500ms\"";
        duration(value).ok_or_else(|| section.wrong("body_timeout", allowed))
    });
    Ok(Load {
        in_flight: all,
        in_flight_per_key: part(PER_KEY)?,
        in_flight_per_address: part(PER_ADDRESS)?,
        connections_per_address: connections.map(|limit| match limit {
            Limit::Unlimited => usize::MAX,
            Limit::AtMost(most) => usize::try_from(most.get()).unwrap_or(usize::MAX),
        }),
        body_timeout: body_timeout.transpose()?,
    })
}

fn certificate(section: Section<'_>, folder: &Path) -> Result<Option<Certificate>, String> {
    let Some(table) = section.table("tls")? else { return Ok(None) };
    let name = section.at("tls");
    let inner = Section { name: &name, table };
    inner.only(&["cert", "key"])?;
    let file = |key: &str| -> Result<PathBuf, String> {
        let file = inner.string(key)?.filter(|file| !file.is_empty());
        let file = file.ok_or_else(|| format!("`{name}` needs `{key}`, a PEM file"))?;
        Ok(from_file(folder, &file))
    };
    Ok(Some(Certificate { cert: file("cert")?, key: file("key")? }))
}
