//! `think serve` refuses resources of other tenants, and models that a key does not name.

use crate::place::Place;
use crate::serve_config::serve;
use crate::server::{Server, body};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, atomic::AtomicUsize, atomic::Ordering};

/// A provider that stores everything for every caller with its key, and records its requests.
pub(crate) struct Keeper {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Keeper {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (kept, next) = (Arc::clone(&asked), AtomicUsize::new(1));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A caller that closes early causes no failure here.
                drop(stream.and_then(|stream| answer(stream, &kept, &next)));
            }
        });
        Keeper { url, asked }
    }

    /// The lines of the requests since the last call, each with its body.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn answer(
    stream: TcpStream,
    asked: &Mutex<Vec<String>>,
    next: &AtomicUsize,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let line = first.trim().trim_end_matches(" HTTP/1.1").to_owned();
    asked.lock().unwrap().push(format!("{line} {body}"));
    let number = next.fetch_add(1, Ordering::Relaxed);
    let (media, said) = said(&line, &body, number);
    let mut stream = reader.into_inner();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {media}\r\nconnection: close\r\n");
    write!(stream, "{head}content-length: {}\r\n\r\n{said}", said.len())
}

/// The provider's answer to a request.
fn said(line: &str, body: &str, number: usize) -> (&'static str, String) {
    let address = line.split(' ').nth(1).unwrap_or_default();
    let path = address.split('?').next().unwrap_or_default().trim_end_matches('/');
    let made = |value: Value| ("application/json", value.to_string());
    if let Some((_, id)) = path.split_once("/batches/").filter(|_| line.starts_with("GET ")) {
        return made(json!({"id": id, "output_file_id": format!("file-of-{id}")}));
    }
    if !line.starts_with("POST ") {
        return made(json!({"secret": "canary", "path": path}));
    }
    match path.rsplit('/').next().unwrap_or_default() {
        "responses" => {
            let text = json!([{"type": "output_text", "text": "ok", "annotations": []}]);
            let message = json!({"type": "message", "id": format!("msg_{number:016}"), "role": "assistant",
                "status": "completed", "content": text});
            let whole = json!({"id": format!("resp_{number:016}"), "object": "response", "store": true,
                "status": "completed", "model": "m", "output": [message]});
            if !body.contains("\"stream\":true") {
                return made(whole);
            }
            let created = json!({"type": "response.created", "response": whole});
            let done = json!({"type": "response.completed", "response": whole});
            let events = format!(
                "event: response.created\ndata: {created}\n\nevent: response.completed\ndata: {done}\n\n"
            );
            ("text/event-stream", events)
        }
        "cachedContents" => made(json!({"name": format!("cachedContents/c{number}")})),
        "files" if path.contains("/upload/") => made(json!({"name": format!("files/f{number}")})),
        name => {
            made(json!({"id": format!("{name}-{number:016}"), "content": [], "stop_reason": "x",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
            "candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}]}))
        }
    }
}

const CONFIG: &str = "[keys.alice]\nkey = \"alice-key-0123456789\"\nraw = true\n\
                      [keys.bob]\nkey = \"bob-key-0123456789\"\nraw = true\n\
                      [keys.carol]\nkey = \"carol-key-0123456789\"\n";
pub(crate) const ALICE: &str = "authorization: Bearer alice-key-0123456789\r\n";
pub(crate) const BOB: &str = "authorization: Bearer bob-key-0123456789\r\n";
const CAROL: &str = "authorization: Bearer carol-key-0123456789\r\n";

fn gateway(place: &Place, keeper: &Keeper) -> Server {
    gateway_with(place, keeper, "")
}

/// As [`gateway`], with more in its configuration.
pub(crate) fn gateway_with(place: &Place, keeper: &Keeper, more: &str) -> Server {
    let provider = |name: &str, wire: &str, base: &str| {
        format!(
            "[providers.{name}]\nwire = \"{wire}\"\nbase_url = \"{}{base}\"\napi_key = \"k\"\n",
            keeper.url
        )
    };
    let config = [
        provider("there", "responses", "/v1"),
        provider("chat", "chat-completions", "/v1"),
        provider("claude", "messages", ""),
        provider("goo", "generate-content", ""),
        CONFIG.to_owned(),
        more.to_owned(),
    ];
    serve(place, &config.concat())
}

pub(crate) fn ask(
    server: &Server,
    who: &str,
    method: &str,
    path: &str,
    asked: &Value,
) -> (u16, String) {
    let headers = format!("{who}content-type: application/json\r\n");
    let sent = if asked.is_null() { String::new() } else { asked.to_string() };
    let answer = server.request_in_time(method, path, &headers, &sent);
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body(&answer))
}

/// The id of the resource that a request makes.
pub(crate) fn make(server: &Server, who: &str, path: &str, asked: &Value) -> String {
    let (status, said) = ask(server, who, "POST", path, asked);
    assert_eq!(status, 200, "{path}: {said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    said.get("id").or(said.get("name")).unwrap().as_str().unwrap().to_owned()
}

/// Checks that this id works for `ALICE`, and that `BOB` gets the answer for an unknown id.
pub(crate) fn is_owners(
    server: &Server,
    keeper: &Keeper,
    request: &dyn Fn(&str) -> (String, String, Value),
    id: &str,
) {
    keeper.asked();
    let (method, path, asked) = request(id);
    let (status, said) = ask(server, ALICE, &method, &path, &asked);
    assert_eq!(status, 200, "own: {method} {path} {asked}: {said}");
    assert_eq!(keeper.asked().len(), 1, "own: {method} {path} {asked}");
    let (status, others) = ask(server, BOB, &method, &path, &asked);
    assert!(status == 404 || status == 400, "{method} {path} {asked}: {status} {others}");
    let (nobody, nothing) = ("nobodys-thing", request("nobodys-thing"));
    let (none_status, none) = ask(server, BOB, &nothing.0, &nothing.1, &nothing.2);
    let bare = id.rsplit('/').next().unwrap();
    assert_eq!((status, others.replace(bare, nobody)), (none_status, none), "{method} {path}");
    assert_eq!(keeper.asked(), [""; 0], "others: {method} {path} {asked}");
}

#[test]
fn t_10_what_a_provider_keeps_is_its_own_tenants_in_every_path() {
    let (place, keeper) = (Place::new("kept-paths"), Keeper::start());
    let server = gateway(&place, &keeper);
    for (collection, made) in [
        ("/p/there/v1/responses", json!({"model": "m", "input": "x"})),
        ("/p/there/v1/conversations", json!({})),
        ("/p/there/v1/files", json!({"purpose": "user_data"})),
        ("/p/there/v1/batches", json!({})),
        ("/p/there/v1/containers", json!({"name": "x"})),
        ("/p/there/v1/vector_stores", json!({"name": "x"})),
        ("/p/there/v1/threads", json!({})),
        ("/p/there/v1/assistants", json!({"model": "m", "name": "x"})),
        ("/p/claude/v1/messages/batches", json!({"requests": []})),
        ("/p/claude/v1/files", json!({})),
        ("/p/goo/v1beta/cachedContents", json!({"model": "models/m"})),
    ] {
        let id = make(&server, ALICE, collection, &made);
        let bare = id.rsplit('/').next().unwrap().to_owned();
        for method in ["GET", "DELETE", "PATCH"] {
            let request = |id: &str| (method.to_owned(), format!("{collection}/{id}"), Value::Null);
            is_owners(&server, &keeper, &request, &bare);
        }
        for tail in ["/content", "/cancel", "/items", "/input_items?limit=1", ":cancel"] {
            let request =
                |id: &str| ("POST".to_owned(), format!("{collection}/{id}{tail}"), json!({}));
            is_owners(&server, &keeper, &request, &bare);
        }
        // The id in another spelling is another id.
        let (first, rest) = (bare.as_bytes()[0], bare.split_at(1).1);
        for odd in [
            format!("%{first:02x}{rest}"),
            format!("%25{first:02x}{rest}"),
            format!("{bare}%2fcontent"),
            format!("{bare}/"),
        ] {
            let (status, said) =
                ask(&server, BOB, "GET", &format!("{collection}/{odd}"), &Value::Null);
            assert_eq!(status, 404, "{collection}/{odd}: {said}");
        }
        for list in
            [collection.to_owned(), format!("{collection}/"), format!("{collection}?limit=1")]
        {
            for who in [ALICE, BOB] {
                let (status, said) = ask(&server, who, "GET", &list, &Value::Null);
                assert_eq!(status, 403, "{list}: {said}");
            }
        }
        assert_eq!(keeper.asked(), [""; 0], "{collection}");
    }
    // A path without known owners is refused.
    for path in ["/p/there/v1/whatever/x", "/p/there/v1/organization/projects"] {
        assert_eq!(ask(&server, ALICE, "GET", path, &Value::Null).0, 403, "{path}");
    }
    // The output file of a batch belongs to the tenant as soon as the tenant has read the batch.
    let batch = make(&server, ALICE, "/p/there/v1/batches", &json!({}));
    let request =
        |id: &str| ("GET".to_owned(), format!("/p/there/v1/files/{id}/content"), Value::Null);
    let file = format!("file-of-{batch}");
    assert_eq!(ask(&server, ALICE, "GET", &request(&file).1, &Value::Null).0, 404);
    assert_eq!(
        ask(&server, ALICE, "GET", &format!("/p/there/v1/batches/{batch}"), &Value::Null).0,
        200
    );
    is_owners(&server, &keeper, &request, &file);
}

#[test]
fn t_10_what_a_provider_keeps_is_its_own_tenants_in_every_body() {
    let (place, keeper) = (Place::new("kept-bodies"), Keeper::start());
    let server = gateway(&place, &keeper);
    let make = |path: &str| make(&server, ALICE, path, &json!({"model": "m", "input": "x"}));
    let (response, conversation) =
        (make("/p/there/v1/responses"), make("/p/there/v1/conversations"));
    let item = response.replace("resp_", "msg_");
    let (container, store) = (make("/p/there/v1/containers"), make("/p/there/v1/vector_stores"));
    let file = make("/p/there/v1/files");
    let claudes = make("/p/claude/v1/files");
    let cache = make("/p/goo/v1beta/cachedContents");
    let gemini = make("/p/goo/upload/v1beta/files").replace("files/", "");
    let responses = |more: fn(&str) -> Value| {
        move |path: &str, id: &str| {
            let model = if path.starts_with("/p/") { "m" } else { "there/m" };
            let mut asked = json!({"model": model, "input": "x"});
            asked.as_object_mut().unwrap().extend(more(id).as_object().unwrap().clone());
            ("POST".to_owned(), path.to_owned(), asked)
        }
    };
    type More = fn(&str) -> Value;
    let more: [(&str, More); 9] = [
        (&response, |id| json!({"previous_response_id": id})),
        (&conversation, |id| json!({"conversation": id})),
        (&conversation, |id| json!({"conversation": {"id": id}})),
        (&item, |id| json!({"input": [{"type": "item_reference", "id": id}]})),
        (&item, |id| json!({"input": [{"id": id}, {"role": "user", "content": "x"}]})),
        (
            &file,
            |id| json!({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": id}]}]}),
        ),
        (&container, |id| json!({"tools": [{"type": "code_interpreter", "container": id}]})),
        (
            &file,
            |id| json!({"tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": [id]}}]}),
        ),
        (&store, |id| json!({"tools": [{"type": "file_search", "vector_store_ids": [id]}]})),
    ];
    for (id, more) in more {
        for path in ["/v1/responses", "/p/there/v1/responses"] {
            let request = |id: &str| responses(more)(path, id);
            is_owners(&server, &keeper, &request, id);
        }
    }
    let claude = |id: &str| {
        let source = json!({"type": "file", "file_id": id});
        let content =
            json!([{"type": "document", "source": source}, {"type": "text", "text": "x"}]);
        let asked = json!({"model": "claude/m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]});
        ("POST".to_owned(), "/v1/messages".to_owned(), asked)
    };
    is_owners(&server, &keeper, &claude, &claudes);
    for path in ["/v1beta/models/goo%2Fm:generateContent", "/p/goo/v1beta/models/m:generateContent"]
    {
        let cached = |id: &str| {
            let mut asked = json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}]});
            asked["cachedContent"] = json!(id);
            ("POST".to_owned(), path.to_owned(), asked)
        };
        is_owners(&server, &keeper, &cached, &cache);
        let file = |id: &str| {
            let uri = format!("https://generativelanguage.googleapis.com/v1beta/files/{id}");
            let data = json!({"fileData": {"mimeType": "text/plain", "fileUri": uri}});
            let asked = json!({"contents": [{"role": "user", "parts": [data, {"text": "x"}]}]});
            ("POST".to_owned(), path.to_owned(), asked)
        };
        is_owners(&server, &keeper, &file, &gemini);
    }
}

