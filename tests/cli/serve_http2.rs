//! HTTP/2 and TLS on both sides of the gateway, as it is run.

use crate::place::Place;
use crate::serve::naive_rounds;
use crate::serve_config::{certify, serve};
use crate::server::{PATIENCE, Server};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;
use thinkthrough_client::{Client, ClientConfig, Request, Response};

/// A gateway over TLS before simulators over TLS, and a caller that trusts their authority.
struct Town {
    sim: Server,
    gateway: Server,
    client: Client,
    runtime: tokio::runtime::Runtime,
    _place: Place,
}

impl Town {
    fn new(name: &str, fault: &[&str]) -> Self {
        let place = Place::new(name);
        let cert = certify(&place);
        let key = place.file("key.pem");
        let tls = ["--tls-cert", cert.as_str(), "--tls-key", key.as_str()];
        let sim = Server::start("sim", &[&tls[..], fault].concat());
        let config = format!(
            "[server]\ntls = {{ cert = \"cert.pem\", key = \"key.pem\" }}\n\
             [client]\nca_file = \"cert.pem\"\n\
             [providers.there]\nextends = \"moonshotai\"\n\
             base_url = \"https://{}/kimi-k2/v1\"\napi_key = \"k\"\n",
            sim.addr
        );
        let gateway = serve(&place, &config);
        let ca_file = Some(PathBuf::from(cert));
        let client = Client::new(ClientConfig { ca_file, ..ClientConfig::default() }).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        Town { sim, gateway, client, runtime, _place: place }
    }

    async fn post(&self, body: &str) -> Response {
        let url = format!("https://{}/v1/chat/completions", self.gateway.addr);
        let request = Request::post(&url, body.to_owned()).unwrap();
        let answer = self.client.send(&request).await.unwrap();
        assert_eq!(answer.version, http::Version::HTTP_2);
        answer
    }

    /// The whole answer, written down as HTTP/1.1 would have it.
    fn ask(&self, body: &str) -> String {
        self.runtime.block_on(async {
            let answer = self.post(body).await;
            let explains = answer.headers.get("x-thinkthrough").unwrap().to_str().unwrap();
            let head = format!("HTTP/1.1 {}\r\nx-thinkthrough: {explains}", answer.status.as_u16());
            let body = answer.body.collect_up_to(1 << 20).await.unwrap();
            format!("{head}\r\n\r\n{}", String::from_utf8_lossy(&body))
        })
    }
}

#[test]
fn t_32_a_tool_loop_over_http_2_and_tls_on_both_sides_has_all_its_thoughts() {
    let town = Town::new("both-tls", &[]);
    let answers = naive_rounds("there/kimi-k2-thinking", |_, request| town.ask(request));
    assert_eq!(answers.len(), 4, "{}", answers.last().unwrap());
    for (restored, answer) in answers.iter().enumerate() {
        let expected = format!("restored={restored}; missed=0;");
        assert!(answer.contains(&expected), "round {restored}: {answer}");
    }
    let log = town.sim.stop();
    assert_eq!(log.matches(" -> 200").count(), 4, "{log}");
    assert!(!log.contains("refused"), "{log}");
}

#[test]
fn c_1_a_caller_that_leaves_resets_one_stream_upstream_and_no_connection() {
    let town = Town::new("reset", &["--fault", "stall=60000,stall-at=3"]);
    let body = json!({"model": "there/kimi-k2-thinking", "stream": true,
        "messages": [{"role": "user", "content": "what is a zebra"}]})
    .to_string();
    for leaves in 1..=2 {
        town.runtime.block_on(async {
            let mut answer = town.post(&body).await;
            let first = answer.body.next().await.unwrap().unwrap();
            assert!(!first.is_empty());
        });
        let began = Instant::now();
        let line =
            "the client left the answer to /kimi-k2/v1/chat/completions (HTTP/2, connection 1)";
        // Both on the one connection, which the first of them did not close.
        while town.sim.said().matches(line).count() < leaves {
            assert!(began.elapsed() < PATIENCE, "{}", town.sim.said());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    let metrics = town.runtime.block_on(async {
        let url = format!("https://{}/metrics", town.gateway.addr);
        let request = Request::new(http::Method::GET, &url).unwrap();
        let answer = town.client.send(&request).await.unwrap();
        String::from_utf8(answer.body.collect_up_to(1 << 20).await.unwrap().to_vec()).unwrap()
    });
    assert!(metrics.contains("thinkthrough_cancelled_total 2\n"), "{metrics}");
}

#[test]
fn sim_says_which_file_of_its_certificate_is_wrong() {
    let place = Place::new("sim-tls");
    certify(&place);
    let (cert, key) = (place.file("cert.pem"), place.file("nobody.pem"));
    let ran =
        place.think(&["sim", "--listen", "127.0.0.1:0", "--tls-cert", &cert, "--tls-key", &key]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("nobody.pem") && ran.err.contains("PEM"), "{}", ran.err);
    let ran = place.think(&["sim", "--tls-cert", &cert]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}
