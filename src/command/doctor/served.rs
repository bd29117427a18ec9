//! The examined gateways: `think serve` in processes of its own, or a running gateway of the user.

use crate::failure::Failure;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use thinkthrough_client::{Client, ClientConfig, Request};
use thinkthrough_conformance::doctor::{Gateway, Later, Model};
use thinkthrough_core::provider;
use toml::{Table, Value};

/// A gateway that the doctor did not start.
pub(super) struct Theirs {
    base: String,
}

impl Theirs {
    /// Returns the gateway at an address, if a server answers there.
    pub(super) async fn at(url: &str) -> Result<Self, Failure> {
        let silent = |error: thinkthrough_client::ClientError| {
            Failure::Failed(format!(
                "no gateway answers at `{url}`: {error}; start it, and give its address without a path"
            ))
        };
        let base = url.trim_end_matches('/').to_owned();
        let request = Request::new(http::Method::GET, &format!("{base}/")).map_err(silent)?;
        let client = Client::new(ClientConfig::default()).map_err(silent)?;
        // Any answer to that path shows that the gateway runs.
        drop(client.send(&request).await.map_err(silent)?);
        Ok(Self { base })
    }
}

impl Gateway for Theirs {
    fn base(&self) -> String {
        self.base.clone()
    }

    fn can_be_killed(&self) -> bool {
        false
    }

    fn kill_and_start(&self, _: bool) -> Later<'_, String> {
        Box::pin(async { Err("it is not ours to kill".to_owned()) })
    }
}

/// Our own gateway: one process for most scenarios, and another for scenarios that kill it.
pub(super) struct Own {
    lasting: Process,
    mortal: Arc<Mutex<Option<Process>>>,
    folder: Arc<Folder>,
}

impl Own {
    /// Writes the configuration with these models and starts `think serve` with a fresh store.
    pub(super) fn start(config: Option<&Path>, models: &[Model]) -> Result<Self, Failure> {
        let folder = Folder::make()?;
        for name in ["lasting", "mortal"] {
            let text = configuration(config, models, name)?;
            let path = folder.0.join(format!("{name}.toml"));
            std::fs::write(&path, text.to_string()).map_err(|error| unwritable(&path, &error))?;
        }
        let lasting = Process::start(&folder.0, "lasting").map_err(Failure::Failed)?;
        Ok(Self { lasting, mortal: Arc::default(), folder: Arc::new(folder) })
    }
}

impl Gateway for Own {
    fn base(&self) -> String {
        self.lasting.base.clone()
    }

    fn can_be_killed(&self) -> bool {
        true
    }

    fn kill_and_start(&self, forgets: bool) -> Later<'_, String> {
        let (mortal, folder) = (Arc::clone(&self.mortal), Arc::clone(&self.folder));
        let restart = move || {
            let mut mortal = mortal.lock().unwrap_or_else(PoisonError::into_inner);
            drop(mortal.take());
            if forgets {
                folder.forget("mortal");
            }
            let process = Process::start(&folder.0, "mortal")?;
            let base = process.base.clone();
            *mortal = Some(process);
            Ok(base)
        };
        Box::pin(async {
            tokio::task::spawn_blocking(restart).await.map_err(|error| error.to_string())?
        })
    }
}

/// A running `think serve`; it is killed without a warning when this goes.
struct Process {
    child: Child,
    base: String,
}

impl Process {
    fn start(folder: &Path, name: &str) -> Result<Self, String> {
        let cannot = |error: std::io::Error| format!("`think serve` cannot be started: {error}");
        let program = std::env::current_exe().map_err(cannot)?;
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(folder.join(format!("{name}.toml")))
            // The simulators are on this machine, whatever leads elsewhere.
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(cannot)?;
        let mut first = String::new();
        if let Some(out) = child.stdout.as_mut() {
            BufReader::new(out).read_line(&mut first).map_err(cannot)?;
        }
        match first.trim_end().strip_prefix("listening on ") {
            Some(base) => Ok(Self { base: base.to_owned(), child }),
            None => {
                drop(child.kill());
                drop(child.wait());
                Err("`think serve` does not start with the configuration of the doctor; start it with `--config` of your own to see why".to_owned())
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A folder that goes when this does.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("think-doctor-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| unwritable(&path, &error))?;
        Ok(Self(path))
    }

    /// Deletes a store and its key.
    fn forget(&self, name: &str) {
        for ending in ["db", "db-wal", "db-shm", "key"] {
            // It may not be there.
            drop(std::fs::remove_file(self.0.join(format!("{name}.{ending}"))));
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("`{}` cannot be written: {error}; make room there", path.display()))
}

/// The sections that the gateway takes from a user's file; the doctor makes the rest.
const TAKEN: [&str; 2] = ["client", "reasoning"];

/// The configuration of a gateway that knows these models.
fn configuration(file: Option<&Path>, models: &[Model], name: &str) -> Result<Table, Failure> {
    let mut table = match file {
        Some(path) => taken(path)?,
        None => Table::new(),
    };
    let (mut providers, mut entries) = (Table::new(), Table::new());
    for model in models {
        providers.insert(model.name.to_owned(), Value::Table(provider(model)));
        let mut entry = Table::new();
        entry.insert("provider".to_owned(), model.name.into());
        entry.insert("model".to_owned(), model.simulator.model.into());
        entries.insert(model.name.to_owned(), Value::Table(entry));
    }
    let mut store = Table::new();
    store.insert("url".to_owned(), format!("sqlite:{name}.db").into());
    for (key, inner) in [("providers", providers), ("models", entries), ("store", store)] {
        table.insert(key.to_owned(), Value::Table(inner));
    }
    Ok(table)
}

fn taken(path: &Path) -> Result<Table, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::Failed(format!("the configuration `{}` cannot be read: {error}", path.display()))
    })?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let said = error.to_string().lines().collect::<Vec<_>>().join(" ");
        Failure::Failed(format!("in `{}`: {said}", path.display()))
    })?;
    let mut taken: Table = table
        .into_iter()
        .filter(|(key, _)| TAKEN.iter().any(|it| key == it || key.starts_with("reasoning")))
        .collect();
    if let Some(client) = taken.get_mut("client").and_then(Value::as_table_mut) {
        // The simulators are on this machine, and speak without TLS.
        client.remove("proxy");
        client.remove("ca_file");
    }
    Ok(taken)
}

/// Returns the configuration of a provider, with the rules of the simulated provider if that is known.
fn provider(model: &Model) -> Table {
    let simulator = &model.simulator;
    let mut table = Table::new();
    let known = provider::find(simulator.provider).filter(|_| model.key.is_some());
    table.insert("wire".to_owned(), simulator.wire.into());
    table.insert("base_url".to_owned(), model.base_url.clone().into());
    if let Some(key) = model.key {
        table.insert("api_key".to_owned(), key.into());
    }
    match known {
        Some(known) => {
            table.insert("extends".to_owned(), known.id.into());
        }
        None => {
            let mut contract = Table::new();
            contract.insert("return".to_owned(), "tool-calls".into());
            contract.insert("required".to_owned(), true.into());
            contract.insert("field".to_owned(), "reasoning_content".into());
            table.insert("contract".to_owned(), Value::Table(contract));
        }
    }
    table
}