#[test]
fn t_10_what_came_of_a_models_route_is_the_callers_streamed_or_not() {
    let (place, keeper) = (Place::new("kept-answers"), Keeper::start());
    let server = gateway(&place, &keeper);
    for path in ["/v1/responses", "/p/there/v1/responses"] {
        for stream in [false, true] {
            let model = if path.starts_with("/p/") { "m" } else { "there/m" };
            let asked = json!({"model": model, "input": "x", "stream": stream});
            let (status, said) = ask(&server, ALICE, "POST", path, &asked);
            assert_eq!(status, 200, "{said}");
            let (_, rest) = said.split_once("\"resp_").unwrap();
            let id = format!("resp_{}", rest.split('"').next().unwrap());
            // A stream of the provider's own API ends before the owner of its ids is stored.
            let own = format!("/p/there/v1/responses/{id}");
            let began = std::time::Instant::now();
            while ask(&server, ALICE, "GET", &own, &Value::Null).0 != 200 {
                assert!(began.elapsed() < crate::server::PATIENCE, "{path} {stream}");
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            let request =
                |id: &str| ("GET".to_owned(), format!("/p/there/v1/responses/{id}"), Value::Null);
            is_owners(&server, &keeper, &request, &id);
            let (status, said) =
                ask(&server, BOB, "GET", &format!("/v1/responses/{id}"), &Value::Null);
            assert_eq!(status, 404, "{said}");
            // At another provider the same id has no owner.
            let elsewhere = json!({"model": "m", "previous_response_id": id, "input": "x"});
            let (status, said) = ask(&server, ALICE, "POST", "/p/chat/v1/responses", &elsewhere);
            assert_eq!(status, 400, "{said}");
        }
    }
}

#[test]
fn t_10_the_providers_own_api_is_a_right_of_a_key() {
    let (place, keeper) = (Place::new("raw-right"), Keeper::start());
    let server = gateway(&place, &keeper);
    for (method, path) in
        [("GET", "/p/there/v1/models"), ("POST", "/p/there/v1/embeddings"), ("GET", "/p/nobody/x")]
    {
        let (status, said) = ask(&server, CAROL, method, path, &json!({}));
        assert_eq!(status, 403, "{path}: {said}");
        assert!(said.contains("raw = true") && said.contains("keys.carol"), "{said}");
    }
    assert_eq!(keeper.asked(), [""; 0]);
    let (status, _) = ask(&server, ALICE, "GET", "/p/there/v1/models", &Value::Null);
    assert_eq!(status, 200);
    for (method, path) in [
        ("GET", "/p/there/v1/whatever/x"),
        ("DELETE", "/p/there/v1/models/m"),
        ("GET", "/p/there/v1/organization/x"),
    ] {
        let (status, said) = ask(&server, ALICE, method, path, &Value::Null);
        assert_eq!(status, 403, "{path}: {said}");
    }
    // A resource without a known owner is open only to keys with the right for it.
    let prompt = json!({"model": "there/m", "input": "x", "prompt": {"id": "pmpt_1"}});
    assert_eq!(ask(&server, CAROL, "POST", "/v1/responses", &prompt).0, 404);
    assert_eq!(ask(&server, ALICE, "POST", "/v1/responses", &prompt).0, 200);
    // Forms and lines within files name things as well.
    let form = "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n\r\n\
                {\"custom_id\":\"1\",\"body\":{\"previous_response_id\":\"resp_others\"}}\r\n--x--\r\n";
    let headers = format!("{ALICE}content-type: multipart/form-data; boundary=x\r\n");
    keeper.asked();
    let answer = server.request("POST", "/p/there/v1/files", &headers, form);
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("resp_others"), "{answer}");
    assert_eq!(keeper.asked(), [""; 0]);
}

