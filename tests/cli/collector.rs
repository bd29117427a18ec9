//! A collector of traces. It accepts OTLP over HTTP on a real socket, and stores every byte.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use crate::server::PATIENCE;

/// Accepts spans until the test ends.
pub(crate) struct Collector {
    pub(crate) url: String,
    got: Arc<(Mutex<Vec<Got>>, Condvar)>,
}

/// One request.
#[derive(Clone)]
pub(crate) struct Got {
    /// Its first line and its headers, names in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let got: Arc<(Mutex<Vec<Got>>, Condvar)> = Arc::default();
        let kept = Arc::clone(&got);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A client that closes early sends no span.
                if let Ok(one) = stream.and_then(take) {
                    kept.0.lock().unwrap().push(one);
                    kept.1.notify_all();
                }
            }
        });
        Collector { url, got }
    }

    /// The requests so far.
    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.0.lock().unwrap().clone()
    }

    /// All spans, as soon as there are `count`.
    pub(crate) fn spans(&self, count: usize) -> Vec<Span> {
        let spans = |got: &Vec<Got>| -> Vec<Span> { got.iter().flat_map(Got::spans).collect() };
        let got = self.got.0.lock().unwrap();
        let too_few = |got: &mut Vec<Got>| spans(got).len() < count;
        let (got, _) = self.got.1.wait_timeout_while(got, PATIENCE, too_few).unwrap();
        let spans = spans(&got);
        assert_eq!(spans.len(), count, "{spans:#?}");
        spans
    }
}

impl Got {
    fn read(&self) -> ExportTraceServiceRequest {
        ExportTraceServiceRequest::decode(self.body.as_slice()).unwrap()
    }

    fn spans(&self) -> Vec<Span> {
        let resources = self.read().resource_spans.into_iter();
        resources.flat_map(|it| it.scope_spans).flat_map(|it| it.spans).collect()
    }

    /// The attributes of the sender.
    pub(crate) fn sender(&self) -> BTreeMap<String, String> {
        let resources = self.read().resource_spans.into_iter();
        let said = resources.filter_map(|it| it.resource).flat_map(|it| it.attributes);
        shown(&said.collect::<Vec<_>>())
    }
}

/// Attributes by name, with their values as text. Strings are in quotes.
pub(crate) fn shown(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let one = |it: &KeyValue| (it.key.clone(), value(it.value.as_ref().unwrap()));
    attributes.iter().map(one).collect()
}

fn value(value_of: &AnyValue) -> String {
    match value_of.value.as_ref().unwrap() {
        Value::StringValue(text) => format!("{text:?}"),
        Value::IntValue(number) => number.to_string(),
        Value::ArrayValue(array) => {
            let all: Vec<String> = array.values.iter().map(value).collect();
            format!("[{}]", all.join(","))
        }
        other => panic!("a value of another kind: {other:?}"),
    }
}

fn take(stream: TcpStream) -> std::io::Result<Got> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut head) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&format!("{}:{value}\n", name.to_ascii_lowercase()));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut stream = reader.into_inner();
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\n")?;
    write!(stream, "connection: close\r\ncontent-length: 0\r\n\r\n")?;
    stream.flush()?;
    Ok(Got { head, body })
}
