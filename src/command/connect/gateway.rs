//! The gateway that a client is set up for.

use crate::command::health::{self, ask};
use crate::failure::Failure;
use std::time::Duration;
use thinkthrough_client::{Auth, Client, ClientConfig, Request, Secret};
use thinkthrough_json::{Doc, Val};

/// How long the gateway may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest list of models that is read.
const MOST: usize = 4 * 1024 * 1024;
/// A key for clients that insist on one. The gateway knows it as no key.
const NO_KEY: &str = "not-needed";

/// A gateway that answers.
pub(super) struct Gateway {
    /// Its address without a path.
    pub(super) base: String,
    /// The key of the client.
    pub(super) key: String,
    pub(super) has_key: bool,
    /// The models that it lists, the default model first.
    pub(super) models: Vec<String>,
    /// The names of [`HABITS`] that lead to a model, with its provider.
    habits: Vec<(&'static str, String)>,
}

/// A name of each kind that agents send by habit.
const HABITS: [&str; 2] = ["claude-sonnet-4-5", "gpt-5"];

impl Gateway {
    /// Checks that the gateway answers and lets the key in.
    pub(super) fn reach(url: Option<&str>, key: Option<String>) -> Result<Self, Failure> {
        let (base, client) = health::target(url, None)?;
        let base = base.strip_suffix("/v1").unwrap_or(&base).to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            Failure::Failed(format!("the runtime cannot start: {error}; close other programs"))
        })?;
        let reached = runtime.block_on(async {
            let asked = tokio::time::timeout(PATIENCE, Gateway::look(&base, client, key)).await;
            asked.unwrap_or_else(|_| Err(silent(&base, &format!("no answer within {PATIENCE:?}"))))
        });
        reached.map_err(Failure::Failed)
    }

    async fn look(base: &str, config: ClientConfig, key: Option<String>) -> Result<Self, String> {
        ask(base, config.clone()).await.map_err(|why| silent(base, &why))?;
        let client = Client::new(config).map_err(|error| silent(base, &error.to_string()))?;
        let has_key = key.is_some();
        let key = key.unwrap_or_else(|| NO_KEY.to_owned());
        let get = |path: String| get(&client, base, &key, path);
        let (status, list) = get("/v1/models".to_owned()).await?;
        match status {
            200 => {}
            401 if has_key => {
                return Err(format!(
                    "the gateway at `{base}` does not know this key; make one with `think keys create NAME`"
                ));
            }
            401 => {
                return Err(format!(
                    "the gateway at `{base}` wants a key; make one with `think keys create NAME`, and give it with `--key`"
                ));
            }
            _ => return Err(silent(base, &format!("it answers with the status {status}"))),
        }
        let models = ids(&list);
        let mut habits = Vec::new();
        for name in HABITS {
            let (status, model) = get(format!("/v1/models/{name}")).await?;
            let owner = Doc::parse(&model).ok().and_then(|doc| doc.root().string("owned_by"));
            habits.extend(owner.filter(|_| status == 200).map(|owner| (name, owner)));
        }
        Ok(Gateway { base: base.to_owned(), key, has_key, models, habits })
    }

    /// The provider that answers for names with this beginning, if they lead to a model.
    pub(super) fn habit(&self, prefix: &str) -> Option<&str> {
        let (_, owner) = self.habits.iter().find(|(name, _)| name.starts_with(prefix))?;
        Some(owner)
    }

    /// The model for clients that name one: the first of the list.
    pub(super) fn model(&self) -> Result<&str, Failure> {
        self.models.first().map(String::as_str).ok_or_else(|| {
            Failure::Failed(format!(
                "the gateway at `{}` lists no model; add one under `[models]` in its configuration",
                self.base
            ))
        })
    }
}

fn silent(base: &str, why: &str) -> String {
    format!(
        "no gateway answers at `{base}`: {why}; start it with `think serve`, or name another one with `--gateway`"
    )
}

async fn get(
    client: &Client,
    base: &str,
    key: &str,
    path: String,
) -> Result<(u16, Vec<u8>), String> {
    let failed = |error: &dyn std::fmt::Display| silent(base, &error.to_string());
    let mut request = Request::new(http::Method::GET, &format!("{base}{path}"))
        .map_err(|error| failed(&error))?;
    request.auth = Auth::Bearer(Secret::new(key));
    let response = client.send(&request).await.map_err(|error| failed(&error))?;
    let status = response.status.as_u16();
    let body = response.body.collect_up_to(MOST).await.map_err(|error| failed(&error))?;
    Ok((status, body.to_vec()))
}

/// The names in a list of models.
fn ids(list: &[u8]) -> Vec<String> {
    let Ok(doc) = Doc::parse(list) else { return Vec::new() };
    let data = doc.root().get("data");
    data.into_iter().flat_map(Val::items).filter_map(|it| it.string("id")).collect()
}