#[test]
fn t_10_no_model_is_asked_that_a_key_does_not_name() {
    let (place, keeper) = (Place::new("model-list"), Keeper::start());
    let config = format!(
        "[providers.goo]\nwire = \"generate-content\"\nbase_url = \"{0}\"\napi_key = \"k\"\n\
         [providers.there]\nwire = \"chat-completions\"\nbase_url = \"{0}/v1\"\napi_key = \"k\"\n\
         [keys.alice]\nkey = \"alice-key-0123456789\"\nmodels = [\"goo/flash*\", \"there/cheap*\"]\n",
        keeper.url
    );
    let server = serve(&place, &config);
    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}]});
    for name in [
        "goo/flash/../../models/pro",
        "goo/flash%2F..%2F..%2Fmodels%2Fpro",
        "goo%2Fflash%2f..%2f..%2fmodels%2fpro",
        "goo%2Fflash%252f..%252fpro",
        "goo%2Fflash%3Fx",
        "goo%2Fflash%23x",
        "goo%2Fflash%5c..%5cpro",
        "goo%2Fflash%3b",
        "goo%2Fpro",
    ] {
        for verb in ["generateContent", "streamGenerateContent", "countTokens"] {
            let path = format!("/v1beta/models/{name}:{verb}");
            let (status, said) = ask(&server, ALICE, "POST", &path, &contents);
            assert!(status == 400 || status == 404, "{path}: {status} {said}");
        }
    }
    let plain = r#""messages":[{"role":"user","content":"x"}]"#;
    let headers = format!("{ALICE}content-type: application/json\r\n");
    for members in [
        r#""model":"there/cheap","model":"there/dear""#,
        r#""model":"there/dear","model":"there/cheap""#,
        r#""Model":"there/dear","model":"there/cheap""#,
        r#""\u006dodel":"there/dear","model":"there/cheap""#,
        r#""MODEL":"there/cheap""#,
        r#""model":"there/cheap","max_tokens":1,"max_tokens":9"#,
        r#""model":"there/cheap","Stream":true"#,
        r#""model":"there/cheap","models":["dear"]"#,
        r#""model":"there/cheap","tools":[{"type":"advisor","model":"dear"}]"#,
        r#""model":"there/cheap","messages":[]"#,
    ] {
        let sent = format!("{{{members},{plain}}}");
        let answer = server.request("POST", "/v1/chat/completions", &headers, &sent);
        assert!(answer.starts_with("HTTP/1.1 400"), "{sent}: {answer}");
    }
    assert_eq!(keeper.asked(), [""; 0]);
    let sent = format!("{{\"model\":\"there/cheap\",{plain}}}");
    server.request("POST", "/v1/chat/completions", &headers, &sent);
    ask(&server, ALICE, "POST", "/v1beta/models/goo%2Fflash%2F1:generateContent", &contents);
    let asked = keeper.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1].starts_with("POST /v1beta/models/flash%2F1:generateContent "), "{asked:?}");
}

