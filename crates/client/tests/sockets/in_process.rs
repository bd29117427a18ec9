//! An upstream in the same process behaves like one on the network.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use thinkthrough_client::{
    Auth, BodySender, BodyStream, ClientError, InProcess, InProcessAnswer, Phase, Request,
    Response, RetryPolicy, Secret, Timeouts, Transport,
};

use crate::server::{flow, soon};
use crate::{PATIENT, config, drain};

/// Answers by path, and keeps the writing ends of its bodies.
#[derive(Default)]
struct Simulator {
    seen: Mutex<Vec<http::Request<Bytes>>>,
    writers: Mutex<Vec<BodySender>>,
}

impl InProcess for Simulator {
    fn handle(&self, request: http::Request<Bytes>) -> InProcessAnswer<'_> {
        let path = request.uri().path().to_owned();
        let visits = {
            let mut seen = self.seen.lock().unwrap();
            seen.push(request);
            seen.len()
        };
        Box::pin(async move {
            let (status, body) = match path.as_str() {
                "/whole" => (StatusCode::OK, BodyStream::whole("all at once")),
                "/busy" if visits < 3 => (StatusCode::SERVICE_UNAVAILABLE, BodyStream::whole("")),
                "/busy" => (StatusCode::OK, BodyStream::whole("free")),
                "/body" => {
                    let (tap, flow) = flow();
                    tap.write("one ");
                    tap.write("by one");
                    tap.break_off();
                    (StatusCode::OK, BodyStream::from_body(flow))
                }
                "/silent" => std::future::pending().await,
                _ => {
                    let (writer, body) = BodyStream::channel();
                    assert!(writer.send("half").await);
                    self.writers.lock().unwrap().push(writer);
                    (StatusCode::OK, body)
                }
            };
            Ok(Response::new(status, HeaderMap::new(), body))
        })
    }
}

fn simulated() -> (Arc<Simulator>, Transport) {
    let simulator = Arc::new(Simulator::default());
    let upstream: Arc<dyn InProcess> = Arc::clone(&simulator) as _;
    let timeouts = Timeouts {
        first_byte: Duration::from_millis(200),
        idle: Duration::from_millis(200),
        ..PATIENT
    };
    let config = Arc::new(thinkthrough_client::ClientConfig { timeouts, ..config() });
    (simulator, Transport::InProcess { upstream, config })
}

fn request(path: &str) -> Request {
    let mut request = Request::post(&format!("http://sim{path}"), "{}").unwrap();
    request.auth = Auth::Bearer(Secret::new("sim"));
    request
}

#[tokio::test]
async fn it_sees_what_a_server_would_see() {
    let (simulator, transport) = simulated();
    let answer = transport.send(&request("/whole?a=1")).await.unwrap();
    assert_eq!(drain(answer).await, (b"all at once".to_vec(), None));
    let seen = simulator.seen.lock().unwrap();
    assert_eq!(seen[0].uri(), "http://sim/whole?a=1");
    assert_eq!(seen[0].headers()["authorization"], "Bearer sim");
    assert_eq!(seen[0].body(), "{}");
}

#[tokio::test]
async fn a_cut_is_an_error_after_what_came() {
    let (simulator, transport) = simulated();
    let answer = transport.send(&request("/flow")).await.unwrap();
    let writer = simulator.writers.lock().unwrap().pop().unwrap();
    writer.cut("cut at byte 4").await;
    let (body, error) = drain(answer).await;
    assert_eq!(body, b"half");
    let error = error.unwrap();
    assert!(matches!(error, ClientError::Closed { received: Some(4), .. }), "{error:?}");
    assert!(error.to_string().contains("cut at byte 4"), "{error}");
}

#[tokio::test]
async fn a_body_of_its_own_kind_is_read_to_its_break() {
    let (_simulator, transport) = simulated();
    let (body, error) = drain(transport.send(&request("/body")).await.unwrap()).await;
    assert_eq!(body, b"one by one");
    let error = error.unwrap();
    assert!(matches!(error, ClientError::Closed { received: Some(10), .. }), "{error:?}");
}

#[tokio::test]
async fn a_stall_and_silence_run_into_their_limits() {
    let (_simulator, transport) = simulated();
    let mut answer = transport.send(&request("/flow")).await.unwrap();
    assert_eq!(answer.body.next().await.unwrap().unwrap(), "half");
    let error = soon("the stall", answer.body.next()).await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::Timeout { phase: Phase::Idle, .. }), "{error:?}");
    let error = soon("the silence", transport.send(&request("/silent"))).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { phase: Phase::FirstByte, .. }), "{error:?}");
}

#[tokio::test]
async fn dropping_the_body_is_noticed() {
    let (simulator, transport) = simulated();
    let answer = transport.send(&request("/flow")).await.unwrap();
    let writer = simulator.writers.lock().unwrap().pop().unwrap();
    drop(answer);
    soon("the reader going away", writer.cancelled()).await;
    assert!(!writer.send("more").await);
}

#[tokio::test]
async fn ending_the_writer_ends_the_body() {
    let (simulator, transport) = simulated();
    let answer = transport.send(&request("/flow")).await.unwrap();
    simulator.writers.lock().unwrap().clear();
    assert_eq!(drain(answer).await, (b"half".to_vec(), None));
}

#[tokio::test]
async fn retries_work_alike() {
    let (_simulator, transport) = simulated();
    let policy = RetryPolicy { base: Duration::from_millis(1), ..RetryPolicy::default() };
    let mut told = 0;
    let outcome =
        transport.send_with_retry(&request("/busy"), &policy, &mut |_| told += 1).await.unwrap();
    assert_eq!((told, drain(outcome).await), (2, (b"free".to_vec(), None)));
}
