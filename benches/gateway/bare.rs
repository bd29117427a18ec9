//! A relay that does nothing but relay, over the libraries that the gateway stands on: what is left if all its own work
//! is taken away. `run.py --bare` measures it beside the gateway.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a yardstick, not a part of the program"
)]

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

fn main() {
    let upstream = std::env::args().nth(1).expect("the address of the upstream is missing");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("no runtime").block_on(relay(upstream));
}

async fn relay(upstream: String) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("no port");
    println!("listening on {}", listener.local_addr().expect("no address"));
    loop {
        let (stream, _) = listener.accept().await.expect("no connection");
        stream.set_nodelay(true).expect("no option");
        let (client, upstream) = (client.clone(), upstream.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |mut request: Request<Incoming>| {
                let url = format!("http://{upstream}{}", request.uri().path());
                *request.uri_mut() = url.parse().expect("no address");
                client.request(request)
            });
            // A caller that goes away is no news here.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await);
        });
    }
}