#[test]
fn t_25_a_page_reaches_no_provider_with_any_method() {
    let (place, keeper) = (Place::new("pages"), Keeper::start());
    let config = format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}/v1\"\napi_key = \"k\"\n",
        keeper.url
    );
    let server = serve(&place, &config);
    for headers in [
        "origin: https://evil.example\r\n",
        "origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\nsec-fetch-mode: no-cors\r\n",
        "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\n",
        "sec-fetch-site: same-site\r\n",
    ] {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
            for path in ["/p/there/v1/models", "/", "/livez", "/metrics", "/v1/models", "/api/chat"]
            {
                let answer = server.request(method, path, headers, "");
                assert!(answer.starts_with("HTTP/1.1 403"), "{method} {path} {headers}: {answer}");
            }
        }
    }
    for host in ["host: 10.9.8.7\r\n", "host: [::1].evil.example\r\n", "host: a@localhost\r\n"] {
        let answer = server.request("GET", "/p/there/v1/models", host, "");
        assert!(answer.starts_with("HTTP/1.1 421"), "{host}: {answer}");
    }
    let asked =
        json!({"model": "there/m", "messages": [{"role": "user", "content": "x"}]}).to_string();
    let own = format!("origin: http://{}\r\n", server.addr);
    for (headers, expected) in [
        (format!("{own}content-type: text/plain\r\n"), "415"),
        (own.clone(), "415"),
        ("sec-fetch-site: same-origin\r\ncontent-type: text/plain\r\n".to_owned(), "415"),
    ] {
        let answer = server.request("POST", "/api/chat", &headers, &asked);
        assert_eq!(answer.get(9..12), Some(expected), "{headers}: {answer}");
    }
    assert_eq!(keeper.asked(), [""; 0]);
    for headers in [
        format!("{own}content-type: application/json\r\n"),
        "content-type: application/x-www-form-urlencoded\r\n".to_owned(),
    ] {
        drop(server.request("POST", "/api/chat", &headers, &asked));
        assert_eq!(keeper.asked().len(), 1, "{headers}");
    }
    for path in [
        "/p/there/x/%252e%252e/y",
        "/p/there/..%3b/y",
        "/p/there/..%00/y",
        "/p/there/..%23/y",
        "/p/there/a%3fb=c",
        "/p/there/a%5c..%5cb",
        "/p/there/a;b",
        "/p/there//evil.example/x",
    ] {
        let answer = server.request("GET", path, "", "");
        assert!(answer.starts_with("HTTP/1.1 400"), "{path}: {answer}");
    }
    assert_eq!(keeper.asked(), [""; 0]);
}
