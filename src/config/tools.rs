//! `[tools.NAME]` and `[mcp.NAME]`: the permissions of tools, and the servers of further tools.

use super::secret::{Credential, Sources, one};
use super::table::Section;
use thinkthrough_chat::Permission;

/// `[tools.NAME]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// The tool's name as the model calls it.
    pub(crate) name: String,
    /// The reaction when the model calls it.
    pub(crate) permission: Permission,
}

/// `[mcp.NAME]`: a server of the Model Context Protocol.
#[derive(Clone, Debug)]
pub(crate) struct Mcp {
    /// Its name in the configuration.
    pub(crate) name: String,
    /// How it is reached.
    pub(crate) server: McpServer,
}

/// How an MCP server is reached.
#[derive(Clone, Debug)]
pub(crate) enum McpServer {
    /// A program that is started, and spoken with over its standard input and output.
    Command {
        /// The program, then its arguments.
        command: Vec<String>,
        /// Variables that it gets beside our environment; their values may be secret.
        env: Vec<(String, Credential)>,
    },
    /// An address that speaks the protocol over HTTP.
    Url(String),
}

pub(super) fn tool(section: Section<'_>) -> Result<Tool, String> {
    section.only(&["permission"])?;
    let at = section.at("permission");
    let word = section.string("permission")?;
    let Some(word) = word else {
        return Err(format!("`{}` needs `permission`: ask, allow or deny", section.name));
    };
    let permission = Permission::parse(&word)
        .ok_or_else(|| format!("`{at}` cannot be `{word}`; allowed: ask, allow, deny"))?;
    Ok(Tool { name: section.own_name(), permission })
}

pub(super) fn mcp(section: Section<'_>, sources: Sources<'_>) -> Result<Mcp, String> {
    section.only(&["command", "url", "env"])?;
    let mut env = Vec::new();
    for (name, value) in section.table("env")?.into_iter().flatten() {
        let at = format!("{}.{name}", section.at("env"));
        env.push((name.clone(), one(value, &at, sources)?));
    }
    let server = match (section.command("command", sources.folder)?, section.string("url")?) {
        (Some(command), None) => McpServer::Command { command, env },
        (None, Some(_)) if !env.is_empty() => {
            return Err(format!(
                "`{}` is for a server that is started with `command`; take it out",
                section.at("env")
            ));
        }
        (None, Some(url)) if url.starts_with("http://") || url.starts_with("https://") => {
            McpServer::Url(url)
        }
        (None, Some(url)) => {
            return Err(format!(
                "`{}` cannot be `{url}`; it begins with `http://` or `https://`",
                section.at("url")
            ));
        }
        _ => return Err(format!("`{}` needs either `command` or `url`", section.name)),
    };
    Ok(Mcp { name: section.own_name(), server })
}
