//! The tools of a session, from the configuration.

use crate::config::tools::McpServer as Configured;
use crate::config::{Config, Credential};
use crate::failure::{Failure, say};
use std::collections::BTreeSet;
use std::path::Path;
use thinkthrough_chat::mcp::{Mcp, McpServer, Notices, Reach};
use thinkthrough_chat::{Builtin, Toolbox};
use thinkthrough_client::{Auth, Client, Secret};

/// Prints messages of MCP servers on standard error.
pub(crate) fn aloud() -> Notices {
    Box::new(|notice: &str| say(format_args!("{notice}")))
}

/// The built-in tools for `folder`, and the tools of the configured servers and `more`.
pub(crate) fn toolbox(
    config: &Config,
    folder: &Path,
    more: Vec<McpServer>,
    notices: Notices,
) -> Result<Toolbox, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(error.to_string());
    let builtin = Builtin::new(folder).map_err(|error| failed(&error))?;
    let mut toolbox = Toolbox::empty().with(Box::new(builtin.hiding(secret_variables(config))));
    let mut servers = configured(config, folder)?;
    servers.extend(more);
    if !servers.is_empty() {
        toolbox = toolbox.with(Box::new(Mcp::new(servers, notices)));
    }
    for tool in &config.tools {
        if !tool.name.starts_with("mcp__") && !Builtin::names().any(|name| name == tool.name) {
            let known: Vec<_> = Builtin::names().collect();
            return Err(Failure::Failed(format!(
                "`tools.{}` is no tool; there are {}, and `mcp__SERVER__TOOL` for those of servers",
                tool.name,
                known.join(", ")
            )));
        }
        toolbox = toolbox.permit(tool.name.as_str(), tool.permission);
    }
    Ok(toolbox)
}

/// Stops the MCP servers. Before that, names their tools that were not offered, and the setting that offers them.
pub(crate) async fn close(tools: &Toolbox, is_quiet: bool) {
    let withheld = if is_quiet { Vec::new() } else { tools.withheld().await };
    if !withheld.is_empty() {
        let server = |name: &String| name.split("__").nth(1).map(str::to_owned);
        let servers: BTreeSet<String> = withheld.iter().filter_map(server).collect();
        let settings: Vec<String> = servers
            .iter()
            .map(|it| format!("`[tools.mcp__{it}] permission = \"allow\"`"))
            .collect();
        say(format_args!(
            "note: nobody is there to be asked, so these tools were not offered: {}; {} in the configuration offers them",
            withheld.join(", "),
            settings.join(" and ")
        ));
    }
    tools.close().await;
}

fn configured(config: &Config, folder: &Path) -> Result<Vec<McpServer>, Failure> {
    let mut servers = Vec::new();
    for entry in &config.mcp {
        let reach = match &entry.server {
            Configured::Command { command, env } => {
                let mut given: Vec<(String, Secret)> = Vec::new();
                for (name, value) in env {
                    match value {
                        Credential::Given(secret) => given.push((name.clone(), secret.clone())),
                        Credential::Missing(variable) => {
                            return Err(Failure::Failed(format!(
                                "`mcp.{}.env.{name}` names the environment variable `{variable}`, which is not set; set it",
                                entry.name
                            )));
                        }
                    }
                }
                Reach::Command { command: command.clone(), env: given, folder: folder.to_owned() }
            }
            Configured::Url(url) => Reach::Http {
                url: url.clone(),
                headers: Vec::new(),
                auth: Auth::None,
                client: client(config)?,
            },
        };
        servers.push(McpServer { name: entry.name.clone(), reach });
    }
    Ok(servers)
}

/// The HTTP client for MCP servers.
pub(crate) fn client(config: &Config) -> Result<Client, Failure> {
    Client::new(config.client.clone()).map_err(|error| Failure::Failed(error.to_string()))
}

/// Environment variables whose values are credentials of the configuration, under any name.
fn secret_variables(config: &Config) -> Vec<String> {
    let keys = config.providers.iter().filter_map(|provider| match &provider.key {
        Some(Credential::Given(secret)) => Some(secret.expose()),
        Some(Credential::Missing(_)) | None => None,
    });
    let keys: Vec<&str> = keys.collect();
    std::env::vars_os()
        .filter(|(_, value)| value.to_str().is_some_and(|value| keys.contains(&value)))
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect()
}
