//! One server: starts it when it is needed, lists and calls its tools, and ends it.

use super::child::Program;
use super::http::Http;
use super::{McpServer, Reach, answer, names};
use crate::tools::{Given, Job};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientConfig, ClientRequest, Implementation,
    JsonObject, ServerResult,
};
use rmcp::service::{
    NotificationContext, PeerRequestOptions, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::{ClientHandler, ServiceExt as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thinkthrough_core::content::{Parameters, ToolCall};
use thinkthrough_core::request::Tool;
use thinkthrough_json::{Extra, Raw};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long a server may take to start and to list its tools.
const START: Duration = Duration::from_secs(10);
/// How long a call may take.
const CALL: Duration = Duration::from_secs(600);
/// How long a connection may take to close.
const CLOSE: Duration = Duration::from_secs(2);
/// How many times a server that ends by itself is started in all.
const MAX_STARTS: u32 = 3;

/// A server, with its connection and its tools.
#[derive(Debug)]
pub(super) struct Server {
    configured: McpServer,
    prefix: String,
    state: Mutex<State>,
    /// The server reported that its list of tools has changed.
    has_changed: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct State {
    starts: u32,
    /// It did not start, or did not list its tools. The session does not wait for it again.
    has_failed: bool,
    running: Option<Running>,
    /// Each tool's name on the server, and the tool as it is offered.
    tools: Vec<(String, Tool)>,
}

#[derive(Debug)]
struct Running {
    service: RunningService<RoleClient, Listener>,
    program: Option<Program>,
}

/// Receives the notifications of a server.
#[derive(Debug)]
struct Listener(Arc<AtomicBool>);

impl ClientHandler for Listener {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.store(true, Ordering::Release);
    }

    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("thinkthrough", env!("CARGO_PKG_VERSION"));
        info
    }
}

impl Server {
    pub(super) fn new(configured: McpServer, prefix: String) -> Self {
        let (state, has_changed) = (Mutex::default(), Arc::default());
        Server { configured, prefix, state, has_changed }
    }

    pub(super) fn name(&self) -> &str {
        &self.configured.name
    }

    /// Whether a tool of this name is, or was, one of this server.
    pub(super) fn owns(&self, name: &str) -> bool {
        name.starts_with(&self.prefix)
    }

    /// The tools on offer, and a notice for a failure that was not reported before.
    pub(super) async fn offers(&self) -> (Vec<Tool>, Option<String>) {
        let mut state = self.state.lock().await;
        let outcome = match timeout(START, self.ready(&mut state)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("it did not start within {} s", START.as_secs())),
        };
        let notice = outcome.err().map(|error| {
            state.tools.clear();
            state.has_failed = true;
            let words = state.running.take().and_then(|it| it.program?.last_words());
            let words = words.map(|words| format!(" (it said: {words})")).unwrap_or_default();
            format!(
                "the MCP server `{}` is not there: {error}{words}; check `[mcp.{}]`",
                self.name(),
                self.name()
            )
        });
        (state.tools.iter().map(|(_, tool)| tool.clone()).collect(), notice)
    }

    /// A line of Markdown about the server.
    pub(super) async fn line(&self) -> String {
        let state = self.state.lock().await;
        let name = self.name();
        match (&state.running, state.tools.len()) {
            (Some(_), 1) => format!("- `{name}`: runs, 1 tool"),
            (Some(_), tools) => format!("- `{name}`: runs, {tools} tools"),
            (None, _) if state.has_failed || state.starts >= MAX_STARTS => {
                format!("- `{name}`: could not start; check `[mcp.{name}]` and start again")
            }
            (None, _) => format!("- `{name}`: does not run now"),
        }
    }

    async fn ready(&self, state: &mut State) -> Result<(), String> {
        if state.running.as_ref().is_some_and(|running| running.service.is_transport_closed()) {
            state.running = None;
        }
        if state.running.is_none() {
            if state.has_failed || state.starts >= MAX_STARTS {
                // The failure was already reported, and another start would probably fail too.
                state.tools.clear();
                return Ok(());
            }
            state.starts += 1;
            state.running = Some(self.start().await?);
            self.has_changed.store(true, Ordering::Release);
        }
        if self.has_changed.swap(false, Ordering::AcqRel)
            && let Some(running) = &state.running
        {
            state.tools = self.list(running).await.map_err(|error| {
                // The next call lists them again.
                self.has_changed.store(true, Ordering::Release);
                format!("its tools cannot be listed: {error}")
            })?;
        }
        Ok(())
    }

    async fn start(&self) -> Result<Running, String> {
        let listener = Listener(Arc::clone(&self.has_changed));
        match &self.configured.reach {
            Reach::Command { command, env, folder } => {
                let started = Program::start(command, env, folder);
                let (program, stdout, stdin) = started.map_err(|error| error.to_string())?;
                match listener.serve((stdout, stdin)).await {
                    Ok(service) => Ok(Running { service, program: Some(program) }),
                    Err(error) => {
                        // The error output arrives a moment after the end of the process.
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        let words = program.last_words();
                        let words = words.map(|it| format!(" (it said: {it})")).unwrap_or_default();
                        Err(format!("{error}{words}"))
                    }
                }
            }
            Reach::Http { url, headers, auth, client } => {
                let http = Http::new(client.clone(), auth.clone(), headers.clone());
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                let transport = StreamableHttpClientTransport::with_client(http, config);
                let service = listener.serve(transport).await.map_err(|error| error.to_string())?;
                Ok(Running { service, program: None })
            }
        }
    }

    async fn list(&self, running: &Running) -> Result<Vec<(String, Tool)>, ServiceError> {
        let listed = running.service.list_all_tools().await?;
        let names = names::tools(&self.prefix, listed.iter().map(|tool| tool.name.as_ref()));
        let tools = listed.iter().zip(names).map(|(tool, name)| {
            let schema = serde_json::to_string(&*tool.input_schema).ok();
            let offer = Tool::Function {
                name,
                description: tool.description.as_deref().map(str::to_owned),
                parameters: schema.and_then(|schema| Raw::parse(&schema).ok()),
                extra: Extra::default(),
            };
            (tool.name.clone().into_owned(), offer)
        });
        Ok(tools.collect())
    }

    /// Calls a tool. If the call is stopped, the server gets a cancellation.
    pub(super) async fn call(&self, call: &ToolCall, job: Job<'_>) -> Given {
        let arguments: JsonObject = match &call.parameters {
            Parameters::Json(raw) => match serde_json::from_str(raw.as_str()) {
                Ok(arguments) => arguments,
                Err(_) => return Given::error("the arguments are no JSON object; call again"),
            },
            Parameters::Free(_) | Parameters::Invalid(_) => {
                return Given::error("the arguments are not JSON; call again with an object");
            }
        };
        let handle = {
            let state = self.state.lock().await;
            let own = state.tools.iter().find(|(_, tool)| named(tool) == Some(&call.name));
            let (Some((own, _)), Some(running)) = (own, &state.running) else {
                return Given::error(&format!("`{}` is not there any more", call.name));
            };
            let params = CallToolRequestParams::new(own.clone()).with_arguments(arguments);
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
            let options = PeerRequestOptions::no_options();
            // The state is locked only while the call is sent, so that the calls of one answer run at once.
            running.service.send_cancellable_request(request, options).await
        };
        let failed = |error: ServiceError| {
            Given::error(&format!("the server `{}` failed: {error}", self.name()))
        };
        let mut handle = match handle {
            Ok(handle) => handle,
            Err(error) => return failed(error),
        };
        let ended = tokio::select! {
            biased;
            () = job.stop.cancelled() => Err("[stopped by the user]".to_owned()),
            response = timeout(CALL, &mut handle.rx) => {
                response.map_err(|_| format!("[stopped after {} s]", CALL.as_secs()))
            }
        };
        match ended {
            Ok(Ok(Ok(ServerResult::CallToolResult(result)))) => answer::given(&result),
            Ok(Ok(Ok(_))) => Given::error("the server gave something that is no result of a tool"),
            Ok(Ok(Err(error))) => failed(error),
            Ok(Err(_)) => failed(ServiceError::TransportClosed),
            Err(why) => {
                // This fails only if the server is gone.
                let _ =
                    handle.cancel(Some("the user stopped it, or its time was up".to_owned())).await;
                Given::error(&why)
            }
        }
    }

    pub(super) async fn close(&self) {
        let running = self.state.lock().await.running.take();
        if let Some(Running { mut service, program }) = running {
            let _ = service.close_with_timeout(CLOSE).await;
            drop(service);
            if let Some(program) = program {
                program.end().await;
            }
        }
    }
}

fn named(tool: &Tool) -> Option<&str> {
    match tool {
        Tool::Function { name, .. } => Some(name),
        Tool::Other { .. } => None,
    }
}
