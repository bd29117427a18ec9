//! Tools of an MCP server that uses the official SDK, over standard input and output and over HTTP.

use crate::scripted::{Scripted, call};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ServerHandler, ServiceExt as _};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A server that offers one more tool after a call of `unlock`.
#[derive(Clone, Default)]
pub(crate) struct Small {
    is_unlocked: Arc<AtomicBool>,
}

impl ServerHandler for Small {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut names = vec!["weather", "picture", "fail", "unlock"];
        names.extend(self.is_unlocked.load(Ordering::SeqCst).then_some("treasure/chest"));
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let schema = schema.as_object().unwrap().clone();
        let tools =
            names.into_iter().map(|name| Tool::new(name, format!("Gives {name}."), schema.clone()));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let city = request.arguments.as_ref().and_then(|it| it.get("city")?.as_str());
        let result = match request.name.as_ref() {
            "weather" => {
                let text = format!("rain in {}", city.unwrap_or("nowhere"));
                CallToolResult::success(vec![ContentBlock::text(text)])
            }
            "picture" => CallToolResult::success(vec![ContentBlock::image("AAAA", "image/png")]),
            "fail" => CallToolResult::error(vec![ContentBlock::text("it is broken")]),
            _ => {
                self.is_unlocked.store(true, Ordering::SeqCst);
                context.peer.notify_tool_list_changed().await.unwrap();
                // Over HTTP the notification has its own stream. On a busy machine, the answer
                // could arrive first.
                tokio::time::sleep(Duration::from_millis(500)).await;
                CallToolResult::success(vec![ContentBlock::text("unlocked")])
            }
        };
        Ok(CallToolResponse::Complete(result))
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Other tests run this test in a separate process as their server. It writes to descriptor 3,
/// because the test harness writes to standard output.
#[test]
fn small_server() {
    let Ok(farewell) = std::env::var("SMALL_SERVER_SAYS_BYE_IN") else {
        assert!(Small::default().get_info().capabilities.tools.is_some());
        return;
    };
    runtime().block_on(async {
        let out = fs::OpenOptions::new().write(true).open("/dev/fd/3").unwrap();
        let streams = (tokio::io::stdin(), tokio::fs::File::from_std(out));
        Small::default().serve(streams).await.unwrap().waiting().await.unwrap();
    });
    fs::write(farewell, "bye").unwrap();
}

fn script(name: &str, config: &str) -> Scripted {
    let city = json!({"city": "Oslo"});
    let first = json!([
        call("a", "mcp__small__weather", &city),
        call("b", "mcp__small__picture", &json!({})),
        call("c", "mcp__small__fail", &json!({})),
        call("d", "mcp__small__unlock", &json!({})),
    ]);
    let again = json!([call("e", "mcp__small__treasure_chest", &json!({}))]);
    let answers = vec![first, again, json!("done")];
    Scripted::new(name, answers, &format!("[tools.mcp__small]\npermission = \"allow\"\n{config}"))
}

fn check(script: &Scripted) {
    let ran = script.ask();
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "done"), "{}", ran.err);
    let before = script.offered(0);
    assert!(before.contains(&"mcp__small__weather".to_owned()), "{before:?} {}", ran.err);
    assert!(!before.contains(&"mcp__small__treasure_chest".to_owned()), "{before:?}");
    let after = script.offered(1);
    assert!(after.contains(&"mcp__small__treasure_chest".to_owned()), "{after:?}");
    let results = script.results();
    assert_eq!(results[0], "rain in Oslo");
    assert!(results[1].contains("[image/png]"), "{results:?}");
    assert_eq!(results[2..], ["it is broken", "unlocked", "unlocked"]);
}

pub(crate) fn stdio(farewell: &str) -> String {
    let exe = std::env::current_exe().unwrap();
    // On a busy machine, SIGTERM may arrive before the server has read the end of its input.
    let start = "trap '' TERM; exec \"$0\" --exact mcp::small_server --nocapture 3>&1 >/dev/null";
    format!(
        "[mcp.small]\ncommand = [\"sh\", \"-c\", {}, {}]\nenv = {{ SMALL_SERVER_SAYS_BYE_IN = {} }}\n",
        Value::from(start),
        Value::from(exe.to_str().unwrap()),
        Value::from(farewell)
    )
}

#[test]
fn a_server_that_is_a_program_is_started_used_and_ended_in_order() {
    let farewell = std::env::temp_dir().join(format!("think-mcp-bye-{}", std::process::id()));
    let _ = fs::remove_file(&farewell);
    let script = script("stdio", &stdio(farewell.to_str().unwrap()));
    check(&script);
    assert_eq!(fs::read_to_string(&farewell).unwrap(), "bye", "it ended by itself");
    fs::remove_file(farewell).unwrap();
}

#[test]
fn tools_that_would_have_to_ask_are_named_once_with_the_setting_that_offers_them() {
    let farewell = std::env::temp_dir().join(format!("think-mcp-unasked-{}", std::process::id()));
    let config = stdio(farewell.to_str().unwrap());
    let script = Scripted::new("unasked", vec![json!("done")], &config);
    let ran = script.ask();
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "done"), "{}", ran.err);
    assert!(script.offered(0).iter().all(|name| !name.starts_with("mcp__")));
    let note = "were not offered: mcp__small__weather, mcp__small__picture, mcp__small__fail, \
                mcp__small__unlock; `[tools.mcp__small] permission = \"allow\"` in the configuration";
    assert_eq!(ran.err.matches(note).count(), 1, "{}", ran.err);
    drop(fs::remove_file(farewell));
}

#[test]
fn a_server_over_http_is_used_likewise() {
    let runtime = runtime();
    let url = over_http(&runtime, small());
    check(&script("http", &format!("[mcp.small]\nurl = \"{url}\"\n")));
}

pub(crate) fn small() -> Small {
    Small::default()
}

/// Serves until the runtime ends. Returns the address.
pub(crate) fn over_http(runtime: &tokio::runtime::Runtime, small: Small) -> String {
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let manager = Arc::new(LocalSessionManager::default());
    let service =
        StreamableHttpService::new(move || Ok(small.clone()), manager, Default::default());
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let serving = hyper::server::conn::http1::Builder::new();
            tokio::spawn(serving.serve_connection(TokioIo::new(stream), service));
        }
    });
    url
}

#[test]
fn servers_that_are_not_there_are_notices_and_the_answer_comes() {
    let config = "[mcp.gone]\ncommand = [\"/no/such/program\"]\n\
                  [mcp.quits]\ncommand = [\"sh\", \"-c\", \"echo I am broken >&2; exit 3\"]\n\
                  [mcp.away]\nurl = \"http://127.0.0.1:9/mcp\"\n";
    let script = Scripted::new("notices", vec![json!("done")], config);
    let ran = script.ask();
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "done"), "{}", ran.err);
    for name in ["gone", "quits", "away"] {
        let notice = format!("the MCP server `{name}` is not there: ");
        assert_eq!(ran.err.matches(&notice).count(), 1, "{}", ran.err);
    }
    assert!(ran.err.contains("it said: I am broken"), "{}", ran.err);
}
