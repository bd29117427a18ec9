//! Tools of servers that speak the Model Context Protocol, over standard input and output or over HTTP.
//!
//! Servers are started when tools are first needed, all at once and with a time limit. If a server does not start,
//! the user gets a notice, and the session continues without its tools.

mod answer;
mod child;
mod http;
mod names;
mod server;

use crate::tools::{Given, Job, Pending, Permission, Source, ToolKind, Weighed};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use server::Server;
use std::fmt;
use std::path::PathBuf;
use thinkthrough_client::{Auth, Client, Secret};
use thinkthrough_core::content::ToolCall;
use thinkthrough_core::request::Tool;

/// A server as it is configured.
#[derive(Clone, Debug)]
pub struct McpServer {
    /// The server's name. The names of its tools begin with it.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Reach {
    /// A program that is started. The protocol runs over its standard input and output.
    Command {
        /// The program, then its arguments.
        command: Vec<String>,
        /// Variables in addition to our environment. Secrets of our environment are left out.
        env: Vec<(String, Secret)>,
        /// Its working folder.
        folder: PathBuf,
    },
    /// An address that speaks the protocol over HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers that go with each request.
        headers: Vec<(String, Secret)>,
        /// The credential.
        auth: Auth,
        /// How requests travel.
        client: Client,
    },
}

/// Takes notices for people, one sentence each.
pub type Notices = Box<dyn Fn(&str) + Send + Sync>;

/// The tools of several servers.
pub struct Mcp {
    servers: Vec<Server>,
    notices: Notices,
}

impl Mcp {
    /// The tools of these servers. Failures of a server are sent to `notices`.
    #[must_use]
    pub fn new(servers: Vec<McpServer>, notices: Notices) -> Self {
        let prefixes = names::prefixes(servers.iter().map(|server| server.name.as_str()));
        let servers = servers.into_iter().zip(prefixes);
        Mcp { servers: servers.map(|(it, prefix)| Server::new(it, prefix)).collect(), notices }
    }

    /// The server that has this tool.
    fn server(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.owns(name))
    }
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl Source for Mcp {
    fn offers(&self) -> Pending<'_, Vec<(Tool, Permission)>> {
        Box::pin(async {
            let starting: FuturesUnordered<_> = self
                .servers
                .iter()
                .enumerate()
                .map(|(index, server)| async move { (index, server.offers().await) })
                .collect();
            let mut all: Vec<_> = starting.collect().await;
            // Sort by the order of the configuration, so that requests do not differ by chance.
            all.sort_by_key(|(index, _)| *index);
            let mut offers = Vec::new();
            for (_, (tools, notice)) in all {
                offers.extend(tools.into_iter().map(|tool| (tool, Permission::Ask)));
                if let Some(notice) = notice {
                    (self.notices)(&notice);
                }
            }
            offers
        })
    }

    fn weigh<'a>(&'a self, call: &'a ToolCall) -> Pending<'a, Option<Weighed>> {
        let weighed = self.server(&call.name).map(|server| Weighed {
            permission: Permission::Ask,
            kind: ToolKind::Other,
            title: format!("{}: {} {}", server.name(), call.name, call.parameters.as_text()),
            reason: None,
            change: None,
            grant: format!("use {}", call.name),
            fault: None,
        });
        Box::pin(std::future::ready(weighed))
    }

    fn run<'a>(&'a self, call: &'a ToolCall, job: Job<'a>) -> Pending<'a, Given> {
        Box::pin(async move {
            match self.server(&call.name) {
                Some(server) => server.call(call, job).await,
                None => Given::error("there is no such tool"),
            }
        })
    }

    fn servers(&self) -> Pending<'_, Vec<String>> {
        Box::pin(async {
            let mut lines = Vec::new();
            for server in &self.servers {
                lines.push(server.line().await);
            }
            lines
        })
    }

    fn close(&self) -> Pending<'_, ()> {
        Box::pin(async {
            let closing: FuturesUnordered<_> = self.servers.iter().map(Server::close).collect();
            closing.collect::<Vec<()>>().await;
        })
    }
}
